"""Speed of every animal, and against peers: the same work, in turn, within one run; medians and ratios."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import ArrayLike, NDArray

from gymnosoma.envs.lamprey import Lamprey
from gymnosoma.envs.whisker_chain import Whisker, WhiskerParams, follow
from gymnosoma.envs.whisker_rod import WhiskerRod, WhiskerRodParams
from gymnosoma.envs.worm import Worm, WormParams

from .lamprey import TravellingWave
from .peers import HOLD, NANOSECONDS, RADAU, SLIDE, SLIDING, TREP, commands, elegansbot, pyelastica, radau

LANES = 64
"""Animals side by side where they are stepped in lanes."""

PACE = "simulated s per wall s"


@dataclass
class Row:
    """One line of the report: what, its figure and unit, how many times faster than the peer, and a note."""

    what: str
    value: float
    unit: str
    ratio: float | None = None
    note: str = ""


def paired(jobs: Mapping[str, Callable[[], float]], repeats: int) -> dict[str, NDArray[np.float64]]:
    """Run jobs in turn, A B C A B C ...; what each measured, (repeats,)."""
    results: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(repeats):
        for name, job in jobs.items():
            results[name].append(job())
    return {name: np.array(values) for name, values in results.items()}


def _ours(sigma: float, seconds: float, count: int = 1, **arguments: Any) -> tuple[float, NDArray[np.float64]]:
    """Wall seconds per simulated second and worm, and the head at the end (m)."""
    worm = Worm(WormParams.in_medium(sigma), **arguments)
    rows, ids, steps = worm.rows(count), np.arange(count), round(HOLD / worm.dt)
    drives = np.repeat(commands(sigma, seconds)[:, None], count, 1)
    worm.advance(rows, ids, drives[0], 1)  # compile
    worm.reset(rows, ids)
    start = time.perf_counter()
    for drive in drives:
        worm.advance(rows, ids, drive, steps)
    wall = time.perf_counter() - start
    return wall / seconds / count, worm.points(rows)[0, 0]


def _wall(job: Callable[[float], tuple[float, NDArray[np.float64]]], seconds: float) -> float:
    return job(max(round(seconds / HOLD), 1) * HOLD)[0]


def bodies(seconds: float, repeats: int) -> list[Row]:
    """Simulated worms against the authors' program, in both media, with the errors after ``seconds``."""
    rows = []
    peer = importlib.util.find_spec("elegansbot") is not None
    for name, sigma in (("agar", 1.0), ("water", 0.0)):
        _, exact = _ours(sigma, seconds, dt=1e-4)
        jobs: dict[str, Callable[[float], tuple[float, NDArray[np.float64]]]] = {}
        if peer:
            jobs["ElegansBot, dt 0.01 ms"] = partial(elegansbot, sigma)
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
            note = f"{errors[what]:.4f} mm off at the end" if what in errors else "errs as ElegansBot"
            rows.append(Row(f"{name}: {what}", float(np.median(wall)), "wall s per simulated s", ratio, note))
    return rows


@dataclass(frozen=True)
class Case:
    """A simulation to be timed.

    Parameters
    ----------
    what : str
    animal : callable
        Makes it.
    drive : function of time
        Drive in SI, held for ``hold`` from a time (s) on.
    hold, duration : float, s
    start : function of the number of animals
        Their initial values. They differ, as animals that do all the same at once flatter the lanes.
    """

    what: str
    animal: Callable[[], Any]
    drive: Callable[[float], ArrayLike]
    hold: float
    duration: float
    start: Callable[[int], dict[str, Any]] = lambda count: {}


def _lampreys() -> list[Case]:
    wave = TravellingWave()
    cases = []
    for scheme in ("published", "implicit"):
        cord, body = partial(Lamprey, scheme=scheme), partial(Lamprey, drive="motoneuron", scheme=scheme)
        cases += [
            Case(
                f"{scheme}, with the cord",
                cord,
                lambda t: (0.4, 0.0, 0.7),
                0.05,
                5.0,
                lambda count: {"kick": np.linspace(0.1, 0.05, count)},
            ),
            Case(
                f"{scheme}, body alone",
                body,
                lambda t: wave.drive(np.array([t + 0.01]), {}, np.zeros(1, np.bool_))[0],
                0.02,
                5.0,
                lambda count: {"heading": np.linspace(0.0, 1.0, count)},
            ),
        ]
    return cases


def _chains() -> list[Case]:
    hold, params = 4e-3, WhiskerParams()
    scenes: dict[str, tuple[Callable[[float], float], dict[str, Any]]] = {
        "free, 20 deg at 8 Hz": (lambda t: -np.deg2rad(10.0) * np.cos(16.0 * np.pi * t), {}),
        "3 deg against a peg at 40%": (
            lambda t: np.deg2rad(1.5) * (1.0 - np.cos(16.0 * np.pi * t)),
            {"peg": [[0.4 * params.length, 1e-9]]},
        ),
    }
    cases = []
    for what, (angle, scene) in scenes.items():
        drive, start = follow(hold, angle)
        values = partial(_stiffened, {**start, **scene}, params.joint_stiffness[1])
        cases.append(Case(what, Whisker, drive, hold, 0.25, values))
    return cases


