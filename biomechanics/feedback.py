"""Linear systems of models with delays: characteristic roots, and design of delayed feedback to hold an equilibrium.

The state matrix without delays and its eigenvalues are in `envs.neuromechanic.analysis`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gymnosoma.envs.core.arguments import number, shown
from gymnosoma.envs.core.kinds import takes_objects
from gymnosoma.envs.core.model.control import Flags, Floats, Values
from gymnosoma.envs.neuromechanic import Neuromechanic, differences, linearise, refuse_contacts

Vector = NDArray[np.float64]


# Stability with delays


@takes_objects
def characteristic_roots(animal: Neuromechanic, start: dict[str, Any], nodes: int = 32) -> NDArray[np.complex128]:
    """Compute the rightmost characteristic roots (1/s) of the linearised delay equation by Chebyshev collocation.

    The equation is z' = A z + sum B_d s(t - d) with the delayed signals s = C z + sum D_d s(t - d). The method
    approximates s between the longest delay and the present by a polynomial through the present and ``nodes`` earlier
    points (Breda, Maset & Vermiglio, 2005). It uses the exact delays, without rounding to the simulation's time steps.

    Args:
        animal: Model with N states and S delayed signals.
        start: Initial values at an equilibrium.
        nodes: Number of collocation points in the past.

    Returns:
        roots (N + nodes S,) complex, 1/s: Sorted by decreasing real part. Roots far to the left are artefacts of the
            polynomial.

    Raises:
        ValueError: If the model has contacts.

    Examples:
        Compare the standing figure with the paper's delay and with a longer one. It is stable if the real part of the
        rightmost root is negative:

        >>> from gymnosoma.envs.neuromechanic import Neuromechanic
        >>> from gymnosoma.biomechanics import characteristic_roots
        >>> from gymnosoma.envs.neuromechanic.standing import DAMPING, STIFFNESS, splay, standing, upright
        >>> for delay in (0.12, 0.3):
        ...     animal = Neuromechanic(standing(1.1, feet="pinned", delay=delay))
        ...     start = {"q": upright(1.1), "input": [splay(1.1), STIFFNESS, DAMPING]}
        ...     growth = characteristic_roots(animal, start)[0].real
        ...     print(f"{delay} s late: {growth:.2f} /s")
        0.12 s late: -0.94 /s
        0.3 s late: 0.53 /s
    """
    size, columns = animal.model.counts["size"], animal.model.counts["delays"]
    if columns == 0:
        return _sorted_roots(linearise(animal, start))
    refuse_contacts(animal)
    row = animal.rows(1)
    animal.reset(row, np.zeros(1, np.int64), start)
    factor, row["delay"] = float(row["delay"][0]), 1.0
    z, depth = animal.vector(row), row["ring"].shape[1]

    def sense(z: Vector, delay: int, past: Vector) -> Vector:
        """Return the rates of the states, then the delayed signals, after a change of their values ``delay`` ago."""
        now = animal.with_vector(row, z)
        now["ring"][0, -delay % depth] += past
        return np.concatenate([animal.rate(now), animal.mechanics(now)["delayed"]])

    unchanged = np.zeros(columns)
    A, C = np.split(differences(lambda z: sense(z, 0, unchanged), z), [size])
    steps = animal.table["synapse"][0]
    delays = {int(d): None for c, d in zip(steps[:, 2], steps[:, 3], strict=True) if c >= 0 and d > 0}
    x, weight, derivative = _chebyshev(nodes)
    longest = factor * max(delays) * animal.dt
    derivative *= 2.0 / longest
    # The unknowns are z and the past of s at the nodes; the present is eliminated by s = C z + sum D s(past).
    B, D = np.zeros((size, (nodes + 1) * columns)), np.zeros((columns, (nodes + 1) * columns))
    for delay in delays:
        rates, sensed = np.split(differences(partial(sense, z, delay), unchanged), [size])
        at = 1.0 - 2.0 * factor * delay * animal.dt / longest
        near = np.abs(x - at) < 1e-12
        part = np.where(near, 1.0, 0.0) if near.any() else weight / (at - x) / np.sum(weight / (at - x))
        B += np.kron(part, rates)
        D += np.kron(part, sensed)
    now = np.linalg.solve(np.eye(columns) - D[:, :columns], np.hstack([C, D[:, columns:]]))
    past = np.kron(derivative[1:], np.eye(columns))
    whole = np.block(
        [
            [A + B[:, :columns] @ now[:, :size], B[:, columns:] + B[:, :columns] @ now[:, size:]],
            [past[:, :columns] @ now[:, :size], past[:, columns:] + past[:, :columns] @ now[:, size:]],
        ]
    )
    return _sorted_roots(whole)


def _chebyshev(nodes: int) -> tuple[Vector, Vector, Vector]:
    """Return the points from 1 (present) to -1, their barycentric weights and the differentiation matrix."""
    x = np.cos(np.pi * np.arange(nodes + 1) / nodes)
    weight = np.r_[0.5, np.ones(nodes - 1), 0.5] * (-1.0) ** np.arange(nodes + 1)
    differences = x[:, None] - x
    np.fill_diagonal(differences, 1.0)
    derivative = weight / weight[:, None] / differences
    np.fill_diagonal(derivative, 0.0)
    np.fill_diagonal(derivative, -derivative.sum(1))
    return x, weight, derivative


def _sorted_roots(A: Vector) -> NDArray[np.complex128]:
    roots = np.linalg.eigvals(A).astype(complex)
    return roots[np.argsort(-roots.real)]


# Linear-quadratic feedback

POSITION, SPEED, OTHER = 0.1, 1.0, 10.0
"""Deviations of joint angles (rad), joint rates (rad/s) and all other states that cost as much as an input of 1."""


@dataclass
class Regulator:
    """Delayed state feedback, as a controller for `simulate`.

    The drive is u(t + delay) = u0 - K (z(t + delay) - z0). The linearised model predicts the state z(t + delay) from
    the present state and the drives of the meantime.

    Args:
        gains ((u, N) float): Feedback gains K.
        state ((N,) float): State z0 at the equilibrium.
        input ((u,) float): Drive u0 at the equilibrium.
        steps: Delay from the sensed state to the drive, time steps.
        A ((N, N) float), B ((N, u) float): State and input matrix of the linearised model in discrete time.
        growth (1/s): Growth rate of the slowest mode of the linearised model with this delay; negative if stable.
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
        """Return the drive (B, u) that was computed one delay ago."""
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


