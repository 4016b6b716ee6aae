"""Agents: the animals' own controllers, trained policies, learning algorithms, and the benchmark."""

from .policies.agent import Agent, ConstantAgent, ControllerAgent, RandomAgent
from .policies.card import load_policy
from .policies.evaluation import Episodes, rollout

__all__ = ["Agent", "ConstantAgent", "ControllerAgent", "Episodes", "RandomAgent", "load_policy", "rollout"]
