"""State derivative, constraints and fixed-step integrators; Bunderson et al. (2012).

The state vector z = [q, v, n, a, l] of Eq. 3 consists of joint positions and velocities, states of control modules and
leaky neurons, activations and fibre lengths. ``state_rate`` computes its derivative for Runge-Kutta steps,
equilibration, linearisation and tests. ``semi_implicit`` uses the same code, except that it changes the mass matrix.

Kernels take the records of `layout`: ``t`` is the model, ``k`` is work space, and ``x`` is a row. ``z`` (N,) is a state
vector, ``time`` and ``dt`` are in s, ``fraction`` (0 to 1) is the part of the step at which delayed signals are read,
and ``module`` is the control module's kernel or None.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.kernels.jit import add_scaled, fetch_add, inlined, kernel, prange
from ..core.kernels.maths import sincos
from .elastic import RELEASES, elastic, imply, release
from .muscles import (
    PROPORTIONAL,
    SMOOTH,
    SPRING,
    activation_rate,
    contract,
    contract_proportional,
    stretch_spring,
)
from .nerves import CONSTANT, INPUT, leaky_neurons, make_neurons_exact, neurons, remember, signal, spline_motion
from .paths import paths
from .skeleton import (
    add_wrench,
    bias_force,
    cholesky,
    inertias,
    kinematics,
    mass_matrix,
    momentum,
    place,
    point_motion,
    push,
    rotate,
    shorten,
    solve,
    solve_each,
    turn_on,
    turn_rate,
)

SINGULAR, BROKEN, FAST = 1.0, 2.0, 3.0
"""Status codes: masses or constraints are singular; the state is not finite; a joint exceeds `FASTEST`."""

FASTEST = 1e4
"""Joint speed (rad/s or m/s) above which a simulation fails."""


@kernel
def ground_acceleration(t, x, time):
    """Return the acceleration of the ground (m/s^2) along the platform's axis at ``time`` (s), a sum of half-sines.

    ``x.pulse`` (pulses, 3) has the onset (s), duration (s) and peak (m/s^2) of each.
    """
    total = 0.0
    for i in range(t.pulses):
        since, lasts = time - x.pulse[i, 0], x.pulse[i, 1]
        if 0.0 < since < lasts:
            total += x.pulse[i, 2] * sincos(math.pi * since / lasts)[0]
    return total


LIMITS = True
"""Whether joints can have limits; `variant` removes their code otherwise."""

ELASTIC = True
"""Whether there can be compliant contacts or bushings; `variant` removes their code otherwise."""


@kernel
def limit_torque(limit, q, v):
    """Compute the torque (N m) of a joint's limit and its damping (N m s/rad).

    The torque above the upper bound is -K s(x) (q - high) - C s(x) v with x = (q - high) / transition and
    s(x) = 10 x^3 - 15 x^4 + 6 x^5, which rises smoothly from 0 to 1, as in OpenSim's CoordinateLimitForce (Seth 2018).

    Args:
        limit ((6,) float): Lower and upper bound (rad), stiffness K beyond each (N m/rad), damping C (N m s/rad),
            transition (rad); N and m for sliding joints.
        q, v (rad, rad/s): Position and velocity.
    """
    up = min(max((q - limit[1]) / limit[5], 0.0), 1.0)
    down = min(max((limit[0] - q) / limit[5], 0.0), 1.0)
    up *= up * up * (10.0 - 15.0 * up + 6.0 * up * up)
    down *= down * down * (10.0 - 15.0 * down + 6.0 * down * down)
    damping = limit[4] * (up + down)
    return limit[2] * down * (limit[0] - q) - limit[3] * up * (q - limit[1]) - damping * v, damping


@inlined
def contract_muscles(t, k, x, z):
    """Write forces ``k.force`` (N) of springs and of muscles with an activation, and rates of fibres in ``k.dz``."""
    active = 2 * t.bodies + t.states
    fibre = active + t.active
    for m in range(t.muscles):
        if t.muscle[m] == SPRING:
            stretch_spring(t, k, m)
        elif t.muscle[m] != PROPORTIONAL:
            length = z[fibre + t.fibre[m]] if t.fibre[m] >= 0 else 0.0
            contract(t, k, m, z[active + t.activation[m]], length, x.strength)
            if t.fibre[m] >= 0:
                k.dz[fibre + t.fibre[m]] = k.fibre_rate[m]


@inlined
def excite_muscles(t, k, x, z, time):
    """Write excitations, rates of activation and proportional muscles, and add T_M of Eq. 5 to ``k.tau``."""
    active = 2 * t.bodies + t.states
    for m in range(t.muscles):
        kind, index = t.excitation[m]
        e = x.input[index] if kind == INPUT else t.excitation_value[m]
        if kind != INPUT and kind != CONSTANT:
            e = signal(t, k, x, z, time, kind, index)
        k.excitation[m] = min(max(e, t.excitation_low[m]), t.excitation_high[m])
        if t.muscle[m] == PROPORTIONAL:
            contract_proportional(t, k, m, k.excitation[m], x.strength)
        elif t.activation[m] >= 0:
            k.active[m] = z[active + t.activation[m]]
    for m in range((t.muscles + 7) // 8 * 8):
        k.smooth[m] = activation_rate(SMOOTH, t.rise_time[m], t.fall_time[m], k.excitation[m], k.active[m])
    for m in range(t.muscles):
        if t.activation[m] >= 0:
            kind, e, a = t.activation_kind[m], k.excitation[m], k.active[m]
            rate = k.smooth[m] if kind == SMOOTH else activation_rate(kind, t.rise_time[m], t.fall_time[m], e, a)
            k.dz[active + t.activation[m]] = rate
        add_scaled(k.tau[:], k.tau[:], k.force[m], k.arm[m])


@kernel
def driven_wrenches(t, k, x, z, time):
    """Add wrench components that follow signals to ``k.tau``, and write their values (N, N m) to ``k.push``."""
    for i in range(t.pushes):
        w, part, kind, index = t.push[i]
        value = signal(t, k, x, z, time, kind, index)
        b, axis = t.wrench_body[w], part % 3
        d0, d1, d2 = value if axis == 0 else 0.0, value if axis == 1 else 0.0, value if axis == 2 else 0.0
        if t.wrench_local[w] and b >= 0:
            d0, d1, d2 = rotate(k.turn[b], d0, d1, d2)
        if part < 3:
            px, py, pz = place(k, b, t.wrench_at[w])
            push(t, k, b, px, py, pz, d0, d1, d2, k.tau[:])
        else:
            add_wrench(t, k, b, d0, d1, d2, 0.0, 0.0, 0.0, k.tau[:])
        k.push[i] = value


@inlined
def forces(t, k, x, z, time, fraction, module):
    """Compute mass matrix, generalised forces, muscles, neurons, and the rates of all states except q and v.

    Positions are relative to the ground, and the acceleration of the ground adds to gravity. The order is that of the
    paper's Fig. 1, but muscle forces come before neurons. They depend only on states (activation and fibre length), so
    that neurons can read present forces. Inputs, wrenches, delayed signals and parameters are those of the row. The
    function writes ``k.M``, ``k.tau`` = V + T_E + T_M without constraints (Eqs 4, 5), and ``k.dz`` except q and v.
    """
    n = t.bodies
    q, v = z[:n], z[n : 2 * n]
    pushed = ground_acceleration(t, x, time)
    for i in range(3):
        k.gravity[i] = t.gravity[i] - pushed * t.platform[i]
    kinematics(t, k, q)
    inertias(t, k)
    mass_matrix(t, k)
    bias_force(t, k, v)
    mass, damping = x.mass, x.damping
    for i in range(n):
        for j in range(n):
            k.M[i, j] *= mass
        k.M[i, i] += t.armature[i]
        k.tau[i] = -mass * k.bias[i] - damping * t.damping[i] * v[i] - t.stiffness[i] * (q[i] - t.rest[i])
    for j in range(t.limits if LIMITS else 0):
        i = t.limit_joint[j]
        k.tau[i] += limit_torque(t.limit[j], q[i], v[i])[0]
    for w in range(t.wrenches):
        b = t.wrench_body[w]
        px, py, pz = place(k, b, t.wrench_at[w])
        f0, f1, f2, m0, m1, m2 = x.wrench[w]
        if t.wrench_local[w] and b >= 0:
            f0, f1, f2 = rotate(k.turn[b], f0, f1, f2)
            m0, m1, m2 = rotate(k.turn[b], m0, m1, m2)
        push(t, k, b, px, py, pz, f0, f1, f2, k.tau[:])
        add_wrench(t, k, b, m0, m1, m2, 0.0, 0.0, 0.0, k.tau[:])
    if ELASTIC:
        elastic(t, k, x, v)
    paths(t, k, q, v)
    contract_muscles(t, k, x, z)
    leaky_neurons(t, k, z)
    if module is not None:
        states = slice(2 * n, 2 * n + t.states - t.leaky)
        momentum(t, k)
        for i in range(t.reads):
            k.heard[i] = signal(t, k, x, z, time, t.read[i, 0], t.read[i, 1])
        module(time, q, v, z[states], k.momentum, x.input, k.heard, k.dz[states], k.output)
    neurons(t, k, x, z, time, fraction)
    excite_muscles(t, k, x, z, time)
    for i in range(t.motors):
        b, kind, index = t.motor[i]
        k.motor[i] = t.motor_gain[i] * signal(t, k, x, z, time, kind, index)
        k.tau[b] += k.motor[i]
    driven_wrenches(t, k, x, z, time)


@kernel
def constraints(t, k, z, time):
    """Write Jacobian ``k.J`` (c, n) and right-hand side ``k.drift`` (c,) m/s^2 of the pins, J qdd = drift; Eq. 6.

    A pin keeps the distance of two points along a direction, which is fixed in the world or turns with the second body,
    or the position of a joint, at zero or at the value of a spline. Errors decay with critical damping at the pin's
    rate (Baumgarte stabilisation). Rate 0 gives the paper's acceleration constraint. Call this after `forces`.
    """
    for c in range(t.pins):
        row, joint = k.J[c], t.pin_joint[c]
        for i in range(t.bodies):
            row[i] = 0.0
        if joint >= 0:
            row[joint] = 1.0
            gap, speed, bias = z[joint], z[t.bodies + joint], 0.0
        else:
            d0, d1, d2 = t.pin_axis[c]
            body, other = t.pin_body[c]
            local = t.pin_local[c] != 0
            if local:
                d0, d1, d2 = rotate(k.turn[other], d0, d1, d2)
            x0, y0, z0 = place(k, body, t.pin_at[c, 0])
            x1, y1, z1 = place(k, other, t.pin_at[c, 1])
            gap = d0 * (x0 - x1) + d1 * (y0 - y1) + d2 * (z0 - z1)
            if local:  # motion relative to the point of the second body that coincides with the first point
                x1, y1, z1 = x0, y0, z0
            push(t, k, body, x0, y0, z0, d0, d1, d2, row)
            push(t, k, other, x1, y1, z1, -d0, -d1, -d2, row)
            v0, v1, v2, a0, a1, a2 = point_motion(k, body, x0, y0, z0)
            w0, w1, w2, b0, b1, b2 = point_motion(k, other, x1, y1, z1)
            speed = d0 * (v0 - w0) + d1 * (v1 - w1) + d2 * (v2 - w2)
            bias = d0 * (a0 - b0) + d1 * (a1 - b1) + d2 * (a2 - b2)
            if local:
                V, u0, u1, u2 = k.V[other], v0 - w0, v1 - w1, v2 - w2
                bias -= 2.0 * d0 * (V[1] * u2 - V[2] * u1)
                bias -= 2.0 * (d1 * (V[2] * u0 - V[0] * u2) + d2 * (V[0] * u1 - V[1] * u0))
        if t.pin_spline[c] >= 0:
            value, pace, growth = spline_motion(t, t.pin_spline[c], time)
            gap, speed, bias = gap - value, speed - pace, bias - growth
        rate = t.pin_rate[c]
        k.drift[c] = -bias - rate * (2.0 * speed + rate * gap)


@inlined
def accelerate(t, k, z, time):
    """Solve M qdd = tau + J' lambda, J qdd = drift (Eq. 7) by the Schur complement of M.

    Writes ``k.qdd`` (n,) rad/s^2 or m/s^2 and ``k.reaction`` (c,) N. Returns False if masses or pins are singular.
    """
    n, pins = t.bodies, t.pins
    if not cholesky(k.M, k.L, n):
        return False
    for i in range(n):
        k.qdd[i] = k.tau[i]
    solve(k.L, k.qdd, n)
    if pins == 0:
        return True
    constraints(t, k, z, time)
    for c in range(pins):
        for i in range(n):
            k.MJ[c, i] = k.J[c, i]
    solve_each(k.L, k.MJ, n, pins)
    for c in range(pins):
        s = k.drift[c]
        for i in range(n):
            s -= k.J[c, i] * k.qdd[i]
        k.reaction[c] = s
    for c in range(pins):
        for d in range(pins):
            s = 0.0
            for i in range(n):
                s += k.J[c, i] * k.MJ[d, i]
            k.schur[c, d] = s
    if not cholesky(k.schur, k.schur, pins):
        return False
    solve(k.schur, k.reaction, pins)
    for c in range(pins):
        for i in range(n):
            k.qdd[i] += k.MJ[c, i] * k.reaction[c]
    return True


@kernel
def state_rate(t, k, x, z, time, fraction, module):
    """Write the rate ``k.dz`` of the state vector, Eq. 3; return False if masses or pins are singular."""
    n = t.bodies
    forces(t, k, x, z, time, fraction, module)
    if not accelerate(t, k, z, time):
        return False
    for i in range(n):
        k.dz[i] = z[n + i]
        k.dz[n + i] = k.qdd[i]
    for b in range(t.balls):
        i = t.ball[b]
        turn_rate(z[i : i + 3], z[n + i : n + i + 3], k.dz[i : i + 3])
    return True


@inlined
def make_damping_implicit(t, k, x, dt):
    """Add dt times the damping of joints, their limits and muscles, dF/dldot r r', to the mass matrix ``k.M``.

    `elastic.imply` does this for compliant contacts and bushings.
    """
    n = t.bodies
    for i in range(n):
        k.M[i, i] += dt * x.damping * t.damping[i]
    for i in range(t.elastics if ELASTIC else 0):
        imply(t, k, x.z[n : 2 * n], i, dt, 1.0)
    for j in range(t.limits if LIMITS else 0):
        i = t.limit_joint[j]
        k.M[i, i] += dt * limit_torque(t.limit[j], x.z[i], x.z[n + i])[1]
    for m in range(t.muscles):
        s = dt * k.slope[m]
        if s > 0.0:
            for i in range(n):
                r = s * k.arm[m, i]
                if r != 0.0:
                    add_scaled(k.M[i], k.M[i], r, k.arm[m])


@inlined
def make_fibres_implicit(t, k, x, dt):
    """Change the rates ``k.dz`` of fibre lengths to those of a linearly implicit step with a numerical slope."""
    active, fibre = 2 * t.bodies + t.states, t.size - t.fibres
    for m in range(t.muscles):
        if t.fibre[m] >= 0:
            j = fibre + t.fibre[m]
            rate, length = k.dz[j], x.z[j]
            h = 1e-6 * t.optimal_length[m]
            contract(t, k, m, x.z[active + t.activation[m]], length + h, x.strength)
            k.dz[j] = rate / (1.0 - dt * min((k.fibre_rate[m] - rate) / h, 0.0))


@kernel
def settle(t, k, z, time, dt):
    """Apply `accelerate` again without the compliant contacts that would pull, if there are any."""
    for _ in range(RELEASES):
        if not release(t, k, z[t.bodies : 2 * t.bodies], dt):
            return True
        if not accelerate(t, k, z, time):
            return False
    return True


collide: Any = None
"""`contact.collide` for models with contacts, set by `variant`."""


@inlined
def semi_implicit(t, k, x, dt, module):
    """Take one step of the semi-implicit Euler method with implicit damping of joints and muscles.

    A light segment with a fast muscle relaxes within microseconds. The term dt dF/dldot r r' in the mass matrix makes
    the velocity dependence of muscle force implicit, so that such steps are stable. Fibre lengths of compliant tendons,
    which relax within milliseconds, take a linearly implicit step. Contacts act on the velocities at the end of the
    step. This scheme is not from the paper. ``k.start`` (N,) is the state vector at the beginning. Returns False if
    masses or pins are singular.
    """
    z, n = x.z, t.bodies
    forces(t, k, x, z, x.time, 0.0, module)
    remember(t, k, x, z)
    keep_signals(t, k, x)
    make_damping_implicit(t, k, x, dt)
    if not accelerate(t, k, z, x.time):
        return False
    if ELASTIC and not settle(t, k, z, x.time, dt):
        return False
    if collide is not None:
        collide(t, k, x, dt)
    make_fibres_implicit(t, k, x, dt)
    make_neurons_exact(t, k, dt)
    for i in range(n):
        z[n + i] += dt * k.qdd[i]
        z[i] += dt * z[n + i]
    for b in range(t.balls):
        i = t.ball[b]
        turn_on(k.start[i : i + 3], z[n + i : n + i + 3], dt, z[i : i + 3])
    for i in range(2 * n, t.size):
        z[i] += dt * k.dz[i]
    return True


@kernel
def runge_kutta(t, k, x, dt, module):
    """Take one step of the classical fourth-order Runge-Kutta method, section 2.2.1.

    Delayed signals are interpolated linearly between steps. Returns False if masses or pins are singular.
    """
    z = x.z
    for i in range(t.size):
        k.start[i] = z[i]
        k.total[i] = 0.0
    for stage in range(4):
        fraction = 0.0 if stage == 0 else (1.0 if stage == 3 else 0.5)
        for i in range(t.size):
            k.stage[i] = k.start[i] + (dt * fraction * k.dz[i] if stage > 0 else 0.0)
        if not state_rate(t, k, x, k.stage, x.time + dt * fraction, fraction, module):
            return False
        if stage == 0:
            remember(t, k, x, z)
            keep_signals(t, k, x)
        weight = dt / 3.0 if stage in (1, 2) else dt / 6.0
        for i in range(t.size):
            k.total[i] += weight * k.dz[i]
    for i in range(t.size):
        z[i] = k.start[i] + k.total[i]
    for b in range(t.balls):
        shorten(z[t.ball[b] : t.ball[b] + 3])
    return True


SCHEMES = {"semi_implicit": semi_implicit, "rk4": runge_kutta}
"""Integrators by the name of the scheme."""


@inlined
def keep_signals(t, k, x):
    """Copy forces (N), excitations and neurons from the work space to the row."""
    for m in range(t.muscles):
        x.force[m] = k.force[m]
        x.excitation[m] = k.excitation[m]
    for j in range(t.neurons):
        x.neuron[j] = k.neuron[j]


@inlined
def healthy(t, z):
    """Return the status of a state vector (N,): 0 if it is finite and no joint exceeds `FASTEST`."""
    zero = 0.0
    for i in range(t.size):
        zero += z[i] * 0.0
    if zero != 0.0:
        return BROKEN
    for i in range(t.bodies, 2 * t.bodies):
        if abs(z[i]) > FASTEST:
            return FAST
    return 0.0


step: Any = None
"""One of `SCHEMES`, set by `variant`."""


def take_steps(t, k, x, steps, dt, module):
    """Take ``steps`` time steps. A row that fails keeps its last valid state vector and gets a status."""
    for _ in range(steps):
        for i in range(t.size):
            k.start[i] = x.z[i]
        solved = step(t, k, x, dt, module)
        status = healthy(t, x.z)
        if not solved:
            zero = x.mass * 0.0
            for i in range(t.bodies):
                zero += k.tau[i] * 0.0
            status = SINGULAR if zero == 0.0 else BROKEN
        if status != 0.0:
            for i in range(t.size):
                x.z[i] = k.start[i]
            x.status = status
            return
        for c in range(t.pins):
            x.reaction[c] = k.reaction[c]
        x.step += 1.0
        x.time = x.step * dt


@inlined
def keep_finite(x):
    """Set the status of a row if muscles or neurons overflow, and replace values that are not finite by 0."""
    bad = False
    for j in range(len(x.written)):
        bad |= not abs(x.written[j]) < np.inf
    if bad:
        x.status = BROKEN if x.status == 0.0 else x.status
        for j in range(len(x.written)):
            x.written[j] = x.written[j] if abs(x.written[j]) < np.inf else 0.0


run: Any = None
"""Kernel of `take_steps`, set by `variant`."""


def follow(t, k, x, row, place, drives, count, steps, records, done, stride, dt, module):
    """Take ``steps`` time steps with each drive in turn until a step fails; see `Animal.run`.

    Args:
        row: Index of the row in ``records``.
        place: Index of the row in ``drives``.
        drives ((T, A, u) float): Drives; T is 1 for a constant drive.
        count: Number of drives.
        steps: Number of time steps with each drive.
        records ((B, N, K) float): Output. Record k of a row, a copy of it, is written after k ``stride`` drives.
        done: Number of drives before this call.
        stride: Number of drives between records.
    """
    for h in range(count):
        for j in range(drives.shape[2]):
            x.input[j] = drives[min(h, len(drives) - 1), place, j]
        run(t, k, x, steps, dt, module)
        keep_finite(x)
        if x.status != 0.0:
            return
        if (done + h + 1) % stride == 0:
            moment = records[row, (done + h + 1) // stride]
            for j in range(len(moment)):
                moment[j] = x.all[j]


def rows_loop(run: Any) -> Callable[..., None]:
    """Return a loop over rows in one or several threads, with a kernel of `follow` as ``run``.

    `follow` is a separate function because numba lost inputs that were set inside a threaded loop.
    """

    def take_rows(ts, ks, xs, ids, taken, drives, count, steps, records, done, stride, dt, module):
        """Let the rows ``ids`` follow their drives.

        Args:
            ts, ks, xs ((1,), (threads,), (B,) records): Model, work space, and rows. Only the rows ``ids`` are changed.
            ids ((A,) int64): Indices of the rows.
            taken ((1,) int64): Counter from which threads get the next row.
            drives, count, steps, records, done, stride: See `follow`.
        """
        taken[0] = 0
        for i in prange(len(ks)):
            a = fetch_add(taken)
            while a < len(ids):
                row = ids[a]
                run(ts[0], ks[i], xs[row], row, a, drives, count, steps, records, done, stride, dt, module)
                a = fetch_add(taken)

    return take_rows


@kernel
def evaluate(ts, ks, xs, z, rate, fill, module):
    """Evaluate the derivative at the state vector ``z``, with inputs, wrenches and past signals of a row.

    Writes ``rate`` (N,), NaN if masses or pins are singular. With ``fill``, the past of delayed signals is filled with
    their present values, and forces and neurons are written to the row. The records have a leading axis of 1.
    """
    t, k, x = ts[0], ks[0], xs[0]
    for i in range(t.size):  # kernels are already compiled for the type of k.stage
        k.stage[i] = z[i]
    # A chain of neurons with delays settles after one pass for each link.
    for _ in range(t.neurons + 1 if fill else 1):
        solved = state_rate(t, k, x, k.stage, x.time, 0.0, module)
        for d in range(t.delays):
            k.delayed[d] = signal(t, k, x, k.stage, x.time, t.delayed[d, 0], t.delayed[d, 1])
            if fill:
                for j in range(t.depth):
                    x.ring[j * t.delays + d] = k.delayed[d]
    for i in range(t.size):
        rate[i] = k.dz[i] if solved else np.nan
    if fill:
        keep_signals(t, k, x)
        for c in range(t.pins):
            x.reaction[c] = k.reaction[c] if solved else 0.0
