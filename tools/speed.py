"""Measure the speed of the models on one core, compared with other programs: ``python -m tools.speed``.

Kernels run one animal alone, or many in lanes. The worm is compared with ElegansBot, the whisker rod with SciPy's
Radau, and the musculoskeletal models with MuJoCo, if these are installed.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, get_args

import gymnasium
import numpy as np
import tyro
from numpy.typing import NDArray
from tqdm import tqdm

from gymnosoma.agents.policies.fingerprints import env_fingerprint
from gymnosoma.envs import OpenLoop, simulate
from gymnosoma.envs.core.model.animal import Animal as Model
from gymnosoma.envs.lamprey import Lamprey
from gymnosoma.envs.neuromechanic import Neuromechanic
from gymnosoma.envs.neuromechanic.hindlimb import asset, hindlimb
from gymnosoma.envs.whisker_chain import Whisker, WhiskerParams, follow
from gymnosoma.envs.whisker_rod import WhiskerRod, WhiskerRodParams
from gymnosoma.envs.worm import SineKymogram, Worm, WormParams
from papers.whisker_rod.reference import Reference

from .clone import ROOT, put
from .mujoco_models import in_mujoco, standing_on_springs

LANES = 64
"""Number of animals that are stepped together in lanes."""

PACKAGES = (
    "gymnosoma",
    "numpy",
    "numba",
    "gymnasium",
    "scipy",
    "mujoco",
    "elegansbot",
    "envpool",
    "mjbatch",
    "myosuite",
)
"""Packages for which the installed version is recorded."""


@dataclass
class Row:
    """Measured speed: name, value and unit, ratio to another program, and a note."""

    what: str
    value: float
    unit: str
    ratio: float | None = None
    note: str = ""

    @classmethod
    def median(
        cls,
        what: str,
        values: NDArray[np.float64],
        unit: str,
        ratios: NDArray[np.float64] | None = None,
        note: str = "",
    ) -> Row:
        """Make a row from the medians of several runs."""
        return cls(what, float(np.median(values)), unit, None if ratios is None else float(np.median(ratios)), note)


def machine() -> dict[str, str | int]:
    """Describe this machine and the versions of the packages."""
    name = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):  # on Linux
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        name = next((line.partition(": ")[2] for line in lines if line.startswith("model name")), name)
    about: dict[str, str | int] = {"cpu": name, "cores": os.cpu_count() or 1, "python": platform.python_version()}
    for package in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            about[package] = version(package)
    return about


def paired(jobs: Mapping[Any, Callable[[], float]], repeats: int) -> dict[Any, NDArray[np.float64]]:
    """Run jobs alternately, A B C A B C ..., and return the values (repeats,) of each."""
    values: dict[Any, list[float]] = {name: [] for name in jobs}
    for _ in range(repeats):
        for name, job in jobs.items():
            values[name].append(job())
    return {name: np.array(each) for name, each in values.items()}


UNIT = "simulated s per wall s"

Peer = tuple[str, Callable[[], float]]
"""Name of another program, and a function that returns its simulated seconds per wall second."""


@dataclass(frozen=True)
class Case:
    """Simulation to measure.

    Args:
        what: Name of the simulation.
        animal: Model.
        drives ((K, nu) array): Drives in SI units, each held for ``hold`` s.
        hold (s): Duration of each drive.
        start: Function of the number of animals that returns their initial values. These must differ, because identical
            animals would run faster in lanes.
        peer: Other program for the same simulation.
        note: Note on the measurement.
    """

    what: str
    animal: Model
    drives: NDArray[np.float64]
    hold: float
    start: Callable[[int], Mapping[str, Any]] = lambda count: {}
    peer: Peer | None = None
    note: str = ""


def kernels(animals: Sequence[str], repeats: int) -> list[Row]:
    """Measure simulated seconds per wall second, alone and in lanes."""
    rows: list[Row] = []
    for case in (case for name in animals for case in CASES[name]()):
        jobs: dict[str, Callable[[], float]] = {} if case.peer is None else dict([case.peer])
        jobs |= {"alone": partial(pace, case, 1), f"{LANES} in lanes": partial(pace, case, LANES)}
        for job in (partial(pace, case, count, 0.0) for count in (1, LANES)):
            job()  # compile
        paces = paired(jobs, repeats)
        for name, values in paces.items():
            ratios = None if case.peer is None else values / paces[case.peer[0]]
            note = case.note if name == "alone" else ""
            rows.append(Row.median(f"{case.what}: {name}", values, UNIT, ratios, note))
    return rows


def pace(case: Case, count: int, wall: float = 0.1) -> float:
    """Return the simulated seconds of all animals together per wall second, measured for at least ``wall`` s."""
    animal = case.animal
    rows, ids, steps = animal.rows(count), np.arange(count), round(case.hold / animal.dt)
    drives = np.repeat(case.drives[:, None], count, 1)
    runs, spent = 0, 0.0
    while runs == 0 or spent < wall:
        animal.reset(rows, ids, case.start(count))
        begin = time.perf_counter()
        for drive in drives:
            animal.advance(rows, ids, drive, steps)
        spent += time.perf_counter() - begin
        runs += 1
    if rows["status"].any():
        raise RuntimeError(f"{case.what}: the simulation of an animal failed")
    return runs * len(drives) * case.hold * count / spent


def _worm() -> list[Case]:
    """Return worms on agar and in water, driven by the paper's wave."""
    hold, duration, cases = 0.025, 2.0, []
    for what, sigma in (("agar", 1.0), ("water", 0.0)):
        wave, params = SineKymogram.for_medium(sigma, ramp=0.0), WormParams.in_medium(sigma)
        drives = np.array([wave((k + 0.5) * hold) for k in range(round(duration / hold))])
        exact, ours = (_head(worm, drives, hold) for worm in (Worm(params, dt=1e-4), Worm(params)))
        note, peer = f"head {1e3 * np.linalg.norm(ours - exact):.4f} mm off after {duration:g} s", None
        if find_spec("elegansbot") is not None:
            _, theirs = _elegansbot(params, drives, hold)
            note += f", ElegansBot's {1e3 * np.linalg.norm(theirs - exact):.4f} mm"
            peer = "ElegansBot", lambda params=params, drives=drives: _elegansbot(params, drives[:10], hold)[0]
        turned = lambda count: {"heading": np.linspace(0.0, 1.0, count)}  # noqa: E731
        cases.append(Case(f"worm in {what}", Worm(params), drives, hold, turned, peer, note))
    return cases


