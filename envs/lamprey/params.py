"""Parameters of the lamprey in SI, from the paper's tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.arguments import choice, number, numbers, shown, whole
from ..core.circuit.circuit import Circuit, Population, Projection, Sense
from ..core.model.constants import read_table
from ..core.model.quantities import Option, documented
from .body import MUSCLES, links_dtype
from .nerves import ADAPTING, CELLS, cord_dtype, cord_fields, cord_work, motoneuron_dtype

MAX_LINKS, MAX_SEGMENTS = 100, 10_000


@cache
def table() -> dict[str, Any]:
    """Constants of Ekeberg (1993) in SI."""
    return read_table("lamprey/body.toml") | read_table("lamprey/neurons.toml")


def _column(name: str) -> tuple[float, ...]:
    return tuple(table()[name])


PHYSICAL = {
    "muscle_gain": Option(0.0, 3.0, "N m", "torque that a fully active motoneuron adds, alpha, by joint"),
    "muscle_stiffness": Option(0.0, 0.3, "N m", "stiffness that a fully active motoneuron adds, beta, by joint"),
    "tonic_stiffness": Option(0.0, 1e4, "1", "stiffness at rest in units of ``muscle_stiffness``, gamma, by joint"),
    "damping": Option(0.0, 0.03, "N m s", "damping of a joint, delta, by joint"),
    "water": Option(0.0, 1e3, "1", "factor on the drag coefficients"),
    "feedback": Option(0.0, 100.0, "m", "strength of the edge cells' synapses in the cord; 0 opens the loop"),
}
"""Parameters that a row may change."""


def physical(joints: int) -> dict[str, Option]:
    """Parameters that a row of a body with so many joints may change; of muscles one number serves all joints."""
    own = {name: replace(option, shape=(joints,)) if name in MUSCLES else option for name, option in PHYSICAL.items()}
    lag = "lag of it, by joint: it is ``forced_bending`` cos(2 pi ``forced_frequency`` time - lag)"
    return {
        **own,
        "current": Option(-10.0, 10.0, "m/s", "velocity of the water, x and y", (2,)),
        "forced_bending": Option(0.0, 3.0, "N m", "amplitude of a torque from outside, by joint", (joints,)),
        "forced_lag": Option(-100.0, 100.0, "rad", lag, (joints,)),
        "forced_frequency": Option(0.0, 100.0, "Hz", "frequency of it; 0: it is constant"),
    }


def nervous(segments: int) -> dict[str, Option]:
    """Parameters of a cord of so many segments that a row may change."""
    sides, end = (2, segments), float(segments)
    cells = "output left to left and right EIN, CCIN, LIN, motoneurons and edge cells"
    kept = "segments, from the first to before the second, to which ``cell_gain`` is kept"
    cut = "segments in front of a cut that no axon crosses, which makes two cords; 0: none"
    return {
        "segment_gain": Option(
            0.0, 1.0, "1", "output left to left and right segments, 0 (lesioned) .. 1 (intact)", sides
        ),
        "cell_gain": Option(0.0, 1.0, "1", cells, (2, 5)),
        "cell_segments": Option(0.0, end, "1", kept, (2,)),
        "bath": Option(-10.0, 10.0, "1", "tonic level of each segment beside the brainstem's", (segments,)),
        "transection": Option(0.0, end, "1", cut),
    }


LINKS = {
    "length": Option(3e-4, 3.0, "m", "length of a link"),
    "mass": Option(1e-6, 5.0, "kg", "mass of a link"),
    "inertia": Option(1e-11, 5e-4, "kg m^2", "moment of inertia of a link about its midpoint"),
    "drag_perpendicular": Option(0.0, 500.0, "N s^2/m^2", "drag coefficient of a link across it"),
    "drag_parallel": Option(0.0, 500.0, "N s^2/m^2", "drag coefficient of a link along it"),
}
"""Parameters of the links, which all rows share."""


@documented(LINKS | PHYSICAL)
@dataclass(frozen=True)
class LampreyParams:
    """Physical parameters of one lamprey; the defaults are the paper's.

    Those of links have an entry for each of 3 to 100 links, head to tail. Those of muscles are a number, or one for
    each joint: "measured values for muscle parameters would be desirable", section 5.

    Args:
        {ranges}

    Raises:
        ValueError: For a value out of these ranges, some orders of magnitude around the paper's.

    Examples:
        Muscles that fade towards the tail, and a body of another shape:

        >>> import numpy as np
        >>> from gymnosoma.envs.lamprey import LampreyParams
        >>> weak = LampreyParams(muscle_gain=np.linspace(3e-3, 1e-3, 9))
        >>> eel = LampreyParams.from_outline(width=[0.02, 0.02, 0.02, 0.01, 0.0], height=0.03, length=0.4)
        >>> [round(1e3 * float(m), 2) for m in eel.mass]
        [6.0, 6.0, 6.0, 6.0, 6.0, 5.4, 4.2, 3.0, 1.8, 0.6]
    """

    length: tuple[float, ...] = _column("length")
    mass: tuple[float, ...] = _column("mass")
    inertia: tuple[float, ...] = _column("inertia")
    drag_perpendicular: tuple[float, ...] = _column("drag_perpendicular")
    drag_parallel: tuple[float, ...] = _column("drag_parallel")
    muscle_gain: float | tuple[float, ...] = table()["muscle_gain"]
    muscle_stiffness: float | tuple[float, ...] = table()["muscle_stiffness"]
    tonic_stiffness: float | tuple[float, ...] = table()["tonic_stiffness"]
    damping: float | tuple[float, ...] = table()["damping"]
    water: float = 1.0
    feedback: float = table()["feedback"]

    def __post_init__(self) -> None:
        for name, option in LINKS.items():
            value = getattr(self, name)
            column = option.check(name, value)
            if not (column.shape == np.shape(self.length) and column.ndim == 1 and 3 <= column.size <= MAX_LINKS):
                raise ValueError(
                    f"{name} must hold a number for each of 3 to {MAX_LINKS} links, as many as length, "
                    f"got {shown(value)}"
                )
        joints = len(self.length) - 1
        for name, option in PHYSICAL.items():
            value = getattr(self, name)
            if name not in MUSCLES:
                number(name, value)
            if option.check(name, value).shape not in ((), (joints,)):
                raise ValueError(f"{name} must be a number, or one for each of {joints} joints, got {shown(value)}")
        for name in (*LINKS, *MUSCLES):  # arrays and lists are as welcome, but a frozen value is hashed and compared
            value = getattr(self, name)
            if np.ndim(value):
                object.__setattr__(self, name, tuple(np.asarray(value, float).tolist()))

    @classmethod
    def from_outline(
        cls,
        width: ArrayLike = 0.02,
        height: ArrayLike = 0.03,
        length: float = 0.3,
        links: int = 10,
        density: float = 1000.0,
        fill: float = 0.25,
        drag: float = 1.0,
        nose_drag: float = 0.8,
        **others: Any,
    ) -> Self:
        """Make a body from its shape, as Ekeberg (1993) does in sections 3.1 and 3.2.

        Mass is density times volume; the moment of inertia is that of an elliptical cylinder, m (w^2 / 16 + l^2 / 12);
        drag across a link is density * drag / 2 times its side, l h.

        Args:
            width, height (float or array, m): Axes of the elliptical cross section; arrays at evenly spaced places from
                the tip of the head to that of the tail, linear in between. The paper's is 0.02 wide for about a third
                of the body, then tapers to the tail, and 0.03 high.
            length, links (float, m, and int): Of the body, in equal links.
            density (kg/m^3): Of water, and so of the animal.
            fill: Area of a cross section by w h: pi / 4 is an ellipse, and 1 / 4 what Table 3 was computed with.
            drag, nose_drag: Coefficient C of Eq. 5 across the body, and along it for its largest cross section,
                ``fill`` w h. Like the values of Table 3, which the paper calls estimates, the drag along the body is
                spread over the first third, 3 : 2 : 1 over three of ten links; 0.8 gives their size.
            **others: Muscles, ``water`` and ``feedback``, see above.

        Raises:
            ValueError: For a number that is negative or not finite, or links beyond their ranges.
        """
        whole("links", links, 3, MAX_LINKS)
        total = number("length", length, above=0, maximum=MAX_LINKS * LINKS["length"].high)
        for name, factor in {"density": density, "fill": fill, "drag": drag, "nose_drag": nose_drag}.items():
            number(name, factor, minimum=0, maximum=1e5)
        fine = 60  # places in a link
        middle = (np.arange(links * fine) + 0.5) / (links * fine)
        axes = {}
        for name, value in (("width", width), ("height", height)):
            outline = np.atleast_1d(numbers(name, value, minimum=0, maximum=10))
            if outline.ndim > 1 or not outline.size:
                raise ValueError(f"{name} must be a number or a list of them, got {shown(value)}")
            axes[name] = np.interp(middle, np.linspace(0.0, 1.0, len(outline)), outline).reshape(links, fine)
        link = total / links
        area = fill * axes["width"] * axes["height"]
        mass = density * link * area.mean(1)
        inertia = mass * (axes["width"].mean(1) ** 2 / 16.0 + link**2 / 12.0)
        ahead = np.maximum(3.5 - 10.0 * (np.arange(links) + 0.5) / links, 0.0)
        return cls(
            length=(link,) * links,
            mass=tuple(mass.tolist()),
            inertia=tuple(inertia.tolist()),
            drag_perpendicular=tuple((0.5 * density * drag * link * axes["height"].mean(1)).tolist()),
            drag_parallel=tuple((0.5 * density * nose_drag * area.max() * ahead / ahead.sum()).tolist()),
            **others,
        )

    def links(self) -> NDArray[Any]:
        """Constants of the links for the kernels, (1,) record."""
        record = np.zeros(1, links_dtype(len(self.length)))
        record["half"] = 0.5 * np.asarray(self.length)
        record["inverse_mass"] = 1.0 / np.asarray(self.mass)
        record["inverse_inertia"] = 1.0 / np.asarray(self.inertia)
        record["share"] = np.asarray(self.mass) / np.sum(self.mass)
        record["drag_perpendicular"] = self.drag_perpendicular
        record["drag_parallel"] = self.drag_parallel
        return record


NEURON = {
    "threshold": Option(-100.0, 100.0, "1", "Theta of Table 1"),
    "gain": Option(0.0, 100.0, "1", "Gamma"),
    "delay": Option(1e-3, 10.0, "s", "dendritic time constant tau_D"),
    "adaptation": Option(0.0, 100.0, "1", "strength of the adaptation, mu"),
    "adaptation_delay": Option(1e-3, 100.0, "s", "time constant tau_A of the adaptation"),
    "brainstem": Option(0.0, 1000.0, "1", "strength of the brainstem's synapse, of Table 2"),
}
"""Parameters of a type of neuron."""


@documented(NEURON)
@dataclass(frozen=True)
class Neuron:
    """A type of neuron: a row of the paper's Table 1, and what the brainstem does to it.

    Args:
        {ranges}
    """

    threshold: float
    gain: float
    delay: float
    adaptation: float = 0.0
    adaptation_delay: float = 1.0
    brainstem: float = 0.0

    def __post_init__(self) -> None:
        for name, option in NEURON.items():
            number(f"neurons: {name}", getattr(self, name), minimum=option.low, maximum=option.high)


class Neurons(NamedTuple):
    """Types of neurons that a segment has on each side: Table 1."""

    EIN: Neuron
    CCIN: Neuron
    LIN: Neuron
    MN: Neuron


@cache
def neurons() -> Neurons:
    """Table 1."""
    t = table()
    given = {name: t[name].tolist() for name in NEURON}
    given["adaptation_delay"] += [1.0] * (len(CELLS) - ADAPTING)  # of cells that do not adapt
    return Neurons(*(Neuron(**{name: column[i] for name, column in given.items()}) for i in range(len(CELLS))))


_TABLE_1 = neurons()


class Synapse(NamedTuple):
    """A projection of Table 2: cell types, strength, and how far it reaches, in segments."""

    source: str
    target: str
    strength: float
    rostral: int
    caudal: int


@cache
def synapses() -> tuple[Synapse, ...]:
    """Projections of Table 2."""
    result = []
    for name, (strength, rostral, caudal) in read_table("lamprey/synapses.toml").items():
        source, target = name.split("_")
        result.append(Synapse(source, target, float(strength), int(rostral), int(caudal)))
    return tuple(result)


class EdgeSynapse(NamedTuple):
    """A projection of edge cells, of which Fig. 1 B has more than the paper uses.

    The strength is in units of the parameter ``feedback``, whose 0.01 m is Table 2's. Excitatory edge cells project to
    their own side, inhibitory ones to the other. The weight is shared over the extent as a `Synapse`'s is.
    """

    target: str
    strength: float = 1.0
    excites: bool = False
    rostral: int = 0
    caudal: int = 0


LARGEST_TONIC = 0.7
"""Level of the brainstem beyond which the cord's rhythm breaks."""


