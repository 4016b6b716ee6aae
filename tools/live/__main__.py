"""Command line for pages with interactive animals, for use in a clone: ``python -m tools.live``."""

from __future__ import annotations

from pathlib import Path

import tyro

from .build import write
from .modules import ANIMALS


def live(folder: Path = Path("live"), animal: tuple[str, ...] = ()) -> None:
    """Write pages with interactive animals that run the same kernels as in Python, without a server or network.

    Args:
        folder: Output folder.
        animal: Names of the animals; all by default.
    """
    if unknown := {*animal} - {*ANIMALS}:
        raise SystemExit(f"error: animal must be one of {', '.join(ANIMALS)}, got {', '.join(unknown)}")
    for name, size in write(folder, animal or ANIMALS).items():
        print(f"{folder / name}: {size / 1000:.0f} kB")


if __name__ == "__main__":
    tyro.cli(live)
