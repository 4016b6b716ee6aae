"""Draws the figures of the papers from our own simulations, as PNG files."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize, hsv_to_rgb
from matplotlib.figure import Figure
from matplotlib.projections.polar import PolarAxes
from numpy.typing import NDArray

from gymnosoma.envs import simulate
from gymnosoma.envs.worm import Worm, WormParams
from gymnosoma.envs.worm.analysis import (
    Behaviour,
    ForceMap,
    classify,
    crawl_speed,
    ensemble,
    force_map,
    medium,
    phases,
    play,
    speed_grid,
    swim_speed,
)
from gymnosoma.envs.worm.kymogram import FRAME_RATE, SineKymogram, load_kymogram
from gymnosoma.envs.worm.params import table

from .paper import Paper, PaperFigure

Array = NDArray[np.float64]

MM, PN, FW = 1e3, 1e12, 1e15
"""SI to the units of the paper's axes."""

HEAD, TAIL = "#f28e2b", "#4eb3d3"
COLOURS = {"forward": "#3b6fb6", "backward": "#c8413b", "turn": "#4a9a4a"}
RADIUS = 40e-6
"""Largest radius of the body, m (Appendix 1, Mass)."""


class Recording(NamedTuple):
    """A recorded turn, and how the paper shows it.

    ``side`` is the sign of the recorded angles in the plane of the picture and ``heading`` (rad) the mean
    rod angle at the beginning, so that the tracks lie as in Fig. 3; ``snapshots`` are frames, among them
    the deep bend of Fig. 4.
    """

    title: str
    kymogram: str
    side: float
    heading: float
    snapshots: tuple[int, ...]


RECORDINGS = (
    Recording("Escape with omega turn", "omega_turn", -1.0, np.pi * 1.86, (60, 240, 300, 359, 390, 590)),
    Recording("Delta turn", "delta_turn", 1.0, np.pi * 0.97, (30, 90, 127, 160, 194, 290)),
)


class Turn(NamedTuple):
    """A simulated turn: joints, points (N, n + 1, 2) m, friction and behaviour."""

    command: Array
    points: Array
    force: ForceMap
    rod_centre: Array
    behaviour: Behaviour


@cache
def _turn(recording: Recording) -> Turn:
    """Simulate a recorded turn on agar with friction / 100, as in Figs. 3 and 4."""
    angles = load_kymogram(recording.kymogram)
    friction = medium(1.0, table()["turn_friction_scale"])
    worm = Worm(dt=0.1 / FRAME_RATE)
    run = play(worm, recording.side * angles, friction | {"heading": recording.heading})
    run = {name: values[:, 0] for name, values in run.items()}
    force = force_map(run["rod_angle"], run["rod_centre"], friction)
    behaviour = classify(recording.side * run["joint_angle"])
    return Turn(angles, _points(run["rod_angle"], run["centre"]), force, run["rod_centre"], behaviour)


def _points(rod_angle: Array, centre: Array) -> Array:
    """Ends of the rods (..., n + 1, 2) m of worms of the paper's length."""
    worm = Worm()
    rows = worm.rows(int(np.prod(rod_angle.shape[:-1])))
    rows["rod_angle"], rows["centre"] = rod_angle.reshape(len(rows), -1), centre.reshape(len(rows), 2)
    return worm.points(rows).reshape(*rod_angle.shape[:-1], -1, 2)


def _body(ax: Axes, points: Array, **style: Any) -> None:
    """Draw a worm with its width from ``points`` (n + 1, 2) m, on axes in mm."""
    along = np.gradient(points, axis=0)
    across = np.stack([-along[:, 1], along[:, 0]], -1) / np.linalg.norm(along, axis=1, keepdims=True)
    width = RADIUS * np.sqrt(1 - np.linspace(-1, 1, len(points)) ** 2)[:, None] * across
    outline = MM * np.concatenate([points + width, (points - width)[::-1]])
    look: dict[str, Any] = {"facecolor": "#d9cfc1", "edgecolor": "#4d4235", "lw": 0.7, "zorder": 3}
    ax.fill(*outline.T, **look | style)


