"""PPO of TorchRL on 64 worms: ``python examples/torchrl_ppo.py [STEPS]``.

``GymEnv`` makes one animal. ``GymWrapper`` takes the native vector environment with the autoreset mode DISABLED or
SAME_STEP.
"""

import sys

import gymnasium
import torch
from gymnasium.vector import AutoresetMode
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.collectors import Collector
from torchrl.envs import GymEnv, GymWrapper, RewardSum, TransformedEnv
from torchrl.modules import NormalParamExtractor, ProbabilisticActor, TanhNormal, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

import gymnosoma  # noqa: F401 - registers the ids

ID, STEPS = "gymnosoma/WormSwim-v0", int(sys.argv[1]) if len(sys.argv) > 1 else 400_000
ENVS, HORIZON, EPOCHS, BATCHES = 64, 128, 5, 8
torch.set_num_threads(1)  # more threads slow down such small networks
torch.manual_seed(0)


def many(mode: AutoresetMode) -> TransformedEnv:
    """Make the vector environment, with the accumulated return of each animal."""
    envs = gymnasium.make_vec(ID, num_envs=ENVS, actions="modes", autoreset_mode=mode)
    return TransformedEnv(GymWrapper(envs), RewardSum())


envs = many(AutoresetMode.SAME_STEP)
observation_size, action_size = envs.observation_spec["observation"].shape[-1], envs.action_spec.shape[-1]


def network(outputs: int) -> list[nn.Module]:
    """Make the layers of a network with two hidden layers of 64."""
    return [nn.Linear(observation_size, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs)]


mean_and_spread = nn.Sequential(*network(2 * action_size), NormalParamExtractor(scale_mapping="biased_softplus_0.4"))
actor = ProbabilisticActor(
    TensorDictModule(mean_and_spread, in_keys=["observation"], out_keys=["loc", "scale"]),
    in_keys=["loc", "scale"],
    spec=envs.action_spec_unbatched,
    distribution_class=TanhNormal,
    return_log_prob=True,
)
critic = ValueOperator(nn.Sequential(*network(1)), in_keys=["observation"])
advantage = GAE(gamma=0.995, lmbda=0.95, value_network=critic)
loss = ClipPPOLoss(actor, critic, entropy_coeff=0.0)
optimiser = torch.optim.Adam(loss.parameters(), lr=5e-4)

# One animal, and the other autoreset mode.
alone = GymEnv(ID, actions="modes").rollout(20, actor)
apart = many(AutoresetMode.DISABLED).rollout(20, actor, break_when_any_done=False)
print(f"one animal {tuple(alone['observation'].shape)}, many {tuple(apart['observation'].shape)}")

collector = Collector(envs, actor, frames_per_batch=ENVS * HORIZON, total_frames=max(STEPS, ENVS * HORIZON))
steps, finished = 0, []
for data in collector:
    with torch.no_grad():
        advantage(data)
    over = data["next", "done"]
    finished += data["next", "episode_reward"][over].tolist()
    flat = data.reshape(-1)
    for _ in range(EPOCHS):
        for part in torch.randperm(len(flat)).chunk(BATCHES):
            losses = loss(flat[part])
            optimiser.zero_grad()
            (losses["loss_objective"] + 0.5 * losses["loss_critic"]).backward()
            nn.utils.clip_grad_norm_(loss.parameters(), 0.5)
            optimiser.step()
    steps += len(flat)
    if finished:
        print(f"{steps} steps, return {sum(finished[-100:]) / len(finished[-100:]):.2f}")
collector.shutdown()
