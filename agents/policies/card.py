"""Policies as files: weights in ``policy.safetensors``, all else in ``card.json``. Nothing in them is executed.

What a policy is made of stands in its card: ``network``, whose weights the other file holds; ``controller``, the name
of a reference of the task and the parameters in which it differs from it; and where a network answers while a
controller moves, ``rule``, by which it commits itself.

What a file claims is checked before memory is taken for it: the card against the environment, the header of the
weights against the card, and both against limits.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from gymnosoma.envs.core.arguments import choice, number, shown, within

from ..controllers import Reference, references
from ..support.files import replacing
from ..support.schema import Check, held, read, typed
from .agent import Agent, reference_policy
from .answers import AnsweringAgent, Answers
from .networks import Activation, Network, NetworkAgent, relu

if TYPE_CHECKING:
    from stable_baselines3.common.policies import BasePolicy

FORMAT = 1
"""Version of the card's format; another one is refused."""

WEIGHTS, CARD = "policy.safetensors", "card.json"

MAX_CARD = 2**16
"""Largest size of a card, bytes."""

MAX_HEADER = 2**16
"""Largest size of the header of the weights, bytes."""

MAX_WEIGHTS = 2**26
"""Largest size of the weights, bytes; those of the recipes have 3e5."""

MAX_LAYERS = 16
"""Largest number of layers of a network."""

SECOND = {"ppo": "vf", "sac": "qf"}
"""Name of the second network in stable-baselines3's ``net_arch``, by algorithm."""

PARTS: dict[str, tuple[set[str], ...]] = {
    "ppo": ({"network"},),
    "sac": ({"network"},),
    "cma": ({"network"}, {"controller"}),
    "supervised": ({"network", "controller", "rule"},),
}
"""Parts that the policies of each algorithm may consist of."""

ACTIVATIONS: dict[str, Activation] = {"Tanh": np.tanh, "ReLU": relu}
"""Activations that a card may name, as ``torch.nn`` does."""


def write_policy(
    folder: Path,
    policy: BasePolicy,
    env_id: str,
    algorithm: str,
    env: Mapping[str, Any],
    versions: Mapping[str, str],
    fingerprint: str = "",
) -> None:
    """Write weights and card of an ``MlpPolicy`` of stable-baselines3 into a folder that exists.

    ``env`` holds the arguments of the environment that it was trained in, ``versions`` those of what it was trained
    with, ``fingerprint`` is how the id behaved then (`fingerprints.of_id`).

    Raises:
        ValueError: If the policy is not what a card can describe: it has settings beyond ``net_arch`` and the
            activation.
    """
    network: Any = policy
    parts = {"network": {"net_arch": network.net_arch, "activation": network.activation_fn.__name__}}
    about = {"id": env_id, "algorithm": algorithm, "env": env, "versions": versions, "fingerprint": fingerprint}
    card = _card(about, parts, policy.observation_space, policy.action_space)
    _network(algorithm)("network", card["network"])
    for name, value in env.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            raise ValueError(
                f"env: {name} must be numbers, strings, lists and mappings, as a card is JSON, got {shown(value)}"
            ) from None
    tensors = {name: tensor.numpy() for name, tensor in policy.state_dict().items()}
    if {name: tensor.shape for name, tensor in tensors.items()} != _shapes(card):
        raise ValueError(f"policy must be a plain MlpPolicy of {algorithm}, got tensors {sorted(tensors)}")
    _write(folder, card, tensors)


def write_found(
    folder: Path, config: Mapping[str, Any], parts: Mapping[str, Any], network: Network | None = None
) -> None:
    """Write a policy that no stable-baselines3 made, of a run's ``config``, into a folder that exists.

    ``parts`` are those of the policy, as they stand in its card; ``network`` is needed where one of them is.
    """
    envs: Any = gymnasium.make_vec(config["id"], 1, **config["env"])
    card = _card(config, parts, envs.single_observation_space, envs.single_action_space)
    envs.close()
    _write(folder, card, None if network is None else network.tensors())


def _card(about: Mapping[str, Any], parts: Mapping[str, Any], *spaces: Any) -> dict[str, Any]:
    """A card of the id, algorithm, environment and versions that it is ``about``."""
    seen, done = map(_describe, spaces)
    card = {"format": FORMAT, "id": about["id"], "algorithm": about["algorithm"], **parts}
    card |= {"observation_space": seen, "action_space": done, "env": dict(about["env"]), "scores": {}}
    return card | {"versions": dict(about["versions"]), "fingerprint": about["fingerprint"]}


