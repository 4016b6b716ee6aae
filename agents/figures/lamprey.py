"""The figures of Ekeberg (1993): forces, swimming slowly and fast, turning, and what the text says of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from gymnosoma.envs import simulate
from gymnosoma.envs.core.simulate import Trajectory
from gymnosoma.envs.lamprey import Cord, Lamprey, LampreyParams
from gymnosoma.envs.lamprey.analysis import Swimming, swim
from gymnosoma.envs.lamprey.params import table

from .paper import Paper, PaperFigure, Sheet, mark_printed

Array = NDArray[np.float64]

LEFT, RIGHT = "#3b6fb6", "#c8413b"
COLOURS = {"EC": "#7a7a7a", "MN": RIGHT, "LIN": "#8b5fb0", "EIN": "#3d9455", "CCIN": LEFT}
TRACES = tuple((side, cell) for side, cells in ((1, tuple(COLOURS)), (0, tuple(COLOURS)[::-1])) for cell in cells)
"""Traces of a frame of Figs. 4 to 6 A from the top: side, cell."""

FULL = {"EC": 25.0, "MN": 1.0, "LIN": 1.0, "EIN": 1.0, "CCIN": 1.0}
"""Output at the full height of a trace; edge cells in 1/m."""

SLOW, FAST = (0.15, 0.0, 0.7), (0.4, 0.0, 0.7)
TURN = (0.4, 0.3, 0.7)
"""Level, asymmetry, head's extra of Figs. 4 to 6."""

SWITCH = 10.0
"""When the asymmetry of Fig. 6 begins, s."""


@cache
def _runs() -> dict[str, Trajectory]:
    """20 s of the paper's three drives, and of the last one from `SWITCH` on."""
    first = np.array([SLOW, FAST, TURN, FAST])
    runs = swim(Lamprey(), first, after=(SWITCH, [SLOW, FAST, TURN, TURN]))
    return dict(zip(("slow", "fast", "turn", "switched"), runs, strict=True))


@cache
def _steady(name: str) -> Swimming:
    """Statistics from 10 to 20 s."""
    return Swimming(Lamprey(), _runs()[name])


@cache
def _converged(drive: tuple[float, float, float]) -> Swimming:
    """As `_steady`, by the reference scheme."""
    lamprey = Lamprey(scheme="reference")
    return Swimming(lamprey, simulate(lamprey, drive, 20.0, every=0.01))


def _steady_frames(run: Swimming) -> float:
    """When five frames 50 ms apart begin: with the third cycle."""
    return float(round(run.cycles[2], 2))


def _turned(points: Array, way: Array) -> Array:
    """Turn points (..., 2) so that ``way`` (2,) leads to the left."""
    x, y = -way / np.hypot(*way)
    return points @ np.array([[x, -y], [y, x]])


def _ends(run: Trajectory, k: int) -> Array:
    """Head, joints and tail (n + 1, 2) m at moment ``k``."""
    angle, half = run["link_angle"][k], 0.5 * np.asarray(LampreyParams().length)
    reach = half[:, None] * np.stack([np.cos(angle), np.sin(angle)], 1)
    middle = run["link_centre"][k]
    return np.concatenate([middle - reach, (middle + reach)[-1:]])


def _body(ax: Axes, points: Array) -> None:
    """Draw a body from its ends and joints (n + 1, 2) cm; widths fit the masses of Table 3."""
    params, n = LampreyParams(), len(points) - 1
    place = np.linspace(0, n, 16 * n + 1)
    middle = CubicSpline(np.arange(n + 1), points)(place)
    width = 100 * 4 * np.asarray(params.mass) / (1000 * 0.03 * np.asarray(params.length))
    radius = 0.5 * np.interp(place, np.arange(n) + 0.5, width)
    radius *= np.sqrt(np.minimum(1, 1 - np.maximum(0, 1 - place / 0.9) ** 2) * np.minimum(1, 2 * (n - place)))
    along = np.gradient(middle, axis=0)
    across = radius[:, None] * np.stack([-along[:, 1], along[:, 0]], 1) / np.linalg.norm(along, axis=1, keepdims=True)
    outline = np.concatenate([middle + across, (middle - across)[::-1]])
    ax.fill(*outline.T, facecolor="#b9bfae", edgecolor="#545c58", lw=0.8, zorder=3)
    ax.plot(*points[0], "o", ms=3.5, mfc="#ffe14d", mec="#545c58", mew=0.6, zorder=4)


