"""CMA-ES: evolves the parameters of an animal's own controller, or the weights of a small network.

Hansen & Ostermeier (2001), Completely derandomized self-adaptation in evolution strategies; the package ``cma``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import cma
import gymnasium
import numpy as np
from numpy.typing import NDArray

from ..policies.agent import Agent, reference_policy
from ..policies.card import write_found
from ..policies.networks import Network, NetworkAgent
from ..policies.registry import searched, task_of
from ..policies.rollout import SideBySide, play_side_by_side
from ..support.files import replacing
from .runs import VALIDATION, Recent, Run, drawn_seeds

COMPARED, FINALISTS = 32, 4
"""Episodes of the final comparison, and candidates in it: the favourite, the best of the last generation, and the
controller as it is. Its episodes are others than those of the search, because the best of few episodes is lucky."""


class _Controllers:
    """Parameters of a controller, each in units of its bounds."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.name = config["settings"]["controller"]
        self.reference = searched(config["id"], self.name)
        self.bounds = self.reference.bounds
        self.size = len(self.bounds)
        self.options: dict[str, Any] = {"bounds": [0.0, 1.0]}
        self.start = np.full(self.size, 0.5)
        self.own: list[NDArray[np.float64] | None] = [None]
        """Candidates that are always compared at the end: the controller with its own parameters."""

    def parameters(self, vector: NDArray[np.float64] | None) -> dict[str, float]:
        """Parameters by name; none for None, which stands for the controller's own."""
        if vector is None:
            return {}
        both = zip(self.bounds.items(), vector, strict=True)
        return {name: float(min(max(low + (high - low) * x, low), high)) for (name, (low, high)), x in both}

    def agent(self, vectors: Sequence[NDArray[np.float64] | None], envs: Any) -> Agent:
        """An agent of all candidates."""
        policies = [reference_policy(self.name, self.reference, **self.parameters(vector)) for vector in vectors]
        return SideBySide([policy.make(envs, 0) for policy in policies])

    def write(self, run: Run, vector: NDArray[np.float64] | None) -> None:
        """Write the policy."""
        found = {"name": self.name, "parameters": self.parameters(vector)}
        write_found(run.folder, run.config, {"controller": found})


