"""Small vibrations of the straight whisker: frequency response and modes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .params import WhiskerParams


def matrices(
    params: WhiskerParams | None = None, elastic_base: bool = False, masses_at_ends: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Linear equation of the free links' headings, M phi'' + B phi' + K phi = -h y'' for a base moved by y.

    Quist et al. (2014), Eqs. 29-31, rederived. The equations as printed differ from the paper's simulations, which
    hold link 1 rigidly and put each mass within its link: they let joint 1 bend, and put the masses at the links' ends.

    Parameters
    ----------
    params : WhiskerParams, optional
    elastic_base : bool
        Whether link 1 turns too, on the first stiffness and damping of Table 1.
    masses_at_ends : bool
        Whether each link's mass lies at its outer end.

    Returns
    -------
    M : (f, f) array, kg m^2
        Of the f free links, all but the first if the base is not elastic.
    B : (f, f) array, N m s
    K : (f, f) array, N m
    h : (f,) array, kg m
    """
    p = WhiskerParams() if params is None else params
    mass, link = np.array(p.link_mass), p.length / p.n_links
    own = np.full(p.n_links, link) if masses_at_ends else np.array(p.link_centroid)
    first = 0 if elastic_base else 1
    arm = (link * np.tri(p.n_links, k=-1) + np.diag(own))[:, first:]
    inertia = np.sum(mass[:, None, None] * arm[:, :, None] * arm[:, None, :], 0)

    def chain(column: tuple[float, ...]) -> NDArray[np.float64]:
        own, after = np.array(column[first:]), np.array(column[first + 1 :])
        return np.diag(own + np.append(after, 0.0)) - np.diag(after, 1) - np.diag(after, -1)

    return inertia, chain(p.joint_damping), chain(p.joint_stiffness), np.sum(mass[:, None] * arm, 0)


def tip_response(
    frequency: ArrayLike,
    params: WhiskerParams | None = None,
    elastic_base: bool = False,
    masses_at_ends: bool = False,
) -> NDArray[np.complex128]:
    """Motion of the tip per motion of the base across the whisker, Quist et al. (2014), Fig. 6.

    Parameters
    ----------
    frequency : (F,) array, Hz
    params : WhiskerParams, optional
    elastic_base, masses_at_ends : bool
        As of `matrices`.

    Returns
    -------
    response : (F,) complex
        Its modulus is the magnification ratio.

    Examples
    --------
    A base that moves slowly takes the tip along; near the first mode the tip swings several times as far:

    >>> import numpy as np
    >>> from gymnosoma.envs.whisker_chain.linear import tip_response
    >>> print(np.round(np.abs(tip_response([1.0, 52.5])), 2))
    [ 1.   11.68]
    """
    p = WhiskerParams() if params is None else params
    inertia, damping, stiffness, moment = matrices(p, elastic_base, masses_at_ends)
    omega = 2 * np.pi * np.asarray(frequency, float)[:, None, None]
    system = stiffness + 1j * omega * damping - omega**2 * inertia
    phi = np.linalg.solve(system, omega**2 * moment[:, None])[..., 0]
    return 1.0 + p.length / p.n_links * np.sum(phi, -1)


def modes(
    params: WhiskerParams | None = None, elastic_base: bool = False, masses_at_ends: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Damped frequencies (Hz) and damping ratios of the oscillating modes, lowest first; arguments as of `matrices`."""
    inertia, damping, stiffness, _ = matrices(params, elastic_base, masses_at_ends)
    n = len(inertia)
    rates = np.linalg.solve(inertia, np.hstack([-stiffness, -damping]))
    values = np.linalg.eigvals(np.vstack([np.hstack([np.zeros((n, n)), np.eye(n)]), rates]))
    values = values[values.imag > 1e-6 * np.abs(values)]
    values = values[np.argsort(values.imag)]
    return values.imag / (2 * np.pi), -values.real / np.abs(values)