def _frames(part: SubFigure, sheet: Sheet, run: Trajectory, begin: float, way: Array) -> None:
    """Panels A1-5 and B1-5 of Figs. 4 to 6: activity along the cord, and the body, every 50 ms."""
    axes = part.subplots(5, 2, width_ratios=[1, 1.25], squeeze=False)
    nearest = Swimming(Lamprey(), run).joint
    segments = len(nearest)
    moments = [round((begin + 0.05 * k) / 0.01) for k in range(5)]
    bodies = np.array([100 * _turned(_ends(run, k), way) for k in moments])
    low, high = bodies.min((0, 1)) - 3, bodies.max((0, 1)) + 3
    levels = np.zeros((5, len(TRACES), segments))
    for row, (k, points) in enumerate(zip(moments, bodies, strict=True)):
        ax = axes[row, 0]
        for trace, (side, cell) in enumerate(TRACES):
            if cell == "EC":
                levels[row, trace] = run["edge_cell"][k, side, nearest]
            else:
                levels[row, trace] = run["neurons"][k, side, ("EIN", "CCIN", "LIN", "MN").index(cell)]
            base = -1.15 * trace - (0.6 if side == 0 else 0)
            ax.fill_between(
                np.arange(segments), base, base + levels[row, trace] / FULL[cell], color=COLOURS[cell], lw=0
            )
            ax.axhline(base, color="0.8", lw=0.5, zorder=0)
            ax.text(-2, base + 0.1, cell, ha="right", fontsize=6)
        ax.text(-20, -2.2, "right", rotation=90, va="center", fontsize=8)
        ax.text(-20, -8.8, "left", rotation=90, va="center", fontsize=8)
        ax.set(yticks=[], xlim=(0, segments - 1))
        ax.set_title(f"A{row + 1}: {50 * row} ms", fontsize=8, loc="left", pad=2)
        ax = axes[row, 1]
        for x in np.arange(np.ceil(low[0] / 2) * 2, high[0], 2):
            ax.axvline(x, color="0.88", lw=0.6, zorder=0)
        _body(ax, points)
        ax.set(aspect="equal", xlim=(low[0], high[0]), ylim=(low[1], high[1]), yticks=[])
        ax.set_title(f"B{row + 1}", fontsize=8, loc="left", pad=2)
        for ax in axes[row]:
            ax.tick_params(labelsize=7, labelbottom=row == 4)
    axes[4, 0].set_xlabel("segment (full height: 1; EC: 25 /m)", fontsize=8)
    axes[4, 1].set_xlabel("cm; grid lines every 2 cm, at rest in the water", fontsize=8)
    sheet.table(
        "A",
        time_s=0.05 * np.arange(5)[:, None, None],
        side=np.array([("left", "right")[side] for side, _ in TRACES])[:, None],
        cell=np.array([cell for _, cell in TRACES])[:, None],
        segment=np.arange(segments),
        output_1_or_per_m=levels,
    )
    sheet.table(
        "B",
        time_s=0.05 * np.arange(5)[:, None],
        point=np.arange(bodies.shape[1]),
        x_cm=bodies[..., 0],
        y_cm=bodies[..., 1],
    )


def _motoneurons(ax: Axes, sheet: Sheet, panel: str, run: Trajectory, begin: float, seconds: float) -> None:
    """Motoneurons of the middle joint over time."""
    late = (run.time >= begin) & (run.time < begin + seconds)
    mn = run["neurons"][late][:, :, 3, 45:55].mean(2)
    time = run.time[late] - begin
    for side, (name, colour) in enumerate((("left", LEFT), ("right", RIGHT))):
        ax.plot(time, mn[:, side], color=colour, lw=1.1, label=name)
    ax.set(xlabel="time (s)", ylabel="motoneurons (1)", xlim=(0, seconds), ylim=(0, None))
    ax.legend(frameon=False, fontsize=8, ncols=2, loc="upper right")
    sheet.table(panel, time_s=time, left=mn[:, 0], right=mn[:, 1])


def _lag(ax: Axes, sheet: Sheet, panel: str, runs: Sequence[tuple[str, Swimming]]) -> None:
    """Lag of the motoneurons along the cord."""
    for (name, run), colour in zip(runs, ("k", "0.55"), strict=False):
        ax.plot(run.phase, color=colour, lw=1.3, label=f"{name}: wavelength {run.wavelength:.2f} cords")
    ax.plot([0, 100], [0, 1], color="0.5", ls="--", lw=1, label="one wave on the cord")
    ax.set(xlabel="segment", ylabel="lag (cycles)", xlim=(0, 100), ylim=(0, 1.45))
    ax.legend(frameon=False, fontsize=8, loc="upper left")
    sheet.table(panel, segment=np.arange(len(runs[0][1].phase)), lag_cycles=runs[0][1].phase)


