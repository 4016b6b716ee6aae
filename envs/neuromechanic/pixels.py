"""Pixel observations of musculoskeletal models: bones, ground and goal."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.draw.pixels import GOAL, INK, Colour, Sketch
from .animal import Neuromechanic
from .hindlimb import POSTURE
from .skeleton import REVOLUTE
from .standing import HIPS, LEG, feet
from .tasks import HindlimbHold, Pose, StandGains

BONE: Colour = (140, 130, 110)
TRUNK = 0.7
"""Height of the standing figure's trunk with head, m."""


def sketch(task: Any, rows: Any, memory: Any) -> Sketch:
    """Draw models in the x-y plane."""
    return (_standing if isinstance(task, StandGains) else _model)(task, rows, memory)


def _standing(task: Any, rows: Any, memory: Any) -> Sketch:
    q = rows["q"]
    middle, stance = q[:, :2], feet(q)
    moved = task.animal.platform(rows)[:, :2]
    centre = np.stack([middle[:, 0], np.full(len(q), 0.9)], 1)
    result = Sketch(centre, 2.4, 0.3, origin=-moved * [1.0, 0.0])
    reach = np.array([-2.0, 2.0])
    ground = np.stack([centre[:, :1] + reach, np.full((len(q), 2), -0.1)], 2)
    result.chain(ground, 0.1, BONE)
    result.disc(np.stack([stance[:, :, 0].mean(1), np.full(len(q), LEG + TRUNK)], 1), 0.05, GOAL)
    across = np.stack([np.cos(q[:, 2]), np.sin(q[:, 2])], 1)
    up = np.stack([-across[:, 1], across[:, 0]], 1)
    for side in (0, 1):
        hip = middle + (side - 0.5) * HIPS * across
        result.chain(np.stack([hip, stance[:, side]], 1), 0.05, INK)
    result.chain(np.stack([middle, middle + 0.5 * up], 1), 0.15, INK)
    result.disc(middle + TRUNK * up, 0.1, INK)
    return result


def _model(task: Any, rows: Any, memory: Any) -> Sketch:
    animal = task.animal
    start = np.array([stick[:, :2] for _, stick in bones(animal, animal.mechanics(animal.rows(1)))])
    low, high = start.min((0, 1)), start.max((0, 1))
    reach, centre = float(np.max(high - low)) or 1.0, 0.5 * (low + high)
    now = np.array([_ends(animal, row) for row in rows])
    result = Sketch(np.tile(centre, (len(rows), 1)), 1.6 * reach, 0.2 * reach)
    if isinstance(task, HindlimbHold | Pose):
        targets = rows.copy()
        if isinstance(task, Pose):
            targets["q"][:, task.joint] = memory["goal"]
        else:
            targets["q"] = POSTURE
        for each in np.array([_ends(animal, row) for row in targets]).swapaxes(0, 1):
            result.chain(each, 0.015 * reach, GOAL)
    for each in now.swapaxes(0, 1):
        result.chain(each, 0.03 * reach, INK)
    return result


def _ends(animal: Any, row: Any) -> Any:
    """Return the ends (sticks, 2, 2) m of the bones of a row."""
    return [stick[:, :2] for _, stick in bones(animal, animal.mechanics(np.array([row])))]


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
            points += [
                at[side]
                for at, b in zip(arrays["pin_at"], arrays["pin_body"], strict=True)
                for side in (0, 1)
                if b[side] == i
            ]
            far = max(points, key=lambda point: float(np.linalg.norm(point)))
            sticks.append((i, np.array([k["origin"][i], k["origin"][i] + k["turn"][i] @ far])))
    return sticks
