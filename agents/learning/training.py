"""Trains policies with stable-baselines3 into run folders that survive an interruption."""

from __future__ import annotations

import io
import json
import reprlib
import sys
import threading
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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

import gymnosoma
from gymnosoma.envs.core.arguments import choice

from ..evaluation.policies import ALGORITHMS, RANGES, in_range, read_config, task_of
from ..evaluation.progress import progress_bar
from ..files import replacing
from .checkpoint import load_checkpoint, save_checkpoint
from .policy_file import write_policy
from .sb3_env import SB3VecEnv

CURVE = ("steps", "seconds", "episodes", "return", "score")
"""Columns of the learning curve: steps in all; CPU seconds of training in all; episodes in all; means of the last 100.

The seconds are those of all threads of the process, of every run that came to this point, imitation included: unlike
time by the clock they do not depend on what else the machine does.
"""


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
        ``algorithm``, ``steps``, ``num_envs``, ``imitate``, ``env`` and the algorithm's ``settings``.
    """
    folder = resources.files("gymnosoma.agents.learning").joinpath("recipes")
    own = folder.joinpath(f"{env_id.split('/')[-1]}.toml")
    default = tomllib.loads(folder.joinpath("default.toml").read_text())
    chosen = default | (tomllib.loads(own.read_text()) if own.is_file() else {})
    name = (algorithm or chosen["algorithm"]).lower()
    choice("algorithm", name, ALGORITHMS)
    return {
        "algorithm": name,
        "steps": chosen["steps"],
        "num_envs": chosen["num_envs"] if name == "ppo" else chosen["sac_num_envs"],
        "imitate": chosen["imitate"] if name == "ppo" else "",
        "env": chosen["env"],
        "settings": chosen[name],
    }


class _Stopped(Exception):
    """Ends ``learn`` between two updates."""


@contextmanager
def _quiet_threads() -> Iterator[None]:
    """Keep TensorBoard's thread from printing what it cannot write: the main thread raises it a moment later."""
    before = threading.excepthook
    threading.excepthook = lambda args: None if issubclass(args.exc_type, OSError) else before(args)
    try:
        yield
    finally:
        threading.excepthook = before


class _RunCallback(BaseCallback):
    """Saves checkpoint and learning curve between two updates, where a run can be resumed to the bit.

    Parameters
    ----------
    folder : path
    total : int
        Steps at which the run ends.
    every : int
        Steps that a kill may lose; a rollout's at least.
    score : Score
    record : dict
        ``curve`` (lines of ``curve.csv``), ``episodes`` and CPU ``seconds`` so far.
    stop : function
        Asked between two updates whether to end the run there.
    """

    def __init__(
        self, folder: Path, total: int, every: int, score: Any, record: dict[str, Any], stop: Callable[[], object]
    ) -> None:
        super().__init__()
        self.folder, self.total, self.every, self.score = folder, total, every, score
        self.record, self.stop = record, stop
        self._before, self._started = record["seconds"], time.process_time()

    def _on_training_start(self) -> None:
        self._saved = self._began = steps = self.model.num_timesteps
        self._started = time.process_time()
        self._bar = progress_bar(total=self.total, initial=steps, unit="step", unit_scale=True, smoothing=0.05)

    def _on_rollout_start(self) -> None:
        steps = self.model.num_timesteps
        ahead = steps + steps - self._began  # where the next rollout will end
        self._began = steps
        if steps > self._saved and ahead - self._saved > self.every:
            self.save(self.model)
            self._saved = steps
        if self.stop():
            raise _Stopped

    def _on_step(self) -> bool:
        self.record["episodes"] += int(np.sum(self.locals["dones"]))
        return True

    def _on_rollout_end(self) -> None:
        steps = self.model.num_timesteps
        self.record["seconds"] = self._before + time.process_time() - self._started
        done = list(self.model.ep_info_buffer or ())
        if done:
            returns = float(np.mean([episode["r"] for episode in done]))
            key = "r" if self.score.name == "return" else self.score.name
            score = float(np.mean([episode[key] for episode in done])) * self.score.factor
            text = f"return {returns:.2f}, {self.score.name} {score:.4g} {self.score.unit}"
            self._bar.set_postfix_str(text, refresh=False)
            self.logger.record("rollout/score", score)
            row = f"{steps},{self.record['seconds']:.2f},{self.record['episodes']},{returns:.6g},{score:.6g}"
            self.record["curve"].append(row)
        self._bar.update(min(steps, self.total) - self._bar.n)

    def save(self, model: BaseAlgorithm) -> None:
        """Save checkpoint and curve, in this order: the checkpoint has the curve in it, and a kill may fall between."""
        save_checkpoint(self.folder / "checkpoint.zip", model, self.record)
        self.save_curve()

    def save_curve(self) -> None:
        """Write ``curve.csv``."""
        with replacing(self.folder / "curve.csv") as file:
            file.write("".join(f"{line}\n" for line in [",".join(CURVE), *self.record["curve"]]).encode())

    def close(self) -> None:
        """Finish the progress bar."""
        if hasattr(self, "_bar"):
            self._bar.close()


