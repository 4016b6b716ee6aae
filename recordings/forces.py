"""Forces, torques and the drive of a recorded worm: the equations of motion, run backwards."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs import Trajectory
from gymnosoma.envs.core.arguments import numbers, shown
from gymnosoma.envs.worm import Worm, WormParams

from .joint_angles import Kymogram
from .medium import LARGEST_RATIO, MediumFit, moved, path, ratio_of, shape_of
from .motion import Motion

Array = NDArray[np.float64]

SLIPPERY = 0.8
"""Medium index from which on a camera's noise is more than what a body slips."""

NEEDS = {
    "friction_force": "friction_perpendicular must be given",
    "power": "friction_perpendicular must be given",
    "joint_torque": "friction_perpendicular must be given",
    "control_angle": "kappa must be given",
}
"""Signals that need more than midlines, and what."""

WHY = "midlines alone do not tell it: see the guide to recordings"


class RecordedRun(Trajectory):
    """A recorded worm with what moves it, as `forces` makes it.

    Args:
        motion: That it was made of.
        ratio: Of the friction coefficients, b_perp / b_par.
        notes (tuple of str): What to mind.
        **what: As of `Trajectory`.
    """

    def __init__(self, motion: Motion, ratio: float, notes: tuple[str, ...], **what: Any) -> None:
        super().__init__(**what)
        self.motion, self.ratio, self.notes = motion, ratio, notes

    def __getitem__(self, name: str) -> Array:
        if name in NEEDS and name not in self:
            raise ValueError(f"{NEEDS[name]} for {name}: {WHY}")
        return super().__getitem__(name)

    @property
    def refit_joints(self) -> Array:
        """Head, joints and tail (T, n + 1, 2) m of the worm that the medium moves."""
        angle = self["rod_angle"] + self["refit_turn"][:, None]
        rods = self.motion.length / angle.shape[1] * np.stack([np.cos(angle), np.sin(angle)], -1)
        joints = np.pad(np.cumsum(rods, 1), ((0, 0), (1, 0), (0, 0)))
        joints -= 0.5 * (joints[:, 1:] + joints[:, :-1]).mean(1, keepdims=True)
        return np.asarray(joints + self["refit_centre"][:, None])

    def kymogram(self) -> Kymogram:
        """Control angles as a recording of their own, which plays in `simulate` and, at 32 Hz, in WormFollow.

        In gaps too long to be bridged they are those of interpolated shapes.

        Raises:
            ValueError: If stiffness and damping of the joints were not given.
        """
        return Kymogram(self["control_angle"], 1.0 / float(self.time[1] - self.time[0]), self.notes)


def forces(motion: Motion, params: WormParams | MediumFit | float | tuple[float, float]) -> RecordedRun:
    """Find the forces of the medium on a recorded worm, and as far as its parameters are given the torques and drive.

    Chung et al. (2024), run backwards and without inertia: the shapes are those recorded, their motion is the one at
    which no force and no torque is left, so that the forces add up to 0. Midlines do not tell a worm's scale of force,
    its stiffness or its damping: any of them gives the same midlines with another drive.

    Args:
        motion: From `Midlines.smoothed`.
        params (WormParams, MediumFit, float or (float, float)): All parameters, of a body as long as the recorded one;
            or the friction coefficients across and along in kg/s; or their ratio alone, or what `fit_medium` found.

    Returns:
        RecordedRun: At the recorded places: ``centre``, ``rod_angle``, ``joint_angle``, ``rod_velocity``; of the medium
        ``refit_centre`` (2,) and ``refit_turn``, where it would move the shapes from the first place on;
        ``reliable``, 0 in long gaps; and over b_perp ``force_per_friction`` (n, 2) m/s, ``power_per_friction`` m^2/s^2,
        ``torque_per_friction`` (n - 1,) m^2/s. With friction ``friction_force``, ``power``, ``joint_torque`` in SI;
        with all parameters every signal of the worm, ``control_angle`` among them. What is asked for without the
        parameter that it needs is refused.

    Raises:
        ValueError: For parameters of another number of rods, of a body that is not uniform, or out of range.
    """
    friction, ratio, full = _coefficients(motion, params)
    shape = shape_of(motion)
    velocity, rate = moved(motion, shape, ratio)
    n, half = motion.rod_angle.shape[1], motion.length / (2 * motion.rod_angle.shape[1])
    normal = np.stack([-shape.tangent[..., 1], shape.tangent[..., 0]], -1)
    along = np.sum(velocity * shape.tangent, -1, keepdims=True)
    across = np.sum(velocity * normal, -1, keepdims=True)
    force = -(along * shape.tangent / ratio + across * normal) / n
    torque = _opening(shape.place, half * shape.tangent, force, -(half**2) * rate / (3 * n))
    power = -np.sum(force * velocity, (1, 2))
    centre, turn = path(motion, ratio)
    signals = {
        "centre": motion.centre,
        "rod_angle": motion.rod_angle,
        "joint_angle": motion.joint_angle,
        "rod_velocity": velocity,
        "refit_centre": centre,
        "refit_turn": turn,
        "reliable": motion.reliable.astype(float),
        "force_per_friction": force,
        "power_per_friction": power,
        "torque_per_friction": torque,
    }
    how: dict[str, Any] = {"time": motion.time, "every": float(motion.time[1] - motion.time[0])}
    notes = motion.notes
    if ratio > ratio_of(SLIPPERY) and motion.noise > 0.0:
        notes += (f"at b_perp / b_par = {ratio:.3g} a body slips by less than the noise: half of the forces may be it",)
    if motion.gaps:
        notes += (f"{int((~motion.reliable).sum())} moments in long gaps are interpolated",)
    if full is not None:
        how |= {"animal": Worm(full), "rows": _rows(motion, full, velocity, rate, friction * torque)}
    elif friction:
        signals |= {"friction_force": friction * force, "power": friction * power, "joint_torque": friction * torque}
    return RecordedRun(motion, ratio, notes, signals=signals, **how)


