"""Fig. 5 of the whisker rod's paper: outputs of the model while the plate slides under the whisker."""

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

from ..paper import COLOURS, Sheet
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
"""Factors from SI to the units of axes: mm, um or uN, nN, nN m, ms."""

BASE, STICK, SLIP, TIP, *_ = COLOURS
MODES = COLOURS
STEADY, SWEEP = slice(1200, 2400), slice(60, 572)
"""Frames from 0.3 to 0.6 s, and of the paper's sweep (60 degrees at 420 deg/s) without its first 15 ms."""

FINE = FRAME / 5
"""Interval (s) between samples in panels A to F; the frames undersample these signals."""

MEMORIES = (5e-6, 50e-6, 500e-6)
"""Memory lengths L of Fig. 5H, m."""

CURVED = -10.0
"""Intrinsic curvature of the tip of a curved whisker, rad/m; the base is straight."""


def animal(**params: Any) -> WhiskerRod:
    """Return the paper's whisker with the paper's solver."""
    return WhiskerRod(WhiskerRodParams(**params), scheme="published")


@cache
def _runs() -> list[Trajectory]:
    """Simulate 1 s of sliding at L = 10, 5, 50 and 500 um from rest, and at the last three from near steady sliding.

    The last three have L = 10 um: a whisker with a curved tip at the usual distance, then this whisker and a straight
    one at distances at which the plate pushes them with the same mean force.
    """
    signals = ("arc", "moment", "acceleration", "velocity", "base_wrench", "slip_speed", "curvature_change")
    distances, usual = [table()["plate_distance"]] * 8 + [0.972, 0.986], animal()
    start = {
        "memory_length": np.array([10e-6, *MEMORIES, *MEMORIES, *[10e-6] * 3]),
        "friction_coefficient": np.repeat([0.0, 0.99 * STEADY_FRICTION, 0.0], [4, 3, 3]),
        "curvature_tip": np.repeat([0.0, CURVED, 0.0], [7, 2, 1]),
        "plate_distance": usual.params.length * np.array(distances),
    }
    return slide(usual, 1.0, 10, start, signals=signals)


def base_power(run: Run, window: slice) -> tuple[Array, Array]:
    """Return frequencies (Hz) and power spectral density of the moment on the base, in the frames of ``window``."""
    return spectrum(run["base_wrench"][window, 0], 1 / FRAME)


def _events(ax: Axes, run: Run, trace: Array | None = None) -> None:
    """Draw sticks and slips as vertical lines, and as dots on ``trace``."""
    for frames, colour in ((sticks(run), STICK), (slips(run, table()["plate_speed"]), SLIP)):
        for frame in frames[(frames >= STEADY.start) & (frames < STEADY.start + 200)]:
            ax.axvline(MS * run["time"][frame], color=colour, lw=0.6, alpha=0.6, zorder=0)
            if trace is not None:
                ax.plot(MS * run["time"][frame], trace[frame], "o", ms=3.5, color=colour)


def _trace(ax: Axes, sheet: Sheet, panel: str, run: Run, values: Array, what: str, column: Any, colour: str) -> None:
    """Draw 50 ms of one of the panels A to F."""
    first = int(np.searchsorted(run["time"], 0.3 - 1e-9))
    window = slice(first, first + round(0.05 / FINE))
    time = MS * run["time"]
    ax.plot(time[window], values[window], color=colour, lw=0.8)
    ax.set(title=f"{panel}  {what}", ylabel=column[0], xlim=(time[window.start], time[window.stop]))
    sheet.table(panel, time_ms=time[window], **{column[1]: values[window]})


