"""Supervised learning of answers: a controller moves, and a network learns the true answers in ``info``.

This is for tasks with answers in their actions (`ActionField.truth`). From rewards alone, PPO learns to guess, or never
to commit.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gymnosoma.envs.wrappers import make_vec

from ..policies.agent import Agent, reference_policy
from ..policies.answers import LOUDEST, QUIETEST, AnsweringAgent, Answers
from ..policies.card import ControllerPart, Rule, check_parameters, write_policy
from ..policies.evaluation import Episodes, play_side_by_side
from ..policies.networks import Network
from ..policies.registry import references_of
from .runs import VALIDATION, Record, Run, RunConfig, Whole, drawn_seeds

DOUBTS = (0.0, 0.02, 0.03, 0.045, 0.07, 0.1, 0.15, 0.2, 0.3, 0.45, 0.6, 0.75)
"""Values of ``doubt`` in the commitment rules that are compared, in units of the action."""

SHARES = (0.4, 0.55, 0.7, 0.85, 1.0)
"""Values of ``latest`` in the commitment rules that are compared, as fractions of the observed time."""

CHOSEN, SCORED = 64, 64
"""Number of episodes for choosing the rule, and number of further episodes for the learning curve."""


@dataclass
class _State:
    """Contents of ``checkpoint.json``: totals of steps and rounds, commitment rule, weights of the network."""

    steps: Whole
    rounds: Whole
    rule: Rule
    weights: dict[str, Any]
    record: Record


def learn(run: Run, threads: int) -> bool:
    """Learn to answer until the goal; return False if the run was stopped.

    In each round, the controller plays ``num_envs`` episodes without committing. The network is fitted to the data of
    all rounds for ``n_epochs`` epochs with a learning rate that decreases to 0. Then the commitment rule is chosen. The
    checkpoint contains the network; a resumed run plays the previous episodes again.
    """
    torch.set_num_threads(threads)
    config, settings = run.config, run.config.settings
    course = _Course(config)
    network, periods, rate = course.network, course.periods, course.rate
    state = run.start(_State(0, 0, Rule(0.0, periods / rate), _weights(network), run.record))
    _load(network, state.weights)
    for k in range(state.rounds):
        course.watch(k)
    rules = [Rule(doubt, share * periods / rate) for doubt in DOUBTS for share in SHARES]
    stopped = False
    while state.steps < run.goal and not (stopped := bool(run.stop())):
        state.steps += course.watch(state.rounds)
        generator = torch.Generator().manual_seed(config.seed + 2**32 * state.rounds)
        _fit(network, course.frames, course.answers, settings, generator)
        state.rounds += 1
        run.record.episodes += config.num_envs
        scores = course.play(rules, range(VALIDATION, VALIDATION + CHOSEN)).score(run.score)
        state.rule = rules[int(np.argmax(scores.reshape(len(rules), CHOSEN).mean(1)))]
        episodes = course.play([state.rule], range(VALIDATION + CHOSEN, VALIDATION + CHOSEN + SCORED))
        run.note(state.steps, episodes.returns.tolist(), episodes.score(run.score).tolist())
        state.weights = _weights(network)
        run.save(state)
    if not state.rounds:  # collect data for the scaling of inputs
        course.watch(0)
    controller = ControllerPart(settings["controller"], settings["parameters"])
    write_policy(run.folder, config, course.frames.plain(course.linear), controller=controller, rule=state.rule)
    return not stopped


class _Course:
    """Controller, network and collected data of a run."""

    def __init__(self, config: RunConfig) -> None:
        self._config, settings = config, config.settings
        reference = references_of(config.id)[settings["controller"]]
        check_parameters(reference, settings["parameters"])
        self._mover = reference_policy(settings["controller"], reference, **settings["parameters"])
        envs: Any = make_vec(config.id, 1, **config.env)
        self.answers, self.rate, limit = Answers(envs.task), envs.task.control_rate, envs.spec.max_episode_steps
        (inputs,) = envs.single_observation_space.shape
        self.frames = _Frames(inputs // envs.task.layout.size)
        envs.close()
        self.periods = min(round(settings["latest"] * self.rate) or limit, limit)
        torch.manual_seed(config.seed)
        sizes = [inputs, *settings["net_arch"], self.answers.outputs]
        self.linear = [torch.nn.Linear(a, b) for a, b in itertools.pairwise(sizes)]
        parts = [part for layer in self.linear for part in (layer, torch.nn.Tanh())]
        self.network = torch.nn.Sequential(*parts[:-1])

    def watch(self, round_: int) -> int:
        """Collect episodes of the controller, and return the number of steps."""
        count = self._config.num_envs
        envs: Any = make_vec(self._config.id, count, **self._config.env)
        agent = AnsweringAgent(self._mover.make(envs, 0), None, self.answers)
        observations, infos = envs.reset(seed=drawn_seeds(self._config.seed, round_, count))
        right = self.answers.right(infos)
        running, first = np.ones(count, np.bool_), np.ones(count, np.bool_)
        frames, alive = [], []
        for _ in range(self.periods):
            frames.append(observations[:, -envs.task.layout.size :])
            alive.append(running.copy())
            observations, _, terminated, truncated, _ = envs.step(agent.act(observations, first))
            running &= ~(terminated | truncated)
            first[:] = False
        envs.close()
        self.frames.add(np.stack(frames, 1), np.stack(alive, 1), right)
        return int(np.sum(alive))

    def play(self, rules: Sequence[Rule], seeds: Sequence[int]) -> Episodes:
        """Play the same episodes with each rule."""
        doubt, latest = np.repeat([(rule.doubt, rule.latest) for rule in rules], len(seeds), 0).T

        def agent(envs: Any) -> Agent:
            return AnsweringAgent(
                self._mover.make(envs, 0), self.frames.plain(self.linear), self.answers, doubt, latest
            )

        return play_side_by_side(self._config.id, self._config.env, agent, len(rules), seeds)


class _Frames:
    """Observed frames of all episodes, used to assemble the inputs of the network.

    Args:
        history: Number of frames in an observation.
    """

    def __init__(self, history: int) -> None:
        self._history, self._episodes = history, 0
        self._frames: list[torch.Tensor] = []
        self._places: list[torch.Tensor] = []
        self._right: list[torch.Tensor] = []

    def add(self, frames: NDArray[np.float32], alive: NDArray[np.bool_], right: NDArray[np.float32]) -> None:
        """Add episodes: frames (B, T, d), a mask of valid frames (B, T), true answers (B, k)."""
        if not self._frames:
            # Constant inputs, such as the previous commit, get weight 0, because they change when the network commits.
            # The first frame is left out, because it has no previous action.
            flat = frames[:, 1:][alive[:, 1:]].astype(float)
            # Contacts are rare and strong. The spread is therefore based on quantiles, which preserves small signals.
            low, high = np.quantile(flat, (0.16, 0.84), axis=0)
            spread = np.maximum(0.5 * (high - low), 0.1 * flat.std(0))
            self._middle = flat.mean(0)
            self._scale = np.where(spread > 1e-6, 1.0 / np.maximum(spread, 1e-6), 0.0)  # 0 for constant inputs
        scaled = ((frames - self._middle) * self._scale).astype(np.float32)
        self._frames.append(torch.from_numpy(scaled))
        self._places.append(torch.from_numpy(np.argwhere(alive) + np.array([self._episodes, 0])))
        self._right.append(torch.from_numpy(right))
        self._episodes += len(frames)

    def batches(
        self, size: int, epochs: int, generator: torch.Generator
    ) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Yield batches of scaled observations and true answers, in a new random order in each epoch."""
        frames, places, answers = map(torch.cat, (self._frames, self._places, self._right))
        for _ in range(epochs):
            for chosen in torch.randperm(len(places), generator=generator).split(size):
                episode, time = places[chosen].T
                times = (time[:, None] + torch.arange(1 - self._history, 1)).clamp(min=0)
                yield frames[episode[:, None], times].flatten(1), answers[episode]

    def count(self, size: int) -> int:
        """Return the number of batches per epoch."""
        return -(-sum(map(len, self._places)) // size)

    def plain(self, linear: list[torch.nn.Linear]) -> Network:
        """Create a network for unscaled observations by merging the scaling into the first layer."""
        layers = [(part.weight.detach().double().numpy(), part.bias.detach().double().numpy()) for part in linear]
        weight, bias = layers[0]
        scale, middle = np.tile(self._scale, self._history), np.tile(self._middle, self._history)
        layers[0] = (weight * scale, bias - weight @ (scale * middle))
        return Network([(weight.astype(np.float32), bias.astype(np.float32)) for weight, bias in layers])


def _fit(
    network: torch.nn.Module, frames: _Frames, answers: Answers, settings: Mapping[str, Any], generator: torch.Generator
) -> None:
    optimizer = torch.optim.Adam(network.parameters(), settings["learning_rate"])
    size, epochs = settings["batch_size"], settings["n_epochs"]
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs * frames.count(size))
    for observations, right in frames.batches(size, epochs, generator):
        outputs = network(observations)
        means, spread = outputs.chunk(2, 1)
        spread = spread.clamp(QUIETEST, LOUDEST)
        loss = (spread + 0.5 * ((right - means) * torch.exp(-spread)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()


def _weights(network: torch.nn.Module) -> dict[str, Any]:
    return {name: tensor.tolist() for name, tensor in network.state_dict().items()}


def _load(network: torch.nn.Module, weights: Mapping[str, Any]) -> None:
    try:
        network.load_state_dict({name: torch.tensor(values) for name, values in weights.items()})
    except (RuntimeError, TypeError, ValueError) as error:
        raise ValueError(f"checkpoint: weights are invalid: {' '.join(str(error).split())[:300]}") from None
