"""Find the score that is 1 on the normalised scale, by fitting a controller to each of some fixed episodes with CMA-ES.

::

    python -m tools.oracle WormSwim-v0 --write

The search uses no learning and no trained policy. The mean of the best scores is not a bound: a policy can exceed it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tyro
from numpy.typing import NDArray

from gymnosoma.agents.controllers import references
from gymnosoma.agents.controllers.lamprey import SteeredWave
from gymnosoma.agents.controllers.neuromechanic import Reflex
from gymnosoma.agents.controllers.worm import SteeredSine
from gymnosoma.agents.learning.search import Evolution
from gymnosoma.agents.policies.agent import ControllerAgent, Policy
from gymnosoma.agents.policies.evaluation import play_side_by_side
from gymnosoma.agents.policies.fingerprints import env_fingerprint, policy_fingerprint, values_digest
from gymnosoma.agents.policies.registry import full_id, task_class
from gymnosoma.agents.support.files import locked, replacing
from gymnosoma.agents.support.workers import run_jobs, values_of, workers
from gymnosoma.cli.arguments import Id, Processes, Ray
from gymnosoma.envs.core.arguments import whole
from gymnosoma.envs.core.env.documentation import normaliser
from gymnosoma.envs.core.model.control import Controller, Flags, Floats, TaskController, Values
from gymnosoma.envs.lamprey import tasks as lamprey
from gymnosoma.envs.neuromechanic.tasks import HindlimbHold
from gymnosoma.envs.worm.steering import SteeringLaw
from gymnosoma.envs.worm.tasks import Crawl, Swim

from .clone import update_scales

ORACLE_SEED = 40_000
"""Default of the first seed of the episodes, which are used for this search only."""

TOGETHER = 16
"""Number of episodes that one job searches at the same time."""

SEARCHES = 2
"""Number of searches of each episode, with different random numbers; their difference shows convergence."""

STILL, AGREE = 0.01, 0.02
"""Convergence limits, as shares of the scale: gain in the second half of the generations, difference of searches."""


@dataclass(frozen=True)
class Oracle:
    """Controller whose parameters are fitted to each episode separately.

    A seed determines the hidden values, noise and pushes of an episode, so the search can adapt to them. The mean of
    the best scores is 1 on the normalised scale.
    """

    make: Callable[[Any, Floats], Controller | TaskController]
    """Function of a task and parameters (B, k), one row per environment, that makes the controller."""
    start: Sequence[float]
    """Initial parameters (k,) of each search, such as those of the best reference."""
    spread: Sequence[float]
    """Standard deviations (k,) of the parameters in the first generation."""
    env: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the environment."""


class Waves:
    """Periodic wave of each row, with an amplitude that grows over the first period, as in `SineKymogram`.

    Args:
        period ((B,) float, s): Period of each wave.
        cosines, sines ((H, B, n_joints) float, rad): Amplitudes of each harmonic.
    """

    reads: tuple[str, ...] = ()

    def __init__(self, period: Floats, cosines: Floats, sines: Floats) -> None:
        self._period, self._parts = period, list(zip(cosines, sines, strict=True))

    def drive(self, t: Floats, signals: Values, first: Flags) -> Floats:
        """Return the control angles (B, n_joints) in rad at times ``t`` (B,) in s."""
        phase = t / self._period
        height, angle = np.minimum(phase, 1.0), 2 * np.pi * phase
        return sum(
            (height * np.cos(h * angle))[:, None] * cosine + (height * np.sin(h * angle))[:, None] * sine
            for h, (cosine, sine) in enumerate(self._parts, 1)
        )


