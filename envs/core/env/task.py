"""What a task is, and the function that shapes the rewards of all tasks."""

from __future__ import annotations

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

from ..arguments import choice, number, within
from ..kernels.jit import kernel
from ..model.animal import Animal
from ..model.control import Floats, Values
from ..model.quantities import Option
from .hooks import Hooks
from .spec import BODY, ActionField, Ending, Field, Hidden, Layout, Measure, ModeLayout, Score

Rows = NDArray[Any]
"""Records of animals or of what a task remembers of them, one for each row."""


@dataclass
class EpisodeStart:
    """Episodes about to start, one for each of A rows: what `Task.start` and `Task.begin` are given."""

    rngs: Sequence[np.random.Generator]
    """Generators, one for each episode."""
    options: Values
    """Options that were given or drawn by ``randomize``, each with an entry for each episode."""
    memory: Rows
    """Records (A,) of the task's ``memory``: zeros, to be set."""
    ranges: Mapping[str, Hidden]
    """What hidden options are drawn from, of which ``split`` names a part."""
    split: str | None = None
    values: dict[str, Any] = field(default_factory=dict)
    """What `Task.start` gave, for `Task.begin`."""

    def __len__(self) -> int:
        return len(self.rngs)

    def draw(self, function: Callable[[np.random.Generator], ArrayLike]) -> NDArray[Any]:
        """Draw by ``function`` from the generator of each episode, (A, ...)."""
        return np.array([function(rng) for rng in self.rngs])

    def hidden(self, name: str) -> Floats:
        """Return a hidden option (A,), drawn unless it is set; the generators advance equally either way."""
        values = self.draw(lambda rng: self.ranges[name].draw(rng, self.split))
        return self.options.get(name, values)


