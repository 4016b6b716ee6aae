"""Compare the worm's own wave with all others of equal muscle power: ``python studies/worm_gait/run.py``."""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from tempfile import TemporaryDirectory

import gymnasium
import numpy as np
from scipy.stats import t as student

from gymnosoma.agents import load_policy
from gymnosoma.agents.learning.training import TrainConfig, train
from gymnosoma.envs import Schedule, simulate
from gymnosoma.envs.worm import SineKymogram, Worm, WormParams, medium
from gymnosoma.envs.worm.analysis import Gait

FOLDER = Path(__file__).parent
MEDIA = (0.0, 0.25, 0.5, 0.75, 1.0)
FRAMES, SETTLED, MEASURED = 40, 3, 3
"""Frames in a period; periods before and in the measurement."""
SHARES = np.geomspace(0.3, 3.0, 17)
"""Frequencies as shares of the own one; the middle is not the own frequency, which is added."""
WAVES = np.arange(0.4, 3.01, 0.2)
"""Wavenumbers; the own one is added."""
AMPLITUDES = np.geomspace(0.08, 1.2, 9)
TASKS = {"gymnosoma/WormSwim-v0": 0.0, "gymnosoma/WormCrawl-v0": 1.0}
"""Medium of the tasks in which a policy is trained without a wave."""

CONSTANTS = ("stiffness", "friction_perpendicular", "friction_parallel")


def crosses(worm: Worm, angles: np.ndarray) -> bool:
    """Return whether a worm crosses itself in one of the frames (N, n) of rod angles."""
    rows = worm.rows(len(angles))
    rows["rod_angle"] = angles
    return bool(worm.crosses(rows).any())


def waves(frequency: float, wavenumbers, amplitudes, start) -> tuple[np.ndarray, np.ndarray]:
    """Return power (W) and speed (m/s), NaN where a worm fails or crosses itself, for waves (N,) of one frequency."""
    steps = max(2, round(1.0 / (frequency * FRAMES * 2.5e-3)))
    worm = Worm(dt=1.0 / (frequency * FRAMES * steps))
    drives = [SineKymogram(a, nu, 1.0 / frequency) for a, nu in zip(amplitudes, wavenumbers, strict=True)]
    lasts = (SETTLED + MEASURED + 1) / frequency
    every = 1.0 / (frequency * FRAMES)
    signals = ("centre", "muscle_power", "rod_angle")
    runs = simulate(worm, drives, lasts, every, start, count=len(drives), signals=signals)
    found = np.full((2, len(runs)), np.nan)
    for i, run in enumerate(runs):
        if run.failure is None and not crosses(worm, run["rod_angle"][-FRAMES:]):
            late = run["centre"][-(MEASURED + 1) * FRAMES :]
            first, last = late[:FRAMES].mean(0), late[-FRAMES:].mean(0)
            power = run["muscle_power"][-MEASURED * FRAMES :].mean()
            found[:, i] = power, np.linalg.norm(last - first) * frequency / MEASURED
    return found[0], found[1]


def own(sigma: float) -> tuple[float, float, float]:
    """Return frequency (Hz), wavenumber and amplitude (rad) of the animal's own wave."""
    wave = SineKymogram.for_medium(sigma)
    return 1.0 / wave.period, wave.wavenumber, wave.amplitude


def table(sigma: float, factors, shares=SHARES, numbers=WAVES) -> dict[str, np.ndarray]:
    """Return power and speed (F, K, A) over frequencies, wavenumbers and amplitudes, and of the own wave (2,)."""
    frequency, wavenumber, amplitude = own(sigma)
    constants = {"stiffness": WormParams().stiffness, **medium(sigma)}
    start = {name: constants[name] * factor for name, factor in zip(CONSTANTS, factors, strict=True)}
    frequencies, numbers = np.sort([*(shares * frequency), frequency]), np.sort([*numbers, wavenumber])
    k, a = (each.ravel() for each in np.meshgrid(numbers, AMPLITUDES, indexing="ij"))
    found = np.array([waves(f, k, a, start) for f in frequencies])
    power, speed = found.reshape(len(frequencies), 2, len(numbers), len(AMPLITUDES)).swapaxes(0, 1)
    mine = np.array(waves(frequency, [wavenumber], [amplitude], start))[:, 0]
    return {"frequency": frequencies, "wavenumber": numbers, "power": power, "speed": speed, "own": mine}


