"""Make the pictures of README and the website: ``python docs/pictures.py [swim.gif] [ID ...]``, by default all.

The stills in ``docs/static/stills``, one for each id, appear on the home page, and on pages without films.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

import numpy as np
import pygame
from PIL import Image

from gymnosoma.agents.policies.lookup import find_policy, shipped
from gymnosoma.agents.policies.registry import references_of
from gymnosoma.envs import CATALOGUE, CatalogueEntry
from gymnosoma.envs.core.draw import canvas as c
from gymnosoma.envs.core.draw.canvas import Canvas
from gymnosoma.envs.worm.picture import GHOST, body
from gymnosoma.films.reel import Film, _Actor

HERE = Path(__file__).parent

SWIM, SWUM, RATE = "gymnosoma/WormSwim-v0", 8.0, 20.0
"""Id, simulated seconds and frames per second of ``swim.gif``."""

LANES = (("trained", "a trained network", c.INK), ("baseline", "the paper's wave", GHOST))
"""Policies in ``swim.gif``, one per lane, with their label and its colour."""

SIZE = (480, 270)
"""Size of a still in pixels."""

Frame = tuple[float, float, float, float]

FRAMES: dict[str, Frame] = {
    "worm": (0.19, 0.12, 0.81, 0.74),
    "lamprey": (0.0, 0.12, 0.75, 0.78),
    "whisker_chain": (0.0, 0.13, 0.62, 0.75),
    "whisker_rod": (0.31, 0.21, 0.67, 0.61),
    "neuromechanic": (0.0, 0.12, 0.6, 1.0),
}
"""Crop of a still for each animal, as fractions of the picture: left, top, right, bottom."""

STILLS: dict[str, tuple[str, float, dict[str, float], Frame | None]] = {
    "WormFollow-v0": ("steered", 9.0, {}, (0.32, 0.12, 0.96, 0.72)),
    "LampreyWaypoints-v0": ("baseline", 4.0, {}, None),
    "WhiskerTap-v0": ("half_sine_8_hz", 0.07, {"peg_bearing": -0.1}, None),
    "WhiskerRegulate-v0": ("paper", 0.2, {"distance": 0.98}, None),
    "HindlimbHold-v0": ("baseline", 0.5, {}, (0.28, 0.02, 0.72, 0.7)),
    "StandGains-v0": ("trained", 0.8, {"stance": 1.05, "push": -0.3}, None),
}
"""Policy, time (s), options of the reset and crop (None: the animal's) of stills with special settings.

The stills of other ids show the trained policy, or else the first reference, early in the second half of an episode.
"""


def swim() -> list[Image.Image]:
    """Draw the frames of ``swim.gif``: one worm per lane, with its distance and score."""
    pygame.font.init()
    canvas, actors = Canvas(720, 405), [_Actor(SWIM, find_policy(SWIM, name), 0, {}) for name, _, _ in LANES]
    task = actors[0].view.task
    stride, frames = round(task.control_rate / RATE), []
    for step in range(round(SWUM * task.control_rate)):
        for actor in actors:
            actor.step()
        if step % stride:
            continue
        canvas.clear()
        for lane, (actor, (_, name, colour)) in enumerate(zip(actors, LANES, strict=True)):
            top, memory = 16.0 + 262.0 * lane, actor.trail.memory[-1]
            start, way = memory["start"], memory["goal"]
            along = np.array([way, [-way[1], way[0]]])  # forward is to the right
            track = (actor.trail.rows["centre"] - start) @ along.T
            eye = [1.6e-3, c.steady(track, round(2.0 * task.control_rate))[1]]
            view = canvas.view((0.0, top, canvas.width, 246.0), eye, 4.6e-3)
            view.grid(0.5e-3)
            view.polyline(track, c.FORE, 2.5)
            body(view, (task.animal.points(actor.trail.rows[-1:])[0] - start) @ along.T, False)
            info = task.hooks.info(actor.trail.rows[-1:], actor.trail.memory[-1:])
            canvas.label(name, (24, top + 30), colour, 30, back=c.PLATE)
            score = f"{info['priced_speed'][0] * 1e3:.2f} mm/s after the cost of its work"
            canvas.label(score, (canvas.width - 24, top + 30), colour, 30, (1.0, 0.5), back=c.PLATE)
            came = f"{1e3 * track[-1, 0]:.1f} mm"
            canvas.label(came, (canvas.width - 24, top + 220), colour, 30, (1.0, 0.5), back=c.PLATE)
        frames.append(Image.fromarray(canvas.array()))
    return frames


def still(entry: CatalogueEntry) -> Image.Image:
    """Draw the still of an id, without text or curves."""
    env_id, animal = f"gymnosoma/{entry.name}", entry.task.partition(".")[0]
    policy = "trained" if shipped(env_id).is_dir() else next(iter(references_of(env_id)))
    policy, seconds, options, frame = STILLS.get(entry.name, (policy, None, {}, None))
    film = Film(env_id, find_policy(env_id, policy), width=1920, height=1080, options=options, seconds=seconds)
    film._actor.view.canvas.close = animal in ("worm", "lamprey")
    for k, _ in enumerate(film):
        if seconds is None and k >= 0.55 * len(film):
            break
    whole = Image.fromarray(film.draw().array())
    film.close()
    part = whole.crop(tuple(np.multiply(frame or FRAMES[animal], 2 * whole.size).round()))
    share = min(SIZE[0] / part.width, SIZE[1] / part.height)
    part = part.resize((round(share * part.width), round(share * part.height)), Image.Resampling.LANCZOS)
    page = Image.new("RGB", SIZE, c.PAPER)
    page.paste(part, ((SIZE[0] - part.width) // 2, (SIZE[1] - part.height) // 2))
    return page


def main() -> None:
    """Make the pictures on the command line, by default all."""
    stills = {entry.name: entry for entry in CATALOGUE}
    (HERE / "static" / "stills").mkdir(exist_ok=True)
    for name in sys.argv[1:] or ["swim.gif", *stills]:
        path = HERE / ("swim.gif" if name == "swim.gif" else f"static/stills/{name}.webp")
        if name == "swim.gif":
            first, *rest = (frame.quantize(64, dither=Image.Dither.NONE) for frame in swim())
            times = [round(1000.0 / RATE)] * len(rest) + [1500]  # pause before the film repeats
            first.save(path, save_all=True, append_images=rest, duration=times, loop=0)
        else:
            still(stills[name]).save(path, quality=82, method=6)
        print(f"{path.relative_to(HERE)}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
