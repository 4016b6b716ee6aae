"""Speed against peers: the same work, in turn, within one run; medians and ratios."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.neuromechanic import Neuromechanic
from gymnosoma.envs.neuromechanic.hindlimb import asset
from gymnosoma.envs.worm import Worm, WormParams
from gymnosoma.envs.worm.kymogram import SineKymogram

HOLD = 0.025
"""Time for which both simulators hold a command, s: a control period at 40 Hz."""

LANES = 64
"""Worms side by side where animals are stepped in lanes."""


@dataclass
class Row:
    """One line of the report: what, its figure and unit, how many times faster than the peer, and its error."""

    what: str
    value: float
    unit: str
    ratio: float | None = None
    error: str = ""


def paired(jobs: Mapping[str, Callable[[], float]], repeats: int) -> dict[str, NDArray[np.float64]]:
    """Run jobs in turn, A B C A B C ...; what each measured, (repeats,)."""
    results: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(repeats):
        for name, job in jobs.items():
            results[name].append(job())
    return {name: np.array(values) for name, values in results.items()}


def _commands(sigma: float, seconds: float) -> NDArray[np.float64]:
    wave = SineKymogram.for_medium(sigma, ramp=0.0)
    return np.array([wave((k + 0.5) * HOLD) for k in range(round(seconds / HOLD))])


def _ours(sigma: float, seconds: float, count: int = 1, **arguments: Any) -> tuple[float, NDArray[np.float64]]:
    """Wall seconds per simulated second and worm, and the head at the end (m)."""
    worm = Worm(WormParams.in_medium(sigma), **arguments)
    rows, ids, steps = worm.rows(count), np.arange(count), round(HOLD / worm.dt)
    commands = np.repeat(_commands(sigma, seconds)[:, None], count, 1)
    worm.advance(rows, ids, commands[0], 1)  # compile
    worm.reset(rows, ids)
    start = time.perf_counter()
    for command in commands:
        worm.advance(rows, ids, command, steps)
    wall = time.perf_counter() - start
    return wall / seconds / count, worm.points(rows)[0, 0]


def _elegansbot(sigma: float, seconds: float) -> tuple[float, NDArray[np.float64]]:
    """The same by the authors' program."""
    from elegansbot import Worm as Peer

    params = WormParams.in_medium(sigma)
    peer = Peer(
        bT=params.friction_perpendicular * 1e9,
        bII=params.friction_parallel * 1e9,
        polarity_clockwise=True,
        simTime=seconds,
        dt_snapshot=HOLD,
        angle_init=-np.pi,  # the authors start with the head at +x
    )
    commands = _commands(sigma, seconds)
    start = time.perf_counter()
    for command in commands:
        peer.act = command
        peer.steps()
    wall = time.perf_counter() - start
    return wall / seconds, _head(peer)


def _wall(job: Callable[[float], tuple[float, NDArray[np.float64]]], seconds: float) -> float:
    return job(max(round(seconds / HOLD), 1) * HOLD)[0]


def _head(peer: Any) -> NDArray[np.float64]:
    """Head of the authors' worm (m), from its centre of mass and its angles."""
    step = np.stack([np.cos(peer.s), np.sin(peer.s)], 1) / peer.n
    joints = np.concatenate([np.zeros((1, 2)), np.cumsum(step, 0)])
    return (np.array([peer.xc, peer.yc]) - 0.5 * (joints[1:] + joints[:-1]).mean(0)) * 1e-3


