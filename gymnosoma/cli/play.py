"""Command ``play``."""

from __future__ import annotations

from gymnosoma.agents.policies.registry import full_id

from .arguments import Arguments, Events, Id, Options, Params, read_arguments, read_options, read_size


def play(
    env_id: Id,
    /,
    seed: int = 0,
    option: Options = (),
    event: Events = (),
    env: Arguments = (),
    param: Params = (),
    size: str = "960x540",
) -> None:
    """Steer an animal with the keyboard.

    Args:
        seed: Seed of the first episode.
        size: Size of the window, in pixels.
    """
    from gymnosoma.films.game import Game

    options, arguments = read_options(option, event), read_arguments(env, param)
    game = Game(full_id(env_id), seed, *read_size(size), options, **arguments)
    try:
        while game.running:
            game.turn()
    finally:
        game.close()
