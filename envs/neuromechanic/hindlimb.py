"""The cat's hindlimb of illustrations 1 and 2, and other models that come with the package."""

from __future__ import annotations

import copy
import tomllib
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .animal import Neuromechanic


@cache
def _read(name: str) -> dict[str, Any]:
    with resources.files("gymnosoma.assets").joinpath(f"neuromechanic/{name}.toml").open("rb") as file:
        return tomllib.load(file)


def asset(name: str) -> dict[str, Any]:
    """Description of a model of the package, ``arm``, ``hindlimb`` or ``standing``, as a dict to be changed."""
    return copy.deepcopy(_read(name))


POSTURE = np.array([-0.86954, 0.09612, -0.15273, -1.54617, 0.29456, -0.65812, -0.20718])
"""Mean of the postures of three standing cats, Sohn et al. (2013), rad."""

PAW_FORCE = 8.5 * np.array([np.sin(np.deg2rad(35.0)), np.cos(np.deg2rad(35.0)), 0.0])
"""Force of the ground on the paw, N: the paw pushes 35 degrees backward of straight down."""


def hindlimb(
    stiffness: float | None = None, posture: NDArray[np.float64] = POSTURE, gimballed: bool = True
) -> dict[str, Any]:
    """Build the hindlimb of a cat; Bunderson et al. (2012), section 3.1.

    Parameters
    ----------
    stiffness : float, optional
        Short-range stiffness of all muscles, in maximal forces per optimal length; the asset's otherwise.
    posture : (7,) float, rad
        In which the limb starts and the muscles have their reference length.
    gimballed : bool
        Pin the paw where it is in this posture, free to turn: four of seven degrees of freedom are left.
    """
    model = asset("hindlimb")
    bodies = model["body"].values()
    for body, angle in zip(bodies, posture, strict=True):
        body["joint"]["start"] = float(angle)
    if stiffness is not None:
        for muscle in model["muscle"].values():
            muscle["model"]["stiffness"] = stiffness
    animal = Neuromechanic(model)
    k = animal.mechanics(animal.rows(1))
    for muscle, length in zip(model["muscle"].values(), k["length"], strict=True):
        muscle["model"]["reference_length"] = float(length)
    if gimballed:
        paw, at = model["wrench"]["paw"]["body"], model["wrench"]["paw"]["at"]
        place = k["origin"][-1] + k["turn"][-1] @ at
        model["pin"] = {"paw": {"point": [paw, *at], "to": ["ground", *place.tolist()], "rate": 200.0}}
    return model
