"""Ranges of parameters, options and arguments; hidden options, and the values of them that are held out."""

import re

import gymnasium
import numpy as np
import pytest
from ids import IDS

from gymnosoma.agents.policies.registry import task_class
from gymnosoma.envs.core.env.task import BODY, WITHIN, Hidden
from gymnosoma.envs.core.kernels.lanes import OVERFLOW_LIMIT, mark_broken, scatter, set_back
from gymnosoma.envs.core.model.quantities import Option
from gymnosoma.envs.whisker_rod import WhiskerRod


def ranges(env):
    """Options of a reset: names and what is allowed."""
    task = env.unwrapped.task
    options = {**task.animal.parameters, **task.options}
    return {name: option for name, option in options.items() if name not in task.unavailable}


@pytest.mark.parametrize("bounds", [(0.0, np.inf), (1.0, 0.0), (np.nan, 1.0)])
def test_an_option_has_a_range(bounds):
    with pytest.raises(ValueError, match="low and high must be finite and in order"):
        Option(*bounds, "m", "length")


@pytest.mark.parametrize("env_id", IDS)
def test_values_beyond_the_range_are_refused_everywhere(env_id):
    env = gymnasium.make(env_id)
    env.reset(seed=0)
    parameters = env.unwrapped.task.animal.parameters
    for name, option in ranges(env).items():
        allowed = re.escape(f"{name} must be within [{option.low:g}, {option.high:g}]") + ".*, got .*"
        for bad in (option.high + max(1e-3 * abs(option.high), 1e-9), option.low - 1e-3 * max(option.high, 1.0), 1e300):
            value = np.full(option.shape, bad)
            with pytest.raises(ValueError, match=f"options: {allowed}"):
                env.reset(options={name: value})
            if not option.shape:
                with pytest.raises(ValueError, match=f"randomize: {allowed}"):
                    gymnasium.make(env_id, randomize={name: (bad, bad)})
            if name in parameters:
                low, high = parameters[name].low, parameters[name].high
                if not low <= bad <= high:
                    with pytest.raises(ValueError, match=f"start: {name} must be within"):
                        env.unwrapped.task.animal.reset(env.unwrapped.batch.rows, np.arange(1), {name: bad})
        for bad in ("1", b"1", True, None, [option.low, "x"], [[option.low], [option.low] * 2]):
            with pytest.raises(ValueError, match=f"options: {name} must be"):
                env.reset(options={name: bad})


@pytest.mark.parametrize("env_id", IDS)
def test_corners_of_the_ranges_stay_finite(env_id):
    """Each parameter and option at either end, and random corners of all: rewards and observations are finite."""
    rng, known = np.random.default_rng(0), {}
    env = gymnasium.make(env_id)
    nominal = {name: env.unwrapped.task.animal.rows(1)[name][0] for name in env.unwrapped.task.animal.parameters}
    for name, option in ranges(env).items():
        if (not option.shape or name in nominal) and not name.startswith("friction_p"):
            known[name] = (option.low, option.high)
    ends = [{name: bound} for name, bounds in known.items() for bound in bounds]
    corners = [{name: rng.choice(bounds) for name, bounds in known.items() if rng.random() < 0.5} for _ in range(12)]
    done = 0
    for options in [*ends, *corners]:
        try:
            observation, _ = env.reset(seed=0, options=options)
        except ValueError as error:  # no such body can be: told by name
            assert re.match(r"(start|options): \w+ must", str(error)), error
            continue
        assert np.isfinite(observation).all()
        for _ in range(6):
            observation, reward, ended, _, info = env.step(rng.choice([-1.0, 1.0], env.action_space.shape))
            assert np.isfinite(observation).all() and np.isfinite(reward), (options, reward)
            assert not any(np.isnan(value).any() for value in info.values()), (options, info)
            done += 1
            if ended:
                break
    assert done > 0 and nominal.keys() - env.unwrapped.task.unavailable <= ranges(env).keys()


@pytest.mark.parametrize("width", [1, 16])
@pytest.mark.parametrize(
    ("value", "status"), [(0.5 * OVERFLOW_LIMIT, 0.0), (OVERFLOW_LIMIT, 2.0), (np.inf, 2.0), (np.nan, 2.0)]
)
@pytest.mark.parametrize("place", [2, 5])
def test_a_state_beyond_bounds_is_not_kept(width, value, status, place):
    """Squares of what is kept are finite; what does not change is neither looked at nor copied."""
    rows = np.ones((width, 7))
    rows[:, 0] = 0.0
    block = rows.T.copy()
    block[place] = [*block[place][:-1], -value]
    block[6] = np.inf
    ids, drive = np.arange(width), np.zeros((width, 0))
    well = mark_broken(block, 0, 6)
    assert well == (status == 0.0)
    if not well:
        set_back(block, rows, ids, 0, 0, 2.0, -1, np.zeros((width, 1, 6)), drive, np.zeros(0, np.int64))
    scatter(block, rows, ids, 0, 0, 6)
    assert rows[-1, 0] == status and rows[-1, place] == (-value if status == 0.0 else 1.0)
    assert (rows[:-1, 0] == 0.0).all() and (rows[:, 6] == 1.0).all()


