"""Forces, torques and drive of a recorded worm in a known medium, by inverse dynamics.

The medium itself is estimated in `medium`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs import Trajectory
from gymnosoma.envs.core.arguments import numbers, shown
from gymnosoma.envs.core.kinds import takes_objects
from gymnosoma.envs.worm import Worm, WormParams

from .body import directions, rotated
from .joint_angles import Kymogram
from .medium import LARGEST_RATIO, MediumFit, path, ratio_of, shapes_of
from .motion import Motion
from .units import Array

SLIPPERY = 0.8
"""Medium index above which a body slips by less than the noise of a camera."""

NEEDS = {
    "friction_force": "friction_perpendicular must be given",
    "power": "friction_perpendicular must be given",
    "joint_torque": "friction_perpendicular must be given",
    "control_angle": "kappa must be given",
}
"""Signals that midlines alone do not determine, and the missing parameters."""

WHY = "midlines alone do not determine it, see the guide to recordings"


class RecordedRun(Trajectory):
    """Trajectory of a recorded worm with its forces, made by `forces`.

    Args:
        motion: Recorded motion.
        ratio: Ratio of the friction coefficients, b_perp / b_par.
        notes (tuple of str): Notes on processing and accuracy.
        **what: Arguments of `Trajectory`.
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
        """Head, joints and tail (T, n + 1, 2) in m, with the path that follows from the shapes and the medium."""
        angle = self["rod_angle"] + self["refit_turn"][:, None]
        rods = self.motion.length / angle.shape[1] * directions(angle)
        joints = np.pad(np.cumsum(rods, 1), ((0, 0), (1, 0), (0, 0)))
        joints -= 0.5 * (joints[:, 1:] + joints[:, :-1]).mean(1, keepdims=True)
        return np.asarray(joints + self["refit_centre"][:, None])

    def kymogram(self) -> Kymogram:
        """Return the control angles as a kymogram for `simulate` or, at 32 Hz, for WormFollow.

        In long gaps, the control angles are those of interpolated shapes.

        Raises:
            ValueError: If stiffness and damping of the joints are unknown.
        """
        return Kymogram(self["control_angle"], 1.0 / float(self.time[1] - self.time[0]), self.notes)


@takes_objects
def forces(motion: Motion, params: WormParams | MediumFit | float | tuple[float, float]) -> RecordedRun:
    """Compute the medium's forces on a recorded worm and, if its parameters are known, the torques and the drive.

    The model is that of Chung et al. (2024) without inertia. The shapes are the recorded ones, and their velocity is
    the one at which the total force and torque are 0. Midlines do not determine the scale of forces, stiffness or
    damping, because a different drive would produce the same midlines.

    The first and last tenth of an undulation are uncertain, because a velocity there follows from frames on one side
    only. In a model worm recorded at 30 Hz with 2 um of noise, the power in the frames from either end inwards is wrong
    by 43, 15, 2 and 5% (median of 12 ends), and elsewhere by 2%; the rods' friction by 53, 22, 14 and 11% of its
    largest value, and elsewhere by 12%.

    Args:
        motion: Motion from `Midlines.smoothed`.
        params: One of these:

            - WormParams: All parameters; the length is replaced by the recorded one.
            - (float, float): Friction coefficients across and along the body, kg/s.
            - float: Their ratio b_perp / b_par.
            - MediumFit: Result of `fit_medium`, whose ratio is used.

    Returns:
        RecordedRun: With these signals:

            - ``centre``, ``rod_angle``, ``joint_angle``: as recorded; ``rod_velocity``.
            - ``refit_centre`` (2,) and ``refit_turn``: path of the shapes in the medium, from the first position on.
            - ``reliable``: 0 in long gaps, else 1.
            - ``force_per_friction`` (n, 2) m/s, ``power_per_friction`` m^2/s^2 and ``torque_per_friction`` (n - 1,)
              m^2/s: divided by b_perp.
            - ``friction_force``, ``power``, ``joint_torque``: in SI units, if the friction coefficients are known.
            - all signals of the worm, including ``control_angle``: if ``params`` is WormParams.

            Reading ``friction_force``, ``power``, ``joint_torque`` or ``control_angle`` without these parameters raises
            a ValueError.

    Raises:
        ValueError: If parameters are out of range, have a different number of rods, or describe a non-uniform body.
    """
    # A tracker misses each tip by |N(0, jitter)|.
    motion = replace(motion, length=motion.length + 2.0 * np.sqrt(2.0 / np.pi) * motion.jitter)
    friction, ratio, full = _coefficients(motion, params)
    shapes, n = shapes_of(motion), motion.rod_angle.shape[1]
    velocity, rate = shapes.rod_velocities(ratio)
    normal = rotated(shapes.tangent)
    along = np.sum(velocity * shapes.tangent, -1, keepdims=True)
    across = np.sum(velocity * normal, -1, keepdims=True)
    force = -(along * shapes.tangent / ratio + across * normal) / n
    torque = _joint_torques(shapes.place, shapes.half * shapes.tangent, force, -(shapes.half**2) * rate / (3 * n))
    power = -np.sum(force * velocity, (1, 2))
    centre, turn = path(motion, shapes, ratio)
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
    notes = (*motion.notes, f"forces in the first and last {0.1 * motion.period:.1g} s are uncertain")
    if ratio > ratio_of(SLIPPERY) and motion.noise > 0.0:
        notes += (f"b_perp / b_par = {ratio:.3g}: the body slips by less than the noise; forces may be half noise",)
    if motion.gaps:
        count = int((~motion.reliable).sum())
        notes += (f"{count} time points in long gaps are interpolated; forces beside them are uncertain",)
    if full is not None:
        how |= {"animal": Worm(full), "rows": _rows(motion, full, velocity, rate, friction * torque)}
    elif friction:
        signals |= {"friction_force": friction * force, "power": friction * power, "joint_torque": friction * torque}
    return RecordedRun(motion, ratio, notes, signals=signals, **how)


def _coefficients(motion: Motion, params: Any) -> tuple[float, float, WormParams | None]:
    """Return the friction across (0 if unknown), its ratio to that along the body, and the parameters, if known."""
    n = motion.rod_angle.shape[1]
    if isinstance(params, WormParams):
        if params.n_rods != n:
            raise ValueError(f"params must have {n} rods like the motion, got {params.n_rods}")
        if params.profile.size or params.control_gain != 1.0:
            raise ValueError("params must describe a uniform body with a control_gain of 1")
        pair, full = (params.friction_perpendicular, params.friction_parallel), replace(params, length=motion.length)
    elif isinstance(params, MediumFit):
        if np.isnan(params.ratio):
            raise ValueError("params must have a ratio, got a fit with only a bound: pass the ratio as a number")
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


def _joint_torques(place: Array, half: Array, force: Array, torque: Array) -> Array:
    """Return the torque (T, n - 1) of each joint that balances the forces and torques on the rods before it."""
    joint = (place + half)[:, :-1]
    turned = np.cumsum(place[..., 0] * force[..., 1] - place[..., 1] * force[..., 0] + torque, 1)[:, :-1]
    total = np.cumsum(force, 1)[:, :-1]
    return turned - (joint[..., 0] * total[..., 1] - joint[..., 1] * total[..., 0])


def _rows(motion: Motion, params: WormParams, velocity: Array, rate: Array, torque: Array) -> NDArray[Any]:
    """Return the worm's rows at all times, with the control angles that give these joint torques."""
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
