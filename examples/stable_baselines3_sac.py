"""SAC of stable-baselines3 with its default settings: ``python examples/stable_baselines3_sac.py [STEPS]``."""

import sys

import numpy as np
import torch
from stable_baselines3 import SAC
from stable_baselines3.common.evaluation import evaluate_policy

from gymnosoma.agents.learning.sb3_env import make_sb3_env

torch.set_num_threads(1)  # more threads slow down such small networks
steps = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
envs = make_sb3_env("gymnosoma/WhiskerHold-v0", 16)
model = SAC("MlpPolicy", envs, seed=0, device="cpu", verbose=1)
model.learn(steps)


class Animal:
    """Zero actions, which play the animal's own controller."""

    def predict(self, observations, *arguments, **more):
        """Return actions and no state."""
        return np.zeros((len(observations), *envs.action_space.shape), np.float32), None


for name, policy in {"the animal's own controller": Animal(), "SAC": model}.items():
    mean, deviation = evaluate_policy(policy, envs, n_eval_episodes=16)
    print(f"return of {name}: {mean:.2f}, standard deviation {deviation:.2f}")
