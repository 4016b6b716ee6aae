"""Figs. 5 and 8 to 12 of the whisker chain's paper: the whisker against a peg."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..paper import COLOURS, Sheet, mark_printed
from .air import FX, FY, MICRO, NANO, PAPER_LINE, Array
from .analysis import INSTANT, EnergyCycle, Taps, bounce, energy_cycle, slow_deflection, tap, whisk

PLACES = (0.4, 0.85)
PUSHES = (3.0, 6.0, 9.0)
SHADES = ("k", "0.4", "0.7")

SLOPE = 5e-4
"""Interval (s) over which slopes of the moment are computed."""


def figure_5(sheet: Sheet) -> Figure:
    """Draw slow pushes against a near and a far peg, and their difference from equilibrium."""
    figure = Figure(figsize=(12, 10), layout="constrained")
    figure.suptitle("Turned at 0.5 deg/s against a peg; thick: dynamic, thin white: quasi-static")
    axes = figure.subplots(3, 2, sharex="col")
    for column, (place, *rotations) in enumerate(((0.1, 1.0, 2.0, 4.0, 10.0, 20.0, 30.0), (0.95, 1.0, 2.0, 4.0, 6.1))):
        run = slow_deflection(place, np.deg2rad(rotations[-1]))
        degrees, percent = np.rad2deg(run.base_angle), 100 * run.error
        top, middle, bottom = axes[:, column]
        for ax, part, colour in ((top, 0, "k"), (middle, 1, FX), (middle, 2, FY)):
            ax.plot(degrees, MICRO * run.base_wrench[:, part], color=colour, lw=4, label=("M", "Fx", "Fy")[part])
            ax.plot(degrees, MICRO * run.quasi_static[:, part], "w", lw=1)
        top.set(title=f"{'AB'[column]}  moment, peg at s = {100 * place:g}%", ylabel="M (μN m)")
        middle.set(title=f"{'CD'[column]}  forces", ylabel="force (μN)")
        for part, name in enumerate(("M", "Fx", "Fy")):
            bottom.semilogy(degrees[1:], percent[1:, part], label=name)
        bottom.axhline(0.005, **PAPER_LINE, label="paper: 0.005% or better")
        bottom.set(xlabel="rotation after contact (deg)", ylabel="% of the peak so far")
        bottom.set_title("median difference so far (not in the paper)")
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
    for ax in axes[1:, 0]:
        ax.legend()
    return figure


def figure_8(sheet: Sheet) -> Figure:
    """Draw energy and distance after an elastic and an inelastic collision."""
    figure = Figure(figsize=(12, 8.5), layout="constrained")
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
            gap = NANO * (run.gap if how == "elastic" else 0.0 * run.gap)  # stays at the peg
            bottom.plot(time[1:], np.append(0.0, gap), color=colour)
            sheet.table(f"s_{100 * place:g}_{how}", time_us=1e6 * run.time, energy_nJ=energy, gap_nm=NANO * run.gap)
        inelastic, elastic = runs
        printed, step = sheet.printed(f"{name}height"), NANO * elastic.approach * INSTANT
        bottom.axhline(1e-3 * printed, zorder=0, **PAPER_LINE, label=f"paper: bounce near {printed:g} pm")
        bottom.axhline(step, color=COLOURS[1], ls=":", label=f"way within a step of 2 ns: {step:.2f} nm")
        bottom.set(xlabel="time after the collision (μs)", ylabel="distance (nm)")
        bottom.set_title(f"{'CD'[column]}  distance to the peg")
        top.axvline(0.0, color="0.7", lw=1, zorder=0)
        top.set(title=f"{'AB'[column]}  energy, peg at s = {100 * place:g}%", ylabel="energy (nJ)")
        top.legend(title=f"paper: apart by {sheet.printed(f'{name}lost'):g} nJ")
        bottom.legend(loc="upper right")
        lost, heights = NANO * inelastic.collision_energy, [*heights, elastic.height]
        moving, half = (bounce(place, 1.0, duration, stopped=False, damping=factor).height for factor in (1.0, 0.5))
        sheet.found(name, lost=lost, height=NANO * elastic.height, step=step)
        sheet.found(name, height_moving=NANO * moving, height_half=NANO * half)
        sheet.found(name, damped=NANO * (inelastic.energy[0] - inelastic.energy[-1]) / lost)
    sheet.found(s40_lost_text=sheet.values["s40_lost"], increase=heights[1] / heights[0])
    return figure


def figure_9(sheet: Sheet) -> Figure:
    """Draw angle, moment and slope of the moment for half-sine pushes at three frequencies."""
    run, coarse = (tap(np.tile(FREQUENCIES, 2), np.repeat(PLACES, 3), dt) for dt in (DT_9, COARSE))
    figure = Figure(figsize=(12, 10), layout="constrained")
    figure.suptitle("Base turned from -14 to 6 deg by a half-sine, then held; touch at time 0")
    axes = figure.subplots(3, 2, sharex=True)
    for column, place in enumerate(PLACES):
        theta, moment, slope = axes[:, column]
        for k, frequency in enumerate(FREQUENCIES):
            name = f"s{100 * place:g}_{frequency:g}_"
            _push(axes[:, column], sheet, run, 3 * column + k, name, frequency)
            sheet.found(f"{name}rate", _coarse=np.rad2deg(coarse.contact_rate[3 * column + k]))
        _leads(sheet, run, coarse, column)
        for ax in axes[:, column]:
            ax.axvline(0.0, color="0.8", lw=1, zorder=0)
        theta.set(title=f"{'AB'[column]}  base, peg at s = {100 * place:g}%", ylabel=r"$\theta$ (deg)", xlim=(-50, 80))
        theta.legend(title="paper: 232, 465, ~955 deg/s", loc="lower right")
        moment.set(title=f"{'CE'[column]}  moment", ylabel="M (μN m)")
        slope.set(title=f"{'DF'[column]}  slope of the moment over {1e3 * SLOPE:g} ms", ylabel="dM/dt (μN m/s)")
        slope.set_xlabel("time after the touch (ms)")
    inset = axes[1, 0].inset_axes((0.64, 0.42, 0.34, 0.54))
    for line in axes[1, 0].get_lines()[:3]:
        inset.plot(*line.get_data(), color=line.get_color(), lw=1)
    inset.set(xlim=(-1, 3), ylim=(-1.7, 0.5))
    inset.tick_params(labelsize=8)
    axes[2, 0].set_yscale("symlog", linthresh=100)
    return figure


FREQUENCIES = np.array([4.0, 8.0, 16.0])
DT_9, COARSE = 2e-5, 1e-3
"""Time steps (s) of Figs. 9 and 11: a converged one, and the one that gives the printed numbers."""


def _slope(time: Array, moment: Array, interval: float) -> tuple[Array, Array]:
    """Return the midpoints (ms) of intervals of ``interval`` s, and the slope (uN m/s) of the moment in them."""
    stride = round(1e3 * interval / (time[1] - time[0]))
    return 0.5 * (time[stride:] + time[:-stride]), (moment[stride:] - moment[:-stride]) / interval


def _lead(run: Taps, row: int, interval: float) -> float:
    """Return the steepest slope of the moment within 2 ms of the touch, over the steepest at other times."""
    middle, rise = _slope(1e3 * run.time[:, row], MICRO * run.moment[:, row], interval)
    early = (middle > -1e3 * interval) & (middle < 2.0)
    return float(np.abs(rise[early]).max() / np.abs(rise[~early]).max())


def _leads(sheet: Sheet, run: Taps, coarse: Taps, column: int) -> None:
    """Add the values on the slope in Figs. 9D and 9F to the sheet, for pushes against one peg."""
    rows, name = range(3 * column, 3 * column + 3), f"s{100 * PLACES[column]:g}_lead"
    sheet.found(name, **{"": min(_lead(run, row, SLOPE) for row in rows)})
    sheet.found(name, _coarse=min(_lead(coarse, row, COARSE) for row in rows))
    if column:
        sheet.found(name, _slow=min(_lead(run, row, COARSE) for row in rows))


def _push(axes: Any, sheet: Sheet, run: Taps, row: int, name: str, frequency: float) -> None:
    """Draw one push of Fig. 9, and add its values to the sheet."""
    stride, (theta, moment, slope) = round(SLOPE / DT_9), axes
    rate, shade = np.rad2deg(run.contact_rate[row]), SHADES[2 - row % 3]
    time, value, angle = 1e3 * run.time[:, row], MICRO * run.moment[:, row], np.rad2deg(run.base_angle[:, row])
    middle, rise = _slope(time, value, SLOPE)
    window = slice(0, int(np.searchsorted(time, 80.0)), 5)
    theta.plot(time[window], angle[window], color=shade, label=f"{frequency:g} Hz, {rate:.0f} deg/s at the touch")
    moment.plot(time[window], value[window], color=shade)
    slope.plot(middle[window], rise[window], color=shade)
    sheet.table(
        f"s_{name[1:]}Hz",
        time_ms=middle[::5],
        theta_deg=angle[stride // 2 : -(stride // 2) : 5][: len(middle[::5])],
        M_uNm=value[stride // 2 : -(stride // 2) : 5][: len(middle[::5])],
        slope_uNm_per_s=rise[::5],
    )
    touch = int(np.searchsorted(time, 0.0))
    sheet.found(name, rate=rate, angle=angle[touch])
    if name.startswith("s40"):
        onward = (np.pi - np.arccos(-0.4)) / (2 * np.pi)  # in periods, from 0 to 6 deg
        late = value[touch:]
        sheet.found(name, peak=time[touch + np.argmax(late <= 0.99 * late.min())], onward=1e3 * onward / frequency)


def figure_10(sheet: Sheet) -> Figure:
    """Draw the peak moment of half-sine pushes over the rate of the base at the touch."""
    frequencies = np.arange(4.0, 16.1, 2.0)
    names = ("s = 40%", "s = 85%", "in air")
    run = tap(np.tile(frequencies, 3), np.repeat([*PLACES, np.inf], len(frequencies)))
    rates = np.rad2deg(run.contact_rate).reshape(3, -1)
    peaks = MICRO * run.peak_moment.reshape(3, -1)
    figure = Figure(figsize=(9, 6), layout="constrained")
    ax = figure.subplots()
    for rate, peak, name, style in zip(rates, peaks, names, ("o-", "s-", "^--"), strict=True):
        ax.semilogy(rate, peak, style, color="k" if style == "o-" else "0.45", ms=5, label=name)
    ax.set(
        xlabel="rate of the base at the touch (deg/s)",
        ylabel="peak moment (μN m)",
        title="Half-sine pushes of 4 to 16 Hz by 2 Hz",
    )
    rough = MICRO * tap(frequencies, PLACES[1], friction=0.2).peak_moment
    ax.plot(rates[1], rough, "s:", color=COLOURS[0], ms=4, label="s = 85%, with a friction of 0.2")
    for k, printed in enumerate((232.0, 465.0, 955.0)):
        ax.axvline(printed, **PAPER_LINE, label="" if k else "paper: rates at 4, 8 and 16 Hz")
    ax.legend()
    sheet.table(
        "peaks",
        frequency_Hz=frequencies,
        peak_moment_uNm_85_rough=rough,
        **{
            f"{what}_{name}": values[k]
            for k, name in enumerate(("40", "85", "air"))
            for what, values in (("rate_deg_per_s", rates), ("peak_moment_uNm", peaks))
        },
    )
    near, far, free = peaks
    sheet.found(near=near[-1] / near[0], far=far[4] / far[0], far_late=far[-1] / far[4], air=free[-1] / free[0])
    sheet.found(far_rise=100 * (far[-1] / far[0] - 1), far_rough=rough[4] / rough[0], rough_late=rough[-1] / rough[4])
    sheet.found(far_over_air=far[-1] / free[-1], near_over_far=near[-1] / far[-1])
    return figure


def figure_11(sheet: Sheet) -> Figure:
    """Draw whisks at 8 Hz that go 3, 6 and 9 degrees beyond a peg."""
    push = np.deg2rad([10.0, *PUSHES, *PUSHES])
    place = np.array([np.inf, *np.repeat(PLACES, 3)])
    run = whisk(push, place, 0.5, signals=("base_angle", "base_wrench", "contact_force"))
    time, angle = run["time"][:-1, 0], np.rad2deg(run["base_angle"][:-1])
    wrench = MICRO * run["base_wrench"][1:]
    touch = run["contact_force"][1:, :, 0, 0] > 0.0
    later = time >= 0.125
    low, high = wrench[later, 0].min(0), wrench[later, 0].max(0)  # in air
    least = wrench[later].min(0)
    figure = Figure(figsize=(14, 10), layout="constrained")
    figure.suptitle(
        "Whisks of 20 deg at 8 Hz against a peg; bracket: range in air; bars: contact; dashed: printed, 3 deg"
    )
    axes = figure.subplots(4, 3, sharex=True, height_ratios=[0.35, 1, 0.35, 1])
    _panels(axes, sheet, 1e3 * time, angle, wrench, touch, low, high)
    figure.legend(*axes[3, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    for ax in axes[-1]:
        ax.set_xlabel("time (ms)")
    names = [f"s_{100 * where:g}_push_{degrees:g}" for where in PLACES for degrees in PUSHES]
    for part, what in enumerate(("M_uNm", "Fx_uN", "Fy_uN")):
        sheet.table(
            what, time_s=time, in_air=wrench[:, 0, part], **{n: wrench[:, 1 + k, part] for k, n in enumerate(names)}
        )
    longer, coarse = (
        MICRO * whisk(np.deg2rad(3.0), [0.4], 0.5, dt, since=0.125, length=length)["base_wrench"][:, 0].min(0)
        for dt, length in ((1e-4, 13 * 3.78e-3), (COARSE, None))
    )
    sheet.found(M=least[1, 0], M_over_air=least[1, 0] / low[0])
    for part, name in ((1, "Fx"), (2, "Fy")):
        sheet.found(name, **{"": least[1, part], "_long": longer[part], "_coarse": coarse[part]})
    for part, name in ((0, "M"), (2, "Fy")):
        far = least[4:, part] / low[part]
        sheet.found(f"far_{name}", **{"_3": far[0], "_6": far[1], "": far[2]})
    sheet.found(far_Fx=(least[4:, 1] / high[1]).max())
    return figure


def _panels(
    axes: Any, sheet: Sheet, time: Array, angle: Array, wrench: Array, touch: Array, low: Array, high: Array
) -> None:
    """Draw the moment and forces of Fig. 11; ``low`` and ``high`` are their ranges in air."""
    order = ((0, "M (μN m)", "M", "moment"), (2, "Fy (μN)", "Fy", "Fy"), (1, "Fx (μN)", "Fx", "Fx"))
    for band, where in enumerate(PLACES):
        for column, (part, label, name, what) in enumerate(order):
            theta, ax = axes[2 * band, column], axes[2 * band + 1, column]
            for k, degrees in enumerate(PUSHES):
                row = 1 + 3 * band + k
                theta.plot(time, angle[:, row], color=SHADES[k], lw=1)
                ax.plot(time, wrench[:, row, part], color=SHADES[k], label=f"{degrees:g} deg", lw=1)
                bar = np.where(touch[:, row], 1.03 + 0.04 * k, np.nan)
                ax.plot(time, bar, color=SHADES[k], lw=2.5, transform=ax.get_xaxis_transform(), clip_on=False)
            theta.set(ylabel=r"$\theta$ (deg)", title=f"{'ABCDEF'[3 * band + column]}  {what}, peg at {100 * where:g}%")
            ax.plot([505, 512, 512, 505], [low[part]] * 2 + [high[part]] * 2, COLOURS[0], lw=1.5, clip_on=False)
            ax.set(ylabel=label, xlim=(0, 500))
            if band == 0:
                ax.axhline(sheet.printed(name), zorder=0, **PAPER_LINE)


def figure_12(sheet: Sheet) -> Figure:
    """Draw moment and energy of whisks and of equilibria, and the energies' difference over the place of the peg."""
    places = np.linspace(0.1, 0.9, 17)
    run = energy_cycle(np.deg2rad(np.tile(PUSHES, len(places))), np.repeat(places, 3))
    cycle, contact = (100 * run.difference(only).reshape(-1, 3) for only in (False, True))
    figure = Figure(figsize=(14, 8.5), layout="constrained")
    figure.suptitle("Whisks at 8 Hz against a peg: dynamic and quasi-static")
    axes = figure.subplots(2, 3)
    for column, where in enumerate(PLACES):
        row = 3 * int(np.argmin(np.abs(places - where))) + 1
        _course(axes[:, column], sheet, run, row, f"{100 * where:g}")
    for ax, values, name in ((axes[0, 2], cycle, "C  over the cycle"), (axes[1, 2], contact, "C, read as in contact")):
        for k, degrees in enumerate(PUSHES):
            ax.plot(100 * places, values[:, k], "o-", ms=3, color=SHADES[k], label=f"push of {degrees:g} deg")
        mark_printed(ax, 80.0, 50.0, "paper: nearly 50%, 3 deg")
        ax.set(title=name, ylabel="energy that equilibria lack (%)", ylim=(0, 100))
    axes[0, 2].legend()
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
    eighty = int(np.argmin(np.abs(places - 0.8)))
    for name, values in (("cycle", cycle), ("contact", contact)):
        fall = values[eighty, 0] - values[eighty, 2]
        rise = np.diff(values[:, 0]).min()
        sheet.found(f"{name}_", **{"80": values[eighty, 0]}, rise=rise, fall=fall)
    return figure


def _course(axes: Any, sheet: Sheet, run: EnergyCycle, row: int, where: str) -> None:
    """Draw panels A and B of Fig. 12: one whisk and its equilibria."""
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
    moment.set(title=f"A  push of 6 deg, peg at s = {where}%", ylabel="M (μN m)")
    energy.set(title=f"B  energy, peg at s = {where}%", ylabel="energy (nJ)", xlabel="time (ms)")
    moment.legend()
    sheet.table(f"AB_s_{where}", time_ms=time, **columns)
