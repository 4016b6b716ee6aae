"""Figs. 4 to 6 of Ekeberg (1993): swimming slowly and fast, and turning."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.image import AxesImage
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from gymnosoma.envs import simulate
from gymnosoma.envs.core.model.trajectory import Trajectory
from gymnosoma.envs.lamprey import Lamprey, LampreyParams
from gymnosoma.envs.lamprey.params import table

from ..paper import COLOURS, Sheet
from .measures import Swimming, swim

Array = NDArray[np.float64]

LEFT, RIGHT = COLOURS[:2]
CELLS = {"EC": "#7a7a7a", "MN": RIGHT, "LIN": COLOURS[3], "EIN": COLOURS[2], "CCIN": LEFT}
TRACES = tuple((side, cell) for side, cells in ((1, tuple(CELLS)), (0, tuple(CELLS)[::-1])) for cell in cells)
"""Traces of a frame in panels A of Figs. 4 to 6, from the top: side and cell.

Cells are edge cells (EC), motoneurons (MN), lateral interneurons (LIN), excitatory interneurons (EIN), and
contralaterally and caudally projecting interneurons (CCIN).
"""

FULL = {"EC": 25.0, "MN": 1.0, "LIN": 1.0, "EIN": 1.0, "CCIN": 1.0}
"""Output at the full height of a trace; 1/m for edge cells."""

SLOW, FAST = (0.15, 0.0, 0.7), (0.4, 0.0, 0.7)
TURN = (0.4, 0.3, 0.7)
"""Level, asymmetry and extra excitation of the head in Figs. 4 to 6."""

SWITCH = 10.0
"""Time at which the asymmetry of Fig. 6 begins, s."""


@cache
def runs() -> dict[str, Trajectory]:
    """Simulate 20 s with each of the paper's three drives, and a run that changes to the last drive at `SWITCH`."""
    first = np.array([SLOW, FAST, TURN, FAST])
    runs = swim(Lamprey(), first, after=(SWITCH, [SLOW, FAST, TURN, TURN]))
    return dict(zip(("slow", "fast", "turn", "switched"), runs, strict=True))


@cache
def steady(name: str) -> Swimming:
    """Return the statistics of a run from 10 to 20 s."""
    return Swimming(Lamprey(), runs()[name])


@cache
def converged(drive: tuple[float, float, float]) -> Swimming:
    """Return the statistics of a run with the reference scheme."""
    lamprey = Lamprey(scheme="reference")
    return Swimming(lamprey, simulate(lamprey, drive, 20.0, every=0.01))


def frames_begin(run: Swimming) -> float:
    """Return the time (s) of the first of five frames, the beginning of the third cycle."""
    return float(round(run.cycles[2], 2))


def turned(points: Array, way: Array) -> Array:
    """Rotate points (..., 2) so that the direction ``way`` (2,) points to the left."""
    x, y = -way / np.hypot(*way)
    return points @ np.array([[x, -y], [y, x]])


def _ends(run: Trajectory, k: int) -> Array:
    """Return head, joints and tail (n + 1, 2) m at time index ``k``."""
    angle, half = run["link_angle"][k], 0.5 * np.asarray(LampreyParams().length)
    reach = half[:, None] * np.stack([np.cos(angle), np.sin(angle)], 1)
    middle = run["link_centre"][k]
    return np.concatenate([middle - reach, (middle + reach)[-1:]])


def body(ax: Axes, points: Array) -> None:
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


