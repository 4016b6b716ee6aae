"""Command ``oracle``."""

from __future__ import annotations

from pathlib import Path

from gymnosoma.agents.policies.registry import full_id, task_of
from gymnosoma.agents.support.files import locked
from gymnosoma.agents.support.schema import in_range
from gymnosoma.agents.support.workers import workers
from gymnosoma.envs.core.env.documentation import normaliser

from .arguments import Id, Processes
from .checkout import room


def oracle(
    env_id: Id,
    /,
    episodes: int = 64,
    generations: int = 60,
    population: int = 14,
    processes: Processes = 1,
    folder: Path = Path("oracle"),
    write: bool = False,
) -> None:
    """Find the 1 of an id's scale: a controller is fitted to each of some frozen episodes, twice, by CMA-ES.

    The mean of the best scores is found without learning. It counts as converged where the second half of the
    generations adds less than 1% of the scale, and the two searches differ by less than 2% of it. What is done is
    kept: after a kill or Ctrl-C the same command does what is left.

    Args:
        episodes: Frozen episodes, from seed 40000 on.
        generations, population: Of each search.
        folder: Where the results of the searches are kept.
        write: Write what was found into this checkout, assets/normalisers.toml; refused if it has not converged.
    """
    from gymnosoma.agents.learning import oracle as searched

    env_id = full_id(env_id)
    searched.oracle_of(env_id)
    in_range("episodes", episodes, 2, 1000)
    in_range("generations", generations, 2, 10_000)
    in_range("population", population, 4, 1000)
    publish = room("tools.publish") if write else None
    scale = normaliser(env_id)
    with locked("folder", folder), workers(processes) as engine:
        found = searched.search(env_id, episodes, generations, population, folder, engine)
    score, name = task_of(env_id).score, env_id.split("/")[1]
    print(
        f"{name}: {found.value:.5g} {score.unit}, the mean of {episodes} episodes ({found.start.mean():.5g} at first)"
    )
    steps = [generations * k // 4 - 1 for k in (1, 2, 3, 4)]
    print(
        "After a quarter, half, three quarters and all of the generations: "
        + ", ".join(f"{found.best[:, step].max(0).mean():.5g}" for step in steps)
    )
    shares = {} if scale is None else found.unconverged(scale["floor"])
    for what, (share, allowed) in shares.items():
        print(f"{what[0].upper()}{what[1:]} {share:.2%} of the scale; at most {allowed:.0%} counts as converged.")
    if publish:
        if scale is None or any(not share < allowed for share, allowed in shares.values()):
            raise ValueError("write must be given where the search has converged: give more --generations")
        numbers = len(searched.oracle_of(env_id).start)
        why = f"an oracle of {numbers} numbers, fitted to each of {episodes} episodes in {generations} generations"
        publish.freeze({env_id: {"best": float(f"{found.value:.4g}"), "bound": False, "why": why}})
        print("Written: assets/normalisers.toml.")
