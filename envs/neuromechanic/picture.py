"""Pictures of musculoskeletal models: stick figures with coloured muscles, and the standing figure on its platform.

``draw`` makes the rendered picture, and ``sketch`` describes the pixel observation. Goals are drawn by functions that
are registered for a class of tasks with ``goal`` and ``mark``, the standing figure by those registered with ``scene``
and ``sketch``. The canvas is in `core.draw`.
"""

from __future__ import annotations

from functools import singledispatch
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from ..core.draw import canvas as c
from ..core.draw.canvas import Canvas, Panel
from ..core.draw.pixels import Sketch, mark
from ..core.draw.view import Trail, goal
from .animal import Neuromechanic
from .contact import SLIP
from .hindlimb import PAW_FORCE, POSTURE
from .skeleton import REVOLUTE
from .standing import HIPS, LEG, feet
from .tasks import HindlimbHold, NeuromechanicTask, Pose, StandGains

BONE: c.Colour = (214, 206, 188)
EDGE: c.Colour = (140, 130, 110)
SLACK: c.Colour = (228, 196, 186)

SIDE, NAMES, SECONDS = 400.0, 150.0, 5.0
"""Width (pt) of the activation panel and of the names in it, and its duration (s)."""

_TEXT = resources.files("gymnosoma.assets").joinpath("neuromechanic", "muscle_names.txt").read_text("utf-8")
MUSCLES = dict(line.split(" ", 1) for line in _TEXT.splitlines())
"""Names of the hindlimb's muscles by their abbreviation."""

TRUNK = 0.7
"""Height of the standing figure's trunk with head, m."""

CROSSES = 1e-4
"""Smallest moment arm, m, of a muscle that crosses a joint."""


def draw(canvas: Canvas, task: NeuromechanicTask, trail: Trail, ghost: Trail | None = None) -> None:
    """Draw a model upright, seen along z or, if it moves a joint that shows less there, along another axis."""
    scene(task, canvas, trail, ghost)


@singledispatch
def scene(task: Any, canvas: Canvas, trail: Trail, ghost: Trail | None) -> None:
    """Draw any model and the activation of its muscles.

    Muscles with a path are drawn along it. Muscles with a fitted length are drawn schematically, past each joint that
    they cross, at the distance of their moment arm.
    """
    animal, both = task.animal, [trail] if ghost is None else [trail, ghost]
    turn = orientation(animal, task.joint if isinstance(task, Pose) else None)
    reach = _reach(animal)
    area = (0.0, 0.0, canvas.width - SIDE * bool(animal.model.muscles), canvas.height)
    # The view is fixed, except that it follows a model that moves far away.
    start = animal.rows(1)
    points = np.concatenate([stick[:, :2] for _, stick in _sticks(animal, _turned(animal, start, turn))])
    now = np.concatenate([stick[:, :2] for _, stick in _sticks(animal, _turned(animal, trail.rows[-1:], turn))])
    away = now.mean(0) - points.mean(0)
    span, margin, farthest = 0.8 * reach, 0.3 * reach, c.FARTHEST
    if isinstance(task, Pose):
        span, margin, farthest = 0.3 * reach, 0.1 * reach, 10.0
        points = np.concatenate([points, *(_outline(animal, turn, task.joint, share) for share in SHARES)])
    points += away * (1.0 - reach / max(float(np.hypot(*away)), reach))
    view = canvas.view(area, points, span, margin, farthest=farthest)
    view.grid(c.rounded(0.25 * reach))
    _ground(view, animal, turn)
    for other in reversed(both):
        _figure(view, animal, other.rows[-1:], reach, other is ghost, turn)
    _reactions(view, animal, trail.rows[-1:], reach, turn)
    headline, caption = goal(task, canvas, view, trail)
    canvas.titles(headline, caption)
    canvas.names(trail, ghost)
    view.scale_bar()
    if animal.model.muscles:
        _activations(canvas, task, trail)


SHARES = np.linspace(0.0, 1.0, 5)
"""Positions in the range of the joint to move, for which there is space in the picture."""


