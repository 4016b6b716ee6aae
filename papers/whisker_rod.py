"""Draws the figures of the whisker_rod paper from our own simulations."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import SymLogNorm
from matplotlib.figure import Figure
from numpy.typing import NDArray

from gymnosoma.envs import Trajectory, simulate
from gymnosoma.envs.whisker_rod import WhiskerRod, WhiskerRodParams
from gymnosoma.envs.whisker_rod.analysis import (
    FRAME,
    STEADY_FRICTION,
    around,
    band_shares,
    correlations,
    principal_mode,
    slide,
    slips,
    spectrum,
    station,
    sticks,
)
from gymnosoma.envs.whisker_rod.params import REFERENCE_FRICTION, table
from gymnosoma.envs.whisker_rod.reference import Reference

from .paper import Paper, PaperFigure, Sheet, mark_printed

Array = NDArray[np.float64]
Run = Mapping[str, Array]

MM, UM, NN, NNM, MS = 1e3, 1e6, 1e9, 1e9, 1e3
"""SI to the units of axes: mm, um, nN, nN m, ms."""

TIP, BASE, STICK, SLIP = "#d1495b", "#2f5d8c", "#c8413b", "#4a9a4a"
MODES = ("#3b6fb6", "#e08a1e", "#4a9a4a", "#8a5aa8")
STEADY, EARLY = slice(1200, 2400), slice(60, 460)
"""Frames from 0.3 to 0.6 s; and from 15 to 115 ms, as the paper drops the first 15 ms of a sweep of 143 ms."""

MEMORIES = (5e-6, 50e-6, 500e-6)
"""L of Fig. 5H, m."""


def _animal(**params: Any) -> WhiskerRod:
    """The paper's whisker with the paper's solver."""
    return WhiskerRod(WhiskerRodParams(**params), scheme="published")


@cache
def _runs() -> list[Trajectory]:
    """Sliding for 1 s at L = 10, 5, 50 and 500 um, the two last also from nearly steady sliding."""
    signals = ("arc", "moment", "acceleration", "velocity", "base_wrench", "slip_speed", "curvature_change")
    start = {
        "memory_length": np.array([10e-6, *MEMORIES, *MEMORIES[1:]]),
        "friction_coefficient": np.array([0.0, 0.0, 0.0, 0.0, *[0.99 * STEADY_FRICTION] * 2]),
    }
    return slide(_animal(), 1.0, 6, start, signals=signals)


def _base_power(run: Run, window: slice) -> tuple[Array, Array]:
    return spectrum(run["base_wrench"][window, 0], 1 / FRAME)


def _events(ax: Axes, time: Array, run: Run, trace: Array | None = None) -> None:
    """Sticks and slips as lines, and on the trace in which they were found as dots."""
    speed = table()["plate_speed"]
    for frames, colour, name in ((sticks(run), STICK, "stick"), (slips(run, speed), SLIP, "slip")):
        inside = frames[(frames >= STEADY.start) & (frames < STEADY.start + 200)]
        for k, frame in enumerate(inside):
            ax.axvline(time[frame], color=colour, lw=0.5, alpha=0.35, label=None if k else name)
        if trace is not None:
            ax.plot(time[inside], trace[inside], "o", ms=3.5, color=colour)


def _trace(ax: Axes, sheet: Sheet, panel: str, run: Run, values: Array, what: str, column: str, colour: str) -> None:
    window = slice(STEADY.start, STEADY.start + 200)
    time = MS * run["time"]
    ax.plot(time[window], values[window], color=colour, lw=1.0)
    _events(ax, time, run, values if panel == "A" else None)
    ax.set(title=f"{panel}  {what}", ylabel=column[0], xlim=(time[window.start], time[window.stop]))
    sheet.table(panel, time_ms=time[window], **{column[1]: values[window]})


def _figure_5(sheet: Sheet) -> Figure:
    """Outputs of the model: kinematics, forces and moments, events, spectra, curvature and moment along the rod."""
    t = table()
    ten, five, fifty_rest, slow_rest, fifty, _ = _runs()
    figure = Figure(figsize=(15, 16), layout="constrained")
    figure.suptitle("Fig. 5: the model at 0.2 m/s; A to G at L = 10 $\\mu$m, J at 50 $\\mu$m")
    axes = figure.subplot_mosaic(
        [["A", "D", "G"], ["B", "E", "H"], ["C", "F", "H2"], ["I", "I", "J"]], height_ratios=[1, 1, 1, 1.5]
    )
    tip, base = (station(ten, "acceleration", t[f"{end}_station"])[:, 0] for end in ("tip", "base"))
    # In the paper the base turns and the surface rests: the plate that comes along +x is a base that goes along -x.
    turning = np.rad2deg(t["plate_speed"] / (t["plate_distance"] * t["length"]))
    rate = turning - np.rad2deg(station(ten, "velocity", t["base_station"])[:, 0] / t["base_station"])
    traces: Any = {
        "A": (rate, "angular velocity at 3 mm", ("deg/s", "rate_deg_s"), BASE),
        "B": (base, "acceleration at 3 mm", ("m/s$^2$", "acceleration_m_s2"), BASE),
        "C": (tip, "acceleration at 24 mm", ("m/s$^2$", "acceleration_m_s2"), TIP),
        "D": (-NN * ten["base_wrench"][:, 2] / 1e3, "axial force on the base", ("$\\mu$N", "force_uN"), BASE),
        "E": (NNM * station(ten, "moment", t["base_station"]), "moment at 3 mm", ("nN m", "moment_nNm"), BASE),
        "F": (1e3 * NNM * station(ten, "moment", t["tip_station"]), "moment at 24 mm", ("pN m", "moment_pNm"), TIP),
    }
    for panel, (values, what, column, colour) in traces.items():
        _trace(axes[panel], sheet, panel, ten, values, what, column, colour)
    axes["A"].axhline(turning, color="0.5", ls="--", lw=1, label="driving velocity")
    axes["A"].set_ylim(335, None)
    axes["A"].legend(fontsize=8, loc="lower right", ncols=3)
    for panel in "CF":
        axes[panel].set_xlabel("time (ms)")

    # G: forces about sticks.
    ax, lags = axes["G"], np.arange(-16, 17)
    found = sticks(ten)
    found = found[(found > STEADY.start) & (found < STEADY.stop)]
    columns = {}
    for name, values, colour in (
        ("normal", ten["base_wrench"][:, 1], BASE),
        ("axial", -ten["base_wrench"][:, 2], TIP),
        ("moment", ten["base_wrench"][:, 0], "0.4"),
    ):
        course = (around(values, found, 16, 16) - values[STEADY].mean()) / values[STEADY].std()
        columns[f"{name}_sd"] = course
        ax.plot(MS * FRAME * lags, course, color=colour, label=f"{name} force" if name != "moment" else "moment")
    ax.axvline(0, color=STICK, lw=1)
    ax.set(title=f"G  base, about {len(found)} sticks", xlabel="time from the stick (ms)", ylabel="standard deviations")
    ax.legend(fontsize=8)
    sheet.table("G", time_ms=MS * FRAME * lags, **columns)
    peak = lags[8:25][np.argmax(columns["normal_sd"][8:25])]
    sheet.compare(
        "G: normal force builds up to a maximum around a stick: its largest mean within 2 ms, over the mean",
        "SD",
        "a maximum",
        0.0,
        np.inf,
        columns["normal_sd"][8:25].max(),
        f"{MS * FRAME * peak:.2f} ms after the stick",
    )

    # H: spectra.
    for k, (run, memory) in enumerate(zip((five, fifty, slow_rest), MEMORIES, strict=True)):
        frequency, power = _base_power(run, slice(2000, None))
        label = f"L = {UM * memory:g} $\\mu$m" + (", from nearly steady sliding" if run is fifty else "")
        for ax, values in ((axes["H"], 10 * np.log10(power / 1e-24)), (axes["H2"], power * 1e24)):
            ax.plot(frequency, values, color=MODES[k], lw=1.2, label=label)
        sheet.table(f"H_{UM * memory:g}um", frequency_Hz=frequency, power_pNm2_Hz=power * 1e24)
    frequency, power = _base_power(fifty_rest, slice(2000, None))
    axes["H"].plot(
        frequency, 10 * np.log10(power / 1e-24), color=MODES[1], lw=0.8, ls=":", label="50 $\\mu$m, from rest"
    )
    sheet.table("H_50um_from_rest", frequency_Hz=frequency, power_pNm2_Hz=power * 1e24)
    second = t["mode_frequency"]
    for ax in (axes["H"], axes["H2"]):
        ax.axvline(second, color="0.5", ls="--", lw=1)
        ax.set_xlim(0, 1000)
    axes["H"].text(second, 0.97, "*", transform=axes["H"].get_xaxis_transform(), ha="center", va="top", fontsize=16)
    axes["H"].set(title="H  moment on the base, 0.5 to 1 s", ylabel="dB re 1 (pN m)$^2$/Hz")
    axes["H"].set_ylim(bottom=-60)
    axes["H"].legend(fontsize=7, loc="upper right")
    axes["H2"].set(xlabel="frequency (Hz)", ylabel="(pN m)$^2$/Hz", yscale="linear")

    # I: curvature.
    ax, window = axes["I"], slice(2000, 2400)
    time, arc = MS * fifty["time"][window], MM * fifty["arc"][0][:-1]
    image = -fifty["curvature_change"][window]
    # The thin end is bent a thousand times as much as the base.
    norm = SymLogNorm(0.1, vmin=-1000, vmax=1000)
    mesh = ax.pcolormesh(time, arc, image.T, cmap="RdBu_r", norm=norm, shading="nearest", rasterized=True)
    figure.colorbar(mesh, ax=ax, label="$\\Delta\\kappa = \\kappa_i - \\kappa$ (1/m)", pad=0.01)
    ax.set(title="I  curvature, L = 50 $\\mu$m", xlabel="time (ms)", ylabel="distance from the base (mm)")
    sheet.table("I", time_ms=time[:, None], place_mm=arc[None], curvature_change_per_m=image)

    # J: moments.
    ax = axes["J"]
    moments = NNM * fifty["moment"][window]
    ax.plot(arc, moments[::4].T, color="0.75", lw=0.5)
    shape, nodes = principal_mode(fifty, 2000)
    extremes = np.argsort((moments - moments.mean(0)) @ shape)
    for frame in (*extremes[:2], *extremes[-2:]):
        ax.plot(arc, moments[frame], color=SLIP, lw=1.3)
    low, high = (MM * s for s in t["moment_node"])
    ax.axvspan(low, high, color="0.5", alpha=0.15, label="nodes in the paper")
    ax.axvline(MM * nodes[0], color="k", lw=1, label=f"node of the vibration: {MM * nodes[0]:.1f} mm")
    ax.set(title="J  moment, four extremes in green", xlabel="distance from the base (mm)", ylabel="nN m")
    ax.legend(fontsize=8)
    sheet.table("J", time_ms=time[:, None], place_mm=arc[None], moment_nNm=moments)

    _compare_5(sheet, ten, five, fifty, fifty_rest, slow_rest)
    return figure


def _compare_5(sheet: Sheet, ten: Run, five: Run, fifty: Run, fifty_rest: Run, slow: Run) -> None:
    """Numbers of Fig. 5 and of its text, Model dynamics."""
    t = table()
    slip = ten["slip_speed"][STEADY] / t["plate_speed"]
    sheet.compare(
        "A: sticks: least slip speed over the plate's",
        "1",
        "stick-slip",
        0.0,
        0.05,
        slip.min(),
        f"it reaches {slip.max():.2f}, and is below 0.05 for {100 * np.mean(slip < 0.05):.0f}% of the time",
    )
    steady, early = correlations(ten, STEADY), correlations(ten, EARLY)
    window = "0.3 to 0.6 s"
    for name, paper, ours, note in (
        (
            "B, C: r of the accelerations of tip and base",
            "tip_acceleration_correlation",
            steady["acceleration"],
            f"{early['acceleration']:.2f} at 15 to 115 ms: it depends on the window and on mu*, see below",
        ),
        (
            "r of the acceleration and the normal force of the base",
            "normal_force_correlation",
            steady["normal"],
            "the component across the base; only the axial one comes near what is printed",
        ),
        (
            "r of the acceleration and the axial force of the base",
            "normal_force_correlation",
            steady["axial"],
            f"{early['axial']:.2f} at 15 to 115 ms; the paper says normal force",
        ),
        (
            "D to F: r of the moments of tip and base",
            "moment_correlation",
            steady["moment"],
            f"{early['moment']:.2f} at 15 to 115 ms: the vibration is not steady before 0.3 s",
        ),
    ):
        value = t[paper]
        sheet.compare(f"{name}, {window}", "1", f"{value:g}", value - 0.005, value + 0.005, ours, note)
    value = t["moment_correlation"]
    sheet.compare(
        "D to F: r of the moments of tip and base, 15 to 115 ms",
        "1",
        f"{value:g}",
        value - 0.005,
        value + 0.005,
        early["moment"],
        "the window is not printed",
    )
    tip, base = (station(ten, "acceleration", t[f"{end}_station"])[STEADY, 0] for end in ("tip", "base"))
    lags = np.arange(-8, 9)
    r = [np.corrcoef(tip[8:-8], np.roll(base, -lag)[8:-8])[0, 1] for lag in lags]
    sheet.table("C_correlogram", lag_ms=MS * FRAME * lags, r=r)
    sheet.compare(
        "B, C: lag at which the accelerations of tip and base oppose each other most",
        "ms",
        "0 (in the measured whisker)",
        -0.125,
        0.125,
        MS * FRAME * lags[np.argmin(r)],
        f"r = {min(r):.2f} there, {r[8]:.2f} at 0: one frame of the camera",
    )
    shares = {}
    for name, run in (("5", five), ("50", fifty), ("50 from rest", fifty_rest), ("500", slow)):
        shares[name] = band_shares(run["base_wrench"][2000:, 0], 1 / FRAME)
    sheet.table(
        "H_shares", mode=[1, 2, 3, 4], **{f"L_{name.replace(' ', '_')}": values for name, values in shares.items()}
    )
    sheet.compare(
        "H: share of the second mode at L = 50 um, from nearly steady sliding",
        "1",
        "dominates",
        0.5,
        1.0,
        shares["50"][1],
        "two vibrations are stable at 50 um",
    )
    sheet.compare(
        "H: the same from a frictionless equilibrium",
        "1",
        "dominates",
        0.5,
        1.0,
        shares["50 from rest"][1],
        "the first mode wins from there; the paper prints no start",
    )
    sheet.compare(
        "H: L at which the second mode's share is the greatest, of 5, 50, 500 um",
        "um",
        "50",
        49,
        51,
        (5, 50, 500)[int(np.argmax([shares[name][1] for name in ("5", "50", "500")]))],
        f"shares {shares['5'][1]:.2f}, {shares['50'][1]:.2f}, {shares['500'][1]:.2f}; nothing is left at 500 um",
    )
    low, high = (MM * s for s in t["moment_node"])
    for run, name in ((fifty, "50 um"), (ten, "10 um")):
        nodes = principal_mode(run, 2000 if run is fifty else STEADY.start)[1]
        sheet.compare(f"J: node of the moment, L = {name}", "mm", f"{low:g} to {high:g}", low, high, MM * nodes[0])
    ratio = t["moment_variance_ratio"]
    tip_m, base_m = (float(np.var(station(ten, "moment", s)[STEADY])) for s in (t["length"] - 1e-3, 1e-3))
    sheet.compare(
        "variance of the moment 1 mm from the tip over that 1 mm from the base",
        "1",
        f"{ratio:g} (a real whisker)",
        ratio - 0.5e-5,
        ratio + 0.5e-5,
        tip_m / base_m,
        "the model's cone gives an eighth of what was measured",
    )


WINDOWS = {"15 to 115 ms": EARLY, "0.3 to 0.6 s": STEADY}
FRICTIONS = np.round(np.arange(0.25, 0.651, 0.01), 3)
"""mu_* of the map of correlations."""


def _figure_5_correlations(sheet: Sheet) -> Figure:
    """The three printed correlations over what the paper does not print: mu_*, the window, the component of force."""
    t = table()
    runs = slide(
        _animal(n_segments=30),
        0.6,
        len(FRICTIONS),
        {"reference_friction": FRICTIONS},
        progress=sheet.clock("mu*", 0.6),
    )
    found = {name: [correlations(run, window) for run in runs] for name, window in WINDOWS.items()}
    shares = {
        name: np.array([band_shares(run["base_wrench"][window, 0], 1 / FRAME) for run in runs])
        for name, window in WINDOWS.items()
    }
    figure = Figure(figsize=(12, 8.5), layout="constrained")
    figure.suptitle("Correlations of Fig. 5 over $\\mu_*$, which the paper does not print; L = 10 $\\mu$m, N = 30")
    axes = figure.subplots(2, 2, sharex=True)
    panels = (
        (("acceleration",), "tip_acceleration_correlation", "accelerations of tip and base"),
        (("axial", "normal"), "normal_force_correlation", "acceleration and force of the base"),
        (("moment",), "moment_correlation", "moments of tip and base"),
    )
    columns: dict[str, Any] = {"mu": FRICTIONS}
    for ax, (names, printed, title) in zip(axes.flat, panels, strict=False):
        for name in names:
            for (window, rows), style in zip(found.items(), ("-", "--"), strict=True):
                values = np.array([row[name] for row in rows])
                columns[f"{name}_{'early' if window in list(WINDOWS)[:1] else 'steady'}"] = values
                label = f"{name + ' force, ' if len(names) > 1 else ''}{window}"
                ax.plot(FRICTIONS, values, style, color=BASE if name != "normal" else "0.55", label=label)
        ax.axhline(t[printed], color="0.4", ls=":", lw=1.5, label=f"paper: {t[printed]:g}")
        ax.set(title=title, ylabel="r")
        ax.legend(fontsize=8)
    ax = axes[1, 1]
    for mode in range(3):
        for (window, values), style in zip(shares.items(), ("-", "--"), strict=True):
            ax.plot(FRICTIONS, values[:, mode], style, color=MODES[mode], label=f"mode {mode + 1}, {window}")
            columns[f"share_{mode + 1}_{'early' if style == '-' else 'steady'}"] = values[:, mode]
    ax.set(title="share of the power of the base moment", ylabel="share")
    ax.legend(fontsize=7)
    for ax in axes[1]:
        ax.set_xlabel("$\\mu_*$")
    for ax in axes.flat:
        ax.axvline(REFERENCE_FRICTION, color="0.8", lw=4, zorder=0)
    sheet.table("all", **columns)
    best = int(np.argmin(np.abs(FRICTIONS - 0.57)))
    share = shares["0.3 to 0.6 s"][best]
    for name, printed, what in (
        ("acceleration", "tip_acceleration_correlation", "accelerations of tip and base"),
        ("axial", "normal_force_correlation", "acceleration and axial force of the base"),
        ("normal", "normal_force_correlation", "acceleration and normal force of the base"),
        ("moment", "moment_correlation", "moments of tip and base"),
    ):
        sheet.compare(
            f"r of the {what}, mu* = {FRICTIONS[best]:g}, 0.3 to 0.6 s",
            "1",
            f"{t[printed]:g}",
            t[printed] - 0.005,
            t[printed] + 0.005,
            found["0.3 to 0.6 s"][best][name],
            "positive for the axial force alone, at every mu* and in both windows"
            if name == "normal"
            else "0.56 to 0.58 comes closest to all three at once, with the axial force; there the first mode has "
            f"{share[0]:.2f} of the power, the second {share[1]:.2f}",
        )
    return figure


def _figure_5_modes(sheet: Sheet) -> Figure:
    """Which mode vibrates, over the memory length."""
    memories = np.geomspace(5e-6, 500e-6, 24)
    count = len(memories)
    start = {
        "memory_length": np.tile(memories, 2),
        "friction_coefficient": np.repeat([0.0, 0.99 * STEADY_FRICTION], count),
    }
    runs = slide(
        _animal(n_segments=30),
        1.0,
        2 * count,
        start,
        signals=("base_wrench", "slip_speed"),
        progress=sheet.clock("L", 1.0),
    )
    figure = Figure(figsize=(14, 8.5), layout="constrained")
    figure.suptitle("Fig. 5H over the whole range of L: 0.5 to 1 s after the start, N = 30; dashed: L of the paper")
    axes = figure.subplots(2, 3)
    best = {}
    for column, name in enumerate(("from a frictionless equilibrium", "from nearly steady sliding")):
        part = runs[column * count : (column + 1) * count]
        frequency = _base_power(part[0], slice(2000, None))[0]
        power = np.array([_base_power(run, slice(2000, None))[1] for run in part]) * 1e24
        shares = np.array([band_shares(run["base_wrench"][2000:, 0], 1 / FRAME) for run in part])
        sheet.table(f"spectra_{column}", L_um=UM * memories[:, None], frequency_Hz=frequency, power_pNm2_Hz=power)
        sheet.table(f"shares_{column}", L_um=UM * memories, **{f"mode_{k + 1}": shares[:, k] for k in range(4)})
        best[name] = shares[:, 1]
        ax = axes[0, column]
        image = ax.pcolormesh(
            UM * memories, frequency, 10 * np.log10(power.T + 1e-12), vmin=-40, vmax=60, cmap="viridis", rasterized=True
        )
        ax.set(xscale="log", ylim=(0, 1000), title=name, xlabel="L ($\\mu$m)", ylabel="frequency (Hz)")
        figure.colorbar(image, ax=ax, label="dB re 1 (pN m)$^2$/Hz")
        ax = axes[1, column]
        for k, what in enumerate(("mode 1", "mode 2", "mode 3", "higher")):
            ax.plot(UM * memories, shares[:, k], color=MODES[k], label=what)
        ax.set(xscale="log", xlabel="L ($\\mu$m)", ylabel="share of the power of the base moment")
        ax.legend(fontsize=8)
        slip = np.array([[run["slip_speed"][2000:].min(), run["slip_speed"][2000:].max()] for run in part])
        axes[0, 2].plot(UM * memories, slip, "-" if column else ":", color=MODES[column], label=[name, None])
        sheet.table(f"slip_{column}", L_um=UM * memories, least_m_s=slip[:, 0], greatest_m_s=slip[:, 1])
    axes[0, 2].axhline(table()["plate_speed"], color="0.6", lw=1)
    axes[0, 2].set(xscale="log", xlabel="L ($\\mu$m)", ylabel="slip speed, least and greatest (m/s)")
    axes[0, 2].legend(fontsize=8)
    growth = np.array([_growth(memory) for memory in memories])
    ax = axes[1, 2]
    for k in range(3):
        ax.plot(UM * memories, growth[:, k].real, color=MODES[k], label=f"mode {k + 1}")
    ax.axhline(0, color="0.6", lw=1)
    ax.set(xscale="log", ylim=(-60, 25), xlabel="L ($\\mu$m)", ylabel="growth of steady sliding (1/s)")
    ax.legend(fontsize=8)
    sheet.table(
        "growth",
        L_um=UM * memories,
        **{f"mode_{k + 1}_per_s": growth[:, k].real for k in range(3)},
        **{f"mode_{k + 1}_Hz": growth[:, k].imag / (2 * np.pi) for k in range(3)},
    )
    for ax in axes.flat:
        for memory in MEMORIES:
            ax.axvline(UM * memory, color="0.5", ls="--", lw=0.8)
    inside = memories[best["from nearly steady sliding"] > 0.5]
    sheet.compare(
        "greatest L at which the second mode has most of the power, from nearly steady sliding",
        "um",
        "middling L, here 50",
        5,
        500,
        UM * inside.max(),
        "its share is above 0.9 from 5 um on: smaller L is no worse",
    )
    crossing = np.interp(0.0, -growth[:, 1].real, UM * memories)
    sheet.compare(
        "L at which the second mode ceases to grow",
        "um",
        "between 50 and 500",
        50,
        500,
        crossing,
    )
    return figure


def _growth(memory: float) -> Array:
    """Eigenvalues of the first three modes about steady sliding, 1/s."""
    animal = WhiskerRod(WhiskerRodParams(n_segments=30, memory_length=memory))
    rows = animal.rows(1)
    animal.reset(rows, np.arange(1), {"friction_coefficient": STEADY_FRICTION})
    return Reference(animal, rows[0], table()["plate_speed"]).growth(rows[0])[:3]


def _modes(**params: Any) -> tuple[Array, Array, Array]:
    """Natural frequencies (Hz), shapes (n + 1, n) of the first modes, and nodes (m) of a whisker in air."""
    animal = WhiskerRod(WhiskerRodParams(n_segments=100, **params))
    rows = animal.rows(1)
    frequencies, angles = Reference(animal, rows[0]).modes()
    h = animal.rods(rows)[0, 0]
    deflection = np.concatenate([np.zeros((1, len(h))), np.cumsum(h[:, None] * angles, 0)])
    return frequencies, deflection / np.abs(deflection).max(0), np.append(0.0, np.cumsum(h))


def _table_1(sheet: Sheet) -> Figure:
    """Table 1 against itself, the modes in air, and the ring-down by which the paper found Young's modulus."""
    t, p = table(), WhiskerRodParams()
    figure = Figure(figsize=(13, 9), layout="constrained")
    figure.suptitle("Table 1: what follows from it")
    (left, right), (low_left, low_right) = figure.subplots(2, 2)
    frequencies, shapes, arc = _modes()
    for k in range(4):
        left.plot(MM * arc, shapes[:, k], color=MODES[k], label=f"{frequencies[k]:.1f} Hz")
    left.axhline(0, color="0.7", lw=0.8)
    left.set(title="modes in air", xlabel="distance from the base (mm)", ylabel="deflection, largest 1")
    left.legend(fontsize=9)
    sheet.table("modes", place_mm=MM * arc, **{f"mode_{k + 1}": shapes[:, k] for k in range(6)})

    moduli = np.linspace(2e9, 5e9, 31)
    over = frequencies[:4] * np.sqrt(moduli / p.youngs_modulus)[:, None]
    for k in range(4):
        right.plot(moduli / 1e9, over[:, k], color=MODES[k], label=f"mode {k + 1}")
    mark_printed(right, t["youngs_modulus"] / 1e9, 230.0)
    right.set(title="frequencies in air", xlabel="Young's modulus (GPa)", ylabel="Hz")
    right.legend(fontsize=9)
    sheet.table("moduli", modulus_GPa=moduli / 1e9, **{f"mode_{k + 1}_Hz": over[:, k] for k in range(4)})

    frequency, power, time, moment = _ring_down()
    low_left.semilogy(frequency, power, color=BASE)
    for k in range(4):
        low_left.axvline(frequencies[k], color=MODES[k], lw=0.8)
    low_left.axvline(230, color="0.5", ls="--", label="paper, mode 2: 230 Hz")
    low_left.set(
        title="ring-down after a force on the tip", xlabel="frequency (Hz)", ylabel="base moment, power", xlim=(0, 1000)
    )
    low_left.legend(fontsize=9)
    sheet.table("ring_down_spectrum", frequency_Hz=frequency, power=power)
    low_right.plot(MS * time[:400], NNM * moment[:400], color=BASE, lw=1)
    low_right.set(title="the same over time", xlabel="time (ms)", ylabel="base moment (nN m)")
    sheet.table("ring_down", time_ms=MS * time, moment_nNm=NNM * moment)

    a, b = p.base_radius, p.tip_radius
    mass = p.density * np.pi * p.length * (a * a + a * b + b * b) / 3
    speed = np.sqrt(p.youngs_modulus / p.density)
    numbers = (
        ("mass m_w", "mg", "0.19", 0.005, 1e6 * mass, ""),
        ("truncation length l_c", "mm", "1.066", 0.0005, MM * p.length * b / (a - b), ""),
        ("speed of sound c_s", "m/s", "1596.3", 0.05, speed, ""),
        ("damping constant delta at alpha = 1", "1e-7 kg m/s", "3.396", 0.0005, 0.5e7 * p.density * speed * a**3, ""),
        (
            "second natural frequency",
            "Hz",
            "230",
            5.0,
            frequencies[1],
            "that of the complete cone; the truncated rod needs "
            f"{p.youngs_modulus / 1e9 * (230 / frequencies[1]) ** 2:.3f} GPa for it",
        ),
    )
    for what, unit, paper, half, ours, note in numbers:
        sheet.compare(what, unit, paper, float(paper) - half, float(paper) + half, ours, note)
    complete = _modes(tip_radius=1e-7)[0][1]
    sheet.compare("second natural frequency of the complete cone", "Hz", "230", 225.0, 235.0, complete)
    peak = (frequency > 150) & (frequency < 300)
    sheet.compare(
        "peak of the second mode, ring-down",
        "Hz",
        "about 200 (Fig. 2D, a real whisker)",
        180,
        220,
        frequency[peak][np.argmax(power[peak])],
    )
    load = np.pi**2 / 4 * p.youngs_modulus * np.pi / 4 * b**4 / p.length**2
    sheet.compare("Eq. 3, critical Euler load with the tip's section", "nN", "of the order of 1", 0.1, 10, NN * load)
    return figure


