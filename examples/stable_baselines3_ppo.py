"""PPO of stable-baselines3 on 64 worms; saves ``mine.zip``: ``python examples/stable_baselines3_ppo.py [STEPS]``."""

import sys

import torch
from stable_baselines3 import PPO

import gymnosoma  # noqa: F401 - registers the ids
from gymnosoma.agents.learning.sb3_env import make_sb3_env

torch.set_num_threads(1)  # more threads slow down such small networks
steps = int(sys.argv[1]) if len(sys.argv) > 1 else 400_000
envs = make_sb3_env("gymnosoma/WormSwim-v0", 64, actions="modes")
settings = {"n_steps": 128, "batch_size": 1024, "n_epochs": 5, "gamma": 0.995, "learning_rate": 5e-4}
model = PPO("MlpPolicy", envs, **settings, device="cpu", verbose=1)
model.learn(steps)
model.save("mine.zip")
returns = [episode["r"] for episode in model.ep_info_buffer]
print(f"return of the last {len(returns)} episodes: {sum(returns) / max(len(returns), 1):.2f}")
