"""Finds environments and policies by name or path, and measures policies."""

from __future__ import annotations

import inspect
import json
import re
import reprlib
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from importlib import import_module, resources
from itertools import pairwise
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

import gymnosoma
from gymnosoma.envs import SUCCESSORS, gone
from gymnosoma.envs.core.arguments import choice, one_of, shown, whole
from gymnosoma.envs.core.simulation import SHARED, load_task, task_arguments
from gymnosoma.envs.core.task import Task

from ..agent import Agent, ConstantAgent, FunctionAgent, Policy, RandomAgent, ReplayAgent, reference_policy
from ..controllers import Reference, module_of, references
from ..learning.policy_file import CARD, WEIGHTS, TrainedAgent, read_card
from ..schema import Check, in_range, read, typed
from .fingerprints import of_files, of_id, of_sources, of_values
from .rollout import Episodes, joined, rollout

WAVE = 1024
"""Largest number of episodes that are played side by side, which bounds the memory of an evaluation."""

BENCHMARK_SEED, VALIDATION_SEED, SEARCH_SEED, REPLAY_SEED = 10_000, 20_000, 30_000, 50_000
"""First seeds of the episodes that measure a policy, that choose among trained ones, that find constants, and whose
actions are replayed.

Seeds of training are drawn from 2**62 on (`learning.runs.drawn_seeds`): none of these are the same.
"""

OWN = re.compile(r"[^\W\d][\w.]*:[^\W\d]\w*")
"""How a user's own function is named: ``module:function``."""

REPLAY = "replay of "
"""How the name of a policy begins that repeats what another did, see `replay`."""

ALGORITHMS = ("ppo", "sac", "cma", "supervised")


def all_ids() -> list[str]:
    """Ids that this package can train and measure: the catalogue's, and those registered beside them."""
    ours = (key for key in gymnasium.registry if key.startswith("gymnosoma/"))
    return [key for key in ours if key.removeprefix("gymnosoma/") not in SUCCESSORS]


def full_id(name: str) -> str:
    """Complete an id: ``WormSwim-v0`` means ``gymnosoma/WormSwim-v0``.

    Of ``module:id`` the module, which registers the id, is imported first, as Gymnasium does; it may lie in the working
    folder. ValueError if no such environment is registered by this package, or it has gone, naming its successor.
    """
    module, _, own = name.rpartition(":")
    if module:
        own_module(f"id {name!r}", module)
        name = own
    full = name if "/" in name else f"gymnosoma/{name}"
    if (short := full.removeprefix("gymnosoma/")) in SUCCESSORS:
        gone(name=short)
    if full not in all_ids():
        # Compared without what all ids have in common, which would make all of them alike.
        ids = {key.removeprefix("gymnosoma/"): key for key in sorted(all_ids())}
        raise ValueError(one_of("id", short, ids))
    return full


def versions() -> dict[str, str]:
    """Versions of what every result depends on."""
    packages = {"gymnosoma": gymnosoma, "gymnasium": gymnasium, "numpy": np}
    return {name: package.__version__ for name, package in packages.items()}


def task_class(env_id: str) -> type[Task]:
    """Class of an id's task."""
    return load_task(gymnasium.spec(env_id).kwargs["task"])


def references_of(env_id: str) -> dict[str, Reference]:
    """References of an id by name, the animal's own controller first; empty where it has none."""
    return references(task_class(env_id))


def controllers_digest(env_id: str) -> str:
    """Digest of the sources of the references of an id."""
    return of_sources(module_of(task_class(env_id)).__name__, within="gymnosoma.agents")


def searched(env_id: str, name: str) -> Reference:
    """The reference of a name; ValueError unless it has parameters to search."""
    own = {key: reference for key, reference in references_of(env_id).items() if reference.bounds}
    if name not in own:
        known = f"one of {', '.join(own)}, which have parameters to search" if own else "'': no reference has bounds"
        raise ValueError(f"controller must be {known}, got {name!r}")
    return own[name]


