"""Command ``record``."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from gymnosoma.agents.policies.lookup import find_policy
from gymnosoma.agents.policies.registry import full_id
from gymnosoma.agents.support.progress import progress_bar

from .arguments import Arguments, Events, Id, Options, Params, read_arguments, read_options


def record(
    env_id: Id,
    /,
    policy: tuple[str, ...] = ("baseline",),
    episodes: int = 100,
    noise: float = 0.0,
    seed: int = 0,
    option: Options = (),
    event: Events = (),
    env: Arguments = (),
    param: Params = (),
    dataset: str | None = None,
) -> None:
    """Write episodes of policies as datasets of Minari, for learning without an environment.

    The datasets are where Minari keeps its own (~/.minari/datasets, or MINARI_DATASETS_PATH). Their metadata describes
    under "gymnosoma" how they were made. Each episode has its seed, its physical parameters, and its score.

    Args:
        policy: As for `evaluate`; each becomes a dataset.
        episodes: How many of each.
        noise: Standard deviation of normal noise that is added to the actions, which lie in [-1, 1].
        seed: Of the first episode; episode i has seed + i. Noise and random actions follow from it.
        dataset: Name of a single dataset; gymnosoma/ID/POLICY-v0 by default, or gymnosoma/ID/POLICY-noise-NOISE-v0.
    """
    from gymnosoma.agents.policies import dataset as datasets

    env_id = full_id(env_id)
    arguments, options = read_arguments(env, param), read_options(option, event)
    policies = [find_policy(env_id, name, seed) for name in policy]
    policies = [replace(each, env={**each.env, **arguments}) for each in policies]
    if dataset is not None and len(policies) > 1:
        raise ValueError(f"dataset must be left out where there are several, got {dataset!r}")
    names = [dataset or _name(env_id, each.name, noise) for each in policies]
    for name in names:  # before the bar begins
        datasets.check(env_id, name, noise, seed)
    for name, each in zip(names, policies, strict=True):
        with progress_bar(total=episodes, unit="episode", leave=False) as bar:

            def watch(ended: int, bar: Any = bar) -> None:
                bar.update(ended - bar.n)

            origin = datasets.record(env_id, each, name, episodes, noise, seed, watch, options)
        scores = origin["scores"]
        reached = f"{scores['score']} {scores['score_mean']:.4g} {scores['unit'].replace('1', '')}".rstrip()
        about = f"{episodes} episodes of {scores['length_mean']:.4g} steps, {reached}"
        print(f"{name}: {about}, {datasets.size(name):.3g} MB")


def _name(env_id: str, policy: str, noise: float) -> str:
    """Name of a dataset."""
    label = policy + (f"-noise-{noise:g}" if noise else "")
    return f"{env_id}/{re.sub(r'[^A-Za-z0-9_-]+', '_', label)}-v0"
