"""Animal bodies with their nervous systems as Gymnasium environments.

Importing the package registers every environment, so ``import gymnosoma`` is all that
``gymnasium.make("gymnosoma/WormSwim-v0")`` needs.
"""

from importlib.util import find_spec

if find_spec(".envs", __name__) is None:
    raise ImportError(
        "this checkout lacks its symbolic links: gymnosoma/envs must link to ../envs, and so must agents, assets, "
        "biomechanics and recordings; make them by 'git config core.symlinks true' and then "
        "'git checkout -- gymnosoma' (on Windows in developer mode), or install the package by 'pip install .'"
    )

from . import envs

__all__ = ["__version__", "envs"]

__version__ = "1.0.0"