def _head(worm: Worm, drives: NDArray[np.float64], hold: float) -> NDArray[np.float64]:
    """Return the final position of the head, m."""
    rows, ids = worm.rows(1), np.arange(1)
    worm.reset(rows, ids)
    for drive in drives:
        worm.advance(rows, ids, drive[None], round(hold / worm.dt))
    return worm.points(rows)[0, 0]


def _elegansbot(params: WormParams, drives: NDArray[np.float64], hold: float) -> tuple[float, NDArray[np.float64]]:
    """Return the simulated seconds per wall second of the authors' program, and the final position of the head, m."""
    from elegansbot import Worm as Peer

    peer = Peer(
        bT=params.friction_perpendicular * 1e9,
        bII=params.friction_parallel * 1e9,
        polarity_clockwise=True,
        simTime=len(drives) * hold,
        dt_snapshot=hold,
        angle_init=-np.pi,  # the authors start with the head at +x
    )
    begin = time.perf_counter()
    for drive in drives:
        peer.act = drive
        peer.steps()
    wall = time.perf_counter() - begin
    step = np.stack([np.cos(peer.s), np.sin(peer.s)], 1) / peer.n
    joints = np.concatenate([np.zeros((1, 2)), np.cumsum(step, 0)])
    return len(drives) * hold / wall, (np.array([peer.xc, peer.yc]) - 0.5 * (joints[1:] + joints[:-1]).mean(0)) * 1e-3


def _lamprey() -> list[Case]:
    kick = lambda count: {"kick": np.linspace(0.1, 0.05, count)}  # noqa: E731
    return [Case("lamprey with its cord", Lamprey(), np.tile([0.4, 0.0, 0.7], (100, 1)), 0.05, kick)]


def _whisker_chain() -> list[Case]:
    """Return a whisker chain that sweeps against a peg."""
    params, hold = WhiskerParams(), 4e-3
    drive, start = follow(hold, lambda t: np.deg2rad(1.5) * (1.0 - np.cos(16.0 * np.pi * t)))
    drives = np.array([drive(k * hold) for k in range(62)])
    start = {**start, "peg": [[0.4 * params.length, 1e-9]]}

    def values(count: int) -> Mapping[str, Any]:
        return start | {"stiffness": params.joint_stiffness[1] * np.linspace(1.0, 1.1, count)}

    return [Case("whisker chain against a peg", Whisker(params), drives, hold, values)]


