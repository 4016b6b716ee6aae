"""Compare a lamprey with, without and with shuffled edge cells: ``python studies/lamprey_edge_cells/run.py``."""

from __future__ import annotations

import argparse
import csv
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.signal import hilbert
from scipy.stats import fisher_exact
from scipy.stats import t as student

from gymnosoma.agents.learning.training import TrainConfig, train
from gymnosoma.agents.policies.evaluation import evaluate
from gymnosoma.agents.policies.lookup import find_policy
from gymnosoma.envs import Circuit, simulate
from gymnosoma.envs.lamprey import Lamprey, LampreyParams

FOLDER = Path(__file__).parent
DRIVE, LASTS, EVERY, BEGIN = (0.4, 0.0, 0.7), 20.0, 0.01, 10.0
CUTS = (25, 50, 75)
ENV_ID = "gymnosoma/LampreyEconomy-v0"
CORD = Circuit.load("cord", "lamprey")
JOINTS, FEEDBACK = 9, LampreyParams().feedback


def behind(cut: int) -> dict[str, Any]:
    """Return the parameters of a cord that is cut behind a segment, with the tonic level as a bath behind the cut."""
    return {"transection": float(cut), "bath": DRIVE[0] * (np.arange(CORD.segments) >= cut)}


def axons(cut: int) -> np.ndarray:
    """Return cuts of the left axons behind a segment, (2, 99)."""
    found = np.zeros((2, CORD.segments - 1))
    found[0, cut - 1] = 1.0
    return found


def conditions(lamprey: Lamprey) -> dict[str, tuple[dict[str, Any], list[Any], float]]:
    """Return the start parameters, events, and the time from which speed is measured, of each condition."""
    gain = np.ones(lamprey.parameters["gain"].shape)
    gain[0, 3] = 0.6  # left motoneurons
    healed = [{"time": BEGIN, "transection": 0.0, "bath": np.zeros(CORD.segments)}]
    cuts = {f"cut {cut}": (behind(cut), [], BEGIN) for cut in CUTS}
    return {
        "intact": ({}, [], BEGIN),
        **cuts,
        "left axons cut": ({"cut": axons(50)}, [], BEGIN),
        "recovery": (behind(50), healed, 15.0),
        "weak left": ({"gain": gain}, [], BEGIN),
    }


def shuffled(seed: int) -> Circuit:
    """Return a cord whose edge cells of each joint act on the segments of another joint."""
    rng, order = np.random.default_rng(seed), np.arange(JOINTS)
    while (order == np.arange(JOINTS)).any():
        order = rng.permutation(JOINTS)
    return rewired(order)


def rewired(order: np.ndarray) -> Circuit:
    """Return a cord whose segments of joint j feel joint ``order[j]``; a population of edge cells for each joint."""
    joint = CORD.joints(JOINTS)
    cells = [each for each in CORD.populations if each.name != "EC"]
    wires = [each for each in CORD.projections if each.source != "EC"]
    [edge], [sense] = (
        [e for e in part if "EC" in (getattr(e, "name", ""), getattr(e, "population", ""))]
        for part in (CORD.populations, CORD.senses)
    )
    [wire] = [each for each in CORD.projections if each.source == "EC"]
    senses = []
    for j in range(JOINTS):
        segments, name = np.flatnonzero(joint == j), f"EC{j}"
        cells.append(replace(edge, name=name, cells=(int(segments[0]), int(segments[-1]) + 1)))
        wires.append(replace(wire, source=name, name=f"{name}_CCIN"))
        low, high = sense.stretch
        senses.append(replace(sense, population=name, stretch=(low + order[j] - j, high + order[j] - j)))
    return replace(CORD, populations=tuple(cells), projections=tuple(wires), senses=tuple(senses))


def swum(lamprey: Lamprey, condition: str, feedback: float, starts: int) -> np.ndarray:
    """Return speed (m/s) and whether the parts around the cut (or segment 50) are locked, (starts, 2)."""
    start, events, begin = conditions(lamprey)[condition]
    neuron = np.zeros((starts, *lamprey.state["neuron"].shape))
    for seed in range(starts):
        neuron[seed, 0, :, :4] = np.random.default_rng(seed).uniform(0.0, 0.1, neuron[seed, 0, :, :4].shape)
    values = {"neuron": neuron, "feedback": feedback, **start}
    signals = ("centre", "neurons")
    runs = simulate(lamprey, DRIVE, LASTS, EVERY, values, events=events, count=starts, signals=signals)
    cut, second, found = int(start.get("transection", 50)), round(1.0 / EVERY), []
    for run in runs:
        late = run.time >= begin - 1e-9
        track = np.apply_along_axis(np.convolve, 0, run["centre"][late], np.ones(second) / second, "valid")
        speed = np.linalg.norm(np.diff(track, axis=0), axis=1).mean() / EVERY
        sides = run["neurons"][late][:, :, 3]
        parts = (slice(cut - 20, cut), slice(cut, cut + 20))
        front, back = (phase(sides[:, 0, part].mean(1) - sides[:, 1, part].mean(1)) for part in parts)
        found.append((speed, np.ptp(front - back) < 0.25))
    return np.array(found)


def phase(wave: np.ndarray) -> np.ndarray:
    """Return the phase of a rhythm in cycles, without the ends, where the analytic signal is wrong."""
    return np.unwrap(np.angle(hilbert(wave - wave.mean())))[50:-50] / (2.0 * np.pi)


