"""Trains policies with stable-baselines3 into run folders that survive an interruption."""

from __future__ import annotations

import csv
import json
import os
import time
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import stable_baselines3
import torch
from matplotlib.figure import Figure
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecMonitor
from tqdm import tqdm

import gymnosoma

from ..evaluation.policies import read_config, task_of
from .sb3_env import SB3VecEnv

CURVE = ("steps", "seconds", "episodes", "return", "score")
"""Columns of the learning curve: in all; of training; in all; means of the last 100 episodes."""


def recipe(env_id: str, algorithm: str | None = None) -> dict[str, Any]:
    """Training settings of an id: its own recipe, or the default of the algorithm.

    Parameters
    ----------
    env_id : str
    algorithm : {"ppo", "sac"}, optional
        Instead of the recipe's.

    Returns
    -------
    dict
        ``algorithm``, ``steps``, ``num_envs``, ``env`` and the algorithm's ``settings``.
    """
    folder = resources.files("gymnosoma.agents.learning").joinpath("recipes")
    own = folder.joinpath(f"{env_id.split('/')[-1]}.toml")
    default = tomllib.loads(folder.joinpath("default.toml").read_text())
    chosen = default | (tomllib.loads(own.read_text()) if own.is_file() else {})
    name = (algorithm or chosen["algorithm"]).lower()
    if name not in ("ppo", "sac"):
        raise ValueError(f"algorithm must be ppo or sac, got {algorithm!r}")
    return {
        "algorithm": name,
        "steps": chosen["steps"],
        "num_envs": chosen["num_envs"] if name == "ppo" else chosen["sac_num_envs"],
        "env": chosen["env"],
        "settings": chosen[name],
    }


class _RunCallback(BaseCallback):
    """Writes checkpoints and the learning curve, and moves the progress bar."""

    def __init__(self, folder: Path, total: int, every: int, score: Any, spent: float, episodes: int) -> None:
        super().__init__()
        self.folder, self.total, self.every, self.score = folder, total, every, score
        self._spent, self._started = spent, time.monotonic()
        self._episodes = episodes

    def _on_training_start(self) -> None:
        self._next = self.num_timesteps + self.every
        self._bar = tqdm(total=self.total, initial=self.num_timesteps, unit="step", unit_scale=True, smoothing=0.05)

    def _on_step(self) -> bool:
        self._episodes += int(np.sum(self.locals["dones"]))
        if self.num_timesteps >= self._next:
            save(self.model, self.folder / "checkpoint.zip")
            self._next = self.num_timesteps + self.every
        return True

    def _on_rollout_end(self) -> None:
        done = list(self.model.ep_info_buffer or ())
        self._bar.update(min(self.num_timesteps, self.total) - self._bar.n)
        if not done:
            return
        returns = float(np.mean([episode["r"] for episode in done]))
        key = "r" if self.score.name == "return" else self.score.name
        score = float(np.mean([episode[key] for episode in done])) * self.score.factor
        self._bar.set_postfix_str(f"return {returns:.2f}, {self.score.name} {score:.4g} {self.score.unit}")
        self.logger.record("rollout/score", score)
        seconds = self._spent + time.monotonic() - self._started
        with (self.folder / "curve.csv").open("a", newline="") as file:
            row = (self.num_timesteps, f"{seconds:.2f}", self._episodes, f"{returns:.6g}", f"{score:.6g}")
            csv.writer(file).writerow(row)

    def close(self) -> None:
        """Finish the progress bar."""
        if hasattr(self, "_bar"):
            self._bar.close()


def save(model: BaseAlgorithm, path: Path) -> None:
    """Save a model, and the experience of an off-policy one, so that a kill never leaves half a file."""
    partial = path.with_name(f"partial-{path.name}")
    model.save(partial)
    if hasattr(model, "save_replay_buffer"):
        experience = path.with_name("experience.pkl")
        model.save_replay_buffer(partial.with_suffix(".pkl"))
        os.replace(partial.with_suffix(".pkl"), experience)
    os.replace(partial, path)


