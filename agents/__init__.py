"""Who acts: the animals' own controllers, what is learned, and what measures them."""

from .policies.agent import Agent, ConstantAgent, ControllerAgent, RandomAgent
from .policies.card import TrainedAgent
from .policies.rollout import Episodes, rollout

__all__ = ["Agent", "ConstantAgent", "ControllerAgent", "Episodes", "RandomAgent", "TrainedAgent", "rollout"]
