"""Command ``render``."""

from __future__ import annotations

import time
from typing import Any

from gymnosoma.agents.policies.registry import full_id

from .arguments import Arguments, Events, Id, Options, Outputs, Params, read_arguments, read_options, read_size


def render(
    env_id: Id,
    /,
    policy: str = "baseline",
    save: Outputs = (),
    seconds: float | None = None,
    seed: int = 0,
    ghost: str = "baseline",
    option: Options = (),
    event: Events = (),
    env: Arguments = (),
    param: Params = (),
    control_rate: float | None = None,
    size: str = "960x540",
) -> None:
    """Show one episode in a window, or save it as a film or a still.

    Ctrl-C ends it and keeps what was drawn.

    Args:
        policy: baseline (random where the task has none) or another reference of `list`, trained, random, a run folder.
        save: A film, .mp4 or .gif, or its last moment, .png; several may be given; a window by default.
        seconds: Of simulated time; the whole episode by default.
        seed: Of the episode.
        ghost: Another policy, drawn translucent beside it, or none.
        control_rate: In Hz, and so that of the frames, instead of the task's: what is quick is seen at a high one.
        size: Of a frame, in pixels.
    """
    from gymnosoma.agents.support.files import check_saved
    from gymnosoma.films.reel import FORMATS, show_episode

    width, height = read_size(size)
    arguments = read_arguments(env, param) | ({} if control_rate is None else {"control_rate": control_rate})
    files: list[Any] = [*check_saved("save", save, FORMATS)]
    for path in files or [None]:
        started = time.monotonic()
        moments = show_episode(
            full_id(env_id),
            policy,
            path,
            seconds,
            seed=seed,
            ghost=None if ghost == "none" else ghost,
            width=width,
            height=height,
            options=read_options(option, event),
            **arguments,
        )
        if path is not None:
            print(f"Wrote {path}: {moments} moments, {moments / (time.monotonic() - started):.0f} a second.")
