"""Small networks without a library: what plays, whatever trained it; what evolves, and what answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

ACTIVATIONS: dict[str, Callable[[NDArray[np.float32]], NDArray[np.float32]]] = {
    "Tanh": np.tanh,
    "ReLU": lambda x: np.maximum(x, 0.0),
}
"""Activations by the names that ``torch.nn`` gives them."""


class Network:
    """Layers with one of the `ACTIVATIONS`; the last one is linear.

    Weights have shapes (..., out, in) and biases (..., out), with the same leading axes: networks side by side.
    """

    def __init__(
        self,
        layers: Sequence[tuple[NDArray[np.float32], NDArray[np.float32]]],
        activation: str = "Tanh",
    ) -> None:
        self.layers, self.activation = list(layers), activation

    def __call__(self, inputs: NDArray[np.float32]) -> NDArray[np.float32]:
        """Outputs (..., K, out) of inputs (..., K, in); those of a row do not depend on how many rows there are."""
        x, activate = inputs, ACTIVATIONS[self.activation]
        for k, (weight, bias) in enumerate(self.layers):
            x = np.einsum("...ki,...oi->...ko", activate(x) if k else x, weight) + bias[..., None, :]
        return x

    @property
    def widths(self) -> list[int]:
        """Widths of the hidden layers."""
        return [bias.shape[-1] for _, bias in self.layers[:-1]]

    @staticmethod
    def shapes(sizes: Sequence[int]) -> dict[str, tuple[int, ...]]:
        """Shapes of the `tensors` of a network of the layer sizes."""
        shapes: dict[str, tuple[int, ...]] = {}
        for k, (inputs, outputs) in enumerate(pairwise(sizes)):
            shapes |= {f"layers.{k}.weight": (outputs, inputs), f"layers.{k}.bias": (outputs,)}
        return shapes

    @classmethod
    def from_vectors(cls, vectors: NDArray[np.floating], sizes: Sequence[int]) -> Network:
        """Networks of the layer sizes from vectors (..., n) of `length`: weights in units of 1/sqrt(inputs)."""
        parts, start = [], 0
        for inputs, outputs in pairwise(sizes):
            weight = vectors[..., start : start + inputs * outputs] / np.sqrt(inputs)
            start += inputs * outputs
            bias = vectors[..., start : start + outputs]
            start += outputs
            shaped = weight.reshape(*vectors.shape[:-1], outputs, inputs)
            parts.append((shaped.astype(np.float32), bias.astype(np.float32)))
        return cls(parts)

    @staticmethod
    def length(sizes: Sequence[int]) -> int:
        """Weights and biases of the layer sizes."""
        return sum((inputs + 1) * outputs for inputs, outputs in pairwise(sizes))

    def tensors(self) -> dict[str, NDArray[np.float32]]:
        """Arrays by name, as in a policy's file."""
        return {
            f"layers.{k}.{name}": np.ascontiguousarray(array)
            for k, layer in enumerate(self.layers)
            for name, array in zip(("weight", "bias"), layer, strict=True)
        }

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, NDArray[np.float32]], activation: str = "Tanh") -> Network:
        """The network of `tensors`."""
        count = len(tensors) // 2
        layers = [(tensors[f"layers.{k}.weight"], tensors[f"layers.{k}.bias"]) for k in range(count)]
        return cls(layers, activation)


class NetworkAgent:
    """One network, or several side by side: each plays as many rows, one after another.

    Its outputs are clipped to what actions may be, or ``squashed`` by tanh.
    """

    def __init__(self, network: Network, squashed: bool = False) -> None:
        self.network, self.squashed = network, squashed

    def act(self, observations: NDArray[np.float32], first: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Actions."""
        count = self.network.layers[0][0].shape[:-2]
        outputs = self.network(observations.reshape(*count, -1, observations.shape[-1]))
        return (np.tanh(outputs) if self.squashed else np.clip(outputs, -1.0, 1.0)).reshape(len(observations), -1)
