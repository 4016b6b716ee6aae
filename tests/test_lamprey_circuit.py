"""The lamprey with a circuit in its cord's place: the cord to the bit, cuts, weights, other generators."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

from gymnosoma.envs import Event, simulate
from gymnosoma.envs.core.circuit.circuit import Circuit, Population, Projection
from gymnosoma.envs.core.model.trajectory import Trajectory
from gymnosoma.envs.lamprey import Cord, IsolatedCord, Lamprey
from gymnosoma.envs.lamprey.analysis import Swimming

S = 100
QUIET = [0.4, 0.0, 0.7, *np.zeros(9)]
BATH = np.where(np.arange(S) < 50, 0.0, 0.2)


@pytest.fixture(scope="module")
def cord():
    return IsolatedCord(circuit="cord")


def test_the_cord_is_a_file():
    assert Circuit.given("cord", "lamprey") == Cord().circuit()


@pytest.mark.parametrize("count", [1, 64])
def test_the_cord_as_data_is_the_cord_to_the_bit(cord, count):
    rng = np.random.default_rng(1)
    drives = np.tile(QUIET, (count, 1))
    drives[:, 0] = rng.uniform(0.2, 0.6, count)
    drives[:, 3:] = rng.uniform(-0.3, 0.3, (count, 9))
    own = IsolatedCord()
    start = {"cell_gain": rng.choice([0.5, 1.0], (count, 2, 5)), "cell_segments": [20, 60]}
    rows = [animal.rows(count) for animal in (own, cord)]
    for animal, each in zip((own, cord), rows, strict=True):
        animal.reset(each, np.arange(count), start)
        for _ in range(4):
            animal.advance(each, np.arange(count), drives, 250)
    for name in ("excitation", "inhibition"):
        place = ("excitation", "inhibition").index(name)
        np.testing.assert_array_equal(rows[0][name], rows[1]["neuron"][:, place])
    np.testing.assert_array_equal(rows[0]["adaptation"], rows[1]["neuron"][:, 2, :, :2])
    np.testing.assert_array_equal(rows[0]["motoneuron"], rows[1]["motoneuron"])
    np.testing.assert_array_equal(rows[0]["output"], rows[1]["output"])
    assert rows[0]["motoneuron"].max() > 0.4
    np.testing.assert_allclose(own.neurons(rows[0]), cord.neurons(rows[1]), atol=1e-15)


@pytest.mark.full
def test_swimming_with_the_cord_as_data_is_swimming_with_the_cord_to_the_bit():
    runs = [simulate(Lamprey(**given), [0.4, 0.1, 0.7], 10.0, every=0.1) for given in ({}, {"circuit": "cord"})]
    for name in ("centre", "link_angle", "motoneuron", "spent"):
        np.testing.assert_array_equal(runs[0][name], runs[1][name])


def cut_at(left, right):
    cut = np.zeros((2, S - 1))
    cut[0, [q - 1 for q in left]] = cut[1, [q - 1 for q in right]] = 1.0
    return cut


def test_a_cut_of_both_sides_is_a_transection(cord):
    own = simulate(IsolatedCord(), QUIET, 5.0, start={"transection": 50, "bath": BATH})["neurons"]
    for start in ({"transection": 50}, {"cut": cut_at([50], [50])}):
        np.testing.assert_allclose(
            simulate(cord, QUIET, 5.0, start={**start, "bath": BATH})["neurons"], own, atol=1e-12
        )
    assert own[-100:, :, 3, 60:].max() > 0.1


def test_nothing_comes_through_a_cut_of_both_sides_and_a_hemisected_side_hears_the_other(cord):
    gain = np.where(np.arange(S) < 30, 0.3, 1.0)
    for cut, same in ((cut_at([50], [50]), True), (cut_at([50, 53], [50]), True), (cut_at([50], []), False)):
        start = {"cut": cut, "bath": BATH}
        runs = [simulate(cord, QUIET, 2.0, start={**start, **more})["neurons"] for more in ({}, {"segment_gain": gain})]
        assert np.array_equal(runs[0][..., 50:], runs[1][..., 50:]) is same
        assert not np.array_equal(runs[0][..., :50], runs[1][..., :50])


class Cut:
    """Sums of projections source by source, each tract ending as the cord does at the cuts of its target's side."""

    def __init__(self, circuit, cut):
        self.circuit, self.cut = circuit, cut

    def received(self, outputs):
        total = np.zeros((2, 2, 4, S))
        for p in self.circuit.projections:
            i, j = self.circuit.names.index(p.source), self.circuit.names.index(p.target)
            for side in range(2):
                whole = np.concatenate([[0], np.cumsum(self.cut[side])])
                u = outputs[1 - side if p.side == "other" else side, i] if i < 4 else np.zeros(S)
                for q in range(S):
                    own = np.flatnonzero(whole == whole[q])
                    near = np.arange(q - p.caudal, q + p.rostral + 1)
                    near = np.clip(near, own[0], own[-1]) if self.circuit.ends == "clamp" else np.intersect1d(near, own)
                    total[int(p.port == "inhibit"), side, j, q] += p.strength * np.mean(u[near])
        return total


