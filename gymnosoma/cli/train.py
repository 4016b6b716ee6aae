"""Command ``train``."""

from __future__ import annotations

import json
import re
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gymnosoma.agents.policies.lookup import shipped
from gymnosoma.agents.policies.registry import full_id, references_of, task_class
from gymnosoma.agents.policies.repository import PICTURE, write_repository
from gymnosoma.agents.support.files import check_installed, check_saved, locked, replacing
from gymnosoma.agents.support.interruption import noted_signals
from gymnosoma.agents.support.workers import Unfinished, Workers, watched, workers
from gymnosoma.envs import register_model
from gymnosoma.envs.core.arguments import whole
from gymnosoma.envs.core.env.documentation import figures
from gymnosoma.envs.wrappers import make_vec

from .arguments import Arguments, Id, Params, Processes, folder_part, read_arguments
from .evaluate import measure, show

if TYPE_CHECKING:
    from gymnosoma.agents.learning.training import Training

STOPPING, LAST = (
    (signal.SIGINT, signal.SIGTERM),
    "\nStopping after the current update to save the run. Press Ctrl-C again to stop immediately.\n",
)
"""Signals that end a training after the current update, and the message shown then."""


def train(
    env_id: Id = "",
    /,
    model: Path | None = None,
    task: Literal["pose"] = "pose",
    joint: str | None = None,
    fixed: tuple[str, ...] = (),
    ranges: Literal["end", "limit", "ignore"] = "end",
    film: Path | None = None,
    algorithm: Literal["ppo", "sac", "cma", "supervised", None] = None,
    steps: int | None = None,
    num_envs: int | None = None,
    imitate: str | None = None,
    controller: str | None = None,
    env: Arguments = (),
    param: Params = (),
    recipe: Path | None = None,
    seed: int = 0,
    seeds: int = 1,
    folder: Path | None = None,
    resume: bool = False,
    checkpoint: int = 100_000,
    threads: int = 1,
    episodes: int = 64,
    processes: Processes = 1,
) -> None:
    """Train a policy and compare it with the animal's own controllers.

    It first prints the expected time, and the scores of the animal and of the policy included in the package. The
    progress bar shows the learning curve. The run folder is a model repository, see the guide "Publish a policy".

    Ctrl-C and SIGTERM stop the training after the current update and save the run; --resume continues it exactly. A
    second Ctrl-C stops immediately, and the updates after the last checkpoint are lost.

    Args:
        model: Train on this OpenSim, MuJoCo or TOML model instead of ID. Its parts that are not supported are left out.
            The run folder gets a film of an episode, unless --film names another file.
        task: Task for --model. pose moves a joint to a goal and holds it there.
        joint: Joint to move. By default, the last.
        fixed: Joints of the model to hold at their start position, such as those of the pelvis.
        ranges: Meaning of the joints' ranges: end ends an episode when a joint leaves its range, limit stops the joint,
            and ignore does neither.
        film: Film or still image of an episode of the trained policy (.mp4, .gif, .png); with several seeds, the run
            folders get their own films instead.
        algorithm: Learning algorithm. By default, the recipe's.
        steps: Total number of steps. By default, the recipe's.
        num_envs: Number of parallel environments. By default, the recipe's.
        imitate: Reference controller, such as baseline, that PPO imitates before it learns; "" for none.
        controller: With cma, the reference to optimise, such as baseline; "" optimises the weights of a network. With
            supervised, the reference that moves the animal while a network learns the answers.
        recipe: TOML file with training settings. By default, the environment's recipe.
        seed: Random seed for the network and the environments.
        seeds: Number of runs, with seeds SEED, SEED + 1, ... They run one after another, or in parallel with
            --processes. The number of the seed is added to the name of each run folder.
        folder: Run folder. By default, runs/ID-ALGORITHM-SEED; arguments of --env are inserted before the seed.
        resume: Continue the run in the folder from its last checkpoint. With several seeds, continue the runs that
            exist and start the rest. Resume only your own runs, because a checkpoint can execute code.
        checkpoint: Steps between checkpoints.
        threads: CPU threads of the network.
        episodes: Number of episodes of the final evaluation. `evaluate` plays different episodes by default.
    """
    from gymnosoma.agents.learning.runs import recipe as read_recipe
    from gymnosoma.agents.learning.training import Training
    from gymnosoma.films.reel import FORMATS, show_episode

    for name, value in (("episodes", episodes), ("seeds", seeds)):
        whole(name, value, 1, 10**9)
    if (model is None) == (env_id == ""):
        raise ValueError("train needs either ID or --model FILE")
    if model is not None or film is not None:
        check_saved("film", [[film or Path("episode.gif")]], FORMATS)
    several = processes > 1
    if several and seeds == 1:
        raise ValueError("processes has no effect on a single run; combine it with --seeds")
    if model is not None:
        if several:
            raise ValueError("processes must not be given with --model: other processes do not know the model")
        env_id = _registered(model, joint, fixed, ranges)
    env_id, arguments = full_id(env_id), read_arguments(env, param)
    request = Training(
        env_id,
        algorithm,
        steps=steps,
        num_envs=num_envs,
        imitate=imitate,
        controller=controller,
        env=arguments,
        recipe_file=recipe,
        checkpoint=checkpoint,
        threads=threads,
    )
    chosen = read_recipe(env_id, algorithm, recipe)["algorithm"]
    stem = folder or Path("runs") / f"{env_id.split('/')[1]}-{chosen}{folder_part(arguments)}"
    folders = {k: stem.with_name(f"{stem.name}-{k}") for k in range(seed, seed + seeds)}
    if folder is not None and seeds == 1:
        folders = {seed: folder}
    config: dict[str, Any] = {}
    for k, place in folders.items():
        again = resume and (seeds == 1 or (place / "config.json").exists())
        config = replace(request, seed=k).check(place, resume=again)
    check_installed({"cma": "cma", "supervised": "torch"}.get(config["algorithm"], "stable_baselines3"))
    names = [*references_of(env_id), "random", *(["trained"] if shipped(env_id).is_dir() else [])]
    _announce(config, seeds, (seeds + len(names)) * episodes)
    if several:
        with workers(processes) as engine:
            rows = _train_together(request, folders, episodes, engine)
    else:
        rows = []
        for k, place in folders.items():
            rows.append(_train_one(replace(request, seed=k), place, episodes))
    others = measure(env_id, names, episodes, 1000)
    for place, row in zip(folders.values(), rows, strict=True):
        _note_scores(place, row, others)
        show_episode(env_id, str(place), place / PICTURE, **arguments)
        write_repository(place)
    show([*rows, *others])
    for place in folders.values() if model is not None or film is not None else ():
        path = place / "episode.gif" if film is None or len(folders) > 1 else film
        show_episode(env_id, str(place), path, **arguments)
        print(f"Film of an episode: {path}")
    print(f"Policy, learning curve and evaluation are in {', '.join(map(str, folders.values()))}.")
    _conclude(rows, others, next(iter(folders.values())))


