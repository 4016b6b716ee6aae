"""Trajectory of a simulation: signals over time, with export to files, tables and plots."""

from __future__ import annotations

import inspect
import json
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import choice, library, plain, printable, shown
from ..files import LARGEST_BINARY, read_arrays, replacing
from ..kinds import advice, takes_objects
from .animal import ANIMALS, Animal, find_animal
from .quantities import labels

if TYPE_CHECKING:
    from pandas import DataFrame

FORMAT = 1
"""Version of the file format; a change of the meaning of ``about`` needs a new one."""

ABOUT, ROWS = "about", "rows"
"""Entries of the file in addition to time and signals."""

NAME = r"\w[^\x00-\x1f\x7f-\x9f,\"]*"
"""Pattern of the names of signals in a file, which become the columns of tables."""

MOST_LINES = 8
"""Largest number of components of a signal that are plotted as lines; more are plotted as an image."""

COMPONENTS = {"N m, N, N": "moment force_x force_y", 2: "x y", 3: "x y z", 4: "w x y z"}
"""Names of a signal's components by its units, or by their number."""


class Moments:
    """Recorded states of animals side by side, written by `Animal.run`.

    Args:
        moments ((B, N) records of ``state``)
    """

    def __init__(self, animal: Animal, moments: NDArray[Any]) -> None:
        self._animal, self._moments = animal, moments

    def rows(self) -> NDArray[Any]:
        """Return the states, (B, N) records."""
        return self._moments

    def signal(self, name: str) -> NDArray[np.float64]:
        """Return a signal at all moments, (B, N, ...) in SI."""
        if isinstance(getter := self._animal.signals.get(name), itemgetter):
            return np.array(getter(self._moments))
        values = self._animal.signal(self._moments.reshape(-1), name)
        return values.reshape(*self._moments.shape, *values.shape[1:])


