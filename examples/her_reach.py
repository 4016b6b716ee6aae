"""SAC with hindsight (HER) is to bring a worm's head to a near target: ``python examples/her_reach.py [STEPS]``."""

import sys

import numpy as np
import torch
from stable_baselines3 import SAC, HerReplayBuffer

import gymnosoma  # noqa: F401 - registers the ids
from gymnosoma.agents.learning.sb3_env import make_sb3_env

torch.set_num_threads(1)  # of networks as small as these, more of them cost time
steps, WORMS = int(sys.argv[1]) if len(sys.argv) > 1 else 40_000, 16
env = {"goal": True, "actions": "modes", "control_rate": 5.0, "max_episode_steps": 60}
env["randomize"] = {"target_distance": (0.3e-3, 1e-3)}
envs = make_sb3_env("gymnosoma/WormReach-v0", WORMS, **env)
model = SAC(
    "MultiInputPolicy",
    envs,
    replay_buffer_class=HerReplayBuffer,
    replay_buffer_kwargs={"n_sampled_goal": 4, "goal_selection_strategy": "future"},
    policy_kwargs={"net_arch": [64, 64]},
    learning_starts=60 * WORMS,
    train_freq=8,
    gradient_steps=64,
    learning_rate=7e-4,
    ent_coef="auto_0.05",
    gamma=0.95,
    seed=0,
    device="cpu",
)
for _ in range(max(1, steps // 4_000)):
    model.learn(min(steps, 4_000), reset_num_timesteps=False)
    success = np.mean(model.ep_success_buffer) if model.ep_success_buffer else 0.0
    print(f"{model.num_timesteps} steps: {success:.0%} of the last episodes reached", flush=True)

test = make_sb3_env("gymnosoma/WormReach-v0", 64, **env)
test.action_space.seed(0)
for name in ("chance", "learned"):
    test.seed(10_000)
    seen, reached = test.reset(), np.zeros(64, bool)
    returns = np.zeros(64)
    for _ in range(60):
        chance = np.array([test.action_space.sample() for _ in range(64)])
        actions = chance if name == "chance" else model.predict(seen, deterministic=True)[0]
        seen, rewards, _, _ = test.step(actions)
        returns += np.where(reached, 0.0, rewards)  # of the first episode of each row
        reached |= rewards == 0.0
    print(f"{name}: return {returns.mean():.1f}, {reached.mean():.0%} of 64 targets reached")
