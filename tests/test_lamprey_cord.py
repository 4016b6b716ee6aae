"""The lamprey's cord, open: against a network of dense matrices, cut, bathed, bent; and what its users write."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

from gymnosoma.envs import simulate
from gymnosoma.envs.lamprey import (
    Cord,
    EdgeSynapse,
    IsolatedCord,
    LampreyParams,
    Neuron,
    Synapse,
)
from gymnosoma.envs.lamprey.analysis import Entrainment, Swimming, entrain, swim
from gymnosoma.envs.lamprey.nerves import CELLS
from gymnosoma.envs.lamprey.params import LINKS

S = 100
QUIET = np.zeros(9)


class Dense:
    """Ekeberg (1993), Eqs. 1 and 2, with a matrix for each kind of input: 8 S neurons and 2 S edge cells to 8 S."""

    def __init__(self, cord, cut=0, gain=1.0, feedback=0.01):
        self.cord, self.gain, self.feedback = cord, np.broadcast_to(gain, (2, 4, S)).ravel(), feedback
        self.column = {
            name: np.tile(np.repeat([getattr(c, name) for c in cord.neurons], S), 2)
            for name in ("threshold", "gain", "delay", "adaptation", "adaptation_delay", "brainstem")
        }
        self.from_neurons, self.from_edges = np.zeros((2, 8 * S, 8 * S)), np.zeros((2, 8 * S, 2 * S))
        for s in cord.synapses:
            window = self.window(s, cut)
            for side in range(2):
                other = 1 - side if s.source == "CCIN" else side
                to = (side * 4 + CELLS.index(s.target)) * S
                start = (other * 4 + CELLS.index(s.source)) * S
                kind = self.from_neurons[int(s.source != "EIN")]
                kind[to : to + S, start : start + S] += s.strength * window
        for s in cord.edge_synapses:
            for side in range(2):
                to, start = (side * 4 + CELLS.index(s.target)) * S, (side if s.excites else 1 - side) * S
                kind = self.from_edges[int(not s.excites)]
                kind[to : to + S, start : start + S] += s.strength * self.window(s, cut)
        self.plus, self.minus, self.theta = np.zeros((3, 8 * S))
        self.plus[:S] = 0.1

    def window(self, synapse, cut):
        """Share of each source (columns) in each target (rows), those before a cut and those behind by themselves."""
        share = np.zeros((S, S))
        for q in range(S):
            reach = np.arange(q - synapse.caudal, q + synapse.rostral + 1)
            low, high = (0, cut) if q < cut else (cut, S)
            sources = reach[(reach >= low) & (reach < high)]
            if self.cord.ends == "clamp":
                sources = np.clip(reach, low, high - 1)
            np.add.at(share[q], sources, 1.0 / len(sources))
        return share

    def outputs(self):
        c = self.column
        u = 1 - np.exp((c["threshold"] - self.plus) * c["gain"]) - self.minus - c["adaptation"] * self.theta
        return self.gain * np.maximum(u, 0.0)

    def step(self, level, edge):
        c, u = self.column, self.outputs()
        sensed = self.feedback * edge.ravel()
        tonic = c["brainstem"] * np.repeat(level, 4, 0).ravel()
        plus = self.from_neurons[0] @ u + self.from_edges[0] @ sensed + tonic
        minus = self.from_neurons[1] @ u + self.from_edges[1] @ sensed
        self.plus += 0.01 / c["delay"] * (plus - self.plus)
        self.minus += 0.01 / c["delay"] * (minus - self.minus)
        self.theta += 0.01 / c["adaptation_delay"] * (u - self.theta)


ALL = tuple(EdgeSynapse(c, 0.5 + i, i % 2 == 0, 3 * i, 7) for i, c in enumerate(CELLS))
ADAPTED = {"LIN": {"adaptation": 0.2, "adaptation_delay": 0.3}, "EIN": {"threshold": -0.1}, "MN": {"brainstem": 4.0}}
OWN_SYNAPSES = {"EIN_MN": {"strength": 2.0}, "LIN_EIN": {"strength": 0.3, "rostral": 0, "caudal": 9}}


@pytest.mark.parametrize(
    ("cord", "cut"),
    [
        (Cord(), 0),
        (Cord(synapses=OWN_SYNAPSES), 0),
        pytest.param(Cord(neurons=ADAPTED), 0, marks=pytest.mark.full),  # is compiled for itself: LIN adapt
        (Cord(edge_synapses=ALL), 37),
        (Cord(edge_synapses=ALL, ends="clamp"), 4),
        (Cord(edge_synapses=(), head_segments=20), 97),
    ],
)
def test_against_dense_matrices(cord, cut):
    """Tables, edge cells, a cut, lesions and a bath, half a second: measured difference 2e-14."""
    rng = np.random.default_rng(0)
    bath, segment = rng.uniform(0.0, 0.3, S), rng.choice([0.0, 0.5, 1.0], (2, S), p=[0.05, 0.05, 0.9])
    cells = rng.uniform(0.3, 1.0, (2, 5))
    gain = np.tile(segment[:, None], (1, 4, 1))
    gain[:, :, 30:80] *= cells[:, :4, None]
    bend = rng.uniform(-0.6, 0.6, (50, 9))
    start = {"transection": cut, "bath": bath, "feedback": 0.02}
    start |= {"segment_gain": segment, "cell_gain": cells, "cell_segments": [30, 80]}
    run = swim(IsolatedCord(cord), lambda t: [[0.4, 0.05, 0.7, *bend[int(t / 0.01)]]], 0.5, start, signals=("neurons",))
    dense = Dense(cord, cut, gain, 0.02)
    level = np.tile(0.4, (2, S))
    level[:, : cord.head_segments] *= 1.7
    level += np.array([[-0.05], [0.05]])
    if cut:
        level[:, cut:] = 0.0
    joint = np.clip((np.arange(S) - 5) // 10, 0, 8)
    for k in range(50):
        assert run[0]["neurons"][k].ravel() == pytest.approx(dense.outputs(), abs=1e-12)
        curvature = -bend[k][joint] / 0.03
        edge = cells[:, 4:] * np.maximum([-curvature, curvature], 0.0)
        dense.step(np.maximum(level + bath, 0.0), edge)


def test_a_rhythm_is_read_of_equal_intervals():
    run = simulate(IsolatedCord(), [0.4, 0.0, 0.7, *QUIET], 0.2, 1 / 30)
    with pytest.raises(ValueError, match=r"run must be recorded at equal intervals, got every=0.0333"):
        Swimming(IsolatedCord(), run)


def rhythm(run, segments):
    """Left less right motoneurons of some segments, the last half, about their mean."""
    wave = run["neurons"][len(run.time) // 2 :, :, 3, segments].mean(2)
    return wave[:, 0] - wave[:, 1] - np.mean(wave[:, 0] - wave[:, 1])


def frequency(wave):
    spectrum = np.abs(np.fft.rfft(wave, 16 * len(wave)))
    return np.argmax(spectrum) / (16 * len(wave) * 0.01)


def correlation(a, b):
    """Largest over all lags of up to half a second."""
    scale = np.sqrt(np.sum(a**2) * np.sum(b**2))
    return max(abs(np.sum(a[50:-50] * np.roll(b, lag)[50:-50])) / scale for lag in range(-50, 51))


def test_a_cut_cord():
    """Cut at 50, the halves have the rhythm of a cord with their own drive, and neither hears of the other.

    Whatever happens on one side, the other side does to the bit. The largest correlation of their rhythms at any lag,
    3.81 and 1.80 Hz, is 0.01, where it is 0.9 along the whole cord.
    """
    behind = np.zeros((4, S))
    behind[1, 50:], behind[2, 50:] = 0.2, 0.3
    behind[3] = 0.2  # not cut: all of it without a brainstem
    drives = np.array([[0.4, 0.0, 0.7, *QUIET], [0.4, 0.0, 0.7, *QUIET], [0.3, 0.0, 0.7, *QUIET], np.zeros(12)])
    start = {"transection": [50.0, 50.0, 50.0, 0.0], "bath": behind}
    silent, one, other, bathed = swim(IsolatedCord(), drives, 20.0, start, signals=("neurons",))
    whole, _ = swim(IsolatedCord(), drives[:2], 20.0, signals=("neurons",))
    assert np.array_equal(silent["neurons"][..., :50], one["neurons"][..., :50])
    same_bath = swim(IsolatedCord(), drives[1:3], 5.0, {"transection": 50.0, "bath": behind[1]}, signals=("neurons",))
    assert np.array_equal(same_bath[0]["neurons"][..., 50:], same_bath[1]["neurons"][..., 50:])
    assert not np.array_equal(same_bath[0]["neurons"][..., :50], same_bath[1]["neurons"][..., :50])
    front, back = slice(20, 40), slice(60, 80)
    assert abs(rhythm(silent, back)).max() < 1e-6
    assert frequency(rhythm(one, front)) == pytest.approx(frequency(rhythm(whole, front)), abs=0.01)
    assert frequency(rhythm(one, back)) == pytest.approx(frequency(rhythm(bathed, back)), abs=0.01)
    assert frequency(rhythm(other, back)) > frequency(rhythm(one, back)) + 0.2
    assert correlation(rhythm(whole, front), rhythm(whole, back)) > 0.85
    assert correlation(rhythm(one, front), rhythm(one, back)) < 0.05


@pytest.mark.full
@pytest.mark.parametrize("ends", ["exist", "clamp"])
def test_a_cut_makes_two_cords(ends):
    """What lies behind the cut is a cord of its own, of 50 segments and the last five links, to rounding."""
    bath, tail = np.zeros(S), LampreyParams(*(getattr(LampreyParams(), name)[5:] for name in LINKS))
    bath[50:] = 0.3
    bend = [0.1, -0.2, 0.3, 0.0, 0.0, 0.4, -0.3, 0.2, 0.1]
    (cut,) = swim(
        IsolatedCord(Cord(ends=ends)),
        [[0.4, 0.0, 0.7, *bend]],
        2.0,
        {"transection": 50, "bath": bath, "feedback": 0.0},
        signals=("neurons",),
    )
    own = IsolatedCord(Cord(segments=50, head_segments=0, ends=ends), tail)
    (alone,) = swim(own, [[0.3, 0.0, 0.0, *bend[5:]]], 2.0, {"feedback": 0.0}, signals=("neurons",))
    assert cut["neurons"][..., 50:] == pytest.approx(alone["neurons"], abs=1e-9)


def test_a_bath_like_the_brainstem():
    """A profile that is even, and higher by 70 % in the first five segments, is the brainstem's drive, to the bit."""
    bath = np.full(S, 0.4)
    bath[:5] *= 1.7
    (alone,) = swim(IsolatedCord(), [[0.4, 0.0, 0.7, *QUIET]], 2.0, signals=("neurons",))
    (bathed,) = swim(IsolatedCord(), [[0.0, 0.0, 0.0, *QUIET]], 2.0, {"bath": bath}, signals=("neurons",))
    assert np.array_equal(alone["neurons"], bathed["neurons"])


