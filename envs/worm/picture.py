"""Pictures of the worm, and the goal of each task in them.

``draw`` makes the rendered picture with body, tracks, friction forces and kymogram; ``sketch`` describes the pixel
observation. The functions ``sights``, ``goal`` and ``mark`` are registered for each class of tasks. The canvas is in
``core/draw``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from ..core.draw import canvas as c
from ..core.draw.canvas import Canvas, Panel
from ..core.draw.pixels import WATER, Sketch, mark, shade
from ..core.draw.view import Trail, goal, sights
from .animal import Worm
from .chemotaxis import Chemotaxis
from .media import Medium
from .params import friction
from .tasks import Escape, Follow, Forward, Reach, WormTask, path_place

RADIUS = 0.04
"""Half width of an adult in the middle, in body lengths (80 µm wide, 1 mm long).

The outline is an ellipse, as in Boyle, Berri & Cohen (2012), Front. Comput. Neurosci. 6:10.
"""

FLESH: c.Colour = (232, 206, 160)
SHADE: c.Colour = (150, 112, 62)
FORCE: c.Colour = (96, 84, 140)
AGAR: c.Colour = (244, 232, 200)

STRIP_HEIGHT, STRIP_SECONDS, STRIP_ANGLE = 116.0, 8.0, 0.8
"""Kymogram below the picture: height (pt), duration (s), and joint angle of the full colour (rad)."""

LINES = {"head's track": c.FORE, "tail's track": c.AFT, "dorsal side": c.WARM, "ventral side": c.COLD}
"""Colours of lines."""

TRACK = 160
"""Number of moments in a track."""


def draw(canvas: Canvas, task: WormTask, trail: Trail, ghost: Trail | None = None) -> None:
    """Draw a worm, with the baseline as ``ghost`` if given; see `View`."""
    animal, both = task.animal, [trail] if ghost is None else [trail, ghost]
    length = float(trail.rows["length"][-1])
    # Two seconds are at least one wave, so that the view does not follow the undulation.
    moments = round(2.0 * task.control_rate)
    eyes = [c.steady(other.rows["centre"], moments, 0.5 * length) for other in both]
    eyes += [c.steady(track, moments) for track in (c.past(trail.rows, TRACK) if canvas.close else sights(task, trail))]
    area = (0.0, 0.0, canvas.width, canvas.height - STRIP_HEIGHT)
    view = canvas.view(area, np.array(eyes), 3.2 * length, 0.6 * length, 1.2 * length)
    view.grid(0.5 * length)
    headline, caption = goal(task, canvas, view, trail)
    for other in reversed(both):
        view.tracks(animal.points(other.rows[-TRACK:]), other is ghost)
        if other is not ghost:
            _forces(canvas, view, animal, other, moments)
        body(view, animal.points(other.rows[-1:])[0], other is ghost)
    view.name_trails(animal, both, moments)
    canvas.titles(headline, f"{caption} {_medium(trail.rows[-1])}".strip())
    view.scale_bar()
    canvas.legend(canvas.height - STRIP_HEIGHT - 20.0, LINES)
    _strip(canvas, task, trail)


@sights.register
def _(task: Reach, trail: Trail) -> list[NDArray[np.float64]]:
    return [trail.memory["target"]]


@sights.register
def _(task: Chemotaxis, trail: Trail) -> list[NDArray[np.float64]]:
    return [trail.memory["source"]]


@sights.register
def _(task: Follow, trail: Trail) -> list[NDArray[np.float64]]:
    return [path_place(task, trail.rows, trail.memory)]


@goal.register
def _(task: Forward, canvas: Canvas, view: Panel, trail: Trail) -> tuple[str, str]:
    memory, length = trail.memory[-1], float(trail.rows["length"][-1])
    view.course(memory["start"], memory["goal"], length, 0.08 * length, lambda way: f"{way * 1e3:g} mm")
    info = task.hooks.info(trail.rows[-1:], trail.memory[-1:])
    net, speed = (f"{1e3 * info[name][0]:z.3f} mm/s" for name in ("priced_speed", "speed"))
    work, heat = (c.quantity(info[name][0], "W") for name in ("power", "heat"))
    return net, f"net speed: {speed} minus the cost of {work} of work and {heat} of heat,"


@goal.register
def _(task: Reach, canvas: Canvas, view: Panel, trail: Trail) -> tuple[str, str]:
    memory = trail.memory[-1]
    view.ring(memory["target"], task.radius, c.GOAL, 2.0)
    view.disc(memory["target"], 3.0, c.GOAL)
    view.pointer(memory["target"], c.GOAL)
    distance = task.hooks.info(trail.rows[-1:], trail.memory[-1:])["distance"][0]
    return f"{1e3 * distance:.2f} mm", f"from the head to the target, {_spent(trail)},"


@goal.register
def _(task: Chemotaxis, canvas: Canvas, view: Panel, trail: Trail) -> tuple[str, str]:
    memory = trail.memory[-1]
    source, ahead, across = memory["source"], memory["ahead"], memory["ahead"][::-1] * (-1.0, 1.0)
    for k in (1, 2, 3):
        colour = c.mix(c.PAPER, c.GOAL, 0.7 - 0.2 * k)
        if task.field == "gaussian":
            view.ring(source, 0.5 * k * float(memory["width"]), colour)
        else:  # lines of equal concentration
            middle = source + (1 - k) * 0.25 * float(memory["start_distance"]) * ahead
            view.polyline(middle + np.outer((-0.1, 0.1), across), colour)
    view.ring(source, task.near, c.GOAL, 2.0)
    view.disc(source, 3.0, c.GOAL)
    view.pointer(source, c.GOAL)
    info = task.hooks.info(trail.rows[-1:], trail.memory[-1:])
    index, distance = info["chemotaxis_index"][0], 1e3 * float(memory["distance"])
    return f"{index:z.2f}", f"chemotaxis index: {distance:.2f} mm from the source, {memory['concentration']:.1f} mM,"


@goal.register
def _(task: Medium, canvas: Canvas, view: Panel, trail: Trail) -> tuple[str, str]:
    info, memory = task.hooks.info(trail.rows[-1:], trail.memory[-1:]), trail.memory[-1]
    speed, (frequency, waves, _) = 100.0 * info["relative_speed"][0], memory["wave"]
    wave = "" if task.animal.circuit is not None else f"; command: {frequency:.2f} Hz, {waves:.2f} waves,"
    return f"{info['net_progress'][0]:z.2f}", f"net progress, at {speed:z.0f}% of the fastest sine's speed{wave}"


@goal.register
def _(task: Escape, canvas: Canvas, view: Panel, trail: Trail) -> tuple[str, str]:
    memory, length = trail.memory[-1], float(trail.rows["length"][-1])
    stages = (
        ("reverse", memory["reversed"] / task.retreat, f"{1e3 * memory['reversed']:z.2f} mm"),
        ("turn", memory["turned"] / task.turn, f"{np.rad2deg(memory['turned']):z.0f}°"),
        ("run", memory["run"] / length, f"{1e3 * memory['run']:z.2f} mm"),
    )
    for k, (name, share, value) in enumerate(stages):
        x, colour = 24.0 + 150.0 * k, c.INK if memory["stage"] == k else c.MUTED
        canvas.polygon([(x - 4, 18), (x + 134, 18), (x + 134, 46), (x - 4, 46)], c.PLATE)
        canvas.label(name, (x, 26), colour, 14)
        canvas.label(value, (x + 130, 27), colour, 12, (1.0, 0.5))
        canvas.bar((x, 37, 130, 4), share, c.GOAL)
    return "", f"{_spent(trail)},"


@goal.register
def _(task: Follow, canvas: Canvas, view: Panel, trail: Trail) -> tuple[str, str]:
    view.polyline(_path(task, trail), c.mix(c.PAPER, c.GOAL, 0.6), 4.0)
    place = path_place(task, trail.rows[-1:], trail.memory[-1:])[0]
    view.disc(place, 7.0, c.GOAL)
    view.label("real worm", place, c.GOAL, 11, (0.0, 0.5), (12, 0), c.PLATE)
    error = task.hooks.info(trail.rows[-1:], trail.memory[-1:])["error"][0]
    return f"{1e3 * error:.3f} mm", "from the centre to the real worm's,"


def _spent(trail: Trail) -> str:
    """Return the muscle work since the start as text."""
    return f"{c.quantity(float(trail.memory[-1]['energy']), 'J')} of muscle work"


def _path(task: Follow, trail: Trail) -> NDArray[np.float64]:
    row, memory = trail.rows[-1:].copy(), trail.memory[-1:]
    row["time"] = 0.0
    return np.concatenate([path_place(task, row, memory, k) for k in range(0, len(task.path), 4)])


def _shape(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the smooth midline (N, 2) through the joints, and the dorsal and ventral outlines, m."""
    joints = np.linspace(0.0, 1.0, len(points))
    length = float(np.sum(np.hypot(*np.diff(points, axis=0).T)))
    # Points are denser at the round ends.
    along = 0.5 * (1.0 - np.cos(np.linspace(0.0, np.pi, 104)))
    middle = CubicSpline(joints, points)(along)
    radius = RADIUS * length * np.sqrt(np.maximum(0.0, 1.0 - (2.0 * along - 1.0) ** 2))
    # The tail is a cone.
    radius *= np.minimum(1.0, 0.15 + 0.85 * np.sqrt(np.maximum(0.0, 1.0 - along) / 0.3))
    return middle, *c.outline(middle, radius)


