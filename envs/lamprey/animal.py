"""Classes `Lamprey` and `IsolatedCord`, which start, advance and read rows.

They select the kernels of a scheme and a kind of drive, and compute signals from rows. The equations of motion are in
``body.py`` and ``nerves.py``; the interface is `core.model.animal.Animal`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gymnosoma.moved import points

from ..core.arguments import choice, whole
from ..core.circuit.circuit import Circuit
from ..core.circuit.kernels import RARE, for_steps
from ..core.kernels.jit import kernel
from ..core.kernels.lanes import Stepper, aligned, in_lanes, matrix, nothing
from ..core.kinds import takes_objects
from ..core.model.animal import MAX_THREADS, InLanes, time_step
from ..core.model.chain import start_angles
from ..core.model.quantities import Option, Signal
from .body import (
    BENT,
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
    kernels_of,
)
from .body import swim as move_by_muscles
from .nerves import (
    FICTIVE,
    REFERENCE,
    isolated_fields,
    motoneuron_fields,
    prepare_swimming,
    residual_fields,
    swim,
    swim_driven,
)
from .params import PHYSICAL, LampreyParams, motoneuron, physical, read_circuit, table

_SCHEMES = {"published": (EULER, 10e-3, 10), "implicit": (IMPLICIT, 10e-3, 4), "reference": (RUNGE_KUTTA, 1e-3, 1)}
"""Code of each scheme in kernels, default time step (s) and default number of substeps."""

DRIVES = ("brainstem", "residual", "motoneuron", "muscle")
"""Kinds of drive: brainstem, brainstem and muscles, motoneurons, or muscles."""

NEURAL = ("excitation", "inhibition", "neuron")
"""Fields with the state of neurons."""


@points
class Lamprey(InLanes):
    """Swimming lamprey of Ekeberg (1993) with body, muscles, water and spinal cord.

    The argument ``drive`` determines the meaning of the drive:

    - ``"brainstem"`` (3 numbers): tonic level of the cord's excitation; asymmetry, which is added on the right and
      subtracted on the left; and head extra, a relative increase in the head segments.
    - ``"motoneuron"`` (2 n - 2): commands of the motoneurons of each joint, left, then right, without a cord. They are
      from -1 (maximal inhibition by the cord) to 1 (maximal excitation). The motoneurons respond with the time constant
      of 20 ms of Table 1.
    - ``"muscle"`` (2 n - 2): outputs (0 to 1) of these motoneurons, which act immediately.
    - ``"residual"`` (3 + 2 n - 2): the drive of ``"brainstem"``, then outputs that are added to those of the cord.

    Signals, each with a leading axis of rows:

    {signals}

    The animal faces -(cos phi, sin phi), and turns right if phi decreases.

    By default, a lamprey starts straight and at rest. Start values are ``link_angle`` (n,) rad, or ``joint_angle``
    (n - 1,) rad with ``heading`` rad (mean link angle; at 0 the head points to -x), ``centre`` (2,) m, ``link_rate``
    (n,) rad/s and ``centre_velocity`` (2,) m/s. With a cord there are two more.
    ``kick`` is the initial excitation xi+ of the first population, the excitatory interneurons (EIN), on the left, or
    on the right if negative. It is 0.1 by default, because a symmetric start would stay symmetric. ``neuron``
    (3, 2, P, S) is the state of the neurons: excitation, inhibition and adaptation. With ``drive="motoneuron"``,
    ``excitation`` and ``inhibition`` (2, n - 1) are the state of the motoneurons. Parameters of muscles are one number
    for all joints, or one per joint.

    Args:
        params (LampreyParams): Physical parameters; by default the paper's.
        drive ({"brainstem", "residual", "motoneuron", "muscle"}): Kind of drive, see above.
        dt (s): Time step of the neurons and of ``advance``; by default 10 ms, or 1 ms with ``reference``.
        scheme ({"published", "implicit", "reference"}): ``"published"``: the paper's explicit Euler method with
            projection, first order. ``"implicit"``: linearly implicit mechanics, first order, stable up to steps of
            10 ms, conserves momentum and angular momentum. ``"reference"``: fourth-order Runge-Kutta for neurons and
            body together; second order with a cord, because outputs of neurons have kinks at 0, with an error of
            1e-5 rad after 1 s at steps of 1 ms. At the default steps and tonic levels of 0.15 and 0.4, ``published``
            has errors of up to 6 % in frequency and speed and 9 % in the turn rate with asymmetry, mostly due to the
            Euler steps of the neurons. Errors of ``implicit`` are up to 6 % in frequency and 3 % in speed and turn
            rate.
        substeps: Mechanical steps per neural step; by default 10 for ``published``, 4 for ``implicit`` and 1 for
            ``reference``, which must be 1 with a cord.
        circuit (Circuit, mapping, file, or name): Nervous system for the drives ``"brainstem"`` and ``"residual"``: a
            mapping of changes to the paper's cord, as for `Circuit.replace`; a `core.circuit.Circuit`; a TOML file; or
            ``"cord"``, the paper's cord, which is the default.
        threads: Number of threads. Results do not depend on it.

    Raises:
        ValueError: If a scheme or drive is unknown, a number is out of range, or the number of segments is not a
            multiple of the number of links.

    Examples:
        Cut the cord in half; behind the cut, a bath replaces the drive of the brainstem:

        >>> import numpy as np
        >>> from gymnosoma.envs import Event, simulate
        >>> from gymnosoma.envs.lamprey import Lamprey
        >>> bath = np.zeros(100)
        >>> bath[50:] = 0.4
        >>> cut = simulate(Lamprey(), [0.4, 0.0, 0.7], 2.0, every=0.01, start={"transection": 50, "bath": bath})

        Cut the cord after 1 s, and add the bath after 2 s:

        >>> events = [Event(1.0, {"transection": 50}), Event(2.0, {"bath": bath})]
        >>> cut = simulate(Lamprey(), [0.4, 0.0, 0.7], 3.0, every=0.01, events=events)

        Lesion the lateral interneurons (LIN) of the tail on the left, and weaken the muscles there:

        >>> gain = np.ones((2, 5))
        >>> gain[0, 2] = 0.0
        >>> start = {"cell_gain": gain, "cell_segments": [70, 100], "muscle_gain": np.linspace(3e-3, 1e-3, 9)}
        >>> run = simulate(Lamprey(), [0.4, 0.0, 0.7], 2.0, every=0.01, start=start)
    """

    SIGNALS: Mapping[str, Signal] = {
        "time": Signal("()", "s"),
        "centre": Signal("(2,)", "m", "centre of mass"),
        "centre_velocity": Signal("(2,)", "m/s"),
        "link_angle": Signal("(n,)", "rad", "angle of each link, head to tail, not wrapped"),
        "link_rate": Signal("(n,)", "rad/s"),
        "yaw_rate": Signal("()", "rad/s", "mass-weighted mean of ``link_rate``, positive to the left"),
        "link_centre": Signal("(n, 2)", "m", "", lambda self, rows: rows["link_position"].swapaxes(1, 2)),
        "link_velocity": Signal("(n, 2)", "m/s", "", lambda self, rows: rows["link_velocity"].swapaxes(1, 2)),
        "joint_angle": Signal(
            "(n - 1,)",
            "rad",
            "link i+1 minus link i; positive is concave right",
            lambda self, rows: np.diff(rows["link_angle"]),
        ),
        "joint_rate": Signal("(n - 1,)", "rad/s", "", lambda self, rows: np.diff(rows["link_rate"])),
        "head": Signal("(2,)", "m", "tip of the head", lambda self, rows: self.points(rows)[:, 0]),
        "tail": Signal("(2,)", "m", "tip of the tail", lambda self, rows: self.points(rows)[:, -1]),
        "motoneuron": Signal("(sides, n - 1)", "1", "output of left and right motoneurons in the last step"),
        "edge_cell": Signal("(sides, n - 1)", "1/m", "curvature that stretches the left or right side", "edge_cells"),
        "joint_torque": Signal("(n - 1,)", "N m", "torque of muscles and tissue, Eq. 7; acts on ``joint_angle``"),
        "forced_torque": Signal("(n - 1,)", "N m", "additional external torque in the last step"),
        "muscle_torque": Signal("(sides, n - 1)", "N m", "part of the left (negative) and right active muscle"),
        "joint_power": Signal(
            "(n - 1,)",
            "W",
            "power of the joint's torque",
            lambda self, rows: self.joint_torque(rows) * np.diff(rows["link_rate"]),
        ),
        "joint_force": Signal("(n - 1, 2)", "N", "inner force of link i+1 on link i, Eq. 12"),
        "energy": Signal("()", "J", "kinetic energy, and elastic energy of the joints"),
        "work": Signal("()", "J", "positive work of active muscles in the last ``advance``"),
        "spent": Signal("()", "J", "``work`` plus the heat of muscle activity"),
        "co_contraction": Signal(
            "()",
            "1",
            "output of the less active side, mean over the joints",
            lambda self, rows: rows["motoneuron"].min(1).mean(1),
        ),
        "neurons": Signal(
            "(sides, P, S)", "1", "outputs of left and right cells, by population (EIN, CCIN, LIN, MN in the cord)"
        ),
    }
    parameters: Mapping[str, Option] = PHYSICAL
    senseless: Sequence[str] = ("feedback",)
    """Parameters that have no effect without a cord."""
    randomized_parameters = ("muscle_gain", "muscle_stiffness", "damping", "water", "feedback")
    solvers: Mapping[str, tuple[str, ...]] = {"scheme": tuple(_SCHEMES)}
    argument_types: Mapping[str, type] = {"params": LampreyParams}
    failures: Mapping[float, str] = {
        BENT: f"a joint was bent beyond {LARGEST_JOINT_ANGLE:g} rad",
        BROKEN: "the state is not finite",
    }

    @takes_objects
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
        has_circuit = drive in ("brainstem", "residual")
        if circuit is not None and not has_circuit:
            raise ValueError(f"circuit needs drive='brainstem' or 'residual', got drive={drive!r}")
        if (together := scheme == "reference" and has_circuit) and self.substeps > 1:
            raise ValueError(f"substeps must be 1 with a cord and scheme='reference', got {substeps!r}")
        whole("threads", threads, maximum=MAX_THREADS)
        self.scheme, self.drive = scheme, drive
        self.circuit = read_circuit(circuit) if has_circuit else None
        n = self.links = len(self.params.length)
        self.drive_size = 3 * has_circuit + 2 * (n - 1) * (drive != "brainstem")
        self.share = np.asarray(self.params.mass) / np.sum(self.params.mass)
        """Fraction of the mass in each link."""
        self.lengths = np.asarray(self.params.length, float)
        """Length of each link, m."""
        self._constants: tuple[Any, ...] = (self.params.links(),)
        # The kernel for neurons and body together has no choice of scheme or substeps.
        self._scheme: tuple[int, ...] = () if together else (code, self.substeps)
        self.parameters = physical(n - 1)
        state, work, step, prepare = body_fields(n), body_work(n), move_by_muscles, nothing
        driven: tuple[str, ...] = ("tonic", "asymmetry", "head_extra", "residual")[: 3 + (drive == "residual")]
        if self.circuit is not None:
            stepped = self.circuit.replace(step=self.dt) if together else self.circuit
            state = state + residual_fields(n) + stepped.fields()
            step, prepare = for_steps(swim, stepped.steps(self.dt) == 0), prepare_swimming
            work = work + stepped.work(n - 1, self.dt)
            self._constants += (stepped.record(n - 1, self.dt),)
            self.parameters |= stepped.options()
            self.cells = stepped.cells
        elif drive == "motoneuron":
            state, step, driven = state + motoneuron_fields(n), swim_driven, ("command",)
            self._constants += (motoneuron(),)
        else:
            driven = ("motoneuron",)
        self.state = np.dtype(state)
        kernels = REFERENCE if together else kernels_of(step, code, prepare)
        constant = (*self.parameters, *RARE)
        self._stepper = Stepper(self.state, np.dtype(work), kernels, threads, constant=constant, driven=driven)
        self._bodies: Any = None
        if not has_circuit:
            del self.signals["neurons"]
            self.parameters = {name: one for name, one in self.parameters.items() if name not in self.senseless}

    def rows(self, count: int) -> NDArray[Any]:
        """Return ``count`` rows of intact lampreys that are straight, with the head at -x, centred and at rest."""
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
        """Set positions and velocities of the links that agree with angles, rates and centre of mass."""
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
        """Return the mass-weighted mean of the link rates (B,), rad/s, positive to the left."""
        return np.sum(self.share * rows["link_rate"], 1)

    def points(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the positions of head tip, joints and tail tip, (B, n + 1, 2) m."""
        phi = rows["link_angle"]
        reach = 0.5 * self.lengths[:, None] * np.stack([np.cos(phi), np.sin(phi)], -1)
        middle = rows["link_position"].swapaxes(1, 2)
        return np.concatenate([middle - reach, (middle + reach)[:, -1:]], 1)

    def edge_cells(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the edge cells (B, 2, n - 1), 1/m, by side and joint: curvature that stretches this side; Eq. 8."""
        return edges_of(np.diff(rows["link_angle"]), self.lengths)

    def neurons(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the outputs (B, 2, P, S) of left and right cells, by population and segment."""
        assert self.circuit is not None
        return self.circuit.outputs(rows, self._constants[1])

    def muscle_torque(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the torques (B, 2, n - 1), N m, of the active left and right muscles of each joint; Eq. 7."""
        return rows["motoneuron"] * np.stack([-rows["muscle_gain"], rows["muscle_gain"]], 1)

    def joint_torque(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the torque (B, n - 1), N m, of each joint, -T of Eq. 7; positive if it increases ``joint_angle``."""
        motoneuron, phi, omega = rows["motoneuron"], rows["link_angle"], rows["link_rate"]
        left, right = motoneuron[:, LEFT], motoneuron[:, RIGHT]
        stiffness = rows["muscle_stiffness"] * (left + right + rows["tonic_stiffness"])
        passive = stiffness * (phi[:, 1:] - phi[:, :-1]) + rows["damping"] * (omega[:, 1:] - omega[:, :-1])
        return -(rows["muscle_gain"] * (left - right) + passive)

    def joint_force(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the forces (B, n - 1, 2), N, of link i+1 on link i in maximal coordinates; Eq. 12."""
        if self._bodies is None:
            records = (in_lanes(np.dtype(fields(self.links)), 1) for fields in (body_fields, body_work))
            self._bodies = tuple(aligned(1, record) for record in records)
        forces = np.empty((len(rows), self.links - 1, 2))
        xs, ks = self._bodies
        inner_forces(matrix(np.ascontiguousarray(rows)), matrix(xs)[0], xs, ks, self._constants[0], forces)
        return forces

    def energy(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the kinetic energy plus the elastic energy of the joints at the present stiffness, (B,) J."""
        speed = np.sum(np.asarray(self.params.mass) * np.sum(rows["link_velocity"] ** 2, 1), 1)
        spin = np.sum(np.asarray(self.params.inertia) * rows["link_rate"] ** 2, 1)
        level = rows["motoneuron"].sum(1) + rows["tonic_stiffness"]
        elastic = rows["muscle_stiffness"] * level * np.diff(rows["link_angle"]) ** 2
        return 0.5 * (speed + spin + np.sum(elastic, 1))


def excite(rows: NDArray[Any], kick: NDArray[np.float64]) -> None:
    """Excite the first population of each row by ``kick`` (B,), on the left, or on the right if negative."""
    first = rows["neuron"][:, 0, :, 0]
    first[:, LEFT] = np.maximum(kick, 0.0)[:, None]
    first[:, RIGHT] = np.maximum(-kick, 0.0)[:, None]


@kernel
def stretch(bending, ahead, behind):
    """Return the curvatures (1/m) that stretch the left and the right side of a joint; one is 0; Eq. 8.

    Args:
        bending (rad): Angle of the joint.
        ahead, behind (m): Lengths of the links in front of and behind the joint.
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
    """Return the edge cells (B, 2, n - 1), 1/m, for joint angles (B, n - 1), rad, and link lengths (n,), m."""
    edges = np.empty((len(bending), 2, bending.shape[1]))
    _stretch_rows(bending, length, edges)
    return edges


class IsolatedCord(InLanes):
    """Isolated spinal cord of Ekeberg (1993) with edge cells that sense imposed joint angles.

    The drive has 3 + n - 1 numbers: tonic level, asymmetry and head extra of the brainstem, as in `Lamprey`, and the
    angle (rad) of each joint, head to tail. The neurons use the paper's Euler steps.

    Signals, each with a leading axis of rows:

    {signals}

    The cord starts silent except for ``kick``. Start values are ``kick`` and ``neuron``, as in `Lamprey`.

    Args:
        circuit (Circuit, mapping, file, or name): Changes to the paper's cord, or another nervous system, see
            `Lamprey`.
        params (LampreyParams): Body, which determines the lengths of links and ``feedback``.
        dt (s): Time step of the neurons, by default 10 ms.
        threads: Number of threads. Results do not depend on it.
        intact: Whether rows always have the parameters of `rows`, except ``feedback``; others are then ignored, and
            steps are faster.

    Raises:
        ValueError: If the circuit does not fit the body.

    Examples:
        Entrain the cord by bending the head faster than its free rhythm of 3.81 Hz; bending only the tail would not
        suffice:

        >>> import numpy as np
        >>> from gymnosoma.envs import simulate
        >>> from gymnosoma.envs.lamprey import IsolatedCord
        >>> from gymnosoma.envs.lamprey.analysis import Swimming
        >>> def by_hand(t):
        ...     bending = np.zeros(9)
        ...     bending[:3] = 0.5 * np.sin(2 * np.pi * 4.1 * t)
        ...     return [0.4, 0.0, 0.7, *bending]
        >>> run = simulate(IsolatedCord(), by_hand, 10.0)
        >>> print(f"{Swimming(IsolatedCord(), run).frequency:.2f} Hz")
        4.10 Hz

        Show that the phase lag along the cord increases with the extra drive of the head:

        >>> drives = [[0.4, 0.0, extra, *np.zeros(9)] for extra in (0.0, 0.7, 1.4)]
        >>> runs = simulate(IsolatedCord(), drives, 10.0, count=3)
        >>> lags = [Swimming(IsolatedCord(), run).phase[-1] for run in runs]
        >>> bool(np.all(np.diff(lags) > 0))
        True
    """

    SIGNALS: Mapping[str, Signal] = {
        "time": Signal("()", "s"),
        "joint_angle": Signal("(n - 1,)", "rad", "imposed angle in the last ``advance``"),
        "edge_cell": Signal("(sides, n - 1)", "1/m", "left and right: curvature that stretches this side", "edge"),
        "motoneuron": Signal("(sides, n - 1)", "1", "output of left and right motoneurons in the last step"),
        "neurons": Signal("(sides, P, S)", "1", "outputs of left and right cells, by population"),
    }

    argument_types: Mapping[str, type] = {"params": LampreyParams}
    failures: Mapping[float, str] = {BROKEN: "the state is not finite"}
    solvers: Mapping[str, tuple[str, ...]] = {}

    @takes_objects
    def __init__(
        self,
        circuit: Circuit | Mapping[str, Any] | str | Path | None = None,
        params: LampreyParams | None = None,
        dt: float | None = None,
        threads: int = 1,
        intact: bool = False,
    ) -> None:
        whole("threads", threads, maximum=MAX_THREADS)
        self.circuit = read_circuit(circuit)
        self.params = LampreyParams() if params is None else params
        self.dt = time_step(dt, 10e-3)
        n = self.links = len(self.params.length)
        self._lengths = np.asarray(self.params.length, float)
        self.drive_size = 3 + n - 1
        self.parameters: Mapping[str, Option] = {"feedback": PHYSICAL["feedback"], **self.circuit.options()}
        self.cells = self.circuit.cells
        self._record = self.circuit.record(n - 1, self.dt)
        self.state = np.dtype(isolated_fields(n) + residual_fields(n) + self.circuit.fields())
        work, kernels = np.dtype(self.circuit.work(n - 1, self.dt)), FICTIVE[self.circuit.steps(self.dt) == 0]
        driven = ("tonic", "asymmetry", "head_extra", "joint_angle", "edge")
        constant = (*self.parameters, *RARE)
        self._stepper = Stepper(self.state, work, kernels, threads, constant=constant, driven=driven, uniform=intact)

    def rows(self, count: int) -> NDArray[Any]:
        """Return ``count`` rows of cords that are straight, silent and intact."""
        rows = np.zeros(count, self.state)
        rows["feedback"] = self.params.feedback
        self.circuit.intact(rows)
        rows["head_extra"] = table()["head_extra"]
        return rows

    def start_shapes(self) -> dict[str, tuple[int, ...]]:  # noqa: D102
        return {"kick": (), "neuron": self.state["neuron"].shape}

    def start(self, fresh: NDArray[Any], values: Mapping[str, NDArray[np.float64]]) -> None:  # noqa: D102
        excite(fresh, values.get("kick", np.full(len(fresh), 0.1)))
        for name in values.keys() - {"kick"}:
            fresh[name] = values[name]

    def neurons(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the outputs (B, 2, P, S) of all neurons, left and right, by population and segment."""
        return self.circuit.outputs(rows, self._record)

    def _arguments(self) -> tuple[Any, ...]:
        return self.dt, self._record

    def _move(self, rows: NDArray[Any], ids: NDArray[np.int64], drives: NDArray[np.float64], *arguments: Any) -> None:
        bending = drives[:, :, 3:].reshape(-1, self.links - 1)
        edge = edges_of(bending, self._lengths).reshape(*drives.shape[:2], -1)
        super()._move(rows, ids, np.concatenate([drives, edge], 2), *arguments)

    def sense(self, rows: NDArray[Any], inputs: NDArray[np.float64], steps: int) -> None:
        """Advance all rows by ``steps`` steps with constant inputs.

        This sets ``output``, ``excite`` and ``inhibit`` (B, 2, n - 1) of the rows: mean output of the motoneurons
        during these steps, and means of their excitatory and inhibitory inputs.

        Args:
            rows: Rows of cords, updated in place.
            inputs ((B, 3 + 3 (n - 1)) float): The drive, and the output (1/m) of the edge cells, left, then right.
            steps: Number of time steps.
        """
        self._stepper.run(rows, np.arange(len(rows)), inputs[None], None, 0, 1, steps, *self._arguments())