def _frames(part: SubFigure, sheet: Sheet, run: Trajectory, begin: float, way: Array, first: int = 0) -> None:
    """Draw panels A1-5 and B1-5 of Figs. 4 to 6: activity along the cord, and the body, every 50 ms."""
    axes = part.subplots(5, 2, width_ratios=[1, 1.25], squeeze=False)
    nearest = Swimming(Lamprey(), run).joint
    segments = len(nearest)
    moments = [round((begin + 0.05 * k) / 0.01) for k in range(5)]
    bodies = np.array([100 * turned(_ends(run, k), way) for k in moments])
    bodies -= bodies[-1, 0]
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
            ax.fill_between(np.arange(segments), base, base + levels[row, trace] / FULL[cell], color=CELLS[cell], lw=0)
            ax.axhline(base, color="0.8", lw=0.5, zorder=0)
            ax.text(-2, base + 0.1, cell, ha="right", fontsize=6)
        ax.text(-20, -2.2, "right", rotation=90, va="center", fontsize=8)
        ax.text(-20, -8.8, "left", rotation=90, va="center", fontsize=8)
        ax.set(yticks=[], xlim=(0, segments - 1))
        ax.set_title(f"A{row + 1}  {first + 50 * row} ms", fontsize=8, loc="left", pad=2)
        ax = axes[row, 1]
        for x in np.arange(np.ceil(low[0] / 2) * 2, high[0], 2):
            ax.axvline(x, color="0.88", lw=0.6, zorder=0)
        body(ax, points)
        ax.set(aspect="equal", xlim=(low[0], high[0]), ylim=(low[1], high[1]), yticks=[])
        ax.set_title(f"B{row + 1}", fontsize=8, loc="left", pad=2)
        for ax in axes[row]:
            ax.tick_params(labelsize=7, labelbottom=row == 4)
    names = "MN motoneurons, LIN lateral, EIN excitatory, CCIN crossed interneurons; EC edge cells"
    axes[4, 0].set_xlabel(f"segment (full height: 1; EC: 25 /m)\n{names}", fontsize=7)
    axes[4, 1].set_xlabel("cm; grid lines every 2 cm, at rest in the water", fontsize=8)
    sheet.table(
        "A",
        time_s=1e-3 * first + 0.05 * np.arange(5)[:, None, None],
        side=np.array([("left", "right")[side] for side, _ in TRACES])[:, None],
        cell=np.array([cell for _, cell in TRACES])[:, None],
        segment=np.arange(segments),
        output_1_or_per_m=levels,
    )
    sheet.table(
        "B",
        time_s=1e-3 * first + 0.05 * np.arange(5)[:, None],
        point=np.arange(bodies.shape[1]),
        x_cm=bodies[..., 0],
        y_cm=bodies[..., 1],
    )


def _motoneurons(ax: Axes, sheet: Sheet, panel: str, run: Trajectory, begin: float, seconds: float) -> None:
    """Draw the motoneurons of the middle joint over time."""
    late = (run.time >= begin) & (run.time < begin + seconds)
    mn = run["neurons"][late][:, :, 3, 45:55].mean(2)
    time = run.time[late] - begin
    for side, (name, colour) in enumerate((("left", LEFT), ("right", RIGHT))):
        ax.plot(time, mn[:, side], color=colour, lw=1.1, label=name)
    ax.set(xlabel="time (s)", ylabel="motoneurons (1)", xlim=(0, seconds), ylim=(0, 1.3 * mn.max()))
    ax.legend(ncols=2, loc="upper right")
    sheet.table(panel, time_s=time, left=mn[:, 0], right=mn[:, 1])


def _lag(ax: Axes, sheet: Sheet, panel: str, runs: Sequence[tuple[str, Swimming]]) -> None:
    """Draw the lag of the motoneurons along the cord."""
    for (name, run), colour in zip(runs, ("k", COLOURS[1]), strict=False):
        ax.plot(run.phase, color=colour, label=f"level {name}")
        at, slope = np.arange(len(run.phase)), 1.0 / (100.0 * run.wavelength)
        line = run.phase.mean() + slope * (at - at.mean())
        ax.plot(line, color=colour, ls=":", label=f"{name}, slope: a wave in {run.wavelength:.2f} cords")
    ax.plot([0, 100], [0, 1], color="0.5", ls="--", lw=1, label="one wave on the cord")
    ax.set(xlabel="segment", ylabel="lag (cycles)", xlim=(0, 100), ylim=(0, 1.9))
    ax.legend(loc="upper left", fontsize="x-small")
    sheet.table(panel, segment=np.arange(len(runs[0][1].phase)), lag_cycles=runs[0][1].phase)


