"""Records episodes as a dataset in Minari's format, for learning without an environment."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import VectorEnv, VectorWrapper
from numpy.typing import NDArray

import gymnosoma
from gymnosoma.envs.core.arguments import number

from ..support.files import locked, plain
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

    def episodes(self, played: Episodes, seed: int) -> Iterator[dict[str, Any]]:
        """First episode of each row, as Minari's ``EpisodeBuffer`` takes it.

        Its options are the physical parameters with which it began: with them and its seed it begins so again.
        """
        for i, length in enumerate(played.lengths):
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


def check(env_id: str, name: str, noise: float, seed: int) -> Path:
    """Folder that a dataset will be in; raises what `record` raises, before anything is computed."""
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
    _check_free(folder)
    return folder


def _check_free(folder: Path) -> None:
    if folder.exists() and not _mark(folder).exists():
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
        ValueError: If there is such a dataset already, another process writes it, or the name is none.
        ImportError: Without minari.
    """
    folder, noise = check(env_id, name, noise, seed), float(noise)
    import minari

    if policy.env.get("goal"):
        raise ValueError(f"policy {policy.name!r} must observe numbers, not a mapping: goal=True cannot be recorded")

    with _written(folder), closing(gymnasium.make(env_id, **policy.env)) as env:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # Minari recommends more metadata than there is
            dataset = minari.create_dataset_from_buffers(
                name,
                [],
                env,
                algorithm_name=policy.name,
                description=f"{policy.name} plays {env_id}, with noise {noise:g}",
                requirements=[f"gymnosoma=={gymnosoma.__version__}"],
            )
        player = policy
        if noise:
            player = replace(policy, make=lambda envs, start: NoisyAgent(policy.make(envs, start), noise, seed, start))
        played = _fill(dataset.storage, env_id, player, episodes, seed, watch, options)
        unwrapped: Any = env.unwrapped
        origin = {
            "policy": policy.name,
            "noise": noise,
            "seed": seed,
            "env": policy.env,
            "options": json.loads(json.dumps(options or {}, default=plain)),
            "model": unwrapped.save()["task"],
            "versions": versions(),
            "fingerprint": of_id(env_id, policy.env),
            "scores": summary(env_id, policy, played),
            "card": policy.card,
        }
        dataset.storage.update_metadata({"gymnosoma": origin})
    return origin


def size(name: str) -> float:
    """Size of a dataset, MB."""
    from minari.storage import get_dataset_path

    return sum(file.stat().st_size for file in get_dataset_path(name).rglob("*") if file.is_file()) / 1e6


def _mark(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.unfinished")


@contextmanager
def _written(folder: Path) -> Iterator[None]:
    """Let nobody else write a dataset; what is not whole at the end of the block, or was killed, is removed."""
    with locked("dataset", folder, file=True):
        _check_free(folder)
        mark = _mark(folder)
        if mark.exists():  # the recording was killed, and is begun anew
            shutil.rmtree(folder, ignore_errors=True)
        mark.touch()
        try:
            yield
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        finally:
            mark.unlink()


def _fill(
    storage: Any,
    env_id: str,
    policy: Policy,
    episodes: int,
    seed: int,
    watch: Callable[[int], None] | None,
    options: Mapping[str, Any] | None,
) -> Episodes:
    """Write episodes to a dataset, wave by wave; all of them, of whose info the score alone is kept."""
    from minari.data_collector import EpisodeBuffer

    score = task_of(env_id, **policy.env).score
    waves: list[Episodes] = []
    recorders: list[Recorder] = []
    count = 0

    def wrap(envs: VectorEnv) -> Recorder:
        recorders.append(Recorder(envs))
        return recorders[-1]

    for wave in play(env_id, policy, episodes, seed, watch, options, wrap=wrap):
        numbers = range(count, count + len(wave.lengths))
        storage.update_episodes([EpisodeBuffer(**each) for each in recorders.pop().episodes(wave, seed + count)])
        reached = wave.score(score) * score.factor
        notes = [{"score": value, "failure": why or ""} for value, why in zip(reached, wave.failures, strict=True)]
        storage.update_episode_metadata(notes, numbers)
        wave.info = {name: value for name, value in wave.info.items() if name == score.name}
        waves.append(wave)
        count += len(wave.lengths)
    return joined(waves)