def _swims(sheet: Sheet, run: Swimming, true: Swimming, frequency: tuple, speed: tuple) -> None:
    """Compare frequency and speed with a caption: as printed, least, most."""
    sheet.compare(
        "frequency",
        "Hz",
        *frequency,
        run.frequency,
        f"{true.frequency:.2f} Hz with converged steps of neurons and body",
    )
    sheet.compare("speed", "m/s", *speed, run.speed, f"{true.speed:.3f} m/s with converged steps of neurons and body")


def _figure_3(sheet: Sheet) -> Figure:
    """Forces on the links while swimming, and the torque of a joint."""
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
    points, middle = (100 * _turned(p, way) for p in (lamprey.points(rows)[0], row["link_position"].T))
    arrows = _turned(force, way)
    _body(left, points)
    arrow = left.quiver(
        *middle.T, *arrows.T, color="#1f5f8b", angles="xy", scale_units="xy", scale=5, width=3e-3, zorder=5
    )
    left.quiverkey(arrow, 0.12, 0.9, 20, "20 mN by the water", labelpos="E")
    marks = left.scatter(*points[1:-1].T, c=joint_torque, cmap="RdBu", vmin=-3, vmax=3, s=60, ec="k", lw=0.5, zorder=6)
    figure.colorbar(marks, ax=left, label="torque of the joint (N mm), positive to the left", shrink=0.7)
    left.set(aspect="equal", xlabel="cm", ylabel="cm", title="A: forces on the links at a level of 0.4")
    left.margins(0.1, 0.35)
    sheet.table("A_links", x_cm=middle[:, 0], y_cm=middle[:, 1], force_x_mN=arrows[:, 0], force_y_mN=arrows[:, 1])
    sheet.table("A_joints", angle_rad=bend, rate_rad_per_s=rate, left=m_left, right=m_right, torque_N_mm=joint_torque)
    angle = np.linspace(-1, 1, 101)
    pairs = [(0.0, 0.0), (0.5, 0.5), (1.0, 1.0), (0.7, 0.0), (0.0, 0.7)]
    for (a, b), colour in zip(pairs, ("0.6", "0.35", "k", LEFT, RIGHT), strict=True):
        right.plot(angle, torque(a, b, angle), color=colour, label=f"left {a:g}, right {b:g}")
    right.axhline(0, color="0.8", lw=0.8, zorder=0)
    held = Lamprey(drive="motoneuron")
    rest = swim(
        held, [np.repeat(pair, 9) for pair in pairs], 5.0, start={"water": 0.0}, signals=("joint_angle", "link_angle")
    )
    found = np.array([run["joint_angle"][-1].mean() for run in rest])
    right.plot(found, 0 * found, "o", mfc="w", mec="k", ms=6, label="where the simulated body rests")
    right.legend(frameon=False, fontsize=8)
    right.set(
        xlabel="joint angle (rad), positive to the right", ylabel="torque (N mm)", title="B: bending torques at rest"
    )
    a, b = np.array(pairs).T
    sheet.table("B", left=a, right=b, stiffness_N_mm=0.3 * (a + b + 10), rest_rad=found)
    return figure


