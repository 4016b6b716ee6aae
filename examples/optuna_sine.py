"""Optimise a worm's swimming wave with Optuna: ``python examples/optuna_sine.py [TRIALS]``."""

import sys

import optuna

from gymnosoma.agents.policies.agent import reference_policy
from gymnosoma.agents.policies.evaluation import evaluate
from gymnosoma.agents.policies.registry import references_of

ID = "gymnosoma/WormSwim-v0"
baseline = references_of(ID)["baseline"]


def score(trial: optuna.Trial) -> float:
    """Return the mean return of a wave."""
    wave = {name: trial.suggest_float(name, *bounds) for name, bounds in baseline.bounds.items()}
    return float(evaluate(ID, reference_policy("sine", baseline, **wave), episodes=8).returns.mean())


study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
study.optimize(score, n_trials=int(sys.argv[1]) if len(sys.argv) > 1 else 100)
print(f"return {study.best_value:.2f} with {study.best_params}")
