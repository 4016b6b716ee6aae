"""Pictures: every id, with and without a display, and the commands that show them."""

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import gymnasium
import numpy as np
import pygame
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import HumanRendering, RecordEpisodeStatistics, RecordVideo
from gymnasium.wrappers import vector as wrappers
from ids import ALL, IDS

from gymnosoma.agents.policies.lookup import find_policy
from gymnosoma.envs import register_model
from gymnosoma.envs.core.draw.canvas import (
    CARD,
    COLD,
    HEADER,
    INK,
    PAPER,
    PLATE,
    WARM,
    Canvas,
    diverging,
    outline,
    quantity,
    rounded,
    sequential,
)
from gymnosoma.envs.core.draw.view import MOMENTS, Trail
from gymnosoma.envs.core.env.batch import FASTEST
from gymnosoma.films.reel import Film, show_episode

imageio = pytest.importorskip("imageio.v3")

SWIM = "gymnosoma/WormSwim-v0"
ROOT = Path(__file__).parent.parent
SMALL = {"width": 320, "height": 180}


@pytest.fixture(autouse=True)
def no_display(monkeypatch):
    pygame.display.quit()  # which a test before may have opened
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def dummy(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    yield
    pygame.display.quit()


def walk(env, steps, seed=0):
    """Observation and frame at the start and after each of some random steps, or as many as it lasts."""
    env.action_space.seed(seed)
    observations, frames = [env.reset(seed=seed)[0]], [env.render()]
    for _ in range(steps):
        observation, _, terminated, truncated, _ = env.step(0.3 * env.action_space.sample())
        observations.append(observation)
        frames.append(env.render())
        if terminated or truncated:
            break
    return np.array(observations), frames


@pytest.mark.parametrize("env_id", IDS)
def test_draws_every_id_without_a_display(env_id):
    env = gymnasium.make(env_id, render_mode="rgb_array", **SMALL)
    observations, frames = walk(env, 12)
    for frame in frames:
        assert frame.shape == (180, 320, 3) and frame.dtype == np.uint8
        assert np.mean(np.any(frame != PAPER[:3], axis=-1)) > 0.1
        assert len(np.unique(frame.reshape(-1, 3), axis=0)) > 50
    differences = [np.mean(a != b) for a, b in pairwise(frames)]
    assert min(differences) > 1e-4
    assert not pygame.display.get_init()
    blind = gymnasium.make(env_id)
    blind.action_space.seed(0)
    assert np.array_equal(observations[0], blind.reset(seed=0)[0])
    for observation in observations[1:]:
        assert np.array_equal(observation, blind.step(0.3 * blind.action_space.sample())[0])
    env.close()
    env.close()


SIZES = [(64, 64), (64, 4096), (4096, 64), (540, 960), (641, 333)]
LARGE = [(4096, 4096), (65, 65), (64, 540), (540, 64), (720, 720), (1280, 720), (4096, 2048), (2048, 4096), (333, 641)]


def draws(env_id, sizes):
    """At every size there is a frame that shows more than paper."""
    for width, height in sizes:
        env = gymnasium.make(env_id, render_mode="rgb_array", width=width, height=height, disable_env_checker=True)
        env.reset(seed=0)
        env.step(np.full(env.action_space.shape, 0.1))
        frame = env.render()
        assert frame.shape == (height, width, 3) and frame.dtype == np.uint8
        assert np.count_nonzero(frame != np.array(PAPER[:3], np.uint8)) > 50


@pytest.mark.parametrize("env_id", ALL)
def test_draws_every_id_at_every_size(env_id):
    draws(env_id, SIZES)


@pytest.mark.slow
@pytest.mark.parametrize("env_id", ALL)
def test_draws_every_id_at_more_sizes(env_id):
    draws(env_id, LARGE)


@pytest.fixture
def views(monkeypatch):
    """All views that are drawn, in their order."""
    made, view = [], Canvas.view
    monkeypatch.setattr(Canvas, "view", lambda *given, **named: made.append(view(*given, **named)) or made[-1])
    return made


@pytest.mark.parametrize("env_id", ["gymnosoma/WormEscape-v0", "gymnosoma/LampreyEscape-v0"])
@pytest.mark.parametrize("size", [(960, 540), *SIZES])
def test_animal_stays_in_view_far_from_its_ghost(env_id, size, views):
    env = gymnasium.make(env_id, render_mode="rgb_array", width=size[0], height=size[1]).unwrapped
    env.reset(seed=0)
    trail, animal = env.batch.view.trails[0], env.task.animal
    for away in ((100.0, -30.0), (0.0, 1e4), (-3.0, -3.0)):  # lengths
        ghost = Trail(trail.rows.dtype, trail.memory.dtype, "ghost")
        row = trail.rows[-1].copy()
        points = animal.points(row[None])[0]
        length = np.hypot(*np.diff(points, axis=0).T).sum()
        row["centre"] += length * np.array(away)
        ghost.record(row, trail.memory[-1])
        canvas = env.batch.view.draw(0, ghost)
        view = views[-1]
        assert ((points > view.low) & (points < view.high)).all()
        assert length / view.point > 45.0  # pt
        assert canvas.array().shape == (size[1], size[0], 3)


def test_animal_stays_in_view_when_it_is_thrown(views):
    env = gymnasium.make(SWIM, render_mode="rgb_array", **SMALL).unwrapped
    env.reset(seed=0)
    trail = env.batch.view.trails[0]
    row, memory = trail.rows[-1].copy(), trail.memory[-1].copy()
    for k in range(60):
        row["centre"] += 1e-3 * 1.1**k * np.array([1.0, -0.6])
        trail.record(row, memory)
        env.render()
        points = env.task.animal.points(row[None])[0]
        seen = ((points > views[-1].low) & (points < views[-1].high)).all(1)
        assert seen.mean() > 0.5  # the camera does not shake with every stroke


def test_view_follows_a_model_that_travels(views):
    model = ROOT / "assets" / "neuromechanic" / "standing.toml"
    register_model("gymnosoma/StandModel-v0", model, 50)
    env = gymnasium.make("gymnosoma/StandModel-v0", render_mode="rgb_array", **SMALL).unwrapped
    env.reset(seed=0)
    env.render()
    before = views[-1]
    trail = env.batch.view.trails[0]
    row = trail.rows[-1].copy()
    row["q"][0] += 50.0
    trail.record(row, trail.memory[-1])
    env.render()
    assert views[-1].low[0] > before.high[0]


def test_labels_stay_out_of_captions():
    canvas = Canvas(480, 270)
    for top, written in ((0.0, (False, True)), (200.0, (True, True))):
        view = canvas.view((0, top, canvas.width, 300.0), [(0.0, 0.0)], 1.0)
        for down, expected in zip((0.5 * HEADER, 1.5 * HEADER), written, strict=True):
            canvas.clear()
            view.label("0.25 m", (0.0, view.high[1]), INK, offset=(0.0, down), back=PLATE)
            assert (canvas.array() != PAPER[:3]).any() == expected


def test_view_points_at_what_is_outside():
    canvas = Canvas(480, 270)
    view = canvas.view((0, 0, canvas.width, canvas.height), [(0.0, 0.0)], 1.0)
    for at, seen in (((0.1, 0.1), False), ((9.0, 0.0), True), ((0.0, -9.0), True)):
        canvas.clear()
        view.pointer(np.array(at), WARM, "ghost")
        marked = np.argwhere((canvas.array() != PAPER[:3]).any(-1))
        assert bool(len(marked)) == seen
        if seen:  # at the rim that is nearest
            assert (marked.mean(0)[::-1] > (400, 100)).all() if at[0] else (marked.mean(0) > (200, 200)).all()


@pytest.mark.parametrize("env_id", IDS)
def test_rows_of_a_vector_are_drawn_as_alone(env_id):
    envs = gymnasium.make_vec(env_id, num_envs=3, render_mode="rgb_array", **SMALL)
    envs.action_space.seed(0)
    envs.reset(seed=5)
    actions = [0.3 * envs.action_space.sample() for _ in range(6)]
    for action in actions:
        envs.step(action)
    frames = envs.render()
    assert isinstance(frames, tuple) and len(frames) == 3
    for i in range(3):
        env = gymnasium.make(env_id, render_mode="rgb_array", **SMALL)
        env.reset(seed=5 + i)
        for action in actions:
            env.step(action[i])
        assert np.array_equal(env.render(), frames[i])
    envs.close()
    envs.close()


@pytest.mark.parametrize("env_id", IDS)
def test_frames_come_no_faster_than_films_bear(env_id):
    env = gymnasium.make(env_id, render_mode="rgb_array", **SMALL)
    task = env.unwrapped.task
    assert env.metadata["render_fps"] == min(task.control_rate, FASTEST)
    assert gymnasium.make_vec(env_id, num_envs=1).metadata["render_fps"] == min(task.control_rate, FASTEST)


def test_says_when_it_is_slow_motion():
    frames = []
    for rate in (50.0, 100.0):
        env = gymnasium.make(SWIM, render_mode="rgb_array", control_rate=rate)
        env.reset(seed=0)
        frames.append(env.render())
    corner = np.s_[40:60, 760:940]
    assert (frames[0][corner] != frames[1][corner]).any()


def test_draws_a_worm_unlike_the_paper_s():
    env = gymnasium.make(SWIM, render_mode="rgb_array", n_rods=3, actions="modes", **SMALL)
    for options in ({"length": 3e-3}, {"friction_perpendicular": 0.0, "friction_parallel": 0.0}):
        env.reset(seed=0, options=options)
        env.step(env.action_space.sample())
        assert len(np.unique(env.render().reshape(-1, 3), axis=0)) > 50


def test_passes_gymnasiums_checker(dummy):
    check_env(gymnasium.make(SWIM, render_mode="rgb_array", **SMALL).unwrapped)


def test_restored_environment_is_drawn_again():
    env = gymnasium.make(SWIM, render_mode="rgb_array", **SMALL).unwrapped
    env.reset(seed=0)
    snapshot, action = env.save(), np.full(env.action_space.shape, 0.1)
    env.step(action)
    env.restore(snapshot)
    first = env.render()
    env.step(action)
    env.restore(snapshot)
    assert np.array_equal(env.render(), first)


def test_trail_keeps_the_newest_moments():
    trail = Trail(np.dtype([("time", "f8")]), np.dtype([("goal", "f8")]))
    for k in range(3 * MOMENTS + 7):
        trail.record(np.array((k,), trail.rows.dtype), np.array((-k,), trail.memory.dtype))
    assert np.array_equal(trail.rows["time"], np.arange(2 * MOMENTS + 7, 3 * MOMENTS + 7))
    assert np.array_equal(trail.memory["goal"], -trail.rows["time"])
    trail.clear()
    assert len(trail.rows) == 0


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="render_mode must be"):
        gymnasium.make_vec(SWIM, num_envs=1, render_mode="ansi")
    with pytest.raises(ValueError, match="width must be an integer from"):
        gymnasium.make(SWIM, render_mode="rgb_array", width=3)
    with pytest.raises(ValueError, match="height must be an integer from"):
        gymnasium.make(SWIM, render_mode="rgb_array", height=270.5)
    for name in ("width", "height"):
        for value in (63, 4097, -64, 270.0, True, "270", None, [270]):
            for make in (gymnasium.make, gymnasium.make_vec):
                with pytest.raises(ValueError, match=f"^{name} must be an integer from 64 to 4096, got "):
                    make(SWIM, **{name: value})
    env = gymnasium.make(SWIM, render_mode="rgb_array").unwrapped
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.render()
    env = gymnasium.make(SWIM).unwrapped
    env.reset()
    with pytest.warns(UserWarning, match="render_mode is None"):
        assert env.render() is None


