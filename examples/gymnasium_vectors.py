"""Tensors from 64 worms, and worms in separate processes: ``python examples/gymnasium_vectors.py [STEPS]``."""

import sys

import gymnasium
import torch
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers.vector import NumpyToTorch

ID = "gymnosoma:gymnosoma/WormSwim-v0"  # processes import the package named before the colon
steps = int(sys.argv[1]) if len(sys.argv) > 1 else 400


if __name__ == "__main__":  # spawned processes also run this file
    check_env(gymnasium.make(ID).unwrapped)
    envs = NumpyToTorch(gymnasium.make_vec(ID, 64))
    processes = gymnasium.make_vec(ID, 2, vectorization_mode="async", vector_kwargs={"context": "spawn"})
    for kind in (envs, NumpyToTorch(processes)):
        observations, _ = kind.reset(seed=0)
        total = torch.zeros(len(observations))
        for _ in range(steps):
            observations, rewards, *_ = kind.step(torch.zeros(kind.action_space.shape))
            total += rewards
        print(f"{len(observations)} worms, zero actions: return {total.mean():.2f}")
        kind.close()