def orientation(animal: Neuromechanic, joint: int | None = None) -> NDArray[np.float64]:
    """Return the axes of the picture as rows (3, 3): right, up (against gravity), and towards the viewer.

    Right is the horizontal axis of the world along which ``joint`` moves the model most. Without a joint, and for y up,
    it is x.
    """
    gravity = animal.model.arrays["gravity"]
    height = int(np.argmax(np.abs(gravity))) if gravity.any() else 1
    up = np.eye(3)[height] * (-1.0 if gravity[height] > 0.0 else 1.0)
    ahead, aside = (np.eye(3)[i] for i in range(3) if i != height)
    right = ahead
    if joint is not None:
        ends = [_outline(animal, np.eye(3), joint, share, 3) for share in SHARES]
        moved = np.sum(np.ptp(ends, 0) ** 2, 0)
        if moved @ np.abs(aside) > moved @ np.abs(ahead):
            right = np.cross(ahead, up)  # looking back along ``ahead``, into a face
            right = -right if height == 1 else right
    return np.array([right, up, np.cross(right, up)])


def _outline(
    animal: Neuromechanic, turn: NDArray[np.float64], joint: int, share: float, axes: int = 2
) -> NDArray[np.float64]:
    """Return the ends (N, axes) m of the bones in the start posture, with a joint at a share of its range."""
    rows, one = animal.rows(1), animal.model.joints[joint]
    most = np.pi if one.revolute else _reach(animal)
    low, high = np.clip([one.low, one.high], one.start - most, one.start + most)
    rows["q"][:, joint] = low + share * (high - low)
    return np.concatenate([stick[:, :axes] for _, stick in bones(animal, _turned(animal, rows, turn))])


def _turned(animal: Neuromechanic, rows: NDArray[Any], turn: NDArray[np.float64]) -> dict[str, NDArray[Any]]:
    """Return the mechanics of a row, with positions along the axes of the picture."""
    k = animal.mechanics(rows)
    return k | {"origin": k["origin"] @ turn.T, "turn": turn @ k["turn"], "picture": turn}


def _reach(animal: Neuromechanic) -> float:
    """Return the largest distance (m) from the origin in the start posture."""
    sticks = _sticks(animal, animal.mechanics(animal.rows(1)))
    return float(np.linalg.norm(np.concatenate([stick for _, stick in sticks]), axis=1).max())


def _sticks(animal: Neuromechanic, k: dict[str, NDArray[Any]]) -> list[tuple[int, NDArray[np.float64]]]:
    """Return the `bones` with a length above 0."""
    return [(i, stick) for i, stick in bones(animal, k) if np.linalg.norm(stick[1] - stick[0]) > 1e-9]


def _ground(view: Panel, animal: Neuromechanic, turn: NDArray[np.float64]) -> None:
    """Draw the contact surfaces that are perpendicular to the picture."""
    arrays, far = animal.model.arrays, float(np.abs(np.subtract(view.high, view.low)).sum())
    for frame, height in zip(arrays["contact_frame"], arrays["contact_height"], strict=True):
        normal = (turn @ frame[0])[:2]
        if np.linalg.norm(normal) > 0.99:
            along = far * np.array([-normal[1], normal[0]])
            view.polyline([height * normal - along, height * normal + along], EDGE, 2.0)


def _reactions(view: Panel, animal: Neuromechanic, row: NDArray[Any], reach: float, turn: NDArray[np.float64]) -> None:
    """Draw the ground reaction forces (body weight has the length 0.4 ``reach``), and mark slipping points."""
    if not animal.model.contacts:
        return
    arrays = animal.model.arrays
    weight = float(np.sum(arrays["mass"]) * np.linalg.norm(arrays["gravity"])) or 1.0
    forces, points = animal.contact_force(row)[0] @ turn.T, animal.signal(row, "contact_point")[0] @ turn.T
    modes = row["mode"][0] if row["mode"].size else np.zeros(len(forces))
    for force, point, mode in zip(forces, points, modes, strict=True):
        if force.any():
            view.arrow(point[:2], 0.4 * reach / weight * force[:2], c.GOAL, 3.0)
        if mode >= SLIP:
            view.ring(point[:2], 0.03 * reach, c.FORE, 2.0)