def _figure_4(sheet: Sheet) -> Figure:
    """Swimming at a level of 0.15."""
    run, raw = _steady("slow"), _runs()["slow"]
    figure = Figure(figsize=(14, 9), layout="constrained")
    figure.suptitle(f"Level 0.15: {run.frequency:.2f} Hz, {run.speed:.3f} m/s (paper: 2.3 Hz, 0.4 m/s)")
    left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=[1.9, 1]).ravel()
    _frames(left, sheet, raw, _steady_frames(run), raw["centre"][-1] - raw["centre"][1000])
    rhythm, lag, lateral = right.subplots(3, 1)
    _motoneurons(rhythm, sheet, "C", raw, float(run.cycles[2]), 1.5)
    rhythm.set_title("C: middle joint; grey: periods of 2.3 Hz", fontsize=10)
    for k in range(1, 4):
        rhythm.axvline(k / 2.3, color="0.5", ls="--", lw=1)
    _lag(lag, sheet, "D", [("0.15", run)])
    lag.set_title("D: phase lag along the cord", fontsize=10)
    place = 3 * np.arange(10) + 1.5
    lateral.plot(place, 100 * run.lateral, "ko-", ms=4)
    lateral.set(xlabel="place along the body (cm)", ylabel="amplitude across (cm)", ylim=(0, None))
    lateral.set_title("E: the amplitude grows from head to tail", fontsize=10)
    sheet.table("E", place_cm=place, amplitude_cm=100 * run.lateral)
    _swims(sheet, run, _converged(SLOW), ("2.3", 2.25, 2.35), ("about 0.4", 0.36, 0.44))
    clamp = Lamprey(cord=Cord(ends="clamp"))
    clamped = Swimming(clamp, simulate(clamp, SLOW, 20.0, every=0.01))
    sheet.compare(
        "length of the neural wave",
        "cords",
        "slightly shorter than the cord",
        0.9,
        1.0,
        run.wavelength,
        f'{clamped.wavelength:.2f} where end segments stand in for missing ones (ends="clamp"), at '
        f"{clamped.frequency:.2f} Hz: the paper does not say what becomes of projections beyond the ends",
    )
    mn = run.cell("MN")
    fundamental = run.fundamental(mn[:, :, 45:55].mean(2))
    sheet.compare(
        "left against right motoneurons",
        "deg",
        "alternating",
        162,
        198,
        np.degrees(np.angle(fundamental[0] / fundamental[1])) % 360,
    )
    grows = np.diff(100 * run.lateral).min()
    sheet.compare(
        "growth of the amplitude from link to link, the least", "cm", "increases from head to tail", 0, np.inf, grows
    )
    peak = mn.max(0).mean(0)
    sheet.compare(
        "motoneurons' peak in the last tenth of the cord, over that in the first",
        "1",
        "no increasing level of output",
        0,
        1,
        peak[-10:].mean() / peak[:10].mean(),
    )
    sheet.compare(
        "speed of the mechanical wave over the animal's",
        "1",
        "faster than the speed through water",
        1,
        np.inf,
        run.mechanical_wave / run.speed,
    )
    return figure


