"""The list of public names, and the promise that the changelog names its changes."""

import ast
import json
import re
from pathlib import Path

import pytest

import gymnosoma
from tools.surface import FILE, PUBLIC, is_public, newest_changes, public_names, renewed, surface, unnamed

ROOT = Path(__file__).resolve().parents[2]
LISTED = (ROOT / FILE).read_text("utf-8")


def test_the_list_is_that_of_the_present_names():
    """`python -m tools.surface` renews it."""
    assert renewed(LISTED, surface(), gymnosoma.__version__) == LISTED


def test_the_changelog_names_every_change():
    assert not unnamed(LISTED, newest_changes(ROOT))


A, B, C = "python gymnosoma.envs simulate (a)", "python gymnosoma.envs simulate (b)", "info WormSwim-v0 speed"
NEW = ["id gymnosoma WormJump-v0", "info WormJump-v0 height"]


@pytest.mark.parametrize(
    ("lines", "changes", "missing"),
    [
        ([A, C], "", []),
        ([B, C], "`fit` is new.", ["- " + A, "+ " + B]),
        ([B, C], "simulate has other arguments.", ["- " + A, "+ " + B]),  # not in a code span
        ([B, C], "`simulated` is new.", ["- " + A, "+ " + B]),
        ([B, C], "`simulate(b)` was `simulate(a)`.", []),
        ([A], "", ["- " + C]),
        ([A], '`info["speed"]` is gone.', []),
        ([A, C, *NEW], "`height` is new.", ["+ " + NEW[0]]),
        ([A, C, *NEW], "`WormJump-v0` is new.", []),
    ],
)
def test_a_change_is_marked_until_the_next_version_and_must_be_named(lines, changes, missing):
    before = renewed("", [A, C], "1.0")
    after = renewed(before, lines, "1.0")
    assert unnamed(after, changes) == missing
    assert renewed(after, lines, "1.0") == after
    assert renewed(after, [A, C], "1.0") == before
    assert renewed(after, lines, "1.1") == renewed("", lines, "1.1")


@pytest.mark.parametrize("kind", ["python", "command", "option", "id", "info", "signal", "reset", "key", "format"])
def test_the_list_has_names_of_every_kind(kind):
    assert sum(line[2:].startswith(f"{kind} ") for line in LISTED.splitlines()) >= 4


def examples():
    """File and code of every example that users read."""
    for path in sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").iterdir()]):
        text = path.read_text("utf-8") if path.suffix in (".md", ".py", ".ipynb") else ""
        if path.suffix == ".md":
            yield from (
                (path, code) for code in re.findall(r"^```py(?:thon)?\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
            )
        elif path.suffix == ".ipynb":
            cells = (cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code")
            yield from ((path, re.sub("^[!%].*$", "", "".join(cell["source"]), flags=re.MULTILINE)) for cell in cells)
        else:
            yield path, text
    yield (path := ROOT / "tests/fixtures/worm_turn.py"), path.read_text("utf-8")  # the guide shows it
    for room in ("envs", "agents", "gymnosoma", "recordings", "biomechanics"):
        for path in sorted((ROOT / room).rglob("*.py")):
            lines = re.findall(r"^ +(?:>>>|\.\.\.) ((?:from|import) .*)$", path.read_text("utf-8"), re.MULTILINE)
            yield from ((path, line) for line in lines)


def test_examples_import_public_names_alone():
    """All other names are internal, so whoever follows the documentation keeps a working program."""
    imported = []
    for path, code in examples():
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.Import):
                imported += [(path, each.name, "") for each in node.names]
            elif isinstance(node, ast.ImportFrom):
                imported += [(path, node.module, each.name) for each in node.names]
    ours = [each for each in imported if each[1] and each[1].partition(".")[0] == "gymnosoma"]
    assert len(ours) > 100
    assert not [each for each in ours if not is_public(*each[1:])]


def test_every_exported_name_is_public():
    """A package that lists its names is a page of the reference, except those of the shared code."""
    for top in ("envs", "agents", "recordings", "biomechanics", "gymnosoma/films"):
        for path in (ROOT / top).rglob("__init__.py"):
            module = ".".join(["gymnosoma", *path.parent.relative_to(ROOT).parts]).replace(
                "gymnosoma.gymnosoma", "gymnosoma"
            )
            if "__all__ =" in path.read_text("utf-8"):
                assert module in PUBLIC or module == "gymnosoma.envs.neuromechanic.model", path


@pytest.mark.parametrize("module", PUBLIC)
def test_public_names_are_documented(module):
    for name in public_names(module):
        value = getattr(__import__(module, fromlist=[name]), name)
        assert not name.startswith("_") and (not callable(value) or value.__doc__), name