LEARNING = {"ppo": 50e-6, "sac": 3e-3, "cma": 5e-6, "supervised": 1e-3}
"""CPU time (s) per step for learning, in addition to the environment's, with the settings of the recipes."""

TRIED = 0.3
"""CPU time (s) for which `_announce` steps environments to measure their speed."""


def _announce(config: Mapping[str, Any], seeds: int, played: int) -> None:
    """Print the expected time, and the published scores of the animal and of the policy included in the package.

    The time includes the ``played`` episodes of the evaluation.
    """
    env_id = config["id"]
    envs: Any = make_vec(env_id, config["num_envs"], **config["env"])
    envs.reset(seed=0)
    action = np.zeros(envs.action_space.shape, np.float32)
    envs.step(action)  # compiles
    started, count = time.process_time(), 0
    while (spent := time.process_time() - started) < TRIED:
        envs.step(action)
        count += envs.num_envs
    envs.close()
    steps, rest = seeds * config["steps"], played * envs.spec.max_episode_steps
    seconds = (steps + rest) * spent / count + steps * LEARNING[config["algorithm"]]
    text = f"{seconds / 60.0:.0f} min" if seconds > 90.0 else f"{seconds:.0f} s"
    runs = f", {seeds} runs" if seeds > 1 else ""
    print(f"{env_id}: {config['algorithm']}, {config['steps']:,} steps{runs}, about {text} on one core.")
    policies = figures().get(env_id, {}).get("policies", {})
    names = {"baseline": "the animal's own controller", "trained": "the trained policy of the package"}
    scores = [f"{text} {policies[name]['mean']:.4g}" for name, text in names.items() if name in policies]
    if scores:
        score = task_class(env_id).score
        unit = f" [{score.unit}]" if score.unit != "1" else ""
        print(f"Published {score.name}{unit}: {', '.join(scores)}.", flush=True)