def find_policy(env_id: str, name: str, seed: int = 0, trust: bool = False) -> Policy:
    """Find a policy.

    ``name`` is ``random``, ``zero`` for actions that are all zero, the name of a reference controller such as
    ``baseline``, ``trained`` for the policy that comes with the package, ``replay of`` and one of these (see `replay`),
    the path of a run folder, or of a zip of stable-baselines3 with the run's ``config.json``
    beside it, or ``module:function``, see `own_policy`. ``seed`` is that of the random policy. Such a zip runs whatever
    code its author put into it, and is loaded with ``trust`` only.

    Raises:
        ValueError: If there is no such policy, it was trained for another id, or it is a zip that is not trusted.
    """
    own = references_of(env_id)
    if name == "random":
        return Policy(name, lambda envs, start: RandomAgent(envs.task.action_size, seed, start))
    if name == "zero":
        return Policy(name, lambda envs, _: ConstantAgent(np.zeros(envs.task.action_size, np.float32)))
    if name.startswith(REPLAY):
        return replay(env_id, find_policy(env_id, name.removeprefix(REPLAY), seed, trust))
    if name in own:
        return replace(reference_policy(name, own[name]), digest=partial(controllers_digest, env_id))
    path = shipped(env_id) if name == "trained" else Path(name)
    if path.is_dir():
        card = read_card(path)
        _check_id(name, card["id"], env_id)
        # A policy may say nothing else of the environment: a task or a wrapper would be imported, and so run.
        for key in card["env"]:
            choice(f"{str(path / CARD)!r}: env", key, [*SHARED, *task_arguments(task_class(env_id))])
        return Policy(
            "trained" if name == "trained" else path.absolute().name,
            lambda envs, _: TrainedAgent.load(path, envs),
            # Where hidden values came from in training is not where they are to come from now.
            {key: value for key, value in card["env"].items() if key != "split"},
            card,
            lambda: of_values({**card, "scores": {}}, of_files(*path.glob(WEIGHTS))),
        )
    if OWN.fullmatch(name):
        return own_policy(name)
    if path.suffix != ".zip" or not path.is_file():
        if path.name != name and not path.exists():
            raise ValueError(f"policy {name!r}: there is no such folder or file")
        more = f", {REPLAY}another, a run folder, a zip of stable-baselines3 or module:function"
        raise ValueError(one_of("policy", name, ["random", *own, "zero", "trained"], more))
    if not trust:
        raise ValueError(
            f"policy {name!r} is a zip of stable-baselines3: it holds pickled Python objects, and loading it runs "
            "whatever code its author put there. Give the run folder instead, whose weights run nothing, or --trust "
            "if you trust the author"
        )
    if not (path.parent / "config.json").exists():
        raise ValueError(
            f"policy {name!r} has no run's config.json beside it, which tells how it is played: play it by a function "
            "of yours, module:function, as 'Score what was learned' in docs/guides/libraries.md does"
        )
    config = read_config(path.parent)
    _check_id(name, config["id"], env_id)
    return Policy(
        path.absolute().parent.name,
        lambda envs, _: TrainedAgent.unpickle(path, config["algorithm"], envs),
        dict(config["env"]),
        digest=lambda: of_files(path),
    )


def replay(env_id: str, policy: Policy, sources: int = 16) -> Policy:
    """Policy that does in every episode what another did in one: what can be reached without looking.

    What it does is taken in turn from ``sources`` episodes, which are played anew, from seed `REPLAY_SEED` on.
    """

    def make(envs: Any, start: int) -> Agent:
        done: list[NDArray[np.float32]] = []

        class Noting:
            def __init__(self, agent: Agent) -> None:
                self._agent = agent

            def act(self, observations: NDArray[np.float32], first: NDArray[np.bool_]) -> NDArray[np.float32]:
                done.append(np.asarray(self._agent.act(observations, first), np.float32))
                return done[-1]

        noting = replace(policy, make=lambda envs, start: Noting(policy.make(envs, start)))
        lengths = evaluate(env_id, noting, sources, REPLAY_SEED).lengths
        actions = np.array(done)
        actions[np.arange(len(actions))[:, None] >= lengths] = 0.0
        return ReplayAgent(actions, start)

    return replace(policy, name=f"{REPLAY}{policy.name}", make=make, card={})


def outdated(env_id: str, policy: Policy) -> str | None:
    """Say that the id behaved otherwise when a policy was trained, or that its card does not tell; None if all is well.

    The id is run for this.
    """
    if not policy.card or of_id(env_id, policy.env) == policy.card.get("fingerprint"):
        return None
    if policy.card.get("fingerprint"):
        return f"policy {policy.name!r} was trained when {env_id} behaved otherwise: it plays a task that it never saw"
    return f"policy {policy.name!r} was trained before cards told how {env_id} behaved, and may have seen another task"


def _check_id(name: str, trained: str, env_id: str) -> None:
    if trained != env_id:
        raise ValueError(f"policy {name!r} was trained for {trained}, not for {env_id}")


