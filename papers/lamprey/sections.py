"""Fig. 3, Table 3, and the sections of Ekeberg (1993) on drag, time steps and the level of the drive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from gymnosoma.envs.lamprey import Lamprey, LampreyParams

from ..paper import Sheet, mark_printed
from .measures import Swimming, swim
from .swimming import FAST, LEFT, RIGHT, SLOW, Array, body, converged, turned


def figure_3(sheet: Sheet) -> Figure:
    """Draw the forces on the links while swimming, and the torque of a joint."""
    figure = Figure(figsize=(12, 5.2), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.5, 1])
    lamprey, params = Lamprey(), LampreyParams()
    rows, ids = lamprey.rows(1), np.zeros(1, np.int64)
    lamprey.reset(rows, ids)
    lamprey.advance(rows, ids, np.array([FAST]), 1000)
    row = rows[0]
    c, s, (vx, vy) = np.cos(row["link_angle"]), np.sin(row["link_angle"]), row["link_velocity"]
    parallel, across = vx * c + vy * s, vy * c - vx * s
    along, over = (
        -np.asarray(drag) * speed * abs(speed)
        for drag, speed in ((params.drag_parallel, parallel), (params.drag_perpendicular, across))
    )
    force = 1000 * np.stack([along * c - over * s, along * s + over * c], 1)
    bend, rate, (m_left, m_right) = np.diff(row["link_angle"]), np.diff(row["link_rate"]), row["motoneuron"]

    def torque(m_left: Any, m_right: Any, angle: Any, rate: Any = 0.0) -> Any:
        stiffness = params.muscle_stiffness * (m_left + m_right + params.tonic_stiffness)
        return 1000 * (params.muscle_gain * (m_left - m_right) + stiffness * angle + params.damping * rate)

    joint_torque = torque(m_left, m_right, bend, rate)
    way = row["centre_velocity"]
    points, middle = (100 * turned(p - row["centre"], way) for p in (lamprey.points(rows)[0], row["link_position"].T))
    arrows = turned(force, way)
    body(left, points)
    arrow = left.quiver(*middle.T, *arrows.T, color=LEFT, angles="xy", scale_units="xy", scale=15, width=3e-3, zorder=5)
    left.quiverkey(arrow, 0.12, 0.9, 30, "30 mN by the water", labelpos="E")
    marks = left.scatter(*points[1:-1].T, c=joint_torque, cmap="RdBu", vmin=-3, vmax=3, s=60, ec="k", lw=0.5, zorder=6)
    figure.colorbar(marks, ax=left, label="torque, positive\nto the left (N mm)", shrink=0.7)
    left.set(aspect="equal", xlabel="cm", ylabel="cm", title="A  forces on the links at a level of 0.4")
    left.margins(0.1, 0.35)
    sheet.table("A_links", x_cm=middle[:, 0], y_cm=middle[:, 1], force_x_mN=arrows[:, 0], force_y_mN=arrows[:, 1])
    sheet.table("A_joints", angle_rad=bend, rate_rad_per_s=rate, left=m_left, right=m_right, torque_N_mm=joint_torque)
    angle = np.linspace(-1, 1, 101)
    pairs = [(0.0, 0.0), (0.5, 0.5), (1.0, 1.0), (0.7, 0.0), (0.0, 0.7)]
    for (a, b), colour in zip(pairs, ("0.6", "0.35", "k", LEFT, RIGHT), strict=True):
        right.plot(angle, torque(a, b, angle), color=colour, label=f"left {a:g}, right {b:g}")
    right.axhline(0, color="0.8", lw=0.8, zorder=0)
    animal = Lamprey(drive="muscle", scheme="implicit")
    # High damping shortens the time to rest; the position at rest does not depend on it.
    rest = swim(animal, [np.repeat(pair, 9) for pair in pairs], 10.0, {"damping": 1e-3}, signals=("joint_angle",))
    angles = np.array([run["joint_angle"][-1].mean() for run in rest])
    right.plot(angles, 0 * angles, "o", mfc="w", mec="k", ms=6, label="where the simulated body rests")
    right.legend(loc="lower right", fontsize="x-small")
    right.set(
        xlabel="joint angle (rad), positive to the right", ylabel="torque (N mm)", title="B  bending torques at rest"
    )
    a, b = np.array(pairs).T
    sheet.table("B", left=a, right=b, stiffness_N_mm=0.3 * (a + b + 10), rest_rad=angles)
    return figure


def _rhythms(lamprey: Lamprey, drives: Array) -> list[Swimming | None]:
    """Return statistics under many drives (B, 3), None for those without a rhythm."""
    rhythms: list[Swimming | None] = []
    for run in swim(lamprey, drives):
        try:
            rhythms.append(Swimming(lamprey, run))
        except ValueError:
            rhythms.append(None)
    return rhythms


def _columns(runs: Sequence[Swimming | None], *names: str) -> list[Array]:
    return [np.array([np.nan if run is None else getattr(run, name) for run in runs]) for name in names]


def section_4_1(sheet: Sheet) -> Figure:
    """Draw rhythm, speed and wave over the level and over the head's extra excitation."""
    levels = np.round(np.arange(0.06, 0.741, 0.02), 2)
    extras = np.round(np.arange(0.0, 1.41, 0.1), 1)
    figure = Figure(figsize=(13, 8.5), layout="constrained")
    (rhythm, speed), (wave, extra) = figure.subplots(2, 2)
    swims = {share: _rhythms(Lamprey(), np.stack([levels, 0 * levels, 0 * levels + share], 1)) for share in (0.7, 0.0)}
    for (share, runs), colour in zip(swims.items(), ("k", "0.6"), strict=True):
        frequency, forward, length = _columns(runs, "frequency", "speed", "wavelength")
        label = f"head + {100 * share:.0f}%"
        for ax, values in ((rhythm, frequency), (speed, forward), (wave, length)):
            ax.plot(levels, values, ".-", color=colour, label=label)
        sheet.table(
            f"A_head_{100 * share:.0f}",
            level=levels,
            frequency_Hz=frequency,
            speed_m_per_s=forward,
            wavelength_cords=length,
        )
    mark_printed(rhythm, [0.15, 0.4], [2.3, 4])
    mark_printed(speed, [0.15, 0.4], [0.4, 0.73])
    wave.axhspan(0.9, 1.0, color="0.85", zorder=0, label="paper: slightly under 1")
    rhythm.set(ylabel="frequency (Hz)", title="A  rhythm over the level", ylim=(0, None))
    speed.set(ylabel="speed (m/s)", title="B  speed", ylim=(0, None))
    wave.set(ylabel="neural wavelength (cords)", title="C  length of the neural wave", ylim=(0.6, 2))
    lengths = {}
    for level, colour in ((0.15, "0.6"), (0.4, "k")):
        (length,) = _columns(_rhythms(Lamprey(), np.stack([0 * extras + level, 0 * extras, extras], 1)), "wavelength")
        extra.plot(100 * extras, length, ".-", color=colour, label=f"level {level:g}")
        sheet.table(f"D_level_{level:g}", extra_percent=100 * extras, wavelength_cords=length)
        lengths[level] = length[extras == 0.7][0]
    extra.axhspan(0.9, 1.0, color="0.85", zorder=0, label="paper: slightly under 1")
    extra.axvline(70, color="0.5", ls="--", lw=1, label="paper's 70%")
    extra.set(
        xlabel="extra excitation of the first five segments (%)", ylabel="neural wavelength (cords)", ylim=(0.6, 2)
    )
    extra.set_title("D  controlled by the head's extra")
    for ax in (rhythm, speed, wave):
        ax.set_xlabel("tonic level")
    for ax in figure.axes:
        ax.legend()

    frequency, forward, length = _columns(swims[0.7], "frequency", "speed", "wavelength")
    swam = (levels >= 0.12 - 1e-9) & (levels <= 0.7 + 1e-9)
    sheet.found(frequency=np.diff(frequency[swam]).min(), speed=np.diff(forward[swam]).min())
    ratio = length / lengths[0.15]
    sheet.found(waves=ratio[swam][np.argmax(np.abs(ratio[swam] - 1.0))])
    sheet.found(**{f"wave_{100 * level:.0f}": ratio[levels == level][0] for level in (0.12, 0.3, 0.4, 0.5, 0.6)})
    fine = np.round(np.arange(0.15, 0.191, 0.01), 2)
    (alone,) = _columns(_rhythms(Lamprey(), np.stack([fine, 0 * fine, 0 * fine], 1)), "frequency")
    sheet.found(without_extra=np.nan_to_num(alone[0]), least_frequency=np.nanmin(alone))
    sheet.found(least_level=fine[np.flatnonzero(np.isfinite(alone))[0]])
    return figure


