"""Pictures of the lamprey, and the goal of each task in them.

``draw`` makes the rendered picture with body, muscles, tracks, cord and motoneurons over time; ``sketch`` describes the
pixel observation. The functions ``sights``, ``goal`` and ``mark`` are registered for each class of tasks. The canvas is
in ``core/draw``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from ..core.draw import canvas as c
from ..core.draw.canvas import Canvas, Panel
from ..core.draw.pixels import WATER, Sketch, mark
from ..core.draw.view import Trail, goal, sights
from .animal import Lamprey
from .tasks import Economy, Escape, LampreyTask, Waypoints, present_waypoint

FLESH: c.Colour = (172, 178, 166)
SHADE: c.Colour = (84, 92, 88)
MUSCLE: c.Colour = (204, 206, 194)

STRIP, SECONDS = 116.0, 4.0
"""Panel of the motoneurons over time: height in pt, duration in s."""

SIDE = 236.0
"""Width of the cord's panel, pt."""

LINES = {"head's track": c.FORE, "tail's track": c.AFT, "active muscle": c.WARM}
"""Colours of lines and muscles."""

BANDS = {
    "EC": ("edge cells", 25.0),
    "MN": ("motoneurons", 1.0),
    "LIN": ("lateral interneurons (LIN)", 1.0),
    "EIN": ("excitatory interneurons (EIN)", 1.0),
    "CCIN": ("contra- and caudal interneurons (CCIN)", 1.0),
}
"""Populations in Fig. 4 A of Ekeberg (1993), outermost first: name, and output at full height (edge cells: 1/m)."""

TRACK = 160
"""Number of moments in a track."""


def draw(canvas: Canvas, task: LampreyTask, trail: Trail, ghost: Trail | None = None) -> None:
    """Draw a lamprey, with the baseline as ``ghost`` if given; see `View`."""
    animal, both = task.animal, [trail] if ghost is None else [trail, ghost]
    length = float(np.sum(animal.params.length))
    moments = round(0.8 * task.control_rate)  # two to four strokes
    eyes = [c.steady(other.rows["centre"], moments, 0.15 * length) for other in both]
    eyes += [c.steady(track, moments) for track in (c.past(trail.rows, TRACK) if canvas.close else sights(task, trail))]
    area = (0.0, c.HEADER, canvas.width - SIDE, canvas.height - STRIP - c.HEADER)
    view = canvas.view(area, np.array(eyes), 1.9 * length, 0.7 * length, 1.1 * length, 0.9)
    if view.high[0] - view.low[0] < 10.0 * length:
        view.grid(0.02, c.mix(c.PAPER, c.RULE, 0.6), 0.5)
    view.grid(0.1)
    headline, caption = goal(task, canvas, view, trail)
    for other in reversed(both):
        view.tracks(animal.points(other.rows[-TRACK:]), other is ghost)
        body(view, animal, other.rows[-1:], other is ghost)
    view.name_trails(animal, both, moments)
    canvas.titles(headline, f"{caption} {_motion(trail, moments)}".strip())
    canvas.legend(canvas.height - STRIP - 20.0, LINES)
    _current(canvas, view, trail.rows[-1])
    view.scale_bar()
    _cord(canvas, animal, trail.rows[-1:])
    _strip(canvas, task, trail)


@sights.register
def _(task: Waypoints, trail: Trail) -> list[NDArray[np.float64]]:
    return [present_waypoint(task, trail.memory)]


@sights.register
def _(task: Economy, trail: Trail) -> list[NDArray[np.float64]]:
    return [trail.memory["place"]]


@goal.register
def _(task: Escape, canvas: Canvas, view: Panel, trail: Trail) -> tuple[str, str]:
    view.course(trail.memory[-1]["start"], trail.memory[-1]["goal"], 0.25, 0.025, lambda way: f"{way:g} m")
    info = task.hooks.info(trail.rows[-1:], trail.memory[-1:])
    return f"{info['distance'][0]:z.2f} m", "along the goal,"


