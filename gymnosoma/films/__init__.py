"""Films of trajectories and episodes, and a game to steer an animal."""

from __future__ import annotations

from pathlib import Path

from gymnosoma.envs.core.kinds import takes_objects
from gymnosoma.envs.core.model.trajectory import Trajectory

__all__ = ["film"]


@takes_objects
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
    """Save a simulated trajectory as a film or still image.

    Args:
        run: Trajectory with its animal and rows, from `simulate` or `Trajectory.load`.
        path: Output file: ``.mp4`` or ``.gif`` for a film, ``.png`` for the last frame.
        width, height: Size of a frame, in pixels, 64 to 4096.
        fps: Maximum frame rate, Hz. It is lower if fewer states were recorded.
        slow: Slow-motion factor; values below 1 speed up the film. Whiskers need a large factor.
        start, end: Part of the trajectory to show, s. By default, all of it.

    Returns:
        int: Number of frames.

    Raises:
        ValueError: If an argument is invalid, the file cannot be written, or the trajectory has no animal.
        ImportError: If the library for the film is not installed.

    Examples:
        >>> from gymnosoma.films import film
        >>> from gymnosoma.envs import simulate
        >>> from gymnosoma.envs.worm import SineKymogram, Worm
        >>> film(simulate(Worm(), SineKymogram(), 2.0, every=0.05), "worm.png")
        41
    """
    # Imported late, because most processes do not draw.
    from gymnosoma.agents.support.files import check_saved

    from .reel import FORMATS, Replay, play

    path = Path(path)
    check_saved("path", [[path]], FORMATS)
    return play(Replay(run, width, height, fps=fps, slow=slow, start=start, end=end), path.name, path, "path")
