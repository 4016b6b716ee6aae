"""Variable-step Runge-Kutta methods of order 5(4) and 8, with contact events; Bunderson et al. (2012), section 2.2.1.

Between events, contacts keep their modes: the points of closed contacts have no normal acceleration, those that stick
no tangential acceleration, and those that slip have Coulomb's friction. SciPy integrates the rates and locates the
events: a point reaches its surface, is released, starts to slip, or comes to rest. At an event, and at the start, short
steps of the fixed-step scheme make the impact and find the new modes with the contact solver.

The past of delayed signals is stored once per time step of the animal and interpolated linearly, as for ``rk4``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from ..core.kernels.jit import kernel
from ..core.kernels.lanes import kernel_records
from .body import BROKEN, FAST, FASTEST, SINGULAR
from .contact import OPEN, RATE, STICK
from .nerves import PRESSURE
from .skeleton import place, point_motion, push, shorten

if TYPE_CHECKING:
    from .animal import Neuromechanic

Floats = NDArray[np.float64]

METHODS = {"rk45": "RK45", "dop853": "DOP853"}
"""SciPy's names of the schemes."""

SHORT = 1e-3
"""Shortest step at an event, in time steps."""

MARGIN = 1e-12
"""Margin of events in SI, so that rounding triggers none."""


@kernel
def contact_motion(ts, ks, J, motion):
    """Compute the motion of contacts, after `body.evaluate`.

    Args:
        ts, ks ((1,) records): Model and work space.
        J ((n, bodies) float): Output, Jacobian of the normal and tangential directions of all contacts.
        motion ((n, 3) float): Output, distance from the surface along the direction (m, normals only), velocity (m/s),
            and acceleration (m/s^2) without joint accelerations.
    """
    t, k, rows = ts[0], ks[0], ts[0].contact_rows
    for i in range(t.contacts * rows):
        c = i // rows
        body, d = t.contact_body[c], t.contact_frame[c, i % rows]
        x, y, z = place(k, body, t.contact_at[c])
        v0, v1, v2, a0, a1, a2 = point_motion(k, body, x, y, z)
        for j in range(t.bodies):
            J[i, j] = 0.0
        push(t, k, body, x, y, z, d[0], d[1], d[2], J[i])
        motion[i, 0] = d[0] * x + d[1] * y + d[2] * z - t.contact_height[c]
        motion[i, 1] = d[0] * v0 + d[1] * v1 + d[2] * v2
        motion[i, 2] = d[0] * a0 + d[1] * a1 + d[2] * a2


def copied(row: NDArray[Any]) -> NDArray[Any]:
    """Return a copy of a row (1,) with the gaps between its fields, which NumPy's own copies leave uninitialised."""
    return row.view(np.float64).copy().view(row.dtype)