def figure_5(sheet: Sheet) -> Figure:
    """Draw kinematics, forces and moments, events, spectra, and curvature and moment along the rod."""
    ten, *others, curved, bent, held = _runs()
    fifty = others[4]
    figure = Figure(figsize=(14, 16), layout="constrained")
    figure.suptitle("The model at 0.2 m/s; A to G at L = 10 μm; vertical lines: sticks (orange) and slips (green)")
    axes = figure.subplot_mosaic(
        [["A", "D", "G"], ["B", "E", "H"], ["C", "F", "H2"], ["I", "I", "J"]], height_ratios=[1, 1, 1, 1.5]
    )
    signals = ("arc", "moment", "acceleration", "velocity", "base_wrench")
    _traces(axes, sheet, ten, slide(animal(), 0.351, every=FINE, signals=signals)[0])
    _sticks(axes["G"], sheet, ten)
    names = [f"{memory}{how}" for how in (" from rest", "") for memory in (5, 50, 500)]
    _spectra(axes["H"], axes["H2"], sheet, dict(zip(names, others, strict=True)))
    _along(figure, axes, sheet, fifty)
    t, slip = table(), ten["slip_speed"][STEADY] / table()["plate_speed"]
    sheet.found(least_slip=slip.min(), greatest_slip=slip.max(), stuck=100 * np.mean(slip < 0.05))
    for name, window in (("steady_", STEADY), ("sweep_", SWEEP)):
        sheet.found(name, **correlations(ten, window))
    tip, base = (station(ten, "acceleration", t[f"{end}_station"])[STEADY, 0] for end in ("tip", "base"))
    lags = np.arange(-8, 9)
    r = [np.corrcoef(tip[8:-8], np.roll(base, -lag)[8:-8])[0, 1] for lag in lags]
    sheet.table("C_correlogram", lag_ms=MS * FRAME * lags, r=r)
    opposed = sum(value < 0.0 for value in r[4:13])
    sheet.found(lag=MS * FRAME * lags[np.argmin(r)], lag_correlation=min(r), lag_none=r[8], lags=opposed)
    for name, pair in (("height_", (curved, ten)), ("force_", (bent, held))):
        r_curved, r_straight = (correlations(run, STEADY) for run in pair)
        sheet.found(name, **{key: r_curved[key] - r_straight[key] for key in ("acceleration", "moment")})
    at_tip, at_base = (np.var(station(ten, "moment", s)[STEADY]) for s in (t["length"] - 1e-3, 1e-3))
    sheet.found(variances=at_tip / at_base, node_10=MM * principal_mode(ten, STEADY.start)[1][0])
    far, near = (station(ten, "moment", t[f"{end}_station"])[STEADY] for end in ("tip", "base"))
    sheet.found(scale=near.std() / far.std(), scale_mean=near.mean() / far.mean())
    # The printed correlations of a real whisker have no sign, except for that of tip and base.
    real = correlations(ten, STEADY)
    sheet.found("real_", tip=real["acceleration"], normal=abs(real["normal"]), axial=abs(real["axial"]))
    sheet.found(real_forces=abs(np.corrcoef(*ten["base_wrench"][STEADY, 1:].T)[0, 1]))
    return figure


def _traces(axes: Mapping[str, Axes], sheet: Sheet, frames: Run, run: Run) -> None:
    """Draw panels A to F: signals of tip and base over time in ``run``, and the events in its ``frames``."""
    t = table()
    tip, base = (station(run, "acceleration", t[f"{end}_station"])[:, 0] for end in ("tip", "base"))
    # In the paper the base turns and the surface rests: a plate moving along +x is equivalent to a base along -x.
    turning = np.rad2deg(t["plate_speed"] / (t["plate_distance"] * t["length"]))
    rate, frame_rate = (
        turning - np.rad2deg(station(part, "velocity", t["base_station"])[:, 0] / t["base_station"])
        for part in (run, frames)
    )
    traces: Any = {
        "A": (rate, "angular velocity at 3 mm", ("deg/s", "rate_deg_s"), BASE),
        "B": (base, "acceleration at 3 mm", ("m/s$^2$", "acceleration_m_s2"), BASE),
        "C": (tip, "acceleration at 24 mm", ("m/s$^2$", "acceleration_m_s2"), TIP),
        "D": (UM * run["base_wrench"][:, 2], "axial force on the base, towards the tip", ("μN", "force_uN"), BASE),
        "E": (NNM * station(run, "moment", t["base_station"]), "moment at 3 mm", ("nN m", "moment_nNm"), BASE),
        "F": (1e3 * NNM * station(run, "moment", t["tip_station"]), "moment at 24 mm", ("pN m", "moment_pNm"), TIP),
    }
    for panel, (values, what, column, colour) in traces.items():
        _trace(axes[panel], sheet, panel, run, values, what, column, colour)
        _events(axes[panel], frames, frame_rate if panel == "A" else None)
    axes["A"].axhline(turning, color="0.5", ls="--", lw=1, label="driving velocity")
    axes["A"].set_ylim(300, None)
    axes["A"].legend(loc="lower right")
    for panel in "CF":
        axes[panel].set_xlabel("time (ms)")