def test_cut_cords_beside_whole_ones():
    """Sixteen lanes, cut at different places or not: each as if alone, bit for bit."""
    cuts = np.array([0.0, 50.0, 1.0, 100.0, 99.0, 33.5, 0.0, 12.0])
    bath, drive = np.full(S, 0.1), [0.4, 0.1, 0.7, *np.linspace(-0.3, 0.3, 9)]
    together = swim(IsolatedCord(), [drive] * 8, 0.3, {"transection": cuts, "bath": bath}, signals=("neurons",))
    for cut, run in zip(cuts, together, strict=True):
        (alone,) = swim(IsolatedCord(), [drive], 0.3, {"transection": cut, "bath": bath}, signals=("neurons",))
        assert np.array_equal(run["neurons"], alone["neurons"])
    assert np.array_equal(together[0]["neurons"], together[6]["neurons"])


def test_entrainment():
    """The head bent by 0.5 rad: the whole cord follows within a range, drifts beyond it, and without edge cells always.

    The phase drift that tells the range is measured against the imposed sine; the frequency of the spectrum agrees.
    """
    frequencies = np.array([3.4, 3.8, 4.0, 4.2, 4.8])
    found = entrain(IsolatedCord(), frequencies, duration=16.0)
    assert found.free == pytest.approx(3.81, abs=0.02)
    assert found.entrained.all(1).tolist() == [False, True, True, True, False]
    assert abs(found.drift[1:4]).max() < 0.01
    assert (abs(found.drift[[0, 4]]) > 0.3).all()
    assert found.range(joint=8) == (3.8, 4.2)
    low, high = Entrainment(frequencies, found.rhythm, np.ones((5, 9)), found.apart, found.free).range(joint=8)
    assert np.isnan([low, high]).all()
    deaf = entrain(IsolatedCord(), frequencies, duration=16.0, start={"feedback": 0.0})
    assert deaf.rhythm == pytest.approx(np.tile(found.free, (5, 1)), abs=1e-6)
    assert deaf.wander[1].max() < 0.25 and not deaf.entrained.any()  # near the free rhythm, and its own
    tail = entrain(IsolatedCord(), frequencies, bent=(6, 7, 8), duration=16.0)
    assert tail.rhythm == pytest.approx(3.81, abs=0.02)
    assert not tail.entrained.any()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Cord(neurons={"EN": {}}),
            "neurons must be a mapping with keys of EIN, CCIN, LIN, MN, got the key 'EN'",
        ),
        (lambda: Cord(neurons={"EIN": {"theta": 1.0}}), "neurons: EIN must be a mapping with keys of threshold, gain"),
        (lambda: Cord(neurons={"EIN": {"delay": 0.0}}), "neurons: delay must be finite and at least 0.001 and at most"),
        (lambda: Cord(neurons={"EIN": {"gain": "1"}}), "neurons: gain must be .* got '1'; only int and float"),
        (lambda: Cord(neurons=3), "neurons must be a mapping with keys of EIN, CCIN, LIN, MN, got 3"),
        (lambda: Cord(synapses={"MN_EIN": {}}), "synapses must be a mapping .*, got the key 'MN_EIN'"),
        (
            lambda: Cord(synapses={"LIN_EIN": {"strength": 1.0}}),
            "synapses must have source, target, strength, rostral,",
        ),
        (lambda: Cord(synapses={"EIN_MN": {"rostral": 100}}), r"extents within \[0, 99\], got \('EIN', 'MN', 1.0, 100"),
        (lambda: Cord(synapses=(Synapse("EIN", "MN", -1.0, 1, 1),)), "synapses: strength must be .*, got -1.0"),
        (lambda: Cord(edge_synapses=(EdgeSynapse("EC"),)), "edge_synapses must go to EIN, CCIN, LIN, MN, .*'EC'"),
        (lambda: Cord(edge_synapses=[{"to": "EIN"}]), "edge_synapses must have target, strength, excites, rostral"),
        (lambda: Neuron(0.0, -1.0, 0.02), "neurons: gain must be finite and at least 0 and at most 100, got -1.0"),
        (lambda: IsolatedCord(Cord(segments=90)), "segments must be a multiple of twice the 10 links, got 90"),
        (lambda: entrain(IsolatedCord(), [2.0, 1.0]), r"frequencies must be in ascending order, got \[2.0, 1.0\]"),
        (lambda: entrain(IsolatedCord(), [1.0], bent=[9]), "bent must be an integer from 0 to 8, got 9"),
        (
            lambda: swim(IsolatedCord(), [[0.0] * 12], 0.1, {"transection": 101}),
            r"transection must be within \[0, 100\]",
        ),
        (lambda: swim(IsolatedCord(), [[0.0] * 12], 0.1, {"bath": QUIET}), r"bath must have shape \(100,\)"),
    ],
)
def test_bad_values(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_cut_half_way_in_an_environment():
    """Parameters of the cord are options, and change in the middle; the tables are arguments."""
    cord = {"neurons": {"EIN": {"threshold": -0.1}}, "edge_synapses": [{"target": "EIN", "excites": True}]}
    env = gymnasium.make("gymnosoma/LampreyWaypoints-v0", cord=cord)
    ein = env.unwrapped.task.animal.cord.neurons.EIN
    assert (ein.threshold, ein.gain, ein.delay, ein.adaptation, ein.brainstem) == (-0.1, 1.8, 0.03, 0.3, 2.0)
    lesion = {"cell_gain": np.zeros((2, 5)), "cell_segments": [80, 100]}
    env.reset(seed=0, options=lesion | {"muscle_gain": np.linspace(3e-3, 1e-3, 9)})
    for _ in range(20):
        env.step(np.array([0.2, 0.0, 0.0]))
    rows, lamprey = env.unwrapped.batch.rows, env.unwrapped.task.animal
    assert not lamprey.neurons(rows)[0, ..., 80:].any()
    swing = []
    for cut in (0.0, 50.0):
        env.unwrapped.set_parameters(transection=cut)
        seen = []
        for _ in range(60):
            env.step(np.array([0.2, 0.0, 0.0]))
            seen.append(lamprey.neurons(rows)[0, 0, 3])
        swing.append(np.ptp(seen[-20:], 0))
    assert (swing[0][:75] > 0.3).all()
    assert (swing[1][:40] > 0.3).all() and (swing[1][50:75] < 0.1).all()
