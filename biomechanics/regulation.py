"""Design of feedback that holds an equilibrium: linear-quadratic behind a delay.

SciPy is imported where it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gymnosoma.envs.core.arguments import number, shown
from gymnosoma.envs.core.model.control import Flags, Floats, Values
from gymnosoma.envs.neuromechanic import Neuromechanic, linearise, refuse_contacts

Vector = NDArray[np.float64]

POSITION, SPEED, OTHER = 0.1, 1.0, 10.0
"""Deviations of joints (rad, rad/s), and of all other states, that cost as much as an input of 1."""


@dataclass
class Regulator:
    """State feedback behind a delay, as a controller for `simulate`.

    From the state and the decisions on their way, it predicts the state at the time when its decision arrives, by the
    linearised animal: u = u0 - K (z(t + delay) - z0).

    Args:
        gains ((u, N) float): K.
        state ((N,) float): z0.
        input ((u,) float): u0.
        steps: Time steps from what is sensed to the drive.
        A, B (matrices): Of the linearised animal by time steps.
        growth (1/s): Of the slowest mode of the linearised animal with this delay; negative if stable.
    """

    gains: Vector
    state: Vector
    input: Vector
    steps: int
    A: Vector
    B: Vector
    growth: float
    reads: tuple[str, ...] = ("q", "v", "module_state", "neuron_state", "activation", "fibre_length")
    _line: Vector = field(default_factory=lambda: np.zeros((0, 0, 0)), repr=False)

    def drive(self, t: Floats, signals: Values, first: Flags) -> Floats:
        """Drive (B, u) that was decided on a delay ago."""
        if len(self._line) != len(t):
            self._line = np.zeros((len(t), self.steps, len(self.input)))
        self._line[first] = 0.0
        z = np.concatenate([signals[name] for name in self.reads], 1) - self.state
        for decision in np.moveaxis(self._line, 1, 0):
            z = np.sum(self.A * z[:, None, :], -1) + np.sum(self.B * decision[:, None, :], -1)
        now = -np.sum(self.gains * z[:, None, :], -1)
        line = np.concatenate([self._line, now[:, None]], 1)
        self._line = line[:, 1:]
        return self.input + line[:, 0]


def lqr(
    animal: Neuromechanic,
    start: Mapping[str, Any],
    Q: ArrayLike | None = None,
    R: ArrayLike | None = None,
    delay: float = 0.0,
) -> Regulator:
    """Optimal feedback about an equilibrium, behind a delay.

    It minimises the sum of z'Qz + u'Ru over time steps. With a delay the best that can be done is the same feedback of
    the state predicted for the time at which it arrives (Kleinman, 1969, IEEE Trans Autom Control 14:524).

    Args:
        start: Initial values of the equilibrium with the ``input``, as ``Balance.start``.
        Q ((N,) or (N, N) float): By default 1 for deviations of `POSITION`, `SPEED` and `OTHER`.
        R ((u,) or (u, u) float): 1 by default.
        delay (s): A whole number of time steps.

    Raises:
        ValueError: If the model has contacts, the delay is no whole number of time steps, a cost has a wrong shape, or
            no feedback is stable.

    Examples:
        An arm that is held where it would fall, 60 ms late:

        >>> from gymnosoma.biomechanics import lqr
        >>> from gymnosoma.envs.neuromechanic import Neuromechanic, equilibrate
        >>> from gymnosoma.envs.neuromechanic.hindlimb import asset
        >>> model = asset("arm")
        >>> model["muscle"]["biceps"]["excitation"] = "input.biceps"
        >>> del model["neuron"]
        >>> arm = Neuromechanic(model)
        >>> lqr(arm, equilibrate(arm, [-0.5, 0.5]).start, delay=0.06).growth < 0
        True
    """
    from scipy.linalg import expm, solve_discrete_are

    steps = round(number("delay", delay, minimum=0) / animal.dt)
    if abs(delay - steps * animal.dt) > 1e-9:
        raise ValueError(f"delay must be a whole number of time steps of {animal.dt:g} s, got {delay:g}")
    A, B = linearise(animal, dict(start)), input_matrix(animal, dict(start))
    size, inputs, n = *B.shape, len(animal.model.bodies)
    usual = np.r_[np.full(n, POSITION), np.full(n, SPEED), np.full(size - 2 * n, OTHER)] ** -2.0
    cost, price = _cost("Q", Q, usual), _cost("R", R, np.ones(inputs))
    discrete = expm(animal.dt * np.block([[A, B], [np.zeros((inputs, size + inputs))]]))
    A, B = discrete[:size, :size], discrete[:size, size:]
    try:
        P = solve_discrete_are(A, B, cost, price)
    except np.linalg.LinAlgError as error:
        raise ValueError(f"no feedback of these inputs is stable there: {error}") from None
    K = np.linalg.solve(price + B.T @ P @ B, B.T @ P @ A)
    row = animal.rows(1)
    animal.reset(row, np.zeros(1, np.int64), dict(start))
    # As the prediction is exact, the modes with a delay are those without, and others that end after the delay.
    growth = float(np.log(max(np.abs(np.linalg.eigvals(A - B @ K)).max(), 1e-300))) / animal.dt
    return Regulator(K, animal.vector(row), row["input"][0].copy(), steps, A, B, growth)


def _cost(name: str, cost: ArrayLike | None, usual: Vector) -> Vector:
    matrix = usual if cost is None else np.asarray(cost, float)
    matrix = np.diag(matrix) if matrix.ndim == 1 else matrix
    if matrix.shape != (len(usual),) * 2:
        raise ValueError(f"{name} must be ({len(usual)},) or twice that, got {shown(cost)}")
    return matrix


def input_matrix(animal: Neuromechanic, start: dict[str, Any], step: float = 1e-6) -> Vector:
    """Input matrix B = df/du by central differences over the drive; with `linearise`, dz/dt = A dz + B du.

    Args:
        start: Initial values, with the ``input`` about which the model is linearised.
        step: Of the differences.

    Returns:
        B (N, u) float: For the inputs in the order of ``model.inputs``.

    Raises:
        ValueError: For a model with contacts, which switch.

    Examples:
        The inputs of the arm's muscles reach their activations first:

        >>> from gymnosoma.envs.neuromechanic import Neuromechanic
        >>> from gymnosoma.biomechanics import input_matrix
        >>> from gymnosoma.envs.neuromechanic.hindlimb import asset
        >>> B = input_matrix(Neuromechanic(asset("arm")), {"activation": [0.2, 0.2], "input": [0.2, 0.2]})
        >>> B.shape, bool((B[:4] == 0).all())
        ((6, 2), True)
    """
    refuse_contacts(animal)
    row = animal.rows(1)
    animal.reset(row, np.zeros(1, np.int64), start)
    B = np.empty((animal.model.counts["size"], animal.drive_size))
    for i in range(animal.drive_size):
        rates = []
        for side in (step, -step):
            moved = row.copy()
            moved["input"][0, i] += side
            rates.append(animal.rate(moved))
        B[:, i] = (rates[0] - rates[1]) / (2 * step)
    return B
