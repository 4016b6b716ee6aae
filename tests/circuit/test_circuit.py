"""Circuits as data: what is refused, every kind of cell against an independent solution of its equations, and noise."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from gymnosoma.envs import Circuit, Population, Projection, Sense, simulate
from gymnosoma.envs.core.circuit.members import Antagonists
from gymnosoma.envs.core.kernels.maths import normal, normal_at, normal_number
from gymnosoma.envs.lamprey import IsolatedCord, Lamprey
from gymnosoma.envs.lamprey.params import read_circuit

S = 9
EKEBERG = {"threshold": -0.2, "gain": 1.8, "delay": 0.03, "adaptation": 0.3, "adaptation_delay": 0.4}
HALVES = Population("h", "matsuoka", delay=0.02, adaptation=2.5, adaptation_delay=0.1)


def all_kinds():
    """A circuit with cells of every kind; those whose outputs have kinks do not act on the others."""
    random = np.random.default_rng(3)
    populations = (
        Population("n", "ekeberg", **EKEBERG),
        Population("p", "phase", frequency=3.0, gain=0.7),
        HALVES,
        Population("l", "leaky", delay=0.05, gain=2.0, threshold=0.1),
        Population("b", "bistable", 1, (0, 5), delay=0.02, gain=1.5),
        Population("g", "leaky", 2, (2, 9), delay=0.04, gain=3.0, threshold=-0.2, output="sigmoid"),
    )
    projections = (
        Projection("n", "n", 0.4, rostral=2, caudal=1),
        Projection("n", "n", 1.5, "inhibit", "other", 1, 3, name="crossed"),
        Projection("p", "p", 20.0, "phase", rostral=-1, caudal=1, lag=0.6, name="down"),
        Projection("p", "p", random.uniform(2, 9, (2, S)), "phase", "other", 2, 1, False, lag=3.0, name="over"),
        Projection("l", "p", 3.0),
        Projection("h", "h", 2.5, "inhibit", "other"),
        Projection("h", "h", 0.4, caudal=2, rostral=-1, name="wave"),
        Projection("l", "l", 1.2, "inhibit", "other", 2, 2),
        Projection("l", "b", 3.0, "inhibit", "other", 1, 1, False),
        Projection("b", "l", random.uniform(-2, 2, (2, S)), "excite", "same", 8, 8),
        Projection("g", "g", 1.5, "inhibit", "other"),
        Projection("g", "g", 0.8, "gap", rostral=-1, caudal=1, name="along"),
        Projection("l", "g", random.uniform(0, 2, (2, S)), "gap", name="between"),
        Projection("g", "l", 0.7, "gap", "other", name="across"),
    )
    return Circuit(S, populations, projections, "h", joint=range(S))


class Dense:
    """The same network, source by source, from the equations of `Population`, for adaptive steps."""

    def __init__(self, circuit, drive):
        self.c, self.drive = circuit, drive

    def outputs(self, x):
        u = np.zeros((2, len(self.c.populations), S))
        for i, c in enumerate(self.c.populations):
            a = x[0, :, i]
            if c.dynamics == "ekeberg":
                u[:, i] = np.maximum(0, 1 - np.exp((c.threshold - a) * c.gain) - x[1, :, i] - c.adaptation * x[2, :, i])
            elif c.dynamics == "phase":
                u[:, i] = np.maximum(0, c.gain * np.cos(a))
            elif c.dynamics == "matsuoka":
                u[:, i] = np.maximum(0, a)
            elif c.dynamics == "leaky":
                z = c.gain * (a - c.threshold)
                u[:, i] = 1 / (1 + np.exp(-z)) if c.output == "sigmoid" else np.tanh(z)
                u[:, i, : (c.cells or (0, S))[0]] = 0.0
            else:
                u[0, i, c.cells[0] : c.cells[1]] = a[0, c.cells[0] : c.cells[1]]
        return u

    def __call__(self, t, flat):
        x = flat.reshape(3, 2, 6, S)
        change, u, names = np.zeros_like(x), self.outputs(x), self.c.names
        excite, inhibit = np.zeros((2, 2, 6, S))
        excite += self.drive
        for p in self.c.projections:
            i, j = names.index(p.source), names.index(p.target)
            cells = self.c.populations[i].cells or (0, S)
            for side in range(self.c.populations[j].sides):
                other = 0 if self.c.populations[i].sides == 1 else 1 - side if p.side == "other" else side
                for q in range(S):
                    sources = [k for k in range(q - p.caudal, q + p.rostral + 1) if cells[0] <= k < cells[1]]
                    weight = np.broadcast_to(p.strength, (2, S))[side, q]
                    weight = weight / len(sources) if p.normalise and p.port != "gap" and sources else weight
                    for k in sources:
                        if p.port == "gap":
                            own = 1.0 if q >= (self.c.populations[j].cells or (0, S))[0] else 0.0
                            current = weight * (x[0, other, i, k] - x[0, side, j, q])
                            excite[side, j, q] += current
                            excite[other, i, k] -= own * current
                        elif p.port == "phase":
                            change[0, side, j, q] += weight * np.sin(x[0, other, i, k] - x[0, side, j, q] - p.lag)
                        else:
                            (excite if p.port == "excite" else inhibit)[side, j, q] += weight * u[other, i, k]
        for i, c in enumerate(self.c.populations):
            a, e, h = x[0, :, i], excite[:, i], inhibit[:, i]
            if c.dynamics == "ekeberg":
                change[0, :, i], change[1, :, i] = (e - a) / c.delay, (h - x[1, :, i]) / c.delay
                change[2, :, i] = (u[:, i] - x[2, :, i]) / c.adaptation_delay
            elif c.dynamics == "phase":
                change[0, :, i] += 2 * np.pi * c.frequency + e - h
            elif c.dynamics == "matsuoka":
                change[0, :, i] = (e - h - a - c.adaptation * x[1, :, i]) / c.delay
                change[1, :, i] = (np.maximum(a, 0) - x[1, :, i]) / c.adaptation_delay
            elif c.dynamics == "leaky":
                change[0, :, i] = (e - h - a) / c.delay
            else:
                change[0, 0, i] = (np.tanh(c.gain * a[0] + e[0] - h[0]) - a[0]) / c.delay
        return change.ravel()


def test_every_kind_of_cell_moves_as_its_equations_say():
    drive = np.array([1.0, 0.0, 1.0, 0.3, 0.2, 0.4])[:, None]
    tonic = dict(zip("nphlbg", drive[:, 0], strict=True))
    inputs = {name: {"bias" if name in "lb" else "tonic": value} for name, value in tonic.items() if value}
    circuit = all_kinds().replace(**inputs, step=1e-3)
    cord = IsolatedCord(circuit=circuit)
    start = np.random.default_rng(0).uniform(-1, 1, cord.state["neuron"].shape)
    start[:, 1, 4], start[1:, :, [1, 3, 4, 5]], start[2, :, 2] = 0.0, 0.0, 0.0
    run = simulate(cord, [1.0, 0, 0, *np.zeros(9)], 0.25, start={"neuron": start, "bath": 0.0})
    exact = solve_ivp(Dense(circuit, drive), (0, 0.25), start.ravel(), rtol=1e-8, atol=1e-10)
    u = Dense(circuit, drive).outputs(exact.y[:, -1].reshape(3, 2, 6, S))
    error = np.abs(run["neurons"][-1] - u).max((0, 2))
    # Measured: 3.5e-7, 2.2e-9, 1.9e-5, 2.5e-8, 6e-8, 1e-8; the first and the third have outputs with kinks.
    assert (error < [1e-3, 1e-5, 1e-3, 1e-5, 1e-5, 1e-5]).all(), error
    assert np.abs(u).max((0, 2)).min() > 0.1  # all of them do something


HALF = Projection("h", "h", 2.5, "inhibit", "other")
WRONG = [
    (lambda: Population("x", "izhikevich"), "dynamics must be one of ekeberg, phase"),
    (lambda: Population("x", "leaky", delay=0.1, frequency=2.0), "frequency is not a constant of leaky, got 2.0"),
    (lambda: Population("x", "leaky"), "delay must be given"),
    (lambda: Population("x", "leaky", delay=-0.1), "delay must be within"),
    (lambda: Projection("h", "h", port="excites"), "did you mean excite"),
    (lambda: Sense("x", "edge_cell", (1.0, 1.0)), "stretch"),
    (lambda: Circuit(9, [HALVES], [HALF], "g"), "muscles"),
    (lambda: Circuit(9, [HALVES, HALVES], [HALF], "h"), "populations must have each name once"),
    (lambda: Circuit(9, [HALVES], [Projection("h", "g")], "h"), "target"),
    (lambda: Circuit(9, [HALVES], [Projection("h", "h", port="phase")], "h"), "port phase"),
    (lambda: Circuit(9, [HALVES], [Projection("h", "h", port="gap")], "h"), "port gap"),
    (lambda: Circuit(9, [HALVES], [HALF], "h", joint=[0, 2, 2, *range(3, 9)]).joints(10), "increasing"),
    (lambda: Circuit(9, [HALVES], [HALF], "h", antagonists=Antagonists(1.0, series=0.0)), "antagonists: series"),
    (lambda: Sense("x", "joint_angle", slopes=(1.0, 2.0)), "slopes must have shape"),
    (lambda: Population("x", "switch", threshold=0.0, touch=1.0), "touch must be 2 numbers"),
    (lambda: Circuit(9, [HALVES, Population("e", "sense")], [Projection("h", "e")], "h"), "target must have a state"),
    (lambda: Circuit(9, [HALVES, Population("e", "sense")], [], "h"), "senses must have one for each"),
    (lambda: read_circuit({"EINN": {}}), "did you mean EIN?"),
    (lambda: read_circuit({"EIN": {"treshold": 1.0}}), "did you mean threshold?"),
    (lambda: read_circuit({"senses": [Sense("EC", "joint_angle")]}), "signal"),
    (lambda: Lamprey(circuit=Circuit(50, [HALVES], [HALF], "h")), "multiple of twice the 10 links"),
    (lambda: Lamprey(circuit="chord"), "did you mean cord"),
]


def test_what_is_no_circuit_is_refused():
    for make, words in WRONG:
        with pytest.raises(ValueError, match=words):
            make()


def test_a_circuit_survives_its_file(tmp_path):
    for circuit in (all_kinds(), read_circuit({"each_synapse": True})):
        circuit.write(tmp_path / "c.toml")
        assert Circuit.read(tmp_path / "c.toml") == circuit
    with pytest.raises(ValueError, match=re.escape(repr(str(tmp_path)))):
        Circuit.read(tmp_path)


def test_long_euler_steps_are_warned_of():
    with pytest.warns(UserWarning, match="longer than half the delay"):
        read_circuit({"MN": {"delay": 0.01}}).record(9, 0.01)


# Noise


QUIET = [0.4, 0.0, 0.7, *np.zeros(9)]
CELLS = {
    "leaky": Population("MN", "leaky", delay=0.02),
    "ekeberg": Population("MN", "ekeberg", threshold=0.0, gain=1.0, delay=0.03),
    "phase": Population("MN", "phase", frequency=1.0),
}


def test_kernels_draw_what_arrays_draw():
    seed = 12345.0
    drawn = [[normal_at(seed, count, 50, i) for i in range(50)] for count in (0.0, 1.0, 1e6)]
    of_arrays = normal(np.full(3, seed).view(np.uint64), np.array([0.0, 1.0, 1e6]), 50)
    np.testing.assert_allclose(drawn, of_arrays, rtol=1e-12, atol=1e-14)


def test_tasks_draw_what_arrays_draw():
    memory = np.zeros(1, [("seed", "u8")])
    memory["seed"] = 2**63 - 5
    seed = memory["seed"][0]
    for own, of_arrays in ((seed, memory["seed"]), (~seed, ~memory["seed"])):
        drawn = [normal_number(own, 7.0, 3, i) for i in range(3)]
        np.testing.assert_allclose(drawn, normal(of_arrays, np.array([7.0]), 3)[0], rtol=1e-14)


@pytest.mark.full
@pytest.mark.parametrize("dt", [5e-3, 10e-3])
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[] if kind == "ekeberg" else pytest.mark.slow) for kind in CELLS]
)
def test_noise_has_the_standard_deviation_that_is_asked_for(kind, dt):
    """That of the process of Ornstein and Uhlenbeck, which forgets with the delay; phases wander as a random walk."""
    isolated = IsolatedCord(circuit=Circuit(9, [CELLS[kind]], [], "MN", joint=range(9)), dt=dt)
    rows, ids = isolated.rows(64), np.arange(64)
    isolated.reset(rows, ids, {"noise": 0.3, "noise_seed": ids, "kick": 0.0})
    state, still = [], np.zeros((64, 12))
    for _ in range(100):
        isolated.advance(rows, ids, still, round(0.01 / dt))
        state.append(rows["neuron"][:, 0].copy())
    if kind == "phase":
        assert np.std(state[-1] - 2.0 * np.pi) == pytest.approx(0.3, rel=0.05)  # after 1 s, of 1152 cells
        return
    late = np.array(state[30:])
    assert late.std() == pytest.approx(0.3, rel=0.03) and abs(late.mean()) < 0.01
    left = np.mean(late[1:] * late[:-1]) / late.var()
    exact = np.exp(-0.01 / 0.02) if kind == "leaky" else (1.0 - dt / 0.03) ** round(0.01 / dt)
    assert left == pytest.approx(exact, abs=0.02)


def test_noise_repeats_alone_and_beside_others_in_one_go_and_after_a_snapshot():
    cord, seeds = IsolatedCord(), np.arange(5.0)
    noise = np.where(np.arange(5)[:, None] == 2, 0.0, [0.2, 0.0, 0.0, 0.1])
    runs = simulate(cord, QUIET, 0.5, start={"noise": noise, "noise_seed": seeds}, count=5)
    for k, run in enumerate(runs):
        alone = simulate(cord, QUIET, 0.5, start={"noise": noise[k], "noise_seed": seeds[k]})
        np.testing.assert_array_equal(run["neurons"], alone["neurons"])
    np.testing.assert_array_equal(runs[2]["neurons"], simulate(cord, QUIET, 0.5)["neurons"])
    assert abs(runs[0]["neurons"] - runs[1]["neurons"])[10:].max() > 0.1
    rows, ids, drive = cord.rows(1), np.arange(1), np.array([QUIET])
    cord.reset(rows, ids, {"noise": noise[1], "noise_seed": 1.0})
    cord.advance(rows, ids, drive, 20)
    snapshot = rows.copy()
    for again in (rows, snapshot):
        cord.advance(again, ids, drive, 30)
        np.testing.assert_array_equal(cord.neurons(again)[0], runs[1]["neurons"][-1])
