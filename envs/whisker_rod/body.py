"""Mechanics of the whisker: records of one animal, and the time step as kernels over lanes.

A conical rod of N rigid segments with angles theta_i, clamped at its base, touches with its tip a plate
at y = ybar that moves along +x (Oladazimi, Putelat et al., 2021, Eqs 5-13). Joints carry elasticity and
Kelvin-Voigt damping, the contact is unilateral, and friction follows a rate-and-state law.

Kernels work on lanes (see ``core/lanes.py``): the last axis of every field is the animal.
"""

from __future__ import annotations

import math

import numpy as np

from ..core.jit import asinh, batch_kernel, exp, kernel, log, prange, sincos
from ..core.lanes import gather, scatter

FLIPPED, BURIED, WILD, BROKEN = 1.0, 2.0, 3.0, 4.0
"""Status codes: the tip lies along the plate; an inner node is behind it; too fast; not finite."""

PARAMETERS = (
    "density",
    "length",
    "base_radius",
    "tip_radius",
    "youngs_modulus",
    "damping",
    "external_damping",
    "curvature_base",
    "curvature_tip",
    "rate_strength",
    "state_strength",
    "reference_speed",
    "reference_friction",
    "memory_length",
    "relief",
)

SAMPLES = 8
"""Samples of the base wrench in one ``advance``: at 500 Hz the 4 kHz of the paper's camera."""

BANDS = (60.0, 90.0, 135.0, 200.0, 300.0, 450.0, 675.0, 1000.0)
"""Centres of the frequency bands in which the power of the base moment is followed, Hz."""

SLOW = 10e-3
"""Time constant of the mean that is taken from the base moment before its bands, s."""

TURN = 0.05
"""Largest rotation of a segment in one step, rad; beyond it the step is divided."""

DEPTH = 20e-6
"""How far an inner node may lie behind the plate, m."""


def state_dtype(n: int) -> np.dtype:
    """Record of one whisker of ``n`` segments.

    ``time`` s; ``status``; ``segment_angle`` rad, ``segment_rate`` rad/s and ``segment_acceleration``
    rad/s^2 (mean of the last step), base to tip; ``cosine`` and ``sine`` of the angles half a step
    ahead; ``base_angle`` rad; ``tip`` m and ``tip_velocity`` m/s (x; y); ``plate_position`` (x) and
    ``plate_distance`` (y) m; the drive: ``plate_velocity`` (x; y) m/s and ``base_rate`` rad/s;
    ``slip_speed`` m/s; ``friction_state``, the paper's phi; ``friction_level``, mu/a. Means over the
    last step: ``tip_force`` N and ``base_wrench`` (M, Fx, Fy), N m and N, of the rod on its base. Over
    the last ``advance``: ``base_wrench_mean``, ``base_wrench_samples``, ``contact`` (fraction of time)
    and ``band_power`` (N m)^2; ``moment_mean`` and ``band`` are states of the filters. Then the physical
    parameters in SI.
    """
    return np.dtype(
        [
            ("time", "f8"),
            ("status", "f8"),
            ("segment_angle", "f8", (n,)),
            ("segment_rate", "f8", (n,)),
            ("segment_acceleration", "f8", (n,)),
            ("cosine", "f8", (n,)),
            ("sine", "f8", (n,)),
            ("base_angle", "f8"),
            ("tip", "f8", (2,)),
            ("tip_velocity", "f8", (2,)),
            ("plate_position", "f8"),
            ("plate_distance", "f8"),
            ("plate_velocity", "f8", (2,)),
            ("base_rate", "f8"),
            ("slip_speed", "f8"),
            ("friction_state", "f8"),
            ("friction_level", "f8"),
            ("friction_trend", "f8"),
            ("tip_force", "f8", (2,)),
            ("base_wrench", "f8", (3,)),
            ("base_wrench_mean", "f8", (3,)),
            ("base_wrench_samples", "f8", (SAMPLES, 3)),
            ("contact", "f8"),
            ("band_power", "f8", (len(BANDS),)),
            ("moment_mean", "f8"),
            ("band", "f8", (len(BANDS), 4)),
            *[(name, "f8") for name in PARAMETERS],
        ]
    )


