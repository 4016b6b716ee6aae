"""Panels of ``docs/animals.webp``: an animal's body and what it touches, and below it the activity of its nerves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.core.draw import canvas as c
from gymnosoma.envs.core.draw.canvas import Canvas, Panel
from gymnosoma.envs.core.draw.view import Trail
from gymnosoma.envs.lamprey import picture as lamprey
from gymnosoma.envs.neuromechanic import picture as person
from gymnosoma.envs.whisker_chain import picture as whisker_chain
from gymnosoma.envs.whisker_rod import picture as whisker_rod
from gymnosoma.envs.worm import picture as worm

SIZE, TEXT, EDGE = (360.0, 540.0), 34.0, 9.0
"""Width and height of a panel, its text, and the space around its parts, pt."""

LAKE: c.Colour = (216, 233, 240)

Area = tuple[float, float, float, float]


def draw_worm(canvas: Canvas, area: Area, nerves: Panel, task: Any, trail: Trail) -> None:
    """Draw a worm on agar with its track, and the waves of the commands to its muscles."""
    points = task.animal.points(trail.rows[-120:])
    canvas.box(area, worm.AGAR)
    view = canvas.view(area, [c.steady(points.mean(1), 120)], 1.05 * float(trail.rows["length"][-1]))
    view.tracks(points, False)
    worm.body(view, points[-1], False)
    nerves.raster(c.diverging(trail.rows[-120:]["control_angle"].T, worm.STRIP_ANGLE))


def draw_lamprey(canvas: Canvas, area: Area, nerves: Panel, task: Any, trail: Trail) -> None:
    """Draw a lamprey in water with its active muscles and track, and its left and right motoneurons."""
    points = task.animal.points(trail.rows[-120:])
    canvas.box(area, LAKE)
    view = canvas.view(area, [c.steady(points.mean(1), 40)], 1.15 * float(np.sum(task.animal.params.length)))
    for end, colour in ((-1, c.AFT), (0, c.FORE)):
        view.polyline(points[:, end], colour, 2.5, LAKE)
    lamprey.body(view, task.animal, trail.rows[-1:], False)
    outputs = c.sequential(trail.rows[-80:]["motoneuron"].T, 1.0, c.WARM)  # (joints, sides, moments, 3)
    for side, low in ((0, 0.53), (1, 0.0)):
        nerves.raster(outputs[:, side], (0.0, low), (1.0, low + 0.47))


def draw_chain(canvas: Canvas, area: Area, nerves: Panel, task: Any, trail: Trail) -> None:
    """Draw a whisker that touches a peg, ten times thicker than it is, and the moment on its base."""
    length = float(trail.rows["length"][-1])
    view = canvas.view(area, [[0.5 * length, -0.1 * length]], 1.16 * length)
    view.polygon([view.low, (0, view.low[1]), (0, view.high[1]), (view.low[0], view.high[1])], whisker_chain.SKIN)
    whisker_chain.whisker(view, task, trail, False, 10.0)
    view.disc(trail.rows[-1]["peg"][:, 0], 12.0, whisker_chain.PEG)
    whisker_chain.pegs(view, task, trail, named=False)
    _trace(nerves, whisker_chain.wrench_mean(trail.rows[-40:])[:, 0], 40)


def draw_rod(canvas: Canvas, area: Area, nerves: Panel, task: Any, trail: Trail) -> None:
    """Draw a whisker on moving sandpaper, coloured by its bending moment, and the moment on its base."""
    length = float(trail.rows["length"][-1])
    view = canvas.view(area, [[0.2 * length, 0.55 * length]], 1.2 * length)
    whisker_rod.plate(view, task, trail, 2.0e-3)
    line = task.animal.signal(trail.rows[-1:], "centreline")[0]
    view.polyline(line, whisker_rod.WHISKER, 8.0)  # dark edges of the thin end
    whisker_rod.whisker(view, task, trail, False)
    slips = bool(whisker_rod.slipping(trail.rows[-1:])[0])
    view.disc(trail.rows["tip"][-1], 9.0, whisker_rod.SLIP if slips else whisker_rod.STICK)
    samples = trail.rows[-60:]["base_wrench_samples"]
    _trace(nerves, samples[..., 0].ravel(), 60 * samples.shape[1])


def draw_person(canvas: Canvas, area: Area, nerves: Panel, task: Any, trail: Trail) -> None:
    """Draw a person on a moving platform with its hip muscles and the forces on its feet, and the torque of a hip."""
    row = trail.rows[-1:]
    view = canvas.view(area, [[float(row["q"][0, 0]), 0.78]], 1.9)
    person.platform(view, task, row)
    person.person(view, row["q"][0], row["neuron"][0, -2:])
    for foot, force in zip(person.feet(row["q"])[0], task.animal.contact_force(row)[0], strict=True):
        view.arrow(foot, person.NEWTON * force[:2], c.GOAL, 5.0)
    _trace(nerves, trail.rows[-100:]["neuron"][:, -2], 100)


def _trace(nerves: Panel, values: NDArray[np.float64], count: int) -> None:
    """Draw the newest ``count`` values (N,) from the left to the right of a panel, scaled by the largest."""
    place = np.arange(len(values)) / (count - 1)
    limit = 1.1 * max(1e-30, float(np.abs(values).max()))
    nerves.polyline([(0.0, 0.5), (1.0, 0.5)], c.RULE, 2.0)
    nerves.polyline(np.stack([place, 0.5 + 0.5 * values / limit], 1), c.WARM, 3.0)


@dataclass(frozen=True)
class Tile:
    """Panel of an animal: what is drawn and written, the policy, and the start (s), speed and options of its film."""

    draw: Callable[[Canvas, Area, Panel, Any, Trail], None]
    title: str
    nerves: str
    policy: str
    start: float
    speed: float
    options: Mapping[str, float] = field(default_factory=dict)

    def frame(self, canvas: Canvas, left: float, task: Any, trail: Trail) -> None:
        """Draw the panel at ``left`` (pt)."""
        width, high = SIZE[0] - 2 * EDGE, SIZE[1] - 196.0
        area = (left + EDGE, 52.0, width, high)
        strip = (left + EDGE, 62.0 + high, width, 84.0)
        canvas.box(area, c.PAPER)
        canvas.box(strip, c.CARD)
        self.draw(canvas, area, canvas.panel(strip, (0.0, 0.0), (1.0, 1.0)), task, trail)
        middle = left + 0.5 * SIZE[0]
        canvas.label(self.title, (middle, 26.0), c.INK, TEXT, (0.5, 0.5))
        canvas.label(self.nerves, (middle, SIZE[1] - 24.0), c.WARM, TEXT, (0.5, 0.5))


TILES = {
    "WormCrawl-v0": Tile(draw_worm, "worm on agar", "muscle commands", "baseline", 8.0, 1.0),
    "LampreyWaypoints-v0": Tile(draw_lamprey, "lamprey in water", "motoneurons", "baseline", 2.0, 0.4),
    "WhiskerTap-v0": Tile(
        draw_chain, "whisker on a peg", "touch at its base", "half_sine_8_hz", 0.0, 0.04, {"peg_bearing": -0.1}
    ),
    "WhiskerRegulate-v0": Tile(
        draw_rod, "whisker, sandpaper", "touch at its base", "paper", 0.2, 0.03, {"distance": 0.98}
    ),
    "StandGains-v0": Tile(
        draw_person, "person is pushed", "reflex of a hip", "baseline", 0.0, 1.0, {"stance": 1.05, "push": -0.2}
    ),
}
"""Panels by id, from left to right."""
