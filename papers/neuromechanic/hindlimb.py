"""Illustrations 1 and 2 of the neuromechanic paper: stability of a cat's hindlimb, and fast state matrices."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from timeit import repeat
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from gymnosoma.envs.neuromechanic import Neuromechanic
from gymnosoma.envs.neuromechanic.analysis import (
    Infeasible,
    Shortcut,
    equilibrate,
    growth,
    linearise,
    most_stable,
    posture,
    sample_patterns,
    shortcut,
    stiff_pattern,
)
from gymnosoma.envs.neuromechanic.hindlimb import PAW_FORCE, POSTURE, hindlimb

from ..paper import COLOURS, Sheet, mark_printed

Array = NDArray[np.float64]

MS = 1e3

CATS = np.array(
    [
        [-0.85135, 0.02264, -0.15149, -1.4673, 0.32595, -0.55188, -0.20638],
        [-0.83384, 0.10248, -0.10922, -1.593, 0.35647, -0.69382, -0.25008],
        [-0.92348, 0.16329, -0.19762, -1.5784, 0.20125, -0.72863, -0.16501],
    ]
)
"""Postures of the three cats, rad."""

SLOW = 4.0
"""Viscosity (Fmax s/lopt) at which no deviation doubles within 200 ms at a stiffness of 3, as stated in Fig. 2a.

Samples of 10,000 patterns require 3.4 to 3.6, fourteen times the slope of a Hill muscle's force-velocity curve. Only
that panel uses this value. The share of stable patterns does not depend on it.
"""

PINNED, FREE, *_ = COLOURS
LIMIT: Mapping[str, Any] = {"color": "0.5", "linestyle": "--", "linewidth": 1.2}
STIFFNESS = (3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 8.0)
"""Stiffnesses of Fig. 2b, Fmax/lopt."""
PATTERNS, SEEDS = 10_000, (1, 2, 3)
NEWTON = PAW_FORCE / np.linalg.norm(PAW_FORCE)
"""Direction of the ground's force on the paw (unit vector)."""


@cache
def _limb(stiffness: float, viscosity: float | None = None) -> tuple[Neuromechanic, Shortcut]:
    animal = Neuromechanic(hindlimb(stiffness, viscosity=viscosity))
    return animal, shortcut(animal, {"q": POSTURE})


@cache
def _patterns(force: float, seed: int, count: int = PATTERNS) -> Array:
    """Sample activation patterns for a paw force (N); they do not depend on stiffness or viscosity."""
    return sample_patterns(_limb(3.0)[0], POSTURE, count, reaction=force * NEWTON, thin=300, seed=seed)


def _share(matrices: Array) -> float:
    return float((growth(matrices) < -1e-6).mean())


def _readings() -> dict[str, float]:
    """Return the share of stable patterns at a stiffness of 3 and 8.5 N for different readings of the paper."""
    animal, short = _limb(3.0)
    model, count = hindlimb(3.0), 2000

    def share(changed: dict[str, Any], reaction: Array | None = PAW_FORCE, q: Array = POSTURE) -> float:
        limb = Neuromechanic(changed)
        return _share(shortcut(limb, {"q": q}).matrix(sample_patterns(limb, q, count, reaction=reaction, seed=1)))

    shares = {"as elsewhere": _share(short.matrix(_patterns(8.5, 1)))}
    for name, q in zip("ABC", CATS, strict=True):
        shares[f"posture of cat {name}"] = share(hindlimb(3.0, posture=q), q=q)
    shares["no gravity"] = share(model | {"gravity": [0.0, 0.0, 0.0]})
    long = hindlimb(3.0)
    for muscle in long["muscle"].values():
        muscle["model"]["force_length"] = 1.0
    shares["at optimal length"] = share(long)

    shares["paw with any force"] = share(model, None)
    free = Neuromechanic({key: table for key, table in hindlimb(3.0).items() if key != "pin"})
    pushed = np.array([[*PAW_FORCE, 0.0, 0.0, 0.0]])
    patterns = sample_patterns(free, POSTURE, count, wrench=pushed, seed=1)
    shares["paw not held"] = _share(shortcut(free, {"q": POSTURE, "wrench": pushed}).matrix(patterns))

    near = sample_patterns(animal, POSTURE, count, reaction=PAW_FORCE, thin=1, seed=1)
    shares["sampled without thinning"] = _share(short.matrix(near))
    rng, most = np.random.default_rng(0), animal.model.arrays["max_force"]
    for name, cost in (("quadratic", 1.0), ("linear", 1e-6)):
        activations = []
        for _ in range(100):
            weight = (rng.random(31) if name == "quadratic" else cost) / most**2
            linear = None if name == "quadratic" else -rng.random(31) / most
            activations.append(equilibrate(animal, POSTURE, cost=weight, linear=linear, reaction=PAW_FORCE).activation)
        shares[f"least of random {name} costs"] = _share(short.matrix(np.array(activations)))
    return shares


