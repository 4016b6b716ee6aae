"""Forged snapshots: refused, or the next steps are finite."""

import copy
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from ids import IDS

from gymnosoma.envs.core.env.options import Defaults
from gymnosoma.envs.core.model.control import Event

VALUES = -1e6, -1.0, 0.5, 3.5, 1e18, 1e90


def forge(env_id):
    """Restore snapshots with one forged number, and step."""
    env = gymnasium.make(env_id).unwrapped
    rng = np.random.default_rng(0)

    def step():
        observation, reward, ended, *_ = env.step(rng.uniform(-1.0, 1.0, env.action_space.shape))
        assert np.isfinite(observation).all() and np.isfinite(reward)
        return ended

    env.reset(seed=0)
    for _ in range(3):
        step()
    saved = env.save()
    parts = {name: part for name, part in saved.items() if isinstance(part, np.ndarray) and part.dtype != bool}
    places = [(name, field) for name, part in parts.items() for field in part.dtype.names or [...]]
    counts = [0, 0]
    for name, field in places:
        for value in VALUES:
            snapshot = copy.deepcopy(saved)
            part = snapshot[name][field]
            if not part.size:
                continue
            part.flat[part.size // 2] = int(min(abs(value), 1e19)) if part.dtype.kind == "u" else value
            print(f"{name} {field} {value}")  # the last line names a snapshot that ends the process
            try:
                env.restore(snapshot)
            except ValueError as error:
                assert str(error).startswith("snapshot: ")
                counts[0] += 1
                continue
            counts[1] += 1
            for _ in range(3):
                if step():
                    break
    for name, option in env.batch.options.options.items():
        for value in (option.low - 1.0 - abs(option.low), option.high + 1.0 + abs(option.high), np.nan, None, "wide"):
            shape = (*option.shape, 2) if value is None else option.shape
            forged = "wide" if value == "wide" else np.full(shape, option.low if value is None else value)
            for part, changed in (
                ("kept", [Defaults({name: forged})]),
                ("kept", [Defaults(events=[Event(1.0, {name: forged})])]),
                ("events", [[Event(1.0, {name: forged})]]),
            ):
                with pytest.raises(ValueError, match=f"^snapshot: .*{name}"):
                    env.restore(saved | {part: changed})
    for part, changed in (
        ("kept", [{}]),
        ("kept", [Defaults({"unknown": 1.0})]),
        ("events", [[Event(1.0, {"unknown": 1.0})]]),
        ("randomize", {"unknown": (0.0, 1.0)}),
    ):
        with pytest.raises(ValueError, match=r"^snapshot: .*(kept|unknown)"):
            env.restore(saved | {part: changed})
    assert min(counts) > 0
    env.restore(saved)
    step()


@pytest.mark.parametrize("env_id", IDS)
def test_a_forged_snapshot_is_refused_or_finite(env_id):
    code = f"from env.test_forged import forge; forge({env_id!r})"
    finished = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert finished.returncode == 0, f"{finished.stdout[-200:]} {finished.stderr[-2000:]}"


@pytest.mark.parametrize(
    ("env_id", "part", "field", "value", "message"),
    [
        ("WormFollow-v0", "rows", "time", -1e6, "time must be within"),
        ("WormSwim-v0", "rows", "status", 3.5, "status must be one of"),
        ("LampreyWaypoints-v0", "memory", "reached", -1e6, "reached must be an integer from 0 to"),
        ("WhiskerHold-v0", "rows", "contact_link", 13.0, "contact_link must be an integer from 0 to 12"),
        ("WormSwim-v0", "rows", "rod_angle", 1e101, "rod_angle must be at most 1e\\+100"),
    ],
)
def test_states_out_of_range_are_named(env_id, part, field, value, message):
    env = gymnasium.make(f"gymnosoma/{env_id}").unwrapped
    env.reset(seed=0)
    snapshot = env.save()
    snapshot[part][field] = value
    with pytest.raises(ValueError, match=message):
        env.restore(snapshot)
