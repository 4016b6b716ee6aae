"""Environment steps per second, against Gymnasium's Swimmer-v5; what a step costs beside physics and task."""

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import gymnasium
import numpy as np

from gymnosoma.envs import CATALOGUE

from .measure import LANES, Row, paired


def timed_ids(animal: str) -> tuple[str, ...]:
    """Ids that stand for an animal: ``ENVIRONMENTS`` of its module here, else its first of the catalogue."""
    first = next(entry.name for entry in CATALOGUE if entry.task.partition(".")[0] == animal)
    module = f"{__package__}.{animal}"
    found = importlib.import_module(module) if importlib.util.find_spec(module) else None
    return getattr(found, "ENVIRONMENTS", (first,))


def _steps_per_second(envs: Any, vector: bool, seconds: float = 0.5) -> float:
    """Environment steps per second of wall time: whole steps with random actions, autoreset and info."""
    envs.reset(seed=0)
    envs.action_space.seed(0)
    actions = [envs.action_space.sample() for _ in range(16)]
    count, steps, start = (envs.num_envs if vector else 1), 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        for action in actions:
            _, _, terminated, truncated, _ = envs.step(action)
            if not vector and (terminated or truncated):
                envs.reset()
        steps += len(actions) * count
    return steps / (time.perf_counter() - start)


def environments(animals: Sequence[str], repeats: int) -> list[Row]:
    """Environment steps per second on one core, against Gymnasium's Swimmer-v5 where mujoco is installed."""
    made: dict[str, tuple[Any, bool]] = {}
    if importlib.util.find_spec("mujoco") is not None:
        made["Swimmer-v5 (MuJoCo), scalar"] = gymnasium.make("Swimmer-v5"), False
        made[f"Swimmer-v5 (MuJoCo), {LANES} by SyncVectorEnv"] = (
            gymnasium.make_vec("Swimmer-v5", num_envs=LANES, vectorization_mode="sync"),
            True,
        )
    for animal in animals:
        for name in timed_ids(animal):
            env_id = f"gymnosoma/{name}"
            made[f"{name}, scalar"] = gymnasium.make(env_id), False
            made[f"{name}, {LANES} in lanes"] = gymnasium.make_vec(env_id, num_envs=LANES), True
            if animal != "worm":
                continue
            made[f"{name}, scalar, unwrapped"] = gymnasium.make(env_id).unwrapped, False
            made[f"{name}, {4 * LANES} in lanes"] = gymnasium.make_vec(env_id, num_envs=4 * LANES), True
            made[f"{name}, {LANES} in lanes, published at 0.1 ms"] = (
                gymnasium.make_vec(env_id, num_envs=LANES, scheme="published", dt=1e-4),
                True,
            )
    for envs, vector in made.values():
        _steps_per_second(envs, vector, 0.01)  # compile
    rates = paired({what: partial(_steps_per_second, *envs) for what, envs in made.items()}, repeats)
    rows = []
    for what, rate in rates.items():
        kind = "scalar" if "scalar" in what else f"{LANES} by SyncVectorEnv"
        peer = rates.get(f"Swimmer-v5 (MuJoCo), {kind}")
        rows.append(Row.median(what, rate, "steps/s", None if peer is None else rate / peer))
    return rows


def _whole(env: Any, steps: int = 300) -> float:
    """Wall time of a step, s."""
    env.reset(seed=0)
    action = np.zeros(env.action_space.shape, np.float32)
    start = time.perf_counter()
    for _ in range(steps):
        env.step(action)
    return (time.perf_counter() - start) / steps


def _parts(env: Any, steps: int = 300) -> float:
    """Wall time of what physics and task do in a step, s."""
    env.reset(seed=0)
    batch = env.batch
    action = np.zeros((len(batch.rows), env.task.action_size))
    start = time.perf_counter()
    for _ in range(steps):
        batch.step(action, batch.ids)
        env.task.observe(batch.rows, batch.memory)
        batch.info()
    return (time.perf_counter() - start) / steps


def overhead(repeats: int) -> list[Row]:
    """Time of a call of ``step`` that is neither physics nor task, in us."""
    rows = []
    for count in (1, LANES):
        env: Any = (
            gymnasium.make("gymnosoma/WormCrawl-v0").unwrapped
            if count == 1
            else gymnasium.make_vec("gymnosoma/WormCrawl-v0", num_envs=count)
        )
        walls = paired({"whole": partial(_whole, env), "parts": partial(_parts, env)}, 4 * repeats + 1)
        rows.append(Row.median(f"step of {count}: all", 1e6 * walls["whole"], "us a call"))
        beside = 1e6 * (walls["whole"] - walls["parts"])
        rows.append(Row.median(f"step of {count}: neither physics nor task", beside, "us a call"))
    return rows
