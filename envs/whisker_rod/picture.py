"""Pictures of the whisker rod.

``draw`` makes the rendered picture with whisker, sandpaper, stick and slip, base wrench and spectrum; ``sketch``
describes the pixel observation. The function ``goal`` is registered for each class of tasks. The canvas is in
``core/draw``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from ..core.draw import canvas as c
from ..core.draw.canvas import Canvas, Panel
from ..core.draw.pixels import Sketch
from ..core.draw.view import Trail, goal
from .body import BANDS, surface
from .sensor import level
from .tasks import Regulate, RodTask, Sweep, Texture

STICK: c.Colour = c.WARM
SLIP: c.Colour = c.GOAL
WHISKER: c.Colour = (92, 74, 58)
GRIT: c.Colour = (178, 160, 132)

THICK = 6.0
"""Factor of the drawn thickness; the true diameter is 0.14 mm at the base and 5 um at the tip."""

MOMENT = 2.5e-8
"""Bending moment (N m) at the end of the colour scale."""

SECONDS = 0.2
"""Duration of the traces, s."""

SIDE = 330.0
"""Width of the traces, pt."""


def draw(canvas: Canvas, task: RodTask, trail: Trail, ghost: Trail | None = None) -> None:
    """Draw a whisker; see `View`."""
    length = float(trail.rows["length"][-1])
    area = (0.0, 0.0, canvas.width - SIDE, canvas.height)
    whole = canvas.view(area, [0.125 * length, 0.515 * length], 1.34 * length, height=1.15 * length)
    plate(whole, task, trail)
    for other in (trail,) if ghost is None else (ghost, trail):
        whisker(whole, task, other, other is ghost)
    whole.scale_bar()
    _tip(canvas, task, trail)
    headline, caption = goal(task, canvas, whole, trail)
    canvas.titles(headline, caption)
    canvas.names(trail, ghost)
    colours = f"blue to red: bending moment ± {c.quantity(MOMENT, 'N m')}"
    canvas.label(colours, (24, canvas.height - 64.0), c.MUTED, 11, back=c.PLATE)
    speed = trail.rows["plate_velocity"][-1, 0]
    canvas.label(f"plate {c.quantity(speed, 'm/s')}", (24, canvas.height - 44.0), c.MUTED, 12, back=c.PLATE)
    for k, (name, colour) in enumerate((("stick", STICK), ("slip", SLIP))):
        canvas.disc((28.0 + 62.0 * k, canvas.height - 24.0), 4.0, colour)
        canvas.label(name, (38.0 + 62.0 * k, canvas.height - 24.0), c.MUTED, 11)
    _traces(canvas, trail)


@goal.register
def _(task: Sweep, canvas: Canvas, view: Panel, trail: Trail) -> tuple[str, str]:
    row = trail.rows[-1]
    seconds = task.duration * task.hooks.info(trail.rows[-1:], trail.memory[-1:])["held"][0]
    low, high = task.window
    return f"{100 * row['plate_distance'] / row['length']:.2f}%", (
        f"distance of the plate in lengths; held between {100 * low:.1f} and {100 * high:.1f}% for {seconds:.2f} s"
    )


@goal.register
def _(task: Regulate, canvas: Canvas, view: Panel, trail: Trail) -> tuple[str, str]:
    now = level(trail.memory["power"][-1])
    return f"{now:+.2f}", f"level of the second mode, log10 (nN m)²; goal {trail.memory['goal'][-1]:+.2f}"


@goal.register
def _(task: Texture, canvas: Canvas, view: Panel, trail: Trail) -> tuple[str, str]:
    memory = trail.memory[-1]
    info = task.hooks.info(trail.rows[-1:], trail.memory[-1:])
    truth = "rough" if memory["roughness"][int(memory["piece"]) % task.pieces] > 0.5 else "smooth"
    return f"{memory['evidence']:+.1f}", (
        f"evidence for a rough piece, answer at ±{task.bound:g}; this one is {truth}; "
        f"{info['answered'][0]:.0f} answers, {100 * info['right'][0]:.0f}% right"
    )


def slipping(rows: NDArray[Any]) -> NDArray[np.bool_]:
    """Return whether the plate slides past the tip with more than half its speed, (B,)."""
    return np.abs(rows["slip_speed"]) > 0.5 * np.abs(rows["plate_velocity"][:, 0])


def _profile(task: RodTask, row: Any, x: NDArray[np.float64]) -> NDArray[np.float64]:
    coefficients, period = task.animal.relief.coefficients(), task.animal.relief.period
    heights = [surface(coefficients, period, s - float(row["plate_position"]))[0] for s in x]
    return row["plate_distance"] + row["relief"] * np.array(heights)


def plate(view: Panel, task: RodTask, trail: Trail, grain: float = 1.0e-3) -> None:
    """Draw the plate of sandpaper, with grains of size ``grain`` (m)."""
    row = trail.rows[-1]
    x = np.linspace(view.low[0], view.high[0], 400 if row["relief"] and len(task.animal.relief.height) > 1 else 2)
    y = _profile(task, row, x)
    top = np.array([[view.high[0], view.high[1]], [view.low[0], view.high[1]]])
    view.polygon(np.concatenate([np.stack([x, y], 1), top]), c.mix(c.PAPER, GRIT, 0.45))
    view.polyline(np.stack([x, y], 1), GRIT, 1.5)
    # Grains that move with the plate show its motion.
    first = np.floor((view.low[0] - row["plate_position"]) / grain)
    for k in range(int((view.high[0] - view.low[0]) / grain) + 2):
        random = np.random.default_rng(int(first + k) % 1000)
        offset = random.uniform(0.1, 0.9, 2)
        place = row["plate_position"] + (first + k + offset[0]) * grain, row["plate_distance"] + offset[1] * grain
        view.disc(place, 0.12 * grain / view.point, GRIT)


def _smooth(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a spline (N, 2) through the nodes."""
    arc = np.append(0.0, np.cumsum(np.hypot(*np.diff(points, axis=0).T)))
    return CubicSpline(arc, points)(np.interp(np.linspace(0.0, len(arc) - 1.0, 200), np.arange(len(arc)), arc))


