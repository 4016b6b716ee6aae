"""Makes the site's films: ``python docs/films.py [ID ...]``; those that are there already are kept."""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

from gymnosoma.agents.evaluation.policies import all_ids, full_id, references_of, shipped
from gymnosoma.agents.showing.film import show_episode

FOLDER = Path(__file__).parent / "static" / "films"

LARGEST = 300_000
"""Bytes of a film; one that is larger is made again, shorter."""

LONGEST = 10.0
"""Simulated seconds of a film."""


def make(env_id: str, policy: str) -> None:
    """Make the film of a policy, with the animal's own controller as a ghost."""
    path = FOLDER / f"{env_id.split('/')[1]}-{policy}.mp4"
    seconds = LONGEST
    while not path.is_file():
        show_episode(env_id, policy, path, seconds, width=480, height=270)
        size = path.stat().st_size
        if size > LARGEST:
            path.unlink()
            seconds *= 0.9 * LARGEST / size
    print(f"{path.name}: {path.stat().st_size // 1000} kB")


def main() -> None:
    """Make the films of the ids that are named, or of all."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for env_id in map(full_id, sys.argv[1:]) if sys.argv[1:] else all_ids():
        if references_of(env_id):
            make(env_id, "baseline")
        if shipped(env_id).is_dir():
            make(env_id, "trained")


if __name__ == "__main__":
    main()
