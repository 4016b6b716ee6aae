"""Compares chance, the animals' own controllers, the best constant parameters and trained policies."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import ArrayLike, NDArray

import gymnosoma

from .policies import Policy, evaluate, find_policy, full_id, reference_policy, references_of, shipped, task_of
from .rollout import SideBySide, rollout

CONSTANT = "best constant"
"""Name of the policy that the benchmark searches itself."""

POLICIES = ("random", "baseline", CONSTANT, "trained")

SEARCHED, COMPARED, FINALISTS = 4, 32, 8
"""Episodes of a candidate in the search; of a finalist after it; number of these."""


def search(env_id: str, generations: int = 30, seed: int = 0) -> tuple[dict[str, float], Policy] | None:
    """Find the best constant parameters of the reference of an id that has bounds, by differential evolution.

    What comes out of few episodes is lucky: the best of the last generation, and the reference as it is, are then
    compared in more episodes, which are others.

    Parameters
    ----------
    env_id : str
    generations : int
        Of 8 candidates per parameter, all played side by side, each in four episodes.
    seed : int

    Returns
    -------
    parameters, policy
        Empty parameters are the reference's own. None where the id has no such reference.
    """
    from scipy.optimize import differential_evolution

    found = next((reference for reference in references_of(env_id).values() if reference.bounds), None)
    if found is None:
        return None
    reference, bounds = found, found.bounds
    score = task_of(env_id).score

    def play(candidates: Sequence[Mapping[str, float]], episodes: int, first: int) -> NDArray[np.float64]:
        envs: Any = gymnasium.make_vec(env_id, num_envs=len(candidates) * episodes, **reference.env)
        agents = [reference_policy(CONSTANT, reference, **parameters).make(envs, 0) for parameters in candidates]
        seeds = [first + k for _ in candidates for k in range(episodes)]
        result = rollout(envs, SideBySide(agents), seed=seeds)
        return result.score(score).reshape(-1, episodes).mean(1)

    def named(vector: NDArray[np.float64]) -> dict[str, float]:
        return {name: float(value) for name, value in zip(bounds, vector, strict=True)}

    evolved = differential_evolution(
        lambda candidates: -play([named(vector) for vector in np.atleast_2d(candidates.T)], SEARCHED, seed),
        list(bounds.values()),
        maxiter=generations,
        popsize=8,
        seed=seed,
        polish=False,
        updating="deferred",
        vectorized=True,
    )
    order = np.argsort(evolved.population_energies)[: FINALISTS - 1]
    finalists = [{}, *(named(vector) for vector in evolved.population[order])]
    parameters = finalists[int(np.argmax(play(finalists, COMPARED, seed + SEARCHED)))]
    return parameters, reference_policy(CONSTANT, reference, **parameters)


def interval(values: NDArray[np.float64], seed: int = 0) -> tuple[float, float]:
    """Bootstrap interval (95%) of the mean."""
    from scipy.stats import bootstrap

    if len(values) < 2 or np.ptp(values) == 0:
        return float(values.mean()), float(values.mean())
    low, high = bootstrap((values,), np.mean, method="percentile", rng=np.random.default_rng(seed)).confidence_interval
    return float(low), float(high)


def benchmark(
    ids: Sequence[str],
    policies: Sequence[str] = POLICIES,
    episodes: int = 64,
    seed: int = 0,
    watch: Callable[[str], None] = lambda text: None,
    trust: bool = False,
) -> dict[str, Any]:
    """Measure policies on ids.

    Parameters
    ----------
    ids : list of str
    policies : list of str
        As for ``evaluate``, and ``best constant``: found by a search of its own. ``random`` and
        ``baseline`` are always among them: normalised scores call chance 0. An id is measured without what it
        does not have: references, something to search, a trained policy.
    episodes : int
        Seeds per policy.
    seed : int
        Of the first episode.
    watch : callable
        Told what is being measured.
    trust : bool
        As of `find_policy`.

    Returns
    -------
    dict
        Ready for JSON: settings, versions and for each id the scores of every episode, their mean,
        interval, and normalised mean; and over all ids the aggregate of each policy.
    """
    results: dict[str, Any] = {}
    chosen = list(dict.fromkeys(["random", "baseline", *policies]))
    for env_id in ids:
        score = task_of(env_id).score
        table: dict[str, Any] = {}
        own = references_of(env_id)
        for name in chosen:
            absent = {"trained": not shipped(env_id).is_dir(), "baseline": "baseline" not in own}
            if absent.get(name):
                continue
            watch(f"{env_id.split('/')[1]}: {name}")
            parameters = None
            if name == CONSTANT:
                found = search(env_id, seed=seed + 1000)
                if found is None:
                    continue
                parameters, policy = found
            else:
                policy = find_policy(env_id, name, seed, trust)
            played = evaluate(env_id, policy, episodes, seed)
            values = played.score(score) * score.factor
            table[name] = {
                "mean": float(values.mean()),
                "interval": interval(values),
                "failed": sum(reason is not None for reason in played.failures) / episodes,
                "episodes": [float(f"{value:.6g}") for value in values],
            }
            if parameters is not None:
                table[name]["parameters"] = parameters
        results[env_id] = {"score": score.name, "unit": score.unit, "best": score.best, "policies": table}
        _normalise(results[env_id])
    return {
        "settings": {"ids": list(ids), "policies": chosen, "episodes": episodes, "seed": seed},
        "versions": {"gymnosoma": gymnosoma.__version__, "gymnasium": gymnasium.__version__, "numpy": np.__version__},
        "results": results,
        "aggregate": {name: total for name in chosen if (total := aggregate(results, name, seed))},
    }


def _normalise(result: dict[str, Any]) -> None:
    """Scale so that chance is 0 and the best known 1, where chance is more than 3 standard errors away from that."""
    policies, best = result["policies"], result["best"]
    chance = np.array(policies["random"]["episodes"])
    start = policies["random"]["mean"]
    error = np.sqrt(chance.var(ddof=1) / len(chance)) if len(chance) > 1 else np.inf
    normalised = best is not None and abs(best - start) > 3 * error
    for entry in policies.values():
        entry["normalised"] = (entry["mean"] - start) / (best - start) if normalised else None


def interquartile_mean(values: ArrayLike) -> NDArray[np.float64]:
    """Mean of the middle half, over the last axis."""
    from scipy.stats import trim_mean

    return trim_mean(values, 0.25, axis=-1)


def aggregate(results: Mapping[str, Any], policy: str, seed: int = 0, samples: int = 1000) -> dict[str, Any] | None:
    """Sum up a policy over all ids where it has a normalised score.

    Parameters
    ----------
    results : mapping
        Of `benchmark`.
    policy : str
    seed, samples : int
        Of the bootstrap, which draws episodes anew within each id.

    Returns
    -------
    dict or None
        Interquartile ``mean`` of the normalised means, its 95% ``interval``, and the number of ``ids``.
    """
    rng = np.random.default_rng(seed)
    means, drawn = [], []
    for result in results.values():
        entry = result["policies"].get(policy)
        if entry is None or entry["normalised"] is None:
            continue
        start = result["policies"]["random"]["mean"]
        values = (np.array(entry["episodes"]) - start) / (result["best"] - start)
        means.append(entry["normalised"])
        drawn.append(rng.choice(values, (samples, len(values))).mean(1))
    if not means:
        return None
    low, high = np.quantile(interquartile_mean(np.stack(drawn, 1)), [0.025, 0.975])
    return {"mean": float(interquartile_mean(means)), "interval": (float(low), float(high)), "ids": len(means)}


def rerun(path: Path, watch: Callable[[str], None] = lambda text: None, trust: bool = False) -> dict[str, Any]:
    """Run the benchmark of a JSON file again, with its settings.

    Raises
    ------
    ValueError
        If the file holds no benchmark.
    """
    try:
        settings = json.loads(path.read_text())["settings"]
        arguments = {name: settings[name] for name in ("ids", "policies", "episodes", "seed")}
        arguments["ids"] = [full_id(name) for name in arguments["ids"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{str(path)!r} holds no benchmark: {type(error).__name__}: {error}") from None
    return benchmark(**arguments, watch=watch, trust=trust)


def show(results: dict[str, Any]) -> None:
    """Print a benchmark as a table."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{results['settings']['episodes']} episodes each, 95% bootstrap intervals")
    for column in ("id", "score", *results["settings"]["policies"]):
        table.add_column(column, justify="left" if column in ("id", "score") else "right")
    for env_id, result in results["results"].items():
        cells = []
        for name in results["settings"]["policies"]:
            entry = result["policies"].get(name)
            if entry is None:
                cells.append("")
                continue
            low, high = entry["interval"]
            scaled = "" if entry["normalised"] is None else f"\n[bold]{_two(entry['normalised'])}[/]"
            failed = f"\n{entry['failed']:.0%} failed" if entry["failed"] else ""
            cells.append(f"{entry['mean']:.3g} [{low:.3g}, {high:.3g}]".replace("[", r"\[", 1) + scaled + failed)
        unit = "" if result["unit"] == "1" else f", {result['unit']}"
        table.add_row(env_id.split("/")[1], result["score"].replace("is_", "") + unit, *cells, end_section=True)
    cells = []
    for name in results["settings"]["policies"]:
        total = results["aggregate"].get(name)
        if total is None:
            cells.append("")
            continue
        low, high = total["interval"]
        cells.append(f"[bold]{_two(total['mean'])}[/] \\[{low:.2f}, {high:.2f}]\n{total['ids']} ids")
    table.add_row("all", "interquartile mean, normalised", *cells)
    Console(width=130).print(table)