def whisker(view: Panel, task: RodTask, trail: Trail, ghost: bool) -> None:
    """Draw a whisker with its bending moment; translucent if it is the baseline's (``ghost``)."""
    rows = trail.rows[-1:]
    points = task.animal.signal(rows, "centreline")[0]
    row = rows[0]
    arc = np.append(0.0, np.cumsum(np.hypot(*np.diff(points, axis=0).T))) / row["length"]
    radius = THICK * (row["base_radius"] + (row["tip_radius"] - row["base_radius"]) * arc)
    left, right = c.outline(points, np.maximum(radius, 0.7 * view.point))
    if ghost:
        view.polygon(np.concatenate([left, right[::-1]]), (*c.GHOST, 90))
        return
    shades = c.diverging(task.animal.signal(rows, "moment")[0], MOMENT)
    view.polygon(np.concatenate([left, right[::-1]]), WHISKER, WHISKER, 1.5)
    for i, shade in enumerate(shades):
        inside = np.array([left[i], left[i + 1], right[i + 1], right[i]])
        view.polygon(inside, tuple(int(v) for v in shade))
    base = np.array([[-0.03, -0.06], [0.03, -0.06], [0.03, 0.0], [-0.03, 0.0]]) * row["length"]
    view.polygon(base, c.INK)


