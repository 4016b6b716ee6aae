"""Draws the figures of the whisker_chain paper from our own simulations: here table 1 and Figs. 5 to 8."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from gymnosoma.envs.core.beam import cone_volume
from gymnosoma.envs.whisker_chain import WhiskerParams
from gymnosoma.envs.whisker_chain.analysis import INSTANT, bounce, shake, slow_deflection, whisk
from gymnosoma.envs.whisker_chain.linear import matrices, modes, tip_response
from gymnosoma.envs.whisker_chain.params import table

from .paper import Paper, PaperFigure, Sheet, mark_printed
from .whisker_chain_touch import figure_9, figure_10, figure_11, figure_12

MICRO, NANO = 1e6, 1e9
"""SI to the units of the paper's axes; "mN/mm" there means mN mm, which is uN m."""

FX, FY = "k", "0.55"
PAPER_LINE: dict[str, Any] = {"color": "0.5", "linestyle": "--", "lw": 1.0}


def _last_digit(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """A unit of the last of three digits."""
    return 10.0 ** (np.floor(np.log10(values)) - 2)


def _table_1(sheet: Sheet) -> Figure:
    """Parameters of the links, as printed and by the formulas behind them."""
    printed, built = table(), WhiskerParams.of()
    n, link = built.n_links, np.arange(1, built.n_links + 1)
    radius = np.linspace(built.base_radius, built.tip_radius, n + 1)
    length = built.length / n
    mass_digit = np.append(_last_digit(printed["link_mass"])[:-1], 1e-11)  # the last is printed as 0.42
    columns = (
        ("base_radius", "base radius", "um", 1e6, radius[:-1], None),
        ("link_mass", "mass", "ug", 1e9, built.link_mass, mass_digit),
        ("link_volume", "volume", "mm^3", 1e9, cone_volume(radius[:-1], radius[1:], length), None),
        ("modulus", "modulus E", "GPa", 1e-9, np.linspace(4.50e9, 3.08e9, n), None),
        ("joint_stiffness", "stiffness k = E I / L", "uN m/rad", 1e6, built.joint_stiffness, None),
        ("damping_ratio", "damping ratio zeta", "1", 1.0, np.linspace(0.988, 0.033, n), np.full(n, 1e-3)),
        ("joint_damping", "damping b = 2 zeta Lp (Mp k)^0.5", "uN m s/rad", 1e6, built.joint_damping, None),
    )
    figure = Figure(figsize=(15, 7.5), layout="constrained")
    figure.suptitle("Table 1: each link by the paper's formulas, from its shape and the ends of E and zeta")
    axes = figure.subplots(2, 4).ravel()
    for ax, (name, what, unit, scale, values, digit) in zip(axes, columns, strict=False):
        ours, theirs = np.asarray(values), printed[name]
        ax.plot(link, scale * ours, "o-", ms=3, label="formula")
        mark_printed(ax, link, scale * theirs)
        ax.set(title=what, xlabel="link", ylabel="" if unit == "1" else unit, xticks=range(1, 14, 2))
        if name not in ("modulus", "damping_ratio"):
            ax.set_yscale("log")
        units = (ours - theirs) / (_last_digit(theirs) if digit is None else digit)
        worst = np.argmax(np.abs(units))
        relative = 100 * np.abs(ours / theirs - 1).max()
        sheet.table(name, link=link, **{f"formula_{name}": scale * ours, f"printed_{name}": scale * theirs})
        sheet.compare(
            f"{what}, link {link[worst]} (the worst of 13), off by",
            "last digits",
            "0",
            -0.5 - 1e-9,
            0.5 + 1e-9,
            units[worst],
            f"within {relative:.1g}%; what goes into the formula is printed to three digits",
        )
    axes[0].legend(frameon=False)
    axes[-1].set_axis_off()
    total = 1e6 * sum(built.link_mass)
    sheet.compare("total mass", "mg", "0.498", 0.4975, 0.4985, total)
    sheet.compare(
        "length of a link", "mm", "3.78", 3.775, 3.785, 1e3 * length, "49 mm / 13, as the paper itself defines it"
    )
    return figure


def _figure_5(sheet: Sheet) -> Figure:
    """A slow push against a peg, near and far, and how far it is from equilibrium."""
    figure = Figure(figsize=(12, 10), layout="constrained")
    figure.suptitle("Turned at 0.5 deg/s against a peg; thick: dynamic, thin white: quasi-static")
    axes = figure.subplots(3, 2)
    for column, (place, last, free) in enumerate(((0.1, 30.0, ""), (0.95, 6.1, ", then it slips off"))):
        run = slow_deflection(place, np.deg2rad(last))
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
        for rotation in (1.0, 2.0, 4.0, 10.0, 20.0, last):
            if rotation <= last:
                worst = percent[np.argmin(np.abs(degrees - rotation))].max()
                sheet.compare(
                    f"median difference from quasi-static over the peak, worst of M, Fx, Fy, peg at {100 * place:g}%, "
                    f"over {rotation:g} deg of rotation" + (free if rotation == last else ""),
                    "%",
                    "0.005 or better",
                    0.0,
                    0.0055,
                    worst,
                    ""
                    if worst <= 0.0055
                    else "the paper states no rotation; made by the joints' damping, as the speed",
                )
        worst = percent[-1].max() / 100
        sheet.compare(
            f"the same as a share, peg at {100 * place:g}%, over {last:g} deg",
            "1",
            "10^-5 or better",
            0.0,
            1.5e-5,
            worst,
            "the text's 10^-5 is less than the 0.005% of the caption",
        )
    return figure


READINGS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("link 1 held, masses in the links (the simulations)", "held", {}),
    ("link 1 on k1 and b1 of Table 1", "elastic", {"elastic_base": True}),
    ("masses at the links' ends", "ends", {"masses_at_ends": True}),
    ("both, which is Eq. 29 as printed", "equation_29", {"elastic_base": True, "masses_at_ends": True}),
)
"""How the paper's linearisation can be read: name, short name, arguments of `matrices`."""


