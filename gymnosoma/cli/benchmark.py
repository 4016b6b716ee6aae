"""Command ``benchmark``."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Annotated

import tyro

from gymnosoma.agents.benchmark import jobs as listed
from gymnosoma.agents.learning.search import CONSTANT
from gymnosoma.agents.policies.lookup import OWN, find_policy
from gymnosoma.agents.policies.registry import all_ids, full_id, references_of
from gymnosoma.agents.support.files import check_installed, locked, replacing
from gymnosoma.agents.support.schema import in_range
from gymnosoma.agents.support.workers import workers

from .arguments import Processes, Ray


def benchmark(
    ids: Annotated[tuple[str, ...], tyro.conf.Positional] = (),
    /,
    policy: tuple[str, ...] | None = None,
    train_seeds: int = 0,
    steps: int | None = None,
    episodes: int | None = None,
    processes: Processes = 1,
    ray: Ray = None,
    folder: Path = Path("benchmark"),
    write: bool = False,
    floor: bool = False,
    ship: bool = False,
    restart: bool = False,
) -> None:
    """Compare chance, the animals' own controllers, the best constant parameters and trained policies.

    The work is a list of jobs: a policy on an id, or one training. Each leaves a file in the folder when it is done;
    after a kill, Ctrl-C or a full disk the same command does what is left, and repeats nothing but the job that was
    under way (a training goes on from its checkpoint). What is kept counts only as long as the environments behave as
    they did, and the policies' files are what they were. Scores are normalised so that the better of the animal's own
    controller and of zero actions is 0, and what an oracle found, or a bound that none can pass, 1; the mean over all
    ids, of which no training counts as less than -1, is shown. The folder gets the figures as JSON, and pictures.

    Args:
        ids: Environments; all by default.
        policy: As for `evaluate`, and "best constant": found by a search of its own. By default random, zero, all
            references, best constant, trained, and a replay of one of these. Chance and the animal's own controller
            are always among them. Of module:function the file of the module is compared with the one that was
            measured; what it imports or reads is not seen.
        train_seeds: Trainings of "trained" by the recipe, from seed 0 on; with 0 it is what comes with the package.
        steps: Of a training, instead of the recipe's.
        episodes: Of each policy, instead of 256, or 1024 where an answer is right or wrong.
        folder: Where the results go; with results of the same settings what is missing is added.
        write: Write the figures into this checkout: assets/benchmark.json, README's table, pictures and learning
            curves in docs.
        floor: Set what normalised scores call 0, in assets/normalisers.toml, to what was found.
        ship: Copy the best trainings within the limits of the task, by other episodes than are reported, into
            assets/policies, where they are better than what is there.
        restart: Measure and train anew what was found with other settings, files or behaviour, instead of refusing.
    """
    from gymnosoma.agents.benchmark import benchmark as measured
    from gymnosoma.agents.benchmark import pictures

    check_installed("matplotlib", *(["stable_baselines3", "cma"] if train_seeds else []))
    if episodes is not None:
        in_range("episodes", episodes, 2, listed.MAX_EPISODES)
    in_range("train_seeds", train_seeds, 0, 1000)
    names = [full_id(name) for name in ids] or all_ids()
    for env_id in names:
        for name in policy or ():
            if name not in (CONSTANT, "trained") and (name != "baseline" or references_of(env_id)):
                find_policy(env_id, name)  # a wrong name is refused before the work
    for name in filter(OWN.fullmatch, policy or ()):
        print(f"{name} is known by the file of its module: what that imports or reads is not seen.")
    jobs = [job for env_id in names for job in listed.jobs_of(env_id, policy, train_seeds, episodes, steps)]
    publish = import_module("tools.publish") if write or floor or ship else None
    root = publish.checkout() if publish else Path()
    with locked("folder", folder), workers(processes, ray) as engine:
        if restart:
            listed.discard_changed(jobs, folder)
        results = measured.benchmark(jobs, folder, engine)
        found = measured.gather(jobs, folder)
        if publish and ship:
            print(*publish.ship(jobs, found, folder, root), sep="\n")
        if publish and write:
            publish.add_shipped(results, engine)
        with replacing(folder / "benchmark.json") as file:
            file.write((json.dumps(results, indent=1) + "\n").encode())
        measured.show(results)
        pictures.draw_scores(results, folder / "benchmark.png")
        drawn = ["benchmark.png"]
        if pictures.draw_profiles(found, list(results["aggregate"]), folder / "profiles.png"):
            drawn.append("profiles.png")
        curves = measured.curves_of(found)
        if curves:
            pictures.draw_curves(curves, results["results"], folder / "curves.png")
    print(f"Figures and pictures are in {folder}.")
    if publish is None:
        return
    if floor:
        publish.freeze(publish.floors(found))
    if write:
        written = publish.write(results, curves, root)
        pictures.draw_scores(written, root / "docs" / "benchmark.png")
        if written["aggregate"]:  # of all ids
            for name in drawn[1:]:
                (root / "docs" / name).write_bytes((folder / name).read_bytes())
        print(f"Written: assets/benchmark.json, README's table, and pictures and {publish.CURVES} in docs.")
