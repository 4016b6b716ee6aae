"""Table 1 and Figs. 6 and 7 of the whisker chain's paper: the whisker in air."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from gymnosoma.envs.core.model.beam import Hair
from gymnosoma.envs.whisker_chain import WhiskerParams
from gymnosoma.envs.whisker_chain.analysis import matrices
from gymnosoma.envs.whisker_chain.params import DAMPING_RATIO, MODULUS, table

from ..paper import COLOURS, Sheet
from .analysis import modes, shake, tip_response, whisk

Array = NDArray[Any]
Pair = tuple[float, float]

MICRO, NANO = 1e6, 1e9
"""Factors from SI to the units of the paper's axes, where "mN/mm" means mN mm, which is uN m."""

FX, FY = "k", "0.55"
DT = 1e-4
"""Time step of Fig. 7, s."""
PAPER_LINE: dict[str, Any] = {"color": "0.5", "linestyle": "--", "lw": 1.0}


ENDS: Mapping[str, Any] = {
    "hair": Hair(length=48.9997e-3, base_radius=91.351e-6, tip_radius=1.7493e-6),
    "density": 1140.07,
    "modulus": (4.4995e9, 3.0820e9),
    "damping_ratio": (0.98829, 0.03322),
}
"""Base and tip values that round to the printed 49 mm, 91.4 and 1.75 um, 1.14, 4.50 and 3.08 GPa, 0.988 and 0.033."""


def columns_1(built: WhiskerParams, density: float, modulus: Pair, damping_ratio: Pair) -> dict[str, Array]:
    """Return the columns of Table 1, (13,) each in SI, computed by their formulas from values at base and tip."""
    n = built.n_links
    radius = np.linspace(built.base_radius, built.tip_radius, n + 1)
    return {
        "base_radius": radius[:-1],
        "tip_radius": radius[1:],
        "link_mass": np.array(built.link_mass),
        "link_volume": np.array(built.link_mass) / density,
        "modulus": np.linspace(*modulus, n),
        "joint_stiffness": np.array(built.joint_stiffness),
        "damping_ratio": np.linspace(*damping_ratio, n),
        "joint_damping": np.array(built.joint_damping),
    }


def table_1(sheet: Sheet) -> Figure:
    """Draw the links' parameters by their formulas, minus the printed ones, in units of the last printed digit."""
    printed, link = table(), np.arange(1, 14)
    digits = {name: 10.0 ** (np.floor(np.log10(printed[name])) - 2) for name, _ in COLUMNS_1}  # the last of three
    digits["link_mass"][-1] = 1e-11  # printed as 0.42
    digits["damping_ratio"][:] = 1e-3
    plain = {"density": printed["density"], "modulus": MODULUS, "damping_ratio": DAMPING_RATIO}
    rounded, within = WhiskerParams.of(**plain), WhiskerParams.of(**ENDS)
    both = columns_1(rounded, **plain), columns_1(within, **{name: ENDS[name] for name in plain})
    figure = Figure(figsize=(12, 5.5), layout="constrained")
    figure.suptitle("Table 1 by the paper's formulas, off its print")
    axes = figure.subplots(2, 4, sharex=True, sharey=True)
    for ax, (name, what) in zip(axes.flat, COLUMNS_1, strict=True):
        off = [(values[name] - printed[name]) / digits[name] for values in both]
        ax.axhspan(-0.5, 0.5, color="0.88", label="rounding of the cell")
        ax.plot(link, off[0], "o-", ms=4, mfc="w", label="ends as printed")
        ax.plot(link, off[1], "s-", ms=4, label="ends within their rounding")
        ax.set(title=what, xticks=range(1, 14, 3))
        worst = [int(np.argmax(np.abs(values))) for values in off]
        sheet.table(name, link=link, printed=printed[name], ends_as_printed=both[0][name], ends_within=both[1][name])
        sheet.found(name, **{"": off[1][worst[1]], "_link": link[worst[1]], "_rounded": off[0][worst[0]]})
    for ax in axes[-1]:
        ax.set_xlabel("link")
    figure.supylabel("formula less print (units of the last digit)")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    sheet.found(total_mass=1e6 * sum(within.link_mass), link_length=1e3 * printed["length"] / len(link))
    return figure


COLUMNS_1 = (
    ("base_radius", "base radius"),
    ("tip_radius", "tip radius"),
    ("link_mass", "mass"),
    ("link_volume", "volume"),
    ("modulus", "modulus E"),
    ("joint_stiffness", "stiffness k"),
    ("damping_ratio", "damping ratio $\\zeta$"),
    ("joint_damping", "damping b"),
)
"""Columns of Table 1: name and title."""

