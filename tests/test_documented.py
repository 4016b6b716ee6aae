"""What help texts, docstrings and guides name is there: commands parse, their values resolve, extras are declared."""

import ast
import contextlib
import functools
import inspect
import io
import re
import shlex
import tomllib
from pathlib import Path

import numpy as np
import pytest
import tyro

from gymnosoma.agents.policies.lookup import find_policy
from gymnosoma.agents.policies.registry import full_id, task_class, task_of
from gymnosoma.cli import main as cli
from gymnosoma.cli.arguments import read_arguments, read_event, read_options
from gymnosoma.cli.simulate import make_animal, read_drive, read_params_of
from gymnosoma.cli.sweep import _read_column, prepare, read_axis
from gymnosoma.envs import CATALOGUE
from gymnosoma.envs.core.env.task import task_arguments
from gymnosoma.envs.core.model.events import read_events
from papers.paper import PAPERS, load
from tools.speed.command import PARTS

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *ROOT.glob("docs/[ag]*/*.md"),
]
SOURCES = [
    path for room in ("agents", "envs", "papers", "tools", "docs") for path in sorted((ROOT / room).rglob("*.py"))
]
OTHERS = [
    ROOT / "Dockerfile",
    ROOT / "cluster.yaml",
    *(ROOT / ".github").rglob("*.yml"),
    *(ROOT / "examples").glob("*.py"),
]
ARM = "assets/neuromechanic/arm.toml"

STANDS_FOR = {"ID": "WormSwim-v0", "ANIMAL": "worm", "N": "2", "F": "f", "FILE": "f", "A": "baseline", "B": "random"}
STANDS_FOR |= {"RUN": "random", "CONTROLLER": "baseline", "NAME=LOW:HIGH:COUNT": "stiffness=1e-10:1e-9:2"}
STANDS_FOR |= {"NAME=...": "stiffness=1e-10,2e-10", "NAME": "figure_4", "IMAGE": "f"}
STANDS_FOR |= {"myarm:MyArm-v0": "WormSwim-v0"}
"""What is said for a placeholder."""


def texts(*paths):
    for path in paths:
        yield path, path.read_text("utf-8").replace("\\\n", " ")


def named_commands():
    """Command lines as a reader would type them, each once, with the places where they stand."""
    names, found = "|".join(cli.COMMANDS), {}
    lines = rf"(?:python train\.py|(?<!-e )\bgymnosoma) (({names})\b[^\n`#|\"&']*)"
    for path, text in texts(*PAGES, *SOURCES, *OTHERS):
        said = [line for line, _ in re.findall(lines, text)]
        if path.suffix == ".md":
            said += [line for line, _ in re.findall(rf"`(({names}) [^`(=]*(?:=[^`]*)?)`", text)]
            said += [f"render {line}" for line in re.findall(r"`(\w+-v\d --[^`]*)`", text)]
        for line in said:
            if "{" not in line and " " in line.strip():
                found.setdefault(" ".join(line.split()), path.name)
    return sorted(found.items())


@functools.cache
def parsers():
    """The commands, each of which gives its name and arguments instead of doing anything."""

    def told(name, function):
        @functools.wraps(function)
        def tell(*args, **kwargs):
            bound = inspect.signature(function).bind(*args, **kwargs)
            bound.apply_defaults()
            return name, bound.arguments

        return tell

    return {name: told(name, function) for name, function in cli.COMMANDS.items()}


def words(line):
    """Arguments of a command line, with something for each placeholder."""
    before = ""
    for word in shlex.split(line):
        word = STANDS_FOR.get(word.strip("[];,"), word.strip("[];"))
        if word == "...":
            word = {"--policy": "baseline", "--animal": "worm", "render": "WormSwim-v0"}.get(before, "")
        if word.endswith("=VALUE"):
            word = {"--option": "stiffness=1e-10", "--env": "actions=residual"}[before]
        before = word
        if word:
            yield word.replace(ARM, str(ROOT / ARM))


def check_environment(name, given):
    full = full_id(name)
    known = {"max_episode_steps", *task_arguments(task_class(full)), "history", "randomize", "split"}
    assert set(read_arguments(given.get("env", ()))) <= known
    options = read_options(given.get("option", ()), given.get("event", ())).keys() - {"events"}
    assert options <= {*task_class(full).options} or options <= {
        *task_of(full).options,
        *task_of(full).animal.parameters,
    }
    policies = given.get("policy") or ()
    for policy in (policies,) if isinstance(policies, str) else policies:
        assert find_policy(full, policy) if not re.search("[/:]", policy) else True


def check_simulation(animal, settings, over=(), column=()):
    asked = {name: getattr(settings, name) for name in ("duration", "every", "hold", "scheme", "dt", "event")}
    asked |= {"animal": animal, "drive": settings.drive, "param": read_params_of(settings.param)}
    asked["start"] = settings.initial()
    for name, values in [read_axis(text) for text in over] or [("duration", [settings.duration])]:
        for value in (values[0], values[-1]):
            body, _, told = prepare(asked, {name: value})
            body.reset(body.rows(1), np.zeros(1, int), told["start"])
            read_events("events", told["events"], body.parameters, 1)
            _read_column(body, column)