@pytest.mark.parametrize("start", [{"length": 1.0}, {"base_angle": 1e9}, {"curvature_base": -1e3, "length": 1.0}])
def test_the_search_for_the_whiskers_equilibrium_ends(start):
    animal = WhiskerRod()
    try:
        animal.reset(animal.rows(1), np.arange(1), start)
    except ValueError as error:
        assert "plate_distance must be so large" in str(error)


# Hidden options


HIDING = [each for each in IDS if task_class(*each.values).hidden]


@pytest.mark.parametrize(
    ("hidden", "held"),
    [
        (Hidden(-1.0, 2.0), {0, 9}),
        (Hidden(0.5, 2.0, logarithmic=True), {0, 9}),
        (Hidden(0.0, 3.0), {8, 9}),
        (Hidden(1.0, 2.0, test=(8, 9)), {8, 9}),
        (Hidden(-np.pi, np.pi, test=()), {*range(10)}),
    ],
)
def test_a_split_holds_out_values(hidden, held):
    rng, low, high = np.random.default_rng(0), hidden.low, hidden.high

    def tenths(split):
        places = set()
        for _ in range(500):
            value = hidden.draw(rng, split)
            place = np.log(value / low) / np.log(high / low) if hidden.logarithmic else (value - low) / (high - low)
            places.add(int(10.0 * place - 1e-9))
        return places

    everything = set(range(10))
    assert tenths(None) == tenths("robust") == everything
    assert tenths("test") == held
    assert tenths("within") == (everything if held == everything else set(WITHIN))
    assert tenths("train") == (everything if held == everything else everything - held - set(WITHIN))


@pytest.mark.parametrize("env_id", HIDING)
def test_episodes_are_drawn_from_the_split(env_id, monkeypatch):
    kind = task_class(env_id)
    drawn = []
    begin = kind.begin

    def watched(self, episodes, rows):
        drawn.extend(episodes.task.split for _ in episodes.rngs)
        begin(self, episodes, rows)

    monkeypatch.setattr(kind, "begin", watched)
    envs = gymnasium.make_vec(env_id, num_envs=3, split="test")
    envs.reset(seed=0)
    with gymnasium.make(env_id, split="train") as env:
        env.reset(seed=0)
    assert drawn == ["test"] * 3 + ["train"]
    with pytest.raises(ValueError, match="split must be one of paper, train, within, test, robust, got 'all'"):
        gymnasium.make(env_id, split="all")


@pytest.mark.parametrize("env_id", IDS)
def test_bodies_may_be_others(env_id):
    """Each parameter of the body by a factor of its own, whatever else is drawn; what is given stays."""
    usual, robust = (gymnasium.make_vec(env_id, num_envs=32, split=split) for split in (None, "robust"))
    task = robust.batch.task
    names, first = task.randomized_parameters(), task.randomized_parameters()[0]
    assert names
    for envs in (usual, robust):
        envs.reset(seed=0)
    factors = {}
    for name in names:
        value, own = robust.batch.rows[name], usual.batch.rows[name]
        ratio = (value / np.where(own == 0.0, 1.0, own)).reshape(32, -1)
        factors[name] = ratio[:, 0]
        np.testing.assert_allclose(ratio[ratio != 0.0], np.broadcast_to(ratio[:, :1], ratio.shape)[ratio != 0.0])
        assert BODY[0] <= ratio[:, 0].min() < 0.8 and 1.2 < ratio[:, 0].max() <= BODY[1]
    drawn = np.corrcoef(list(factors.values()))
    assert np.abs(drawn - np.eye(len(names))).max() < 0.6
    again = gymnasium.make_vec(env_id, num_envs=32, split="robust")
    again.reset(seed=0)
    assert again.batch.rows.tobytes() == robust.batch.rows.tobytes()
    kept = usual.batch.rows[first][0]
    again.reset(seed=0, options={first: kept})
    np.testing.assert_array_equal(again.batch.rows[first], np.broadcast_to(kept, (32, *np.shape(kept))))
