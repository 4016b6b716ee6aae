"""Films and pictures of the website and README: ``python docs/pictures.py [animals.webp swim.webp worm ...]``.

The command makes the pictures of README and of the animals' pages. ``python -m tools.publish --check`` lists those
whose ids or policies have changed since; ``docs/pictures.json`` has the digests. Sphinx calls `make` for a film and a
still of each id. Their files are named after the id and a digest of its policies and sources, so that they are made
again only after a change.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from contextlib import chdir
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
os.environ.setdefault("MPLBACKEND", "agg")

import numpy as np
import pygame
from imageio_ffmpeg import write_frames
from PIL import Image
from tiles import TILES

import gymnosoma
from gymnosoma.agents.policies.fingerprints import env_fingerprint, files_digest, values_digest
from gymnosoma.agents.policies.lookup import find_policy, shipped
from gymnosoma.agents.policies.registry import references_of
from gymnosoma.envs import CATALOGUE
from gymnosoma.envs.core.draw import canvas as c
from gymnosoma.envs.core.draw.canvas import Canvas
from gymnosoma.envs.worm.picture import body
from gymnosoma.films.reel import Film, _Actor
from tools.clone import ROOT
from tools.publish import PICTURES, stamp

HERE = Path(__file__).parent
FOLDER = HERE / "static" / "films"

SECONDS, FASTEST = 6.0, 25.0
"""Maximum duration, s, of a film without time lapse, and maximum frame rate, Hz."""

WHOLE = {"WormChemotaxis-v0": 10.0, "WormMedium-v0": 2.5, "LampreyWaypoints-v0": 2.5}
"""Time lapse of films that show a whole episode, because its first seconds do not show what the task asks for."""

SHORTEST, PAUSE = 2.0, 1.0
"""Minimum duration, s; shorter episodes are slowed down. Duration of the last frame, s."""

STILL = (480, 270)
"""Size of a still in pixels."""

Frame = tuple[float, float, float, float]

FRAMES: dict[str, Frame] = {
    "worm": (0.04, 0.13, 0.8, 0.76),
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
    "HindlimbHold-v0": ("baseline", 0.5, {}, (0.02, 0.0, 0.56, 1.0)),
    "StandGains-v0": ("trained", 0.8, {"stance": 1.05, "push": -0.3}, None),
}
"""Policy, time (s), options of the reset and crop (None: the animal's) of stills with special settings.

The stills of other ids show the policy of their film, early in the second half of an episode.
"""


ANIMAL = {f"gymnosoma/{entry.name}": entry.task.partition(".")[0] for entry in CATALOGUE}


def shown(env_id: str) -> tuple[str, str | None]:
    """Return the policy of an id's film, and the one drawn in grey or None."""
    own = next(iter(references_of(env_id)), None)
    return ("trained", own) if shipped(env_id).is_dir() else (own or "random", None)


def film_of(env_id: str, policy: str, ghost: str | None = None, **how: Any) -> Film:
    """Return the film of a policy, in large frames; references play in the conditions of their paper."""
    split = {"split": "paper"} if policy in references_of(env_id) else {}
    other = None if ghost is None else find_policy(env_id, ghost)
    return Film(env_id, find_policy(env_id, policy), other, **split, **how)


def write_film(env_id: str, path: Path) -> None:
    """Write the first seconds of an episode, or the whole one, as a film."""
    count = sum(1 for _ in film_of(env_id, *shown(env_id)))
    film = film_of(env_id, *shown(env_id))
    lapse = WHOLE.get(env_id.split("/")[1])
    fps = film.fps * (lapse or 1.0)
    stride = max(1, round(fps / FASTEST))
    count = (count if lapse else min(count, round(SECONDS * fps))) // stride
    rate = min(fps / stride, count / SHORTEST)
    size = film.size
    style = ["-preset", "veryfast", "-crf", "28", "-movflags", "+faststart", "-tune", "animation"]
    writer = write_frames(str(path), size, fps=rate, quality=None, macro_block_size=2, output_params=style)
    writer.send(None)
    for k, _ in enumerate(film):
        if k % stride == 0 and k < count * stride:
            writer.send(frame := film.draw(rate * stride).array().tobytes())
    for _ in range(round(PAUSE * rate)):
        writer.send(frame)
    writer.close()
    film.close()


def cropped(film: Film, frame: Frame, size: tuple[int, int]) -> Image.Image:
    """Return part of the present frame of a film, as large as fits into a picture of this size."""
    whole = Image.fromarray(film.draw().array())
    part = whole.crop(tuple(np.multiply(frame, 2 * whole.size).round()))
    share = min(size[0] / part.width, size[1] / part.height)
    part = part.resize((round(share * part.width), round(share * part.height)), Image.Resampling.LANCZOS)
    page = Image.new("RGB", size, c.PAPER)
    page.paste(part, ((size[0] - part.width) // 2, (size[1] - part.height) // 2))
    return page


def write_still(env_id: str, path: Path) -> None:
    """Write the still of an id, without text or curves."""
    name, animal = env_id.split("/")[1], ANIMAL[env_id]
    policy, seconds, options, frame = STILLS.get(name, (shown(env_id)[0], None, {}, None))
    film = film_of(env_id, policy, width=1920, height=1080, options=options, seconds=seconds)
    film._actor.view.canvas.close = animal in ("worm", "lamprey")
    for k, _ in enumerate(film):
        if seconds is None and k >= 0.55 * len(film):
            break
    cropped(film, frame or FRAMES[animal], STILL).save(path, quality=82, method=6)
    film.close()


def paths(env_id: str) -> tuple[Path, Path]:
    """Return the files of an id's film and still."""
    package = Path(gymnosoma.envs.__file__).parent
    sources = [path for part in (ANIMAL[env_id], "core/draw") for path in sorted((package / part).glob("*.py"))]
    policies = [find_policy(env_id, name).digest() for name in shown(env_id) if name]
    key = values_digest(policies, env_fingerprint(env_id, {}), files_digest(*sources, Path(__file__)))
    name = f"{env_id.split('/')[1]}-{key[:8]}"
    return FOLDER / f"{name}.mp4", FOLDER / f"{name}.webp"


def make_one(env_id: str) -> tuple[Path, Path]:
    """Make the film and the still of an id if they do not exist, delete older ones, and return their paths."""
    files = paths(env_id)
    if not all(path.is_file() for path in files):
        print(f"filming {env_id}", flush=True)
        FOLDER.mkdir(parents=True, exist_ok=True)
        for path in FOLDER.glob(f"{env_id.split('/')[1]}-*"):
            path.unlink()
        for write, path in zip((write_film, write_still), files, strict=True):
            part = path.with_stem(f"part-{path.stem}")
            write(env_id, part)
            part.replace(path)
    return files


def make(ids: Iterable[str]) -> dict[str, tuple[Path, Path]]:
    """Make the missing films and stills of ids, one process per core, and return the paths of all."""
    ids = list(ids)
    with ProcessPoolExecutor(min(8, os.cpu_count() or 1), get_context("spawn")) as pool:
        return dict(zip(ids, pool.map(make_one, ids), strict=True))


SWIM, SWUM, RATE = "gymnosoma/WormSwim-v0", 8.0, 20.0
"""Id, simulated seconds and frames per second of ``swim.webp``."""

WIDE, LENGTH, SLOWEST = (1200, 360), 3.0, 12.5
"""Size of ``animals.webp`` in pixels, its duration (s) and frame rate (Hz)."""

LANES = (("trained", "a trained network", c.INK), ("baseline", "the paper's wave", c.GHOST))
"""Policies in ``swim.webp``, one per lane, with their label and its colour."""


def animals() -> list[Image.Image]:
    """Draw the frames of ``animals.webp``: the five animals with their own controllers, side by side."""
    canvas = Canvas(*WIDE)
    canvas.clear()
    frames = [Image.new("RGB", WIDE) for _ in range(round(LENGTH * SLOWEST))]
    for k, (name, tile) in enumerate(TILES.items()):
        film = film_of(f"gymnosoma/{name}", tile.policy, options=tile.options)
        view, left = film._actor.view, round(k * WIDE[0] / len(TILES))
        moments = [round((tile.start + tile.speed * n / SLOWEST) * view.task.control_rate) for n in range(len(frames))]
        for moment, _ in enumerate(film):
            if moment in moments:
                tile.frame(canvas, left / WIDE[0] * canvas.width, view.task, view.trails[0])
                image = Image.fromarray(canvas.array()).crop((left, 0, left + WIDE[0] // len(TILES), WIDE[1]))
                for n in (n for n, each in enumerate(moments) if each == moment):
                    frames[n].paste(image, (left, 0))
            if moment > moments[-1]:
                break
        film.close()
        canvas.clear()
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
            view.polyline([(0.0, view.low[1]), (0.0, view.high[1])], c.MUTED, 1.5)
            view.label("start", (0.0, view.low[1]), c.MUTED, 16, (0.5, 1.0), (0, -6), c.PLATE)
            view.polyline(track, c.FORE, 2.5)
            body(view, (task.animal.points(actor.trail.rows[-1:])[0] - start) @ along.T, False)
            info = task.hooks.info(actor.trail.rows[-1:], actor.trail.memory[-1:])
            canvas.label(name, (24, top + 30), colour, 25, back=c.PLATE)
            score = f"{info['priced_speed'][0] * 1e3:.2f} mm/s after the cost of its work"
            canvas.label(score, (canvas.width - 24, top + 30), colour, 25, (1.0, 0.5), back=c.PLATE)
            came = f"{1e3 * track[-1, 0]:z.1f} mm from the start in {actor.trail.rows['time'][-1]:.0f} s"
            canvas.label(came, (canvas.width - 24, top + 220), colour, 25, (1.0, 0.5), back=c.PLATE)
        frames.append(Image.fromarray(canvas.array()))
    return frames


def learning() -> list[Image.Image]:
    """Draw ``learning.webp``: the pictures of ``examples/start_learning.py`` for `LEARNED`, side by side."""
    with TemporaryDirectory() as folder:
        pictures = []
        for name, algorithm, steps in LEARNED:
            command = [sys.executable, ROOT / "examples" / "start_learning.py", name, algorithm, steps]
            subprocess.run(command, cwd=folder, check=True)
            pictures.append(Image.open(Path(folder) / "learning.png").convert("RGB"))
    whole = Image.new("RGB", (sum(each.width for each in pictures), pictures[0].height))
    for k, each in enumerate(pictures):
        whole.paste(each, (k * each.width, 0))
    return [whole]


LEARNED = (("WormSwim-v0", "PPO", "50000"), ("WhiskerHold-v0", "SAC", "6000"))
"""Id, algorithm and steps of the trainings in ``learning.webp``."""

PARTS = {
    "animals.webp": (animals, SLOWEST, {f"gymnosoma/{name}": [tile.policy] for name, tile in TILES.items()}),
    "swim.webp": (swim, RATE, {SWIM: [name for name, *_ in LANES]}),
    "learning.webp": (learning, 1.0, {f"gymnosoma/{name}": ["baseline"] for name, *_ in LEARNED}),
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
