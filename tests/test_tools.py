"""Maintainers' tools run: a short soak, and the measurement of speed."""

import json

import gymnasium
import pytest

from gymnosoma.envs import register
from tools import soak
from tools.speed import __main__ as speed

BROKEN = "gymnosoma/Broken-v0"


@pytest.fixture
def broken(request):
    """A task with a fault, as long as the test lasts."""
    register(BROKEN, "fixtures.broken:Broken", 200, fault=request.param)
    yield
    gymnasium.registry.pop(BROKEN)


@pytest.mark.parametrize("broken", ["none"], indirect=True)
def test_a_soak_counts_episodes(broken):
    assert soak.play(BROKEN, soak.cases(BROKEN)[0], 40_000, 18, 0) > 10


@pytest.mark.parametrize("broken", ["observation", "reward", "overflow", "hidden state"], indirect=True)
def test_a_soak_finds_faults(broken):
    with pytest.raises((AssertionError, RuntimeWarning)):
        soak.play(BROKEN, soak.cases(BROKEN)[0], 20_000, 18, 5)


@pytest.mark.full
def test_speed_is_measured(tmp_path):
    file = tmp_path / "speed.json"
    speed.speed(("kernels", "simulate"), ("whisker_rod",), 1, file)
    measured = json.loads(file.read_text())
    assert all(row["value"] > 0 for rows in measured["figures"].values() for row in rows)
    assert "Radau: " in speed.ratios(measured) and "| whisker_rod: kernel |" in speed.tables(measured)
