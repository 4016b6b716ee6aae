"""Tasks: their base class, the data that they declare, and the function that shapes rewards.

Spaces, checks and documentation of an environment are made from the declared data.
"""

from __future__ import annotations

import math
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib import import_module, resources
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gymnosoma.moved import Gone, points

from ..arguments import choice, number, within
from ..kernels.jit import kernel
from ..model.animal import Animal
from ..model.control import Floats, Values
from ..model.quantities import Option
from .hooks import CompiledTask, is_foreign


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
        reason: Text for users, among the ``failures`` of the environment if the episode failed.
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


Rows = NDArray[Any]
"""Records of animals, or of a task's memory of them, one per row."""


@dataclass
class EpisodeStart:
    """Episodes that are about to start in A rows, the argument of `Task.start` and `Task.begin`."""

    task: Task
    rngs: Sequence[np.random.Generator]
    """Generators, one per episode."""
    options: Values
    """Options of the reset, set by the user or drawn by ``randomize``, each with one entry per episode."""
    values: dict[str, Any] = field(default_factory=dict)
    """Start values that `Task.start` returned, for `Task.begin`."""

    def __post_init__(self) -> None:
        self.memory: Rows = np.zeros(len(self.rngs), self.task.memory)
        """Records (A,) of the task's memory, initially zeros."""

    def __len__(self) -> int:
        return len(self.rngs)

    def draw(self, function: Callable[[np.random.Generator], ArrayLike]) -> NDArray[Any]:
        """Return the results (A, ...) of ``function`` for the generator of each episode."""
        return np.array([function(rng) for rng in self.rngs])

    def hidden(self, name: str) -> Floats:
        """Return a hidden option (A,), drawn unless it is set; the generators advance equally in both cases."""
        values = self.draw(lambda rng: self.task.hidden[name].draw(rng, self.task.split))
        return self.options.get(name, values)