def _tip(canvas: Canvas, task: RodTask, trail: Trail) -> None:
    """Draw the magnified tip, and below it its earlier places along the plate, coloured by stick and slip."""
    rows = trail.rows[-100:]
    span = c.quantity(float(rows["time"][-1] - rows["time"][0]), "s", 2)
    row, length = rows[-1], float(rows["length"][-1])
    middle = np.array([rows["tip"][:, 0].mean(), row["plate_distance"] - 0.012 * length])
    area = (canvas.width - SIDE - 290.0, 130.0, 270.0, 200.0)
    half = 0.03 * length * np.array([1.0, area[3] / area[2]])
    canvas.box((area[0] - 1, area[1] - 1, area[2] + 2, area[3] + 2), c.RULE)
    canvas.box(area, c.PAPER)
    view = canvas.panel(area, middle - half, middle + half)
    plate(view, task, trail, 0.1e-3)
    view.polyline(_smooth(task.animal.signal(rows[-1:], "centreline")[0]), WHISKER, 3.0)
    below = row["plate_distance"] - (0.0015 + 0.0003 * np.arange(len(rows))) * length
    track = np.stack([rows["tip"][::-1, 0], below], 1)
    view.polyline(track, c.RULE, 1.0)
    for at, slip in zip(track, slipping(rows)[::-1], strict=True):
        view.disc(at, 1.5, SLIP if slip else STICK)
    view.disc(row["tip"], 4.0, SLIP if slipping(rows[-1:])[0] else STICK)
    view.label(f"dots: the tip in the last {span}, newest on top", view.low, c.MUTED, 10, (0.0, 1.0), (6, -4), c.PLATE)
    force = row["tip_force"]
    view.arrow(row["tip"], 6e-3 * length * force / 1e-6, c.COLD, 2.0)
    view.label(f"force {c.quantity(float(np.hypot(*force)), 'N')}", row["tip"], c.COLD, 11, (0.0, 0.0), (8, 8), c.PLATE)


def _traces(canvas: Canvas, trail: Trail) -> None:
    rows = trail.rows
    rate = rows["base_wrench_samples"].shape[1]
    samples = rows["base_wrench_samples"].reshape(-1, 3)
    period = float(rows["time"][-1] - rows["time"][-2]) if len(rows) > 1 else 2e-3
    time = (rows["time"][:, None] + period * (np.arange(rate) + 0.5) / rate - period).ravel()
    left, top, height = canvas.width - SIDE + 12.0, 70.0, 92.0
    width = SIDE - 36.0
    for k, (name, unit, limit, shift) in enumerate(
        (
            ("moment M", "N m", 6e-8, 0.0),
            ("transverse force Fx", "N", 4e-6, 0.0),
            ("axial force Fy", "N", 1e-6, -0.8e-6),
        )
    ):
        area = (left, top + k * (height + 8), width, height)
        about = f"{c.quantity(shift, unit)} " if shift else ""
        title = f"{name} at the base, {about}± {c.quantity(limit, unit)}"
        panel = canvas.trace(area, time, samples[:, k] - shift, SECONDS, limit, c.INK, title)
        marks = rows[rows["time"] >= panel.low[0]]
        for at, slip in zip(marks["time"], slipping(marks), strict=True):
            panel.polyline([(at, -limit), (at, -0.92 * limit)], SLIP if slip else STICK, 2.0)
    area = (left, top + 3 * (height + 8), width, canvas.height - top - 3 * (height + 8) - 42.0)
    canvas.box(area, c.CARD)
    low, high = -3.0, 3.5
    panel = canvas.panel(area, (-0.5, low), (len(BANDS) - 0.5, high))
    for j, value in enumerate(map(level, rows["band_power"][-1])):
        panel.polygon([(j - 0.38, low), (j + 0.38, low), (j + 0.38, value), (j - 0.38, value)], c.AFT)
        canvas.label(
            f"{BANDS[j]:g}", (left + (j + 0.5) * width / len(BANDS), area[1] + area[3] + 10), c.MUTED, 10, (0.5, 0.5)
        )
    canvas.label("power of the moment, log10 (nN m)², by band [Hz]", (left + 6, area[1] + 10), c.MUTED, 11)


def sketch(task: Any, rows: Any, memory: Any) -> Sketch:
    """Describe the pixel observation: each whisker from the side, with the plate at the top; the grid moves with it."""
    length, points = rows["length"], task.animal.centreline(rows)
    centre = np.stack([0.125 * length, 0.5 * length], 1)
    origin = np.stack([rows["plate_position"], rows["plate_distance"]], 1)
    result = Sketch(centre, 1.2 * length, 0.1 * task.animal.params.length, origin=origin)
    ends = np.array([-1.0, 1.0]) * length[:, None]
    thick = 0.1 * length[:, None]
    plate = np.stack([ends, np.broadcast_to(rows["plate_distance"][:, None] + thick, ends.shape)], 2)
    result.chain(plate, thick, GRIT)
    result.chain(points, np.linspace(0.02, 0.006, points.shape[1] - 1) * length[:, None], WHISKER)
    result.disc(np.zeros((len(rows), 2)), 0.04 * length[:, None], c.INK)
    return result
