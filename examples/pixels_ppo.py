"""PPO of stable-baselines3 on pixel observations of 16 worms: ``python examples/pixels_ppo.py [STEPS]``."""

import sys
import time

import torch
from stable_baselines3 import PPO

import gymnosoma  # noqa: F401 - registers the ids
from gymnosoma.agents.learning.sb3_env import make_sb3_env

torch.set_num_threads(1)
steps = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
env = {"actions": "modes", "history": 3, "max_episode_steps": 50, "wrappers": {"PixelObservation": {}}}
envs = make_sb3_env("gymnosoma/WormSwim-v0", 16, **env)

envs.reset()
began = time.process_time()
for _ in range(10):
    envs.step([envs.action_space.sample() for _ in range(16)])
print(f"{160 / (time.process_time() - began):.0f} pictures a second")

model = PPO("CnnPolicy", envs, n_steps=32, batch_size=256, n_epochs=4, gamma=0.98, learning_rate=5e-4, device="cpu")
model.learn(steps)
print(
    f"return of the last episodes: {sum(e['r'] for e in model.ep_info_buffer) / max(len(model.ep_info_buffer), 1):.2f}"
)
