"""What a researcher bends: what is drawn, options that stay, senses and hands."""

import pickle
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from ids import IDS
from scipy.stats import kstest, loguniform, rv_discrete, truncnorm, uniform
from stable_baselines3.common.env_checker import check_env as check_with_sb3

from gymnosoma.envs import wrappers

SWIM, REACH = "gymnosoma/WormSwim-v0", "gymnosoma/WormReach-v0"
ESCAPE = "gymnosoma/LampreyEscape-v0"


def several(env_id, count=4, **arguments):
    return wrappers.make_vec(env_id, count, **arguments)


def bare(env_id, wrapped=None, **arguments):
    """Return a scalar environment with our wrappers alone."""
    return wrappers.wrap(gymnasium.make(env_id, **arguments).unwrapped, wrapped)


def drawn(name, one, count=400, env_id=SWIM, **arguments):
    envs = several(env_id, count, randomize={name: one}, **arguments)
    envs.reset(seed=0)
    return envs.batch.rows[name]


def test_what_distributions_draw():
    log = np.log10(drawn("damping", loguniform(1e-13, 1e-11)))
    assert log.min() >= -13 and log.max() <= -11 and abs(np.mean(log) + 12) < 0.1
    low, mean, high = 0.8, 1.0, 1.1
    values = drawn("control_gain", truncnorm(-2, 1, mean, 0.1))[:, 0]
    assert low <= values.min() and values.max() <= high
    assert kstest(values, truncnorm(-2, 1, mean, 0.1).cdf).pvalue > 0.01
    values = drawn("control_gain", rv_discrete(values=([0.5, 1.0], [0.25, 0.75])))[:, 0]
    assert {*values} == {0.5, 1.0} and abs(np.mean(values == 1.0) - 0.75) < 0.08
    alike, apart = drawn("control_gain", (0.5, 1.0)), drawn("control_gain", uniform(np.full(24, 0.5), 0.5))
    assert (alike == alike[:, :1]).all() and (np.ptp(apart, 1) > 0.1).all()
    shape = np.linspace(0.5, 1.0, 24)
    given = drawn("control_gain", lambda rng: rng.uniform(0.9, 1.0) * shape)
    np.testing.assert_allclose(given / given[:, :1], np.tile(2 * shape, (400, 1)))
    assert len({*drawn("control_gain", lambda rng: rng.choice([shape, shape[::-1]]))[:, 0]}) == 2


def test_synapses_and_the_friction_on_a_peg_are_drawn():
    count = len(gymnasium.make(ESCAPE, actions="brainstem").unwrapped.task.animal.circuit.weights)
    weights = drawn("synapse", loguniform(np.full(count, 0.5), 2.0), 4, ESCAPE, actions="brainstem")
    assert weights.shape[1] > 5 and np.ptp(weights) > 0.5
    friction = drawn("friction", (0.1, 0.5), 4, "gymnosoma/WhiskerLocalize-v0", friction=0.2)
    assert len({*friction}) == 4


def test_what_is_drawn_changes_on_a_living_environment():
    envs = several(REACH, max_episode_steps=2)
    envs.reset(seed=0)
    envs.set_randomize({"target_distance": (1e-3, 1e-3)})
    still = np.zeros(envs.action_space.shape)

    def distances():
        for _ in range(3):  # to the end, and an automatic reset
            _, _, _, _, infos = envs.step(still)
        return infos["distance"]

    first = distances()
    np.testing.assert_allclose(first, 1e-3, rtol=1e-5)
    snapshot = pickle.loads(pickle.dumps(envs.save()))
    other = several(REACH, max_episode_steps=2)
    other.restore(snapshot)
    envs.set_randomize(None)
    assert (distances() > 1.9e-3).all()
    envs = other
    np.testing.assert_allclose(distances(), 1e-3, rtol=1e-5)


