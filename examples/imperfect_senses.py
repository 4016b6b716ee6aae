"""Effect of sensor noise, dropout, quantisation and delays on a controller.

Run ``python examples/imperfect_senses.py [EPISODES]``.
"""

import sys

from gymnosoma.agents.policies.evaluation import evaluate
from gymnosoma.agents.policies.lookup import find_policy

episodes = int(sys.argv[1]) if len(sys.argv) > 1 else 64
ID = "gymnosoma/LampreyEscape-v0"
policy = find_policy(ID, "baseline")
for name, wrappers in {
    "perfect senses": {},
    "noise of 0.3 on the direction": {"DisturbObservation": {"noise": {"direction": 0.3}}},
    "direction missing in nine of ten steps": {"DisturbObservation": {"dropout": {"direction": 0.9}}},
    "direction rounded to the nearest half": {"DisturbObservation": {"resolution": {"direction": 0.5}}},
    "senses delayed by 0.1 s": {"DelayObservation": {"delay": 5}},
    "muscles delayed by 0.1 s": {"DelayAction": {"delay": 5}},
}.items():
    print(f"{name}: return {evaluate(ID, policy, episodes, wrappers=wrappers).returns.mean():.1f}")