class Task(ABC):
    """What an environment asks of a task; ``envs/worm/tasks.py`` holds examples.

    Tables say what a task observes (``observes``), what actions mean (`action_fields`), what it remembers of a row
    (``remembers``), what it tells (``reported`` and ``informs``), its ``options``, ``endings`` and ``score``. `start`
    and `begin` start episodes: they are NumPy code for many rows.

    Five methods run in every step: `command`, `reward`, `ending`, `sense` and `info`. They are plain Python for one
    animal, and are compiled (`hooks.Hooks`), together with all methods that they call by ``self`` or ``super()``:

    - ``row`` is the record of the animal, ``memory`` that of what the task remembers. Hooks read and set their fields.
    - They work on numbers. They loop over the entries of arrays, and do not calculate with whole arrays.
    - ``self.name`` is a constant: a number or an array. It is read once. A condition on a word, a flag or None decides
      what is compiled.
    - They call kernels and functions of ``math``. `sense` and `info` change neither row nor memory.

    Each animal has a base class that does most of it.

    Of the arguments that all tasks have, ``actions`` is one of ``action_modes``, by default the first, and
    ``control_rate`` (Hz) stands instead of the task's; others are refused with a ValueError.
    """

    action_modes: tuple[str, ...]
    """What actions may mean, the default first."""
    control_rate: float
    """Actions a second, Hz."""
    animal: Animal
    observes: Mapping[str, Field] = {}
    """Entries of the observation, added to those of the base classes."""
    remembers: Mapping[str, str] = {}
    """What is remembered of a row, likewise, in NumPy's names of types: ``"f8"``, ``"2f8"``, ``"({self.size},)f8"``."""
    options: Mapping[str, Option] = {}
    """Options of the reset beside the animal's parameters."""
    unavailable: Mapping[str, str] = {}
    """Options that the task has with other arguments, and what they need."""
    derived: Sequence[str] = ()
    """Physical parameters of the animal that follow from the task's options, beside which they cannot be given."""
    hidden: Mapping[str, Hidden] = {}
    """Options that are drawn for every episode and not shown; ``split`` divides their ranges."""
    split: str | None = None
    """Part of what is drawn for an episode, one of `SPLITS`; all by default."""
    observed_modes: int | None = None
    """Cosines by which fields along the body are observed, with ``observation="modes"``."""
    endings: Mapping[float, Ending] = {}
    """What the codes of `ending` mean."""
    score = Score("return")
    physiology: Mapping[str, Measure] = {}
    """What is measured of the animal, by name, and its limits, which are fixed before anything is trained."""
    reported: Sequence[str] = ("time",)
    """Fields of the memory, or else of the animal's rows, that are copied into the info."""
    informs: Mapping[str, str] = {}
    """What `info` sets, likewise, added to what the base classes set."""
    compiled = True
    """False runs the hooks as plain Python, so that prints and breakpoints work; the task is much slower."""
    drives = False
    """Whether values of the action are the drive of the animal."""
    residual_to = "the reference controller, whose own action is zero"
    """What ``actions="residual"`` adds to, for errors."""
    arguments: Mapping[str, str] = {"actions": "what actions mean, see above", "control_rate": "actions a second, Hz"}
    """What each argument means, for the documentation."""

    def __init__(self, actions: str | None = None, control_rate: float | None = None) -> None:
        self.actions = self.action_modes[0] if actions is None else actions
        choice("actions", self.actions, self.action_modes)
        if control_rate is not None:
            usual = type(self).control_rate
            self.control_rate = float(
                within("control_rate", number("control_rate", control_rate), usual / 100, 100 * usual, "Hz")
            )

    # What it is made of.

    def gathered(self, name: str) -> dict[str, Any]:
        """Entries of a table of the class and its bases, theirs first."""
        return {key: value for base in reversed(type(self).__mro__) for key, value in vars(base).get(name, {}).items()}

    def fields(self) -> dict[str, Field]:
        """Entries of the observation, in order; by default what the class and its bases say in ``observes``."""
        return self.gathered("observes")

    @abstractmethod
    def action_fields(self, mode: str | None = None) -> dict[str, ActionField]:
        """Entries of the action with an action mode, that in force by default."""

    def memory_fields(self) -> list[tuple[Any, ...]]:
        """What is remembered of a row, as fields of a dtype; by default what class and bases say in ``remembers``."""
        return [(name, form.format(self=self)) for name, form in self.gathered("remembers").items()]

    @cached_property
    def layout(self) -> Layout:
        """Places of the fields in the observation."""
        fields = self.fields()
        return ModeLayout(fields, self.observed_modes) if self.observed_modes else Layout(fields)

    @cached_property
    def memory(self) -> np.dtype[Any]:
        """Record of what is remembered of a row."""
        return np.dtype(self.memory_fields())

    @cached_property
    def action_size(self) -> int:
        """Numbers of an action."""
        return sum(entry.size for entry in self.action_fields().values())

    @cached_property
    def action_bounds(self) -> tuple[Floats, Floats]:
        """What -1 and 1 mean in SI, each (action_size,)."""
        fields = self.action_fields().values()
        sizes = [one.size for one in fields]
        return np.repeat([one.low for one in fields], sizes), np.repeat([one.high for one in fields], sizes)

    @cached_property
    def hooks(self) -> Hooks:
        """The hooks as loops over rows."""
        return Hooks(self, self.compiled)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "hooks"}  # compiled code is not copied

    # What it does.

    def reset(
        self, rows: Rows, memory: Rows, ids: NDArray[np.int64], rngs: Sequence[np.random.Generator], options: Values
    ) -> None:
        """Start an episode in ``rows[ids]``; ``rngs`` and each of ``options`` have an entry per id."""
        episodes = EpisodeStart(rngs, options, np.zeros(len(ids), self.memory), self.hidden, self.split)
        episodes.values = self.start(episodes)
        physical = {name: options[name] for name in self.animal.parameters if name in options}
        if self.split == "robust":
            physical = self._another_body(episodes) | physical
        self.animal.reset(rows, ids, episodes.values | physical)
        self.begin(episodes, rows[ids])
        memory[ids] = episodes.memory

    def _another_body(self, episodes: EpisodeStart) -> dict[str, Any]:
        """Physical parameters, each multiplied by a factor of its own in every episode."""
        usual, body = self.animal.rows(1)[0], {}
        for name in self.varied():
            value = np.asarray(episodes.values.get(name, usual[name]))
            factors = episodes.draw(lambda rng: rng.uniform(*BODY))
            body[name] = factors.reshape(-1, *(1,) * np.ndim(usual[name])) * value
        return body

    def varied(self) -> list[str]:
        """Physical parameters that ``split="robust"`` changes."""
        return [name for name in self.animal.varied if name in self.animal.parameters and name not in self.derived]

    @abstractmethod
    def start(self, episodes: EpisodeStart) -> dict[str, Any]:
        """Draw random numbers, set the memory that depends on them, and give start values of the animal.

        Each value is for all rows or has an entry per episode; physical options are added to them.
        """

    def begin(self, episodes: EpisodeStart, rows: Rows) -> None:
        """Set memory that depends on the animals as they have been started, ``rows`` (A,)."""
        return

    def command(self, row: Any, memory: Any, action: Any, drive: Any) -> None:
        """Set the ``drive`` (nu,) in SI from an ``action`` (action_size,) in [-1, 1], before the physics."""
        for j in range(len(drive)):
            drive[j] = self.meaning(action, j)

    @property
    def circuit_in_loop(self) -> bool:
        """Whether a circuit of the task's own runs between `prepare` and `command`."""
        return False

    def prepare(self, row: Any, memory: Any, action: Any) -> None:
        """Set in the memory what a circuit in the loop needs, which then runs by `advance_circuit`."""
        return

    def advance_circuit(self, rows: Rows, memory: Rows) -> None:
        """Advance circuits of many rows by a control period; NumPy code, called if ``circuit_in_loop``."""
        return

    def meaning(self, action: Any, j: int) -> Any:
        """What entry ``j`` of an action means in SI."""
        return self.low[j] + 0.5 * (action[j] + 1.0) * (self.high[j] - self.low[j])

    def sense(self, row: Any, memory: Any, observation: Any) -> None:
        """Set the fields of the ``observation`` in SI, each (size,).

        Those that the memory, or else the row, holds under the name of the field are set already.
        """
        return

    @abstractmethod
    def reward(self, row: Any, memory: Any) -> Any:
        """Give the reward; called once after the physics of each period, so it may keep progress in memory."""

    def ending(self, row: Any, memory: Any) -> Any:
        """Give the ending: 0 while the episode goes on, else a key of ``endings``."""
        return 0.0

    def info(self, row: Any, memory: Any, info: Any) -> None:
        """Set physical quantities in SI, those of ``informs``."""
        return

    # Actions to values and back.

    @property
    def low(self) -> Floats:
        """What -1 means in SI, (action_size,)."""
        return self.action_bounds[0]

    @property
    def high(self) -> Floats:
        """What 1 means in SI, (action_size,)."""
        return self.action_bounds[1]

    def values(self, actions: Floats) -> Floats:
        """What actions (B, action_size) mean in SI."""
        low, high = self.action_bounds
        return low + 0.5 * (actions + 1.0) * (high - low)

    def action_from_values(self, values: Floats) -> NDArray[np.float32]:
        """Action (B, action_size) that means ``values`` (B, action_size) in SI, clipped to what is possible."""
        low, high = self.action_bounds
        return clipped(2.0 * (np.asarray(values) - low) / (high - low) - 1.0)

    def action_from_drive(self, drive: Floats) -> NDArray[np.float32]:
        """Action whose command comes closest to a drive of the animal (B, nu) in SI; ValueError where there is none."""
        if not self.drives:
            raise ValueError(
                f"actions={self.actions!r} of {type(self).__name__} do not command the drive of "
                f"{type(self.animal).__name__}: a controller must choose values of the action"
            )
        if self.actions == "residual":
            raise ValueError(f"actions='residual' adds to {self.residual_to}")
        return self.action_from_values(drive)


