"""Make the pictures of README and the animals' pages: ``python docs/pictures.py [animals.webp swim.webp worm ...]``.

``python -m tools.publish --check`` lists those whose ids or policies have changed since; ``docs/pictures.json`` has the
digests.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import chdir
from pathlib import Path

os.environ |= {"SDL_VIDEODRIVER": "dummy", "MPLBACKEND": "agg"}

import films
import numpy as np
import pygame
from PIL import Image

from gymnosoma.agents.policies.lookup import find_policy
from gymnosoma.envs.core.draw import canvas as c
from gymnosoma.envs.core.draw.canvas import Canvas
from gymnosoma.envs.worm.picture import body
from gymnosoma.films.reel import _Actor
from tools.clone import ROOT
from tools.publish import PICTURES, stamp

HERE = Path(__file__).parent

SWIM, SWUM, RATE = "gymnosoma/WormSwim-v0", 8.0, 20.0
"""Id, simulated seconds and frames per second of ``swim.webp``."""

STRIP: dict[str, tuple[str, float, float, dict[str, float], films.Frame]] = {
    "WormCrawl-v0": ("baseline", 4.0, 1.0, {}, (0.25, 0.14, 0.75, 0.71)),
    "LampreyWaypoints-v0": ("baseline", 2.0, 0.5, {}, (0.06, 0.12, 0.66, 0.71)),
    "WhiskerTap-v0": ("half_sine_8_hz", 0.0, 0.02, {"peg_bearing": -0.1}, (0.0, 0.13, 0.62, 0.75)),
    "WhiskerRegulate-v0": ("paper", 0.2, 0.03, {"distance": 0.98}, (0.345, 0.23, 0.64, 0.61)),
    "StandGains-v0": ("baseline", 0.0, 1.0, {"stance": 1.05, "push": -0.2}, (0.02, 0.1, 0.58, 1.0)),
}
"""Policy, start (s), speed compared with simulated time, options and crop of each animal in ``animals.webp``."""

TILE, LENGTH, SLOWEST = (240, 200), 3.0, 12.5
"""Size (pixels) of an animal in ``animals.webp``; its duration (s) and frame rate (Hz)."""

LANES = (("trained", "a trained network", c.INK), ("baseline", "the paper's wave", c.GHOST))
"""Policies in ``swim.webp``, one per lane, with their label and its colour."""


def animals() -> list[Image.Image]:
    """Draw the frames of ``animals.webp``: the five animals with their own controllers, side by side."""
    wide, high = TILE
    first = Canvas(wide * len(STRIP), high + 28)
    first.clear()
    for k, name in enumerate(STRIP):
        animal = films.ANIMAL[f"gymnosoma/{name}"].replace("_", " ")
        at = (k + 0.5) / len(STRIP) * first.width, (high + 12) / (high + 28) * first.height
        first.label(animal, at, c.INK, 12.5 / first.scale * 2, (0.5, 0.5))
    frames = [Image.fromarray(first.array()) for _ in range(round(LENGTH * SLOWEST))]
    for k, (name, (policy, start, speed, options, frame)) in enumerate(STRIP.items()):
        film = films.film_of(f"gymnosoma/{name}", policy, width=1280, height=720, options=options)
        view = film._actor.view
        view.canvas.close = films.ANIMAL[f"gymnosoma/{name}"] in ("worm", "lamprey")
        moments = [round((start + speed * n / SLOWEST) * view.task.control_rate) for n in range(len(frames))]
        for moment, _ in enumerate(film):
            for n in (n for n, each in enumerate(moments) if each == moment):
                frames[n].paste(films.cropped(film, frame, TILE), (k * wide, 0))
            if moment > moments[-1]:
                break
        film.close()
    return frames


def first_run(page: Path) -> None:
    """Write the picture of the first example on the page of an animal."""
    code = page.read_text("utf-8").partition("```py\n")[2].partition("```")[0]
    with chdir(page.parent):
        exec(compile(code, page, "exec"), {})


def swim() -> list[Image.Image]:
    """Draw the frames of ``swim.webp``: one worm per lane, with its distance and score."""
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
            canvas.label(name, (24, top + 30), colour, 25, back=c.PLATE)
            score = f"{info['priced_speed'][0] * 1e3:.2f} mm/s after the cost of its work"
            canvas.label(score, (canvas.width - 24, top + 30), colour, 25, (1.0, 0.5), back=c.PLATE)
            came = f"{1e3 * track[-1, 0]:z.1f} mm"
            canvas.label(came, (canvas.width - 24, top + 220), colour, 25, (1.0, 0.5), back=c.PLATE)
        frames.append(Image.fromarray(canvas.array()))
    return frames


PARTS = {
    "animals.webp": (animals, SLOWEST, {f"gymnosoma/{name}": [policy] for name, (policy, *_) in STRIP.items()}),
    "swim.webp": (swim, RATE, {SWIM: [name for name, *_ in LANES]}),
}
"""Frames, frame rate (Hz), and the policies of each id in the pictures."""


def main() -> None:
    """Make the pictures on the command line, by default all."""
    digests = json.loads((ROOT / PICTURES).read_text("utf-8"))
    pages = {path.stem: path for path in sorted((HERE / "animals").glob("*.md"))}
    for name in sys.argv[1:] or [*PARTS, *pages]:
        if name in pages:
            first_run(pages[name])
            continue
        draw, rate, shown = PARTS[name]
        path, (first, *rest) = HERE / name, draw()
        times = [round(1000.0 / rate)] * len(rest) + [1000]  # pause before the film repeats
        first.save(path, save_all=True, append_images=rest, duration=times, loop=0, quality=60, method=4)
        digests[name] = {env_id: {"policies": own, "digest": stamp(env_id, own)} for env_id, own in shown.items()}
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")
    (ROOT / PICTURES).write_text(json.dumps(digests, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