class Trajectory(Mapping[str, NDArray[np.float64]]):
    """Recording of one animal: signals in SI by name, each with a leading axis of time.

    Args:
        time ((N,) array, s)
        signals: Name to array (N, ...). Signals that are missing here are computed from ``rows`` on access.
        failure: Reason why the simulation ended early, or None.
        animal: The simulated animal, needed to compute signals from ``rows``.
        rows ((N,) records or Moments of one animal): The animal's ``state`` at each time, from which signals and films
            are made.
        every (s): Requested interval between recordings. If it is not a multiple of ``hold``, each recording was made
            at the nearest multiple, and ``time`` has the actual times.

    Examples:
        >>> from gymnosoma.envs import Trajectory, simulate
        >>> from gymnosoma.envs.worm import SineKymogram, Worm
        >>> run = simulate(Worm(), SineKymogram(), 1.0, every=0.1)
        >>> run.save("run.npz")
        >>> run = Trajectory.load("run.npz")
        >>> run["joint_angle"].shape
        (11, 24)
        >>> run.to_csv("run.csv", "centre", "joint_angle")
        >>> run.to_pandas().attrs["units"]["joint_angle_3"]
        'rad'
    """

    def __init__(
        self,
        time: NDArray[np.float64],
        signals: Mapping[str, NDArray[np.float64]] | None = None,
        failure: str | None = None,
        animal: Animal | None = None,
        rows: NDArray[Any] | Moments | None = None,
        every: float | None = None,
    ) -> None:
        self.time, self.every = time, every
        self.failure = failure
        self.animal, self._rows = animal, rows
        self._signals = dict(signals or {})
        names = animal.signals if animal is not None and rows is not None else ()
        self._names = tuple(dict.fromkeys(("time", *self._signals, *names)))[1:]

    @property
    def rows(self) -> NDArray[Any] | None:
        """Records (N,) of the animal's ``state`` at each time, or None if unknown."""
        rows = self._rows.rows()[0] if isinstance(self._rows, Moments) else self._rows
        self._rows = rows
        return rows

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        if name == "time":
            return self.time
        if name not in self._names:
            raise KeyError(f"{name!r} was not recorded; recorded are {', '.join(self._names)}")
        if name not in self._signals:
            rows = self._rows
            assert self.animal is not None and rows is not None
            self._signals[name] = rows.signal(name)[0] if isinstance(rows, Moments) else self.animal.signal(rows, name)
        return self._signals[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        ended = f", when it ended early: {self.failure}" if self.failure else ""
        signals = ", ".join(f"{name} ({unit})" if (unit := self.unit(name)) else name for name in self)
        return f"<Trajectory of {len(self.time)} moments up to {self.time[-1]:g} s{ended}; {signals}>"

    def __contains__(self, name: object) -> bool:  # without computing the signal
        return name == "time" or name in self._names

    # As a file.

    def save(self, path: str | Path) -> None:
        """Write the trajectory to a NumPy archive (``.npz``) for `load`; ``numpy.load`` reads its arrays, too.

        Raises:
            ValueError: If the name does not end in ``.npz``.
            OSError: If the file cannot be written; an existing file is kept.
        """
        path = Path(path)
        if path.suffix != ".npz":
            raise ValueError(f"path must end in .npz, got {str(path)!r}")
        about = {"format": FORMAT, "failure": self.failure, "every": self.every, **_described(self.animal)}
        rows = {} if self.rows is None else {ROWS: self.rows}
        arrays: dict[str, Any] = {"time": self.time, **self, ABOUT: np.array(json.dumps(about)), **rows}
        with replacing(path) as file:
            np.savez_compressed(file, **arrays)

    @classmethod
    @takes_objects
    def load(
        cls, path: str | Path, animal: Animal | type[Animal] | None = None, *, largest: int | None = None
    ) -> Trajectory:
        """Read a trajectory from a file that `save` wrote.

        Untrusted files are safe: they can neither contain nor name code that is run.

        Args:
            path: The file.
            animal (Animal or its class): The animal that was simulated, if it is not part of this package or was made
                from arguments that no file contains, such as control modules. If it is missing, the trajectory has only
                its signals, and films cannot be made.
            largest: Largest allowed size of the arrays in bytes, checked before the file is unpacked. By default, 256
                MiB, or 16 times the size of a larger file.

        Raises:
            ValueError: If the file cannot be read, is too large or damaged, has another format, or is of another
                animal; the message names the file.
        """
        path = Path(path)
        try:
            return cls._read(path, animal, largest)
        except Exception as error:  # a damaged archive raises many types of errors
            reason = advice(path, "trajectory") or getattr(error, "strerror", None) or printable(error)
            reason = reason or type(error).__name__
            raise ValueError(
                f"trajectory {str(path)!r} cannot be read: {textwrap.shorten(reason, 300, placeholder=' ...')}"
            ) from None

    @classmethod
    def _read(cls, path: Path, model: Animal | type[Animal] | None, largest: int | None) -> Trajectory:
        arrays = read_arrays(path, LARGEST_BINARY, largest)
        if not {"time", ABOUT} <= set(arrays):
            raise ValueError("it was not written by Trajectory.save")
        about, time, rows = json.loads(str(arrays.pop(ABOUT))), arrays.pop("time"), arrays.pop(ROWS, None)
        if not isinstance(about, dict) or about.get("format") != FORMAT:
            raise ValueError(f"format must be {FORMAT}, got {shown(about.get('format') if about else about)}")
        if time.ndim != 1 or time.dtype.kind != "f" or not np.isfinite(time).all() or not (np.diff(time) > 0).all():
            raise ValueError(f"time must increase, got {shown(time)}")
        for name, array in arrays.items():
            if array.dtype.kind not in "fiub" or array.shape[:1] != time.shape or not re.fullmatch(NAME, name):
                raise ValueError(
                    f"{name!r} must be a name, without commas and quotes, of numbers at {len(time)} times, got "
                    f"{array.dtype} of shape {array.shape}"
                )
        animal = _make_animal(about, model)
        if animal is not None and rows is not None and (rows.dtype != animal.state or rows.shape != time.shape):
            raise ValueError(
                f"rows must be {len(time)} records of {type(animal).__name__} in its present form; another version may "
                "have written the file: read its signals with numpy.load"
            )
        return cls(time, arrays, about.get("failure") and printable(about["failure"]), animal, rows, about.get("every"))

    # As a table.

    def unit(self, name: str) -> str:
        """Return the SI unit of a signal; empty if unknown."""
        table = {} if self.animal is None else self.animal.SIGNALS
        return "s" if name == "time" else table[name].unit if name in table else ""

    def _axes(self, name: str) -> tuple[Sequence[str], ...]:
        """Return the names along the first axes of a signal with sides: these, and the populations of neurons."""
        signal = None if self.animal is None else self.animal.SIGNALS.get(name)
        if self.animal is None or signal is None or not signal.shape.startswith("(sides"):
            return ()
        sides = ("left", "right") if self[name].shape[1] == 2 else ("midline",)
        return (sides, self.animal.cells) if "P" in signal.shape else (sides,)

    def _columns(self, names: tuple[str, ...]) -> dict[str, tuple[str, NDArray[np.float64]]]:
        """Return the unit and values (N,) of each column by name, such as ``rod_centre_3_1``."""
        for name in names:
            choice("signal", name, self)
        columns = {}
        for name in names or self:
            values, unit = self[name], self.unit(name).split(", ")
            names_of = labels(name, values.shape[1:], self._axes(name))
            for place, label in zip(np.ndindex(values.shape[1:]), names_of, strict=True):
                own = unit[min(place[-1], len(unit) - 1)] if place else unit[0]
                columns[label] = (own, values[(slice(None), *place)])
        return columns

    def to_pandas(self, *names: str) -> DataFrame:
        """Return signals (all by default) as a table with index ``time`` (s) and columns such as ``joint_angle_0``.

        The table's ``attrs["units"]`` has the unit of each column.

        Raises:
            ValueError: If a signal was not recorded.
            ImportError: If pandas is not installed.
        """
        pd = library("pandas")
        columns = self._columns(names)
        table = pd.DataFrame({name: values for name, (_, values) in columns.items()}, pd.Index(self.time, name="time"))
        table.attrs["units"] = {name: unit for name, (unit, _) in columns.items()}
        return table

    def records(self, *names: str) -> list[dict[str, float]]:
        """Return the rows of the table of `to_pandas` as mappings from ``time`` and the names of columns to numbers.

        Raises:
            ValueError: If a signal was not recorded.
        """
        columns = self._columns(names)
        table = np.stack([self.time, *(values for _, values in columns.values())], 1).tolist()
        return [dict(zip(("time", *columns), row, strict=True)) for row in table]

    def to_csv(self, path: str | Path, *names: str) -> None:
        """Write the table of `to_pandas` as CSV with 17 significant digits, ``time`` first.

        The digits are sufficient to restore every value exactly.

        Raises:
            ValueError: If a signal was not recorded.
            OSError: If the file cannot be written; an existing file is kept.
        """
        columns = self._columns(names)
        table = np.stack([self.time, *(values for _, values in columns.values())], 1)
        with replacing(Path(path)) as file:
            np.savetxt(file, table, "%.17g", ",", header=",".join(["time", *columns]), comments="", encoding="utf-8")

    def _panels(self, name: str) -> list[tuple[str, str, NDArray[np.float64]]]:
        """Return the name, unit and values of the panels of a signal: one, or one for each component."""
        values, unit, width = self[name], self.unit(name), self[name].shape[-1]
        if "," not in unit and (values.ndim < 3 or self._axes(name) or not width <= MOST_LINES < values[0].size):
            return [(name, unit, values)]
        parts = COMPONENTS.get(unit, COMPONENTS.get(width, "")).split() or range(width)
        return [(f"{name}_{part}", (unit.split(", ") * width)[k], values[..., k]) for k, part in enumerate(parts)]

    def plot(self, *names: str) -> NDArray[Any]:
        """Plot signals over time with matplotlib, one panel each.

        A signal with more than `MOST_LINES` numbers is drawn as an image: a kymogram of the body with the head or base
        on top, or a raster of all neurons by side and population. Vectors along the body, and signals of several units
        such as ``base_wrench``, have a panel for each component.

        Returns:
            (panels,) array of Axes: ``[0].figure`` is the figure.

        Raises:
            ValueError: If a signal was not recorded, or no signal is named.
            ImportError: If matplotlib is not installed.
        """
        for name in names or ("",):
            choice("signal", name, self)
        library("matplotlib")
        from matplotlib import pyplot

        panels = [panel for name in names for panel in self._panels(name)]
        size = 6.4, 2.4 * max(len(panels), 2)  # inches
        figure, axes = pyplot.subplots(len(panels), 1, sharex=True, squeeze=False, layout="constrained", figsize=size)
        for ax, (name, unit, signal) in zip(axes[:, 0], panels, strict=True):
            values, label = signal.reshape(len(signal), -1), textwrap.fill(f"{name} [{unit}]".removesuffix(" []"), 28)
            if values.shape[1] <= MOST_LINES:
                ax.plot(self.time, values, label=labels(name, signal.shape[1:], self._axes(name)))
                ax.set_ylabel(label)
                if values.shape[1] > 1:
                    ax.legend(loc="upper left")
            else:
                image = ax.pcolormesh(self.time, np.arange(values.shape[1]), values.T, shading="nearest")
                groups = [" ".join(place) for place in product(*self._axes(name))]
                ax.set(ylabel="head on top of each" if any(groups) else "number, 0 on top", ylim=ax.get_ylim()[::-1])
                if any(groups):
                    each = values.shape[1] // len(groups)
                    ax.set_yticks(np.arange(len(groups)) * each + 0.5 * (each - 1), groups)
                figure.colorbar(image, ax=ax, label=label)
        axes[-1, 0].set_xlabel("time [s]")
        return axes[:, 0]


# Animals as data: their constructor's arguments.


def _described(animal: Animal | None) -> dict[str, Any]:
    """Describe an animal for JSON by name and arguments; without arguments that are not plain data."""
    if animal is None:
        return {}
    kind = type(animal)
    args, kwargs = animal._init_arguments
    arguments = inspect.signature(kind).bind(*args, **kwargs).arguments
    arguments.pop("threads", None)
    short_name = next(
        (name for name, place in ANIMALS.items() if place == f"{kind.__module__}:{kind.__qualname__}"), None
    )
    try:
        return {
            "animal": short_name or kind.__qualname__,
            "arguments": {name: plain(each) for name, each in arguments.items()},
        }
    except TypeError:
        return {"animal": short_name or kind.__qualname__}


def _make_animal(about: Mapping[str, Any], model: Animal | type[Animal] | None) -> Animal | None:
    """Make the animal that a file describes, or return None if plain data do not suffice."""
    if isinstance(model, Animal):
        return model
    name, arguments = about.get("animal"), about.get("arguments")
    if (model is None and name not in ANIMALS) or arguments is None:
        return None
    kind = find_animal(str(name)) if model is None else model
    if model is not None and name not in (kind.__qualname__, *(n for n in ANIMALS if find_animal(n) is kind)):
        raise ValueError(f"the animal must be {kind.__name__}, got {shown(name)}")
    if not isinstance(arguments, dict):
        raise ValueError(f"arguments must be a table, got {shown(arguments)}")
    return kind.from_plain(arguments)
