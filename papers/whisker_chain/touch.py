"""Figs. 5 and 8 to 12 of the whisker_chain paper: the whisker against a peg."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..paper import Sheet, mark_printed
from .air import FX, FY, MICRO, NANO, PAPER_LINE, Array
from .analysis import INSTANT, EnergyCycle, Taps, bounce, energy_cycle, slow_deflection, tap, whisk

PLACES = (0.4, 0.85)
PUSHES = (3.0, 6.0, 9.0)
SHADES = ("k", "0.4", "0.7")

SLOPE = 5e-4
"""Time (s) over which slopes of the moment are taken."""


def figure_5(sheet: Sheet) -> Figure:
    """A slow push against a peg, near and far, and how far it is from equilibrium."""
    figure = Figure(figsize=(12, 10), layout="constrained")
    figure.suptitle("Turned at 0.5 deg/s against a peg; thick: dynamic, thin white: quasi-static")
    axes = figure.subplots(3, 2)
    for column, (place, *rotations) in enumerate(((0.1, 1.0, 2.0, 4.0, 10.0, 20.0, 30.0), (0.95, 1.0, 2.0, 4.0, 6.1))):
        run = slow_deflection(place, np.deg2rad(rotations[-1]))
        degrees = np.rad2deg(run.base_angle)
        percent = 100 * run.error
        top, middle, bottom = axes[:, column]
        top.plot(degrees, MICRO * run.base_wrench[:, 0], "k", lw=4)
        top.plot(degrees, MICRO * run.quasi_static[:, 0], "w", lw=1)
        top.set(title=f"peg at s = {100 * place:g}%", ylabel="moment M (uN m)")
        for part, colour, name in ((1, FX, "Fx"), (2, FY, "Fy")):
            middle.plot(degrees, MICRO * run.base_wrench[:, part], color=colour, lw=4, label=name)
            middle.plot(degrees, MICRO * run.quasi_static[:, part], "w", lw=1)
        middle.set_ylabel("forces (uN)")
        middle.legend(frameon=False)
        for part, name in enumerate(("M", "Fx", "Fy")):
            bottom.semilogy(degrees[1:], percent[1:, part], label=name)
        bottom.axhline(0.005, **PAPER_LINE, label="paper: 0.005% or better")
        bottom.set(xlabel="rotation after contact (deg)", ylabel="median difference so far\nover the peak so far (%)")
        bottom.legend(frameon=False, ncols=2)
        sheet.table(
            f"s_{100 * place:g}",
            rotation_deg=degrees,
            **{
                f"{kind}_{name}_{unit}": MICRO * values[:, part]
                for kind, values in (("dynamic", run.base_wrench), ("quasi_static", run.quasi_static))
                for part, (name, unit) in enumerate((("M", "uNm"), ("Fx", "uN"), ("Fy", "uN")))
            },
            **{f"median_difference_{name}_percent": percent[:, part] for part, name in enumerate(("M", "Fx", "Fy"))},
        )
        at = {rotation: percent[np.argmin(np.abs(degrees - rotation))].max() for rotation in rotations}
        sheet.found(f"s{100 * place:g}_", **{f"{rotation:g}": worst for rotation, worst in at.items()})
        sheet.found(f"s{100 * place:g}_", share=percent[-1].max() / 100)
    return figure


def figure_8(sheet: Sheet) -> Figure:
    """Energy and distance after an elastic and an inelastic collision."""
    figure = Figure(figsize=(13, 8.5), layout="constrained")
    figure.suptitle("Met by a whisker that turned at 705 deg/s and whose base was stopped; step 2 ns as in the paper")
    axes = figure.subplots(2, 2)
    heights: list[float] = []
    for column, (place, duration) in enumerate(((0.4, 2e-6), (0.85, 6e-6))):
        name = f"s{100 * place:g}_"
        runs = [bounce(place, restitution, duration) for restitution in (0.0, 1.0)]
        top, bottom = axes[:, column]
        for run, colour, how in zip(runs, ("k", "0.6"), ("inelastic", "elastic"), strict=True):
            time, energy = 1e6 * np.append([-0.1 * duration, 0.0], run.time), NANO * run.energy
            top.plot(time, np.append([NANO * run.before] * 2, energy), color=colour, label=how)
            sheet.table(f"s_{100 * place:g}_{how}", time_us=1e6 * run.time, energy_nJ=energy, gap_nm=NANO * run.gap)
        inelastic, elastic = runs
        bottom.semilogy(1e6 * elastic.time, np.maximum(NANO * elastic.gap, 1e-4), color="0.6", label="elastic")
        bottom.plot([0, 1e6 * duration], [1.2e-4] * 2, "k", lw=3, label="inelastic: 0")
        picometres = sheet.printed(f"{name}height")
        bottom.axhline(1e-3 * picometres, **PAPER_LINE, label=f"paper: bounce near {picometres:g} pm")
        step = NANO * elastic.approach * INSTANT
        bottom.axhline(step, color="C3", ls=":", label=f"way within a step of 2 ns: {step:.2f} nm")
        top.axvline(0.0, color="0.7", lw=1)
        bottom.set(ylim=(1e-4, 1e3), xlabel="time after the collision (us)", ylabel="distance to the peg (nm)")
        top.set(title=f"peg at s = {100 * place:g}%", ylabel="energy (nJ)")
        top.legend(frameon=False, title=f"paper: apart by {sheet.printed(f'{name}lost'):g} nJ")
        bottom.legend(frameon=False)
        lost, heights = NANO * inelastic.collision_energy, [*heights, elastic.height]
        sheet.found(name, lost=lost, height=NANO * elastic.height, step=step)
        sheet.found(name, height_moving=NANO * bounce(place, 1.0, duration, stopped=False).height)
        sheet.found(name, damped=NANO * (inelastic.energy[0] - inelastic.energy[-1]) / lost)
    sheet.found(s40_lost_text=sheet.values["s40_lost"], increase=heights[1] / heights[0])
    return figure


def figure_9(sheet: Sheet) -> Figure:
    """Half-sine pushes of three frequencies: angle, moment and its slope."""
    frequencies, dt = np.array([4.0, 8.0, 16.0]), 2e-5
    run = tap(np.tile(frequencies, 2), np.repeat(PLACES, 3), dt)
    figure = Figure(figsize=(13, 10), layout="constrained")
    figure.suptitle("Base turned from -14 to 6 deg by a half-sine, then held; touch at time 0")
    axes = figure.subplots(3, 2, sharex=True)
    for column, place in enumerate(PLACES):
        theta, moment, slope = axes[:, column]
        for k, frequency in enumerate(frequencies):
            _push(axes[:, column], sheet, run, 3 * column + k, f"s{100 * place:g}_{frequency:g}_", frequency, dt)
        theta.axvline(0.0, color="0.8", lw=1, zorder=0)
        theta.set(title=f"peg at s = {100 * place:g}%", ylabel=r"$\theta$ (deg)", xlim=(-50, 80))
        theta.legend(
            frameon=False,
            title="paper: 232, 465, about 955 deg/s" if column == 0 else "paper, for both: 232, 465, about 955",
            loc="lower right",
        )
        moment.set_ylabel("moment M (uN m)")
        if column == 0:
            inset = moment.inset_axes((0.64, 0.42, 0.34, 0.54))
            for line in moment.get_lines():
                inset.plot(*line.get_data(), color=line.get_color(), lw=1)
            inset.set(xlim=(-1, 3), ylim=(-1.7, 0.5))
            inset.tick_params(labelsize=7)
            slope.set_yscale("symlog", linthresh=100)
        slope.set(ylabel=f"dM/dt over {1e3 * SLOPE:g} ms (uN m/s)", xlabel="time after the touch (ms)")
    return figure


def _push(axes: Any, sheet: Sheet, run: Taps, row: int, name: str, frequency: float, dt: float) -> None:
    """One push of Fig. 9: its curves and its numbers."""
    stride, (theta, moment, slope) = round(SLOPE / dt), axes
    rate, shade = np.rad2deg(run.contact_rate[row]), SHADES[2 - row % 3]
    time, value = 1e3 * run.time[:, row], MICRO * run.moment[:, row]
    middle = 0.5 * (time[stride:] + time[:-stride])
    rise = (value[stride:] - value[:-stride]) / SLOPE
    shown = slice(0, int(np.searchsorted(time, 80.0)), 5)
    label = f"{frequency:g} Hz, {rate:.0f} deg/s at the touch"
    theta.plot(time[shown], np.rad2deg(run.base_angle[shown, row]), color=shade, label=label)
    moment.plot(time[shown], value[shown], color=shade)
    slope.plot(middle[shown], rise[shown], color=shade)
    sheet.table(
        f"s_{name[1:]}Hz",
        time_ms=middle[::5],
        theta_deg=np.rad2deg(run.base_angle[stride // 2 : -(stride // 2) : 5, row][: len(middle[::5])]),
        M_uNm=value[stride // 2 : -(stride // 2) : 5][: len(middle[::5])],
        slope_uNm_per_s=rise[::5],
    )
    early = (middle > -1e3 * SLOPE) & (middle < 2.0)
    sheet.found(name, rate=rate, lead=np.abs(rise[early]).max() / np.abs(rise[~early]).max())
    if name.startswith("s40"):
        onward = (np.pi - np.arccos(-0.4)) / (2 * np.pi)  # in periods, from 0 to 6 deg
        sheet.found(name, peak=time[np.argmin(value)], onward=1e3 * onward / frequency)


def figure_10(sheet: Sheet) -> Figure:
    """Peak moment of half-sine pushes over the rate of the base at the touch."""
    frequencies = np.arange(4.0, 16.1, 2.0)
    names = ("s = 40%", "s = 85%", "in air")
    run = tap(np.tile(frequencies, 3), np.repeat([*PLACES, np.inf], len(frequencies)))
    rates = np.rad2deg(run.contact_rate).reshape(3, -1)
    peaks = MICRO * run.peak_moment.reshape(3, -1)
    figure = Figure(figsize=(8.5, 6), layout="constrained")
    ax = figure.subplots()
    for rate, peak, name, style in zip(rates, peaks, names, ("o-", "s-", "^--"), strict=True):
        ax.semilogy(rate, peak, style, color="k" if style == "o-" else "0.45", ms=5, label=name)
    ax.set(
        xlabel="rate of the base at the touch (deg/s)",
        ylabel="peak moment (uN m)",
        title="Half-sine pushes of 4 to 16 Hz by 2 Hz",
    )
    for k, printed in enumerate((232.0, 465.0, 955.0)):
        ax.axvline(printed, **PAPER_LINE, label="" if k else "paper: rates at 4, 8 and 16 Hz")
    ax.legend(frameon=False)
    sheet.table(
        "peaks",
        frequency_Hz=frequencies,
        **{
            f"{what}_{name}": values[k]
            for k, name in enumerate(("40", "85", "air"))
            for what, values in (("rate_deg_per_s", rates), ("peak_moment_uNm", peaks))
        },
    )
    near, far, free = peaks
    sheet.found(near=near[-1] / near[0], far=far[4] / far[0], far_late=far[-1] / far[4], air=free[-1] / free[0])
    sheet.found(far_over_air=far[-1] / free[-1], near_over_far=near[-1] / far[-1])
    return figure


def figure_11(sheet: Sheet) -> Figure:
    """Whisks at 8 Hz that go 3, 6 and 9 degrees beyond a peg."""
    push = np.deg2rad([10.0, *PUSHES, *PUSHES])
    place = np.array([np.inf, *np.repeat(PLACES, 3)])
    run = whisk(push, place, 0.5, signals=("base_angle", "base_wrench", "contact_force"))
    time, angle = run["time"][:-1, 0], np.rad2deg(run["base_angle"][:-1])
    wrench = MICRO * run["base_wrench"][1:]
    touch = run["contact_force"][1:, :, 0, 0] > 0.0
    later = time >= 0.125
    low, high = wrench[later, 0].min(0), wrench[later, 0].max(0)  # in air
    least = wrench[later].min(0)
    figure = Figure(figsize=(16, 10), layout="constrained")
    figure.suptitle("Whisks of 20 deg at 8 Hz against a peg; bracket: range in air; bars: contact")
    axes = figure.subplots(4, 3, sharex=True, height_ratios=[0.35, 1, 0.35, 1])
    _panels(axes, sheet, 1e3 * time, angle, wrench, touch, low, high)
    figure.legend(*axes[3, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    for ax in axes[-1]:
        ax.set_xlabel("time (ms)")
    names = [f"s_{100 * where:g}_push_{degrees:g}" for where in PLACES for degrees in PUSHES]
    for part, what in enumerate(("M_uNm", "Fx_uN", "Fy_uN")):
        sheet.table(
            what, time_s=time, in_air=wrench[:, 0, part], **{n: wrench[:, 1 + k, part] for k, n in enumerate(names)}
        )
    longer = MICRO * whisk(np.deg2rad(3.0), [0.4], 0.5, since=0.125, length=13 * 3.78e-3)["base_wrench"][:, 0].min(0)
    sheet.found(M=least[1, 0], M_over_air=least[1, 0] / low[0])
    sheet.found(Fy=least[1, 2], Fy_long=longer[2], Fx=least[1, 1], Fx_long=longer[1])
    for degrees, far in zip(PUSHES, least[4:], strict=True):
        sheet.found(f"far_{degrees:g}_", M=far[0] / low[0], Fy=far[2] / low[2], Fx=far[1] / high[1])
    return figure


def _panels(
    axes: Any, sheet: Sheet, time: Array, angle: Array, wrench: Array, touch: Array, low: Array, high: Array
) -> None:
    """Moment and forces of Fig. 11; ``low`` and ``high`` are the ranges in air."""
    order = ((0, "M (uN m)", "M"), (2, "Fy (uN)", "Fy"), (1, "Fx (uN)", "Fx"))
    for band, where in enumerate(PLACES):
        for column, (part, label, name) in enumerate(order):
            theta, ax = axes[2 * band, column], axes[2 * band + 1, column]
            for k, degrees in enumerate(PUSHES):
                row = 1 + 3 * band + k
                theta.plot(time, angle[:, row], color=SHADES[k], lw=1)
                ax.plot(time, wrench[:, row, part], color=SHADES[k], label=f"{degrees:g} deg", lw=1)
                bar = np.where(touch[:, row], 1.03 + 0.04 * k, np.nan)
                ax.plot(time, bar, color=SHADES[k], lw=2.5, transform=ax.get_xaxis_transform(), clip_on=False)
            theta.set_ylabel(r"$\theta$ (deg)", fontsize=8)
            ax.plot([505, 512, 512, 505], [low[part]] * 2 + [high[part]] * 2, "C0", lw=1.5, clip_on=False)
            ax.set(ylabel=label, xlim=(0, 500))
            if band == 0:
                ax.axhline(sheet.printed(name), **PAPER_LINE)
            if column == 1:
                theta.set_title(f"peg at s = {100 * where:g}%")
            if band == 0:
                ax.set_ylim(bottom=1.18 * ax.get_ylim()[0])
                words = f"dashed: paper, 3 deg: {sheet.printed(name):g} {sheet.row(name).unit}"
                ax.text(0.5, 0.03, words, ha="center", transform=ax.transAxes, fontsize=9)


def figure_12(sheet: Sheet) -> Figure:
    """Moment and energy of whisks against those of equilibria, and how the energies differ over the peg's place."""
    places = np.linspace(0.1, 0.9, 17)
    run = energy_cycle(np.deg2rad(np.tile(PUSHES, len(places))), np.repeat(places, 3))
    cycle, contact = (100 * run.difference(only).reshape(-1, 3) for only in (False, True))
    figure = Figure(figsize=(16, 9.5), layout="constrained")
    figure.suptitle("Whisks at 8 Hz against a peg: dynamic and quasi-static")
    axes = figure.subplots(2, 3)
    for column, where in enumerate(PLACES):
        row = 3 * int(np.argmin(np.abs(places - where))) + 1
        _course(axes[:, column], sheet, run, row, f"{100 * where:g}")
    for ax, values, name in ((axes[0, 2], cycle, "over the cycle"), (axes[1, 2], contact, "while in contact")):
        for k, degrees in enumerate(PUSHES):
            ax.plot(100 * places, values[:, k], "o-", ms=3, color=SHADES[k], label=f"push of {degrees:g} deg")
        mark_printed(ax, 80.0, 50.0, "paper: nearly 50%, 3 deg")
        ax.set(title=f"C: energy that equilibria lack, {name}", ylabel="% of the dynamic", ylim=(0, 100))
        ax.legend(frameon=False)
    axes[1, 2].set_xlabel("peg at s (%)")
    sheet.table(
        "C",
        s_percent=100 * places,
        **{
            f"{name}_push_{degrees:g}_percent": values[:, k]
            for name, values in (("cycle", cycle), ("contact", contact))
            for k, degrees in enumerate(PUSHES)
        },
    )
    thirty, eighty = (int(np.argmin(np.abs(places - where))) for where in (0.3, 0.8))
    for name, values in (("cycle", cycle), ("contact", contact)):
        fall = values[eighty, 0] - values[eighty, 2]
        rise = np.diff(values[:, 0]).min()
        sheet.found(f"{name}_", **{"80": values[eighty, 0], "30": values[thirty, 0]}, rise=rise, fall=fall)
    return figure


def _course(axes: Any, sheet: Sheet, run: EnergyCycle, row: int, where: str) -> None:
    """Panels A and B of Fig. 12: one whisk beside its equilibria."""
    (moment, energy), time = axes, 1e3 * run.time
    columns = {
        "M_uNm": MICRO * run.moment[:, row],
        "M_quasi_static_uNm": MICRO * run.quasi_static_moment[:, row],
        "energy_nJ": NANO * run.energy[:, row],
        "energy_quasi_static_nJ": NANO * run.quasi_static_energy[:, row],
    }
    curves = iter(columns.values())
    for ax in (moment, energy):
        ax.plot(time, next(curves), "k", label="dynamic")
        ax.plot(time, next(curves), color="0.6", label="quasi-static")
    moment.set(title=f"A: push of 6 deg, peg at s = {where}%", ylabel="moment M (uN m)")
    energy.set(title="B: energy", ylabel="energy (nJ)", xlabel="time (ms)")
    moment.legend(frameon=False)
    sheet.table(f"AB_s_{where}", time_ms=time, **columns)
