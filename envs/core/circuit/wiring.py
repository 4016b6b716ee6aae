"""Compiled form of a circuit: the channels, tracts and windows that the kernels loop over."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .kernels import EXCITATORY, INHIBITORY, OUTPUTS, PHASE, RATE, SENSE, STATES, circuit_dtype

PORTS = {"excite": EXCITATORY, "inhibit": INHIBITORY, "phase": RATE, "gap": EXCITATORY}

TILE = 25
"""Number of segments whose weights are stored for animals side by side, if all segments have equal weights."""


class Wiring:
    """Channels, tracts, windows and links of a circuit."""

    def __init__(self, circuit: Any) -> None:
        self.circuit = circuit
        self.states = max(STATES[each.kind] for each in circuit.populations)
        self.wave, self.channels = [], len(circuit.populations)
        gaps = {name for each in circuit.projections if each.port == "gap" for name in (each.source, each.target)}
        for each in circuit.populations:
            more = each.kind == PHASE or each.name in gaps
            self.wave.append(self.channels if more else -1)
            self.channels += 2 * more
        self.windows: list[tuple[int, ...]] = []
        self.tracts: list[tuple[int, bool, int]] = []
        self.links: list[tuple[int, int, int, int, int, int, float]] = []
        for n, projection in enumerate(circuit.projections):
            self._add(n, projection)
            ends = {"source": projection.target, "target": projection.source}
            back = replace(projection, **ends, rostral=projection.caudal, caudal=projection.rostral)
            if projection.port == "gap" and back != projection:
                self._add(n, back)
        if not self.links:  # kernels need at least one of each: one without a target
            self.windows, self.links = [(0, 0, 1, 0, circuit.segments)], [(0, 0, -1, 0, 0, -1, 0.0)]
        self.tracts = self.tracts or [(0, False, circuit.populations[0].sides)]
        self.pad = max(max(window[:2]) for window in self.windows)

    def _add(self, n: int, projection: Any) -> None:
        """Add the links of a projection: one, two for a gap junction, or four products of sines and cosines."""
        names = self.circuit.names
        source, target = names.index(projection.source), names.index(projection.target)
        cells = self.circuit.populations[source].cells or (0, self.circuit.segments)
        shared = projection.normalise and projection.port != "gap"
        window = (int(projection.rostral), int(projection.caudal), int(shared), *cells)
        if window not in self.windows:
            self.windows.append(window)
        sine, cosine = self.wave[source], self.wave[source] + 1
        c, s = np.cos(projection.lag), np.sin(projection.lag)
        if projection.port == "phase":
            parts = [(sine, EXCITATORY, c), (cosine, EXCITATORY, -s), (cosine, INHIBITORY, c), (sine, INHIBITORY, s)]
        elif projection.port == "gap":
            parts = [(sine, EXCITATORY, 1.0), (cosine, RATE, 1.0)]  # of the state, and of the cells that exist
        elif self.circuit.populations[target].kind == PHASE:
            parts = [(source, RATE, 1.0 if projection.port == "excite" else -1.0)]
        else:
            parts = [(source, PORTS[projection.port], 1.0)]
        for channel, port, factor in parts:
            tract = (channel, projection.side == "other", self.circuit.populations[source].sides)
            place = -1
            if projection.rostral or projection.caudal:
                if tract not in self.tracts:
                    self.tracts.append(tract)
                place = self.tracts.index(tract)
            self.links.append((n, channel, target, port, self.windows.index(window), place, factor))

    def sides_of(self, crossed: bool, sided: int) -> list[int]:
        """Return the side of the source by side of the target."""
        return [0 if sided == 1 else 1 - side if crossed else side for side in range(self.circuit.sides)]

    def record(self, joints: int, dt: float) -> NDArray[Any]:
        """Return the constants for the kernels, a (1,) record."""
        circuit, q = self.circuit, np.arange(self.circuit.segments)
        counts = (len(self.links), len(self.windows), len(self.tracts), max(len(circuit.senses), 1))
        sizes = (circuit.sides, circuit.neurons, len(circuit.names), circuit.segments, joints)
        record = np.zeros(1, circuit_dtype(*sizes, *counts))
        one = record[0]
        for i, each in enumerate(circuit.populations):
            self._population(one, i, each)
        for i, (n, channel, target, port, window, tract, factor) in enumerate(self.links):
            names = ("projection", "source", "target", "port", "window", "tract")
            for name, value in zip(names, (n, channel, target, port, window, tract), strict=True):
                one[name][i] = value
            if circuit.projections:
                projection = circuit.projections[n]
                sided = circuit[projection.source].sides
                one["source_side"][i] = self.sides_of(projection.side == "other", sided)
                one["strength"][i] = factor * np.broadcast_to(projection.strength, one["strength"][i].shape)
        for i, extent in enumerate(self.windows):
            for j, name in enumerate(("rostral", "caudal", "normalise", "from_begin", "from_end")):
                one[name][i] = extent[j]
            one["share"][i] = self._share(q, *extent)
        for i, (channel, crossed, sided) in enumerate(self.tracts):
            one["tract_source"][i], one["tract_side"][i] = channel, self.sides_of(crossed, sided)
        self._body(one, joints)
        one["muscles"], one["head"] = circuit.names.index(circuit.muscles), circuit.head_segments
        even = not circuit.each_synapse and all(np.ndim(each.strength) == 0 for each in circuit.projections)
        one["tile"] = TILE if even else circuit.segments
        one["steps"], one["clamp"] = circuit.steps(dt), float(circuit.ends == "clamp")
        return record

    def _population(self, one: Any, i: int, each: Any) -> None:
        one["kind"][i], one["sided"][i], one["states"][i], one["wave"][i] = (
            each.kind,
            each.sides,
            STATES[each.kind],
            self.wave[i],
        )
        one["begin"][i], one["end"][i] = each.cells or (0, self.circuit.segments)
        for name in ("threshold", "gain", "adaptation", "hysteresis"):
            one[name][i] = getattr(each, name) or 0.0
        one["rate"][i] = 2.0 * np.pi * each.frequency if each.frequency is not None else 1.0 / (each.delay or 1e-9)
        one["adaptation_rate"][i] = 1.0 / (each.adaptation_delay or 1.0)
        one["shape"][i] = OUTPUTS.get(each.output or "", 0)
        if each.kind == SENSE:
            names = [sense.population for sense in self.circuit.senses]
            one["sense"][i] = names.index(each.name)
        else:
            factor = 2.0 * np.pi if each.kind == PHASE else 1.0
            one["touch"][i] = each.touch
            for name, value in (("brainstem", each.tonic), ("bias", each.bias)):
                one[name][i] = factor * np.broadcast_to(value, one[name][i].shape)

    def _share(
        self, q: NDArray[np.int64], rostral: int, caudal: int, normalise: int, first: int, end: int
    ) -> NDArray[np.float64]:
        if not normalise:
            return np.ones(len(q))
        if self.circuit.ends == "clamp":
            return np.full(len(q), 1.0 / (rostral + caudal + 1))
        count = np.minimum(q + rostral, end - 1) - np.maximum(q - caudal, first) + 1
        return np.divide(1.0, count, out=np.zeros(len(q)), where=count > 0)

    def _body(self, one: Any, joints: int) -> None:
        """Set which joints each segment senses, and which segments drive the muscles of a joint."""
        circuit, joint = self.circuit, self.circuit.joints(joints)
        for i, sense in enumerate(circuit.senses):
            one["felt"][i] = weights = sense.weights(joint, joints)
            one["slopes"][i] = sense.slopes
            one["felt_first"][i] = np.argmax(weights > 0.0, 1)
            one["felt_last"][i] = np.where(weights.any(1), joints - np.argmax(weights[:, ::-1] > 0.0, 1), 0)
        j = np.arange(joints)
        if circuit.antagonists is not None:
            one["angle"] = circuit.antagonists.bend / joints
            one["stiffness"], one["damping"] = circuit.antagonists.stiffness, circuit.antagonists.damping
            for name in ("activation", "series"):
                one[name] = circuit.antagonists.along(name, joints)
        if circuit.segments < joints:
            one["muscle_last"] = np.searchsorted(joint, j, "right")
            one["muscle_first"] = one["muscle_last"] - 1
        elif circuit.joint is not None or circuit.segments == joints:
            one["muscle_first"], one["muscle_last"] = np.searchsorted(joint, j), np.searchsorted(joint, j, "right")
        else:
            link = circuit.segments // (joints + 1)
            one["muscle_first"], one["muscle_last"] = j * link + link // 2, (j + 1) * link + link // 2
