"""PPO or SAC with their defaults, and the learning curve beside the animal's return.

``python examples/start_learning.py [ID] [PPO or SAC] [STEPS]`` writes ``learning.png`` and ``mine.zip``.
"""

import sys

import gymnasium
import matplotlib.pyplot as plt
import numpy as np
import stable_baselines3
import torch
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor

import gymnosoma  # noqa: F401 - registers the ids

MARKS, EPISODES = 8, 16

torch.set_num_threads(1)  # more threads slow down such small networks
env_id, algorithm, steps = (*sys.argv[1:], *("WormSwim-v0", "PPO", "50000")[len(sys.argv) - 1 :])
env, test_env = (Monitor(gymnasium.make(f"gymnosoma/{env_id}")) for _ in range(2))


class Animal:
    """Zero actions: the animal's own controller."""

    def predict(self, observations, **_):
        """Return zero actions."""
        return np.zeros((len(observations), *env.action_space.shape), np.float32), None


def mean_return(policy) -> float:
    """Return the mean return of the same episodes for each policy."""
    test_env.reset(seed=1)
    return evaluate_policy(policy, test_env, EPISODES)[0]


animal = mean_return(Animal())
model = getattr(stable_baselines3, algorithm)("MlpPolicy", env, seed=0, device="cpu")
done, returns = [0], [mean_return(model)]
print(f"{env_id}: return of the animal's own controller {animal:.4g}, of {algorithm} {returns[0]:.4g} at the start")
for _ in range(MARKS):
    model.learn(max(int(steps) // MARKS, 1), reset_num_timesteps=False)
    done.append(model.num_timesteps)
    returns.append(mean_return(model))
    print(f"after {done[-1]} steps {returns[-1]:.4g}", flush=True)

figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
axes.plot(done, returns, marker="o", label=f"{algorithm} with its defaults")
axes.axhline(animal, color="black", linestyle="--", label="the animal's own controller")
axes.set(xlabel="steps", ylabel="mean return", title=f"{env_id}, {EPISODES} episodes")
axes.legend()
figure.savefig("learning.png", dpi=150)
model.save("mine.zip")