def _ring_down() -> tuple[NDArray[Any], ...]:
    """Spectrum (Hz, power) and course (s, N m) of the base moment after a force on the tip is let go, 1 mm of bend."""
    animal = _animal(damping=0.1)
    h, _, _, stiffness, *_ = animal.rods(animal.rows(1))[0]
    arc = np.append(0.0, np.cumsum(h))
    bend = np.cumsum((arc[-1] - arc[:-1]) / stiffness)
    start = {"plate_distance": 1.0, "segment_angle": np.pi / 2 - 1e-3 * bend / (h @ bend)}
    series = simulate(animal, np.zeros(3), 4000 * FRAME, FRAME, start, FRAME)["moment"][:, 0]
    window = np.hanning(len(series))
    power = np.abs(np.fft.rfft(window * series)) ** 2
    frequency, time = np.fft.rfftfreq(len(series), FRAME), FRAME * np.arange(len(series))
    return frequency, power / power.max(), time, series


PAPER = Paper(
    "whisker_rod",
    "Oladazimi, Putelat, Szalai, Noda, Shimoyama, Champneys & Schwarz (2021), Conveyance of texture signals along a "
    "rat whisker, Scientific Reports 11:13570",
    (
        PaperFigure("table_1", "Parameters, what follows from them, and the whisker in air", _table_1),
        PaperFigure("figure_5", "Kinematic and dynamical outputs of the model, A to J", _figure_5),
        PaperFigure(
            "figure_5_correlations",
            "The correlations of Fig. 5 over mu*, the window of time and the component of the force",
            _figure_5_correlations,
        ),
        PaperFigure("figure_5_modes", "Which mode vibrates, over the memory length L", _figure_5_modes),
    ),
    {
        "Figure 1": "the whisker, the set-up, and sticks and slips of a recorded sweep",
        "Figure 2": "curvature and spectra of recorded sweeps, in air and on two sandpapers",
        "Figure 3": "curvature and moments of recorded sweeps",
        "Figure 4": "the force sensor, and forces measured at the base",
        "Table 2": "names of the model's outputs, without numbers; all of them are signals of `WhiskerRod`",
        "Figures S1 to S3": "recordings of other conditions, and the force sensor",
        "Figures S4, S5": "sketch and formulas of the model",
    },
)
