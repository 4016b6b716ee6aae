"""What inverse analysis finds, drawn by the names of joints and muscles."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.core.model.trajectory import Trajectory
from gymnosoma.envs.neuromechanic import Neuromechanic

UNITS = {"activation": "1", "force": "N", "length": "m", "arm": "m", "torque": "N m", "residual": "N m"}
"""What can be drawn: four of muscles, two of joints."""


def draw(animal: Neuromechanic, run: Trajectory, *names: str, joint: str | None = None) -> NDArray[Any]:
    """Draw what `neuromechanic.inverse` finds with matplotlib, a line for each joint that turns, or each muscle.

    What stays below a hundredth of the largest is left out.

    Args:
        animal: Of which it was found.
        run: Of `inverse_dynamics` or `static_optimisation`, which is drawn over its cycle, or of `moment_arms`.
        *names: Of signals, of `UNITS`; a panel for each.
        joint: Over which `moment_arms` were found.

    Returns:
        (panels,) array of Axes: ``[0].figure`` is the figure.

    Raises:
        ValueError: For another signal or joint, or none.
        ImportError: If matplotlib is not installed.
    """
    model = animal.model
    for name in names or ("",):
        if name not in UNITS or name not in run:
            raise ValueError(f"names must be of {', '.join(n for n in UNITS if n in run)}, got {name!r}")
    if joint is not None and joint not in model.bodies:
        raise ValueError(f"joint must be one of {', '.join(model.bodies)}, got {joint!r}")
    try:
        from matplotlib import colormaps, pyplot
    except ImportError:
        raise ImportError("matplotlib is not installed: pip install 'gymnosoma[data]'") from None
    size = 8.0, 1.0 + 2.4 * len(names)
    _, axes = pyplot.subplots(len(names), 1, sharex=True, squeeze=False, figsize=size, layout="constrained")
    turning = np.array([each.revolute for each in model.joints])
    if joint is None:
        places, below = 100.0 * (run.time - run.time[0]) / max(run.time[-1] - run.time[0], 1e-300), "cycle [%]"
    else:
        places, below = run.time, f"{joint} [{'rad' if turning[model.bodies.index(joint)] else 'm'}]"
    for ax, name in zip(axes[:, 0], names, strict=True):
        values, labels = run[name], np.array(model.muscles)
        if UNITS[name] == "N m":
            values, labels = values[:, turning], np.array(model.bodies)[turning]
        largest = np.abs(values).max(0, initial=0.0)
        for i in np.flatnonzero(largest > 0.01 * largest.max(initial=0.0)):
            ax.plot(places, values[:, i], label=labels[i], color=colormaps["tab20"](i % 20))
        ax.set_ylabel(f"{name} [{UNITS[name]}]")
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="x-small", ncols=1 + (len(labels) > 12))
    axes[-1, 0].set_xlabel(below)
    return np.array(axes[:, 0])
