"""Lookup of policies by name or path."""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.core.arguments import one_of, printable, shown
from gymnosoma.envs.core.env.task import task_arguments
from gymnosoma.envs.core.kinds import hint

from ..support.schema import plain
from .agent import Agent, ConstantAgent, FunctionAgent, Policy, RandomAgent, ReplayAgent, reference_policy
from .card import CARD, WEIGHTS, load_policy, read_card
from .evaluation import REPLAY_SEED, evaluate
from .fingerprints import env_fingerprint, files_digest, policy_fingerprint, values_digest
from .registry import check_names, full_id, own_module, references_of, source_digest, task_class

OWN = re.compile(r"[^\W\d][\w.]*:[^\W\d]\w*")
"""Pattern of the names of user functions, ``module:function``."""

REPLAY = "replay of "
"""Prefix of the names of replays, see `replay`."""


def find_policy(env_id: str, name: str, seed: int = 0) -> Policy:
    """Find a policy by name or path.

    Args:
        name: One of

            - ``random``: uniform random actions,
            - ``zero``: zero actions,
            - the name of a reference controller, such as ``baseline``,
            - ``trained``: the policy included in the package,
            - ``replay of`` and another name, see `replay`,
            - the path of a run folder,
            - ``module:function``, see `own_policy`.
        seed: Seed of random actions.

    Raises:
        ValueError: If the policy does not exist, or was trained for another environment.
    """
    own = references_of(env_id)
    if name == "random":
        return Policy(name, lambda envs, start: RandomAgent(envs.task.action_size, seed, start))
    if name == "zero":
        return Policy(name, lambda envs, _: ConstantAgent(np.zeros(envs.task.action_size, np.float32)))
    if name.startswith(REPLAY):
        return replay(env_id, find_policy(env_id, name.removeprefix(REPLAY), seed))
    if name in own:
        policy = reference_policy(name, own[name])
        return replace(policy, digest=partial(policy_fingerprint, env_id, policy))
    path = shipped(env_id) if name == "trained" else Path(name)
    if path.is_dir():
        return _saved_policy(env_id, name if name == "trained" else printable(path.absolute().name), path)
    if OWN.fullmatch(name):
        return own_policy(name)
    more = f", {REPLAY}another, a run folder or module:function"
    raise ValueError(one_of("policy", name, ["random", *own, "zero", "trained"], more) + hint(name))


def stand_in(env_id: str, name: str) -> str:
    """Return a policy's name, or ``random``, with a warning, for the baseline of a task without references."""
    if name != "baseline" or references_of(env_id):
        return name
    logging.getLogger("gymnosoma").warning("%s has no references: baseline plays random actions", env_id)
    return "random"


def _saved_policy(env_id: str, name: str, folder: Path) -> Policy:
    """Create a policy from a run folder, or from a folder of the package."""
    card = read_card(folder)
    if card.id != env_id:
        raise ValueError(f"policy {str(folder)!r} was trained for {card.id}, not for {env_id}")
    check_names(env_id, card.env, f"{str(folder / CARD)!r}: env: argument")
    kind = task_class(env_id)
    kwargs = {**gymnasium.spec(env_id).kwargs, **card.env}
    arguments = {name: value for name, value in kwargs.items() if name in task_arguments(kind)}
    try:
        kind(**arguments)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{str(folder / CARD)!r}: env: {error}") from None
    return Policy(
        name,
        lambda envs, _: load_policy(folder, envs),
        # The policy is not restricted to the split of its training.
        {key: value for key, value in card.env.items() if key != "split"},
        card,
        lambda: values_digest({**plain(card), "scores": {}}, files_digest(*folder.glob(WEIGHTS))),
    )


def replay(env_id: str, policy: Policy, sources: int = 16) -> Policy:
    """Create a policy that repeats the recorded actions of another policy and ignores observations.

    It records ``sources`` episodes with seeds from `REPLAY_SEED`. Episode i repeats recording i modulo ``sources``.
    """

    def make(envs: Any, start: int) -> Agent:
        history: list[NDArray[np.float32]] = []

        class Noting:
            def __init__(self, agent: Agent) -> None:
                self._agent = agent

            def act(self, observations: NDArray[np.float32], first: NDArray[np.bool_]) -> NDArray[np.float32]:
                history.append(np.asarray(self._agent.act(observations, first), np.float32))
                return history[-1]

        noting = replace(policy, make=lambda envs, start: Noting(policy.make(envs, start)))
        lengths = evaluate(env_id, noting, sources, REPLAY_SEED).lengths
        actions = np.array(history)
        actions[np.arange(len(actions))[:, None] >= lengths] = 0.0
        return ReplayAgent(actions, start)

    return replace(policy, name=f"{REPLAY}{policy.name}", make=make, card=None)


def outdated(env_id: str, policy: Policy) -> str | None:
    """Return a warning if the environment has changed since the policy was trained, else None."""
    if policy.card is None or env_fingerprint(env_id, policy.env) == policy.card.fingerprint:
        return None
    return f"policy {policy.name!r} was trained on a different version of {env_id}; its score may not be meaningful"


def own_policy(name: str) -> Policy:
    """Create a policy from a user's function or class, given as ``module:function``.

    A function maps the observations of all parallel episodes, (B, d) float32, to actions (B, n), which are clipped to
    [-1, 1]. Row i belongs to animal i. An optional second argument ``first`` (B,) bool marks rows that start an
    episode; a function with memory must clear it for these rows. A class is instantiated for each wave of episodes with
    the observation and action spaces of one row, and its method ``act(observations, first)`` is called. The optional
    attribute ``env`` contains arguments of the environment, such as ``{"actions": "modes"}``. Modules in the working
    folder are found, too. Saved results are considered outdated if the file of the module, or the file that defines the
    function, changes.

    Raises:
        ValueError: If the module, function or class does not exist; names it.
    """
    module, _, function = name.partition(":")
    source = own_module(f"policy {name!r}", module)
    own = getattr(source, function, None)
    if not callable(own):
        raise ValueError(f"policy {name!r}: module {module!r} must have a callable {function!r}, got {shown(own)}")
    env = getattr(own, "env", {})
    if not isinstance(env, Mapping):
        raise ValueError(f"policy {name!r}: {function}.env must map names of arguments to values, got {shown(env)}")

    def make(envs: Any, start: int) -> Agent:
        if not isinstance(own, type):
            return FunctionAgent(name, own, envs.task.action_size, _arguments(own) > 1)
        act = getattr(own(envs.single_observation_space, envs.single_action_space), "act", None)
        if not callable(act):
            raise ValueError(f"policy {name!r}: class {function!r} must have a method 'act', got {shown(act)}")
        return FunctionAgent(name, act, envs.task.action_size, True)

    return Policy(name, make, dict(env), digest=lambda: source_digest(source, own))


def _arguments(function: Callable[..., Any]) -> int:
    """Return the number of positional arguments without a default, or 1 if it is unknown."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # compiled function
        return 1
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(one.kind in places and one.default is inspect.Parameter.empty for one in parameters)


def shipped(env_id: str) -> Path:
    """Return the folder of the trained policy included in the package; it may not exist."""
    return Path(str(resources.files("gymnosoma.assets").joinpath("policies", full_id(env_id).split("/")[1])))
