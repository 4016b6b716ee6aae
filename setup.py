"""Lists the packages: all folders of the three at the top level, under their installed names.

A list in pyproject.toml would have to be kept by hand, and `find` cannot rename.
"""

from setuptools import find_packages, setup

setup(packages=["gymnosoma", *(f"gymnosoma.{name}" for name in find_packages(include=["envs*", "agents*", "assets*"]))])
