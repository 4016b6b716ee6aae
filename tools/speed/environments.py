"""Steps per second of environments, compared with Gymnasium's Swimmer-v5."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any

import gymnasium

from .measure import LANES, Row, paired

IDS = {
    "worm": ("WormCrawl-v0", "WormSwim-v0"),
    "lamprey": ("LampreyEscape-v0",),
    "whisker_chain": ("WhiskerLocalize-v0",),
    "whisker_rod": ("WhiskerRegulate-v0",),
    "neuromechanic": ("HindlimbHold-v0",),
}
"""Measured ids of each animal."""


def environments(animals: Sequence[str], repeats: int) -> list[Row]:
    """Measure steps per second of single environments and of vector environments."""
    names = [] if find_spec("mujoco") is None else [("Swimmer-v5", "Swimmer-v5")]
    names += [(name, f"gymnosoma/{name}") for animal in animals for name in IDS[animal]]
    jobs = {}
    for name, env_id in names:
        mode = "sync" if name == "Swimmer-v5" else None
        jobs[f"{name}, scalar"] = partial(_steps_per_second, gymnasium.make(env_id))
        envs = gymnasium.make_vec(env_id, num_envs=LANES, vectorization_mode=mode)
        jobs[f"{name}, {LANES} side by side"] = partial(_steps_per_second, envs)
    for job in jobs.values():
        job(0.01)  # compile
    rates = paired(jobs, repeats)
    rows = []
    for what, rate in rates.items():
        other = rates.get(f"Swimmer-v5, {what.split(', ')[1]}")
        rows.append(Row.median(what, rate, "steps/s", None if other is None else rate / other))
    return rows


def _steps_per_second(envs: Any, seconds: float = 0.5) -> float:
    """Return environment steps per second of wall time, with random actions and automatic resets."""
    count = getattr(envs, "num_envs", None)
    envs.reset(seed=0)
    envs.action_space.seed(0)
    actions = [envs.action_space.sample() for _ in range(16)]
    steps, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        for action in actions:
            _, _, terminated, truncated, _ = envs.step(action)
            if count is None and (terminated or truncated):
                envs.reset()
        steps += len(actions) * (count or 1)
    return steps / (time.perf_counter() - begin)
