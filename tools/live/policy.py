"""A trained policy for the page: its network, and what its observations and actions mean, as far as the page knows."""

from __future__ import annotations

import base64
from functools import cache
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from gymnosoma.agents.policies.card import load_policy, read_card
from gymnosoma.agents.policies.lookup import shipped
from gymnosoma.agents.policies.networks import NetworkAgent
from gymnosoma.envs.worm import Worm

ID = "gymnosoma/WormSwim-v0"

SENSED = ("joint_angle", "joint_rate", "action", "velocity", "direction")
"""Fields of the observation that ``docs/live/swim.js`` computes; the page has no policy that senses others."""

LIMIT = 10.0
"""Within which entries of an observation lie."""


@cache
def trained() -> tuple[Worm, dict[str, Any]]:
    """The worm of the task, and the shipped policy for JSON.

    Raises:
        ValueError: If there is none, or one that the page cannot play.
    """
    folder = shipped(ID)
    if not folder.is_dir():
        raise ValueError(f"no policy for {ID} comes with the package")
    card = read_card(folder)
    env: Any = gymnasium.make(ID, **card["env"]).unwrapped
    task = env.task
    size = [task.layout.size]
    unknown = [name for name in task.layout.fields if name not in SENSED]
    if unknown:
        raise ValueError(f"the policy for {ID} senses {', '.join(unknown)}, which the page does not know")
    if card["observation_space"]["shape"] != size or env.observation_space.high.max() != LIMIT:
        raise ValueError(f"the policy for {ID} was trained with other observations: {card['observation_space']}")
    if task.actions != "modes" or task.animal.scheme != "midpoint":
        raise ValueError(f"the page knows actions='modes' and scheme='midpoint', got {card['env']}")
    agent = load_policy(folder, gymnasium.make_vec(ID, 1, **card["env"]))
    if not isinstance(agent, NetworkAgent) or agent.squashed or agent.network.activation is not np.tanh:
        raise ValueError(f"the page knows networks of tanh by ppo or cma, got the policy of {card['algorithm']}")
    return task.animal, {
        "fields": [[name, field.size] for name, field in task.layout.fields.items()],
        "scale": task.layout.scale.tolist(),
        "limit": LIMIT,
        "control_rate": task.control_rate,
        "largest_angle": task.largest_angle,
        "fastest": task.fastest,
        "modes": task.modes.tolist(),
        "layers": [[list(w.shape), _text(w), _text(b)] for w, b in agent.network.layers],
        "id": ID,
    }


def _text(array: NDArray[np.float32]) -> str:
    return base64.b64encode(np.ascontiguousarray(array, "<f4").tobytes()).decode()