def motoneuron() -> NDArray[Any]:
    """Constants of motoneurons without a cord for the kernels, (1,) record.

    A command of 1 is all that excites a motoneuron of the paper: the brainstem at ``LARGEST_TONIC`` and its EIN, fully
    active; -1 is its CCIN, fully active.
    """
    cell, strength = neurons().MN, {(s.source, s.target): s.strength for s in synapses()}
    record = np.zeros(1, motoneuron_dtype())
    record["threshold"], record["gain"], record["rate"] = cell.threshold, cell.gain, 1.0 / cell.delay
    record["excite"] = LARGEST_TONIC * cell.brainstem + strength["EIN", "MN"]
    record["inhibit"] = strength["CCIN", "MN"]
    return record


@dataclass(frozen=True)
class Cord:
    """Structure of the spinal cord; the defaults are the paper's.

    What a row may change of it, in the middle too, are parameters of the animal: lesions (``segment_gain``,
    ``cell_gain`` within ``cell_segments``), a tonic drive beside the brainstem's (``bath``), ``transection`` and
    ``feedback``.

    Args:
        segments: A multiple of the number of links.
        ends ({"exist", "clamp"}): Where a projection would reach beyond the cord, or a transection: the weight is
            shared among the segments that exist, or the end segment stands in for those that do not.
        synapses (tuple of Synapse, or mapping): Table 2 by default. A mapping changes it: ``{"EIN_MN": {"strength":
            2.0}}``, where a projection that Table 2 has not needs all three of ``strength``, ``rostral`` and
            ``caudal``. EIN excite; CCIN and LIN inhibit, CCIN on the other side.
        head_segments: Rostral segments that get ``head_extra`` more tonic drive.
        neurons (Neurons, or mapping): Table 1 and the brainstem's strengths by default. A mapping changes them:
            ``{"EIN": {"threshold": -0.1}}``.
        edge_synapses (tuple of EdgeSynapse): The paper's one, to CCIN of the same segment on the other side, by
            default.

    Raises:
        ValueError: For a name that is not known, a value out of its range, or none of the required.

    Examples:
        Duller EIN, twice the synapse on motoneurons, and edge cells that excite their own side as well:

        >>> from gymnosoma.envs.lamprey import Cord, EdgeSynapse, Lamprey
        >>> cord = Cord(
        ...     neurons={"EIN": {"threshold": -0.1}},
        ...     synapses={"EIN_MN": {"strength": 2.0}},
        ...     edge_synapses=(EdgeSynapse("CCIN"), EdgeSynapse("EIN", 0.5, excites=True, rostral=2, caudal=2)),
        ... )
        >>> cord.neurons.EIN.threshold, cord.neurons.EIN.gain
        (-0.1, 1.8)
        >>> lamprey = Lamprey(cord=cord)
    """

    segments: int = int(table()["segments"])
    ends: str = "exist"
    synapses: tuple[Synapse, ...] = synapses()
    head_segments: int = int(table()["head_segments"])
    neurons: Neurons = _TABLE_1
    edge_synapses: tuple[EdgeSynapse, ...] = (EdgeSynapse("CCIN"),)

    def __post_init__(self) -> None:
        choice("ends", self.ends, ("exist", "clamp"))
        whole("segments", self.segments, maximum=MAX_SEGMENTS)
        if not (isinstance(self.head_segments, int | np.integer) and 0 <= self.head_segments <= self.segments):
            raise ValueError(
                f"head_segments must be an integer within [0, {self.segments}], got {self.head_segments!r}"
            )
        object.__setattr__(self, "neurons", _neurons(self.neurons))
        object.__setattr__(self, "synapses", _synapses(self.synapses))
        object.__setattr__(
            self, "edge_synapses", tuple(_entry("edge_synapses", EdgeSynapse, s) for s in _many(self.edge_synapses))
        )
        if not self.synapses:
            raise ValueError(f"synapses must hold at least one, got {self.synapses!r}")
        for synapse in self.synapses:
            number("synapses: strength", synapse.strength, minimum=0, maximum=1000)
            if not (synapse.source in CELLS[:3] and synapse.target in CELLS and self._reaches(synapse)):
                raise ValueError(
                    f"synapses must go from {', '.join(CELLS[:3])} to {', '.join(CELLS)} with extents "
                    f"within [0, {self.segments - 1}], got {shown(tuple(synapse))}"
                )
        for edge in self.edge_synapses:
            number("edge_synapses: strength", edge.strength, minimum=0, maximum=1000)
            if not (edge.target in CELLS and isinstance(edge.excites, bool) and self._reaches(edge)):
                raise ValueError(
                    f"edge_synapses must go to {', '.join(CELLS)}, with excites true or false and extents "
                    f"within [0, {self.segments - 1}], got {shown(tuple(edge))}"
                )

    def _reaches(self, synapse: Synapse | EdgeSynapse) -> bool:
        """Whether its extents are integers, and shorter than the cord."""
        reach = (synapse.rostral, synapse.caudal)
        return all(
            isinstance(r, int | np.integer) and not isinstance(r, bool) and 0 <= r < self.segments for r in reach
        )

    @property
    def windows(self) -> tuple[tuple[int, int], ...]:
        """The different (rostral, caudal) extents."""
        return tuple(dict.fromkeys((s.rostral, s.caudal) for s in self.synapses))

    @property
    def adapting(self) -> int:
        """The first so many types of neurons may adapt: two by Table 1, as many as need it beyond."""
        return max([ADAPTING, *(i + 1 for i, cell in enumerate(self.neurons) if cell.adaptation > 0.0)])

    def circuit(self) -> Circuit:
        """The same as data, of which everything can be changed; edge cells have strengths in units of ``feedback``."""
        populations = [
            Population(
                name,
                "ekeberg",
                tonic=cell.brainstem,
                **{key: getattr(cell, key) for key in NEURON if key != "brainstem"},
            )
            for name, cell in zip(CELLS, self.neurons, strict=True)
        ]
        projections = [
            Projection(
                s.source,
                s.target,
                s.strength,
                "excite" if s.source == "EIN" else "inhibit",
                "other" if s.source == "CCIN" else "same",
                s.rostral,
                s.caudal,
            )
            for s in self.synapses
        ]
        for e in self.edge_synapses:
            port, side = ("excite", "same") if e.excites else ("inhibit", "other")
            projections.append(Projection("EC", e.target, e.strength, port, side, e.rostral, e.caudal))
        return Circuit(
            self.segments,
            (*populations, Population("EC", "sense")),
            tuple(projections),
            "MN",
            (Sense("EC", "edge_cell"),),
            self.ends,
            self.head_segments,
        )

    def fields(self, n: int) -> list[tuple]:
        """Fields that it adds to the record of a body of ``n`` links."""
        return cord_fields(n, self.segments, self.adapting)

    def work(self, n: int) -> list[tuple]:
        """Scratch fields of it and a body of ``n`` links."""
        windows = self.windows
        return cord_work(n, self.segments, _room(len(windows), 4), _room(max(max(w) for w in windows), 10))

    def joint(self, joints: int) -> NDArray[np.int64]:
        """Nearest joint of each segment, whose edge cells it has, (S,)."""
        link = self.segments // (joints + 1)
        return np.clip((np.arange(self.segments) - link // 2) // link, 0, joints - 1)

    def record(self, joints: int) -> NDArray[Any]:
        """Constants of the cord of a body with so many joints for the kernels, (1,) record."""
        windows, q = self.windows, np.arange(self.segments)
        counts = (_room(len(self.synapses), 12), _room(len(windows), 4), _room(len(self.edge_synapses), 4))
        record = np.zeros(1, cord_dtype(self.segments, joints, *counts))
        record["target"] = record["edge_target"] = -1  # of projections that are none
        record["windows"] = len(windows)
        for name in ("threshold", "gain", "adaptation", "brainstem"):
            record[name] = [getattr(cell, name) for cell in self.neurons]
        record["rate"] = [1.0 / cell.delay for cell in self.neurons]
        record["adaptation_rate"] = [1.0 / cell.adaptation_delay for cell in self.neurons]
        for i, s in enumerate(self.synapses):
            record["source"][0, i], record["target"][0, i] = CELLS.index(s.source), CELLS.index(s.target)
            record["inhibitory"][0, i], record["crossed"][0, i] = s.source != "EIN", s.source == "CCIN"
            record["strength"][0, i], record["window"][0, i] = s.strength, windows.index((s.rostral, s.caudal))
        for i, (rostral, caudal) in enumerate(windows):
            record["rostral"][0, i], record["caudal"][0, i] = rostral, caudal
            record["share"][0, i] = 1.0 / self._sources(q, rostral, caudal)
        record["joint"] = self.joint(joints)
        for i, edge in enumerate(self.edge_synapses):
            record["edge_target"][0, i], record["edge_inhibitory"][0, i] = CELLS.index(edge.target), not edge.excites
            record["edge_rostral"][0, i], record["edge_caudal"][0, i] = edge.rostral, edge.caudal
            record["edge_strength"][0, i] = edge.strength
            share = edge.strength / self._sources(q, edge.rostral, edge.caudal)
            for p in range(-edge.caudal, edge.rostral + 1):
                inside = (q + p >= 0) & (q + p < self.segments) | (self.ends == "clamp")
                near = record["joint"][0, np.clip(q + p, 0, self.segments - 1)]
                record["edge_weight"][0, i, q[inside], near[inside]] += share[inside]
            reached = record["edge_weight"][0, i] != 0.0
            record["edge_first"][0, i] = np.argmax(reached, 1)
            record["edge_last"][0, i] = joints - np.argmax(reached[:, ::-1], 1)
        extents = [*windows, *((edge.rostral, edge.caudal) for edge in self.edge_synapses)]
        record["reach"] = max(max(reach) for reach in extents)
        record["head"] = self.head_segments
        record["clamp"] = float(self.ends == "clamp")
        return record

    def _sources(self, q: NDArray[np.int64], rostral: int, caudal: int) -> NDArray[np.int64]:
        """How many segments share the weight of a projection onto segments ``q``."""
        existing = np.minimum(q + rostral, self.segments - 1) - np.maximum(q - caudal, 0) + 1
        return existing if self.ends == "exist" else np.full_like(q, rostral + caudal + 1)


def _room(count: int, step: int) -> int:
    """Room for so many, in steps, so that most cords share compiled kernels."""
    return max(-(-count // step), 1) * step


def _known(name: str, given: Any, known: Iterable[str]) -> None:
    """Raise ValueError unless a mapping has no other keys than these."""
    if not isinstance(given, Mapping) or (unknown := [key for key in given if key not in tuple(known)]):
        what = f"the key {unknown[0]!r}" if isinstance(given, Mapping) else shown(given)
        raise ValueError(f"{name} must be a mapping with keys of {', '.join(known)}, got {what}")


def _neurons(given: Any) -> Neurons:
    """Table 1 with what is given of it."""
    if isinstance(given, Neurons):
        return given
    _known("neurons", given, CELLS)
    changed = {}
    for name, value in given.items():
        if isinstance(value, Neuron):
            changed[name] = value
            continue
        _known(f"neurons: {name}", value, [field.name for field in fields(Neuron)])
        changed[name] = replace(getattr(neurons(), name), **value)
    return neurons()._replace(**changed)


def _synapses(given: Any) -> tuple[Synapse, ...]:
    """Table 2 with what is given of it, or another table."""
    if not isinstance(given, Mapping):
        return tuple(_entry("synapses", Synapse, s) for s in _many(given))
    table_2 = {f"{s.source}_{s.target}": s for s in synapses()}
    _known("synapses", given, [f"{source}_{target}" for source in CELLS[:3] for target in CELLS])
    for name, value in given.items():
        old = table_2[name]._asdict() if name in table_2 else {}
        _known(f"synapses: {name}", value, Synapse._fields[2:])
        source, target = name.split("_")
        table_2[name] = _entry("synapses", Synapse, old | {"source": source, "target": target} | dict(value))
    return tuple(table_2.values())


def _many(given: Any) -> tuple[Any, ...]:
    """Entries of a list; nothing of what is none."""
    return tuple(given) if isinstance(given, list | tuple) else (given,)


def _entry(name: str, kind: Any, given: Any) -> Any:
    """Make a tuple with names of what a file or a user gives for it: a mapping, a list, or such a tuple."""
    try:
        return kind(**given) if isinstance(given, Mapping) else kind(*given)
    except TypeError:
        raise ValueError(f"{name} must have {', '.join(kind._fields)}, got {shown(given)}") from None
