"""Draws the figures of the neuromechanic paper from our own simulations."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from gymnosoma.envs import simulate
from gymnosoma.envs.core.simulate import ensemble
from gymnosoma.envs.core.trajectory import Trajectory
from gymnosoma.envs.neuromechanic import Neuromechanic
from gymnosoma.envs.neuromechanic.analysis import (
    Shortcut,
    equilibrate,
    growth,
    linearise,
    posture,
    sample_patterns,
    shortcut,
    stable,
)
from gymnosoma.envs.neuromechanic.contact import OPEN, SLIP
from gymnosoma.envs.neuromechanic.hindlimb import CATS, PAW_FORCE, POSTURE, SLOW, hindlimb
from gymnosoma.envs.neuromechanic.standing import (
    DELAY,
    HIPS,
    critical_delay,
    feet,
    growth_over_delay,
    reflex_input,
    standing,
)

from .paper import Paper, PaperFigure, Sheet, mark_printed

Array = NDArray[np.float64]

MS = 1e3
FREE, PINNED = "#b8322c", "#3b6fb6"
LIMIT: Mapping[str, Any] = {"color": "0.5", "linestyle": "--", "linewidth": 1.2}
STIFFNESS = (3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 8.0)
"""Of Fig. 2b, Fmax/lopt."""
PATTERNS, SEEDS = 10_000, (1, 2, 3)
NEWTON = PAW_FORCE / np.linalg.norm(PAW_FORCE)
"""Of the ground on the paw, for each N of its size."""


@cache
def _limb(stiffness: float, viscosity: float | None = None) -> tuple[Neuromechanic, Shortcut]:
    animal = Neuromechanic(hindlimb(stiffness, viscosity=viscosity))
    return animal, shortcut(animal, {"q": POSTURE})


@cache
def _patterns(force: float, seed: int, count: int = PATTERNS) -> Array:
    """Patterns that push with so many N; they do not depend on stiffness or viscosity."""
    return sample_patterns(_limb(3.0)[0], POSTURE, count, reaction=force * NEWTON, thin=300, seed=seed)


def _share(matrices: Array) -> float:
    return float(stable(matrices).mean())


def _readings() -> dict[str, float]:
    """Share of stable patterns at a stiffness of 3 and 8.5 N, for what the paper leaves open."""
    animal, short = _limb(3.0)
    model, count = hindlimb(3.0), 2000

    def share(changed: dict[str, Any], reaction: Array | None = PAW_FORCE, q: Array = POSTURE) -> float:
        limb = Neuromechanic(changed)
        return _share(shortcut(limb, {"q": q}).matrix(sample_patterns(limb, q, count, reaction=reaction, seed=1)))

    shares = {"as elsewhere": _share(short.matrix(_patterns(8.5, 1)))}
    for name, q in zip("ABC", CATS, strict=True):
        shares[f"posture of cat {name}"] = share(hindlimb(3.0, posture=q), q=q)
    for degrees in (20.0, 25.0, 30.0, 50.0):
        way = 8.5 * np.array([np.sin(np.deg2rad(degrees)), np.cos(np.deg2rad(degrees)), 0.0])
        shares[f"{degrees:.0f} degrees backward"] = share(model, way)
    shares["no gravity"] = share(model | {"gravity": [0.0, 0.0, 0.0]})
    long = hindlimb(3.0)
    for muscle in long["muscle"].values():
        muscle["model"]["force_length"] = 1.0
    shares["at optimal length"] = share(long)

    shares["paw with any force"] = share(model, None)
    free = Neuromechanic(hindlimb(3.0, gimballed=False))
    pushed = np.array([[*PAW_FORCE, 0.0, 0.0, 0.0]])
    patterns = sample_patterns(free, POSTURE, count, wrench=pushed, seed=1)
    shares["paw not held"] = _share(shortcut(free, {"q": POSTURE, "wrench": pushed}).matrix(patterns))

    near = sample_patterns(animal, POSTURE, count, reaction=PAW_FORCE, thin=1, seed=1)
    shares["sampled without thinning"] = _share(short.matrix(near))
    rng, most = np.random.default_rng(0), animal.model.arrays["max_force"]
    for name, cost in (("quadratic", 1.0), ("linear", 1e-6)):
        found = []
        for _ in range(100):
            weight = (rng.random(31) if name == "quadratic" else cost) / most**2
            linear = None if name == "quadratic" else -rng.random(31) / most
            found.append(equilibrate(animal, POSTURE, cost=weight, linear=linear, reaction=PAW_FORCE).activation)
        shares[f"least of random {name} costs"] = _share(short.matrix(np.array(found)))
    return shares


def _most_unstable(viscosity: float, seed: int) -> float:
    """Shortest time (s) in which a deviation doubles, at a stiffness of 3."""
    return float(np.log(2.0) / growth(_limb(3.0, viscosity)[1].matrix(_patterns(8.5, seed))).max())


def _figure_2(sheet: Sheet) -> Figure:
    """Illustration 1: growth of deviations, and the share of stable patterns."""
    figure = Figure(figsize=(15, 9), layout="constrained")
    top, bottom = figure.subfigures(2, 1, squeeze=False).ravel()
    panels = [*top.subplots(1, 3), *bottom.subplots(1, 2, width_ratios=[1, 1.6])]
    axes = dict(zip("ABCDE", panels, strict=True))
    animal = _limb(3.0)[0]
    sheet.compare("joints", "1", "seven", 7, 7, len(animal.model.bodies))
    sheet.compare("muscles", "1", "31", 31, 31, len(animal.model.muscles))

    ax = axes["A"]
    pooled = np.concatenate([_patterns(8.5, seed) for seed in SEEDS])
    rates = growth(_limb(3.0, SLOW)[1].matrix(pooled))
    ax.hist(rates, 60, weights=np.full(len(rates), 100.0 / len(rates)), color=FREE)
    sheet.table("A", growth_per_s=np.sort(rates))
    share = float(np.mean(rates < -1e-6))
    ax.axvline(0.0, color="k", lw=1)
    ax.axvline(np.log(2.0) / 0.2, label="paper: doubles in 200 ms", **LIMIT)
    ax.set(xlabel="growth rate of the fastest deviation (1/s)", ylabel="share of patterns (%)")
    ax.set_title(f"(a) stiffness 3, viscosity {SLOW:g}: {100 * share:.1f}% stable (paper: 35%)")
    ax.legend(frameon=False)
    ax = axes["B"]
    shares = {}
    for force, seeds in ((5.0, SEEDS[:1]), (8.5, SEEDS), (12.0, SEEDS[:1])):
        patterns = np.concatenate([_patterns(force, seed) for seed in seeds])
        steps = sheet.progress(STIFFNESS, f"shares at {force:g} N")
        shares[force] = np.array([_share(_limb(kappa)[1].matrix(patterns)) for kappa in steps])
        ax.plot(STIFFNESS, 100 * shares[force], "o-", label=f"paw pushes with {force:g} N")
    names = {f"share_{force:g}_N": values for force, values in shares.items()}
    sheet.table("B", stiffness_Fmax_per_lopt=STIFFNESS, **names)
    mark_printed(ax, 3.0, 35.0)
    ax.set(xlabel="intrinsic stiffness (Fmax / lopt)", ylabel="stable patterns (%)", ylim=(-2, 102))
    ax.set_title("(b) the stiffer, the more patterns are stable")
    ax.legend(frameon=False)

    ax = axes["C"]
    viscosities = np.array([0.1, 0.3, 1.0, 2.0, 3.0, 4.0, 5.0])
    every = sheet.progress([(v, s) for s in SEEDS for v in viscosities], "doubling times")
    times = np.reshape([_most_unstable(*pair) for pair in every], (len(SEEDS), -1))
    for seed, values in zip(SEEDS, times, strict=True):
        ax.plot(viscosities, MS * values, "o-", ms=4, label=f"sample {seed} of {PATTERNS:,}")
    sheet.table(
        "C", seed=np.array(SEEDS)[:, None], viscosity_Fmax_s_per_lopt=viscosities, least_doubling_time_ms=MS * times
    )
    asked = [float(np.interp(0.2, values, viscosities)) for values in times]
    ax.axhline(200.0, label="paper: longer than 200 ms", **LIMIT)
    ax.set(xlabel="viscosity (Fmax s / lopt)", ylabel="doubling time of the most unstable (ms)")
    ax.set_title(f"(c) 200 ms ask for a viscosity of {min(asked):.1f} to {max(asked):.1f}")
    ax.legend(frameon=False)

    sheet.compare(
        "doubling time of the most unstable pattern, stiffness 3",
        "ms",
        "greater than 200",
        200,
        np.inf,
        MS * np.log(2.0) / rates.max(),
        f"by a viscosity of {SLOW:g} Fmax s/lopt, chosen for that (which asks for {min(asked):.1f} to "
        f"{max(asked):.1f}), in panel a alone; at the 0.1 assumed elsewhere "
        f"{MS * times[:, 0].min():.0f} ms; the paper states none",
    )

    ax = axes["D"]
    sizes = np.array([2.0, 3.0, 4.0, 5.0, 5.5, 6.0, 6.5, 7.0, 8.5, 10.0, 12.0])
    steps = sheet.progress(sizes, "sizes of the force")
    by_size = np.array([_share(_limb(3.0)[1].matrix(_patterns(float(size), 1, 3000))) for size in steps])
    sheet.table("D", paw_force_N=sizes, share=by_size)
    ax.plot(sizes, 100 * by_size, "o-", color=FREE)
    ax.axhline(35.0, label="paper: 35%", **LIMIT)
    needed = float(np.interp(-0.35, -by_size, sizes))
    ax.set(xlabel="force of the paw (N)", ylabel="stable patterns at stiffness 3 (%)")
    ax.set_title(f"(d) 35% are stable at {needed:.1f} N, which the paper leaves open")
    ax.legend(frameon=False)

    ax = axes["E"]
    readings = _readings()
    values = 100 * np.array([*readings.values()])
    sheet.table("E", reading=[*readings], share=values / 100)
    ax.barh([*readings], values, color=PINNED)
    for place, value in enumerate(values):
        ax.text(value + 0.5, place, f"{value:.1f}", va="center", fontsize=9)
    ax.axvline(35.0, label="paper: 35%", **LIMIT)
    ax.set(xlabel="stable patterns at stiffness 3 and 8.5 N (%)")
    ax.set_title("(e) what else the paper leaves open")
    ax.invert_yaxis()
    ax.legend(frameon=False, loc="lower right")

    ways = np.array([20.0, 25.0, 30.0, 35.0])
    by_way = [readings[f"{way:.0f} degrees backward"] for way in ways[:-1]] + [shares[8.5][0]]
    sheet.compare(
        "share of stable patterns at stiffness 3",
        "%",
        "35",
        34.5,
        35.5,
        100 * shares[8.5][0],
        "the paper states no force of the paw, which decides it: with 8.5 N, 35 degrees backward of down, 35% are "
        f"stable at a stiffness of {np.interp(0.35, shares[8.5], STIFFNESS):.1f}, at 3 with {needed:.1f} N or with "
        f"{np.interp(-0.35, -np.array(by_way), ways):.0f} degrees; tried as well were each cat's posture, no gravity, "
        "optimal length, the paw not held or with any force, and patterns by hit-and-run or of random costs "
        "(panels d, e)",
    )
    sheet.compare(
        "least rise of the share from a stiffness to the next",
        "%",
        "increases",
        0,
        100,
        100 * np.diff(shares[8.5]).min(),
    )
    return figure


def _seconds(call: Callable[[], Any], count: int) -> float:
    """Median time of a call, s."""
    taken = []
    for _ in range(count):
        begin = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begin)
    return float(np.median(taken))


def _illustration_2(sheet: Sheet) -> Figure:
    """Error and speed of the shortcut over 200 patterns."""
    animal, short = _limb(4.0)
    patterns = _patterns(8.5, 1)[::50]
    n = 2 * len(animal.model.bodies)
    errors = []
    for pattern in sheet.progress(patterns, "state matrices"):
        direct = linearise(animal, {"q": POSTURE, "activation": pattern})[:n, :n]
        errors.append(100.0 * np.sqrt(np.mean((short.matrix(pattern) - direct) ** 2) / np.mean(direct**2)))
    error, pattern = float(np.mean(errors)), patterns[0]
    start = {"q": POSTURE, "activation": pattern}
    A = short.matrix(pattern)
    times = {
        "A by differences": _seconds(lambda: linearise(animal, start), 200),
        "A by the shortcut": _seconds(lambda: short.matrix(pattern), 2000),
        "eigenvalues of A": _seconds(lambda: np.linalg.eigvals(A), 500),
    }
    faster = times["A by differences"] / times["A by the shortcut"]

    figure = Figure(figsize=(12, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.hist(errors, np.geomspace(3e-9, 1e-5, 80), color=PINNED)
    left.axvspan(1.5e-6, 2.9e-6, color="0.8", label="paper: (2.2 +- 0.7) 1e-6 %")
    left.set(xscale="log", xlabel="rms error (%)", ylabel="patterns", title=f"Error over {len(errors)} patterns")
    left.legend(frameon=False)
    right.barh([*times], 1e6 * np.array([*times.values()]), color=[FREE, PINNED, "0.6"])
    right.axvline(1e6 * times["A by differences"] / 1e4, label="paper: 10,000 times as fast", **LIMIT)
    right.set(xscale="log", xlabel="time (us)", title=f"The shortcut is {faster:.0f} times as fast")
    right.invert_yaxis()
    right.legend(frameon=False, loc="center right")
    sheet.table("error", pattern=np.arange(len(errors)), rms_error_percent=errors)
    sheet.table("time", what=[*times], seconds=[*times.values()])

    k = animal.mechanics(posture(animal, POSTURE))
    rank = np.linalg.matrix_rank(k["arm"].T)
    sheet.compare("dimensions of the null space of the moment arms", "1", "24", 24, 24, len(patterns[0]) - rank)
    sheet.compare(
        "rms error of the shortcut",
        "%",
        "2.2 +- 0.7 x 1e-6",
        0.0,
        2.9e-6,
        error,
        "read as a bound; ours is that of central differences",
    )
    sheet.compare(
        "orders of magnitude by which the shortcut is faster",
        "1",
        "four",
        3.5,
        4.5,
        np.log10(faster),
        f"the direct way is compiled here, and takes {MS * times['A by differences']:.1f} ms; a time of this machine",
    )
    return figure


_PULSE = (0.16, 0.0507, -7.75)
"""Of the ground, as in the asset: onset (s), duration (s), peak (m/s^2)."""


@cache
def _stands(what: str) -> Trajectory:
    """Course of 3 s after the pulse of the ground, with free or pinned feet, at a quarter of the usual time step."""
    animal = Neuromechanic(standing(feet=what), 2.5e-4)
    return simulate(animal, reflex_input(1.1), 3.0, every=1e-3, hold=1e-3)


def _person(ax: Axes, q: Array, label: str) -> None:
    """Draw a figure with joints (5,) on axes in m."""
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


def _figure_3(sheet: Sheet) -> Figure:
    """Illustration 3: free and pinned figure after a jerk of the ground."""
    free, pinned = _stands("free"), _stands("pinned")
    moment = free.time[1:]
    mode = free["contact_mode"][1:]
    slips = [float(moment[mode[:, side] >= SLIP][0]) for side in (0, 1)]
    lift = float(moment[mode[:, 0] == OPEN][0])
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
    lines = {
        "torque": ("left hip torque (N m)", [run[:, 0] for run in torque]),
        "across": ("left GRF, sideways (N)", [run[:, 0, 0] for run in ground]),
        "up": ("left GRF, upward (N)", [run[:, 0, 1] for run in ground]),
    }
    for panel, (label, runs) in lines.items():
        ax = axes[panel]
        ax.plot(pinned.time, runs[1], color=PINNED, lw=1.3, label="feet pinned")
        ax.plot(free.time, runs[0], color=FREE, lw=1.0, label="feet free")
        for when, what in ((0.4, "slip"), (2.3, "stepping")):
            ax.axvline(when, label=f"paper: {what}" if panel == "torque" else None, **LIMIT)
        for name, (when, _) in names.items():
            ax.annotate(name, (when, 1.0), xycoords=("data", "axes fraction"), ha="center", va="bottom", fontsize=9)
        steady = np.concatenate([run[:2200] for run in runs])
        low, high = np.quantile(np.concatenate([steady, runs[1]]), [0.0, 1.0])
        ax.set(xlim=(0, 3), ylabel=label, ylim=(low - 0.2 * (high - low), high + 0.2 * (high - low)))
        ax.tick_params(labelbottom=panel == "up")
        sheet.table(panel, time_s=free.time, free=runs[0], pinned=runs[1])
    axes["torque"].legend(frameon=False, ncols=2, loc="lower center", bbox_to_anchor=(0.45, 0.0))
    axes["up"].axhline(0.0, color="k", lw=0.6)
    axes["up"].set_xlabel("time (s); the steps at the end go beyond the axes")

    for what, unit, runs in (
        ("hip torque", "N m", torque),
        ("ground reaction forces", "N", ground),
    ):
        gap, peak = np.abs(runs[0][before] - runs[1][before]).max(), np.abs(runs[1][before]).max()
        sheet.compare(
            f"{what} before the slip: difference of free and pinned figure, of the peak",
            "%",
            "consistent",
            0,
            1,
            100 * gap / peak,
            f"{gap:.2g} of {peak:.3g} {unit}; within a line's width, 1%",
        )
    sheet.compare("slip of the left foot", "s", "approximately 0.4", 0.36, 0.44, slips[0])
    sheet.compare("slip of the right foot after that of the left", "s", "left", 0, 3, slips[1] - slips[0])
    sheet.compare(
        "a foot leaves the ground",
        "s",
        "near 2.3",
        2.07,
        2.53,
        lift,
        "2.2 to 2.3 with the time step: chaotic; stance, shape and onset of the pulse, which the paper does not state, "
        "were chosen to give its course",
    )
    sheet.compare(
        "pinned figure: least upward force at a foot within 3 s",
        "N",
        "would reach zero",
        -np.inf,
        0,
        ground[1][1:, :, 1].min(),
        f"reaches it with a pulse of {MS * _unloading_pulse():.1f} ms in place of {MS * _PULSE[1]:.1f}, which the "
        "paper does not state",
    )
    return figure


def _unloading_pulse() -> float:
    """Duration (s) of the ground's pulse from which on the pinned figure would lift a foot."""
    animal, durations = Neuromechanic(standing(feet="pinned")), np.linspace(_PULSE[1], 0.065, 30)
    pulse = np.column_stack([np.full(30, _PULSE[0]), durations, np.full(30, _PULSE[2])])
    found = ensemble(animal, reflex_input(1.1), 30, 1.5, start={"pulse": pulse}, signals=["reaction"])
    least = found["reaction"][1:, :, 1::2].min((0, 2))
    return float(np.interp(0.0, -least, durations))


def _frames(slip: float, lift: float) -> tuple[tuple[float, str], ...]:
    """Times (s) and what happens then."""
    return (
        (0.0, "stands"),
        (slip, "left foot slips"),
        (lift, "lift-off"),
        (lift + 0.25, "steps"),
        (lift + 0.5, "steps"),
    )


def _illustration_3(sheet: Sheet) -> Figure:
    """Stability of the pinned figure over stance and delay."""
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


PAPER = Paper(
    "neuromechanic",
    "Bunderson, Bingham, Sohn, Ting & Burkholder (2012), Neuromechanic, Int J Numer Method Biomed Eng 28:1015",
    (
        PaperFigure(
            "figure_2", "Stability of 10,000 activation patterns of the cat's hindlimb (illustration 1)", _figure_2
        ),
        PaperFigure("figure_3", "A standing figure slips and steps, with free and with pinned feet", _figure_3),
        PaperFigure(
            "illustration_2",
            "The state matrix as a linear function of the activations: error and speed",
            _illustration_2,
        ),
        PaperFigure("illustration_3", "Stability of the pinned figure over stance and delay", _illustration_3),
    ),
    {"Figure 1": "scheme of the order in which the equations are evaluated"},
)
