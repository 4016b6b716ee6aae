"""Who may drive: a `Controller` drives an animal, a `TaskController` plays a task.

Both name what they read, so that it is checked once, before anything moves, and not found out in the middle.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@runtime_checkable
class Controller(Protocol):
    """An animal's own controller: its drive in SI, from time and what is sensed.

    In `simulate` it reads the animal's signals, in an environment the fields of the observation, which have the
    same names where they are the same quantities.
    """

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of the signals that ``drive`` reads."""

    def drive(
        self, t: NDArray[np.float64], signals: Mapping[str, NDArray[np.float64]], first: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Drive (B, nu) at times ``t`` (B,) s; ``first`` (B,) marks rows that begin an episode."""


@runtime_checkable
class TaskController(Protocol):
    """Plays a task whose actions are more, or other, than the drive of its animal: answers, a moving plate."""

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of the fields of the observation that ``choose`` reads."""

    def choose(
        self, t: NDArray[np.float64], fields: Mapping[str, NDArray[np.float64]], first: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Values of the action in SI (B, action_size), in the order of ``task.action_fields()``."""


def check_reads(controller: Any, known: Iterable[str], where: str) -> None:
    """Raise ValueError, which names what is missing, unless all that a controller reads is ``known``.

    Parameters
    ----------
    controller : Controller or TaskController
    known : names
    where : str
        Who offers them, such as ``"Worm senses"``.
    """
    names = tuple(known)
    missing = [name for name in controller.reads if name not in names]
    if missing:
        raise ValueError(
            f"controller {type(controller).__name__} reads {', '.join(map(repr, missing))}; {where} only "
            f"{', '.join(names)}"
        )
