"""What a task is made of, as data: entries of observations and actions, endings, the score, what is hidden.

The spaces, the checks and the documentation of an environment are all made from these, so that they agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..arguments import choice, whole
from .row_kernels import scale_down

LIMIT = 10.0
"""Observations are clipped to this many times their scale."""


GOALS = ("achieved_goal", "desired_goal")
"""Fields at the end of the observation with ``goal=True``."""


@dataclass(frozen=True)
class Field:
    """One entry of the observation: ``size`` numbers, observed as value / ``scale``.

    A field that holds a signal of the animal has that signal's name.

    Args:
        unit: SI unit of the value; several, separated by commas, where the numbers differ in it.
        scale (float or tuple of float): Typical magnitude in that unit; observations lie in [-10, 10] times it.
        meaning: For the documentation.
        along: Lists that it holds one after the other, each with a number for each joint along the body.
        usual: Joints of the body at which these numbers are what they are: angles become smaller the more joints there
            are. 0 where they do not.
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

    def pack(self, values: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float32]:
        """Pack values in SI, each (B, size) or (B,), into observations (B, d)."""
        first = next(iter(values.values()))
        packed = np.empty((len(first), self.size))
        for name, part in self.slices.items():
            value = values[name]
            packed[:, part] = value if value.ndim == 2 else value[:, None]
        observations = np.empty(packed.shape, np.float32)
        scale_down(packed, self.scale, LIMIT, observations)
        return observations

    def unpack(self, observations: NDArray[np.floating]) -> dict[str, NDArray[np.float64]]:
        """Unpack the newest frame of observations (B, k d) into values in SI, each (B, size)."""
        if observations.ndim != 2:
            raise ValueError(
                f"observation must be 'fields' for a controller that reads them, got observations of shape "
                f"{observations.shape}"
            )
        newest = observations[:, -self.size :] * self.scale
        return {name: newest[:, part] for name, part in self.slices.items()}


class ModeLayout(Layout):
    """A layout in which fields along the body are amplitudes of cosines, as many for bodies of any number of joints.

    They are those that come closest to the values; of angles and their rates, times the joints by those of the usual
    body, so that a body that is bent alike is observed alike, however finely it is divided.

    Args:
        fields (mapping of name to Field)
        modes: Cosines, of 0, 1/2, 1, ... waves from the first joint to the last.

    Raises:
        ValueError: For an impossible number of them, or where no field lies along a body.
    """

    def __init__(self, fields: Mapping[str, Field], modes: int) -> None:
        observed, self._weights = dict(fields), {}
        for name, field in fields.items():
            if not field.along:
                continue
            joints = field.size // field.along
            whole("modes", modes, 1, joints)
            cosines = np.cos(np.pi * np.arange(modes)[:, None] * np.linspace(0.0, 1.0, joints))
            weights = np.linalg.solve(cosines @ cosines.T, cosines) * (joints / field.usual if field.usual else 1.0)
            self._weights[name] = (field.along, weights)
            as_usual = f", as of {field.usual} joints" if field.usual else ""
            meaning = f"{field.meaning}; amplitudes of {modes} cosines along the body{as_usual}"
            observed[name] = replace(field, size=modes * field.along, meaning=meaning)
        if not self._weights:
            raise ValueError(
                "observation must be 'fields' or 'pixels' where nothing is observed along a body, got 'modes'"
            )
        super().__init__(observed)

    def pack(self, values: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float32]:
        """Pack values in SI, those along the body joint by joint, into observations (B, d)."""
        amplitudes = {}
        with np.errstate(all="ignore"):  # rows that have failed
            for name, (lists, weights) in self._weights.items():
                each = values[name].reshape(-1, lists, 1, weights.shape[1])
                amplitudes[name] = np.sum(each * weights, 3).reshape(len(each), -1)
        return super().pack({**values, **amplitudes})

    def unpack(self, observations: NDArray[np.floating]) -> dict[str, NDArray[np.float64]]:
        """Refuse: controllers read joints."""
        raise ValueError("observation must be 'fields' for a controller that reads them, got 'modes'")