def test_human_mode_needs_a_display():
    env = gymnasium.make(SWIM, render_mode="human")
    with pytest.raises(ValueError, match=r"a window needs a display .*: without one use render_mode='rgb_array'$"):
        env.reset(seed=0)


def test_human_mode_shows_true_speed_and_can_be_closed(dummy):
    env = gymnasium.make(SWIM, render_mode="human", **SMALL)
    env.reset(seed=0)
    assert pygame.display.get_surface().get_size() == (320, 180)
    action, started = np.zeros(6, np.float32), pygame.time.get_ticks()
    for _ in range(8):
        env.step(action)
    assert pygame.time.get_ticks() - started >= 8 * 24
    assert env.render() is None
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    env.step(action)
    assert not pygame.display.get_init()
    env.step(action)
    env.close()
    env.close()


def test_human_mode_of_a_vector_shows_the_first(dummy):
    envs = gymnasium.make_vec(SWIM, num_envs=4, render_mode="human", **SMALL)
    envs.reset(seed=0)
    envs.step(envs.action_space.sample())
    assert pygame.display.get_caption()[0] == "Swim, animal 1 of 4"
    envs.close()
    envs.close()


def test_wrapper_shows_frames(dummy):
    env = HumanRendering(gymnasium.make(SWIM, render_mode="rgb_array", **SMALL))
    env.reset(seed=0)
    env.step(env.action_space.sample())
    env.close()


