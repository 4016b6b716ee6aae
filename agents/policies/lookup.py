"""Finds policies by name or path."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.core.arguments import choice, one_of, shown
from gymnosoma.envs.core.env.batch import SHARED
from gymnosoma.envs.core.env.task import task_arguments

from .agent import Agent, ConstantAgent, FunctionAgent, Policy, RandomAgent, ReplayAgent, reference_policy
from .card import CARD, WEIGHTS, TrainedAgent, read_card
from .config import read_config
from .evaluation import REPLAY_SEED, evaluate
from .fingerprints import of_files, of_id, of_values
from .registry import controllers_digest, full_id, own_module, references_of, task_class

OWN = re.compile(r"[^\W\d][\w.]*:[^\W\d]\w*")
"""How a user's own function is named: ``module:function``."""

REPLAY = "replay of "
"""How the name of a policy begins that repeats what another did, see `replay`."""


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
