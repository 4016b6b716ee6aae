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
    """Show an episode in a window, or save it as a film or still image.

    Ctrl-C ends the episode and keeps the frames drawn until then.

    Args:
        policy: A reference controller (see `list`), trained, random, a run folder, or module:function. If the task has
            no references, baseline means random. A reference plays in the conditions of its paper (--env split=paper),
            unless --env sets another split.
        save: Output files: a film (.mp4, .gif) or the last frame (.png). Without it, the episode is shown in a window.
        seconds: Simulated time. By default, the whole episode.
        seed: Seed of the episode.
        ghost: Second policy, drawn as a translucent overlay; none to disable.
        control_rate: Control rate and frame rate in Hz. By default, the task's. A high rate shows fast movements.
        size: Size of a frame, in pixels.
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
            print(f"Wrote {path}: {moments} time steps, drawn in {time.monotonic() - started:.0f} s.")
