"""PPO of stable-baselines3 on 64 worms; saves ``mine.zip``: ``python examples/stable_baselines3_ppo.py [STEPS]``."""

import sys

import numpy as np
import torch
from stable_baselines3 import PPO

import gymnosoma  # noqa: F401 - registers the ids
from gymnosoma.agents.learning.sb3_env import make_sb3_env

torch.set_num_threads(1)  # more threads slow down such small networks
steps = int(sys.argv[1]) if len(sys.argv) > 1 else 400_000
envs = make_sb3_env("gymnosoma/WormSwim-v0", 64)
settings = {"n_steps": 128, "batch_size": 1024, "n_epochs": 5, "gamma": 0.99, "learning_rate": 5e-4}
network = {"net_arch": [64, 64], "log_std_init": -1.0}
model = PPO("MlpPolicy", envs, **settings, policy_kwargs=network, device="cpu", verbose=1)
model.learn(steps)
model.save("mine.zip")


def mean_return(policy) -> float:
    """Return the mean over one episode of each worm."""
    observations, totals, running = envs.reset(), np.zeros(envs.num_envs), np.ones(envs.num_envs, bool)
    while running.any():
        observations, rewards, dones, _ = envs.step(policy(observations))
        totals, running = totals + rewards * running, running & ~dones
    return totals.mean()


animal = np.zeros((envs.num_envs, *envs.action_space.shape), np.float32)  # zero actions play the animal's controller
print(f"return of the animal's own controller: {mean_return(lambda _: animal):.2f}")
print(f"return of PPO: {mean_return(lambda seen: model.predict(seen, deterministic=True)[0]):.2f}")