def _coefficients(motion: Motion, params: Any) -> tuple[float, float, WormParams | None]:
    """Friction across (0 where it is not known), its ratio to that along, and all parameters where they are known."""
    n = motion.rod_angle.shape[1]
    if isinstance(params, WormParams):
        if params.n_rods != n:
            raise ValueError(f"params must be of {n} rods, as the motion is, got {params.n_rods}")
        if params.profile.size or params.control_gain != 1.0:
            raise ValueError("params must be of a uniform body with a control_gain of 1")
        pair, full = (params.friction_perpendicular, params.friction_parallel), replace(params, length=motion.length)
    elif isinstance(params, MediumFit):
        if np.isnan(params.ratio):
            raise ValueError("params must hold a ratio, got a fit that found a bound alone: give one, as a number")
        return 0.0, params.ratio, None
    elif np.ndim(params) == 0:
        numbers("params", params, minimum=1.0 / LARGEST_RATIO, maximum=1e6)
        return 0.0, float(params), None
    else:
        pair, full = params, None
    values = numbers("friction", pair, above=0.0)
    if values.shape != (2,):
        raise ValueError(
            f"params must be WormParams, a MediumFit, a ratio, or two friction coefficients, got {shown(params)}"
        )
    return float(values[0]), float(values[0] / values[1]), full


def _opening(place: Array, half: Array, force: Array, torque: Array) -> Array:
    """Torque (T, n - 1) that opens each joint, against forces and torques on the rods before it."""
    joint = (place + half)[:, :-1]
    turned = np.cumsum(place[..., 0] * force[..., 1] - place[..., 1] * force[..., 0] + torque, 1)[:, :-1]
    total = np.cumsum(force, 1)[:, :-1]
    return turned - (joint[..., 0] * total[..., 1] - joint[..., 1] * total[..., 0])


def _rows(motion: Motion, params: WormParams, velocity: Array, rate: Array, torque: Array) -> NDArray[Any]:
    """Records of the worm at each moment, driven so that its joints have these torques."""
    rows = Worm(params).rows(len(motion.time))
    theta = motion.joint_angle
    kappa, damping = (np.asarray(each, float) for each in (params.stiffness, params.damping))
    if not (kappa > 0.0).all():
        raise ValueError(f"stiffness must be greater than 0, got {shown(params.stiffness)}")
    bent = theta + damping / kappa * np.diff(rate) + np.cos(0.5 * theta) ** 2 * torque / kappa
    rows["time"], rows["rod_angle"], rows["centre"] = motion.time, motion.rod_angle, motion.centre
    rows["rod_rate"] = rows["rod_rate_before"] = rate
    rows["rod_velocity"] = rows["rod_velocity_before"] = np.swapaxes(velocity, 1, 2)
    rows["centre_velocity"] = velocity.mean(1)
    rows["control_angle"] = bent
    return rows