def _most_unstable(viscosity: float, seed: int) -> float:
    """Return the shortest doubling time (s) of a deviation at a stiffness of 3."""
    return float(np.log(2.0) / growth(_limb(3.0, viscosity)[1].matrix(_patterns(8.5, seed))).max())


def figure_2(sheet: Sheet) -> Figure:
    """Draw illustration 1: growth of deviations, and the share of stable patterns."""
    figure = Figure(figsize=(15, 9), layout="constrained")
    top, bottom = figure.subfigures(2, 1, squeeze=False).ravel()
    panels = [*top.subplots(1, 3), *bottom.subplots(1, 3, width_ratios=[1, 1.1, 1])]
    rates = _growth_rates(panels[0], sheet)
    shares = _over_stiffness(panels[1], sheet)
    times, viscosities = _over_viscosity(panels[2], sheet)
    _over_forces(panels[3], sheet)
    _over_readings(panels[4], sheet)
    _over_costs(panels[5], sheet)
    sheet.found(
        doubling=MS * np.log(2.0) / rates.max(),
        viscosity=SLOW,
        least_viscosity=min(viscosities),
        greatest_viscosity=max(viscosities),
        doubling_elsewhere=MS * times[:, 0].min(),
        share=100 * shares[0],
        stiffness=np.interp(0.35, shares, STIFFNESS),
        rise=100 * np.diff(shares).min(),
    )
    for ax in panels:
        ax.legend(loc="lower right" if ax in panels[4:] else "best")
    return figure


def _growth_rates(ax: Axes, sheet: Sheet) -> Array:
    """Draw panel a, and return the growth rate of each pattern's fastest deviation, 1/s."""
    pooled = np.concatenate([_patterns(8.5, seed) for seed in SEEDS])
    rates = growth(_limb(3.0, SLOW)[1].matrix(pooled))
    ax.hist(rates, 60, weights=np.full(len(rates), 100.0 / len(rates)), color=FREE)
    sheet.table("A", growth_per_s=np.sort(rates))
    share = float(np.mean(rates < -1e-6))
    ax.axvline(0.0, color="k", lw=1)
    ax.axvline(np.log(2.0) / 0.2, label="paper: doubles in 200 ms", **LIMIT)
    ax.set(xlabel="growth rate of the fastest deviation (1/s)", ylabel="share of patterns (%)")
    ax.set_title(f"a  stiffness 3, viscosity {SLOW:g}: {100 * share:.1f}% stable (paper: 35%)")
    return rates


def _over_stiffness(ax: Axes, sheet: Sheet) -> Array:
    """Draw panel b, the share of stable patterns over the stiffness, and return the shares at 8.5 N."""
    shares = {}
    for force, seeds in ((5.0, SEEDS[:1]), (8.5, SEEDS), (12.0, SEEDS[:1])):
        patterns = np.concatenate([_patterns(force, seed) for seed in seeds])
        steps = sheet.progress(STIFFNESS, f"shares at {force:g} N")
        shares[force] = np.array([_share(_limb(kappa)[1].matrix(patterns)) for kappa in steps])
        ax.plot(STIFFNESS, 100 * shares[force], "o-", label=f"paw pushes with {force:g} N")
    names = {f"share_{force:g}_N": values for force, values in shares.items()}
    sheet.table("B", stiffness_Fmax_per_lopt=STIFFNESS, **names)
    mark_printed(ax, 3.0, sheet.printed("share"))
    ax.set(xlabel="intrinsic stiffness (Fmax / lopt)", ylabel="stable patterns (%)", ylim=(-2, 102))
    ax.set_title("b  the stiffer, the more patterns are stable")
    return shares[8.5]


