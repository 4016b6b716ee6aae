"""Command ``train``."""

from __future__ import annotations

import json
import re
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import tyro

from gymnosoma.agents.learning import training
from gymnosoma.agents.learning.runs import CONFIG, RunConfig, recipe
from gymnosoma.agents.learning.training import TrainConfig, run_config
from gymnosoma.agents.policies.card import add_scores
from gymnosoma.agents.policies.evaluation import Summary
from gymnosoma.agents.policies.lookup import shipped
from gymnosoma.agents.policies.models import ModelEnv
from gymnosoma.agents.policies.registry import ALGORITHMS, full_id, references_of, task_class
from gymnosoma.agents.policies.repository import PICTURE, write_repository
from gymnosoma.agents.support.files import check_installed, check_saved, locked, replacing, to_json
from gymnosoma.agents.support.interruption import noted_signals
from gymnosoma.agents.support.workers import run_jobs, values_of, workers
from gymnosoma.envs.core.arguments import choice, plain, shown, whole
from gymnosoma.envs.core.env.documentation import figures
from gymnosoma.envs.neuromechanic.tasks import Pose
from gymnosoma.envs.wrappers import make_vec

from .arguments import Arguments, Params, Processes, Ray, folder_part, read_arguments
from .evaluate import measure, show

MODELS = (".osim", ".xml", ".mjb", ".toml")
"""File suffixes of models."""

STOPPING, LAST = (
    (signal.SIGINT, signal.SIGTERM),
    "\nStopping after the current update to save the run. Press Ctrl-C again to stop immediately.\n",
)
"""Signals that end a training after the current update, and the message shown then."""


@dataclass(frozen=True)
class ModelOptions:
    """Options for a model file.

    Args:
        joint: Joint of the model to move to a goal and hold there. By default, the last.
        goal: Goal of the joint in degrees, or in m for a sliding joint. With two numbers, each episode draws a goal
            between them. By default, it draws one from the middle half of the joint's range.
        fixed: Joints of the model to hold at their start position, such as those of the pelvis.
        ranges: Meaning of the ranges of the model's joints: end ends an episode when a joint leaves its range, limit
            stops the joint, and ignore does neither.
    """

    joint: str | None = None
    goal: tuple[float, ...] = ()
    fixed: tuple[str, ...] = ()
    ranges: Literal["end", "limit", "ignore"] = "end"


