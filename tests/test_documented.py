"""Commands in README, guides and CI can be given."""

import functools
import inspect
import re
import shlex
from pathlib import Path

import pytest
import tyro

from gymnosoma.agents.policies.registry import full_id
from gymnosoma.cli import main as cli
from gymnosoma.cli.benchmark import ACTIONS, grouped

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "Dockerfile", "cluster.yaml")),
    *(ROOT / "docs" / "guides").glob("*.md"),
    *(ROOT / "docs" / "animals").glob("*.md"),
    *(ROOT / ".github").rglob("*.yml"),
]


def named_commands():
    """Command lines without placeholders, as a reader would type them."""
    names = "|".join(cli.COMMANDS)
    pattern = rf"(?:python train\.py|(?<!-e )\bgymnosoma) ((?:{names})\b[^\n`#|&;)]*)"
    lines = {
        " ".join(line.split())
        for path in PAGES
        for line in re.findall(pattern, path.read_text("utf-8").replace("\\\n", " "))
    }
    placeholder = r"\b[A-Z]+\b(?!=)|\.\.\.|[\[{:\"]|--help"
    return sorted(line for line in lines if " " in line and not re.search(placeholder, line))


def parsed(name, function):
    """Return the name and the arguments of a command, without running it."""

    @functools.wraps(function)
    def tell(*args, **kwargs):
        return name, inspect.signature(function).bind(*args, **kwargs).arguments

    return tell


@pytest.mark.parametrize("line", named_commands())
def test_commands_in_the_documentation_can_be_given(line):
    commands = {name: parsed(name, function) for name, function in cli.COMMANDS.items()}
    commands["benchmark"] = grouped({name: parsed(name, function) for name, function in ACTIONS.items()})
    _, arguments = tyro.extras.subcommand_cli_from_dict(commands, args=shlex.split(line))
    if "env_id" in arguments:
        assert full_id(arguments["env_id"])
