"""Animal bodies with their nervous systems as Gymnasium environments.

Importing the package registers every environment, so ``import gymnosoma`` is all that
``gymnasium.make("gymnosoma/WormSwim-v0")`` needs.
"""

from . import envs

__all__ = ["__version__", "envs"]

__version__ = "0.1.0"
