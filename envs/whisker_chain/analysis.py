"""Analysis of the whisker chain without a simulation: quasi-static bending by a peg, and small vibrations.

Here is what tasks and users need. Measures that only the figures of the paper show are in ``papers/whisker_chain``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.kinds import takes_objects
from .params import WhiskerParams

Array = NDArray[np.float64]

PASSES = 50
"""Largest number of Newton iterations for one equilibrium."""

STRIDE = np.deg2rad(0.25)
"""Largest rotation (rad) of the base between successive equilibria."""


@dataclass(frozen=True)
class Equilibria:
    """Shapes of a whisker against a peg, one per base angle.

    Args:
        link_angle ((T, n) float, rad)
        base_wrench ((T, 3) float, N m and N): M, Fx, Fy on the follicle in the axes of link 1.
        contact_force ((T,) float, N): Push of the peg; 0 without contact and after the whisker has slipped off.
        contact_place ((T,) float): Arc length of the contact, in lengths; NaN without contact.
        energy ((T,) float, J): Elastic energy.
    """

    link_angle: Array
    base_wrench: Array
    contact_force: Array
    contact_place: Array
    energy: Array


@takes_objects
def quasi_static(base_angle: ArrayLike, peg: ArrayLike, params: WhiskerParams | None = None) -> Equilibria:
    """Return the equilibria of the whisker as its base turns against a frictionless point peg.

    The shape is followed in small steps from one base angle to the next, while the contact moves from link to link,
    until the whisker snaps off the peg.

    Quist et al. (2014), "Slow deflections of the dynamic vibrissa model match quasi-static results".

    Args:
        base_angle ((T,) array, rad): Base angles in the order of the motion. The first one determines on which side of
            the peg the whisker is.
        peg ((2,) array, m): Position of the peg relative to the base.

    Raises:
        ValueError: If an argument is not finite or has a wrong shape.
    """
    p = WhiskerParams() if params is None else params
    angles, point = np.asarray(base_angle, float), np.asarray(peg, float)
    if angles.ndim != 1 or not len(angles) or not np.isfinite(angles).all():
        raise ValueError(f"base_angle must be a list of finite angles, got {base_angle!r}")
    if point.shape != (2,) or not np.isfinite(point).all():
        raise ValueError(f"peg must be two finite numbers, got {peg!r}")
    n, length = p.n_links, p.length / p.n_links
    k, rest = np.array(p.joint_stiffness), np.broadcast_to(p.rest_angle, n - 1)
    shape = np.append(0.0, np.cumsum(rest))
    phi, push = angles[0] + shape, 0.0
    side = 1.0 if _in_links(phi, point, length)[1][_nearest(phi, point, length)] >= 0 else -1.0
    shapes = np.empty((len(angles), n))
    wrench = np.zeros((len(angles), 3))
    force, place = np.zeros(len(angles)), np.full(len(angles), np.nan)
    energy = np.empty(len(angles))
    for t, target in enumerate(angles):
        count = max(1, int(np.ceil(abs(target - phi[0]) / STRIDE)))
        for theta in np.linspace(phi[0], target, count + 1)[1:]:
            phi, push, link = _equilibrium(phi + (theta - phi[0]), push, point, side, k, shape, length)
            side = -side if link < 0 else side  # the whisker has snapped off and passed the peg
        shapes[t] = phi
        bend = np.diff(phi) - rest
        energy[t] = 0.5 * np.sum(k[1:] * bend**2)
        if push > 0.0:
            force[t] = push
            place[t] = (link + _in_links(phi, point, length)[0][link] / length) / n
            angle = phi[link] - phi[0]
            wrench[t] = side * push * np.array([-length * np.cos(angle), np.sin(angle), -np.cos(angle)])
            wrench[t, 0] += k[1] * bend[0]
    return Equilibria(shapes, wrench, force, place, energy)


def _equilibrium(
    phi: Array, push: float, peg: Array, side: float, k: Array, shape: Array, length: float
) -> tuple[Array, float, int]:
    """Find the equilibrium near the guess ``phi`` for base angle ``phi[0]``; return headings, push and touched link.

    Without load the headings are ``phi[0] + shape``. Without contact the push is 0. The link is -1 if the whisker has
    snapped off, so that no equilibrium exists near the guess: for example, the peg reached a joint too soft to hold it.
    """
    n = len(phi)
    free = phi[0] + shape
    link = _nearest(free, peg, length)
    along, across = (value[link] for value in _in_links(free, peg, length))
    if side * across >= 0.0 or (link == n - 1 and along > length):
        return free, 0.0, 0
    stiff = np.diag(k[1:] + np.append(k[2:], 0.0)) - np.diag(k[2:], 1) - np.diag(k[2:], -1)
    link = _nearest(phi, peg, length)
    for _ in range(PASSES):
        gap, gradient, curvature = _contact(phi, peg, side, link, length)
        matrix = np.zeros((n, n))
        matrix[:-1, :-1] = stiff - push * curvature[1:, 1:]
        matrix[:-1, -1] = -gradient[1:]
        matrix[-1, :-1] = gradient[1:]
        step = np.linalg.solve(matrix, np.append(push * gradient[1:] - stiff @ (phi[1:] - phi[0] - shape[1:]), -gap))
        step *= min(1.0, 0.2 / max(np.abs(step[:-1]).max(), 1e-300))
        phi = np.append(phi[0], phi[1:] + step[:-1])
        push += step[-1]
        last, link = link, _nearest(phi, peg, length)
        if np.abs(step[:-1]).max() < 1e-12 and link == last:
            along = _in_links(phi, peg, length)[0][link]
            if push > 0.0 and not (link == n - 1 and along > length):
                return phi, push, link
            break
    return free, 0.0, -1


def _nearest(phi: Array, peg: Array, length: float) -> int:
    """Return the link nearest to the peg, except link 1, which is in the follicle."""
    along, across = _in_links(phi, peg, length)
    return 1 + int(np.argmin(np.hypot(along - np.clip(along, 0.0, length), across)[1:]))


def _in_links(phi: Array, peg: Array, length: float) -> tuple[Array, Array]:
    """Return the position of the peg along and across each link, relative to the link's base."""
    x = peg[0] - length * (np.cumsum(np.cos(phi)) - np.cos(phi))
    y = peg[1] - length * (np.cumsum(np.sin(phi)) - np.sin(phi))
    return x * np.cos(phi) + y * np.sin(phi), y * np.cos(phi) - x * np.sin(phi)


