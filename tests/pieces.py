"""Pieces of work, and policies, for those who find this module by its name, as they do not find a test's."""

import hashlib
import itertools
import os
import pickle
import time

import numpy as np

from gymnosoma.agents.support.files import locked


def marked(folder, name):
    """A piece of work that leaves a file; one always ends its process, one does so once, one fails."""
    with (folder / name).open("a") as file:
        file.write("begun\n")
    if name == "dies" or (name == "dies once" and (folder / name).read_text() == "begun\n"):
        os._exit(1)
    if name == "fails":
        raise ValueError("two\nlines")
    return name.upper()


def mark_and_wait(folder, name):
    """A piece of work that leaves a file, and ends when there is a file "go"."""
    marked(folder, name)
    while not (folder / "go").exists():
        time.sleep(0.02)
    return name.upper()


def lock(folder):
    """A piece of work that locks a folder."""
    (folder / "begun").touch()
    with locked("folder", folder / "run"):
        return "locked"


def future(env, actions):
    """Digest of all that an environment, or a pickled one, returns for actions; it begins anew where it terminates."""
    env, digest = (pickle.loads(env) if isinstance(env, bytes) else env).unwrapped, hashlib.sha256()
    for action in actions:
        *returned, info = env.step(action)
        for part in (*returned, *itertools.chain(*sorted(info.items()))):
            digest.update(np.asarray(part).tobytes())
        if returned[2] is True:  # one animal; many begin by themselves
            env.reset()
    return digest.hexdigest()


def half(observations):
    """A policy: the same action for all."""
    return np.full((len(observations), 6), 0.5)


half.env = {"actions": "modes"}


def short(observations):
    """A policy that gives an action too few."""
    return np.zeros((len(observations) - 1, 6))


def endless(observations):
    """A policy that gives no number."""
    return np.full((len(observations), 6), np.nan)


def counting(observations, first):
    """A policy that notes what it is told of the beginning of episodes."""
    counting.told.append(first.copy())
    return np.zeros((len(first), 6))


counting.told = []


class Remembering:
    """A policy with a memory, of which one is made for each wave."""

    made = 0

    def __init__(self, seen, done):
        Remembering.made += 1
        self.steps, self.shape = None, done.shape

    def act(self, observations, first):
        self.steps = np.where(first, 0, 0 if self.steps is None else self.steps + 1)
        return np.full((len(first), *self.shape), 0.001 * self.steps[:, None])


class Idle:
    """No policy: it has nothing that acts."""

    def __init__(self, seen, done):
        pass


number = 5
