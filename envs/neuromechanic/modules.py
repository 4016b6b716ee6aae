"""Control modules: user-defined kernels with states and outputs."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..core.kernels.jit import uncached


class Module(NamedTuple):
    """Control module: a kernel with states and outputs, Eq. 10.

    Args:
        states, outputs: Numbers of states and of outputs; output i is the signal ``module.NAME.i``.
        kernel (kernel, or a function that numba can compile): Called as ``kernel(time, q, v, n, momentum, inputs,
            heard, dn, out)``. It writes the rates ``dn`` of its states ``n`` and its outputs ``out``. ``momentum``
            (12,) is the angular momentum about the centre of mass, the linear momentum, and position and velocity of
            the centre of mass. ``heard`` has the values of ``reads``.
        reads (sequence of str): Names of signals, such as lengths, velocities, forces and activations of muscles, leaky
            neurons and splines.

    Examples:
        One module that integrates the stretch of a muscle beyond 0.35 m, and one that computes its power:

        >>> from gymnosoma.envs.neuromechanic import Module, Neuromechanic, load
        >>> from gymnosoma.envs.neuromechanic.hindlimb import asset
        >>> def stretch(time, q, v, n, momentum, inputs, heard, dn, out):
        ...     dn[0] = heard[0] - 0.35
        ...     out[0] = n[0]
        >>> def power(time, q, v, n, momentum, inputs, heard, dn, out):
        ...     out[0] = -heard[0] * heard[1]
        >>> modules = {
        ...     "stretch": Module(1, 1, stretch, ["muscle.biceps.length"]),
        ...     "power": Module(0, 1, power, ["muscle.biceps.force", "muscle.biceps.velocity"]),
        ... }
        >>> arm = asset("arm")
        >>> arm["neuron"]["reflex"]["synapse"].append({"from": "module.stretch.0", "gain": 5.0})
        >>> animal = Neuromechanic(load(arm, modules))
        >>> rows = animal.rows(1)
        >>> rows["n"].shape  # one state for each row
        (1, 1)
    """

    states: int
    outputs: int
    kernel: Any
    reads: tuple[str, ...] | list[str] = ()


def chain(modules: tuple[Module, ...]) -> Any:
    """Return one kernel that calls the kernels of all modules, each with its part of states, readings and outputs."""
    first, *others = modules
    if not others:
        return first.kernel
    one, rest = (uncached(function) for function in (first.kernel, chain(tuple(others))))
    states, outputs, reads = first.states, first.outputs, len(first.reads)

    def both(time, q, v, n, momentum, inputs, heard, dn, out):
        one(time, q, v, n[:states], momentum, inputs, heard[:reads], dn[:states], out[:outputs])
        rest(time, q, v, n[states:], momentum, inputs, heard[reads:], dn[states:], out[outputs:])

    return both
