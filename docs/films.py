"""Film and still image of each id for the website: ``python docs/films.py [ID ...]``, by default all ids.

Sphinx calls `make` when it builds the site. The files are named after the id and a digest of its policies and
sources, so that they are made again only after a change.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

import numpy as np
from imageio_ffmpeg import write_frames
from PIL import Image

from gymnosoma.agents.policies.fingerprints import files_digest, sources_digest, values_digest
from gymnosoma.agents.policies.lookup import find_policy, shipped
from gymnosoma.agents.policies.registry import all_ids, full_id, references_of
from gymnosoma.envs import CATALOGUE
from gymnosoma.envs.core.draw import canvas as c
from gymnosoma.films.reel import Film

FOLDER = Path(__file__).parent / "static" / "films"

SECONDS, RATE = 6.0, 25.0
"""Maximum duration, s, and frame rate, Hz, of a film."""

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
    """Write the first seconds of an episode as a film."""
    count = sum(1 for _ in film_of(env_id, *shown(env_id)))
    film = film_of(env_id, *shown(env_id))
    stride = max(1, round(film.fps / RATE))
    count = min(count, round(SECONDS * film.fps)) // stride
    rate = min(film.fps / stride, count / SHORTEST)
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
    modules = (f"gymnosoma.envs.{ANIMAL[env_id]}.{name}" for name in ("tasks", "picture"))
    policies = [find_policy(env_id, name).digest() for name in shown(env_id) if name]
    key = values_digest(policies, sources_digest(*modules), files_digest(Path(__file__)))
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


def main() -> None:
    """Make the films and stills of the ids on the command line, by default of all ids."""
    for files in make(map(full_id, sys.argv[1:]) if sys.argv[1:] else all_ids()).values():
        print(*(f"{path.name}: {path.stat().st_size // 1000} kB" for path in files), sep="; ")


if __name__ == "__main__":
    main()
