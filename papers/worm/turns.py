"""Figures 3 and 4 of the worm's paper: recorded turns, forces, power, behaviour."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, hsv_to_rgb
from matplotlib.figure import Figure, SubFigure
from matplotlib.patches import Patch
from matplotlib.projections.polar import PolarAxes
from numpy.typing import NDArray

from gymnosoma.envs.worm import Worm, medium
from gymnosoma.envs.worm.kymogram import FRAME_RATE, load_kymogram
from gymnosoma.envs.worm.params import table
from gymnosoma.recordings import Behaviour, Kymogram, classify, fit_sine, phase_means, phases
from gymnosoma.recordings.behaviour import TURN, Phase

from ..paper import Sheet, mark_printed
from .analysis import ForceMap, bend_force, force_map
from .drawing import (
    COLOURS,
    DELTA,
    FW,
    MM,
    OMEGA,
    PN,
    Array,
    Recording,
    body,
    forces,
    head,
    heat_map,
    joints,
    map_arena,
    marks,
    places,
    tracks,
)
from .playback import play

HEAT = LinearSegmentedColormap.from_list("heat", ["white", "#2b50c8", "#37b34a", "#f7e13c", "#d7191c"])


class Turn(NamedTuple):
    """Simulated turn: joint angles, rod ends (N, n + 1, 2) in m, friction, rod centres and behaviour."""

    joint_angle: Array
    points: Array
    force: ForceMap
    rod_centre: Array
    behaviour: Behaviour


@cache
def _turn(recording: Recording, scheme: str = "published") -> Turn:
    """Simulate a recorded turn on agar with friction / 100, as in Figs. 3 and 4."""
    friction = medium(1.0, table()["turn_friction_scale"])
    worm = Worm(dt=1e-5 if scheme == "published" else 0.1 / FRAME_RATE, scheme=scheme)
    run = play(worm, recording.angles, friction | {"heading": recording.heading})
    run = {name: values[:, 0] for name, values in run.items()}
    force = force_map(run["rod_angle"], run["rod_centre"], friction)
    angle = recording.side * run["joint_angle"]
    points, behaviour = joints(run["rod_angle"], run["centre"]), classify(Kymogram(angle, FRAME_RATE))
    return Turn(angle, points, force, run["rod_centre"], behaviour)


def _phases(behaviour: Behaviour) -> list[Phase]:
    """Return phases longer than one frame; in the first frame the direction is undefined."""
    return [phase for phase in phases(behaviour.label) if phase.stop - phase.start > 1]


def figure_3(sheet: Sheet) -> Figure:
    """Draw kymograms of the two turns, tracks, and snapshots with the forces on the ground."""
    figure = Figure(figsize=(13, 15.5), layout="constrained")
    figure.suptitle("Turns of real worms, replayed on agar with friction / 100; arrows: force on the ground")
    for k, (part, recording) in enumerate(
        zip(figure.subfigures(2, 1, squeeze=False, hspace=0.03).ravel(), (OMEGA, DELTA), strict=True)
    ):
        turn, command = _turn(recording), load_kymogram(recording.kymogram)
        times = [frame / FRAME_RATE for frame in recording.snapshots]
        axes = part.subplot_mosaic(
            [["kymogram"] * 5, ["tracks", "tracks", "0", "1", "2"], ["tracks", "tracks", "3", "4", "5"]],
            height_ratios=[0.7, 1, 1],
        )
        ax = axes["kymogram"]
        limit = float(np.quantile(np.abs(command), 0.998))
        image = heat_map(ax, command, len(command) / FRAME_RATE, limit)
        ax.set_title(f"{'AB'[k]}  {recording.title}: kymogram", pad=12)
        ax.set_xlabel("time (s)")
        part.colorbar(image, ax=ax, label="joint angle (rad)", pad=0.01)
        marks(ax, times)
        time = np.arange(len(command)) / FRAME_RATE
        sheet.table("AB"[k], time_s=time[:, None], joint=np.arange(1, 25), angle_rad=command)
        sheet.table("CD"[k], time_s=time, **places(turn.points))
        ax = axes["tracks"]
        ax.set_title("CD"[k])
        tracks(ax, turn.points)
        for k, frame in enumerate(recording.snapshots):
            body(ax, turn.points[frame], alpha=0.3 + 0.12 * k)
            head(ax, turn.points[frame])
        map_arena(ax)
        ax.legend(*(entries[:3] for entries in ax.get_legend_handles_labels()), fontsize=9)
        longest = turn.force.magnitude[list(recording.snapshots)].max()
        for k, frame in enumerate(recording.snapshots):
            ax = axes[f"{k}"]
            tracks(ax, turn.points[: frame + 1])
            body(ax, turn.points[frame])
            head(ax, turn.points[frame])
            arrows = forces(ax, turn.rod_centre[frame], -turn.force.force[frame], longest)
            deep = ", deep bend" if frame == recording.deep else ""
            ax.set_title(f"{times[k]:.1f} s, {turn.behaviour.label[frame]}{deep}", fontsize=11)
            map_arena(ax)
            place = MM * turn.rod_centre[frame]
            x, y = 0.5 * (place.min(0) + place.max(0))
            ax.set(xlim=(x - 0.7, x + 0.7), ylim=(y - 0.7, y + 0.7), xlabel="", ylabel="", xticks=[], yticks=[])
            if k == 0:
                unit = float(f"{0.5 * longest:.0e}")
                ax.quiverkey(arrows, 0.19, 0.08, unit, f"{unit * PN:,.0f} pN", labelpos="E", fontproperties={"size": 9})
                ax.plot([x + 0.12, x + 0.62], [y - 0.6, y - 0.6], "k", lw=2)
                ax.text(x + 0.37, y - 0.58, "0.5 mm", ha="center", va="bottom", fontsize=9)
        _compare_bend(sheet, recording)
    return figure


def _compare_bend(sheet: Sheet, recording: Recording) -> None:
    """Add the friction in the deep bend of Figs. 3 and 4 to the sheet."""
    name = f"{recording.kymogram}_"
    for scheme, suffix in (("published", ""), ("midpoint", "_converged")):
        bend, rest = bend_force(_turn(recording, scheme).force.magnitude[recording.deep], slice(*recording.bend))
        values = {"bend": PN * bend, "rest": PN * rest, "ratio": bend / rest}
        sheet.found(name, **{what + suffix: value for what, value in values.items()})


def _wheel(ax: PolarAxes, strongest: float) -> None:
    """Draw the colour wheel, with direction as hue and magnitude as saturation."""
    phi, rho = np.linspace(0, 2 * np.pi, 181), np.linspace(0, 1, 41)
    hue, strength = np.meshgrid(phi[:-1] / (2 * np.pi), rho[1:])
    ax.pcolormesh(phi, rho, hsv_to_rgb(np.stack([hue, strength, np.ones_like(hue)], -1)))
    ax.set_xticks([])
    ax.set_yticks([1.0], [])
    ax.set_xlabel(f"direction;\nrim {strongest * PN:,.0f} pN", fontsize=9)


def figure_4(sheet: Sheet) -> Figure:
    """Draw friction on each rod, its magnitude and mean, power, and behaviour over time."""
    figure = Figure(figsize=(17, 10), layout="constrained")
    for name, part, recording in zip(
        "AB", figure.subfigures(1, 2, squeeze=False, wspace=0.03).ravel(), (OMEGA, DELTA), strict=True
    ):
        turn = _turn(recording)
        force, label, count = turn.force, turn.behaviour.label, len(turn.points)
        duration, time = count / FRAME_RATE, np.arange(count) / FRAME_RATE
        part.suptitle(f"{name}  {recording.title}", fontsize=13)
        directions, magnitudes, means, strip = part.subplots(4, 1, height_ratios=[1, 1, 1.2, 0.35])
        _friction(part, directions, magnitudes, force, duration)
        means.plot(time, PN * force.mean, "k", lw=1.2)
        means.set(ylabel="friction (pN)")
        means.set_ylim(bottom=0)
        title = "mean friction of a segment (black) and power (red, dotted); diamonds: printed mean power"
        means.set_title(title, fontsize=11, pad=10)
        red, power = "#b8322c", means.twinx()
        power.plot(time, FW * force.power, color=red, lw=1.2, ls=":")
        power.set_ylabel("power (fW)", color=red)
        power.tick_params(axis="y", colors=red)
        power.set_ylim(bottom=0)
        _behaviour(strip, label, phase_means(FW * force.power, label), duration)
        middles = [0.5 * (phase.start + phase.stop) / FRAME_RATE for phase in _phases(turn.behaviour)]
        paper = [sheet.printed(f"{recording.kymogram}_power_{k}") for k in range(1, len(middles) + 1)]
        mark_printed(power, middles, paper)
        for ax in (directions, magnitudes, means, strip):
            ax.set_xlim(0, duration)
        for ax in (directions, magnitudes, means):
            marks(ax, [frame / FRAME_RATE for frame in recording.snapshots])
            ax.tick_params(labelbottom=False)
        columns = {f"force_{axis}_pN": PN * force.force[..., k] for k, axis in enumerate("xy")}
        sheet.table(f"{name}_forces", time_s=time[:, None], rod=np.arange(1, 26), **columns)
        sheet.table(f"{name}_means", time_s=time, friction_pN=PN * force.mean, power_fW=FW * force.power, label=label)
        _compare_powers(sheet, recording)
    return figure


def _friction(part: SubFigure, directions: Axes, magnitudes: Axes, force: ForceMap, duration: float) -> None:
    """Draw friction on each rod, with direction as hue, and its magnitude."""
    strongest = float(f"{np.quantile(force.magnitude, 0.98):.1g}")
    angle = np.arctan2(force.force[..., 1], force.force[..., 0]) / (2 * np.pi) % 1
    strength = np.clip(force.magnitude / strongest, 0, 1)
    colours = hsv_to_rgb(np.stack([angle, strength, np.ones_like(angle)], -1)).swapaxes(0, 1)
    directions.imshow(colours, aspect="auto", extent=(0, duration, 1, 0), interpolation="nearest")
    directions.set_title("friction of the ground on each segment", fontsize=11, pad=10)
    wheel = directions.inset_axes((1.02, 0.3, 0.13, 0.5), projection="polar")
    assert isinstance(wheel, PolarAxes)
    _wheel(wheel, strongest)
    image = heat_map(magnitudes, PN * force.magnitude, duration, PN * strongest, cmap=HEAT, vmin=0)
    magnitudes.set_title("its magnitude", fontsize=11, pad=10)
    part.colorbar(image, cax=magnitudes.inset_axes((1.02, 0, 0.02, 1)), label="friction (pN)", extend="max")
    directions.set_yticks([0, 1], ["head", "tail"])


def _behaviour(strip: Axes, label: NDArray[np.str_], means: Array, duration: float) -> None:
    """Draw the phases of behaviour with their mean power (fW)."""
    for phase, mean in zip(phases(label), means, strict=True):
        a, b = phase.start / FRAME_RATE, phase.stop / FRAME_RATE
        if phase.stop - phase.start > 1:  # the direction is undefined in the first frame
            strip.axvspan(a, b, color=COLOURS[phase.label], lw=0)
            wide = b - a > 0.1 * duration
            text = f"{phase.label}\n{mean:,.0f} fW" if wide else f"{mean:,.0f} fW"
            size, turn = (10, 0) if wide else (6.5, 90)
            strip.text(0.5 * (a + b), 0.5, text, color="white", ha="center", va="center", fontsize=size, rotation=turn)
    strip.set_yticks([])
    strip.set_xlabel("time (s); numbers: mean power of each phase")


def _compare_powers(sheet: Sheet, recording: Recording) -> None:
    label = _turn(recording).behaviour.label
    parts = _phases(_turn(recording).behaviour)
    for scheme, suffix in (("published", ""), ("midpoint", "_converged")):
        # Both schemes are averaged over the phases of the paper's scheme.
        means = FW * phase_means(_turn(recording, scheme).force.power, label)[-len(parts) :]
        powers = {f"_power_{k}{suffix}": mean for k, mean in enumerate(means, 1)}
        ratios = {f"_ratio_{k}{suffix}": mean / means[0] for k, mean in enumerate(means[1:], 2)}
        sheet.found(recording.kymogram, **powers, **ratios)


def figure_4_supplement_1(sheet: Sheet) -> Figure:
    """Draw the sines fitted to the bodies, and the resulting behaviours."""
    figure = Figure(figsize=(15, 11), layout="constrained")
    for name, part, recording in zip(
        "AB", figure.subfigures(1, 2, squeeze=False, wspace=0.03).ravel(), (OMEGA, DELTA), strict=True
    ):
        turn = _turn(recording)
        fit, behaviour, time = fit_sine(turn.joint_angle), turn.behaviour, np.arange(len(turn.points)) / FRAME_RATE
        part.suptitle(f"{name}  {recording.title}", fontsize=13)
        samples, *axes = part.subplots(6, 1, height_ratios=[1.3, 1, 1, 1, 1, 1])
        xi = np.linspace(0, 1, turn.joint_angle.shape[1])
        for k, frame in enumerate(recording.snapshots[::2]):
            colour = COLOURS[behaviour.label[frame]]
            samples.plot(xi, turn.joint_angle[frame], "o", ms=3, color=colour, alpha=0.4 + 0.3 * k)
            wave = np.sin(2 * np.pi / fit.wavelength[frame] * (xi - fit.phase[frame]))
            curve = fit.amplitude[frame] * wave + fit.offset[frame]
            text = f"{frame / FRAME_RATE:.1f} s and its sine"
            samples.plot(xi, curve, color=colour, alpha=0.4 + 0.3 * k, lw=1.3, label=text)
        samples.set(xlabel="place on the body (0 head, 1 tail)", ylabel="joint angle (rad)", xlim=(0, 1))
        samples.legend(ncols=3, fontsize=9, loc="lower center", bbox_to_anchor=(0.5, 1.0))
        rows: list[tuple[str, Array, Array | None]] = [
            ("amplitude\n(rad)", fit.amplitude, None),
            ("wavelength\n(body lengths)", fit.wavelength, None),
            ("phase\n(body lengths)", fit.phase, None),
            ("phase rate\n(lengths/s)", np.full(len(time), np.nan), behaviour.phase_rate),
            ("offset (rad)", fit.offset, behaviour.offset),
        ]
        for ax, (what, raw, smooth) in zip(axes, rows, strict=True):
            for phase in phases(behaviour.label):
                span = phase.start / FRAME_RATE, phase.stop / FRAME_RATE
                ax.axvspan(*span, color=COLOURS[phase.label], alpha=0.15, lw=0)
            ax.plot(time, raw, "k" if smooth is None else "0.65", lw=0.9)
            if smooth is not None:
                ax.plot(time, smooth, "k", lw=1.2)
            ax.set_ylabel(what, fontsize=9)
            ax.set_xlim(0, time[-1])
            # Fits of coiled bodies diverge; limit the axes to quantiles.
            values = np.concatenate([raw[np.isfinite(raw)], [] if smooth is None else smooth])
            low, high = np.quantile(values, [0.01, 0.99])
            ax.set_ylim(low - 0.15 * (high - low), high + 0.15 * (high - low))
        _thresholds(axes)
        axes[-1].set_xlabel("time (s)")
        sheet.table(
            name,
            time_s=time,
            amplitude_rad=fit.amplitude,
            wavelength_lengths=fit.wavelength,
            phase_lengths=fit.phase,
            phase_rate_lengths_per_s=behaviour.phase_rate,
            offset_rad=fit.offset,
            smooth_offset_rad=behaviour.offset,
            label=behaviour.label,
        )
        labels, paper = (
            [part.label for part in _phases(behaviour)],
            sheet.row(f"{recording.kymogram}_phases").printed.split(", "),
        )
        matches = sum(a == b for a, b in zip(labels, paper, strict=False)) if len(labels) == len(paper) else 0
        short = [f"{part.label} at {part.start / FRAME_RATE:.1f} s" for part in phases(behaviour.label)]
        short = [name for name, part in zip(short, phases(behaviour.label), strict=True) if part.stop - part.start == 1]
        sheet.found(recording.kymogram, _phases=matches, _short=", ".join(short) or "none")
    patches = [Patch(color=colour, label=name) for name, colour in COLOURS.items()]
    figure.legend(handles=patches, loc="outside lower center", ncols=3)
    return figure


def _thresholds(axes: list[Axes]) -> None:
    """Draw the printed thresholds between behaviours."""
    for ax, value, text in ((axes[3], 0.0, "forward above 0"), (axes[4], -TURN, f"turn below {-TURN:g}")):
        ax.axhline(value, color="0.4", ls="--", lw=1)
        ax.text(0.005, value, f" paper: {text}", color="0.3", fontsize=8, va="top", transform=ax.get_yaxis_transform())
