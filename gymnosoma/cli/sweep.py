"""Command ``sweep``."""

from __future__ import annotations

import itertools
import json
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro

from gymnosoma.agents.policies.fingerprints import of_files, of_sources
from gymnosoma.agents.policies.physiology import measured
from gymnosoma.agents.support.files import TABLES, check_saved, locked, result, write_table
from gymnosoma.agents.support.workers import Unfinished, watched, workers
from gymnosoma.envs import simulate as simulate_animal
from gymnosoma.envs.core.arguments import choice, printable
from gymnosoma.envs.core.env.spec import Measure
from gymnosoma.envs.core.files import LARGEST_RECORDING, read_bytes
from gymnosoma.envs.core.kernels.lanes import LANES
from gymnosoma.envs.core.model.animal import Animal, InLanes
from gymnosoma.envs.core.model.control import Controller

from .arguments import Processes, read_event, read_params_of
from .simulate import SIMPLE, AnimalName, Settings, make_animal, read_drive, usual_hold

MAX_POINTS = 1_000_000

Over = Annotated[
    tuple[str, ...], tyro.conf.arg(metavar="NAME=LOW:HIGH:COUNT[:log] or NAME=A,B,..."), tyro.conf.UseAppendAction
]
Columns = Annotated[tuple[str, ...], tyro.conf.arg(metavar="SIGNAL[.STATISTIC]"), tyro.conf.UseAppendAction]
Point = Mapping[str, Any]

STATISTICS: dict[str, Callable[..., Any]] = {
    "mean": np.mean,
    "min": np.min,
    "max": np.max,
    "last": lambda values: values[-1],
}
"""Statistics of a recorded signal."""

FREQUENCY = Measure("frequency", "joint_angle", meaning="frequency")

SUMMARY: dict[str, tuple[str, Callable[..., float]]] = {
    "speed": ("centre", lambda time, values: np.linalg.norm(values[-1] - values[0]) / time[-1]),
    "frequency": ("joint_angle", lambda time, values: measured(FREQUENCY, values, (len(time) - 1) / time[-1])),
    "power": ("joint_power", lambda time, values: np.maximum(values, 0.0).sum(1).mean()),
}
"""Signal and function of each summary: net displacement per time (m/s), strongest frequency of the joints (Hz), and
mean of the joints' positive power (W)."""

SIMULATED = ("duration", "every", "hold", "scheme", "dt")
"""Arguments of `simulate` that can be swept."""