def _stiffened(start: dict[str, Any], stiffness: float, count: int) -> dict[str, Any]:
    return start | {"stiffness": stiffness * np.linspace(1.0, 1.1, count)}


def _rods() -> list[Case]:
    length = WhiskerRodParams().length
    return [
        Case(
            "on a plate at 0.2 m/s, N = 30",
            WhiskerRod,
            lambda t: (SLIDE, 0.0, 0.0),
            2e-3,
            SLIDING,
            lambda count: {"plate_distance": length * np.linspace(0.98, 0.985, count)},
        )
    ]


CASES: dict[str, Callable[[], list[Case]]] = {"lamprey": _lampreys, "whisker_chain": _chains, "whisker_rod": _rods}
"""What is simulated, by animal; the worm, which has a peer with a controller of its own, is `bodies`."""

PEERS = {"whisker_rod": (f"scipy's Radau, dense, tolerance {RADAU:g}", radau)}
"""Of animals: what is run in turn with them."""

QUOTED = {
    "whisker_chain": Row("trep", TREP[1], PACE, None, f"quoted, not measured: {TREP[0]:g} to {TREP[1]:g}"),
}
"""Of animals: peers that are not run here."""


def _pace(case: Case, animal: Any, count: int, wall: float = 0.1) -> float:
    """Simulated seconds of all animals together per wall second, over at least ``wall`` s."""
    rows, ids, steps = animal.rows(count), np.arange(count), round(case.hold / animal.dt)
    drives = [np.tile(case.drive(k * case.hold), (count, 1)) for k in range(round(case.duration / case.hold))]
    runs, spent = 0, 0.0
    while runs == 0 or spent < wall:
        animal.reset(rows, ids, case.start(count))
        start = time.perf_counter()
        for drive in drives:
            animal.advance(rows, ids, drive, steps)
        spent += time.perf_counter() - start
        runs += 1
    if rows["status"].any():
        raise RuntimeError(f"{case.what}: an animal failed, its speed means nothing")
    return runs * case.duration * count / spent


def models(animal: str, repeats: int) -> list[Row]:
    """Simulated seconds per wall second of an animal on one core, alone and in lanes, and of its peers."""
    jobs: dict[str, Callable[[], float]] = {}
    steps: dict[str, float] = {}
    peer = PEERS.get(animal)
    if peer is not None:
        jobs[peer[0]] = peer[1]
    if animal == "whisker_rod" and importlib.util.find_spec("elastica") is not None:
        jobs[f"PyElastica, dt {NANOSECONDS:g} ns"] = pyelastica
    for case in CASES[animal]():
        made = case.animal()
        for count, how in ((1, "alone"), (LANES, f"{LANES} in lanes")):
            _pace(case, made, count, 0.0)  # compile
            jobs[f"{case.what}, {how}"] = partial(_pace, case, made, count)
            steps[f"{case.what}, {how}"] = made.dt
    rows = []
    paces = paired(jobs, repeats)
    for what, pace in paces.items():
        ratio = None if peer is None else float(np.median(pace / paces[peer[0]]))
        step = steps.get(what)
        note = "" if step is None else f"{np.median(step / pace) * 1e6:.3g} us for {step * 1e3:g} ms"
        rows.append(Row(what, float(np.median(pace)), PACE, ratio, note))
    return [*rows, QUOTED[animal]] if animal in QUOTED else rows


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


ENVIRONMENTS = {
    "worm": ("WormCrawl-v0", "WormSwim-v0"),
    "lamprey": ("LampreySprint-v0", "LampreyWaypoints-v0"),
    "whisker_chain": ("WhiskerLocalize-v0",),
    "whisker_rod": ("WhiskerRegulate-v0",),
    "neuromechanic": ("HindlimbHold-v0", "StandPulse-v0"),
}
"""Environments that stand for their animals; the lamprey's first has no cord, its second one has."""


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
        for name in ENVIRONMENTS[animal]:
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
        rows.append(
            Row(what, float(np.median(rate)), "steps/s", None if peer is None else float(np.median(rate / peer)))
        )
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
    for column in ("what", "median", "unit", "times the peer", "note"):
        table.add_column(column, justify="left" if column in ("what", "unit") else "right")
    for row in rows:
        ratio = "" if row.ratio is None else f"{row.ratio:,.{0 if row.ratio >= 100 else 1 if row.ratio >= 1 else 4}f}"
        table.add_row(
            row.what, f"{row.value:,.3g}" if row.value < 1000 else f"{row.value:,.0f}", row.unit, ratio, row.note
        )
    Console(width=120).print(table)
