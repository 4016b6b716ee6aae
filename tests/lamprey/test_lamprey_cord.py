"""The lamprey's nerves: against dense matrices, cut, bathed, bent, weakened, and other generators in their place."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

from gymnosoma.envs import Circuit, Population, Projection, simulate
from gymnosoma.envs.core.model.trajectory import Trajectory
from gymnosoma.envs.lamprey import IsolatedCord, Lamprey, LampreyParams
from gymnosoma.envs.lamprey.analysis import Entrainment, Swimming, entrain
from gymnosoma.envs.lamprey.params import LINKS, read_circuit
from papers.lamprey.measures import swim

S = 100
QUIET = [0.4, 0.0, 0.7, *np.zeros(9)]
BATH = np.where(np.arange(S) < 50, 0.0, 0.2)


@pytest.fixture(scope="module")
def cord():
    return IsolatedCord()


def neurons(cord, duration=2.0, drive=QUIET, **start):
    return simulate(cord, drive, duration, start=start, signals=("neurons",))["neurons"]


def cut_at(left, right):
    cut = np.zeros((2, S - 1))
    cut[0, [q - 1 for q in left]] = cut[1, [q - 1 for q in right]] = 1.0
    return cut


class Dense:
    """Ekeberg (1993), Eqs. 1 and 2, with a matrix for each kind of input: 8 S neurons and 2 S edge cells to 8 S."""

    def __init__(self, circuit, cuts, gain, feedback):
        self.gain, self.feedback = gain.ravel(), feedback
        self.column = {
            name: np.tile(np.repeat([getattr(c, name) for c in circuit.populations[:4]], S), 2)
            for name in ("threshold", "gain", "delay", "adaptation", "adaptation_delay", "tonic")
        }
        self.inputs = np.zeros((2, 8 * S, 10 * S))
        for p in circuit.projections:
            for side in range(2):
                other = 1 - side if p.side == "other" else side
                to = (side * 4 + circuit.names.index(p.target)) * S
                start = (other * 5 + circuit.names.index(p.source)) * S
                window = self.window(p, circuit.ends, np.array([0, *cuts[side], S]))
                self.inputs[int(p.port == "inhibit"), to : to + S, start : start + S] += p.strength * window
        self.plus, self.minus, self.theta = np.zeros((3, 8 * S))
        self.plus[:S] = 0.1

    @staticmethod
    def window(projection, ends, bounds):
        """Share of each source (columns) in each target (rows), every part between cuts by itself."""
        share = np.zeros((S, S))
        for q in range(S):
            low, high = bounds[bounds <= q].max(), bounds[bounds > q].min()
            reach = np.arange(q - projection.caudal, q + projection.rostral + 1)
            inside = reach[(reach >= low) & (reach < high)]
            sources = np.clip(reach, low, high - 1) if ends == "clamp" else inside
            np.add.at(share[q], sources, 1.0 / len(sources))
        return share

    def outputs(self):
        c = self.column
        u = 1 - np.exp((c["threshold"] - self.plus) * c["gain"]) - self.minus - c["adaptation"] * self.theta
        return self.gain * np.maximum(u, 0.0)

    def step(self, level, edge):
        c, u = self.column, self.outputs()
        sources = np.concatenate([u.reshape(2, 4, S), self.feedback * edge[:, None]], 1).ravel()
        plus, minus = self.inputs @ sources
        plus += c["tonic"] * np.repeat(level, 4, 0).ravel()
        self.plus += 0.01 / c["delay"] * (plus - self.plus)
        self.minus += 0.01 / c["delay"] * (minus - self.minus)
        self.theta += 0.01 / c["adaptation_delay"] * (u - self.theta)


ALL = {
    f"EC_{cell}": {
        **({} if cell == "CCIN" else {"source": "EC", "target": cell}),
        "strength": 0.5 + i,
        "port": ("excite", "inhibit")[i % 2],
        "side": ("same", "other")[i % 2],
        "rostral": 3 * i,
        "caudal": 7,
    }
    for i, cell in enumerate(("EIN", "CCIN", "LIN", "MN"))
}
TABLES = {
    "EIN_MN": {"strength": 2.0},
    "LIN_EIN": {"source": "LIN", "target": "EIN", "port": "inhibit", "strength": 0.3, "caudal": 9},
    "LIN": {"adaptation": 0.2, "adaptation_delay": 0.3},
    "MN": {"tonic": 4.0},
}


@pytest.mark.parametrize(
    ("changes", "left", "right"),
    [
        ({}, [], []),
        pytest.param(TABLES, [], [], marks=pytest.mark.slow),
        pytest.param(ALL, [37], [37], marks=pytest.mark.slow),
        pytest.param({**ALL, "ends": "clamp"}, [20, 22, 70], [4], marks=pytest.mark.slow),
        ({"head_segments": 20}, range(1, S), [1, 99]),
    ],
)
def test_against_dense_matrices(changes, left, right):
    """Tables, edge cells, cuts, lesions and a bath, half a second: measured difference 2e-14."""
    rng = np.random.default_rng(0)
    bath, segment = rng.uniform(0.0, 0.3, S), rng.choice([0.0, 0.5, 1.0], (2, S), p=[0.05, 0.05, 0.9])
    cells = rng.uniform(0.3, 1.0, (2, 5))
    gain = np.tile(segment[:, None], (1, 4, 1))
    gain[:, :, 30:80] *= cells[:, :4, None]
    bend = rng.uniform(-0.6, 0.6, (50, 9))
    start = {"cut": cut_at(left, right), "bath": bath, "feedback": 0.02}
    start |= {"segment_gain": segment, "cell_gain": cells, "cell_segments": [30, 80]}
    isolated = IsolatedCord(changes)
    run = neurons(isolated, 0.5, lambda t: [0.4, 0.05, 0.7, *bend[int(t / 0.01)]], **start)
    dense = Dense(isolated.circuit, (left, right), gain, 0.02)
    level = np.tile(0.4, (2, S))
    level[:, : isolated.circuit.head_segments] *= 1.7
    level += np.array([[-0.05], [0.05]])
    for side, cuts in enumerate((left, right)):
        level[side, min(cuts, default=S) :] = 0.0
    joint = np.clip((np.arange(S) - 5) // 10, 0, 8)
    for k in range(50):
        assert run[k].ravel() == pytest.approx(dense.outputs(), abs=1e-12)
        curvature = -bend[k][joint] / 0.03
        dense.step(np.maximum(level + bath, 0.0), cells[:, 4:] * np.maximum([-curvature, curvature], 0.0))


def rhythm(run, segments):
    """Left less right motoneurons of some segments, the last half, about their mean."""
    wave = run[len(run) // 2 :, :, 3, segments].mean(2)
    return wave[:, 0] - wave[:, 1] - np.mean(wave[:, 0] - wave[:, 1])


def frequency(wave):
    spectrum = np.abs(np.fft.rfft(wave, 16 * len(wave)))
    return np.argmax(spectrum) / (16 * len(wave) * 0.01)


@pytest.mark.slow
@pytest.mark.parametrize("ends", ["exist", "clamp"])
def test_a_cut_makes_two_cords(ends):
    """What lies behind the cut is a cord of its own, of 50 segments and the last five links, to rounding."""
    tail = LampreyParams(*(getattr(LampreyParams(), name)[5:] for name in LINKS))
    bend = [0.1, -0.2, 0.3, 0.0, 0.0, 0.4, -0.3, 0.2, 0.1]
    start = {"transection": 50, "bath": 1.5 * BATH, "feedback": 0.0}
    cut = neurons(IsolatedCord({"ends": ends}), drive=[0.4, 0.0, 0.7, *bend], **start)
    own = IsolatedCord({"segments": 50, "head_segments": 0, "ends": ends}, tail)
    alone = neurons(own, drive=[0.3, 0.0, 0.0, *bend[5:]], feedback=0.0)
    assert cut[..., 50:] == pytest.approx(alone, abs=1e-9)


def test_a_bath_like_the_brainstem(cord):
    """A profile that is even, and higher by 70 % in the first five segments, is the brainstem's drive, to the bit."""
    bath = np.full(S, 0.4)
    bath[:5] *= 1.7
    assert np.array_equal(neurons(cord), neurons(cord, drive=np.zeros(12), bath=bath))