def _contact(phi: Array, peg: Array, side: float, link: int, length: float) -> tuple[float, Array, Array]:
    """Return the gap between a link and the peg, and its first and second derivatives by the headings."""
    along, across = (value[link] for value in _in_links(phi, peg, length))
    inner = np.arange(len(phi)) < link
    gradient = np.where(inner, -side * length * np.cos(phi[link] - phi), 0.0)
    gradient[link] = -side * along
    swing = np.where(inner, side * length * np.sin(phi[link] - phi), 0.0)
    curvature = np.diag(-swing)
    curvature[link, :] = curvature[:, link] = swing
    curvature[link, link] = -side * across
    return float(side * across), gradient, curvature


@cache
def static_stiffness(place: float) -> float:
    """Return the static moment (N m) per angle (rad) of the paper's whisker against a peg at ``place`` (lengths)."""
    push = np.deg2rad(2.0)
    return float(-quasi_static([0.0, push], [place * WhiskerParams().length, 0.0]).base_wrench[1, 0] / push)


def matrices(
    params: WhiskerParams | None = None, elastic_base: bool = False, masses_at_ends: bool = False
) -> tuple[Array, Array, Array, Array]:
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

    def chain(column: tuple[float, ...]) -> Array:
        own, after = np.array(column[first:]), np.array(column[first + 1 :])
        return np.diag(own + np.append(after, 0.0)) - np.diag(after, 1) - np.diag(after, -1)

    return inertia, chain(p.joint_damping), chain(p.joint_stiffness), np.sum(mass[:, None] * arm, 0) * np.cos(shape)


def tip_arm(params: WhiskerParams, elastic_base: bool = False) -> Array:
    """Return the displacement of the tip across link 1 per change of each free heading, (f,) m."""
    shape = np.append(0.0, np.cumsum(np.broadcast_to(params.rest_angle, params.n_links - 1)))
    return params.length / params.n_links * np.cos(shape[0 if elastic_base else 1 :])
