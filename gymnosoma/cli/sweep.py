"""Command ``sweep``."""

from __future__ import annotations

import copy
import itertools
import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro

from gymnosoma.agents.policies.fingerprints import of_files, of_sources
from gymnosoma.agents.support.files import TABLES, check_saved, locked, result, write_table
from gymnosoma.agents.support.workers import Outcome, Unfinished, Workers, watched, workers
from gymnosoma.envs import simulate as simulate_animal
from gymnosoma.envs.core.arguments import choice, fingerprint
from gymnosoma.envs.core.kernels.lanes import LANES
from gymnosoma.envs.core.model.animal import Animal, InLanes
from gymnosoma.envs.core.model.control import Controller
from gymnosoma.envs.core.model.events import read_events

from .arguments import Processes, Ray, read_event, read_params_of
from .simulate import SIMPLE, AnimalName, Settings, make_animal, read_drive, usual_hold

MAX_POINTS = 1_000_000

Over = Annotated[
    tuple[str, ...], tyro.conf.arg(metavar="NAME=LOW:HIGH:COUNT[:log] or NAME=A,B,..."), tyro.conf.UseAppendAction
]
Columns = Annotated[tuple[str, ...], tyro.conf.arg(metavar="SIGNAL[.STATISTIC]"), tyro.conf.UseAppendAction]

STATISTICS: dict[str, Callable[..., Any]] = {
    "mean": np.mean,
    "min": np.min,
    "max": np.max,
    "last": lambda values: values[-1],
}
"""Statistics of a signal over what was recorded."""

SIMULATED = ("duration", "every", "hold", "scheme", "dt")
"""Arguments of `simulate` that may be swept, beside parameters, initial values and the drive's parameters."""


def sweep(
    animal: AnimalName,
    /,
    over: Over = (),
    settings: Annotated[Settings, tyro.conf.OmitArgPrefixes] = SIMPLE,
    column: Columns = (),
    table: Annotated[Path, tyro.conf.arg(aliases=("--save",))] = Path("sweep.csv"),
    processes: Processes = 1,
    ray: Ray = None,
    restart: bool = False,
) -> None:
    """Simulate an animal at every point of a grid, as `simulate` does; a table gets a row for each.

    Sixteen points are simulated side by side, where only drives, initial values and physical parameters differ. What is
    found is kept beside the table (.points.jsonl): after a kill or Ctrl-C the same command does what is left, as long
    as all files that it names and the code of the animal are what they were.

    Args:
        animal: As of `simulate`: an animal, a musculoskeletal model, or one of one's own, such as mine.toml.
        over: What takes several values, such as stiffness=1e-10:1e-9:5:log or scheme=midpoint,published: a NAME as of
            param; start.NAME, drive.NAME (a parameter of the controller), or one of duration, every, hold, scheme, dt.
            May be repeated: every combination is a point.
        column: A signal of the animal and mean, min, max or last, such as power.mean; all four without; may be
            repeated. By default mean and last of all signals that are one number.
        table: Where the rows go, .csv, .parquet or .json.
        restart: Simulate all points anew, whatever is kept beside the table.
    """
    check_saved("table", [[table]], TABLES)
    axes = dict(read_axis(text) for text in over)
    if not axes or len(axes) < len(over):
        raise ValueError(f"over must give at least one name, each once, got {' '.join(over) or 'none'}")
    count = int(np.prod([len(values) for values in axes.values()], dtype=float))
    if count > MAX_POINTS:
        raise ValueError(f"over must make at most {MAX_POINTS} points, got {count}")
    asked = {
        "animal": animal,
        "drive": list(settings.drive),
        "param": read_params_of(settings.param),
        "start": settings.initial(),
        "event": list(settings.event),
        **{name: getattr(settings, name) for name in SIMULATED},
        "column": list(column),
        "over": axes,
    }
    asked = json.loads(json.dumps(asked, default=np.ndarray.tolist))
    grid = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    for point in (grid[0], grid[-1]):  # impossible arguments are refused before the work
        body, controller, _ = prepare(asked, point)
        _read_column(body, column)
    asked |= _made_of(asked, body, controller)
    journal = table.with_suffix(".points.jsonl")
    with locked("table", journal, file=True):
        if restart:
            journal.unlink(missing_ok=True)
        rows = _read_journal(journal, asked)
        with workers(processes, ray) as engine:
            failed = _simulate_grid(asked, axes, grid, rows, journal, engine)
        with result("table", table) as file:
            write_table(file, [{**point, **(rows.get(k) or failed[k])} for k, point in enumerate(grid)])
    print(f"{len(rows)} of {len(grid)} points are in {table}.")
    if failed:
        raise Unfinished(f"{len(failed)} points failed, first {grid[min(failed)]}: {failed[min(failed)]['failure']}")