def _courses(animal: Neuromechanic, k: dict[str, NDArray[Any]], reach: float) -> list[NDArray[np.float64]]:
    """Return the points (N, 2) m of the line of each muscle."""
    arrays, courses = animal.model.arrays, []
    sticks = dict(_sticks(animal, k))
    for m, fit in enumerate(arrays["fit"]):
        if fit < 0:
            points = []
            for j in range(arrays["path_start"][m], arrays["path_start"][m + 1]):
                body, at = arrays["point_body"][j], arrays["point_at"][j]
                if arrays["point_cylinder"][j] >= 0:
                    cylinder = arrays["point_cylinder"][j]
                    body = arrays["cylinder_body"][cylinder]
                    side = arrays["cylinder_frame"][cylinder, 0] * arrays["cylinder_radius"][cylinder]
                    at = arrays["cylinder_at"][cylinder] + side
                points.append(k["picture"] @ at if body < 0 else k["origin"][body] + k["turn"][body] @ at)
            courses.append(np.array(points)[:, :2])
            continue
        points = []
        before = np.array([0.0, -1.0])
        for i, stick in sorted(sticks.items()):
            # Joints at the start of this stick that rotate in the picture's plane.
            chain = [j for j in range(i + 1) if np.linalg.norm(k["origin"][j] - stick[0]) < 0.25 * reach and j <= i]
            arm = sum(
                k["arm"][m, j] * (k["turn"][j] @ arrays["axis"][j])[2]
                for j in chain
                if arrays["joint"][j] == REVOLUTE and j > max([b for b in sticks if b < i], default=-1)
            )
            along = (stick[1] - stick[0])[:2]
            ahead = along / max(float(np.hypot(*along)), 1e-12)
            if abs(arm) > CROSSES:
                across = np.array([-ahead[1] - before[1], ahead[0] + before[0]])
                across /= max(float(np.hypot(*across)), 1e-12)
                joint = stick[0][:2]
                if not points:
                    points.append(joint - 0.22 * reach * before + 0.5 * arm * across)
                points += [joint + arm * across, joint + 0.45 * along + 0.3 * arm * across]
            before = ahead
        courses.append(np.array(points).reshape(-1, 2))
    return courses


def _figure(
    view: Panel, animal: Neuromechanic, row: NDArray[Any], reach: float, ghost: bool, turn: NDArray[np.float64]
) -> None:
    k = _turned(animal, row, turn)
    sticks = _sticks(animal, k)
    thick = min(0.045 * reach / view.point, 20.0)
    for _, stick in sticks:
        if ghost:
            view.polyline(stick[:, :2], (*c.GHOST, 110), thick)
            continue
        view.polyline(stick[:, :2], EDGE, thick + 2.0)
        view.polyline(stick[:, :2], BONE, thick)
    if ghost:
        return
    activation = _activation(animal, row)[0]
    courses = _courses(animal, k, reach)
    paths = animal.model.arrays["fit"] < 0
    for m in np.argsort(activation):
        if len(courses[m]) > 1:
            width = 1.25 + 3.5 * float(activation[m])
            if paths[m]:
                view.polyline(courses[m], EDGE, width + 1.25)
            view.polyline(courses[m], c.mix(SLACK, c.WARM, float(activation[m])), width)
    for origin in k["origin"][animal.model.arrays["joint"] == REVOLUTE]:
        view.disc(origin[:2], 0.3 * thick + 1.5, EDGE)


def _activation(animal: Neuromechanic, rows: NDArray[Any]) -> NDArray[np.float64]:
    """Return the activation (B, m) of all muscles; for proportional ones, the excitation."""
    own = animal.model.arrays["activation"] >= 0
    result = rows["excitation"].copy()
    result[:, own] = rows["activation"]
    return result


