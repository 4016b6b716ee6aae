"""Command ``record``."""

from __future__ import annotations

import re

from ..evaluation.policies import find_policy, full_id
from ..evaluation.progress import progress_bar
from .arguments import Id, Trust


def record(
    env_id: Id,
    /,
    policy: str = "baseline",
    episodes: int = 100,
    noise: float = 0.0,
    seed: int = 0,
    dataset: str | None = None,
    trust: Trust = False,
) -> None:
    """Write episodes of a policy as a dataset of Minari, for learning without an environment.

    The dataset is where Minari keeps its own (~/.minari/datasets, or what MINARI_DATASETS_PATH says), and tells under
    "gymnosoma" in its metadata how it was made. Each episode has its seed, its physical parameters, and its score.

    Args:
        policy: As for `evaluate`.
        episodes: How many.
        noise: Standard deviation of normal noise that is added to the actions, which lie in [-1, 1].
        seed: Of the first episode; episode i has seed + i. Noise and random actions follow from it.
        dataset: Its name; gymnosoma/ID/POLICY-v0 by default, or gymnosoma/ID/POLICY-noise-NOISE-v0.
    """
    from ..evaluation import dataset as written

    env_id = full_id(env_id)
    found = find_policy(env_id, policy, seed, trust)
    if dataset is None:
        label = found.name + (f"-noise-{noise:g}" if noise else "")
        dataset = f"{env_id}/{re.sub(r'[^A-Za-z0-9_-]+', '_', label)}-v0"
    written.check(env_id, dataset, noise, seed)  # before the bar begins
    with progress_bar(total=episodes, unit="episode", leave=False) as bar:
        origin = written.record(env_id, found, dataset, episodes, noise, seed, lambda ended: bar.update(ended - bar.n))
    scores = origin["scores"]
    print(
        f"{dataset}: {episodes} episodes of {scores['length_mean']:.4g} steps, {scores['score']} "
        f"{scores['score_mean']:.4g} {scores['unit'].replace('1', '')}".rstrip()
    )