def test_options_stay_until_others_are_kept():
    envs = several(REACH, max_episode_steps=2, randomize={"target_distance": (3e-3, 3e-3)})
    near = np.array([1e-3, 1.5e-3, 2e-3, 2.5e-3])
    slack = {"time": 0.0, "stiffness": 1e-11}
    envs.reset(seed=0, options={"target_distance": near, "events": [slack], "keep": True})
    still = np.zeros(envs.action_space.shape)

    def distances():
        for _ in range(3):
            _, _, _, _, infos = envs.step(still)
        return infos["distance"]

    np.testing.assert_allclose(distances(), near, rtol=5e-3)
    snapshot = pickle.loads(pickle.dumps(envs.save()))
    envs.step(still)
    assert (envs.batch.rows["stiffness"] == 1e-11).all()  # the event comes again, too
    mask = np.array([True, False, False, False])
    envs.reset(options={"reset_mask": mask, "keep": True})  # keeps nothing
    envs.step(still)
    np.testing.assert_allclose(distances(), [3e-3, *near[1:]], rtol=5e-3)
    _, infos = envs.reset(options={"target_distance": 2.2e-3})  # for once
    np.testing.assert_allclose(infos["distance"], 2.2e-3)
    np.testing.assert_allclose(distances(), [3e-3, *near[1:]], rtol=5e-3)
    envs.restore(snapshot)
    np.testing.assert_allclose(distances(), near, rtol=5e-3)

    one = gymnasium.make(REACH)
    one.reset(seed=0, options={"target_distance": 1e-3, "keep": True})
    assert one.reset()[1]["distance"] == pytest.approx(1e-3)
    with pytest.raises(ValueError, match="options: keep must be True or False, got 'yes'"):
        one.reset(options={"keep": "yes"})


def imperfect(env_id):
    """Every kind of imperfection for an id's first two fields."""
    task = gymnasium.make(env_id).unwrapped.task
    first, second, *_ = task.layout.fields
    size = {name: float(np.min(task.layout.fields[name].scale)) for name in (first, second)}
    errors = {"noise": {first: 0.1 * size[first]}, "dropout": {second: 0.3}, "resolution": {first: 0.05 * size[first]}}
    return {"DisturbObservation": errors, "DelayObservation": {"delay": 2}, "DelayAction": {"delay": 1}}


def flat(seen):
    return np.concatenate(list(seen.values()), -1) if isinstance(seen, dict) else seen


def path_of(env_id, wrapped, steps=4, **arguments):
    """Three rows and what they observe: as each does alone, and again after a snapshot."""
    envs, rng = several(env_id, 3, wrappers=wrapped, **arguments), np.random.default_rng(0)
    alone = [bare(env_id, wrapped, **arguments) for _ in range(3)]
    path = [flat(envs.reset(seed=5)[0])]
    np.testing.assert_array_equal(path[0], [flat(env.reset(seed=5 + i)[0]) for i, env in enumerate(alone)])
    actions = 0.3 * rng.uniform(-1, 1, (steps, *envs.action_space.shape))
    snapshot = pickle.loads(pickle.dumps(envs.save()))
    for each in actions:
        path.append(flat(envs.step(each)[0]))
        np.testing.assert_array_equal(path[-1], [flat(env.step(a)[0]) for env, a in zip(alone, each, strict=True)])
    envs.restore(snapshot)
    np.testing.assert_array_equal(path[1:], [flat(envs.step(each)[0]) for each in actions])
    return envs, path


@pytest.mark.parametrize("env_id", IDS)
def test_imperfect_senses_are_those_of_a_row_alone_and_of_a_snapshot(env_id):
    envs, path = path_of(env_id, imperfect(env_id))
    assert len({row.tobytes() for row in path[-1]}) == 3
    snapshot = envs.save()
    with pytest.raises(ValueError, match="snapshot: own: waiting must be"):
        envs.restore({**snapshot, "own": {**snapshot["own"], "waiting": snapshot["own"]["waiting"][:2]}})


