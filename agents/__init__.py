"""Reference controllers of the animals, rollouts, training and the command line."""

from .agent import Agent, Constant, Controlled, Random, Trained
from .rollout import Episodes, rollout

__all__ = ["Agent", "Constant", "Controlled", "Episodes", "Random", "Trained", "rollout"]