def figure_4(sheet: Sheet) -> Figure:
    """Draw swimming at a level of 0.15."""
    run, raw = steady("slow"), runs()["slow"]
    figure = Figure(figsize=(14, 9), layout="constrained")
    figure.suptitle(f"Level 0.15: {run.frequency:.2f} Hz, {run.speed:.3f} m/s (paper: 2.3 Hz, 0.4 m/s)")
    left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=[1.5, 1]).ravel()
    _frames(left, sheet, raw, frames_begin(run), raw["centre"][-1] - raw["centre"][1000])
    rhythm, lag, lateral = right.subplots(3, 1)
    _motoneurons(rhythm, sheet, "C", raw, float(run.cycles[2]), 1.5)
    rhythm.set_title("C  middle joint; grey: periods of 2.3 Hz")
    for k in range(1, 4):
        rhythm.axvline(k / 2.3, color="0.5", ls="--", lw=1)
    _lag(lag, sheet, "D", [("0.15", run)])
    lag.set_title("D  phase lag along the cord")
    place = 3 * np.arange(10) + 1.5
    lateral.plot(place, 100 * run.lateral, "ko-", ms=4)
    lateral.set(xlabel="place along the body (cm)", ylabel="amplitude across (cm)", ylim=(0, None))
    lateral.set_title("E  the amplitude grows from head to tail")
    sheet.table("E", place_cm=place, amplitude_cm=100 * run.lateral)
    clamp = Lamprey(circuit={"ends": "clamp"})
    clamped = Swimming(clamp, simulate(clamp, SLOW, 20.0, every=0.01))
    true = converged(SLOW)
    sheet.found(frequency=run.frequency, frequency_converged=true.frequency)
    sheet.found(speed=run.speed, speed_converged=true.speed)
    sheet.found(wavelength=run.wavelength, wavelength_clamped=clamped.wavelength, frequency_clamped=clamped.frequency)
    mn = run.cell("MN")
    fundamental, peak = run.fundamental(mn[:, :, 45:55].mean(2)), mn.max(0).mean(0)
    sheet.found(
        sides=np.degrees(np.angle(fundamental[0] / fundamental[1])) % 360,
        growth=np.diff(100 * run.lateral).min(),
        level=peak[-10:].mean() / peak[:10].mean(),
        wave=run.mechanical_wave / run.speed,
    )
    return figure


def figure_5(sheet: Sheet) -> Figure:
    """Draw swimming at a level of 0.4, and its edge cells."""
    run, slow, raw = steady("fast"), steady("slow"), runs()["fast"]
    figure = Figure(figsize=(14, 9), layout="constrained")
    figure.suptitle(f"Level 0.4: {run.frequency:.2f} Hz, {run.speed:.3f} m/s (paper: 4 Hz, 0.73 m/s)")
    left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=[1.5, 1]).ravel()
    _frames(left, sheet, raw, frames_begin(run), raw["centre"][-1] - raw["centre"][1000])
    lag, cycle, lead = right.subplots(3, 1)
    _lag(lag, sheet, "C", [("0.4", run), ("0.15", slow)])
    lag.set_title("C  phase lag along the cord")
    _cycle(cycle, sheet, run)
    _leads(lead, sheet, run, slow)
    true, cells = converged(FAST), ("EIN", "CCIN", "LIN", "MN")
    gain = {cell: np.mean(run.cell(cell).max(0)) / np.mean(slow.cell(cell).max(0)) for cell in cells}
    motoneurons = gain.pop("MN")
    leads, peaks = run.edge_cell_lead, run.edge_cell_peak
    stiffness = [table()["tonic_stiffness"] + entry.cell("MN").mean((0, 2)).sum() for entry in (run, slow)]
    sheet.found(
        frequency=run.frequency,
        frequency_converged=true.frequency,
        speed=run.speed,
        speed_converged=true.speed,
        frequency_ratio=run.frequency / slow.frequency,
        wavelength_ratio=run.wavelength / slow.wavelength,
        motoneurons=motoneurons,
        most=motoneurons / max(gain.values()),
        **gain,
        **_peaks(run, slow),
        amplitude=run.lateral.mean() / slow.lateral.mean(),
        lead=run.mean_edge_cell_lead,
        lead_farthest=leads[np.argmax(abs(leads - 90.0))],
        least_lead=leads.min(),
        greatest_lead=leads.max(),
        lead_slow=slow.mean_edge_cell_lead,
        switching=peaks[np.argmax(abs(peaks))],
        stiffness=stiffness[0] / stiffness[1],
    )
    return figure