def train(
    target: Annotated[
        str,
        tyro.conf.arg(
            metavar="ID|MODEL",
            help="Environment, such as WormSwim-v0 (see `list`), module:ID, or an OpenSim (.osim), MuJoCo (.xml, .mjb) "
            "or TOML file of a model. Unsupported parts of the model are left out, and the run folder gets a film.",
        ),
        tyro.conf.Positional,
    ],
    /,
    config: Annotated[TrainConfig, tyro.conf.OmitArgPrefixes] = TrainConfig(),  # noqa: B008 - it is frozen
    model: Annotated[ModelOptions, tyro.conf.OmitArgPrefixes] = ModelOptions(),
    env: Arguments = (),
    param: Params = (),
    seeds: int = 1,
    folder: Path | None = None,
    resume: bool = False,
    episodes: int = 64,
    processes: Processes = 1,
    ray: Ray = None,
    film: Path | None = None,
) -> None:
    """Train a policy and compare it with the animal's own controllers.

    It first prints the expected time, and the scores of the animal and of the policy included in the package. The
    progress bar shows the learning curve. The run folder is a model repository, see the guide "Train a policy".

    Ctrl-C and SIGTERM stop the training after the current update and save the run; --resume continues it exactly. A
    second Ctrl-C stops immediately, and the updates after the last checkpoint are lost.

    Args:
        seeds: Number of runs, with seeds SEED, SEED + 1, ... They run one after another, or in parallel with
            --processes or --ray. The number of the seed is added to the name of each run folder.
        folder: Run folder. By default, runs/ID-ALGORITHM-SEED; arguments of --env are inserted before the seed.
        resume: Continue the run in the folder from its last checkpoint. With several seeds, continue the runs that
            exist and start the rest. Resume only your own runs, because a checkpoint can execute code.
        episodes: Number of episodes of the final evaluation. `evaluate` plays different episodes by default.
        film: Film or still image of an episode of the trained policy (.mp4, .gif, .png); with several seeds, the run
            folders get their own films instead.
    """
    from gymnosoma.films.reel import FORMATS, show_episode

    for name, value in (("episodes", episodes), ("seeds", seeds)):
        whole(name, value, 1, 10**9)
    imported = target.lower().endswith(MODELS)
    if imported or film is not None:
        check_saved("film", [[film or Path("episode.gif")]], FORMATS)
    option = "ray" if ray is not None else "processes" if processes > 1 else ""
    if option and seeds == 1:
        raise ValueError(f"{option} has no effect on a single run; combine it with --seeds")
    if option and imported:
        raise ValueError(f"{option} must not be given with a model: other processes do not know the model")
    arguments = read_arguments(env, param)
    for name, value in vars(model).items():
        if not imported and value != getattr(ModelOptions, name):
            raise ValueError(f"{name} must be left out without a model file, got {shown(value)}")
    own = read_model(target, model) if imported else None
    env_id = own.register() if own else full_id(target)
    options = {
        name: value if isinstance(value, str) else "_".join(f"{each:g}" if name == "goal" else each for each in value)
        for name, value in vars(model).items()
        if value != getattr(ModelOptions, name)
    }
    algorithm = recipe(env_id, config.algorithm, config.recipe).algorithm
    stem = folder or Path("runs") / f"{env_id.split('/')[1]}-{algorithm}{folder_part(options | arguments)}"
    single = folder is not None and seeds == 1
    runs: dict[Path, TrainConfig] = {}
    for seed in range(config.seed, config.seed + seeds):
        place = stem if single else stem.with_name(f"{stem.name}-{seed}")
        runs[place] = replace(config, seed=seed, env=arguments)
        checked = run_config(env_id, place, runs[place], resume and (seeds == 1 or (place / CONFIG).exists()))
    check_installed(*ALGORITHMS[algorithm].libraries)
    names = [*references_of(env_id), "random", *(["trained"] if shipped(env_id).is_dir() else [])]
    _announce(checked, seeds, (seeds + len(names)) * episodes)
    if option:
        with workers(processes, ray) as executor:
            training.train_all(env_id, runs, executor)
            jobs = {str(place): (env_id, [str(place)], episodes, 1000) for place in runs}
            rows = [row for (row,) in values_of(run_jobs(executor, measure, jobs, "evaluation"))]
    else:
        rows = [_train_one(env_id, each, place, episodes, own) for place, each in runs.items()]
    others = measure(env_id, names, episodes, 1000)
    for place, row in zip(runs, rows, strict=True):
        _save_scores(place, row, others)
        show_episode(env_id, str(place), place / PICTURE, **arguments)
        write_repository(place)
    show([*rows, *others])
    if own:
        slides = own.model["body"].get(own.joint, {}).get("joint", {}).get("type") == "prismatic"
        near = f"{100.0 * Pose.near:g} mm" if slides else f"{np.degrees(Pose.near):.1f} degrees"
        print(f"held: time until the end of the episode for which {own.joint} stays within {near} of the goal")
    for place in runs if imported or film is not None else ():
        path = place / "episode.gif" if film is None or seeds > 1 else film
        show_episode(env_id, str(place), path, **arguments)
        print(f"Film of an episode: {path}")
    print(f"Policy, learning curve and evaluation are in {', '.join(map(str, runs))}.")
    _conclude(rows, others, next(iter(runs)), own)


COMPARED = {"baseline": "the animal's own controller", "trained": "the trained policy of the package"}
"""Policies that a new policy is compared with in words."""

TRIED = 0.3
"""CPU time (s) for which `_announce` steps environments to measure their speed."""


def _announce(config: RunConfig, seeds: int, played: int) -> None:
    """Print the expected time, and the published scores of the animal and of the policy included in the package.

    The time includes the ``played`` episodes of the evaluation.
    """
    env_id = config.id
    envs: Any = make_vec(env_id, config.num_envs, **config.env)
    envs.reset(seed=0)
    action = np.zeros(envs.action_space.shape, np.float32)
    envs.step(action)  # compiles
    started, count = time.process_time(), 0
    while (spent := time.process_time() - started) < TRIED:
        envs.step(action)
        count += envs.num_envs
    envs.close()
    steps, rest = seeds * config.steps, played * envs.spec.max_episode_steps
    seconds = (steps + rest) * spent / count + steps * ALGORITHMS[config.algorithm].seconds
    text = f"{seconds / 60.0:.0f} min" if seconds > 90.0 else f"{seconds:.0f} s"
    runs = f", {seeds} runs" if seeds > 1 else ""
    print(f"{env_id}: {config.algorithm}, {config.steps:,} steps{runs}, about {text} on one core.")
    policies = figures().get(env_id, {}).get("policies", {})
    scores = [f"{text} {policies[name]['mean']:.4g}" for name, text in COMPARED.items() if name in policies]
    if scores:
        score = task_class(env_id).score
        unit = f" [{score.unit}]" if score.unit != "1" else ""
        print(f"Published {score.name}{unit}: {', '.join(scores)}.", flush=True)


