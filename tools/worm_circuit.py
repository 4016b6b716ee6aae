"""Fits the worm's circuit of bistable motor neurons to its two gaits, with jitter on all constants and random starts.

    python tools/worm_circuit.py --generations 60 --write assets/worm/circuits/ahead.toml
    python tools/worm_circuit.py --draw docs/worm_circuit.png
    python tools/worm_circuit.py --judge assets/worm/circuits/ahead.json

The search is CMA-ES (Hansen & Ostermeier, 2001; the package cma). Every candidate swims and crawls with some sets of
constants, each of them off by 10 % (lognormal) in all constants at once, from random states of the neurons; its cost is
the mean over these, so that a gait that is lost when the constants move costs more than one that is a little slower.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs import simulate
from gymnosoma.envs.core.circuit.circuit import Circuit, Population, Projection, Sense
from gymnosoma.envs.core.model.trajectory import Trajectory
from gymnosoma.envs.worm import Worm, medium
from gymnosoma.envs.worm.analysis import Gait
from gymnosoma.envs.worm.params import table

BOUNDS = {
    "drive": (0.4, 1.6),
    "taper": (0.2, 1.0),
    "muscle_delay": (0.02, 0.1),
    "delay": (0.008, 0.05),
    "head_beta": (1.2, 6.0),
    "beta": (0.3, 4.0),
    "gain": (3.0, 40.0),
    "gap": (0.3, 6.0),
    "reach": (1.0, 12.0),
    "head_gain": (1.0, 12.0),
    "head_joints": (3.0, 12.0),
}
"""Constants of `ahead` that are sought, on a logarithmic scale."""

TARGETS = ((0.0, 2.0, 0.667), (1.0, 0.65, 1.54))
"""Medium index, frequency (Hz) and waves on the body of swimming and crawling."""

JITTER, DURATION, LAST = 0.1, 14.0, 8.0
"""Standard deviation of the logarithm of each constant; how long a candidate moves, and is looked at last, s."""

Constants = dict[str, float]
_SIGNALS = ("joint_angle", "centre", "rod_angle", "muscle_power")


def ahead(
    drive: float,
    taper: float,
    muscle_delay: float,
    delay: float,
    head_beta: float,
    beta: float,
    gain: float,
    gap: float,
    reach: float,
    head_gain: float,
    head_joints: int,
    joints: int = 24,
) -> Circuit:
    """Make the circuit in which every cell bends as the body in front of it is bent; after Wen et al. (2012), abridged.

    A pair of a dorsal and a ventral motor neuron that inhibit each other is one bistable cell. The first cell serves
    all joints of the head; it bends them until they are bent, and then to the other side. The constants are fitted,
    not measured.

    Args:
        drive (rad), taper: Amplitude of the muscles at the head, and its factor at the tail.
        muscle_delay, delay (s): Time constants of muscles and neurons.
        head_beta, beta: Strength with which cells of the head and behind it hold what they do.
        gain (1/rad), gap, reach (joints): What a cell is driven with by the mean bending of so many joints in front of
            it, after a gap.
        head_gain (1/rad), head_joints: What turns the cell of the head round, and how many joints it feels and bends.
        joints: Of the body.
    """
    amplitude, place = drive * (1.0 + (taper - 1.0) * np.arange(joints) / (joints - 1))[None], np.arange(joints)
    return Circuit(
        joints,
        (
            Population("head", "bistable", 1, (0, 1), gain=head_beta, delay=delay),
            Population("body", "bistable", 1, (head_joints, joints), gain=beta, delay=delay),
            Population("muscle", "leaky", 1, delay=muscle_delay, output="linear"),
            Population("head_bending", "sense", 1, (0, 1)),
            Population("bending", "sense", 1),
        ),
        (
            Projection("head_bending", "head", head_gain, "inhibit"),
            Projection("bending", "body", gain),
            Projection("head", "muscle", np.where(place < head_joints, amplitude, 0.0), caudal=head_joints - 1),
            Projection("body", "muscle", amplitude),
        ),
        "muscle",
        (
            Sense("head_bending", "joint_angle", (-0.5, head_joints - 0.5)),
            Sense("bending", "joint_angle", (-gap - reach, -gap)),
        ),
    )


def circuit_of(constants: Mapping[str, float]) -> Circuit:
    """The circuit with these constants, the joints of the head being whole."""
    whole: dict[str, Any] = {"head_joints": max(round(constants["head_joints"]), 1)}
    return ahead(**{**constants, **whole})


class Seen(Gait):
    """A gait, the share of all moments in which the body crosses itself, and the muscles' mean power in W."""

    def __init__(self, worm: Worm, run: Trajectory, begin: float) -> None:
        super().__init__(run, begin)
        rows = worm.rows(len(run.time))
        rows["rod_angle"] = run["rod_angle"]
        self.crossing = float(worm.crosses(rows).mean())
        self.power = float(run["muscle_power"][run.time >= begin].mean())


