"""Films of trajectories and episodes, and an animal to steer."""

from __future__ import annotations

from pathlib import Path

from gymnosoma.envs.core.model.trajectory import Trajectory

__all__ = ["film"]


def film(
    run: Trajectory,
    path: str | Path,
    width: int = 960,
    height: int = 540,
    fps: float = 50.0,
    slow: float = 1.0,
    start: float = 0.0,
    end: float | None = None,
) -> int:
    """Draw what `simulate` gave, with the pictures of the environments.

    Args:
        run: With its animal and rows, as `simulate` and `Trajectory.load` give it.
        path: ``.mp4`` or ``.gif`` for a film, ``.png`` for its last moment.
        width, height: In pixels, 64 to 4096.
        fps: Most frames a second; fewer where less was recorded.
        slow: How many times slower than life, which whiskers need; below 1 it is faster.
        start, end (s): Part of the trajectory; all by default.

    Returns:
        int: Moments drawn.

    Raises:
        ValueError: For an impossible argument, a file that cannot be written, or a trajectory without its animal.

    Examples:
        >>> from gymnosoma.films import film
        >>> from gymnosoma.envs import simulate
        >>> from gymnosoma.envs.worm import SineKymogram, Worm
        >>> film(simulate(Worm(), SineKymogram(), 2.0, every=0.05), "worm.png")
        41
    """
    from .reel import Replay, check_film, play  # what these need stays out of processes that draw nothing

    path = Path(path)
    check_film("path", path)
    return play(Replay(run, width, height, fps=fps, slow=slow, start=start, end=end), path.name, path, "path")