def _figure_5(sheet: Sheet) -> Figure:
    """Swimming at a level of 0.4, and its edge cells."""
    run, slow, raw = _steady("fast"), _steady("slow"), _runs()["fast"]
    figure = Figure(figsize=(14, 9), layout="constrained")
    figure.suptitle(f"Level 0.4: {run.frequency:.2f} Hz, {run.speed:.3f} m/s (paper: 4 Hz, 0.73 m/s)")
    left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=[1.9, 1]).ravel()
    _frames(left, sheet, raw, _steady_frames(run), raw["centre"][-1] - raw["centre"][1000])
    lag, cycle, lead = right.subplots(3, 1)
    _lag(lag, sheet, "C", [("0.4", run), ("0.15", slow)])
    lag.set_title("C: phase lag along the cord", fontsize=10)

    segment, phase = 50, np.arange(360)
    mn, edge = (run.mean_cycle(values[:, :, segment]) for values in (run.cell("MN"), run.edge_cells))
    for side, colour in enumerate((LEFT, RIGHT)):
        cycle.plot(phase, mn[:, side], color=colour, label=f"MN {('left', 'right')[side]}")
        cycle.plot(phase, edge[:, side] / 25, color=colour, ls=":", label=f"EC {('left', 'right')[side]} / (25 /m)")
    cycle.legend(frameon=False, fontsize=7, ncols=2, loc="upper right")
    cycle.set(xlabel=f"phase (deg), segment {segment}", ylabel="output (1)", xlim=(0, 359), ylim=(0, 1.25))
    cycle.set_xticks(np.arange(0, 361, 90))
    cycle.set_title("D: edge cells and motoneurons, mean cycle", fontsize=10)
    sheet.table("D", phase_deg=phase, mn_left=mn[:, 0], mn_right=mn[:, 1], ec_left=edge[:, 0], ec_right=edge[:, 1])

    leads, peaks = run.edge_cell_lead, run.edge_cell_peak
    lead.axhspan(81, 99, color="0.85", label="paper: about 90 deg")
    lead.plot(leads, "k", lw=1.3, label=f"EC before MN, mean {run.mean_edge_cell_lead:.0f} deg")
    lead.plot(slow.edge_cell_lead, color="0.55", lw=1, label=f"at 0.15, mean {slow.mean_edge_cell_lead:.0f} deg")
    lead.plot(peaks, color=RIGHT, lw=1.1, label="EC's peak after the change of sides")
    lead.axhline(0, color="0.7", lw=0.8, zorder=0)
    lead.legend(frameon=False, fontsize=7, ncols=2, loc="upper center")
    lead.set(xlabel="segment", ylabel="phase (deg)", xlim=(0, 99), ylim=(-40, 260))
    lead.set_yticks(np.arange(0, 181, 90))
    lead.set_title("E: along the cord", fontsize=10)
    sheet.table(
        "E",
        segment=np.arange(len(leads)),
        lead_deg=leads,
        lead_at_015_deg=slow.edge_cell_lead,
        peak_after_change_deg=peaks,
    )
    _swims(sheet, run, _converged(FAST), ("4", 3.5, 4.5), ("0.73", 0.725, 0.735))
    sheet.compare("frequency over that at 0.15", "1", "increases", 1, np.inf, run.frequency / slow.frequency)
    sheet.compare(
        "length of the neural wave over that at 0.15",
        "1",
        "phase relations approximately the same",
        0.9,
        1.1,
        run.wavelength / slow.wavelength,
    )
    gain = {
        cell: np.mean(run.cell(cell).max(0)) / np.mean(slow.cell(cell).max(0)) for cell in ("EIN", "CCIN", "LIN", "MN")
    }
    sheet.compare("motoneurons' peak over that at 0.15", "1", "increases", 1, np.inf, gain["MN"])
    others = max(gain[cell] for cell in ("EIN", "CCIN", "LIN"))
    sheet.compare(
        "that over the same of the interneuron that gains most",
        "1",
        "especially in the MN",
        1,
        np.inf,
        gain["MN"] / others,
    )
    sheet.compare(
        "amplitude across, mean of the links, over that at 0.15",
        "1",
        "undulations become more pronounced",
        1,
        np.inf,
        run.lateral.mean() / slow.lateral.mean(),
    )
    sheet.compare(
        "edge cells before motoneurons, mean of all segments",
        "deg",
        "about 90",
        81,
        99,
        run.mean_edge_cell_lead,
        f"{leads.min():.0f} to {leads.max():.0f} along the cord; mean {slow.mean_edge_cell_lead:.0f} at 0.15",
    )
    sheet.compare(
        "edge cells' peak after the change of sides, segment where it is furthest off",
        "deg",
        "when the network is switching",
        -36,
        36,
        peaks[np.argmax(abs(peaks))],
        "read as within a tenth of a cycle",
    )
    stiffness = [table()["tonic_stiffness"] + entry.cell("MN").mean((0, 2)).sum() for entry in (run, slow)]
    sheet.compare(
        "stiffness of the joints over that at 0.15 (section 5)", "1", "stiffer", 1, np.inf, stiffness[0] / stiffness[1]
    )
    return figure


