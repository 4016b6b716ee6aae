"""Figures 2 and 5 of the worm's paper: crawling and swimming by sines, and the best sines from water to agar."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure, SubFigure
from numpy.typing import NDArray

from gymnosoma.envs.worm import Worm, WormParams, medium
from gymnosoma.envs.worm.kymogram import SineKymogram
from gymnosoma.envs.worm.params import table
from papers.simulations import ensemble

from ..paper import MARK, Sheet, printed
from .analysis import crawl_speed, speed_grid, swim_speed
from .drawing import (
    HOLD,
    MM,
    PAPER,
    PN,
    Array,
    body,
    forces,
    head,
    heat_map,
    joints,
    map_arena,
    places,
    tracks,
    turn_right,
)

NAMES = {1.0: "crawl", 0.0: "swim"}
"""Names of locomotion on agar (sigma 1) and in water (sigma 0)."""

EVERY = 5e-3
"""Time between records of Fig. 2, s."""
SHOWN = round(5.0 / EVERY)
"""Number of records in Fig. 2."""

SIGMAS = np.linspace(0, 1, 11)
WAVENUMBERS, PERIODS = 0.05 * np.arange(4, 51), 0.1 * np.arange(2, 17)
"""Grid of Fig. 5A; its steps are the resolution of the printed optima."""


@cache
def _locomotion(sigma: float) -> dict[str, Array]:
    """Simulate 8 s of crawling or 5 s of swimming by the paper's sine and scheme, and rotate the result along x.

    The start is rest in the shape of the wave.
    """
    wave = SineKymogram.for_medium(sigma, ramp=0.0)
    worm = Worm(WormParams.in_medium(sigma), scheme="published")
    signals = ("centre", "centre_velocity", "rod_angle", "rod_centre", "joint_angle", "friction_force")
    start = {"joint_angle": wave(0.0)}
    run = ensemble(worm, lambda t: wave(t - HOLD / 2), 1, 8.0 if sigma else 5.0, EVERY, HOLD, start, signals)
    run = {name: values[:, 0] for name, values in run.items()}
    run["time"] = np.linspace(0.0, EVERY * (len(run["centre"]) - 1), len(run["centre"]))
    # The start in the shape of the wave turns the swimmer; rotate its path so that it leads from left to right.
    way = run["centre"][SHOWN] - run["centre"][0]
    turned = turn_right(way)
    for name in ("centre", "centre_velocity", "rod_centre", "friction_force"):
        run[name] = run[name] @ turned
    run["rod_angle"] = run["rod_angle"] - np.arctan2(way[1], way[0])
    run["command"] = np.array([wave(t) for t in run["time"]])
    run["points"] = joints(run["rod_angle"], run["centre"])
    return run


def _period(sigma: float) -> float:
    return table()["agar_period" if sigma else "water_period"]


def figure_2(sheet: Sheet) -> Figure:
    """Draw crawling and swimming with the paper's sine: commanded and reached angles, and tracks."""
    figure = Figure(figsize=(12, 7.4), layout="constrained")
    top, bottom = figure.subfigures(2, 1, squeeze=False, height_ratios=[1.75, 1]).ravel()
    kymograms, arenas = top.subplots(2, 2, sharex=True), bottom.subplots(1, 2, sharex=True, sharey=True)
    for column, sigma in enumerate(sheet.progress((1.0, 0.0), "crawl and swim")):
        wave, run = SineKymogram.for_medium(sigma), _locomotion(sigma)
        what = "Crawling on agar" if sigma else "Swimming in water"
        title = f"{what} ($\\nu$ = {wave.wavenumber:g}, T = {wave.period:g} s)\ncommanded joint angle"
        angles = (run["command"][: SHOWN + 1], run["joint_angle"][: SHOWN + 1])
        for ax, angle, text in zip(kymograms[:, column], angles, (title, "reached joint angle"), strict=True):
            image = heat_map(ax, angle, 5.0, wave.amplitude)
            ax.set_title(text, fontsize=11)
        kymograms[1, column].set_xlabel("time (s)")
        points = run["points"][: SHOWN + 1]
        _arena(arenas[column], sheet, run, points, sigma)
        time = run["time"][: SHOWN + 1, None]
        command, reached = angles
        name = "AC"[column]
        sheet.table(name, time_s=time, joint=np.arange(1, 25), command_rad=command, reached_rad=reached)
        sheet.table("BD"[column], time_s=time[:, 0], **places(points))
        if sigma:
            sheet.found(tail_track=MM * _track_shift(run["points"]))
    # Appendix 1: a cylinder of the mean radius, whose muscles act at this distance from the midline.
    radius, params = 25e-6, WormParams()
    sheet.found(volume_mass=1e12 * np.pi * radius**2 * params.length)
    sheet.found(elasticity=10.0 * np.mean(params.stiffness) / radius**2)
    top.colorbar(image, ax=kymograms, label="joint angle (rad)", pad=0.01)
    bottom.legend(*arenas[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return figure


def _arena(ax: Axes, sheet: Sheet, run: dict[str, Array], points: Array, sigma: float) -> None:
    """Draw tracks, first and last body, and the distances covered at our speed and at the printed speed."""
    tracks(ax, points)
    for k, shade in ((0, 0.4), (len(points) - 1, 1.0)):
        body(ax, points[k], alpha=shade)
    head(ax, points[-1])
    name, speed_of = NAMES[sigma], crawl_speed if sigma else swim_speed
    speed, paper = MM * speed_of(Worm(scheme="published"), HOLD), sheet.printed(name)
    sheet.found(name, **{"": speed, "_converged": MM * speed_of(Worm())})
    # The speed in water refers to whole periods.
    first, last = (0.0, 5.0) if sigma else (2.0, 4.8)
    begin, end = (MM * run["centre"][round(t / EVERY)] for t in (first, last))
    way = paper * (last - first)
    ax.plot(begin[0] + np.array([0.0, way]), [-0.33, -0.33], "|--", color=PAPER, ms=9, label="paper's speed")
    ax.plot(np.array([begin[0], end[0]]), [-0.42, -0.42], "|-", color="k", ms=9, label="centre's way")
    ax.set_title(f"5 s; {'speed' if sigma else 'steady speed'} {speed:.4f} mm/s (paper {paper:g})", fontsize=11)
    map_arena(ax)
    ax.set_ylim(-0.55, 0.5)


def _track_shift(points: Array) -> float:
    """Return the mean distance (m, along x) of crests in the tail's track from the nearest ones in the head's."""

    def crests(track: Array) -> Array:
        y = track[:, 1]
        return track[1:-1][(y[1:-1] > y[:-2]) & (y[1:-1] >= y[2:]) & (y[1:-1] > y.mean()), 0]

    settled = points[round(_period(1.0) / EVERY) :]  # the first period starts from rest
    front, rear = crests(settled[:, 0]), crests(settled[:, -1])
    rear = rear[(rear > front.min()) & (rear < front.max())]  # range of both tracks
    away = rear[:, None] - front
    return float(np.mean(away[np.arange(len(rear)), np.abs(away).argmin(1)]))


def figure_2_supplement_1(sheet: Sheet) -> Figure:
    """Draw propulsive forces along the body, and thrust, drag and speed over time."""
    figure = Figure(figsize=(15, 10), layout="constrained")
    pushed = {}
    for panel, part, sigma in zip(
        "AB", figure.subfigures(1, 2, squeeze=False, wspace=0.03).ravel(), (1.0, 0.0), strict=True
    ):
        run, name = _locomotion(sigma), NAMES[sigma]
        part.suptitle("Crawling on agar" if sigma else "Swimming in water", fontsize=13)
        # Whole periods after the initial transient: two on agar, five in water.
        first, last = (4.8, 8.0) if sigma else (2.4, 4.4)
        chosen = slice(round(first / EVERY), round(last / EVERY))
        time, force, speed = run["time"][chosen], run["friction_force"][chosen], run["centre_velocity"][chosen, 0]
        angle = run["rod_angle"][chosen]
        # Thrust is the forward component of friction across the segments, drag that of friction along them.
        drag = np.sum((force[..., 0] * np.cos(angle) + force[..., 1] * np.sin(angle)) * np.cos(angle), 1)
        net = force[..., 0].sum(1)
        thrust = net - drag
        axes = part.subplot_mosaic(
            [["0", "1", "2", "3"], ["rods"] * 4, ["sums"] * 4, ["speed"] * 4], height_ratios=[1, 1, 1, 1]
        )
        _moments(axes, run, chosen.start + np.round(np.arange(4) * _period(sigma) / 4 / EVERY).astype(int))
        limit = float(np.quantile(np.abs(force[..., 0]), 0.99))
        image = heat_map(axes["rods"], PN * force[..., 0], 1.0, PN * limit)
        image.set_extent((time[0], time[-1] + EVERY, 1, 0))
        axes["rods"].set_title("force of the medium along the way: red pushes forward", fontsize=10)
        part.colorbar(image, cax=axes["rods"].inset_axes((1.01, 0, 0.015, 1)), label="pN")
        bent = np.abs(run["joint_angle"][chosen].mean(1))
        _sums(axes["sums"], axes["speed"], time, thrust, drag, speed, sigma, bent)
        sheet.table(f"{panel}_rods", time_s=time[:, None], rod=np.arange(1, 26), force_along_way_pN=PN * force[..., 0])
        sums = {"thrust_pN": PN * thrust, "drag_pN": PN * drag, "speed_mm_per_s": MM * speed}
        sheet.table(panel, time_s=time, **sums)
        # The paper does not define thrust. Alternative reading: the sum of all forward forces.
        pushed[sigma] = _variation(np.maximum(force[..., 0], 0).sum(1))
        sheet.found(f"{name}_", thrust=_variation(thrust), speed=_variation(speed))
        if sigma:
            push = float(np.corrcoef(np.abs(np.sin(angle)).ravel(), force[..., 0].ravel())[0, 1])
            sheet.found(crawl_push=push)
        else:
            lag = _lag(bent, net)
            sheet.found(swim_gain=lag / (0.5 * _period(0.0)), swim_lag=1e3 * lag)
            sheet.found(swim_correlation=float(np.corrcoef(bent, net)[0, 1]))
    for what in ("thrust", "speed"):
        sheet.found(what, _ratio=sheet.values[f"swim_{what}"] / sheet.values[f"crawl_{what}"])
    sheet.found(pushed_ratio=pushed[0.0] / pushed[1.0])
    return figure


def _variation(values: Array) -> float:
    return float(np.std(values) / values.mean())


def _moments(axes: dict[str, Axes], run: dict[str, Array], frames: NDArray[np.int64]) -> None:
    """Draw the bodies of four frames with the forces on them."""
    longest = np.linalg.norm(run["friction_force"][frames], axis=-1).max()
    for k, frame in enumerate(frames):
        ax = axes[str(k)]
        body(ax, run["points"][frame])
        head(ax, run["points"][frame])
        arrows = forces(ax, run["rod_centre"][frame], run["friction_force"][frame], longest, 0.3)
        map_arena(ax)
        x, y = MM * run["centre"][frame]
        ax.set(xlim=(x - 0.55, x + 0.55), ylim=(y - 0.55, y + 0.55), xticks=[], yticks=[], xlabel="", ylabel="")
        ax.set_title(f"{run['time'][frame]:.2f} s", fontsize=10)
    unit = float(f"{0.5 * longest:.0e}")
    axes["0"].quiverkey(arrows, 0.22, 0.1, unit, f"{unit * PN:,.0f} pN", labelpos="E", fontproperties={"size": 8})


def _sums(
    sums: Axes, speeds: Axes, time: Array, thrust: Array, drag: Array, speed: Array, sigma: float, bent: Array
) -> None:
    """Draw the body's thrust, drag and speed over time; ``bent`` is the modulus of the mean joint angle (rad)."""
    sums.plot(time, PN * thrust, color="#b8322c", label="thrust: friction across the segments")
    sums.plot(time, PN * drag, color="#3b6fb6", label="drag: friction along them")
    sums.plot(time, PN * (thrust + drag), "k", lw=1, label="sum")
    room = PN * (thrust.max() - drag.min())
    sums.set(ylabel="force along the way (pN)", ylim=(PN * drag.min() - 0.05 * room, PN * thrust.max() + 0.25 * room))
    speeds.plot(time, MM * speed, "k", label="speed along the way")
    paper = next(row.value for row in printed("worm")["figure_2"] if row.name == NAMES[sigma])
    label = f"paper's mean{' from the start' if sigma else ''}, {paper:g} mm/s"
    speeds.axhline(paper, color=PAPER, ls="--", label=label)
    if not sigma:
        deepest = np.flatnonzero((bent[1:-1] > bent[:-2]) & (bent[1:-1] >= bent[2:])) + 1
        speeds.plot(time[deepest], MM * speed[deepest], "kv", ms=5, label="body most like a C")
    speeds.set(ylabel="speed (mm/s)", xlabel="time (s)", ylim=(0, 1.4 * MM * speed.max()))
    for ax in (sums, speeds):
        ax.set_xlim(time[0], time[-1] + EVERY)
        ax.legend(ncols=3, fontsize=8, loc="upper center")


def _lag(cause: Array, effect: Array) -> float:
    """Return the lag (s) of ``effect`` after ``cause``, up to half a period, after which the C shape recurs."""
    lags = np.arange(round(_period(0.0) / 2 / EVERY))
    links = [np.corrcoef(cause[: len(cause) - k], effect[k:])[0, 1] for k in lags]
    return EVERY * float(lags[int(np.argmax(links))])


@cache
def _grids() -> list[Array]:
    return [MM * speed_grid(Worm(), sigma, WAVENUMBERS, PERIODS) for sigma in SIGMAS]


def best_waves() -> tuple[Array, Array]:
    """Return wavenumber and period (s) of the fastest wave in each medium."""
    best = np.array([np.unravel_index(np.nanargmax(grid), grid.shape) for grid in _grids()])
    return WAVENUMBERS[best[:, 0]], PERIODS[best[:, 1]]


@cache
def _gaits() -> dict[str, Array]:
    """Simulate the best wave of each medium, and return two periods after 5 s with 40 records each."""
    nu, period = best_waves()
    place = np.linspace(0, 1, 24)
    worm, slots = Worm(dt=1e-3), np.arange(len(SIGMAS))

    def drive(t: float) -> Array:
        return 0.6 * np.cos(2 * np.pi * (nu[:, None] * place - t / period[:, None]))

    run = ensemble(worm, drive, len(SIGMAS), 5.0 + 2 * period.max(), 0.01, start=medium(SIGMAS), signals=_SHAPE)
    records = np.round((5.0 + np.linspace(0, 2, 81)[:, None] * period) / 0.01).astype(int)
    return {name: values[records, slots] for name, values in run.items()}


_SHAPE = ("centre", "rod_angle", "joint_angle")


OPTIMA = {0: ("water", 0.667, 0.4), 10: ("agar", 1.832, 1.6)}
"""Media of Fig. 5 with a printed optimum: name, and the animal's printed wavenumber and period (s)."""


def figure_5(sheet: Sheet) -> Figure:
    """Draw the speed over wavenumber and period from water to agar, the best waves and their shapes."""
    for _ in sheet.progress(range(1), "speeds over waves and media"):
        grids = _grids()
    nu, period = best_waves()
    figure = Figure(figsize=(17, 9), layout="constrained")
    left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=[1.7, 1], wspace=0.02).ravel()
    marked = {
        k: [sheet.printed(f"{name}_{what}") for what in ("wavenumber", "period")] for k, (name, *_) in OPTIMA.items()
    }
    _maps(left, nu, period, marked)
    top, bottom = right.subplots(2, 1, height_ratios=[1.2, 1])
    colours = colormaps["plasma"](0.9 * SIGMAS)
    top.plot(nu, period, "-", color="0.8", zorder=1)
    top.scatter(nu, period, c=colours, s=80, edgecolors="k", linewidths=0.6, zorder=3)
    _label_spots(top, nu, period)
    top.plot(*np.transpose([*marked.values()]), label="printed optimum", **{**MARK, "markersize": 13})
    animals = np.array([row[1:] for row in OPTIMA.values()])
    top.plot(*animals.T, "+", color=PAPER, ms=11, mew=2, label="the animal (printed)", zorder=2)
    top.set(xlabel="wavenumber $\\nu$", ylabel="period T (s)", title="Best wave; labels: medium $\\sigma$")
    top.legend(loc="upper left")
    top.margins(0.08, 0.12)

    shapes = joints(_gaits()["rod_angle"][0], _gaits()["centre"][0])
    for k, (sigma, shape) in enumerate(zip(SIGMAS, shapes, strict=True)):
        x, y = 1.25 * (k % 3), -0.5 * (k // 3)
        shape = (shape - shape.mean(0)) @ turn_right(shape[0] - shape[-1]) + np.array([x, y]) / MM
        body(bottom, shape, facecolor=colours[k])
        head(bottom, shape)
        bottom.text(x, y + 0.22, f"$\\sigma$ = {sigma:.1f}", ha="center", fontsize=9)
    bottom.set_aspect("equal")
    bottom.set_axis_off()
    bottom.set_title("Body of the best wave after 5 s")

    for k, (name, *_) in OPTIMA.items():
        sheet.found(f"{name}_", wavenumber=nu[k], period=period[k], speed=grids[k].max())
    sheet.found(line=float(np.corrcoef(nu, period)[0, 1]), half_period=period[-1] / OPTIMA[10][-1])
    grid = {"sigma": SIGMAS[:, None, None], "wavenumber": WAVENUMBERS[:, None], "period_s": PERIODS}
    sheet.table("A", **grid, speed_mm_per_s=np.array(grids))
    sheet.table("B", sigma=SIGMAS, wavenumber=nu, period_s=period, speed_mm_per_s=[grid.max() for grid in grids])
    return figure


def _maps(figure: SubFigure, nu: Array, period: Array, marked: dict[int, list[float]]) -> None:
    """Draw panel A: the speed of each wave in each medium."""
    figure.suptitle("Speed over 5 s from straight rest, A = 0.6 rad; star: best wave; diamond: printed optimum")
    axes = figure.subplots(3, 4)
    for ax, sigma, grid, x, y in zip(axes.flat, SIGMAS, _grids(), nu, period, strict=False):
        peak = np.nanmax(grid)
        ax.pcolormesh(WAVENUMBERS, PERIODS, grid.T / peak, cmap="viridis", vmin=0, vmax=1, rasterized=True)
        ax.plot(x, y, "*", ms=14, mfc="#ff4d4d", mec="white", mew=0.8)
        name = {0.0: " (water)", 1.0: " (agar)"}.get(float(sigma), "")
        ax.set_title(f"$\\sigma$ = {sigma:.1f}{name}: {peak:.2f} mm/s", fontsize=10)
        ax.label_outer()
    for ax in axes[:, 0]:
        ax.set_ylabel("period T (s)")
    for ax in (*axes[-1, :-1], axes[1, -1]):
        ax.set_xlabel("wavenumber $\\nu$")
        ax.tick_params(labelbottom=True)
    axes[-1, -1].set_axis_off()
    bar = axes[-1, -1].inset_axes((0.1, 0.05, 0.08, 0.85))
    figure.colorbar(ScalarMappable(Normalize(0, 1), "viridis"), cax=bar, label="speed / best speed of the medium")
    for k, spot in marked.items():
        axes.flat[k].plot(*spot, **{**MARK, "color": "white", "markersize": 11, "zorder": 4})


def _label_spots(ax: Axes, nu: Array, period: Array) -> None:
    """Label the best waves with their media."""
    spots: Iterable[tuple[float, float]] = sorted(set(zip(nu.tolist(), period.tolist(), strict=True)))
    for k, spot in enumerate(spots):
        here = [f"{sigma:.1f}" for sigma, x, y in zip(SIGMAS, nu, period, strict=True) if (x, y) == spot]
        above = bool(k % 2)  # neighbours are close together
        ax.annotate(
            ", ".join(here),
            spot,
            xytext=(0, 10 if above else -10),
            textcoords="offset points",
            ha="center",
            va="bottom" if above else "top",
        )


def figure_5_supplement_1(sheet: Sheet) -> Figure:
    """Draw bodies over a period of the best wave of each medium, and the waves along them."""
    for _ in sheet.progress(range(1), "best waves"):
        gaits = _gaits()
    nu, period = best_waves()
    figure = Figure(figsize=(13, 7), layout="constrained")
    axes = figure.subplots(3, 4)
    points = joints(gaits["rod_angle"], gaits["centre"])
    phases: NDArray[np.int64] = np.arange(0, 40, 8)
    for ax, k in zip(axes.flat, range(len(SIGMAS)), strict=False):
        way = gaits["centre"][40, k] - gaits["centre"][0, k]
        shapes = (points[:40, k] - gaits["centre"][:40, k, None]) @ turn_right(way)
        for j, phase in enumerate(phases):
            colour = colormaps["viridis"](j / 5)
            body(ax, shapes[phase], facecolor=colour, alpha=0.65, zorder=3 + 0.01 * j)
            head(ax, shapes[phase])
        map_arena(ax)
        ax.set(xlim=(-0.62, 0.62), ylim=(-0.3, 0.3))
        ax.label_outer()
        name = {0: " (water)", 10: " (agar)"}.get(k, "")
        ax.set_title(f"$\\sigma$ = {SIGMAS[k]:.1f}{name}: $\\nu$ = {nu[k]:.2f}, T = {period[k]:.1f} s", fontsize=10)
    # Number of periods by which the first harmonic of the joint angles lags from head to tail.
    harmonic = np.tensordot(np.exp(2j * np.pi * np.arange(40) / 40), gaits["joint_angle"][:40], 1)
    waves = np.ptp(np.unwrap(np.angle(harmonic), axis=1)[:, [0, -1]], axis=1) / (2 * np.pi)
    last = axes.flat[-1]
    last.plot(SIGMAS, waves, "ko-", label="on the body")
    last.plot(SIGMAS, nu, "s:", color="0.5", mfc="none", label="commanded")
    last.set(xlabel="medium index $\\sigma$", ylabel="waves on the body", ylim=(0, 2.3))
    last.legend(fontsize=9)
    last.set_title("from swimming to crawling", fontsize=10)
    figure.suptitle("The body over a period of the best wave, from dark to light; way to the right")
    sheet.found(waves=waves[-1] - waves[0])
    sheet.table("waves", sigma=SIGMAS, wavenumber=nu, period_s=period, waves_on_body=waves)
    sheet.table(
        "bodies",
        sigma=SIGMAS[:, None],
        phase=phases[:, None, None] / 40,
        joint=np.arange(26),
        x_mm=MM * points[phases][..., 0],
        y_mm=MM * points[phases][..., 1],
    )
    return figure
