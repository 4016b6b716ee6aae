"""Training with PPO and SAC of stable-baselines3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import stable_baselines3
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv, VecMonitor

from gymnosoma.envs.wrappers import make_vec

from ..policies.card import write_policy
from .checkpoint import load_checkpoint, save_checkpoint
from .runs import Record, Run
from .sb3_env import SB3VecEnv, network_of

NETWORK = ("log_std_init", "net_arch", "activation_fn", "optimizer_kwargs")
"""Settings of the networks, which SB3 takes as ``policy_kwargs``."""


def learn(run: Run, threads: int) -> bool:
    """Train until the goal; return False if the run was stopped."""
    config = run.config
    torch.set_num_threads(threads)
    key = run.score.name
    envs: Any = make_vec(config.id, config.num_envs, autoreset_mode="SameStep", **config.env)
    monitored = VecMonitor(SB3VecEnv(envs), info_keywords=() if key == "return" else (key,))
    logs = str(run.folder / "tensorboard")
    callback = _RunCallback(run)
    if run.resumed:
        model, record = load_checkpoint(run.checkpoint, config.algorithm, monitored, tensorboard_log=logs)
        run.begin(Record(**record))
    else:
        settings = dict(config.settings)
        teacher = settings.pop("imitate", "")
        model = make_model(config.algorithm, monitored, config.seed, settings, tensorboard_log=logs)
        run.start_clock()
        if teacher:
            from .imitation import imitate

            imitate(model, config.id, teacher, config.env, config.seed)
        run.note(0, (), ())
        callback.save(model)
        run.begin()
    finished = True
    try:
        remaining = run.goal - model.num_timesteps
        if remaining > 0:
            model.learn(remaining, callback=callback, reset_num_timesteps=False, tb_log_name=config.algorithm)
    except _Stopped:
        finished = False
    except OSError as error:
        raise OSError(error.errno, error.strerror, error.filename or logs) from error
    callback.save(model)
    write_policy(run.folder, config, network_of(model.policy))
    envs.close()
    return finished


def make_model(algorithm: str, envs: VecEnv, seed: int, settings: Mapping[str, Any], **options: Any) -> Any:
    """Create a model of PPO or SAC; ``settings`` are those of the algorithm and of its networks."""
    network = {name: value for name, value in settings.items() if name in NETWORK}
    rest = {name: value for name, value in settings.items() if name not in NETWORK}
    kind = getattr(stable_baselines3, algorithm.upper())
    return kind("MlpPolicy", envs, seed=seed, device="cpu", policy_kwargs=network, **rest, **options)


class _Stopped(Exception):
    """Exception that ends ``learn`` between two updates."""


class _RunCallback(BaseCallback):
    """Callback that saves checkpoint and learning curve between two updates, so that a run can be resumed exactly."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self.run = run

    def _on_training_start(self) -> None:
        self._checkpoint = self._began = self.model.num_timesteps
        self.run.start_clock()
        self.run.show(self._began)

    def _on_rollout_start(self) -> None:
        steps = self.model.num_timesteps
        ahead = steps + steps - self._began  # end of the next rollout
        self._began = steps
        if steps > self._checkpoint and ahead - self._checkpoint > self.run.every:
            self.save(self.model)
            self._checkpoint = steps
        if self.run.stop():
            raise _Stopped

    def _on_step(self) -> bool:
        self.run.record.episodes += int(np.sum(self.locals["dones"]))
        return True

    def _on_rollout_end(self) -> None:
        infos = list(self.model.ep_info_buffer or ())
        key = "r" if self.run.score.name == "return" else self.run.score.name
        row = self.run.note(self.model.num_timesteps, [info["r"] for info in infos], [info[key] for info in infos])
        if row is not None:
            self.logger.record("rollout/score", row["score"])

    def save(self, model: BaseAlgorithm) -> None:
        """Save checkpoint, then curve. If the process is killed in between, the checkpoint still contains the curve."""
        save_checkpoint(self.run.checkpoint, model, vars(self.run.record))
        self.run.save_curve()
