"""Fig. 5 of the whisker rod's paper over conditions that are not printed: friction, time window and start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from gymnosoma.envs.whisker_rod import WhiskerRod, WhiskerRodParams
from gymnosoma.envs.whisker_rod.params import REFERENCE_FRICTION, table

from ..paper import Sheet
from .analysis import (
    FRAME,
    STEADY_FRICTION,
    Run,
    around,
    band_shares,
    correlations,
    slide,
    station,
    sticks,
    tip_sticks,
)
from .reference import Reference
from .sliding import (
    BASE,
    CURVED,
    FINE,
    MEMORIES,
    MODES,
    MS,
    NNM,
    STEADY,
    SWEEP,
    TIP,
    UM,
    Array,
    animal,
    base_power,
)

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


SETTINGS: Mapping[str, Mapping[str, float]] = {
    "as in Fig. 5": {},
    **{f"mu* = {mu:g}": {"reference_friction": mu} for mu in (0.25, 0.3, 0.5, 0.65)},
    **{f"L = {UM * memory:g} μm": {"memory_length": memory} for memory in (5e-6, 20e-6, 50e-6, 100e-6)},
    **{f"damping {alpha:g}": {"damping": alpha} for alpha in (0.1, 0.3)},
    **{f"distance {distance:g}": {"plate_distance": distance} for distance in (0.985, 0.99)},
    "curved tip": {"curvature_tip": CURVED},
}
"""Conditions of the sticks that differ from those of Fig. 5: friction, memory, damping, distance (lengths), shape."""

FORCES = {"axial": 2, "moment": 0, "normal": 1}
"""Components of the wrench on the base."""


def figure_5_sticks(sheet: Sheet) -> Figure:
    """Draw the wrench on the base during sticks by two definitions: the base is slowest, or the tip itself sticks."""
    usual = animal()
    start = {
        name: np.array([setting.get(name, default) for setting in SETTINGS.values()])
        for name, default in (
            ("reference_friction", REFERENCE_FRICTION),
            ("memory_length", 10e-6),
            ("damping", 1.0),
            ("plate_distance", table()["plate_distance"]),
            ("curvature_tip", 0.0),
        )
    }
    start["plate_distance"] = usual.params.length * start["plate_distance"]
    signals = ("arc", "velocity", "base_wrench", "slip_speed")
    clock = sheet.clock("sticks", 0.6)
    runs = slide(usual, 0.6, len(SETTINGS), start, every=FINE, signals=signals, progress=clock)
    changes = {how: np.array([change(run) for run in runs]) for how, change in DEFINITIONS.items()}
    figure = Figure(figsize=(14, 10), layout="constrained")
    figure.suptitle("Wrench on the base during sticks, by two definitions of a stick; A to C at L = 10 μm")
    (trace, base), (survey, tip) = figure.subplots(2, 2)
    _draw_definitions(trace, sheet, runs[0])
    _draw_courses(base, tip, sheet, runs[0])
    names, marks = [*SETTINGS], {"base": "s", "tip": "o"}
    for how, values in changes.items():
        for column, (force, colour) in enumerate(zip(FORCES, (TIP, BASE), strict=False)):
            survey.plot(values[:, column], np.arange(len(names)), marks[how], color=colour, label=f"{force}, {how}")
    survey.axvline(0.0, color="k", lw=0.8)
    survey.set_yticks(range(len(names)), names)
    survey.invert_yaxis()
    survey.set(title="D  change during a stick, by setting", xlabel="change (SD)")
    survey.legend(loc="best")
    for k, force in enumerate(FORCES):
        for how, values in changes.items():
            own = values[np.isfinite(values[:, k]), k]
            if (how, force) == ("base", "normal"):
                continue
            sheet.found(
                f"{how}_{force}",
                **{"": values[0, k], "_least": own.min(), "_greatest": own.max(), "_count": int((own > 0.0).sum())},
            )
        sheet.found(f"mean_{force}", **{"": SCALES[force] * _steady(runs[0]["base_wrench"][:, FORCES[force]]).mean()})
    sheet.found(settings=len(SETTINGS), sticking=int(np.isfinite(changes["tip"][:, 0]).sum()))
    columns = {f"{force}_{how}_sd": changes[how][:, k] for how in changes for k, force in enumerate(FORCES)}
    sheet.table("D", setting=np.array(names), **columns)
    return figure


SCALES = {"axial": UM, "moment": NNM, "normal": UM}
"""Factors from SI to μN and nN m."""

EVERY = round(FRAME / FINE)
"""Samples of a run in one frame of the camera."""


def _steady(values: Array) -> Array:
    """Return the samples from 0.3 s on."""
    return values[EVERY * STEADY.start :]


def _after_base_sticks(run: Run) -> Array:
    """Return the change (SD) of each force from a stick of the base to 0.25 to 1 ms after it."""
    frames = {name: run[name][::EVERY] for name in run}
    events = sticks(frames)
    events = events[events > STEADY.start]
    courses = [around(frames["base_wrench"][:, column], events, 0, 4) for column in FORCES.values()]
    return np.array(
        [
            (course[1:].mean() - course[0]) / _steady(run["base_wrench"][:, column]).std()
            for course, column in zip(courses, FORCES.values(), strict=True)
        ]
    )


def _during_tip_sticks(run: Run) -> Array:
    """Return the change (SD) of each force from the beginning to the end of a stick of the tip; NaN without sticks."""
    first, last = _whole_sticks(run).T
    wrench = run["base_wrench"]
    if not len(first):
        return np.full(len(FORCES), np.nan)
    columns = FORCES.values()
    return np.array([(wrench[last, k] - wrench[first, k]).mean() / _steady(wrench[:, k]).std() for k in columns])


DEFINITIONS = {"base": _after_base_sticks, "tip": _during_tip_sticks}


def _whole_sticks(run: Run) -> NDArray[np.int64]:
    """Return the sticks of the tip (N, 2) that begin after 0.3 s and end within the run."""
    found = tip_sticks(run, table()["plate_speed"])
    return found[(found[:, 0] > EVERY * STEADY.start) & (found[:, 1] < len(run["slip_speed"]) - 1)]


def _draw_definitions(ax: Axes, sheet: Sheet, run: Run) -> None:
    """Draw panel A: 20 ms of the tip's slip speed and the base's velocity, with the sticks by both definitions."""
    window = slice(EVERY * STEADY.start, EVERY * STEADY.start + round(0.02 / FINE))
    time, slip = MS * run["time"][window], run["slip_speed"][window] / table()["plate_speed"]
    velocity = -station(run, "velocity", table()["base_station"])[window, 0] / table()["plate_speed"]
    ax.plot(time, slip, color=TIP, label="slip speed of the tip")
    ax.plot(time, 10.0 * velocity, color=BASE, label="velocity at 3 mm against the plate's, times 10")
    for first, last in _whole_sticks(run):
        if first < window.stop:
            ax.axvspan(MS * run["time"][first], MS * run["time"][last], color=TIP, alpha=0.12, lw=0)
    for frame in sticks({name: run[name][::EVERY] for name in run}):
        if window.start <= EVERY * frame < window.stop:
            ax.axvline(MS * run["time"][EVERY * frame], color=BASE, lw=1, ls=":")
    ax.set(title="A  dotted: the base is slowest; shaded: the tip sticks", xlabel="time (ms)", ylabel="over 0.2 m/s")
    ax.set(xlim=(time[0], time[-1]), ylim=(-0.3, 4.2))
    ax.legend(loc="upper right")
    sheet.table("A", time_ms=time, slip_speed=slip, base_velocity=velocity)


def _draw_courses(base: Axes, tip: Axes, sheet: Sheet, run: Run) -> None:
    """Draw panels B and C: the mean course of the forces around the sticks of the base and of the tip."""
    frames = EVERY * sticks({name: run[name][::EVERY] for name in run})
    whole = _whole_sticks(run)
    events = {"B": (base, frames[frames > EVERY * STEADY.start]), "C": (tip, whole[:, 0])}
    lags = np.arange(-80, 81)
    for panel, (ax, starts) in events.items():
        columns = {}
        for (force, column), colour in zip(FORCES.items(), (TIP, BASE, "0.4"), strict=True):
            values = run["base_wrench"][:, column]
            course = (around(values, starts, 80, 80) - _steady(values).mean()) / _steady(values).std()
            columns[f"{force}_sd"] = course
            ax.plot(MS * FINE * lags, course, color=colour, label=force if force == "moment" else f"{force} force")
        ax.axvline(0.0, color="k", lw=0.8)
        ax.set(xlabel="time from the stick (ms)", ylabel="deviation (SD)", ylim=(-2.0, 3.0))
        sheet.table(panel, time_ms=MS * FINE * lags, **columns)
    base.axvspan(0.25, 1.0, color="0.5", alpha=0.15, lw=0, label="0.25 to 1 ms after")
    base.set_title(f"B  the base is slowest at 0: mean of {len(events['B'][1])} sticks")
    tip.axvspan(0.0, MS * FINE * np.diff(whole).mean(), color=TIP, alpha=0.12, lw=0, label="mean stick")
    tip.set_title(f"C  the tip sticks from 0 on: mean of {len(whole)} sticks")
    for ax in (base, tip):
        ax.legend(loc="upper right")