def _write(folder: Path, card: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]] | None = None) -> None:
    if tensors is not None:
        from safetensors.numpy import save

        with replacing(folder / WEIGHTS) as file:
            file.write(save(dict(tensors)))
    with replacing(folder / CARD) as file:
        file.write((json.dumps(card, indent=2, allow_nan=False) + "\n").encode())


def add_scores(folder: Path, summary: Mapping[str, Any]) -> None:
    """Note the summary of an evaluation in a policy's card."""
    names = ("score", "unit", "score_mean", "score_sd", "return_mean", "return_sd", "episodes", "seed")
    _write(folder, read_card(folder) | {"scores": {name: summary[name] for name in names}})


def read_card(folder: Path) -> dict[str, Any]:
    """Read a policy's card, and check what can be checked without its environment.

    A ValueError names file and key.
    """
    path = folder / CARD
    with _opened(path) as file:
        data = file.read(MAX_CARD + 1)
    try:
        if len(data) > MAX_CARD:
            raise ValueError(f"it must have at most {MAX_CARD} bytes")
        card = json.loads(data, parse_constant=_no_number)
        _check(card)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{str(path)!r}: {error}") from None
    return card


def _opened(path: Path) -> BinaryIO:
    """A file of a policy; a pipe, for which opening would wait, is none."""
    try:
        if path.exists() and not path.is_file():
            raise ValueError(f"policy {str(path.parent)!r}: {path.name} must be a file")
        return path.open("rb")
    except OSError as error:
        raise ValueError(f"policy {str(path.parent)!r} has no {path.name} that can be read: {error.strerror}") from None


def _no_number(text: str) -> None:
    raise ValueError(f"numbers must be finite, got {text}")


def _short(value: Any) -> str:
    """A value as JSON, cut."""
    text = json.dumps(value)
    return text if len(text) <= 80 else text[:77] + "..."


_TEXT = partial(typed, kind=str, words="be a string", show=_short)
_OBJECT = partial(typed, kind=dict, words="be an object", show=_short)

KEYS: dict[str, Check] = {
    "format": partial(typed, kind=int, words="be an integer", show=_short),
    **dict.fromkeys(("id", "algorithm"), _TEXT),
    **dict.fromkeys(("observation_space", "action_space", "env", "scores", "versions"), _OBJECT),
}
"""Keys of a card beside the parts of the policy and, since there are such, the ``fingerprint`` of its id."""

_CONTROLLER = partial(held, keys={"name": _TEXT, "parameters": _OBJECT}, show=_short)
_RULE = partial(held, keys=dict.fromkeys(("doubt", "latest"), partial(number, minimum=0.0)), show=_short)


def _network(algorithm: str) -> Check:
    """Check of the network of an algorithm's policies."""
    second = SECOND.get(algorithm)
    names = ["pi", second] if second else []

    def architecture(name: str, arch: Any) -> None:
        both = isinstance(arch, dict) and names and sorted(arch) == sorted(names)
        for layers in arch.values() if both else [arch]:
            possible = isinstance(layers, list) and len(layers) <= MAX_LAYERS
            if not possible or not all(type(width) is int and width > 0 for width in layers):
                two = f", or two by the names {' and '.join(names)}" if names else ""
                raise ValueError(
                    f"{name} must be a list of at most {MAX_LAYERS} integers greater than 0{two}, got {_short(arch)}"
                )

    activation = partial(choice, known=[*ACTIVATIONS] if second else ["Tanh"])
    return partial(held, keys={"net_arch": architecture, "activation": activation}, show=_short)


def _check(card: Any) -> None:
    if not isinstance(card, dict):
        raise ValueError(f"it must hold an object, got {_short(card)}")
    read(card, {"algorithm": partial(choice, known=PARTS)})
    kinds = PARTS[card["algorithm"]]
    parts = next((parts for parts in kinds if parts <= card.keys()), kinds[0])
    for key in card.keys() - KEYS.keys() - parts - {"fingerprint"}:
        allowed = [*KEYS, "fingerprint", *sorted(parts)]
        raise ValueError(f"{_short(key)} is not known; allowed are {', '.join(allowed)}")
    checks: dict[str, Check] = {"network": _network(card["algorithm"]), "controller": _CONTROLLER, "rule": _RULE}
    read({"fingerprint": "", **card}, KEYS | {part: checks[part] for part in sorted(parts)} | {"fingerprint": _TEXT})
    if card["format"] != FORMAT:
        raise ValueError(f"format must be {FORMAT}, got {card['format']}: another version of gymnosoma wrote it")


def _describe(space: Any) -> dict[str, Any]:
    """A space, ready for JSON."""
    low, high = (bound.flat[0] if (bound == bound.flat[0]).all() else bound for bound in (space.low, space.high))
    return {"shape": list(space.shape), "low": low.tolist(), "high": high.tolist()}


