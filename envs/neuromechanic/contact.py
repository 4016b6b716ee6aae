"""Inelastic impact and Coulomb friction of points on surfaces, at velocity level; Bunderson et al. (2012), 2.1.1.

A contact problem has the unknown impulses p (N s), one normal and one or two tangential components for each contact.
The points have the velocities w = W p + u (m/s), where u is the velocity without impulses and W = J M^-1 J' (1/kg).
The contact law is:

- unilateral contact: p_n >= 0, w_n >= 0, p_n w_n = 0
- Coulomb friction: w_t = 0 and ``|p_t| <= mu p_n`` (stick), or p_t opposite to w_t and ``|p_t| = mu p_n`` (slip)

There are three solvers. `by_modes` tries all combinations of open, sticking and slipping contacts, for up to two planar
contacts. `staggered` is the paper's alternation between normal impulses and friction (Kaufman et al., 2008). `sweep`
solves each contact with fixed impulses of the other contacts and repeats this until the impulses are constant (Jean,
1999, Comput Methods Appl Mech Eng 177:235). `violation` measures the deviation of impulses from the law.

Each contact has ``rows`` successive impulses, first normal, then tangential: 2 for planar contacts, else 3. Arguments
of kernels are impulses ``p`` (n,), velocities ``u`` (n,), ``W`` (n, n), friction coefficients ``mu`` (m,) and modes
``mode`` (m,). Kernels use the first ``contacts * rows`` rows and columns. `body` describes the records ``t``, ``k`` and
``x``.
"""

from __future__ import annotations

import math
from typing import Any

from ..core.kernels.jit import inlined, kernel
from .skeleton import place, push, solve_each

OPEN, STICK, SLIP, BACK = 0.0, 1.0, 2.0, 3.0
"""Modes of a contact: open, sticking, slipping (along the tangent, if planar), slipping against the tangent."""

SWEEPS, TURNS = 500, 5
"""Largest number of sweeps of `sweep`, and of repetitions at a spatial contact."""

STAGGERS, PROJECTION = 500, 200
"""Largest number of alternations of `staggered`, and of sweeps in each of its projections."""

EXACT = 1e-8
"""Largest violation of a solution, relative to `pace`."""

SOFT = 1e-11
"""Relative increase of the diagonal of W, which splits forces evenly if the law does not determine them."""

RIGID = 1e-12
"""Limit relative to the largest diagonal entry of W; a direction with a smaller entry is immobile and gets no force."""

RIGHT = 4
"""Column of the right-hand side in ``grid`` of `attempt`."""

RATE, CREEP = 20.0, 0.1
"""Rate (1/s) and largest speed (m/s) at which a point below the surface returns to it, so that it does not bounce."""


@kernel
def respond(W, u, p, i, size):
    """Return the velocity (m/s) of row i with the impulses ``p``."""
    w = u[i]
    for j in range(size):
        w += W[i, j] * p[j]
    return w


@inlined
def violation(W, u, mu, contacts, rows, p):
    """Return the largest deviation (m/s) of impulses from the contact law.

    It is 0 for a solution: normal velocity and impulse (as a velocity) are non-negative, and one of them is 0; the
    tangential impulse is the projection of (tangential impulse - slip) onto the friction cone.
    """
    worst, size = 0.0, contacts * rows
    for c in range(contacts):
        i = c * rows
        worst = max(worst, abs(min(respond(W, u, p, i, size), W[i, i] * p[i])))
        scale = W[i + 1, i + 1] + (W[i + 2, i + 2] if rows == 3 else 0.0)
        s = scale * p[i + 1] - respond(W, u, p, i + 1, size)
        r = scale * p[i + 2] - respond(W, u, p, i + 2, size) if rows == 3 else 0.0
        most, long = scale * mu[c] * max(p[i], 0.0), math.sqrt(s * s + r * r)
        shrink = most / long if long > most else 1.0
        worst = max(worst, abs(scale * p[i + 1] - shrink * s))
        if rows == 3:
            worst = max(worst, abs(scale * p[i + 2] - shrink * r))
    return worst


@inlined
def pace(W, u, contacts, rows, p):
    """Return the largest velocity (m/s) into or along a surface without impulses, or due to a single impulse."""
    most = 0.0
    for i in range(contacts * rows):
        most = max(most, -u[i] if i % rows == 0 else abs(u[i]), W[i, i] * abs(p[i]))
    return most


