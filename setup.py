"""Lists the packages, and makes the description: what pyproject.toml cannot say.

All folders of the three at the top level are packages, under their installed names: a list would have to be kept by
hand, and `find` cannot rename. The description is README.md with whole addresses, as an index shows it elsewhere.
"""

import re
import tomllib
from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent
REPOSITORY = tomllib.loads((HERE / "pyproject.toml").read_text("utf-8"))["project"]["urls"]["Repository"]


def whole(link: re.Match[str]) -> str:
    """A picture or a link of the README with its whole address."""
    picture, text, target = link.groups()
    return f"{picture}[{text}]({REPOSITORY}/{'raw' if picture else 'blob'}/HEAD/{target})"


setup(
    packages=["gymnosoma", *(f"gymnosoma.{name}" for name in find_packages(include=["envs*", "agents*", "assets*"]))],
    long_description=re.sub(r"(!?)\[([^]]*)\]\((?!https?:|#)([^)]+)\)", whole, (HERE / "README.md").read_text("utf-8")),
    long_description_content_type="text/markdown",
)
