"""The command that asks the worst of environments, and that it finds what is wrong."""

import itertools
import json
import signal

import gymnasium
import pytest

from gymnosoma.envs import register
from tools.soak import hostile as soak

BROKEN = "gymnosoma/Broken-v0"


@pytest.fixture
def broken(request):
    """A task with a fault, as long as the test lasts."""
    register(BROKEN, "fixtures.broken:Broken", 200, fault=request.param)
    yield request.param
    gymnasium.registry.pop(BROKEN)


FAULTS = {
    "none": None,
    "observation": "observations of row ",
    "reward": "rewards of row ",
    "overflow": "RuntimeWarning: overflow encountered in exp",
    "info": "RuntimeWarning: overflow encountered in divide",
    "reason": "KeyError: np.float64(77.0)",
    "hidden state": "step after a restoration gave ",
    "neighbours": "step of the row alone gave ",
}


@pytest.mark.parametrize(("broken", "message"), FAULTS.items(), indirect=["broken"])
def test_faults_are_found_and_found_again(broken, message, error_of, tmp_path, capsys):
    file = tmp_path / "figures.json"
    code = error_of("soak", "Broken-v0", "--steps", 20_000, "--seed", 5, "--json-file", file)
    [row] = json.loads(file.read_text())
    shown = capsys.readouterr().out
    if message is None:
        assert code is None and row["steps"] >= 20_000 and not row["violations"] and row["episodes"] > 100
        return
    assert code == 1 and len(row["violations"]) == soak.KEPT
    for violation in row["violations"]:
        assert message in violation and violation[:50] in shown
    seed = row["violations"][-1].partition("round of seed ")[2].partition(",")[0]
    assert error_of("soak", "Broken-v0", "--steps", 1, "--seed", seed, "--json-file", file) == 1
    assert json.loads(file.read_text())[0]["violations"][0] == row["violations"][-1]


def test_every_mode_and_solver_is_a_case():
    def found(name):
        tallies = soak.cases(f"gymnosoma/{name}", 100, 1)
        assert [tally.goal for tally in tallies] == [100] + [1] * (len(tallies) - 1)
        return [" ".join(tally.arguments.values()) for tally in tallies]

    assert found("HindlimbHold-v0") == [
        "residual semi_implicit",
        "residual rk4",
        "excitation semi_implicit",
        "excitation rk4",
    ]
    contacts = "modes", "staggered", "sweep"
    assert found("StandPulse-v0") == [
        f"{mode} semi_implicit {way}" for mode in ("torque", "residual") for way in contacts
    ]
    assert found("WormSwim-v0")[0] == "residual midpoint" and len(found("WormSwim-v0")) == 6


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_keeps_what_is_known(number, monkeypatch, tmp_path, capsys, error_of):
    file = tmp_path / "figures.json"
    play = soak.play

    def interrupted(tally, seed):
        if seed == 3:
            signal.raise_signal(number)
        play(tally, seed)

    monkeypatch.setattr(soak, "play", interrupted)
    assert error_of("soak", "PendulumUp-v0", "--json-file", file) == 128 + number
    [row] = json.loads(file.read_text())
    assert row["rounds"] == 3 and row["steps"] > 0
    assert "PendulumUp-v0" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--minutes", "0"), "minutes must be greater than 0, got 0.0"),
        (("--steps", "0"), "steps must be at least 1, got 0"),
        (("--seed", "-1"), "seed must be at least 0, got -1"),
        (("NoSuch-v0",), "id must be one of "),
    ],
)
def test_wrong_arguments_are_named(error_of, arguments, message):
    assert message in error_of("soak", *arguments)


def test_time_is_a_limit(error_of):
    assert error_of("soak", "PendulumUp-v0", "--minutes", 0.005) is None


def test_a_short_soak_sees_all_ids_and_tells_what_it_did_not_reach(monkeypatch, capsys, command):
    """Once it had stepped one id, and called what was never begun "0 steps, none failed"."""
    played, clock = [], itertools.count(0.0, 10.0)

    def play(tally, seed):
        played.append(tally.env_id)
        tally.rounds, tally.steps = tally.rounds + 1, tally.steps + 1000

    monkeypatch.setattr(soak, "play", play)
    monkeypatch.setattr(soak.time, "monotonic", lambda: next(clock))
    ids = ("WormSwim-v0", "LampreyEscape-v0", "WhiskerHold-v0")
    command("soak", *ids, "--minutes", 1)
    shown = capsys.readouterr().out
    settings = sum(len(soak.cases(f"gymnosoma/{name}", 1, 1)) for name in ids)
    assert played[:3] == [f"gymnosoma/{name}" for name in ids] and len(played) == 5
    assert f"5,000 steps of 3 of 3 ids, in 5 of {settings} settings, 0 of which made all of their steps" in shown
    assert shown.count("not reached") == settings - 5