def test_how_imperfect_senses_are():
    plain, clear = several(SWIM, 200), {"joint_angle": slice(0, 24), "joint_rate": slice(24, 48)}
    actions = np.random.default_rng(0).uniform(-1, 1, (4, 200, 6))

    def played(name="", **arguments):
        envs = several(SWIM, 200, wrappers={name: arguments}) if name else plain
        return np.array([envs.reset(seed=0)[0], *(envs.step(each)[0] for each in actions)])

    true = played()
    noisy = played("DisturbObservation", noise={"joint_angle": 0.05}) - true
    assert np.std(noisy[:, :, clear["joint_angle"]]) == pytest.approx(0.05 / 0.5, rel=0.02)
    assert not noisy[:, :, 24:].any()
    assert abs(np.corrcoef(noisy[1, :, :24].ravel(), noisy[2, :, :24].ravel())[0, 1]) < 0.05
    silent = played("DisturbObservation", dropout={"joint_rate": 0.25})[1:, :, clear["joint_rate"]] == 0.0
    assert np.mean(silent) == pytest.approx(0.25, abs=0.01)
    steps = 0.5 * played("DisturbObservation", resolution={"joint_angle": 0.1})[:, :, clear["joint_angle"]] / 0.1
    np.testing.assert_allclose(steps, np.rint(steps), atol=1e-5)
    late = played("DelayObservation", delay=2)
    np.testing.assert_array_equal(late[[0, 1, 2]], true[[0, 0, 0]])
    np.testing.assert_array_equal(late[3:], true[1:3])
    actions = np.concatenate([np.zeros((1, 200, 6)), actions[:-1]])  # what the hands do that are one period late
    expected = played()
    actions = np.concatenate([actions[1:], actions[:1]])
    np.testing.assert_array_equal(played("DelayAction", delay=1)[:4], expected[:4])


@pytest.mark.parametrize(
    ("wrapped", "message"),
    [
        ({"DisturbObservation": {"noise": {"joint_angel": 0.1}}}, "noise .joint_angel. is not known; did you mean"),
        ({"DisturbObservation": {"noise": {"joint_angle": -1}}}, r"noise: joint_angle must be within \[0, 5\] rad"),
        ({"DelayObservation": {"delay": 0.5}}, "delay must be an integer from 0 to 1000, got 0.5"),
        ({"DelayObservations": {"delay": 1}}, "wrappers .DelayObservations. is not known; did you mean"),
        ({"DelayAction": {"delay": 1}, "PixelObservation": {}}, "PixelObservation must be the innermost wrapper"),
        ({"PixelObservation": {}, "DisturbObservation": {}}, "DisturbObservation needs fields"),
        ({"GoalObservation": {}}, "GoalObservation needs a task with goals, .* got Swim"),
    ],
)
def test_impossible_senses_are_named(wrapped, message):
    for make in (wrappers.make, several):
        with pytest.raises(ValueError, match=message):
            make(SWIM, wrappers=wrapped)


@pytest.mark.parametrize(
    ("argument", "wrapper"),
    [
        ("goal", "GoalObservation"),
        ("observation", "ModeObservation or PixelObservation"),
        ("sensor_noise", "DisturbObservation"),
        ("action_delay", "DelayAction"),
    ],
)
def test_arguments_that_are_wrappers_are_named(argument, wrapper):
    with pytest.raises(TypeError, match=f"'{argument}'; wrap the environment in {wrapper} of gymnosoma.envs.wrappers"):
        gymnasium.make(SWIM, **{argument: 1})
    with pytest.raises(TypeError, match=r"'signals'; call env.unwrapped.signal\(name\) instead"):
        gymnasium.make(SWIM, signals=("speed",))


@pytest.mark.parametrize("env_id", IDS)
def test_pictures_are_those_of_a_row_alone(env_id):
    wrapped = {"PixelObservation": {}, "DelayObservation": {"delay": 1}}
    if "Pendulum" in env_id:  # whose package draws none
        with pytest.raises(ValueError, match=r"PixelObservation needs a function sketch in .*pendulum.picture"):
            several(env_id, 3, wrappers=wrapped)
        return
    # The ground jerks later in StandGains.
    envs, path = path_of(env_id, wrapped, 8 if "StandGains" in env_id else 4, history=2)
    assert path[0].shape == (3, 84, 84, 6) and path[0].dtype == np.uint8 and path[0] in envs.observation_space
    assert (path[-1] != path[1]).any() and np.ptp(path[-1]) > 100
    np.testing.assert_array_equal(path[-1][..., :3], path[-2][..., 3:])
    envs.batch.rows["centre" if "centre" in envs.batch.rows.dtype.names else "time"] = np.nan
    assert envs.step(np.zeros(envs.action_space.shape))[0].shape == (3, 84, 84, 6)