def _over_viscosity(ax: Axes, sheet: Sheet) -> tuple[Array, list[float]]:
    """Draw panel c, the shortest doubling time over viscosity.

    Returns:
        times: Shortest doubling time (s) by sample and viscosity.
        needs: Viscosity of each sample at which this is 200 ms.
    """
    viscosities = np.array([0.1, 0.3, 1.0, 2.0, 3.0, 4.0, 5.0])
    every = sheet.progress([(v, s) for s in SEEDS for v in viscosities], "doubling times")
    times = np.reshape([_most_unstable(*pair) for pair in every], (len(SEEDS), -1))
    for seed, values in zip(SEEDS, times, strict=True):
        ax.plot(viscosities, MS * values, "o-", ms=4, label=f"sample {seed} of {PATTERNS:,}")
    columns = {"viscosity_Fmax_s_per_lopt": viscosities, "least_doubling_time_ms": MS * times}
    sheet.table("C", seed=np.array(SEEDS)[:, None], **columns)
    needs = [float(np.interp(0.2, values, viscosities)) for values in times]
    ax.axhline(200.0, label="paper: longer than 200 ms", **LIMIT)
    ax.set(xlabel="viscosity (Fmax s / lopt)", ylabel="doubling time of the most unstable (ms)")
    ax.set_title(f"c  200 ms ask for a viscosity of {min(needs):.1f} to {max(needs):.1f}")
    return times, needs


def _over_forces(ax: Axes, sheet: Sheet) -> None:
    """Draw panel d: the paw's force with which 35% of the patterns are stable, over its direction."""
    sizes = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 12.0])
    ways, sides, (animal, short) = np.arange(0.0, 51.0, 5.0), (-10.0, 0.0, 10.0), _limb(3.0)
    grid = np.array([(side, way, size) for side in sides for way in ways for size in sizes])
    (inward, backward), shares = np.deg2rad(grid[:, :2].T), np.zeros(len(grid))
    pushes = np.stack([np.sin(backward) * np.cos(inward), np.cos(backward) * np.cos(inward), np.sin(inward)], 1)
    for k in sheet.progress(range(len(grid)), "forces of the paw"):
        with suppress(Infeasible):  # no pattern produces it
            force = grid[k, 2] * pushes[k]
            shares[k] = _share(short.matrix(sample_patterns(animal, POSTURE, 500, reaction=force, thin=100, seed=1)))
    sheet.table("D", **dict(zip(("inward_deg", "backward_deg", "paw_force_N"), grid.T, strict=True)), share=shares)
    needed = [[np.interp(-0.35, -row, sizes) for row in block] for block in shares.reshape(len(sides), len(ways), -1)]
    names = ("10 degrees outward", "straight", "10 degrees inward")
    for name, forces, style in zip(names, needed, ("--", "-", ":"), strict=True):
        ax.plot(ways, forces, style, color=FREE, label=name)
    ax.plot(35.0, 8.5, "o", color="k", label="in the other panels")
    ax.set(xlabel="direction of the paw's push (degrees backward of down)", ylabel="force of the paw (N)", ylim=(0, 12))
    ax.set_title("d  with this force 35% are stable at stiffness 3")
    middle = np.array(needed[1])
    sheet.found(force=middle[ways == 35.0][0], way=np.interp(-8.5, -middle[middle.argmax() :], ways[middle.argmax() :]))
    sheet.found(least_force=np.min(needed), greatest_force=np.max(needed))