def _two(value: float) -> str:
    """Two decimals, without the sign of a zero."""
    return f"{round(value, 2) + 0.0:.2f}"


def draw(results: dict[str, Any], path: Path) -> None:
    """Draw a benchmark as bars of normalised scores (raw where it is not normalised)."""
    from matplotlib.figure import Figure

    palette = ["0.75", "tab:blue", "tab:cyan", "tab:orange", "tab:green", "tab:red", "tab:purple"]
    colours = dict(zip(results["settings"]["policies"], itertools.cycle(palette), strict=False))
    count = len(results["results"])
    columns = min(count, 3)
    lines = -(-count // columns)
    figure = Figure(figsize=(4 * columns, 2.9 * lines), layout="constrained")
    axes = np.atleast_1d(figure.subplots(lines, columns, squeeze=False)).ravel()
    for plot, (env_id, result) in zip(axes, results["results"].items(), strict=False):
        names, entries = list(result["policies"]), result["policies"].values()
        means = np.array([entry["mean"] for entry in entries])
        spread = np.abs(np.array([entry["interval"] for entry in entries]).T - means)
        plot.bar(names, means, yerr=spread, color=[colours[name] for name in names])
        for k, entry in enumerate(entries):
            if entry["normalised"] is not None:
                plot.annotate(
                    _two(entry["normalised"]), (k, max(means[k], 0)), (0, 3), textcoords="offset points", ha="center"
                )
        unit = "" if result["unit"] == "1" else f" [{result['unit']}]"
        plot.set(title=env_id.split("/")[1], ylabel=result["score"].replace("is_", "") + unit)
        plot.tick_params(axis="x", labelrotation=20)
        plot.spines[["top", "right"]].set_visible(False)
        plot.axhline(0, color="0.3", linewidth=0.8)
    for plot in axes[count:]:
        plot.remove()
    figure.savefig(path, dpi=120)
