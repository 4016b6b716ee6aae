"""Pictures of the whisker chain, and the goal of each task in them.

``draw`` makes the rendered picture with whisker, pegs, forces, close-up and traces as in Fig. 11; ``sketch`` describes
the pixel observation. The functions ``goal`` and ``mark`` are registered for classes of tasks. The canvas is in
``core/draw``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline, make_interp_spline

from ..core.draw import canvas as c
from ..core.draw.canvas import Canvas, Panel
from ..core.draw.pixels import Sketch, mark
from ..core.draw.view import Trail, goal
from ..core.env.hooks import Record
from .animal import FAR, wrench_mean
from .tasks import Hold, Localize, Whisk, WhiskerTask

WHISKER: c.Colour = (92, 70, 52)
SKIN: c.Colour = (226, 196, 182)
FOLLICLE: c.Colour = (190, 140, 124)
PEG: c.Colour = (110, 116, 126)

WIDTH, STRIP = 0.62, 132.0
"""Fraction of the page's width to the left of the traces; height of the close-up in pt."""

SPAN, HIGH, CLOSE = 1.25, 0.85, 0.1
"""Smallest width and height of the view, and width of the close-up, in lengths of the whisker."""


def draw(canvas: Canvas, task: WhiskerTask, trail: Trail, ghost: Trail | None = None) -> None:
    """Draw a whisker; see `View`."""
    row = trail.rows[-1:]
    length = float(row["length"][0])
    wide = WIDTH * canvas.width
    view = canvas.view((0, 0, wide, canvas.height - STRIP), [0.5 * length, 0.0], SPAN * length, height=HIGH * length)
    view.grid(0.01)
    headline, caption = goal(task, canvas, view, trail)
    view.polygon([(view.low[0], view.low[1]), (0, view.low[1]), (0, view.high[1]), (view.low[0], view.high[1])], SKIN)
    view.label("skin", view.low, c.INK, 11, (0.0, 1.0), (12, -12))
    for other in [trail] if ghost is None else [ghost, trail]:
        whisker(view, task, other, other is ghost)
    pegs(view, task, trail)
    view.scale_bar()
    canvas.titles(headline, caption)
    canvas.names(trail, ghost)
    _close_up(canvas, task, trail, ghost)
    _traces(canvas, task, trail)


@goal.register
def _(task: WhiskerTask, canvas: Canvas, view: Panel, trail: Trail) -> tuple[str, str]:
    pushed = trail.memory[-1]["pushed"] * 1e6
    return f"{pushed:.2f} µN s", "pushed so far"


@goal.register
def _(task: Localize, canvas: Canvas, view: Panel, trail: Trail) -> tuple[str, str]:
    place, bearing, _ = trail.memory[-1]["answer"]
    at = place * trail.rows["length"][-1] * np.array([np.cos(bearing), np.sin(bearing)])
    view.ring(at, 5.0 * view.point, c.GOAL, 2.0)
    return (
        f"{1e3 * task.hooks.info(trail.rows[-1:], trail.memory[-1:])['error'][0] * trail.rows['length'][-1]:.1f} mm",
        "off the peg; green: the answer",
    )


@goal.register
def _(task: Hold, canvas: Canvas, view: Panel, trail: Trail) -> tuple[str, str]:
    error = 1e6 * task.hooks.info(trail.rows[-1:], trail.memory[-1:])["error"][0]
    return f"{error:.3f} µN m", "off the moment to hold, on average"


@goal.register
def _(task: Whisk, canvas: Canvas, view: Panel, trail: Trail) -> tuple[str, str]:
    angle = task.sines(Record(trail.memory[-1]), trail.rows["time"][-1])
    length = trail.rows["length"][-1]
    view.polyline([(0, 0), 1.05 * length * np.array([np.cos(angle), np.sin(angle)])], c.GOAL, 1.5)
    error = np.rad2deg(task.hooks.info(trail.rows[-1:], trail.memory[-1:])["error"][0])
    return f"{error:.2f}°", "off the goal (green), on average"


def _outline(task: WhiskerTask, rows: NDArray[Any], smooth: bool = True, thick: float = 1.0) -> NDArray[np.float64]:
    """Return the outline (M, 2) m of the whisker, ``thick`` times its true width: smooth, or with straight links."""
    nodes = task.animal.nodes(rows)[0]
    places = np.linspace(0.0, 1.0, len(nodes))
    along = np.linspace(0.0, 1.0, 8 * len(nodes))
    params = task.animal.params
    radius = thick * (params.base_radius + (params.tip_radius - params.base_radius) * along)
    curve = CubicSpline(places, nodes) if smooth else make_interp_spline(places, nodes, 1)
    left, right = c.outline(curve(along), radius)
    return np.concatenate([left, right[::-1]])


def whisker(view: Panel, task: WhiskerTask, trail: Trail, ghost: bool, thick: float = 1.0) -> None:
    """Draw a whisker, ``thick`` times its true width; translucent if it is the baseline's (``ghost``)."""
    rows = trail.rows[-1:]
    shape = _outline(task, rows, thick=thick)
    if ghost:
        view.polygon(shape, (*c.GHOST, 110))
        return
    base, first = task.animal.nodes(rows)[0][:2]
    view.polyline([base, first], FOLLICLE, 9.0)
    # Draw the centreline, too: an outline thinner than the finest line would vanish.
    half = len(shape) // 2
    view.polyline(0.5 * (shape[:half] + shape[: half - 1 : -1]), WHISKER, 0.75)
    view.polygon(shape, WHISKER)


