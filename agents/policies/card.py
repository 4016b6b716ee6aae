"""Policy files: weights in ``policy.safetensors``, everything else in ``card.json``. Loading them executes no code.

The card describes the parts of the policy: ``network`` (its weights are in the other file), ``controller`` (a reference
of the task and its changed parameters) and ``rule`` (the condition for committing the network's answers).

The files are untrusted. Before memory is allocated, the card is checked against the environment, the header of the
weights against the card, and both against size limits.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.core.arguments import choice, number, shown, whole, within
from gymnosoma.envs.core.files import check_file
from gymnosoma.envs.wrappers import make_vec

from ..controllers import Reference, references
from ..support.files import replacing
from ..support.schema import OBJECT, TEXT, Check, held, read_json
from .agent import Agent, reference_policy
from .answers import AnsweringAgent, Answers
from .networks import ACTIVATIONS, Network, NetworkAgent
from .registry import ALGORITHMS, all_ids

FORMAT = 1
"""Version of the card format; other versions raise an error."""

WEIGHTS, CARD = "policy.safetensors", "card.json"

MAX_HEADER, MAX_WEIGHTS = 2**16, 2**26
"""Maximum size of a card and of the weights' header, and maximum size of all weights, bytes."""

MAX_LAYERS = 16


def check_widths(name: str, value: Any) -> None:
    """Raise ValueError unless ``value`` is a list of at most `MAX_LAYERS` widths of layers."""
    if not isinstance(value, list) or len(value) > MAX_LAYERS or not all(type(w) is int and w > 0 for w in value):
        raise ValueError(f"{name} must be a list of at most {MAX_LAYERS} integers greater than 0, got {shown(value)}")


def _object(**keys: Check) -> Check:
    return partial(held, keys=keys)


PARTS: dict[str, Check] = {
    "network": _object(net_arch=check_widths, activation=partial(choice, choices=ACTIVATIONS)),
    "controller": _object(name=TEXT, parameters=OBJECT),
    "rule": _object(doubt=partial(number, minimum=0.0), latest=partial(number, minimum=0.0)),
}
"""Checks of the parts of a policy."""

KINDS = ({"network"}, {"controller"}, {*PARTS})
"""Allowed combinations of parts."""

KEYS: dict[str, Check] = {
    "format": partial(whole, minimum=FORMAT, maximum=FORMAT),
    "id": lambda name, value: choice(name, value, all_ids()),
    "algorithm": partial(choice, choices=ALGORITHMS),
    **dict.fromkeys(("observation_space", "action_space", "env", "scores", "versions"), OBJECT),
    "fingerprint": TEXT,
}
"""Checks of the remaining keys of a card."""


def write_policy(
    folder: Path, run: Mapping[str, Any], parts: Mapping[str, Any], network: Network | None = None
) -> None:
    """Write a policy into an existing folder.

    Args:
        folder: Folder of the policy.
        run: Configuration with ``id``, ``algorithm``, ``env``, ``versions`` and ``fingerprint``, as in ``config.json``.
        parts: Parts of the policy other than its network.
        network: Network for unscaled observations of the environment.
    """
    envs: Any = make_vec(run["id"], 1, **run["env"])
    card = {"format": FORMAT, **{name: run[name] for name in ("id", "algorithm")}, **parts}
    if network is not None:
        card["network"] = {"net_arch": network.widths, "activation": network.activation}
    card |= {f"{name}_space": _describe(getattr(envs, f"single_{name}_space")) for name in ("observation", "action")}
    envs.close()
    card |= {"env": dict(run["env"]), "scores": {}} | {name: run[name] for name in ("versions", "fingerprint")}
    if network is not None:
        from safetensors.numpy import save

        with replacing(folder / WEIGHTS) as file:
            file.write(save(network.tensors()))
    _write_card(folder, card)


def add_scores(folder: Path, summary: Mapping[str, Any]) -> None:
    """Write the summary of an evaluation into a policy's card."""
    names = ("score", "unit", "score_mean", "score_sd", "return_mean", "return_sd", "episodes", "seed")
    _write_card(folder, read_card(folder) | {"scores": {name: summary[name] for name in names}})


def _write_card(folder: Path, card: Mapping[str, Any]) -> None:
    with replacing(folder / CARD) as file:
        file.write((json.dumps(card, indent=2, allow_nan=False) + "\n").encode())


def read_card(folder: Path) -> dict[str, Any]:
    """Read a policy's card and check everything that does not need the environment.

    Raises:
        ValueError: If a value is invalid; names file and key.
    """
    path = folder / CARD
    card = read_json(path, MAX_HEADER, KEYS | PARTS, optional=PARTS)
    if (parts := card.keys() & PARTS) not in KINDS:
        raise ValueError(f"{str(path)!r} must have a network, a controller, or both with a rule, got {sorted(parts)}")
    return card


def _describe(space: Any) -> dict[str, Any]:
    """Describe a space in values that JSON supports."""
    low, high = (bound.flat[0] if (bound == bound.flat[0]).all() else bound for bound in (space.low, space.high))
    return {"shape": list(space.shape), "low": low.tolist(), "high": high.tolist()}