def _conclude(rows: Sequence[Summary], others: Sequence[Summary], place: Path, own: ModelEnv | None) -> None:
    """Print how the mean score compares with those of the animal and of the package's policy, and a next command."""
    mean = sum(row.score_mean for row in rows) / len(rows)
    unit = f" {rows[0].unit}" if rows[0].unit != "1" else ""
    for row in others:
        if row.policy in COMPARED:
            difference = mean - row.score_mean
            if own:
                side = "longer" if difference > 0.0 else "shorter"
                print(f"Your policy holds the goal {abs(difference):.2g}{unit} {side} than the reflex controller.")
            else:
                side = "above" if difference > 0.0 else "below"
                print(f"Your policy is {abs(difference):.4g}{unit} {side} {COMPARED[row.policy]}.")
    name = place if own else rows[0].id.removeprefix("gymnosoma/")
    print(f"Watch it: gymnosoma render {name} --policy {place} --save film.mp4")


def read_model(file: str, options: ModelOptions) -> ModelEnv:
    """Read a model file, check the options, and print the parts that are left out and the task.

    Raises:
        ValueError: If the model cannot be read, an option is not allowed, or nothing holds the model.
    """
    from gymnosoma.biomechanics import READERS, import_model
    from gymnosoma.biomechanics.self_check import falling
    from gymnosoma.envs.neuromechanic import Neuromechanic
    from gymnosoma.envs.neuromechanic.model import changed, held

    path = Path(file)
    source: Any = path
    if path.suffix.lower() in READERS:
        source, report = import_model(path, partial=True)
        for entry in report.refused:
            print(f"left out: {entry}")
    source = json.loads(json.dumps(plain(changed(source, None))))
    animal = Neuromechanic(held(changed(source, None), options.fixed) if options.fixed else source)
    model = animal.model
    free = [body for body in model.bodies if body not in options.fixed]
    name = options.joint or free[-1]
    choice("joint", name, free)
    joint = model.joints[model.bodies.index(name)]
    unit, factor = ("degrees", np.pi / 180.0) if joint.revolute else ("m", 1.0)
    low, high = joint.low / factor, joint.high / factor
    if len(options.goal) > 2 or not all(low - 1e-9 <= each <= high + 1e-9 for each in options.goal):
        text = " ".join(f"{each:g}" for each in options.goal)
        allowed = f"one or two numbers from {low:.4g} to {high:.4g} {unit}, the range of {name}"
        raise ValueError(f"goal must be {allowed}, got {text}")
    goal = sorted({min(max(factor * each, joint.low), joint.high) for each in options.goal})
    drawn = options.goal or (0.75 * low + 0.25 * high, 0.25 * low + 0.75 * high)
    text = ("" if len(drawn) == 1 else "a goal from ") + " to ".join(f"{each:.4g}" for each in sorted(drawn))
    print(f"{path.name}: {len(model.bodies)} joints, {len(model.muscles)} muscles, {len(model.inputs)} inputs.")
    print(f"Task: move {name} to {text} {unit} (range {low:.4g} to {high:.4g}) and hold it there.", flush=True)
    if loose := falling(animal):
        names = " ".join(loose)
        raise ValueError(f"fixed must hold the model, which falls because nothing carries it: use --fixed {names}")
    return ModelEnv(
        f"gymnosoma/{re.sub(r'[^A-Za-z0-9]', '', path.stem) or 'Model'}-v0",
        source,
        name,
        goal[0] if len(goal) == 1 else goal or None,
        list(options.fixed),
        options.ranges,
    )


def _train_one(env_id: str, config: TrainConfig, place: Path, episodes: int, own: ModelEnv | None) -> Summary:
    """Train until the goal or a signal, and return the scores."""
    with noted_signals(*STOPPING, message=LAST) as caught:
        training.train(env_id, place, config, resume=(place / CONFIG).exists(), stop=lambda: caught)
    if own:
        own.save(place)
    if caught:
        print(f"Interrupted. Everything is in {place}; continue with --resume.")
        sys.exit(128 + caught[0])
    return measure(env_id, [str(place)], episodes, 1000)[0]


def _save_scores(place: Path, own: Summary, others: Sequence[Summary]) -> None:
    with locked("folder", place):
        with replacing(place / "evaluation.json") as file:
            file.write((json.dumps(to_json([vars(row) for row in (own, *others)]), indent=2) + "\n").encode())
        add_scores(place, own)
