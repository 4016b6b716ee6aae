"""Fig. 5 of the whisker_rod paper: what the model gives while the plate slides under the whisker."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import SymLogNorm
from matplotlib.figure import Figure
from numpy.typing import NDArray

from gymnosoma.envs import Trajectory
from gymnosoma.envs.whisker_rod import WhiskerRod, WhiskerRodParams
from gymnosoma.envs.whisker_rod.params import table

from ..paper import Sheet
from .analysis import (
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


def animal(**params: Any) -> WhiskerRod:
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
    return slide(animal(), 1.0, 6, start, signals=signals)


def base_power(run: Run, window: slice) -> tuple[Array, Array]:
    """Frequencies (Hz) and power spectral density of the moment on the base, in the frames of ``window``."""
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


def figure_5(sheet: Sheet) -> Figure:
    """Outputs of the model: kinematics, forces and moments, events, spectra, curvature and moment along the rod."""
    ten, five, fifty_rest, slow, fifty, _ = _runs()
    figure = Figure(figsize=(15, 16), layout="constrained")
    figure.suptitle("Fig. 5: the model at 0.2 m/s; A to G at L = 10 $\\mu$m, J at 50 $\\mu$m")
    axes = figure.subplot_mosaic(
        [["A", "D", "G"], ["B", "E", "H"], ["C", "F", "H2"], ["I", "I", "J"]], height_ratios=[1, 1, 1, 1.5]
    )
    _traces(axes, sheet, ten)
    _sticks(axes["G"], sheet, ten)
    _spectra(axes["H"], axes["H2"], sheet, {"5": five, "50": fifty, "500": slow, "50 from rest": fifty_rest})
    _along(figure, axes, sheet, fifty)
    t, slip = table(), ten["slip_speed"][STEADY] / table()["plate_speed"]
    sheet.found(least_slip=slip.min(), greatest_slip=slip.max(), stuck=100 * np.mean(slip < 0.05))
    early, steady = correlations(ten, EARLY), correlations(ten, STEADY)
    sheet.found("steady_", **steady)
    sheet.found("early_", **{name: early[name] for name in ("acceleration", "axial", "moment")})
    tip, base = (station(ten, "acceleration", t[f"{end}_station"])[STEADY, 0] for end in ("tip", "base"))
    lags = np.arange(-8, 9)
    r = [np.corrcoef(tip[8:-8], np.roll(base, -lag)[8:-8])[0, 1] for lag in lags]
    sheet.table("C_correlogram", lag_ms=MS * FRAME * lags, r=r)
    sheet.found(lag=MS * FRAME * lags[np.argmin(r)], lag_correlation=min(r), lag_none=r[8])
    at_tip, at_base = (np.var(station(ten, "moment", s)[STEADY]) for s in (t["length"] - 1e-3, 1e-3))
    sheet.found(variances=at_tip / at_base, node_10=MM * principal_mode(ten, STEADY.start)[1][0])
    return figure


def _traces(axes: Mapping[str, Axes], sheet: Sheet, run: Run) -> None:
    """Panels A to F: signals of tip and base over time."""
    t = table()
    tip, base = (station(run, "acceleration", t[f"{end}_station"])[:, 0] for end in ("tip", "base"))
    # In the paper the base turns and the surface rests: the plate that comes along +x is a base that goes along -x.
    turning = np.rad2deg(t["plate_speed"] / (t["plate_distance"] * t["length"]))
    rate = turning - np.rad2deg(station(run, "velocity", t["base_station"])[:, 0] / t["base_station"])
    traces: Any = {
        "A": (rate, "angular velocity at 3 mm", ("deg/s", "rate_deg_s"), BASE),
        "B": (base, "acceleration at 3 mm", ("m/s$^2$", "acceleration_m_s2"), BASE),
        "C": (tip, "acceleration at 24 mm", ("m/s$^2$", "acceleration_m_s2"), TIP),
        "D": (-NN * run["base_wrench"][:, 2] / 1e3, "axial force on the base", ("$\\mu$N", "force_uN"), BASE),
        "E": (NNM * station(run, "moment", t["base_station"]), "moment at 3 mm", ("nN m", "moment_nNm"), BASE),
        "F": (1e3 * NNM * station(run, "moment", t["tip_station"]), "moment at 24 mm", ("pN m", "moment_pNm"), TIP),
    }
    for panel, (values, what, column, colour) in traces.items():
        _trace(axes[panel], sheet, panel, run, values, what, column, colour)
    axes["A"].axhline(turning, color="0.5", ls="--", lw=1, label="driving velocity")
    axes["A"].set_ylim(335, None)
    axes["A"].legend(fontsize=8, loc="lower right", ncols=3)
    for panel in "CF":
        axes[panel].set_xlabel("time (ms)")


def _sticks(ax: Axes, sheet: Sheet, run: Run) -> None:
    """Panel G: forces about sticks."""
    lags, events = np.arange(-16, 17), sticks(run)
    events = events[(events > STEADY.start) & (events < STEADY.stop)]
    columns = {}
    for name, values, colour in (
        ("normal", run["base_wrench"][:, 1], BASE),
        ("axial", -run["base_wrench"][:, 2], TIP),
        ("moment", run["base_wrench"][:, 0], "0.4"),
    ):
        course = (around(values, events, 16, 16) - values[STEADY].mean()) / values[STEADY].std()
        columns[f"{name}_sd"] = course
        ax.plot(MS * FRAME * lags, course, color=colour, label=f"{name} force" if name != "moment" else "moment")
    ax.axvline(0, color=STICK, lw=1)
    ax.set(
        title=f"G  base, about {len(events)} sticks", xlabel="time from the stick (ms)", ylabel="standard deviations"
    )
    ax.legend(fontsize=8)
    sheet.table("G", time_ms=MS * FRAME * lags, **columns)
    near = columns["normal_sd"][8:25]
    sheet.found(stick_force=near.max(), stick_delay=MS * FRAME * lags[8:25][np.argmax(near)])


def _spectra(decibels: Axes, linear: Axes, sheet: Sheet, runs: Mapping[str, Run]) -> None:
    """Panel H: spectra of the moment on the base."""
    power = {name: base_power(run, slice(2000, None)) for name, run in runs.items()}
    for k, name in enumerate(("5", "50", "500")):
        frequency, density = power[name]
        label = f"L = {name} $\\mu$m" + (", from nearly steady sliding" if name == "50" else "")
        for ax, values in ((decibels, 10 * np.log10(density / 1e-24)), (linear, density * 1e24)):
            ax.plot(frequency, values, color=MODES[k], lw=1.2, label=label)
    frequency, density = power["50 from rest"]
    style: dict[str, Any] = {"color": MODES[1], "lw": 0.8, "ls": ":", "label": "50 $\\mu$m, from rest"}
    decibels.plot(frequency, 10 * np.log10(density / 1e-24), **style)
    for name, (frequency, density) in power.items():
        panel = "H_50um_from_rest" if "rest" in name else f"H_{name}um"
        sheet.table(panel, frequency_Hz=frequency, power_pNm2_Hz=density * 1e24)
    second = table()["mode_frequency"]
    for ax in (decibels, linear):
        ax.axvline(second, color="0.5", ls="--", lw=1)
        ax.set_xlim(0, 1000)
    decibels.text(second, 0.97, "*", transform=decibels.get_xaxis_transform(), ha="center", va="top", fontsize=16)
    decibels.set(title="H  moment on the base, 0.5 to 1 s", ylabel="dB re 1 (pN m)$^2$/Hz")
    decibels.set_ylim(bottom=-60)
    decibels.legend(fontsize=7, loc="upper right")
    linear.set(xlabel="frequency (Hz)", ylabel="(pN m)$^2$/Hz", yscale="linear")
    shares = {name: band_shares(run["base_wrench"][2000:, 0], 1 / FRAME) for name, run in runs.items()}
    columns = {f"L_{name.replace(' ', '_')}": shares[name] for name in ("5", "50", "50 from rest", "500")}
    sheet.table("H_shares", mode=[1, 2, 3, 4], **columns)
    second_mode = {name: shares[name][1] for name in ("5", "50", "500")}
    sheet.found(second_mode=second_mode["50"], from_rest=shares["50 from rest"][1])
    sheet.found("share_", **{name: second_mode[name] for name in ("5", "500")})
    sheet.found(best_memory=float(max(second_mode, key=lambda name: second_mode[name])))


def _along(figure: Figure, axes: Mapping[str, Axes], sheet: Sheet, run: Run) -> None:
    """Panels I and J: curvature and moment along the rod."""
    ax, window = axes["I"], slice(2000, 2400)
    time, arc = MS * run["time"][window], MM * run["arc"][0][:-1]
    image = -run["curvature_change"][window]
    # The thin end is bent a thousand times as much as the base.
    norm = SymLogNorm(0.1, vmin=-1000, vmax=1000)
    mesh = ax.pcolormesh(time, arc, image.T, cmap="RdBu_r", norm=norm, shading="nearest", rasterized=True)
    figure.colorbar(mesh, ax=ax, label="$\\Delta\\kappa = \\kappa_i - \\kappa$ (1/m)", pad=0.01)
    ax.set(title="I  curvature, L = 50 $\\mu$m", xlabel="time (ms)", ylabel="distance from the base (mm)")
    sheet.table("I", time_ms=time[:, None], place_mm=arc[None], curvature_change_per_m=image)

    ax, moments = axes["J"], NNM * run["moment"][window]
    ax.plot(arc, moments[::4].T, color="0.75", lw=0.5)
    shape, nodes = principal_mode(run, 2000)
    extremes = np.argsort((moments - moments.mean(0)) @ shape)
    for frame in (*extremes[:2], *extremes[-2:]):
        ax.plot(arc, moments[frame], color=SLIP, lw=1.3)
    low, high = (MM * s for s in table()["moment_node"])
    ax.axvspan(low, high, color="0.5", alpha=0.15, label="nodes in the paper")
    ax.axvline(MM * nodes[0], color="k", lw=1, label=f"node of the vibration: {MM * nodes[0]:.1f} mm")
    ax.set(title="J  moment, four extremes in green", xlabel="distance from the base (mm)", ylabel="nN m")
    ax.legend(fontsize=8)
    sheet.table("J", time_ms=time[:, None], place_mm=arc[None], moment_nNm=moments)
    sheet.found(node_50=MM * nodes[0])
