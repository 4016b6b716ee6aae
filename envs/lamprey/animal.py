"""The lamprey as an animal: rows of state that can be started, advanced and read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arguments import choice, whole
from ..core.circuit.circuit import Circuit
from ..core.kernels.jit import kernel
from ..core.kernels.lanes import aligned, in_lanes, matrix
from ..core.kernels.stepper import Stepper
from ..core.model.animal import MAX_THREADS, InLanes, time_step
from ..core.model.chain import start_angles
from ..core.model.quantities import Option, Signal
from .body import (
    BENT,
    BODY,
    BROKEN,
    EULER,
    IMPLICIT,
    LARGEST_JOINT_ANGLE,
    LEFT,
    PARAMETERS,
    RIGHT,
    RUNGE_KUTTA,
    body_fields,
    body_work,
    inner_forces,
)
from .nerves import DRIVEN, REFERENCE, SWIMMING, motoneuron_fields, residual_fields
from .params import PHYSICAL, LampreyParams, motoneuron, physical, read_circuit, table

_SCHEMES = {"published": (EULER, 10e-3, 10), "implicit": (IMPLICIT, 10e-3, 4), "reference": (RUNGE_KUTTA, 1e-3, 1)}
"""Code of each scheme for the kernels, time step (s) and substeps by default."""

DRIVES = ("brainstem", "residual", "motoneuron", "muscle")
"""What drives the animal: its cord, its cord and muscles, motoneurons alone, muscles alone."""

NEURAL = ("excitation", "inhibition", "neuron")
"""Fields that are the state of neurons."""


class Lamprey(InLanes):
    """The swimming lamprey of Ekeberg (1993): body, muscles, water, and the spinal cord in the loop.

    Its drive is, with ``drive="brainstem"``, the tonic level of the cord's excitation, its asymmetry (added on the
    right, taken away on the left) and the relative extra on the head segments; with ``"motoneuron"``, without a
    cord, a command of the motoneurons at each joint, first left, then right (2 n - 2 numbers, from -1, inhibited as far
    as the cord can, to 1, excited as far), which they answer within the 20 ms of Table 1; with ``"muscle"`` at once the
    output of these motoneurons (0 .. 1); with ``"residual"`` the three numbers of the brainstem and then such outputs,
    which are added to the cord's own.

    Signals, by name, each with a leading axis of rows:

    {signals}

    The animal faces -(cos phi, sin phi), and turns right where phi decreases.

    It starts straight and at rest unless it is given ``link_angle`` (n,) rad, or ``joint_angle`` (n - 1,) rad about
    ``heading`` rad (the mean link angle, 0: the head points to -x); ``centre`` (2,) m; ``link_rate`` (n,) rad/s;
    ``centre_velocity`` (2,) m/s. One number of a parameter of muscles serves all joints. With a cord it also takes
    ``kick``, the excitation xi+ of all EIN (of the first population) on the left, or if negative on the right, 0.1 by
    default, as a symmetric start would stay so; and ``neuron`` (3, 2, P, S), the state of the neurons: excitation,
    inhibition and adaptation. With motoneurons alone it takes ``excitation`` and ``inhibition`` (2, n - 1).

    Args:
        drive ({"brainstem", "residual", "motoneuron", "muscle"})
        dt (s): Step of the neurons, and of ``advance``; 10 ms, or 1 ms for ``reference``.
        scheme ({"published", "implicit", "reference"}): The paper's explicit Euler method with projection; linearly
            implicit mechanics, stable to steps of 10 ms, which conserve momentum and angular momentum; or fourth-order
            Runge-Kutta steps of neurons and body together. The first two are of first order. At their default steps
            frequency and speed of swimming are up to 6 % off (at tonic levels 0.15 and 0.4; ``implicit`` 3 % in speed),
            the turn rate under asymmetry 9 and 3 %, for the most part by the neurons' Euler steps of 10 ms.
            ``reference`` is of fourth order for the body alone; with the cord it is of second order, as neurons that
            fall silent make kinks, with an error of 1e-5 rad in a second at 1 ms.
        substeps: Mechanical steps in one of the neurons: 10 for ``published``, 4 for ``implicit``, 1 for ``reference``,
            which takes neurons and body together and needs 1 where there is a cord.
        circuit (Circuit, mapping, file, or name): The nervous system, with ``drive`` ``"brainstem"`` or ``"residual"``:
            the paper's cord, ``"cord"``, by default; a mapping of changes to that cord, as `Circuit.replace` takes
            them; another `core.circuit.Circuit`, or a TOML file.
        threads: Threads that advance many rows. Results do not depend on it.

    Raises:
        ValueError: For an unknown scheme or drive, a number that is not positive, or segments that are no multiple of
            the links.

    Examples:
        The cord cut in half: behind the cut no axon of the brainstem arrives, and the rhythm is that of a bath.

        >>> import numpy as np
        >>> from gymnosoma.envs import Event, simulate
        >>> from gymnosoma.envs.lamprey import Lamprey
        >>> bath = np.zeros(100)
        >>> bath[50:] = 0.2
        >>> cut = simulate(Lamprey(), [0.4, 0.0, 0.7], 2.0, every=0.01, start={"transection": 50, "bath": bath})

        The same half-way, and the bath a second later:

        >>> events = [Event(1.0, {"transection": 50}), Event(2.0, {"bath": bath})]
        >>> cut = simulate(Lamprey(), [0.4, 0.0, 0.7], 3.0, every=0.01, events=events)

        LIN of the tail lesioned on the left, and weak muscles there:

        >>> gain = np.ones((2, 5))
        >>> gain[0, 2] = 0.0
        >>> start = {"cell_gain": gain, "cell_segments": [70, 100], "muscle_gain": np.linspace(3e-3, 1e-3, 9)}
        >>> run = simulate(Lamprey(), [0.4, 0.0, 0.7], 2.0, every=0.01, start=start)
    """

    SIGNALS: Mapping[str, Signal] = {
        "time": Signal("()", "s"),
        "centre": Signal("(2,)", "m", "centre of mass"),
        "centre_velocity": Signal("(2,)", "m/s"),
        "link_angle": Signal("(n,)", "rad", "of each link, head to tail, continuous"),
        "link_rate": Signal("(n,)", "rad/s"),
        "yaw_rate": Signal("()", "rad/s", "of turning to the left: mean ``link_rate`` of the mass"),
        "link_centre": Signal("(n, 2)", "m", "", lambda self, rows: rows["link_position"].swapaxes(1, 2)),
        "link_velocity": Signal("(n, 2)", "m/s", "", lambda self, rows: rows["link_velocity"].swapaxes(1, 2)),
        "joint_angle": Signal(
            "(n - 1,)",
            "rad",
            "link i+1 minus link i; positive is concave right",
            lambda self, rows: np.diff(rows["link_angle"]),
        ),
        "joint_rate": Signal("(n - 1,)", "rad/s", "", lambda self, rows: np.diff(rows["link_rate"])),
        "head": Signal("(2,)", "m", "ends of the body", lambda self, rows: self.points(rows)[:, 0]),
        "tail": Signal("(2,)", "m", "ends of the body", lambda self, rows: self.points(rows)[:, -1]),
        "motoneuron": Signal("(2, n - 1)", "1", "left and right, in force during the last step"),
        "edge_cell": Signal("(2, n - 1)", "1/m", "left and right: curvature where it stretches the side", "edge_cells"),
        "joint_torque": Signal("(n - 1,)", "N m", "of muscles and tissue, Eq. 7; it acts on ``joint_angle``"),
        "forced_torque": Signal("(n - 1,)", "N m", "from outside, beside it, in force during the last step"),
        "muscle_torque": Signal("(2, n - 1)", "N m", "of the active left (negative) and right muscle in it"),
        "joint_power": Signal(
            "(n - 1,)",
            "W",
            "that the joint's torque does on the links",
            lambda self, rows: self.joint_torque(rows) * np.diff(rows["link_rate"]),
        ),
        "joint_force": Signal("(n - 1, 2)", "N", "inner force of link i+1 on link i, Eq. 12"),
        "energy": Signal("()", "J", "kinetic, and elastic of the joints"),
        "work": Signal("()", "J", "positive work of active muscles in the last ``advance``"),
        "spent": Signal("()", "J", "that and the heat of their activity"),
        "co_contraction": Signal(
            "()",
            "1",
            "output of the less active side, mean of the joints",
            lambda self, rows: rows["motoneuron"].min(1).mean(1),
        ),
        "neurons": Signal("(2, P, S)", "1", "left and right cells, by population (EIN, CCIN, LIN, MN)"),
    }
    parameters: Mapping[str, Option] = PHYSICAL
    varied = ("muscle_gain", "muscle_stiffness", "damping", "water", "feedback")
    solvers: Mapping[str, tuple[str, ...]] = {"scheme": tuple(_SCHEMES)}
    failures: Mapping[float, str] = {
        BENT: f"a joint was bent beyond {LARGEST_JOINT_ANGLE:g} rad",
        BROKEN: "the state is not finite",
    }

    def __init__(
        self,
        params: LampreyParams | None = None,
        drive: str = "brainstem",
        dt: float | None = None,
        scheme: str = "published",
        substeps: int | None = None,
        circuit: Circuit | Mapping[str, Any] | str | Path | None = None,
        threads: int = 1,
    ) -> None:
        choice("scheme", scheme, _SCHEMES)
        choice("drive", drive, DRIVES)
        code, default, substeps_of_scheme = _SCHEMES[scheme]
        self.params = LampreyParams() if params is None else params
        self.dt = time_step(dt, default)
        self.substeps = substeps_of_scheme if substeps is None else substeps
        whole("substeps", self.substeps, maximum=10_000)
        corded = drive in ("brainstem", "residual")
        if circuit is not None and not corded:
            raise ValueError(f"circuit needs drive 'brainstem' or 'residual', got drive={drive!r}")
        if (together := scheme == "reference" and corded) and self.substeps > 1:
            raise ValueError(f"substeps must be 1, got {substeps!r}")
        whole("threads", threads, maximum=MAX_THREADS)
        self.scheme, self.drive = scheme, drive
        self.circuit = read_circuit(circuit) if corded else None
        n = self.links = len(self.params.length)
        self.drive_size = 3 * corded + 2 * (n - 1) * (drive != "brainstem")
        self.share = np.asarray(self.params.mass) / np.sum(self.params.mass)
        """Share of each link in the mass."""
        self.lengths = np.asarray(self.params.length, float)
        """Length of each link, m."""
        self._constants: tuple[Any, ...] = (self.params.links(),)
        # The kernel that takes neurons and body together has one scheme, and no substeps.
        self._scheme: tuple[int, ...] = () if together else (code, self.substeps)
        self.parameters = physical(n - 1)
        state, work, kernels = body_fields(n), body_work(n), BODY
        driven: tuple[str, ...] = ("tonic", "asymmetry", "head_extra", "residual")[: 3 + (drive == "residual")]
        if self.circuit is not None:
            stepped = self.circuit.replace(step=self.dt) if together else self.circuit
            state, kernels = state + residual_fields(n) + stepped.fields(), REFERENCE if together else SWIMMING
            work = work + stepped.work(n - 1, self.dt)
            self._constants += (stepped.record(n - 1, self.dt),)
            self.parameters |= stepped.options()
            self.cells = stepped.cells
        elif drive == "motoneuron":
            state, kernels, driven = state + motoneuron_fields(n), DRIVEN, ("command",)
            self._constants += (motoneuron(),)
        else:
            driven = ("motoneuron",)
        self.state = np.dtype(state)
        self._stepper = Stepper(self.state, np.dtype(work), kernels, threads, constant=self.parameters, driven=driven)
        self._bodies: Any = None
        if not corded:
            del self.signals["neurons"]

    def rows(self, count: int) -> NDArray[Any]:
        """Make ``count`` rows of state: straight along x, head at -x, centred and at rest; the cord is intact."""
        rows = np.zeros(count, self.state)
        for name in PARAMETERS:
            rows[name] = getattr(self.params, name)
        if self.circuit is not None:
            self.circuit.intact(rows)
            rows["head_extra"] = table()["head_extra"]
        self._place(rows)
        return rows

    def start_shapes(self) -> dict[str, tuple[int, ...]]:  # noqa: D102
        n = self.links
        at = {"link_angle": (n,), "joint_angle": (n - 1,), "heading": (), "centre": (2,)}
        at |= {"link_rate": (n,), "centre_velocity": (2,)} | ({} if self.circuit is None else {"kick": ()})
        return at | {name: self.state[name].shape for name in NEURAL if name in (self.state.names or ())}

    def start(self, fresh: NDArray[Any], values: Mapping[str, NDArray[np.float64]]) -> None:  # noqa: D102
        fresh["link_angle"] = start_angles(values, "link_angle", fresh["link_angle"])
        if self.circuit is not None:
            excite(fresh, values.get("kick", np.full(len(fresh), 0.1)))
        for name in values.keys() - {"link_angle", "joint_angle", "heading", "kick"}:
            fresh[name] = values[name]
        self._place(fresh)

    def _place(self, rows: NDArray[Any]) -> None:
        """Positions and velocities of the links that fit their angles and rates and the centre of mass."""
        half = 0.5 * self.lengths
        phi, omega = rows["link_angle"], rows["link_rate"]
        for axis, along, across in ((0, np.cos(phi), -np.sin(phi)), (1, np.sin(phi), np.cos(phi))):
            for name, mean, step in (
                ("link_position", "centre", half * along),
                ("link_velocity", "centre_velocity", half * omega * across),
            ):
                place = np.zeros_like(step)
                place[:, 1:] = np.cumsum(step[:, 1:] + step[:, :-1], 1)
                rows[name][:, axis] = place + (rows[mean][:, axis] - np.sum(self.share * place, 1))[:, None]

    def _arguments(self) -> tuple[Any, ...]:
        return self.dt, *self._constants, *self._scheme

    def yaw_rate(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Rate (B,) rad/s of turning on the average of the mass, positive to the left."""
        return np.sum(self.share * rows["link_rate"], 1)

    def points(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Head tip, joints and tail tip, (B, n + 1, 2) m."""
        phi = rows["link_angle"]
        reach = 0.5 * self.lengths[:, None] * np.stack([np.cos(phi), np.sin(phi)], -1)
        middle = rows["link_position"].swapaxes(1, 2)
        return np.concatenate([middle - reach, (middle + reach)[:, -1:]], 1)

    def edge_cells(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Edge cells (B, 2, n - 1) 1/m of each side and joint, the curvature where it is stretched; Eq. 8."""
        return edges_of(np.diff(rows["link_angle"]), self.lengths)

    def neurons(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Outputs (B, 2, P, S) of left and right cells, by population."""
        assert self.circuit is not None
        return self.circuit.outputs(rows, self._constants[1])

    def muscle_torque(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Torques (B, 2, n - 1) N m that the active left and right muscles add to each joint's; Eq. 7."""
        return rows["motoneuron"] * np.stack([-rows["muscle_gain"], rows["muscle_gain"]], 1)

    def joint_torque(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Torque (B, n - 1) N m of each joint, positive where it increases ``joint_angle``: -T of Eq. 7."""
        motoneuron, phi, omega = rows["motoneuron"], rows["link_angle"], rows["link_rate"]
        left, right = motoneuron[:, LEFT], motoneuron[:, RIGHT]
        stiffness = rows["muscle_stiffness"] * (left + right + rows["tonic_stiffness"])
        passive = stiffness * (phi[:, 1:] - phi[:, :-1]) + rows["damping"] * (omega[:, 1:] - omega[:, :-1])
        return -(rows["muscle_gain"] * (left - right) + passive)

    def joint_force(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Inner forces (B, n - 1, 2) N of the links, of i+1 on i, in the paper's maximal coordinates; Eq. 12."""
        if self._bodies is None:
            records = (in_lanes(np.dtype(fields(self.links)), 1) for fields in (body_fields, body_work))
            self._bodies = tuple(aligned(1, record) for record in records)
        forces = np.empty((len(rows), self.links - 1, 2))
        xs, ks = self._bodies
        inner_forces(matrix(np.ascontiguousarray(rows)), matrix(xs)[0], xs, ks, self._constants[0], forces)
        return forces

    def energy(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Kinetic energy, and elastic energy of the joints at the present stiffness, (B,) J."""
        speed = np.sum(np.asarray(self.params.mass) * np.sum(rows["link_velocity"] ** 2, 1), 1)
        spin = np.sum(np.asarray(self.params.inertia) * rows["link_rate"] ** 2, 1)
        level = rows["motoneuron"].sum(1) + rows["tonic_stiffness"]
        elastic = rows["muscle_stiffness"] * level * np.diff(rows["link_angle"]) ** 2
        return 0.5 * (speed + spin + np.sum(elastic, 1))


def excite(rows: NDArray[Any], kick: NDArray[np.float64]) -> None:
    """Excite the first population of rows on the left by ``kick`` (B,), or where it is negative on the right."""
    first = rows["neuron"][:, 0, :, 0]
    first[:, LEFT] = np.maximum(kick, 0.0)[:, None]
    first[:, RIGHT] = np.maximum(-kick, 0.0)[:, None]


@kernel
def stretch(bending, ahead, behind):
    """Give the curvature (1/m) by which a joint stretches the left and the right side, 0 where it does not; Eq. 8.

    Args:
        bending (rad): Angle of the joint.
        ahead, behind (m): Lengths of the links before and behind it.
    """
    curvature = -bending * 2.0 / (behind + ahead)
    return -curvature if curvature < 0.0 else 0.0, curvature if curvature > 0.0 else 0.0


@kernel
def _stretch_rows(bending, length, edges):
    rows, joints = bending.shape
    for b in range(rows):
        for j in range(joints):
            edges[b, 0, j], edges[b, 1, j] = stretch(bending[b, j], length[j], length[j + 1])


def edges_of(bending: NDArray[np.float64], length: NDArray[np.float64]) -> NDArray[np.float64]:
    """Edge cells (B, 2, n - 1) 1/m of joint angles (B, n - 1) between links of these lengths (n,) m, by `stretch`."""
    edges = np.empty((len(bending), 2, bending.shape[1]))
    _stretch_rows(bending, length, edges)
    return edges