@inlined
def attempt(W, u, mu, contacts, first, second, p, grid):
    """Solve for the impulses ``p`` of one or two planar contacts in given modes; return False if they are not unique.

    ``grid`` (4, 5) is work space for the equations, with the right-hand side in the last column.
    """
    size = 2 * contacts
    for c in range(contacts):
        mode, i = first if c == 0 else second, 2 * c
        for row in range(i, i + 2):
            for j in range(size):
                grid[row, j] = W[row, j]
            grid[row, row] *= 1.0 + SOFT
            grid[row, RIGHT] = -u[row]
        if mode != STICK:
            for j in range(size):
                grid[i + 1, j] = 0.0
            grid[i + 1, i + 1], grid[i + 1, RIGHT] = 1.0, 0.0
            if mode == OPEN:
                for j in range(size):
                    grid[i, j] = 0.0
                grid[i, i], grid[i, RIGHT] = 1.0, 0.0
            else:
                grid[i + 1, i] = mu[c] if mode == SLIP else -mu[c]
    for i in range(size):
        pivot = i
        for row in range(i + 1, size):
            if abs(grid[row, i]) > abs(grid[pivot, i]):
                pivot = row
        if not abs(grid[pivot, i]) > 1e-300:
            return False
        for j in range(RIGHT + 1):
            grid[i, j], grid[pivot, j] = grid[pivot, j], grid[i, j]
        for row in range(i + 1, size):
            share = grid[row, i] / grid[i, i]
            if share != 0.0:
                for j in range(i, RIGHT + 1):
                    grid[row, j] -= share * grid[i, j]
    for i in range(size - 1, -1, -1):
        s = grid[i, RIGHT]
        for j in range(i + 1, size):
            s -= grid[i, j] * p[j]
        p[i] = s / grid[i, i]
    return True


