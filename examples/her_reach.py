"""SAC with hindsight replay (HER): a worm's head reaches a target. ``python examples/her_reach.py [STEPS] [SEED]``."""

import sys

import numpy as np
import torch
from stable_baselines3 import SAC, HerReplayBuffer
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor

from gymnosoma.agents.learning.sb3_env import make_sb3_env
from gymnosoma.envs.wrappers import make_vec

torch.set_num_threads(1)  # more threads slow down such small networks
steps = int(sys.argv[1]) if len(sys.argv) > 1 else 40_000
seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
ID, WORMS, PERIODS = "gymnosoma/WormReach-v0", 16, 150
env = {"wrappers": {"GoalObservation": {}}, "actions": "modes", "control_rate": 5.0, "max_episode_steps": PERIODS}


class TowardsTheGoal(BaseFeaturesExtractor):
    """Rotate the vector to the goal from fixed directions into the directions of the worm's head.

    A small network does not learn this product of its inputs. It must be computed here, because hindsight replay
    replaces the goals of episodes.
    """

    def __init__(self, space):
        """Add two numbers to the observation."""
        super().__init__(space, space["observation"].shape[0] + 2)

    def forward(self, observations):
        """Append the distance to the goal along and left of the head; the last two observations are ``facing``."""
        way, facing = observations["desired_goal"] - observations["achieved_goal"], observations["observation"][:, -2:]
        along = way[:, 0] * facing[:, 0] + way[:, 1] * facing[:, 1]
        left = way[:, 1] * facing[:, 0] - way[:, 0] * facing[:, 1]
        return torch.cat([observations["observation"], 4.0 * torch.stack([along, left], 1)], 1)


class EndingBuffer(HerReplayBuffer):
    """Replay buffer that ends an episode at a goal reached in hindsight, as at a true goal."""

    def _get_virtual_samples(self, *arguments, **more):
        samples = super()._get_virtual_samples(*arguments, **more)
        return samples._replace(dones=(samples.rewards == 0.0).float())


def reached(act):
    """Measure return and success in the first episode of each of 256 worms, with the task's own targets."""
    envs = make_vec(ID, 256, autoreset_mode="SameStep", **env)
    envs.action_space.seed(0)
    observations, _ = envs.reset(seed=10_000)
    returns, there = np.zeros(256), np.zeros(256, bool)
    for _ in range(PERIODS):
        observations, rewards, *_ = envs.step(act(envs, observations))
        returns += np.where(there, 0.0, rewards)
        there |= rewards == 0.0
    return f"return {returns.mean():.1f}, {there.mean():.1%} of 256 targets reached"


envs = make_sb3_env(ID, WORMS, **env, randomize={"target_distance": (0.3e-3, 4e-3)})  # include near targets
model = SAC(
    "MultiInputPolicy",
    envs,
    replay_buffer_class=EndingBuffer,
    policy_kwargs={"net_arch": [128, 128], "features_extractor_class": TowardsTheGoal},
    learning_starts=PERIODS * WORMS,  # one random episode per worm
    train_freq=8,
    gradient_steps=32,
    learning_rate=7e-4,
    ent_coef="auto_0.05",
    gamma=0.98,
    seed=seed,
    device="cpu",
)
print("chance:", reached(lambda envs, observations: envs.action_space.sample()))
print("before learning:", reached(lambda envs, observations: model.predict(observations)[0]))
for _ in range(max(1, steps // 4_000)):
    model.learn(min(steps, 4_000), reset_num_timesteps=False)
    success = np.mean(model.ep_success_buffer) if model.ep_success_buffer else 0.0
    print(f"{model.num_timesteps} steps: {success:.0%} of the last episodes reached", flush=True)
print("learned:", reached(lambda envs, observations: model.predict(observations, deterministic=True)[0]))
