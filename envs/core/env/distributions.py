"""What is drawn anew for every episode: distributions of parameters and options."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import number, numbers, shown
from ..model.quantities import Option

FORMS = "(low, high), a Uniform, LogUniform, Normal or Choice, or a function of a generator"


class Distribution(ABC):
    """What ``randomize`` draws a parameter or option from, once for every episode, by the row's own generator."""

    each: bool
    """Whether every entry of what has a shape is drawn alone."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, size: Any = ()) -> ArrayLike:
        """Draw numbers."""

    @abstractmethod
    def ends(self) -> ArrayLike:
        """Values between which, both included, all that is drawn lies."""


@dataclass(frozen=True)
class Uniform(Distribution):
    """Evenly between two values, as the pair ``(low, high)`` says it, too.

    Args:
        each: Draw every entry of what has a shape alone, instead of one number for all.
    """

    low: float
    high: float
    each: bool = False

    def __post_init__(self) -> None:
        _ordered(self.low, self.high)

    def draw(self, rng: np.random.Generator, size: Any = ()) -> ArrayLike:  # noqa: D102
        return rng.uniform(self.low, self.high, size)

    def ends(self) -> ArrayLike:  # noqa: D102
        return self.low, self.high


@dataclass(frozen=True)
class LogUniform(Uniform):
    """Evenly in the logarithm between two values above 0; see `Uniform`."""

    def __post_init__(self) -> None:
        number("low", self.low, above=0)
        super().__post_init__()

    def draw(self, rng: np.random.Generator, size: Any = ()) -> ArrayLike:  # noqa: D102
        values = np.exp(rng.uniform(np.log(self.low), np.log(self.high), size))
        return np.clip(values, self.low, self.high)  # what is rounded stays within


@dataclass(frozen=True)
class Normal(Distribution):
    """Normal, cut off at two values, between which the mean lies; see `Uniform`.

    Args:
        deviation: Standard deviation of what is not cut off.
    """

    mean: float
    deviation: float
    low: float
    high: float
    each: bool = False

    def __post_init__(self) -> None:
        number("deviation", self.deviation, above=0)
        _ordered(self.low, self.high)
        number("mean", self.mean, minimum=self.low, maximum=self.high)

    def draw(self, rng: np.random.Generator, size: Any = ()) -> ArrayLike:  # noqa: D102
        from scipy.special import ndtr, ndtri  # what draws evenly needs no scipy

        places = ndtr((np.array([self.low, self.high]) - self.mean) / self.deviation)
        values = self.mean + self.deviation * ndtri(rng.uniform(places[0], places[1], size))
        return np.clip(values, self.low, self.high)

    def ends(self) -> ArrayLike:  # noqa: D102
        return self.low, self.high


@dataclass(frozen=True)
class Choice(Distribution):
    """One of some values.

    Args:
        values: Numbers, or arrays of the shape of what is drawn.
        weights: How likely each is, in any unit; all alike by default.
        each: As of `Uniform`, of values that are numbers.
    """

    values: Sequence[ArrayLike]
    weights: Sequence[float] | None = None
    each: bool = False

    def __post_init__(self) -> None:
        values = numbers("values", self.values)  # type: ignore[arg-type]
        if not values.ndim or not len(values) or (self.each and values.ndim > 1):
            raise ValueError(f"values must be a list of numbers, or of arrays without each, got {shown(self.values)}")
        if self.weights is not None:
            weights = numbers("weights", self.weights, minimum=0)
            if weights.shape != values.shape[:1] or not 0.0 < weights.sum() < np.inf:
                raise ValueError(f"weights must be {len(values)} numbers, not all 0, got {shown(self.weights)}")

    def draw(self, rng: np.random.Generator, size: Any = ()) -> ArrayLike:  # noqa: D102
        weights = None if self.weights is None else np.divide(self.weights, np.sum(self.weights))
        return np.asarray(self.values, float)[rng.choice(len(self.values), size or None, p=weights)]

    def ends(self) -> ArrayLike:  # noqa: D102
        return self.values  # type: ignore[return-value]


def _ordered(low: Any, high: Any) -> None:
    if number("low", low) > number("high", high):
        raise ValueError(f"low must not exceed high, got {shown(low)} and {shown(high)}")


Distributions = Mapping[str, Distribution | Callable[[np.random.Generator], ArrayLike]]
"""What is drawn for an episode, by name: checked."""


def read_distributions(randomize: Any, option: Callable[[str, str], Option], alone: Container[str]) -> Distributions:
    """Check the distributions of ``randomize``.

    Args:
        option: Gives the `Option` of a label for errors and a name, which must be known.
        alone: Names of options of which one number may stand for all entries.

    Raises:
        ValueError: For what is no distribution of an option's values, naming it.
    """
    if not isinstance(randomize, Mapping):
        raise ValueError(f"randomize must map names to (low, high), got {shown(randomize)}")
    checked: dict[str, Any] = {}
    for name, one in randomize.items():
        label = f"randomize: {name}"
        if callable(one):
            option(label, name)
            checked[name] = one
            continue
        if not isinstance(one, Distribution):
            if not isinstance(one, Sequence | np.ndarray) or getattr(one, "ndim", 1) == 0 or len(one) != 2:
                raise ValueError(f"{label} must be {FORMS}, got {shown(one)}")
            pair = option(label, name).check(label, one)
            if pair.shape != (2,) or pair[0] > pair[1]:
                raise ValueError(f"{label} must be (low, high) of a scalar, got {shown(one)}")
            one = Uniform(float(pair[0]), float(pair[1]))
        setting = option(label, name)
        ends = setting.check(label, one.ends())
        if ends.ndim > 1:
            setting.spread(label, ends[0], 1)
        elif setting.shape and not one.each and name not in alone:
            raise ValueError(f"{label} must be (low, high) of a scalar, or drawn with each=True, got {shown(one)}")
        checked[name] = one
    return checked


def drawn(
    randomize: Distributions, rngs: Sequence[np.random.Generator], option: Callable[[str, str], Option]
) -> dict[str, NDArray[np.float64]]:
    """Draw options, each with an entry for every generator; what a function gives is checked."""
    values: dict[str, list[Any]] = {name: [] for name in randomize}
    for rng in rngs:
        for name, one in randomize.items():
            setting = option(name, name)
            if isinstance(one, Distribution):
                number_or_all = one.draw(rng, setting.shape if one.each else ())
                values[name].append(np.broadcast_to(number_or_all, setting.shape))
            else:
                values[name].append(setting.spread(f"randomize: {name}", one(rng), 1)[0])
    return {name: np.array(each) for name, each in values.items()}