@dataclass(frozen=True)
class ActionField:
    """One entry of the action: ``size`` numbers in [-1, 1], which mean ``low`` .. ``high``.

    Args:
        low, high: What -1 and 1 mean.
        unit: SI unit of these.
        meaning: For the documentation.
        truth: Of an answer: key of the info with the value that would be right, which is there from the reset on.
        verdict: Whether only the side of the middle counts: ``high`` is right where the truth is 1, ``low`` where it is
            0.
    """

    size: int
    low: float
    high: float
    unit: str
    meaning: str
    truth: str = ""
    verdict: bool = False


@dataclass(frozen=True)
class Ending:
    """How a task may end an episode.

    Args:
        reason: For people; ``info["failure"]`` of an episode that failed.
        success: Otherwise it is a failure.
    """

    reason: str
    success: bool = False


@dataclass(frozen=True)
class Score:
    """Number by which a task's results are compared: an info key of the last step, or ``"return"``.

    Args:
        unit: For people, such as "mm/s".
        factor: From the info's SI unit to ``unit``.
        failed: Score of an episode that failed, in the info's unit; a return stays what it is.
        binary: Whether most episodes have one of two scores, as of an answer that is right or wrong: to be as sure of
            the mean takes more of them.
    """

    name: str
    unit: str = "1"
    factor: float = 1.0
    failed: float = 0.0
    binary: bool = False


SPLITS = ("train", "within", "test", "robust")
"""Parts of what may be drawn for an episode: see `Hidden`; ``"robust"`` draws from all, for a body that is another."""


WITHIN = (2, 7)
"""Tenths of the range of each hidden option from which ``split="within"`` draws."""


BODY = (0.7, 1.3)
"""Factors between which ``split="robust"`` draws each of the animal's ``varied`` parameters, for every episode."""


@dataclass(frozen=True)
class Hidden:
    """Range from which an option is drawn for every episode, without being shown.

    Of its tenths ``split="test"`` draws from ``test``, ``"within"`` from `WITHIN`, and ``"train"`` from the rest.

    Args:
        logarithmic: Evenly in its logarithm.
        test: The outer tenths by default, so that policies have to extrapolate; the two last of a range that begins at
            0. Empty for a range without ends, such as that of an angle: then all splits draw from all of it.
    """

    low: float
    high: float
    logarithmic: bool = False
    test: tuple[int, ...] | None = None

    def tenths(self, split: str | None) -> list[int]:
        """Return the tenths of the range that a split draws from."""
        test = self.test if self.test is not None else (8, 9) if self.low == 0.0 else (0, 9)
        if not test:
            return list(range(10))
        parts = {"test": test, "within": WITHIN, "train": {*range(10)} - {*test, *WITHIN}}
        return sorted(parts.get(split or "", range(10)))

    def draw(self, rng: np.random.Generator, split: str | None = None) -> float:
        """Draw a value, from all of the range or from what a split leaves of it."""
        place = rng.random()
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
    """What ``physiology`` measures of an animal, and how much of it is no defect of the task.

    Args:
        kind: What is done with the values at the ends of the control periods of an episode (numbers of one period are
            taken together): ``"frequency"`` of the strongest component (Hz); ``"mean"``; ``"peak"``, largest magnitude;
            ``"rms"``; ``"slew"``, rms rate of change; ``"saturation"``, share within 1% of ``bound``; ``"above"``, rms
            above the ``band``; ``"rate"``, growth of a sum over the episode, a second; ``"final"``, value at the end.
        source: A signal of the animal, else a key of the info, or ``"action"``.
        unit: For people.
        factor: From SI to ``unit``.
        bound: Of ``"saturation"``, in SI.
        band: Of ``"above"``.
        maximum: Greatest value that a policy may have, in ``unit``.
        times: Instead, in units of the baseline's own value in the same episodes.
        why: The argument for the limit.
        known: What the literature says of the animal, with its source.
        complete: Only episodes that do not fail tell: of a fall, say, which does to the body what no policy asked for.
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
            raise ValueError(f"why must argue for the limit of {self.meaning!r}, got ''")