def pegs(view: Panel, task: WhiskerTask, trail: Trail, named: bool = True) -> None:
    """Draw the pegs and the forces on them, with labels if ``named``."""
    row = trail.rows[-1]
    for o in range(task.animal.pegs):
        at, radius = row["peg"][:, o], row["peg_radius"][o]
        if np.hypot(*at) > 0.9 * FAR:
            continue
        view.disc(at, max(3.0, radius / view.point), PEG)
        push = row["contact_sum"][o] / max(row["span"], 1e-300)
        if push <= 0.0:
            view.label("peg" * named, at, PEG, 12, (0.5, 1.0), (0, -8), c.PLATE)
            continue
        heading = row["link_angle"][int(row["contact_link"][o])]
        normal = -row["peg_side"][o] * np.array([-np.sin(heading), np.cos(heading)])
        reach = 18.0 * np.log1p(push / 1e-6) * view.point
        view.arrow(at, reach * normal, c.WARM, 2.0)
        if named:
            tip, side = at + reach * normal, -np.sign(normal[1])
            words = f"contact {c.quantity(push, 'N', 2)}"
            view.label(words, tip, c.WARM, 12, (0.5, 0.5), (0, 12 * side), c.PLATE)


def _close_up(canvas: Canvas, task: WhiskerTask, trail: Trail, ghost: Trail | None) -> None:
    """Draw the surroundings of the peg that was touched last, or of the tip before any touch."""
    rows = trail.rows
    touched = np.argwhere(rows["contact_sum"] > 0.0)
    at = rows[-1]["peg"][:, touched[-1, 1]] if len(touched) else task.animal.nodes(rows[-1:])[0, -1]
    area = (24.0, canvas.height - STRIP, WIDTH * canvas.width - 48.0, STRIP - 20.0)
    canvas.box(area, c.CARD)
    close = CLOSE * float(rows["length"][-1])
    panel = canvas.view(area, at, close, height=0.2 * close)
    panel.grid(1e-3, c.mix(c.CARD, c.RULE, 0.7))
    for other in [trail] if ghost is None else [ghost, trail]:
        panel.polygon(_outline(task, other.rows[-1:], smooth=False), WHISKER if other is trail else (*c.GHOST, 110))
    pegs(panel, task, trail, named=False)
    panel.scale_bar()
    name = "at the peg" if len(touched) else "at the tip"
    panel.label(name, (panel.low[0], panel.high[1]), c.MUTED, 11, (0.0, 0.0), (8, 6), c.PLATE)


def _limit(values: NDArray[np.float64], least: float) -> float:
    """Return the smallest of 1, 2, 5, 10, ... times ``least`` that is 5% above all magnitudes in ``values``."""
    return least * 10.0 / c.rounded(10.0 / max(1.0, 1.05 * float(np.abs(values).max()) / least))


def _traces(canvas: Canvas, task: WhiskerTask, trail: Trail) -> None:
    rows = trail.rows
    wrench = wrench_mean(rows)
    left = WIDTH * canvas.width + 24.0
    width, top, gap = canvas.width - left - 24.0, 72.0, 8.0
    height = (canvas.height - top - 20.0 - 3 * gap) / 4
    aim = float(trail.memory[-1]["goal"]) if "goal" in (trail.memory.dtype.names or ()) else None  # moment to hold
    signals = (
        ("base angle", np.rad2deg(rows["link_angle"][:, 0]), "°", 20.0, c.INK),
        ("moment M" if aim is None else "moment M, goal in green", wrench[:, 0], "N m", 0.1e-6, c.WARM),
        ("transverse force Fy", wrench[:, 2], "N", 5e-6, c.COLD),
        ("axial force Fx", wrench[:, 1], "N", 1e-6, c.GOAL),
    )
    duration = min(task.duration, 1.0)
    for k, (name, values, unit, least, colour) in enumerate(signals):
        limit = _limit(values, least)
        area = (left, top + k * (height + gap), width, height)
        size = f"± {limit:g}°" if unit == "°" else f"± {c.quantity(limit, unit)}"
        panel = canvas.trace(area, rows["time"], values, duration, limit, colour, f"{name}  {size}")
        if unit == "N m" and aim is not None:
            panel.polyline([(panel.low[0], aim), (panel.high[0], aim)], c.GOAL, 1.0)


def sketch(task: Any, rows: Any, memory: Any) -> Sketch:
    """Describe the pixel observation: each whisker from above, with the head on the left, and pegs unless hidden."""
    length, nodes = rows["length"], task.animal.nodes(rows)
    usual = task.animal.params.length
    centre = np.stack([0.5 * length, np.zeros(len(rows))], 1)
    result = Sketch(centre, 1.3 * length, 0.2 * usual)
    side = length[:, None, None] * np.array([[-0.1, -1.0], [-0.1, 1.0]])
    result.chain(side, 0.1 * length[:, None], SKIN)
    mark(task, result, rows, memory)
    places = np.linspace(0.02, 0.006, nodes.shape[1] - 1)
    result.chain(nodes, places * length[:, None], WHISKER)
    if "peg_place" not in task.hidden:
        for o in range(task.animal.pegs):
            at = rows["peg"][:, :, o]
            there = np.hypot(at[:, 0], at[:, 1]) < 0.9 * FAR
            radius = np.maximum(rows["peg_radius"][:, o, None], 0.02 * usual)
            result.disc(np.where(there[:, None], at, np.nan), radius, c.INK)
    return result


@mark.register
def _(task: Whisk, sketch: Sketch, rows: Any, memory: Any) -> None:
    angle = np.array([task.sines(Record(one), time) for one, time in zip(memory, rows["time"], strict=True)])
    way = 1.05 * rows["length"][:, None] * np.stack([np.cos(angle), np.sin(angle)], 1)
    sketch.chain(np.stack([np.zeros_like(way), way], 1), 0.004 * task.animal.params.length, c.GOAL)