def work_dtype(n: int) -> np.dtype:
    """Scratch space of :func:`midpoint`."""
    return np.dtype(
        [
            ("h", "f8", (n,)),  # length
            ("m", "f8", (n,)),  # mass of the outer node
            ("jp", "f8", (n,)),  # inertia that the nodes do not account for
            ("stiffness", "f8", (n,)),  # of the joint before the segment
            ("viscosity", "f8", (n,)),
            ("rest", "f8", (n,)),
            ("dtB", "f8", (n,)),
            ("gg", "f8", (n,)),
            ("heavy_m", "f8", (n,)),  # with external damping
            ("heavy_jp", "f8", (n,)),
            ("q", "f8", (n,)),
            ("b", "f8", (2, n)),
            ("t", "f8", (n,)),  # later the rate increments w
            ("tau", "f8", (2, n)),
            ("kd", "f8", (2, n)),
            ("gd", "f8", (n,)),
            # Numbers of the whole whisker come last: LLVM compares the address ranges of both kinds.
            ("lighter", "f8"),
            ("drag", "f8"),
            ("P", "f8", (3,)),
            ("p", "f8", (3,)),  # p and pw
            ("load", "f8", (3,)),  # gamma and gammaw
            ("dual", "f8", (6,)),  # lam by component and dual, lamw
            ("free", "f8", (4,)),  # free increment of the tip's velocity, correction for external damping
            ("C", "f8", (3,)),
            ("U", "f8", (3,)),  # running U and w, base to tip
            ("R", "f8", (2,)),
            # Of the contact: velocity of the tip without it, slope of the relief, normal speed, compliances ...
            ("free_x", "f8"),
            ("free_y", "f8"),
            ("slope", "f8"),
            ("stretch", "f8"),
            ("normal", "f8"),
            ("Cnn", "f8"),
            ("Cnt", "f8"),
            ("touching", "f8"),
            ("gain", "f8"),
            # ... the friction level y = mu/a with its bracket, and what follows from it.
            ("y", "f8"),
            ("low", "f8"),
            ("high", "f8"),
            ("busy", "f8"),
            ("slip", "f8"),
            ("phi", "f8"),
            ("tip", "f8", (2,)),
            ("tip_velocity", "f8", (2,)),
            ("follow", "f8", (3 * len(BANDS) + 1,)),
            ("go", "f8"),
            ("trip", "f8"),
            ("spin", "f8"),
            ("top", "f8"),
            ("impulse", "f8", (6,)),  # of the base wrench, of the tip force, time in contact
        ]
    )


@kernel
def segments(xs, ks):
    """Cut the truncated cone into rigid segments with joints between them.

    Nodes lie at s_j = l (1 - (1 - j/N)^1.5). The mass of each segment is shared between its ends by the
    lever rule; ``jp`` is what remains of its inertia. The joint before segment i carries EI(s)/c and
    delta A(s)/c with c the distance of the segments' middles (Oladazimi et al., 2021, Eqs 5 and 6).

    Parameters
    ----------
    xs : (1,) record of ``state_dtype(n)`` in lanes
    ks : (1,) record of ``work_dtype(n)`` in lanes
        ``h``, ``m``, ``jp``, ``stiffness``, ``viscosity`` and ``rest`` are written.
    """
    x = xs[0]
    k = ks[0]
    n, lanes = x.segment_angle.shape
    for i in range(n):
        for e in range(lanes):
            k.m[i, e] = 0.0
    for i in range(n):
        left = (n - i) / n
        right = (n - i - 1) / n
        before = (n - i + 1) / n if i > 0 else left
        s0 = 1.0 - left * math.sqrt(left)
        s1 = 1.0 - right * math.sqrt(right)
        middle = 0.5 * (s0 + s1)
        middle_before = 0.5 * (1.0 - before * math.sqrt(before) + s0) if i > 0 else 0.0
        for e in range(lanes):
            length = x.length[e]
            taper = x.tip_radius[e] - x.base_radius[e]
            r0 = x.base_radius[e] + taper * s0
            r1 = x.base_radius[e] + taper * s1
            a, b, c = r0 * r0, r0 * r1, r1 * r1
            h = length * (s1 - s0)
            line = x.density[e] * math.pi * h
            outer = line * (a + 2.0 * b + 3.0 * c) / 12.0
            inner = line * (3.0 * a + 2.0 * b + c) / 12.0
            k.h[i, e] = h
            k.m[i, e] += outer
            if i > 0:
                k.m[i - 1, e] += inner
            k.jp[i, e] = line * (
                (a * a + a * b + a * c + b * c + c * c) / 20.0 - h * h * (a / 20.0 + b / 15.0 + c / 20.0)
            )
            cell = length * (middle - middle_before)
            speed_of_sound = math.sqrt(x.youngs_modulus[e] / x.density[e])
            cubed = x.base_radius[e] * x.base_radius[e] * x.base_radius[e]
            delta = 0.5 * x.damping[e] * x.density[e] * speed_of_sound * cubed
            k.stiffness[i, e] = x.youngs_modulus[e] * math.pi / 4.0 * a * a / cell
            k.viscosity[i, e] = delta * math.pi * a / cell
            bend = x.curvature_tip[e] - x.curvature_base[e]
            k.rest[i, e] = cell * (x.curvature_base[e] + 0.5 * bend * (middle + middle_before))