def _gait(task: Any, parameters: Floats) -> Controller:
    """Make the steered wave of each row of ``parameters``, (B, 6 + 2 x number of spatial modes).

    The parameters are amplitude, wavenumber, period, gain, limit and integral, then the coefficients of the spatial
    modes added to the wave's cosine and to its sine in time.
    """
    amplitude, wavenumber, period, gain, limit, integral = parameters[:, :6].T
    period, phase = np.maximum(period, 0.1), wavenumber[:, None] * np.linspace(0.0, 2 * np.pi, task.animal.drive_size)
    parts = np.sum(parameters[:, 6:].reshape(len(parameters), 2, -1, 1) * task.modes, 2)
    parts += amplitude[:, None, None] * np.stack([np.cos(phase), np.sin(phase)], 1)
    wave = Waves(period, parts[None, :, 0], parts[None, :, 1])
    return SteeredSine(wave, SteeringLaw(task.control_rate, period, gain, np.abs(limit), integral), "direction")


def _gaits(start: str) -> Oracle:
    """Make an oracle of `_gait` whose initial parameters are the best of a search over the whole training split."""
    begin = [float(each) for each in start.split()]
    spread = [0.03, 0.1, 0.05 * begin[2], 0.05, 0.1, 0.02] + [0.03] * (len(begin) - 6)
    return Oracle(_gait, begin, spread, {"actions": "angles"})


class PlannedWave(SteeredWave):
    """Steered wave with a ``plan`` (B, K) added to its bias, linear between K knots over ``duration`` (s).

    The first knots are close together if ``early`` is above 1: knot k is at (k / (K - 1))^``early`` of the duration.
    """

    def __init__(self, task: Any, plan: Floats, duration: float, early: float, **parameters: Any) -> None:
        super().__init__(task, **{**references(type(task))["wave"].parameters, **parameters})
        self._knots, self._duration, self._early = plan, duration, early

    def _plan(self, t: Floats) -> Floats:
        last = self._knots.shape[1] - 1
        at = np.clip(t / self._duration, 0.0, 1.0) ** (1.0 / self._early) * last
        knot = np.minimum(at.astype(int), last - 1)
        row, share = np.arange(len(t)) % len(self._knots), at - knot
        return ((1.0 - share) * self._knots[row, knot] + share * self._knots[row, knot + 1])[:, None]


def _planned_waves(
    duration: float,
    knots: int,
    steering: float,
    env: Mapping[str, Any] = {},
    early: float = 1.0,
    **parameters: tuple[float, float],
) -> Oracle:
    """Make an oracle of a steered wave and a plan of its bias.

    ``parameters`` are the searched parameters, each with its initial value and standard deviation. ``steering`` is the
    standard deviation of the plan's knots.
    """
    count = len(parameters)

    def make(task: Any, values: Floats) -> Controller:
        numbers = dict(zip(parameters, values.T[:count], strict=True))
        return PlannedWave(task, values[:, count:], duration, early, **numbers)

    start, spread = np.array(list(parameters.values())).T
    plan = np.zeros(knots)
    return Oracle(make, [*start, *plan], [*spread, *(plan + steering)], {"actions": "motoneuron", **env})


def _known_load(task: HindlimbHold, numbers: Floats) -> Controller:
    """Make the integral reflex with the parameters of each row, including the initial sum, which suits the load."""
    stretch, rate, integral, lead = np.split(numbers[:, :4], 4, 1)
    return Reflex(task, stretch, rate, integral, largest=0.8, lead=lead, start=numbers[:, 4:])


