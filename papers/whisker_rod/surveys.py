"""Fig. 5 of the whisker rod's paper over conditions that are not printed: friction, time window and start."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from gymnosoma.envs.whisker_rod import WhiskerRod, WhiskerRodParams
from gymnosoma.envs.whisker_rod.params import REFERENCE_FRICTION, table

from ..paper import Sheet
from .analysis import FRAME, STEADY_FRICTION, band_shares, correlations, slide
from .reference import Reference
from .sliding import BASE, MEMORIES, MODES, STEADY, SWEEP, UM, Array, animal, base_power

READINGS = {"filmed sweep": (SWEEP, True), "sweep": (SWEEP, False), "0.3 to 0.6 s": (STEADY, False)}
"""Readings of the correlations: frames, and whether accelerations are finite differences of positions in them."""

LINES = {"filmed sweep": "-", "sweep": "--", "0.3 to 0.6 s": ":"}

FRICTIONS = np.round(np.arange(0.25, 0.651, 0.01), 3)
"""Values of mu_* in the figure of correlations."""


def figure_5_correlations(sheet: Sheet) -> Figure:
    """Draw the three printed correlations over mu_*, for several time windows and components of the force."""
    start = {"reference_friction": FRICTIONS}
    signals = ("arc", "moment", "acceleration", "centreline", "base_wrench")
    runs = slide(animal(n_segments=30), 0.6, len(FRICTIONS), start, signals=signals, progress=sheet.clock("mu*", 0.6))
    results = {name: [correlations(run, *how) for run in runs] for name, how in READINGS.items()}
    figure = Figure(figsize=(12, 8.5), layout="constrained")
    figure.suptitle(
        "Correlations over $\\mu_*$, which the paper does not print; L = 10 μm, N = 30; grey: ours elsewhere"
    )
    axes = figure.subplots(2, 2, sharex=True)
    panels = (
        (("acceleration",), "accelerations of tip and base"),
        (("axial", "normal"), "acceleration and force of the base"),
        (("moment",), "moments of tip and base"),
    )
    columns: dict[str, Any] = {"mu": FRICTIONS}
    for ax, (names, title) in zip(axes.flat, panels, strict=False):
        for name in names:
            for how, rows in results.items():
                values = np.array([row[name] for row in rows])
                columns[f"{name}_{how.replace(' ', '_')}"] = values
                label = f"{name + ' force, ' if len(names) > 1 else ''}{how}"
                ax.plot(FRICTIONS, values, LINES[how], color=BASE if name != "normal" else MODES[1], label=label)
        paper = sheet.printed(names[-1])
        ax.axhline(paper, color="k", lw=0.8, label=f"paper: {paper:g}")
        ax.set(title=title, ylabel="r")
    ax = axes[1, 1]
    shares = np.array([band_shares(run["base_wrench"][STEADY, 0], 1 / FRAME) for run in runs])
    for mode in range(3):
        ax.plot(FRICTIONS, shares[:, mode], color=MODES[mode], label=f"mode {mode + 1}")
        columns[f"share_{mode + 1}"] = shares[:, mode]
    ax.set(title="share of the power of the base moment, 0.3 to 0.6 s", ylabel="share")
    for ax in axes[1]:
        ax.set_xlabel("$\\mu_*$")
    for ax in axes.flat:
        ax.axvline(REFERENCE_FRICTION, color="0.8", lw=4, zorder=0)
        ax.legend(ncols=2)
    sheet.table("all", **columns)
    rows = results["filmed sweep"]
    missed = [sum(abs(row[name] - sheet.printed(name)) for name in ("acceleration", "moment")) for row in rows]
    best = int(np.argmin(missed))
    (whole,) = slide(animal(reference_friction=FRICTIONS[best]), 0.15, signals=signals)
    sheet.found(**correlations(whole, *READINGS["filmed sweep"]), best=FRICTIONS[best])
    normal = np.array([[row["normal"] for row in rows] for rows in results.values()])
    axial = np.array([[row["axial"] for row in rows] for rows in results.values()])
    sheet.found(greatest_normal=normal.max(), least_axial=axial.min(), greatest_axial=axial.max())
    return figure


def figure_5_modes(sheet: Sheet) -> Figure:
    """Draw the shares of the vibrating modes over the memory length."""
    memories = np.geomspace(5e-6, 500e-6, 24)
    count = len(memories)
    start = {
        "memory_length": np.tile(memories, 2),
        "friction_coefficient": np.repeat([0.0, 0.99 * STEADY_FRICTION], count),
    }
    signals, clock = ("base_wrench", "slip_speed"), sheet.clock("L", 1.0)
    runs = slide(animal(n_segments=30), 1.0, 2 * count, start, signals=signals, progress=clock)
    figure = Figure(figsize=(14, 8.5), layout="constrained")
    figure.suptitle("Fig. 5H over the whole range of L: 0.5 to 1 s after the start, N = 30; dashed: L of the paper")
    axes = figure.subplots(2, 3)
    shares = [
        _start(figure, axes, sheet, column, name, memories, runs[column * count : (column + 1) * count])
        for column, name in enumerate(("from a frictionless equilibrium", "from nearly steady sliding"))
    ]
    axes[0, 2].axhline(table()["plate_speed"], color="0.6", lw=1)
    axes[0, 2].set(xscale="log", xlabel="L (μm)", ylabel="slip speed, least and greatest (m/s)")
    axes[0, 2].legend()
    growth = np.array([_growth(memory) for memory in memories])
    ax = axes[1, 2]
    for k in range(3):
        ax.plot(UM * memories, growth[:, k].real, color=MODES[k], label=f"mode {k + 1}")
    ax.axhline(0, color="0.6", lw=1)
    ax.set(xscale="log", ylim=(-60, 25), xlabel="L (μm)", ylabel="growth of steady sliding (1/s)")
    ax.legend()
    rates = {f"mode_{k + 1}_per_s": growth[:, k].real for k in range(3)}
    frequencies = {f"mode_{k + 1}_Hz": growth[:, k].imag / (2 * np.pi) for k in range(3)}
    sheet.table("growth", L_um=UM * memories, **rates, **frequencies)
    for ax in axes.flat:
        for memory in MEMORIES:
            ax.axvline(UM * memory, color="0.5", ls="--", lw=0.8)
    for name, share in zip(("rest", "sliding"), shares, strict=True):
        sheet.found(name, **{"": UM * memories[np.argmax(share[:, 1])], "_share": share[:, 1].max()})
    sheet.found(ceases=np.interp(0.0, -growth[:, 1].real, UM * memories))
    return figure


def _start(figure: Figure, axes: Any, sheet: Sheet, column: int, name: str, memories: Array, part: list[Any]) -> Array:
    """Draw spectra, shares and slip speeds over L for one start, and return the shares of the modes (L, 4)."""
    frequency = base_power(part[0], slice(2000, None))[0]
    power = np.array([base_power(run, slice(2000, None))[1] for run in part]) * 1e24
    shares = np.array([band_shares(run["base_wrench"][2000:, 0], 1 / FRAME) for run in part])
    sheet.table(f"spectra_{column}", L_um=UM * memories[:, None], frequency_Hz=frequency, power_pNm2_Hz=power)
    sheet.table(f"shares_{column}", L_um=UM * memories, **{f"mode_{k + 1}": shares[:, k] for k in range(4)})
    ax = axes[0, column]
    decibels = 10 * np.log10(power.T + 1e-12)
    image = ax.pcolormesh(UM * memories, frequency, decibels, vmin=-40, vmax=60, cmap="viridis", rasterized=True)
    ax.set(xscale="log", ylim=(0, 1000), title=name, xlabel="L (μm)", ylabel="frequency (Hz)")
    figure.colorbar(image, ax=ax, label="dB re 1 (pN m)$^2$/Hz")
    ax = axes[1, column]
    for k, what in enumerate(("mode 1", "mode 2", "mode 3", "higher")):
        ax.plot(UM * memories, shares[:, k], color=MODES[k], label=what)
    ax.set(xscale="log", xlabel="L (μm)", ylabel="share of the power of the base moment")
    ax.legend()
    slip = np.array([[run["slip_speed"][2000:].min(), run["slip_speed"][2000:].max()] for run in part])
    axes[0, 2].plot(UM * memories, slip, "-" if column else ":", color=MODES[column], label=[name, None])
    sheet.table(f"slip_{column}", L_um=UM * memories, least_m_s=slip[:, 0], greatest_m_s=slip[:, 1])
    return shares


def _growth(memory: float) -> Array:
    """Return the eigenvalues of the first three modes about steady sliding, 1/s."""
    rod = WhiskerRod(WhiskerRodParams(n_segments=30, memory_length=memory))
    rows = rod.rows(1)
    rod.reset(rows, np.arange(1), {"friction_coefficient": STEADY_FRICTION})
    return Reference(rod, rows[0], table()["plate_speed"]).growth(rows[0])[:3]
