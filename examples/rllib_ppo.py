"""PPO of RLlib with two env runners of 32 worms each: ``python examples/rllib_ppo.py [STEPS]``.

RLlib pins Gymnasium, so use a separate virtual environment: ``pip install -e ".[rllib]"``. The id names the package
that env runners must import, and ``vector_entry_point`` selects the native vector environment.
"""

import sys

from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig

ID = "gymnosoma:gymnosoma/WormSwim-v0"
STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 400_000

config = (
    PPOConfig()
    .environment(ID, env_config={"actions": "modes"})
    .env_runners(num_env_runners=2, num_envs_per_env_runner=32, gym_env_vectorize_mode="vector_entry_point")
    .training(gamma=0.995, lr=5e-4, train_batch_size_per_learner=8192, minibatch_size=1024, num_epochs=5)
    .rl_module(model_config=DefaultModelConfig(fcnet_hiddens=[64, 64], fcnet_activation="tanh"))
)
algorithm = config.build_algo()
steps = 0
while steps < STEPS:
    result = algorithm.train()
    steps = int(result["num_env_steps_sampled_lifetime"])
    print(f"{steps} steps, return {result['env_runners'].get('episode_return_mean', float('nan')):.2f}")
algorithm.stop()