ORACLES: dict[type, Oracle] = {
    # These controllers do not read hidden values; their gait and steering are fitted to them.
    Crawl: _gaits(
        "0.582 1.77 0.877 0.463 0.439 0.0745 -0.0601 -0.137 -0.135 "
        "-0.0163 0.0373 -0.0348 0.0423 -0.0399 0.135 0.0463 0.0118 -0.0328"
    ),
    Swim: _gaits(
        "0.648 0.869 0.403 0.251 0.809 0.158 -0.2 -0.0701 0.0136 "
        "-0.00443 -0.0965 0.0271 0.02 -0.114 -0.0373 -0.0222 0.0773 0.0399"
    ),
    lamprey.Economy: _planned_waves(
        6.0,
        4,
        0.25,
        frequency=(1.6, 0.3),
        head=(1.3, 0.3),
        tail=(0.19, 0.2),
        strengthening=(0.7, 0.3),
        offset=(-0.45, 0.2),
    ),
    # A swim straight ahead, without any turn.
    lamprey.Waypoints: _planned_waves(
        20.0,
        2,
        0.1,
        frequency=(4.5, 0.5),
        wavelength=(0.95, 0.2),
        head=(2.6, 0.6),
        tail=(0.4, 0.3),
        gain=(0.2, 0.1),
        offset=(-0.05, 0.15),
        env={"randomize": {"turning": (0.0, 0.0)}},
    ),
    # An escape is decided by its first bend.
    lamprey.Escape: _planned_waves(
        4.0,
        8,
        0.5,
        early=2.0,
        frequency=(5.4, 0.4),
        wavelength=(0.8, 0.15),
        head=(2.0, 0.8),
        tail=(6.0, 2.0),
        offset=(0.1, 0.4),
    ),
    # The initial values are the integral reflex itself; the spreads are those of its final sum in the training split.
    HindlimbHold: Oracle(
        _known_load,
        start=(22.7, 0.37, 9.8, 0.89, *[0.0] * 7),
        spread=(4.0, 0.06, 3.0, 0.1, 0.03, 0.1, 0.07, 0.03, 0.1, 0.15, 0.3),
        env={"actions": "excitation"},
    ),
}
"""Oracles of the tasks whose scale does not end at a bound."""


