"""Imitation of a reference controller before PPO: DAgger for the policy, then regression for the value function.

Ross, Gordon & Bagnell (2011), A reduction of imitation learning and structured prediction to no-regret online learning.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3 import PPO

from gymnosoma.envs.wrappers import make_vec

from ..policies.agent import reference_policy
from ..policies.registry import references_of
from ..support.progress import progress_bar
from .runs import drawn_seeds

ROUNDS = 12
"""Number of rounds of playing and fitting. In the first, the teacher plays; later, teacher and student alternate."""

STRETCH = 8
"""Mean number of steps until a new random choice between teacher and student in a row.

A student that plays whole episodes might stop at a point where a teacher driven by time continues.
"""

EPISODES = 32
"""Number of parallel episodes in a round."""

EPOCHS, BATCH, RATE = 4, 1024, 1e-3
"""Epochs, batch size and learning rate of Adam when it fits the network to all data collected."""


def imitate(model: PPO, env_id: str, teacher: str, env: dict[str, Any], seed: int) -> None:
    """Fit the network of a new model to the actions and returns of a reference, the teacher.

    The model is changed in place, except for its exploration noise.

    Raises:
        ValueError: If the reference reads a field that the environment does not observe.
    """
    envs: Any = make_vec(env_id, EPISODES, autoreset_mode="SameStep", **env)
    agent = reference_policy(teacher, references_of(env_id)[teacher]).make(envs, 0)
    policy: Any = model.policy
    optimizer = torch.optim.Adam(policy.parameters(), RATE)
    generator, rng = torch.Generator().manual_seed(seed), np.random.default_rng(seed)
    frames: list[NDArray[np.float32]] = []
    targets: list[NDArray[np.float32]] = []
    steps = envs.spec.max_episode_steps
    with progress_bar(total=ROUNDS + 1, unit="round", desc=f"imitates {teacher}", leave=False) as bar:
        for k in range(ROUNDS):
            observations, _ = envs.reset(seed=drawn_seeds(seed, 1 + k, EPISODES))
            first = np.ones(EPISODES, np.bool_)
            alone = np.zeros((EPISODES, 1), np.bool_)
            for _ in range(steps):
                target = agent.act(observations, first)
                frames.append(observations)
                targets.append(target)
                actions = target if k == 0 else np.where(alone, _means(policy, observations), target)
                draws = rng.random((2, EPISODES, 1))
                alone = np.where(draws[0] < 1.0 / STRETCH, draws[1] < 0.5, alone)
                observations, _, terminated, truncated, _ = envs.step(actions)
                first = terminated | truncated
            error = _fit(policy, optimizer, generator, np.concatenate(frames), np.concatenate(targets), _miss)
            bar.set_postfix_str(f"rms error {np.sqrt(error):.3f}", refresh=False)
            bar.update()
        places, worth = _returns(envs, policy, model.gamma, drawn_seeds(seed, 1 + ROUNDS, EPISODES))
        _fit(policy, optimizer, generator, places, worth, _misjudge)
        bar.update()
    envs.close()


def _means(policy: Any, observations: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the actions of the network without exploration."""
    return policy.predict(observations, deterministic=True)[0]


def _miss(policy: Any, observations: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return torch.mean((policy.get_distribution(observations).mode() - target) ** 2)


def _misjudge(policy: Any, observations: torch.Tensor, worth: torch.Tensor) -> torch.Tensor:
    return torch.mean((policy.predict_values(observations)[:, 0] - worth) ** 2)


def _fit(
    policy: Any,
    optimizer: torch.optim.Optimizer,
    generator: torch.Generator,
    inputs: NDArray[np.float32],
    outputs: NDArray[np.float32],
    loss: Any,
) -> float:
    """Fit a network to outputs (K, ...) for inputs (K, d), and return the mean loss of the last epoch."""
    places, target = torch.from_numpy(inputs), torch.from_numpy(outputs)
    losses: list[float] = []
    for _ in range(EPOCHS):
        losses.clear()
        for part in torch.randperm(len(places), generator=generator).split(BATCH):
            value = loss(policy, places[part], target[part])
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
            losses.append(value.item())
    return float(np.mean(losses))


def _returns(envs: Any, policy: Any, gamma: float, seeds: list[int]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Play one episode per row with the network; return observations (K, d) and discounted returns (K,)."""
    observations, _ = envs.reset(seed=seeds)
    count = len(observations)
    running = np.ones(count, np.bool_)
    frames, alive, rewards = [], [], []
    while running.any():
        frames.append(observations)
        alive.append(running.copy())
        observations, reward, terminated, truncated, _ = envs.step(_means(policy, observations))
        rewards.append(np.where(running, reward, 0.0))
        running &= ~(terminated | truncated)
    worth = np.zeros((len(frames), count))
    ahead = np.zeros(count)
    for k in reversed(range(len(frames))):
        ahead = worth[k] = rewards[k] + gamma * ahead
    mask = np.stack(alive)
    return np.stack(frames)[mask], worth[mask].astype(np.float32)