def test_cut_cords_beside_whole_ones(cord):
    """Sixteen lanes, cut at different places or not: each as if alone, bit for bit."""
    cuts = np.array([0.0, 50.0, 1.0, 100.0, 99.0, 33.5, 0.0, 12.0])
    bath, drive = np.full(S, 0.1), [0.4, 0.1, 0.7, *np.linspace(-0.3, 0.3, 9)]
    together = swim(cord, [drive] * 8, 0.3, {"transection": cuts, "bath": bath}, signals=("neurons",))
    for cut, run in zip(cuts, together, strict=True):
        assert np.array_equal(run["neurons"], neurons(cord, 0.3, drive, transection=cut, bath=bath))


def test_entrainment(cord):
    """The head bent by 0.5 rad: the whole cord follows within a range, drifts beyond it, and without edge cells always.

    The phase drift that tells the range is measured against the imposed sine; the frequency of the spectrum agrees.
    """
    frequencies = np.array([3.4, 3.8, 4.0, 4.2, 4.8])
    found = entrain(cord, frequencies, duration=16.0)
    assert found.free == pytest.approx(3.81, abs=0.02)
    assert found.entrained.all(1).tolist() == [False, True, True, True, False]
    assert abs(found.drift[1:4]).max() < 0.01
    assert (abs(found.drift[[0, 4]]) > 0.3).all()
    assert found.range(joint=8) == (3.8, 4.2)
    low, high = Entrainment(frequencies, found.rhythm, np.ones((5, 9)), found.apart, found.free).range(joint=8)
    assert np.isnan([low, high]).all()
    deaf = entrain(cord, frequencies, duration=16.0, start={"feedback": 0.0})
    assert deaf.rhythm == pytest.approx(np.tile(found.free, (5, 1)), abs=1e-6)
    assert deaf.wander[1].max() < 0.25 and not deaf.entrained.any()  # near the free rhythm, and its own
    tail = entrain(cord, frequencies, bent=(6, 7, 8), duration=16.0)
    assert tail.rhythm == pytest.approx(3.81, abs=0.02)
    assert not tail.entrained.any()


