"""Tune PPO's recipe with Optuna on two processes or a cluster: ``python examples/optuna_recipe.py [TRIALS] [ADDRESS]``.

ADDRESS is that of a Ray cluster. A trial trains in a temporary folder and returns its score, so the machines need no
shared folder.
"""

import sys
import tempfile
from pathlib import Path

import optuna

from gymnosoma.agents.learning.training import TrainConfig, train
from gymnosoma.agents.policies.evaluation import VALIDATION_SEED, evaluate
from gymnosoma.agents.policies.lookup import find_policy
from gymnosoma.agents.support.workers import run_jobs, workers

ID = "gymnosoma/WormSwim-v0"
STEPS, TOGETHER = 20_000, 4


def trained_return(settings: dict[str, float], seed: int) -> float:
    """Train with settings of PPO, and return the mean return of the policy."""
    with tempfile.TemporaryDirectory() as folder:
        train(ID, Path(folder), TrainConfig("ppo", STEPS, seed=seed, settings=settings))
        return float(evaluate(ID, find_policy(ID, folder), 16, VALIDATION_SEED).returns.mean())


if __name__ == "__main__":  # processes also run this file
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    address = sys.argv[2] if len(sys.argv) > 2 else None
    sampler = optuna.samplers.TPESampler(seed=0, constant_liar=True)  # for trials that run at the same time
    study = optuna.create_study(direction="maximize", sampler=sampler)
    with workers(1 if address else 2, ray=address) as executor:
        for _ in range(0, trials, TOGETHER):
            jobs, asked = {}, [study.ask() for _ in range(TOGETHER)]
            for trial in asked:
                settings = {
                    "learning_rate": trial.suggest_float("learning_rate", 1e-4, 2e-3, log=True),
                    "gamma": trial.suggest_float("gamma", 0.9, 0.999),
                    "clip_range": trial.suggest_float("clip_range", 0.1, 0.4),
                }
                jobs[f"trial {trial.number}"] = (settings, trial.number)
            outcomes = run_jobs(executor, trained_return, jobs, "trial")
            for trial, outcome in zip(asked, outcomes.values(), strict=True):
                study.tell(trial, outcome.value)  # None, of a failed trial, counts as failed
    print(f"return {study.best_value:.2f} with {study.best_params}")
