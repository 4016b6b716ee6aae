"""Make the films of the website: ``python docs/films.py [ID ...]``. Existing films are not replaced."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

from imageio_ffmpeg import count_frames_and_secs, get_ffmpeg_exe

from gymnosoma.agents.policies.lookup import shipped
from gymnosoma.agents.policies.registry import all_ids, full_id, references_of
from gymnosoma.films.reel import show_episode

FOLDER = Path(__file__).parent / "static" / "films"

LARGEST = 300_000
"""Maximum size of a film in bytes; larger films are shortened."""

LONGEST = 10.0
"""Maximum duration of a film in simulated seconds."""

SHORTEST = 2.0
"""Minimum duration of a film in seconds, before a pause of one second; shorter episodes are slowed down."""


def make(env_id: str, policy: str) -> None:
    """Make the film of a policy, with the animal's own controller in grey."""
    path = FOLDER / f"{env_id.split('/')[1]}-{policy}.mp4"
    if not path.is_file():
        with TemporaryDirectory() as folder:
            large, small = Path(folder) / "large.mp4", Path(folder) / "small.mp4"
            show_episode(env_id, policy, large, LONGEST, width=640, height=360)
            _, seconds = count_frames_and_secs(str(large))
            slower = max(1.0, SHORTEST / seconds)
            filters = ["-vf", f"setpts={slower}*PTS,tpad=stop_mode=clone:stop_duration=1", "-r", "25"]
            while True:
                command = [get_ffmpeg_exe(), "-v", "error", "-y", "-t", f"{seconds:.2f}", "-i", large, *filters]
                subprocess.run([*command, "-preset", "slow", "-crf", "28", small], check=True)
                if (size := small.stat().st_size) <= LARGEST:
                    break
                seconds *= 0.9 * LARGEST / size
            shutil.move(small, path)
    print(f"{path.name}: {path.stat().st_size // 1000} kB")


def main() -> None:
    """Make the films of the ids on the command line, by default of all ids."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for env_id in map(full_id, sys.argv[1:]) if sys.argv[1:] else all_ids():
        if references_of(env_id):
            make(env_id, "baseline")
        if shipped(env_id).is_dir():
            make(env_id, "trained")


if __name__ == "__main__":
    main()
