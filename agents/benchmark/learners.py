"""Learners included in the package, with one configuration each for all environments.

PPO and SAC are those of stable-baselines3, and CMA-ES is that of the package ``cma``. They follow the protocol of
`benchmark.protocol` in the track ``fixed``. At a mark, they report the policy that they have after the last step that
does not exceed it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.core.arguments import choice

from ..learning.search import Evolution
from ..policies.card import WEIGHTS, check_size, read_weights
from ..policies.evaluation import rollout
from ..policies.networks import ACTIVATIONS, Network, NetworkAgent


class NetworkPolicy(NetworkAgent):
    """Network agent that can be saved."""

    def save(self, folder: Path) -> None:
        """Write the weights, with ``squashed`` and the activation as metadata."""
        from safetensors.numpy import save_file

        metadata = {"squashed": str(self.squashed), "activation": self.network.activation}
        save_file(self.network.tensors(), folder / WEIGHTS, metadata)


def load(folder: Path) -> NetworkPolicy:
    """Read a policy. Its file contains no executable code.

    Raises:
        ValueError: If the tensors are not those of a network; the message names a tensor with its shape.
    """
    from safetensors import safe_open

    path = folder / WEIGHTS
    check_size(path)
    with safe_open(path, "np") as file:
        shapes = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
        metadata = file.metadata() or {}
    activation = metadata.get("activation", "Tanh")
    choice("activation", activation, ACTIVATIONS)
    biases = [shapes.get(f"layers.{k}.bias", ()) for k in range(max(1, len(shapes) // 2))]
    inputs = shapes.get("layers.0.weight", ())[-1:]
    sizes = [each[0] if each else 1 for each in (inputs, *biases)]
    tensors = read_weights(path, Network.shapes(sizes))
    return NetworkPolicy(Network.from_tensors(tensors, activation), metadata.get("squashed") == "True")


def _reinforce(
    algorithm: str,
    config: Mapping[str, Any],
    make_envs: Callable[..., Any],
    steps: int,
    seed: int,
    report: Callable[[Any], None],
) -> None:
    """Learn with PPO or SAC of stable-baselines3; a setting that ``config`` leaves out has the library's default."""
    from torch import nn

    from ..learning.reinforcement import make_model
    from ..learning.sb3_env import SB3VecEnv, network_of

    settings, squashed = dict(config), algorithm == "sac"
    if "activation_fn" in settings:
        settings["activation_fn"] = getattr(nn, settings["activation_fn"])
    envs = make_envs(settings.pop("num_envs"))
    model: Any = make_model(algorithm, SB3VecEnv(envs), seed, settings)
    envs.budget.at_mark(lambda: report(NetworkPolicy(network_of(model.policy), squashed)))
    model.learn(steps + 1)  # ended by BudgetSpent


def _evolve(
    algorithm: str,
    config: Mapping[str, Any],
    make_envs: Callable[..., Any],
    steps: int,
    seed: int,
    report: Callable[[Any], None],
) -> None:
    """Learn a linear policy with CMA-ES; all candidates of a generation play the same episodes."""
    players, episodes = config["population"], config["episodes"]
    envs = make_envs(players * episodes)
    sizes = [envs.single_observation_space.shape[0], envs.single_action_space.shape[0]]
    start, rng = np.zeros(Network.length(sizes)), np.random.default_rng(seed)
    evolution = Evolution(start, config["sigma"], rng, population=players, full=config["full"])

    def policy(vectors: NDArray[np.float64]) -> NetworkPolicy:
        return NetworkPolicy(Network.from_vectors(vectors, sizes), squashed=True)

    envs.budget.at_mark(lambda: report(policy(evolution.favourite)))
    while True:  # ended by BudgetSpent
        first = len(evolution.history) * episodes
        played = rollout(envs, policy(evolution.ask()), seed=[*range(first, first + episodes)] * players)
        evolution.tell(played.returns.reshape(players, episodes).mean(1))


@dataclass(frozen=True)
class Learner:
    """Algorithm of the package as a learner of the benchmark, with one configuration for all environments.

    Args:
        algorithm: One of `ALGORITHMS`.
        learn: Function that learns.
        config: Settings.
        version: Number to increase when a change of the code changes the results.
    """

    algorithm: str
    learn: Callable[..., None]
    config: Mapping[str, Any]
    version: int = 1

    def __call__(
        self, make_envs: Callable[..., Any], *, steps: int, seed: int, report: Callable[[Any], None], track: str
    ) -> None:
        """Learn until the budget is spent."""
        self.learn(self.algorithm, self.config, make_envs, steps, seed, report)


DEFAULT = {"num_envs": 1}
"""All else is the library's default: ``PPO("MlpPolicy", env)`` and ``SAC("MlpPolicy", env)`` of stable-baselines3."""

PPO: dict[str, Any] = {
    "num_envs": 64,
    "n_steps": 128,
    "batch_size": 1024,
    "n_epochs": 5,
    "learning_rate": 5e-4,
    "gamma": 0.99,
}
PPO |= {"gae_lambda": 0.95, "clip_range": 0.2, "log_std_init": -1.0, "net_arch": [64, 64]}
SAC: dict[str, Any] = {"num_envs": 64, "batch_size": 256, "train_freq": 1, "gradient_steps": 4, "learning_rate": 3e-4}
SAC |= {"buffer_size": 300_000, "learning_starts": 5_000, "net_arch": {"pi": [64, 64], "qf": [64, 64]}}
SAC |= {"activation_fn": "Tanh", "optimizer_kwargs": {"fused": True}}  # faster, with different rounding
CMA = {"population": 16, "episodes": 4, "sigma": 0.3, "full": 300}

LEARNERS = {
    "ppo_default": Learner("ppo", _reinforce, DEFAULT),  # Schulman et al. 2017
    "sac_default": Learner("sac", _reinforce, DEFAULT),  # Haarnoja et al. 2018
    "ppo_64_envs": Learner("ppo", _reinforce, PPO, version=2),
    "sac_64_envs": Learner("sac", _reinforce, SAC, version=2),
    "cma": Learner("cma", _evolve, CMA, version=2),  # Hansen & Ostermeier 2001
}
