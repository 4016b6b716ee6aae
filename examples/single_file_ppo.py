"""PPO in a single file on the native vector environment: ``python examples/single_file_ppo.py [ID] [STEPS]``.

In the style of CleanRL, with the settings of its ``ppo_continuous_action.py``, but 8 environments of 256 steps instead
of one of 2048, and without its wrappers, because observations and rewards have a scale of 1. Truncated episodes are
bootstrapped with the value of their last observation, which the autoreset mode SAME_STEP puts into
``infos["final_obs"]``. At the end, the policy plays 32 episodes beside the animal's own controller, which is what zero
actions are. It is saved as ``actor.pt``.
"""

import sys

import gymnasium
import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from torch import nn

import gymnosoma  # noqa: F401 - registers the ids

ENV_ID = sys.argv[1] if len(sys.argv) > 1 else "WormSwim-v0"
STEPS = int(sys.argv[2]) if len(sys.argv) > 2 else 300_000
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 0
ENVS, HORIZON, EPOCHS, BATCHES = 8, 256, 10, 32
GAMMA, LAMBDA, CLIP, LEARNING_RATE = 0.99, 0.95, 0.2, 3e-4
UPDATES = max(1, STEPS // (ENVS * HORIZON))

torch.set_num_threads(1)  # more threads slow down such small networks
torch.manual_seed(SEED)
envs = gymnasium.make_vec(f"gymnosoma/{ENV_ID}", num_envs=ENVS, autoreset_mode=AutoresetMode.SAME_STEP)
observation_size, action_size = envs.single_observation_space.shape[0], envs.single_action_space.shape[0]


def network(outputs: int, scale: float) -> nn.Module:
    """Make a network with two hidden layers of 64 and last weights of this scale."""
    layers = []
    for inputs, size, gain in ((observation_size, 64, 2**0.5), (64, 64, 2**0.5), (64, outputs, scale)):
        layer = nn.Linear(inputs, size)
        nn.init.orthogonal_(layer.weight, gain)
        nn.init.zeros_(layer.bias)
        layers += [layer, nn.Tanh()]
    return nn.Sequential(*layers[:-1])


actor, critic = network(action_size, 0.01), network(1, 1.0)
log_std = nn.Parameter(torch.zeros(action_size))
weights = [*actor.parameters(), *critic.parameters(), log_std]
optimiser = torch.optim.Adam(weights, lr=LEARNING_RATE, eps=1e-5)

observation, _ = envs.reset(seed=SEED)
playing, finished = np.zeros(ENVS), []
for update in range(UPDATES):
    optimiser.param_groups[0]["lr"] = LEARNING_RATE * (1.0 - update / UPDATES)
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


def mean_return(act) -> float:
    """Return the mean return of a function of observations in 32 episodes, the same in every call."""
    test_envs = gymnasium.make_vec(f"gymnosoma/{ENV_ID}", num_envs=32, autoreset_mode=AutoresetMode.SAME_STEP)
    returns, playing = np.zeros(32), np.ones(32, bool)
    observation, _ = test_envs.reset(seed=1_000_000)
    while playing.any():
        observation, reward, terminated, truncated, _ = test_envs.step(act(observation))
        returns += np.where(playing, reward, 0.0)
        playing &= ~(terminated | truncated)
    return returns.mean()


with torch.no_grad():
    learned = mean_return(lambda observation: actor(torch.as_tensor(observation)).clamp(-1, 1).numpy())
own = mean_return(lambda observation: np.zeros((len(observation), action_size), np.float32))
print(f"mean return {learned:.2f}, of the animal's own controller {own:.2f}")