@pytest.mark.parametrize("line", [pytest.param(line, id=f"{place}: {line}") for line, place in named_commands()])
def test_commands_that_are_named_can_be_given(line, tmp_path, monkeypatch):
    if re.fullmatch(r"\w+( ID)?( --[a-z-]+)+", line):  # names no more than options
        assert set(line.split()) <= {*options(line.split()[0]), line.split()[0], "ID"}
        return
    page = (ROOT / "docs" / "guides" / "change.md").read_text("utf-8")
    (tmp_path / "drive.csv").write_text(re.search(r"^```\n(time,.*?)^```", page, re.DOTALL | re.MULTILINE)[1])
    monkeypatch.chdir(tmp_path)
    name, given = tyro.extras.subcommand_cli_from_dict(parsers(), args=list(words(line)))
    for env_id in (given[key] for key in ("env_id", "id", "ids") if key in given):
        for each in (env_id,) if isinstance(env_id, str) else env_id:
            check_environment(each, given)
    if name in ("simulate", "sweep"):
        check_simulation(given["animal"], given["settings"], given.get("over", ()), given.get("column", ()))
    if name == "figures":
        known = {entry.name for animal in given["animal"] or PAPERS for entry in load(animal).figures}
        assert set(given["animal"]) <= set(PAPERS) and set(given["figure"]) <= known
    if name == "speed":
        assert set(given["part"]) <= set(PARTS)


@functools.cache
def options(name):
    """Options of a command."""
    with contextlib.redirect_stdout(io.StringIO()) as told, pytest.raises(SystemExit):
        tyro.extras.subcommand_cli_from_dict(parsers(), args=[name, "--help"])
    return set(re.findall(r"--[a-z][a-z-]+", told.getvalue()))


def test_options_that_are_named_exist():
    known = {"--version", "--write"}.union(*map(options, cli.COMMANDS))  # of all; and of docs/*.py
    for path, text in texts(*PAGES):
        for option in re.findall(r"`(--[a-z][a-z-]+)", text):
            assert option in known, f"{path.name}: {option}"


def values():
    """NAME=VALUE in the strings of commands, such as help texts and errors."""
    found = set()
    for path in (ROOT / "gymnosoma" / "cli").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                token = r"(?<![\w@=.:'{-])((?:\d[\d.]*:)?[a-z][\w.]*=[\w.+:,-]*\w)"
                found |= set(re.findall(token, node.value))
    return sorted(found)


@pytest.mark.parametrize("text", values())
def test_values_that_help_texts_name_are_possible(text):
    """For some animal, as an axis of a grid, an initial value or an event, or for some environment."""

    def somewhere(animal):
        asked = dict.fromkeys(("every", "hold", "scheme", "dt")) | {"duration": 1.0, "animal": animal, "drive": ()}
        name, values = read_axis(text.rpartition(":")[2] if text[0].isdigit() else text)
        for value in (values[0], values[-1]):
            try:
                body = prepare({**asked, "param": {}, "start": {}, "event": ()}, {name: value})[0]
            except ValueError:
                body = make_animal(animal, {}, {})
                body.reset(body.rows(1), np.zeros(1, int), {name: value})
            if text[0].isdigit():
                read_events("events", [read_event(text)], body.parameters, 1)

    wrong = []
    for animal in ("worm", "lamprey", "whisker_chain", "whisker_rod", str(ROOT / ARM)):
        try:
            return somewhere(animal)
        except ValueError as error:
            wrong.append(str(error))
    name, _, value = text.partition("=")
    kinds = [task_class(f"gymnosoma/{entry.name}") for entry in CATALOGUE]
    assert any(name in kind.options for kind in kinds) or (name, value) == ("actions", "residual"), wrong


def test_drives_that_help_texts_name_exist():
    told = inspect.getdoc(inspect.getmodule(make_animal).Settings)
    pairs = re.findall(r"(\w+)\s+\((worm|lamprey|whisker_\w+)\)", told)
    assert len(pairs) >= 4
    for drive, animal in pairs:
        read_drive(make_animal(animal, {}, {}), [drive])


def test_extras_that_are_named_are_declared():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    named = set()
    for path, text in texts(*PAGES, *SOURCES, *OTHERS, ROOT / ".ci" / "run"):
        for extras in re.findall(r"(?:gymnosoma|-e [\"']?\.)\[([a-z,]+)\]", text) + re.findall(r"extra `+(\w+)`", text):
            named |= set(extras.split(","))
            assert set(extras.split(",")) <= set(declared), f"{path.name}: {extras}"
    assert {"train", "film", "data", "ray", "offline", "dev", "docs", "peers"} <= named


def test_ci_installs_what_was_tested_and_may_only_read():
    pinned = dict(
        line.split("==") for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines() if "==" in line
    )
    for path, text in texts(*(ROOT / ".github").rglob("*.yml")):
        assert re.findall(r"^permissions:\n((?:  .*\n)+)", text, re.MULTILINE) == ["  contents: read\n"], path.name
        assert not re.search(r"^ +permissions:", text, re.MULTILINE), path.name
        for line in re.findall(r"pip\"? install (.*)", text):
            assert "-c constraints.txt " in line or re.fullmatch(r"--no-deps \"\w+==[\d.]+\"", line), line
            for name in re.findall(r" ([a-z]+)(?= |$)", line.replace("-c constraints.txt", "")):
                assert name in pinned, name
    assert {"build", "twine", "setuptools"} <= pinned.keys()
