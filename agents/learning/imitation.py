"""Imitates an animal's own controller before PPO begins: DAgger for the actions, then returns for the value function.

Ross, Gordon & Bagnell (2011), A reduction of imitation learning and structured prediction to no-regret online learning.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3 import PPO

from ..policies.agent import reference_policy
from ..policies.registry import references_of
from ..support.progress import progress_bar
from .runs import drawn_seeds

ROUNDS = 12
"""Rounds of playing and fitting. The teacher plays the first; in the others each row changes hands now and then."""

STRETCH = 8
"""Steps, on average, until it is drawn anew whether teacher or student plays a row.

A student that played whole episodes might come to rest where a teacher that goes by time does all things in turn.
"""

EPISODES = 32
"""Episodes that are played side by side in a round."""

EPOCHS, BATCH, RATE = 4, 1024, 1e-3
"""Epochs, batch size and learning rate with which Adam fits the network to everything seen so far."""


def imitate(model: PPO, env_id: str, teacher: str, env: dict[str, Any], seed: int) -> None:
    """Fit the network of a model that has learned nothing to what a reference, the teacher, does and gets.

    The model is changed in place; what it draws to explore stays as it is. ``env`` holds the arguments of the
    environment that it learns in.

    Raises:
        ValueError: If the reference reads what the environment does not show.
    """
    envs: Any = gymnasium.make_vec(env_id, EPISODES, autoreset_mode="SameStep", **env)
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
    """Actions of the network without exploration."""
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
    """Fit a network to outputs (K, ...) of inputs (K, d); mean loss of the last epoch."""
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
    """Observations (K, d) of an episode in each row, and what the network got from there on, discounted (K,)."""
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
