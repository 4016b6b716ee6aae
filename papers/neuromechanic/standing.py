"""Illustration 3 of the neuromechanic paper: a standing figure on a platform that moves sideways."""

from __future__ import annotations

from functools import cache

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from gymnosoma.biomechanics import characteristic_roots
from gymnosoma.envs import simulate
from gymnosoma.envs.core.model.trajectory import Trajectory
from gymnosoma.envs.neuromechanic import Neuromechanic
from gymnosoma.envs.neuromechanic.contact import OPEN, SLIP
from gymnosoma.envs.neuromechanic.standing import DELAY, HIPS, STANCE, feet, reflex_input, standing, upright

from ..paper import Sheet
from .hindlimb import FREE, LIMIT, MS, PINNED, Array

DURATION, STEP, WINDOW = 3.0, 2.5e-4, 40
"""Simulated time, as in the paper, and time step, s; number of steps over which drawn forces are averaged, because an
impact lasts one step."""


@cache
def stands(what: str) -> Trajectory:
    """Simulate the figure with free or pinned feet at a quarter of the usual time step, and record every step."""
    return simulate(Neuromechanic(standing(feet=what), STEP), reflex_input(), DURATION, every=STEP)


def events(run: Trajectory) -> tuple[list[float], list[float]]:
    """Return the times (s) at which left and right foot slip first, and lift off first; NaN if they never do."""
    mode, time = run["contact_mode"][1:].T, run.time[1:]
    slips, lifts = ([float(min(time[foot], default=np.nan)) for foot in of] for of in (mode >= SLIP, mode == OPEN))
    return slips, lifts


def lean(run: Trajectory) -> Array:
    """Return the largest angle of torso and legs from the vertical at each time, rad."""
    q = run["q"]
    return np.abs(q[:, 2:3] + np.column_stack([np.zeros(len(q)), q[:, 3:]])).max(1)


def _person(ax: Axes, q: Array, label: str) -> None:
    """Draw a standing figure with coordinates (5,) on axes in m."""
    hips = q[:2] + 0.5 * HIPS * np.outer([-1.0, 1.0], [np.cos(q[2]), np.sin(q[2])])
    for hip, foot, colour in zip(hips, feet(q[None])[0], (FREE, "0.35"), strict=True):
        ax.plot(*np.transpose([hip, foot]), color=colour, lw=3, solid_capstyle="round")
        ax.plot(*foot, "o", color=colour, ms=5)
    up = np.array([-np.sin(q[2]), np.cos(q[2])])
    ax.fill(*np.transpose([*hips, q[:2] + 0.55 * up]), color="0.75", ec="0.35")
    ax.plot(*(q[:2] + 0.68 * up), "o", ms=15, mfc="0.9", mec="0.35")
    ax.axhline(0.0, color="0.5", lw=1)
    ax.set(aspect="equal", xlim=(q[0] - 0.75, q[0] + 0.75), ylim=(-0.12, 1.75), xticks=[], yticks=[], title=label)
    for side in ax.spines.values():
        side.set_visible(False)


def figure_3(sheet: Sheet) -> Figure:
    """Draw illustration 3: the free and the pinned figure on the moving ground."""
    free, pinned = stands("free"), stands("pinned")
    mode, (slips, lifts) = free["contact_mode"][1:], events(free)
    before = slice(1, int(np.flatnonzero(mode.max(1) >= SLIP)[0]))
    torque = [run["neurons"][:, -2:] for run in (free, pinned)]
    ground = [free["contact_force"][:, :, :2], pinned["reaction"].reshape(-1, 2, 2)]
    ground[1][0] = ground[1][1]
    ground[0][0] = ground[0][1]

    figure = Figure(figsize=(14, 9.5), layout="constrained")
    names = {f"{k}": (when, what) for k, (when, what) in enumerate(_frames(slips[0], lifts), start=1)}
    axes = figure.subplot_mosaic([[*names], ["torque"] * 5, ["across"] * 5, ["up"] * 5], height_ratios=[1.7, 1, 1, 1])
    for name, (when, what) in names.items():
        _person(axes[name], free["q"][round(when / STEP)], f"({name}) {when:.2f} s\n{what}")
    _courses(axes, sheet, [free.time, pinned.time], torque, ground, [when for when, _ in names.values()])
    for name, runs in (("torque", torque), ("ground", ground)):
        gap, peak = np.abs(runs[0][before] - runs[1][before]).max(), np.abs(runs[1][before]).max()
        sheet.found(name, **{"": 100 * gap / peak, "_gap": gap, "_peak": peak})
    sheet.found(slip=slips[0], other_slip=slips[1] - slips[0], lift=min(lifts), steps=np.isfinite(lifts).sum())
    place = MS * feet(free["q"])
    sheet.found(lean=lean(free).max(), height=place[..., 1].max(), lifted=MS * STEP * (mode == OPEN).sum(0).max())
    sheet.found(closer=np.diff(place[0, :, 0] - place[-1, :, 0])[0])
    least, other = ground[1][:, 1, 1], ground[1][:, 0, 1]
    sheet.found(pinned=least.min(), pinned_time=pinned.time[np.argmax(least <= 0.0)], pinned_other=other.min())
    return figure


