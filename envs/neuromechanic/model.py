"""Models as data: bodies, muscles, neurons, contacts and so on from a TOML file or a mapping.

Which keys there are is written in `keys`, how they are read in `reader`, and what follows from them in `build`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arguments import shown
from .build import Joint, build
from .layout import pack
from .modules import Module
from .params import PHYSICAL
from .reader import listed, plain, read_file

LONGEST_PAST = 1 << 20
"""Numbers that a row may keep of the past: delayed signals times the time steps of the longest delay (8 MiB)."""


@dataclass(frozen=True)
class Model:
    """A checked model; `load` makes it.

    Args:
        bodies, muscles, neurons, inputs, wrenches, pins, contacts (tuple of str): Names, in the order of the state
            vector and of the signals. A body with a ball or free joint has three or six, its own being the last.
        followers (tuple of str): Bodies whose joints follow others, numbered after these.
        joints (tuple of Joint): One per body.
        modules (tuple of Module)
        arrays: Constants by name, see `layout.ARRAYS`.
        counts: How many of them there are, of bodies, muscles and so on.
        delays ((S,) float, s): Of each synapse.
        wrench ((W, 6) float, N and N m): Constant part of each wrench.
        start ((s,) float): States n at the beginning: of control modules 0, of leaky neurons what the model says.
        pulse ((3,) float): Of the ground: when it begins (s), how long it lasts (s), its peak (m/s^2).
        origin: What errors begin with: the file, or nothing.
        description (mapping or None): Source of the model if it is plain data; trajectories save it.
    """

    bodies: tuple[str, ...]
    followers: tuple[str, ...]
    muscles: tuple[str, ...]
    neurons: tuple[str, ...]
    inputs: tuple[str, ...]
    wrenches: tuple[str, ...]
    pins: tuple[str, ...]
    contacts: tuple[str, ...]
    joints: tuple[Joint, ...]
    modules: tuple[Module, ...]
    delays: NDArray[np.float64]
    wrench: NDArray[np.float64]
    start: NDArray[np.float64]
    pulse: NDArray[np.float64]
    arrays: dict[str, NDArray[Any]]
    counts: dict[str, int]
    origin: str = field(default="", compare=False)
    description: Mapping[str, Any] | None = field(default=None, compare=False)

    def records(self, dt: float) -> tuple[NDArray[Any], dict[str, np.dtype[Any]]]:
        """Table for time steps of ``dt`` (s), of which every delay must be a whole number; see `layout.pack`."""
        synapse, steps = self.arrays["synapse"].copy(), self.delays / dt
        most = LONGEST_PAST // max(self.counts["delays"], 1) - 1
        whole = np.rint(steps)
        wrong = ~(steps <= most) | (np.abs(steps - whole) > 1e-6 * steps) | ((self.delays > 0) & (whole < 1))
        if wrong.any():
            raise ValueError(
                f"{self.origin}delay of a synapse must be a whole number of time steps of {dt:g} s, at most {most} for "
                f"{self.counts['delays']} delayed signals, got {self.delays[wrong][0]:g} s"
            )
        synapse[:, 3] = whole
        depth = math.ceil(PHYSICAL["delay"].high * synapse[:, 3].max(initial=0)) + 1 if self.counts["delays"] else 0
        arrays = self.arrays | {"synapse": synapse, "interval": np.array([dt])}
        return pack(arrays, self.counts | {"depth": depth})


def load(source: str | Path | Mapping[str, Any], modules: Mapping[str, Module] | None = None) -> Model:
    """Read and check a model.

    A model is a table of the keys in `keys.KINDS`, which the guide "Your own body" lists with units and meanings.
    Units are SI, and positions refer to the joint of the body.

    Signals are ``joint.BODY.position``, ``joint.BODY.velocity``, ``muscle.NAME.force`` (``length``, ``velocity``,
    ``fibre_length``, ``fibre_velocity``, ``activation``), ``neuron.NAME``, ``spline.NAME``, ``module.NAME.OUTPUT``,
    ``body.NAME.x`` (``y``, ``z``: where its joint is in the world, ``vx``, ``vy``, ``vz``: how fast it moves),
    ``contact.NAME.height`` above its surface, ``contact.NAME.force`` along the normal in the last step, and
    ``input.NAME``, which is an input.

    A ball turns freely about its joint, a free body moves as well. Its joints are named ``BODY.rx``, ``BODY.ry``,
    ``BODY.rz`` and, of a free one, ``BODY.x`` and so on, before these. Positions of the first three are the rotation
    vector, whose length is the angle of the turn, at most half a turn; velocities, motors and damping are about the
    body's own axes. Nothing is singular. The signal ``quaternion`` of the animal says the same of all balls.

    A spindle fires with bias + length_gain (length - rest) + velocity_gain velocity^power + coactivation activation
    impulses per second, a tendon organ with bias + gain (force - threshold) / max_force, from 0 to 1000.

    No number exceeds `reader.LARGEST`, no delay `keys.LONGEST_DELAY`, and `reader.LIMITS` tells how many bodies,
    muscles and so on there may be. A file has at most `reader.LARGEST_FILE` bytes, in UTF-8.

    Args:
        source (path of a TOML file, or mapping): A mapping has the same keys. Files of OpenSim and MuJoCo are read by
            `gymnosoma.biomechanics.load`, which returns a mapping.
        modules: A control module by its name; it is code, so no file can name one.

    Raises:
        ValueError: If something is wrong; the message names the file, the key, the value and what is allowed.

    Examples:
        An arm with a spindle and a tendon organ in its biceps, and a leaky interneuron that both reach:

        >>> from gymnosoma.envs import simulate
        >>> from gymnosoma.envs.neuromechanic import Neuromechanic, load
        >>> from gymnosoma.envs.neuromechanic.hindlimb import asset
        >>> arm = asset("arm")
        >>> arm["neuron"]["ia"] = {"type": "spindle", "muscle": "biceps", "delay": 0.01}
        >>> arm["neuron"]["ib"] = {"type": "golgi", "muscle": "biceps", "delay": 0.01}
        >>> sources = [{"from": "neuron.ia"}, {"from": "neuron.ib", "gain": -0.5}]
        >>> arm["neuron"]["inter"] = {"tau": 0.02, "synapse": sources}
        >>> arm["wrench"] = {"hand": {"body": "fore", "at": [0, -0.26, 0]}}
        >>> animal = Neuromechanic(load(arm))
        >>> animal.model.inputs  # as the arm declares them, whatever is edited
        ('triceps', 'biceps')
        >>> run = simulate(animal, [0.1, 0.1], 0.2, every=0.1, start={"wrench": [10.0, 0, 0, 0, 0, 0]})
        >>> run["neurons"].shape, run["joint_torque"].shape  # reflex, ia, ib, inter; two joints
        ((3, 4), (3, 2))

        A body that falls and tumbles in space:

        >>> block = {
        ...     "schema": 1,
        ...     "gravity": [0, -9.81, 0],
        ...     "body": {
        ...         "block": {
        ...             "joint": {"type": "free", "start": [0, 1, 0]},
        ...             "inertial": {"mass": 1.0, "inertia": [0.01, 0.02, 0.025]},
        ...         }
        ...     },
        ... }
        >>> animal = Neuromechanic(block)
        >>> animal.model.bodies
        ('block.x', 'block.y', 'block.z', 'block.rx', 'block.ry', 'block')
        >>> run = simulate(animal, [], 0.2, every=0.2, start={"v": [0, 0, 0, 1, 10, 0]})
        >>> run["quaternion"].shape  # times, balls, (w, x, y, z)
        (2, 1, 4)
    """
    if isinstance(source, Mapping):
        return Model(**build(plain(source), modules or {}))
    description, origin = read_file(source, "model"), f"model {str(source)!r}: "
    try:
        return Model(**build(description, modules or {}), origin=origin)
    except ValueError as error:
        raise ValueError(f"{origin}{error}") from None


def changed(
    model: str | Path | Mapping[str, Any],
    params: Mapping[str, Any] | str | Path | None,
    modules: Mapping[str, Module] | None = None,
) -> dict[str, Any]:
    """Copy of a model's description with other values.

    Args:
        model (path of a TOML file, or mapping): As `load` takes it.
        params (mapping or path of a TOML file): With the same keys, but only those whose values are to be others, as in
            ``{"muscle": {"biceps": {"model": {"max_force": 100.0}}}}``. Lists are replaced as a whole. Bodies, muscles,
            inputs and so on stay those of the model: other models are for `register_model`.
        modules: Control modules by name.

    Raises:
        ValueError: If ``params`` is neither, its file cannot be read, it names what the model does not have, or the
            model is no longer possible.
    """
    own: dict[str, Any] = plain(model) if isinstance(model, Mapping) else read_file(model, "model")
    if params is None:
        return own
    if isinstance(params, Mapping):
        values = plain(params, "params")
    elif isinstance(params, str | Path):
        values = read_file(params, "params")
    else:
        raise ValueError(f"params must be a mapping or the path of a TOML file, got {shown(params)}")
    result = _merged(own, values, ())
    before = load(own, modules)
    try:
        after = load(result, modules)
    except ValueError as error:
        raise ValueError(f"params: {error}") from None
    for what, old, new in (
        ("inputs", before.inputs, after.inputs),
        ("activations", before.counts["active"], after.counts["active"]),
    ):
        if old != new:
            raise ValueError(f"params must leave the {what} as they are, {shown(old)}, got {shown(new)}")
    return result


def _merged(own: Mapping[str, Any], values: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    result = dict(own)
    for key, value in values.items():
        if len(path) < 2 and key not in own:  # deeper, `load` knows which keys there may be
            raise ValueError(f"params: {'.'.join((*path, key))} is not known; the model has {listed(own)}")
        inner = own.get(key)
        if isinstance(value, Mapping) and isinstance(inner, Mapping):
            value = _merged(inner, value, (*path, key))
        result[key] = value
    return result