@kernel
def _prepare(x, k, dt):
    """Scale the segments with the time step; external damping acts as additional mass."""
    n, lanes = x.segment_angle.shape
    for e in range(lanes):
        k.lighter[e] = 1.0 / (1.0 + 0.5 * dt * x.external_damping[e])
        k.drag[e] = dt * x.external_damping[e] * k.lighter[e]
    for i in range(n):
        for e in range(lanes):
            k.heavy_m[i, e] = k.m[i, e] / k.lighter[e]
            k.heavy_jp[i, e] = k.jp[i, e] / k.lighter[e]
            k.dtB[i, e] = dt * k.stiffness[i, e]
            k.gg[i, e] = 0.5 * dt * (k.viscosity[i, e] + 0.5 * dt * k.stiffness[i, e])


@kernel
def _spring(x, k, dt):
    """Impulse of each joint at the rates of the step's start, at the bend of its middle."""
    n, lanes = x.segment_angle.shape
    theta, omega = x.segment_angle, x.segment_rate
    for e in range(lanes):
        bend = theta[0, e] - x.base_angle[e] - k.rest[0, e]
        k.q[0, e] = k.dtB[0, e] * bend + 2.0 * k.gg[0, e] * (omega[0, e] - x.base_rate[e])
    for i in range(1, n):
        for e in range(lanes):
            bend = theta[i, e] - theta[i - 1, e] - k.rest[i, e]
            k.q[i, e] = k.dtB[i, e] * bend + 2.0 * k.gg[i, e] * (omega[i, e] - omega[i - 1, e])


@kernel
def _eliminate(x, k, dt):
    """Eliminate the rate increments from tip to base.

    The momentum equations of all segments beyond node i, with the rate increment w_i of the segment
    before it, leave a quadratic form in the node's velocity increment U and in w_i: mass P, coupling p,
    inertia pw, loads gamma and gammaw. ``lam`` carries two unit forces at the tip along, which give its
    velocity increment without contact (``free``) and its compliance C.
    """
    n, lanes = x.segment_angle.shape
    omega, alpha, cos, sin = x.segment_rate, x.segment_acceleration, x.cosine, x.sine
    for e in range(lanes):
        for j in range(3):
            k.P[j, e] = k.p[j, e] = k.load[j, e] = k.C[j, e] = 0.0
        for j in range(4):
            k.free[j, e] = 0.0
            k.dual[j, e] = 1.0 if j == 0 or j == 3 else 0.0
        k.dual[4, e] = k.dual[5, e] = 0.0
    # One pass, a number that the compiler cannot know: it would hoist the comparison of address ranges out of
    # the loop over i, cannot do so for a falling i, and would then drop the vector code.
    once = int(dt / dt)
    for i in range(n - 1, -1, -1):
        for _ in range(once):
            for e in range(lanes):
                gg = k.gg[i, e]
                jp = k.heavy_jp[i, e]
                h = k.h[i, e]
                c = cos[i, e]
                s = sin[i, e]
                ax = -h * s
                ay = h * c
                middle = omega[i, e] + 0.5 * dt * alpha[i, e]
                turn = -dt * h * middle * middle
                brake = k.drag[e] * omega[i, e]
                bx = k.lighter[e] * turn * c + brake * ax
                by = k.lighter[e] * turn * s + brake * ay
                k.free[2, e] += turn * c - bx
                k.free[3, e] += turn * s - by
                k.b[0, i, e] = bx
                k.b[1, i, e] = by
                Pxx = k.P[0, e] + k.heavy_m[i, e]
                Pxy = k.P[1, e]
                Pyy = k.P[2, e] + k.heavy_m[i, e]
                px = k.p[0, e]
                py = k.p[1, e]
                lxx, lyx, lxy, lyy = k.dual[0, e], k.dual[1, e], k.dual[2, e], k.dual[3, e]
                load_x = k.load[0, e] - Pxx * bx - Pxy * by
                load_y = k.load[1, e] - Pxy * bx - Pyy * by
                load_w = k.load[2, e] - px * bx - py * by - jp * brake
                kx = Pxx * ax + Pxy * ay + px
                ky = Pxy * ax + Pyy * ay + py
                d = (ax * (kx + px) + ay * (ky + py)) + (k.p[2, e] + jp + gg)
                inverse = 1.0 / d
                q = k.q[i, e]
                t = (load_w + ax * load_x + ay * load_y - q) * inverse
                tx = (k.dual[4, e] + ax * lxx + ay * lyx) * inverse
                ty = (k.dual[5, e] + ax * lxy + ay * lyy) * inverse
                td = t * d
                k.free[0, e] += lxx * bx + lyx * by + tx * td
                k.free[1, e] += lxy * bx + lyy * by + ty * td
                k.C[0, e] += tx * tx * d
                k.C[1, e] += tx * ty * d
                k.C[2, e] += ty * ty * d
                kdx = kx * inverse
                kdy = ky * inverse
                gd = gg * inverse
                k.P[0, e] = Pxx - kx * kdx
                k.P[1, e] = Pxy - kx * kdy
                k.P[2, e] = Pyy - ky * kdy
                k.p[0, e] = kx * gd
                k.p[1, e] = ky * gd
                k.p[2, e] = gg - gg * gd
                k.load[0, e] = load_x - kx * t
                k.load[1, e] = load_y - ky * t
                k.load[2, e] = gg * t + q
                k.dual[0, e] = lxx - kx * tx
                k.dual[1, e] = lyx - ky * tx
                k.dual[2, e] = lxy - kx * ty
                k.dual[3, e] = lyy - ky * ty
                k.dual[4, e] = gg * tx
                k.dual[5, e] = gg * ty
                k.t[i, e] = t
                k.tau[0, i, e] = tx
                k.tau[1, i, e] = ty
                k.kd[0, i, e] = kdx
                k.kd[1, i, e] = kdy
                k.gd[i, e] = gd