def train(
    env_id: str,
    folder: Path,
    algorithm: str | None = None,
    steps: int | None = None,
    num_envs: int | None = None,
    seed: int = 0,
    checkpoint: int = 100_000,
    threads: int = 1,
    resume: bool = False,
) -> bool:
    """Train a policy into a run folder.

    The folder gets ``config.json``, ``policy.zip``, ``checkpoint.zip``, ``curve.csv``, ``curve.png`` and
    TensorBoard's logs.

    Parameters
    ----------
    env_id : str
    folder : path
    algorithm, steps, num_envs : optional
        Instead of the recipe's.
    seed : int
    checkpoint : int
        Steps between checkpoints; a kill loses at most so many.
    threads : int
        For the network; more than 2 rarely help.
    resume : bool
        Continue the run in ``folder`` from its last checkpoint.

    Returns
    -------
    bool
        False if interrupted by Ctrl-C; all is saved then too.

    Raises
    ------
    ValueError
        If the folder already holds a run (without ``resume``), or none that can be resumed.
    """
    for name, value in (("steps", steps), ("num_envs", num_envs), ("checkpoint", checkpoint), ("threads", threads)):
        if value is not None and value < 1:
            raise ValueError(f"{name} must be at least 1, got {value!r}")
    if seed < 0:
        raise ValueError(f"seed must be at least 0, got {seed!r}")
    last = folder / "checkpoint.zip"
    if resume:
        config = read_config(folder)
        if config["id"] != env_id:
            raise ValueError(f"folder {str(folder)!r} holds a run of {config['id']}, not of {env_id}")
        if not last.is_file():
            raise ValueError(f"folder {str(folder)!r} has no checkpoint.zip to resume from")
        for name, given in {"algorithm": algorithm, "num_envs": num_envs}.items():
            if given is not None and given != config[name]:
                raise ValueError(f"{name} must be {config[name]!r}, as the run in {str(folder)!r} began, got {given!r}")
        goal = steps or config["steps"]
        config["steps"] = max(goal, config["steps"])
    else:
        if (folder / "config.json").exists():
            raise ValueError(f"folder {str(folder)!r} already holds a run: give --resume to continue it, or --folder")
        config = recipe(env_id, algorithm)
        config |= {"id": env_id, "seed": seed, "steps": steps or config["steps"]}
        config |= {"num_envs": num_envs or config["num_envs"], "versions": _versions()}
        goal = config["steps"]
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(threads)
    score = task_of(env_id, **config["env"]).score
    envs: Any = gymnasium.make_vec(env_id, config["num_envs"], autoreset_mode="SameStep", **config["env"])
    monitored = VecMonitor(SB3VecEnv(envs), info_keywords=() if score.name == "return" else (score.name,))
    kind = getattr(stable_baselines3, config["algorithm"].upper())
    if resume:
        try:
            model = kind.load(last, env=monitored, device="cpu")
        except Exception as error:  # zip, pickle and torch each raise their own
            raise ValueError(f"checkpoint {str(last)!r} cannot be loaded: {type(error).__name__}: {error}") from error
        if (folder / "experience.pkl").is_file():
            model.load_replay_buffer(folder / "experience.pkl")
        spent, episodes = _trim(folder / "curve.csv", model.num_timesteps)
    else:
        settings = dict(config["settings"])
        network = {key: settings.pop(key) for key in ("log_std_init", "net_arch") if key in settings}
        model = kind(
            "MlpPolicy",
            monitored,
            seed=config["seed"],
            device="cpu",
            policy_kwargs=network,
            tensorboard_log=str(folder / "tensorboard"),
            **settings,
        )
        (folder / "curve.csv").write_text(",".join(CURVE) + "\n")
        save(model, last)  # so that a run can be resumed from its first moment
        spent, episodes = 0.0, 0
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    callback = _RunCallback(folder, goal, checkpoint, score, spent, episodes)
    finished = True
    try:
        left = goal - model.num_timesteps
        if left > 0:
            model.learn(left, callback=callback, reset_num_timesteps=False, tb_log_name=config["algorithm"])
    except KeyboardInterrupt:
        finished = False
    finally:
        callback.close()
    save(model, last)
    if config["algorithm"] == "ppo":
        model.policy.optimizer.state.clear()  # two thirds of the file, of no use for acting
    model.save(folder / "policy.zip", exclude=["tensorboard_log"])  # a path of this machine
    draw_curve(folder, score)
    envs.close()
    return finished


def _trim(curve: Path, steps: int) -> tuple[float, int]:
    """Drop what the curve knows beyond the checkpoint; the seconds spent and the episodes ended until then."""
    with curve.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if int(row["steps"]) <= steps]
    with curve.open("w", newline="") as file:
        writer = csv.DictWriter(file, CURVE)
        writer.writeheader()
        writer.writerows(rows)
    return (float(rows[-1]["seconds"]), int(rows[-1]["episodes"])) if rows else (0.0, 0)


def draw_curve(folder: Path, score: Any) -> None:
    """Draw ``curve.csv`` as ``curve.png``."""
    with (folder / "curve.csv").open(newline="") as file:
        rows = [[float(row[name]) for name in CURVE] for row in csv.DictReader(file)]
    if not rows:  # no episode has ended yet
        return
    data = dict(zip(CURVE, np.array(rows).T, strict=True))
    figure = Figure(figsize=(8, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    unit = "" if score.unit == "1" else f" [{score.unit}]"
    for axes, column, label in ((left, "return", "return"), (right, "score", f"{score.name}{unit}")):
        axes.plot(data["steps"] / 1e6, data[column])
        axes.set(xlabel="steps [million]", ylabel=label)
        axes.grid(alpha=0.3)
    figure.suptitle(f"{folder.name}, {data['seconds'][-1]:.0f} s")
    figure.savefig(folder / "curve.png", dpi=120)


def _versions() -> dict[str, str]:
    return {
        "gymnosoma": gymnosoma.__version__,
        "gymnasium": gymnasium.__version__,
        "stable_baselines3": stable_baselines3.__version__,
        "torch": torch.__version__,
        "numpy": np.__version__,
    }