def test_pictures_show_body_goal_and_medium_where_they_are():
    from gymnosoma.envs.core.draw.pixels import GOAL, WATER
    from gymnosoma.envs.worm.params import friction
    from gymnosoma.envs.worm.picture import AGAR

    def picture(env_id, **options):
        seen, _ = wrappers.make(env_id, {"PixelObservation": {"size": 96}}).reset(seed=0, options=options)
        return seen.astype(float)

    for bearing in (0.0, 1.0, -2.0):
        seen = picture(REACH, target_bearing=bearing, target_distance=0.6e-3)
        envs = gymnasium.make(REACH).unwrapped
        envs.reset(seed=0, options={"target_bearing": bearing, "target_distance": 0.6e-3})
        row, memory = envs.batch.rows[0], envs.batch.memory[0]
        j, i = np.nonzero(np.abs(seen - GOAL).sum(-1) < 20)
        place = row["centre"] + 2.4e-3 * np.array([i.mean() + 0.5 - 48, 48 - j.mean() - 0.5]) / 96
        np.testing.assert_allclose(place, memory["target"], atol=2.5e-5)
    media = [{"friction_perpendicular": float(friction(sigma)[0])} for sigma in (0.0, 1.0)]
    paper = [np.median(picture(REACH, **medium).reshape(-1, 3), 0) for medium in media]
    np.testing.assert_allclose(paper, [WATER, AGAR], atol=1)
    hidden = [picture("gymnosoma/WormCrawl-v0", drag=drag)[..., -3:] for drag in (0.1, 10.0)]
    np.testing.assert_array_equal(*hidden)


WAYPOINTS = "gymnosoma/LampreyWaypoints-v0"


def divided(env_id, parts):
    """Arguments of the same body, of other parts."""
    from gymnosoma.envs.lamprey import LampreyParams
    from gymnosoma.envs.worm import WormParams

    finer, own = (parts - 1) / 24, WormParams()
    stiff = {"stiffness": finer * own.stiffness, "damping": finer * own.damping, "control_gain": 1 / finer}
    if env_id == SWIM:
        return {"actions": "modes", "params": {"n_rods": parts, **stiff}}
    finer, own = (parts - 1) / 9, LampreyParams()
    stiff = {"muscle_stiffness": finer * own.muscle_stiffness, "damping": finer * own.damping}
    body = LampreyParams.from_outline(links=parts, **stiff)
    return {"actions": "brainstem", "scheme": "implicit", "params": body, "circuit": {"segments": 120}}


@pytest.mark.parametrize(
    ("env_id", "arguments", "goal"),
    [
        (SWIM, {"actions": "modes"}, {}),
        (SWIM, {}, {}),
        *((one, {}, {"GoalObservation": {}}) for one in (REACH, WAYPOINTS)),
    ],
)
def test_modes_are_those_of_a_row_alone(env_id, arguments, goal):
    wrapped = {"ModeObservation": {"modes": 5}, "DisturbObservation": {"noise": {"joint_angle": 0.01}}, **goal}
    envs, _ = path_of(env_id, wrapped, history=2, **arguments)
    envs.batch.rows["centre"] = np.nan
    envs.batch.rows["rod_angle" if env_id in (SWIM, REACH) else "link_angle"] = np.nan
    assert flat(envs.step(np.zeros(envs.action_space.shape))[0]).shape[0] == 3


