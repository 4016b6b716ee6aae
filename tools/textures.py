"""Trains the estimator of textures of the whisker; as a script it prints the table that is in the assets.

``python -m tools.textures`` gives ``assets/whisker_rod/textures.toml``.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

import gymnosoma.envs  # noqa: F401 (registers the ids)
from gymnosoma.agents.controllers.whisker_rod import TextureEstimator


def watch_sweeps(episodes: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Features of the estimator's sweeps when it would commit itself, and the logarithms of L in m, their truths.

    Args:
        seed: Of the first episode.

    Returns:
        features (episodes, k) array
        truths (episodes,) array
    """
    watcher = TextureEstimator()
    envs: Any = gymnasium.make_vec("gymnosoma/WhiskerTexture-v0", num_envs=episodes)
    task = envs.task
    observations, infos = envs.reset(seed=seed)
    first, committing = np.ones(episodes, np.bool_), False
    step = 0
    while not committing:
        t = np.full(episodes, (step + 0.5) / task.control_rate)
        values = watcher.choose(t, task.layout.unpack(observations), first)
        committing = bool(values[0, 3] > 0.0)
        observations, *_, infos = envs.step(task.action_from_values(values))
        first[:] = False
        step += 1
    envs.close()
    return watcher.features, np.log(infos["memory_length"])


def train_estimator(episodes: int = 2000, seed: int = 1_000_000, ridge: float = 1e-3) -> dict[str, Any]:
    """Weights of the estimator by ridge regression on simulated sweeps.

    Args:
        seed: Of the first episode.
        ridge: Penalty on the squared weights of features of unit variance, per episode.

    Returns:
        dict: ``weights`` (k,) and ``offset``, as in ``assets/whisker_rod/textures.toml``.
    """
    parts = [watch_sweeps(min(1000, episodes - k), seed + k) for k in range(0, episodes, 1000)]
    features, truths = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    middle, spread = features.mean(0), features.std(0)
    scaled = (features - middle) / spread
    normal = scaled.T @ scaled / episodes + ridge * np.eye(scaled.shape[1])
    weights = np.linalg.solve(normal, scaled.T @ (truths - truths.mean()) / episodes) / spread
    return {"weights": weights, "offset": float(truths.mean() - middle @ weights)}


if __name__ == "__main__":
    trained = train_estimator()
    print("# Logarithm of L, in m, from the features of TextureEstimator: weights of each, and what is added.")
    print("# Written by python -m tools.textures")
    print(f'\n[weights]\nvalue = {np.round(trained["weights"], 5).tolist()}\nunit = "1"')
    print(f'\n[offset]\nvalue = {round(trained["offset"], 5)}\nunit = "1"')