@pytest.mark.full
def test_weights_of_rows_change_the_rhythm(cord):
    """Frequency (Hz) and half the swing of the middle joint's motoneurons, left less right."""

    def measured(**factors):
        weights = [next((v for k, v in factors.items() if name.startswith(k)), 1.0) for name in cord.circuit.weights]
        signals = ("motoneuron", "joint_angle", "neurons")
        run = simulate(cord, QUIET, 16.0, every=0.01, start={"synapse": weights}, signals=signals)
        wave = np.diff(run["motoneuron"][800:, :, 4], axis=1)[:, 0]
        return Swimming(cord, run).frequency if np.ptp(wave) > 1e-3 else 0.0, 0.5 * np.ptp(wave)

    assert measured() == pytest.approx((3.81, 0.55), abs=0.01)
    assert measured(CCIN=0.5)[0] == pytest.approx(4.96, abs=0.02)  # weakened reciprocal inhibition
    assert measured(CCIN=0.0)[1] < 1e-3
    assert measured(LIN_CCIN=0.0)[1] < 1e-3
    assert measured(EIN_MN=2.0) == pytest.approx((3.81, 0.64), abs=0.01)


def test_an_environment_takes_draws_and_changes_a_circuit():
    changes = {"EIN": {"threshold": -0.1}, "EIN_MN": {"strength": 2.0}}
    make = {"actions": "brainstem", "circuit": changes, "randomize": {"synapse": (0.5, 1.5)}}
    env = gymnasium.make("gymnosoma/LampreyWaypoints-v0", **make).unwrapped
    assert env.task.animal.circuit == read_circuit(None).replace(**changes)
    drawn = []
    for seed in range(3):
        env.reset(seed=seed, options={"cell_gain": np.zeros((2, 5)), "cell_segments": [80, 100]})
        drawn.append(env.batch.rows["synapse"].copy())
    assert (np.ptp(drawn, axis=0) > 0.0).all() and 0.5 <= np.min(drawn) <= np.max(drawn) <= 1.5
    swing = []
    for cut in (0.0, 50.0):
        env.set_parameters(transection=cut)
        outputs = []
        for _ in range(60):
            env.step(np.array([0.2, 0.0, 0.0]))
            outputs.append(env.task.animal.neurons(env.batch.rows)[0])
        assert not np.any(outputs[-1][..., 80:])
        swing.append(np.ptp(np.array(outputs)[-20:, 0, 3], 0))
    assert (swing[0][:75] > 0.3).all()
    assert (swing[1][:40] > 0.3).all() and (swing[1][50:75] < 0.1).all()


