"""Behavioural cloning from a dataset of Minari: ``python examples/minari_cloning.py [EPISODES]``."""

import sys

import gymnasium
import minari
import numpy as np
import torch
from torch import nn

from gymnosoma.agents import load_policy
from gymnosoma.agents.policies.lookup import shipped

ID, NAME = "gymnosoma/WormSwim-v0", "gymnosoma/WormSwim-v0/trained-noise-v0"


def record(episodes: int) -> minari.MinariDataset:
    """Record the shipped policy, with noise of 0.1 on its actions."""
    agent = load_policy(shipped(ID), gymnasium.make_vec(ID, num_envs=1))
    env, rng = minari.DataCollector(gymnasium.make(ID)), np.random.default_rng(0)
    for seed in range(episodes):
        observation, _ = env.reset(seed=seed)
        first, over = True, False
        while not over:
            action = agent.act(observation[None], first=np.array([first]))[0] + 0.1 * rng.standard_normal(6)
            action = np.clip(action, -1.0, 1.0).astype(np.float32)
            observation, _, terminated, truncated, _ = env.step(action)
            first, over = False, terminated or truncated
    return env.create_dataset(NAME, algorithm_name="trained, with noise of 0.1")


dataset = record(int(sys.argv[1]) if len(sys.argv) > 1 else 32)
episodes = list(dataset.iterate_episodes())
observations = torch.as_tensor(np.concatenate([episode.observations[:-1] for episode in episodes]))
actions = torch.as_tensor(np.concatenate([episode.actions for episode in episodes]))

torch.set_num_threads(1)  # more threads slow down such small networks
torch.manual_seed(0)
network = nn.Sequential(
    nn.Linear(observations.shape[1], 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, actions.shape[1])
)
optimiser = torch.optim.Adam(network.parameters(), lr=2e-3)
for _ in range(20):
    for part in torch.randperm(len(observations)).split(256):
        loss = (network(observations[part]) - actions[part]).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

env = dataset.recover_environment()
returns = []
for seed in range(1000, 1004):
    observation, _ = env.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        with torch.no_grad():
            action = network(torch.as_tensor(observation)).clamp(-1.0, 1.0).numpy()
        observation, reward, terminated, truncated, _ = env.step(action)
        total, over = total + float(reward), terminated or truncated
    returns.append(total)
recorded = np.mean([episode.rewards.sum() for episode in episodes])
print(f"return {np.mean(returns):.2f}, of the dataset {recorded:.2f}")
