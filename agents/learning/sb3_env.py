"""Adapters for stable-baselines3: vector environments, and conversion of its policies to NumPy networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from stable_baselines3.common.vec_env import VecEnv, VecMonitor
from stable_baselines3.common.vec_env.base_vec_env import VecEnvObs, VecEnvStepReturn

from gymnosoma.envs.core.arguments import choice
from gymnosoma.envs.wrappers import make_vec

from ..policies.networks import ACTIVATIONS, Network
from .runs import drawn_seeds


def make_sb3_env(env_id: str, num_envs: int = 64, **env: Any) -> VecMonitor:
    """Create a vector environment for stable-baselines3 that records the return and length of every episode.

    Args:
        num_envs: Number of parallel environments.
        **env: Arguments of the environment.

    Examples:
        >>> envs = make_sb3_env("gymnosoma/WormSwim-v0", 2, actions="modes")
        >>> envs.num_envs, envs.action_space.shape
        (2, (6,))
    """
    envs: Any = make_vec(env_id, num_envs, autoreset_mode=AutoresetMode.SAME_STEP, **env)
    return VecMonitor(SB3VecEnv(envs))


class SB3VecEnv(VecEnv):
    """SB3 ``VecEnv`` that wraps a Gymnasium vector environment with autoreset mode SAME_STEP.

    At the end of an episode, its info contains the final physical quantities, a copy of ``terminal_observation``, and
    ``TimeLimit.truncated``, so that SB3 bootstraps the value of truncated episodes.

    Raises:
        ValueError: If the autoreset mode is not SAME_STEP.
    """

    def __init__(self, envs: VectorEnv) -> None:
        mode = envs.metadata.get("autoreset_mode")
        if mode is not AutoresetMode.SAME_STEP:
            raise ValueError(f"autoreset_mode must be AutoresetMode.SAME_STEP, got {mode!r}")
        self.envs = envs
        self.render_mode = envs.render_mode
        self._actions: Any = None
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Draw the seeds of all rows for the next reset. They differ from the seeds of all evaluations."""
        self._seeds = list(super().seed(seed) if seed is None else drawn_seeds(seed, 0, self.num_envs))
        return self._seeds

    def reset(self) -> VecEnvObs:
        """Reset all rows with the seeds drawn by ``seed``."""
        seeds: Any = None if all(s is None for s in self._seeds) else self._seeds
        if any(self._options) and not all(options == self._options[0] for options in self._options):
            raise ValueError(f"options must be the same for all rows, got {self._options!r}")
        observations, infos = self.envs.reset(seed=seeds, options=self._options[0] or None)
        self.reset_infos = [_row(infos, i) for i in range(self.num_envs)]
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: np.ndarray) -> None:
        """Store the actions for ``step_wait``."""
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        """Step all rows with the stored actions."""
        observations, rewards, terminated, truncated, infos = self.envs.step(self._actions)
        over = terminated | truncated
        rows: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for i in np.flatnonzero(over).tolist():
            rows[i] = _row(infos["final_info"], i)
            final = infos["final_obs"][i]
            copied = {k: v.copy() for k, v in final.items()} if isinstance(final, dict) else np.array(final)
            rows[i]["terminal_observation"] = copied
            rows[i]["TimeLimit.truncated"] = bool(truncated[i] and not terminated[i])
        return observations, rewards.astype(np.float32), over, rows

    def close(self) -> None:
        """Close the environment."""
        self.envs.close()

    def get_images(self) -> Sequence[np.ndarray | None]:
        """Return rendered frames of all rows."""
        frames: Any = self.envs.render()
        return list(frames) if frames is not None else [None] * self.num_envs

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute of the vector environment, once per row."""
        return [getattr(self.envs, attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of the vector environment, shared by all rows."""
        self._check_all(attr_name, indices)
        setattr(self.envs, attr_name, value)

    def _check_all(self, name: str, indices: Any) -> None:
        if {*self._get_indices(indices)} != {*range(self.num_envs)}:
            raise ValueError(f"indices must contain all rows, which share {name!r}, got {indices!r}")

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """Call a method of the vector environment, once for all rows.

        Raises:
            ValueError: If ``indices`` are not all rows, unless the method is ``compute_reward``.
        """
        if method_name != "compute_reward":  # which does not depend on the rows
            self._check_all(method_name, indices)
        result = getattr(self.envs, method_name)(*method_args, **method_kwargs)
        return [result] * len(list(self._get_indices(indices)))

    def env_is_wrapped(self, wrapper_class: type[gymnasium.Wrapper], indices: Any = None) -> list[bool]:
        """Return False for each row, because rows are never wrapped separately."""
        return [False] * len(list(self._get_indices(indices)))


def network_of(policy: Any) -> Network:
    """Extract the policy network of an ``MlpPolicy`` of PPO or SAC, without exploration.

    Raises:
        ValueError: If a `Network` does not support the activation.
    """
    name = policy.activation_fn.__name__
    choice("activation_fn", name, ACTIVATIONS)
    if hasattr(policy, "actor"):
        parts = [*policy.actor.latent_pi, policy.actor.mu]
    else:
        parts = [*policy.mlp_extractor.policy_net, policy.action_net]
    layers = [part for part in parts if hasattr(part, "weight")]
    return Network([tuple(each.detach().numpy().copy() for each in (part.weight, part.bias)) for part in layers], name)


def _row(infos: dict[str, Any], i: int) -> dict[str, Any]:
    """Return the info of row ``i`` from Gymnasium's masked arrays."""
    return {k: v[i] for k, v in infos.items() if not k.startswith("_") and infos[f"_{k}"][i]}