@pytest.mark.slow
def test_phase_oscillators_swim():
    """At 4 Hz, one wave on the body, one a side and joint."""
    ways = [("descending", -1, 1, 1.0), ("ascending", 1, -1, -1.0)]
    along = [
        Projection("MN", "MN", 30.0, "phase", rostral=r, caudal=c, lag=0.2 * np.pi * sign, name=name)
        for name, r, c, sign in ways
    ]
    across = Projection("MN", "MN", 30.0, "phase", "other", lag=np.pi, name="crossed")
    cell = Population("MN", "phase", frequency=4.0, gain=0.6)
    lamprey = Lamprey(circuit=Circuit(9, [cell], [*along, across], "MN", joint=range(9)))
    swimming = Swimming(lamprey, simulate(lamprey, [0.0, 0.0, 0.0], 20.0, every=0.01))
    assert swimming.frequency == pytest.approx(4.0, abs=1e-6)
    assert swimming.speed == pytest.approx(0.685, abs=0.01)
    np.testing.assert_allclose(swimming.phase, 0.1 * np.arange(9), atol=1e-6)


def made_wave(cord, frequency, lag):
    """Run of a wave with a frequency (S,), Hz, and a lag per segment (S,), cycles."""
    time = 0.01 * np.arange(1001)
    phase = 2.0 * np.pi * (frequency * time[:, None] - lag * np.arange(S))
    outputs = np.zeros((len(time), 2, 4, S))
    outputs[:, 0, 3], outputs[:, 1, 3] = np.maximum(np.cos(phase), 0.0), np.maximum(-np.cos(phase), 0.0)
    return Trajectory(time, {"joint_angle": np.zeros((len(time), 9)), "neurons": outputs})


def test_frequency_and_lag_of_made_waves(cord):
    made = Swimming(cord, made_wave(cord, np.full(S, 2.0), np.full(S, 0.01)))
    assert made.frequency == pytest.approx(2.0, abs=1e-3)
    assert made.lag == pytest.approx(0.01, abs=1e-4)


def test_parts_of_a_cut_cord_have_a_frequency_and_a_lag_each(cord):
    front = np.arange(S) < 50
    run = made_wave(cord, np.where(front, 3.0, 2.0), np.where(front, 0.01, 0.005))
    for part, frequency, lag in [((0, 50), 3.0, 0.01), ((50, S), 2.0, 0.005)]:
        made = Swimming(cord, run, segments=part)
        assert made.frequency == pytest.approx(frequency, abs=1e-3)
        assert made.lag == pytest.approx(lag, abs=1e-4)
        assert np.isfinite(made.phase).sum() == 50
    assert np.isnan(Swimming(cord, run).lag)
    run["neurons"][:, :, :, 50:] = 0.0
    assert np.isnan(Swimming(cord, run).lag)
    with pytest.raises(ValueError, match=r"segments must be an integer from 2 to 100, got 101"):
        Swimming(cord, run, segments=(0, S + 1))


@pytest.mark.parametrize(
    "make",
    [
        lambda: IsolatedCord({"segments": 90}),
        lambda: entrain(IsolatedCord(), [2.0, 1.0]),
        lambda: simulate(IsolatedCord(), QUIET, 0.1, start={"bath": np.zeros(9)}),
        lambda: Swimming(IsolatedCord(), simulate(IsolatedCord(), QUIET, 0.2, 1 / 30)),  # unequal intervals
        lambda: gymnasium.make("gymnosoma/LampreyEscape-v0", circuit={"MN": {"dynamics": "phase"}}),
    ],
)
def test_bad_values(make):
    with pytest.raises(ValueError):
        make()


def test_intact_cords_step_like_others_and_ignore_lesions():
    """Blocks of lanes keep the parameters of intact cords, also for other rows; feedback and state may differ."""
    ids, states = np.arange(20), []
    for intact in (False, True):
        cord = IsolatedCord(intact=intact)
        rows = cord.rows(20)
        cord.reset(rows, ids, {"kick": np.linspace(-0.1, 0.1, 20), "feedback": np.linspace(0.0, 0.02, 20)})
        for bend in (0.2, -0.1):
            cord.advance(rows, ids, np.tile([0.4, 0.0, 0.7, *np.full(9, bend)], (20, 1)), 10)
            rows["feedback"] = rows["feedback"][::-1].copy()
            rows["cell_gain"][:, :, 0] = 1.0 - intact
        rows["cell_gain"] = 1.0
        states.append(rows)
    np.testing.assert_array_equal(*states)