READINGS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("link 1 held, masses in the links (the simulations)", "held", {}),
    ("link 1 on k1 and b1 of Table 1", "elastic", {"elastic_base": True}),
    ("masses at the links' ends", "ends", {"masses_at_ends": True}),
    ("both, which is Eq. 29 as printed", "equation_29", {"elastic_base": True, "masses_at_ends": True}),
)
"""Readings of the paper's linearisation: name, short name, arguments of `matrices`."""


def _peaks(frequency: NDArray[Any], values: NDArray[Any]) -> Array:
    """Return the frequencies of the maxima."""
    return frequency[1:-1][(values[1:-1] > values[:-2]) & (values[1:-1] > values[2:])]


def figure_6(sheet: Sheet) -> Figure:
    """Draw the motion of base and tip, and their ratio, over frequency."""
    frequency = np.round(np.arange(1.0, 150.05, 0.1), 1)
    simulated = np.arange(5.0, 150.1, 5.0)
    ratio = shake(simulated)
    sheet.table("B_simulated", frequency_Hz=simulated, magnification=ratio)
    base = 1e3 / (2 * np.pi * frequency) ** 2
    figure = Figure(figsize=(12, 6), layout="constrained")
    figure.suptitle("Base shaken across the whisker with 1 m/s$^2$ (the experiment's panels are recordings)")
    motion, magnified = figure.subplots(1, 2)
    motion.loglog(frequency, base, "k--", label="base")
    curves = {short: (name, np.abs(tip_response(frequency, **reading))) for name, short, reading in READINGS}
    for k, (short, (name, response)) in enumerate(curves.items()):
        _peaks_of(sheet, f"{short}_", frequency, response)
        motion.loglog(frequency, base * response, color=COLOURS[k], label=f"tip: {name}")
        magnified.plot(frequency, response, color=COLOURS[k])
    curves["as_printed"] = "Eq. 29, and C of Eq. 32", _as_printed(frequency)
    name, response = curves["as_printed"]
    motion.loglog(frequency, base * response, color="0.5", label=f"tip: {name}")
    magnified.plot(frequency, response, color="0.5")
    first, between, last = _peaks(frequency, response)
    sheet.found("as_printed_", first=first, between=between, second=last)
    columns = {f"magnification_{short}": response for short, (_, response) in curves.items()}
    sheet.table("curves", frequency_Hz=frequency, base_mm=base, **columns)
    magnified.plot(simulated, ratio, "ko", ms=3.5, mfc="w", label="the first, simulated (not linearised)")
    for ax in (motion, magnified):
        for k, peak in enumerate((40.0, 120.0)):
            ax.axvline(peak, zorder=0, **PAPER_LINE, label="" if k or ax is motion else "paper: near 40 and 120 Hz")
        ax.set_xlabel("frequency (Hz)")
    motion.set(ylabel="amplitude (mm)", title="A  displacement of base and tip", xlim=(1, 150), ylim=(1e-4, 40))
    magnified.set(ylabel="tip over base", title="B  magnification", xlim=(0, 150), ylim=(0, 40))
    handles = [handle for ax in (motion, magnified) for handle in ax.get_legend_handles_labels()[0]]
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    return figure


def _peaks_of(sheet: Sheet, name: str, frequency: Array, response: Array) -> None:
    """Add the first peaks of a reading of Fig. 6 to the sheet."""
    first, second = _peaks(frequency, response)[:2]
    sheet.found(name, first=first, second=second, tip=_peaks(frequency, response / frequency**2)[0])
    if name == "held_":
        sheet.found(rise=response[frequency == second][0] / response[frequency == first][0])


def _as_printed(frequency: Array) -> Array:
    """Compute the magnification by Eqs. 29 and 32 as printed: C sums the angles between links times the link length."""
    inertia, damping, stiffness, moment = matrices(elastic_base=True, masses_at_ends=True)
    omega = 2 * np.pi * frequency[:, None, None]
    heading = np.linalg.solve(stiffness + 1j * omega * damping - omega**2 * inertia, omega**2 * moment[:, None])
    # The sum of the angles between links is the heading of the last link.
    return np.abs(1.0 + table()["length"] / len(moment) * heading[:, -1, 0])


