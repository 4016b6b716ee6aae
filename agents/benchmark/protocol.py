"""Protocol of the benchmark: step budget, information available to learners, and fixed episodes for measurement.

A learner is a function ``learner(make_envs, *, steps, seed, report, track)``. ``make_envs(num_envs, autoreset)``
creates vector environments, which share one budget. ``report(policy)`` replaces the current policy of the learner. At
each mark, the current policy is measured. ``envs.budget.at_mark(function)`` calls a function before the first step that
would exceed a mark, so that a learner can report the policy that it has there. A policy has the methods
``act(observations, first)`` (see `Agent`) and ``save(folder)``. The learner's module also defines ``load(folder)``,
which reads a saved policy.

In the track ``fixed``, environments have their registered arguments. Learners see observations, rewards and, at the end
of an episode, its score and failure. In the track ``open``, learners may use all arguments, infos and snapshots with
the same budget.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from numpy.typing import NDArray

from gymnosoma.envs.core.arguments import shown
from gymnosoma.envs.wrappers import make_vec

from ..policies.agent import Policy
from ..policies.evaluation import BENCHMARK_SEED, evaluate, reasons
from ..policies.registry import check_names, task_class
from .results import Measurement, spread

EPISODES, BINARY_EPISODES = 256, 1024
"""Number of episodes that measure a policy, in general and for binary scores."""

MARKS = (100_000, 300_000)
"""Default numbers of steps at which learners are measured."""

TRAININGS = 5
"""Default number of trainings per learner and environment, and the minimum for a mean over environments."""

SUCCESS = "is_success"
"""Key of the info of tasks that can succeed."""

TRACKS = ("fixed", "open")
MAX_REPORTS = 1000


class Entrant(Protocol):
    """Policy reported by a learner."""

    def act(self, observations: NDArray[np.float32], first: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Return actions (B, n), see `Agent`."""

    def save(self, folder: Path) -> None:
        """Write files for ``load`` of the learner's module into an existing folder."""


class BudgetSpent(Exception):
    """Error of a step that would exceed the budget of a training."""


class Budget:
    """Step budget of a training, shared by all its environments. Each row stepped costs 1; resets are free.

    Args:
        steps: Number of steps.
        seed: Seed of the training.
        marks: Numbers of steps at which the learner is measured, besides ``steps``.
    """

    def __init__(self, steps: int, seed: int, marks: Sequence[int] = ()) -> None:
        self.steps, self.used = steps, 0
        self._seed, self._unseeded = seed, 0
        self._marks = sorted({*marks, steps})
        self._at_mark: Callable[[], None] = lambda: None

    @property
    def left(self) -> int:
        """Remaining steps."""
        return self.steps - self.used

    def at_mark(self, function: Callable[[], None]) -> None:
        """Set the function that is called before the first step that would exceed a mark."""
        self._at_mark = function

    def spend(self, count: int) -> None:
        """Spend steps.

        Raises:
            BudgetSpent: If fewer steps remain; none are spent.
        """
        passed = [mark for mark in self._marks if mark < self.used + count]
        if passed:
            self._marks = self._marks[len(passed) :]
            self._at_mark()
        if count > self.left:
            raise BudgetSpent(f"{count} steps would exceed the budget: {self.left} of {self.steps} remain")
        self.used += count

    def seeds(self, seed: int | Sequence[int | None] | None, count: int) -> list[int]:
        """Replace the seeds of a reset, so that learners never see the episodes of the measurement."""
        requests = [None] * count if seed is None else seed if isinstance(seed, Sequence) else range(seed, seed + count)
        return [self._drawn(each) for each in requests]

    def _drawn(self, seed: int | None) -> int:
        if seed is None:
            self._unseeded += 1
        key = (0x67796D, self._seed, self._unseeded, 1) if seed is None else (0x67796D, self._seed, seed)
        return int(np.random.SeedSequence(key).generate_state(1, np.uint64)[0] >> np.uint64(2)) | 2**62


class Metered(VectorWrapper):
    """Vector environment that spends a budget and replaces the seeds of resets."""

    def __init__(self, envs: VectorEnv, budget: Budget) -> None:
        super().__init__(envs)
        self.budget = budget
        self._ended = np.zeros(envs.num_envs, np.bool_)
        self._next = envs.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        """Reset all rows."""
        self._ended[:] = False
        seeds: Any = self.budget.seeds(seed, self.num_envs)
        return self.env.reset(seed=seeds, options=options)

    def step(self, actions: Any) -> Any:
        """Step all rows; a row that is only reset is free."""
        self.budget.spend(self.num_envs - int(self._ended.sum()))
        result = self.env.step(actions)
        if self._next:
            self._ended = result[2] | result[3]
        return result


