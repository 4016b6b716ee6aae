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
    """Record episodes of policies as Minari datasets.

    Minari stores datasets in ~/.minari/datasets, or in the folder named by MINARI_DATASETS_PATH. The metadata key
    "gymnosoma" describes how a dataset was made. Each episode stores its seed, physical parameters and score.

    Args:
        policy: Policies, as for `evaluate`. Each is recorded as a separate dataset.
        episodes: Number of episodes per policy.
        noise: Standard deviation of normal noise added to the actions, whose range is [-1, 1].
        seed: Seed of the first episode; episode i uses seed + i. It also determines noise and random actions.
        dataset: Name of the dataset if there is only one policy. By default, gymnosoma/ID/POLICY-v0 or
            gymnosoma/ID/POLICY-noise-NOISE-v0.
    """
    from gymnosoma.agents.policies import dataset as datasets

    env_id = full_id(env_id)
    arguments, options = read_arguments(env, param), read_options(option, event)
    policies = [find_policy(env_id, name, seed) for name in policy]
    policies = [replace(each, env={**each.env, **arguments}) for each in policies]
    if dataset is not None and len(policies) > 1:
        raise ValueError(f"dataset must be left out if there are several policies, got {dataset!r}")
    names = [dataset or _name(env_id, each.name, noise) for each in policies]
    for name in names:  # fail before the progress bar is shown
        datasets.check(env_id, name, noise, seed)
    for name, each in zip(names, policies, strict=True):
        with progress_bar(total=episodes, unit="episode", leave=False) as bar:

            def watch(ended: int, bar: Any = bar) -> None:
                bar.update(ended - bar.n)

            origin = datasets.record(env_id, each, name, episodes, noise, seed, watch, options)
        scores = origin["scores"]
        score = f"{scores['score']} {scores['score_mean']:.4g} {scores['unit'].replace('1', '')}".rstrip()
        about = f"{episodes} episodes of {scores['length_mean']:.4g} steps, {score}"
        print(f"{name}: {about}, {datasets.size(name):.3g} MB")


def _name(env_id: str, policy: str, noise: float) -> str:
    """Return the default name of a dataset."""
    label = policy + (f"-noise-{noise:g}" if noise else "")
    return f"{env_id}/{re.sub(r'[^A-Za-z0-9_-]+', '_', label)}-v0"
