"""`simulate`: what runs compiled equals, to the bit, an animal that is advanced hold by hold; many equal one by one."""

from pathlib import Path

import numpy as np
import pytest

from gymnosoma.envs import Event, OpenLoop, Schedule, simulate
from gymnosoma.envs.core.model.animal import Animal
from gymnosoma.envs.lamprey import IsolatedCord, Lamprey
from gymnosoma.envs.neuromechanic import Neuromechanic
from gymnosoma.envs.neuromechanic.standing import reflex_input, standing
from gymnosoma.envs.whisker_chain import Whisker
from gymnosoma.envs.whisker_rod import WhiskerRod
from gymnosoma.envs.worm import SineKymogram, Worm, medium
from gymnosoma.films.reel import Replay
from papers.simulations import ensemble

ARM = Path(__file__).parents[2] / "assets" / "neuromechanic" / "arm.toml"


def slowly(animal, drive, duration, every, start=None, hold=None, events=()):
    """What `simulate` records, from one call of ``advance`` in each hold; and why it ended."""
    hold = animal.dt if hold is None else hold
    steps = round(hold / animal.dt)
    recorded = {int(k * every / hold + 0.500001) for k in range(1, int(duration / every + 1e-6) + 1)}
    events = [event if isinstance(event, Event) else Event(**event) for event in events]
    rows, one = animal.rows(1), np.zeros(1, np.int64)
    animal.reset(rows, one, start)
    record = [rows.copy()]
    for k in range(round(duration / hold)):
        value = drive.at(np.array([(k + 0.5) * hold]))[0] if isinstance(drive, OpenLoop) else np.asarray(drive, float)
        for event in [event for event in events if event.time <= rows["time"][0] + 0.5 * animal.dt]:
            events.remove(event)
            for name, given in event.values.items():
                rows[name] = given
        animal.advance(rows, one, value[None], steps)
        if rows["status"][0]:
            break
        if k + 1 in recorded:
            record.append(rows.copy())
    return np.concatenate(record), animal.failures.get(float(rows["status"][0]))


def noise(every, size, scale=0.3, count=100):
    return Schedule(every, np.random.default_rng(0).uniform(-scale, scale, (count, size)))


FOLDING = Schedule([0.0, 0.433], [np.full(24, 0.1), np.full(24, 3.1)])
"""Breaks a stiff worm down after some time."""

WORM = [
    (Worm, np.full(24, 0.1), 1.0, 0.05, {}),
    (Worm, SineKymogram(), 1.0, 0.1, {"hold": 0.025}),
    (Worm, noise(0.035, 24), 1.02, 0.06, {"hold": 0.02}),
    (Worm, noise(0.005, 24), 0.9, 0.05, {"events": [Event(0.303, {"damping": 0.0}), Event(0.5, {"mass": 2e-9})]}),
    (Worm, noise(0.035, 24), 1.0, 1 / 30, {"events": [Event(0.303, {"damping": 0.0})]}),
    (Worm, np.full(24, 0.2), 1.0, 0.5, {"events": [Event(0.303, {"stiffness": 1e-10})]}),
    (Worm, noise(0.005, 24, 2.9), 0.6, 0.1, {}),
    (Worm, FOLDING, 1.0, 1 / 30, {"start": {"stiffness": 2e-7}}),
    (Worm, FOLDING, 1.0, 0.1, {"start": {"stiffness": 2e-7}}),
]
PUSH, SOONER = {"start": {"pulse": [[0.05, 0.1, 3.0], [0.3, 0.1, -3.0]]}}, {"events": [Event(0.1, {"delay": 0.7})]}

OTHERS = [
    (Lamprey, [0.4, 0.1, 0.7], 0.5, 0.05, {}),
    (Lamprey, Schedule([0.0, 0.13], [[0.2, 0.0, 1.0], [0.4, 0.1, 0.7]]), 0.3, 0.05, {}),
    (lambda: Lamprey(drive="residual"), np.append([0.4, 0.0, 0.7], np.full(18, 0.05)), 0.2, 0.05, {}),
    (IsolatedCord, noise(0.02, 12), 0.6, 0.06, {"hold": 0.02}),
    (IsolatedCord, np.append([0.4, 0.0, 0.7], np.full(9, 0.1)), 0.5, 0.05, {"start": {"transection": 50}}),
    (Whisker, [200.0, 0.1, 0.2], 0.1, 0.001, {"start": {"peg": [[0.02, 0.004]]}}),
    (Whisker, [2e5, 300.0, 0.0], 0.1, 0.002, {"start": {"peg": [[0.02, 0.001]]}}),
    (WhiskerRod, noise(3e-4, 3, 0.2), 0.01, 5e-4, {"start": {"plate_distance": 0.0327}}),
    (Whisker, [3000.0, 0.0, 0.0], 0.1, 1 / 240, {"start": {"peg": [[0.02, 0.004]]}, "hold": 1e-3}),
    (lambda: Neuromechanic(ARM), noise(0.02, 2), 0.5, 0.05, {"hold": 0.01}),
    (lambda: Neuromechanic(standing()), reflex_input(1.1), 0.3, 1e-3, PUSH),
    (
        lambda: Neuromechanic(standing()),
        reflex_input(1.1),
        0.301,
        0.007,
        PUSH | {"events": [Event(0.1, {"delay": 0.7})]},
    ),
    (lambda: Neuromechanic(standing()), reflex_input(1.1), 0.4, 1 / 240, PUSH),
    (lambda: Neuromechanic(standing()), reflex_input(1.1), 0.45, 0.15, PUSH | {"hold": 0.05}),
]