@goal.register
def _(task: HindlimbHold, canvas: Canvas, view: Panel, trail: Trail) -> tuple[str, str]:
    row = trail.rows[-1:]
    sticks = _sticks(task.animal, task.animal.mechanics(row))
    paw, ankle = sticks[-1][1][1, :2], sticks[-1][1][0, :2]
    scale = 0.4 * _reach(task.animal) / float(np.linalg.norm(PAW_FORCE))
    view.polyline([(view.low[0], paw[1]), (view.high[0], paw[1])], EDGE, 2.0)
    view.label("ground", (view.low[0], paw[1]), EDGE, 11, offset=(24, 10), back=c.PLATE)
    force, target = scale * row["reaction"][0, :2], scale * PAW_FORCE[:2]
    for arrow, name, colour, y in ((target, "target", c.GOAL, -9), (force, "force of the ground", c.INK, 9)):
        view.arrow(paw, arrow, colour, 4.0 if colour == c.GOAL else 2.0)
        view.label(name, paw + target, colour, 11, offset=(10, y), back=c.PLATE)
    push = row["wrench"][0, 0, :2]
    if push.any():
        view.arrow(ankle - scale * push, scale * push, c.COLD, 3.0)
        view.label("push", ankle - scale * push, c.COLD, 11, (0.5, 1.0), (0, -6), c.PLATE)
    info = task.hooks.info(row, trail.memory[-1:])
    return (
        f"{np.rad2deg(info['posture_error'][0]):.1f}°",
        f"from the posture (rms), {info['force_error'][0]:.2f} N from the target force",
    )


@goal.register
def _(task: Pose, canvas: Canvas, view: Panel, trail: Trail) -> tuple[str, str]:
    error = task.hooks.info(trail.rows[-1:], trail.memory[-1:])["error"][0]
    revolute = task.animal.model.joints[task.joint].revolute
    turn = orientation(task.animal, task.joint)
    posture = _turned(task.animal, _at_goal(task, trail.rows[-1:], trail.memory[-1:]), turn)
    parents, sticks = task.animal.model.arrays["parent"], _sticks(task.animal, posture)
    own = [stick for body, stick in sticks if body == task.joint]
    moved = own or [stick for body, stick in sticks if _carries(parents, task.joint, body)]
    if moved:
        longest = max(moved, key=lambda stick: float(np.linalg.norm(stick[1] - stick[0])))
        view.polyline(longest[:, :2], c.GOAL, 2.0)
        view.label("goal", longest[1, :2], c.GOAL, 11, offset=(6, 0), back=c.PLATE)
    away = f"{np.rad2deg(error):.1f}°" if revolute else c.quantity(float(error), "m")
    return away, f"of {task.animal.model.bodies[task.joint]} from the goal"


def _carries(parents: NDArray[np.int64], joint: int, body: int) -> bool:
    """Return whether a joint moves a body."""
    while body not in (joint, -1):
        body = int(parents[body])
    return body == joint


def _activations(canvas: Canvas, task: NeuromechanicTask, trail: Trail) -> None:
    """Draw the activation of all muscles over time, with their names."""
    periods = round(SECONDS * task.control_rate)
    activation = _activation(task.animal, trail.rows[-periods:])
    muscles, left, top = task.animal.model.muscles, canvas.width - SIDE, 72.0
    canvas.box((left, 0.0, SIDE, canvas.height), c.mix(c.PAPER, c.CARD, 0.5))
    pitch = min((canvas.height - top - 20.0) / len(muscles), 28.0)
    area = (left + NAMES, top, SIDE - NAMES - 24.0, pitch * len(muscles))
    canvas.box(area, c.CARD)
    panel = canvas.panel(area, (0, 0), (periods, 1))
    panel.raster(c.sequential(activation.T, 1.0, c.WARM), (0, 0), (len(activation), 1))
    canvas.label(f"activation, last {SECONDS:g} s (0 to 1: light to red)", (left + 12.0, 52.0), c.MUTED, 11)
    for m, name in enumerate(muscles if pitch > 9.0 else ()):
        words = MUSCLES.get(name, name)
        canvas.label(words, (left + NAMES - 8.0, top + pitch * (m + 0.5)), c.INK, min(10.0, 0.75 * pitch), (1.0, 0.5))


# The standing figure

HEAD, NECK = 0.105, 0.68
"""Radius of the head, and its height above the midpoint of the hips, m."""

LEGS = (0.05, 0.085, 0.065, 0.048, 0.056, 0.034, 0.045)
TORSO = (0.15, 0.165, 0.14, 0.145, 0.165, 0.19, 0.185, 0.05)
"""Half widths of a leg from hip to foot, and of the torso from the pelvis to the neck, m."""

NEWTON = 0.55 / 700.0
"""Length of arrows per force, m/N."""

