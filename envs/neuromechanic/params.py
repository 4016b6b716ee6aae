"""Physical parameters of a row: factors on values of the model, wrenches, and motion of the ground.

They are what resets, events and ``randomize`` can change. All other constants belong to the model, see ``model``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..core.model.quantities import Option

if TYPE_CHECKING:
    from .model import Model

PHYSICAL = {
    "strength": Option(0.0, 100.0, "1", "factor on the maximal forces of muscles"),
    "mass": Option(0.01, 100.0, "1", "factor on masses and inertias"),
    "damping": Option(0.0, 100.0, "1", "factor on the damping of joints"),
    "friction": Option(0.0, 100.0, "1", "factor on the friction of contacts"),
    "delay": Option(0.0, 1.3, "1", "factor on the delays of synapses, which stay at least one time step"),
}
"""Parameters with one number per row. A model has those that affect it; the lower limit of ``delay`` depends on dt."""

WRENCH = Option(-1e6, 1e6, "N, N m", "force and moment of each wrench of the model")
"""External forces and moments on a row, in the order of ``model.wrenches``."""

PULSE = Option(-1e9, 1e9, "s, s, m/s^2", "onset, duration and peak of each pulse of the platform's acceleration")
"""Motion of the ground, in the order of the model's pulses. A pulse without duration does not move it."""


def row_parameters(model: Model, dt: float) -> dict[str, Option]:
    """Return the parameters of the rows of a model with time steps of ``dt`` (s): those that affect the model."""
    counts = model.counts
    idle = {
        name
        for name, part in (("strength", "muscles"), ("friction", "contacts"), ("delay", "delays"))
        if counts[part] == 0
    }
    if counts["touches"]:
        idle.discard("friction")
    if not model.arrays["damping"].any():
        idle.add("damping")
    parameters = {name: option for name, option in PHYSICAL.items() if name not in idle}
    if "delay" in parameters:  # no shorter than one time step
        shortest = model.delays[model.delays > 0.0].min()
        parameters["delay"] = replace(PHYSICAL["delay"], low=float(f"{dt / shortest:.6g}"))
    if counts["wrenches"]:
        parameters["wrench"] = replace(WRENCH, shape=(counts["wrenches"], 6))
    if counts["pulses"]:
        parameters["pulse"] = replace(PULSE, shape=(counts["pulses"], 3))
    return parameters