@kernel
def aged(phi, fresh, z, decay):
    """Friction state after sliding, the exact solution of Eq. 13 at a constant speed.

    Parameters
    ----------
    phi : float
    fresh : float
        State gained in the same time t at rest, V_* t/L.
    z, decay : float
        Way slid / memory length L, and exp(-z).

    Returns
    -------
    phi, slope : float
        ``slope`` is the derivative by z.
    """
    # (1 - exp(-z))/z and its derivative, by their series where the difference would cancel
    small = z < 0.03
    safe = 1.0 if small else z
    series = 1.0 - z * (1 / 2 - z * (1 / 6 - z * (1 / 24 - z * (1 / 120 - z * (1 / 720 - z * (1 / 5040))))))
    series_slope = z * (1 / 3 - z * (1 / 8 - z * (1 / 30 - z * (1 / 144 - z * (1 / 840))))) - 1 / 2
    mean = series if small else (1.0 - decay) / safe
    mean_slope = series_slope if small else (decay - mean) / safe
    return phi * decay + fresh * mean, fresh * mean_slope - phi * decay


@kernel
def surface(profile, period, position):
    """Height of a relief and its slope.

    Parameters
    ----------
    profile : (K, 4) float, m
        Polynomials of ``Relief.coefficients``.
    period : float, m
    position : float, m

    Returns
    -------
    height, slope : float
        In m, and m/m.
    """
    count = len(profile)
    place = position / period
    place = (place - np.floor(place)) * count
    j = min(int(place), count - 1)
    f = place - j
    height = profile[j, 0] + f * (profile[j, 1] + f * (profile[j, 2] + f * profile[j, 3]))
    slope = profile[j, 1] + f * (2.0 * profile[j, 2] + f * 3.0 * profile[j, 3])
    return height, slope * count / period


