"""Physical parameters of a row: factors on values of the model, wrenches, and motion of the ground.

They are what resets, events and ``randomize`` can change. All other constants belong to the model, see ``model``.
"""

from __future__ import annotations

from ..core.model.quantities import Option

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
