"""Illustration 3 of the neuromechanic paper: a standing figure on a platform that jerks sideways."""

from __future__ import annotations

from functools import cache

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from gymnosoma.biomechanics import characteristic_roots
from gymnosoma.envs import simulate
from gymnosoma.envs.core.model.run import ensemble
from gymnosoma.envs.core.model.trajectory import Trajectory
from gymnosoma.envs.neuromechanic import Neuromechanic
from gymnosoma.envs.neuromechanic.contact import OPEN, SLIP
from gymnosoma.envs.neuromechanic.standing import (
    DELAY,
    HIPS,
    feet,
    reflex_input,
    standing,
    upright,
)

from ..paper import Sheet
from .hindlimb import FREE, LIMIT, MS, PINNED, Array

_PULSE = (0.16, 0.0507, -7.75)
"""Acceleration pulse of the ground, as in the asset: onset (s), duration (s), peak (m/s^2)."""


@cache
def _stands(what: str) -> Trajectory:
    """Simulate 3 s with the pulse of the ground, with free or pinned feet, at a quarter of the usual time step."""
    animal = Neuromechanic(standing(feet=what), 2.5e-4)
    return simulate(animal, reflex_input(1.1), 3.0, every=1e-3, hold=1e-3)


def events(run: Trajectory) -> tuple[float, float, float]:
    """Return the times (s) at which the left and right foot slip and the left foot lifts off; NaN if it never does."""
    mode = run["contact_mode"][1:]
    happened = mode[:, 0] >= SLIP, mode[:, 1] >= SLIP, mode[:, 0] == OPEN
    first, second, third = (float(run.time[1:][when][0]) if when.any() else np.nan for when in happened)
    return first, second, third


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
    """Draw illustration 3: the free and the pinned figure after a jerk of the ground."""
    free, pinned = _stands("free"), _stands("pinned")
    mode, (*slips, lift) = free["contact_mode"][1:], events(free)
    before = slice(1, int(np.flatnonzero(mode.max(1) >= SLIP)[0]))
    torque = [run["neurons"][:, -2:] for run in (free, pinned)]
    ground = [free["contact_force"][:, :, :2], pinned["reaction"].reshape(-1, 2, 2)]
    ground[1][0] = ground[1][1]
    ground[0][0] = ground[0][1]

    figure = Figure(figsize=(14, 9.5), layout="constrained")
    names = {f"{k}": (when, what) for k, (when, what) in enumerate(_frames(slips[0], lift), start=1)}
    axes = figure.subplot_mosaic([[*names], ["torque"] * 5, ["across"] * 5, ["up"] * 5], height_ratios=[1.7, 1, 1, 1])
    for name, (when, what) in names.items():
        _person(axes[name], free["q"][round(when / 1e-3)], f"({name}) {when:.2f} s\n{what}")
    _courses(axes, sheet, [free.time, pinned.time], torque, ground, [when for when, _ in names.values()])
    for name, runs in (("torque", torque), ("ground", ground)):
        gap, peak = np.abs(runs[0][before] - runs[1][before]).max(), np.abs(runs[1][before]).max()
        sheet.found(name, **{"": 100 * gap / peak, "_gap": gap, "_peak": peak})
    sheet.found(slip=slips[0], other_slip=slips[1] - slips[0], lift=lift, pinned=ground[1][1:, :, 1].min())
    sheet.found(unloading=MS * _unloading_pulse(), pulse=MS * _PULSE[1])
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
        "across": ("left GRF, sideways (N)", [run[:, 0, 0] for run in ground]),
        "up": ("left GRF, upward (N)", [run[:, 0, 1] for run in ground]),
    }
    for panel, (label, runs) in lines.items():
        ax = axes[panel]
        ax.plot(times[1], runs[1], color=PINNED, lw=1.3, label="feet pinned")
        ax.plot(times[0], runs[0], color=FREE, lw=1.0, label="feet free")
        for when, what in ((0.4, "slip"), (2.3, "stepping")):
            ax.axvline(when, label=f"paper: {what}" if panel == "torque" else None, **LIMIT)
        for number, when in enumerate(frames, 1):
            place = ax.get_xaxis_transform()
            ax.annotate(f"{number}", (when, 1.0), xycoords=place, ha="center", va="bottom", fontsize=9)
        steady = np.concatenate([run[:2200] for run in runs])
        low, high = np.quantile(np.concatenate([steady, runs[1]]), [0.0, 1.0])
        ax.set(xlim=(0, 3), ylabel=label, ylim=(low - 0.2 * (high - low), high + 0.2 * (high - low)))
        ax.tick_params(labelbottom=panel == "up")
        sheet.table(panel, time_s=times[0], free=runs[0], pinned=runs[1])
    axes["torque"].legend(ncols=2, loc="lower center", bbox_to_anchor=(0.45, 0.0))
    axes["up"].axhline(0.0, color="k", lw=0.6)
    axes["up"].set_xlabel("time (s); the steps at the end go beyond the axes")


def _unloading_pulse() -> float:
    """Return the shortest pulse of the ground (s) that makes the pinned figure lift a foot."""
    animal, durations = Neuromechanic(standing(feet="pinned")), np.linspace(_PULSE[1], 0.065, 30)
    pulse = np.column_stack([np.full(30, _PULSE[0]), durations, np.full(30, _PULSE[2])])
    run = ensemble(animal, reflex_input(1.1), 30, 1.5, start={"pulse": pulse}, signals=["reaction"])
    least = run["reaction"][1:, :, 1::2].min((0, 2))
    return float(np.interp(0.0, -least, durations))


def _frames(slip: float, lift: float) -> tuple[tuple[float, str], ...]:
    """Return the times (s) and titles of the drawn frames."""
    return (
        (0.0, "stands"),
        (slip, "left foot slips"),
        (lift, "lift-off"),
        (lift + 0.25, "steps"),
        (lift + 0.5, "steps"),
    )


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
    ax.plot(1.1, MS * DELAY, "o", color="k", ms=6, label="the stance of Fig. 3, ours")
    ax.set(
        xlabel="stance (hip widths)",
        ylabel="delay (ms)",
        title="Pinned feet, 255 N m/rad and 85 N m s/rad; black: limit",
    )
    ax.legend(loc="upper right")
    return figure
