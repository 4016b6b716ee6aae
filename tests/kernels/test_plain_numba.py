"""All environments on numba alone, as on a version that has not been tested, against the project's own target."""

import json
import os
import subprocess
import sys

import pytest

from gymnosoma.envs import CATALOGUE

PLAY = """
import hashlib, json, sys
import gymnasium, gymnosoma, numpy as np
from gymnosoma.envs.core.kernels.jit import PLAIN

def plain(value):
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return np.asarray(value).tolist()

def digest(*values):
    return hashlib.sha256(repr([plain(each) for each in values]).encode()).hexdigest()

def play(env, steps):
    env.action_space.seed(0)
    played = [digest(*env.reset(seed=0))]
    played += [digest(*env.step(env.action_space.sample())) for _ in range(steps)]
    env.close()
    return played

names = sys.argv[1:]
assert PLAIN == ("gymnosoma.envs.core.kernels.target" not in sys.modules)
played = {name: play(gymnasium.make(f"gymnosoma/{name}"), 5) for name in names}
if names[0] in ("WormSwim-v0", "WhiskerLocalize-v0"):
    played["in lanes"] = play(gymnasium.make_vec(f"gymnosoma/{names[0]}", num_envs=3), 5)
print(json.dumps([PLAIN, played]))
"""

ANIMALS = {
    "worm": (
        "WormSwim-v0", "WormCrawl-v0", "WormReach-v0", "WormEscape-v0", "WormFollow-v0", "WormChemotaxis-v0",
        "WormMedium-v0",
    ),
    "lamprey": ("LampreyEconomy-v0", "LampreyWaypoints-v0", "LampreyEscape-v0"),
    "whiskers": (
        "WhiskerLocalize-v0", "WhiskerTap-v0", "WhiskerHold-v0", "WhiskerWhisk-v0", "WhiskerSweep-v0",
        "WhiskerRegulate-v0", "WhiskerTexture-v0",
    ),
    "hindlimb": ("HindlimbHold-v0",),
    "standing": ("StandGains-v0",),
}  # fmt: skip
"""Ids by the kernels that they share. Worms and whiskers are also played in lanes, because theirs compile fast."""


def digests(plain, names):
    """Whether a new process compiles on numba alone, and digests of observations, rewards, endings and infos."""
    variables = {**os.environ, "GYMNOSOMA_PLAIN_NUMBA": str(int(plain))}
    done = subprocess.run(
        [sys.executable, "-c", PLAY, *names], env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_no_environment_is_left_out():
    assert {name for names in ANIMALS.values() for name in names} == {entry.name for entry in CATALOGUE}


@pytest.mark.full
@pytest.mark.parametrize("animal", ANIMALS)
def test_numba_alone_gives_the_same_bits(animal):
    is_plain, alone = digests(True, ANIMALS[animal])
    is_own, own = digests(False, ANIMALS[animal])
    assert (is_plain, is_own) == (True, False)
    assert alone == own
