"""Hidden options, and the values of them that are held out."""

import gymnasium
import numpy as np
import pytest
from ids import IDS

from gymnosoma.agents.policies.registry import task_class
from gymnosoma.envs.core.env.task import BODY, WITHIN, Hidden

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
        drawn.extend(episodes.split for _ in episodes.rngs)
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
