"""Controllers that hold an equilibrium: optimal feedback behind a delay, and gains by a search.

SciPy is imported where it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.arguments import number, shown
from ..core.model.control import Flags, Floats, Values
from .analysis import characteristic_roots, input_matrix, linearise
from .animal import Neuromechanic
from .equilibrium import TOUCHES
from .reader import listed

Vector = NDArray[np.float64]

POSITION, SPEED, OTHER = 0.1, 1.0, 10.0
"""Deviations of joints (rad, rad/s), and of all other states, that cost as much as an input of 1."""


@dataclass
class Regulator:
    """State feedback behind a delay, as a controller for `simulate`.

    From the state and what was decided on since, it foretells the state at the time when its decision arrives, by the
    linearised animal: u = u0 - K (z(t + delay) - z0).

    Args:
        gains ((u, N) float): K.
        state ((N,) float): z0.
        input ((u,) float): u0.
        steps: Time steps from what is sensed to the drive.
        ahead (matrices): What of the state (N, N), and of each decision on its way (s, N, u), is left in the future.
        growth (1/s): Of the slowest mode of the linearised animal with this delay, step by step; negative if stable.
    """

    gains: Vector
    state: Vector
    input: Vector
    steps: int
    ahead: tuple[Vector, Vector]
    growth: float
    reads: tuple[str, ...] = ("q", "v", "module_state", "neuron_state", "activation", "fibre_length")
    _line: Vector = field(default_factory=lambda: np.zeros((0, 0, 0)), repr=False)

    def drive(self, t: Floats, signals: Values, first: Flags) -> Floats:
        """Drive (B, u) that was decided on a delay ago."""
        (whole, parts), rows = self.ahead, len(t)
        size = max(self.steps, len(parts))
        if self._line.shape[0] != rows:
            self._line = np.zeros((rows, size + 1, len(self.input)))
        self._line[first] = 0.0
        z = np.concatenate([signals[name] for name in self.reads], 1) - self.state
        z = np.sum(whole * z[:, None, :], -1)
        for part, decided in zip(parts, np.moveaxis(self._line[:, size + 1 - len(parts) :], 1, 0), strict=True):
            z = z + np.sum(part * decided[:, None, :], -1)
        now = -np.sum(self.gains * z[:, None, :], -1)
        self._line = np.concatenate([self._line[:, 1:], now[:, None]], 1)
        return self.input + self._line[:, size - self.steps]


def lqr(
    animal: Neuromechanic,
    start: Mapping[str, Any],
    Q: ArrayLike | None = None,
    R: ArrayLike | None = None,
    delay: float = 0.0,
    design_delay: float | None = None,
) -> Regulator:
    """Optimal feedback about an equilibrium, behind a delay.

    It minimises the sum of z'Qz + u'Ru over time steps. With a delay the best that can be done is the same feedback of
    the state foretold for the time at which it arrives (Kleinman, 1969, IEEE Trans Autom Control 14:524). ``growth``
    tells of the linearised animal what comes of it.

    Args:
        start: Initial values of the equilibrium with the ``input``, as ``Balance.start``.
        Q ((N,) or (N, N) float): By default 1 for deviations of `POSITION`, `SPEED` and `OTHER`.
        R ((u,) or (u, u) float): 1 by default.
        delay (s): A whole number of time steps.
        design_delay (s): What the design takes it for; the delay by default.

    Raises:
        ValueError: If the model has contacts, the delay is no whole number of time steps, a cost has a wrong shape, or
            no feedback is stable.

    Examples:
        An arm that is held where it would fall, 60 ms late, with and without heed of the delay:

        >>> from gymnosoma.envs.neuromechanic import Neuromechanic
        >>> from gymnosoma.envs.neuromechanic.analysis import equilibrate
        >>> from gymnosoma.envs.neuromechanic.hindlimb import asset
        >>> from gymnosoma.envs.neuromechanic.regulation import lqr
        >>> model = asset("arm")
        >>> model["muscle"]["biceps"]["excitation"] = "input.biceps"
        >>> del model["neuron"]
        >>> arm = Neuromechanic(model)
        >>> held = equilibrate(arm, [-0.5, 0.5]).start
        >>> [lqr(arm, held, delay=0.06, design_delay=heed).growth < 0 for heed in (0.06, 0.0)]
        [True, False]
    """
    from scipy.linalg import expm, solve_discrete_are

    steps = _steps("delay", delay, animal.dt)
    heed = steps if design_delay is None else _steps("design_delay", design_delay, animal.dt)
    A, B = linearise(animal, dict(start)), input_matrix(animal, dict(start))
    size, inputs, n = *B.shape, len(animal.model.bodies)
    usual = np.r_[np.full(n, POSITION), np.full(n, SPEED), np.full(size - 2 * n, OTHER)] ** -2.0
    cost, price = _cost("Q", Q, usual), _cost("R", R, np.ones(inputs))
    held = expm(animal.dt * np.block([[A, B], [np.zeros((inputs, size + inputs))]]))
    A, B = held[:size, :size], held[:size, size:]
    try:
        P = solve_discrete_are(A, B, cost, price)
    except np.linalg.LinAlgError as error:
        raise ValueError(f"no feedback of these inputs is stable there: {error}") from None
    K = np.linalg.solve(price + B.T @ P @ B, B.T @ P @ A)
    parts = np.zeros((heed, size, inputs))
    whole = np.eye(size)
    for j in range(heed - 1, -1, -1):
        parts[j], whole = whole @ B, whole @ A
    row = animal.rows(1)
    animal.reset(row, np.zeros(1, np.int64), dict(start))
    growth = _growth(A, B, K, (whole, parts), steps) / animal.dt
    return Regulator(K, animal.vector(row), row["input"][0].copy(), steps, (whole, parts), growth)


def _steps(name: str, delay: float, dt: float) -> int:
    number(name, delay, minimum=0)
    if abs(delay - round(delay / dt) * dt) > 1e-9:
        raise ValueError(f"{name} must be a whole number of time steps of {dt:g} s, got {delay:g}")
    return round(delay / dt)


def _cost(name: str, given: ArrayLike | None, usual: Vector) -> Vector:
    matrix = usual if given is None else np.asarray(given, float)
    matrix = np.diag(matrix) if matrix.ndim == 1 else matrix
    if matrix.shape != (len(usual),) * 2 or np.linalg.eigvalsh(0.5 * (matrix + matrix.T))[0] < -1e-12:
        raise ValueError(f"{name} must be ({len(usual)},) or twice that, and not negative, got {shown(given)}")
    return matrix


def _growth(A: Vector, B: Vector, K: Vector, ahead: tuple[Vector, Vector], steps: int) -> float:
    """Growth in a time step of the slowest mode of the animal and a line of decisions, the oldest first."""
    (whole, parts), (size, inputs) = ahead, B.shape
    count = max(steps, len(parts))
    M = np.zeros((size + count * inputs,) * 2)
    decided = np.zeros((inputs, len(M)))
    decided[:, :size] = -K @ whole
    for j, part in enumerate(parts):
        at = size + (count - len(parts) + j) * inputs
        decided[:, at : at + inputs] = -K @ part
    M[:size, :size] = A
    if steps:
        at = size + (count - steps) * inputs
        M[:size, at : at + inputs] = B
    else:
        M[:size] += B @ decided
    if count:
        M[size:-inputs, size + inputs :] = np.eye((count - 1) * inputs)
        M[-inputs:] = decided
    return float(np.log(max(np.abs(np.linalg.eigvals(M)).max(), 1e-300)))


def gains(
    animal: Neuromechanic,
    start: Mapping[str, Any],
    bounds: Mapping[str, tuple[float, float]],
    count: int = 24,
    evaluations: int = 100,
    seed: int = 0,
) -> tuple[dict[str, float], float]:
    """Search the inputs that are gains for those with which an equilibrium decays fastest, delays included.

    Args:
        start: Initial values of the equilibrium, with all inputs.
        bounds: Least and greatest value by input.
        count: Of random tries, from the best of which the search goes on by Nelder and Mead's simplex.
        evaluations: Of the characteristic roots by that, at most.

    Returns:
        gains, growth: Inputs by name, and the real part (1/s) of the rightmost characteristic root.
    """
    from scipy.optimize import minimize

    names = animal.model.inputs
    for name, (low, high) in bounds.items():
        if name not in names or not low < high:
            raise ValueError(f"bounds must be [low, high] by input, of {listed(names)}, got {name!r}: {low}, {high}")
    places = [names.index(name) for name in bounds]
    low, high = np.array(list(bounds.values()), float).T
    base = np.array(start["input"], float)

    def growth(x: Vector) -> float:
        drive = base.copy()
        drive[places] = np.clip(x, low, high)
        return float(characteristic_roots(animal, {**start, "input": drive}, nodes=16)[0].real)

    tries = np.random.default_rng(seed).uniform(low, high, (count, len(low)))
    first = min([base[places], *tries], key=growth)
    options = {"maxfev": evaluations, "xatol": 1e-3 * float((high - low).min()), "fatol": 1e-3}
    found = minimize(growth, first, method="Nelder-Mead", bounds=list(zip(low, high, strict=True)), options=options)
    return dict(zip(bounds, found.x.tolist(), strict=True)), float(found.fun)


def sticking(animal: Neuromechanic, start: Mapping[str, Any], rate: float = 20.0) -> Neuromechanic:
    """The animal with its touching contacts pinned where they are, and no other contacts, to be linearised.

    What `linearise`, `lqr` or `characteristic_roots` tell of it holds as long as the contacts neither slip nor lift.

    Args:
        start: Initial values, which it takes as well.
        rate (1/s): At which errors of the pins decay.
    """
    model = animal.model
    if model.description is None:
        raise ValueError("model has control modules, so it cannot be made again: pin the points of its contacts")
    row = animal.rows(1)
    animal.reset(row, np.zeros(1, np.int64), dict(start))
    points = animal.mechanics(row)["contact_point"]
    pins = {}
    for c, name in enumerate(model.contacts):
        frame = model.arrays["contact_frame"][c][: model.counts["contact_rows"]]
        if frame[0] @ points[c] - model.arrays["contact_height"][c] <= TOUCHES:
            point = model.description["contact"][name]["point"]
            pins[name] = {"point": point, "to": ["ground", *points[c].tolist()], "axes": frame.tolist(), "rate": rate}
    kept = {key: value for key, value in model.description.items() if key != "contact"}
    return Neuromechanic({**kept, "pin": pins}, animal.dt, animal.scheme)