@pytest.mark.parametrize("left, right", [([20, 22, 70], [45]), ([1, 99], [1]), (range(1, S), []), (range(1, S),) * 2])
@pytest.mark.parametrize("ends", ["exist", "clamp"])
def test_cuts_by_side_stop_the_axons_that_run_on_that_side(ends, left, right):
    circuit, cut = Cord(ends=ends).circuit(), cut_at(left, right)
    cord = IsolatedCord(circuit=circuit)
    rows = cord.rows(1)
    rng = np.random.default_rng(2)
    neuron = rng.uniform(0.0, 1.0, cord.state["neuron"].shape)
    cord.reset(rows, np.arange(1), {"neuron": neuron, "cut": cut})
    outputs = cord.neurons(rows)[0]
    cord.advance(rows, np.arange(1), np.zeros((1, 12)), 1)
    delay = np.array([each.delay for each in circuit.populations[:4]])[:, None]
    expected = Cut(circuit, cut).received(outputs)
    for port in range(2):
        stepped = neuron[port] + 0.01 / delay * (expected[port] - neuron[port])
        np.testing.assert_allclose(rows["neuron"][0, port], stepped, atol=1e-12)


def rhythm(cord, **start):
    """Frequency (Hz) and half the swing of the middle joint's motoneurons, left less right."""
    run = simulate(cord, QUIET, 16.0, every=0.01, start=start, signals=("motoneuron", "joint_angle", "neurons"))
    wave = np.diff(run["motoneuron"][800:, :, 4], axis=1)[:, 0]
    return Swimming(cord, run).frequency if np.ptp(wave) > 1e-3 else 0.0, 0.5 * np.ptp(wave)


@pytest.mark.full
def test_weights_of_rows_change_the_rhythm(cord):
    names = cord.circuit.weights

    def factors(**given):
        return {"synapse": [next((v for k, v in given.items() if name.startswith(k)), 1.0) for name in names]}

    assert rhythm(cord) == pytest.approx((3.81, 0.55), abs=0.01)
    assert rhythm(cord, **factors(CCIN=0.5))[0] == pytest.approx(4.96, abs=0.02)  # weakened reciprocal inhibition
    assert rhythm(cord, **factors(CCIN=0.0))[1] < 1e-3
    assert rhythm(cord, **factors(LIN_CCIN=0.0))[1] < 1e-3
    assert rhythm(cord, **factors(EIN_MN=2.0)) == pytest.approx((3.81, 0.64), abs=0.01)


def test_weights_change_by_events_and_by_row(cord):
    half = np.where([name.startswith("CCIN") for name in cord.circuit.weights], 0.5, 1.0)
    both = simulate(cord, QUIET, 0.6, start={"synapse": np.stack([np.ones(10), half])}, count=2)
    later = simulate(cord, QUIET, 0.6, events=[Event(0.3, {"synapse": half})])
    np.testing.assert_array_equal(later["neurons"][:31], both[0]["neurons"][:31])
    assert not np.array_equal(later["neurons"][-1], both[0]["neurons"][-1])
    np.testing.assert_array_equal(both[1]["neurons"], simulate(cord, QUIET, 0.6, start={"synapse": half})["neurons"])


