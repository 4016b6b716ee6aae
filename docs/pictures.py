"""Makes pictures of README and the site's home: ``python docs/pictures.py [swim.gif animals.png]``, all by default."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

import numpy as np
import pygame
from PIL import Image

from gymnosoma.agents.evaluation.policies import find_policy
from gymnosoma.agents.showing.film import Film, _Actor
from gymnosoma.envs.core import canvas as c
from gymnosoma.envs.core.canvas import Canvas
from gymnosoma.envs.worm.picture import GHOST, body

HERE = Path(__file__).parent

SWIM, SWUM, RATE = "gymnosoma/WormSwim-v0", 8.0, 20.0
"""What swims, for how many seconds, and at how many frames a second."""

LANES = (("trained", "a trained network", c.INK), ("baseline", "the paper's wave", GHOST))
"""Policies that swim side by side, what they are called, and the colour of their words."""

STILLS: tuple[tuple[str, str, str, float, dict[str, float], tuple[float, float, float, float]], ...] = (
    ("WormFollow-v0", "steered", "C. elegans in its omega turn", 9.0, {}, (0.26, 0.08, 0.98, 0.78)),
    ("LampreyWaypoints-v0", "baseline", "A lamprey swims by its spinal cord", 4.0, {}, (0.0, 0.1, 0.75, 0.78)),
    ("WhiskerTap-v0", "half_sine", "A rat's whisker taps a peg", 0.12, {}, (0.0, 0.1, 0.62, 0.78)),
    ("WhiskerRegulate-v0", "paper", "A whisker on sandpaper", 0.2, {"distance": 0.98}, (0.08, 0.08, 0.64, 0.98)),
    ("HindlimbHold-v0", "baseline", "A cat's hindlimb in balance", 0.5, {}, (0.2, 0.02, 0.8, 0.78)),
    ("StandPulse-v0", "smith", "A person is pushed, and stands", 0.5, {"stance": 1.05, "push": 0.35}, (0, 0.1, 0.6, 1)),
)
"""Ids, policies, captions, moments (s), options of the reset, and what of the page is shown, in shares."""


def swim() -> list[Image.Image]:
    """Frames of worms in lanes, with how far each has come and what counts: its score."""
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
            along = np.array([way, [-way[1], way[0]]])  # the way lies to the right
            track = (actor.trail.rows["centre"] - start) @ along.T
            eye = [1.6e-3, c.steady(track, round(2.0 * task.control_rate))[1]]
            view = canvas.view((0.0, top, canvas.width, 246.0), eye, 4.6e-3)
            view.grid(0.5e-3)
            view.polyline(track, c.FORE, 2.5)
            body(view, (task.animal.points(actor.trail.rows[-1:])[0] - start) @ along.T, False)
            told = task.info(actor.trail.rows[-1:], actor.trail.memory[-1:])
            canvas.label(name, (24, top + 30), colour, 30, back=c.PLATE)
            score = f"{told['priced_speed'][0] * 1e3:.2f} mm/s after the price of its work"
            canvas.label(score, (canvas.width - 24, top + 30), colour, 30, (1.0, 0.5), back=c.PLATE)
            came = f"{1e3 * track[-1, 0]:.1f} mm"
            canvas.label(came, (canvas.width - 24, top + 220), colour, 30, (1.0, 0.5), back=c.PLATE)
        frames.append(Image.fromarray(canvas.array()))
    return frames


def animals() -> Image.Image:
    """Stills in two columns, with captions that can be read on a phone."""
    width, high, below = 620, 400, 70
    page = Image.new("RGB", (2 * width, (high + below) * (len(STILLS) // 2)), c.PAPER)
    pygame.font.init()
    for k, (name, policy, caption, seconds, options, (left, top, right, bottom)) in enumerate(STILLS):
        env_id, size = f"gymnosoma/{name}", (1920, 1080)
        how: dict[str, Any] = {"width": size[0], "height": size[1], "options": options, "seconds": seconds}
        film = Film(env_id, find_policy(env_id, policy), **how)
        film._actor.view.canvas.close = name.startswith(("Worm", "Lamprey"))
        for _ in film:
            pass
        still = Image.fromarray(film.draw().array())
        film.close()
        still = still.crop(tuple(np.multiply((left, top, right, bottom), 2 * size).round()))
        share = min(width / still.width, high / still.height)
        still = still.resize((round(share * still.width), round(share * still.height)), Image.Resampling.LANCZOS)
        x, y = width * (k % 2), (high + below) * (k // 2)
        page.paste(still, (x + (width - still.width) // 2, y + (high - still.height) // 2))
        text = pygame.font.Font(None, 46).render(caption, True, c.INK, c.PAPER)
        word = Image.frombytes("RGB", text.get_size(), pygame.image.tobytes(text, "RGB"))
        page.paste(word, (x + (width - word.width) // 2, y + high + 14))
    return page


def main() -> None:
    """Make the pictures that are named, or all."""
    asked = sys.argv[1:] or ["swim.gif", "animals.png"]
    if "swim.gif" in asked:
        first, *rest = (frame.quantize(64, dither=Image.Dither.NONE) for frame in swim())
        times = [round(1000.0 / RATE)] * len(rest) + [1500]  # a moment to compare before it begins again
        first.save(HERE / "swim.gif", save_all=True, append_images=rest, duration=times, loop=0)
    if "animals.png" in asked:
        animals().quantize(192).save(HERE / "animals.png", optimize=True)
    for name in asked:
        print(f"docs/{name}: {(HERE / name).stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