@pytest.mark.parametrize(
    "animal, drive, duration, every, given", [*WORM, *(pytest.param(*case, marks=pytest.mark.full) for case in OTHERS)]
)
def test_what_runs_compiled_equals_hold_by_hold(animal, drive, duration, every, given):
    animal = animal()
    run = simulate(animal, drive, duration, every, **given)
    rows, failure = slowly(animal, drive, duration, every, **given)
    assert run.failure == failure and len(run.rows) == len(rows)
    for name in animal.state.names:  # between the fields may be anything
        assert run.rows[name].tobytes() == rows[name].tobytes(), name


@pytest.mark.parametrize(
    ("duration", "every", "hold", "steps"),
    [
        (0.2, 1 / 30, 0.005, [0, 7, 13, 20, 27, 33, 40]),
        (6.0, 0.035, 0.005, range(0, 1198, 7)),
        (0.2, 0.015, 0.01, [0, 4, 6, 10, 12, 16, 18, 22, 24, 28, 30, 34, 36, 40]),
    ],
)
def test_a_camera_records_at_the_steps_that_come_nearest(duration, every, hold, steps):
    rows = simulate(Worm(), SineKymogram(), duration, hold, hold=hold).rows[
        [step // round(hold / 0.005) for step in steps]
    ]
    run = simulate(Worm(), SineKymogram(), duration, every, hold=hold)
    assert run.rows.tobytes() == rows.tobytes() and run.every == every
    assert run.time == pytest.approx(0.005 * np.array(steps)) and run.time == pytest.approx(rows["time"])
    assert np.abs(run.time - every * np.arange(len(run.time))).max() <= 0.5 * hold + 1e-9
    kept = simulate(Worm(), SineKymogram(), duration, every, hold=hold, count=2, signals=("centre", "power"))[1]
    assert all(kept[name].tobytes() == run[name].tobytes() for name in ("time", "centre", "power"))
    assert ensemble(Worm(), SineKymogram(), 1, duration, every, hold)["time"][:, 0].tobytes() == run.time.tobytes()
    assert Replay(run).fps == pytest.approx(1 / every) and len(list(Replay(run))) == len(run.time)


def test_a_function_and_an_open_loop_are_one():
    sine, worm = SineKymogram(), Worm()
    runs = [simulate(worm, drive, 1.0, 0.05) for drive in (sine, lambda t: sine(t))]
    assert runs[0].rows.tobytes() == runs[1].rows.tobytes()


def test_an_animal_of_ones_own_runs_hold_by_hold():
    class Plain(Worm):
        run = Animal.run

    runs = [simulate(animal, SineKymogram(), 0.3, 0.05) for animal in (Plain(), Worm())]
    assert runs[0].rows.tobytes() == runs[1].rows.tobytes()


@pytest.mark.parametrize("threads", [1, pytest.param(2, marks=pytest.mark.full)])
def test_many_equal_one_by_one(threads):
    sigma = np.linspace(0.0, 1.0, 19)
    waves: list = [SineKymogram.for_medium(each) for each in sigma]
    start = medium(sigma) | {"heading": 0.1 * np.arange(19.0)}
    events = [{"time": 0.5, "damping": 1e-12 * np.arange(19.0)}]
    # One of them fails: it ends early, and the others do not mind.
    start["stiffness"] = np.where(np.arange(19) == 4, 2e-7, Worm().params.stiffness)
    waves[4] = FOLDING
    runs = simulate(Worm(threads=threads), waves, 1.0, 0.05, start, events=events, count=19)
    for k, run in enumerate(runs):
        own = {name: values[k] for name, values in start.items()}
        alone = simulate(Worm(), waves[k], 1.0, 0.05, own, events=[{"time": 0.5, "damping": 1e-12 * k}])
        assert run.rows.tobytes() == alone.rows.tobytes() and run.failure == alone.failure
        assert run.time.tobytes() == alone.time.tobytes() and bool(run.failure) == (k == 4)


def test_many_that_fail_one_after_another():
    breaks = [Schedule([0.0, 0.4 + 0.01 * k], FOLDING.values) for k in range(6)]
    start = {"stiffness": 2e-7}
    message = "^simulation ended early for 6 of 6 animals, the first after 0 of 1 s: "
    with pytest.warns(UserWarning, match=message) as caught:
        runs = simulate(Worm(), breaks, 1.0, 0.5, start, count=6)
    assert caught[0].filename == __file__
    for run, drive in zip(runs, breaks, strict=True):
        alone = simulate(Worm(), drive, 1.0, 0.5, start)
        assert run.rows.tobytes() == alone.rows.tobytes() and run.failure == alone.failure is not None


def test_drives_of_many():
    values = np.random.default_rng(1).uniform(-0.2, 0.2, (6, 5, 24))
    worm = Worm()
    held = simulate(worm, values[0], 0.2, 0.05, count=5)
    table = simulate(worm, Schedule(0.05, values), 0.3, 0.05, count=5)
    asked = simulate(worm, lambda t: values[int(t / 0.05)], 0.3, 0.05, count=5)
    for k in range(5):
        assert held[k].rows.tobytes() == simulate(worm, values[0, k], 0.2, 0.05).rows.tobytes()
        alone = simulate(worm, Schedule(0.05, values[:, k]), 0.3, 0.05)
        assert alone.rows.tobytes() == table[k].rows.tobytes() == asked[k].rows.tobytes()


def test_many_that_listen():
    class Straighten:
        reads = ("joint_angle",)

        def __init__(self, gain):
            self.gain = gain

        def drive(self, t, signals, first):
            return -self.gain * signals["joint_angle"]

    start = {"joint_angle": np.random.default_rng(2).uniform(-0.3, 0.3, (3, 24))}
    both = simulate(Worm(), Straighten(0.5), 0.2, start=start, count=3)
    each = simulate(Worm(), [Straighten(gain) for gain in (0.1, 0.5, 0.9)], 0.2, start=start, count=3)
    assert both[1].rows.tobytes() == each[1].rows.tobytes() != each[0].rows.tobytes()


def test_an_ensemble_is_what_simulate_records():
    start = {"stiffness": [1e-10, 2e-7, 1e-9]}
    found = ensemble(Worm(), FOLDING.at, 3, 1.0, 0.1, start=start, signals=("centre", "power"))
    assert list(found) == ["time", "centre", "power"] and found["centre"].shape == (11, 3, 2)
    for b, run in enumerate(simulate(Worm(), FOLDING.at, 1.0, 0.1, start, count=3)):
        for name, values in found.items():
            assert values[: len(run.time), b].tobytes() == run[name].tobytes()
            assert np.isnan(values[len(run.time) :, b]).all()
    assert np.isnan(found["time"][-1]).tolist() == [False, True, False]


def test_signals_alone_are_kept(monkeypatch):
    for name in ("MOST_NUMBERS", "USUAL_NUMBERS"):  # little memory: it is emptied on the way
        monkeypatch.setattr(f"gymnosoma.envs.core.model.simulate.{name}", 2000)
    given = {
        "start": {"stiffness": [1e-10, 2e-7, 1e-9]},
        "events": [Event(0.21, {"friction_parallel": [1e-6, 4e-6, 3e-6]})],
    }
    whole = simulate(Worm(), FOLDING, 1.0, 0.05, count=3, **given)
    some = simulate(Worm(), FOLDING, 1.0, 0.05, count=3, signals=("centre", "power"), **given)
    assert [bool(run.failure) for run in some] == [False, True, False]
    for run, full in zip(some, whole, strict=True):
        assert list(run) == ["centre", "power"] and run.rows is None
        assert all(run[name].tobytes() == full[name].tobytes() for name in ("time", "centre", "power"))


@pytest.mark.parametrize("animal", [Worm, pytest.param(lambda: Neuromechanic(standing()), marks=pytest.mark.full)])
def test_signals_are_those_of_the_rows(monkeypatch, animal):
    """What is kept of each moment is restored a few moments at a time, also where the past is remembered."""
    animal = animal()
    drive = np.full(animal.drive_size, 0.1)
    whole = simulate(animal, drive, 300 * animal.dt, 2 * animal.dt)
    made = {name: animal.signal(whole.rows, name) for name in animal.signals if name != "time"}
    for name in ("MOST_NUMBERS", "USUAL_NUMBERS"):
        monkeypatch.setattr(f"gymnosoma.envs.core.model.simulate.{name}", 3_000)
    for given in ({}, {"signals": tuple(animal.signals)}):
        run = simulate(animal, drive, 300 * animal.dt, 2 * animal.dt, **given)
        for name, values in made.items():
            assert run[name].tobytes() == values.tobytes(), name


def test_progress_is_told_and_may_end_it():
    told = []

    def progress(t):
        told.append(t)
        if t >= 20.0:
            raise StopIteration

    run = simulate(Worm(), np.zeros(24), 1e4, 1.0, progress=progress)
    assert told == sorted(told) and told[0] == 0.0 and len(run.time) == 1 + told[-1]
    assert run.failure is None


@pytest.mark.parametrize(
    "drive, given, name",
    [
        (np.zeros((3, 24)), {"count": 2}, "drive .*control_angle_23"),
        (np.zeros(24), {"signals": ["speed"]}, "signals"),
        (np.zeros(24), {"every": 0.2}, "every"),
        (lambda t: np.full(24, np.nan if t > 0.05 else 0.0), {}, "drive must be finite"),
    ],
)
def test_what_cannot_be(drive, given, name):
    with pytest.raises(ValueError, match=name):
        simulate(Worm(), drive, 0.1, **given)
