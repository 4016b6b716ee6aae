"""Command ``sweep``."""

from __future__ import annotations

import copy
import importlib.util
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro

from gymnosoma.envs import simulate as simulate_animal
from gymnosoma.envs.core.animal import Animal
from gymnosoma.envs.core.arguments import choice
from gymnosoma.envs.core.control import Controller

from ..evaluation.work import crew, watched
from ..files import check_writable, result
from .arguments import Events, Processes, Ray, assignment, read_event
from .simulate import Named, make_animal, read_drive, read_params_of

MOST_POINTS = 1_000_000

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
"""Of a signal over the moments that were recorded."""

TOLD = ("duration", "every", "hold", "scheme", "dt")
"""Arguments of `simulate` that may be swept, beside parameters, initial values and the drive's parameters."""


def sweep(
    animal: Annotated[str, tyro.conf.arg(metavar="ANIMAL"), tyro.conf.Positional],
    /,
    over: Over = (),
    drive: tuple[str, ...] = (),
    duration: float = 1.0,
    every: float | None = None,
    hold: float | None = None,
    param: Named = (),
    start: Named = (),
    event: Events = (),
    scheme: str | None = None,
    dt: float | None = None,
    column: Columns = (),
    table: Path = Path("sweep.csv"),
    processes: Processes = 1,
    ray: Ray = None,
) -> None:
    """Simulate an animal at every point of a grid, as `simulate` does; a table gets a row for each.

    What is found is kept, point by point, beside the table (.points.jsonl): after a kill or Ctrl-C the same command
    does what is left.

    Args:
        animal: As of `simulate`: worm, lamprey, whisker_chain, whisker_rod, or a model of one's own, such as arm.toml.
        over: What takes several values, such as stiffness=1e-10:1e-9:5:log or scheme=paper,fast: a NAME as of param;
            start.NAME, drive.NAME (a parameter of the controller), or one of duration, every, hold, scheme, dt. May be
            repeated: every combination is a point.
        drive: As of `simulate`.
        duration: In s.
        every: Interval between the moments that statistics are of, in s; that of the drive by default.
        hold: Time for which the drive is held in s.
        param: As of `simulate`.
        start: As of `simulate`.
        event: As of `simulate`.
        scheme: How it is solved in time.
        dt: Time step in s.
        column: A signal of the animal and mean, min, max or last, such as power.mean; all four without; may be
            repeated. By default mean and last of all signals that are one number.
        table: Where the rows go, .csv or .parquet.
    """
    if table.suffix not in (".csv", ".parquet"):
        raise ValueError(f"table must end in .csv or .parquet, got {str(table)!r}")
    _check_library("pandas", "gymnosoma[data]")
    if table.suffix == ".parquet":
        _check_library("pyarrow", "pyarrow")
    check_writable("table", table)
    axes = dict(read_axis(text) for text in over)
    if not axes or len(axes) < len(over):
        raise ValueError(f"over must give at least one name, each once, got {' '.join(over) or 'none'}")
    count = int(np.prod([len(values) for values in axes.values()], dtype=float))
    if count > MOST_POINTS:
        raise ValueError(f"over must make at most {MOST_POINTS} points, got {count}")
    asked = {
        "animal": animal,
        "drive": list(drive),
        "param": read_params_of(param),
        "start": dict(assignment("start", text, "heading=0.5") for text in start),
        "event": list(event),
        **{"duration": duration, "every": every, "hold": hold, "scheme": scheme, "dt": dt},
        "column": list(column),
        "over": axes,
    }
    asked = json.loads(json.dumps(asked, default=np.ndarray.tolist))
    grid = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    for point in (grid[0], grid[-1]):  # what cannot be is told before the work
        _read_column(prepare(asked, point)[0], column)
    journal = table.with_suffix(".points.jsonl")
    rows = _read_journal(journal, asked)
    left = {str(k): (asked, point) for k, point in enumerate(grid) if k not in rows}
    failed = {}
    with journal.open("a", encoding="utf-8") as notes, crew(processes, ray) as engine:
        if not notes.tell():
            notes.write(json.dumps(asked) + "\n")
        for name, row, error in watched(engine, simulate_point, left, "point", len(rows)):
            if error is None:
                rows[int(name)] = row
                notes.write(json.dumps([int(name), row]) + "\n")
                notes.flush()
            else:
                failed[int(name)] = {"failure": error}
    import pandas as pd

    frame = pd.DataFrame([{**point, **(rows.get(k) or failed[k])} for k, point in enumerate(grid)])
    with result("table", table) as file:
        if table.suffix == ".csv":
            frame.to_csv(file, index=False)
        else:
            frame.to_parquet(file, index=False)
    print(f"{len(rows)} of {len(grid)} points are in {table}.")
    if failed:
        raise ValueError(f"{len(failed)} points failed, first {grid[min(failed)]}: {failed[min(failed)]['failure']}")


def _check_library(name: str, where: str) -> None:
    if importlib.util.find_spec(name) is None:
        raise ImportError(f"{name} is not installed: pip install '{where}'")


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
    if kind not in ([], ["log"]) or not np.isfinite(ends).all() or not 1 <= number <= MOST_POINTS:
        raise ValueError(wrong)
    if not kind:
        return name, np.linspace(*ends, number).tolist()
    if min(ends) <= 0.0:
        raise ValueError(f"over: {name} must lie above 0 for log, got {given!r}")
    return name, np.geomspace(*ends, number).tolist()


def prepare(asked: Mapping[str, Any], point: Mapping[str, Any]) -> tuple[Animal, Controller, dict[str, Any]]:
    """The animal of a point, what drives it, and further arguments of `simulate`."""
    told = {name: point.get(name, asked[name]) for name in TOLD}
    params, start, changes = copy.deepcopy(asked["param"]), dict(asked["start"]), {}
    for name, value in point.items():
        where, _, own = name.partition(".")
        if where == "start" and own:
            start[own] = value
        elif where == "drive" and own:
            changes[own] = value
        elif name not in TOLD:
            *tables, last = name.split(".")
            place = params
            for key in tables:
                place = place.setdefault(key, {})
            place[last] = value
    body = make_animal(asked["animal"], params, {"scheme": told.pop("scheme"), "dt": told.pop("dt")})
    controller = read_drive(body, asked["drive"], changes)
    if told["hold"] is None:
        rate = getattr(controller, "control_rate", None)
        told["hold"] = body.dt if rate is None else 1.0 / rate
    events = [read_event(text) for text in asked["event"]]
    return body, controller, {**told, "start": start, "events": events}


def simulate_point(asked: Mapping[str, Any], point: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the table."""
    body, controller, told = prepare(asked, point)
    run = simulate_animal(body, controller, **told)
    row: dict[str, Any] = {}
    for name, statistics in _read_column(body, asked["column"]).items():
        for label, (_, values) in run._columns((name,)).items():
            row |= {f"{label}.{statistic}": float(STATISTICS[statistic](values)) for statistic in statistics}
    return {**row, "time": float(run.time[-1]), "failure": run.failure}


def _read_column(animal: Animal, given: Sequence[str]) -> dict[str, list[str]]:
    """Signals and which of their statistics."""
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
    """Rows that are done, by number of the point; a line that a kill cut short is cut off."""
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
        raise ValueError(f"{', '.join(names)} must be as the sweep in {str(path)!r} began: or give another --table")
    with path.open("r+b") as file:
        file.truncate(len(whole))
    return rows