STRONG = 30.0
"""Torque of a hip at which a muscle has its full colour, N m."""

STAGE = 0.6
"""Width of the stage relative to the canvas; the rest is for traces."""


@scene.register
def _(task: StandGains, canvas: Canvas, trail: Trail, ghost: Trail | None) -> None:
    """Draw the standing figure on its platform, and traces of true and delayed angles."""
    rows = trail.rows
    row = rows[-1:]
    area = (0.0, 0.0, STAGE * canvas.width, canvas.height)
    tall = 2.3
    centre = (float(row["q"][0, 0]), 0.5 * tall - 0.28)
    view = canvas.view(area, np.array([centre]), tall, height=tall)
    platform(view, task, row)
    if ghost is not None:
        person(view, ghost.rows[-1]["q"])
    person(view, row["q"][0], row["neuron"][0, -2:])
    stance = feet(row["q"])[0]
    for foot, force in zip(stance, task.animal.contact_force(row)[0], strict=True):
        if force[1] > 0.0:
            view.arrow(foot, NEWTON * force[:2], c.GOAL, 3.0)
            right = foot[0] > stance[:, 0].mean()
            at = foot + np.array([0.0, 0.16])
            shift = (22.0 if right else -22.0, 0.0)
            view.label(f"{force[1]:z.0f} N", at, c.GOAL, 11, (0.0 if right else 1.0, 0.5), shift, c.PLATE)
    info = task.hooks.info(row, trail.memory[-1:])
    speed = float(info["push"][0])
    way = "the right" if speed > 0 else "the left" if speed < 0 else "no side"
    push, apart = f"push {info['pushes'][0]} of {task.pushes}, to {way}", f"{info['stance'][0]:.2f} hip widths"
    canvas.titles(f"{abs(speed):.2f} m/s", f"speed of the ground in {push}; feet {apart} apart")
    canvas.names(trail, ghost)
    _knowledge(canvas, task, rows)


def platform(view: Panel, task: StandGains, row: NDArray[Any]) -> None:
    """Draw the platform with marks, and lines of the room in which it moves."""
    moved = float(task.animal.platform(row)[0, 0])
    low, high = view.low, view.high
    for k in np.arange(np.ceil((low[0] + moved) / 0.5), np.floor((high[0] + moved) / 0.5) + 1):
        view.polyline([(0.5 * k - moved, 0.0), (0.5 * k - moved, high[1])], c.RULE, 0.75)
    slab = np.array([(low[0], -0.1), (high[0], -0.1), (high[0], 0.0), (low[0], 0.0)])
    view.polygon(slab, c.mix(c.CARD, c.RULE, 0.8))
    view.polyline(slab[2:], EDGE, 1.5)
    for k in np.arange(np.ceil(low[0] / 0.25), np.floor(high[0] / 0.25) + 1):
        view.polyline([(0.25 * k, 0.0), (0.25 * k - 0.04, -0.1)], EDGE, 1.0)


def person(view: Panel, q: NDArray[np.float64], torques: NDArray[np.float64] | None = None) -> None:
    """Draw the figure with joint positions (5,), and its hip muscles with their torques (2,), N m; else translucent."""
    across = np.array([np.cos(q[2]), np.sin(q[2])])
    up = np.array([-across[1], across[0]])
    middle, fill = q[:2], BONE if torques is not None else (*c.GHOST, 80)
    edge = None if torques is None else EDGE
    hips = [middle + side * 0.5 * HIPS * across for side in (-1, 1)]
    legs = [np.array([hip, foot]) for hip, foot in zip(hips, feet(q[None])[0], strict=True)]
    view.disc(middle + NECK * up, HEAD / view.point, fill)
    for leg in legs:
        _flesh(view, leg[0], leg[1], LEGS, fill, edge)
    _flesh(view, middle - 0.06 * up, middle + (NECK - 0.8 * HEAD) * up, TORSO, fill, edge)
    if torques is None:
        return
    view.ring(middle + NECK * up, HEAD, EDGE)
    for (hip, foot), torque in zip(legs, torques, strict=True):
        for flank in (-1.0, 1.0):  # the muscle that turns the leg towards its flank is active
            level = min(1.0, max(0.0, flank * float(torque) / STRONG))
            shift = 0.05 * flank * across
            ends = hip + 0.13 * up + shift, hip + 0.28 * (foot - hip) + 0.7 * shift
            _flesh(view, ends[0], ends[1], (0.003, 0.014 + 0.012 * level, 0.003), c.mix(SLACK, c.WARM, level), EDGE)
        view.disc(hip, 3.0, EDGE)


