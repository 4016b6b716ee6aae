"""Class `Worm`, which starts, advances and reads rows of worms.

It selects the kernels of a scheme, adds the fields of a circuit, and computes signals from rows. The equations of
motion are in ``body.py`` and ``nerves.py``; the interface is `core.model.animal.Animal`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.arguments import choice, whole
from ..core.kernels.lanes import Stepper
from ..core.kinds import takes_objects
from ..core.model.animal import MAX_THREADS, InLanes, time_step
from ..core.model.chain import chain_points, self_crossing, start_angles
from ..core.model.quantities import Signal
from .body import BROKEN, FOLDED, MIDPOINT, PUBLISHED, joint_forces, midpoint_work, published_work, state_dtype
from .params import FELT, JOINTS, PHYSICAL, STIFFENING, TONIC, WormParams

if TYPE_CHECKING:
    from ..core.circuit.circuit import Circuit

_SCHEMES = {"midpoint": (MIDPOINT, midpoint_work, 5e-3), "published": (PUBLISHED, published_work, 1e-5)}


class Worm(InLanes):
    """C. elegans of Chung, Chang & Kim (2024), a chain of rods in a viscous medium.

    The drive is the control angle of each joint (n_rods - 1, rad). Signals, each with a leading axis of rows:

    {signals}

    With the midpoint scheme, rates, velocities, friction, torques, forces and powers refer to the middle of the last
    time step. They are second-order accurate at that time, as angles and positions are at ``time``.

    Torques include the factor 1/cos^2(theta/2) of the paper's appendix; ``muscle_power`` does not. The paper's muscle
    is a spring with the control angle as its rest angle. ``muscle_power`` is the positive power of this spring. It
    includes energy that a bent body returns passively, even if ``control_gain`` is 0. ``control_torque`` is the part of
    ``joint_torque`` due to the control angles; its power is ``control_torque`` times ``joint_rate``. Forces between
    rods follow from the equations of motion, with the muscles as torques. The power of all joints is the sum of
    ``power``, the power lost to friction by rotation of the rods, and the growth rate of the kinetic energy.

    By default, a worm starts straight and at rest. Start values are ``rod_angle`` (n,) rad, or ``joint_angle``
    (n - 1,) rad with ``heading`` rad (mean rod angle; at 0 the head points to -x), ``centre`` (2,) m, ``rod_rate``
    (n,) rad/s and ``centre_velocity`` (2,) m/s.

    Args:
        params (WormParams): Physical parameters; by default the paper's worm on agar.
        dt (s): Time step; by default 5 ms with ``midpoint`` and 1e-5 s with ``published``.
        scheme ({"midpoint", "published"}): ``"midpoint"``: linearly implicit midpoint rule with BDF2 rates.
            ``"published"``: the paper's semi-implicit Euler method.
        threads: Number of threads. Results do not depend on it.
        circuit (Circuit, file, or name): Nervous system, only with ``midpoint``: a `core.circuit.Circuit`, a TOML file,
            ``"boyle"`` (Boyle, Berri & Cohen, 2012), ``"ventral_cord"`` (after Olivares, Izquierdo & Beer, 2021) or
            ``"ahead"``. The drive is added to its outputs, which are control angles. Rows then also have the parameters
            of the circuit; ``feedback`` (n - 1,), a factor on each sensed joint angle; ``tonic``, the tonic drive of
            populations with a ``tonic``, by default 1; and with antagonists ``stiffening``, by default 0, see
            `active_joints`. The start value ``kick`` (), by default 0.1 (switches: 1), excites all left cells of the
            first population; ``neuron`` sets the state of all cells.

    Raises:
        ValueError: If the scheme is unknown, ``dt`` or ``threads`` is out of range, or the circuit does not fit.
    """

    SIGNALS: Mapping[str, Signal] = {
        "time": Signal("()", "s"),
        "centre": Signal("(2,)", "m", "centre of mass"),
        "centre_velocity": Signal("(2,)", "m/s"),
        "rod_angle": Signal("(n,)", "rad", "angle of each rod, head to tail, not wrapped"),
        "rod_rate": Signal("(n,)", "rad/s"),
        "rod_centre": Signal(
            "(n, 2)", "m", "", lambda self, rows: 0.5 * (self.points(rows)[:, 1:] + self.points(rows)[:, :-1])
        ),
        "rod_velocity": Signal("(n, 2)", "m/s", "", lambda self, rows: rows["rod_velocity"].swapaxes(1, 2)),
        "joint_angle": Signal("(n - 1,)", "rad", "rod i+1 minus rod i", lambda self, rows: np.diff(rows["rod_angle"])),
        "joint_rate": Signal("(n - 1,)", "rad/s", "", lambda self, rows: np.diff(rows["rod_rate"])),
        "control_angle": Signal("(n - 1,)", "rad", "control angle in the last step"),
        "head": Signal("(2,)", "m", "tip of the head", lambda self, rows: self.points(rows)[:, 0]),
        "tail": Signal("(2,)", "m", "tip of the tail", lambda self, rows: self.points(rows)[:, -1]),
        "friction_force": Signal("(n, 2)", "N", "force of the medium on each rod"),
        "power": Signal(
            "()",
            "W",
            "power against friction (translation only, as in Fig. 4)",
            lambda self, rows: (
                -np.sum(self.signals["friction_force"](rows) * self.signals["rod_velocity"](rows), (1, 2))
            ),
        ),
        "muscle_power": Signal(
            "()", "W", "positive power of all joints' springs kappa (g theta_ctrl - theta), active and passive"
        ),
        "control_torque": Signal("(n - 1,)", "N m", "part of ``joint_torque`` due to control angles; 0 if ablated"),
        "joint_torque": Signal("(n - 1,)", "N m", "torque of spring and damper, positive if it increases the angle"),
        "joint_power": Signal(
            "(n - 1,)", "W", "of joint_torque", lambda self, rows: self.joint_torque(rows) * np.diff(rows["rod_rate"])
        ),
        "joint_force": Signal("(n - 1, 2)", "N", "force of rod i+1 on rod i"),
        "neurons": Signal("(sides, P, S)", "1", "outputs of all neurons (with a circuit)"),
    }

    randomized_parameters = ("length", "mass", "stiffness", "control_gain")
    solvers: Mapping[str, tuple[str, ...]] = {"scheme": tuple(_SCHEMES)}
    argument_types: Mapping[str, type] = {"params": WormParams}
    failures: Mapping[float, str] = {FOLDED: "a joint folded back to 180 degrees", BROKEN: "the state is not finite"}

    @takes_objects
    def __init__(
        self,
        params: WormParams | None = None,
        dt: float | None = None,
        scheme: str = "midpoint",
        threads: int = 1,
        circuit: Circuit | str | Path | None = None,
    ) -> None:
        choice("scheme", scheme, _SCHEMES)
        kernels, work, default = _SCHEMES[scheme]
        self.params = WormParams() if params is None else params
        self.dt = time_step(dt, default)
        whole("threads", threads, maximum=MAX_THREADS)
        self.scheme = scheme
        self.drive_size = self.params.n_rods - 1
        self.state = state_dtype(self.params.n_rods)
        joints = (self.drive_size,)
        self.parameters = PHYSICAL | {name: replace(option, shape=joints) for name, option in JOINTS.items()}
        self._profile = self.params.profile
        shaped = self._profile.ndim == 2
        scratch, driven = work(self.params.n_rods, shaped), "control_angle"
        self.circuit = self._read(circuit)
        self._circuit_record: tuple[Any, ...] = ()
        if self.circuit is None:
            del self.signals["neurons"]
        else:
            from .nerves import CRAWLING, nervous_fields, nervous_work

            own, size = nervous_fields(self.params.n_rods), self.drive_size
            self.state = np.dtype(self.state.descr + own + self.circuit.fields())
            scratch = np.dtype(scratch.descr + nervous_work(self.params.n_rods) + self.circuit.work(size, self.dt))
            kernels, driven = CRAWLING, "residual"
            self.cells = self.circuit.cells
            self.parameters = self.parameters | {"feedback": replace(FELT, shape=joints)} | self.circuit.options()
            if self.circuit.tonic:
                self.parameters = self.parameters | {"tonic": TONIC}
            if self.circuit.antagonists is not None:
                self.parameters = self.parameters | {"stiffening": STIFFENING}
            self._circuit_record = (self.circuit.record(size, self.dt),)
        self._stepper = Stepper(self.state, scratch, kernels, threads, constant=self.parameters, driven=(driven,))
        # Mass, length and friction of the rods relative to a uniform body; 1 in a uniform body.
        shares: Any = self._profile if shaped else (1.0, 1.0, 1.0)
        self._mass, self._length, self._friction = shares
        count = self.params.n_rods
        self.rod_lengths = np.full(count, self._length)
        """Length of each rod relative to the mean."""
        self.rod_masses = np.full(count, self._mass)
        """Mass of each rod relative to the mean."""
        self.scratch = np.zeros((count + 1, 2))
        """Scratch space of `crosses_itself`."""

    def _read(self, circuit: Circuit | str | Path | None) -> Circuit | None:
        """Load a circuit and check that it fits this worm."""
        if circuit is None:
            return None
        if self.scheme != "midpoint":
            raise ValueError(f"scheme must be 'midpoint' with a circuit, got {self.scheme!r}")
        from ..core.circuit.circuit import Circuit  # few worms have one

        nerves = Circuit.load(circuit, "worm")
        for sense in nerves.senses:
            choice(f"sense {sense.population}: signal", sense.signal, ("joint_angle",))
        return nerves

    def neurons(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the outputs (B, sides, P, S) of the circuit's neurons."""
        assert self.circuit is not None
        return self.circuit.outputs(rows, *self._circuit_record)

    def _angle(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the rod angles (B, n), rad, at the time of the velocities."""
        angle = rows["rod_angle"]
        if self.scheme == "midpoint":
            back = np.where(rows["step"] > 0, 0.5 * self.dt, 0.0)  # no step before the start
            angle = angle - back[:, None] * rows["rod_rate"]
        return angle

    def _tense(self, rows: NDArray[Any], name: str) -> NDArray[np.float64]:
        """Return stiffness or damping (B, n - 1) of the joints with their present activation."""
        if self.circuit is None:
            return rows[name]
        return rows[name] * rows["tone"][:, ("stiffness", "damping").index(name)]

    def friction_force(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the friction on the rods, (B, n, 2) N."""
        return friction_force(self._angle(rows), rows["rod_velocity"].swapaxes(1, 2), rows, self._friction)

    def muscle_power(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the positive power (B,), W, of the torques kappa (g theta_ctrl - theta), summed over the joints."""
        torque = self._tense(rows, "stiffness") * (
            rows["control_gain"] * rows["control_angle"] - np.diff(self._angle(rows))
        )
        return np.sum(np.maximum(torque * np.diff(rows["rod_rate"]), 0.0), 1)

    def control_torque(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the part (B, n - 1), N m, of `joint_torque` that is due to the control angles."""
        lever = np.cos(0.5 * np.diff(self._angle(rows))) ** 2
        return self._tense(rows, "stiffness") * rows["control_gain"] * rows["control_angle"] / lever

    def joint_torque(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the torque (B, n - 1), N m, of each joint's spring and damper."""
        theta = np.diff(self._angle(rows))
        elastic = self._tense(rows, "stiffness") * (rows["control_gain"] * rows["control_angle"] - theta)
        return (elastic - self._tense(rows, "damping") * np.diff(rows["rod_rate"])) / np.cos(0.5 * theta) ** 2

    def joint_force(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the force (B, n - 1, 2), N, of each rod on the rod in front of it."""
        n, count = self.params.n_rods, len(rows)
        half, mass = self._half_length(rows), (rows["mass"] / n)[:, None] * self._mass
        drag = (rows["friction_perpendicular"] / n)[:, None] * self._friction * half**2 / 3.0
        torque = -drag * rows["rod_rate"]
        joint = self.joint_torque(rows)
        torque[:, :-1] -= joint
        torque[:, 1:] += joint
        full = [np.ascontiguousarray(np.broadcast_to(each, (count, n))) for each in (mass, half)]
        out = np.empty((count, n - 1, 2))
        medium = self.friction_force(rows)
        angle, rate = np.ascontiguousarray(self._angle(rows)), np.ascontiguousarray(rows["rod_rate"])
        joint_forces(angle, rate, np.ascontiguousarray(medium), torque, *full, np.empty((n, 4)), out)
        return out

    def _half_length(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the half lengths of the rods, m, (B, n), or (B, 1) if they are equal."""
        return rows["length"][:, None] / (2 * self.params.n_rods) * self._length

    def rows(self, count: int) -> NDArray[Any]:
        """Return ``count`` rows of worms that are straight along x, with the head at -x, centred and at rest."""
        rows = np.zeros(count, self.state)
        for name in (*PHYSICAL, *JOINTS):
            rows[name] = getattr(self.params, name)
        if self.circuit is not None:
            rows["feedback"] = rows["tonic"] = rows["tone"] = 1.0
            self.circuit.intact(rows)
        return rows

    def start_shapes(self) -> dict[str, tuple[int, ...]]:  # noqa: D102
        n = self.params.n_rods
        at = {"rod_angle": (n,), "joint_angle": (n - 1,), "heading": (), "centre": (2,)}
        own = {} if self.circuit is None else {"kick": (), "neuron": self.state["neuron"].shape}
        return {**at, "rod_rate": (n,), "centre_velocity": (2,), **own}

    def start(self, fresh: NDArray[Any], values: Mapping[str, NDArray[np.float64]]) -> None:  # noqa: D102
        fresh["rod_angle"] = start_angles(values, "rod_angle", fresh["rod_angle"])
        if self.circuit is not None:
            usual = 1.0 if self.circuit.populations[0].dynamics == "switch" else 0.1
            fresh["neuron"][:, 0, 0, 0] = values.get("kick", np.full(len(fresh), usual))[:, None]
        for name in values.keys() - {"rod_angle", "joint_angle", "heading", "kick"}:
            fresh[name] = values[name]
        fresh["rod_rate_before"] = fresh["rod_rate"]
        self._set_velocities(fresh)
        fresh["control_angle"] = np.diff(fresh["rod_angle"])

    def _set_velocities(self, rows: NDArray[Any]) -> None:
        """Set the rod velocities that agree with the rates and the velocity of the centre."""
        half = self._half_length(rows)
        for axis, tangent in ((0, -np.sin(rows["rod_angle"])), (1, np.cos(rows["rod_angle"]))):
            swing = half * rows["rod_rate"] * tangent
            velocity = np.zeros_like(swing)
            velocity[:, 1:] = np.cumsum(swing[:, 1:] + swing[:, :-1], 1)
            velocity += (rows["centre_velocity"][:, axis] - (self._mass * velocity).mean(1))[:, None]
            rows["rod_velocity"][:, axis] = rows["rod_velocity_before"][:, axis] = velocity

    def _arguments(self) -> tuple[Any, ...]:
        return self.dt, self._profile, *self._circuit_record

    def points(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the positions of head tip, joints and tail tip, (B, n + 1, 2) m."""
        points = np.empty((len(rows), self.params.n_rods + 1, 2))
        chain_points(rows["rod_angle"], rows["centre"], rows["length"], self.rod_lengths, self.rod_masses, points)
        return points

    def crosses(self, rows: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which worms cross themselves, (B,)."""
        crossed, angle = np.zeros(len(rows), np.bool_), np.ascontiguousarray(rows["rod_angle"])
        if not (np.ptp(angle, 1) < np.pi).all():  # most starts are straighter, and do not compile this kernel
            self_crossing(angle, self.rod_lengths, self.scratch, crossed)
        return crossed


def friction_force(
    rod_angle: NDArray[np.float64],
    rod_velocity: NDArray[np.float64],
    friction: Mapping[str, Any] | NDArray[Any],
    share: ArrayLike = 1.0,
) -> NDArray[np.float64]:
    """Return the force of the medium on each rod, -(b_par/n)(v.r)r - (b_perp/n)(v.N)N; Chung et al. (2024).

    Args:
        rod_angle ((..., n) float, rad): Angles of the rods.
        rod_velocity ((..., n, 2) float, m/s): Velocities of the rods' centres.
        friction (rows or mapping): ``friction_perpendicular`` and ``friction_parallel`` in kg/s, each () or (...,).
        share ((n,) float): Friction of each rod relative to a rod of the uniform body.

    Returns:
        Force (..., n, 2), N.
    """
    n = rod_angle.shape[-1]
    along = np.stack([np.cos(rod_angle), np.sin(rod_angle)], -1)
    parallel = np.sum(rod_velocity * along, -1, keepdims=True) * along
    b_par = np.asarray(friction["friction_parallel"])[..., None, None] / n * np.asarray(share)[..., None]
    b_perp = np.asarray(friction["friction_perpendicular"])[..., None, None] / n * np.asarray(share)[..., None]
    return -b_par * parallel - b_perp * (rod_velocity - parallel)
