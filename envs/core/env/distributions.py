"""Distributions of parameters and options that are drawn for every episode."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import choice, number, numbers, shown
from ..model.quantities import Option

FORMS = "(low, high), a Uniform, LogUniform, Normal or Choice, a mapping of one, or a function of a generator"


class Distribution(ABC):
    """Distribution of a parameter or option in ``randomize``; each row draws from its own generator."""

    each: bool
    """Whether the entries of an array are drawn independently."""

    @property
    def description(self) -> dict[str, Any]:
        """The distribution as plain data: its ``distribution`` (name of the class) and its arguments."""
        return {"distribution": type(self).__name__, **vars(self)}

    @abstractmethod
    def draw(self, rng: np.random.Generator, size: Any = ()) -> ArrayLike:
        """Draw numbers."""

    @abstractmethod
    def ends(self) -> ArrayLike:
        """Return the bounds of all draws, or all possible values."""


@dataclass(frozen=True)
class Uniform(Distribution):
    """Uniform distribution between two values; ``(low, high)`` is short for it.

    Args:
        each: Draw the entries of an array independently; False draws one number for all.
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
    """Log-uniform distribution between two values above 0; see `Uniform`."""

    def __post_init__(self) -> None:
        number("low", self.low, above=0)
        super().__post_init__()

    def draw(self, rng: np.random.Generator, size: Any = ()) -> ArrayLike:  # noqa: D102
        values = np.exp(rng.uniform(np.log(self.low), np.log(self.high), size))
        return np.clip(values, self.low, self.high)  # rounding errors


@dataclass(frozen=True)
class Normal(Distribution):
    """Normal distribution truncated to two values, with the mean between them; see `Uniform`.

    Args:
        deviation: Standard deviation before truncation.
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
        from scipy.special import ndtr, ndtri  # other distributions do not need scipy

        places = ndtr((np.array([self.low, self.high]) - self.mean) / self.deviation)
        values = self.mean + self.deviation * ndtri(rng.uniform(places[0], places[1], size))
        return np.clip(values, self.low, self.high)

    def ends(self) -> ArrayLike:  # noqa: D102
        return self.low, self.high


@dataclass(frozen=True)
class Choice(Distribution):
    """Distribution over a list of values.

    Args:
        values: Numbers, or arrays with the shape of the option.
        weights: Relative probabilities; equal by default.
        each: As for `Uniform`, if the values are numbers.
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


_KINDS = {kind.__name__: kind for kind in (Uniform, LogUniform, Normal, Choice)}


def _made(label: str, distribution: Any = None, **arguments: Any) -> Distribution:
    """Make a distribution from its `Distribution.description`."""
    choice(f"{label}: distribution", distribution, _KINDS)
    try:
        return _KINDS[distribution](**arguments)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{label}: {error}") from None


Distributions = Mapping[str, Distribution | Callable[[np.random.Generator], ArrayLike]]
"""Checked distributions by name."""


def read_distributions(randomize: Any, option: Callable[[str, str], Option], alone: Container[str]) -> Distributions:
    """Check the distributions of ``randomize``.

    Args:
        option: Function from a label for errors and a name to the `Option`; raises ValueError if it is unknown.
        alone: Names of array options that accept one number for all entries.

    Raises:
        ValueError: If a distribution is invalid for its option; the message names it.
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
        if isinstance(one, Mapping):
            one = _made(label, **one)
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
    """Draw options with an entry for every generator; results of functions are checked."""
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