def bodies(seconds: float, repeats: int) -> list[Row]:
    """Simulated worms against the authors' program, in both media, with the errors after ``seconds``."""
    rows = []
    peer = importlib.util.find_spec("elegansbot") is not None
    for name, sigma in (("agar", 1.0), ("water", 0.0)):
        _, exact = _ours(sigma, seconds, dt=1e-4)
        jobs: dict[str, Callable[[float], tuple[float, NDArray[np.float64]]]] = {}
        if peer:
            jobs["ElegansBot, dt 0.01 ms"] = partial(_elegansbot, sigma)
        jobs |= {
            "midpoint, dt 5 ms, alone": partial(_ours, sigma),
            f"midpoint, dt 5 ms, {LANES} in lanes": partial(_ours, sigma, count=LANES),
            "published, dt 0.01 ms, alone": partial(_ours, sigma, scheme="published"),
            f"published, dt 0.01 ms, {LANES} in lanes": partial(_ours, sigma, count=LANES, scheme="published"),
        }
        errors = {
            what: np.linalg.norm(job(seconds)[1] - exact) * 1e3 for what, job in jobs.items() if "published" not in what
        }
        chunk = max(round(seconds / repeats / HOLD), 10) * HOLD
        short = {what: partial(_wall, job, chunk / (10 if "lanes" in what else 1)) for what, job in jobs.items()}
        walls = paired(short, repeats)
        for what, wall in walls.items():
            ratio = float(np.median(walls["ElegansBot, dt 0.01 ms"] / wall)) if peer else None
            error = f"{errors[what]:.4f} mm" if what in errors else "as ElegansBot"
            rows.append(Row(f"{name}: {what}", float(np.median(wall)), "wall s per simulated s", ratio, error))
    return rows


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


def environments(repeats: int) -> list[Row]:
    """Environment steps per second on one core, against Gymnasium's Swimmer-v5 where mujoco is installed."""
    made: dict[str, tuple[Any, bool]] = {}
    if importlib.util.find_spec("mujoco") is not None:
        made["Swimmer-v5 (MuJoCo), scalar"] = gymnasium.make("Swimmer-v5"), False
        made[f"Swimmer-v5 (MuJoCo), {LANES} by SyncVectorEnv"] = (
            gymnasium.make_vec("Swimmer-v5", num_envs=LANES, vectorization_mode="sync"),
            True,
        )
    for name in ("WormCrawl-v0", "WormSwim-v0"):
        env_id = f"gymnosoma/{name}"
        made[f"{name}, scalar"] = gymnasium.make(env_id), False
        made[f"{name}, scalar, unwrapped"] = gymnasium.make(env_id).unwrapped, False
        for count in (LANES, 4 * LANES):
            made[f"{name}, {count} in lanes"] = gymnasium.make_vec(env_id, num_envs=count), True
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
        rows.append(
            Row(what, float(np.median(rate)), "steps/s", None if peer is None else float(np.median(rate / peer)))
        )
    return rows


def _limb(muscles: bool) -> dict[str, Any]:
    """Model of the cat's hindlimb that swings from the pelvis, with or without its muscles."""
    model = asset("hindlimb")
    del model["wrench"]
    if not muscles:
        del model["muscle"]
        for body in model["body"].values():
            body["joint"]["damping"] = 0.0  # its segments are so light that explicit steps could not damp them
    return model


