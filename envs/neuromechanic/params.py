"""Physical parameters of a model that a row may change: factors on what the model states."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..core.arguments import numbers
from ..core.spec import Option

PHYSICAL = {
    "strength": Option(0.0, np.inf, "1", "factor on the maximal forces of muscles"),
    "mass": Option(0.0, np.inf, "1", "factor on masses and inertias"),
    "damping": Option(0.0, np.inf, "1", "factor on the damping of joints"),
    "friction": Option(0.0, np.inf, "1", "factor on the friction of contacts"),
    "delay": Option(0.0, 1.0, "1", "factor on the delays of synapses, each of which stays a time step at least"),
}
"""One number per row each. An animal has those that its model has a use for; its least delay depends on its steps."""


def check_parameter(name: str, value: ArrayLike, low: float = 0.0) -> None:
    """Raise ValueError unless a factor is finite, at least ``low``, that of the mass above 0, of delays at most 1."""
    above, least = (0, None) if name == "mass" else (None, low)
    numbers(name, value, above, least, 1 if name == "delay" else None)
