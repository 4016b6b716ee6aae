"""Parts of a task as data: fields of observations and actions, endings, score, hidden options.

Spaces, checks and documentation of an environment are made from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..arguments import choice

LIMIT = 10.0
"""Observations are clipped to this multiple of their scale."""


@dataclass(frozen=True)
class Field:
    """Entry of the observation: ``size`` numbers, observed as value / ``scale``.

    A field that contains a signal of the animal has the signal's name.

    Args:
        unit: SI unit of the values; separated by commas if the numbers have different units.
        scale (float or tuple of float): Typical magnitude in that unit; values are clipped to [-10, 10] times it.
        meaning: Text for the documentation.
        along: Number of lists in the field with one number per joint along the body, one list after the other.
        usual: Number of joints to which values such as angles are scaled by `ModeObservation`, since they become
            smaller in a body with more joints; 0: not scaled.
    """

    size: int
    unit: str
    scale: float | tuple[float, ...]
    meaning: str
    along: int = 0
    usual: int = 0


class Layout:
    """Positions and scales of the fields in an observation vector.

    Args:
        fields (mapping of name to Field)
    """

    def __init__(self, fields: Mapping[str, Field]) -> None:
        ends = np.cumsum([field.size for field in fields.values()])
        self.fields = dict(fields)
        self.slices = {
            name: slice(int(end) - field.size, int(end))
            for (name, field), end in zip(fields.items(), ends, strict=True)
        }
        self.scale = np.concatenate([np.broadcast_to(field.scale, field.size) for field in fields.values()])
        self.size = len(self.scale)

    def unpack(self, observations: NDArray[np.floating]) -> dict[str, NDArray[np.float64]]:
        """Convert the newest frame of observations (B, k d) to values in SI, each (B, size)."""
        shape = np.shape(observations)
        if len(shape) != 2 or shape[1] % self.size:
            raise ValueError(
                "a controller needs the task's fields, without ModeObservation, PixelObservation and GoalObservation, "
                f"got observations of shape {shape}"
            )
        newest = observations[:, -self.size :] * self.scale
        return {name: newest[:, part] for name, part in self.slices.items()}


@dataclass(frozen=True)
class ActionField:
    """Entry of the action: ``size`` numbers in [-1, 1], mapped to ``low`` .. ``high``.

    Args:
        low, high: Values at -1 and 1.
        unit: SI unit of these values.
        meaning: Text for the documentation.
        truth: If the entry is an answer: key of the info that has the correct value, starting with the reset.
    """

    size: int
    low: float
    high: float
    unit: str
    meaning: str
    truth: str = ""


@dataclass(frozen=True)
class Ending:
    """Possible end of an episode, defined by a task.

    Args:
        reason: Text for users, in ``info["failure"]`` if the episode failed.
        success: True for a success, False for a failure.
    """

    reason: str
    success: bool = False


@dataclass(frozen=True)
class Score:
    """Number for comparisons of policies on a task: an info key of the last step, or ``"return"``.

    Args:
        unit: Unit in texts, such as "mm/s".
        factor: Conversion factor from the info's SI unit to ``unit``.
        failed: Score of a failed episode in the info's unit; a return is not replaced.
        binary: Whether most scores have one of two values, such as right or wrong; means then need more episodes.
    """

    name: str
    unit: str = "1"
    factor: float = 1.0
    failed: float = 0.0
    binary: bool = False


SPLITS = ("paper", "train", "within", "test", "robust")
"""Parts of the ranges of hidden options, see `Hidden`; ``"robust"``: the whole range, with a changed body, `BODY`."""


WITHIN = (2, 7)
"""Tenths of the range of each hidden option from which ``split="within"`` draws."""


BODY = (0.7, 1.3)
"""Range of the factor on each of the animal's ``randomized_parameters``, drawn per episode with ``split="robust"``."""


@dataclass(frozen=True)
class Hidden:
    """Range of an option that is drawn for every episode and not observed.

    ``split="paper"`` takes the value ``paper``. The range is divided into tenths: ``split="test"`` draws from the
    tenths ``test``, ``"within"`` from `WITHIN`, and ``"train"`` from the rest.

    Args:
        logarithmic: Whether the logarithm is drawn uniformly.
        test: Default: the outer tenths, or the last two if ``low`` is 0, so that policies have to extrapolate. Empty:
            all splits draw from the whole range, for ranges without ends, such as an angle's.
        paper: Value in the paper's own conditions; None: they leave it open, and it is drawn from the whole range.
    """

    low: float
    high: float
    logarithmic: bool = False
    test: tuple[int, ...] | None = None
    paper: float | None = None

    def tenths(self, split: str | None) -> list[int]:
        """Return the tenths of the range that belong to a split."""
        test = self.test if self.test is not None else (8, 9) if self.low == 0.0 else (0, 9)
        if not test:
            return list(range(10))
        parts = {"test": test, "within": WITHIN, "train": {*range(10)} - {*test, *WITHIN}}
        return sorted(parts.get(split or "", range(10)))

    def draw(self, rng: np.random.Generator, split: str | None = None) -> float:
        """Draw a value from the whole range or from the part of a split."""
        place = rng.random()
        if split == "paper" and self.paper is not None:
            return self.paper
        tenths = self.tenths(split)
        if len(tenths) < 10:
            which, rest = divmod(place * len(tenths), 1.0)
            place = (tenths[int(which)] + rest) / 10.0
        if self.logarithmic:
            return self.low * (self.high / self.low) ** place
        return self.low + (self.high - self.low) * place


KINDS = ("frequency", "mean", "peak", "rms", "slew", "saturation", "above", "rate", "final")


@dataclass(frozen=True)
class Measure:
    """Physiological measure of an animal in an episode, with an optional limit for policies.

    Args:
        kind: Statistic of the values at the ends of control periods (the numbers of a period are combined):
            ``"frequency"`` of the strongest component (Hz); ``"mean"``; ``"peak"``, largest magnitude; ``"rms"``;
            ``"slew"``, rms rate of change; ``"saturation"``, share within 1% of ``bound``; ``"above"``, rms of
            frequencies above ``band``; ``"rate"``, growth of the sum per second; ``"final"``, last value.
        source: Name of a signal of the animal or of a key of the info, or ``"action"``.
        unit: Unit in texts.
        factor: Conversion factor from SI to ``unit``.
        bound: Bound of ``"saturation"``, in SI.
        band: Frequency of ``"above"``, Hz.
        maximum: Largest value allowed for policies, in ``unit``.
        times: The same as a multiple of the baseline's value in the same episodes.
        why: Reason for the limit.
        known: Values in the literature, with their source.
        complete: Whether failed episodes are left out, because a fall, for example, has effects on the body that no
            policy commanded.
    """

    kind: str
    source: str
    unit: str = "1"
    factor: float = 1.0
    meaning: str = ""
    bound: float = 1.0
    band: float = 0.0
    maximum: float | None = None
    times: float | None = None
    why: str = ""
    known: str = ""
    complete: bool = False

    def __post_init__(self) -> None:
        choice("kind", self.kind, KINDS)
        if (self.maximum is not None or self.times is not None) and not self.why:
            raise ValueError(f"why must give a reason for the limit of {self.meaning!r}, got ''")