@goal.register
def _(task: Economy, canvas: Canvas, view: Panel, trail: Trail) -> tuple[str, str]:
    place, info = trail.memory[-1]["place"], task.hooks.info(trail.rows[-1:], trail.memory[-1:])
    view.ring(place, task.near, c.GOAL, 2.0)
    view.pointer(place, c.GOAL)
    return f"{info['distance'][0]:z.2f} m, {info['economy'][0]:z.1f} m/J", "closer to the circle, and per joule;"


@goal.register
def _(task: Waypoints, canvas: Canvas, view: Panel, trail: Trail) -> tuple[str, str]:
    memory = trail.memory[-1]
    reached = int(memory["reached"])
    ahead = memory["waypoint"][reached : reached + 3]
    view.polyline(ahead, c.mix(c.PAPER, c.GOAL, 0.4), 1.0)
    for k, at in enumerate(ahead):
        colour = c.mix(c.GOAL, c.PAPER, 0.35 * k)
        view.ring(at, task.radius, colour, 2.0)
        view.label(f"{reached + k + 1}", at, colour, 14, (0.5, 0.5))
    view.pointer(present_waypoint(task, trail.memory[-1:])[0], c.GOAL, f"{reached + 1}")
    return f"{reached} waypoint{'' if reached == 1 else 's'}", "reached,"


def _motion(trail: Trail, moments: int) -> str:
    """Return speed and frequency over the last strokes as text."""
    rows = trail.rows[-2 * moments :]
    span = rows["time"][-1] - rows["time"][0]
    if not span > 0:
        return ""
    recent = rows[-moments:]
    way = np.hypot(*(recent["centre"][-1] - recent["centre"][0])) / max(recent["time"][-1] - recent["time"][0], 1e-9)
    middle = rows["motoneuron"].shape[2] // 2
    wave = rows["motoneuron"][:, 0, middle] - rows["motoneuron"][:, 1, middle]
    wave = wave - wave.mean()
    up = np.flatnonzero((wave[:-1] < 0) & (wave[1:] >= 0))
    beats = (len(up) - 1) / (rows["time"][up[-1]] - rows["time"][up[0]]) if len(up) > 1 else 0.0
    return f"speed {way:.2f} m/s, {beats:.1f} Hz"


def body(view: Panel, animal: Lamprey, row: NDArray[Any], ghost: bool) -> None:
    """Draw a lamprey with its active muscles; translucent if it is the baseline's (``ghost``)."""
    joints = animal.points(row)[0]
    n = len(joints) - 1
    place = np.linspace(0.0, n, 12 * n + 1)
    middle = CubicSpline(np.arange(n + 1), joints)(place)
    # Widths agree with the masses of Table 3 for a cross section of a quarter of width times 3 cm.
    width = np.asarray(animal.params.mass) * 4.0 / (1000.0 * 0.03 * np.asarray(animal.params.length))
    radius = 0.5 * np.interp(place, np.arange(n) + 0.5, width)
    radius *= np.sqrt(np.minimum(1.0, 1.0 - np.maximum(0.0, 1.0 - place / 0.9) ** 2) * np.minimum(1.0, (n - place) * 2))
    # Walking from head to tail, the animal's right side is on the left.
    right, left = c.outline(middle, radius)
    whole = np.concatenate([right, left[::-1]])
    if ghost:
        view.polygon(whole, (*c.GHOST, 80), (*c.GHOST, 150), 1.0)
        return
    view.polygon(whole, FLESH, SHADE, 1.5)
    for side, rim in enumerate((left, right)):
        for j in range(n - 1):
            part = slice(12 * j + 7, 12 * j + 18)
            belly = middle[part] + 0.25 * (rim[part] - middle[part])
            flank = middle[part] + 0.9 * (rim[part] - middle[part])
            level = min(1.0, float(row["motoneuron"][0, side, j]))
            view.polygon(np.concatenate([belly, flank[::-1]]), c.mix(MUSCLE, c.WARM, level))
    for eye in (0.62 * left + 0.38 * middle, 0.62 * right + 0.38 * middle):
        view.disc(eye[5], 2.2, c.INK)