def at_power(found: dict[str, np.ndarray], power: float) -> tuple[np.ndarray, np.ndarray]:
    """Return speed and amplitude (F, K) at a muscle power, NaN where no amplitude of the grid has it."""
    speed, amplitude = np.full((2, *found["power"].shape[:2]), np.nan)
    for i, j in np.ndindex(speed.shape):
        p, v = found["power"][i, j], found["speed"][i, j]
        good = np.isfinite(p) & np.isfinite(v)
        if good.sum() > 2 and p[good].min() <= power <= p[good].max() and (np.diff(p[good]) > 0).all():
            level = np.interp(np.log(power), np.log(p[good]), np.log(AMPLITUDES[good]))
            amplitude[i, j] = np.exp(level)
            speed[i, j] = np.interp(level, np.log(AMPLITUDES[good]), v[good])
    return speed, amplitude


def gains(found: dict[str, np.ndarray], sigma: float, share: float = 1.0) -> dict[str, float]:
    """Return the fastest wave at equal power, and the gains over the own wave: free, by frequency, by wavelength."""
    frequency, wavenumber, _ = own(sigma)
    power = share * found["own"][0]
    speed, amplitude = at_power(found, power)
    i, j = np.argmin(abs(found["frequency"] - frequency)), np.argmin(abs(found["wavenumber"] - wavenumber))
    usual = found["own"][1] if share == 1.0 else speed[i, j]
    best = np.unravel_index(np.nanargmax(speed), speed.shape)
    return {
        "gain": speed[best] / usual - 1.0,
        "frequency_alone": np.nanmax(speed[:, j]) / usual - 1.0,
        "wavelength_alone": np.nanmax(speed[i]) / usual - 1.0,
        "frequency": found["frequency"][best[0]],
        "wavenumber": found["wavenumber"][best[1]],
        "amplitude": amplitude[best],
        "speed": speed[best],
        "power": power,
        "own_speed": usual,
        "own_frequency": frequency,
        "own_wavenumber": wavenumber,
    }


def measured(run, worm: Worm, found: dict[str, np.ndarray]) -> dict[str, float]:
    """Return the gait of a run, and its speed over that of the fastest sine of equal power, minus one."""
    gait, late = Gait(run, 3.0), run.time >= 3.0
    power = float(run["muscle_power"][late].mean())
    speed, _ = at_power(found, power)
    inside = np.isfinite(speed).any()
    return {
        "frequency": gait.frequency,
        "wavenumber": gait.wavenumber,
        "amplitude": gait.amplitude,
        "speed": gait.speed,
        "power": power,
        "waveform_gain": gait.speed / np.nanmax(speed) - 1.0 if inside else np.nan,
    }


def circuit(sigma: float, found) -> dict[str, float]:
    """Return the gait of the published circuit ``boyle`` in this medium."""
    worm = Worm(WormParams.in_medium(sigma), circuit="boyle", dt=1e-3)
    return measured(simulate(worm, np.zeros(24), 15.0, 0.0125), worm, found)


def trained(env_id: str, seed: int, steps: int, found) -> dict[str, float]:
    """Train without a wave, play one episode of the paper's conditions, and return its gait."""
    sigma = TASKS[env_id]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        train(env_id, path, TrainConfig("ppo", steps, env={"actions": "angles"}, seed=seed))
        envs = gymnasium.make_vec(env_id, num_envs=1, actions="angles", split="paper")
        agent, angles = load_policy(path, envs), []
    batch, (seen, _) = envs.unwrapped.batch, envs.reset(seed=0)
    for step in range(399):
        seen, *_ = envs.step(agent.act(seen, first=np.array([step == 0])))
        angles.append(batch.task.animal.signal(batch.rows, "control_angle")[0].copy())
    period = 1.0 / batch.task.control_rate
    worm = Worm(WormParams.in_medium(sigma))
    return measured(simulate(worm, Schedule(period, np.array(angles)), 399 * period, period), worm, found)