def _shapes(card: Mapping[str, Any], outputs: int | None = None) -> dict[str, tuple[int, ...]]:
    """Tensors that a card's network has, by the names that stable-baselines3, or `Network`, gives them.

    ``outputs`` of a network that answers.
    """
    (seen,), (done,) = (card[f"{name}_space"]["shape"] for name in ("observation", "action"))
    arch, shapes = card["network"]["net_arch"], dict[str, tuple[int, ...]]()
    if card["algorithm"] not in SECOND:
        for k, (before, after) in enumerate(pairwise([seen, *arch, outputs or done])):
            shapes |= {f"layers.{k}.weight": (after, before), f"layers.{k}.bias": (after,)}
        return shapes
    own, other = (arch, arch) if isinstance(arch, list) else (arch["pi"], arch[SECOND[card["algorithm"]]])

    def linear(name: str, inputs: int, outputs: int) -> None:
        shapes.update({f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)})

    def layers(name: str, *sizes: int) -> None:
        for k, (inputs, outputs) in enumerate(pairwise(sizes)):
            linear(f"{name}.{2 * k}", inputs, outputs)  # activations have the odd numbers

    if card["algorithm"] == "ppo":
        shapes["log_std"] = (done,)
        layers("mlp_extractor.policy_net", seen, *own)
        layers("mlp_extractor.value_net", seen, *other)
        linear("action_net", [seen, *own][-1], done)
        linear("value_net", [seen, *other][-1], 1)
    else:
        layers("actor.latent_pi", seen, *own)
        for name in ("mu", "log_std"):
            linear(f"actor.{name}", [seen, *own][-1], done)
        for name in ("critic.qf0", "critic.qf1", "critic_target.qf0", "critic_target.qf1"):
            layers(name, seen + done, *other, 1)
    return shapes


def load_policy(folder: Path, envs: Any) -> Agent:
    """Load the policy of a folder, to act in ``envs``; NumPy plays its network, whatever trained it.

    Raises:
        ValueError: Naming file and key.
    """
    card = read_card(folder)
    if not hasattr(envs, "single_action_space"):
        raise ValueError(f"envs must be a vector environment, as gymnasium.make_vec makes it, got {shown(envs)}")
    _check_meant(folder, card, envs)
    spaces: dict[str, Box] = {}
    for key in ("observation_space", "action_space"):
        spaces[key] = getattr(envs, f"single_{key}")
        if card[key] != _describe(spaces[key]):
            own, given = json.dumps(_describe(spaces[key])), _short(card[key])
            raise ValueError(f"{str(folder / CARD)!r}: {key} must be the environment's, {own}, got {given}")
    if "network" not in card:
        return _controller(folder, card, envs)
    with _opened(folder / WEIGHTS) as file:
        header = int.from_bytes(file.read(8), "little")
    try:
        answers = Answers(envs.task) if "rule" in card else None
        tensors = _read_weights(folder / WEIGHTS, header, _shapes(card, answers.outputs if answers else None))
    except (ValueError, OSError) as error:
        raise ValueError(f"{str(folder / WEIGHTS)!r}: {error}") from None
    network = _played(card, tensors)
    if answers is None:
        return NetworkAgent(network, squashed=card["algorithm"] == "sac")
    return AnsweringAgent(_controller(folder, card, envs), network, answers, **card["rule"])


def _check_meant(folder: Path, card: Mapping[str, Any], envs: Any) -> None:
    """Raise ValueError where actions or observations mean something else in ``envs`` than in the card's ``env``."""
    batch = getattr(getattr(envs, "unwrapped", envs), "batch", None)
    if batch is None:  # which the track fixed of a contest hides
        return
    registered = gymnasium.registry.get(card["id"])
    env = {**(registered.kwargs if registered else {}), **card["env"]}
    usual = {"actions": batch.task.action_modes[0], "history": 1}
    for name, own in {"actions": batch.task.actions, "history": batch.frames.shape[1]}.items():
        learned = env[name] if env.get(name) is not None else usual[name]
        if learned != own:
            raise ValueError(
                f"{str(folder / CARD)!r}: the policy learned with {name}={shown(learned)}, the environment has "
                f"{name}={shown(own)}: make it with the arguments that the card has under env"
            )


