"""Command ``render``."""

from __future__ import annotations

import time
from pathlib import Path

from ..evaluation.policies import full_id
from .arguments import Events, Id, Options, Trust, read_options, read_size


def render(
    env_id: Id,
    /,
    policy: str = "baseline",
    save: Path | None = None,
    seconds: float | None = None,
    seed: int = 0,
    ghost: str = "baseline",
    option: Options = (),
    event: Events = (),
    control_rate: float | None = None,
    size: str = "960x540",
    trust: Trust = False,
) -> None:
    """Show one episode in a window, or save it as a film or a still.

    Ctrl-C ends it and keeps what was drawn.

    Args:
        policy: baseline (random where the task has none) or another reference of `list`, trained, random, a run folder,
            an SB3 zip (--trust).
        save: A film, .mp4 or .gif, or its last moment, .png; a window by default.
        seconds: Of simulated time; the whole episode by default.
        seed: Of the episode.
        ghost: Another policy, drawn translucent beside it, or none.
        control_rate: In Hz, and so that of the frames, instead of the task's: what is quick is seen at a high one.
        size: Of a frame, in pixels.
    """
    from ..showing.film import show_episode

    started = time.monotonic()
    width, height = read_size(size)
    played = show_episode(
        full_id(env_id),
        policy,
        save,
        seconds,
        seed=seed,
        ghost=None if ghost == "none" else ghost,
        width=width,
        height=height,
        trust=trust,
        options=read_options(option, event),
        control_rate=control_rate,
    )
    if save is not None:
        print(f"Wrote {save}: {played} moments, {played / (time.monotonic() - started):.0f} a second.")
