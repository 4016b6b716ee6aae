"""Cat's hindlimb of Bunderson et al. (2012), illustrations 1 and 2, and access to the models of the package.

Here are its posture, its load and its stretch reflex. The constants of bodies and muscles are in
``assets/neuromechanic/hindlimb.toml``, its task is in ``tasks.py``.
"""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.kernels.jit import kernel
from .animal import Neuromechanic
from .model import changed


@cache
def _read(name: str) -> dict[str, Any]:
    with resources.files("gymnosoma.assets").joinpath(f"neuromechanic/{name}.toml").open("rb") as file:
        return tomllib.load(file)


def asset(name: str) -> dict[str, Any]:
    """Return a model of the package as a new dict: ``arm``, ``hindlimb``, ``hopper``, ``spindle`` or ``standing``."""
    return copy.deepcopy(_read(name))


def kept_pattern(name: str) -> NDArray[np.float64]:
    """Read an excitation pattern that holds the limb from ``assets/neuromechanic/NAME.txt``."""
    with resources.files("gymnosoma.assets").joinpath("neuromechanic", f"{name}.txt").open(encoding="utf-8") as file:
        return np.loadtxt(file)


POSTURE = np.array([-0.86954, 0.09612, -0.15273, -1.54617, 0.29456, -0.65812, -0.20718])
"""Joint angles, mean of three standing cats (Sohn et al., 2013), rad."""

PAW_FORCE = 8.5 * np.array([np.sin(np.deg2rad(35.0)), np.cos(np.deg2rad(35.0)), 0.0])
"""Force of the ground on the paw, N. The paw pushes with 8.5 N, 35 degrees backward of straight down."""


STRETCH, RATE = 20.0, 0.5
"""Gains of the stretch reflex: excitation per stretch (1/m) and per rate of stretch (s/m) of a muscle.

They are the pair from a grid that holds the limb best with the reflex delay; higher gains are worse.
"""

STRETCH_DELAY = 0.01
"""Delay of the stretch reflex, s: 8 ms, rounded up to the next 10 ms.

Source: Prochazka et al. (1977, J Physiol 272:705-719), from the start of lengthening of the lateral gastrocnemius to
its activity in landing cats.
"""

LARGEST_REFLEX = 0.25
"""Largest magnitude of the excitation from the stretch reflex."""


@kernel
def stretch_reflex(arm, angle, rate, stretch_gain=STRETCH, rate_gain=RATE):
    """Return the excitation that the stretch reflex of a muscle adds to a pattern.

    Args:
        arm ((n,) float, m): Moment arms, shortening of the muscle per joint angle.
        angle ((n,) float, rad): Joint angles relative to the reference posture of the reflex.
        rate ((n,) float, rad/s): Joint rates.
        stretch_gain (1/m), rate_gain (s/m): Gains of the reflex.

    Returns:
        float: Excitation, within +-`LARGEST_REFLEX`.
    """
    shortening = 0.0
    for i in range(len(arm)):
        shortening += (stretch_gain * angle[i] + rate_gain * rate[i]) * arm[i]
    return min(max(-shortening, -LARGEST_REFLEX), LARGEST_REFLEX)


def hindlimb(
    stiffness: float | None = None,
    posture: NDArray[np.float64] = POSTURE,
    viscosity: float | None = None,
    params: Mapping[str, Any] | str | Path | None = None,
) -> dict[str, Any]:
    """Return the description of a cat's hindlimb for `Neuromechanic`; Bunderson et al. (2012), section 3.1.

    Args:
        stiffness: Short-range stiffness of all muscles, maximal forces per optimal length; the asset's by default.
        posture ((7,) float, rad): Start posture, where muscles have their reference length.
        viscosity: Viscosity of all muscles, maximal forces times seconds per optimal length; the asset's by default.
        params (mapping or path of a TOML file): Changes to the asset, see `model.changed`. Reference lengths and the
            position of the paw are recomputed, unless ``params`` sets them.
    """
    model = changed(asset("hindlimb"), params)
    bodies = model["body"].values()
    for body, angle in zip(bodies, posture, strict=True):
        body["joint"]["start"] = float(angle)
    for name, value in (("stiffness", stiffness), ("viscosity", viscosity)):
        if value is not None:
            for muscle in model["muscle"].values():
                muscle["model"][name] = value
    animal = Neuromechanic(model)
    k = animal.mechanics(animal.rows(1))
    for muscle, length in zip(model["muscle"].values(), k["length"], strict=True):
        muscle["model"]["reference_length"] = float(length)
    # The paw is pinned at its position but can rotate, which leaves four of seven degrees of freedom.
    paw, at = model["wrench"]["paw"]["body"], model["wrench"]["paw"]["at"]
    place = k["origin"][-1] + k["turn"][-1] @ at
    model["pin"] = {"paw": {"point": [paw, *at], "to": ["ground", *place.tolist()], "rate": 200.0}}
    return changed(model, params)


class PushedLimb(Neuromechanic):
    """Limb without the parameter ``wrench``, because its task sets the wrench."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.parameters = {name: option for name, option in self.parameters.items() if name != "wrench"}
