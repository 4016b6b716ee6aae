"""Gaits of the worm over the medium, learned and of the circuit: ``python -m papers.worm.medium``.

It writes ``docs/worm_medium.webp`` and a table of ``docs/animals/worm.md``. With the argument ``sines``, it first
searches the fastest sines and writes ``assets/worm/sines.toml``.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from gymnosoma.agents.benchmark.tables import markdown
from gymnosoma.agents.policies.evaluation import rollout
from gymnosoma.agents.policies.lookup import find_policy
from gymnosoma.envs import Trajectory
from gymnosoma.envs.worm import Worm, medium
from gymnosoma.envs.worm.analysis import Gait
from gymnosoma.envs.worm.kymogram import wave_for
from gymnosoma.envs.worm.media import Medium, fastest_sines, of_medium
from gymnosoma.envs.worm.params import friction, table
from gymnosoma.envs.wrappers import make_vec
from tools.clone import put

from ..fingerprints import MEDIUM, ROOT, record
from ..paper import STYLE
from . import circuits

ID = "gymnosoma/WormMedium-v0"
SINES = ROOT / "assets" / "worm" / "sines.toml"

SIGMAS = np.linspace(0.0, 1.0, 11)
BEGIN, LASTS, EVERY = 4.0, 12.0, 0.05
"""Start of the measurement, duration of a run, and time for which a control angle is held, s."""

Array = np.ndarray[Any, Any]


def sines(sigma: float, frequency: Array, wavenumber: Array, amplitude: Array) -> dict[str, Array]:
    """Return speed (m/s), positive muscle power (W) and relative amplitude of the joints for sines (K,) in a medium."""
    worm, place = Worm(), np.linspace(0.0, 1.0, 24)
    rows, ids = worm.rows(len(frequency)), np.arange(len(frequency))
    worm.reset(rows, ids, {name: np.full(len(ids), value) for name, value in medium(sigma).items()})
    work, response, first = np.zeros(len(ids)), np.zeros(len(ids), complex), round(BEGIN / EVERY)
    for k in range(round(LASTS / EVERY)):
        if k == first:
            begin = rows["centre"].copy()
        time = EVERY * (k + np.array([0.5, 1.0])[:, None, None])  # of the command, and of the end of the period
        turns = 2.0 * np.pi * (wavenumber[:, None] * place - frequency[:, None] * time)
        height = amplitude[:, None] * min(time[0, 0, 0], 1.0)
        worm.advance(rows, ids, height * np.cos(turns[0]), round(EVERY / worm.dt))
        if k >= first:
            work += rows["muscle_work"]
            response += 2.0 * np.mean(np.diff(rows["rod_angle"]) * np.exp(-1j * turns[1]), 1) / amplitude
    way, lasts = rows["centre"] - begin, LASTS - BEGIN
    gain = np.abs(response) * EVERY / lasts
    return {"speed": np.linalg.norm(way, axis=1) / lasts, "power": work / lasts, "gain": gain}


def best_sine(sigma: float, largest: float | None = None) -> dict[str, float]:
    """Search a sine of a medium on grids, each smaller than the one before.

    Args:
        sigma: Medium index.
        largest (rad): Largest amplitude of the sine with the largest reward; by default, the sine is the fastest with
            the paper's amplitude.
    """
    own = table()["wave_amplitude"]
    best, width = np.array([np.log(1.5), 1.1, own]), np.array([0.9, 0.8, 0.0 if largest is None else 0.3])
    for _ in range(7):
        axes = [np.linspace(-1.0, 1.0, 7 if size else 1) for size in width]
        grid = best + width * np.stack(np.meshgrid(*axes), -1).reshape(-1, 3)
        grid[:, 2] = own if largest is None else np.clip(grid[:, 2], 0.05, largest)
        results = sines(sigma, np.exp(grid[:, 0]), *grid.T[1:])
        value = results["speed"]
        if largest is not None:
            value = 2.0 * value / of_medium(sigma, "speed") - results["power"] / of_medium(sigma, "power")
        k = int(value.argmax())
        best, width = grid[k], 0.5 * width
    wave = {
        "sigma": sigma,
        "frequency": float(np.exp(best[0])),
        "wavenumber": float(best[1]),
        "reward": float(value[k]),
    }
    return wave | {"amplitude": float(best[2])} | {name: float(values[k]) for name, values in results.items()}


UNITS = {"sigma": "1", "frequency": "Hz", "wavenumber": "1", "speed": "mm/s", "power": "W", "gain": "1"}


def search() -> None:
    """Write the table of the fastest sines, and print the mean reward of the best sines, 1 on the scale of scores."""
    rows = [best_sine(sigma) for sigma in SIGMAS]
    lines = ["# Fastest sines with the paper's amplitude over the medium: `python -m papers.worm.medium sines`."]
    for name, unit in UNITS.items():
        factor = 1e3 if unit == "mm/s" else 1.0
        values = ", ".join(f"{factor * row[name]:.4g}" for row in rows)
        lines.append(f'\n[{name}]\nvalue = [{values}]\nunit = "{unit}"')
    SINES.write_text("\n".join(lines) + "\n", "utf-8")
    fastest_sines.cache_clear()
    best = [best_sine(sigma, Medium.largest_angle) for sigma in SIGMAS]
    for each in best:
        print({name: float(f"{value:.4g}") for name, value in each.items()})
    rewards = np.array([each["reward"] for each in best])
    means = [np.trapezoid(rewards[k], SIGMAS[k]) / np.ptp(SIGMAS[k]) for k in (SIGMAS < 0.55, SIGMAS > 0.75)]
    print(f"mean rewards in light and heavy media {means[0]:.4f}, {means[1]:.4f}; best {np.mean(means):.4f}")


def gaits(name: str, start: float) -> Array:
    """Return frequency (Hz), wavelength (body lengths) and mean reward of a policy in each medium, (11, 3).

    Worms begin with the animal's sine for the medium ``start`` and are measured from 8 s on.
    """
    policy = find_policy(ID, name)
    envs: Any = make_vec(ID, num_envs=len(SIGMAS), **policy.env)
    batch, moments = envs.unwrapped.batch, list[Any]()

    def watch(ended: int) -> None:
        moments.append((batch.rows.copy(), batch.memory["return_so_far"].copy()))

    options = {"light": start, "heavy": SIGMAS, "direction": 1.0, "change_time": 0.0, "stay": 100.0}
    rollout(envs, policy.make(envs, 0), seed=0, options=options, watch=watch)
    rows, returns = (np.array(each) for each in zip(*moments, strict=True))
    results, first = [], round(8.0 / EVERY)
    for k in range(len(SIGMAS)):
        signals = {"joint_angle": np.diff(rows["rod_angle"][:, k]), "centre": rows["centre"][:, k]}
        gait = Gait(Trajectory(rows["time"][:, k], signals), begin=8.0)
        reward = (returns[-1, k] - returns[first - 1, k]) / (len(rows) - first)
        results.append((gait.frequency, 1.0 / gait.wavenumber, reward))
    return np.array(results)


def published() -> Array:
    """Return medium index, frequency and wavelength of the authors' circuit, (5, 3), with their drag."""
    water, agar = friction([0.0, 1.0])[0]
    across = circuits.friction([*circuits.AUTHORS])["friction_perpendicular"]
    index = np.log(across / water) / np.log(agar / water)
    return np.column_stack([index, [values[:2] for values in circuits.AUTHORS.values()]])


