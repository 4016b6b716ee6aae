"""Standing figure of Bunderson et al. (2012), illustration 3.

Here are its postures, its platform's motion and its variants. The constants of body and reflexes are in
``assets/neuromechanic/standing.toml``, its task is in ``tasks.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.arguments import choice, number
from .hindlimb import asset
from .nerves import Module

_MODEL = asset("standing")
_HIP = _MODEL["body"]["right_leg"]["joint"]

HIPS, LEG = 2.0 * _HIP["at"][0], -_MODEL["contact"]["right_foot"]["point"][2]
"""Distance between the hips and length of a leg, m."""

STIFFNESS, DAMPING = 255.0, 85.0
"""Stiffness (N m/rad) and damping (N m s/rad) of the paper's reflex, which are inputs of the model."""

DELAY = _MODEL["neuron"]["torso_angle"]["synapse"][0]["delay"]
"""Delay of the paper's reflex, s."""

STANCE = round(1.0 + 2.0 * LEG / HIPS * float(np.sin(_HIP["start"])), 9)
"""Stance, hip widths. The paper does not state it; this one gives its course of events."""

RAMP, HOLD = 0.2, 1.43
"""Usual durations of the platform's acceleration, and of the constant speed before its deceleration, s. The platform of
the paper, whose motion is in the model, accelerates in a sixth of this time."""


def _integrate_momentum(time, q, v, n, momentum, inputs, heard, dn, out):
    for i in range(6):
        dn[i], out[i] = momentum[i], n[i]


CENTRE_OF_MASS = Module(6, 6, _integrate_momentum)
"""The paper's control module of the centre of mass, Eq. 11. Its six states, which are also its outputs, are integrals
of the angular momentum (kg m^2) and of the linear momentum (kg m), which is mass times displacement since the start."""


def splay(stance: ArrayLike) -> NDArray[np.float64]:
    """Return the angle (rad) of the legs from the vertical in a symmetric stance, with the stance in hip widths."""
    return np.arcsin((np.asarray(stance, float) - 1.0) * HIPS / (2.0 * LEG))


def ramp_and_hold(onset: ArrayLike, speed: ArrayLike, ramp: float = RAMP, hold: float = HOLD) -> NDArray[np.float64]:
    """Return the pulses (..., 2, 3) of a platform that accelerates, moves at constant speed, and stops.

    Args:
        onset ((...) float, s): Start of the acceleration.
        speed ((...) float, m/s): Speed between the pulses.
        ramp (s): Duration of the acceleration and of the deceleration.
        hold (s): Time between them.
    """
    onset, peak = np.broadcast_arrays(onset, np.pi / (2.0 * ramp) * np.asarray(speed, float))
    first = np.stack([onset, np.full_like(peak, ramp), peak], -1)
    return np.stack([first, first * [1.0, 1.0, -1.0] + [ramp + hold, 0.0, 0.0]], -2)


def upright(stance: ArrayLike) -> NDArray[np.float64]:
    """Return the joint positions (5,) or (B, 5) of a symmetric stance, with the stance in hip widths.

    They are x and y (m) of the midpoint of the hips, and the angles (rad) of torso, left leg and right leg.
    """
    angle = splay(stance)
    zero = np.zeros_like(angle)
    return np.stack([zero, LEG * np.cos(angle), zero, -angle, angle], -1)


def feet(q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return x and y (B, 2, 2), m, of left and right foot for joint positions (B, 5)."""
    side, torso = 0.5 * HIPS * np.array([-1.0, 1.0]), q[:, 2:3]
    leg = torso + q[:, 3:]
    return q[:, None, :2] + np.stack(
        [side * np.cos(torso) + LEG * np.sin(leg), side * np.sin(torso) - LEG * np.cos(leg)], -1
    )


def standing(
    stance: float = STANCE,
    feet: str = "free",
    delay: float = DELAY,
    largest_torque: float | None = None,
    centre_stiffness: float = 0.0,
) -> dict[str, Any]:
    """Return the description of the standing figure for `Neuromechanic`; Bunderson et al. (2012), section 3.3.

    Its inputs are ``splay`` (rad), ``stiffness`` (N m/rad) and ``damping`` (N m s/rad) of the reflexes; `reflex_input`
    returns the paper's.

    Args:
        stance: Distance of the feet, hip widths, 0.5 to 2.
        feet ({"free", "pinned"}): ``"free"``: in frictional contact with the ground; ``"pinned"``: hinged to it (the
            paper's four-bar linkage).
        delay (s): Delay of sensory signals.
        largest_torque (N m): Limit on the torque of a reflex; no limit by default, as in the paper.
        centre_stiffness (N m/m): Torque on both hips per displacement of the centre of mass to the right, as late as
            the other signals. The model then needs ``modules={"centre": CENTRE_OF_MASS}``.

    Raises:
        ValueError: If an argument is invalid.
    """
    choice("feet", feet, ("free", "pinned"))
    number("stance", stance, minimum=0.5, maximum=2.0)
    if largest_torque is not None:
        number("largest_torque", largest_torque, above=0)
    model = asset("standing")
    for body, value in zip(model["body"].values(), upright(stance), strict=True):
        body["joint"]["start"] = float(value)
    for name in ("torso", "left", "right"):
        for signal in ("angle", "rate"):
            model["neuron"][f"{name}_{signal}"]["synapse"][0]["delay"] = delay
    if number("centre_stiffness", centre_stiffness):
        mass = sum(body["inertial"]["mass"] for body in model["body"].values() if "inertial" in body)
        shift = {"from": "module.centre.3", "gain": centre_stiffness / mass, "delay": delay}
        model["neuron"]["centre"] = {"synapse": [shift]}
        for side in ("left", "right"):
            model["neuron"][f"{side}_reflex"]["synapse"].append({"from": "neuron.centre"})
    if largest_torque is not None:
        for side in ("left", "right"):
            shape = {"type": "saturate", "low": -largest_torque, "high": largest_torque}
            model["neuron"][f"{side}_reflex"]["shape"] = shape
    if feet == "pinned":
        contacts = model.pop("contact")
        for side, sign in (("left", -1.0), ("right", 1.0)):
            place = ["ground", sign * 0.5 * stance * HIPS, 0.0, 0.0]
            model.setdefault("pin", {})[f"{side}_foot"] = {
                "point": contacts[f"{side}_foot"]["point"],
                "to": place,
                "axes": [[1, 0, 0], [0, 1, 0]],
            }
    return model


def reflex_input(stance: float = STANCE, stiffness: float = STIFFNESS, damping: float = DAMPING) -> NDArray[np.float64]:
    """Return the drive (3,): splay (rad) of the stance, stiffness and damping of the reflexes."""
    return np.array([float(splay(stance)), stiffness, damping])