def body(view: Panel, points: NDArray[np.float64], ghost: bool) -> None:
    """Draw the body along its joints (N, 2), m; translucent if it is the baseline's (``ghost``)."""
    middle, dorsal, ventral = _shape(points)
    whole = np.concatenate([dorsal, ventral[::-1]])
    if ghost:
        view.polygon(whole, (*c.GHOST, 90), (*c.GHOST, 150), 1.0)
        return
    radius = float(np.hypot(*(dorsal - ventral).T).max()) / (2 * view.point)
    view.polygon(whole, FLESH, SHADE, 0.1 * radius)
    view.polygon(np.concatenate([middle, ventral[::-1]]), c.mix(FLESH, SHADE, 0.18))
    # Pharynx with its two bulbs.
    view.polyline(middle[6:26], c.mix(FLESH, SHADE, 0.7), 0.22 * radius)
    view.disc(middle[18], 0.28 * radius, SHADE)
    view.disc(middle[26], 0.36 * radius, SHADE)
    view.polyline(dorsal, c.WARM, 0.16 * radius)
    view.polyline(ventral, c.COLD, 0.16 * radius)
    view.disc(middle[1], 0.36 * radius, c.FORE)


def _forces(canvas: Canvas, view: Panel, animal: Worm, trail: Trail, moments: int) -> None:
    rows = trail.rows if canvas.close else trail.rows[-moments:]
    force = animal.signal(rows, "friction_force")
    # Forces on agar are thousands of times those in water, so arrows are relative to the recent rms force.
    usual = np.sqrt(np.mean(np.sum(force**2, -1)))
    if not usual > 0:
        return
    if canvas.close:  # steps keep arrows of successive frames comparable
        usual = c.rounded(usual)
    length = float(rows["length"][-1]) / view.point
    points = min(22.0, 0.15 * length) / usual  # arrows on a small worm do not hide it
    joints = animal.points(rows[-1:])[0]
    for at, vector in zip(0.5 * (joints[1:] + joints[:-1]), force[-1] * points * view.point, strict=True):
        view.arrow(at, vector, FORCE, 1.25)
    scale = c.rounded(2.0 * usual)
    start, y = canvas.width - 24.0 - scale * points, canvas.height - STRIP_HEIGHT - 62.0
    canvas.arrow((start, y), (scale * points, 0.0), FORCE, 1.25)
    canvas.label(f"friction {c.quantity(scale, 'N')}", (start, y), FORCE, 11, (1.0, 0.5), (-6, 0), c.PLATE)