def test_amplitudes_are_those_of_the_joints():
    modes = several(SWIM, wrappers={"ModeObservation": {}}, actions="angles")
    place = np.linspace(0, 1, 24)
    angles = 0.1 - 0.3 * np.cos(3 * np.pi * place)
    modes.reset(seed=0)
    rows, memory = modes.batch.rows, modes.batch.memory
    rows["rod_angle"][:, 1:] = rows["rod_angle"][:, :1] + np.cumsum(angles)
    memory["action"] = np.cos(np.pi * place)
    seen, plain = modes.layout.pack(modes.task.hooks.sensed(rows, memory)), modes.task.hooks.observe(rows, memory)
    np.testing.assert_allclose(0.5 * seen[:, :6], np.tile([0.1, 0, 0, -0.3, 0, 0], (4, 1)), atol=1e-6)
    np.testing.assert_allclose(seen[:, 12:18], np.tile([0, 1, 0, 0, 0, 0], (4, 1)), atol=1e-6)
    np.testing.assert_array_equal(seen[:, 18:], plain[:, 72:])
    assert "amplitudes of 6 cosines along the body, scaled to 24 joints" in modes.layout.fields["joint_angle"].meaning


@pytest.mark.parametrize(
    ("env_id", "coarse", "fine"), [(SWIM, 10, 25), pytest.param(WAYPOINTS, 10, 20, marks=pytest.mark.slow)]
)
def test_a_body_is_observed_and_moves_alike_however_finely_it_is_divided(env_id, coarse, fine):
    rng, shown = np.random.default_rng(0), []
    bends, weights = rng.normal(0, 0.2, (16, 3)), rng.normal(0, 0.3, (64, 6))
    for parts in (coarse, fine):
        envs = several(env_id, 16, wrappers={"ModeObservation": {}}, **divided(env_id, parts))
        envs.reset(seed=0)
        rows, memory = envs.batch.rows, envs.batch.memory
        angles = np.sum(bends[:, :, None] * np.cos(np.pi * np.arange(3)[:, None] * np.linspace(0, 1, parts - 1)), 1)
        angles *= (24 if env_id == SWIM else 9) / (parts - 1)
        rod = rows["rod_angle" if env_id == SWIM else "link_angle"]
        rod[:, 1:] = rod[:, :1] + np.cumsum(angles, 1)
        seen, known = envs.layout.pack(envs.task.hooks.sensed(rows, memory)), envs.layout.slices["joint_angle"]
        after, *_ = envs.step(
            np.tanh(np.sum(seen[:, :, None] * weights[: seen.shape[1], : envs.action_space.shape[1]], 1))
        )
        shown.append((seen[:, known], after[:, known]))
    np.testing.assert_allclose(shown[0][0], shown[1][0], atol=1e-5)
    assert np.corrcoef(shown[0][1].ravel(), shown[1][1].ravel())[0, 1] > 0.98


GOAL_FORM = {"GoalObservation": {}}


@pytest.mark.parametrize("env_id", [REACH, WAYPOINTS])
def test_goals_have_gymnasiums_form(env_id):
    check_env(bare(env_id, GOAL_FORM, history=2), skip_render_check=True)
    check_with_sb3(bare(env_id, GOAL_FORM, history=2))
    envs = several(env_id, 3, wrappers=GOAL_FORM, autoreset_mode="SameStep", max_episode_steps=4, history=2)
    alone = [bare(env_id, GOAL_FORM, history=2) for _ in range(3)]
    seen, _ = envs.reset(seed=5)
    ones = [env.reset(seed=5 + i)[0] for i, env in enumerate(alone)]
    snapshot = pickle.loads(pickle.dumps(envs.save()))
    for each in np.random.default_rng(0).uniform(-1, 1, (4, *envs.action_space.shape)):
        for name, value in seen.items():
            np.testing.assert_array_equal(value, [one[name] for one in ones])
        seen, rewards, _, truncated, infos = envs.step(each)
        steps = [env.step(a) for env, a in zip(alone, each, strict=True)]
        ones = [step[0] for step in steps]
        for one, reward in zip(ones, rewards, strict=True):
            assert alone[0].compute_reward(one["achieved_goal"], one["desired_goal"], {}) == reward == -1.0
    assert truncated.all()
    for one, final in zip(ones, infos["final_obs"], strict=True):
        np.testing.assert_array_equal(one["achieved_goal"], final["achieved_goal"])
    envs.restore(snapshot)
    assert not hasattr(gymnasium.make(env_id).unwrapped, "compute_reward")
    assert not hasattr(several(env_id), "compute_reward")
    wrapped = gymnasium.Wrapper(wrappers.make(env_id, GOAL_FORM))
    assert wrapped.get_wrapper_attr("compute_reward")(*[[0.0, 0.0]] * 2) == 0.0


