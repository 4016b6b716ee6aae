"""Animal bodies with their nervous systems as Gymnasium environments.

``import gymnosoma`` registers all environments, so that ``gymnasium.make("gymnosoma/WormSwim-v0")`` works.
"""

from pathlib import Path

if not (Path(__file__).parent / "envs").is_dir():  # in a clone, the folders of the subpackages are in its root
    __path__.append(str(Path(__file__).resolve().parents[1]))

from . import interrupt

if interrupt.is_command(Path(__file__).parent):
    interrupt.watch()

from . import envs

__all__ = ["__version__", "envs"]

__version__ = "1.0.0b1"