def _medium(row: Any) -> str:
    """Return the name of the medium, from its friction."""
    water, agar = friction([0.0, 1.0])[0]
    b = float(row["friction_perpendicular"])
    if b == 0.0:
        return "without friction"
    for name, value in (("in water", water), ("on agar", agar), ("on agar / 100", 0.01 * agar)):
        if np.isclose(b, value, rtol=1e-6):
            return name
    return f"in medium {np.log(b / water) / np.log(agar / water):.2f} (water 0, agar 1)"


def _strip(canvas: Canvas, task: WormTask, trail: Trail) -> None:
    periods = round(STRIP_SECONDS * task.control_rate)
    rows = trail.rows[-periods:]
    strips = [
        ("command", f"joints, last {STRIP_SECONDS:g} s", rows["control_angle"]),
        ("actual", f"± {STRIP_ANGLE:g} rad", np.diff(rows["rod_angle"])),
    ]
    if task.animal.circuit is not None:
        own = [i for i, name in enumerate(task.animal.cells) if name != task.animal.circuit.muscles]
        outputs = task.animal.neurons(rows)[:, :, own].sum(2)
        raster = (outputs[:, 0] - outputs[:, 1:].sum(1)) * STRIP_ANGLE  # full colour at an output of 1
        strips.append(("neurons", "± 1", raster))
    kymograms = [(name, caption, c.diverging(angles.T, STRIP_ANGLE)) for name, caption, angles in strips]
    canvas.kymograms(STRIP_HEIGHT, periods, kymograms)


def sketch(task: Any, rows: Any, memory: Any) -> Sketch:
    """Describe the pixel observation: each worm from above, at the centre, on a medium between water and agar."""
    length, points = rows["length"], task.animal.points(rows)
    water, agar = (float(friction(sigma)[0]) for sigma in (0.0, 1.0))
    felt = np.maximum(rows["friction_perpendicular"], 1e-12)
    share = np.clip(np.log(felt / water) / np.log(agar / water), 0.0, 1.0)
    paper = shade(WATER, AGAR, np.full(len(rows), 0.5) if task.hidden else share)
    result = Sketch(rows["centre"], 2.4 * length, 0.3 * task.animal.params.length, paper)
    mark(task, result, rows, memory)
    pieces = points.shape[1] - 1
    place = (2.0 * np.arange(pieces) + 1.0) / pieces - 1.0
    width = RADIUS * np.sqrt(1.0 - place**2) * length[:, None]  # an ellipse
    result.chain(points, width, SHADE)
    result.disc(points[:, 0], 0.03 * length[:, None], c.WARM)
    return result


@mark.register
def _(task: Reach, sketch: Sketch, rows: Any, memory: Any) -> None:
    sketch.target(memory["target"], 0.05 * task.animal.params.length)


@mark.register
def _(task: Follow, sketch: Sketch, rows: Any, memory: Any) -> None:
    path, usual = np.stack([path_place(task, rows, memory, k) for k in (0, *task.ahead)], 1), task.animal.params.length
    sketch.chain(path, 0.02 * usual, c.GOAL)
    sketch.target(path[:, 0], 0.05 * usual)
