"""Circuits as data: they are read, checked, changed and written, and compiled to the constants of the kernels.

Populations, projections and senses are in ``members.py``, the kernels in ``kernels.py``.
"""

from __future__ import annotations

import tomllib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..arguments import choice, number, one_of, printable, shown, whole, wholes, within
from ..files import read_toml, replacing, toml_key, toml_value
from ..kernels.lanes import aligned, in_lanes, matrix
from ..kinds import advice, takes_objects
from ..model.quantities import Option
from .kernels import (
    EKEBERG,
    EXCITATORY,
    INHIBITORY,
    OUTPUTS,
    PHASE,
    RATE,
    SENSE,
    STATES,
    circuit_dtype,
    circuit_fields,
    circuit_work,
    read_outputs,
)
from .members import ENDS, MAX_CELLS, MAX_SEGMENTS, PORTS, Antagonists, Population, Projection, Sense, Weights

COUPLING_STEP = 2.5e-3
"""Longest step (s) of phase oscillators, which have no delay."""

TILE = 25
"""Number of segments whose weights are stored for animals side by side, if all segments have equal weights."""


@dataclass(frozen=True)
class Circuit:
    """A nervous system as data; ``docs/guides/circuit.md`` has examples.

    In all data by population, ``sense`` populations follow those with a state. Each segment of the circuit belongs to a
    joint of the body: the one in ``joint``, in non-decreasing order, or by default the nearest. All links then have the
    same number of segments. A circuit with fewer segments than joints has several joints per segment; ``joint`` is then
    the first joint of each segment, and by default they share the body evenly.

    Args:
        segments: Number of segments.
        populations (sequence of Population)
        projections (sequence of Projection)
        muscles: Name of the population that drives the muscles: at each joint by its mean over the joint's segments.
        senses (sequence of Sense)
        ends ({"exist", "clamp"}): Treatment of projections that extend beyond an end of the cord or a cut. ``"exist"``:
            the strength is shared among the existing segments. ``"clamp"``: the end segment replaces the missing ones.
        head_segments: Number of segments that receive ``head_extra`` more of the brainstem's tonic drive.
        joint (sequence of int): Joint of each segment.
        each_synapse: Whether rows have the parameter ``synapse_at``, a factor for each side and segment of a
            projection's targets.
        antagonists (Antagonists): Muscles of a worm; by default the control angle of a joint is the difference of left
            and right outputs.
        step (s): Longest step of the neurons, by the fourth-order Runge-Kutta method. Default: a quarter of the
            shortest delay, and at most 2.5 ms with ``phase`` populations. If all populations are ``ekeberg`` and
            ``step`` is None, the neurons take one Euler step per step of the animal, as in the paper.

    Raises:
        ValueError: If a name is unknown, a value is out of range, a shape does not fit, or a projection is invalid.

    Examples:
        Two half-centres of motoneurons (MN) in each of nine segments, one for every joint of the lamprey:

        >>> from gymnosoma.envs import Circuit, Population, Projection
        >>> cell = Population("MN", "matsuoka", delay=0.03, adaptation=2.5, adaptation_delay=0.15, tonic=1.0)
        >>> halves = Circuit(9, [cell], [Projection("MN", "MN", 2.5, "inhibit", "other")], "MN", joint=range(9))
        >>> halves.names, halves.weights
        (('MN',), ('MN_MN',))
    """

    segments: int
    populations: tuple[Population, ...]
    projections: tuple[Projection, ...]
    muscles: str
    senses: tuple[Sense, ...] = ()
    ends: str = "exist"
    head_segments: int = 0
    joint: tuple[int, ...] | None = None
    each_synapse: bool = False
    step: float | None = None
    antagonists: Antagonists | None = None

    def __post_init__(self) -> None:
        whole("segments", self.segments, 1, MAX_SEGMENTS)
        whole("head_segments", self.head_segments, 0, self.segments)
        choice("ends", self.ends, ENDS)
        for name, kind in (("populations", Population), ("projections", Projection), ("senses", Sense)):
            members = tuple(_make(name, kind, one) if isinstance(one, Mapping) else one for one in getattr(self, name))
            if not all(isinstance(each, kind) for each in members) or len(members) > MAX_CELLS:
                raise ValueError(f"{name} must be at most {MAX_CELLS} of type {kind.__name__}, got {shown(members)}")
            object.__setattr__(self, name, members)
        if isinstance(self.antagonists, Mapping):
            object.__setattr__(self, "antagonists", _make("antagonists", Antagonists, self.antagonists))
        if not isinstance(self.each_synapse, bool):
            raise ValueError(f"each_synapse must be true or false, got {shown(self.each_synapse)}")
        if self.step is not None:
            within("step", number("step", self.step), 1e-6, 1.0, "s")
        ordered = sorted(self.populations, key=lambda population: population.kind == SENSE)
        object.__setattr__(self, "populations", tuple(ordered))
        _once("populations", self.names)
        _once("projections", self.weights)
        self._check_populations()
        for projection in self.projections:
            self._check_projection(projection)
        self._check_senses()
        choice("muscles", self.muscles, self.cells)
        if self.antagonists is not None and self[self.muscles].sides != 2:
            raise ValueError(f"muscles must be cells on both sides with antagonists, got {self.muscles!r}")
        if self.joint is not None:
            places = wholes("joint", self.joint, self.segments, 0, MAX_SEGMENTS)
            if not (np.diff(places) >= 0).all():
                raise ValueError(f"joint must be {self.segments} non-decreasing numbers, got {shown(self.joint)}")
            object.__setattr__(self, "joint", places)

    def _check_populations(self) -> None:
        if not self.neurons:
            raise ValueError(f"populations must include one with dynamics other than 'sense', got {shown(self.names)}")
        for each in self.populations:
            label = f"population {each.name}"
            for name in ("tonic", "bias"):
                self._check_shape(f"{label}: {name}", getattr(each, name))
            if each.cells is not None:
                first, end = wholes(f"{label}: cells", each.cells, 2, 0, self.segments)
                if not first < end:
                    raise ValueError(f"{label}: cells must be a first segment and an end behind it, got {each.cells!r}")
                object.__setattr__(each, "cells", (first, end))

    def _check_shape(self, label: str, value: Weights) -> None:
        shape = np.shape(value)
        if shape not in ((), *((sides, many) for sides in (1, self.sides) for many in (1, self.segments))):
            raise ValueError(f"{label} must be a number or have shape {(self.sides, self.segments)}, got shape {shape}")

    def _check_projection(self, projection: Projection) -> None:
        label = f"projection {projection.name}"
        choice(f"{label}: source", projection.source, self.names)
        choice(f"{label}: target", projection.target, self.names)
        source, target = self[projection.source], self[projection.target]
        if target.kind == SENSE:
            raise ValueError(f"{label}: target must have a state, got {target.name!r}, which senses")
        if projection.port == "phase" and (source.kind, target.kind) != (PHASE, PHASE):
            kinds = f"{source.dynamics} to {target.dynamics}"
            raise ValueError(f"{label}: port phase is from phase to phase, got {kinds}")
        if projection.port == "gap" and (
            {source.dynamics, target.dynamics} != {"leaky"} or source.sides != target.sides
        ):
            raise ValueError(f"{label}: port gap is between leaky populations with equal sides")
        for name in ("rostral", "caudal"):
            whole(f"{label}: {name}", getattr(projection, name), 1 - self.segments, self.segments - 1)
        if projection.rostral + projection.caudal < 0:
            reach = f"rostral={projection.rostral!r} and caudal={projection.caudal!r}"
            raise ValueError(f"{label}: rostral + caudal must be at least 0, got {reach}")
        self._check_shape(f"{label}: strength", projection.strength)
        apart = projection.rostral or projection.caudal or projection.side == "other"
        if projection.port == "gap" and apart and np.ndim(projection.strength):
            raise ValueError(f"{label}: strength must be a number for gap junctions between segments or sides")

    def _check_senses(self) -> None:
        names = [sense.population for sense in self.senses]
        for name in names:
            choice("sense: population", name, self.names[self.neurons :])
        _once("senses", names)
        if missing := set(self.names[self.neurons :]) - set(names):
            raise ValueError(f"senses must have one for each 'sense' population, missing are {sorted(missing)}")

    def __getitem__(self, name: str) -> Population:
        return self.populations[self.names.index(name)]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all populations."""
        return tuple(population.name for population in self.populations)

    @property
    def cells(self) -> tuple[str, ...]:
        """Names of the populations with a state, in the order of the signal ``neurons``."""
        return self.names[: self.neurons]

    @property
    def weights(self) -> tuple[str, ...]:
        """Names of the projections, in the order of a row's ``synapse``."""
        return tuple(projection.name for projection in self.projections)

    @property
    def neurons(self) -> int:
        """Number of populations with a state."""
        return sum(population.kind != SENSE for population in self.populations)

    @property
    def sides(self) -> int:
        """2, or 1 if all cells are on the midline."""
        return max(population.sides for population in self.populations)

    def replace(self, **changes: Any) -> Self:
        """Return a copy of the circuit with some constants changed.

        Args:
            **changes: A field of the circuit; or the name of a population or projection with a mapping of its changes.
                A new name whose mapping has ``source`` and ``target`` adds a projection.

        Examples:
            The lamprey's cord with half the reciprocal inhibition by contralaterally and caudally projecting
            interneurons (CCIN), excitatory interneurons (EIN) with another threshold, and edge cells (EC) that excite
            EIN:

            >>> cord = Circuit.load("cord", "lamprey")
            >>> weak = cord.replace(
            ...     CCIN_CCIN={"strength": 1.0},
            ...     EIN={"threshold": -0.1},
            ...     EC_EIN={"source": "EC", "target": "EIN", "strength": 0.5, "rostral": 2, "caudal": 2},
            ... )
        """
        own: dict[str, Any] = {}
        members: dict[str, list[Any]] = {"populations": list(self.populations), "projections": list(self.projections)}
        places = {each.name: (kind, i) for kind, many in members.items() for i, each in enumerate(many)}
        fixed = [field.name for field in fields(self)]
        for name, value in changes.items():
            if name in fixed:
                own[name] = value
            elif name in places and isinstance(value, Mapping):
                kind, i = places[name]
                members[kind][i] = _make(name, type(members[kind][i]), value, members[kind][i])
            elif isinstance(value, Mapping) and {"source", "target"} <= value.keys():
                members["projections"].append(_make(name, Projection, {"name": name, **value}))
            else:
                more = ", and a mapping for populations and projections"
                raise ValueError(one_of("circuit: name", name, [*fixed, *places], more))
        return replace(self, **(members | own))

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a circuit from a TOML file; raises ValueError, which names the file, if it is invalid."""
        try:
            return cls.from_table(read_toml(Path(path)))
        except (OSError, ValueError) as error:
            raise ValueError(
                f"circuit {str(path)!r} cannot be read: {advice(path, 'circuit') or printable(error)}"
            ) from None

    def write(self, path: str | Path) -> None:
        """Write a TOML file for `read`."""
        words = {"source": "from", "target": "to"}

        def lines(member: Any, skip: tuple[str, ...] = ()) -> list[str]:
            entries = []
            for field in fields(member):
                value = getattr(member, field.name)
                if field.name not in skip and value is not None and value != field.default:
                    entries.append(f"{words.get(field.name, field.name)} = {toml_value(value)}")
            return entries

        text = lines(self, ("populations", "projections", "senses", "muscles", "antagonists"))
        for each in self.populations:
            text += ["", f"[population.{toml_key(each.name)}]", *lines(each, ("name",))]
        for name, members in (("sense", self.senses), ("projection", self.projections)):
            for member in members:
                usual = isinstance(member, Projection) and member.name == f"{member.source}_{member.target}"
                text += ["", f"[[{name}]]", *lines(member, ("name",) if usual else ())]
        text += ["", "[output]", f"muscles = {toml_value(self.muscles)}", ""]
        if self.antagonists is not None:
            text += ["[output.antagonists]", *lines(self.antagonists), ""]
        with replacing(Path(path)) as file:
            file.write("\n".join(text).encode())

    @classmethod
    @takes_objects
    def from_table(cls, table: Mapping[str, Any]) -> Self:
        """Make a circuit from the tables of a TOML file."""
        table = dict(_mapping("circuit", table))
        populations = table.pop("population", {})
        if not isinstance(populations, Mapping):
            raise ValueError(f"population must be tables by name, got {shown(populations)}")
        senses, projections = table.pop("sense", []), table.pop("projection", [])
        for name, tables in (("sense", senses), ("projection", projections)):
            if not isinstance(tables, list):
                raise ValueError(f"{name} must be a list of tables, got {shown(tables)}")
        output = table.pop("output", {})
        _check_keys("output", output, ["muscles", "antagonists"])
        elsewhere = ("populations", "projections", "senses", "muscles", "antagonists")
        own = [f.name for f in fields(cls) if f.name not in elsewhere]
        _check_keys("circuit", table, [*own, "population", "projection", "sense", "output"])
        if "segments" not in table or "muscles" not in output:
            raise ValueError(f"circuit must have segments and output: muscles, got {', '.join([*table, *output])}")
        table["populations"] = [
            _make(f"population {name}", Population, {"name": name, **_mapping(name, one)})
            for name, one in populations.items()
        ]
        words = {"from": "source", "to": "target"}
        table["projections"] = [
            _make("projection", Projection, {words.get(key, key): v for key, v in _mapping("projection", one).items()})
            for one in projections
        ]
        table["senses"] = [_make("sense", Sense, one) for one in senses]
        return cls(**table, **output)

    @classmethod
    def load(cls, value: Any, animal: str) -> Circuit:
        """Load a circuit from a file, a mapping of its fields, or by the name of one in the animal's assets.

        A `Circuit` is returned unchanged.
        """
        if isinstance(value, Circuit):
            return value
        if isinstance(value, Mapping):
            _check_keys("circuit", value, [field.name for field in fields(cls)])
            return cls(**value)
        if isinstance(value, str) and value.isidentifier():
            folder = resources.files("gymnosoma.assets").joinpath(animal, "circuits")
            shipped = sorted(file.name.removesuffix(".toml") for file in folder.iterdir())
            choice("circuit", value, shipped)
            return cls.from_table(tomllib.loads(folder.joinpath(f"{value}.toml").read_text("utf-8")))
        if isinstance(value, str | Path):
            return cls.read(value)
        raise ValueError(f"circuit must be a Circuit, a mapping of its fields, a file or a name, got {shown(value)}")

    def joints(self, joints: int) -> NDArray[np.int64]:
        """Return the joint of each segment, (S,), in a body with this many joints; with fewer segments its first.

        Raises:
            ValueError: If segments and joints do not fit.
        """
        if self.segments < joints:
            even = np.ceil(np.arange(self.segments) * joints / self.segments - 0.5)
            first = np.array(even if self.joint is None else self.joint, np.int64)
            if first[0] != 0 or first[-1] >= joints or not (np.diff(first) > 0).all():
                text = f"must be {self.segments} increasing numbers from 0 to below {joints}"
                raise ValueError(f"joint {text}, got {shown(self.joint)}")
            return first
        if self.joint is not None:
            if sorted(set(self.joint)) != list(range(joints)):
                raise ValueError(f"joint must name each of {joints} joints from 0, got {shown(self.joint)}")
            return np.array(self.joint)
        if self.segments == joints:
            return np.arange(joints)
        link = self.segments // (joints + 1)
        if link < 2 or self.segments % (2 * (joints + 1)):
            raise ValueError(
                f"segments must be {joints}, one per joint, or a multiple of twice the {joints + 1} links, unless "
                f"joint is set, got {self.segments!r}"
            )
        return np.clip((np.arange(self.segments) - link // 2) // link, 0, joints - 1)

    def steps(self, dt: float) -> int:
        """Return the Runge-Kutta steps of the neurons per step ``dt`` (s) of the animal; 0 for one Euler step."""
        neurons = self.populations[: self.neurons]
        if self.step is None and all(each.kind == EKEBERG for each in neurons):
            return 0
        delays = [each.delay for each in neurons if each.delay is not None]
        delays += [each.adaptation_delay for each in neurons if each.dynamics == "matsuoka"]
        usual = min([0.25 * delay for delay in delays if delay is not None] + [COUPLING_STEP] * (len(delays) == 0))
        if any(each.kind == PHASE for each in neurons):
            usual = min(usual, COUPLING_STEP)
        return max(int(np.ceil(dt / (usual if self.step is None else self.step) - 1e-9)), 1)

    @property
    def tonic(self) -> bool:
        """Whether the tonic drive acts on a population."""
        return any(np.any(each.tonic) for each in self.populations)

    @cached_property
    def _wiring(self) -> _Wiring:
        return _Wiring(self)

    def fields(self) -> list[tuple]:
        """Return the fields that the circuit adds to the record of an animal."""
        sizes = (self.sides, self.neurons, len(self.names), self.segments, self._wiring.states)
        return circuit_fields(*sizes, max(len(self.projections), 1), self.each_synapse)

    def work(self, joints: int, dt: float) -> list[tuple]:
        """Return the scratch fields of the circuit in an animal with this many joints and this time step (s)."""
        w, states = self._wiring, self._wiring.states * (self.steps(dt) > 0)
        sizes = (self.sides, self.neurons, len(self.names), self.segments, states, joints)
        return circuit_work(*sizes, w.channels, len(w.links), len(w.windows), len(w.tracts), w.pad)

    def record(self, joints: int, dt: float) -> NDArray[Any]:
        """Return the constants for the kernels, a (1,) record; warns if Euler steps are longer than half a delay."""
        shortest = min([each.delay for each in self.populations if each.delay is not None], default=dt)
        if self.steps(dt) == 0 and dt > 0.5 * shortest * (1 + 1e-9):
            text = f"circuit: Euler steps of {dt:g} s are longer than half the delay of {shortest:g} s; set step"
            warnings.warn(text, stacklevel=4)
        return self._wiring.record(joints, dt)

    def options(self) -> dict[str, Option]:
        """Return the parameters that the circuit adds to an animal."""
        sides, cells, end = self.sides, len(self.names), float(self.segments)
        names, of = ", ".join(self.names), "by side and segment"
        result = {
            "synapse": Option(0.0, 1e3, "1", f"factor on {', '.join(self.weights)}", (max(len(self.projections), 1),)),
            "gain": Option(0.0, 1.0, "1", f"factor on outputs, {of}, of {names}", (sides, cells, self.segments)),
            "segment_gain": Option(0.0, 1.0, "1", f"factor on outputs of all neurons, {of}", (sides, self.segments)),
            "cell_gain": Option(0.0, 1.0, "1", f"factor on outputs of {names}, by side", (sides, cells)),
            "cell_segments": Option(
                0.0, end, "1", "segments with ``cell_gain``: the first, and the one after the last", (2,)
            ),
            "cut": Option(
                0.0, 1.0, "1", f"1 if axons are cut behind a segment, {of}", (sides, max(self.segments - 1, 1))
            ),
            "transection": Option(0.0, end, "1", "number of segments in front of a cut of both sides; 0: no cut"),
            "noise": Option(
                0.0, 100.0, "1", f"standard deviation of the state of {', '.join(self.cells)}", (self.neurons,)
            ),
            "noise_seed": Option(0.0, 2.0**53, "1", "seed of the noise"),
        }
        if self.tonic:
            about = "tonic drive of each segment, added to that of the whole cord"
            result["bath"] = Option(-10.0, 10.0, "1", about, (self.segments,))
        if any(any(each.touch) for each in self.populations):
            result["touch"] = Option(0.0, 10.0, "1", "touch of head and tail, factors on the ``touch`` of cells", (2,))
        if self.each_synapse:
            shape = (max(len(self.projections), 1), sides, self.segments)
            result["synapse_at"] = Option(0.0, 1e3, "1", f"factor on each projection, {of} of its targets", shape)
        return result

    def intact(self, rows: NDArray[Any]) -> None:
        """Set rows to the parameters of the intact circuit."""
        for name in ("synapse", "synapse_at", "gain", "segment_gain", "cell_gain"):
            rows[name] = 1.0
        rows["cell_segments"][:, 1] = self.segments

    def outputs(self, rows: NDArray[Any], record: NDArray[Any]) -> NDArray[np.float64]:
        """Return the outputs (B, sides, neurons, S) of cells with a state, with constants from `record`."""
        result = np.zeros((len(rows), self.sides, self.neurons, self.segments))
        x, k = (aligned(1, in_lanes(form, 1)) for form in (rows.dtype, np.dtype(self.work(1, 1.0))))
        read_outputs(matrix(np.ascontiguousarray(rows)), matrix(x)[0], x, k, record, result)
        return result


class _Wiring:
    """Compiled form of a circuit: the channels, tracts, windows and links that the kernels loop over."""

    def __init__(self, circuit: Circuit) -> None:
        self.circuit = circuit
        self.states = max(STATES[each.kind] for each in circuit.populations)
        self.wave, self.channels = [], len(circuit.populations)
        gaps = {name for each in circuit.projections if each.port == "gap" for name in (each.source, each.target)}
        for each in circuit.populations:
            more = each.kind == PHASE or each.name in gaps
            self.wave.append(self.channels if more else -1)
            self.channels += 2 * more
        self.windows: list[tuple[int, ...]] = []
        self.tracts: list[tuple[int, bool, int]] = []
        self.links: list[tuple[int, int, int, int, int, int, float]] = []
        for n, projection in enumerate(circuit.projections):
            self._add(n, projection)
            ends: dict[str, Any] = {"source": projection.target, "target": projection.source}
            back = replace(projection, **ends, rostral=projection.caudal, caudal=projection.rostral)
            if projection.port == "gap" and back != projection:
                self._add(n, back)
        if not self.links:  # kernels need at least one of each: one without a target
            self.windows, self.links = [(0, 0, 1, 0, circuit.segments)], [(0, 0, -1, 0, 0, -1, 0.0)]
        self.tracts = self.tracts or [(0, False, circuit.populations[0].sides)]
        self.pad = max(max(window[:2]) for window in self.windows)

    def _add(self, n: int, projection: Projection) -> None:
        """Add the links of a projection: one, two for a gap junction, or four products of sines and cosines."""
        names = self.circuit.names
        source, target = names.index(projection.source), names.index(projection.target)
        cells = self.circuit.populations[source].cells or (0, self.circuit.segments)
        shared = projection.normalise and projection.port != "gap"
        window = (int(projection.rostral), int(projection.caudal), int(shared), *cells)
        if window not in self.windows:
            self.windows.append(window)
        sine, cosine = self.wave[source], self.wave[source] + 1
        c, s = np.cos(projection.lag), np.sin(projection.lag)
        if projection.port == "phase":
            parts = [(sine, EXCITATORY, c), (cosine, EXCITATORY, -s), (cosine, INHIBITORY, c), (sine, INHIBITORY, s)]
        elif projection.port == "gap":
            parts = [(sine, EXCITATORY, 1.0), (cosine, RATE, 1.0)]  # of the state, and of the cells that exist
        elif self.circuit.populations[target].kind == PHASE:
            parts = [(source, RATE, 1.0 if projection.port == "excite" else -1.0)]
        else:
            parts = [(source, PORTS[projection.port], 1.0)]
        for channel, port, factor in parts:
            tract = (channel, projection.side == "other", self.circuit.populations[source].sides)
            place = -1
            if projection.rostral or projection.caudal:
                if tract not in self.tracts:
                    self.tracts.append(tract)
                place = self.tracts.index(tract)
            self.links.append((n, channel, target, port, self.windows.index(window), place, factor))

    def sides_of(self, crossed: bool, sided: int) -> list[int]:
        """Return the side of the source by side of the target."""
        return [0 if sided == 1 else 1 - side if crossed else side for side in range(self.circuit.sides)]

    def record(self, joints: int, dt: float) -> NDArray[Any]:
        """Return the constants for the kernels, a (1,) record."""
        circuit, q = self.circuit, np.arange(self.circuit.segments)
        counts = (len(self.links), len(self.windows), len(self.tracts), max(len(circuit.senses), 1))
        sizes = (circuit.sides, circuit.neurons, len(circuit.names), circuit.segments, joints)
        record = np.zeros(1, circuit_dtype(*sizes, *counts))
        one = record[0]
        for i, each in enumerate(circuit.populations):
            self._population(one, i, each)
        for i, (n, channel, target, port, window, tract, factor) in enumerate(self.links):
            names = ("projection", "source", "target", "port", "window", "tract")
            for name, value in zip(names, (n, channel, target, port, window, tract), strict=True):
                one[name][i] = value
            if circuit.projections:
                projection = circuit.projections[n]
                sided = circuit[projection.source].sides
                one["source_side"][i] = self.sides_of(projection.side == "other", sided)
                one["strength"][i] = factor * np.broadcast_to(projection.strength, one["strength"][i].shape)
        for i, extent in enumerate(self.windows):
            for j, name in enumerate(("rostral", "caudal", "normalise", "from_begin", "from_end")):
                one[name][i] = extent[j]
            one["share"][i] = self._share(q, *extent)
        for i, (channel, crossed, sided) in enumerate(self.tracts):
            one["tract_source"][i], one["tract_side"][i] = channel, self.sides_of(crossed, sided)
        self._body(one, joints)
        one["muscles"], one["head"] = circuit.names.index(circuit.muscles), circuit.head_segments
        even = not circuit.each_synapse and all(np.ndim(each.strength) == 0 for each in circuit.projections)
        one["tile"] = TILE if even else circuit.segments
        one["steps"], one["clamp"] = circuit.steps(dt), float(circuit.ends == "clamp")
        return record

    def _population(self, one: Any, i: int, each: Population) -> None:
        one["kind"][i], one["sided"][i], one["states"][i], one["wave"][i] = (
            each.kind,
            each.sides,
            STATES[each.kind],
            self.wave[i],
        )
        one["begin"][i], one["end"][i] = each.cells or (0, self.circuit.segments)
        for name in ("threshold", "gain", "adaptation", "hysteresis"):
            one[name][i] = getattr(each, name) or 0.0
        one["rate"][i] = 2.0 * np.pi * each.frequency if each.frequency is not None else 1.0 / (each.delay or 1e-9)
        one["adaptation_rate"][i] = 1.0 / (each.adaptation_delay or 1.0)
        one["shape"][i] = OUTPUTS.get(each.output or "", 0)
        if each.kind == SENSE:
            names = [sense.population for sense in self.circuit.senses]
            one["sense"][i] = names.index(each.name)
        else:
            factor = 2.0 * np.pi if each.kind == PHASE else 1.0
            one["touch"][i] = each.touch
            for name, value in (("brainstem", each.tonic), ("bias", each.bias)):
                one[name][i] = factor * np.broadcast_to(value, one[name][i].shape)

    def _share(
        self, q: NDArray[np.int64], rostral: int, caudal: int, normalise: int, first: int, end: int
    ) -> NDArray[np.float64]:
        if not normalise:
            return np.ones(len(q))
        if self.circuit.ends == "clamp":
            return np.full(len(q), 1.0 / (rostral + caudal + 1))
        count = np.minimum(q + rostral, end - 1) - np.maximum(q - caudal, first) + 1
        return np.divide(1.0, count, out=np.zeros(len(q)), where=count > 0)

    def _body(self, one: Any, joints: int) -> None:
        """Set which joints each segment senses, and which segments drive the muscles of a joint."""
        circuit, joint = self.circuit, self.circuit.joints(joints)
        for i, sense in enumerate(circuit.senses):
            one["felt"][i] = weights = sense.weights(joint, joints)
            one["slopes"][i] = sense.slopes
            one["felt_first"][i] = np.argmax(weights > 0.0, 1)
            one["felt_last"][i] = np.where(weights.any(1), joints - np.argmax(weights[:, ::-1] > 0.0, 1), 0)
        j = np.arange(joints)
        if circuit.antagonists is not None:
            one["angle"] = circuit.antagonists.bend / joints
            one["stiffness"], one["damping"] = circuit.antagonists.stiffness, circuit.antagonists.damping
            for name in ("activation", "series"):
                one[name] = circuit.antagonists.along(name, joints)
        if circuit.segments < joints:
            one["muscle_last"] = np.searchsorted(joint, j, "right")
            one["muscle_first"] = one["muscle_last"] - 1
        elif circuit.joint is not None or circuit.segments == joints:
            one["muscle_first"], one["muscle_last"] = np.searchsorted(joint, j), np.searchsorted(joint, j, "right")
        else:
            link = circuit.segments // (joints + 1)
            one["muscle_first"], one["muscle_last"] = j * link + link // 2, (j + 1) * link + link // 2


def _once(name: str, labels: Iterable[str]) -> None:
    names = list(labels)
    if repeats := sorted({each for each in names if names.count(each) > 1}):
        raise ValueError(f"{name} must have each name once, got {', '.join(repeats)} more than once; set name")


def _mapping(name: str, table: Any) -> Mapping[str, Any]:
    if not isinstance(table, Mapping):
        raise ValueError(f"{name} must be a table, got {shown(table)}")
    return table


def _check_keys(name: str, table: Any, choices: Sequence[str]) -> None:
    """Raise ValueError if a mapping has a key that is not one of ``choices``."""
    for key in _mapping(name, table):
        choice(f"{name}: name", key, choices)


def _make(label: str, kind: Any, table: Any, like: Any = None) -> Any:
    """Make a member of a circuit from a table, or a copy of ``like`` with changes."""
    names = [field.name for field in fields(kind)]
    _check_keys(label, table, names)
    plain = {
        key: tuple(v) if key in ("cells", "stretch", "touch") and isinstance(v, list) else v for key, v in table.items()
    }
    if like is not None:
        return replace(like, **plain)
    optional = {field.name for field in fields(kind) if field.default is not MISSING}
    if missing := sorted({*names} - optional - table.keys()):
        raise ValueError(f"{label} must have {', '.join(missing)}, got {', '.join(table)}")
    return kind(**plain)