def sweep(
    animal: AnimalName,
    /,
    over: Over = (),
    settings: Annotated[Settings, tyro.conf.OmitArgPrefixes] = SIMPLE,
    column: Columns = (),
    table: Annotated[Path, tyro.conf.arg(aliases=("--save",))] = Path("sweep.csv"),
    processes: Processes = 1,
    restart: bool = False,
) -> None:
    """Simulate an animal at every point of a parameter grid.

    The output is a table with one row per point. Points that differ only in drive, initial values and physical
    parameters are simulated in one batch. Intermediate results are saved next to the table (.points.jsonl). After an
    interruption, the same command computes the remaining points, provided that the input files and the animal's code
    are unchanged.

    Args:
        animal: Animal, musculoskeletal model or model file, as for `simulate`.
        over: Values of one argument, such as stiffness=1e-10:1e-9:5:log or scheme=midpoint,published. NAME is a name
            that --param accepts, start.NAME, drive.NAME (a parameter of the controller), duration, every, hold, scheme
            or dt. May be repeated; the grid contains every combination.
        column: Signal of the animal with a statistic (mean, min, max or last), such as power.mean; without a statistic,
            all four. May be repeated. By default, speed (m/s, net displacement), frequency (Hz, of the joints) and
            power (W, positive, of the joints), then mean and last of all scalar signals.
        table: Output file (.csv, .parquet or .json).
        restart: Discard the intermediate results and simulate all points again.
    """
    check_saved("table", [[table]], TABLES)
    axes = dict(read_axis(text) for text in over)
    if not axes or len(axes) < len(over):
        raise ValueError(f"over must contain at least one name, each once, got {' '.join(over) or 'none'}")
    if math.prod(map(len, axes.values())) > MAX_POINTS:
        raise ValueError(f"over must define at most {MAX_POINTS} points, got {' '.join(over)}")
    task, grid = plan(animal, settings, axes, column)
    journal = table.with_suffix(".points.jsonl")
    with locked("table", journal, file=True):
        if restart:
            journal.unlink(missing_ok=True)
        rows = _read_journal(journal, task)
        with workers(processes) as engine, journal.open("a", encoding="utf-8") as notes:
            if not notes.tell():
                notes.write(json.dumps(task) + "\n")
            remaining = {k: point for k, point in enumerate(grid) if k not in rows}
            size = min(LANES, 1 + (len(remaining) - 1) // engine.count)
            portions = {str(ids[0]): ids for ids in _portions(task, remaining, size)}
            pieces = {name: (task, [grid[k] for k in ids]) for name, ids in portions.items()}
            for name, values, error in watched(engine.work(simulate_points, pieces), len(pieces), "portion"):
                for k, row in zip(portions[name], values or itertools.repeat({"failure": error}), strict=False):
                    rows[k] = row
                    if "time" in row:
                        notes.write(json.dumps([k, row]) + "\n")
                notes.flush()
        with result("table", table) as file:
            write_table(file, [{**point, **rows[k]} for k, point in enumerate(grid)])
    failed = [k for k, row in sorted(rows.items()) if "time" not in row]
    print(f"{len(rows) - len(failed)} of {len(grid)} points are in {table}.")
    if failed:
        raise Unfinished(f"{len(failed)} points failed, first {grid[failed[0]]}: {rows[failed[0]]['failure']}")


def plan(
    animal: str, settings: Settings, axes: Mapping[str, Sequence[Any]], column: Sequence[str] = ()
) -> tuple[dict[str, Any], list[Point]]:
    """Check the arguments of a sweep; return its description in plain values and the list of its points."""
    task = {
        "animal": animal,
        "drive": list(settings.drive),
        "param": read_params_of(settings.param),
        "start": settings.initial(),
        "event": list(settings.event),
        **{name: getattr(settings, name) for name in SIMULATED},
        "column": list(column),
        "over": axes,
    }
    task = json.loads(json.dumps(task, default=np.ndarray.tolist))
    grid: list[Point] = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    for point in (grid[0], grid[-1]):
        body, controller, _ = prepare(task, point)
        read_columns(body, column)
    task["physical"] = [name for name in axes if name in body.parameters and _is_physical(task, grid[0], name, axes)]
    files = [name for name in (animal, *settings.drive) if Path(name).is_file()]
    task |= {f"content of {name}": of_files(Path(name)) for name in files}
    task["code"] = of_sources(*(each.__module__ for each in (type(body), type(controller), simulate_animal)))
    return task, grid


def read_axis(text: str) -> tuple[str, list[Any]]:
    """Parse ``NAME=LOW:HIGH:COUNT[:log]`` or ``NAME=A,B,...`` into a name and its values."""
    wrong = f"over must be NAME=LOW:HIGH:COUNT[:log] or NAME=A,B,..., such as stiffness=1e-10:1e-9:5:log, got {text!r}"
    name, _, values = text.partition("=")
    if not (name and values):
        raise ValueError(wrong)
    if ":" not in values:
        return name, [read_params_of([f"value={value}"])["value"] for value in values.split(",")]
    try:
        low, high, count, *kind = values.split(":")
        ends, number = (float(low), float(high)), int(count)
    except ValueError:
        raise ValueError(wrong) from None
    if kind not in ([], ["log"]) or not np.isfinite(ends).all() or not 1 <= number <= MAX_POINTS:
        raise ValueError(wrong)
    if kind and min(ends) <= 0.0:
        raise ValueError(f"over: {name} must be greater than 0 for log, got {values!r}")
    return name, (np.geomspace if kind else np.linspace)(*ends, number).tolist()


def prepare(task: Mapping[str, Any], point: Point) -> tuple[Animal, Controller, dict[str, Any]]:
    """Create the animal, the controller and the remaining arguments of `simulate` for one point."""
    settings = {name: point.get(name, task[name]) for name in SIMULATED}
    params, start, changes = json.loads(json.dumps(task["param"])), dict(task["start"]), {}
    for name, value in point.items():
        kind, _, own = name.partition(".")
        if kind == "start" and own:
            start[own] = value
        elif kind == "drive" and own:
            changes[own] = value
        elif name not in SIMULATED:
            *tables, last = name.split(".")
            place = params
            for key in tables:
                place = place.setdefault(key, {})
            place[last] = value
    body = make_animal(task["animal"], params, {"scheme": settings.pop("scheme"), "dt": settings.pop("dt")})
    controller = read_drive(body, task["drive"], changes)
    if settings["hold"] is None:
        settings["hold"] = usual_hold(body, controller)
    return body, controller, {**settings, "start": start, "events": [read_event(text) for text in task["event"]]}


def _is_physical(task: Mapping[str, Any], point: Point, name: str, axes: Mapping[str, Sequence[Any]]) -> bool:
    """Return whether a parameter changes only the rows of an animal, so that one batch can hold all its values."""
    first, last = (prepare(task, {**point, name: axes[name][k]})[0] for k in (0, -1))
    if not (isinstance(first, InLanes) and isinstance(last, InLanes)):
        return False
    pairs = zip(first._arguments(), last._arguments(), strict=True)
    return all(np.asarray(one).tobytes() == np.asarray(other).tobytes() for one, other in pairs)


def _physical(body: Animal) -> dict[str, Any]:
    """Return the physical parameters of an animal by name."""
    row = body.rows(1)
    return {name: row[name][0] for name in body.parameters}


def _portions(task: Mapping[str, Any], points: Mapping[int, Point], size: int) -> Iterator[list[int]]:
    """Split points into portions that can be simulated in one batch, with at most ``size`` points each."""

    def shared(k: int) -> str:
        names = (name for name in points[k] if not name.startswith(("start.", "drive.")))
        return json.dumps({name: points[k][name] for name in names if name not in task["physical"]})

    for _, group in itertools.groupby(sorted(points, key=shared), shared):
        ids = list(group)
        yield from (ids[k : k + size] for k in range(0, len(ids), size))


def simulate_points(task: Mapping[str, Any], points: Sequence[Point]) -> list[dict[str, Any]]:
    """Simulate points in one batch and return their table rows; if a point is invalid, simulate them one by one."""
    try:
        prepared = [prepare(task, point) for point in points]
        body, _, settings = prepared[0]
        columns = read_columns(body, task["column"])
        settings["start"] = [_physical(own) | each["start"] for own, _, each in prepared]
        drives = [controller for _, controller, _ in prepared]
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # the table lists failures
            runs = simulate_animal(body, drives, **settings, count=len(points), signals=list(columns))
    except (ValueError, TypeError, ArithmeticError) as error:
        if len(points) == 1:
            return [{"failure": printable(error)}]
        return [row for point in points for row in simulate_points(task, [point])]
    rows = []
    for run in runs:
        row: dict[str, Any] = {}
        for each, (column, summary) in SUMMARY.items():
            if each in columns.get(column, ()):
                values = run[column].reshape(len(run.time), -1)
                row[each] = float(summary(run.time, values)) if len(run.time) > 1 else math.nan
        for column, statistics in columns.items():
            for label, (_, values) in run._columns((column,)).items():
                row |= {f"{label}.{each}": float(STATISTICS[each](values)) for each in statistics if each in STATISTICS}
        rows.append(row | {"time": float(run.time[-1]), "failure": run.failure})
    return rows


def read_columns(animal: Animal, texts: Sequence[str]) -> dict[str, list[str]]:
    """Parse ``SIGNAL[.STATISTIC]`` texts into the statistics of each signal."""
    if not texts:
        rows = animal.rows(1)
        animal.reset(rows, np.zeros(1, np.int64), None)
        single = [name for name in animal.signals if name != "time" and animal.signal(rows, name).ndim == 1]
        summaries = {name: [each] for each, (name, _) in SUMMARY.items() if name in animal.signals}
        return summaries | {name: ["mean", "last"] for name in single}
    columns: dict[str, list[str]] = {}
    for text in texts:
        name, _, statistic = text.partition(".")
        choice("column: signal", name, animal.signals)
        if statistic:
            choice(f"column: statistic of {name}", statistic, STATISTICS)
        columns.setdefault(name, []).extend([statistic] if statistic else STATISTICS)
    return columns


def _read_journal(path: Path, task: Mapping[str, Any]) -> dict[int, dict[str, Any]]:
    """Read the finished rows by point number, and remove an incomplete last line from the file."""
    if not path.exists():
        return {}
    try:
        whole = read_bytes(path, LARGEST_RECORDING)
        whole = whole[: whole.rfind(b"\n") + 1]
        first, *lines = [json.loads(line) for line in whole.decode("utf-8").splitlines()] or [task]
        rows = {int(k): dict(row) for k, row in lines}
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"{str(path)!r} is not the record of a sweep: {error}") from None
    if first != task:
        names = [name for name in task if not isinstance(first, dict) or first.get(name) != task[name]]
        raise ValueError(f"{', '.join(names)} must match the sweep in {str(path)!r}: use --restart, or another --table")
    with path.open("r+b") as file:
        file.truncate(len(whole))
    return rows
