"""Small vibrations of the whisker rod in air about its shape at rest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .animal import WhiskerRod
from .params import WhiskerRodParams


def system(params: WhiskerRodParams) -> tuple[NDArray[np.float64], ...]:
    """Return the matrices of M phi'' + B phi' + K phi = -h y'', the linearised equation of the segments in air.

    The angles phi are deviations from the shape at rest, and y is the displacement of the base across itself.
    Oladazimi, Putelat et al. (2021), Eqs 5 and 6.

    Returns:
        M, B, K, h, arm (n, n), (n, n), (n, n), (n,) and (n,) arrays, kg m^2, N m s, N m, kg m, m: The arm is the
            displacement of the tip across the base per change of each angle.
    """
    animal = WhiskerRod(params)
    length, mass, own, stiffness, viscosity, rest = animal.rods(animal.rows(1))[0]
    shape, load = np.cumsum(rest), np.cumsum(mass[::-1])[::-1]
    n = len(length)
    beyond = load[np.maximum(*np.indices((n, n)))]
    inertia = beyond * np.outer(length, length) * np.cos(shape[:, None] - shape) + np.diag(own)
    to_joint = np.eye(n) - np.eye(n, k=-1)
    damping = to_joint.T @ (viscosity[:, None] * to_joint) + params.external_damping * inertia
    arm = length * np.cos(shape)
    return inertia, damping, to_joint.T @ (stiffness[:, None] * to_joint), load * arm, arm