def _peaks(frequency: NDArray[Any], values: NDArray[Any]) -> NDArray[np.float64]:
    """Frequencies of the maxima."""
    return frequency[1:-1][(values[1:-1] > values[:-2]) & (values[1:-1] > values[2:])]


def _figure_6(sheet: Sheet) -> Figure:
    """Motion of base and tip, and their ratio, over frequency."""
    frequency = np.arange(1.0, 150.05, 0.1)
    simulated = np.arange(5.0, 150.1, 5.0)
    ratio = shake(simulated)
    sheet.table("B_simulated", frequency_Hz=simulated, magnification=ratio)
    base = 1e3 / (2 * np.pi * frequency) ** 2
    figure = Figure(figsize=(14, 5.5), layout="constrained")
    figure.suptitle("Base shaken across the whisker with 1 m/s$^2$ (the experiment's panels are recordings)")
    motion, magnified = figure.subplots(1, 2)
    motion.loglog(frequency, base, "k--", lw=1, label="base")
    columns = {}
    note = "no reading of the equations has both peaks; the paper's text on Fig. 7 has the first at 50 Hz"
    for k, (name, short, reading) in enumerate(READINGS):
        response = np.abs(tip_response(frequency, **reading))
        colour = "k" if k == 0 else f"C{k - 1}"
        motion.loglog(frequency, base * response, color=colour, label=f"tip: {name}")
        magnified.plot(frequency, response, color=colour, label=name)
        columns[f"magnification_{short}"] = response
        first, second = _peaks(frequency, response)[:2]
        tip = _peaks(frequency, response / frequency**2)[0]
        for what, low, high, value in (
            ("first peak of the magnification", 36, 44, first),
            ("second peak of the magnification", 108, 132, second),
            ("first peak of the tip's displacement", 36, 44, tip),
        ):
            printed = f"near {(low + high) // 2}"
            sheet.compare(f"{what}, {name}", "Hz", printed, low, high, value, "" if low <= value <= high else note)
        if k == 0:
            rise = response[frequency == second][0] / response[frequency == first][0]
            sheet.compare("magnification at the second peak over that at the first", "1", "rises", 1, np.inf, rise)
    sheet.table("curves", frequency_Hz=frequency, base_mm=base, **columns)
    magnified.plot(simulated, ratio, "ko", ms=3.5, mfc="w", label="the first, simulated (not linearised)")
    for ax in (motion, magnified):
        for k, peak in enumerate((40.0, 120.0)):
            ax.axvline(peak, **PAPER_LINE, label="" if k else "paper: peaks near 40 and 120 Hz")
        ax.set_xlabel("frequency (Hz)")
    motion.set(ylabel="amplitude (mm)", title="A: displacement of base and tip", xlim=(1, 150), ylim=(1e-4, 30))
    magnified.set(ylabel="tip over base", title="B: magnification", xlim=(0, 150), ylim=(0, 40))
    motion.legend(frameon=False, fontsize=9)
    magnified.legend(frameon=False, fontsize=9)
    return figure


