"""The table of physical terms in CONTRIBUTING: its tests exist, CI runs them, and the default run has one per row."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLE = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## Physics against other sources")[2]
ROWS = [line.split(" | ") for line in TABLE.partition("\n## ")[0].splitlines() if "::test" in line]


def marks_of(path, name):
    """Marks of a test function: of all its cases, and of some of them."""
    tree = ast.parse((ROOT / "tests" / path).read_text("utf-8"))
    (function,) = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
    module = [ast.unparse(node) for node in tree.body if ast.unparse(node).startswith("pytestmark")]
    own = [ast.unparse(node) for node in function.decorator_list]
    every = {mark for text in own + module for mark in re.findall(r"^(?:pytestmark = )?\[?pytest\.mark\.(\w+)", text)}
    every |= {mark for text in module for mark in re.findall(r"mark\.(\w+)", text)}
    return every, {mark for text in own for mark in re.findall(r"mark\.(\w+)", text)}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[1])
def test_every_term_has_its_test_in_ci_and_one_in_the_default_run(row):
    path, default = "", []
    for file, name in re.findall(r"`([\w/.]*)::(\w+)`", row[-1]):
        path = file or path
        every, some = marks_of(path, name)
        assert "slow" not in every, f"CI does not run {path}::{name}"
        default.append("full" not in every or "term" in some)
    assert any(default), "mark one of the row's tests with pytest.mark.term"


def test_the_default_run_has_the_terms():
    assert len(ROWS) > 35
    options = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["pytest"]["ini_options"]
    assert "'(not full or term) and not slow'" in options["addopts"]
