"""Records episodes as a dataset in Minari's format, for learning without an environment."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import VectorEnv, VectorWrapper
from numpy.typing import NDArray

import gymnosoma
from gymnosoma.envs.core.arguments import number

from ..support.files import plain
from ..support.schema import in_range
from .agent import NoisyAgent, Policy
from .config import RANGES
from .evaluation import Episodes, joined, play, summary
from .fingerprints import of_id
from .registry import task_of, versions

MAX_NOISE = 10.0


class Recorder(VectorWrapper):
    """Notes what goes into a vector environment of ours and comes out of it, from its last reset on."""

    def __init__(self, envs: VectorEnv) -> None:
        super().__init__(envs)
        self._observations: list[NDArray[Any]] = []
        self._steps: list[tuple[NDArray[Any], ...]] = []
        self._parameters: dict[str, NDArray[Any]] = {}

    def reset(self, **arguments: Any) -> Any:
        """Begin to note."""
        observations, infos = self.env.reset(**arguments)
        batch = self.env.unwrapped.batch  # type: ignore[attr-defined]
        self._observations, self._steps = [observations], []
        task = batch.task
        self._parameters = {n: batch.rows[n].copy() for n in task.animal.parameters if n not in task.derived}
        return observations, infos

    def step(self, actions: Any) -> Any:
        """Note a step, with the actions as they are meant: clipped."""
        actions = np.clip(np.asarray(actions, np.float32), -1.0, 1.0)
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        self._observations.append(observations)
        self._steps.append((actions, rewards, terminated, truncated))
        return observations, rewards, terminated, truncated, infos

    def episodes(self, results: Episodes, seed: int) -> Iterator[dict[str, Any]]:
        """Give the first episode of each row, as Minari's ``EpisodeBuffer`` takes it.

        Its options are the physical parameters with which it began: with them and its seed it begins so again.
        """
        for i, length in enumerate(results.lengths):
            actions, rewards, terminated, truncated = (
                np.array([step[k][i] for step in self._steps[:length]]) for k in range(4)
            )
            yield {
                "seed": seed + i,
                "options": {name: value[i] for name, value in self._parameters.items()},
                "observations": np.array([each[i] for each in self._observations[: length + 1]]),
                "actions": actions,
                "rewards": rewards,
                "terminations": terminated,
                "truncations": truncated,
            }


def check(env_id: str, name: str, noise: float, seed: int) -> None:
    """Raise what `record` raises, before anything is computed."""
    try:
        import h5py  # noqa: F401 (in which minari writes)
        import PIL  # noqa: F401 (which it imports then)
        from minari.dataset.minari_dataset import parse_dataset_id
        from minari.storage import get_dataset_path
    except ImportError as missing:
        raise ImportError(f"{missing.name} is not installed: pip install 'gymnosoma[offline]'") from None
    try:
        parse_dataset_id(name)
    except (ValueError, TypeError):
        raise ValueError(f"dataset must be a name such as {env_id}/baseline-v0, got {name!r}") from None
    number("noise", noise, minimum=0.0, maximum=MAX_NOISE)
    in_range("seed", seed, *RANGES["seed"])
    folder = get_dataset_path(name)
    if folder.exists():
        raise ValueError(f"dataset must be a name that is free, got that of {str(folder)!r}")


def record(
    env_id: str,
    policy: Policy,
    name: str,
    episodes: int,
    noise: float = 0.0,
    seed: int = 0,
    watch: Callable[[int], None] | None = None,
    options: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Play a policy, and write its episodes as a dataset of Minari, where that keeps its own.

    Args:
        env_id, policy: As of `play`.
        name: Of the dataset, such as ``gymnosoma/WormSwim-v0/baseline-v0``.
        episodes, seed: Episode i is seeded ``seed + i``.
        noise: Standard deviation of normal noise that is added to the actions.
        watch, options: As of `play`.

    Returns:
        dict: The origin of the dataset, as in its metadata under ``gymnosoma``: policy, noise, seed, arguments
            of the environment, model, versions, ``fingerprint`` of how the id behaved, scores, and the card of a
            trained policy.

    Raises:
        ValueError: If there is such a dataset already, or the name is none.
        ImportError: Without minari.
    """
    check(env_id, name, noise, seed)
    import minari
    from minari.data_collector import EpisodeBuffer

    if policy.env.get("goal"):
        raise ValueError(f"policy {policy.name!r} must observe numbers, not a mapping: goal=True cannot be recorded")
    player = policy
    if noise:
        player = replace(policy, make=lambda envs, start: NoisyAgent(policy.make(envs, start), noise, seed, start))
    score = task_of(env_id, **policy.env).score
    waves: list[Episodes] = []
    buffers: list[EpisodeBuffer] = []
    notes: list[dict[str, Any]] = []
    recorders: list[Recorder] = []

    def wrap(envs: VectorEnv) -> Recorder:
        recorders.append(Recorder(envs))
        return recorders[-1]

    for wave in play(env_id, player, episodes, seed, watch, options, wrap=wrap):
        buffers += [EpisodeBuffer(**each) for each in recorders.pop().episodes(wave, seed + len(buffers))]
        scores = wave.score(score) * score.factor
        notes += [{"score": value, "failure": why or ""} for value, why in zip(scores, wave.failures, strict=True)]
        waves.append(wave)
    with closing(gymnasium.make(env_id, **policy.env)) as env, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # Minari recommends more metadata than there is
        dataset = minari.create_dataset_from_buffers(
            name,
            buffers,
            env,
            algorithm_name=policy.name,
            description=f"{policy.name} plays {env_id}, with noise {noise:g}",
            requirements=[f"gymnosoma=={gymnosoma.__version__}"],
        )
        unwrapped: Any = env.unwrapped
        origin = {
            "policy": policy.name,
            "noise": float(noise),
            "seed": seed,
            "env": policy.env,
            "options": json.loads(json.dumps(options or {}, default=plain)),
            "model": unwrapped.save()["task"],
            "versions": versions(),
            "fingerprint": of_id(env_id, policy.env),
            "scores": summary(env_id, policy, joined(waves)),
            "card": policy.card,
        }
    dataset.storage.update_episode_metadata(notes, range(len(notes)))
    dataset.storage.update_metadata({"gymnosoma": origin})
    return origin


def size(name: str) -> float:
    """Size of a dataset, MB."""
    from minari.storage import get_dataset_path

    return sum(file.stat().st_size for file in get_dataset_path(name).rglob("*") if file.is_file()) / 1e6