def test_a_goal_is_where_it_was_put_and_pays_when_it_is_reached():
    env = bare(REACH, GOAL_FORM)
    seen, _ = env.reset(seed=0, options={"target_bearing": 0.5 * np.pi, "target_distance": 2e-3})
    np.testing.assert_allclose(seen["desired_goal"], [0.0, 1.0], atol=1e-6)  # left of the head, in 2 mm
    np.testing.assert_array_equal(seen["achieved_goal"], [0.0, 0.0])
    assert env.compute_reward([[0.0, 0.0]] * 2, [[0.0, 0.049], [0.051, 0.0]]).tolist() == [0.0, -1.0]
    batch = env.unwrapped.batch
    batch.memory["target"] = env.task.animal.points(batch.rows)[:, 0]
    env.work.state["goal"][:] = batch.memory["target"]
    _, reward, terminated, _, info = env.step(np.zeros(6))
    assert reward == 0.0 and terminated and info["is_success"]
    lamprey = bare(WAYPOINTS, GOAL_FORM)
    first = lamprey.reset(seed=0)[0]["desired_goal"]
    batch = lamprey.unwrapped.batch
    batch.memory["waypoint"][:, 0] = lamprey.work.state["goal"][:] = batch.rows["centre"]
    seen, reward, terminated, _, info = lamprey.step(np.zeros(6))
    assert reward == 0.0 and not terminated and (first != seen["desired_goal"]).any()
    seen, reward, *_, info = lamprey.step(np.zeros(6))
    assert reward == -1.0 and info["reached"] == 1 and np.abs(seen["desired_goal"]).max() > 0.1


def test_only_success_ends_the_goal_form():
    env = bare(REACH, GOAL_FORM)
    env.reset(seed=0)
    angles = env.unwrapped.batch.rows["rod_angle"][0]
    angles[:] = angles[0] + np.linspace(0.0, 3.0 * np.pi, len(angles))  # a worm that crosses itself
    _, reward, terminated, truncated, info = env.step(np.zeros(6))
    assert (reward, terminated, truncated, info["failure"]) == (-1.0, False, False, 0)


@pytest.mark.parametrize("env_id", [REACH, WAYPOINTS])
def test_goals_can_be_exchanged_in_hindsight(env_id):
    """What was paid is computed again from what is observed, to the end; the goal is seen nowhere else."""
    arguments = {"control_rate": 5.0, "max_episode_steps": 60, "autoreset_mode": "SameStep"}
    arguments |= {"randomize": {"target_distance": (0.2e-3, 0.4e-3)}, "actions": "modes"} if env_id == REACH else {}
    envs, rng, paid, ended = several(env_id, 64, wrappers=GOAL_FORM, **arguments), np.random.default_rng(0), 0, 0
    envs.reset(seed=0)
    for _ in range(120):
        seen, rewards, terminated, truncated, infos = envs.step(rng.uniform(-1, 1, envs.action_space.shape))
        last = {name: seen[name].copy() for name in seen}
        for i in np.flatnonzero(terminated | truncated):
            for name in last:
                last[name][i] = infos["final_obs"][i][name]
        np.testing.assert_array_equal(rewards, envs.compute_reward(last["achieved_goal"], last["desired_goal"]))
        if env_id == REACH:
            np.testing.assert_array_equal(terminated, rewards == 0.0)
        paid, ended = paid + np.sum(rewards == 0.0), ended + np.sum(truncated & ~terminated)
    assert ended > 10 and (paid > 10 or env_id == WAYPOINTS)


def test_gymnasiums_checker_passes_without_a_display(monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"):
        monkeypatch.delenv(name, raising=False)
    env = gymnasium.make(SWIM)
    check_env(env.unwrapped)
    if sys.platform == "linux":
        assert env.metadata["render_modes"] == ["rgb_array"]
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    assert gymnasium.make(SWIM).metadata["render_modes"] == ["rgb_array", "human"]