class Fixed(VectorEnv):
    """Vector environment of the track ``fixed``, with observations, rewards and, at the end, score and failure."""

    def __init__(self, envs: Metered, score: str) -> None:
        self._envs, self._score, self.budget = envs, score, envs.budget
        self.num_envs, self.metadata, self.render_mode = envs.num_envs, dict(envs.metadata), None
        self.single_observation_space, self.single_action_space = (
            envs.single_observation_space,
            envs.single_action_space,
        )
        self.observation_space, self.action_space = envs.observation_space, envs.action_space
        self.spec: Any = SimpleNamespace(max_episode_steps=envs.spec.max_episode_steps)  # type: ignore[union-attr]
        self.failures = reasons(envs)
        """Reasons of failures by their number."""

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        """Reset all rows; options are not allowed."""
        if options:
            raise ValueError(f"options must be left out in the track 'fixed', got {shown(options)}")
        return self._envs.reset(seed=seed)[0], {}

    def step(self, actions: Any) -> Any:
        """Step all rows."""
        observations, rewards, terminated, truncated, infos = self._envs.step(actions)
        ended = terminated | truncated
        last_infos: dict[str, Any] = {}
        if ended.any():
            last = infos.get("final_info", infos)
            result = {"failure": last["failure"]}
            if self._score in last:
                result["score"] = np.where(ended, last[self._score], 0.0)
            result |= {f"_{name}": ended.copy() for name in result}
            last_infos = result
            if "final_obs" in infos:
                last_infos = {"final_info": result, "final_obs": infos["final_obs"]}
                last_infos |= {f"_{name}": ended.copy() for name in [*last_infos]}
        return observations, rewards, terminated, truncated, last_infos

    def close_extras(self, **kwargs: Any) -> None:
        """Close the environment."""
        self._envs.close()


def environments(env_id: str, budget: Budget, track: str) -> Callable[..., VectorEnv]:
    """Create the function ``make_envs`` of a learner."""
    split = {"split": "train"} if task_class(env_id).hidden else {}

    def make_envs(num_envs: int, autoreset: str = "SameStep", **env: Any) -> VectorEnv:
        if env and track == "fixed":
            raise ValueError(f"arguments of the environment must be left out in the track 'fixed', got {shown(env)}")
        envs = make_vec(env_id, num_envs, autoreset_mode=autoreset, **{**split, **env})
        metered = Metered(envs, budget)
        return Fixed(metered, task_class(env_id).score.name) if track == "fixed" else metered

    return make_envs


class Reports:
    """Policies reported by a training. Policies that no mark can need are deleted from the disk."""

    def __init__(self, folder: Path, budget: Budget, marks: Sequence[int]) -> None:
        self._folder, self._budget, self._marks, self._count = folder, budget, sorted(marks), 0
        self._spent: set[int] = set()

    def __call__(self, policy: Entrant) -> None:
        """Save a policy immediately, because the training may fail later."""
        self._count += 1
        if self._count > MAX_REPORTS:
            raise ValueError(f"report must be called at most {MAX_REPORTS} times")
        place = self.place(self._budget.used)
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        policy.save(place)
        self._spent.add(self._budget.used)
        needed = {self.at(mark) for mark in self._marks} | {max(self._spent)}
        for steps in self._spent - needed:
            shutil.rmtree(self.place(steps))
        self._spent &= needed

    def place(self, steps: int) -> Path:
        """Return the folder of the policy reported after the given number of steps."""
        return self._folder / f"{steps}"

    def at(self, mark: int) -> int | None:
        """Return the number of steps after which the policy of a mark was reported, or None without a policy."""
        return max((steps for steps in self._spent if steps <= mark), default=None)


def episodes_of(env_id: str) -> int:
    """Return the number of episodes that measure a policy on an environment."""
    return BINARY_EPISODES if task_class(env_id).score.binary else EPISODES


def measure(env_id: str, policy: Policy, count: int) -> Measurement:
    """Play the first ``count`` episodes of the benchmark."""
    check_names(env_id, policy.env)
    score = task_class(env_id).score
    env = {"split": None} if task_class(env_id).hidden else {}
    episodes = evaluate(env_id, policy, count, BENCHMARK_SEED, keep={score.name, SUCCESS}, **env)
    scores = [
        float(np.format_float_positional(value, 9, fractional=False)) for value in episodes.score(score) * score.factor
    ]
    failed = sum(reason is not None for reason in episodes.failures) / count
    succeeded = float(np.mean(episodes.info[SUCCESS])) if SUCCESS in episodes.info else None
    mean_return = float(episodes.returns.mean())
    return Measurement(count, scores, **spread(scores), return_=mean_return, failed=failed, succeeded=succeeded)
