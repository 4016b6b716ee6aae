"""Command ``play``."""

from __future__ import annotations

from ..evaluation.policies import full_id
from .arguments import Id, read_size


def play(env_id: Id, /, seed: int = 0, size: str = "960x540") -> None:
    """Steer the animal with the keyboard.

    Args:
        seed: Of the first episode.
        size: Of the window, in pixels.
    """
    from ..showing.game import Game

    game = Game(full_id(env_id), seed, *read_size(size))
    try:
        while game.running:
            game.turn()
    finally:
        game.close()