def own_module(what: str, module: str) -> Any:
    """Import a user's module, also from the working folder; ValueError, which names ``what`` asks for it."""
    if not {"", str(Path.cwd())} & {*sys.path}:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return import_module(module)
    except Exception as error:  # the module may do anything
        cause = " ".join(f"{type(error).__name__}: {error}".split())
        raise ValueError(f"{what}: module {module!r} cannot be imported: {cause}") from error


def own_policy(name: str) -> Policy:
    """A user's own function or class as a policy, from ``module:function``.

    A function takes the observations of all episodes that are played side by side, (B, d) float32, and returns their
    actions, (B, n), which are clipped to [-1, 1]; row i of both is one animal. One that takes a second argument is told
    which rows open an episode, ``first`` (B,) bool: there it forgets what it remembers of the row. A class is made anew
    for each wave of episodes, of the spaces of one row's observations and actions; its ``act(observations, first)``
    plays. An attribute ``env``, if there is one, holds arguments of the environment, such as ``{"actions": "modes"}``.
    Modules are found in the working folder, too. Kept results are compared with the file of the module alone: what it
    imports or reads is not seen.

    Raises:
        ValueError: If there is no such module, function or class, naming it.
    """
    module, _, function = name.partition(":")
    found = own_module(f"policy {name!r}", module)
    own = getattr(found, function, None)
    if not callable(own):
        raise ValueError(f"policy {name!r}: module {module!r} must have a callable {function!r}, got {shown(own)}")
    env = getattr(own, "env", {})
    if not isinstance(env, Mapping):
        raise ValueError(f"policy {name!r}: {function}.env must map names of arguments to values, got {shown(env)}")
    source = getattr(found, "__file__", None)

    def make(envs: Any, start: int) -> Agent:
        played, with_first = own, not isinstance(own, type) and _arguments(own) > 1
        if isinstance(own, type):
            made, with_first = own(envs.single_observation_space, envs.single_action_space), True
            played = getattr(made, "act", None)
            if not callable(played):
                raise ValueError(f"policy {name!r}: class {function!r} must have a method 'act', got {shown(played)}")
        return FunctionAgent(name, played, envs.task.action_size, with_first)

    return Policy(
        name,
        make,
        dict(env),
        digest=lambda: of_files(*(Path(each) for each in (source,) if each)),
    )


