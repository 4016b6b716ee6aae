"""Effect of sensor noise, dropout, quantisation and delays on a controller.

Run ``python examples/imperfect_senses.py [EPISODES]``.
"""

import sys

from gymnosoma.agents.policies.evaluation import evaluate
from gymnosoma.agents.policies.lookup import find_policy

episodes = int(sys.argv[1]) if len(sys.argv) > 1 else 64
ID = "gymnosoma/LampreyEscape-v0"
policy = find_policy(ID, "baseline")
for name, imperfect in {
    "perfect senses": {},
    "noise of 0.3 on the direction": {"sensor_noise": {"direction": 0.3}},
    "direction missing in nine of ten steps": {"sensor_dropout": {"direction": 0.9}},
    "direction rounded to the nearest half": {"sensor_step": {"direction": 0.5}},
    "senses delayed by 0.1 s": {"observation_delay": 5},
    "muscles delayed by 0.1 s": {"action_delay": 5},
}.items():
    print(f"{name}: return {evaluate(ID, policy, episodes, **imperfect).returns.mean():.1f}")
