"""Small vibrations of the whisker about its shape at rest, and what they tell of its material."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.model.beam import Hair
from ..core.model.response import Identification, from_motion
from .params import DAMPING_RATIO, MODULUS, WhiskerParams


def matrices(
    params: WhiskerParams | None = None, elastic_base: bool = False, masses_at_ends: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Linear equation of the free links' headings, M phi'' + B phi' + K phi = -h y'' for a base moved by y.

    Both are deviations from rest, and the base moves across link 1.

    Quist et al. (2014), Eqs. 29-31, rederived. The equations as printed differ from the paper's simulations, which
    hold link 1 rigidly and put each mass within its link: they let joint 1 bend, and put the masses at the links' ends.

    Args:
        elastic_base: Whether link 1 turns too, on the first stiffness and damping of Table 1.
        masses_at_ends: Whether each link's mass lies at its outer end.

    Returns:
        M, B, K, h (f, f), (f, f), (f, f) and (f,) arrays, kg m^2, N m s, N m, kg m: Of the f free links, all but the
            first if the base is not elastic.
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
    """Motion of the tip across link 1 by the headings of the free links, (f,) m."""
    shape = np.append(0.0, np.cumsum(np.broadcast_to(params.rest_angle, params.n_links - 1)))
    return params.length / params.n_links * np.cos(shape[0 if elastic_base else 1 :])


def identify(
    time: ArrayLike,
    tip: ArrayLike,
    base: ArrayLike | None = None,
    hair: Hair | None = None,
    modulus: tuple[float, float] = MODULUS,
    damping_ratio: tuple[float, float] = DAMPING_RATIO,
    **others: float,
) -> Identification[WhiskerParams]:
    """Young's modulus and damping ratio from the motion of a tip, Quist et al. (2014), Eqs. 29-32 in time.

    The whisker is plucked and let go, or its base is shaken, gently: the equations are linear. What falls along the
    whisker by the paper's optimisation is kept in these proportions; its size is sought.

    Args:
        time, tip, base ((N,) arrays, s, m, m): As of `core.response.from_motion`.
        hair: Its shape; the paper's D1 vibrissa by default.
        modulus, damping_ratio ((float, float), Pa and 1): Of the first and the last link: a guess, within a factor of
            30, and the proportion along the whisker.
        **others: As of `WhiskerParams.of`, such as ``density``.

    Returns:
        Identification: ``modulus`` (Pa) and ``damping`` (1) of the first link, and ``params``.

    Examples:
        A whisker half as stiff as the paper's and damped half as much, let go from a bend, filmed at 1 kHz for 0.1 s:

        >>> import numpy as np
        >>> from gymnosoma.envs import simulate
        >>> from gymnosoma.envs.whisker_chain import Whisker, WhiskerParams
        >>> from gymnosoma.envs.whisker_chain.linear import identify
        >>> plucked = {"link_angle": 2e-3 * np.arange(13)}
        >>> soft = WhiskerParams.of(modulus=(2.25e9, 1.54e9), damping_ratio=(0.494, 0.0165))
        >>> run = simulate(Whisker(soft), np.zeros(3), 0.1, every=1e-3, start=plucked)
        >>> found = identify(run.time, run["node"][:, -1, 1])
        >>> print(f"{1e-9 * found.modulus:.2f} GPa, damping ratio {found.damping:.2f}")
        2.25 GPa, damping ratio 0.49
    """
    make = _maker(hair, modulus, damping_ratio, others)
    return from_motion(time, tip, base, make, lambda p: (*matrices(p), tip_arm(p)), (modulus[0], damping_ratio[0]))


def _maker(
    hair: Hair | None, modulus: tuple[float, float], damping_ratio: tuple[float, float], others: Mapping[str, Any]
) -> Callable[[float, float], WhiskerParams]:
    """Whisker from modulus and damping ratio of its first link, in proportions given."""
    WhiskerParams.of(hair, modulus=modulus, damping_ratio=damping_ratio, **others)
    (stiff, stiff_tip), (damped, damped_tip) = modulus, damping_ratio

    def make(first: float, ratio: float) -> WhiskerParams:
        return WhiskerParams.of(
            hair,
            modulus=(first, first * stiff_tip / stiff),
            damping_ratio=(ratio, ratio * damped_tip / damped),
            **others,
        )

    return make
