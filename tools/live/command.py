"""Command ``live``."""

from __future__ import annotations

from pathlib import Path


def live(folder: Path = Path("live"), animal: tuple[str, ...] = ()) -> None:
    """Make pages on which the animals live, of the same kernels; they need no server and no network.

    Args:
        folder: Where scripts and pages are written.
        animal: Which; all that have a picture by default.
    """
    from gymnosoma.envs.core.arguments import choice

    from .build import policy_problem, shown, write

    for name in animal:
        choice("animal", name, shown())
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"folder must be a folder, or a place where there is nothing, got {str(folder)!r}")
    if (problem := policy_problem()) is not None:
        print(f"without the trained swimmer: {problem}")
    for name, size in write(folder, animal or None).items():
        print(f"{folder / name}: {size / 1000:.0f} kB")
