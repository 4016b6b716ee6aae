"""Command ``record``."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import Any

from gymnosoma.agents.policies.lookup import find_policy
from gymnosoma.agents.policies.registry import full_id
from gymnosoma.agents.support.progress import progress_bar

from .arguments import Arguments, Events, Id, Options, Params, Trust, read_arguments, read_options


def record(
    env_id: Id,
    /,
    policy: tuple[str, ...] = ("baseline",),
    levels: bool = False,
    mixture: bool = False,
    episodes: int = 100,
    noise: float = 0.0,
    seed: int = 0,
    option: Options = (),
    event: Events = (),
    env: Arguments = (),
    param: Params = (),
    dataset: str | None = None,
    trust: Trust = False,
) -> None:
    """Write episodes of policies as datasets of Minari, for learning without an environment.

    The datasets are where Minari keeps its own (~/.minari/datasets, or what MINARI_DATASETS_PATH says), and tell under
    "gymnosoma" in their metadata how they were made. Each episode has its seed, its physical parameters, and its score.

    Args:
        policy: As for `evaluate`; each becomes a dataset.
        levels: Instead, three datasets: random; medium, which is the policy so disturbed that its return lies half-way;
            and expert, the policy itself, trained by default where the package has one.
        mixture: Also a dataset with the episodes of all of them.
        episodes: How many of each.
        noise: Standard deviation of normal noise that is added to the actions, which lie in [-1, 1].
        seed: Of the first episode; episode i has seed + i. Noise and random actions follow from it.
        dataset: Its name, where there is one; gymnosoma/ID/POLICY-v0 by default, or gymnosoma/ID/POLICY-noise-NOISE-v0.
    """
    from gymnosoma.agents.policies import dataset as written

    env_id = full_id(env_id)
    if levels:
        parts = written.levels(env_id, policy, noise, seed, trust)
    else:
        parts = [written.Part(one.name, one, noise) for one in (find_policy(env_id, p, seed, trust) for p in policy)]
    made, options = read_arguments(env, param), read_options(option, event)
    parts = [replace(part, policy=replace(part.policy, env={**part.policy.env, **made})) for part in parts]
    if dataset is not None and len(parts) > 1:
        raise ValueError(f"dataset must be left out where there are several, got {dataset!r}")
    names = [dataset or _name(env_id, part.name, 0.0 if levels else noise) for part in parts]
    mixed = _name(env_id, "-".join(name.rpartition("/")[2].removesuffix("-v0") for name in names), 0.0)
    if mixture:
        written.check_mixture(env_id, parts, mixed)
    for name, part in zip(names, parts, strict=True):  # before the bar begins
        written.check(env_id, name, part.noise, seed)
    for name, part in zip(names, parts, strict=True):
        with progress_bar(total=episodes, unit="episode", leave=False) as bar:
            origin = written.record(env_id, part.policy, name, episodes, part.noise, seed, partial(_show, bar), options)
        scores = origin["scores"]
        reached = f"{scores['score']} {scores['score_mean']:.4g} {scores['unit'].replace('1', '')}".rstrip()
        paid = "" if scores["score"] == "return" else f", return {scores['return_mean']:.4g}"
        about = f"{episodes} episodes of {scores['length_mean']:.4g} steps, {reached}{paid}"
        print(f"{name}: {about}, {written.size(name):.3g} MB")
    if mixture:
        written.mix(names, mixed)
        print(f"{mixed}: {len(names) * episodes} episodes, {written.size(mixed):.3g} MB")


def _show(bar: Any, ended: int) -> None:
    bar.update(ended - bar.n)


def _name(env_id: str, policy: str, noise: float) -> str:
    """Name of a dataset."""
    label = policy + (f"-noise-{noise:g}" if noise else "")
    return f"{env_id}/{re.sub(r'[^A-Za-z0-9_-]+', '_', label)}-v0"
