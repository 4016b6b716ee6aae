"""Who acts: the animals' own controllers, learning, and the benchmark that compares them."""

from .policies.agent import Agent, ConstantAgent, ControllerAgent, RandomAgent
from .policies.card import load_policy
from .policies.evaluation import Episodes, rollout

__all__ = ["Agent", "ConstantAgent", "ControllerAgent", "Episodes", "RandomAgent", "load_policy", "rollout"]
