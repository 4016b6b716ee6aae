"""Who acts: the animals' own controllers, what is learned, and what measures and shows them."""

from .agent import Agent, ConstantAgent, ControllerAgent, RandomAgent
from .evaluation.rollout import Episodes, rollout
from .learning.policy_file import TrainedAgent
from .showing.replay import film

__all__ = ["Agent", "ConstantAgent", "ControllerAgent", "Episodes", "RandomAgent", "TrainedAgent", "film", "rollout"]