LEARNED = ("learned, adapted to water", "learned, adapted to agar")
CIRCUIT = "`boyle` circuit"


def draw(found: dict[str, Array]) -> Figure:
    """Draw frequency, wavelength and reward over the medium; the task's media are grey."""
    figure = Figure(figsize=(11, 4), layout="constrained")
    axes = figure.subplots(1, 3)
    own, sines = wave_for(SIGMAS), fastest_sines()
    for ax, paper, best in zip(
        axes,
        (1.0 / own["period"], 1.0 / own["wavenumber"], None),
        (sines["frequency"], 1.0 / sines["wavenumber"], np.ones(len(SIGMAS))),
        strict=True,
    ):
        for group in (Medium.hidden["light"], Medium.hidden["heavy"]):
            ax.axvspan(group.low, group.high, color="0.93", lw=0)
        if paper is not None:
            ax.plot(SIGMAS, paper, "k--", label="paper's sine (printed at both ends)")
        ax.plot(SIGMAS, best, "-", color="0.6", lw=3, label="fastest sine (Fig. 5)")
    for k, (name, values) in enumerate(found.items()):
        for j, ax in enumerate(axes):
            ax.plot(SIGMAS, values[:, j], "os^D"[k] + "-", ms=4, label=name.replace("`", ""))
    theirs = published()
    for j in range(2):
        axes[j].plot(theirs[:, 0], theirs[:, 1 + j], "kD", mfc="none", label="Boyle et al.'s program")
    for ax, label in zip(axes, ("frequency (Hz)", "wavelength (body lengths)", "reward"), strict=True):
        ax.set(xlabel="medium index $\\sigma$, 0 is water and 1 agar", ylabel=label)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


def main() -> None:
    """Compute everything, and write the picture and the table."""
    if "sines" in sys.argv[1:]:
        search()
    found = {LEARNED[0]: gaits("trained", 0.0), LEARNED[1]: gaits("trained", 1.0), CIRCUIT: gaits("boyle", 0.5)}
    own, sines, lines = wave_for(SIGMAS), fastest_sines(), []
    for k in range(0, len(SIGMAS), 2):
        waves = [
            (1.0 / own["period"][k], 1.0 / own["wavenumber"][k]),
            (sines["frequency"][k], 1.0 / sines["wavenumber"][k]),
        ]
        cells = [f"{a:.2f} / {b:.2f}" for a, b in waves]
        cells += [f"{a:.2f} / {b:.2f} ({c:.2f})" for a, b, c in (values[k] for values in found.values())]
        lines.append([f"{SIGMAS[k]:g}", *cells])
    head = ["medium", "paper's sine", "fastest sine", *found]
    page = ROOT / "docs" / "animals" / "worm.md"
    page.write_text(put(page.read_text("utf-8"), "gaits", markdown(head, lines)), "utf-8")
    with rc_context(STYLE):
        draw(found).savefig(ROOT / "docs" / "worm_medium.webp", dpi=110, pil_kwargs={"quality": 80})
    record([MEDIUM])


if __name__ == "__main__":
    main()
