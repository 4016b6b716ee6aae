"""A trained policy for the page: its network, and what its observations and actions mean, as far as the page knows."""

from __future__ import annotations

import base64
from functools import cache
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from gymnosoma.agents.evaluation.policies import shipped
from gymnosoma.agents.learning.policy_file import WEIGHTS, read_card
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
    return task.animal, {
        "fields": [[name, field.size] for name, field in task.layout.fields.items()],
        "scale": task.layout.scale.tolist(),
        "limit": LIMIT,
        "control_rate": task.control_rate,
        "largest_angle": task.largest_angle,
        "fastest": task.fastest,
        "modes": task.modes.tolist(),
        "layers": [[list(w.shape), _text(w), _text(b)] for w, b in _layers(card)],
        "id": ID,
    }


def _text(array: NDArray[np.float32]) -> str:
    return base64.b64encode(np.ascontiguousarray(array, "<f4").tobytes()).decode()


def _layers(card: dict[str, Any]) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """Weights and biases of the network that acts, first to last; tanh stands between them.

    Raises:
        ValueError: If it is another network.
    """
    from safetensors.numpy import load_file

    if "network" not in card or card["network"]["activation"] != "Tanh" or card["algorithm"] not in ("ppo", "cma"):
        raise ValueError(f"the page knows networks of tanh by ppo or cma, got the policy of {card['algorithm']}")
    tensors = load_file(shipped(ID) / WEIGHTS)
    start = "mlp_extractor.policy_net." if card["algorithm"] == "ppo" else "layers."
    names = sorted((name for name in tensors if name.startswith(start)), key=lambda name: int(name.split(".")[-2]))
    layers = list(dict.fromkeys(name.rpartition(".")[0] for name in names))
    layers += ["action_net"] if card["algorithm"] == "ppo" else []
    return [(tensors[f"{name}.weight"], tensors[f"{name}.bias"]) for name in layers]