def figure_7(sheet: Sheet) -> Figure:
    """Draw the wrench of a whisk in air over time, and its spectrum."""
    run = whisk(np.deg2rad([10.0]), [np.inf], 1.0, DT)
    # Recorded forces refer to the start of the last step.
    time, angle, wrench = run["time"][:-1, 0], run["base_angle"][:-1, 0], MICRO * run["base_wrench"][1:, 0]
    frequency = np.fft.rfftfreq(len(time), DT)[:121]
    power = np.abs(np.fft.rfft(wrench - wrench.mean(0), axis=0))[:121] ** 2 * 2 * DT / len(time)
    sheet.table(
        "AB", time_s=time, theta_deg=np.rad2deg(angle), **dict(zip(("M_uNm", "Fx_uN", "Fy_uN"), wrench.T, strict=True))
    )
    sheet.table("CD", frequency_Hz=frequency, **dict(zip(("M", "Fx", "Fy"), power.T, strict=True)))
    _found_7(sheet, time, angle, wrench, frequency, power)

    figure = Figure(figsize=(12, 8), layout="constrained")
    figure.suptitle("Whisk of 20 deg at 8 Hz in air, from rest; dashed: ranges and frequencies that the paper prints")
    axes = figure.subplots(3, 2, height_ratios=[0.5, 1, 1])
    (theta, spectrum), (moment, both), (force, _) = axes
    for ax in (spectrum, both, axes[2, 1]):
        ax.remove()
    grid = axes[0, 0].get_gridspec()
    of_moment, of_force = figure.add_subplot(grid[0:2, 1]), figure.add_subplot(grid[2, 1])
    window = time <= 0.5
    theta.plot(time[window], np.rad2deg(angle[window]), "k")
    theta.set(ylabel=r"$\theta$ (deg)")
    moment.plot(time[window], wrench[window, 0], "k")
    moment.set(ylabel="M (μN m)", title="A  moment")
    force.plot(time[window], wrench[window, 2], color=FY, label="Fy")
    force.plot(time[window], wrench[window, 1], color=FX, label="Fx")
    force.set(ylabel="force (μN)", xlabel="time (s)", title="B  forces")
    for ax, names in ((moment, ("M_least", "M_most")), (force, ("Fy_least", "Fy_most", "Fx_least", "Fx_most"))):
        for name in names:
            ax.axhline(sheet.printed(name), zorder=0, **PAPER_LINE)
    of_moment.semilogy(frequency[1:], power[1:, 0], "k")
    of_force.semilogy(frequency[1:], power[1:, 2], color=FY, label="Fy")
    of_force.semilogy(frequency[1:], power[1:, 1], color=FX, label="Fx")
    for ax, lines in ((of_moment, (8, 50)), (of_force, (8, 16, 50))):
        for value in lines:
            ax.axvline(value, zorder=0, **PAPER_LINE)
        ax.set(xlim=(0, 120), xlabel="frequency (Hz)")
    force.legend(loc="lower right", bbox_to_anchor=(1.0, 0.97), ncols=2)
    of_moment.set(ylabel="PSD (μN$^2$ m$^2$/Hz)", title="C  frequencies of the moment")
    of_force.set(ylabel="PSD (μN$^2$/Hz)", title="D  frequencies of the forces")
    return figure


def _found_7(sheet: Sheet, time: Array, angle: Array, wrench: Array, frequency: Array, power: Array) -> None:
    """Add the ranges, spectrum and phase of the steady whisk to the sheet."""
    steady = time >= 0.5
    least, most = wrench[steady].min(0), wrench[steady].max(0)
    ringing, near = (frequency > 30) & (frequency < 80), {}
    for part, name in enumerate(("M", "Fx", "Fy")):
        sheet.found(f"{name}_", least=least[part], most=most[part], peak=frequency[np.argmax(power[:, part])])
        if name != "Fx":
            tops = ringing & np.isin(frequency, _peaks(frequency, power[:, part]))
            top = int(np.argmax(np.where(tops, power[:, part], 0.0)))
            near[name] = frequency[top]
            sheet.found(f"{name}_", resonance=near[name], orders=np.log10(power[:, part].max() / power[top, part]))
    printed = sheet.printed("resonance")
    sheet.found(resonance=max(near.values(), key=lambda value: abs(value - printed)))
    # The links of a rigid whisker turn equally: the sum over the matrix is the inertia about joint 1.
    rigid = -matrices(elastic_base=True)[0].sum() * (np.diff(angle, 2) / DT**2)[steady[1:-1]]
    wave = np.exp(-2j * np.pi * 8 * time[steady])
    sheet.found(
        Fx_positive=least[1],
        Fx_share=-100 * least[1] / most[2],
        Fy_over_Fx=most[2] / most[1],
        mode=modes()[0][0],
        bending=np.abs(wrench[1:-1][steady[1:-1], 0] - MICRO * rigid).max() / most[0],
        phase=np.rad2deg(np.angle(np.sum(wrench[steady, 0] * wave) / np.sum(angle[steady] * wave))),
    )
