"""Datasets of recorded episodes."""

import numpy as np
import pytest
from ids import IDS

from gymnosoma.agents.policies.fingerprints import of_id
from gymnosoma.agents.policies.lookup import find_policy
from gymnosoma.agents.policies.registry import references_of

minari = pytest.importorskip("minari")
pytest.importorskip("h5py")

from gymnosoma.agents.policies.dataset import record  # noqa: E402

SWIM = "gymnosoma/WormSwim-v0"


@pytest.fixture(autouse=True)
def datasets(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    return tmp_path


@pytest.mark.full
@pytest.mark.parametrize("env_id", IDS)
def test_what_is_recorded_repeats_itself(env_id):
    name = f"{env_id}/test-v0"
    policy = "baseline" if references_of(env_id) else "random"
    origin = record(env_id, find_policy(env_id, policy), name, 2, noise=0.2, seed=7)
    dataset = minari.load_dataset(name)
    assert dataset.storage.metadata["gymnosoma"] == origin
    assert origin["fingerprint"] == of_id(env_id, origin["env"])
    env = dataset.recover_environment()
    returns = []
    for k, episode in enumerate(dataset.iterate_episodes()):
        (told,) = dataset.storage.get_episode_metadata([k])
        task = env.unwrapped.task
        assert told["seed"] == 7 + k and told["options"].keys() == task.animal.parameters.keys() - {*task.unavailable}
        observation, _ = env.reset(seed=7 + k, options=told["options"])
        np.testing.assert_array_equal(observation, episode.observations[0])
        for t, action in enumerate(episode.actions):
            observation, reward, terminated, truncated, _ = env.step(action)
            np.testing.assert_array_equal(observation, episode.observations[t + 1])
            assert (reward, terminated, truncated) == (
                episode.rewards[t],
                episode.terminations[t],
                episode.truncations[t],
            )
        assert terminated or truncated
        returns.append(episode.rewards.sum())
    assert origin["scores"]["return_mean"] == pytest.approx(np.mean(returns))


@pytest.mark.full
def test_waves_of_episodes_are_one_dataset(monkeypatch):
    from gymnosoma.agents.policies import evaluation as policies

    record(SWIM, find_policy(SWIM, "random", 3), "test/one-v0", 5, noise=0.2, seed=3)
    monkeypatch.setattr(policies, "WAVE", 2)
    record(SWIM, find_policy(SWIM, "random", 3), "test/waves-v0", 5, noise=0.2, seed=3)
    one, waves = (list(minari.load_dataset(name).iterate_episodes()) for name in ("test/one-v0", "test/waves-v0"))
    assert len(one) == 5
    for a, b in zip(one, waves, strict=True):
        np.testing.assert_array_equal(a.actions, b.actions)
        np.testing.assert_array_equal(a.observations, b.observations)


@pytest.mark.full
def test_what_cannot_be_recorded_leaves_nothing(datasets, monkeypatch):
    policy = find_policy(SWIM, "pieces:short")
    with pytest.raises(ValueError, match="actions must have shape"):
        record(SWIM, policy, "test/short-v0", 2)
    assert not list(datasets.rglob("*.hdf5"))
    for arguments, message in (
        (("../x-v0", 2), "dataset must be a name"),
        (("test/x-v0", 2, -1.0), "noise must be .*, got -1.0"),
    ):
        with pytest.raises(ValueError, match=message):
            record(SWIM, find_policy(SWIM, "baseline"), *arguments)
    assert not minari.list_local_datasets()
    record(SWIM, find_policy(SWIM, "baseline"), "test/x-v0", 1)
    with pytest.raises(ValueError, match="dataset must be an unused name"):
        record(SWIM, find_policy(SWIM, "baseline"), "test/x-v0", 1)
    assert len(minari.load_dataset("test/x-v0")) == 1