def test_a_class_is_ablated_in_a_stretch_as_in_the_built_in_cord(cord):
    gain = np.ones((2, 5, S))
    gain[:, cord.circuit.names.index("LIN"), 20:60] = 0.0
    lost = simulate(cord, QUIET, 2.0, start={"gain": gain})["neurons"][..., cord.cells.index("LIN"), :]
    one = np.array([[1.0, 1.0, 0.0, 1.0, 1.0]] * 2)  # EIN, CCIN, LIN, MN, EC
    own = simulate(IsolatedCord(), QUIET, 2.0, start={"cell_gain": one, "cell_segments": [20, 60]})["neurons"]
    np.testing.assert_allclose(lost, own[..., 2, :], atol=1e-12)
    assert lost[..., 20:60].max() == 0.0 < lost[..., 60:].max()


def test_an_environment_draws_or_is_given_factors_of_synapses():
    env = gymnasium.make("gymnosoma/LampreySpeed-v0", circuit="cord", randomize={"synapse": (0.5, 1.5)})
    drawn = []
    for seed in range(3):
        env.reset(seed=seed)
        drawn.append(env.unwrapped.batch.rows["synapse"].copy())
    assert (np.ptp(drawn, axis=0) > 0.0).all() and 0.5 <= np.min(drawn) <= np.max(drawn) <= 1.5
    half = np.where([name.startswith("CCIN") for name in Cord().circuit().weights], 0.5, 1.0)
    env.reset(seed=0, options={"synapse": half})
    np.testing.assert_array_equal(env.unwrapped.batch.rows["synapse"][0], half)


@pytest.mark.full
def test_each_synapse_has_a_factor_where_that_is_asked_for():
    each = IsolatedCord(circuit=Cord().circuit().replace(each_synapse=True))
    at = np.ones((10, 2, S))
    at[4:8] = 0.5
    half = np.where(np.arange(10) // 4 == 1, 0.5, 1.0)
    runs = [simulate(each, QUIET, 1.0, start=start)["neurons"] for start in ({"synapse_at": at}, {"synapse": half})]
    np.testing.assert_array_equal(*runs)


def phases(lag=0.2 * np.pi, weight=30.0):
    """Phase oscillators at 4 Hz, one wave on the body, one a side and joint."""
    return Circuit(
        9,
        [Population("MN", "phase", frequency=4.0, gain=0.6)],
        [
            Projection("MN", "MN", weight, "phase", rostral=-1, caudal=1, lag=lag, name="descending"),
            Projection("MN", "MN", weight, "phase", rostral=1, caudal=-1, lag=-lag, name="ascending"),
            Projection("MN", "MN", weight, "phase", "other", lag=np.pi, name="crossed"),
        ],
        "MN",
        joint=range(9),
    )


@pytest.mark.full
def test_phase_oscillators_swim():
    lamprey = Lamprey(circuit=phases())
    swimming = Swimming(lamprey, simulate(lamprey, [0.0, 0.0, 0.0], 20.0, every=0.01))
    assert swimming.frequency == pytest.approx(4.0, abs=1e-6)
    assert swimming.speed == pytest.approx(0.685, abs=0.01)
    np.testing.assert_allclose(swimming.phase, 0.1 * np.arange(9), atol=1e-6)


def test_lag_bursts_and_coherence_of_made_waves():
    time = 0.01 * np.arange(1001)
    phase = 2.0 * np.pi * (2.0 * time[:, None] - 0.01 * np.arange(S))
    neurons = np.zeros((len(time), 2, 4, S))
    neurons[:, 0, 3], neurons[:, 1, 3] = np.maximum(np.cos(phase), 0.0), np.maximum(-np.cos(phase), 0.0)
    noise = np.random.default_rng(0).standard_normal(len(time))
    neurons[:, 0, 0, :50], neurons[:, 0, 0, 50:] = np.maximum(np.cos(phase[:, :50]), 0.0), noise[:, None] ** 2
    run = Trajectory(time, {"joint_angle": np.zeros((len(time), 9)), "neurons": neurons})
    made = Swimming(IsolatedCord(), run)
    assert made.frequency == pytest.approx(2.0, abs=1e-3)
    assert made.lag == pytest.approx(0.01, abs=1e-4)
    share = np.arccos(0.1) / np.pi  # of a cycle in which a cosine exceeds a tenth
    np.testing.assert_allclose(made.burst_proportion("MN"), share, atol=0.02)
    assert (made.burst_proportion("LIN") == 0.0).all()
    assert made.coherence("MN").min() > 0.99
    assert made.coherence("EIN")[:50].max() < 0.5 < made.coherence("EIN")[50:].min()
