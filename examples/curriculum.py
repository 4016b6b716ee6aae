"""Curriculum of increasing target distances for the worm: ``python examples/curriculum.py [ROUNDS]``."""

import sys

import numpy as np
import torch
from stable_baselines3 import PPO

import gymnosoma  # noqa: F401 - registers the ids
from gymnosoma.agents.learning.sb3_env import make_sb3_env

torch.set_num_threads(1)  # more threads slow down such small networks
farthest = 0.4e-3
envs = make_sb3_env("gymnosoma/WormReach-v0", 64, actions="modes", randomize={"target_distance": (0.2e-3, farthest)})
model = PPO("MlpPolicy", envs, n_steps=128, batch_size=1024, n_epochs=5, gamma=0.995, learning_rate=5e-4, seed=0)
for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 40):
    model.learn(2 * 128 * 64, reset_num_timesteps=False)
    success = np.mean(model.ep_success_buffer) if model.ep_success_buffer else 0.0
    print(f"targets up to {1e3 * farthest:.2f} mm: {success:.0%} reached, return {model.ep_info_buffer[-1]['r']:.2f}")
    if success > 0.7:  # in the last hundred episodes
        farthest = min(1.25 * farthest, 4e-3)
        envs.env_method("set_randomize", {"target_distance": (0.2e-3, farthest)})
        model.ep_success_buffer.clear()