def _whisker_rod() -> list[Case]:
    """Return a whisker rod on a plate that slides at 0.2 m/s for 10 ms."""
    animal, speed, duration = WhiskerRod(WhiskerRodParams(n_segments=30)), 0.2, 10e-3

    def radau() -> float:
        rows = animal.rows(1)
        animal.reset(rows, np.arange(1))
        rod, begin = Reference(animal, rows[0], speed), time.perf_counter()
        rod.integrate(rows[0], np.array([0.0, duration]), tolerance=1e-3)  # as exact as ours: 0.13 um at the tip
        return duration / (time.perf_counter() - begin)

    def start(count: int) -> Mapping[str, Any]:
        return {"plate_distance": animal.params.length * np.linspace(0.98, 0.985, count)}

    peer = "scipy's Radau", radau
    return [Case("whisker rod on a plate", animal, np.tile([speed, 0.0, 0.0], (5, 1)), 2e-3, start, peer)]


def _neuromechanic() -> list[Case]:
    """Return the skeleton of the cat's hindlimb, and the standing figure on springs."""
    skeleton = asset("hindlimb")
    del skeleton["wrench"], skeleton["muscle"]
    for body in skeleton["body"].values():
        body["joint"]["damping"] = 0.0  # explicit steps are unstable for such light segments
    cases = []
    models = (("the hindlimb's skeleton", skeleton, 1e-4), ("the standing figure", standing_on_springs(), 1e-3))
    for what, model, dt in models:
        animal = Neuromechanic(model, dt)
        peer = None if find_spec("mujoco") is None else ("MuJoCo's rollout", partial(_mujoco, model, dt))
        cases.append(Case(what, animal, np.full((5, animal.drive_size), 0.05), 0.1, peer=peer))
    return cases


def _mujoco(description: Mapping[str, Any], dt: float, steps: int = 5000) -> float:
    """Return the simulated seconds per wall second of MuJoCo's ``rollout`` on one thread."""
    import mujoco
    from mujoco import rollout

    model, data = in_mujoco(description, dt)
    kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
    state = np.empty((1, mujoco.mj_stateSize(model, kind)))
    mujoco.mj_getState(model, data, state[0], kind)
    begin = time.perf_counter()
    rollout.rollout(model, data, state, nstep=steps)
    return steps * dt / (time.perf_counter() - begin)


CASES: Mapping[str, Callable[[], list[Case]]] = {
    "worm": _worm,
    "lamprey": _lamprey,
    "whisker_chain": _whisker_chain,
    "whisker_rod": _whisker_rod,
    "neuromechanic": _neuromechanic,
}


STEPS, EVERY = 2000, 10
"""Number of time steps of a simulation, and between records."""

RUNS: Mapping[str, tuple[Callable[[], Model], Any]] = {
    "worm": (Worm, SineKymogram()),
    "lamprey": (Lamprey, np.array([0.4, 0.0, 0.7])),
    "whisker_chain": (Whisker, np.zeros(3)),
    "whisker_rod": (WhiskerRod, np.zeros(3)),
    "neuromechanic": (lambda: Neuromechanic(hindlimb()), np.full(31, 0.05)),
}
"""Model and drive of each animal."""


def overheads(animals: Sequence[str], repeats: int) -> list[Row]:
    """Measure CPU time per step in `simulate`, with ratios to one call of ``advance``."""
    rows = []
    for name in animals:
        make, drive = RUNS[name]
        animal = make()
        jobs = {"kernel": partial(_kernel, animal, drive)}
        for every in (1, EVERY):
            jobs[f"every {every} steps"] = partial(_simulation, animal, drive, every * animal.dt)
        for job in jobs.values():
            job()  # compile
        times = paired(jobs, 2 * repeats + 1)
        rows += [
            Row.median(f"{name}: {what}", 1e6 / STEPS * spent, "CPU us a step", spent / times["kernel"])
            for what, spent in times.items()
        ]
    return rows