class _Row:
    """One row between two changes of its drive."""

    def __init__(self, animal: Neuromechanic, row: NDArray[Any]) -> None:
        self.animal, self.row, self.state = animal, row, row.view(animal._kernel_state)
        counts = animal.model.counts
        self.size, self.bodies = counts["size"], counts["bodies"]
        self.valid = copied(row)
        self.modes = row["mode"][0].copy()
        self.slip = np.zeros((counts["contacts"], counts["contact_rows"] - 1))
        """Direction of each slip at its start."""
        self.friction = row["friction"][0] * animal.model.arrays["contact_friction"]
        arrays = animal.model.arrays
        places = {"synapse": [0, 4], "excitation": [0], "motor": [1], "push": [2], "read": [0]}
        self.felt = any((arrays[name][:, place] == PRESSURE).any() for name, place in places.items())
        """Whether the nervous system reads contact forces."""
        self._last: tuple[float, bytes, Floats, Floats, Floats] | None = None

    def rate(self, t: float, z: Floats) -> Floats:
        """Return the rate (N,) of the state vector."""
        return self.motion(t, z)[0]

    def motion(self, t: float, z: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the rate (N,), the contact forces (contacts, rows) in N, and the margins of the events."""
        if self._last is None or self._last[:2] != (t, z.tobytes()):
            self._last = t, z.tobytes(), *self._motion(t, z)
        return self._last[2:]

    def _motion(self, t: float, z: Floats) -> tuple[Floats, Floats, Floats]:
        animal, n = self.animal, self.bodies
        self.row["time"], self.row["step"] = t, t / animal.dt
        turns = np.linalg.norm(z[animal.model.arrays["ball"][:, None] + np.arange(3)], axis=1)
        rate = animal.rate(self.row, z)
        if not len(self.modes):
            return rate, self.slip, 1.5 * np.pi - turns
        J = np.empty((len(self.modes), 1 + self.slip.shape[1], n))
        motion = np.empty((*J.shape[:2], 3))
        contact_motion(animal.table, animal._work[:1], J.reshape(-1, n), motion.reshape(-1, 3))
        M = animal._work[0]["M"][:n, :n].copy()
        force, added = self.push(J, motion, M, rate[n : 2 * n])
        if self.felt:  # once more, with the neurons that read the force
            self.row["impulse"] = force * animal.dt
            rate = animal.rate(self.row, z)
            force, added = self.push(J, motion, M, rate[n : 2 * n])
        rate[n : 2 * n] += added
        margins = [1.5 * np.pi - turns]
        for c, mode in enumerate(self.modes):
            margins.append([motion[c, 0, 0] if mode == OPEN else force[c, 0]])
            if mode != OPEN and self.friction[c] > 0.0:
                hold = self.friction[c] * force[c, 0] - np.linalg.norm(force[c, 1:])
                margins.append([hold if mode == STICK else self.slip[c] @ motion[c, 1:, 1]])
        return rate, force, np.concatenate(margins) + MARGIN

    def push(self, J: Floats, motion: Floats, M: Floats, free: Floats) -> tuple[Floats, Floats]:
        """Compute the forces (contacts, rows), N, and the joint accelerations (n,) that they add to ``free``.

        Args:
            J ((contacts, rows, n) float): Jacobian.
            motion ((contacts, rows, 3) float): See `contact_motion`.
            M ((n, n) float): Mass matrix.
            free ((n,) float): Accelerations without contacts.
        """
        fixed, wanted, pushes = [], [], []  # directions without acceleration, and forces that hold them
        for c in np.flatnonzero(self.modes != OPEN):
            rough, sticks = self.friction[c] > 0.0, self.modes[c] == STICK
            for i in range(J.shape[1] if rough and sticks else 1):
                each = np.zeros(J.shape[:2])
                each[c, i] = 1.0
                if rough and not sticks:
                    speed = motion[c, 1:, 1]
                    way = self.slip[c] if len(speed) == 1 else speed / np.maximum(np.linalg.norm(speed), MARGIN)
                    each[c, 1:] = -self.friction[c] * way
                gap, speed, bias = motion[c, i]
                fixed.append(J[c, i])
                wanted.append(-bias - RATE * (2.0 * speed + RATE * gap * (i == 0)))
                pushes.append(each)
        if not (pushes and np.isfinite(free).all()):
            return np.zeros(J.shape[:2]), np.zeros(len(free))
        response = np.linalg.solve(M, np.einsum("pcr,crn->np", pushes, J))
        # Least squares share forces that are not unique evenly.
        size = np.linalg.lstsq(np.array(fixed) @ response, np.array(wanted) - np.array(fixed) @ free, rcond=1e-10)[0]
        return np.einsum("p,pcr->cr", size, pushes), response @ size

    def settle(self, t: float, z: Floats) -> tuple[float, Floats]:
        """Take short steps until the modes of contacts agree with forces and motion; return time and state vector."""
        animal, h = self.animal, SHORT * self.animal.dt
        z = z.copy()
        for i in animal.model.arrays["ball"]:
            shorten(z[i : i + 3])
        for k in range(12 if len(self.modes) else 0):
            row = copied(self.row)
            state = row.view(animal._kernel_state)
            state["z"][0, : self.size], state["time"], state["step"] = z, t, t / animal.dt
            state["mode"][0, : len(self.modes)] = self.modes
            one = animal.table, animal._work, state, np.zeros(1, np.int64), animal._taken
            nowhere = kernel_records(None, row.dtype, 1, 1, 0, 1)
            animal._kernels[0](*one, row["input"][None].copy(), 1, 1, *nowhere, h, animal._control)
            if row["status"][0] != 0.0:
                break
            step, t, z, h = h, t + h, state["z"][0, : self.size].copy(), h if k == 0 else 2.0 * h
            self.modes, rub = row["mode"][0].copy(), row["impulse"][0, :, 1:]
            self.row["impulse"] = row["impulse"] * (animal.dt / step)  # so that neurons feel all of an impact
            self.slip = -rub / np.maximum(np.linalg.norm(rub, axis=1, keepdims=True), 1e-300)
            self._last = None
            if k > 0 and self.motion(t, z)[2].min() >= 0.0:
                break
        return t, z

    def keep(self, step: int, z: Floats) -> bool:
        """Write the state at a time step, its forces, and the past of delayed signals to the row, unless it fails."""
        animal, work = self.animal, self.animal._work[0]
        self._last = None  # the ring or the input may have changed
        rate, force, _ = self.motion(step * animal.dt, z)
        if not (np.isfinite(rate).all() and np.isfinite(z).all()):
            return self.fail(SINGULAR if np.isfinite(z).all() else BROKEN)
        if np.abs(z[self.bodies : 2 * self.bodies]).max() > FASTEST:
            return self.fail(FAST)
        self.state["z"][0, : self.size], self.row["time"], self.row["step"] = z, step * animal.dt, step
        if len(self.modes):
            self.row["mode"], self.row["impulse"] = self.modes, force * animal.dt
        for name in ("excitation", "force", "neuron", "reaction"):
            self.row[name] = work[name][: self.row[name].shape[1]]
        self.row["contact_error"] = self.row["alternations"] = 0.0
        if (past := self.row["ring"][0]).size:
            past[step % len(past)] = work["delayed"][: past.shape[1]]
        self.valid = copied(self.row)
        return True

    def fail(self, status: float) -> bool:
        """Set the status of the row, which keeps its last valid state; return False."""
        self.row[:] = self.valid
        self.row["status"] = status
        return False

    def follow(self, steps: int) -> Iterator[int]:
        """Integrate over some time steps; yield their number after each, until one fails."""
        animal, dt = self.animal, self.animal.dt
        done = first = round(float(self.row["step"][0]))
        t, z, last = first * dt, animal.vector(self.row), first + steps
        if not self.keep(first, z):  # the drive may have changed
            return
        # Signals of the last time step or later are not known yet.
        delays = animal.model.delays[animal.model.delays > 0.0]
        ahead = max(int(delays.min() / dt * self.row["delay"][0] + 1e-6), 1) if len(delays) else steps
        onset, lasts, _ = self.row["pulse"][0].T
        corners = np.concatenate([onset, onset + lasts])  # of the acceleration of the ground
        while done < last:
            t, z = self.settle(t, z)
            until = max(min(last, int(t / dt + 1e-9) + ahead), done + 1) * dt
            until = min([until, *corners[corners > t]])
            if t < until:
                events: list[Any] = [self._event(i) for i in range(len(self.motion(t, z)[2]))]
                solution = solve_ivp(
                    self.rate,
                    (t, until),
                    z,
                    METHODS[animal.scheme],
                    dense_output=True,
                    events=events,
                    max_step=dt if animal.model.contacts else np.inf,  # longer steps would miss short contacts
                    rtol=animal.tolerance,
                    atol=1e-3 * animal.tolerance,
                )
                if solution.status < 0:
                    self.fail(BROKEN if np.isfinite(self.rate(t, z)).all() else SINGULAR)
                    return
                start, t, z, place = t, float(solution.t[-1]), solution.y[:, -1], solution.sol
            else:
                start, place = t, lambda _, z=z: z
            while done < last and (done + 1) * dt <= t * (1.0 + 1e-12):
                done += 1
                if not self.keep(done, place(max(done * dt, start))):
                    return
                yield done - first

    def _event(self, i: int) -> Callable[[float, Floats], float]:
        def margin(t: float, z: Floats) -> float:
            return float(self.motion(t, z)[2][i])

        margin.terminal, margin.direction = True, -1.0  # type: ignore[attr-defined]
        return margin


def run(
    animal: Neuromechanic,
    rows: NDArray[Any],
    ids: NDArray[np.int64],
    drives: Floats,
    steps: int,
    records: NDArray[Any] | None = None,
    offset: int = 0,
    stride: int = 1,
) -> None:
    """Advance rows with a sequence of drives; see `Animal.run`. The integration restarts where the drive changes."""
    for a, row in enumerate(ids):
        here = rows[row : row + 1]
        changes = np.flatnonzero((drives[1:, a] != drives[:-1, a]).any(1)) + 1
        for first, last in zip([0, *changes], [*changes, len(drives)], strict=True):
            here["input"] = drives[first, a]
            for done in _Row(animal, here).follow((last - first) * steps):
                k = offset + first + done // steps
                if records is not None and done % steps == 0 and k % stride == 0:
                    records[row, k // stride] = here[0]
            if here["status"][0] != 0.0:
                break