@kernel
def _touch(x, k, dt, profile, period):
    """Impulse of the plate on the tip: unilateral contact with rate-and-state friction, Eq. 13.

    The normal velocity is set by Moreau's rule; one safeguarded Newton iteration finds y = mu/a such
    that y = asinh(gamma u/V_* phi^(b/a)) at the slip speed u of the middle of the step.
    """
    lanes = x.length.shape[0]
    free_x, free_y, slope, stretch, normal = k.free_x, k.free_y, k.slope, k.stretch, k.normal
    Cnn, Cnt, touching, gain = k.Cnn, k.Cnt, k.touching, k.gain
    y, low, high, busy, slip, phi = k.y, k.low, k.high, k.busy, k.slip, k.phi
    for e in range(lanes):
        place = x.tip[0, e] - x.plate_position[e]
        low[e], _ = surface(profile, period, place)
        ahead = dt * (x.tip_velocity[0, e] - x.plate_velocity[0, e])
        _, slope[e] = surface(profile, period, place + ahead)
    for e in range(lanes):
        vx = x.tip_velocity[0, e]
        vy = x.tip_velocity[1, e]
        tilt = x.relief[e] * slope[e]
        gap = x.plate_distance[e] + x.relief[e] * low[e] - x.tip[1, e]
        # The gap may close, a penetration is undone at a fifth in a step and at most 1 m/s.
        bound = gap / dt if gap > 0.0 else max(0.2 * gap / dt, -1.0)
        bound += x.plate_velocity[1, e] - tilt * x.plate_velocity[0, e]
        slope[e] = tilt
        stretch[e] = math.sqrt(1.0 + tilt * tilt)
        free_x[e] = vx + k.free[0, e] + k.free[2, e]
        free_y[e] = vy + k.free[1, e] + k.free[3, e]
        normal[e] = free_y[e] - tilt * free_x[e] - bound
        Cxx, Cxy, Cyy = k.C[0, e], k.C[1, e], k.C[2, e]
        Cnn[e] = Cyy - 2.0 * tilt * Cxy + tilt * tilt * Cxx
        Cnt[e] = (Cyy - Cxx) * tilt + (1.0 - tilt * tilt) * Cxy
        touching[e] = 1.0 if normal[e] > 0.0 else 0.0
        busy[e] = touching[e]
        y[e] = x.friction_level[e] + x.friction_trend[e]
        low[e] = -60.0
        high[e] = 60.0
        gain[e] = 0.5 * exp(x.reference_friction[e] / x.rate_strength[e]) / x.reference_speed[e]
        slip[e] = 0.0
        k.R[0, e] = k.R[1, e] = 0.0
    for iteration in range(60):
        waiting = 0.0
        for e in range(lanes):
            waiting += busy[e]
        if waiting == 0.0:
            break
        for e in range(lanes):
            a = x.rate_strength[e]
            ratio = x.state_strength[e] / a
            tilt = slope[e]
            old, lower, upper, old_slip, old_Rx, old_Ry = y[e], low[e], high[e], slip[e], k.R[0, e], k.R[1, e]
            mu = a * old
            stiff = Cnn[e] - mu * Cnt[e]
            limit = 1e-3 * Cnn[e]
            above = stiff > limit
            stiff = stiff if above else limit
            impulse = normal[e] / stiff
            impulse_slope = impulse * a * Cnt[e] / stiff
            impulse_slope = impulse_slope if above else 0.0
            Rx = impulse * (tilt + mu)
            Ry = impulse * (mu * tilt - 1.0)
            Rx_slope = impulse_slope * (tilt + mu) + impulse * a
            Ry_slope = impulse_slope * (mu * tilt - 1.0) + impulse * a * tilt
            new_x = free_x[e] + k.C[0, e] * Rx + k.C[1, e] * Ry
            u = (x.plate_velocity[0, e] - 0.5 * (x.tip_velocity[0, e] + new_x)) * stretch[e]
            u_slope = -0.5 * stretch[e] * (k.C[0, e] * Rx_slope + k.C[1, e] * Ry_slope)
            way = 0.5 * dt / x.memory_length[e]
            z = abs(u) * way
            middle, middle_slope = aged(x.friction_state[e], x.reference_speed[e] * way, z, exp(-z))
            strength = gain[e] * exp(ratio * log(middle))
            product = u * strength
            product_slope = strength * u_slope * (1.0 + ratio * z * middle_slope / middle)
            residual = old - asinh(product)
            derivative = 1.0 - product_slope / math.sqrt(1.0 + product * product)
            active = busy[e] != 0.0
            lower = old if residual < 0.0 else lower
            upper = old if residual > 0.0 else upper
            new = old - residual / derivative
            # Newton's step must stay inside the bracket, and may be tried a dozen times.
            good = (new > lower) & (new < upper) & (iteration < 12)
            new = new if good else 0.5 * (lower + upper)
            # To first order at the new y, so that the last iteration needs no evaluation of its own.
            change = new - old
            low[e] = lower
            high[e] = upper
            y[e] = new if active else old
            slip[e] = u + u_slope * change if active else old_slip
            k.R[0, e] = Rx + Rx_slope * change if active else old_Rx
            k.R[1, e] = Ry + Ry_slope * change if active else old_Ry
            busy[e] = 1.0 if active & (abs(change) > 1e-3) else 0.0
    for e in range(lanes):
        way = dt / x.memory_length[e]
        z = abs(slip[e]) * way
        sliding, _ = aged(x.friction_state[e], x.reference_speed[e] * way, z, exp(-z))
        flying = min(x.friction_state[e] + x.reference_speed[e] * way, 1.0)
        phi[e] = sliding if touching[e] != 0.0 else flying