def _kernel(animal: Model, drive: Any) -> float:
    """Return the CPU seconds of one call of ``advance``."""
    values = drive.at(np.array([animal.dt])) if isinstance(drive, OpenLoop) else drive[None]
    begin = time.process_time()
    rows, ids = animal.rows(1), np.zeros(1, np.int64)
    animal.reset(rows, ids)
    animal.advance(rows, ids, values, STEPS)
    return time.process_time() - begin


def _simulation(animal: Model, drive: Any, every: float) -> float:
    """Return the CPU seconds of `simulate` with the same number of steps."""
    begin = time.process_time()
    simulate(animal, drive, STEPS * animal.dt, every)
    return time.process_time() - begin


IDS = {
    "worm": ("WormCrawl-v0", "WormSwim-v0"),
    "lamprey": ("LampreyEscape-v0",),
    "whisker_chain": ("WhiskerLocalize-v0",),
    "whisker_rod": ("WhiskerRegulate-v0",),
    "neuromechanic": ("HindlimbHold-v0",),
}
"""Measured ids of each animal."""


SWIMMER, ELBOW = "Swimmer-v5", "myoElbowPose1D6MRandom-v0"
"""Environments of MuJoCo and MyoSuite that all ids, and the hindlimb's, are compared with."""

FRAMES = 4
"""Time steps of Swimmer-v5 in one control period."""


def environments(animals: Sequence[str], repeats: int) -> list[Row]:
    """Measure steps per second of single environments and of vector environments, on one thread."""
    names = [] if find_spec("mujoco") is None else [(SWIMMER, SWIMMER)]
    if find_spec("myosuite") is not None:
        import_module("myosuite")  # registers its ids

        names += [(ELBOW, ELBOW)]
    names += [(name, f"gymnosoma/{name}") for animal in animals for name in IDS[animal]]
    jobs: dict[str, Callable[..., float]] = {}
    periods: dict[str, float] = {}
    for name, env_id in names:
        mode = None if "/" in env_id else "sync"
        single: Any = gymnasium.make(env_id)
        periods[name] = getattr(single.unwrapped, "dt", None) or 1.0 / single.unwrapped.task.control_rate
        jobs[f"{name}, scalar"] = partial(_steps_per_second, single)
        envs = gymnasium.make_vec(env_id, num_envs=LANES, vectorization_mode=mode)
        jobs[f"{name}, {LANES} side by side"] = partial(_steps_per_second, envs)
        if name == SWIMMER:
            jobs |= {f"{name}, {LANES} {how}": job for how, job in _swimmers(single).items()}
    for job in jobs.values():
        job(0.01)  # compile
    rates = paired(jobs, repeats)
    rows = []
    for what, rate in rates.items():
        name, _, how = what.partition(", ")
        other, notes = rates.get(f"{SWIMMER}, {'scalar' if how == 'scalar' else f'{LANES} side by side'}"), []
        ratios = None if other is None else rate / other
        if ratios is not None and name != SWIMMER:
            seconds = np.median(ratios) * periods[name] / periods[SWIMMER]
            notes = [f"ratio {_span(ratios)}", f"per simulated second {_digits(seconds)}"]
        if name == IDS["neuromechanic"][0] and f"{ELBOW}, {how}" in rates:
            times = rate / rates[f"{ELBOW}, {how}"] * periods[name] / periods[ELBOW]
            notes.append(f"{_span(times)} times {ELBOW} per simulated second")
        rows.append(Row.median(what, rate, "steps/s", ratios, "; ".join(notes)))
    return rows


def _span(values: NDArray[np.float64]) -> str:
    """Format the smallest and the largest value."""
    return f"{_digits(values.min())} to {_digits(values.max())}"


