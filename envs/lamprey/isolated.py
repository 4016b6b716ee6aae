"""The spinal cord without its body, as in fictive swimming: drive it, bend it, watch its rhythm."""

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
    """The spinal cord of Ekeberg (1993) in a dish: its edge cells sense the bending that is imposed.

    Its drive is the brainstem's tonic level, asymmetry and head extra, as `Lamprey`'s, and then the angle (rad) of
    every joint, head to tail, in all 3 + n - 1 numbers. The paper's neurons take Euler steps.

    Signals, by name, each with a leading axis of rows:

    {signals}

    It starts silent but for ``kick``, and takes the state of the neurons, as `Lamprey` does with a cord.

    Args:
        params: The body that it was taken from: lengths of links, and ``feedback``.
        dt (s): Step of the neurons, 10 ms by default.
        threads: Threads that advance many rows. Results do not depend on it.
        circuit (Circuit, mapping, file, or name): Changes of the paper's cord, or another nervous system, see
            `Lamprey`.

    Raises:
        ValueError: For a circuit that does not fit the body.

    Examples:
        The head moved by hand, faster than the cord's own rhythm of 3.81 Hz, which follows (moved at the tail alone, it
        would not):

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

        Phase lag along the cord against the extra drive of its head, many cords side by side:

        >>> from gymnosoma.envs.lamprey.analysis import swim
        >>> drives = [[0.4, 0.0, extra, *np.zeros(9)] for extra in (0.0, 0.7, 1.4)]
        >>> runs = swim(IsolatedCord(), drives, 10.0, signals=("joint_angle", "neurons"))
        >>> lags = [Swimming(IsolatedCord(), run).phase[-1] for run in runs]
        >>> bool(np.all(np.diff(lags) > 0))
        True
    """

    SIGNALS: Mapping[str, Signal] = {
        "time": Signal("()", "s"),
        "joint_angle": Signal("(n - 1,)", "rad", "imposed in the last ``advance``"),
        "edge_cell": Signal("(2, n - 1)", "1/m", "left and right: curvature where it stretches the side", "edge"),
        "motoneuron": Signal("(2, n - 1)", "1", "left and right, in force during the last step"),
        "neurons": Signal("(2, P, S)", "1", "outputs of left and right cells, by population (EIN, CCIN, LIN, MN)"),
    }

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
        work = np.dtype(self.circuit.work(n - 1, self.dt))
        self._stepper = Stepper(self.state, work, FICTIVE, threads, constant=self.parameters, driven=_DRIVEN)

    def rows(self, count: int) -> NDArray[Any]:
        """Make ``count`` rows of state: straight, silent and intact."""
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
        """Outputs (B, 2, P, S) of all neurons, left and right, by population and segment."""
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
        """Advance all rows with the brainstem's drive (B, 3) and the edge cells (B, 2, n - 1) 1/m held.

        Then ``output`` of the rows is the mean of their motoneurons during these steps, ``excite`` and ``inhibit`` of
        what those receive, (B, 2, n - 1) each.
        """
        rows["tonic"], rows["asymmetry"], rows["head_extra"] = brainstem.T
        rows["edge"] = edge_cell
        self._stepper.advance(rows, np.arange(len(rows)), steps, self.dt, self._record)