@kernel
def _solve(x, k):
    """Rate increments from base to tip, once the impulse R at the tip is known; and the fastest rate."""
    n, lanes = x.segment_angle.shape
    omega, cos, sin = x.segment_rate, x.cosine, x.sine
    for e in range(lanes):
        k.U[0, e] = k.U[1, e] = k.U[2, e] = k.spin[e] = 0.0
    for i in range(n):
        for e in range(lanes):
            own = k.t[i, e] + k.tau[0, i, e] * k.R[0, e] + k.tau[1, i, e] * k.R[1, e]
            node = k.kd[0, i, e] * k.U[0, e] + k.kd[1, i, e] * k.U[1, e]
            w = own + (k.gd[i, e] * k.U[2, e] - node)
            k.U[0, e] = k.U[0, e] + k.b[0, i, e] - k.h[i, e] * sin[i, e] * w
            k.U[1, e] = k.U[1, e] + k.b[1, i, e] + k.h[i, e] * cos[i, e] * w
            k.U[2, e] = w
            k.t[i, e] = w
            rate = abs(omega[i, e] + w)
            k.spin[e] = rate if rate > k.spin[e] else k.spin[e]


@kernel
def _move(x, k, dt):
    """Accept the step in the lanes with ``go``: new angles, directions, tip, plate, friction, impulses."""
    n, lanes = x.segment_angle.shape
    theta, omega, alpha, cos, sin = x.segment_angle, x.segment_rate, x.segment_acceleration, x.cosine, x.sine
    tip_x, tip_y, velocity_x, velocity_y = k.tip[0], k.tip[1], k.tip_velocity[0], k.tip_velocity[1]
    per_dt = 1.0 / dt
    for e in range(lanes):
        tip_x[e] = tip_y[e] = velocity_x[e] = velocity_y[e] = 0.0
        k.top[e] = -1.0 if k.go[e] != 0.0 else k.top[e]
        base_moment = k.q[0, e] + k.gg[0, e] * k.t[0, e]
        base_x = k.load[0, e] + k.dual[0, e] * k.R[0, e] + k.dual[2, e] * k.R[1, e]
        base_y = k.load[1, e] + k.dual[1, e] * k.R[0, e] + k.dual[3, e] * k.R[1, e]
        go = k.go[e] != 0.0
        k.impulse[0, e] += base_moment if go else 0.0
        k.impulse[1, e] += base_x if go else 0.0
        k.impulse[2, e] += base_y if go else 0.0
        k.impulse[3, e] += k.R[0, e] if go else 0.0
        k.impulse[4, e] += k.R[1, e] if go else 0.0
        k.impulse[5, e] += dt * k.touching[e] if go else 0.0
        x.slip_speed[e] = k.slip[e] if go else x.slip_speed[e]
        x.friction_state[e] = k.phi[e] if go else x.friction_state[e]
        change = k.y[e] - x.friction_level[e] if k.touching[e] != 0.0 else 0.0
        x.friction_trend[e] = change if go else x.friction_trend[e]
        x.friction_level[e] += change if go else 0.0
        x.base_angle[e] += dt * x.base_rate[e] if go else 0.0
        x.plate_position[e] += dt * x.plate_velocity[0, e] if go else 0.0
        x.plate_distance[e] += dt * x.plate_velocity[1, e] if go else 0.0
    for i in range(n):
        for e in range(lanes):
            go = k.go[e] != 0.0
            w = k.t[i, e]
            rate = omega[i, e] + w
            half = 0.5 * dt * rate
            z = half * half
            s1 = half * (1.0 - z * (1 / 6 - z * (1 / 120 - z * (1 / 5040))))
            c1 = 1.0 - z * (1 / 2 - z * (1 / 24 - z * (1 / 720)))
            c = cos[i, e] * c1 - sin[i, e] * s1
            s = sin[i, e] * c1 + cos[i, e] * s1
            k.b[0, i, e] = k.h[i, e] * c
            k.b[1, i, e] = k.h[i, e] * s
            c2 = c * c1 - s * s1
            s2 = s * c1 + c * s1
            scale = 1.5 - 0.5 * (c2 * c2 + s2 * s2)
            cos[i, e] = c2 * scale if go else cos[i, e]
            sin[i, e] = s2 * scale if go else sin[i, e]
            theta[i, e] += dt * (omega[i, e] + 0.5 * w) if go else 0.0
            omega[i, e] = rate if go else omega[i, e]
            alpha[i, e] = w * per_dt if go else alpha[i, e]
    for i in range(n):
        for e in range(lanes):
            go = k.go[e] != 0.0
            k.top[e] = tip_y[e] if go & (tip_y[e] > k.top[e]) else k.top[e]
            tip_x[e] += k.b[0, i, e]
            tip_y[e] += k.b[1, i, e]
            velocity_x[e] -= k.b[1, i, e] * omega[i, e]
            velocity_y[e] += k.b[0, i, e] * omega[i, e]
    for e in range(lanes):
        go = k.go[e] != 0.0
        x.tip[0, e] = tip_x[e] if go else x.tip[0, e]
        x.tip[1, e] = tip_y[e] if go else x.tip[1, e]
        x.tip_velocity[0, e] = velocity_x[e] if go else x.tip_velocity[0, e]
        x.tip_velocity[1, e] = velocity_y[e] if go else x.tip_velocity[1, e]