def gaits(worm: Worm, constants: Constants, rng: np.random.Generator, duration: float = DURATION) -> list[Seen | None]:
    """Gaits in all media of `TARGETS`, from one random state of the neurons; None where it failed."""
    worm._circuit_record = (circuit_of(constants).record(worm.drive_size, worm.dt),)
    start = medium(np.array([sigma for sigma, *_ in TARGETS]))
    neuron = np.zeros((len(TARGETS), *worm.state["neuron"].shape))
    neuron[:, 0, 0, :2] = rng.uniform(-1.0, 1.0, neuron[:, 0, 0, :2].shape)
    runs = simulate(
        worm,
        np.zeros(worm.drive_size),
        duration,
        0.025,
        {**start, "neuron": neuron},
        count=len(TARGETS),
        signals=_SIGNALS,
    )
    return [None if run.failure else Seen(worm, run, duration - LAST) for run in runs]


def cost(worm: Worm, constants: Constants, rng: np.random.Generator) -> float:
    """Distance from both targets, at most 4 for each, and a penalty for a body that crosses itself."""
    total = 0.0
    for gait, (_, frequency, waves) in zip(gaits(worm, constants, rng), TARGETS, strict=True):
        if gait is None:
            total += 4.0
            continue
        off = np.log(max(gait.frequency, 1e-3) / frequency) ** 2 + (gait.wavenumber - waves) ** 2
        off += 4.0 * max(0.25 - gait.amplitude, 0.0) ** 2 / 0.25**2 + 2.0 * (1.0 - gait.share)
        total += min(float(off), 4.0) + 4.0 * gait.crossing**0.5
    return total


def jittered(constants: Constants, rng: np.random.Generator) -> Constants:
    """The constants, all of them off at once."""
    return {name: value * float(np.exp(JITTER * rng.standard_normal())) for name, value in constants.items()}


