"""Behavioural cloning from a dataset: ``python examples/minari_cloning.py [DATASET]``.

Record a dataset with ``python train.py record WormSwim-v0 --policy baseline --noise 0.1 --episodes 32``.
"""

import sys

import minari
import numpy as np
import torch
from torch import nn

import gymnosoma  # noqa: F401 - registers the ids

dataset = minari.load_dataset(sys.argv[1] if len(sys.argv) > 1 else "gymnosoma/WormSwim-v0/baseline-noise-0_1-v0")
origin = dataset.storage.metadata["gymnosoma"]
print({key: origin[key] for key in ("policy", "noise", "versions")})
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