@kernel
def _attempt(x, k, dt, profile, period):
    """Prepare a step without changing the state."""
    _spring(x, k, dt)
    _eliminate(x, k, dt)
    _touch(x, k, dt, profile, period)
    _solve(x, k)


@kernel
def _direct(x, e, dt):
    """Cosine and sine of one lane's angles half a step ahead."""
    for i in range(x.segment_angle.shape[0]):
        x.sine[i, e], x.cosine[i, e] = sincos(x.segment_angle[i, e] + 0.5 * dt * x.segment_rate[i, e])


@kernel
def _divided(x, k, lane, dt, profile, period):
    """Take one step in one lane by parts, of at most 1/256, in which no segment turns too far."""
    lanes = x.length.shape[0]
    part, left = 128, 256
    while left > 0:
        small = dt * part / 256.0
        _prepare(x, k, small)
        _direct(x, lane, small)
        _attempt(x, k, small, profile, period)
        if k.spin[lane] * small > TURN:
            if part > 1:
                part //= 2
                continue
            x.status[lane] = WILD
        for e in range(lanes):
            k.go[e] = 1.0 if e == lane else 0.0
        _move(x, k, small)
        left -= part
    _prepare(x, k, dt)
    _direct(x, lane, dt)


@kernel
def _record(x, k, dt, sample, top):
    """Store what one full step gave: forces, the band powers of the base moment, and whether the model holds."""
    n, lanes = x.segment_angle.shape
    for e in range(lanes):
        x.time[e] += dt
        x.contact[e] += k.impulse[5, e]
        x.tip_force[0, e] = k.impulse[3, e] / dt
        x.tip_force[1, e] = k.impulse[4, e] / dt
        x.moment_mean[e] += k.follow[3 * len(BANDS), e] * (k.impulse[0, e] / dt - x.moment_mean[e])
    for j in range(3):
        for e in range(lanes):
            x.base_wrench[j, e] = k.impulse[j, e] / dt
            x.base_wrench_samples[sample, j, e] += x.base_wrench[j, e]
    for j in range(len(BANDS)):
        for e in range(lanes):
            turn_x = k.follow[3 * j, e]
            turn_y = k.follow[3 * j + 1, e]
            share = k.follow[3 * j + 2, e]
            ax, ay, bx, by = x.band[j, 0, e], x.band[j, 1, e], x.band[j, 2, e], x.band[j, 3, e]
            new_ax = ax * turn_x - ay * turn_y + share * (x.base_wrench[0, e] - x.moment_mean[e])
            new_ay = ax * turn_y + ay * turn_x
            new_bx = bx * turn_x - by * turn_y + share * new_ax
            new_by = bx * turn_y + by * turn_x + share * new_ay
            x.band[j, 0, e] = new_ax
            x.band[j, 1, e] = new_ay
            x.band[j, 2, e] = new_bx
            x.band[j, 3, e] = new_by
            x.band_power[j, e] += 2.0 * (new_bx * new_bx + new_by * new_by)
    for e in range(lanes):
        reach = x.plate_distance[e] < x.length[e]
        tip_angle = x.segment_angle[n - 1, e]
        flipped = reach & ((tip_angle <= 0.0) | (tip_angle >= math.pi))
        buried = reach & (k.top[e] > x.plate_distance[e] + x.relief[e] * top + DEPTH)
        failure = BURIED if buried else (FLIPPED if flipped else 0.0)
        x.status[e] = failure if x.status[e] == 0.0 else x.status[e]