def _conclude(rows: Sequence[Mapping[str, Any]], others: Sequence[Mapping[str, Any]], place: Path) -> None:
    """Print how the mean score compares with those of the animal and of the package's policy, and a next command."""
    mean = sum(row["score_mean"] for row in rows) / len(rows)
    unit = f" {rows[0]['unit']}" if rows[0]["unit"] != "1" else ""
    names = {"baseline": "the animal's own controller", "trained": "the trained policy of the package"}
    for row in others:
        if row["policy"] in names:
            difference = mean - row["score_mean"]
            side = "above" if difference > 0.0 else "below"
            print(f"Your policy is {abs(difference):.4g}{unit} {side} {names[row['policy']]}.")
    name = rows[0]["id"].removeprefix("gymnosoma/")
    print(f"Watch it: gymnosoma render {name} --policy {place} --save film.mp4")


def _registered(model: Path, joint: str | None, fixed: Sequence[str], ranges: str) -> str:
    """Register the environment of a model file and return its id; parts that are left out are printed."""
    from gymnosoma.biomechanics import READERS, import_model

    source: Any = model
    if model.suffix.lower() in READERS:
        source, report = import_model(model, partial=True)
        for entry in report.refused:
            print(f"left out: {entry}")
    env_id = f"gymnosoma/{re.sub(r'[^A-Za-z0-9]', '', model.stem) or 'Model'}-v0"
    register_model(env_id, source, joint=joint, fixed=fixed, ranges=ranges)
    return env_id


def _train_one(request: Training, place: Path, episodes: int) -> dict[str, Any]:
    """Train until the goal or a signal, and return the scores."""
    with noted_signals(*STOPPING, message=LAST) as caught:
        request.run(place, resume=(place / "config.json").exists(), stop=lambda: caught)
    if caught:
        print(f"Interrupted. Everything is in {place}; continue with --resume.")
        sys.exit(128 + caught[0])
    return measure(request.env_id, [str(place)], episodes, 1000)[0]


def _train_seed(request: Training, place: Path, episodes: int) -> dict[str, Any]:
    """Train in a worker process and return the scores."""
    request.run(place, resume=(place / "config.json").exists())
    return measure(request.env_id, [str(place)], episodes, 1000)[0]


def _train_together(
    request: Training, folders: Mapping[int, Path], episodes: int, engine: Workers
) -> list[dict[str, Any]]:
    """Train and evaluate several seeds in parallel; existing runs continue from their last checkpoint."""
    jobs = {str(place): (replace(request, seed=seed), place, episodes) for seed, place in folders.items()}
    outcomes = watched(engine.work(_train_seed, jobs), jobs, "run")
    failed = [f"{name}: {outcome.error}" for name, outcome in outcomes.items() if outcome.error is not None]
    if failed:
        raise Unfinished("; ".join(failed) + "; use --resume to continue")
    return [outcome.value for outcome in outcomes.values()]


def _note_scores(place: Path, own: dict[str, Any], others: Sequence[dict[str, Any]]) -> None:
    from gymnosoma.agents.policies.card import add_scores

    with locked("folder", place):
        with replacing(place / "evaluation.json") as file:
            file.write((json.dumps([own, *others], indent=2) + "\n").encode())
        add_scores(place, own)