def load_task(task: str) -> type[Task]:
    """Class of a task from its module and name, as in ``"gymnosoma.envs.worm.tasks:Crawl"``."""
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
    """Actions as an environment takes them."""
    return np.clip(actions, -1.0, 1.0).astype(np.float32)


@cache
def _read_measures(animal: str) -> Mapping[str, Any]:
    file = resources.files("gymnosoma.assets").joinpath(animal, "physiology.toml")
    return tomllib.loads(file.read_text("utf-8"))


def measures(
    animal: str, task: str, inherited: Mapping[str, Measure] | None = None, **bounds: float
) -> dict[str, Measure]:
    """Read the measures of a task for its ``physiology``: inherited ones, and its own of ``<animal>/physiology.toml``.

    An entry without a ``kind`` changes the inherited measure of its name; a ``bound`` or ``maximum`` that is a word is
    the number of that name in ``bounds``.
    """
    table = dict(inherited or {})
    for name, entry in _read_measures(animal)[task].items():
        named = {key: bounds[entry[key]] for key in ("bound", "maximum") if isinstance(entry.get(key), str)}
        entry = {**entry, **named}
        table[name] = Measure(**entry) if "kind" in entry else replace(table[name], **entry)
    return table


@kernel
def tolerance(value, low, high, margin, at_margin=0.1):
    """Reward shaping: 1 inside [low, high], falling smoothly outside: 1 / (1 + c d^2) of the distance d.

    The result is ``at_margin``, in (0, 1), at a distance of ``margin`` from the bounds; a margin of 0 gives a step.

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