def load_policy(folder: str | Path, envs: Any) -> Agent:
    """Load a policy without exploration, to act in a vector environment. Its network runs in NumPy.

    Args:
        folder: Run folder, or folder of a policy included in the package.
        envs: Vector environment with the arguments listed under ``env`` in the card.

    Raises:
        ValueError: If the files are invalid or do not match the observations and actions of ``envs``; names file and
            key.
    """
    folder = Path(folder)
    card = read_card(folder)
    _check_envs(folder, card, envs)
    try:
        mover = _controller(card["controller"], envs) if "controller" in card else None
        if "network" not in card:
            assert mover is not None
            return mover
        answers = Answers(envs.task) if "rule" in card else None
    except ValueError as error:
        raise ValueError(f"{str(folder / CARD)!r}: {error}") from None
    outputs = answers.outputs if answers else envs.single_action_space.shape[0]
    sizes = [envs.single_observation_space.shape[0], *card["network"]["net_arch"], outputs]
    try:
        tensors = _read_weights(folder / WEIGHTS, Network.shapes(sizes))
    except OSError as error:
        raise ValueError(f"{str(folder / WEIGHTS)!r} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ValueError(f"{str(folder / WEIGHTS)!r}: {error}") from None
    network = Network.from_tensors(tensors, card["network"]["activation"])
    if mover is None or answers is None:
        return NetworkAgent(network, squashed=card["algorithm"] == "sac")
    return AnsweringAgent(mover, network, answers, **card["rule"])


def _check_envs(folder: Path, card: Mapping[str, Any], envs: Any) -> None:
    """Raise ValueError unless actions and observations have the same meaning in ``envs`` as in the card's ``env``."""
    if not hasattr(envs, "single_action_space"):
        raise ValueError(f"envs must be a vector environment from gymnasium.make_vec, got {shown(envs)}")
    for key in ("observation_space", "action_space"):
        space = _describe(getattr(envs, f"single_{key}"))
        if card[key] != space:
            raise ValueError(f"{str(folder / CARD)!r}: {key} must be the environment's, {space}, got {card[key]!r:.80}")
    batch = getattr(getattr(envs, "unwrapped", envs), "batch", None)
    if batch is None:  # hidden in the benchmark's track fixed
        return
    env = {**gymnasium.spec(card["id"]).kwargs, **card["env"]}
    usual = {"actions": batch.task.action_modes[0], "history": 1}
    for name, value in {"actions": batch.task.actions, "history": batch.frames.shape[1]}.items():
        trained = env[name] if env.get(name) is not None else usual[name]
        if trained != value:
            raise ValueError(
                f"{str(folder / CARD)!r}: the policy was trained with {name}={shown(trained)}, the environment has "
                f"{name}={shown(value)}: create it with the arguments listed under env in the card"
            )


def check_parameters(reference: Reference, parameters: Mapping[str, Any]) -> None:
    """Raise ValueError unless all parameters are bounded parameters of the reference and within their bounds."""
    for key, value in parameters.items():
        choice("controller: parameter", key, reference.bounds)
        within(f"controller: parameter {key}", value, *reference.bounds[key])


def _controller(part: Mapping[str, Any], envs: Any) -> Agent:
    """Create the agent of the card's controller part: a reference with changed parameters."""
    own = references(type(envs.task))
    choice("controller: name", part["name"], own)
    check_parameters(own[part["name"]], part["parameters"])
    parameters = {key: float(value) for key, value in part["parameters"].items()}
    return reference_policy(part["name"], own[part["name"]], **parameters).make(envs, 0)


def check_size(path: Path) -> None:
    """Raise ValueError unless a file of weights and its header respect the limits."""
    check_file(path, MAX_WEIGHTS)
    with path.open("rb") as file:
        if (header := int.from_bytes(file.read(8), "little")) > MAX_HEADER:
            raise ValueError(f"header must have at most {MAX_HEADER} bytes, got {header}")


def _read_weights(path: Path, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, NDArray[np.float32]]:
    """Read the tensors of a file and check names, shapes, types and finite values."""
    from safetensors import SafetensorError, safe_open

    check_size(path)
    if (size := 4 * sum(map(math.prod, shapes.values()))) > MAX_WEIGHTS:
        raise ValueError(f"weights must have at most {MAX_WEIGHTS} bytes, got a card for {size}")
    try:
        with safe_open(path, "numpy") as file:
            if (names := {*file.keys()}) != shapes.keys():
                raise ValueError(
                    f"tensors are missing in the file or in the card: {shown(sorted(names ^ shapes.keys()))}"
                )
            for name, shape in shapes.items():
                part = file.get_slice(name)
                if (kind := part.get_dtype(), tuple(part.get_shape())) != ("F32", shape):
                    raise ValueError(f"tensor {name!r} must be F32 {shape}, got {kind} {tuple(part.get_shape())}")
            tensors = {name: file.get_tensor(name) for name in shapes}
    except SafetensorError as error:
        raise ValueError(f"it is not a safetensors file: {error}") from None
    for name, tensor in tensors.items():
        if not np.isfinite(tensor).all():
            raise ValueError(f"tensor {name!r} must be finite")
    return tensors