@inlined
def by_modes(W, u, mu, contacts, p, mode, grid):
    """Solve one or two planar contacts by trying modes: the present ones, then sticking, slipping and open.

    The first solution is used. Problems with friction can have several solutions, and this order keeps the modes of the
    last step. If all modes fail because of rounding, those with the smallest violation are used. Writes ``p`` and
    ``mode``; returns the violation (m/s).
    """
    least, best = math.inf, 0
    given = int(mode[0]) + (4 * int(mode[1]) if contacts == 2 else 0)
    count = 4 if contacts == 1 else 16
    for trial in range(-1, count + 1):
        code = given if trial < 0 else best
        if 0 <= trial < count:
            code = (trial + 1) % 4 + 4 * ((trial // 4 + 1) % 4 if contacts == 2 else 0)
        if not attempt(W, u, mu, contacts, float(code % 4), float(code // 4), p, grid):
            continue
        wrong = violation(W, u, mu, contacts, 2, p)
        right = wrong <= EXACT * pace(W, u, contacts, 2, p)
        if wrong < least or right:
            least, best = wrong, code
        if right or trial == count:
            break
    for c in range(contacts):
        mode[c] = float(best % 4 if c == 0 else best // 4)
        if mode[c] == OPEN:
            p[2 * c] = p[2 * c + 1] = 0.0
        elif mode[c] != STICK and mu[c] == 0.0:
            mode[c] = SLIP if respond(W, u, p, 2 * c + 1, 2 * contacts) > 0.0 else BACK
    return least


@kernel
def press(W, u, c, rows, size, p):
    """Solve for the normal impulse of contact ``c`` with the others fixed; return its change as a velocity (m/s)."""
    i = c * rows
    new = max(p[i] - respond(W, u, p, i, size) / W[i, i], 0.0)
    change = W[i, i] * abs(new - p[i])
    p[i] = new
    return change


@kernel
def rub(W, u, mu, c, rows, size, p):
    """Improve the tangential impulse of contact ``c`` within the friction cone; return its change (m/s)."""
    i = c * rows
    most = mu[c] * p[i]
    if rows == 2:
        s = p[i + 1] - respond(W, u, p, i + 1, size) / W[i + 1, i + 1]
        s = min(max(s, -most), most)
        change = W[i + 1, i + 1] * abs(s - p[i + 1])
        p[i + 1] = s
        return change
    scale = W[i + 1, i + 1] + W[i + 2, i + 2]
    s = p[i + 1] - respond(W, u, p, i + 1, size) / scale
    r = p[i + 2] - respond(W, u, p, i + 2, size) / scale
    long = math.sqrt(s * s + r * r)
    if long > most:
        s, r = s * most / long, r * most / long
    change = scale * max(abs(s - p[i + 1]), abs(r - p[i + 2]))
    p[i + 1], p[i + 2] = s, r
    return change


@kernel
def solve_contact(W, u, mu, c, size, p):
    """Solve planar contact ``c`` exactly with the others fixed; return the largest change as a velocity (m/s)."""
    i = 2 * c
    straight, cross, along = W[i, i], W[i, i + 1], W[i + 1, i + 1] * (1.0 + SOFT)
    before, drag = p[i], p[i + 1]
    p[i] = p[i + 1] = 0.0
    into, slip = respond(W, u, p, i, size), respond(W, u, p, i + 1, size)
    if into < 0.0:
        scale = straight * along - cross * cross
        n, s = (slip * cross - into * along) / scale, (into * cross - slip * straight) / scale
        if not (n >= 0.0 and abs(s) <= mu[c] * n):
            n, s = -into / straight, 0.0
            for side in (1.0, -1.0):
                stiff = straight + side * mu[c] * cross
                if stiff > 0.0:
                    firm = -into / stiff
                    hold = side * mu[c] * firm
                    if side * (slip + cross * firm + along * hold) <= 0.0:
                        n, s = firm, hold
        p[i], p[i + 1] = n, s
    return max(straight * abs(p[i] - before), along * abs(p[i + 1] - drag))


@kernel
def sweep(W, u, mu, contacts, rows, p):
    """Solve contacts one by one with the others fixed, repeatedly: nonlinear Gauss-Seidel (Jean, 1999).

    It can fail for random problems with strongly coupled contacts, and rarely fails for bodies. ``p`` is the initial
    guess, such as the impulses of the last step, and the result. Returns the number of sweeps, or -1 if there is no
    solution after SWEEPS.
    """
    size, few = contacts * rows, 0.1 * EXACT * pace(W, u, contacts, rows, p)
    for turn in range(SWEEPS):
        change = 0.0
        for c in range(contacts):
            if rows == 2:
                change = max(change, solve_contact(W, u, mu, c, size, p))
            else:
                for _ in range(TURNS):
                    moved = max(press(W, u, c, rows, size, p), rub(W, u, mu, c, rows, size, p))
                    change = max(change, moved)
                    if moved <= few:
                        break
        if change <= few:
            return turn + 1
    return -1


@kernel
def staggered(W, u, mu, contacts, rows, p):
    """Solve by staggered projections: normal impulses and friction in turn (Kaufman et al., 2008).

    Each is the minimum of a convex problem with the other fixed. The alternation can fail to converge. ``p`` is the
    initial guess and the result. Returns the number of alternations, or -1 if there is no solution after STAGGERS.
    """
    size = contacts * rows
    for turn in range(STAGGERS):
        speed = pace(W, u, contacts, rows, p)
        for _ in range(PROJECTION):
            change = 0.0
            for c in range(contacts):
                change = max(change, press(W, u, c, rows, size, p))
            if change <= 0.1 * EXACT * speed:
                break
        for _ in range(PROJECTION):
            change = 0.0
            for c in range(contacts):
                change = max(change, rub(W, u, mu, c, rows, size, p))
            if change <= 0.1 * EXACT * speed:
                break
        if violation(W, u, mu, contacts, rows, p) <= EXACT * speed:
            return turn + 1
    return -1


@kernel
def read_modes(W, u, mu, contacts, rows, p, mode):
    """Write the modes (m,) of impulses: contacts at the limit of friction slip, frictionless ones if they move."""
    size = contacts * rows
    for c in range(contacts):
        i = c * rows
        s, r = p[i + 1], p[i + 2] if rows == 3 else 0.0
        held = math.sqrt(s * s + r * r) < mu[c] * p[i] * (1.0 - 1e-12)
        if mu[c] == 0.0:
            s, r = -respond(W, u, p, i + 1, size), respond(W, u, p, i + 2, size) if rows == 3 else 0.0
            held = math.sqrt(s * s + r * r) <= EXACT * pace(W, u, contacts, rows, p)
        if p[i] == 0.0:
            mode[c] = OPEN
        elif held:
            mode[c] = STICK
        else:
            mode[c] = BACK if rows == 2 and s > 0.0 else SLIP


@inlined
def approach(t, k, x, dt):
    """Write velocities ``k.free`` (m/s) of points after a step without contacts; return whether any point touches.

    The normal velocity is relative to the allowed one: a point above its surface can reach it within the step, and a
    point below returns slowly. ``k.J`` (n, bodies) and ``k.friction`` (m,) are written, too.
    """
    n, rows, touched = t.bodies, t.contact_rows, False
    v = x.z[n : 2 * n]
    for c in range(t.contacts):
        body = t.contact_body[c]
        px, py, pz = place(k, body, t.contact_at[c])
        d = t.contact_frame[c]
        for i in range(rows):
            row = k.J[c * rows + i]
            for j in range(n):
                row[j] = 0.0
            push(t, k, body, px, py, pz, d[i, 0], d[i, 1], d[i, 2], row)
            s = 0.0
            for j in range(n):
                s += row[j] * (v[j] + dt * k.qdd[j])
            k.free[c * rows + i] = s
        gap = d[0, 0] * px + d[0, 1] * py + d[0, 2] * pz - t.contact_height[c]
        k.free[c * rows] += gap / dt if gap > 0.0 else max(RATE * gap, -CREEP)
        k.friction[c] = x.friction * t.contact_friction[c]
        touched |= k.free[c * rows] < 0.0
    return touched


@inlined
def mobility(t, k):
    """Write W = J M^-1 J' (1/kg) of all points to ``k.schur``, and exclude immobile directions from the law.

    Call this after `approach` and `body.accelerate`. It writes ``k.MJ`` = M^-1 J' (n, bodies) and changes ``k.free``.
    """
    n, rows = t.bodies, t.contact_rows
    W, size = k.schur, t.contacts * rows
    for i in range(size):
        for j in range(n):
            k.MJ[i, j] = k.J[i, j]
    solve_each(k.L, k.MJ, n, size)
    for i in range(size):
        for j in range(i + 1):
            s = 0.0
            for q in range(n):
                s += k.J[j, q] * k.MJ[i, q]
            W[i, j] = W[j, i] = s
    most = 0.0
    for i in range(size):
        most = max(most, W[i, i])
    for i in range(size):
        if not W[i, i] > RIGID * most:
            for j in range(size):
                W[i, j] = W[j, i] = 0.0
            W[i, i] = RIGID * most if most > 0.0 else 1.0
            k.free[i] = 1.0 if i % rows == 0 else 0.0


@inlined
def solve_by_modes(t, k, x):
    """Solve planar contacts; write ``x.impulse`` (n,) N s, ``x.mode`` (m,) and ``x.contact_error`` (m/s)."""
    x.contact_error = by_modes(k.schur, k.free, k.friction, t.contacts, x.impulse, x.mode, k.grid)


@kernel
def solve_by_sweeps(t, k, x):
    """Solve any contacts by `sweep`; see `solve_by_modes`."""
    sweep(k.schur, k.free, k.friction, t.contacts, t.contact_rows, x.impulse)
    read_solution(t, k, x)


@kernel
def solve_staggered(t, k, x):
    """Solve any contacts by `staggered`, or by another solver if it does not converge; see `solve_by_modes`."""
    x.alternations = float(staggered(k.schur, k.free, k.friction, t.contacts, t.contact_rows, x.impulse))
    if x.alternations >= 0.0:
        read_solution(t, k, x)
    elif t.contacts <= 2 and t.contact_rows == 2:
        solve_by_modes(t, k, x)
    else:
        solve_by_sweeps(t, k, x)


@kernel
def read_solution(t, k, x):
    """Write modes and contact error of the impulses."""
    m, rows = t.contacts, t.contact_rows
    read_modes(k.schur, k.free, k.friction, m, rows, x.impulse, x.mode)
    x.contact_error = violation(k.schur, k.free, k.friction, m, rows, x.impulse)


find_impulses: Any = None
"""One of `SOLVERS`, set by `variant`."""

SOLVERS = {"modes": solve_by_modes, "staggered": solve_staggered, "sweep": solve_by_sweeps}
"""Contact solvers by name."""


@inlined
def collide(t, k, x, dt):
    """Change the accelerations ``k.qdd`` of `body.accelerate` so that v + dt qdd satisfies the contact law.

    Writes ``x.impulse`` (N s), ``x.mode``, ``x.contact_error`` (m/s) and ``x.alternations``.
    """
    size = t.contacts * t.contact_rows
    x.contact_error, x.alternations = 0.0, 0.0
    if not approach(t, k, x, dt):
        for i in range(size):
            x.impulse[i] = 0.0
        for c in range(t.contacts):
            x.mode[c] = OPEN
        return
    mobility(t, k)
    find_impulses(t, k, x)
    for i in range(size):
        p = x.impulse[i] / dt
        if p != 0.0:
            for j in range(t.bodies):
                k.qdd[j] += p * k.MJ[i, j]
