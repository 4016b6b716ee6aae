"""Class `WhiskerRod`, which starts, advances and reads rows of whiskers.

It selects the kernels of a scheme and computes signals from rows. The equations of motion are in ``body.py`` and
``radau.py``; the interface is `core.model.animal.Animal`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arguments import choice, whole
from ..core.kernels.lanes import Stepper, aligned, in_lanes, matrix
from ..core.kinds import takes_objects
from ..core.model.animal import MAX_THREADS, InLanes, time_step
from ..core.model.quantities import Signal
from .body import BROKEN, BURIED, FLIPPED, MIDPOINT, PARAMETERS, WILD, rods, state_dtype, work_dtype
from .params import PHYSICAL, Relief, WhiskerRodParams, table
from .radau import PUBLISHED, published_work
from .statics import equilibrium

_SCHEMES = {"midpoint": (MIDPOINT, work_dtype, 10e-6), "published": (PUBLISHED, published_work, 50e-6)}
"""Kernels, scratch space, and time step (s) on a flat plate, by scheme."""


class WhiskerRod(InLanes):
    """Rat whisker as a conical rod that touches a plate with its tip (Oladazimi, Putelat et al., 2021; whisker C4).

    The whisker points along +y from its base at the origin to a plate at y = ``plate_distance``. The drive is the
    velocity of the plate along x and y (m/s) and the angular velocity of the base (rad/s). The whisker is in air if
    the plate is farther away than its length.

    The paper turns the base in an arena. In the frame of the base, the plate moves instead: 420, 840 and 1260 deg/s at
    27.36 mm are 0.2, 0.4 and 0.6 m/s.

    Only the tip may touch the plate, and a row fails if the whisker lies along it. This happens within milliseconds
    if a straight whisker is turned abruptly against a flat plate at such speeds. It also happens if the plate drags the
    tip back over the base; to avoid it, start the whisker bent to the other ``side``.

    Signals by name, each with a leading axis of rows:

    {signals}

    By default the whisker starts at rest, in equilibrium on the plate. Start values:

    * ``plate_distance`` m (default 0.98 lengths); the tip alone must be able to touch the plate at this distance
    * ``plate_position`` m (0) and ``base_angle`` rad (pi/2)
    * ``friction_coefficient``: the mu of the equilibrium (0), positive if the plate pulls along +x
    * ``side``: direction of bending, 1 for +x (default) or -1 for -x, as for a plate that moves along -x
    * ``segment_angle`` (n,) rad, instead of the equilibrium, and ``segment_rate`` (n,) rad/s (0)
    * ``friction_state`` (V_*/v at v = 0.2 m/s)

    Args:
        params: Physical parameters; by default those of the paper.
        dt (s): Time step; by default 10 us with ``midpoint``, 50 us with ``published``, and 5 us with a relief.
        scheme ({"midpoint", "published"}): Linearly implicit midpoint rule, or the paper's Radau IIA method of order 5
            with a fixed step. Means over the last step refer to the step of the scheme.
        relief: Height profile of the plate; flat by default.
        threads: Number of threads for many rows. Results do not depend on it.

    Raises:
        ValueError: If ``scheme`` is unknown, or ``dt`` or ``threads`` is out of range.
    """

    SIGNALS: Mapping[str, Signal] = {
        "time": Signal("()", "s"),
        "segment_angle": Signal("(n,)", "rad", "angle of each segment from +x, base to tip"),
        "segment_rate": Signal("(n,)", "rad/s"),
        "arc": Signal(
            "(n + 1,)", "m", "arc length of the nodes from the base", lambda self, rows: _sums(self.rods(rows)[:, 0])
        ),
        "centreline": Signal("(n + 1, 2)", "m", "positions of the nodes; the last is the tip"),
        "velocity": Signal("(n + 1, 2)", "m/s", "velocities of the nodes"),
        "acceleration": Signal("(n + 1, 2)", "m/s^2", "accelerations of the nodes in the last step"),
        "curvature_change": Signal("(n,)", "rad/m", "kappa - kappa_i at the inner end of each segment"),
        "moment": Signal("(n,)", "N m", "bending moment at the inner ends; positive turns towards -x"),
        "joint_force": Signal("(n, 2)", "N", "force of the outer on the inner part of the whisker at the inner ends"),
        "shear": Signal("(n,)", "N", "component of ``joint_force`` to the left: decrease of the moment per length"),
        "joint_power": Signal(
            "(n,)",
            "W",
            "power of elasticity and damping on the segments at the inner ends",
            lambda self, rows: -self.moment(rows) * np.diff(rows["segment_rate"], prepend=rows["base_rate"][:, None]),
        ),
        "tip_velocity": Signal("(2,)", "m/s"),
        "tip_force": Signal("(2,)", "N", "force of the plate on the tip (mu p, -p), mean of the last step"),
        "contact": Signal("()", "1", "fraction of the last ``advance`` in contact"),
        "slip_speed": Signal("()", "m/s", "speed of the plate relative to the tip; 0 in flight"),
        "friction_state": Signal("()", "1", "the paper's phi"),
        "friction_coefficient": Signal(
            "()",
            "1",
            "the paper's mu, valid in contact",
            lambda self, rows: rows["friction_level"] * rows["rate_strength"],
        ),
        "gap": Signal(
            "()",
            "m",
            "distance from the tip to the plate without relief",
            lambda self, rows: rows["plate_distance"] - rows["tip"][:, 1],
        ),
        "plate_position": Signal("()", "m", "position of the plate along x"),
        "plate_speed": Signal(
            "()", "m/s", "driven velocity of the plate along x", lambda self, rows: rows["plate_velocity"][:, 0]
        ),
        "plate_distance": Signal("()", "m", "position of the plate along y"),
        "base_angle": Signal("()", "rad"),
        "base_wrench": Signal("(3,)", "N m, N, N", "M, Fx, Fy of the rod on its base, mean of the last step"),
        "base_wrench_mean": Signal("(3,)", "N m, N, N", "M, Fx, Fy, mean of the last ``advance``"),
        "base_wrench_samples": Signal("(8, 3)", "N m, N, N", "M, Fx, Fy, means of eighths of the last ``advance``"),
        "band_power": Signal(
            "(8,)", "(N m)^2", "power of the base moment around the frequencies ``BANDS``, mean of the last ``advance``"
        ),
        "energy": Signal("()", "J", "kinetic and elastic energy"),
    }

    drive_size = 3
    randomized_parameters = ("density", "youngs_modulus", "damping")
    solvers: Mapping[str, tuple[str, ...]] = {"scheme": tuple(_SCHEMES)}
    argument_types: Mapping[str, type] = {"params": WhiskerRodParams, "relief": Relief}
    failures: Mapping[float, str] = {
        FLIPPED: "the tip lies along the plate, so that more than the tip touches it",
        BURIED: "an inner part of the whisker is behind the plate, so that more than the tip touches it",
        WILD: "a segment turns too fast for the time step",
        BROKEN: "the state is not finite",
    }

    @takes_objects
    def __init__(
        self,
        params: WhiskerRodParams | None = None,
        dt: float | None = None,
        scheme: str = "midpoint",
        relief: Relief | None = None,
        threads: int = 1,
    ) -> None:
        choice("scheme", scheme, _SCHEMES)
        self.params = WhiskerRodParams() if params is None else params
        self.relief = Relief.flat() if relief is None else relief
        kernels, work, default = _SCHEMES[scheme]
        self.dt = time_step(dt, default if relief is None else 5e-6)
        whole("threads", threads, maximum=MAX_THREADS)
        self.scheme = scheme
        n = self.params.n_segments
        self.state = state_dtype(n)
        self.parameters = {**PHYSICAL, "curvature": replace(PHYSICAL["curvature"], shape=(n,))}
        if not self.relief.height.any():
            del self.parameters["relief"]
            if self.params.relief != WhiskerRodParams.relief:
                raise ValueError(f"relief of params needs a plate with a relief, got {self.params.relief!r}")
        self._stepper = Stepper(
            self.state, work(n), kernels, threads, constant=PHYSICAL, driven=("plate_velocity", "base_rate")
        )
        self._surface = self.relief.coefficients(), self.relief.period, float(self.relief.height.max())
        self._rods = b"", np.empty((0, 6, n))

    def rows(self, count: int) -> NDArray[Any]:
        """Return ``count`` rows of state: straight along y, unloaded, with the plate out of reach."""
        rows = np.zeros(count, self.state)
        for name in PHYSICAL:
            rows[name] = getattr(self.params, name)
        rows["base_angle"] = np.pi / 2
        rows["segment_angle"] = np.pi / 2
        rows["sine"] = 1.0
        rows["tip"][:, 1] = rows["length"]
        rows["plate_distance"] = 2 * rows["length"]
        return rows

    def start_shapes(self) -> dict[str, tuple[int, ...]]:  # noqa: D102
        n = self.params.n_segments
        names = ("plate_distance", "plate_position", "base_angle", "friction_coefficient", "side")
        return dict.fromkeys(names, ()) | {"segment_angle": (n,), "segment_rate": (n,), "friction_state": ()}

    def start(self, fresh: NDArray[Any], values: Mapping[str, NDArray[np.float64]]) -> None:  # noqa: D102
        count = len(fresh)
        for name in ("plate_distance", "friction_state"):
            if name in values and not (values[name] > 0).all():
                raise ValueError(f"start: {name} must be greater than 0, got {float(values[name].min())!r}")
        side = values.get("side", np.ones(count))
        if not (np.abs(side) == 1.0).all():
            raise ValueError(f"start: side must be 1 or -1, got {float(side[np.abs(side) != 1.0][0])!r}")
        t = table()
        for name in self.parameters:
            if name in values:
                fresh[name] = values[name]
        fresh["plate_distance"] = t["plate_distance"] * fresh["length"]
        fresh["friction_state"] = fresh["reference_speed"] / t["plate_speed"]
        for name in ("plate_distance", "plate_position", "base_angle", "friction_state", "segment_rate"):
            if name in values:
                fresh[name] = values[name]
        if "segment_angle" in values:
            fresh["segment_angle"] = values["segment_angle"]
        else:
            self._settle(fresh, np.broadcast_to(values.get("friction_coefficient", 0.0), (count,)), side)
        fresh["friction_level"] = values.get("friction_coefficient", 0.0) / fresh["rate_strength"]
        ahead = fresh["segment_angle"] + 0.5 * self.dt * fresh["segment_rate"]
        fresh["cosine"], fresh["sine"] = np.cos(ahead), np.sin(ahead)
        fresh["tip"] = self.centreline(fresh)[:, -1]
        fresh["tip_velocity"] = self.velocity(fresh)[:, -1]
        # At rest, the force on the base is that on the tip.
        fresh["base_wrench"][:, 0] = fresh["moment_mean"] = self.moment(fresh)[:, 0]
        fresh["base_wrench"][:, 1:] = fresh["tip_force"]
        fresh["base_wrench_mean"] = fresh["base_wrench"]
        fresh["base_wrench_samples"] = fresh["base_wrench"][:, None]

    def _settle(self, rows: NDArray[Any], mu: NDArray[np.float64], side: NDArray[np.float64]) -> None:
        """Set rows to their equilibrium on the plate, bent to ``side``."""
        for row, own, coefficient, to in zip(rows, self.rods(rows), mu, side, strict=True):
            # A whisker bent towards -x is the mirror image of one bent towards +x.
            rod, base = own.copy(), row["base_angle"] if to > 0 else np.pi - row["base_angle"]
            rod[5] *= to
            force = equilibrium(rod, base, row["plate_distance"], to * coefficient, row["segment_angle"])
            if np.isnan(force):
                raise ValueError(
                    "start: plate_distance must be large enough for only the tip to touch when the whisker bends "
                    f"towards {'+' if to > 0 else '-'}x (0.9772 lengths if it is straight and without friction), "
                    f"got {row['plate_distance']!r} at length {row['length']!r}"
                )
            if to < 0:
                row["segment_angle"] = np.pi - row["segment_angle"]
            row["tip_force"] = coefficient * force, -force
            row["contact"] = force > 0.0

    def _arguments(self) -> tuple[Any, ...]:
        return self.dt, *self._surface

    def rods(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the segments of the rods (B, 6, n), in the order of `body.rods`: m, kg, kg m^2, N m, N m s, rad."""
        n = self.params.n_segments
        # The parameters are the last columns. They rarely change, so the last result is cached.
        numbers = matrix(np.ascontiguousarray(rows))
        key = numbers[:, -len(PARAMETERS) - n :].tobytes()
        if key != self._rods[0]:
            blocks, work = (aligned(1, dtype) for dtype in _single(n))
            out = np.empty((len(rows), 6, n))
            rods(numbers, blocks, blocks.view(np.float64).reshape(1, -1, 1), work, out)
            out.flags.writeable = False  # because it is cached
            self._rods = key, out
        return self._rods[1]

    def centreline(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the positions of the nodes (B, n + 1, 2) m."""
        h, angle = self.rods(rows)[:, 0], rows["segment_angle"]
        return np.stack([_sums(h * np.cos(angle)), _sums(h * np.sin(angle))], -1)

    def velocity(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the velocities of the nodes (B, n + 1, 2) m/s."""
        speed, angle = self.rods(rows)[:, 0] * rows["segment_rate"], rows["segment_angle"]
        return np.stack([_sums(-speed * np.sin(angle)), _sums(speed * np.cos(angle))], -1)

    def acceleration(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the accelerations of the nodes (B, n + 1, 2) m/s^2."""
        h, angle = self.rods(rows)[:, 0], rows["segment_angle"]
        along, across = -h * rows["segment_rate"] ** 2, h * rows["segment_acceleration"]
        x = along * np.cos(angle) - across * np.sin(angle)
        y = along * np.sin(angle) + across * np.cos(angle)
        return np.stack([_sums(x), _sums(y)], -1)

    def _deflection(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the angles of the joints minus those at rest, (B, n) rad."""
        return np.diff(rows["segment_angle"], prepend=rows["base_angle"][:, None]) - self.rods(rows)[:, 5]

    def curvature_change(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the change of curvature (B, n) rad/m."""
        h = self.rods(rows)[:, 0]
        cell = 0.5 * (h + np.concatenate([np.zeros((len(h), 1)), h[:, :-1]], 1))
        return self._deflection(rows) / cell

    def moment(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the bending moments (B, n) N m at the inner ends of the segments."""
        rod = self.rods(rows)
        rate = np.diff(rows["segment_rate"], prepend=rows["base_rate"][:, None])
        return rod[:, 3] * self._deflection(rows) + rod[:, 4] * rate

    def joint_force(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the force (B, n, 2) N of the outer on the inner part of the whisker, at each segment's inner end."""
        drag = rows["external_damping"][:, None, None] * self.velocity(rows)
        lack = self.rods(rows)[:, 1, :, None] * (self.acceleration(rows) + drag)[:, 1:]
        return rows["tip_force"][:, None] - np.cumsum(lack[:, ::-1], 1)[:, ::-1]

    def shear(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the shear force (B, n) N at the inner ends of the segments."""
        force, angle = self.joint_force(rows), rows["segment_angle"]
        return force[:, :, 1] * np.cos(angle) - force[:, :, 0] * np.sin(angle)

    def energy(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the kinetic and elastic energy, (B,) J."""
        rod = self.rods(rows)
        square = np.sum(self.velocity(rows)[:, 1:] ** 2, -1)
        kinetic = rod[:, 1] * square + rod[:, 2] * rows["segment_rate"] ** 2
        return 0.5 * np.sum(kinetic + rod[:, 3] * self._deflection(rows) ** 2, -1)


@cache
def _single(n: int) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """Return the record types of state and scratch space with one lane."""
    return in_lanes(state_dtype(n), 1), in_lanes(work_dtype(n), 1)


def _sums(parts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return running sums along the last axis, starting with 0."""
    return np.concatenate([np.zeros((len(parts), 1)), np.cumsum(parts, -1)], -1)
