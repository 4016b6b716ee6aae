"""Physical parameters of a model that a row may change: factors on what the model states."""

from __future__ import annotations

from ..core.model.quantities import Option

PHYSICAL = {
    "strength": Option(0.0, 100.0, "1", "factor on the maximal forces of muscles"),
    "mass": Option(0.01, 100.0, "1", "factor on masses and inertias"),
    "damping": Option(0.0, 100.0, "1", "factor on the damping of joints"),
    "friction": Option(0.0, 100.0, "1", "factor on the friction of contacts"),
    "delay": Option(0.0, 1.3, "1", "factor on the delays of synapses, each of which stays a time step at least"),
}
"""One number per row each. An animal has those that its model has a use for; its least delay depends on its steps."""

WRENCH = Option(-1e6, 1e6, "N, N m", "force and moment of each wrench of the model")
"""The external forces on a row, in the order of ``model.wrenches``."""