def _figure_6(sheet: Sheet) -> Figure:
    """Turning with asymmetric excitation."""
    run, before, raw = _steady("turn"), _steady("fast"), _runs()["switched"]
    figure = Figure(figsize=(14, 9), layout="constrained")
    figure.suptitle(f"Level 0.1 on the left, 0.7 on the right: {run.turn_rate:.0f} deg/s (paper: to the right)")
    left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=[1.9, 1]).ravel()
    at = round(SWITCH / 0.01)
    way = raw["centre"][at] - raw["centre"][at - 200]
    _frames(left, sheet, raw, SWITCH + 0.05, way)
    rhythm, wave, path = right.subplots(3, 1, height_ratios=[0.8, 1, 1.3])
    _motoneurons(rhythm, sheet, "C", raw, SWITCH - 1, 3.0)
    rhythm.axvline(1, color="k", ls="--", lw=1)
    rhythm.set_ylim(0, 1.1)
    rhythm.set_title("C: middle joint; the asymmetry begins at 1 s", fontsize=10)
    shown = slice(at - 50, at + 151)
    angle = raw["joint_angle"][shown]
    place = 3.0 * np.arange(1, 10)
    image = wave.imshow(
        angle.T,
        aspect="auto",
        extent=(-0.5, 1.5, 28.5, 1.5),
        cmap="RdBu_r",
        vmin=-0.9,
        vmax=0.9,
        interpolation="nearest",
    )
    wave.axvline(0, color="k", ls="--", lw=1)
    wave.set(xlabel="time from the beginning of the asymmetry (s)", ylabel="joint (cm from the head)")
    wave.set_title("D: joint angles, red to the right", fontsize=10)
    right.colorbar(image, ax=wave, label="rad")
    sheet.table("D", time_s=(raw.time[shown] - SWITCH)[:, None], place_cm=place, joint_angle_rad=angle)
    track = _turned(raw["centre"][at - 100 :] - raw["centre"][at], way)
    path.plot(*track.T, "k", lw=1.1)
    path.plot(*track[100], "o", color=RIGHT, label="asymmetry begins")
    path.plot(*track[-1], "s", color="k", ms=4, label="10 s later")
    path.set(aspect="equal", xlabel="x (m)", ylabel="y (m)")
    path.legend(frameon=False, fontsize=8)
    path.set_title("E: path of the centre of mass", fontsize=10)
    sheet.table("E", time_s=raw.time[at - 100 :] - SWITCH, x_m=track[:, 0], y_m=track[:, 1])

    true = _converged(TURN)
    sheet.compare(
        "turn rate, positive to the left",
        "deg/s",
        "to the right",
        -np.inf,
        0,
        run.turn_rate,
        f"{true.turn_rate:.0f} converged",
    )
    late = Swimming(Lamprey(), raw, 15.0)
    sheet.compare(
        "turn rate from 5 to 10 s after the beginning", "deg/s", "continues in a circle", -np.inf, 0, late.turn_rate
    )
    middle = raw["neurons"][at:, :, 3, 45:55].mean(2)
    begins = [np.flatnonzero((m[:-1] <= 0) & (m[1:] > 0)) for m in middle.T]
    first = np.mean([(b[1] - b[0]) * 0.01 for b in begins])
    sheet.compare(
        "frequency over that before",
        "1",
        "about the same",
        0.9,
        1.1,
        run.frequency / before.frequency,
        f"falls from {before.frequency:.2f} to {run.frequency:.2f} Hz, and already to {1 / first:.2f} Hz in the first "
        "cycle, the one that the figure shows",
    )
    bursts = [sum(entry.burst(side) for side in (0, 1)) for entry in (run, before)]
    sheet.compare(
        "length of the bursts over that before, middle joint",
        "1",
        "about the same",
        0.9,
        1.1,
        bursts[0] / bursts[1],
        "as the cycle they get longer",
    )
    mn = run.cell("MN").mean((0, 2))
    sheet.compare("right motoneurons over left, mean", "1", "much larger", 1, np.inf, mn[1] / mn[0])
    sheet.compare("share of the left LIN that never fire", "1", "most", 0.5, 1, run.silent_left_lin)
    high = [abs(part["joint_angle"]).max() for part in (run, before)]
    sheet.compare("largest joint angle over that before", "1", "extra high curvature", 1, np.inf, high[0] / high[1])
    sheet.compare(
        "speed of the wave of joint angles towards the tail",
        "m/s",
        "propagates backwards",
        0,
        np.inf,
        run.mechanical_wave,
    )
    return figure


def _rhythms(lamprey: Lamprey, drives: Array) -> list[Swimming | None]:
    """Statistics under many drives (B, 3); None where there is no rhythm."""
    found: list[Swimming | None] = []
    for run in swim(lamprey, drives):
        try:
            found.append(Swimming(lamprey, run))
        except ValueError:
            found.append(None)
    return found


def _columns(runs: Sequence[Swimming | None], *names: str) -> list[Array]:
    return [np.array([np.nan if run is None else getattr(run, name) for run in runs]) for name in names]


