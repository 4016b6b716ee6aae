"""Ids that the batteries run on: all of the catalogue, and those of tasks that somebody else has added.

Where a battery is long, it runs on one id of each animal by default and on the others in the full suite.
"""

import gymnasium
import pytest

from gymnosoma.envs import CATALOGUE, register

register("gymnosoma/WormTurn-v0", "fixtures.worm_turn:Turn", 300)
register("gymnosoma/PendulumUp-v0", "fixtures.pendulum.tasks:Up", 200)

ADDED = ["gymnosoma/WormTurn-v0", "gymnosoma/PendulumUp-v0"]
ALL = [*(f"gymnosoma/{entry.name}" for entry in CATALOGUE), *ADDED]


def module(env_id):
    """Module of an id's task."""
    return gymnasium.spec(env_id).kwargs["task"].partition(":")[0]


FIRST = list({module(env_id).rpartition(".")[0]: env_id for env_id in reversed(ALL)}.values())[::-1]
"""One id of each animal, the last of which are added ones."""

IDS = [pytest.param(env_id, marks=() if env_id in FIRST else pytest.mark.full) for env_id in ALL]
"""All ids, of which the full suite takes those that are not the first of their animal."""