def _current(canvas: Canvas, view: Panel, row: Any) -> None:
    speed = float(np.hypot(*row["current"]))
    if speed == 0.0:
        return
    x, y = view.area[2] - 70.0, 84.0
    arrow = min(300.0, 60.0 / speed) * np.array([1.0, -1.0]) * row["current"]
    canvas.label(f"current {speed:.2f} m/s", (x, y + 34.0), c.AFT, 11, (0.5, 0.5), back=c.PLATE)
    canvas.arrow((x, y) - 0.5 * arrow, arrow, c.AFT, 2.0)


def _cord(canvas: Canvas, animal: Lamprey, row: NDArray[Any]) -> None:
    """Draw all outputs along the cord as in Fig. 4 A, seen from above: left side on top, and the head on the right."""
    left, top = canvas.width - SIDE, 0.0
    canvas.box((left, top, SIDE, canvas.height - STRIP), c.mix(c.PAPER, c.CARD, 0.5))
    edge, motoneuron = animal.edge_cells(row)[0], row["motoneuron"][0]
    outputs = {"EC": edge, "MN": motoneuron}
    if animal.circuit is not None:
        outputs = {"EC": edge, **dict(zip(animal.cells, animal.neurons(row)[0].swapaxes(0, 1), strict=True))}
    bands = [(name, *BANDS.get(name, (name, 1.0))) for name in dict.fromkeys([*BANDS, *outputs]) if name in outputs]
    rows = [(0, *band) for band in bands] + [(1, *band) for band in reversed(bands)]
    first = 72.0  # below the clock
    pitch = min((canvas.height - STRIP - first - 24.0) / len(rows), 44.0)
    for k, (side, name, words, full) in enumerate(rows):
        y = first + k * pitch + 6.0 * side
        area = (left + 16.0, y, SIDE - 36.0, pitch - 4.0)
        values = outputs[name][side][::-1]
        canvas.box(area, c.CARD)
        panel = canvas.panel(area, (0.0, 0.0), (len(values), 1.0))
        level = np.minimum(np.repeat(values, 2) / full, 1.0)
        x = np.repeat(np.arange(len(values) + 1), 2)[1:-1]
        colour = c.AFT if name == "EC" else c.WARM if name == "MN" else c.COLD
        outline = np.concatenate([[(0.0, 0.0)], np.stack([x, level], 1), [(len(values), 0.0)]])
        panel.polygon(outline, colour)
        canvas.label(words, (left + 20.0, y + 6.0), c.INK, 9)
    for flank, y in (("left", first - 10.0), ("right", first + len(rows) * pitch + 12.0)):
        canvas.label(flank, (left + 16.0, y), c.MUTED, 10)
        canvas.label("tail to head", (canvas.width - 20.0, y), c.MUTED, 10, (1.0, 0.5))


def _strip(canvas: Canvas, task: LampreyTask, trail: Trail) -> None:
    periods = round(SECONDS * task.control_rate)
    outputs, caption = trail.rows[-periods:]["motoneuron"], f"motoneurons, last {SECONDS:g} s"
    colours = c.sequential(outputs.T, 1.0, c.WARM)  # (joints, sides, moments, 3)
    canvas.kymograms(STRIP, periods, [("left", caption, colours[:, 0]), ("right", caption, colours[:, 1])], 9)


def sketch(task: Any, rows: Any, memory: Any) -> Sketch:
    """Describe the pixel observation: each lamprey from above in water, at the centre."""
    length, points = float(np.sum(task.animal.params.length)), task.animal.points(rows)
    result = Sketch(rows["centre"], 3.0 * length, 0.3 * length, WATER)
    mark(task, result, rows, memory)
    pieces = points.shape[1] - 1
    place = (np.arange(pieces) + 0.5) / pieces
    result.chain(points, 0.045 * length * np.sqrt(1.0 - 0.9 * place), SHADE)
    result.disc(points[:, 0], 0.035 * length, c.WARM)
    return result


@mark.register
def _(task: Waypoints, sketch: Sketch, rows: Any, memory: Any) -> None:
    sketch.target(present_waypoint(task, memory), task.radius)


@mark.register
def _(task: Economy, sketch: Sketch, rows: Any, memory: Any) -> None:
    sketch.target(memory["place"], task.near)