def _section_4(sheet: Sheet) -> Figure:
    """Rhythm, speed and wave over the level and over the head's extra."""
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
    rhythm.set(ylabel="frequency (Hz)", title="A: rhythm over the level", ylim=(0, None))
    speed.set(ylabel="speed (m/s)", title="B: speed", ylim=(0, None))
    wave.set(ylabel="neural wavelength (cords)", title="C: length of the neural wave", ylim=(0.6, 2))
    for level, colour in ((0.15, "0.6"), (0.4, "k")):
        (length,) = _columns(_rhythms(Lamprey(), np.stack([0 * extras + level, 0 * extras, extras], 1)), "wavelength")
        extra.plot(100 * extras, length, ".-", color=colour, label=f"level {level:g}")
        sheet.table(f"D_level_{level:g}", extra_percent=100 * extras, wavelength_cords=length)
    extra.axhspan(0.9, 1.0, color="0.85", zorder=0, label="paper: slightly under 1")
    extra.axvline(70, color="0.5", ls="--", lw=1, label="paper's 70%")
    extra.set(
        xlabel="extra excitation of the first five segments (%)", ylabel="neural wavelength (cords)", ylim=(0.6, 2)
    )
    extra.set_title("D: controlled by the head's extra")
    for ax in (rhythm, speed, wave):
        ax.set_xlabel("tonic level")
    for ax in figure.axes:
        ax.legend(frameon=False, fontsize=9)

    frequency, forward = _columns(swims[0.7], "frequency", "speed")
    swam = (levels >= 0.12 - 1e-9) & (levels <= 0.7 + 1e-9)
    sheet.compare(
        "change of the frequency by 0.02 of the level, the least from 0.12 to 0.7",
        "Hz",
        "increasing the level increases the frequency",
        0,
        np.inf,
        np.diff(frequency[swam]).min(),
    )
    sheet.compare(
        "change of the speed, likewise",
        "m/s",
        "consequently, the speed increases",
        0,
        np.inf,
        np.diff(forward[swam]).min(),
    )
    fine = np.round(np.arange(0.15, 0.191, 0.01), 2)
    (alone,) = _columns(_rhythms(Lamprey(), np.stack([fine, 0 * fine, 0 * fine], 1)), "frequency")
    least = fine[np.flatnonzero(np.isfinite(alone))[0]]
    sheet.compare(
        "frequency at 0.15 without the head's extra, 0 for no rhythm",
        "Hz",
        "alternating activity will appear",
        1e-9,
        np.inf,
        np.nan_to_num(alone[0]),
        f"there is a rhythm from {least:.2f} on, of {np.nanmin(alone):.2f} Hz",
    )
    return figure


def _section_3_2(sheet: Sheet) -> Figure:
    """Swimming with other drag along the body."""
    factors = np.array([0.0, 0.25, 0.5, 1.0, 2.0, 4.0])
    speeds = np.zeros((2, len(factors)))
    for k, factor in enumerate(sheet.progress(factors, "drag")):
        drag = tuple(factor * value for value in LampreyParams().drag_parallel)
        lamprey = Lamprey(LampreyParams(drag_parallel=drag))
        speeds[:, k] = [Swimming(lamprey, run).speed for run in swim(lamprey, [SLOW, FAST])]
    figure = Figure(figsize=(6.5, 4.5), layout="constrained")
    ax = figure.subplots()
    for values, colour, level in zip(speeds, ("0.5", "k"), (0.15, 0.4), strict=True):
        ax.plot(factors, values, "o-", color=colour, label=f"level {level:g}")
    mark_printed(ax, [1, 1], [0.4, 0.73])
    ax.legend(frameon=False)
    ax.set(xlabel="factor on the drag along the body, $\\lambda_\\parallel$", ylabel="speed (m/s)", ylim=(0, None))
    sheet.table("A", factor=factors, speed_015_m_per_s=speeds[0], speed_04_m_per_s=speeds[1])
    for factor in (0.0, 4.0):
        ours = speeds[0, factors == factor][0] / speeds[0, factors == 1.0][0]
        sheet.compare(
            f"speed at 0.15 with {factor:g} times the drag along the body, over that with the printed",
            "1",
            "does not influence swimming very much",
            0.9,
            1.1,
            ours,
            "it is the only drag that does not push, and what the thrust works against",
        )
    return figure


