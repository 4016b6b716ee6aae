"""The cat's hindlimb of illustrations 1 and 2, and other models that come with the package."""

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
    """Model of the package, ``arm``, ``hindlimb``, ``hopper``, ``spindle`` or ``standing``, as a dict to be changed."""
    return copy.deepcopy(_read(name))


POSTURE = np.array([-0.86954, 0.09612, -0.15273, -1.54617, 0.29456, -0.65812, -0.20718])
"""Mean of the postures of three standing cats, Sohn et al. (2013), rad."""

PAW_FORCE = 8.5 * np.array([np.sin(np.deg2rad(35.0)), np.cos(np.deg2rad(35.0)), 0.0])
"""Force of the ground on the paw, N: the paw pushes 35 degrees backward of straight down."""


STRETCH, RATE = 20.0, 0.5
"""Gains of the stretch reflex, 1/m and s/m: excitation for a muscle that is longer, and that lengthens.

With these the limb is held best of a grid of pairs; a delay allows no more.
"""

STRETCH_DELAY = 0.01
"""Delay of the stretch reflex, s: the 8 ms that Prochazka et al. (1977, J Physiol 272:705-719) saw in cats that land,
from when the lateral gastrocnemius begins to lengthen to its activity, and what is lost until the next hundredth."""

LARGEST_REFLEX = 0.25
"""Excitation that the stretch reflex adds or takes at most."""


@kernel
def stretch_reflex(arm, angle, rate, stretch_gain=STRETCH, rate_gain=RATE):
    """Give the excitation that a muscle's own stretch, and its rate, add to a pattern.

    Args:
        arm ((n,) float, m): Moment arms: the muscle shortens by so much in a radian.
        angle, rate ((n,) float, rad and rad/s): Of the joints, from the posture in which nothing is stretched.
        stretch_gain (1/m)
        rate_gain (s/m)
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
    """Description of the hindlimb of a cat, for `Neuromechanic`; Bunderson et al. (2012), section 3.1.

    Args:
        stiffness: Short-range stiffness of all muscles, in maximal forces per optimal length; the asset's otherwise.
        posture ((7,) float, rad): In which the limb starts and the muscles have their reference length.
        viscosity: Of all muscles, in maximal forces times seconds per optimal length; the asset's otherwise.
        params (mapping or path of a TOML file): Values of the asset that are to be others, see `model.changed`.
            Reference lengths and the paw's place follow from them, unless they are given themselves.
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
    # The paw is pinned where it is, free to turn: four of seven degrees of freedom are left.
    paw, at = model["wrench"]["paw"]["body"], model["wrench"]["paw"]["at"]
    place = k["origin"][-1] + k["turn"][-1] @ at
    model["pin"] = {"paw": {"point": [paw, *at], "to": ["ground", *place.tolist()], "rate": 200.0}}
    return changed(model, params)