def _figure_7(sheet: Sheet) -> Figure:
    """A whisk in air: wrench over time, and its spectrum."""
    dt, duration = 1e-4, 1.0
    run = whisk(np.deg2rad([10.0]), [np.inf], duration, dt)
    # Forces hold for the start of the last step.
    time, angle, wrench = run["time"][:-1, 0], run["base_angle"][:-1, 0], MICRO * run["base_wrench"][1:, 0]
    steady = time >= 0.5
    frequency = np.fft.rfftfreq(len(time), dt)[:121]
    power = np.abs(np.fft.rfft(wrench - wrench.mean(0), axis=0))[:121] ** 2 * 2 * dt / len(time)
    sheet.table(
        "AB", time_s=time, theta_deg=np.rad2deg(angle), M_uNm=wrench[:, 0], Fx_uN=wrench[:, 1], Fy_uN=wrench[:, 2]
    )
    sheet.table("CD", frequency_Hz=frequency, M=power[:, 0], Fx=power[:, 1], Fy=power[:, 2])

    figure = Figure(figsize=(14, 8), layout="constrained")
    figure.suptitle("Whisk of 20 deg at 8 Hz in air, from rest")
    axes = figure.subplots(3, 2, height_ratios=[0.5, 1, 1])
    (theta, spectrum), (moment, both), (force, _) = axes
    for ax in (spectrum, both, axes[2, 1]):
        ax.remove()
    grid = axes[0, 0].get_gridspec()
    of_moment, of_force = figure.add_subplot(grid[0:2, 1]), figure.add_subplot(grid[2, 1])
    shown = time <= 0.5
    theta.plot(time[shown], np.rad2deg(angle[shown]), "k")
    theta.set(ylabel=r"$\theta$ (deg)")
    moment.plot(time[shown], wrench[shown, 0], "k")
    moment.set(ylabel="A: moment M (uN m)")
    force.plot(time[shown], wrench[shown, 2], color=FY, label="Fy")
    force.plot(time[shown], wrench[shown, 1], color=FX, label="Fx")
    force.set(ylabel="B: forces (uN)", xlabel="time (s)")
    for ax, values in ((moment, (-0.06, 0.06)), (force, (-2.8, 2.8, 0.0, 0.5))):
        for k, value in enumerate(values):
            ax.axhline(value, **PAPER_LINE, label="" if k else "paper: ranges")
        ax.set_ylim(top=1.4 * ax.get_ylim()[1])
        ax.legend(frameon=False, loc="upper right", ncols=3, fontsize=9)
    of_moment.semilogy(frequency[1:], power[1:, 0], "k")
    of_force.semilogy(frequency[1:], power[1:, 2], color=FY, label="Fy")
    of_force.semilogy(frequency[1:], power[1:, 1], color=FX, label="Fx")
    for ax, lines in ((of_moment, (8, 50)), (of_force, (8, 16, 50))):
        for k, value in enumerate(lines):
            ax.axvline(value, **PAPER_LINE, label="" if k else f"paper: {', '.join(map(str, lines))} Hz")
        ax.legend(frameon=False)
        ax.set(xlim=(0, 120), xlabel="frequency (Hz)")
    of_moment.set_ylabel("C: PSD of M (uN$^2$ m$^2$/Hz)")
    of_force.set_ylabel("D: PSD of forces (uN$^2$/Hz)")

    least, most = wrench[steady].min(0), wrench[steady].max(0)
    sheet.compare("M, least", "uN m", "-0.06", -0.065, -0.055, least[0])
    sheet.compare("M, most", "uN m", "0.06", 0.055, 0.065, most[0])
    sheet.compare("Fy, least", "uN", "-2.8", -2.85, -2.75, least[2])
    sheet.compare("Fy, most", "uN", "2.8", 2.75, 2.85, most[2])
    sheet.compare("Fx, least", "uN", "0", -0.05, 0.05, least[1])
    sheet.compare("Fx, most", "uN", "0.5", 0.45, 0.55, most[1])
    note = f"{-100 * least[1] / most[2]:.1g}% of Fy, where the whisk turns round"
    sheet.compare("Fx, least", "uN", "exclusively positive", 0, np.inf, least[1], note)
    sheet.compare("Fy over Fx", "1", "approximately 6", 5.4, 6.6, most[2] / most[1])
    for part, name, paper in ((0, "M", 8.0), (2, "Fy", 8.0), (1, "Fx", 16.0)):
        peak = frequency[np.argmax(power[:, part])]
        sheet.compare(f"strongest frequency of {name}", "Hz", f"{paper:g}", paper - 0.5, paper + 0.5, peak)
    ringing = (frequency > 30) & (frequency < 80)
    for part, name in ((0, "M"), (2, "Fy")):
        tops = ringing & np.isin(frequency, _peaks(frequency, power[:, part]))
        top = int(np.argmax(np.where(tops, power[:, part], 0.0)))
        sheet.compare(f"resonance in the spectrum of {name}", "Hz", "near 50", 45, 55, frequency[top])
        orders = np.log10(power[:, part].max() / power[top, part])
        sheet.compare(f"the same, orders weaker than 8 Hz, {name}", "1", "more than 3", 3, np.inf, orders)
    sheet.compare("first mode, base held", "Hz", "50", 45, 55, modes()[0][0], "read as about")
    rigid = _rigid_moment(angle, dt)[steady[1:-1]]
    share = np.abs(wrench[1:-1][steady[1:-1], 0] - MICRO * rigid).max() / most[0]
    sheet.compare("share of M that bending makes", "1", "only a small fraction", 0, 0.1, share, "read as up to 10%")
    wave = np.exp(-2j * np.pi * 8 * time[steady])
    lag = np.rad2deg(np.angle(np.sum(wrench[steady, 0] * wave) / np.sum(angle[steady] * wave)))
    sheet.compare("phase of M against the base angle", "deg", "almost completely in phase", -18, 18, lag, "within 5%")
    return figure