@takes_objects
def lqr(
    animal: Neuromechanic,
    start: Mapping[str, Any],
    Q: ArrayLike | None = None,
    R: ArrayLike | None = None,
    delay: float = 0.0,
) -> Regulator:
    """Design the optimal feedback with a delay about an equilibrium.

    It minimises the sum of z'Qz + u'Ru over time steps, where z and u are deviations from the equilibrium. With a
    delay, the optimal feedback applies the same gains to the predicted state at the time when the drive takes effect
    (Kleinman, 1969, IEEE Trans Autom Control 14:524).

    Args:
        animal: Model with N states and u inputs.
        start: Initial values at the equilibrium, including ``input``, such as ``Balance.start``.
        Q ((N,) or (N, N) float): Cost of the state, as a diagonal or a matrix. By default, deviations of `POSITION`,
            `SPEED` and `OTHER` cost 1.
        R ((u,) or (u, u) float): Cost of the drive, as a diagonal or a matrix; 1 by default.
        delay (s): Delay, a whole number of time steps.

    Raises:
        ValueError: If the model has contacts, the delay is not a whole number of time steps, a cost has the wrong
            shape, or no feedback of the inputs stabilises the equilibrium.

    Examples:
        Hold an arm at an unstable equilibrium with a delay of 60 ms:

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
        raise ValueError(f"no feedback of these inputs stabilises the equilibrium: {error}") from None
    K = np.linalg.solve(price + B.T @ P @ B, B.T @ P @ A)
    row = animal.rows(1)
    animal.reset(row, np.zeros(1, np.int64), dict(start))
    # The prediction is exact. So the modes are those without a delay, and modes that vanish after the delay.
    growth = float(np.log(max(np.abs(np.linalg.eigvals(A - B @ K)).max(), 1e-300))) / animal.dt
    return Regulator(K, animal.vector(row), row["input"][0].copy(), steps, A, B, growth)


def _cost(name: str, cost: ArrayLike | None, usual: Vector) -> Vector:
    matrix = usual if cost is None else np.asarray(cost, float)
    matrix = np.diag(matrix) if matrix.ndim == 1 else matrix
    if matrix.shape != (len(usual),) * 2:
        raise ValueError(f"{name} must have shape ({len(usual)},) or {(len(usual),) * 2}, got {shown(cost)}")
    return matrix


@takes_objects
def input_matrix(animal: Neuromechanic, start: dict[str, Any], step: float = 1e-6) -> Vector:
    """Compute the input matrix B of dz/dt = A dz + B du by central differences; `linearise` computes A.

    Args:
        animal: Model with N states and u inputs.
        start: Initial values of the operating point, including ``input``.
        step: Step of the differences.

    Returns:
        B (N, u) float: Columns have the order of ``model.inputs``.

    Raises:
        ValueError: If the model has contacts, which make the rate discontinuous.

    Examples:
        The inputs of the arm affect the rates of the two activations, not those of the other four states:

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

    def rate(drive: Vector) -> Vector:
        now = row.copy()
        now["input"] = drive
        return animal.rate(now)

    return differences(rate, row["input"][0], step)