def _peaks(run: Swimming, slow: Swimming) -> dict[str, float]:
    """Return the ratio between two runs of the highest output on the cord, for each type of neuron."""
    peak = {cell: float(run.cell(cell).max() / slow.cell(cell).max()) for cell in ("EIN", "CCIN", "LIN", "MN")}
    others = {f"{cell}_peak": peak[cell] for cell in ("EIN", "CCIN", "LIN")}
    return {"most_peak": peak["MN"] / max(others.values()), "MN_peak": peak["MN"], **others}


def _cycle(ax: Axes, sheet: Sheet, run: Swimming) -> None:
    """Draw panel D: edge cells and motoneurons of one segment over the mean cycle."""
    segment, phase = 50, np.arange(360)
    mn, edge = (run.mean_cycle(values[:, :, segment]) for values in (run.cell("MN"), run.edge_cells))
    for side, colour in enumerate((LEFT, RIGHT)):
        ax.plot(phase, mn[:, side], color=colour, label=f"MN {('left', 'right')[side]}")
        ax.plot(phase, edge[:, side] / 25, color=colour, ls=":", label=f"EC {('left', 'right')[side]} / (25 /m)")
    ax.legend(ncols=2, loc="upper center", fontsize="x-small")
    ax.set(xlabel=f"phase (deg), segment {segment}", ylabel="output (1)", xlim=(0, 359), ylim=(0, 1.7))
    ax.set_xticks(np.arange(0, 361, 90))
    ax.set_title("D  edge cells and motoneurons, mean cycle")
    sheet.table("D", phase_deg=phase, mn_left=mn[:, 0], mn_right=mn[:, 1], ec_left=edge[:, 0], ec_right=edge[:, 1])


def _leads(ax: Axes, sheet: Sheet, run: Swimming, slow: Swimming) -> None:
    """Draw panel E: phases of the edge cells along the cord."""
    leads, peaks = run.edge_cell_lead, run.edge_cell_peak
    ax.axhspan(81, 99, color="0.85", label="paper: about 90 deg")
    ax.plot(leads, "k", lw=1.3, label=f"EC before MN, mean {run.mean_edge_cell_lead:.0f} deg")
    ax.plot(slow.edge_cell_lead, color="0.55", lw=1, label=f"at 0.15, mean {slow.mean_edge_cell_lead:.0f} deg")
    ax.plot(peaks, color=RIGHT, lw=1.1, label="EC's peak after the change of sides")
    ax.axhline(0, color="0.7", lw=0.8, zorder=0)
    ax.legend(loc="upper center", fontsize="x-small")
    ax.set(xlabel="segment", ylabel="phase (deg)", xlim=(0, 99), ylim=(-40, 360))
    ax.set_yticks(np.arange(0, 181, 90))
    ax.set_title("E  along the cord")
    columns = {"lead_deg": leads, "lead_at_015_deg": slow.edge_cell_lead, "peak_after_change_deg": peaks}
    sheet.table("E", segment=np.arange(len(leads)), **columns)