def learned(edge: float, seed: int, steps: int, episodes: int) -> dict[str, float]:
    """Train PPO to steer the cord, with or without edge cells, and return the scores of its conditions, m."""
    with TemporaryDirectory() as folder:
        path, wiring = Path(folder) / "run", Path(folder) / "shuffled.toml"
        shuffled(0).write(wiring)
        env = {"actions": "brainstem", "params": {"feedback": edge}}
        train(ENV_ID, path, TrainConfig("ppo", steps, env=env, seed=seed))
        policy = find_policy(ENV_ID, str(path))
        tests: dict[str, Any] = {
            "as_trained": {},
            "intact": {"params": {"feedback": FEEDBACK}},
            "none": {"params": {"feedback": 0.0}},
            "shuffled": {"params": {"feedback": FEEDBACK}, "circuit": str(wiring)},
            "cut": {"options": behind(50)},
        }
        return {
            name: float(np.mean(evaluate(ENV_ID, policy, episodes, 10_000, **test).info["priced_distance"]))
            for name, test in tests.items()
        }


def interval(values, others=(0.0, 0.0)) -> tuple[float, float, float]:
    """Return the mean difference of two samples, and its 95% interval by Welch's t."""
    a, b = (np.asarray(each, float) for each in (values, others))
    parts = np.array([each.var(ddof=1) / len(each) for each in (a, b)])
    freedom = parts.sum() ** 2 / max(np.sum(parts**2 / [len(a) - 1, len(b) - 1]), 1e-300)
    half = student.ppf(0.975, max(freedom, 1.0)) * np.sqrt(parts.sum())
    middle = a.mean() - b.mean()
    return float(middle), float(middle - half), float(middle + half)


def save(name: str, rows: list[dict[str, Any]], folder: Path) -> None:
    """Write rows with equal keys to a CSV file, with six digits."""
    with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()} for row in rows)


def run(folder: Path, quick: bool = False) -> None:
    """Run all conditions and write ``runs.csv``, ``benefits.csv`` and ``learned.csv``."""
    starts, permutations, seeds, steps = (2, 2, 2, 4000) if quick else (16, 10, 5, 300_000)
    cords = {"intact": (Lamprey(), FEEDBACK), "none": (Lamprey(), 0.0)}
    cords |= {f"shuffled {k}": (Lamprey(circuit=shuffled(k)), FEEDBACK) for k in range(permutations)}
    rows, benefits, policies = [], [], []
    for condition in conditions(Lamprey()):
        found = {name: swum(lamprey, condition, edge, starts) for name, (lamprey, edge) in cords.items()}
        for name, values in found.items():
            rows += [
                {"condition": condition, "edge_cells": name, "start": k, "speed": v, "locked": int(locked)}
                for k, (v, locked) in enumerate(values.tolist())
            ]
        means = np.array([found[f"shuffled {k}"][:, 0].mean() for k in range(permutations)])
        speed, locked = found["intact"].T
        versus_none = interval(1.0 - found["none"][:, 0] / speed)
        versus_shuffled = interval(1.0 - means / speed.mean())
        counts = [[n, starts - n] for n in (int(locked.sum()), int(found["none"][:, 1].sum()))]
        names = ("none", "none_low", "none_high", "shuffled", "shuffled_low", "shuffled_high")
        chance = float(fisher_exact(counts).pvalue)
        shares = dict(zip(names, versus_none + versus_shuffled, strict=True))
        benefits.append(
            {
                "condition": condition,
                "speed": float(speed.mean()),
                **shares,
                "locked_intact": counts[0][0],
                "locked_none": counts[1][0],
                "fisher_p": chance,
            }
        )
        print(benefits[-1], flush=True)
    save("runs", rows, folder)
    save("benefits", benefits, folder)
    for trained, edge in (("with", FEEDBACK), ("without", 0.0)):
        for seed in range(seeds):
            policies.append({"trained": trained, "seed": seed, **learned(edge, seed, steps, 8 if quick else 128)})
            save("learned", policies, folder)
            print(policies[-1], flush=True)


def draw(folder: Path, path: Path) -> None:
    """Draw the share of speed that is lost, and the scores of the learned swimmers, from the CSV files."""
    from matplotlib.figure import Figure

    tables = (
        np.genfromtxt(folder / f"{name}.csv", delimiter=",", names=True, dtype=None, encoding="utf-8")
        for name in ("benefits", "learned")
    )
    benefits, policies = tables
    figure = Figure((9.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(2, 1))
    place = np.arange(len(benefits))
    for shift, name, label in ((-0.1, "none", "no edge cells"), (0.1, "shuffled", "shuffled edge cells")):
        ends = abs(np.array([benefits[f"{name}_{end}"] for end in ("low", "high")]) - benefits[name])
        left.errorbar(place + shift, benefits[name], ends, fmt="o", capsize=3, label=label)
    left.axhline(0.05, color="grey", ls="--", lw=1, label="smallest benefit of interest")
    left.set_xticks(place, benefits["condition"], rotation=30, ha="right")
    left.set(ylabel="share of the speed that is lost", ylim=(-0.05, 0.9))
    left.legend(fontsize="small")
    for k, trained in enumerate(("with", "without")):
        these = policies[policies["trained"] == trained]
        right.plot(np.full(len(these), k), these["as_trained"], "o")
    right.set_xticks((0, 1), ("trained with\nedge cells", "trained\nwithout"))
    right.set(xlim=(-0.5, 1.5), ylabel="score (m)")
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two of each, and short trainings, as in the tests")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="folder of the CSV files")
    chosen = parser.parse_args()
    run(chosen.folder, chosen.quick)
    draw(chosen.folder, chosen.folder / "lamprey_edge_cells.png")
