"""Spinal cord without the body, as in experiments on fictive swimming."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arguments import whole
from ..core.circuit.circuit import Circuit
from ..core.kernels.stepper import Stepper
from ..core.model.animal import MAX_THREADS, InLanes, time_step
from ..core.model.quantities import Option, Signal
from .animal import edges_of, excite
from .body import BROKEN
from .nerves import FICTIVE, isolated_fields, residual_fields
from .params import PHYSICAL, LampreyParams, read_circuit, table

_DRIVEN = ("tonic", "asymmetry", "head_extra", "joint_angle", "edge")


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

        >>> from gymnosoma.envs.lamprey.analysis import swim
        >>> drives = [[0.4, 0.0, extra, *np.zeros(9)] for extra in (0.0, 0.7, 1.4)]
        >>> runs = swim(IsolatedCord(), drives, 10.0, signals=("joint_angle", "neurons"))
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

    def __init__(
        self,
        circuit: Circuit | Mapping[str, Any] | str | Path | None = None,
        params: LampreyParams | None = None,
        dt: float | None = None,
        threads: int = 1,
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
        self._stepper = Stepper(self.state, work, kernels, threads, constant=self.parameters, driven=_DRIVEN)

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

    def sense(
        self, rows: NDArray[Any], brainstem: NDArray[np.float64], edge_cell: NDArray[np.float64], steps: int
    ) -> None:
        """Advance all rows by ``steps`` steps with constant inputs.

        This sets ``output``, ``excite`` and ``inhibit`` (B, 2, n - 1) of the rows: mean output of the motoneurons
        during these steps, and means of their excitatory and inhibitory inputs.

        Args:
            rows: Rows of cords, updated in place.
            brainstem ((B, 3) float): Tonic level, asymmetry and head extra.
            edge_cell ((B, 2, n - 1) float, 1/m): Output of the edge cells.
            steps: Number of time steps.
        """
        rows["tonic"], rows["asymmetry"], rows["head_extra"] = brainstem.T
        rows["edge"] = edge_cell
        self._stepper.advance(rows, np.arange(len(rows)), steps, self.dt, self._record)
