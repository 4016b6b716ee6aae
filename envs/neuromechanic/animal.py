"""Class `Neuromechanic`, which starts, advances and reads rows of any model.

It selects the kernels of a scheme, a contact solver and the parts that the model has, and computes signals from rows.
The equations of motion are in ``body.py``; the interface is `core.model.animal.Animal`.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gymnosoma.moved import points

from ..core.arguments import choice, number, numbers, shown, whole
from ..core.kernels.jit import callback, serial_and_threaded, variant
from ..core.kernels.lanes import LONGEST, aligned, check_rows, checked_ids, kernel_drives, kernel_records
from ..core.kinds import takes_objects
from ..core.model.animal import MAX_THREADS, Animal, time_step
from ..core.model.quantities import Signal
from .body import BROKEN, FAST, SCHEMES, SINGULAR, evaluate, follow, limit_torque, rows_loop, take_steps
from .contact import SOLVERS, collide
from .model import Model, load
from .model.layout import WRITTEN
from .model.reader import SMALLEST
from .muscles import rest_fibres
from .nerves import Module, chain
from .params import PHYSICAL, row_parameters
from .paths import ELLIPSOID

VARIABLE = "rk45", "dop853"
"""Schemes with variable steps, see `variable`."""

_chained = cache(chain)  # several modules are compiled once


@cache
def _make_kernels(scheme: str, contacts: str | None, **parts: bool) -> tuple[Any, Any, Any, Any]:
    """Return the kernels of `take_steps`, `rows_loop` (serial and threaded) and `evaluate`.

    They contain only one scheme, one contact solver, and the parts that the model has.
    """
    had = "_".join(name.lower() for name, has in parts.items() if has) or "plain"
    name = "_".join([scheme, *filter(None, [contacts]), *(["with", had] if any(parts.values()) else [])])
    solver = contacts and {"collide": variant(collide, had, **parts), "find_impulses": SOLVERS[contacts]}
    steps = variant(take_steps, name, step=variant(SCHEMES[scheme], had, **parts), **solver or {})
    rows = serial_and_threaded(rows_loop(variant(follow, name, run=steps)), f"{name}_rows")
    return steps, *rows, variant(evaluate, had, **parts)


@points
class Neuromechanic(Animal):
    """Musculoskeletal model with its nervous system; Bunderson et al. (2012).

    The drive sets the model's inputs, in the order of ``model.inputs``. Signals have a leading axis of rows:

    {signals}

    Excitations, muscle forces, neurons and reactions refer to the beginning of the last time step, forces and modes of
    rigid contacts to the whole step. Powers, torques and forces of joints and compliant contacts refer to the present
    time, with the rigid contacts of the last step.

    A row starts at rest in the model's start posture by default. These start values can be set: ``q``, ``v``, ``n``
    (states of control modules, then of leaky neurons), ``activation``, ``fibre_length`` (by default, fibres are at
    rest), ``input``, ``wrench`` (w, 6) in N and N m, and ``pulse`` (p, 3): onset (s), duration (s) and peak (m/s^2) of
    the platform's accelerations. Events can set ``wrench`` and ``pulse``, too.
    Delayed signals start as if their present values had lasted forever.

    Parameters are factors on values of the model: ``strength`` of muscles, ``mass``, ``damping`` of joints,
    ``friction`` and ``delay``. The smallest ``delay`` makes the shortest delay one time step.

    Args:
        model (Model, path or mapping): Model, or a source for `load`.
        dt (s): Time step.
        scheme ({"semi_implicit", "rk4", "rk45", "dop853"}): Semi-implicit Euler with implicit damping of joints and
            muscles, or the paper's Runge-Kutta methods: of fourth order with fixed steps, of order 5(4) with variable
            steps, or of order 8 with variable steps. Those with variable steps locate the events of contacts; they are
            accurate and slow. For them, ``dt`` is the time between stored values of delayed signals.
        threads: Number of threads that advance many rows. Results do not depend on it.
        modules: Control modules by name, used if ``model`` is a path or mapping.
        contacts ({"modes", "staggered", "sweep"}): Contact solver, see `contact`. ``"modes"``: exact, the default for
            up to two planar contacts. ``"sweep"``: iterates over contacts, the default for more. ``"staggered"``: the
            paper's staggered projections. If these do not converge, the default is used and the row's
            ``alternations`` is -1. The signal ``contact_error`` is the deviation from the contact law.
        tolerance: Relative error of a variable step; a thousandth of it is the absolute error, in SI.

    Raises:
        ValueError: If the model is invalid, the scheme or solver is unknown, the scheme of a model with contacts is
            ``rk4``, a delay is not a multiple of the time step, or a number is out of range.
    """

    SIGNALS: Mapping[str, Signal] = {
        "time": Signal("()", "s"),
        "q": Signal("(n,)", "rad", "joint positions (m for sliding joints); the paper's symbol"),
        "v": Signal("(n,)", "rad/s", "joint velocities (m/s for sliding joints)"),
        "activation": Signal("(a,)", "1", "activation of muscles, except proportional ones and springs"),
        "fibre_length": Signal("(f,)", "m", "length of fibres with compliant tendons"),
        "excitation": Signal("(m,)", "1", "excitation of muscles"),
        "input": Signal("(u,)", "", "present drive"),
        "wrench": Signal("(w, 6)", "N, N, N, N m, N m, N m", "external forces and moments"),
        "reaction": Signal("(c,)", "N", "forces of the pins along their directions"),
        "contact_error": Signal("()", "m/s", "deviation of the contact solution from the contact law"),
        "joint_angle": Signal("(n,)", "rad", "``q``", "q"),
        "joint_rate": Signal("(n,)", "rad/s", "``v``", "v"),
        "muscle_force": Signal("(m,)", "N", "tendon force along the path", "force"),
        "neurons": Signal("(k,)", "", "outputs of neurons", "neuron"),
        "contact_mode": Signal(
            "(c,)", "", "of rigid contacts: 0 apart, 1 sticks, 2 slips, 3 slips against the tangent", "mode"
        ),
        "module_state": Signal("(s,)", "", "of control modules", lambda self, rows: rows["n"][:, : self._controlled]),
        "neuron_state": Signal(
            "(l,)", "", "of leaky neurons, before the shape", lambda self, rows: rows["n"][:, self._controlled :]
        ),
        "muscle_length": Signal("(m,)", "m", "length of the path", lambda self, rows: self._each(rows, "length")),
        "muscle_power": Signal(
            "(m,)",
            "W",
            "power of muscles, positive if they shorten",
            lambda self, rows: -self._each(rows, "force") * self._each(rows, "rate"),
        ),
        "joint_torque": Signal(
            "(n,)",
            "N m",
            "sum of muscles, motors, damping, springs, limits and bushings (N for sliding joints)",
            lambda self, rows: self._each(rows, "joint_torque"),
        ),
        "joint_power": Signal(
            "(n,)",
            "W",
            "power of ``joint_torque``, positive if it accelerates the joint",
            lambda self, rows: self._each(rows, "joint_torque") * rows["v"],
        ),
        "joint_force": Signal(
            "(n, 3)", "N", "total force of the parent on the body, including muscles, in world coordinates"
        ),
        "quaternion": Signal("(b, 4)", "1", "attitude w, x, y, z of ball joints and free bodies in their parents"),
        "centre": Signal("(3,)", "m", "centre of mass", lambda self, rows: self._each(rows, "centre")),
        "energy": Signal("()", "J", "kinetic energy, and potentials of gravity and joint springs only"),
        "contact_force": Signal("(c, 3)", "N", "force of the surfaces on the contacts, in world coordinates"),
        "contact_point": Signal(
            "(c, 3)", "m", "positions of the contacts", lambda self, rows: self._each(rows, "contact_point")
        ),
        "platform": Signal("(3,)", "m", "displacement of the ground; other positions are relative to the ground"),
    }

    randomized_parameters = ("mass", "strength", "damping", "delay")
    solvers: Mapping[str, tuple[str, ...]] = {"scheme": tuple(SCHEMES)}
    failures: Mapping[float, str] = {
        SINGULAR: "masses or pins are singular",
        BROKEN: "the state is not finite",
        FAST: "a joint moves too fast",
    }
    indices: Mapping[str, range] = {"mode": range(4)}

    @takes_objects
    def __init__(
        self,
        model: Model | str | Path | Mapping[str, Any],
        dt: float = 1e-3,
        scheme: str = "semi_implicit",
        threads: int = 1,
        modules: Mapping[str, Module] | None = None,
        contacts: str | None = None,
        tolerance: float = 1e-8,
    ) -> None:
        choice("scheme", scheme, (*SCHEMES, *VARIABLE))
        dt = time_step(dt, 1e-3)
        whole("threads", threads, maximum=MAX_THREADS)
        self.model = model if isinstance(model, Model) else load(model, modules)
        counts = self.model.counts
        enumerable = counts["contacts"] <= 2 and counts["contact_rows"] == 2
        contacts = ("modes" if enumerable else "sweep") if contacts is None else contacts
        choice("contacts", contacts, SOLVERS)
        if contacts == "modes" and counts["contacts"] and not enumerable:
            raise ValueError("contacts must be 'sweep' or 'staggered': 'modes' takes only up to two planar contacts")
        if counts["contacts"] and scheme == "rk4":
            raise ValueError(
                "scheme must be 'semi_implicit', or outside an environment 'rk45' or 'dop853', for a model with "
                f"contacts, got {scheme!r}"
            )
        # Copies use the loaded model, because the file or the caller's mapping can change.
        self._init_arguments = (self.model, dt, scheme), {"contacts": contacts, "tolerance": tolerance}
        self.dt, self.scheme = float(dt), scheme
        self.tolerance = float(number("tolerance", tolerance, minimum=1e-13, maximum=0.1))
        self.contacts = contacts if counts["contacts"] else None
        if counts["contacts"]:
            solvers = tuple(name for name in SOLVERS if enumerable or name != "modes")
            self.solvers = {"scheme": ("semi_implicit",), "contacts": solvers}
        arrays = self.model.arrays
        kernels = _make_kernels(
            "semi_implicit" if scheme in VARIABLE else scheme,
            self.contacts,
            CURVES=bool(arrays["curves"].any()),
            ELASTIC=counts["elastics"] > 0,
            ELLIPSOIDS=bool((arrays["cylinder_way"] >= ELLIPSOID).any()),
            FOLLOWERS=counts["links"] > counts["bodies"],
            LIMITS=counts["limits"] > 0,
            WINDING=bool(arrays["winds"].any()),
        )
        self.take_steps, *self._kernels, self._evaluate = kernels
        self.table, records = self.model.records(self.dt)
        self.parameters = row_parameters(self.model, self.dt)
        self.state, self._kernel_state = records["row"], records["state"]
        self.drive_size = len(self.model.inputs)
        self._controlled = counts["states"] - counts["leaky"]
        self._work = aligned(threads, records["work"])
        self._taken = aligned(1, np.dtype(np.int64))
        fields: Mapping[str, Any] = self.state.fields or {}
        filled = [np.arange(at, at + form.itemsize, 8) // 8 for form, at, *_ in fields.values()]
        self._gaps = np.setdiff1d(np.arange(self.state.itemsize // 8), np.concatenate(filled))
        self._seen: tuple[bytes, dict[str, NDArray[np.float64]]] = b"", {}
        self._rows: NDArray[Any] | None = None
        self._states: NDArray[Any] | None = None

    @property
    def drive_names(self) -> tuple[str, ...]:
        """Names of the model's inputs."""
        return self.model.inputs

    @property
    def threads(self) -> int:
        """Number of threads that advance many rows, each with its own work space; results do not depend on it."""
        return len(self._work)

    @threads.setter
    def threads(self, threads: int) -> None:
        whole("threads", threads, maximum=MAX_THREADS)
        if threads != len(self._work):
            self._work = aligned(threads, self._work.dtype)

    def rows(self, count: int) -> NDArray[Any]:
        """Return ``count`` rows of state, at rest in the model's start posture."""
        rows = np.zeros(count, self.state)
        rows[:] = self._resting
        return rows

    @cached_property
    def _resting(self) -> NDArray[Any]:
        row = np.zeros(1, self.state)  # NumPy's copies would leave the gaps between fields uninitialised
        self.start(row, {})
        return row

    @cached_property
    def _fresh(self) -> NDArray[Any]:
        """Row (1,) at rest in the model's start posture."""
        row = np.zeros(1, self.state)
        row["q"] = [joint.start for joint in self.model.joints]
        row["n"], row["wrench"], row["pulse"] = self.model.start, self.model.wrench, self.model.pulse
        for name in PHYSICAL:
            row[name] = 1.0
        return row

    def start_shapes(self) -> dict[str, tuple[int, ...]]:  # noqa: D102
        names = ["q", "v", "n", "activation", "fibre_length", "input", "wrench"]
        if self.model.counts["pulses"]:
            names.append("pulse")
        return {name: self._fresh[name].shape[1:] for name in names}

    @cached_property
    def _control(self) -> Any:
        return callback(_chained(self.model.modules), 8) if self.model.modules else None

    def _settle(self, rows: NDArray[Any]) -> None:
        rate, states = np.empty(self.model.counts["size"]), rows.view(self._kernel_state)
        for i, z in enumerate(states["z"]):
            self._evaluate(self.table, self._work[:1], states[i : i + 1], z, rate, True, self._control)

    def start(self, fresh: NDArray[Any], values: Mapping[str, NDArray[np.float64]]) -> None:  # noqa: D102
        fresh[:] = self._fresh
        if "pulse" in values:
            numbers("start: pulse", values["pulse"][..., :2], minimum=0)  # onset and duration
        for name, array in values.items():
            fresh[name] = array
        for i in self.model.arrays["ball"]:
            turn = fresh["q"][:, i : i + 3]
            angle = np.sqrt(np.sum(turn**2, 1, keepdims=True))
            whole_turns = np.ceil(0.5 * angle / np.pi - 0.5)
            turn *= np.where(angle > np.pi, 1.0 - 2.0 * np.pi * whole_turns / np.maximum(angle, 1.0), 1.0)
        if self.model.counts["fibres"] and "fibre_length" not in values:
            for i in range(len(fresh)):
                length = self.mechanics(fresh[i : i + 1])["length"]
                rest_fibres(self.table, length, fresh["activation"][i], fresh["fibre_length"][i])
        self._settle(fresh)
        if not np.isfinite(fresh.view(self._kernel_state)["written"]).all():
            name = next(name for name in WRITTEN if not np.isfinite(fresh[name]).all())
            raise ValueError(
                f"{self.model.origin}start: {name} must be finite, but muscles or neurons overflow: "
                f"got {shown(fresh[name])}"
            )

    def advance(self, rows: NDArray[Any], ids: NDArray[np.int64], drive: NDArray[np.float64], steps: int) -> None:
        """Advance ``rows[ids]`` by ``steps`` time steps with a constant drive (A, u).

        A row that fails keeps its last valid state and gets a ``status`` listed in ``failures``.
        """
        Neuromechanic.run(self, rows, ids, drive[None], steps)

    def run(  # noqa: D102
        self,
        rows: NDArray[Any],
        ids: NDArray[np.int64],
        drives: NDArray[np.float64],
        steps: int,
        records: NDArray[Any] | None = None,
        offset: int = 0,
        stride: int = 1,
    ) -> None:
        if rows is not self._rows:  # check and view cost as much as several steps
            check_rows(rows, self.state)
            self._rows, self._states = rows, rows.view(self._kernel_state)
            # NumPy's copies leave the gaps between fields uninitialised, but steps check that all numbers are finite.
            self._states["all"][:, self._gaps] = 0.0
        ids = checked_ids(ids, len(rows))
        whole("steps", steps, maximum=LONGEST)
        drives, count = kernel_drives(drives, len(ids), self.drive_size)
        moments, offset, stride = kernel_records(records, self.state, len(rows), count, offset, stride)
        if self.scheme in VARIABLE:
            from .variable import run  # scipy, slow to import

            run(self, rows, ids, np.broadcast_to(drives, (count, *drives.shape[1:])), steps, records, offset, stride)
            return
        move = self._kernels[len(self._work) > 1 and len(ids) > 1]
        state = self.table, self._work, self._states, ids, self._taken
        move(*state, drives, count, int(steps), moments, offset, stride, self.dt, self._control)

    def twin(self) -> Neuromechanic:
        """Return a copy with a separate table of constants, for analyses that change constants."""
        twin = copy.copy(self)
        twin.table, twin._seen = self.table.copy(), (b"", {})
        return twin

    def rate(self, row: NDArray[Any], z: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Compute the rate of the state vector (Eq. 3), without rigid contacts, which act on whole time steps.

        Args:
            row ((1,) record): State with inputs, wrenches and past signals.
            z ((N,) float): State vector; that of the row by default.

        Returns:
            (N,) float: Rate of z, per second.
        """
        z = self.vector(row) if z is None else np.ascontiguousarray(z, float)
        rate = np.empty(len(z))
        self._evaluate(self.table, self._work[:1], row.view(self._kernel_state), z, rate, False, self._control)
        return rate

    def vector(self, row: NDArray[Any]) -> NDArray[np.float64]:
        """Return a copy of the state vector z = [q, v, n, a, l] of a row (1,)."""
        return np.concatenate([row[name][0] for name in ("q", "v", "n", "activation", "fibre_length")])

    def with_vector(self, row: NDArray[Any], z: NDArray[np.float64]) -> NDArray[Any]:
        """Return a copy of a row (1,) with another state vector."""
        copy, at = row.copy(), 0
        for name in ("q", "v", "n", "activation", "fibre_length"):
            size = copy[name].shape[1]
            copy[name] = z[at : at + size]
            at += size
        return copy

    def mechanics(self, row: NDArray[Any]) -> dict[str, NDArray[np.float64]]:
        """Compute the mechanical quantities of a row (1,), in SI units.

        Returns:
            dict: Arrays for n joints, b bodies (followers last), m muscles, c pins or contacts, k neurons, r motors, w
                wrenches and d delayed signals:

                * dynamics: ``M`` (n, n), ``bias`` (n,) without muscles, ``tau`` (n,), ``qdd`` (n,) without rigid
                  contacts, ``joint_torque`` (n,)
                * muscles and motors: ``arm`` (m, n), ``length``, ``rate``, ``force``, ``excitation`` (m,), ``motor``
                  (r,)
                * pins and contacts: ``J`` (c, n), ``drift``, ``reaction`` (c,), ``contact_point`` (c, 3); only of
                  compliant contacts: ``contact_gap`` (c,), ``contact_force`` (c, 3), ``contact_torque`` (c, n)
                * bodies: ``turn`` (b, 3, 3), ``origin`` (b, 3), ``S`` (b, 6), ``follow`` (b, 4), ``centre`` (3,)
                * wrenches: ``wrench`` (w, 6), ``wrench_torque`` (w, n)
                * nerves: ``neuron`` (k,), ``delayed`` (d,), present values of delayed signals

                ``S`` (joint axes) and ``wrench`` are spatial vectors (angular, linear) at the world's origin.
        """
        now = row.tobytes()
        if self._seen[0] == now:
            return {name: value.copy() for name, value in self._seen[1].items()}
        self._seen = now, self._mechanics(row)
        return self.mechanics(row)

    def _mechanics(self, row: NDArray[Any]) -> dict[str, NDArray[np.float64]]:
        self.rate(row)
        work, counts = self._work[0], self.model.counts
        n, m, c = (counts[name] for name in ("bodies", "muscles", "pins"))
        shapes: dict[str, tuple[int, ...]] = {"M": (n, n), "arm": (m, n), "J": (c, n), "neuron": (counts["neurons"],)}
        shapes |= dict.fromkeys(("bias", "tau", "qdd"), (n,))
        shapes |= dict.fromkeys(("turn", "origin", "body_inertia", "S", "f", "follow"), (counts["links"],))
        shapes |= {"motor": (counts["motors"],), "push": (counts["pushes"],)}
        shapes |= dict.fromkeys(("length", "rate", "fibre", "force", "excitation", "slope"), (m,))
        shapes |= dict.fromkeys(("drift", "reaction"), (c,)) | {"delayed": (counts["delays"],)}
        shapes |= {"touch": (counts["touches"],), "way": (counts["elastics"], n), "elastic": (counts["elastics"],)}
        result = {name: work[name][tuple(map(slice, shape))].copy() for name, shape in shapes.items()}
        result["follow"][:n] = [0.0, 1.0, 0.0, 0.0]
        moments = result["body_inertia"].sum(0)
        arrays = self.model.arrays
        body, at = arrays["contact_body"], arrays["contact_at"]
        touch = result.pop("touch")
        points = result["origin"][body] + np.einsum("cij,cj->ci", result["turn"][body], at)
        points = touch[:, 2:5] if len(touch) else points
        pulls = result.pop("elastic")[:, :1] * result.pop("way")
        contacts = {"contact_gap": touch[:, 0], "contact_force": touch[:, 5:]}
        contacts |= {"contact_torque": pulls[: 3 * len(touch)].reshape(-1, 3, n).sum(1)}
        torque = result["arm"].T @ result["force"] + pulls[3 * len(touch) :].sum(0)
        np.add.at(torque, arrays["motor"][:, 0], result["motor"])
        torque -= row["damping"][0] * arrays["damping"] * row["v"][0]
        torque -= arrays["stiffness"] * (row["q"][0] - arrays["rest"])
        for i, limit in zip(arrays["limit_joint"], arrays["limit"], strict=True):
            torque[i] += limit_torque(limit, row["q"][0, i], row["v"][0, i])[0]
        wrench, wrench_torque = row["wrench"][0].copy(), np.zeros((counts["wrenches"], n))
        for (w, part, _, _), value in zip(arrays["push"], result.pop("push"), strict=True):
            wrench[w, part] += value
        for w, (force, moment) in enumerate(wrench.reshape(-1, 2, 3).copy()):
            b = arrays["wrench_body"][w]
            turn = result["turn"][b] if arrays["wrench_local"][w] else np.eye(3)
            place = result["origin"][b] + result["turn"][b] @ arrays["wrench_at"][w]
            wrench[w] = np.concatenate([np.cross(place, turn @ force) + turn @ moment, turn @ force])
            wrench_torque[w] = at_joints(result, arrays, b, wrench[w])
        places = {"centre": moments[1:4] / moments[0], "contact_point": points, "joint_torque": torque}
        return result | places | contacts | {"wrench": wrench, "wrench_torque": wrench_torque}

    def joint_force(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Compute the total force of the parent on each body, including muscles, in the world, (B, n, 3) N."""
        arrays, rigid = self.model.arrays, self.contact_force(rows)[:, : self.model.counts["contacts"]]
        parent, coordinate, result = arrays["parent"], arrays["coordinate"], np.zeros((*rows["q"].shape, 3))
        for r in range(len(rows)):
            k = self.mechanics(rows[r : r + 1])
            outside, touch = np.zeros((len(parent), 3)), np.zeros(rows["q"].shape[1])
            np.add.at(outside, arrays["wrench_body"], k["wrench"][:, 3:])
            np.add.at(outside, arrays["contact_body"], rigid[r])
            for at, body, force in zip(
                k["contact_point"][: len(rigid[r])], arrays["contact_body"], rigid[r], strict=True
            ):
                touch += at_joints(k, arrays, body, np.concatenate([np.cross(at, force), force]))
            pairs = np.concatenate([arrays["pin_body"], arrays["touch_body"]])
            turns = np.where(arrays["pin_local"][:, None, None], k["turn"][arrays["pin_body"][:, 1]], np.eye(3))
            axes = np.einsum("cij,cj->ci", turns, arrays["pin_axis"])
            pulls = np.concatenate([k["reaction"][:, None] * axes, k["contact_force"]])
            for bodies, force in zip(pairs, pulls, strict=True):
                for body, sign in zip(bodies, (1.0, -1.0), strict=True):
                    if body >= 0:
                        outside[body] += sign * force
            qdd = k["qdd"] + (np.linalg.solve(k["M"], touch) if len(rigid[r]) else 0.0)
            # k["f"] does not contain the accelerations of bodies.
            moved = k["S"] * (k["follow"][:, 1] * qdd[coordinate])[:, None]
            for i in arrays["sequence"][parent[arrays["sequence"]] >= 0]:
                moved[i] += moved[parent[i]]
            mass, moment = k["body_inertia"][:, :1], k["body_inertia"][:, 1:4]
            force = rows["mass"][r] * (mass * moved[:, 3:] + np.cross(moved[:, :3], moment)) - outside
            for child in arrays["sequence"][::-1]:
                if parent[child] >= 0:
                    force[parent[child]] += force[child]
            result[r] = (rows["mass"][r] * k["f"][:, 3:] + force)[: result.shape[1]]
        return result

    def quaternion(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Compute the attitudes (w, x, y, z) of ball joints and free bodies in their parents, (B, b, 4)."""
        turn = rows["q"][:, self.model.arrays["ball"][:, None] + np.arange(3)]
        half = 0.5 * np.sqrt(np.sum(turn**2, 2, keepdims=True))
        return np.concatenate([np.cos(half), 0.5 * np.sinc(half / np.pi) * turn], 2)

    def _each(self, rows: NDArray[Any], name: str) -> NDArray[np.float64]:
        return np.array([self.mechanics(rows[i : i + 1])[name] for i in range(len(rows))])

    def contact_force(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Compute the force on each contact, (B, c, 3) N: of rigid ones in the last step, of compliant ones now."""
        if self.model.counts["touches"]:
            return self._each(rows, "contact_force")
        frame = self.model.arrays["contact_frame"][:, : rows["impulse"].shape[2]]
        return np.sum(rows["impulse"][..., None] * frame, 2) / self.dt

    def platform(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Compute the displacement of the ground since the start, (B, 3) m."""
        onset, lasts, peak = np.moveaxis(rows["pulse"], 2, 0)
        moves = lasts >= SMALLEST  # a pulse with duration 0 does not move the ground
        lasts, peak = np.where(moves, lasts, 1.0), np.where(moves, peak, 0.0)
        since = np.maximum(rows["time"][:, None] - onset, 0.0)
        within, pace = np.minimum(since, lasts), np.pi / lasts
        moved = peak / pace * (within - np.sin(pace * within) / pace + 2.0 * (since - within))
        return np.sum(moved, 1, keepdims=True) * self.model.arrays["platform"]

    def energy(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Compute kinetic energy plus the potentials of gravity and joint springs, (B,) J."""
        arrays, result = self.model.arrays, np.zeros(len(rows))
        mass = np.sum(arrays["mass"])
        for i, row in enumerate(rows):
            k = self.mechanics(rows[i : i + 1])
            spring = 0.5 * np.sum(arrays["stiffness"] * (row["q"] - arrays["rest"]) ** 2)
            fall = -row["mass"] * mass * (k["centre"] @ arrays["gravity"])
            result[i] = 0.5 * row["v"] @ k["M"] @ row["v"] + fall + spring
        return result


def at_joints(
    k: Mapping[str, NDArray[np.float64]], arrays: Mapping[str, NDArray[Any]], body: int, force: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Compute the generalised forces (n,) of a spatial force (6,) on a body.

    Args:
        k: Result of `Neuromechanic.mechanics`.
        arrays: Arrays of the model.
        body: Index of the body.
        force ((6,) float, N m and N): Moment and force at the world's origin.
    """
    result = np.zeros(len(k["tau"]))
    while body >= 0:
        result[arrays["coordinate"][body]] += k["follow"][body, 1] * (k["S"][body] @ force)
        body = int(arrays["parent"][body])
    return result
