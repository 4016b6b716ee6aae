"""Animal bodies with their nervous systems as Gymnasium environments.

``import gymnosoma`` registers all environments, so that ``gymnasium.make("gymnosoma/WormSwim-v0")`` works.
"""

from importlib.util import find_spec

if find_spec(".envs", __name__) is None:
    raise ImportError(
        "symbolic links are missing: gymnosoma/envs must link to ../envs, and also agents, assets, biomechanics and "
        "recordings. Run 'git config core.symlinks true' and 'git checkout -- gymnosoma' (on Windows in developer "
        "mode), or install the package with 'pip install .'"
    )

from . import envs

__all__ = ["__version__", "envs"]

__version__ = "1.0.0b1"