def train(
    env_id: str,
    folder: Path,
    algorithm: str | None = None,
    steps: int | None = None,
    num_envs: int | None = None,
    imitate: str | None = None,
    seed: int = 0,
    checkpoint: int = 100_000,
    threads: int = 1,
    resume: bool = False,
    stop: Callable[[], object] = lambda: False,
) -> bool:
    """Train a policy into a run folder.

    The folder gets ``config.json``, ``policy.safetensors``, ``card.json``, ``checkpoint.zip``, ``curve.csv``,
    ``curve.png`` and TensorBoard's logs.

    Parameters
    ----------
    env_id : str
    folder : path
    algorithm, steps, num_envs, imitate : optional
        Instead of the recipe's.
    seed : int
    checkpoint : int
        Steps between checkpoints; a kill loses at most so many, or a rollout if that is longer.
    threads : int
        For the network; more than 2 rarely help.
    resume : bool
        Continue the run in ``folder`` from its last checkpoint, to the bit (with one thread). A checkpoint holds
        pickled Python objects: resuming somebody else's run runs their code.
    stop : function
        Asked after every update; when it gives True the run ends there.

    Returns
    -------
    bool
        False if ``stop`` ended it; all is saved then too.

    Raises
    ------
    ValueError
        If the folder already holds a run (without ``resume``), or none that can be resumed.
    OSError
        If a file cannot be written, naming it; the run can be resumed when there is room again.
    """
    whole = {"steps": steps, "num_envs": num_envs, "seed": seed, "checkpoint": checkpoint, "threads": threads}
    for name, value in whole.items():
        if value is not None:
            in_range(name, value, *RANGES[name])
    last = folder / "checkpoint.zip"
    if resume:
        config = read_config(folder)
        if config["id"] != env_id:
            raise ValueError(f"folder {str(folder)!r} holds a run of {config['id']}, not of {env_id}")
        if not last.is_file():
            raise ValueError(f"folder {str(folder)!r} has no checkpoint.zip to resume from")
        for name, given in {"algorithm": algorithm, "num_envs": num_envs, "imitate": imitate}.items():
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
        config["imitate"] = config["imitate"] if imitate is None else imitate
        if config["imitate"] and config["algorithm"] != "ppo":
            raise ValueError(f"imitate must be left out for {config['algorithm']}, got {config['imitate']!r}")
        goal = config["steps"]
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(threads)
    score = task_of(env_id, **config["env"]).score
    envs: Any = gymnasium.make_vec(env_id, config["num_envs"], autoreset_mode="SameStep", **config["env"])
    monitored = VecMonitor(SB3VecEnv(envs), info_keywords=() if score.name == "return" else (score.name,))
    logs = str(folder / "tensorboard")
    if resume:
        model, record = load_checkpoint(last, config["algorithm"], monitored, tensorboard_log=logs)
        _compare_curve(folder / "curve.csv", record["curve"])
    else:
        settings = dict(config["settings"])
        network = {key: settings.pop(key) for key in ("log_std_init", "net_arch") if key in settings}
        kind = getattr(stable_baselines3, config["algorithm"].upper())
        model = kind(
            "MlpPolicy",
            monitored,
            seed=config["seed"],
            device="cpu",
            policy_kwargs=network,
            tensorboard_log=logs,
            **settings,
        )
        started = time.process_time()
        if config["imitate"]:
            from .imitation import imitate as fit

            fit(model, env_id, config["imitate"], config["env"], config["seed"])
        record = {"curve": [], "episodes": 0, "seconds": time.process_time() - started}
    callback = _RunCallback(folder, goal, checkpoint, score, record, stop)
    if resume:
        callback.save_curve()
    else:
        callback.save(model)
    with replacing(folder / "config.json") as file:  # the last: where it is, there is a run that can be resumed
        file.write((json.dumps(config, indent=2) + "\n").encode())
    finished = True
    try:
        left = goal - model.num_timesteps
        if left > 0:
            with _quiet_threads():
                model.learn(left, callback=callback, reset_num_timesteps=False, tb_log_name=config["algorithm"])
    except _Stopped:
        finished = False
    except OSError as error:
        raise OSError(error.errno, error.strerror, error.filename or logs) from error
    finally:
        callback.close()
    callback.save(model)
    write_policy(folder, model.policy, env_id, config["algorithm"], config["env"], config["versions"])
    draw_curve(folder, record["curve"], score)
    envs.close()
    return finished


def _compare_curve(curve: Path, known: Sequence[str]) -> None:
    """Say where a curve is not the checkpoint's, which is about to replace it."""
    try:
        lines = curve.read_text(errors="replace").splitlines()[1:]
    except OSError as error:
        print(f"{curve}: {error.strerror}; written anew from the checkpoint", file=sys.stderr)
        return
    # A kill between checkpoint and curve leaves a curve that is behind, and whole.
    held = set(known)
    broken = [line for line in lines if line not in held]
    if broken:
        shown = reprlib.repr(broken[0])
        print(f"{curve}: dropped {len(broken)} rows that the checkpoint does not have, first {shown}", file=sys.stderr)


def draw_curve(folder: Path, curve: Sequence[str], score: Any) -> None:
    """Draw the lines of ``curve.csv`` as ``curve.png``."""
    if not curve:  # no episode has ended yet
        return
    rows = [[float(value) for value in line.split(",")] for line in curve]
    data = dict(zip(CURVE, np.array(rows).T, strict=True))
    figure = Figure(figsize=(8, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    unit = "" if score.unit == "1" else f" [{score.unit}]"
    for axes, column, label in ((left, "return", "return"), (right, "score", f"{score.name}{unit}")):
        axes.plot(data["steps"] / 1e6, data[column])
        axes.set(xlabel="steps [million]", ylabel=label)
        axes.grid(alpha=0.3)
    figure.suptitle(f"{folder.name}, {data['seconds'][-1]:.0f} CPU s")
    picture = io.BytesIO()
    figure.savefig(picture, dpi=120)
    with replacing(folder / "curve.png") as file:
        file.write(picture.getbuffer())


def _versions() -> dict[str, str]:
    return {
        "gymnosoma": gymnosoma.__version__,
        "gymnasium": gymnasium.__version__,
        "stable_baselines3": stable_baselines3.__version__,
        "torch": torch.__version__,
        "numpy": np.__version__,
    }