def _rigid_moment(angle: NDArray[np.float64], dt: float) -> NDArray[np.float64]:
    """M (N m) of a rigid whisker, at all but the first and last of the angles."""
    # All links turn alike: the sum over the matrix is the inertia about joint 1.
    inertia = matrices(elastic_base=True)[0].sum()
    return -inertia * np.diff(angle, 2) / dt**2


def _figure_8(sheet: Sheet) -> Figure:
    """Energy and distance after an elastic and an inelastic collision."""
    figure = Figure(figsize=(13, 8.5), layout="constrained")
    figure.suptitle("Met by a whisker that turned at 705 deg/s and whose base was stopped; step 2 ns as in the paper")
    axes = figure.subplots(2, 2)
    heights = []
    notes = {0.4: "the paper's text differs from its caption", 0.85: "the print is ours cut off, not rounded"}
    settings = ((0.4, 2e-6, "0.19", "0.216", "20 pm", 0.02), (0.85, 6e-6, "0.034", "0.034", "400 pm", 0.4))
    for column, (place, duration, text, caption, printed, picometre) in enumerate(settings):
        runs = [bounce(place, restitution, duration) for restitution in (0.0, 1.0)]
        top, bottom = axes[:, column]
        for run, colour, name in zip(runs, ("k", "0.6"), ("inelastic", "elastic"), strict=True):
            time, energy = 1e6 * np.append([-0.1 * duration, 0.0], run.time), NANO * run.energy
            top.plot(time, np.append([NANO * run.before] * 2, energy), color=colour, label=name)
            sheet.table(f"s_{100 * place:g}_{name}", time_us=1e6 * run.time, energy_nJ=energy, gap_nm=NANO * run.gap)
        inelastic, elastic = runs
        bottom.semilogy(1e6 * elastic.time, np.maximum(NANO * elastic.gap, 1e-4), color="0.6", label="elastic")
        bottom.plot([0, 1e6 * duration], [1.2e-4] * 2, "k", lw=3, label="inelastic: 0")
        bottom.axhline(picometre, **PAPER_LINE, label=f"paper: bounce near {printed}")
        step = NANO * elastic.approach * INSTANT
        bottom.axhline(step, color="C3", ls=":", label=f"way within a step of 2 ns: {step:.2f} nm")
        top.axvline(0.0, color="0.7", lw=1)
        bottom.set(ylim=(1e-4, 1e3), xlabel="time after the collision (us)", ylabel="distance to the peg (nm)")
        top.set(title=f"peg at s = {100 * place:g}%", ylabel="energy (nJ)")
        top.legend(frameon=False, title=f"paper: apart by {caption} nJ")
        bottom.legend(frameon=False)
        lost, where = NANO * inelastic.collision_energy, f"peg at {100 * place:g}%"
        for value, source in dict(((text, "text"), (caption, "caption"))).items():
            half = 0.5 * 10.0 ** (2 - len(value))
            sheet.compare(
                f"energy lost in the inelastic collision, {where} ({source})",
                "nJ",
                value,
                float(value) - half,
                float(value) + half,
                lost,
                "" if abs(lost - float(value)) <= half else notes[place],
            )
        heights.append(elastic.height)
        moving = bounce(place, 1.0, duration, stopped=False)
        for height, how in ((elastic.height, "base stopped"), (moving.height, "base turning on")):
            sheet.compare(
                f"height of the first elastic bounce, {where}, {how}",
                "nm",
                f"near {printed}",
                0.9 * picometre,
                1.1 * picometre,
                NANO * height,
                f"the print is less than the whisker's way in one of the paper's steps of 2 ns, {step:.2g} nm",
            )
        damped = NANO * (inelastic.energy[0] - inelastic.energy[-1]) / lost
        sheet.compare(
            f"loss by damping in the next {1e6 * duration:g} us over the loss in the collision, {where}",
            "1",
            "much larger",
            1,
            np.inf,
            damped,
        )
    sheet.compare("bounce at 85% over that at 40%", "1", "increases", 1, np.inf, heights[1] / heights[0])
    return figure


PAPER = Paper(
    "whisker_chain",
    "Quist, Seghete, Huet, Murphey & Hartmann (2014), Modeling forces and moments at the base of a rat vibrissa during "
    "noncontact whisking and whisking against an object, J Neurosci 34:9828",
    (
        PaperFigure("table_1", "Parameters of the links", _table_1),
        PaperFigure("figure_5", "Slow deflection against the quasi-static model", _figure_5),
        PaperFigure("figure_6", "Frequency response of the tip", _figure_6),
        PaperFigure("figure_7", "Whisking in air", _figure_7),
        PaperFigure("figure_8", "Energy lost in a collision, and the bounce", _figure_8),
        PaperFigure("figure_9", "Half-sine pushes against a peg", figure_9),
        PaperFigure("figure_10", "Peak moment over the velocity of the touch", figure_10),
        PaperFigure("figure_11", "Whisking against a peg", figure_11),
        PaperFigure("figure_12", "Dynamic against quasi-static energy", figure_12),
    ),
    {
        "Figures 1 to 4": "schemes of the chain, of the algorithms and of a collision in time",
        "Figure 6, experimental panels": "the response of a real D1 vibrissa, recorded by Hartmann et al. (2003)",
    },
)
