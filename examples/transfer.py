"""Transfer a policy from a coarse body to a fine one: ``python examples/transfer.py [STEPS] [SEED]``."""

import sys

import numpy as np
import torch
from stable_baselines3 import SAC

from gymnosoma.agents.learning.sb3_env import make_sb3_env
from gymnosoma.envs.lamprey import LampreyParams
from gymnosoma.envs.worm import WormParams
from gymnosoma.envs.wrappers import make_vec

torch.set_num_threads(1)  # more threads slow down such small networks
steps = int(sys.argv[1]) if len(sys.argv) > 1 else 40_000
seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
ROWS = 256


def worm(rods):
    """Divide the paper's worm into rods; with half the joints, each bends twice as far and is half as stiff."""
    usual, finer = WormParams(), (rods - 1) / 24
    stiff = {"stiffness": finer * usual.stiffness, "damping": finer * usual.damping}
    return {"params": {"n_rods": rods, "control_gain": 1.0 / finer, **stiff}}


def lamprey(links):
    """Divide a lamprey into links in the same way; the torques of its muscles do not change."""
    usual, finer = LampreyParams(), (links - 1) / 9
    stiff = {"muscle_stiffness": finer * usual.muscle_stiffness, "damping": finer * usual.damping}
    body = LampreyParams.from_outline(width=[0.02, 0.02, 0.014, 0.007, 0.0], links=links, **stiff)
    return {"params": body, "circuit": {"segments": 120}, "scheme": "implicit"}


def returns(model, env_id, strength=None, **env):
    """Return the return of each row's first episode; the strength of the muscles may differ by row."""
    envs = make_vec(env_id, ROWS, autoreset_mode="SameStep", **env)
    options = None
    if strength is not None:
        name = "control_gain" if "Worm" in env_id else "muscle_gain"
        options = {name: getattr(envs.task.animal.params, name) * strength}
    observations, _ = envs.reset(seed=10_000, options=options)
    total, alive = np.zeros(ROWS), np.ones(ROWS, bool)
    while alive.any():
        observations, rewards, terminated, truncated, _ = envs.step(model.predict(observations, deterministic=True)[0])
        total += np.where(alive, rewards, 0.0)
        alive &= ~(terminated | truncated)
    return total


near = {"target_distance": (0.3e-3, 1e-3)}
for env_id, body, coarse, fine, env in (
    ("gymnosoma/WormReach-v0", worm, 13, 25, {"actions": "modes", "max_episode_steps": 60, "randomize": near}),
    ("gymnosoma/LampreyEscape-v0", lamprey, 10, 20, {"actions": "brainstem", "max_episode_steps": 40}),
):
    env |= {"wrappers": {"ModeObservation": {}}, "control_rate": 5.0}
    model = SAC(
        "MlpPolicy",
        make_sb3_env(env_id, 16, **env, **body(coarse)),
        policy_kwargs={"net_arch": [128, 128]},
        learning_starts=1_600,
        train_freq=8,
        gradient_steps=32,
        learning_rate=7e-4,
        ent_coef="auto_0.05",
        gamma=0.97,
        seed=seed,
        device="cpu",
    )
    for learned in ("untrained", "learned"):
        for parts in (coarse, fine):
            mean = returns(model, env_id, **env, **body(parts)).mean()
            print(f"{env_id}, {learned}, {parts} parts: return {mean:.2f}", flush=True)
        if learned == "untrained":
            model.learn(steps)
    weak_to_strong = returns(model, env_id, np.geomspace(0.5, 2.0, ROWS), **env, **body(fine)).reshape(4, -1).mean(1)
    print(f"muscles of 0.5 to 2 times the strength, by quarters of the rows: return {weak_to_strong.round(2)}")
