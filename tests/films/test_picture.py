"""Pictures: every id, with and without a display, and the commands that show them; an animal in a person's hands."""

from itertools import pairwise

import gymnasium
import numpy as np
import pygame
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import RecordEpisodeStatistics, RecordVideo
from gymnasium.wrappers import vector as wrappers
from ids import IDS

from gymnosoma.envs.core.draw.canvas import PAPER, Canvas
from gymnosoma.envs.core.draw.view import Trail
from gymnosoma.films.game import Game
from gymnosoma.films.reel import show_episode

imageio = pytest.importorskip("imageio.v3")

SWIM = "gymnosoma/WormSwim-v0"
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
        assert len(np.unique(frame @ np.array([1, 256, 65536]))) > 50  # colours
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


def test_a_body_is_whole_and_below_the_captions(views):
    env = gymnasium.make("gymnosoma/LampreyWaypoints-v0", render_mode="rgb_array", **SMALL).unwrapped
    env.reset(seed=0)
    for _ in range(30):
        for _ in range(10):
            env.step(np.zeros(env.action_space.shape, np.float32))
        env.render()
        points, view = env.task.animal.points(env.batch.rows)[0], views[-1]
        assert (points > view.low).all() and (points < view.high - view.header * view.point * np.array([0, 1])).all()


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


def test_passes_gymnasiums_checker(dummy):
    check_env(gymnasium.make(SWIM, render_mode="rgb_array", **SMALL).unwrapped)


def test_human_mode_needs_a_display():
    env = gymnasium.make(SWIM, render_mode="human")
    with pytest.raises(ValueError, match=r"a window needs a display .*: use render_mode='rgb_array' without one"):
        env.reset(seed=0)


def test_human_mode_shows_true_speed_and_can_be_closed(dummy):
    env, other = (gymnasium.make(SWIM, render_mode="human", **SMALL) for _ in range(2))
    for each in (env, other):
        each.reset(seed=0)
        assert each.unwrapped.view.window._window.size == (320, 180)
    other.close()  # each has a window of its own
    action, started = np.zeros(6, np.float32), pygame.time.get_ticks()
    for _ in range(8):
        env.step(action)
    assert pygame.time.get_ticks() - started >= 7 * 24  # the first step is due since the last frame
    assert env.render() is None
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    env.step(action)
    assert not pygame.display.get_init()
    env.step(action)
    env.close()
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


# An animal in the hands of a person, with the keyboard


@pytest.fixture
def play(monkeypatch):
    """Begin a game; it is given with the simulation that it plays, and is closed in the end."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    games, made, make = [], [], gymnasium.make
    monkeypatch.setattr(gymnasium, "make", lambda *given, **named: made.append(make(*given, **named)) or made[-1])

    def begin(env_id):
        games.append(Game(env_id, **SMALL))
        return games[-1], made[-1].unwrapped.batch

    yield begin
    for game in games:
        game.close()
    pygame.display.quit()


def keys(kind, names):
    for name in names:
        pygame.event.post(pygame.event.Event(kind, key=pygame.key.key_code(name)))


def turns(game, count, *names):
    """Take turns of a game with some keys held, which are up again in the turn after."""
    keys(pygame.KEYDOWN, names)
    for _ in range(count):
        game.turn()
    if game.running:
        keys(pygame.KEYUP, names)


def test_person_steers(play):
    game, simulation = play("gymnosoma/WormCrawl-v0")
    steering = game.steering
    game.turn()
    turns(game, 4, "right", "up")
    assert steering.bias > 0.04 and steering.frequency > 1 / 1.6
    turns(game, 5, "m")
    assert steering.bias == 0.0
    frequency = steering.frequency
    turns(game, 0, "up")  # a tap, shorter than a turn
    game.turn()
    assert steering.frequency > frequency
    assert simulation.rows["friction_perpendicular"][0] == pytest.approx(0.00128)  # agar / 100
    time = simulation.rows["time"][0]
    assert time == pytest.approx(11 / steering.control_rate)
    turns(game, 1, "space")
    assert game.paused and simulation.rows["time"][0] == time
    turns(game, 1, "space", "t", "h", "b", "r")
    assert simulation.rows["time"][0] == pytest.approx(1 / steering.control_rate)
    turns(game, 1, "escape")
    assert not game.running


def test_end_of_the_episode_waits_for_the_person(play):
    game, simulation = play("gymnosoma/WormReach-v0")
    simulation.memory["target"] = game.task.animal.points(simulation.rows)[:, 0]
    turns(game, 3)
    assert simulation.rows["time"][0] == pytest.approx(1 / game.steering.control_rate)
    turns(game, 1, "r")
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    game.turn()
    assert not game.running


@pytest.mark.parametrize("env_id", IDS)
def test_person_steers_every_animal_that_can_be_steered(env_id, play):
    try:
        game, simulation = play(env_id)
    except ValueError as refused:
        assert "can be steered by hand, got" in str(refused)
        return
    turns(game, 2)
    assert game.running and simulation.rows["time"][0] == pytest.approx(2 / game.steering.control_rate)


def test_person_turns_the_base(play):
    game, simulation = play("gymnosoma/WhiskerLocalize-v0")
    steering, row = game.steering, simulation.rows[0]
    for names, angle, distance in ((("up", "right", "w"), 1, 1), (("down", "s"), -1, -1)):
        before, answered = row["link_angle"][0], steering.answers["place"]
        turns(game, 10, *names)
        assert np.sign(row["link_angle"][0] - before) == angle
        assert np.sign(simulation.memory["answer"][0, 0] - answered) == distance
    assert steering.speed > 2.0
    turns(game, 3)
    assert abs(row["base_rate"]) < 1e-6  # the command is rounded to float32