def _turn_right(way: Array) -> Array:
    """Matrix that turns row vectors so that ``way`` (2,) points along x."""
    x, y = way / np.linalg.norm(way)
    return np.array([[x, -y], [y, x]])


def _head(ax: Axes, points: Array, size: float = 4.5) -> None:
    x, y = MM * points[0]
    ax.plot(x, y, "o", ms=size, mfc="#ffe14d", mec="#4d4235", mew=0.6, zorder=5, label="head")


def _tracks(ax: Axes, points: Array) -> None:
    """Paths of head and tail, points (N, n + 1, 2) m."""
    ax.plot(*(MM * points[:, 0]).T, color=HEAD, lw=1.1, label="head track", zorder=1)
    ax.plot(*(MM * points[:, -1]).T, color=TAIL, lw=1.1, label="tail track", zorder=1)


def _map_arena(ax: Axes) -> None:
    ax.set_aspect("equal")
    ax.set_xlabel("x (mm)")
    ax.set_ylabel("y (mm)")


def _kymogram(ax: Axes, angles: Array, duration: float, limit: float) -> Any:
    """Heat map of joint angles (N, n - 1) rad, head on top."""
    image = ax.imshow(
        angles.T,
        aspect="auto",
        extent=(0, duration, 1, 0),
        cmap="RdBu_r",
        vmin=-limit,
        vmax=limit,
        interpolation="nearest",
    )
    ax.set_yticks([0, 1], ["head", "tail"])
    return image


def _marks(ax: Axes, times: Iterable[float]) -> None:
    """Triangles over the upper edge at the times of snapshots."""
    for t in times:
        ax.plot(t, 1.0, "kv", ms=5, transform=ax.get_xaxis_transform(), clip_on=False, zorder=6)