def _swimmers(env: Any) -> dict[str, Callable[..., float]]:
    """Return other programs that step many swimmers on one thread; those that are not installed are printed.

    EnvPool runs whole environments; mjbatch and MuJoCo's ``rollout`` run the physics of a control period alone.
    """
    import mujoco
    from mujoco import rollout

    model = env.unwrapped.model
    data = mujoco.MjData(model)
    state = np.empty((LANES, mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)))
    for one in state:
        mujoco.mj_getState(model, data, one, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    controls = np.random.default_rng(0).uniform(-1.0, 1.0, (LANES, FRAMES, model.nu))

    def roll() -> None:
        state[:] = rollout.rollout(model, data, state, controls)[0][:, -1]

    jobs: dict[str, Callable[..., float]] = {"in MuJoCo's rollout": partial(_rate, roll)}
    if find_spec("mjbatch") is None:
        print("mjbatch is not installed")
    else:
        batch = import_module("mjbatch").Batch(model, LANES, 1)
        batch.bind("ctrl")[:] = controls[:, 0]
        jobs["in mjbatch"] = partial(_rate, partial(batch.step, nstep=FRAMES))
    if find_spec("envpool") is None:
        print("EnvPool is not installed")
    else:
        pool = import_module("envpool").make(SWIMMER, env_type="gymnasium", num_envs=LANES, num_threads=1)
        pool.reset()
        jobs["in EnvPool"] = partial(_rate, partial(pool.step, controls[:, 0]))
    return jobs


def _rate(step: Callable[[], Any], seconds: float = 0.5) -> float:
    """Return steps per second of wall time of all animals that ``step`` advances."""
    steps, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        step()
        steps += LANES
    return steps / (time.perf_counter() - begin)


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


STEP = """
import os, gymnasium, gymnosoma
if hasattr(os, "sched_setaffinity"):  # one processor, so that no second process compiles beside this one
    os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}})
env = gymnasium.make("gymnosoma/{}")
env.reset(seed=0)
env.step(env.action_space.sample())
print(sum(os.times()[:2]))
"""


def first(animals: Sequence[str], repeats: int) -> list[Row]:
    """Measure CPU seconds to the first step of each animal."""
    rows = []
    for name in (IDS[animal][0] for animal in animals):
        with tempfile.TemporaryDirectory() as folder:
            times = np.array([_cpu(STEP.format(name), folder) for _ in range(1 + repeats)])
        rows.append(Row.median(f"{name}: nothing compiled", times[:1], "CPU s"))
        rows.append(Row.median(f"{name}: kernels compiled", times[1:], "CPU s"))
    return rows


def _cpu(code: str, cache: str) -> float:
    """Return the CPU seconds of a new process that runs ``code`` with ``cache`` as its folder of compiled kernels."""
    variables = {**os.environ, "NUMBA_CACHE_DIR": cache}
    ended = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=True)
    return float(ended.stdout.splitlines()[-1])


COUNTS = (32, 64, 128, 256, 1024)
"""Numbers of animals."""

LARGER = (8, 16, 64)
"""Numbers of cores of the modelled machines."""


def threads(animals: Sequence[str], repeats: int) -> list[Row]:
    """Measure simulated seconds per wall second with 1, 2, 4, ... threads, with ratios to one thread.

    The model is Amdahl's law, with the serial share from the largest numbers of animals and threads measured.
    """
    numbers = [2**k for k in range((os.cpu_count() or 1).bit_length())]
    rows = []
    for case in (CASES[name]()[0] for name in animals):
        size = f"{case.animal.rows(1).itemsize:,} bytes a row"
        for count in COUNTS:
            jobs = {n: partial(_threaded_pace, case, n, count) for n in numbers}
            for job in jobs.values():
                job(0.0)  # compile
            paces = paired(jobs, repeats)
            for n, each in paces.items():
                ratios = each / paces[1]
                note = size if n == 1 else f"ratio {_span(ratios)}"
                rows.append(Row.median(f"{case.what}: {count:,} animals, {n} threads", each, UNIT, ratios, note))
        most = numbers[-1]
        serial = float(np.clip((most / np.median(paces[most] / paces[1]) - 1) / max(most - 1, 1), 0, 1))
        for n in (n for n in LARGER if n > most > 1):
            ratio = n / (1 + serial * (n - 1))
            value = float(np.median(paces[1]) * ratio)
            rows.append(Row(f"{case.what}: {COUNTS[-1]:,} animals, {n} threads", value, UNIT, ratio, "model"))
    return rows


def _threaded_pace(case: Case, number: int, count: int, wall: float = 0.1) -> float:
    case.animal.threads = number
    return pace(case, count, wall)


MEASURED, GUIDE, README = ROOT / "docs" / "speed.json", ROOT / "docs" / "guides" / "speed.md", ROOT / "README.md"

PARTS: dict[str, tuple[str, Callable[[Sequence[str], int], list[Row]]]] = {
    "kernels": ("Kernels", kernels),
    "simulate": ("`simulate` over the kernel", overheads),
    "environments": ("Environments", environments),
    "first": ("First use", first),
    "threads": ("Threads, and memory of a row", threads),
}
"""Title and function of each part."""