def _flesh(
    view: Panel,
    start: NDArray[np.float64],
    end: NDArray[np.float64],
    widths: tuple[float, ...],
    colour: c.Colour,
    edge: c.Colour | None,
) -> None:
    """Draw a part of the body from ``start`` to ``end`` with half ``widths`` (m) at equal distances."""
    along = np.linspace(0.0, 1.0, 41)
    radius = CubicSpline(np.linspace(0.0, 1.0, len(widths)), widths)(along)
    left, right = c.outline(start + along[:, None] * (end - start), radius)
    view.polygon(np.concatenate([left, right[::-1]]), colour, edge, 1.5)


def _knowledge(canvas: Canvas, task: StandGains, rows: NDArray[Any]) -> None:
    """Draw the true and delayed angles, and the torques of the hips."""
    left = STAGE * canvas.width + 16.0
    width, top, gap = canvas.width - left - 24.0, 64.0, 8.0
    height = (canvas.height - top - 20.0 - 3 * gap) / 4
    canvas.label("true", (left, 44.0), c.INK, 12)
    late = 1e3 * (float(task.animal.model.delays.max() * rows["delay"][-1]) + task.animal.dt)
    canvas.label(f"delayed by {late:.0f} ms", (left + 44.0, 44.0), c.COLD, 12)
    angles = (("torso", rows["q"][:, 2], 0), ("left hip", rows["q"][:, 3], 2), ("right hip", rows["q"][:, 4], 4))
    for k, (name, angle, neuron) in enumerate(angles):
        area = (left, top + k * (height + gap), width, height)
        panel = canvas.trace(area, rows["time"], np.rad2deg(angle), 4.0, 40.0, c.INK, f"{name}  ± 40°")
        estimate = np.stack([rows["time"], np.rad2deg(rows["neuron"][:, neuron])], 1)
        panel.polyline(estimate[rows["time"] >= panel.low[0]], c.COLD, 1.25)
    area = (left, top + 3 * (height + gap), width, height)
    torques = rows["neuron"][:, -2:]
    panel = canvas.trace(area, rows["time"], torques[:, 0], 4.0, 200.0, c.FORE, "torques  ± 200 N m")
    panel.polyline(np.stack([rows["time"], torques[:, 1]], 1)[rows["time"] >= panel.low[0]], c.AFT, 1.25)
    panel.label("left", (panel.high[0], panel.high[1]), c.FORE, 11, (1.0, 0.0), (-40, 4))
    panel.label("right", (panel.high[0], panel.high[1]), c.AFT, 11, (1.0, 0.0), (-6, 4))
    _, stiffness, damping = rows["input"][-1]
    gains = f"{stiffness:.0f} N m/rad, {damping:.0f} N m s/rad"
    panel.label(gains, (panel.low[0], panel.low[1]), c.MUTED, 11, (0.0, 1.0), (6, -4))


# Pixel observations


@singledispatch
def sketch(task: Any, rows: Any, memory: Any) -> Sketch:
    """Describe the pixel observation: the bones in the x-y plane, and those of the goal."""
    low, high = _corners(task.animal)
    size = _size(task.animal)
    result = Sketch(np.tile(0.5 * (low + high), (len(rows), 1)), 1.6 * size, 0.2 * size)
    mark(task, result, rows, memory)
    for each in _ends(task.animal, rows):
        result.chain(each, 0.03 * size, c.INK)
    return result


@mark.register
def _(task: HindlimbHold, sketch: Sketch, rows: Any, memory: Any) -> None:
    targets = rows.copy()
    targets["q"] = POSTURE
    _mark_posture(task.animal, sketch, targets)


@mark.register
def _(task: Pose, sketch: Sketch, rows: Any, memory: Any) -> None:
    _mark_posture(task.animal, sketch, _at_goal(task, rows, memory))


