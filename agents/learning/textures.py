"""Trains the texture classifier of the whisker; as a script it prints the table that is in the assets.

``python -m gymnosoma.agents.learning.textures`` gives ``assets/whisker_rod/textures.toml``.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

import gymnosoma.envs  # noqa: F401 (registers the ids)
from gymnosoma.agents.controllers.whisker_rod import TextureClassifier
from gymnosoma.envs.whisker_rod.tasks import TEXTURES


def train_classifier(episodes: int = 2000, seed: int = 1_000_000) -> dict[str, NDArray[np.float64]]:
    """Centroids of the textures' mean band levels, and the spread within them, from simulated sweeps.

    Parameters
    ----------
    episodes : int
    seed : int
        Of the first episode.

    Returns
    -------
    dict
        ``texture_0`` .. and ``spread``, each (8,), as in ``assets/whisker_rod/textures.toml``.
    """
    watcher = TextureClassifier(stop=np.inf)
    envs: Any = gymnasium.make_vec("gymnosoma/WhiskerTexture-v0", num_envs=episodes)
    task = envs.task
    observations, infos = envs.reset(seed=seed)
    first = np.ones(episodes, np.bool_)
    for step in range(100):
        t = np.full(episodes, (step + 0.5) / task.control_rate)
        values = watcher.choose(t, task.layout.unpack(observations), first)
        observations, *_, infos = envs.step(task.action_from_values(values))
        first[:] = False
    envs.close()
    groups = [watcher.mean_levels[infos["texture"] == k] for k in range(len(TEXTURES))]
    result = {f"texture_{k}": group.mean(0) for k, group in enumerate(groups)}
    return result | {"spread": np.sqrt(np.mean([group.var(0) for group in groups], 0))}


if __name__ == "__main__":
    print("# Mean band levels (log10 (nN m)^2) of TextureClassifier's sweep by texture, and their spread within one.")
    print("# Written by python -m gymnosoma.agents.learning.textures")
    for _name, _values in train_classifier().items():
        print(f'\n[{_name}]\nvalue = {np.round(_values, 4).tolist()}\nunit = "1"')
