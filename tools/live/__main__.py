"""Make pages on which the animals live, in a checkout: ``python -m tools.live``."""

from __future__ import annotations

from pathlib import Path

import tyro

from .build import write
from .modules import ANIMALS


def live(folder: Path = Path("live"), animal: tuple[str, ...] = ()) -> None:
    """Make pages on which the animals live, by the same kernels; they need no server and no network.

    Args:
        folder: Where scripts and pages are written.
        animal: Names of animals; all by default.
    """
    if unknown := {*animal} - {*ANIMALS}:
        raise SystemExit(f"error: animal must be one of {', '.join(ANIMALS)}, got {', '.join(unknown)}")
    for name, size in write(folder, animal or ANIMALS).items():
        print(f"{folder / name}: {size / 1000:.0f} kB")


if __name__ == "__main__":
    tyro.cli(live)
