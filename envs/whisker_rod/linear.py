"""Small vibrations of the rod in air about its shape at rest, and what they tell of its material."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..core.model.beam import Hair
from ..core.model.response import Identification, System, from_motion
from .animal import WhiskerRod
from .params import WhiskerRodParams


def system(params: WhiskerRodParams) -> System:
    """Linear equation of the segments' angles, M phi'' + B phi' + K phi = -h y'' for a base moved across itself by y.

    Oladazimi, Putelat et al. (2021), Eqs 5 and 6, in air.

    Returns:
        M, B, K, h, arm (n, n), (n, n), (n, n), (n,) and (n,) arrays, kg m^2, N m s, N m, kg m, m: The arm is the motion
            of the tip across the base by each angle.
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


def identify(
    time: ArrayLike,
    tip: ArrayLike,
    base: ArrayLike | None = None,
    hair: Hair | None = None,
    youngs_modulus: float = WhiskerRodParams.youngs_modulus,
    damping: float = WhiskerRodParams.damping,
    n_segments: int = 30,
    **others: Any,
) -> Identification[WhiskerRodParams]:
    """Young's modulus and damping alpha from the motion of a tip in air, plucked and let go, or its base shaken.

    Args:
        time, tip, base ((N,) arrays, s, m, m): As of `core.response.from_motion`.
        hair: Its shape; the paper's C4 whisker by default.
        youngs_modulus, damping (Pa and 1): A guess, within a factor of 30.
        **others: As of `WhiskerRodParams`, such as ``density`` and ``external_damping``.

    Returns:
        Identification: ``modulus`` (Pa), ``damping`` (alpha), and ``params``.

    Examples:
        A rod of 2 GPa, damped 300 times as much as the paper's, let go from a bend and filmed at 2 kHz for 0.1 s:

        >>> import numpy as np
        >>> from gymnosoma.envs import simulate
        >>> from gymnosoma.envs.whisker_rod import WhiskerRod, WhiskerRodParams
        >>> from gymnosoma.envs.whisker_rod.linear import identify
        >>> soft = WhiskerRodParams(n_segments=30, youngs_modulus=2e9, damping=300.0)
        >>> start = {"plate_distance": 1.0, "segment_angle": np.pi / 2 + np.linspace(0.0, 0.02, 30)}
        >>> run = simulate(WhiskerRod(soft), np.zeros(3), 0.1, every=5e-4, hold=5e-4, start=start)
        >>> found = identify(run.time, run["centreline"][:, -1, 0], damping=100.0)
        >>> print(f"{1e-9 * found.modulus:.2f} GPa, alpha {found.damping:.0f}")
        2.00 GPa, alpha 300
    """

    def make(modulus: float, alpha: float) -> WhiskerRodParams:
        return WhiskerRodParams.of(hair, n_segments, youngs_modulus=modulus, damping=alpha, **others)

    make(youngs_modulus, damping)
    return from_motion(time, tip, base, make, system, (youngs_modulus, damping))
