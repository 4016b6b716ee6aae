"""Members of a circuit: populations of cells, projections between them, senses and muscles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import choice, number, shown, whole, within
from ..model.quantities import Option
from .kernels import EXCITATORY, INHIBITORY, OUTPUTS, RATE

DYNAMICS = ("ekeberg", "phase", "matsuoka", "leaky", "bistable", "switch", "sense")
SIDES, ENDS = ("same", "other"), ("exist", "clamp")
PORTS = {"excite": EXCITATORY, "inhibit": INHIBITORY, "phase": RATE, "gap": EXCITATORY}
MAX_SEGMENTS, MAX_CELLS, MAX_STRENGTH = 10_000, 100, 1e6

_ANY, _FACTOR = Option(-100.0, 100.0, "1", ""), Option(0.0, 100.0, "1", "")
_GAIN, _DELAY = Option(0.0, 1e3, "1", ""), Option(1e-4, 100.0, "s", "")
CONSTANTS: dict[str, dict[str, tuple[Option, Any]]] = {
    "ekeberg": {
        "threshold": (_ANY, None),
        "gain": (_FACTOR, None),
        "delay": (_DELAY, None),
        "adaptation": (_FACTOR, 0.0),
        "adaptation_delay": (_DELAY, 1.0),
    },
    "phase": {"frequency": (Option(0.0, 1e3, "Hz", ""), None), "gain": (_FACTOR, 1.0)},
    "matsuoka": {"delay": (_DELAY, None), "adaptation": (_FACTOR, None), "adaptation_delay": (_DELAY, None)},
    "leaky": {"delay": (_DELAY, None), "threshold": (_ANY, 0.0), "gain": (_GAIN, 1.0)},
    "bistable": {"delay": (_DELAY, None), "gain": (_FACTOR, None)},
    "switch": {"threshold": (_ANY, None), "hysteresis": (_FACTOR, 0.0)},
    "sense": {},
}
"""Constants of a population by its dynamics, each with range and default; a default of None makes it required."""

Weights = Any
"""A number, or rows of numbers by side."""


@dataclass(frozen=True)
class Population:
    """Cells of one type, one per side and segment.

    Args:
        name
        dynamics ({"ekeberg", "phase", "matsuoka", "leaky", "bistable", "switch", "sense"}): Equations of a cell, with
            its total excitation E and inhibition I. ``ekeberg``: Ekeberg (1993), Eqs. 1 and 2: delayed inputs, output
            max(0, 1 - exp((threshold - xi+) gain) - xi- - adaptation theta). ``phase``: after Cohen, Holmes & Rand
            (1982, from memory): theta' = 2 pi frequency + sum of w sin(theta_j - theta - lag) + E - I, output gain
            max(0, cos theta). ``matsuoka``: after Matsuoka (1985, from memory): delay x' = -x - adaptation v + E - I,
            adaptation_delay v' = -v + y, output y = max(0, x). ``leaky``: delay x' = -x + E - I, output f(gain (x -
            threshold)) with f set by ``output``. ``bistable``: delay V' = -V + tanh(gain V + E - I), output V from -1
            to 1, such as a pair of cells that inhibit each other; it has two stable states if gain > 1. ``switch``: the
            output S is 1 where E - I + hysteresis S > threshold, else 0, once per step; its noise adds to E. ``sense``:
            no state; the output is that of a `Sense`.
        sides: 2, or 1 for a cell on the midline.
        cells ((first, end)): Segments that have the cell, without ``end``; all by default.
        tonic (number or (2, segments)): Change of E per unit of the tonic drive (lamprey: the brainstem's; worm: the
            parameter ``tonic``, by default 1); for ``phase``, change of the frequency in Hz.
        bias (number or (2, segments)): Constant addition to E, which no drive or cut changes; for ``phase`` in Hz.
        touch ((head, tail)): Addition to E while the head or the tail is touched (parameter ``touch``).
        threshold, gain, delay (s), adaptation, adaptation_delay (s), frequency (Hz), hysteresis: Constants of the
            dynamics.
        output ({"tanh", "positive", "linear", "sigmoid"}): Output f of ``leaky`` cells: tanh, its positive part,
            identity, or 1/(1 + exp(-z)).

    Raises:
        ValueError: If a constant is missing, out of range or not part of the dynamics.
    """

    name: str
    dynamics: str
    sides: int = 2
    cells: tuple[int, int] | None = None
    tonic: Weights = 0.0
    bias: Weights = 0.0
    touch: tuple[float, float] = (0.0, 0.0)
    threshold: Any = None
    gain: Any = None
    delay: Any = None
    adaptation: Any = None
    adaptation_delay: Any = None
    frequency: Any = None
    hysteresis: Any = None
    output: str | None = None

    def __post_init__(self) -> None:
        if not (isinstance(self.name, str) and self.name.isidentifier()):
            raise ValueError(f"population: name must be a word of letters, digits and _, got {shown(self.name)}")
        label = f"population {self.name}"
        choice(f"{label}: dynamics", self.dynamics, DYNAMICS)
        whole(f"{label}: sides", self.sides, 1, 2)
        constants = CONSTANTS[self.dynamics]
        for name in {name for group in CONSTANTS.values() for name in group}:
            value = getattr(self, name)
            if name not in constants:
                if value is not None:
                    raise ValueError(
                        f"{label}: {name} is not a constant of {self.dynamics}, got {shown(value)}; allowed are "
                        f"{', '.join(constants) or 'none'}"
                    )
                continue
            option, default = constants[name]
            if value is None and default is None:
                raise ValueError(f"{label}: {name} must be given with dynamics {self.dynamics}, got None")
            value = default if value is None else number(f"{label}: {name}", value)
            option.check(f"{label}: {name}", value)
            object.__setattr__(self, name, value)
        if self.dynamics == "leaky":
            object.__setattr__(self, "output", "tanh" if self.output is None else self.output)
            choice(f"{label}: output", self.output, OUTPUTS)
        elif self.output is not None:
            raise ValueError(f"{label}: output must be None unless dynamics is 'leaky', got {shown(self.output)}")
        touch = within(f"{label}: touch", self.touch, -MAX_STRENGTH, MAX_STRENGTH)
        if touch.shape != (2,):
            raise ValueError(f"{label}: touch must be 2 numbers, for head and tail, got {shown(self.touch)}")
        object.__setattr__(self, "touch", tuple(touch.tolist()))
        for name in ("tonic", "bias"):
            object.__setattr__(self, name, _weights(f"{label}: {name}", getattr(self, name)))

    @property
    def kind(self) -> int:
        """Code of the dynamics."""
        return DYNAMICS.index(self.dynamics)


@dataclass(frozen=True)
class Projection:
    """Synapses from one population onto another or onto itself.

    The axon runs along the cord on the side of its target, which determines the effect of a hemisection. For a target
    on the midline, ``"same"`` is the left side and ``"other"`` the right, and the axons are on the left.

    Args:
        source, target: Names of populations.
        strength (number or (2, segments)): Strength by side and segment of the target; one row is for both sides.
        port ({"excite", "inhibit", "phase", "gap"}): Input of the target: E, I, a coupling with a ``lag`` between
            ``phase`` populations, or gap junctions between ``leaky`` cells, which act in both directions: E of the
            target increases by strength (x_source - x_target), E of the source by the opposite.
        side ({"same", "other"}): Side of the source.
        rostral, caudal: Extents as in Table 2 of Ekeberg (1993). A target in segment q receives from sources in
            segments q - caudal to q + rostral, counted from the head; ``rostral=-1, caudal=1`` is the neighbour in
            front alone.
        normalise: Whether the strength is shared among the sources that exist; if False, each synapse has this
            strength, as gap junctions always have.
        lag (rad): Phase lead of the source at rest, for ``"phase"`` projections.
        name: Name of the weight; ``source_target`` by default.
    """

    source: str
    target: str
    strength: Weights = 1.0
    port: str = "excite"
    side: str = "same"
    rostral: int = 0
    caudal: int = 0
    normalise: bool = True
    lag: float = 0.0
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or f"{self.source}_{self.target}")
        if not (isinstance(self.name, str) and self.name.isprintable()):
            raise ValueError(f"projection: name must be a printable text, got {shown(self.name)}")
        label = f"projection {self.name}"
        choice(f"{label}: port", self.port, PORTS)
        choice(f"{label}: side", self.side, SIDES)
        if not isinstance(self.normalise, bool):
            raise ValueError(f"{label}: normalise must be true or false, got {shown(self.normalise)}")
        object.__setattr__(self, "strength", _weights(f"{label}: strength", self.strength))
        within(f"{label}: lag", number(f"{label}: lag", self.lag), -100.0, 100.0, "rad")
        if self.lag and self.port != "phase":
            raise ValueError(f"{label}: lag must be 0 with port {self.port!r}, got {self.lag!r}")


@dataclass(frozen=True)
class Sense:
    """Input of a ``sense`` population: a signal of the body at its joints.

    Args:
        population: Name of the population.
        signal: Signal of the animal, such as the lamprey's ``"edge_cell"`` (1/m, by side, times its ``feedback``) or
            the worm's ``"joint_angle"`` (rad).
        stretch ((from, to), joints): Part of the body over which a cell averages, relative to the joint of its segment,
            negative towards the head; in segments if the circuit has fewer of them than the body has joints. The part
            beyond an end of the body is cut off; a cell with its whole part beyond reads 0.
        total: Whether a cell adds up the joints of this part instead of averaging.
        slopes ((1 or 2, 2)): Factors by side on positive and on negative values of the signal; one row is for both
            sides.
    """

    population: str
    signal: str
    stretch: tuple[float, float] = (-0.5, 0.5)
    total: bool = False
    slopes: tuple[tuple[float, float], ...] = ((1.0, 1.0),)

    def __post_init__(self) -> None:
        if not isinstance(self.signal, str):
            raise ValueError(f"sense {shown(self.population)}: signal must be a name, got {shown(self.signal)}")
        label = f"sense {self.population}: stretch"
        ends = within(label, self.stretch, -MAX_SEGMENTS, MAX_SEGMENTS, "joints")
        if ends.shape != (2,) or not ends[0] < ends[1]:
            raise ValueError(f"{label} must be two increasing places, got {shown(self.stretch)}")
        object.__setattr__(self, "stretch", tuple(ends.tolist()))
        if not isinstance(self.total, bool):
            raise ValueError(f"sense {self.population}: total must be true or false, got {shown(self.total)}")
        slopes = within(f"sense {self.population}: slopes", self.slopes, -MAX_STRENGTH, MAX_STRENGTH)
        if slopes.shape not in ((1, 2), (2, 2)):
            raise ValueError(f"sense {self.population}: slopes must have shape (2, 2), got shape {slopes.shape}")
        object.__setattr__(self, "slopes", tuple(map(tuple, slopes.tolist())))

    def weights(self, joint: NDArray[np.int64], joints: int) -> NDArray[np.float64]:
        """Return the weight of each joint (S, joints) for segments at the joints ``joint`` (S,)."""
        low, high = (joint[:, None] + place for place in self.stretch)
        if len(joint) < joints:
            segments = np.arange(len(joint) + 1)
            borders = np.append(joint, joints) - 0.5
            low, high = (np.interp(segments[:-1, None] + place + 0.5, segments, borders) for place in self.stretch)
        place = np.arange(joints)
        overlap = np.clip(np.minimum(place + 0.5, high) - np.maximum(place - 0.5, low), 0.0, 1.0)
        if self.total:
            return overlap
        total = overlap.sum(1, keepdims=True)
        return np.divide(overlap, total, out=np.zeros_like(overlap), where=total > 0.0)


@dataclass(frozen=True)
class Antagonists:
    """Muscles on both sides of a worm's joints, after Boyle, Berri & Cohen (2012); see ``docs/animals/worm.md``.

    The activation of a muscle is the output of its cells times ``activation``, clipped to 0 .. 1. With the activations
    L and R of the left and the right muscle, the control angle of a joint is bend/joints stiffness (L^2 - R^2) / (1 +
    stiffness (L + R)).

    With a worm's parameter ``stiffening`` of 1, stiffness and damping of a joint are 1 + stiffness (L' + R') and 1 +
    damping (L + R) times those of the passive joint, and the control angle has L L' and R R' instead of the squares.
    L' = L/(1 + (1 + stiffness L)/series) is the activation of a muscle in series with the body wall.

    Args:
        bend (rad): Bend of the whole body at which a fully shortened side is at rest.
        activation (number, or numbers from head to tail): Activation per output; numbers for evenly spaced places
            between the first and the last joint are interpolated.
        stiffness, damping: Stiffness and damping of a fully active muscle relative to those of the passive joint.
        series (like ``activation``): Stiffness in series with a muscle relative to the passive joint.
    """

    bend: float
    activation: Any = 1.0
    stiffness: float = 10.0
    damping: float = 50.0
    series: Any = 1e6

    def __post_init__(self) -> None:
        for name in ("bend", "activation", "stiffness", "damping", "series"):
            label, least = f"antagonists: {name}", 1e-3 if name in ("bend", "series") else 0.0
            values = within(label, getattr(self, name), least, MAX_STRENGTH)
            if values.ndim > (name in ("activation", "series")) or values.size == 0:
                raise ValueError(f"{label} must be a number, or for activation and series a list, got {shown(values)}")
            object.__setattr__(self, name, float(values) if values.ndim == 0 else tuple(values.tolist()))

    def along(self, name: str, joints: int) -> NDArray[np.float64]:
        """Return ``activation`` or ``series`` of each joint (joints,)."""
        values = np.atleast_1d(getattr(self, name))
        return np.interp(np.linspace(0.0, 1.0, joints), np.linspace(0.0, 1.0, len(values)), values)


def _weights(label: str, value: Any) -> Weights:
    """Return a number, or rows of numbers by side as tuples."""
    array = within(label, value, -MAX_STRENGTH, MAX_STRENGTH)
    if array.ndim == 0:
        return float(array)
    if array.ndim > 2:
        raise ValueError(f"{label} must be a number or have shape (2, segments), got shape {array.shape}")
    return tuple(map(tuple, np.atleast_2d(array).tolist()))