def oracle(
    env_id: Id,
    /,
    episodes: int = 64,
    seed: int = ORACLE_SEED,
    generations: int = 60,
    population: int = 14,
    processes: Processes = 1,
    ray: Ray = None,
    folder: Path = Path("oracle"),
    write: bool = False,
) -> None:
    """Find the score that is 1 on an id's scale, by fitting a controller to each of some episodes twice with CMA-ES.

    The search has converged if the second half of the generations adds less than 1% of the scale, and the two searches
    differ by less than 2% of it. If the command is interrupted, run it again to continue.

    Args:
        env_id: Environment.
        episodes: Number of episodes.
        seed: First seed of the episodes. With 10000, they are those on which all policies are measured.
        generations: Number of generations of each search.
        population: Number of candidates per generation.
        folder: Folder for the results of the searches.
        write: Write the result into assets/normalisers.toml; an error if the search has not converged.
    """
    env_id = full_id(env_id)
    numbers = len(oracle_of(env_id).start)
    whole("episodes", episodes, 2, 1000)
    whole("seed", seed, 0, 10**9)
    whole("generations", generations, 2, 10_000)
    whole("population", population, 4, 1000)
    scale = normaliser(env_id)
    with locked("folder", folder), workers(processes, ray) as executor:
        start, best = search(env_id, range(seed, seed + episodes), generations, population, folder, executor)
    reached = best.max(0).mean(1)  # after each generation
    value, unit = float(reached[-1]), task_class(env_id).score.unit
    print(f"{env_id}: {value:.5g} {unit}, the mean of {episodes} episodes ({start.mean():.5g} at first)")
    steps = [generations * k // 4 - 1 for k in (1, 2, 3, 4)]
    print(f"After each quarter of the generations: {', '.join(f'{reached[step]:.5g}' for step in steps)}")
    converged = scale is not None
    if scale is not None:
        last = best[:, -1].mean(1)
        later = (last - best[:, generations // 2].mean(1)).mean()
        for what, change, limit in (
            ("The second half of the generations adds", later, STILL),
            ("Searches differ by", np.ptp(last), AGREE),
        ):
            share = change / (value - scale["floor"])
            converged &= bool(share < limit)
            print(f"{what} {share:.2%} of the scale; at most {limit:.0%} counts as converged.")
    if write:
        if not converged:
            raise ValueError("write requires a converged search: increase --generations")
        fitted = f"fitted to each of {episodes} episodes from seed {seed} on in {generations} generations"
        why = f"an oracle of {numbers} numbers, {fitted}"
        update_scales({env_id: {"best": float(f"{value:.4g}"), "bound": False, "why": why}})
        print("Written: assets/normalisers.toml.")


def oracle_of(env_id: str) -> Oracle:
    """Return the oracle of an id.

    Raises:
        ValueError: If the id has none, because its scale ends at a bound or has no end.
    """
    if task_class(env_id) not in ORACLES:
        raise ValueError(f"id must have an oracle, got {env_id!r}, whose scale ends at a bound or has no end")
    return ORACLES[task_class(env_id)]


def search(
    env_id: str, seeds: range, generations: int, population: int, folder: Path, executor: Executor | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Search all episodes, except those with results in ``folder``.

    Returns:
        start (E,): Scores of the initial parameters, in the unit shown to users.
        best (searches, generations, E): Best score after each generation.
    """
    own = oracle_of(env_id)

    def make(envs: Any, first: int) -> ControllerAgent:
        return ControllerAgent(own.make(envs.task, np.tile(own.start, (envs.num_envs, 1))), envs.task)

    behaviour = env_fingerprint(env_id, own.env), policy_fingerprint(env_id, Policy("oracle", make, dict(own.env)))
    depends = values_digest(*behaviour, list(own.start), generations, population)
    files, jobs = {}, {}
    for first in seeds[::TOGETHER]:
        for number in range(SEARCHES):
            some = range(first, min(first + TOGETHER, seeds.stop))
            name = f"{env_id.split('/')[1]}-{depends}-{first}-{number}-{len(some)}"
            files[name] = folder / f"{name}.json"
            if not files[name].is_file():
                jobs[name] = (env_id, some, number, generations, population)

    def save(name: str, scores: dict[str, Any]) -> None:
        with replacing(files[name]) as file:
            file.write((json.dumps(scores) + "\n").encode())

    values_of(run_jobs(executor, _search, jobs, "search", len(files) - len(jobs), save=save))
    results = [json.loads(file.read_text("utf-8")) for file in files.values()]
    start = np.concatenate([each["start"] for each in results[::SEARCHES]])
    best = [np.concatenate([each["best"] for each in results[k::SEARCHES]], axis=1) for k in range(SEARCHES)]
    return start, np.array(best)


def _search(env_id: str, seeds: range, number: int, generations: int, population: int) -> dict[str, Any]:
    """Search the episodes with these seeds, and return the initial and best scores."""
    own, score = oracle_of(env_id), task_class(env_id).score
    episodes = len(seeds)
    env = {**own.env, **({"split": None} if task_class(env_id).hidden else {})}

    def play(candidates: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scores (E, P) of parameters (E, P, k)."""
        players = candidates.shape[1]
        rows = candidates.swapaxes(0, 1).reshape(players * episodes, -1)

        def agent(envs: Any) -> ControllerAgent:
            return ControllerAgent(own.make(envs.task, rows), envs.task)

        results = play_side_by_side(env_id, env, agent, players, seeds)
        return (results.score(score) * score.factor).reshape(players, episodes).T

    start = best = play(np.broadcast_to(np.asarray(own.start, float), (episodes, 1, len(own.start))))[:, 0]
    rngs = [np.random.default_rng((seed, number)) for seed in seeds]
    evolutions = [Evolution(own.start, own.spread, rng, population=population) for rng in rngs]
    history = []
    for _ in range(generations):
        scores = play(np.array([evolution.ask() for evolution in evolutions]))
        for evolution, each in zip(evolutions, scores, strict=True):
            evolution.tell(each)
        best = np.maximum(best, scores.max(1))
        history.append(best.tolist())
    return {"start": start.tolist(), "best": history}


if __name__ == "__main__":
    tyro.cli(oracle)