def _limb_steps(animal: Neuromechanic, count: int = 1, steps: int = 5000) -> float:
    """Time steps per second of wall time, of all limbs together."""
    rows, ids = animal.rows(count), np.arange(count)
    drive = np.full((count, animal.drive_size), 0.05)
    animal.advance(rows, ids, drive, 1)  # compile
    start = time.perf_counter()
    animal.advance(rows, ids, drive, steps // count)
    wall = time.perf_counter() - start
    if rows["status"].any():
        raise RuntimeError(f"the limb broke down: {animal.failures[rows['status'].max()]}")
    return count * (steps // count) / wall


def _mujoco_limb(integrator: str) -> Callable[[], float]:
    """The same bodies in MuJoCo, stepped without leaving its library."""
    import mujoco

    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    description = _limb(False)
    parent, waiting = spec.worldbody, []
    for body in description["body"].values():
        # A joint with a massless body becomes one more joint of the next body: MuJoCo's own form, and its fastest.
        waiting.append(body["joint"])
        if "inertial" not in body:
            continue
        places = np.cumsum([joint["at"] for joint in waiting], 0)
        parent = parent.add_body(pos=places[-1])
        for joint, place in zip(waiting, places, strict=True):
            hinge = mujoco.mjtJoint.mjJNT_HINGE
            parent.add_joint(type=hinge, axis=joint["axis"], pos=place - places[-1], damping=joint["damping"])
        inertial, waiting = body["inertial"], []
        parent.mass, parent.ipos, parent.explicitinertial = inertial["mass"], inertial["centre"], True
        # MuJoCo refuses thin rods: they must turn about their axis with some inertia.
        parent.fullinertia = np.add(inertial["inertia"], [1e-9, 1e-9, 1e-9, 0.0, 0.0, 0.0])
    spec.option.gravity, spec.option.timestep = description["gravity"], 1e-4
    spec.option.integrator = getattr(mujoco.mjtIntegrator, integrator)
    model = spec.compile()
    data = mujoco.MjData(model)

    def steps(count: int = 5000) -> float:
        mujoco.mj_resetData(model, data)
        data.qpos[:] = [body["joint"]["start"] for body in description["body"].values()]
        start = time.perf_counter()
        mujoco.mj_step(model, data, count)
        return count / (time.perf_counter() - start)

    return steps


def limbs(repeats: int) -> list[Row]:
    """Time steps per second of a 7-joint limb against MuJoCo, and with 31 muscles, which MuJoCo's limb has not."""
    jobs: dict[str, Callable[[], float]] = {}
    peers = {"semi_implicit": "mjINT_EULER", "rk4": "mjINT_RK4"}
    for scheme, integrator in peers.items():
        if importlib.util.find_spec("mujoco") is not None:
            jobs[f"skeleton, {scheme}: MuJoCo"] = _mujoco_limb(integrator)
        jobs[f"skeleton, {scheme}: ours, alone"] = partial(_limb_steps, Neuromechanic(_limb(False), 1e-4, scheme))
        jobs[f"skeleton, {scheme}: ours, {LANES} rows"] = partial(
            _limb_steps, Neuromechanic(_limb(False), 1e-4, scheme), LANES
        )
    jobs["31 muscles, semi_implicit: ours, alone"] = partial(_limb_steps, Neuromechanic(_limb(True)))
    jobs["31 muscles, rk4: ours, alone"] = partial(_limb_steps, Neuromechanic(_limb(True), 1e-5, "rk4"))
    for job in jobs.values():
        job()
    rates = paired(jobs, repeats)
    rows = []
    for what, rate in rates.items():
        peer = rates.get(f"{what.partition(':')[0]}: MuJoCo")
        rows.append(
            Row(what, float(np.median(rate)), "steps/s", None if peer is None else float(np.median(rate / peer)))
        )
    envs: dict[str, tuple[Any, bool]] = {
        "HindlimbHold-v0, scalar": (gymnasium.make("gymnosoma/HindlimbHold-v0"), False),
        f"HindlimbHold-v0, {LANES} rows": (gymnasium.make_vec("gymnosoma/HindlimbHold-v0", num_envs=LANES), True),
    }
    for what, env in envs.items():
        _steps_per_second(*env, 0.01)  # compile
        rows.append(Row(what, _steps_per_second(*env), "environment steps/s"))
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
    held = env.bodies
    task, rows, memory = held.task, held.rows, held.memory
    action = np.zeros((len(rows), task.action_size))
    start = time.perf_counter()
    for _ in range(steps):
        task.animal.advance(rows, held.ids, task.command(action, rows, memory), held.steps)
        task.reward(rows, memory)
        task.terminated(rows, memory)
        task.observe(rows, memory)
        task.info(rows, memory)
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
        extra = float(np.median(walls["whole"] - walls["parts"])) * 1e6
        rows.append(Row(f"step of {count}: all", float(np.median(walls["whole"])) * 1e6, "us a call"))
        rows.append(Row(f"step of {count}: neither physics nor task", extra, "us a call"))
    return rows


def report(rows: list[Row], title: str) -> None:
    """Print rows as a table."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title)
    for column in ("what", "median", "unit", "times the peer", "error at the end"):
        table.add_column(column, justify="left" if column in ("what", "unit") else "right")
    for row in rows:
        ratio = "" if row.ratio is None else f"{row.ratio:,.1f}" if row.ratio < 100 else f"{row.ratio:,.0f}"
        table.add_row(
            row.what, f"{row.value:,.3g}" if row.value < 1000 else f"{row.value:,.0f}", row.unit, ratio, row.error
        )
    Console(width=120).print(table)
