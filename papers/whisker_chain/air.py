"""Table 1 and Figs. 6 and 7 of the whisker_chain paper: the whisker in air."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from gymnosoma.envs.core.beam import cone_volume
from gymnosoma.envs.whisker_chain import WhiskerParams
from gymnosoma.envs.whisker_chain.linear import matrices, modes, tip_response
from gymnosoma.envs.whisker_chain.params import table

from ..paper import Sheet, mark_printed
from .analysis import shake, whisk

Array = NDArray[Any]

MICRO, NANO = 1e6, 1e9
"""SI to the units of the paper's axes; "mN/mm" there means mN mm, which is uN m."""

FX, FY = "k", "0.55"
DT = 1e-4
"""Time step of Fig. 7, s."""
PAPER_LINE: dict[str, Any] = {"color": "0.5", "linestyle": "--", "lw": 1.0}


def _last_digit(values: Array) -> Array:
    """A unit of the last of three digits."""
    return 10.0 ** (np.floor(np.log10(values)) - 2)


def table_1(sheet: Sheet) -> Figure:
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
        sheet.found(name, **{"": units[worst], "_relative": relative})
    axes[0].legend(frameon=False)
    axes[-1].set_axis_off()
    sheet.found(total_mass=1e6 * sum(built.link_mass), link_length=1e3 * length)
    return figure


READINGS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("link 1 held, masses in the links (the simulations)", "held", {}),
    ("link 1 on k1 and b1 of Table 1", "elastic", {"elastic_base": True}),
    ("masses at the links' ends", "ends", {"masses_at_ends": True}),
    ("both, which is Eq. 29 as printed", "equation_29", {"elastic_base": True, "masses_at_ends": True}),
)
"""How the paper's linearisation can be read: name, short name, arguments of `matrices`."""


def _peaks(frequency: NDArray[Any], values: NDArray[Any]) -> Array:
    """Frequencies of the maxima."""
    return frequency[1:-1][(values[1:-1] > values[:-2]) & (values[1:-1] > values[2:])]


def figure_6(sheet: Sheet) -> Figure:
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
    for k, (name, short, reading) in enumerate(READINGS):
        response = np.abs(tip_response(frequency, **reading))
        colour = "k" if k == 0 else f"C{k - 1}"
        motion.loglog(frequency, base * response, color=colour, label=f"tip: {name}")
        magnified.plot(frequency, response, color=colour, label=name)
        columns[f"magnification_{short}"] = response
        first, second = _peaks(frequency, response)[:2]
        tip = _peaks(frequency, response / frequency**2)[0]
        sheet.found(f"{short}_", first=first, second=second, tip=tip)
        if k == 0:
            sheet.found(rise=response[frequency == second][0] / response[frequency == first][0])
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


def figure_7(sheet: Sheet) -> Figure:
    """A whisk in air: wrench over time, and its spectrum."""
    run = whisk(np.deg2rad([10.0]), [np.inf], 1.0, DT)
    # Forces hold for the start of the last step.
    time, angle, wrench = run["time"][:-1, 0], run["base_angle"][:-1, 0], MICRO * run["base_wrench"][1:, 0]
    frequency = np.fft.rfftfreq(len(time), DT)[:121]
    power = np.abs(np.fft.rfft(wrench - wrench.mean(0), axis=0))[:121] ** 2 * 2 * DT / len(time)
    sheet.table(
        "AB", time_s=time, theta_deg=np.rad2deg(angle), **dict(zip(("M_uNm", "Fx_uN", "Fy_uN"), wrench.T, strict=True))
    )
    sheet.table("CD", frequency_Hz=frequency, **dict(zip(("M", "Fx", "Fy"), power.T, strict=True)))
    _found_7(sheet, time, angle, wrench, frequency, power)

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
    for ax, names in ((moment, ("M_least", "M_most")), (force, ("Fy_least", "Fy_most", "Fx_least", "Fx_most"))):
        for k, name in enumerate(names):
            ax.axhline(sheet.printed(name), **PAPER_LINE, label="" if k else "paper: ranges")
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
    return figure


def _found_7(sheet: Sheet, time: Array, angle: Array, wrench: Array, frequency: Array, power: Array) -> None:
    """Ranges, spectrum and phase of the steady whisk."""
    steady = time >= 0.5
    least, most = wrench[steady].min(0), wrench[steady].max(0)
    ringing = (frequency > 30) & (frequency < 80)
    for part, name in enumerate(("M", "Fx", "Fy")):
        sheet.found(f"{name}_", least=least[part], most=most[part], peak=frequency[np.argmax(power[:, part])])
        if name != "Fx":
            tops = ringing & np.isin(frequency, _peaks(frequency, power[:, part]))
            top = int(np.argmax(np.where(tops, power[:, part], 0.0)))
            orders = np.log10(power[:, part].max() / power[top, part])
            sheet.found(f"{name}_", resonance=frequency[top], orders=orders)
    rigid = _rigid_moment(angle, DT)[steady[1:-1]]
    wave = np.exp(-2j * np.pi * 8 * time[steady])
    sheet.found(
        Fx_positive=least[1],
        Fx_share=-100 * least[1] / most[2],
        Fy_over_Fx=most[2] / most[1],
        mode=modes()[0][0],
        bending=np.abs(wrench[1:-1][steady[1:-1], 0] - MICRO * rigid).max() / most[0],
        phase=np.rad2deg(np.angle(np.sum(wrench[steady, 0] * wave) / np.sum(angle[steady] * wave))),
    )


def _rigid_moment(angle: Array, dt: float) -> Array:
    """M (N m) of a rigid whisker, at all but the first and last of the angles."""
    # All links turn alike: the sum over the matrix is the inertia about joint 1.
    inertia = matrices(elastic_base=True)[0].sum()
    return -inertia * np.diff(angle, 2) / dt**2