def _section_3_6(sheet: Sheet) -> Figure:
    """Steps of the schemes."""
    steps = {"published": np.array([0.25, 0.5, 1.0, 2.0, 2.5]), "implicit": np.array([0.5, 1.0, 2.5, 5.0, 10.0])}
    figure = Figure(figsize=(12, 4.6), layout="constrained")
    body, nerves = figure.subplots(1, 2)
    stable = {}
    for (scheme, values), colour in zip(steps.items(), ("k", RIGHT), strict=True):
        speed = np.full(len(values), np.nan)
        for k, step in enumerate(sheet.progress(values, scheme)):
            lamprey = Lamprey(scheme=scheme, substeps=round(10 / step))
            (run,) = swim(lamprey, [FAST])
            if run.failure is None:
                speed[k] = Swimming(lamprey, run).speed
        stable[scheme] = values[np.isfinite(speed)].max()
        body.plot(values, speed, "o-", color=colour, label=scheme)
        for step in values[np.isnan(speed)]:
            body.plot(step, 0.55, "x", color=colour, ms=9, label=f"{scheme}: fails")
        sheet.table(f"A_{scheme}", step_ms=values, speed_m_per_s=speed)
    true = _converged(FAST)
    for ax, value in ((body, true.speed), (nerves, true.frequency)):
        ax.axhline(value, color="0.5", lw=1, label="reference")
    body.axhline(0.73, color="0.5", ls="--", lw=1, label="paper")
    body.set(xscale="log", xlabel="step of the body (ms), neurons 10 ms", ylabel="speed at 0.4 (m/s)", ylim=(0.5, 0.8))
    dts = np.array([1.0, 2.0, 5.0, 10.0])
    for drive, colour in ((SLOW, "0.5"), (FAST, "k")):
        frequency = np.zeros(len(dts))
        for k, dt in enumerate(dts):
            lamprey = Lamprey(dt=1e-3 * dt, substeps=round(dt))
            frequency[k] = Swimming(lamprey, swim(lamprey, [drive])[0]).frequency
        nerves.plot(dts, frequency, "o-", color=colour, label=f"level {drive[0]:g}")
        sheet.table(f"B_level_{drive[0]:g}", step_ms=dts, frequency_Hz=frequency)
    nerves.axhline(_converged(SLOW).frequency, color="0.5", lw=1)
    mark_printed(nerves, [10, 10], [2.3, 4])
    nerves.set(xscale="log", xlabel="step of the neurons (ms), body 1 ms", ylabel="frequency (Hz)", ylim=(2, 4.5))
    for ax, ticks in ((body, (0.25, 0.5, 1, 2.5, 5, 10)), (nerves, dts)):
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.minorticks_off()
        ax.legend(frameon=False, fontsize=8)
    body.set_title("A: speed over the step of the body")
    nerves.set_title("B: frequency over the step of the neurons")
    sheet.compare(
        "largest stable step of the Euler method",
        "ms",
        "stable with 1",
        1,
        np.inf,
        stable["published"],
        "of those tried",
    )
    sheet.compare(
        "largest stable step of our implicit scheme",
        "ms",
        "could be increased to about 5",
        4.5,
        np.inf,
        stable["implicit"],
        "of those tried; ours takes the drag implicitly, too, theirs the muscles only",
    )
    return figure


def _table_3(sheet: Sheet) -> Figure:
    """Mechanical properties of the links, from the shape that section 3.1 gives."""
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
        ax.legend(frameon=False, fontsize=8)
    sheet.table("A", link=link, mass_g=1e3 * mass, width_cm=100 * widths, inertia_g_mm2=inertia, drag_N_s2_per_m2=drag)
    sheet.compare(
        "mass of links 1 to 4, from density, length, and an ellipse of 3 cm by 2 cm",
        "g",
        "4.5",
        4.45,
        4.55,
        ellipse,
        f"without the ellipse's pi it is {ellipse / np.pi:.3g}: the printed masses are used",
    )
    for k in range(3, 10):
        value = printed["moment of inertia (g mm$^2$)"][k]
        sheet.compare(
            f"moment of inertia of link{'s 1 to 4' if k == 3 else f' {k + 1}'}, m (w^2/16 + l^2/12)",
            "g mm^2",
            f"{value:.1f}",
            value - 0.05,
            value + 0.05,
            inertia[k],
            "printed ten times too small, and in g mm: ten times the printed are used",
        )
    sheet.compare(
        "drag across, density times area by 2",
        "N s^2/m^2",
        "0.045",
        0.0445,
        0.0455,
        drag[0],
        "printed ten times too small: 0.45 is used, with which the animal swims as printed",
    )
    return figure


PAPER = Paper(
    "lamprey",
    "Ekeberg (1993), A combined neuronal and mechanical model of fish swimming, Biol. Cybern. 69:363-374",
    (
        PaperFigure("figure_3", "Forces on the links, and the torque of a joint", _figure_3),
        PaperFigure("figure_4", "Swimming at a tonic level of 0.15", _figure_4),
        PaperFigure("figure_5", "Swimming at 0.4; edge cells against motoneurons", _figure_5),
        PaperFigure("figure_6", "Turning: 0.1 on the left side, 0.7 on the right", _figure_6),
        PaperFigure("table_3", "Mechanical properties of the links, from the shape in the text", _table_3),
        PaperFigure("section_3.2", "Drag along the body", _section_3_2),
        PaperFigure("section_3.6", "Steps of the numerical methods", _section_3_6),
        PaperFigure("section_4.1", "Rhythm, speed and phase lags over the level and the head's extra", _section_4),
    ),
    {
        "Figure 1 A, B": "schemes: a model neuron, and the connections in a segment",
        "Figure 2 A, B": "schemes: coordinates of a link, and the numbers of links and joints",
        "Table 1, Table 2": "parameters of neurons and synapses, which are given to the model",
        "Section 3.6, one fifth of real time": "the speed of a computer of 1990; for ours see README",
    },
)
