"""Recording of episodes as Minari datasets, for offline learning."""

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
from gymnosoma.envs.core import arguments
from gymnosoma.envs.core.arguments import number, whole

from ..support.files import check_space, plain
from .agent import NoisyAgent, Policy
from .config import RANGES
from .evaluation import Episodes, joined, play, summary
from .fingerprints import of_id
from .registry import task_of, versions

MAX_NOISE = 10.0

EPISODE_BYTES = 2**16
"""Largest size of an episode in a file without its numbers, bytes; measured: 27 kB."""


class Recorder(VectorWrapper):
    """Wrapper that records all inputs and outputs of a gymnosoma vector environment since its last reset."""

    def __init__(self, envs: VectorEnv) -> None:
        super().__init__(envs)
        self._observations: list[NDArray[Any]] = []
        self._steps: list[tuple[NDArray[Any], ...]] = []
        self._parameters: dict[str, NDArray[Any]] = {}

    def reset(self, **arguments: Any) -> Any:
        """Reset the environment and start a new recording."""
        observations, infos = self.env.reset(**arguments)
        batch = self.env.unwrapped.batch  # type: ignore[attr-defined]
        self._observations, self._steps = [observations], []
        task = batch.task
        self._parameters = {n: batch.rows[n].copy() for n in task.parameters}
        return observations, infos

    def step(self, actions: Any) -> Any:
        """Take a step and record it, with actions clipped to [-1, 1]."""
        actions = np.clip(np.asarray(actions, np.float32), -1.0, 1.0)
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        self._observations.append(observations)
        self._steps.append((actions, rewards, terminated, truncated))
        return observations, rewards, terminated, truncated, infos

    def episodes(self, results: Episodes, seed: int) -> Iterator[dict[str, Any]]:
        """Yield the first episode of each row as arguments of Minari's ``EpisodeBuffer``.

        The options of an episode are its initial physical parameters. Together with the seed, they reproduce its start.
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
    """Check the arguments of `record`, with the same errors."""
    try:
        import h5py  # noqa: F401 (used by minari for writing)
        import PIL  # noqa: F401 (imported by minari when it writes)
        from minari.dataset.minari_dataset import parse_dataset_id
        from minari.storage import get_dataset_path
    except ImportError as missing:
        raise ImportError(f"{missing.name} is not installed: pip install 'gymnosoma[offline]'") from None
    try:
        parse_dataset_id(name)
    except (ValueError, TypeError):
        raise ValueError(f"dataset must be a name such as {env_id}/baseline-v0, got {name!r}") from None
    number("noise", noise, minimum=0.0, maximum=MAX_NOISE)
    whole("seed", seed, *RANGES["seed"])
    folder = get_dataset_path(name)
    if folder.exists():
        raise ValueError(f"dataset must be an unused name, got {name!r}, which exists in {str(folder)!r}")


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
    """Play a policy and write its episodes as a dataset into Minari's folder.

    Args:
        env_id, policy, watch, options: As in `play`.
        name: Name of the dataset, such as ``gymnosoma/WormSwim-v0/baseline-v0``.
        episodes: Number of episodes.
        noise: Standard deviation of normal noise added to the actions.
        seed: Seed of the first episode; episode i uses ``seed + i``.

    Returns:
        dict: Origin of the dataset, which is also its metadata under ``gymnosoma``: policy, noise, seed, arguments of
            the environment, reset options, model, versions, ``fingerprint`` of the environment's behaviour, scores, and
            the card of a trained policy.

    Raises:
        ValueError: If the dataset exists already, or an argument is invalid.
        ImportError: If minari is not installed.
        OSError: If the disk has too little space.
    """
    check(env_id, name, noise, seed)
    import minari
    from minari.data_collector import EpisodeBuffer
    from minari.storage import get_dataset_path

    if policy.env.get("goal"):
        raise ValueError(f"policy {policy.name!r} must observe an array, not a mapping: goal=True cannot be recorded")
    player = policy
    if noise:
        player = replace(policy, make=lambda envs, start: NoisyAgent(policy.make(envs, start), noise, seed, start))
    score, env_arguments = task_of(env_id, **policy.env).score, arguments.plain(policy.env)
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
    parts: Any = [(*vars(each).values(), *(each.options or {}).values()) for each in buffers]
    content = sum(np.asarray(part).nbytes for each in parts for part in each if isinstance(part, list | np.ndarray))
    check_space(get_dataset_path(""), content + EPISODE_BYTES * (len(buffers) + 16))
    with closing(gymnasium.make(env_id, **policy.env)) as env, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # Minari recommends additional metadata
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
            "env": env_arguments,
            "options": json.loads(json.dumps(options or {}, default=plain)),
            "model": unwrapped.save()["task"],
            "versions": versions(),
            "fingerprint": of_id(env_id, env_arguments),
            "scores": summary(env_id, policy, joined(waves)),
            "card": policy.card,
        }
    dataset.storage.update_episode_metadata(notes, range(len(notes)))
    dataset.storage.update_metadata({"gymnosoma": origin})
    return origin


def size(name: str) -> float:
    """Return the size of a dataset, MB."""
    from minari.storage import get_dataset_path

    return sum(file.stat().st_size for file in get_dataset_path(name).rglob("*") if file.is_file()) / 1e6