def _made_of(asked: Mapping[str, Any], body: Animal, controller: Controller) -> dict[str, str]:
    """Digests of all files that a sweep names, and of the code of its animal and its controller."""
    named = [asked["animal"], *asked["drive"], *_texts(asked["param"])]
    files = {f"content of {name}": of_files(Path(name)) for name in named if Path(name).is_file()}
    code = of_sources(*(each.__module__ for each in (type(body), type(controller), simulate_animal)))
    return {**files, f"code of {asked['animal']}": code}


def _texts(value: Any) -> list[str]:
    """All texts among parameters."""
    if isinstance(value, Mapping):
        return [text for each in value.values() for text in _texts(each)]
    return [value] if isinstance(value, str) else []


def _simulate_grid(
    asked: Mapping[str, Any],
    axes: Mapping[str, Sequence[Any]],
    grid: Sequence[Mapping[str, Any]],
    rows: dict[int, dict[str, Any]],
    journal: Path,
    engine: Workers,
) -> dict[int, dict[str, str]]:
    """Simulate the points that ``rows`` lacks, note them in the journal, and give the failures of others."""
    slow = _apart(asked, axes)
    left = [k for k in range(len(grid)) if k not in rows]
    left.sort(key=lambda k: [axes[name].index(grid[k][name]) for name in slow])
    failed = {}
    with journal.open("a", encoding="utf-8") as notes:
        if not notes.tell():
            notes.write(json.dumps(asked) + "\n")
        lanes = isinstance(prepare(asked, grid[0])[0], InLanes)
        size = min(LANES, 1 + (len(left) - 1) // engine.count) if left and lanes else 1
        outcomes = _in_portions(engine, asked, {str(k): grid[k] for k in left}, size)
        for name, row, error in watched(outcomes, len(left), "point", len(rows)):
            if error is None:
                rows[int(name)] = row
                notes.write(json.dumps([int(name), row]) + "\n")
                notes.flush()
            else:
                failed[int(name)] = {"failure": error}
    return failed


def read_axis(text: str) -> tuple[str, list[Any]]:
    """Name and values from ``NAME=LOW:HIGH:COUNT[:log]`` or ``NAME=A,B,...``."""
    wrong = f"over must be NAME=LOW:HIGH:COUNT[:log] or NAME=A,B,..., such as stiffness=1e-10:1e-9:5:log, got {text!r}"
    name, _, given = text.partition("=")
    if not (name and given):
        raise ValueError(wrong)
    if ":" not in given:
        values = list(read_params_of([f"value={value}"])["value"] for value in given.split(","))
        if "" in values:
            raise ValueError(wrong)
        return name, values
    low, high, count, *kind = given.split(":") + [""] * (2 - given.count(":"))
    try:
        ends, number = (float(low), float(high)), int(count)
    except ValueError:
        raise ValueError(wrong) from None
    if kind not in ([], ["log"]) or not np.isfinite(ends).all() or not 1 <= number <= MAX_POINTS:
        raise ValueError(wrong)
    if not kind:
        return name, np.linspace(*ends, number).tolist()
    if min(ends) <= 0.0:
        raise ValueError(f"over: {name} must lie above 0 for log, got {given!r}")
    return name, np.geomspace(*ends, number).tolist()


def prepare(asked: Mapping[str, Any], point: Mapping[str, Any]) -> tuple[Animal, Controller, dict[str, Any]]:
    """Make the animal and the controller of a point, and give the other arguments of `simulate`."""
    settings = {name: point.get(name, asked[name]) for name in SIMULATED}
    params, start, changes = copy.deepcopy(asked["param"]), dict(asked["start"]), {}
    for name, value in point.items():
        where, _, own = name.partition(".")
        if where == "start" and own:
            start[own] = value
        elif where == "drive" and own:
            changes[own] = value
        elif name not in SIMULATED:
            *tables, last = name.split(".")
            place = params
            for key in tables:
                place = place.setdefault(key, {})
            place[last] = value
    body = make_animal(asked["animal"], params, {"scheme": settings.pop("scheme"), "dt": settings.pop("dt")})
    controller = read_drive(body, asked["drive"], changes)
    if settings["hold"] is None:
        settings["hold"] = usual_hold(body, controller)
    events = [read_event(text) for text in asked["event"]]
    return body, controller, {**settings, "start": start, "events": events}


def _apart(asked: Mapping[str, Any], axes: Mapping[str, Sequence[Any]]) -> list[str]:
    """Find the axes along which points share too little to be simulated side by side."""
    first = {name: values[0] for name, values in axes.items()}
    shared, found = _shared(*prepare(asked, first)), []
    for name, values in axes.items():
        with suppress(ValueError):  # an impossible point is reported as that point's
            if _shared(*prepare(asked, first | {name: values[-1]})) == shared:
                continue
        found.append(name)
    return found


def _shared(body: Animal, controller: Controller, settings: Mapping[str, Any]) -> str:
    """Fingerprint of everything but the drive and what rows hold: points that agree in it can share an animal."""
    given, arguments = body._made_of
    params = arguments.get("params")
    own = {} if params is None else {field.name: getattr(params, field.name) for field in fields(params)}
    own = {name: value for name, value in own.items() if name not in body.parameters}
    constants = [np.asarray(each).tobytes() for each in body._arguments()] if isinstance(body, InLanes) else []
    times = [settings[name] for name in ("duration", "every", "hold")]
    return fingerprint(given, {**arguments, "params": own}, list(body.parameters), constants, times)


def _in_portions(
    engine: Workers, asked: Mapping[str, Any], points: Mapping[str, Mapping[str, Any]], size: int
) -> Iterator[Outcome]:
    """Simulate points, several at a time; where something is wrong with one of them, again one by one."""
    names = list(points)
    portions = {names[k]: names[k : k + size] for k in range(0, len(names), size)}
    pieces = {first: (asked, [points[name] for name in portion]) for first, portion in portions.items()}
    again: dict[str, Mapping[str, Any]] = {}
    for first, rows, error in engine.work(simulate_points, pieces):
        if error is None:
            yield from (Outcome(name, row, None) for name, row in zip(portions[first], rows, strict=True))
        elif size > 1:
            again |= {name: points[name] for name in portions[first]}
        else:
            yield Outcome(first, None, error)
    if again:
        yield from _in_portions(engine, asked, again, 1)


def simulate_points(asked: Mapping[str, Any], points: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Simulate points, side by side where that is possible, and give their rows of the table."""
    prepared = [prepare(asked, point) for point in points]
    names = [_shared(*each) for each in prepared]
    rows: dict[int, dict[str, Any]] = {}
    for name in dict.fromkeys(names):
        alike = [k for k, other in enumerate(names) if other == name]
        body, _, how = prepared[alike[0]]
        columns = _read_column(body, asked["column"])
        how["start"] = [_physical(prepared[k][0]) | prepared[k][2]["start"] for k in alike]
        how["events"] = read_events("events", how["events"], body.parameters, 1)
        drives = [prepared[k][1] for k in alike]
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # the table has a column for failures
            runs = simulate_animal(body, drives, **how, count=len(alike), signals=list(columns))
        for k, run in zip(alike, runs, strict=True):
            rows[k] = {}
            for column, statistics in columns.items():
                for label, (_, values) in run._columns((column,)).items():
                    rows[k] |= {f"{label}.{each}": float(STATISTICS[each](values)) for each in statistics}
            rows[k] |= {"time": float(run.time[-1]), "failure": run.failure}
    return [rows[k] for k in range(len(points))]


def _physical(body: Animal) -> dict[str, Any]:
    """Physical parameters that an animal was made with."""
    row = body.rows(1)
    return {name: row[name][0] for name in body.parameters}


def _read_column(animal: Animal, given: Sequence[str]) -> dict[str, list[str]]:
    """Names of signals, and the statistics of each that are wanted."""
    if not given:
        rows = animal.rows(1)
        animal.reset(rows, np.zeros(1, np.int64), None)
        single = [name for name in animal.signals if name != "time" and animal.signal(rows, name).ndim == 1]
        return {name: ["mean", "last"] for name in single}
    found: dict[str, list[str]] = {}
    for text in given:
        name, _, statistic = text.partition(".")
        choice("column: signal", name, animal.signals)
        if statistic:
            choice(f"column: statistic of {name}", statistic, STATISTICS)
        found.setdefault(name, []).extend([statistic] if statistic else STATISTICS)
    return found


def _read_journal(path: Path, asked: Mapping[str, Any]) -> dict[int, dict[str, Any]]:
    """Read the rows that are done, by the number of the point; a line that a kill cut short is removed."""
    if not path.exists():
        return {}
    whole = path.read_bytes()
    whole = whole[: whole.rfind(b"\n") + 1]
    try:
        lines = [json.loads(line) for line in whole.decode("utf-8").splitlines()]
        rows = {int(k): dict(row) for k, row in lines[1:]}
    except (ValueError, TypeError) as error:
        raise ValueError(f"{str(path)!r} is no record of a sweep: {error}") from None
    if lines and lines[0] != asked:
        names = [name for name in asked if not isinstance(lines[0], dict) or lines[0].get(name) != asked[name]]
        raise ValueError(
            f"{', '.join(names)} must be as the sweep in {str(path)!r} began: give --restart, or another --table"
        )
    with path.open("r+b") as file:
        file.truncate(len(whole))
    return rows