@kernel
def midpoint(xs, ks, steps, dt, profile, period, top):
    """Take ``steps`` steps of the linearly implicit midpoint rule with contact at the velocity level.

    Elasticity and damping are implicit and linear in the rate increments, inertia is evaluated at the
    extrapolated middle of the step; N increments are eliminated in O(N). A step in which a segment
    would turn by more than 0.05 rad is divided, in that lane alone.

    Oladazimi, Putelat et al. (2021), Eqs 5-13; the scheme is ours.

    Parameters
    ----------
    xs : (1,) record of ``state_dtype(n)`` in lanes
        Changed in place. ``status`` becomes FLIPPED, BURIED or WILD where the model is left.
    ks : (1,) record of ``work_dtype(n)`` in lanes
    steps : int
    dt : float, s
    profile : (K, 4) float, m
        Relief of the plate, see :func:`surface`.
    period, top : float, m
        Its period and its greatest height.
    """
    x = xs[0]
    k = ks[0]
    lanes = x.length.shape[0]
    segments(xs, ks)
    _prepare(x, k, dt)
    for e in range(lanes):
        x.contact[e] = 0.0
        k.top[e] = -1.0
    for j in range(3):
        for e in range(lanes):
            x.base_wrench_mean[j, e] = 0.0
        for i in range(SAMPLES):
            for e in range(lanes):
                x.base_wrench_samples[i, j, e] = 0.0
    # A band is followed by two complex resonators in a row, 0.6 octaves wide at half power.
    for j in range(len(BANDS)):
        omega = 2.0 * math.pi * BANDS[j]
        decay = exp(-omega * dt / 3.1)
        turn_y, turn_x = sincos(omega * dt)
        for e in range(lanes):
            x.band_power[j, e] = 0.0
            k.follow[3 * j, e] = decay * turn_x
            k.follow[3 * j + 1, e] = decay * turn_y
            k.follow[3 * j + 2, e] = 1.0 - decay
    slow = 1.0 - exp(-dt / SLOW)
    for e in range(lanes):
        k.follow[3 * len(BANDS), e] = slow
    for step in range(steps):
        for j in range(6):
            for e in range(lanes):
                k.impulse[j, e] = 0.0
        _attempt(x, k, dt, profile, period)
        for e in range(lanes):
            k.trip[e] = 1.0 if (k.spin[e] * dt > TURN) & (x.status[e] == 0.0) else 0.0
            k.go[e] = 1.0 - k.trip[e]
        trips = 0.0
        for e in range(lanes):
            trips += k.trip[e]
        _move(x, k, dt)
        if trips > 0.0:
            for e in range(lanes):
                if k.trip[e] != 0.0:
                    _divided(x, k, e, dt, profile, period)
        _record(x, k, dt, step * SAMPLES // steps, top)
    for j in range(3):
        for i in range(SAMPLES):
            # Fewer steps than samples leave gaps, which repeat the sample before.
            first = (i * steps + SAMPLES - 1) // SAMPLES
            count = ((i + 1) * steps + SAMPLES - 1) // SAMPLES - first
            for e in range(lanes):
                sum_ = x.base_wrench_samples[i, j, e]
                x.base_wrench_mean[j, e] += sum_ / steps
                x.base_wrench_samples[i, j, e] = sum_ / count if count > 0 else x.base_wrench_samples[i - 1, j, e]
    for e in range(lanes):
        x.contact[e] /= steps * dt
        for j in range(len(BANDS)):
            x.band_power[j, e] /= steps


def _midpoint_rows(rows, ids, blocks, lanes, work, steps, dt, profile, period, top):
    width = lanes.shape[2]
    count = len(lanes)
    for t in prange(count):
        for first in range(t * width, len(ids), count * width):
            gather(rows, ids, first, lanes[t])
            midpoint(blocks[t : t + 1], work[t : t + 1], steps, dt, profile, period, top)
            scatter(lanes[t], rows, ids, first, 1, BROKEN)


MIDPOINT = batch_kernel(_midpoint_rows)


@kernel
def rods(rows, blocks, lanes, work, out):
    """Segments of many whiskers.

    Parameters
    ----------
    rows : (B, K) float64
    blocks, lanes, work : (1,) records of one lane, the same as numbers, scratch space
    out : (B, 6, n) float
        Written: h (m), m (kg), jp (kg m^2), stiffness (N m), viscosity (N m s), rest angle (rad).
    """
    for a in range(len(rows)):
        for j in range(rows.shape[1]):
            lanes[0, j, 0] = rows[a, j]
        segments(blocks, work)
        k = work[0]
        for i in range(out.shape[2]):
            out[a, 0, i] = k.h[i, 0]
            out[a, 1, i] = k.m[i, 0]
            out[a, 2, i] = k.jp[i, 0]
            out[a, 3, i] = k.stiffness[i, 0]
            out[a, 4, i] = k.viscosity[i, 0]
            out[a, 5, i] = k.rest[i, 0]
