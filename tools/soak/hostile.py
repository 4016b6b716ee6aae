"""Hostile stepping of environments: they must stay finite, within their spaces and repeatable, whatever is asked."""

from __future__ import annotations

import faulthandler
import itertools
import pickle
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from gymnosoma.agents.policies.registry import task_of
from gymnosoma.envs.core.env.task import task_arguments

SIZES = (None, 1, 3, 18, 64, 256)
"""Rows of a round; None is a scalar environment."""

WORK = 500_000
"""Time steps of the physics that a round makes, all rows together, if that gives neither few steps nor many."""

FEWEST, MOST = 24, 400
"""Steps of a round."""

REPEATED = 8
"""Steps that are repeated after a restoration."""

PATIENCE = 900
"""Seconds after which a round hangs: the process ends, with a traceback."""

KEPT = 3
"""Violations after which a case is not played on."""


REFUSALS = ("options: ", "start: ")
"""How an error begins that says why options, each in its range, do not go together."""


class Violation(Exception):
    """What an environment must never do."""


class _Refused(Exception):
    """Options or bounds that do not go together."""


@dataclass
class Tally:
    """What became of an id with one action mode and solver.

    Args:
        arguments: Action mode and solvers.
        goal: Steps to be made.
        rounds, steps, episodes: So far; steps are those of single animals, episodes those that ended by themselves.
        failures: Episodes by the reason for which they failed.
        refused: Resets, because their options do not go together.
        slowest (float, s, or None): Processor time of the slowest step, by row, in all rounds but the first, which may
            compile.
        memory (float, MiB, or None): By which the most that the process held grew, in all rounds but the first.
        violations: Each with what plays its round again.
    """

    env_id: str
    arguments: dict[str, str]
    goal: int
    rounds: int = 0
    steps: int = 0
    episodes: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    slowest: float | None = None
    memory: float | None = None
    violations: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Id, action mode and solvers."""
        return " ".join([self.env_id.split("/")[-1], *self.arguments.values()])

    def figures(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return asdict(self) | {"failures": dict(self.failures)}


def cases(env_id: str, steps: int, other_steps: int) -> list[Tally]:
    """All action modes and solvers of an id, the default first; that gets ``steps``, the others ``other_steps``."""
    task = task_of(env_id)
    solvers = [name for name in task.animal.solvers if name in task_arguments(type(task))]
    default = {"actions": task.actions} | {name: getattr(task.animal, name) for name in solvers}
    known = {"actions": task.action_modes} | {name: task.animal.solvers[name] for name in solvers}
    combined = (dict(zip(known, values, strict=True)) for values in itertools.product(*known.values()))
    others = [arguments for arguments in combined if arguments != default]
    return [Tally(env_id, default, steps), *(Tally(env_id, arguments, other_steps) for arguments in others)]


def soak(
    tallies: Sequence[Tally],
    seconds: float = np.inf,
    seed: int = 0,
    watch: Callable[[Tally, int], None] = lambda tally, steps: None,
) -> None:
    """Play rounds, next of what is furthest from its goal, until all have reached theirs or time is up.

    Args:
        tallies: Which grow, so that an interruption loses nothing.
        seconds: After which no round begins.
        seed: Of the first round of each; the next round has the next.
        watch: Told before a round what is played, and after it how many steps the goal has come nearer.
    """
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        left = [tally for tally in tallies if tally.steps < tally.goal and len(tally.violations) < KEPT]
        if not left:
            return
        tally = min(left, key=lambda tally: tally.steps / tally.goal)
        watch(tally, 0)
        before, held = tally.steps, _memory()
        play(tally, seed + tally.rounds)
        if tally.rounds > 1 and held is not None:
            tally.memory = (tally.memory or 0.0) + (_memory() or held) - held
        watch(tally, min(tally.steps, tally.goal) - min(before, tally.goal))


def _memory() -> float | None:
    """The most memory that this process has held, MiB; None where the system does not tell."""
    try:
        import resource
    except ImportError:
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (2**20 if sys.platform == "darwin" else 2**10)


def play(tally: Tally, seed: int) -> None:
    """Play one round of a case, all of which is drawn from the seed, and add it to the tally."""
    tally.rounds += 1
    faulthandler.dump_traceback_later(PATIENCE, exit=True, file=2)
    this = _Round(tally, seed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)  # of NumPy, about what overflows
            this.play()
    except _Refused:  # of `randomize`, when it came to a reset
        tally.refused += 1
    except Exception as error:
        kind = "" if isinstance(error, Violation) else f"{type(error).__name__}: "
        text = f"{tally.name}, round of seed {seed}, {this.where()}: {kind}{error}"
        tally.violations.append(" ".join(text.split()))
    finally:
        faulthandler.cancel_dump_traceback_later()


class _Alone:
    """A scalar environment, called as if it were one of a single row that its user resets."""

    num_envs = 1

    def __init__(self, env_id: str, **arguments: Any) -> None:
        env: Any = gymnasium.make(env_id, disable_env_checker=True, **arguments).unwrapped
        self.unwrapped = env
        self.single_observation_space = env.observation_space
        self.save, self.restore = env.save, env.restore

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        options = {name: value for name, value in (options or {}).items() if name != "reset_mask"}
        observation, info = self.unwrapped.reset(seed=seed, options=options)
        return observation[None], _of_rows(info)

    def step(self, actions: NDArray[Any]) -> tuple[Any, ...]:
        observation, reward, terminated, truncated, info = self.unwrapped.step(actions[0])
        return observation[None], np.array([reward]), np.array([terminated]), np.array([truncated]), _of_rows(info)

    def close(self) -> None:
        self.unwrapped.close()


def _of_rows(info: Mapping[str, Any]) -> dict[str, Any]:
    """Info of a scalar environment as that of a vector one."""
    rows = {name: np.array([value], object if isinstance(value, str) else None) for name, value in info.items()}
    return rows | {f"_{name}": np.ones(1, np.bool_) for name in info}


class _Round:
    """Some steps of one environment with actions, options and bounds drawn for it."""

    def __init__(self, tally: Tally, seed: int) -> None:
        self.tally, self.seed = tally, seed
        self.rng = np.random.default_rng(seed)
        self.given: dict[str, NDArray[np.float64]] = {}
        """Options of the rows, NaN where none were given."""
        self.arguments: dict[str, Any] = {}
        self.count = self.step = 0
        self.row: int | None = None

    def where(self) -> str:
        """Place of the round, by which its course can be found again."""
        parts = [f"step {self.step} of {self.arguments or 'one animal'}"]
        if self.row is not None:
            own = {
                name: held[self.row].tolist() for name, held in self.given.items() if np.isfinite(held[self.row]).all()
            }
            parts.append(f"row {self.row} of options {own}")
        return ", ".join(parts)

    def play(self) -> None:
        """Play it."""
        rng, tally = self.rng, self.tally
        batch = _Alone(tally.env_id, **tally.arguments).unwrapped.batch
        task, work = batch.task, batch.steps * FEWEST
        sizes = [size for size in SIZES if (size or 1) * work <= 2 * WORK]
        size = sizes[rng.integers(len(sizes))]
        self.count = count = size or 1
        self.options = {**task.animal.parameters, **task.options}
        randomize = {
            name: tuple(np.sort(self._values(name, (2,))).tolist())
            for name in self._some([name for name, option in self.options.items() if option.shape == ()])
        }
        if randomize:
            self.arguments["randomize"] = randomize
        if size is not None:
            modes = [mode.value for mode in AutoresetMode]
            self.arguments |= {"num_envs": size, "autoreset_mode": modes[rng.integers(len(modes))]}
            self.arguments["max_episode_steps"] = int(rng.integers(1, 200))
        envs = self._make()
        steps = int(np.clip(WORK / (count * batch.steps), FEWEST, MOST))
        mark = int(rng.integers(1, steps - REPEATED))
        self.space = envs.single_observation_space
        self.actions = _Actions(rng, count, task.action_size)
        everyone = np.ones(count, np.bool_)
        past: list[tuple[str, Any, Any]] = []
        self._reset(envs, everyone, past, seed=int(rng.integers(2**31)))
        by_hand = size is None or self.arguments["autoreset_mode"] == AutoresetMode.DISABLED.value
        over = np.zeros(count, np.bool_)
        past.clear()
        for self.step in range(steps):
            if self.step == mark:
                snapshot, waiting = pickle.loads(pickle.dumps(envs.save())), over.copy()
            if by_hand and over.any():
                self._reset(envs, over, past)
            elif rng.random() < 0.02:
                self._reset(envs, everyone, past)
            actions = self.actions.next()
            result, over = self._step(envs, actions)
            past.append(("step", actions, result))
            if self.step < mark:
                past.clear()
            elif self.step == mark + REPEATED:
                self._repeat(snapshot, waiting, past)
            tally.steps += count
        envs.close()

    def _make(self) -> Any:
        make: Any = gymnasium.make_vec if "num_envs" in self.arguments else _Alone
        return make(self.tally.env_id, **self.tally.arguments, **self.arguments)

    # What is drawn.

    def _some(self, names: Sequence[str]) -> list[str]:
        """None, one, two or all of some names."""
        size = min((0, 1, 2, len(names))[self.rng.integers(4)], len(names))
        return [names[i] for i in sorted(self.rng.choice(len(names), size, replace=False))]

    def _values(self, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Values of an option: the ends of its range, evenly within, or evenly in their logarithm."""
        rng, option = self.rng, self.options[name]
        low, high = option.low, option.high
        if low > 0.0:
            logarithmic = np.exp(rng.uniform(np.log(low), np.log(high), shape))
        else:
            most = max(-low, high)
            logarithmic = (
                rng.choice([-1.0, 1.0] if low < 0.0 else [1.0], shape) * most * 10.0 ** rng.uniform(-6, 0, shape)
            )
        values = rng.choice([low, high], shape), rng.uniform(low, high, shape), logarithmic
        return np.clip(np.choose(rng.integers(3, size=shape), values), low, high)

    # What is done, and checked.

    def _reset(
        self, envs: Any, mask: NDArray[np.bool_], past: list[tuple[str, Any, Any]], seed: int | None = None
    ) -> None:
        """Reset rows with options that go together, if such are found soon."""
        for names in (*[self._some([*self.options]) for _ in range(3)], []):
            given: dict[str, Any] = {
                name: self._values(name, (mask.sum(), *self.options[name].shape)) for name in names
            }
            options = given if mask.all() else given | {"reset_mask": mask.copy()}
            try:
                observations, infos = envs.reset(seed=seed, options=options)
            except ValueError as error:
                if not names:
                    raise self._impossible(error) from error
                self._impossible(error)
                self.tally.refused += 1
                past.append(("refused", options, None))
                continue
            for name, option in self.options.items():
                held = self.given.setdefault(name, np.full((self.count, *option.shape), np.nan))
                held[mask] = given.get(name, np.nan)
            self._check(observations, infos)
            past.append(("reset", options, observations))
            return

    def _impossible(self, error: ValueError) -> Exception:
        """Tell a refusal from an error, which is raised on."""
        if str(error).startswith(REFUSALS) and len(str(error).splitlines()) == 1:
            return _Refused()
        raise error

    def _step(self, envs: Any, actions: NDArray[np.float64]) -> tuple[Any, NDArray[np.bool_]]:
        started = time.process_time()
        try:
            observations, rewards, terminated, truncated, infos = envs.step(actions)
        except ValueError as error:
            raise self._impossible(error) from error
        if self.tally.rounds > 1:
            self.tally.slowest = max(self.tally.slowest or 0.0, (time.process_time() - started) / self.count)
        self._check(observations, infos)
        for name, array, kind in (
            ("rewards", rewards, "f8"),
            ("terminated", terminated, "?"),
            ("truncated", truncated, "?"),
        ):
            if array.dtype != np.dtype(kind) or array.shape != (self.count,):
                raise Violation(f"{name} must be {self.count} of {np.dtype(kind)}, got {array.dtype} {array.shape}")
        self._finite("rewards", rewards)
        over = terminated | truncated
        if "final_obs" in infos:
            last = observations.copy()
            last[over] = np.stack(infos["final_obs"][over])
            self._check(last, infos["final_info"])
        final = infos.get("final_info", infos)
        failed = final.get("_failure", np.zeros(self.count, np.bool_))
        for self.row in np.flatnonzero(failed).tolist():
            reason = final["failure"][self.row]
            if not (isinstance(reason, str) and reason and terminated[self.row]):
                raise Violation(f"failure is {reason!r}, terminated {terminated[self.row]}")
            self.tally.failures[reason] += 1
        self.row = None
        self.tally.episodes += int(over.sum())
        for held in self.given.values():
            held[over] = np.nan
        return (observations, rewards, terminated, truncated), over

    def _check(self, observations: NDArray[Any], infos: Mapping[str, Any]) -> None:
        space = self.space
        if observations.dtype != space.dtype or observations.shape[1:] != space.shape:
            raise Violation(f"observations must be {space}, got {observations.dtype} {observations.shape}")
        self._finite("observations", observations)
        self._finite("observations", np.where(np.abs(observations) <= space.high, 0.0, np.inf), "beyond their space")
        for name, value in infos.items():
            if isinstance(value, np.ndarray) and value.dtype.kind in "fc":
                # What has not happened may be infinite, such as the delay of an answer that was not given.
                self._finite(f"info {name!r}", np.where(np.isnan(value), value, 0.0), "no numbers")

    def _finite(self, name: str, value: NDArray[Any], what: str = "not finite") -> None:
        good = np.isfinite(value)
        if not good.all():
            self.row = int(np.argwhere(~good)[0][0])
            raise Violation(f"{name} of row {self.row} are {what}: {value[self.row]}")

    def _repeat(
        self, snapshot: dict[str, Any], waiting: NDArray[np.bool_], past: Sequence[tuple[str, Any, Any]]
    ) -> None:
        """Restore a snapshot, in another environment, and one row of it in a scalar one: the future is the same."""
        envs = self._make()
        envs.restore(snapshot)
        for what, asked, expected in past:
            if what == "refused":
                with suppress(ValueError):
                    envs.reset(options=asked)
            else:
                got = envs.reset(options=asked)[0] if what == "reset" else envs.step(asked)[:4]
                self._same(got, expected, f"{what} after a restoration")
        envs.close()
        running = np.flatnonzero(~waiting)
        if "num_envs" not in self.arguments or not len(running):
            return
        row = int(self.rng.choice(running))
        one = slice(row, row + 1)
        alone = _Alone(self.tally.env_id, **self.tally.arguments)
        parts = {
            name: snapshot[name][one]
            for name in ("rows", "memory", "frames", "generators", "events", "randomize", "kept")
        }
        alone.restore({"task": snapshot["task"], **parts, "ended": False})
        for what, asked, expected in past:
            if what != "step" and asked.get("reset_mask", waiting | True)[row]:
                break
            if what == "step":
                observations, rewards, terminated, truncated = (part[one] for part in expected)
                got = alone.step(asked[one])
                self.row = row
                self._same((got[1], got[2]), (rewards, terminated), "step of the row alone")
                if terminated | truncated:
                    break
                self._same(got[0], observations, "step of the row alone")
        self.row = None
        alone.close()

    def _same(self, got: Any, expected: Any, what: str) -> None:
        pairs = zip(got, expected, strict=True) if isinstance(got, tuple) else [(got, expected)]
        for a, b in pairs:
            differ = a.view(f"u{a.itemsize}") != b.view(f"u{b.itemsize}")
            if differ.any():
                at = tuple(np.argwhere(differ)[0])
                raise Violation(f"{what} gave {a[at]}, was {b[at]}")


class _Actions:
    """Actions of many rows: random, bang-bang, held, alternating, and beyond what is allowed."""

    def __init__(self, rng: np.random.Generator, rows: int, size: int) -> None:
        self.rng = rng
        self.shape = (rows, size)
        each = (rows, 1)
        self.often = rng.choice([0.0, 0.05, 0.5, 1.0], each)  # how often an entry is drawn anew
        self.bang = rng.random(each) < 0.5
        self.scale = rng.choice([1.0, 1.0, 1.0, 1e-3, 1e30], each)
        self.sign = np.where(rng.random(each) < 0.2, -1.0, 1.0)
        self.held = self._draw()

    def _draw(self) -> NDArray[np.float64]:
        values = self.rng.uniform(-1.0, 1.0, self.shape)
        return np.where(self.bang, np.sign(values), values) * self.scale

    def next(self) -> NDArray[np.float64]:
        """Actions (rows, size) of the next step."""
        self.held = self.sign * np.where(self.rng.random(self.shape) < self.often, self._draw(), self.held)
        return self.held.astype(np.float32) if self.rng.random() < 0.5 else self.held