def _figure_2() -> Figure:
    """Crawling and swimming with the paper's sine: commanded and reached angles, trajectory."""
    figure = Figure(figsize=(12, 7), layout="constrained")
    top, bottom = figure.subfigures(2, 1, squeeze=False, height_ratios=[1.9, 1]).ravel()
    kymograms, arenas = top.subplots(2, 2, sharex=True), bottom.subplots(1, 2, sharex=True, sharey=True)
    duration = 5.0
    for column, sigma in enumerate((1.0, 0.0)):
        wave = SineKymogram.for_medium(sigma, ramp=0.0)
        run = simulate(Worm(WormParams.in_medium(sigma)), wave, duration, every=0.005, start={"joint_angle": wave(0.0)})
        command = np.array([wave(t) for t in run.time])
        title = (
            f"{'Crawling on agar' if sigma else 'Swimming in water'} "
            f"($\\nu$ = {wave.wavenumber:g}, T = {wave.period:g} s)\ncommanded joint angle"
        )
        for ax, angles, what in zip(
            kymograms[:, column], (command, run["joint_angle"]), (title, "reached joint angle"), strict=True
        ):
            image = _kymogram(ax, angles, duration, wave.amplitude)
            ax.set_title(what, fontsize=11)
        kymograms[1, column].set_xlabel("time (s)")
        # The start in the shape of the wave turns the swimmer: show its way from left to right.
        way = run["centre"][-1] - run["centre"][0]
        points = _points(run["rod_angle"], run["centre"]) @ _turn_right(way)
        ax = arenas[column]
        _tracks(ax, points)
        for k, shade in ((0, 0.4), (len(points) - 1, 1.0)):
            _body(ax, points[k], alpha=shade)
        _head(ax, points[-1])
        speed = crawl_speed(Worm()) if sigma else swim_speed(Worm())
        ax.set_title(f"{duration:g} s; {'speed' if sigma else 'steady speed'} {MM * speed:.3f} mm/s", fontsize=11)
        _map_arena(ax)
    top.colorbar(image, ax=kymograms, label="joint angle (rad)", pad=0.01)
    bottom.legend(*arenas[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return figure


def _figure_3() -> Figure:
    """Kymograms of the two turns, whole tracks, and snapshots with the forces on the ground."""
    figure = Figure(figsize=(13, 15.5), layout="constrained")
    figure.suptitle("Turns of real worms, replayed on agar with friction / 100; arrows: force on the ground")
    for part, recording in zip(figure.subfigures(2, 1, squeeze=False, hspace=0.03).ravel(), RECORDINGS, strict=True):
        turn = _turn(recording)
        times = [frame / FRAME_RATE for frame in recording.snapshots]
        axes = part.subplot_mosaic(
            [["kymogram"] * 5, ["tracks", "tracks", "0", "1", "2"], ["tracks", "tracks", "3", "4", "5"]],
            height_ratios=[0.7, 1, 1],
        )
        ax = axes["kymogram"]
        limit = float(np.quantile(np.abs(turn.command), 0.998))
        image = _kymogram(ax, turn.command, len(turn.command) / FRAME_RATE, limit)
        ax.set_title(f"{recording.title}: kymogram", pad=12)
        ax.set_xlabel("time (s)")
        part.colorbar(image, ax=ax, label="joint angle (rad)", pad=0.01)
        _marks(ax, times)
        ax = axes["tracks"]
        _tracks(ax, turn.points)
        for k, frame in enumerate(recording.snapshots):
            _body(ax, turn.points[frame], alpha=0.3 + 0.12 * k)
            _head(ax, turn.points[frame])
        _map_arena(ax)
        ax.legend(*(entries[:3] for entries in ax.get_legend_handles_labels()), frameon=False, fontsize=9)
        longest = turn.force.magnitude[list(recording.snapshots)].max()
        for k, frame in enumerate(recording.snapshots):
            ax = axes[f"{k}"]
            _tracks(ax, turn.points[: frame + 1])
            _body(ax, turn.points[frame])
            _head(ax, turn.points[frame])
            place = MM * turn.rod_centre[frame]
            arrows = ax.quiver(
                *place.T,
                *-turn.force.force[frame].T,
                angles="xy",
                scale_units="xy",
                scale=longest / 0.4,
                width=0.006,
                headwidth=3.5,
                zorder=4,
            )
            ax.set_title(f"{times[k]:.1f} s, {turn.behaviour.label[frame]}", fontsize=11)
            _map_arena(ax)
            x, y = 0.5 * (place.min(0) + place.max(0))
            ax.set(xlim=(x - 0.7, x + 0.7), ylim=(y - 0.7, y + 0.7), xlabel="", ylabel="", xticks=[], yticks=[])
            if k == 0:
                unit = float(f"{0.5 * longest:.0e}")
                ax.quiverkey(arrows, 0.19, 0.08, unit, f"{unit * PN:,.0f} pN", labelpos="E", fontproperties={"size": 9})
                ax.plot([x + 0.12, x + 0.62], [y - 0.6, y - 0.6], "k", lw=2)
                ax.text(x + 0.37, y - 0.58, "0.5 mm", ha="center", va="bottom", fontsize=9)
    return figure


def _wheel(ax: PolarAxes, strongest: float) -> None:
    """Colour wheel: direction as hue, magnitude as saturation."""
    phi, rho = np.linspace(0, 2 * np.pi, 181), np.linspace(0, 1, 41)
    hue, strength = np.meshgrid(phi[:-1] / (2 * np.pi), rho[1:])
    ax.pcolormesh(phi, rho, hsv_to_rgb(np.stack([hue, strength, np.ones_like(hue)], -1)))
    ax.set_xticks([])
    ax.set_yticks([1.0], [])
    ax.set_xlabel(f"direction;\nrim {strongest * PN:,.0f} pN", fontsize=9)


def _figure_4() -> Figure:
    """Friction on each rod, its magnitude and mean, power, and behaviour over time."""
    heat = LinearSegmentedColormap.from_list("heat", ["white", "#2b50c8", "#37b34a", "#f7e13c", "#d7191c"])
    red = "#b8322c"
    figure = Figure(figsize=(17, 10), layout="constrained")
    for part, recording in zip(figure.subfigures(1, 2, squeeze=False, wspace=0.03).ravel(), RECORDINGS, strict=True):
        turn = _turn(recording)
        force, count = turn.force, len(turn.command)
        duration, time = count / FRAME_RATE, np.arange(count) / FRAME_RATE
        strongest = float(f"{np.quantile(force.magnitude, 0.98):.1g}")
        part.suptitle(recording.title, fontsize=13)
        directions, magnitudes, means, strip = part.subplots(4, 1, height_ratios=[1, 1, 1.2, 0.35])

        angle = np.arctan2(force.force[..., 1], force.force[..., 0]) / (2 * np.pi) % 1
        strength = np.clip(force.magnitude / strongest, 0, 1)
        colours = hsv_to_rgb(np.stack([angle, strength, np.ones_like(angle)], -1)).swapaxes(0, 1)
        place = {"aspect": "auto", "extent": (0, duration, 1, 0), "interpolation": "nearest"}
        directions.imshow(colours, **place)
        directions.set_title("friction of the ground on each segment", fontsize=11, pad=10)
        wheel = directions.inset_axes((1.02, 0.3, 0.13, 0.5), projection="polar")
        assert isinstance(wheel, PolarAxes)
        _wheel(wheel, strongest)
        image = magnitudes.imshow(PN * force.magnitude.T, cmap=heat, vmin=0, vmax=PN * strongest, **place)
        magnitudes.set_title("its magnitude", fontsize=11, pad=10)
        part.colorbar(image, cax=magnitudes.inset_axes((1.02, 0, 0.02, 1)), label="friction (pN)", extend="max")
        for ax in (directions, magnitudes):
            ax.set_yticks([0, 1], ["head", "tail"])

        means.plot(time, PN * force.mean, "k", lw=1.2)
        means.set_ylabel("friction (pN)")
        means.set_ylim(bottom=0)
        means.set_title("mean friction of a segment (black) and power (red)", fontsize=11, pad=10)
        power = means.twinx()
        power.plot(time, FW * force.power, color=red, lw=1.0)
        power.set_ylabel("power (fW)", color=red)
        power.tick_params(axis="y", colors=red)
        power.set_ylim(bottom=0)
        for phase in phases(turn.behaviour.label):
            a, b = phase.start / FRAME_RATE, phase.stop / FRAME_RATE
            strip.axvspan(a, b, color=COLOURS[phase.label], lw=0)
            mean = f"{FW * force.power[phase.start : phase.stop].mean():,.0f} fW"
            wide = b - a > 0.1 * duration
            if phase.stop - phase.start > 1:
                strip.text(
                    0.5 * (a + b),
                    0.5,
                    f"{phase.label}\n{mean}" if wide else mean,
                    color="white",
                    ha="center",
                    va="center",
                    fontsize=10 if wide else 6.5,
                    rotation=0 if wide else 90,
                )
        strip.set_yticks([])
        strip.set_xlabel("time (s); numbers: mean power of each phase")
        for ax in (directions, magnitudes, means, strip):
            ax.set_xlim(0, duration)
        for ax in (directions, magnitudes, means):
            _marks(ax, [frame / FRAME_RATE for frame in recording.snapshots])
            ax.tick_params(labelbottom=False)
    return figure


def _figure_5() -> Figure:
    """Speed over wavenumber and period from water to agar, the best waves and their shapes."""
    worm = Worm()
    sigmas = np.linspace(0, 1, 11)
    wavenumbers, periods = 0.05 * np.arange(4, 51), 0.1 * np.arange(2, 17)
    grids = [speed_grid(worm, sigma, wavenumbers, periods) for sigma in sigmas]
    best = [np.unravel_index(np.nanargmax(grid), grid.shape) for grid in grids]
    nu, period = wavenumbers[[i for i, _ in best]], periods[[j for _, j in best]]

    figure = Figure(figsize=(17, 9), layout="constrained")
    left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=[1.7, 1], wspace=0.02).ravel()
    left.suptitle("Speed over 5 s from straight rest, A = 0.6 rad; star: best wave")
    axes = left.subplots(3, 4)
    for ax, sigma, grid, x, y in zip(axes.flat, sigmas, grids, nu, period, strict=False):
        peak = np.nanmax(grid)
        ax.pcolormesh(wavenumbers, periods, grid.T / peak, cmap="viridis", vmin=0, vmax=1, rasterized=True)
        ax.plot(x, y, "*", ms=14, mfc="#ff4d4d", mec="white", mew=0.8)
        name = {0.0: " (water)", 1.0: " (agar)"}.get(float(sigma), "")
        ax.set_title(f"$\\sigma$ = {sigma:.1f}{name}: {MM * peak:.2f} mm/s", fontsize=10)
        ax.label_outer()
    for ax in axes[:, 0]:
        ax.set_ylabel("period T (s)")
    for ax in (*axes[-1, :-1], axes[1, -1]):
        ax.set_xlabel("wavenumber $\\nu$")
        ax.tick_params(labelbottom=True)
    axes[-1, -1].set_axis_off()
    bar = axes[-1, -1].inset_axes((0.1, 0.05, 0.08, 0.85))
    left.colorbar(ScalarMappable(Normalize(0, 1), "viridis"), cax=bar, label="speed / best speed of the medium")

    top, bottom = right.subplots(2, 1, height_ratios=[1.2, 1])
    colours = colormaps["plasma"](0.9 * sigmas)
    top.plot(nu, period, "-", color="0.8", zorder=1)
    top.scatter(nu, period, c=colours, s=80, edgecolors="k", linewidths=0.6, zorder=3)
    spots = sorted(set(zip(nu.tolist(), period.tolist(), strict=True)))
    for k, spot in enumerate(spots):
        here = [f"{sigma:.1f}" for sigma, x, y in zip(sigmas, nu, period, strict=True) if (x, y) == spot]
        above = bool(k % 2)  # neighbours lie close together
        top.annotate(
            ", ".join(here),
            spot,
            xytext=(-4, 7) if above else (4, -7),
            textcoords="offset points",
            ha="right" if above else "left",
            va="bottom" if above else "top",
        )
    top.set(xlabel="wavenumber $\\nu$", ylabel="period T (s)", title="Best wave; labels: medium $\\sigma$")
    top.margins(0.08, 0.12)

    place = np.linspace(0, 1, worm.drive_size)
    run = ensemble(
        worm,
        lambda t: 0.6 * np.cos(2 * np.pi * (nu[:, None] * place - t / period[:, None])),
        len(sigmas),
        5.0,
        5.0,
        start=medium(sigmas),
    )
    shapes = _points(run["rod_angle"][-1], run["centre"][-1])
    for k, (sigma, shape) in enumerate(zip(sigmas, shapes, strict=True)):
        shape = (shape - shape.mean(0)) @ _turn_right(shape[0] - shape[-1])
        shape += np.array([1.25 * (k % 3), -0.5 * (k // 3)]) / MM
        _body(bottom, shape, facecolor=colours[k])
        _head(bottom, shape)
        x, y = 1.25 * (k % 3), -0.5 * (k // 3)
        bottom.text(x, y + 0.22, f"$\\sigma$ = {sigma:.1f}", ha="center", fontsize=9)
    bottom.set_aspect("equal")
    bottom.set_axis_off()
    bottom.set_title("Body of the best wave after 5 s")
    return figure


PAPER = Paper(
    "worm",
    "Chung, Chang & Kim (2024), ElegansBot, eLife 12:RP92562",
    (
        PaperFigure("figure_2", "Crawling and swimming with the paper's sine", lambda sheet: _figure_2()),
        PaperFigure("figure_3", "The two recorded turns, and the forces on the ground", lambda sheet: _figure_3()),
        PaperFigure("figure_4", "Friction, power and behaviour of the turns", lambda sheet: _figure_4()),
        PaperFigure("figure_5", "The best waves from water to agar", lambda sheet: _figure_5()),
    ),
    {},
)
