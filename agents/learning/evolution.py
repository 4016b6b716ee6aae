"""Learning with CMA-ES: evolution of a controller's parameters or of the weights of a small network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.wrappers import make_vec

from ..policies.agent import Agent
from ..policies.card import ControllerPart, write_policy
from ..policies.evaluation import play_side_by_side
from ..policies.networks import Network, NetworkAgent
from ..policies.registry import searched
from .runs import VALIDATION, Record, Run, RunConfig, Table, Whole, drawn_seeds
from .search import Controllers, Evolution

COMPARED, FINALISTS = 32, 4
"""Number of episodes in the final comparison, and number of evolved candidates (the distribution mean and the best of
the last generation); an unchanged controller is added. The episodes are new, because a high score in the few search
episodes may be luck."""

RECENT = 32
"""Number of recent episodes, played with the distribution mean, that the learning curve averages."""


@dataclass
class _State:
    """Contents of ``checkpoint.json``: total steps, scores of all generations, recent returns and scores."""

    steps: Whole
    scores: Table
    recent: Table
    record: Record


class _Networks:
    """Search space of the weights of a network."""

    def __init__(self, config: RunConfig) -> None:
        envs: Any = make_vec(config.id, 1, **config.env)
        ends = envs.single_observation_space.shape[0], envs.single_action_space.shape[0]
        envs.close()
        self.sizes = [ends[0], *config.settings["net_arch"], ends[1]]
        self.size = Network.length(self.sizes)

    def network(self, vectors: NDArray[np.float64]) -> Network:
        """Create a network, or a batch of networks, from vectors (..., n)."""
        return Network.from_vectors(vectors, self.sizes)

    def agent(self, vectors: Sequence[NDArray[np.float64]], envs: Any) -> Agent:
        """Create one agent for several candidates."""
        return NetworkAgent(self.network(np.stack(vectors)))


def learn(run: Run, threads: int) -> bool:
    """Evolve until the goal; return False if the run was stopped.

    All candidates of a generation play the same new episodes, and ``num_envs`` rows are shared among them. Fitness is
    the mean score. The mean of the search distribution (the favourite) plays the same episodes and provides the
    learning curve.
    """
    config, settings, rng = run.config, run.config.settings, np.random.default_rng(run.config.seed)
    name = settings["controller"]
    kind = Controllers(name, searched(config.id, name)) if name else _Networks(config)
    state = run.start(_State(0, [], [], run.record))
    evolution = Evolution(
        np.full(kind.size, 0.5 if name else 0.0),
        settings["sigma"],
        rng,
        box=(0.0, 1.0) if name else None,
        population=settings["population"],
        full=settings["full"],
        history=state.scores,
    )
    finished = True

    def play(players: Sequence[Any], seeds: Sequence[int]) -> tuple[Any, Any, int]:
        """Play all players; return returns and scores (players, episodes), and the total number of steps."""
        results = play_side_by_side(config.id, config.env, partial(kind.agent, players), len(players), seeds)
        shape = len(players), len(seeds)
        return results.returns.reshape(shape), results.score(run.score).reshape(shape), int(results.lengths.sum())

    while state.steps < run.goal:
        if run.stop():
            finished = False
            break
        players = [evolution.favourite, *evolution.ask()]
        episodes = max(config.num_envs // len(players), 1)
        returns, scores, steps = play(players, drawn_seeds(config.seed, len(evolution.history), episodes))
        evolution.tell(scores.mean(1)[1:])
        run.record.episodes += len(players) * episodes
        state.steps, state.scores = state.steps + steps, evolution.history
        state.recent = [*state.recent, *np.stack([returns[0], scores[0]], 1).tolist()][-RECENT:]
        run.note(state.steps, *zip(*state.recent, strict=True))
        run.save(state)
    finalists = [*([None] if name else []), *evolution.best(FINALISTS)]
    _, scores, _ = play(finalists, range(VALIDATION, VALIDATION + COMPARED))
    best: Any = finalists[int(np.argmax(scores.mean(1)))]
    if isinstance(kind, Controllers):
        write_policy(run.folder, config, controller=ControllerPart(name, kind.parameters(best)))
    else:
        write_policy(run.folder, config, kind.network(best))
    return finished