class _Networks:
    """Weights of a network."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.arch = [int(width) for width in config["settings"]["net_arch"]]
        envs: Any = gymnasium.make_vec(config["id"], 1, **config["env"])
        (seen,), (done,) = envs.single_observation_space.shape, envs.single_action_space.shape
        envs.close()
        self.sizes = [seen, *self.arch, done]
        self.size = Network.length(self.sizes)
        self.options: dict[str, Any] = {}
        self.start = np.zeros(self.size)
        self.own: list[NDArray[np.float64]] = []

    def agent(self, vectors: Sequence[NDArray[np.float64]], envs: Any) -> Agent:
        """An agent of all candidates."""
        return NetworkAgent(Network.from_vectors(np.stack(vectors), self.sizes))

    def write(self, run: Run, vector: NDArray[np.float64]) -> None:
        """Write the policy."""
        network = Network.from_vectors(vector, self.sizes)
        write_found(run.folder, run.config, {"network": {"net_arch": self.arch, "activation": "Tanh"}}, network)


def _kind(config: Mapping[str, Any]) -> Any:
    return (_Controllers if config["settings"]["controller"] else _Networks)(config)


def learn(run: Run, threads: int) -> bool:
    """Evolve; False if the run was stopped. Each of the workers (`Run.workers`) plays a share of a generation.

    Every generation plays episodes of its own, the same for all of its candidates; as many each as fit into
    ``num_envs`` rows. The best average score wins. The favourite, which is the mean of the candidates, plays beside
    them, and the learning curve is its own.
    """
    settings = run.config["settings"]
    kind = _kind(run.config)
    rng = np.random.default_rng(run.config["seed"])
    size = settings["population"]
    options = {"popsize": size} if size else {}
    strategy = cma.CMAEvolutionStrategy(
        kind.start,
        settings["sigma"],
        kind.options
        | options
        | {"seed": np.nan, "randn": lambda *shape: rng.standard_normal(shape), "verbose": -9, "verb_log": 0}
        | {"CMA_diagonal": kind.size > settings["full"]},
    )
    vectors: list[NDArray[np.float64]] = []
    fitness = np.zeros(0)
    state: dict[str, Any] = {"steps": 0, "fitness": [], "recent": ((), ())}
    if run.resumed:
        state, record = _load(run)
        for known in state["fitness"]:  # given the same answers again, the strategy comes to the same state
            vectors, fitness = [np.array(vector) for vector in strategy.ask()], np.array(known)
            strategy.tell(vectors, fitness)
        run.begin(record)
    else:
        _save(run, state)
        run.begin()
    run.start_clock()
    recent = Recent(state["recent"])
    finished = True
    while state["steps"] < run.goal:
        if run.stop():
            finished = False
            break
        vectors = [np.array(vector) for vector in strategy.ask()]
        players = [strategy.result.xfavorite, *vectors]
        episodes = max(run.config["num_envs"] // len(players), 1)
        seeds = drawn_seeds(run.config["seed"], len(state["fitness"]), episodes)
        returns, scores, steps = _play(run, players, seeds)
        fitness = -scores.mean(1)[1:]
        strategy.tell(vectors, fitness)
        recent.add(returns[0], scores[0])
        run.record["episodes"] += len(players) * episodes
        state["steps"] += steps
        state["fitness"].append(fitness.tolist())
        state["recent"] = recent.kept()
        run.note(state["steps"], recent.returns, recent.scores)
        _save(run, state)
    order = np.argsort(fitness, kind="stable")[: FINALISTS - 1]
    finalists = [*kind.own, strategy.result.xfavorite, *(vectors[k] for k in order)]
    _, scores, _ = _play(run, finalists, range(VALIDATION, VALIDATION + COMPARED))
    kind.write(run, finalists[int(np.argmax(scores.mean(1)))])
    return finished


Played = tuple[NDArray[np.float64], NDArray[np.float64], int]
"""Returns and scores (players, episodes), and steps in all."""


def _play(run: Run, players: Sequence[Any], seeds: Sequence[int]) -> Played:
    """Play the episodes of the seeds by each player; how they are shared out does not change the results."""
    count = min(run.workers.count, len(players))
    bounds = [len(players) * k // count for k in range(count + 1)]
    pieces = {str(k): (run.config, players[a:b], list(seeds)) for k, (a, b) in enumerate(pairwise(bounds))}
    if count == 1:
        returns, scores, steps, _ = _share(*pieces["0"])
        return returns, scores, steps
    done = {}
    for name, value, error in run.workers.work(_share, pieces):
        if error is not None:
            raise ValueError(f"a generation could not be played: {error}")
        done[name] = value
    shares = [done[name] for name in pieces]
    run.spend(sum(share[3] for share in shares))
    return (
        np.concatenate([share[0] for share in shares]),
        np.concatenate([share[1] for share in shares]),
        sum(share[2] for share in shares),
    )


def _share(
    config: Mapping[str, Any], players: Sequence[Any], seeds: Sequence[int]
) -> tuple[NDArray[np.float64], NDArray[np.float64], int, float]:
    """Episodes of some players, all side by side: returns, scores, steps, CPU seconds."""
    started = time.process_time()
    agent = partial(_kind(config).agent, players)
    played = play_side_by_side(config["id"], config["env"], agent, len(players), seeds)
    shape = (len(players), len(seeds))
    scores = played.score(task_of(config["id"], **config["env"]).score)
    seconds = time.process_time() - started
    return played.returns.reshape(shape), scores.reshape(shape), int(played.lengths.sum()), seconds


def _save(run: Run, state: Mapping[str, Any]) -> None:
    """Save checkpoint and curve; the fitness of all generations is the state of the strategy."""
    with replacing(run.checkpoint) as file:
        file.write(json.dumps({**state, "record": run.record}, allow_nan=False).encode())
    run.save_curve()


def _load(run: Run) -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        state = json.loads(run.checkpoint.read_text("utf-8"))
        record = state.pop("record")
        numbers = [np.asarray(fitness, float).ndim for fitness in state["fitness"]]
        if state.keys() != {"steps", "fitness", "recent"} or set(numbers) - {1}:
            raise ValueError("it holds something else than steps, fitness and recent")
        return state, record
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        reason = " ".join(str(error).split())[:300]
        raise ValueError(f"checkpoint {str(run.checkpoint)!r} cannot be loaded: {reason}") from error