Animal = Literal["worm", "lamprey", "whisker_chain", "whisker_rod", "neuromechanic"]
Part = Literal["kernels", "simulate", "environments", "first", "threads"]

SUMMARY = {
    "one worm | ElegansBot, the authors' program": r"worm in (agar|water): alone",
    "64 worms | ElegansBot, one worm": r"worm in (agar|water): .*lanes",
    "one whisker rod | SciPy's Radau": r"whisker rod on a plate: alone",
    "skeleton of the hindlimb | MuJoCo's `rollout`": r"the hindlimb's skeleton: alone",
    "standing figure on two feet | MuJoCo's `rollout`": r"the standing figure: alone",
    "`WormSwim-v0`, 64 environments | Gymnasium's `Swimmer-v5`, 64 environments": r"WormSwim-v0, 64 side by side",
}
"""First two cells of each row in README, and the measured rows with the ratios of the third cell."""


def speed(
    part: tuple[Part, ...] = ("kernels", "simulate", "environments"),
    animal: tuple[Animal, ...] = get_args(Animal),
    repeats: int = 5,
    write: bool = False,
) -> None:
    """Measure the speed on one core, and compare it with installed programs (ElegansBot, SciPy, MuJoCo).

    Args:
        part: Measurements: kernels against other programs, `simulate` against the kernel, environments against
            Swimmer-v5 and those of EnvPool, mjbatch and MyoSuite, CPU time of the first use, several threads with a
            model of larger machines.
        animal: Animals to measure.
        repeats: Number of runs; the median is shown.
        write: Also write docs/speed.json, and the tables of the guide and README; needs all parts but threads.

    Raises:
        ValueError: If a part is missing, because its rows would be lost from the files.
    """
    if write and (missing := {*PARTS} - {*part} - {"threads"}):
        raise ValueError(f"part must also have {', '.join(sorted(missing))} with write, got {', '.join(part)}")
    figures: dict[str, list[dict[str, Any]]] = {}
    for title, function in tqdm([PARTS[name] for name in part], leave=False):
        rows = function(animal, repeats)
        figures[title] = [asdict(row) for row in rows]
    labels = [row["what"].partition(",")[0] for rows in figures.values() for row in rows]
    ids = {name: env_fingerprint(f"gymnosoma/{name}", {}) for names in IDS.values() for name in names if name in labels}
    measured = {"machine": machine(), "ids": ids, "figures": figures}
    print(tables(measured))
    if write:
        MEASURED.write_text(json.dumps(measured, indent=2) + "\n", "utf-8")
        for page, text in ((GUIDE, tables(measured)), (README, ratios(measured))):
            page.write_text(put(page.read_text("utf-8"), "speed", text), "utf-8")


def _digits(value: float | None) -> str:
    """Format a number with three significant digits, or as a whole number from 1000 on."""
    return "" if value is None else f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def tables(measured: Mapping[str, Any]) -> str:
    """Return the tables of the guide, in Markdown."""
    about = measured["machine"]
    packages = ", ".join(f"{name} {about[name]}" for name in ("python", *PACKAGES[1:]) if name in about)
    lines = [f"Measured on {about['cpu']}, {about['cores']} cores ({packages}).", ""]
    for title, rows in measured["figures"].items():
        lines += [f"## {title}", "", "| what | median | unit | ratio | |", "|---|---:|---|---:|---|"]
        for row in rows:
            cells = row["what"], _digits(row["value"]), row["unit"], _digits(row["ratio"]), row["note"]
            lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


def ratios(measured: Mapping[str, Any]) -> str:
    """Return the table of README, in Markdown."""
    lines = [f"Speed on one core ({measured['machine']['cpu']}):", ""]
    lines += ["| simulation | compared with | times faster |", "|---|---|---:|"]
    for words, pattern in SUMMARY.items():
        rows = [row for part in measured["figures"].values() for row in part if re.fullmatch(pattern, row["what"])]
        values = sorted(row["ratio"] for row in rows if row["ratio"] is not None)
        if values:
            lines.append(f"| {words} | {' to '.join(dict.fromkeys(map(_digits, (values[0], values[-1]))))} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    tyro.cli(speed)
