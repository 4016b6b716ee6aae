"""Small vibrations of the whisker chain about its shape at rest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .params import WhiskerParams


def matrices(
    params: WhiskerParams | None = None, elastic_base: bool = False, masses_at_ends: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the matrices of M phi'' + B phi' + K phi = -h y'', the linearised equation of the free links.

    The headings phi are deviations from the shape at rest, and y is the displacement of the base across link 1.

    Quist et al. (2014), Eqs. 29-31, rederived. The printed equations have an elastic joint 1 and masses at the ends of
    the links. The paper's simulations hold link 1 rigidly and place each mass within its link, which is the default.

    Args:
        elastic_base: Whether link 1 turns, too, with the first stiffness and damping of Table 1.
        masses_at_ends: Whether the mass of each link is at its outer end.

    Returns:
        M, B, K, h (f, f), (f, f), (f, f) and (f,) arrays, kg m^2, N m s, N m, kg m: One row per free link. Link 1 is
            free if the base is elastic.
    """
    p = WhiskerParams() if params is None else params
    mass, link = np.array(p.link_mass), p.length / p.n_links
    own = np.full(p.n_links, link) if masses_at_ends else np.array(p.link_centroid)
    first = 0 if elastic_base else 1
    arm = (link * np.tri(p.n_links, k=-1) + np.diag(own))[:, first:]
    shape = np.append(0.0, np.cumsum(np.broadcast_to(p.rest_angle, p.n_links - 1)))[first:]
    inertia = np.sum(mass[:, None, None] * arm[:, :, None] * arm[:, None, :], 0)
    inertia *= np.cos(shape[:, None] - shape)

    def chain(column: tuple[float, ...]) -> NDArray[np.float64]:
        own, after = np.array(column[first:]), np.array(column[first + 1 :])
        return np.diag(own + np.append(after, 0.0)) - np.diag(after, 1) - np.diag(after, -1)

    return inertia, chain(p.joint_damping), chain(p.joint_stiffness), np.sum(mass[:, None] * arm, 0) * np.cos(shape)


def tip_arm(params: WhiskerParams, elastic_base: bool = False) -> NDArray[np.float64]:
    """Return the displacement of the tip across link 1 per change of each free heading, (f,) m."""
    shape = np.append(0.0, np.cumsum(np.broadcast_to(params.rest_angle, params.n_links - 1)))
    return params.length / params.n_links * np.cos(shape[0 if elastic_base else 1 :])