def section_3_2(sheet: Sheet) -> Figure:
    """Draw measures of swimming over the drag along the body."""
    factors = np.array([0.0, 0.25, 0.5, 1.0, 2.0, 4.0])
    names = {
        "speed": "speed",
        "frequency": "frequency",
        "lateral": "amplitude across",
        "wavelength": "neural wavelength",
    }
    means = np.zeros((len(names), 2, len(factors)))
    for k, factor in enumerate(sheet.progress(factors, "drag")):
        drag = tuple(factor * value for value in LampreyParams().drag_parallel)
        lamprey = Lamprey(LampreyParams(drag_parallel=drag))
        swims = [Swimming(lamprey, run) for run in swim(lamprey, [SLOW, FAST])]
        means[:, :, k] = [[np.mean(getattr(run, name)) for run in swims] for name in names]
    relative = means / means[:, :, factors == 1.0]
    figure = Figure(figsize=(10, 4.5), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for column, (ax, level) in enumerate(zip(axes, ("0.15", "0.4"), strict=True)):
        ax.axhspan(0.9, 1.1, color="0.9", zorder=0, label="read as not very much")
        for what, values, shape in zip(names.values(), relative[:, column], "os^v", strict=True):
            ax.plot(factors, values, f"{shape}-", ms=4, label=what)
        ax.set(title=f"level {level}", xlabel="factor on the drag along the body", ylim=(0, 1.6))
        columns = {f"{name}_over_printed": values for name, values in zip(names, relative[:, column], strict=True)}
        sheet.table(f"level_{level}", factor=factors, **columns)
    axes[0].set_ylabel("over that with the printed drag")
    axes[1].legend(loc="lower left")
    for factor, when in ((0.0, "without"), (4.0, "fourfold")):
        values = relative[:, 0, factors == factor].ravel()
        sheet.found(f"{when}_", **dict(zip(names, values, strict=True)))
    return figure


def section_3_6(sheet: Sheet) -> Figure:
    """Draw speed and frequency over the time steps of the schemes."""
    steps = {"published": np.array([0.25, 0.5, 1.0, 2.0, 2.5]), "implicit": np.array([0.5, 1.0, 2.5, 5.0, 10.0])}
    figure = Figure(figsize=(12, 4.6), layout="constrained")
    mechanics, nerves = figure.subplots(1, 2)
    stable = {}
    for (scheme, values), colour in zip(steps.items(), ("k", RIGHT), strict=True):
        speed = np.full(len(values), np.nan)
        for k, step in enumerate(sheet.progress(values, scheme)):
            lamprey = Lamprey(scheme=scheme, substeps=round(10 / step))
            (run,) = swim(lamprey, [FAST])
            if run.failure is None:
                speed[k] = Swimming(lamprey, run).speed
        stable[scheme] = values[np.isfinite(speed)].max()
        mechanics.plot(values, speed, "o-", color=colour, label=scheme)
        for step in values[np.isnan(speed)]:
            mechanics.plot(step, 0.55, "x", color=colour, ms=9, label=f"{scheme}: fails")
        sheet.table(f"A_{scheme}", step_ms=values, speed_m_per_s=speed)
    true = converged(FAST)
    for ax, value in ((mechanics, true.speed), (nerves, true.frequency)):
        ax.axhline(value, color="0.5", lw=1, label="reference")
    mechanics.axhline(0.73, color="0.5", ls="--", lw=1, label="paper")
    mechanics.set(
        xscale="log", xlabel="step of the body (ms), neurons 10 ms", ylabel="speed at 0.4 (m/s)", ylim=(0.5, 0.8)
    )
    dts = np.array([1.0, 2.0, 5.0, 10.0])
    for drive, colour in ((SLOW, "0.5"), (FAST, "k")):
        frequency = np.zeros(len(dts))
        for k, dt in enumerate(dts):
            lamprey = Lamprey(dt=1e-3 * dt, substeps=round(dt))
            frequency[k] = Swimming(lamprey, swim(lamprey, [drive])[0]).frequency
        nerves.plot(dts, frequency, "o-", color=colour, label=f"level {drive[0]:g}")
        sheet.table(f"B_level_{drive[0]:g}", step_ms=dts, frequency_Hz=frequency)
    nerves.axhline(converged(SLOW).frequency, color="0.5", lw=1)
    mark_printed(nerves, [10, 10], [2.3, 4])
    nerves.set(xscale="log", xlabel="step of the neurons (ms), body 1 ms", ylabel="frequency (Hz)", ylim=(2, 4.5))
    for ax, ticks in ((mechanics, (0.25, 0.5, 1, 2.5, 5, 10)), (nerves, dts)):
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.minorticks_off()
        ax.legend()
    mechanics.set_title("A  speed over the step of the body")
    nerves.set_title("B  frequency over the step of the neurons")
    sheet.found(**stable)
    return figure


def table_3(sheet: Sheet) -> Figure:
    """Draw mechanical properties of the links, computed from the shape in section 3.1."""
    params = LampreyParams()
    length, mass = np.asarray(params.length), np.asarray(params.mass)
    density, height, width = 1000.0, 0.03, 0.02
    ellipse = 1e3 * density * length[0] * np.pi / 4 * height * width
    widths = 4 * mass / (density * length * height)
    inertia = 1e9 * mass * (widths**2 / 16 + length**2 / 12)
    drag = density * length * height / 2
    printed = {
        "mass (g)": [4.5, 4.5, 4.5, 4.5, 3.8, 3.15, 2.5, 1.8, 1.1, 0.45],
        "moment of inertia (g mm$^2$)": [45.0, 45.0, 45.0, 45.0, 35.6, 27.5, 20.4, 14.2, 8.6, 3.4],
        "drag across (N s$^2$/m$^2$)": [0.045] * 10,
    }
    figure = Figure(figsize=(13, 4.2), layout="constrained")
    link = np.arange(1, 11)
    for ax, (name, values), ours in zip(
        figure.subplots(1, 3), printed.items(), (np.full(4, ellipse), inertia, drag), strict=True
    ):
        ax.plot(link[: len(ours)], ours, "ko", ms=5, label="from section 3.1 and 3.2")
        mark_printed(ax, link, values)
        ax.set(yscale="log", xlabel="link", ylabel=name, xticks=link)
        ax.legend()
    sheet.table("A", link=link, mass_g=1e3 * mass, width_cm=100 * widths, inertia_g_mm2=inertia, drag_N_s2_per_m2=drag)
    share = inertia / printed["moment of inertia (g mm$^2$)"]
    sheet.found(mass=ellipse, mass_without_pi=ellipse / np.pi, drag=drag[0])
    sheet.found(inertia=share.mean(), least_inertia=share.min(), greatest_inertia=share.max())
    return figure
