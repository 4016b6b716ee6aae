"""Control modules that come with the package."""

from __future__ import annotations

from ..core.jit import kernel


@kernel
def centre_of_mass(time, q, v, n, momentum, inputs, dn, out):
    """Integrate the momentum of the animal, Bunderson et al. (2012), Eq. 11, and tell the integrals and the momentum.

    Parameters
    ----------
    time : float, s
    q, v : (n,) float
        Joints.
    n : (6,) float
        Integrals of angular momentum about the centre of mass (kg m^2) and of linear momentum (kg m).
    momentum : (12,) float
        Angular (kg m^2/s) and linear momentum (kg m/s), centre of mass (m), its velocity (m/s).
    inputs : (u,) float
    dn : (6,) float
        Rates of ``n``, written.
    out : (12,) float
        Integrals, then momentum, written.
    """
    for i in range(6):
        dn[i] = momentum[i]
        out[i] = n[i]
        out[6 + i] = momentum[i]
