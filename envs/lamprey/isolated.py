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
from .animal import NEURAL, edges_of, excite, make_intact, outputs_of, read_circuit
from .body import BROKEN
from .circuit_nerves import FICTIVE, residual_fields
from .nerves import CELLS, ISOLATED, isolated_fields
from .params import PHYSICAL, Cord, LampreyParams, nervous, table

_DRIVEN = ("tonic", "asymmetry", "head_extra", "joint_angle", "edge")


class IsolatedCord(InLanes):
    """The spinal cord of Ekeberg (1993) in a dish: its edge cells sense the bending that is imposed.

    Its drive is the brainstem's tonic level, asymmetry and head extra, as `Lamprey`'s, and then the angle (rad) of
    every joint, head to tail, in all 3 + n - 1 numbers. Neurons take the paper's Euler steps.

    Signals, by name, each with a leading axis of rows:

    {signals}

    It starts silent but for ``kick``, and takes the state of the neurons, as `Lamprey` does with a cord.

    Args:
        params: The body that it was taken from: lengths of links, and ``feedback``.
        dt (s): Step of the neurons, 10 ms by default.
        threads: Threads that advance many rows. Results do not depend on it.
        circuit (Circuit, file, or name): Another nervous system in the cord's place, see `Lamprey`.

    Raises:
        ValueError: For segments that are no multiple of twice the links, or a cord beside a circuit.

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
        "neurons": Signal("(2, 4, S)", "1", "left and right EIN, CCIN, LIN, MN, or the circuit's neurons"),
    }

    failures: Mapping[float, str] = {BROKEN: "the state is not finite"}
    solvers: Mapping[str, tuple[str, ...]] = {}

    def __init__(
        self,
        cord: Cord | None = None,
        params: LampreyParams | None = None,
        dt: float | None = None,
        threads: int = 1,
        circuit: Circuit | str | Path | None = None,
    ) -> None:
        whole("threads", threads, maximum=MAX_THREADS)
        self.circuit = read_circuit(circuit, cord)
        self.cord = (Cord() if cord is None else cord) if self.circuit is None else None
        self.params = LampreyParams() if params is None else params
        self.dt = time_step(dt, 10e-3)
        n = self.links = len(self.params.length)
        self.drive_size = 3 + n - 1
        if self.circuit is None:
            assert self.cord is not None
            size = self.cord.segments
            if size % (2 * n):
                raise ValueError(f"segments must be a multiple of twice the {n} links, got {size!r}")
            options, kernels = nervous(size), ISOLATED
            own, work = self.cord.fields(n), self.cord.work(n)
            self._record = self.cord.record(n - 1)
        else:
            options, kernels = self.circuit.options(), FICTIVE
            own, work = residual_fields(n) + self.circuit.fields(), self.circuit.work(n - 1, self.dt)
            self._record = self.circuit.record(n - 1, self.dt)
        self.parameters: Mapping[str, Option] = {"feedback": PHYSICAL["feedback"], **options}
        self.cells = CELLS if self.circuit is None else self.circuit.cells
        self.state = np.dtype(isolated_fields(n) + own)
        self._stepper = Stepper(self.state, np.dtype(work), kernels, threads, constant=self.parameters, driven=_DRIVEN)

    def rows(self, count: int) -> NDArray[Any]:
        """Make ``count`` rows of state: straight, silent and intact."""
        rows = np.zeros(count, self.state)
        rows["feedback"] = self.params.feedback
        make_intact(rows, self.cord, self.circuit)
        rows["head_extra"] = table()["head_extra"]
        return rows

    def start_shapes(self) -> dict[str, tuple[int, ...]]:  # noqa: D102
        return {"kick": (), **{name: self.state[name].shape for name in NEURAL if name in (self.state.names or ())}}

    def start(self, fresh: NDArray[Any], given: Mapping[str, NDArray[np.float64]]) -> None:  # noqa: D102
        excite(fresh, given.get("kick", np.full(len(fresh), 0.1)))
        for name in given.keys() - {"kick"}:
            fresh[name] = given[name]

    def neurons(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Outputs (B, 2, P, S) of all neurons, left and right, by population and segment."""
        return outputs_of(rows, self._record) if self.circuit is None else self.circuit.outputs(rows)

    def _arguments(self) -> tuple[Any, ...]:
        return self.dt, self._record

    def _move(self, rows: NDArray[Any], ids: NDArray[np.int64], drives: NDArray[np.float64], *arguments: Any) -> None:
        bending = drives[:, :, 3:].reshape(-1, self.links - 1)
        edge = edges_of(bending, self.params.length).reshape(*drives.shape[:2], -1)
        super()._move(rows, ids, np.concatenate([drives, edge], 2), *arguments)

    def sense(
        self,
        rows: NDArray[Any],
        ids: NDArray[np.int64],
        brainstem: NDArray[np.float64],
        edge_cell: NDArray[np.float64],
        steps: int,
    ) -> None:
        """Advance ``rows[ids]`` with the brainstem's drive (A, 3) and the edge cells (A, 2, n - 1) 1/m held.

        Then ``output`` of the rows is the mean of their motoneurons during these steps, ``excite`` and ``inhibit`` of
        what those receive, (A, 2, n - 1) each.
        """
        for name, value in zip(("tonic", "asymmetry", "head_extra"), brainstem.T, strict=True):
            rows[name][ids] = value
        rows["edge"][ids] = edge_cell
        self._stepper.advance(rows, ids, steps, self.dt, self._record)