def _courses(
    axes: dict[str, Axes],
    sheet: Sheet,
    times: list[Array],
    torque: list[Array],
    ground: list[Array],
    frames: list[float],
) -> None:
    """Draw the left hip's torque and the ground's forces on the left foot over time, free and pinned."""
    lines = {
        "torque": ("left hip torque (N m)", [run[:, 0] for run in torque]),
        "across": ("left GRF, sideways (N)", [_mean(run[:, 0, 0]) for run in ground]),
        "up": ("left GRF, upward (N)", [_mean(run[:, 0, 1]) for run in ground]),
    }
    for panel, (label, runs) in lines.items():
        ax = axes[panel]
        ax.plot(times[1], runs[1], color=PINNED, lw=1.3, label="feet pinned")
        ax.plot(times[0], runs[0], color=FREE, lw=1.0, label="feet free")
        for when, what in ((sheet.printed("slip"), "slip"), (sheet.printed("lift"), "stepping")):
            ax.axvline(when, label=f"paper: {what}" if panel == "torque" else None, **LIMIT)
        for number, when in enumerate(frames, 1):
            place = ax.get_xaxis_transform()
            ax.annotate(f"{number}", (when, 1.0), xycoords=place, ha="center", va="bottom", fontsize=9)
        ax.set(xlim=(0, DURATION), ylabel=label)
        ax.margins(y=0.1)
        ax.tick_params(labelbottom=panel == "up")
        sheet.table(panel, time_s=times[0], free=runs[0], pinned=runs[1])
    axes["torque"].legend(ncols=4, loc="upper center")
    axes["up"].plot(times[1], _mean(ground[1][:, 1, 1]), color=PINNED, lw=1, ls=":", label="right foot, pinned")
    axes["up"].legend(loc="lower left")
    axes["up"].axhline(0.0, color="k", lw=0.6)
    axes["up"].set_xlabel(f"time (s); forces are means over {MS * STEP * WINDOW:.0f} ms")


def _mean(values: Array) -> Array:
    """Return the moving average over `WINDOW` steps, with the ends repeated."""
    padded = np.pad(values, (WINDOW // 2, WINDOW - 1 - WINDOW // 2), mode="edge")
    return np.convolve(padded, np.full(WINDOW, 1.0 / WINDOW), mode="valid")


def _frames(slip: float, lifts: list[float]) -> tuple[tuple[float, str], ...]:
    """Return the times (s) and titles of the drawn frames."""
    left, right = lifts
    off = ((left, "left foot off the ground"), (right, "right foot off the ground"))
    return (0.0, "stands"), (slip, "left foot slips"), *off, (DURATION, "stands, feet closer together")


def growth_over_delay(stance: float, delays: ArrayLike) -> Array:
    """Return the real part (1/s) of the rightmost characteristic root of the pinned figure, for each delay (s).

    The gains are the paper's. The figure is stable if the value is negative. Delays must be 3 ms to 0.4 s.
    """
    delays, longest = np.asarray(delays, float), 0.4
    animal = Neuromechanic(standing(stance, "pinned", delay=longest))
    start = {"q": upright(stance), "input": reflex_input(stance)}
    late = [characteristic_roots(animal, start | {"delay": d / longest}, 12)[0].real for d in delays.ravel()]
    return np.array(late).reshape(delays.shape)


def critical_delay(stance: float) -> float:
    """Return the delay (s), up to 0.4 s, at which the pinned figure with the paper's gains becomes unstable."""
    return float(brentq(lambda delay: float(growth_over_delay(stance, delay)), 0.02, 0.4, xtol=1e-5))


def illustration_3(sheet: Sheet) -> Figure:
    """Draw the stability of the pinned figure over stance and delay."""
    stances, delays = np.linspace(0.95, 1.7, 31), np.linspace(0.02, 0.4, 39)
    each = sheet.progress(stances, "stances")
    rates = np.array([growth_over_delay(float(stance), delays) for stance in each])
    sheet.table("map", stance_hip_widths=stances[:, None], delay_s=delays, growth_per_s=rates)
    few = np.array([1.0, 1.1, 1.2, 1.4, 1.6])
    critical = np.array([critical_delay(stance) for stance in few])
    sheet.table("critical", stance_hip_widths=few, delay_s=critical)
    figure = Figure(figsize=(8.5, 6), layout="constrained")
    ax = figure.subplots()
    limit = 4.0
    image = ax.contourf(
        stances,
        MS * delays,
        np.clip(rates, -limit, limit).T,
        np.linspace(-limit, limit, 17),
        cmap="RdBu_r",
        extend="both",
    )
    figure.colorbar(image, ax=ax, label="growth rate of the fastest deviation (1/s)")
    ax.contour(stances, MS * delays, rates.T, [0.0], colors="k", linewidths=1.5)
    ax.axhline(MS * DELAY, label="paper: delay of 120 ms", **LIMIT)
    ax.plot(few, MS * critical, "s", color="k", ms=5)
    for stance, delay in zip(few, critical, strict=True):
        ax.annotate(f"{MS * delay:.0f} ms", (stance, MS * delay), (6, 4), textcoords="offset points")
    ax.plot(STANCE, MS * DELAY, "o", color="k", ms=6, label="the stance of Fig. 3, ours")
    ax.set(
        xlabel="stance (hip widths)",
        ylabel="delay (ms)",
        title="Pinned feet, 255 N m/rad and 85 N m s/rad; black: limit",
    )
    ax.legend(loc="upper right")
    return figure