def judge(constants: Constants, count: int = 200, seed: int = 77) -> dict[str, float]:
    """Shares of jittered sets whose gait is kept in water, on agar, and in both, and of backward waves on agar.

    Kept: forward, frequency and waves within a factor of 1.5 of those without jitter, half the amplitude.
    """
    worm, rng = Worm(circuit=circuit_of(constants)), np.random.default_rng(seed)
    own = [gait for gait in gaits(worm, constants, rng) if gait is not None]
    kept, back, same = np.zeros((count, len(own)), bool), 0, np.zeros((count // 2, len(own)), bool)
    for k in range(count):
        for m, gait in enumerate(gaits(worm, jittered(constants, rng), rng)):
            if gait is not None:
                ratio = gait.frequency / own[m].frequency, gait.wavenumber / own[m].wavenumber
                kept[k, m] = all(1 / 1.5 < r < 1.5 for r in ratio) and gait.amplitude > 0.5 * own[m].amplitude
                back += m == 1 and gait.wavenumber < 0
    for k in range(len(same)):
        for m, gait in enumerate(gaits(worm, constants, rng)):
            same[k, m] = gait is not None and abs(gait.wavenumber - own[m].wavenumber) < 0.1
    found: dict[str, float] = {}
    words = ("frequency", "wavenumber", "amplitude", "speed", "crossing", "power")
    for m, name in enumerate(("water", "agar")):
        found |= {f"{name}: {word}": float(getattr(own[m], word)) for word in words}
        found |= {f"{name}: kept": float(kept[:, m].mean()), f"{name}: same start": float(same[:, m].mean())}
    return {**found, "kept in both": float(kept.all(1).mean()), "backward on agar": back / count}


def fit(generations: int, size: int, copies: int, seed: int, begin: Constants | None) -> Constants:
    """Search; the mean of the last generation is what is found."""
    import cma

    low, high = np.log(np.array(list(BOUNDS.values()))).T

    def named(vector: NDArray[np.float64]) -> Constants:
        return dict(zip(BOUNDS, np.exp(low + (high - low) * np.asarray(vector)).tolist(), strict=True))

    first = np.full(len(BOUNDS), 0.5)
    if begin is not None:
        first = (np.log([begin[name] for name in BOUNDS]) - low) / (high - low)
    worm = Worm(circuit=circuit_of(named(first)))
    options = {"popsize": size, "bounds": [0.0, 1.0], "seed": seed, "verbose": -9}
    strategy = cma.CMAEvolutionStrategy(np.clip(first, 0.01, 0.99), 0.15, options)
    for g in range(generations):
        vectors = strategy.ask()
        costs = []
        for vector in vectors:
            rng = np.random.default_rng((seed, g))  # the same jitter and starts for all of a generation
            costs.append(np.mean([cost(worm, jittered(named(vector), rng), rng) for _ in range(copies)]))
        strategy.tell(vectors, costs)
        print(f"{g + 1:4d} {min(costs):.3f} {np.median(costs):.3f}", flush=True)
        if (g + 1) % 20 == 0:
            print(json.dumps(named(strategy.result.xfavorite)), flush=True)
    return named(strategy.result.xfavorite)


def draw(path: Path) -> None:
    """Draw the circuit's gaits from water to agar, beside the animal and the best sines, and with deaf joints."""
    from matplotlib import pyplot

    from papers.worm.waves import SIGMAS, best_waves

    worm, sigma = Worm(circuit="ahead"), np.linspace(0.0, 1.0, 21)
    runs = simulate(worm, np.zeros(24), 24.0, 0.025, medium(sigma), count=len(sigma), signals=_SIGNALS)
    found = [Gait(run, 12.0) for run in runs]
    t, (best, period) = table(), best_waves()
    figure, (*axes, lesion) = pyplot.subplots(1, 3, figsize=(12.0, 3.2), layout="constrained")
    rows = (
        ("frequency", "frequency [Hz]", [1.0 / t["water_period"], 1.0 / t["agar_period"]], 1.0 / period),
        ("wavenumber", "waves on the body", [t["water_wavenumber"], t["agar_wavenumber"]], best),
    )
    for ax, (name, label, sine, fastest) in zip(axes, rows, strict=True):
        ax.plot(sigma, [getattr(gait, name) for gait in found], "o-", label="circuit")
        ax.plot([0.0, 1.0], sine, "s:", label="animal (sines of Chung et al., 2024)")
        ax.plot(SIGMAS, fastest, "^--", label="fastest sine (their Fig. 5)")
        ax.set(xlabel="medium, from water (0) to agar (1)", ylabel=label, ylim=(0.0, None))
    axes[0].legend(loc="lower left", fontsize="small")
    feedback = np.ones((3, 24))
    feedback[1, 8:16] = feedback[2, 16:] = 0.0
    deaf = simulate(worm, np.zeros(24), 24.0, 0.025, {**medium(0.0), "feedback": feedback}, count=3, signals=_SIGNALS)
    for run, label in zip(deaf, ("all joints feel", "8 to 15 deaf", "16 to 23 deaf"), strict=True):
        lesion.plot(np.abs(Gait(run, 12.0).joints), "o-", label=label)
    lesion.set(xlabel="joint, head to tail", ylabel="amplitude in water [rad]", ylim=(0.0, None))
    lesion.legend()
    figure.savefig(path, dpi=100)


def main() -> None:
    """Fit, or judge constants that were fitted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generations", type=int, default=60)
    parser.add_argument("--size", type=int, default=14)
    parser.add_argument("--copies", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=Path, help="JSON file of constants to begin with")
    parser.add_argument("--judge", type=Path, help="JSON file of constants to be judged, not fitted")
    parser.add_argument("--write", type=Path, help="TOML file of the circuit that is found; constants stand beside it")
    parser.add_argument("--draw", type=Path, help="picture of the shipped circuit's gaits from water to agar")
    given = parser.parse_args()
    if given.draw:
        draw(given.draw)
        return
    if given.judge:
        print(json.dumps(judge(json.loads(given.judge.read_text("utf-8"))), indent=1))
        return
    begin = json.loads(given.start.read_text("utf-8")) if given.start else None
    found = fit(given.generations, given.size, given.copies, given.seed, begin)
    print(json.dumps(found))
    if given.write:
        given.write.with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n", "utf-8")
        circuit_of(found).write(given.write)


if __name__ == "__main__":
    main()