def _arguments(function: Callable[..., Any]) -> int:
    """Number of arguments that a function takes by place, without those that have a default; 1 where it is unknown."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # of a compiled function
        return 1
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(one.kind in places and one.default is inspect.Parameter.empty for one in parameters)


def shipped(env_id: str) -> Path:
    """Folder of the trained policy that comes with the package; there may be none."""
    return Path(str(resources.files("gymnosoma.assets").joinpath("policies", full_id(env_id).split("/")[1])))


def read_config(folder: Path) -> dict[str, Any]:
    """Configuration of a run folder; ValueError, naming file and key, if it is not what ``train`` writes."""
    file = folder / "config.json"
    try:
        if file.stat().st_size > MAX_CONFIG:
            raise ValueError(f"it must have at most {MAX_CONFIG} bytes, got {file.stat().st_size}")
        config = json.loads(file.read_text("utf-8"))
        check_config(config)
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"run folder {str(folder)!r} has no usable config.json: {error}") from None
    return config


MAX_CONFIG = 2**16
"""Bytes of a ``config.json``."""

RANGES = {
    "steps": (1, 10**12),
    "num_envs": (1, 2**16),
    "seed": (0, 2**32 - 1),  # NumPy's
    "checkpoint": (1, 10**12),
    "threads": (1, 256),
}
"""Lowest and highest value of the whole numbers that a run is given."""


def _check_settings(name: str, settings: Any) -> None:
    _TABLE(name, settings)
    for key, value in settings.items():
        items = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else [value]
        if not all(isinstance(item, int | float | str) for item in items):
            raise ValueError(f"{name}: {key!r} must be a number, a word or some of them, got {reprlib.repr(value)}")


def _check_versions(name: str, versions: Any) -> None:
    _TABLE(name, versions)
    for key, value in versions.items():
        _TEXT(f"{name}: {key!r}", value)


def _check_range(name: str, value: Any) -> None:
    in_range(name, value, *RANGES[name])


_TEXT, _TABLE = partial(typed, kind=str, words="be a string"), partial(typed, kind=dict, words="map names to values")

CONFIG: dict[str, Check] = {
    **dict.fromkeys(("id", "algorithm"), _TEXT),
    **dict.fromkeys(("steps", "num_envs"), _check_range),
    "imitate": _TEXT,
    "seed": _check_range,
    "env": _TABLE,
    "fingerprint": _TEXT,
    "settings": _check_settings,
    "versions": _check_versions,
}
"""Keys of a ``config.json``."""


def check_config(config: Any) -> None:
    """Raise ValueError, naming the key, unless this may stand in a ``config.json``."""
    if not isinstance(config, dict):
        raise ValueError(f"it must hold {', '.join(CONFIG)}, got {reprlib.repr(config)}")
    for key in config:
        choice("key", key, CONFIG)
    read({"fingerprint": "", **config}, CONFIG, "{key!r} is missing")  # of runs that are played, not resumed
    if config["id"].removeprefix("gymnosoma/") in SUCCESSORS:
        full_id(config["id"])
    choice("id", config["id"], all_ids())
    choice("algorithm", config["algorithm"], ALGORITHMS)
    check_env(config["id"], config["env"])


def check_env(env_id: str, env: Mapping[str, Any]) -> None:
    """Raise ValueError, naming the argument, unless an id takes these."""
    for name in env:
        choice("env: argument", name, (*task_arguments(task_class(env_id)), *SHARED))
    try:
        task_of(env_id, **env)
    except Exception as error:  # a file may hold anything
        raise ValueError(f"env: {' '.join(str(error).split())}") from None


def evaluate(
    env_id: str,
    policy: Policy,
    episodes: int = 64,
    seed: int = 0,
    watch: Callable[[int], None] | None = None,
    options: Mapping[str, float] | None = None,
    keep: Collection[str] | None = None,
    **env: Any,
) -> Episodes:
    """Play a policy: episode i seeded ``seed + i``, with reset ``options``, at most ``WAVE`` of them at once.

    Of `Episodes.info` only what is in ``keep`` is kept, everything by default.
    """
    waves: list[Episodes] = []
    for wave in play(env_id, policy, episodes, seed, watch, options, **env):
        if keep is not None:
            wave.info = {name: value for name, value in wave.info.items() if name in keep}
        waves.append(wave)
    return waves[0] if len(waves) == 1 else joined(waves)


def play(
    env_id: str,
    policy: Policy,
    episodes: int,
    seed: int,
    watch: Callable[[int], None] | None = None,
    options: Mapping[str, float] | None = None,
    wrap: Callable[[Any], Any] = lambda envs: envs,
    **env: Any,
) -> Iterator[Episodes]:
    """Play a policy as `evaluate` does, wave by wave; ``wrap`` is put around the vector environment of each."""
    for start, end in _waves(episodes):
        envs = gymnasium.make_vec(env_id, num_envs=end - start, **policy.env | env)
        watch_all = None if watch is None else lambda ended, start=start: watch(start + ended)
        try:
            agent = policy.make(envs, start)
            yield rollout(wrap(envs), agent, seed=seed + start, options=dict(options or {}), watch=watch_all)
        finally:
            envs.close()


def _waves(episodes: int) -> list[tuple[int, int]]:
    """First and last episode of each wave."""
    whole("episodes", episodes, maximum=10**9)
    # Of equal size: with a handful of rows, networks are multiplied in another order, and round otherwise.
    count = -(-episodes // WAVE)
    return list(pairwise(episodes * k // count for k in range(count + 1)))


def check_play(env_id: str, policy: Policy, episodes: int, options: Mapping[str, float] | None, **env: Any) -> None:
    """Raise ValueError for arguments and options with which `play` could not begin."""
    envs: Any = gymnasium.make_vec(env_id, num_envs=1, **policy.env | env)
    envs.simulation.options(options, _waves(episodes)[0][1])


def task_of(env_id: str, **env: Any) -> Task:
    """The task of an id."""
    made: Any = gymnasium.make_vec(env_id, num_envs=1, **env)
    return made.task


def summary(env_id: str, policy: Policy, result: Episodes) -> dict[str, Any]:
    """Figures of an evaluation, ready for JSON."""
    score = task_of(env_id, **policy.env).score
    values = result.score(score) * score.factor
    failures = Counter(reason for reason in result.failures if reason)
    return {
        "id": env_id,
        "policy": policy.name,
        "episodes": len(result.returns),
        "score": score.name,
        "unit": score.unit,
        "score_mean": float(values.mean()),
        "score_sd": float(values.std(ddof=1)) if len(values) > 1 else 0.0,
        "return_mean": float(result.returns.mean()),
        "return_sd": float(result.returns.std(ddof=1)) if len(values) > 1 else 0.0,
        "length_mean": float(result.lengths.mean()),
        "failures": dict(failures),
    }
