"""Pieces of work, and policies, for those who find this module by its name, as they do not find a test's."""

import os

import numpy as np


def marked(folder, name):
    """A piece of work that leaves a file; one always ends its process, one does so once, one fails."""
    with (folder / name).open("a") as file:
        file.write("begun\n")
    if name == "dies" or (name == "dies once" and (folder / name).read_text() == "begun\n"):
        os._exit(1)
    if name == "fails":
        raise ValueError("two\nlines")
    return name.upper()


def half(observations):
    """A policy: the same action for all."""
    return np.full((len(observations), 6), 0.5)


half.env = {"actions": "modes"}


def short(observations):
    """A policy that gives an action too few."""
    return np.zeros((len(observations) - 1, 24))


def endless(observations):
    """A policy that gives no number."""
    return np.full((len(observations), 24), np.nan)


number = 5