def interval(values) -> tuple[float, float, float]:
    """Return mean and 95% interval (Student's t) of values."""
    values = np.asarray(values)
    half = student.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean()), float(values.mean() - half), float(values.mean() + half)


def save(name: str, rows: list[dict[str, object]], folder: Path) -> None:
    """Write rows with equal keys to a CSV file, with six digits."""
    with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()} for row in rows)


def run(folder: Path, quick: bool = False) -> None:
    """Run all conditions and write ``waves.csv``, ``draws.csv`` and ``others.csv``."""
    rng, draws = np.random.default_rng(0), 2 if quick else 24
    factors = np.exp(rng.uniform(-np.log(1.5), np.log(1.5), (draws, 3)))
    media, seeds, steps = ((0.0,), (0, 1), 4000) if quick else (MEDIA, range(5), 1_000_000)
    grids = {"shares": SHARES[::4], "numbers": WAVES[::4]} if quick else {}
    found, rows, varied, others = {}, [], [], []
    for sigma in media:
        found[sigma] = table(sigma, (1.0, 1.0, 1.0), **grids)
        rows += [{"medium": sigma, "share_of_power": s, **gains(found[sigma], sigma, s)} for s in (0.5, 1.0, 2.0)]
        for draw, each in enumerate(factors):
            result = gains(table(sigma, each, **grids), sigma)
            varied.append({"medium": sigma, "draw": draw, **dict(zip(CONSTANTS, each, strict=True)), **result})
        print(f"medium {sigma:g}: gain {rows[-2]['gain']:.3f}", flush=True)
        if sigma in (0.0, 1.0):
            others.append({"medium": sigma, "kind": "boyle", "seed": 0, **circuit(sigma, found[sigma])})
    save("waves", rows, folder)
    save("draws", varied, folder)
    for env_id, sigma in TASKS.items():
        for seed in seeds if sigma in found else ():
            result = trained(env_id, seed, steps, found[sigma])
            others.append({"medium": sigma, "kind": "trained", "seed": seed, **result})
            print(f"{env_id} seed {seed}: waveform {result['waveform_gain']:.3f}", flush=True)
            save("others", others, folder)
        if mine := [each["waveform_gain"] for each in others if (each["medium"], each["kind"]) == (sigma, "trained")]:
            print("{}: waveform {:.3f} ({:.3f} to {:.3f})".format(env_id, *interval(mine)), flush=True)


def draw(folder: Path, path: Path) -> None:
    """Draw the gains over the medium, and those of the waveform, from the CSV files."""
    from matplotlib.figure import Figure

    draws, others = (
        np.genfromtxt(folder / f"{name}.csv", delimiter=",", names=True, dtype=None, encoding="utf-8")
        for name in ("draws", "others")
    )
    figure = Figure((9.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    media = np.unique(draws["medium"])
    for name, label in (
        ("gain", "any sine"),
        ("frequency_alone", "frequency alone"),
        ("wavelength_alone", "wavelength alone"),
    ):
        low, middle, high = np.array(
            [np.percentile(draws[name][draws["medium"] == m], (2.5, 50, 97.5)) for m in media]
        ).T
        left.errorbar(media, middle, [middle - low, high - middle], marker="o", capsize=3, label=label)
    left.axhline(0.05, color="grey", ls="--", lw=1, label="smallest gain of interest")
    left.set(
        ylim=(-0.2, 4.5),
        xlabel="medium index, from water (0) to agar (1)",
        ylabel="gain in speed at equal muscle power",
    )
    left.legend(loc="upper right", fontsize="small")
    for medium_index, name in ((0.0, "water"), (1.0, "agar")):
        for kind, marker in (("trained", "o"), ("boyle", "s")):
            these = others[(others["medium"] == medium_index) & (others["kind"] == kind)]
            right.plot(np.full(len(these), name), these["waveform_gain"], marker, label=f"{kind}, {name}")
    right.axhline(0.0, color="grey", lw=1)
    right.set(ylabel="gain over the fastest sine of equal power")
    right.legend(fontsize="small")
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one medium, two draws, short trainings, as in the tests")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="folder of the CSV files")
    chosen = parser.parse_args()
    run(chosen.folder, chosen.quick)
    draw(chosen.folder, chosen.folder / "worm_gait.png")
