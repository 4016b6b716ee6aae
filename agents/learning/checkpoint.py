"""Checkpoints of PPO and SAC: the zip file of SB3, extended by the state of environments, generators and the run."""

from __future__ import annotations

import io
import pickle
import random
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import stable_baselines3
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import VecMonitor

from gymnosoma.envs.core.files import is_own, replacing

STATE = "state.pkl"
"""Member of the zip file with the additional state. SB3 ignores it."""


def save_checkpoint(path: Path, model: BaseAlgorithm, record: dict[str, Any]) -> None:
    """Save a model between two updates, with the complete state of the training.

    The model learns on a `VecMonitor` of an `SB3VecEnv`. ``record`` is that of the `Run`.
    """
    monitor: Any = model.env
    state = {
        "algorithm": type(model).__name__.lower(),
        "record": record,
        "environments": monitor.venv.envs.save(),
        "monitor": (monitor.episode_returns, monitor.episode_lengths, monitor.episode_count),
        "experience": _experience(model),
        "generators": {
            "python": random.getstate(),
            "numpy": np.random.get_state(),  # noqa: NPY002 (SB3 draws from it)
            "torch": torch.get_rng_state(),
            "actions": model.action_space.np_random.bit_generator.state,
        },
    }
    network = io.BytesIO()
    model.save(network)  # in memory, because torch crashes on a full disk
    with replacing(path) as file:
        file.write(network.getbuffer())
        with zipfile.ZipFile(file, "a") as archive, archive.open(STATE, "w", force_zip64=True) as member:
            pickle.dump(state, member, pickle.HIGHEST_PROTOCOL)


def load_checkpoint(
    path: Path, algorithm: str, env: VecMonitor, **replaced: Any
) -> tuple[BaseAlgorithm, dict[str, Any]]:
    """Load a checkpoint and restore the complete state of the training.

    A checkpoint contains pickled Python objects. Loading it executes any code that its author put there. ``env`` needs
    the same task and number of rows as in the checkpoint. ``replaced`` are attributes of the model to replace.

    Raises:
        ValueError: If the file is damaged, belongs to another run, or is writable by other users.
    """
    try:
        if not is_own(path):
            raise ValueError("other users can write it, and loading it executes code: use chmod go-w or chown")
        with zipfile.ZipFile(path) as archive:
            if STATE not in archive.namelist():
                raise ValueError(f"it has no {STATE}: it was written by another version or another program")
            with archive.open(STATE) as member:
                state = pickle.load(member)
        if state["algorithm"] != algorithm:
            raise ValueError(f"its algorithm is {state['algorithm']!r}, but {algorithm!r} in config.json")
        kind = getattr(stable_baselines3, algorithm.upper())
        model = kind.load(path, env=env, device="cpu", force_reset=False, **replaced)
        env.venv.envs.restore(state["environments"])  # type: ignore[attr-defined]
        env.episode_returns, env.episode_lengths, env.episode_count = state["monitor"]
        if state["experience"] is not None:
            arrays, model.replay_buffer.pos, model.replay_buffer.full = state["experience"]
            for name, array in arrays.items():
                getattr(model.replay_buffer, name)[: len(array)] = array
    except Exception as error:  # zip, pickle and torch raise various errors
        reason = " ".join(str(error).split())[:300]
        raise ValueError(f"checkpoint {str(path)!r} cannot be loaded: {type(error).__name__}: {reason}") from error
    generators = state["generators"]
    random.setstate(generators["python"])
    np.random.set_state(generators["numpy"])  # noqa: NPY002 (SB3 draws from it)
    torch.set_rng_state(generators["torch"])
    model.action_space.np_random.bit_generator.state = generators["actions"]
    return model, state["record"]


def _experience(model: BaseAlgorithm) -> tuple[dict[str, np.ndarray], int, bool] | None:
    """Return the filled part of the replay buffer, or None if the algorithm has no buffer."""
    buffer = getattr(model, "replay_buffer", None)
    if buffer is None:
        return None
    arrays = {name: array[: buffer.size()] for name, array in vars(buffer).items() if isinstance(array, np.ndarray)}
    return arrays, buffer.pos, buffer.full
