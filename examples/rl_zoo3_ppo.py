"""Recipes of the package as a configuration for RL Zoo.

::

python -m rl_zoo3.train --algo ppo --env gymnosoma/WormSwim-v0 --gym-packages gymnosoma -c examples/rl_zoo3_ppo.py
"""

from gymnosoma.agents.learning.runs import recipe
from gymnosoma.envs import CATALOGUE

hyperparams = {}
for entry in CATALOGUE:
    training = recipe(f"gymnosoma/{entry.name}", "ppo")
    settings = dict(training.settings)
    del settings["imitate"]  # unknown to RL Zoo
    network = {"net_arch": settings.pop("net_arch"), "log_std_init": settings.pop("log_std_init")}
    hyperparams[f"gymnosoma/{entry.name}"] = {
        "policy": "MlpPolicy",
        "policy_kwargs": network,
        "n_timesteps": training.steps,
        "n_envs": training.num_envs,
        "env_kwargs": training.env,
        **settings,
    }