@pytest.mark.parametrize("count", [0, 3])
def test_wrappers_record_films(count, tmp_path):
    pytest.importorskip("moviepy")
    if count:
        if not hasattr(wrappers, "RecordVideo"):
            pytest.skip("Gymnasium 1.2 brought films of vector environments")
        envs = gymnasium.make_vec(SWIM, num_envs=count, render_mode="rgb_array", **SMALL)
        env = wrappers.RecordVideo(wrappers.RecordEpisodeStatistics(envs), str(tmp_path))
    else:
        env = gymnasium.make(SWIM, render_mode="rgb_array", **SMALL)
        env = RecordVideo(RecordEpisodeStatistics(env), str(tmp_path), disable_logger=True)
    env.reset(seed=0)
    for _ in range(9):
        env.step(env.action_space.sample())
    env.close()
    (film,) = tmp_path.glob("*.mp4")
    frames = imageio.imread(film)
    assert 9 <= len(frames) <= 10 and frames.std() > 5  # moviepy rounds the duration
    assert imageio.immeta(film)["fps"] == 40


@pytest.mark.parametrize("kind", ["mp4", "gif", "png"])
def test_command_saves(kind, tmp_path):
    path = tmp_path / f"film.{kind}"
    assert show_episode(SWIM, "best_sine", path, seconds=0.5, **SMALL) == 20
    frames = imageio.imread(path)
    assert frames.shape == {"mp4": (20, 180, 320, 3), "gif": (10, 180, 320, 3), "png": (180, 320, 3)}[kind]
    if kind == "gif":
        assert imageio.immeta(path)["duration"] == 50


