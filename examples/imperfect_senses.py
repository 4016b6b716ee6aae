"""What noise, silence, steps and delays cost a controller: ``python examples/imperfect_senses.py [EPISODES]``."""

import sys

from gymnosoma.agents.policies.evaluation import evaluate
from gymnosoma.agents.policies.lookup import find_policy

episodes = int(sys.argv[1]) if len(sys.argv) > 1 else 64
ID = "gymnosoma/LampreyEscape-v0"
policy = find_policy(ID, "baseline")
for name, imperfect in {
    "as it is": {},
    "noise of 0.3 on the direction": {"sensor_noise": {"direction": 0.3}},
    "a direction that is missing nine times of ten": {"sensor_dropout": {"direction": 0.9}},
    "a direction to the nearest half": {"sensor_step": {"direction": 0.5}},
    "senses 0.1 s late": {"observation_delay": 5},
    "muscles 0.1 s late": {"action_delay": 5},
}.items():
    print(f"{name}: return {evaluate(ID, policy, episodes, **imperfect).returns.mean():.1f}")
