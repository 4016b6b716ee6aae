"""Learners included in the package, with one untuned configuration each for all environments.

PPO and SAC are those of stable-baselines3, and CMA-ES is that of the package ``cma``. They follow the protocol of
`benchmark.protocol` in the track ``fixed``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..learning.search import Evolution
from ..policies.card import WEIGHTS, check_size
from ..policies.networks import Network, NetworkAgent

LEARNERS = {"ppo": "stable_baselines3", "sac": "stable_baselines3", "cma": "cma"}
"""Library needed by each learner."""


class NetworkPolicy(NetworkAgent):
    """Network agent that can be saved."""

    def save(self, folder: Path) -> None:
        """Write the weights, with ``squashed`` as metadata."""
        from safetensors.numpy import save_file

        save_file(self.network.tensors(), folder / WEIGHTS, {"squashed": str(self.squashed)})


def load(folder: Path) -> NetworkPolicy:
    """Read a policy. Its file contains no executable code."""
    from safetensors import safe_open

    check_size(folder / WEIGHTS)
    with safe_open(folder / WEIGHTS, "np") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dictionary
        return NetworkPolicy(Network.from_tensors(tensors), (file.metadata() or {}).get("squashed") == "True")


def _learn(model: Any, steps: int, report: Callable[[Any], None], squashed: bool, every: int) -> None:
    """Learn until the budget is spent, with a report after every ``every`` steps and at the end."""
    from stable_baselines3.common.callbacks import BaseCallback

    from ..learning.sb3_env import network_of

    class Reporter(BaseCallback):
        due = every

        def _on_step(self) -> bool:
            if self.num_timesteps >= self.due:
                self.due += every
                report(NetworkPolicy(network_of(model.policy), squashed))
            return self.num_timesteps + model.n_envs <= steps

    model.learn(steps - model.n_envs, callback=Reporter())
    report(NetworkPolicy(network_of(model.policy), squashed))


def ppo(make_envs: Callable[..., Any], *, steps: int, seed: int, report: Callable[[Any], None], track: str) -> None:
    """Learn with PPO of stable-baselines3 (Schulman et al. 2017)."""
    from stable_baselines3 import PPO

    from ..learning.sb3_env import SB3VecEnv

    settings = dict(ppo.config)  # type: ignore[attr-defined]
    envs = SB3VecEnv(make_envs(settings.pop("num_envs")))
    policy = {"net_arch": settings.pop("net_arch"), "log_std_init": settings.pop("log_std_init")}
    model = PPO("MlpPolicy", envs, seed=seed, device="cpu", policy_kwargs=policy, **settings)
    _learn(model, steps, report, squashed=False, every=25_000)


ppo.config = {  # type: ignore[attr-defined]
    "num_envs": 64,
    "n_steps": 128,
    "batch_size": 1024,
    "n_epochs": 5,
    "learning_rate": 5e-4,
    "gamma": 0.99,
    "gae_lambda": 0.95,
    "clip_range": 0.2,
    "log_std_init": -1.0,
    "net_arch": [64, 64],
}


def sac(make_envs: Callable[..., Any], *, steps: int, seed: int, report: Callable[[Any], None], track: str) -> None:
    """Learn with SAC of stable-baselines3 (Haarnoja et al. 2018)."""
    import torch
    from stable_baselines3 import SAC

    from ..learning.sb3_env import SB3VecEnv

    settings = dict(sac.config)  # type: ignore[attr-defined]
    envs = SB3VecEnv(make_envs(settings.pop("num_envs")))
    quick = {"fused": True}  # fused Adam is faster, with different rounding
    policy = {"net_arch": settings.pop("net_arch"), "activation_fn": torch.nn.Tanh, "optimizer_kwargs": quick}
    model = SAC("MlpPolicy", envs, seed=seed, device="cpu", policy_kwargs=policy, **settings)
    _learn(model, steps, report, squashed=True, every=25_000)


sac.config = {  # type: ignore[attr-defined]
    "num_envs": 64,
    "batch_size": 256,
    "train_freq": 1,
    "gradient_steps": 4,
    "learning_rate": 3e-4,
    "buffer_size": 300_000,
    "learning_starts": 5_000,
    "net_arch": {"pi": [64, 64], "qf": [64, 64]},
}


def cma(make_envs: Callable[..., Any], *, steps: int, seed: int, report: Callable[[Any], None], track: str) -> None:
    """Learn a linear policy with CMA-ES (Hansen & Ostermeier 2001).

    All candidates of a generation play the same episodes.
    """
    settings = dict(cma.config)  # type: ignore[attr-defined]
    players, episodes = settings["population"], settings["episodes"]
    envs = make_envs(players * episodes)
    sizes = [envs.single_observation_space.shape[0], envs.single_action_space.shape[0]]
    start, rng = np.zeros(Network.length(sizes)), np.random.default_rng(seed)
    strategy = Evolution(start, settings["sigma"], rng, population=players, full=settings["full"])

    def policy(vectors: NDArray[np.float64]) -> NetworkPolicy:
        return NetworkPolicy(Network.from_vectors(vectors, sizes), squashed=True)

    generation = 0
    while True:  # ended by BudgetSpent
        vectors = strategy.ask()
        network, gained = policy(vectors).network, np.zeros(players * episodes)
        observations, _ = envs.reset(seed=[generation * episodes + k for k in range(episodes)] * players)
        running = np.ones(players * episodes, np.bool_)
        while running.any():
            actions = np.tanh(network(observations.reshape(players, episodes, -1))).reshape(players * episodes, -1)
            observations, rewards, terminated, truncated, _ = envs.step(actions)
            gained += np.where(running, rewards, 0.0)
            running &= ~(terminated | truncated)
        strategy.tell(gained.reshape(players, episodes).mean(1))
        generation += 1
        report(policy(strategy.favourite))


cma.config = {"population": 16, "episodes": 4, "sigma": 0.3, "full": 300}  # type: ignore[attr-defined]