def _sticks(ax: Axes, sheet: Sheet, run: Run) -> None:
    """Draw panel G: forces around sticks."""
    lags, events = np.arange(-16, 17), sticks(run)
    events = events[(events > STEADY.start) & (events < STEADY.stop)]
    columns = {}
    for name, values, colour in (
        ("normal", run["base_wrench"][:, 1], BASE),
        ("axial", run["base_wrench"][:, 2], TIP),
        ("moment", run["base_wrench"][:, 0], "0.4"),
    ):
        course = (around(values, events, 16, 16) - values[STEADY].mean()) / values[STEADY].std()
        columns[f"{name}_sd"] = course
        ax.plot(MS * FRAME * lags, course, color=colour, label=f"{name} force" if name != "moment" else "moment")
    ax.axvline(0, color=STICK, lw=1)
    ax.set(title=f"G  base, mean of {len(events)} sticks", xlabel="time from the stick (ms)", ylabel="deviation (SD)")
    ax.set_ylim(top=2.8)
    ax.legend(loc="upper right")
    sheet.table("G", time_ms=MS * FRAME * lags, **columns)
    normal = columns["normal_sd"]
    near, far = normal[12:21], np.delete(normal, np.s_[12:21])
    sheet.found(stick_force=near.max() - far.max(), stick_delay=MS * FRAME * lags[12:21][np.argmax(near)])


def _spectra(decibels: Axes, linear: Axes, sheet: Sheet, runs: Mapping[str, Run]) -> None:
    """Draw panel H: spectra of the moment on the base, and the share of the second mode."""
    second, shares = table()["mode_frequency"], {}
    for k, (name, run) in enumerate(runs.items()):
        frequency, density = base_power(run, slice(2000, None))
        shares[name] = band_shares(run["base_wrench"][2000:, 0], 1 / FRAME)
        sheet.table(f"H_{name.replace(' ', '_')}", frequency_Hz=frequency, power_pNm2_Hz=density * 1e24)
        style: Any = {"color": MODES[k % 3], "lw": 1.0, "ls": ":" if "rest" in name else "-"}
        for ax, values in ((decibels, 10 * np.log10(density / 1e-24)), (linear, density * 1e24)):
            ax.plot(
                frequency, values, label=f"L = {name.replace(' ', ' μm ', 1)}{'' if ' ' in name else ' μm'}", **style
            )
    for ax in (decibels, linear):
        ax.axvline(second, color="0.5", ls="--", lw=1, zorder=0)
        ax.text(second, 1.0, "*", transform=ax.get_xaxis_transform(), ha="center", va="center", fontsize=16)
        ax.set_xlim(0, 1000)
    decibels.set(title="H  spectra of the moment on the base", ylabel="dB re 1 (pN m)$^2$/Hz", ylim=(-60, None))
    linear.set(title="H  the same, linear", xlabel="frequency (Hz)", ylabel="(pN m)$^2$/Hz")
    linear.legend(loc="upper right")
    sheet.table(
        "H_shares", mode=[1, 2, 3, 4], **{f"L_{name.replace(' ', '_')}": share for name, share in shares.items()}
    )
    for start, how in (("", "sliding"), (" from rest", "rest")):
        share = {memory: shares[f"{memory}{start}"][1] for memory in (5, 50, 500)}
        sheet.found(f"{how}_", best=max(share, key=lambda memory: share[memory]))
        sheet.found(f"{how}_share_", **{str(memory): value for memory, value in share.items()})


def _along(figure: Figure, axes: Mapping[str, Axes], sheet: Sheet, run: Run) -> None:
    """Draw panels I and J: curvature and moment along the rod."""
    ax, window = axes["I"], slice(2000, 2400)
    time, arc = MS * run["time"][window], MM * run["arc"][0][:-1]
    image = -run["curvature_change"][window]
    # The steady bend, a thousand times as strong at the tip as at the base, hides the vibration.
    change = image - image.mean(0)
    norm = SymLogNorm(0.1, vmin=-100, vmax=100)
    mesh = ax.pcolormesh(time, arc, change.T, cmap="RdBu_r", norm=norm, shading="nearest", rasterized=True)
    figure.colorbar(mesh, ax=ax, label="$\\Delta\\kappa$ less its mean over time (1/m)", pad=0.01)
    ax.set(title="I  curvature, L = 50 μm", xlabel="time (ms)", ylabel="distance from the base (mm)")
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
    ax.set(title="J  moment, L = 50 μm", xlabel="distance from the base (mm)", ylabel="nN m")
    ax.legend()
    sheet.table("J", time_ms=time[:, None], place_mm=arc[None], moment_nNm=moments)
    sheet.found(node_50=MM * nodes[0], node_real=MM * nodes[0])