def _played(card: Mapping[str, Any], tensors: Mapping[str, NDArray[np.float32]]) -> Network:
    """The network that acts, of all that a file holds."""
    if card["algorithm"] not in SECOND:
        return Network.from_tensors(tensors)
    ppo = card["algorithm"] == "ppo"
    start, last = ("mlp_extractor.policy_net", "action_net") if ppo else ("actor.latent_pi", "actor.mu")
    hidden = sum(name.startswith(f"{start}.") for name in tensors) // 2
    names = [*(f"{start}.{2 * k}" for k in range(hidden)), last]
    layers = [(tensors[f"{name}.weight"], tensors[f"{name}.bias"]) for name in names]
    return Network(layers, ACTIVATIONS[card["network"]["activation"]])


class TrainedAgent:
    """A policy that was trained, acting without exploration; see `load` and `unpickle`.

    It is made of a policy or an algorithm of stable-baselines3, or of an agent.
    """

    def __init__(self, network: Any) -> None:
        self._network = network

    @classmethod
    def load(cls, folder: str | Path, envs: Any) -> TrainedAgent:
        """Load the policy of a run folder to act in ``envs``, which executes nothing.

        The folder has ``card.json``, and ``policy.safetensors`` where the policy has a network.

        Raises:
            ValueError: If the files are not those of a policy, or belong to other spaces or action modes.
        """
        return cls(load_policy(Path(folder), envs))

    @classmethod
    def unpickle(cls, path: str | Path, algorithm: str, envs: Any) -> TrainedAgent:
        """Load a zip of stable-baselines3 (ppo or sac), which runs whatever code its author put into it.

        Raises:
            ValueError: If the file is not such a zip, or belongs to other spaces than those of ``envs``.
        """
        import stable_baselines3

        choice("algorithm", algorithm, ("ppo", "sac"))
        try:
            model = getattr(stable_baselines3, algorithm.upper()).load(path, device="cpu")
        except Exception as error:  # zip, pickle and torch each raise their own
            raise ValueError(f"policy {str(path)!r} cannot be loaded: {type(error).__name__}: {error}") from error
        for name in ("observation_space", "action_space"):
            own, other = getattr(model, name), getattr(envs, f"single_{name}")
            if own.shape != other.shape:
                raise ValueError(f"policy {str(path)!r} has {name} {own.shape}, the environment {other.shape}")
        return cls(model)

    def act(self, observations: NDArray[np.float32], first: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Actions (B, n) in [-1, 1] for observations (B, d), of which ``first`` (B,) bool open an episode."""
        if hasattr(self._network, "act"):
            return self._network.act(observations, first)
        return self._network.predict(observations, deterministic=True)[0]


def check_parameters(reference: Reference, parameters: Mapping[str, Any]) -> None:
    """Raise ValueError unless all are parameters with bounds, and within them."""
    for key, value in parameters.items():
        choice("controller: parameter", key, reference.bounds)
        within(f"controller: parameter {key}", value, *reference.bounds[key])


def _controller(folder: Path, card: Mapping[str, Any], envs: Any) -> Agent:
    """The reference that a card names, with the parameters that it tells."""
    name, parameters, known = card["controller"]["name"], card["controller"]["parameters"], references(type(envs.task))
    try:
        choice("controller: name", name, known)
        check_parameters(known[name], parameters)
    except ValueError as error:
        raise ValueError(f"{str(folder / CARD)!r}: {error}") from None
    return reference_policy(name, known[name], **{key: float(value) for key, value in parameters.items()}).make(envs, 0)


def _read_weights(path: Path, header: int, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, NDArray[np.float32]]:
    """Tensors of a file with a header of so many bytes, which must be those of ``shapes``."""
    from safetensors import SafetensorError, safe_open

    size = max(path.stat().st_size, 4 * sum(map(math.prod, shapes.values())))
    if size > MAX_WEIGHTS:
        raise ValueError(f"it must have at most {MAX_WEIGHTS} bytes, got {size}")
    if header > MAX_HEADER:
        raise ValueError(f"header must have at most {MAX_HEADER} bytes, got {header}")
    try:
        with safe_open(path, "numpy") as file:
            given = set(file.keys())
            for name in sorted(given - shapes.keys()):
                raise ValueError(f"tensor {name[:80]!r} is not known to the network of the card")
            for name, shape in shapes.items():
                if name not in given:
                    raise ValueError(f"tensor {name!r} is missing")
                found = file.get_slice(name)
                if (found.get_dtype(), tuple(found.get_shape())) != ("F32", shape):
                    got = f"{found.get_dtype()} {tuple(found.get_shape())}"
                    raise ValueError(f"tensor {name!r} must be F32 {shape}, got {got}")
            tensors = {name: file.get_tensor(name) for name in shapes}
    except SafetensorError as error:
        raise ValueError(f"it is not a file of safetensors: {error}") from None
    for name, tensor in tensors.items():
        if not np.isfinite(tensor).all():
            raise ValueError(f"tensor {name!r} must be finite")
    return tensors