@points
class Task(ABC):
    """Base class for tasks; see ``envs/worm/tasks.py`` for examples.

    Tables define the observation (`observation_fields`), the memory (`memory_fields`), the info (`info_fields`),
    ``options``, ``hidden``, ``endings`` and ``arguments``. Their entries add to those of the base classes; an entry of
    None removes one. The first two may be properties, if they depend on arguments. `action_fields` defines the actions
    and ``score`` the score. `start` and `begin` start episodes. They are NumPy code for many rows.

    Five methods run in every step: `command`, `reward`, `ending`, `sense` and `info`. They are written in plain Python
    for one animal and compiled (`hooks.CompiledTask`), with all methods that they call by ``self`` or ``super()``:

    - ``row`` is the record of the animal and ``memory`` that of the task. Hooks read and set their fields.
    - Hooks work on numbers: they loop over the entries of arrays, and do not calculate with whole arrays.
    - ``self.name`` is a constant, a number or an array, and is read once. Conditions on a string, a flag or None are
      evaluated at compilation.
    - Hooks can call kernels and functions of ``math``. `sense` and `info` must not change row or memory.

    The base class of each animal implements most of this.

    Args:
        actions: Action mode, one of ``action_modes``; by default the first.
        control_rate (Hz): Number of actions per second; by default that of the task.
        authority: Share of the residual's whole range that an action of 1 commands, above 0 and at most 1.
        smoothing (s): Time constant of the filter of residual actions, 0 to 10.

    Raises:
        ValueError: If an argument is not allowed.
    """

    action_modes: tuple[str, ...]
    """Action modes, the default first."""
    control_rate: float
    """Number of actions per second, Hz."""
    animal: Animal
    circuit: Animal | None = None
    """Circuit in the loop, which `advance_circuit` advances between `prepare` and `command`."""
    indices: Mapping[str, range] = {}
    """Values of the fields of the memory that are indices or states."""
    options: Mapping[str, Option] = {}
    """Options of the reset, in addition to the animal's parameters."""
    unavailable: Mapping[str, str] = {}
    """Options and parameters that have no effect without other arguments of the task, and these arguments."""
    hidden: Mapping[str, Hidden] = {}
    """Options that are drawn for every episode and not observed; ``split`` divides their ranges."""
    split: str | None = None
    """Part of the hidden options' ranges, one of `SPLITS`; by default all."""
    endings: Mapping[float, Ending] = {}
    """Endings by the code that `ending` returns."""
    score = Score("return")
    physiology: Mapping[str, Measure] = {}
    """Measures of the animal by name, with limits that are set before any training."""
    info_fields: Mapping[str, str] = {"time": "copy"}
    """Fields of the info: the NumPy type of a field that `info` sets, or ``"copy"`` for a field of the memory or the
    row."""
    reward_terms: Mapping[str, str] = {}
    """Terms of the reward, which is their sum, and their formulas for the documentation. `reward` sets
    ``memory.reward_NAME`` for each, and the info has a copy of it."""
    has_terms = True
    """Whether the ``reward_terms`` are those of this reward: not in a user's class that replaces only the reward."""
    authority = 1.0
    """Share of the residual's whole range that an action of 1 commands with ``actions="residual"``."""
    smoothing = 0.0
    """Time constant of the filter of residual actions, s; 0 for none. The task needs the memory field ``action``."""
    compiled = True
    """False runs the hooks as plain Python, so that prints and breakpoints work; the task is much slower."""
    drives = False
    """Whether the values of the action are the drive of the animal."""
    residual_to = "the reference controller, which has zero actions"
    """Target of ``actions="residual"``, for errors."""
    arguments: Mapping[str, str] = {
        "actions": "action mode, see above",
        "control_rate": "actions per second, Hz",
        "authority": 'share of the whole range that an action of 1 has with ``actions="residual"``, above 0, at most 1',
        "smoothing": 'time constant of the filter of actions with ``actions="residual"``, s; 0: none',
    }
    """Meaning of each argument, for the documentation."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in vars(cls):
            if isinstance(before := vars(Task).get(name), Gone):
                before.__get__(None, cls)
        if "reward_terms" in vars(cls):
            cls.has_terms = True
        elif is_foreign(cls) and {"reward", "return_so_far"} & vars(cls).keys():
            cls.has_terms = False
        for name in ("options", "hidden", "endings", "info_fields", "reward_terms", "arguments"):
            entries: dict[Any, Any] = {}
            for table in (*(getattr(base, name, {}) for base in reversed(cls.__bases__)), vars(cls).get(name, {})):
                entries |= table
            setattr(cls, name, {key: entry for key, entry in entries.items() if entry is not None})

    def __init__(
        self,
        actions: str | None = None,
        control_rate: float | None = None,
        authority: float | None = None,
        smoothing: float | None = None,
    ) -> None:
        self.actions = self.action_modes[0] if actions is None else actions
        choice("actions", self.actions, self.action_modes)
        if control_rate is not None:
            usual = type(self).control_rate
            self.control_rate = float(
                within("control_rate", number("control_rate", control_rate), usual / 100, 100 * usual, "Hz")
            )
        if self.actions != "residual":
            self.authority, self.smoothing = 1.0, 0.0
        if authority is not None:
            self.authority = number("authority", authority, above=0, maximum=1)
        if smoothing is not None:
            self.smoothing = number("smoothing", smoothing, minimum=0, maximum=10)
        for name, none in (("authority", 1.0), ("smoothing", 0.0)):
            if self.actions != "residual" and (value := getattr(self, name)) != none:
                raise ValueError(f"{name} needs actions='residual', got {value!r} with actions={self.actions!r}")

    # Definition.

    @property
    def parameters(self) -> dict[str, Option]:
        """Physical parameters of the animal that have an effect in the task."""
        return {name: one for name, one in self.animal.parameters.items() if name not in self.unavailable}

    @property
    def observation_fields(self) -> Mapping[str, Field]:
        """Entries of the observation that the class adds; `layout` has all of them."""
        return {}

    @property
    def memory_fields(self) -> Mapping[str, Any]:
        """Fields of the memory that the class adds, with their NumPy types, such as ``"f8"``."""
        return {}

    def gathered(self, name: str) -> dict[str, Any]:
        """Return the entries of a table that may be a property, of the base classes and the class."""
        entries: dict[str, Any] = {}
        for base in reversed(type(self).__mro__):
            table = vars(base).get(name, {})
            entries |= table.__get__(self) if isinstance(table, property) else table
        return {key: entry for key, entry in entries.items() if entry is not None}

    @abstractmethod
    def action_fields(self, mode: str | None = None) -> dict[str, ActionField]:
        """Return the entries of the action in an action mode, by default in the current one."""

    @cached_property
    def layout(self) -> Layout:
        """All fields of the observation, and their positions."""
        return Layout(self.gathered("observation_fields"))

    @cached_property
    def memory(self) -> np.dtype[Any]:
        """Record type of the memory of a row."""
        terms = dict.fromkeys((f"reward_{name}" for name in self.reward_terms), "f8")
        return np.dtype(list((self.gathered("memory_fields") | terms).items()))

    @property
    def reward_fields(self) -> list[str]:
        """Names of the terms of the reward in the info."""
        return [f"reward_{name}" for name in self.reward_terms] if self.has_terms else []

    @cached_property
    def action_size(self) -> int:
        """Number of entries of an action."""
        return sum(entry.size for entry in self.action_fields().values())

    @cached_property
    def action_bounds(self) -> tuple[Floats, Floats]:
        """Values in SI of actions of -1 and 1 with an ``authority`` of 1, each (action_size,)."""
        fields = self.action_fields().values()
        sizes = [one.size for one in fields]
        return np.repeat([one.low for one in fields], sizes), np.repeat([one.high for one in fields], sizes)

    @cached_property
    def smoothing_weight(self) -> float:
        """Weight of the newest action in the filter of residual actions."""
        return -math.expm1(-1.0 / (self.smoothing * self.control_rate)) if self.smoothing else 1.0

    @cached_property
    def hooks(self) -> CompiledTask:
        """Hooks of the task as loops over rows."""
        return CompiledTask(self, self.compiled)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "hooks"}  # compiled code is not copied

    # Episodes and steps.

    def reset(
        self, rows: Rows, memory: Rows, ids: NDArray[np.int64], rngs: Sequence[np.random.Generator], options: Values
    ) -> None:
        """Start episodes in ``rows[ids]``; ``rngs`` and each of ``options`` have one entry per id."""
        episodes = EpisodeStart(self, rngs, options)
        episodes.values = self.start(episodes)
        physical = {name: options[name] for name in self.animal.parameters if name in options}
        if self.split == "robust":
            physical = self._another_body(episodes) | physical
        self.animal.reset(rows, ids, episodes.values | physical)
        self.begin(episodes, rows[ids])
        memory[ids] = episodes.memory

    def _another_body(self, episodes: EpisodeStart) -> dict[str, Any]:
        """Return the physical parameters that vary, each multiplied by a random factor per episode."""
        usual, body = self.animal.rows(1)[0], {}
        for name in self.randomized_parameters():
            value = np.asarray(episodes.values.get(name, usual[name]))
            factors = episodes.draw(lambda rng: rng.uniform(*BODY))
            body[name] = factors.reshape(-1, *(1,) * np.ndim(usual[name])) * value
        return body

    def randomized_parameters(self) -> list[str]:
        """Return the physical parameters that ``split="robust"`` changes."""
        return [name for name in self.animal.randomized_parameters if name in self.animal.parameters]

    @abstractmethod
    def start(self, episodes: EpisodeStart) -> dict[str, Any]:
        """Draw random numbers, set the memory that depends on them, and return start values of the animal.

        Each start value is for all rows or has one entry per episode. Physical options override them.
        """

    def begin(self, episodes: EpisodeStart, rows: Rows) -> None:
        """Set the memory that depends on the started animals ``rows`` (A,)."""
        return

    def command(self, row: Any, memory: Any, action: Any, drive: Any) -> None:
        """Set the ``drive`` (nu,) in SI from an ``action`` (action_size,) in [-1, 1], before the physics.

        A residual action has been filtered and multiplied by the ``authority``.
        """
        for j in range(len(drive)):
            drive[j] = self.meaning(action, j)

    def prepare(self, row: Any, memory: Any, action: Any) -> None:
        """Set the inputs of a circuit in the loop in the memory; `advance_circuit` is called next."""
        return

    def advance_circuit(self, rows: Rows, memory: Rows) -> None:
        """Advance the circuits of many rows by a control period; NumPy code, called if there is a ``circuit``."""
        return

    def meaning(self, action: Any, j: int) -> Any:
        """Return the value of entry ``j`` of an action in SI."""
        return self.low[j] + 0.5 * (action[j] + 1.0) * (self.high[j] - self.low[j])

    def sense(self, row: Any, memory: Any, observation: Any) -> None:
        """Set the fields of the ``observation`` in SI, each (size,).

        Fields with the name of a field of the memory, or else of the row, are already set to its value.
        """
        return

    @abstractmethod
    def reward(self, row: Any, memory: Any) -> Any:
        """Return the reward; called once after the physics of each period, so it may record progress in the memory."""

    def ending(self, row: Any, memory: Any) -> Any:
        """Return the ending: 0 while the episode continues, else a key of ``endings``."""
        return 0.0

    @cached_property
    def failures(self) -> tuple[str, ...]:
        """Reasons of failures, the animal's before the task's; the first, for no failure, is empty."""
        reasons = [*self.animal.failures.values(), *(each.reason for each in self.endings.values() if not each.success)]
        return ("", *reasons)

    def reason(self, row: Any, ending: float) -> str:
        """Return the text of a failure, one of ``failures``, for an episode that ended with the state ``row``."""
        return self.endings[ending].reason

    def info(self, row: Any, memory: Any, info: Any) -> None:
        """Set the fields of ``info_fields`` that are not copied, in SI."""
        return

    # Conversion between actions and values.

    @property
    def low(self) -> Floats:
        """Values in SI of actions of -1 with an ``authority`` of 1, (action_size,)."""
        return self.action_bounds[0]

    @property
    def high(self) -> Floats:
        """Values in SI of actions of 1 with an ``authority`` of 1, (action_size,)."""
        return self.action_bounds[1]

    def values(self, actions: Floats) -> Floats:
        """Convert actions (B, action_size) to values in SI."""
        low, high = self.action_bounds
        return low + 0.5 * (self.authority * actions + 1.0) * (high - low)

    def action_from_values(self, values: Floats) -> NDArray[np.float32]:
        """Convert ``values`` (B, action_size) in SI to actions, clipped to -1 .. 1."""
        low, high = self.action_bounds
        return clipped((2.0 * (np.asarray(values) - low) / (high - low) - 1.0) / self.authority)

    def action_from_drive(self, drive: Floats) -> NDArray[np.float32]:
        """Convert a drive of the animal (B, nu) in SI to the actions with the closest command.

        Raises:
            ValueError: If actions do not command the drive.
        """
        if not self.drives:
            raise ValueError(
                f"actions={self.actions!r} of {type(self).__name__} do not command the drive of "
                f"{type(self.animal).__name__}: a controller must choose values of the action"
            )
        if self.actions == "residual":
            raise ValueError(f"actions='residual' adds to {self.residual_to}")
        return self.action_from_values(drive)


def load_task(task: str) -> type[Task]:
    """Return the class of a task from its module and name, such as ``"gymnosoma.envs.worm.tasks:Crawl"``."""
    module, _, name = task.partition(":")
    return getattr(import_module(module), name)


def task_arguments(kind: type[Task]) -> dict[str, Any]:
    """Return the arguments of a task and its base classes with their defaults, `inspect.Parameter.empty` if none."""
    arguments = {
        name: parameter.default
        for base in reversed(kind.__mro__)
        if base is not object and "__init__" in vars(base)
        for name, parameter in signature(base).parameters.items()
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    }
    return dict(sorted(arguments.items()))


def clipped(actions: ArrayLike) -> NDArray[np.float32]:
    """Return actions clipped to -1 .. 1, as float32."""
    return np.clip(actions, -1.0, 1.0).astype(np.float32)


@cache
def _read_measures(animal: str) -> Mapping[str, Any]:
    file = resources.files("gymnosoma.assets").joinpath(animal, "physiology.toml")
    return tomllib.loads(file.read_text("utf-8"))


def measures(
    animal: str, task: str, inherited: Mapping[str, Measure] | None = None, **bounds: float
) -> dict[str, Measure]:
    """Read the measures of a task from ``<animal>/physiology.toml``, and add them to the ``inherited`` ones.

    An entry without a ``kind`` changes the inherited measure of the same name. If a ``bound`` or ``maximum`` is a
    string, the number of that name in ``bounds`` is used.
    """
    table = dict(inherited or {})
    for name, entry in _read_measures(animal)[task].items():
        named = {key: bounds[entry[key]] for key in ("bound", "maximum") if isinstance(entry.get(key), str)}
        entry = {**entry, **named}
        table[name] = Measure(**entry) if "kind" in entry else replace(table[name], **entry)
    return table


@kernel
def tolerance(value, low, high, margin, at_margin=0.1):
    """Return 1 inside [low, high] and 1 / (1 + c d^2) at a distance d outside, to shape a reward.

    The result is ``at_margin``, in (0, 1), at a distance of ``margin`` from the bounds. A margin of 0 gives a step.

    Args:
        value, low, high, margin (float)

    Returns:
        float

    Raises:
        ValueError: If the bounds are swapped, the margin is negative or ``at_margin`` is not in (0, 1).
    """
    if not low <= high:
        raise ValueError("low must not exceed high")
    if not margin >= 0.0:
        raise ValueError("margin must be at least 0")
    if not 0.0 < at_margin < 1.0:
        raise ValueError("at_margin must lie in (0, 1)")
    distance = max(max(low - value, value - high), 0.0)
    if margin == 0.0:
        return 0.0 if distance > 0.0 else 1.0
    return 1.0 / (1.0 + (1.0 / at_margin - 1.0) * (distance / margin) ** 2)
