"""Hidden options, and the values of them that are held out."""

import gymnasium
import numpy as np
import pytest
from ids import ALL

from gymnosoma.agents.evaluation.policies import task_class
from gymnosoma.envs.core.spec import HELD_OUT

HIDING = [env_id for env_id in ALL if task_class(env_id).hidden]


@pytest.mark.parametrize("env_id", HIDING)
def test_a_split_holds_out_values(env_id):
    hidden = task_class(env_id).hidden

    def tenths(split):
        rng, places = np.random.default_rng(0), []
        for _ in range(500):
            for one in hidden.values():
                value, low, high = one.draw(rng, split), one.low, one.high
                if one.logarithmic:
                    value, low, high = np.log([value, low, high])
                places.append(int(10.0 * (value - low) / (high - low) - 1e-9))
        return set(places)

    assert tenths(None) == set(range(10))
    assert tenths("test") == set(HELD_OUT)
    assert tenths("train") == set(range(10)) - set(HELD_OUT)


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
    with pytest.raises(ValueError, match="split must be one of train, test, got 'all'"):
        gymnasium.make(env_id, split="all")


def test_a_split_of_nothing_is_refused():
    with pytest.raises(ValueError, match="split must be None for Swim, which hides nothing, got 'test'"):
        gymnasium.make("gymnosoma/WormSwim-v0", split="test")


def test_what_is_hidden_is_in_the_documentation():
    described = " ".join(gymnasium.make("gymnosoma/WormMedium-v0").unwrapped.__doc__.split())
    assert "not shown: ``sigma`` 0 .. 1; ``split`` holds two tenths of these back." in described
    assert "not shown" not in gymnasium.make("gymnosoma/WormSwim-v0").unwrapped.__doc__
