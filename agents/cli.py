"""The command line: ``python train.py COMMAND`` in a checkout, ``gymnosoma COMMAND`` once installed."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

try:
    import tyro
    from rich.console import Console
    from rich.table import Table
    from tqdm import tqdm
except ImportError as missing:  # the core installs without the command line
    sys.exit(f"error: {missing.name} is not installed: pip install 'gymnosoma[train]'")

import gymnasium

import gymnosoma.envs

from .evaluate import evaluate as measure
from .evaluate import find_policy, full_id, references, show, summary, task_of

Id = Annotated[
    str, tyro.conf.arg(metavar="ID", help="An environment, such as WormSwim-v0; see `list`."), tyro.conf.Positional
]
Options = Annotated[
    tuple[str, ...],
    tyro.conf.arg(metavar="NAME=VALUE", help="Reset option or physical parameter in SI, a number; may be repeated."),
    tyro.conf.UseAppendAction,
]


def list_() -> None:
    """Show all environments: what is asked, for how long, what actions may mean, reference controllers."""
    table = Table(box=None, show_header=False, padding=(0, 1, 1, 0))
    for name, *_ in gymnosoma.envs.CATALOGUE:
        env_id = full_id(name)
        task, spec = task_of(env_id), gymnasium.spec(env_id)
        first = (type(task).__doc__ or "").strip().splitlines()[0]
        seconds = f"{(spec.max_episode_steps or 0) / task.rate:.4g} s at {task.rate:g} Hz"
        sizes = f"{task.layout.size} observations, {task.action_size} actions ({', '.join(task.levels)})"
        table.add_row(f"[bold]{name}", f"{first}\n[dim]{seconds}; {sizes}; references: {', '.join(references(env_id))}")
    Console().print(table)


def train(
    env_id: Id,
    /,
    algorithm: Literal["ppo", "sac"] | None = None,
    steps: int | None = None,
    num_envs: int | None = None,
    seed: int = 0,
    folder: Path | None = None,
    resume: bool = False,
    checkpoint: int = 100_000,
    threads: int = 1,
    episodes: int = 64,
) -> None:
    """Train a policy, then compare it with the animal's own controllers.

    Ctrl-C stops the training and keeps everything; --resume continues it.

    Args:
        env_id: An environment, such as WormSwim-v0; see `list`.
        algorithm: Instead of the recipe's.
        steps: Steps in all, instead of the recipe's.
        num_envs: Animals trained on side by side, instead of the recipe's.
        seed: Of the network and the animals.
        folder: Run folder; runs/ID-ALGORITHM-SEED by default.
        resume: Continue the run in the folder from its last checkpoint.
        checkpoint: Steps between checkpoints.
        threads: Threads of the network.
        episodes: Episodes of the evaluation at the end; not those that `evaluate` takes.
    """
    from . import training

    if episodes < 1:
        raise ValueError(f"episodes must be at least 1, got {episodes!r}")
    env_id = full_id(env_id)
    if folder is None:
        chosen = training.recipe(env_id, algorithm)["algorithm"]
        folder = Path("runs") / f"{env_id.split('/')[1]}-{chosen}-{seed}"
    finished = training.train(env_id, folder, algorithm, steps, num_envs, seed, checkpoint, threads, resume)
    if not finished:
        print(f"Interrupted. Everything is in {folder}; continue with --resume.")
        sys.exit(130)
    rows = _measure(env_id, [str(folder), *references(env_id), "random"], episodes, 1000)
    (folder / "evaluation.json").write_text(json.dumps(rows, indent=2) + "\n")
    show(rows)
    print(f"Policy, learning curve and evaluation are in {folder}.")


def evaluate(
    env_id: Id,
    /,
    policy: tuple[str, ...] = ("baseline",),
    episodes: int = 64,
    seed: int = 0,
    scheme: str | None = None,
    option: Options = (),
    json_file: Path | None = None,
) -> None:
    """Measure policies on the same episodes.

    Args:
        env_id: An environment, such as WormSwim-v0; see `list`.
        policy: Any of: baseline or another reference of `list`, trained, random, run folders, policy.zip files.
        episodes: Episodes of each.
        seed: Of the first episode; episode i has seed + i.
        scheme: Time-stepping scheme, instead of the default.
        option: Reset option or physical parameter in SI, such as texture=1; may be repeated.
        json_file: Also write the figures there.
    """
    env_id = full_id(env_id)
    _writable(json_file)
    rows = _measure(env_id, policy, episodes, seed, _options(option), **({} if scheme is None else {"scheme": scheme}))
    if json_file is not None:
        json_file.write_text(json.dumps(rows, indent=2) + "\n")
    show(rows)


def render(
    env_id: Id,
    /,
    policy: str = "baseline",
    save: Path | None = None,
    seconds: float | None = None,
    seed: int = 0,
    ghost: str = "baseline",
    option: Options = (),
    rate: float | None = None,
    size: str = "960x540",
) -> None:
    """Show one episode in a window, or save it as a film or a still.

    Ctrl-C ends it and keeps what was drawn.

    Args:
        env_id: An environment, such as WormSwim-v0; see `list`.
        policy: baseline or another reference of `list`, trained, random, a run folder or a policy.zip.
        save: A film, .mp4 or .gif, or its last moment, .png; a window by default.
        seconds: Of simulated time; the whole episode by default.
        seed: Of the episode.
        ghost: Another policy, drawn translucent beside it, or none.
        option: Reset option or physical parameter in SI, such as texture=1; may be repeated.
        rate: Of the control in Hz, and so of the frames, instead of the task's: what is quick is seen at a high one.
        size: Of a frame, in pixels.
    """
    from . import render as film

    started = time.monotonic()
    shadow = None if ghost == "none" else ghost
    played = film.render(
        full_id(env_id), policy, save, seconds, seed, shadow, *_size(size), options=_options(option), rate=rate
    )
    if save is not None:
        print(f"Wrote {save}: {played} moments, {played / (time.monotonic() - started):.0f} a second.")


def play(env_id: Id, /, seed: int = 0, size: str = "960x540") -> None:
    """Steer the animal with the keyboard.

    Args:
        env_id: An environment, such as WormCrawl-v0; see `list`.
        seed: Of the first episode.
        size: Of the window, in pixels.
    """
    from . import play as game

    game.play(full_id(env_id), seed, *_size(size))


def _size(size: str) -> tuple[int, int]:
    width, _, height = size.partition("x")
    if not (width.isdecimal() and height.isdecimal()):
        raise ValueError(f"size must be WIDTHxHEIGHT in pixels, such as 960x540, got {size!r}")
    return int(width), int(height)


def _options(given: Sequence[str]) -> dict[str, float]:
    options: dict[str, float] = {}
    for text in given:
        name, _, value = text.partition("=")
        try:
            options[name] = float(value)
        except ValueError:
            name = ""
        if not name:
            raise ValueError(f"option must be NAME=VALUE with a number, such as texture=1, got {text!r}")
    return options


def _measure(
    env_id: str,
    policies: Sequence[str],
    episodes: int,
    seed: int,
    options: Mapping[str, float] | None = None,
    **env: Any,
) -> list[dict[str, Any]]:
    if episodes < 1:
        raise ValueError(f"episodes must be at least 1, got {episodes!r}")
    if not policies:
        raise ValueError("policy must name at least one, such as baseline or random")
    if seed < 0:
        raise ValueError(f"seed must be at least 0, got {seed!r}")
    found = [find_policy(env_id, name) for name in policies]
    rows: list[dict[str, Any]] = []
    with tqdm(total=len(found) * episodes, unit="episode", leave=False) as bar:

        def watch(ended: int) -> None:
            bar.update(len(rows) * episodes + ended - bar.n)

        for policy in found:
            asked = {"seed": seed, "options": dict(options or {}), "env": {**policy.env, **env}}
            rows.append(summary(env_id, policy, measure(env_id, policy, episodes, seed, watch, options, **env)) | asked)
    return rows


def figures(figure: tuple[Literal[2, 3, 4, 5], ...] = (2, 3, 4, 5), folder: Path = Path("figures")) -> None:
    """Draw the figures of Chung et al. (2024) from simulations.

    Args:
        figure: Which.
        folder: Where the pictures go.
    """
    from . import figures as drawn

    for path in drawn.figures(folder, figure):
        print(path)


def speed(
    animal: tuple[Literal["worm", "lamprey", "whisker_chain", "whisker_rod", "neuromechanic"], ...] = (
        "worm",
        "lamprey",
        "whisker_chain",
        "whisker_rod",
        "neuromechanic",
    ),
    seconds: float = 10.0,
    repeats: int = 5,
    json_file: Path | None = None,
) -> None:
    """Measure the speed on one core: alone, in lanes, and of peers (ElegansBot, MuJoCo, PyElastica) that are installed.

    Args:
        animal: Which.
        seconds: Simulated time after which the worm's errors are compared.
        repeats: Times that everything is measured, in turn; medians are shown.
        json_file: Also write the figures there.
    """
    _writable(json_file)
    from dataclasses import asdict

    from . import limbs
    from . import speed as measured

    if not seconds > 0 or repeats < 1:
        raise ValueError(f"seconds must be greater than 0 and repeats at least 1, got {seconds!r} and {repeats!r}")
    parts: dict[str, Callable[[], list[measured.Row]]] = {}
    for name in animal:
        if name == "worm":
            parts[f"Simulation: {name}"] = partial(measured.bodies, seconds, repeats)
        elif name == "neuromechanic":
            parts["Simulation: the cat's hindlimb, the standing figure"] = partial(limbs.limbs, repeats)
        else:
            parts[f"Simulation: {name}"] = partial(measured.models, name, repeats)
    parts["Environments: steps a second"] = partial(measured.environments, animal, repeats)
    if "worm" in animal:
        parts["Environments: time of a call"] = partial(measured.overhead, repeats)
    rows = []
    for title, part in tqdm(parts.items(), leave=False):
        rows.append((title, part()))
    for title, part_rows in rows:
        measured.report(part_rows, title)
    if json_file is not None:
        figures = {title: [asdict(row) for row in part_rows] for title, part_rows in rows}
        json_file.write_text(json.dumps(figures, indent=2) + "\n")


def benchmark(
    ids: Annotated[tuple[str, ...], tyro.conf.Positional] = (),
    /,
    policy: tuple[str, ...] = ("random", "baseline", "best constant", "trained"),
    episodes: int = 64,
    seed: int = 0,
    folder: Path = Path("benchmark"),
    rerun: Path | None = None,
) -> None:
    """Compare chance, the animals' own controllers, the best constant parameters and trained policies.

    Scores are normalised so that chance is 0 and the animal's own controller 1, where these differ by more
    than three standard errors. The folder gets the figures as JSON, and a picture.

    Args:
        ids: Environments; all by default.
        policy: As for `evaluate`, and "best constant": found by a search of its own.
        episodes: Episodes of each policy.
        seed: Of the first episode.
        folder: Where the results go.
        rerun: Repeat the benchmark of this JSON file, with its settings.
    """
    from . import benchmark as measured

    if episodes < 2:
        raise ValueError(f"episodes must be at least 2, got {episodes!r}")
    if rerun is not None and ids:
        raise ValueError(f"ids must not be given with --rerun, which repeats those of {str(rerun)!r}; got {ids!r}")
    names = [full_id(name) for name in ids] or [full_id(name) for name, *_ in gymnosoma.envs.CATALOGUE]
    for env_id in names:
        for name in policy:
            if name not in (measured.CONSTANT, "trained"):
                find_policy(env_id, name)  # a wrong name is told before the work, not after
    with Console(stderr=True).status("") as status:
        results = (
            measured.benchmark(names, policy, episodes, seed, status.update)
            if rerun is None
            else measured.rerun(rerun, status.update)
        )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "benchmark.json").write_text(json.dumps(results, indent=1) + "\n")
    measured.draw(results, folder / "benchmark.png")
    measured.show(results)
    print(f"Figures and picture are in {folder}.")


def _writable(path: Path | None) -> None:
    """Refuse a file that could not be written, before the work whose results it is to hold."""
    if path is not None and not path.parent.is_dir():
        raise ValueError(f"json_file must lie in a folder that exists, got {str(path)!r}")


def main() -> None:
    """Run the command line."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # torch's threads cost more than they gain on small networks
    commands: dict[str, Callable[..., Any]] = {
        "list": list_,
        "train": train,
        "evaluate": evaluate,
        "benchmark": benchmark,
        "figures": figures,
        "speed": speed,
        "render": render,
        "play": play,
    }
    try:
        tyro.extras.subcommand_cli_from_dict(commands, prog="gymnosoma", description=gymnosoma.__doc__)
    except (ValueError, TypeError, OSError, gymnasium.error.Error) as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