def _over_costs(ax: Axes, sheet: Sheet) -> None:
    """Draw panel f: growth rate over summed squared activation of patterns that minimise a cost, and of others."""
    animal, short = _limb(3.0)
    weights = np.array([0.0, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 200.0])
    costs = np.array([stiff_pattern(animal, POSTURE, reaction=PAW_FORCE, weight=float(weight)) for weight in weights])
    stable = most_stable(animal, POSTURE, reaction=PAW_FORCE)
    least = equilibrate(animal, POSTURE, reaction=PAW_FORCE).activation
    named = {"random": _patterns(8.5, 1)[::10], "best of a random search": stable[None], "least stress": least[None]}
    for (name, patterns), style in zip((named | {"cost": costs}).items(), (".", "s", "^", "o-"), strict=True):
        effort, rates = (patterns**2).sum(1), growth(short.matrix(patterns))
        ax.plot(effort, rates, style, ms=3 if style == "." else 6, label=name)
        sheet.table(f"F_{name.replace(' ', '_')}", summed_squared_activation=effort, growth_per_s=rates)
        k = int(np.flatnonzero(weights == 5.0)[0]) if name == "cost" else slice(None)
        sheet.found(name.split()[0], _growth=rates[k].mean(), _effort=effort[k].mean())
    ax.axhline(0.0, color="k", lw=1)
    ax.set(xlabel="summed squared activation", ylabel="growth rate of the fastest deviation (1/s)", ylim=(-40, 30))
    ax.set_title("f  a cost on activation and stiffness")
    sheet.found(effort=sheet.values["cost_effort"] / sheet.values["random_effort"])


def _over_readings(ax: Axes, sheet: Sheet) -> None:
    """Draw panel e, the share of stable patterns under the assumptions of `_readings`."""
    readings = _readings()
    values = 100 * np.array([*readings.values()])
    sheet.table("E", reading=[*readings], share=values / 100)
    ax.barh([*readings], values, color=PINNED)
    for place, value in enumerate(values):
        ax.text(value + 0.5, place, f"{value:.1f}", va="center", fontsize=9)
    ax.axvline(35.0, label="paper: 35%", **LIMIT)
    ax.set(xlabel="stable patterns at stiffness 3 and 8.5 N (%)")
    ax.set_title("e  what else the paper leaves open")
    ax.invert_yaxis()


def illustration_2(sheet: Sheet) -> Figure:
    """Draw the error over 200 patterns and the speed of the state matrix as a linear function of activations."""
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
        "A by differences": min(repeat(lambda: linearise(animal, start), number=1, repeat=200)),
        "A by the shortcut": min(repeat(lambda: short.matrix(pattern), number=1, repeat=2000)),
        "eigenvalues of A": min(repeat(lambda: np.linalg.eigvals(A), number=1, repeat=500)),
    }
    faster = times["A by differences"] / times["A by the shortcut"]

    figure = Figure(figsize=(12, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.hist(errors, np.geomspace(3e-9, 1e-5, 80), color=PINNED)
    left.axvspan(1.5e-6, 2.9e-6, color="0.8", label="paper: (2.2 +- 0.7) 1e-6 %")
    left.set(xscale="log", xlabel="rms error (%)", ylabel="patterns", title=f"Error over {len(errors)} patterns")
    left.legend()
    right.barh([*times], 1e6 * np.array([*times.values()]), color=[FREE, PINNED, "0.6"])
    right.axvline(1e6 * times["A by differences"] / 1e4, label="paper: 10,000 times as fast", **LIMIT)
    right.set(xscale="log", xlabel="time (μs)", title=f"The shortcut is {faster:.0f} times as fast")
    right.invert_yaxis()
    right.legend(loc="center right")
    sheet.table("error", pattern=np.arange(len(errors)), rms_error_percent=errors)
    sheet.table("time", what=[*times], seconds=[*times.values()])

    k = animal.mechanics(posture(animal, POSTURE))
    rank = np.linalg.matrix_rank(k["arm"].T)
    sheet.found(null_space=len(patterns[0]) - rank, error=error)
    sheet.found(faster=np.log10(faster), direct=MS * times["A by differences"])
    return figure