def figure_6(sheet: Sheet) -> Figure:
    """Draw a turn under asymmetric excitation."""
    run, before, raw = steady("turn"), steady("fast"), runs()["switched"]
    figure = Figure(figsize=(14, 9), layout="constrained")
    figure.suptitle(f"Level 0.1 on the left, 0.7 on the right: {run.turn_rate:.0f} deg/s (paper: to the right)")
    left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=[1.5, 1]).ravel()
    at = round(SWITCH / 0.01)
    way = raw["centre"][at] - raw["centre"][at - 200]
    _frames(left, sheet, raw, SWITCH + 0.05, way, 50)
    rhythm, wave, path = right.subplots(3, 1, height_ratios=[0.8, 1, 1.5])
    _motoneurons(rhythm, sheet, "C", raw, SWITCH - 1, 3.0)
    rhythm.axvline(1, color="k", ls="--", lw=1)
    rhythm.set_title("C  middle joint; the asymmetry begins at 1 s")
    image = _wave(wave, sheet, raw, at)
    right.colorbar(image, ax=wave, label="rad")
    _path(path, sheet, raw, at, way)

    late = Swimming(Lamprey(), raw, 15.0)
    middle = raw["neurons"][at:, :, 3, 45:55].mean(2)
    begins = [np.flatnonzero((m[:-1] <= 0) & (m[1:] > 0)) for m in middle.T]
    first = np.mean([(b[1] - b[0]) * 0.01 for b in begins])
    bursts = [sum(entry.burst(side) for side in (0, 1)) for entry in (run, before)]
    mn = run.cell("MN").mean((0, 2))
    high = [abs(part["joint_angle"]).max() for part in (run, before)]
    sheet.found(
        turn_rate=run.turn_rate,
        turn_rate_converged=converged(TURN).turn_rate,
        late_turn_rate=late.turn_rate,
        frequency_ratio=run.frequency / before.frequency,
        frequency_before=before.frequency,
        frequency=run.frequency,
        frequency_first=1 / first,
        bursts=bursts[0] / bursts[1],
        cycle=before.frequency / run.frequency,
        motoneurons=mn[1] / mn[0],
        silent=np.mean(run.cell("LIN")[:, 0].max(0) == 0.0),  # share of the left cells that never fire
        curvature=high[0] / high[1],
        wave=run.mechanical_wave,
    )
    return figure


def _wave(ax: Axes, sheet: Sheet, raw: Trajectory, at: int) -> AxesImage:
    """Draw panel D of Fig. 6: joint angles before and after the asymmetry begins."""
    window = slice(at - 50, at + 151)
    angle = raw["joint_angle"][window]
    look: dict[str, Any] = {"cmap": "RdBu_r", "vmin": -0.9, "vmax": 0.9, "interpolation": "nearest"}
    image = ax.imshow(angle.T, aspect="auto", extent=(-0.5, 1.5, 28.5, 1.5), **look)
    ax.axvline(0, color="k", ls="--", lw=1)
    ax.set(xlabel="time from the beginning of the asymmetry (s)", ylabel="joint (cm from the head)")
    ax.set_title("D  joint angles, red to the right")
    place = 3.0 * np.arange(1, 10)
    sheet.table("D", time_s=(raw.time[window] - SWITCH)[:, None], place_cm=place, joint_angle_rad=angle)
    return image


def _path(ax: Axes, sheet: Sheet, raw: Trajectory, at: int, way: Array) -> None:
    """Draw panel E of Fig. 6: the path of the centre of mass."""
    track = turned(raw["centre"][at - 40 :] - raw["centre"][at], way)
    ax.plot(*track.T, "k", lw=1.1)
    ax.plot(*track[40], "o", color=RIGHT, label="asymmetry begins")
    ax.plot(*track[-1], "s", color="k", ms=4, label="10 s later")
    ax.set(aspect="equal", xlabel="x (m)", ylabel="y (m)")
    ax.legend()
    ax.set_title("E  path of the centre of mass")
    sheet.table("E", time_s=raw.time[at - 40 :] - SWITCH, x_m=track[:, 0], y_m=track[:, 1])
