"""Noise of a circuit's cells: its size, and that it is the same again."""

from __future__ import annotations

import numpy as np
import pytest

from gymnosoma.envs import Circuit, Population, simulate
from gymnosoma.envs.core.kernels.maths import normal, normal_at, normal_number
from gymnosoma.envs.lamprey import IsolatedCord

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
