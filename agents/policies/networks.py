"""Small feedforward networks in NumPy, used to run trained policies and for evolution."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

ACTIVATIONS: dict[str, Callable[[NDArray[np.float32]], NDArray[np.float32]]] = {
    "Tanh": np.tanh,
    "ReLU": lambda x: np.maximum(x, 0.0),
}
"""Activations by their names in ``torch.nn``."""


class Network:
    """Feedforward network with one of the `ACTIVATIONS` and a linear last layer, or a batch of such networks.

    Weights have shapes (..., out, in) and biases (..., out). The leading axes are those of the batch.
    """

    def __init__(
        self, layers: Sequence[tuple[NDArray[np.float32], NDArray[np.float32]]], activation: str = "Tanh"
    ) -> None:
        self.layers, self.activation = list(layers), activation

    def __call__(self, inputs: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return outputs (..., K, out) for inputs (..., K, in); a row's outputs do not depend on the number of rows."""
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
        """Return the shapes of the `tensors` of a network with these layer sizes."""
        shapes: dict[str, tuple[int, ...]] = {}
        for k, (inputs, outputs) in enumerate(pairwise(sizes)):
            shapes |= {f"layers.{k}.weight": (outputs, inputs), f"layers.{k}.bias": (outputs,)}
        return shapes

    @classmethod
    def from_vectors(cls, vectors: NDArray[np.floating], sizes: Sequence[int]) -> Network:
        """Create networks from parameter vectors (..., n), n = `length`, with weights in units of 1/sqrt(inputs)."""
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
        """Return the number of weights and biases for these layer sizes."""
        return sum((inputs + 1) * outputs for inputs, outputs in pairwise(sizes))

    def tensors(self) -> dict[str, NDArray[np.float32]]:
        """Return the weights and biases by their names in policy files."""
        return {
            f"layers.{k}.{name}": np.ascontiguousarray(array)
            for k, layer in enumerate(self.layers)
            for name, array in zip(("weight", "bias"), layer, strict=True)
        }

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, NDArray[np.float32]], activation: str = "Tanh") -> Network:
        """Create a network from `tensors`."""
        count = len(tensors) // 2
        layers = [(tensors[f"layers.{k}.weight"], tensors[f"layers.{k}.bias"]) for k in range(count)]
        return cls(layers, activation)


class NetworkAgent:
    """Agent with one network, or with a batch of networks that each play an equal, contiguous share of the rows.

    Outputs are clipped to [-1, 1], or passed through tanh if ``squashed``.
    """

    def __init__(self, network: Network, squashed: bool = False) -> None:
        self.network, self.squashed = network, squashed

    def act(self, observations: NDArray[np.float32], first: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Return actions (B, n)."""
        *count, _, inputs = self.network.layers[0][0].shape
        if observations.shape[-1] != inputs:
            raise ValueError(f"observations must have shape (B, {inputs}) for this network, got {observations.shape}")
        outputs = self.network(observations.reshape(*count, -1, observations.shape[-1]))
        return (np.tanh(outputs) if self.squashed else np.clip(outputs, -1.0, 1.0)).reshape(len(observations), -1)