@mark.register
def _(task: StandGains, sketch: Sketch, rows: Any, memory: Any) -> None:
    middle = feet(rows["q"])[:, :, 0].mean(1)
    sketch.disc(np.stack([middle, np.full(len(rows), LEG + TRUNK)], 1), 0.05, c.GOAL)


def _mark_posture(animal: Neuromechanic, sketch: Sketch, targets: Any) -> None:
    for each in _ends(animal, targets):
        sketch.chain(each, 0.015 * _size(animal), c.GOAL)


def _at_goal(task: Pose, rows: Any, memory: Any) -> Any:
    """Return copies of the rows with the joint at its goal."""
    targets = rows.copy()
    targets["q"][:, task.joint] = memory["goal"]
    return targets


def _corners(animal: Neuromechanic) -> tuple[Any, Any]:
    """Return the least and greatest x and y (m) of the bones in the start posture."""
    start = _ends(animal, animal.rows(1))
    return start.min((0, 1, 2)), start.max((0, 1, 2))


def _size(animal: Neuromechanic) -> float:
    """Return the larger of width and height (m) in the start posture; 1 if both are 0."""
    return float(np.max(np.subtract(*_corners(animal)[::-1]))) or 1.0


@sketch.register
def _(task: StandGains, rows: Any, memory: Any) -> Sketch:
    q = rows["q"]
    middle, stance = q[:, :2], feet(q)
    moved = task.animal.platform(rows)[:, :2]
    centre = np.stack([middle[:, 0], np.full(len(q), 0.9)], 1)
    result = Sketch(centre, 2.4, 0.3, origin=-moved * [1.0, 0.0])
    reach = np.array([-2.0, 2.0])
    ground = np.stack([centre[:, :1] + reach, np.full((len(q), 2), -0.1)], 2)
    result.chain(ground, 0.1, EDGE)
    mark(task, result, rows, memory)
    across = np.stack([np.cos(q[:, 2]), np.sin(q[:, 2])], 1)
    up = np.stack([-across[:, 1], across[:, 0]], 1)
    for side in (0, 1):
        hip = middle + (side - 0.5) * HIPS * across
        result.chain(np.stack([hip, stance[:, side]], 1), 0.05, c.INK)
    result.chain(np.stack([middle, middle + 0.5 * up], 1), 0.15, c.INK)
    result.disc(middle + TRUNK * up, 0.1, c.INK)
    return result


def _ends(animal: Any, rows: Any) -> Any:
    """Return x and y of the bones of rows, (bones, B, 2 ends, 2) m; nothing without rows."""
    turn = orientation(animal)
    each = (bones(animal, _turned(animal, rows[i : i + 1], turn)) for i in range(len(rows)))
    figures = [[stick[:, :2] for _, stick in sticks] for sticks in each]
    return np.array(figures).swapaxes(0, 1) if figures else ()


def bones(animal: Neuromechanic, k: dict[str, NDArray[Any]]) -> list[tuple[int, NDArray[np.float64]]]:
    """Return body and ends (2, 3) m of all bones: straight lines from joint to joint, or from joint to far end."""
    arrays, sticks = animal.model.arrays, []
    parents = arrays["parent"]
    for i, parent in enumerate(parents):
        if parent >= 0 and (arrays["joint"][parent] == REVOLUTE or arrays["mass"][parent] > 0.0):
            sticks.append((int(parent), np.array([k["origin"][parent], k["origin"][i]])))
        if all(np.linalg.norm(arrays["at"][child]) < 1e-9 for child in np.flatnonzero(parents == i)):
            points = [2.0 * arrays["centre"][i], *arrays["point_at"][arrays["point_body"] == i]]
            points += list(arrays["wrench_at"][arrays["wrench_body"] == i])
            points += list(arrays["contact_at"][arrays["contact_body"] == i])
            points += list(arrays["touch_at"][arrays["touch_body"] == i])
            points += [
                at[side]
                for at, b in zip(arrays["pin_at"], arrays["pin_body"], strict=True)
                for side in (0, 1)
                if b[side] == i
            ]
            far = max(points, key=lambda point: float(np.linalg.norm(point)))
            sticks.append((i, np.array([k["origin"][i], k["origin"][i] + k["turn"][i] @ far])))
    return sticks
