"""PPO in a single file on the native vector environment: ``python examples/single_file_ppo.py [STEPS]``.

In the style of CleanRL; it uses only the id of gymnosoma. Truncated episodes are bootstrapped with the value of their
last observation, which the autoreset mode SAME_STEP puts into ``infos["final_obs"]``. The policy is saved as
``actor.pt``.
"""

import sys

import gymnasium
import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from torch import nn

import gymnosoma  # noqa: F401 - registers the ids

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 400_000
ENVS, HORIZON, EPOCHS, BATCHES = 64, 128, 5, 8
GAMMA, LAMBDA, CLIP, LEARNING_RATE = 0.995, 0.95, 0.2, 1e-3

torch.set_num_threads(1)  # more threads slow down such small networks
torch.manual_seed(0)
envs = gymnasium.make_vec(
    "gymnosoma/WormSwim-v0", num_envs=ENVS, actions="modes", autoreset_mode=AutoresetMode.SAME_STEP
)
observation_size, action_size = envs.single_observation_space.shape[0], envs.single_action_space.shape[0]


def network(outputs: int) -> nn.Module:
    """Make a network with two hidden layers of 64."""
    return nn.Sequential(
        nn.Linear(observation_size, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs)
    )


actor, critic = network(action_size), network(1)
for layer in [*actor, *critic]:
    if isinstance(layer, nn.Linear):
        nn.init.orthogonal_(layer.weight, 2**0.5 if layer.out_features == 64 else 0.01)
        nn.init.zeros_(layer.bias)
log_std = nn.Parameter(torch.full((action_size,), -2.0))
weights = [*actor.parameters(), *critic.parameters(), log_std]
optimiser = torch.optim.Adam(weights, lr=LEARNING_RATE)

observation, _ = envs.reset(seed=0)
playing, finished = np.zeros(ENVS), []
for update in range(max(1, STEPS // (ENVS * HORIZON))):
    observations = torch.zeros(HORIZON, ENVS, observation_size)
    actions, chances = torch.zeros(HORIZON, ENVS, action_size), torch.zeros(HORIZON, ENVS)
    rewards, values, ends = (torch.zeros(HORIZON, ENVS) for _ in range(3))
    for k in range(HORIZON):
        observations[k] = torch.as_tensor(observation)
        with torch.no_grad():
            policy = torch.distributions.Normal(actor(observations[k]), log_std.exp())
            actions[k] = policy.sample()
            chances[k] = policy.log_prob(actions[k]).sum(-1)
            values[k] = critic(observations[k])[:, 0]
        observation, reward, terminated, truncated, infos = envs.step(actions[k].clamp(-1, 1).numpy())
        playing += reward
        rewards[k] = torch.as_tensor(reward, dtype=torch.float32)
        over = terminated | truncated
        ends[k] = torch.as_tensor(over, dtype=torch.float32)
        for i in np.flatnonzero(over):
            if truncated[i] and not terminated[i]:
                with torch.no_grad():
                    rewards[k, i] += GAMMA * critic(torch.as_tensor(infos["final_obs"][i]))[0]
            finished.append(playing[i])
            playing[i] = 0.0
    with torch.no_grad():
        after = critic(torch.as_tensor(observation))[:, 0]
    advantages, running = torch.zeros(HORIZON, ENVS), torch.zeros(ENVS)
    for k in reversed(range(HORIZON)):
        running = rewards[k] + GAMMA * after * (1 - ends[k]) - values[k] + GAMMA * LAMBDA * (1 - ends[k]) * running
        advantages[k], after = running, values[k]
    goals = (advantages + values).flatten()
    flat = observations.flatten(0, 1), actions.flatten(0, 1), chances.flatten(), advantages.flatten()
    for _ in range(EPOCHS):
        for part in torch.randperm(ENVS * HORIZON).chunk(BATCHES):
            was, did, chance, advantage = (values_of[part] for values_of in flat)
            policy = torch.distributions.Normal(actor(was), log_std.exp())
            ratio = (policy.log_prob(did).sum(-1) - chance).exp()
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
            gain = torch.min(ratio * advantage, ratio.clamp(1 - CLIP, 1 + CLIP) * advantage).mean()
            loss = 0.5 * (critic(was)[:, 0] - goals[part]).square().mean() - gain
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(weights, 0.5)
            optimiser.step()
    score = f"return {np.mean(finished[-100:]):.2f}" if finished else "no return before an episode ends"
    print(f"{(update + 1) * ENVS * HORIZON} steps, {score}")
torch.save(actor, "actor.pt")