def test_reset_options_and_rate_of_a_film():
    env_id, options = "gymnosoma/WhiskerRegulate-v0", {"memory_length": 1e-5, "distance": 0.98}
    policies = find_policy(env_id, "paper"), find_policy(env_id, "baseline")
    film = Film(env_id, *policies, seconds=4e-3, **SMALL, options=options, control_rate=2500.0)
    assert sum(1 for _ in film) == 10
    for actor in (film._actor, film._ghost):
        rows = actor.trail.rows
        assert (rows["memory_length"] == 1e-5).all()
        assert rows["plate_distance"][0] == pytest.approx(0.98 * rows["length"][0])
        assert np.diff(rows["time"]) == pytest.approx(1 / 2500)
    film.close()


def test_commands_take_reset_options(tmp_path, monkeypatch, capsys, command):
    file = tmp_path / "figures.json"
    options = ["--option", "peg_place=0.5", "--option", "peg_bearing=0.5"]
    arguments = ["evaluate", "WhiskerTap-v0", "--policy", "half_sine", "--episodes", "2", "--json-file", str(file)]
    scores = []
    for more in ([], options):  # a peg out of the half sine's reach is never pushed
        command(*arguments, *more)
        figures = json.loads(file.read_text())[0]
        scores.append(figures["return_mean"])
    assert scores[0] != scores[1] == 0.0
    assert (figures["seed"], figures["options"]) == (0, {"peg_place": 0.5, "peg_bearing": 0.5})
    still = tmp_path / "tap.png"
    command("render", "WhiskerTap-v0", *options, "--seconds", 0.1, "--save", still)
    assert imageio.imread(still).shape == (540, 960, 3) and "25 moments" in capsys.readouterr().out


def test_what_is_simulated_is_shown(dummy, command, capsys):
    command("simulate", "worm", "--duration", "0.02", "--size", "320x180")
    assert "0.02 s in 5 moments." in capsys.readouterr().out
    assert pygame.display.get_init() is False, "the window is closed when the film is over"


def test_ghost_starts_where_the_policy_does():
    film = Film(SWIM, find_policy(SWIM, "best_sine"), find_policy(SWIM, "baseline"), seed=3, seconds=0.5, **SMALL)
    alone = Film(SWIM, find_policy(SWIM, "best_sine"), seed=3, seconds=0.5, **SMALL)
    for _ in zip(film, alone, strict=True):
        pass
    ghost, policy = film._ghost.trail.rows, film._actor.trail.rows
    assert np.array_equal(ghost["rod_angle"][0], policy["rod_angle"][0])
    assert not np.array_equal(ghost["rod_angle"][-1], policy["rod_angle"][-1])
    assert np.array_equal(policy, alone._actor.trail.rows)
    assert not np.array_equal(film.draw().array(), alone.draw().array())
    film.close()
    alone.close()


def test_film_is_an_episode_long():
    env_id = "gymnosoma/WormFollow-v0"
    film = Film(env_id, find_policy(env_id, "steered"), seconds=1e9, **SMALL)
    assert len(film) == gymnasium.spec(env_id).max_episode_steps
    assert sum(1 for _ in film) == 600, "the path is complete before the time is over"
    film.close()


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["render", "WormSwim-v0"], "DISPLAY is not set): without one save a film or a still by --save"),
        (["play", "WormSwim-v0"], "DISPLAY is not set): play where there is a screen, or through ssh -X"),
        (["simulate", "worm"], "DISPLAY is not set): without one save a film or numbers by --save"),
        (["render", "WormSwim-v0", "--save", "film.avi"], "save must end in one of"),
        (["render", "WormSwim-v0", "--save", "nowhere/film.mp4"], "save must be a file in a folder that exists"),
        (["render", "WormSwim-v0", "--save", "film.mp4", "--size", "321x180"], "size must be even"),
        (["render", "WormSwim-v0", "--save", "film.mp4", "--size", "big"], "size must be WIDTHxHEIGHT"),
        (["render", "WormSwim-v0", "--save", "film.mp4", "--seconds", "-1"], "seconds must be finite"),
        (
            ["render", "WormSwim-v0", "--save", "film.mp4", "--option", "mass"],
            "option must be NAME=VALUE with a number",
        ),
        (["render", "WormSwim-v0", "--save", "film.mp4", "--option", "=1"], "option must be NAME=VALUE with a number"),
        (["render", "WormSwim-v0", "--save", "film.mp4", "--option", "weight=1"], "weight is not known; allowed are"),
        (["render", "WormSwim-v0", "--save", "film.mp4", "--control-rate", "3"], "rate must"),
        (["evaluate", "WormReach-v0", "--option", "target_distance=far"], "option must be NAME=VALUE with a number"),
    ],
)
def test_commands_say_what_is_wrong(arguments, message, tmp_path):
    command = [sys.executable, str(ROOT / "train.py"), *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == 2
    last = done.stderr.strip().splitlines()[-1]
    assert last.rpartition("\r")[2].strip().startswith("error: ") and message in last
    assert not any(tmp_path.iterdir())


def test_only_pictures_know_pygame():
    files = (path.relative_to(ROOT / "envs").as_posix() for path in (ROOT / "envs").rglob("*.py"))
    knowing = {file for file in files if "import pygame" in (ROOT / "envs" / file).read_text()}
    assert knowing == {"core/draw/canvas.py", "core/draw/view.py"}
    script = f"import gymnasium, gymnosoma, sys; gymnasium.make({SWIM!r}); assert 'pygame' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_trace_fills_and_then_scrolls():
    canvas, ends = Canvas(480, 270), []
    for now in (1.0, 2.0, 3.0):
        canvas.clear()
        time = np.linspace(0.0, now, 200)
        panel = canvas.trace((0, 0, canvas.width, 200), time, np.sin(9 * time), 2.0, 1.5, WARM, "sine")
        red = canvas.array()[..., 0] > canvas.array()[..., 2] + 60.0
        ends.append(np.nonzero(red.any(0))[0].max() / 480)
        assert panel.high[0] - panel.low[0] == 2.0
    assert ends == pytest.approx([0.5, 1.0, 1.0], abs=0.01)


def test_colours_show_size_and_sign():
    assert [tuple(c) for c in diverging([-2.0, 0.0, 2.0], 1.0)] == [COLD, CARD, WARM]
    assert [tuple(c) for c in sequential([-1.0, 0.0, 3.0], 2.0)] == [CARD, CARD, INK]


def test_canvas_measures():
    canvas = Canvas(640, 360)
    canvas.clear()
    canvas.box((0, 0, canvas.width / 2, canvas.height), WARM)
    frame = canvas.array()
    assert (frame[:, :320] == WARM).all() and (frame[:, 320:] == PAPER).all()
    canvas.clear()
    view = canvas.view((0, 0, canvas.width, canvas.height), [(0.0, 0.0), (3.0, 0.0)], 1.0, margin=0.5)
    assert view.high[0] - view.low[0] == pytest.approx(4.0)
    view.disc((3.0, 0.0), 10.0, WARM)
    rows, columns = np.nonzero(np.all(canvas.array() == WARM, axis=-1))
    assert rows.mean() == pytest.approx(179.5, abs=1) and columns.mean() == pytest.approx(640 * 3.5 / 4, abs=1)
    view.polyline(np.full((5, 2), np.nan), WARM)
    view.arrow((0, 0), (0, 0), WARM)
    left, right = outline(np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]), 0.5)
    assert (left[:, 1] == 0.5).all() and (right[:, 1] == -0.5).all()
    assert quantity(2e-4, "m") == "200 µm" and quantity(0.0, "N") == "0 N" and quantity(1.5e-12, "N") == "1.5 pN"
    assert quantity(2.14e-4, "N", 2) == "210 µN" and quantity(-9.996e-4, "N") == "-1000 µN"
    assert [rounded(v) for v in (0.9, 1.0, 4.9, 70.0)] == [0.5, 1.0, 2.0, 50.0]
