"""The names that users may rely on, and the file that lists them: ``python -m tools.surface`` writes it.

A sign before a line marks a name that the version under development adds (+) or removes (-). A changed signature has
both. `CHANGELOG.md` must name each of them; `unnamed` finds those that it leaves out.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
import warnings
from argparse import ArgumentParser
from collections.abc import Collection, Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints

import tyro

import gymnosoma
from gymnosoma.agents.benchmark import results
from gymnosoma.agents.learning import runs
from gymnosoma.agents.policies import card
from gymnosoma.agents.policies.evaluation import Summary
from gymnosoma.agents.policies.registry import ALGORITHMS, references_of, task_of
from gymnosoma.agents.support.files import TABLES
from gymnosoma.biomechanics import READERS
from gymnosoma.cli.main import COMMANDS
from gymnosoma.envs import CATALOGUE
from gymnosoma.envs.core.circuit.circuit import Circuit
from gymnosoma.envs.core.circuit.members import CONSTANTS, Antagonists, Population, Projection, Sense
from gymnosoma.envs.core.env.environment import SHARED
from gymnosoma.envs.core.env.task import task_arguments
from gymnosoma.envs.core.model import trajectory
from gymnosoma.envs.core.model.animal import ANIMALS
from gymnosoma.envs.neuromechanic.model.tables import KINDS
from gymnosoma.films.reel import FORMATS
from gymnosoma.moved import Gone
from tools.clone import ROOT

FILE = "docs/surface.txt"
"""List of the names."""

LONGEST = 60
"""Largest number of characters of a default in the list."""

PUBLIC: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        (
            "gymnosoma.envs",
            "gymnosoma.envs.wrappers",
            *(f"gymnosoma.envs.{animal}" for animal in ANIMALS),
            "gymnosoma.agents",
            "gymnosoma.films",
            "gymnosoma.recordings",
            "gymnosoma.biomechanics",
        ),
        (),
    ),
    "gymnosoma.envs.core.env.environment": ("BodyEnv",),
    "gymnosoma.envs.core.env.vector": ("BodyVectorEnv",),
    "gymnosoma.envs.core.env.task": (
        "Task",
        "Field",
        "ActionField",
        "Ending",
        "Score",
        "Hidden",
        "Measure",
        "EpisodeStart",
    ),
    "gymnosoma.envs.core.env.documentation": ("figures", "normaliser"),
    "gymnosoma.envs.core.model.animal": ("Animal",),
    "gymnosoma.envs.core.model.quantities": ("Option",),
    "gymnosoma.envs.core.model.chain": ("body_frame",),
    "gymnosoma.envs.core.kernels.maths": ("mean", "total"),
    "gymnosoma.envs.core.draw.pixels": ("mark",),
    "gymnosoma.envs.worm.tasks": ("WormTask",),
    "gymnosoma.envs.worm.analysis": ("Gait",),
    "gymnosoma.envs.lamprey.tasks": ("LampreyTask",),
    "gymnosoma.envs.lamprey.analysis": ("Swimming", "entrain", "Entrainment"),
    "gymnosoma.envs.whisker_chain.tasks": ("WhiskerTask",),
    "gymnosoma.envs.whisker_chain.analysis": ("Equilibria", "matrices", "tip_arm"),
    "gymnosoma.envs.whisker_chain.params": ("DAMPING_RATIO", "MODULUS"),
    "gymnosoma.envs.whisker_rod.tasks": ("RodTask",),
    "gymnosoma.envs.neuromechanic.tasks": ("NeuromechanicTask", "Pose"),
    "gymnosoma.envs.neuromechanic.analysis": ("stiff_pattern",),
    "gymnosoma.envs.neuromechanic.hindlimb": ("asset", "hindlimb", "POSTURE", "PAW_FORCE"),
    "gymnosoma.envs.neuromechanic.standing": (
        "standing",
        "splay",
        "upright",
        "ramp_and_hold",
        "reflex_input",
        "STIFFNESS",
        "DAMPING",
    ),
    "gymnosoma.agents.controllers": ("Reference",),
    "gymnosoma.agents.controllers.whisker_chain": ("SineWhisk",),
    "gymnosoma.agents.policies.lookup": ("find_policy", "shipped"),
    "gymnosoma.agents.policies.evaluation": ("evaluate", "summary", "Summary", "VALIDATION_SEED"),
    "gymnosoma.agents.policies.agent": ("Policy", "reference_policy"),
    "gymnosoma.agents.policies.registry": ("references_of",),
    "gymnosoma.agents.learning.training": ("TrainConfig", "train", "train_all"),
    "gymnosoma.agents.learning.runs": ("recipe", "Recipe"),
    "gymnosoma.agents.learning.sb3_env": ("make_sb3_env", "SB3VecEnv"),
    "gymnosoma.agents.benchmark.entrants": ("run",),
    "gymnosoma.agents.benchmark.checks": ("check",),
    "gymnosoma.agents.support.workers": ("workers", "run_jobs", "Outcome", "Processes", "RayExecutor"),
    "gymnosoma.films.reel": ("show_episode",),
}
"""Public names of each module with a page in the reference; an empty tuple means all names that it exports.

All other names of the package are internal.
"""


class Name(NamedTuple):
    """A public name. ``owner`` is the module, class, command, id or table that it belongs to."""

    kind: str
    owner: str
    name: str
    details: str = ""

    @property
    def line(self) -> str:
        """Line of the list."""
        return f"{self.kind} {self.owner} {self.name} {self.details}".rstrip()


def public_names(module: str) -> tuple[str, ...]:
    """Return the public names of a module of `PUBLIC`."""
    return PUBLIC[module] or tuple(import_module(module).__all__)


def is_public(module: str, name: str) -> bool:
    """Return whether users may import a name of a module, or the module itself if the name is empty."""
    package, _, last = f"{module}.{name}".rstrip(".").rpartition(".")
    if f"{package}.{last}" in PUBLIC or (package, last) == ("", "gymnosoma"):
        return True
    return package in PUBLIC and last in public_names(package)


def parsers() -> Iterator[tuple[str, ArgumentParser]]:
    """Yield the name and the parser of each command; those of a command with actions follow one another."""
    for name, command in COMMANDS.items():
        with warnings.catch_warnings():  # tyro has no other access to its help
            warnings.simplefilter("ignore", DeprecationWarning)
            parser: Any = tyro.extras.get_parser(command)
        [actions] = [each.choices for each in parser._actions if isinstance(each.choices, Mapping)] or [{"": parser}]
        for action, each in actions.items():
            yield f"{name} {action}".strip(), each


def signature(value: Any) -> str:
    """Return the arguments of a function or class with their defaults, without types; empty if it has none."""
    try:
        parameters = inspect.signature(getattr(value, "py_func", value)).parameters.values()
    except (TypeError, ValueError):
        return ""
    texts = []
    for each in parameters:
        default = repr(each.default)
        if each.default is each.empty:
            texts.append(str(each.replace(annotation=each.empty)))
        elif len(default) <= LONGEST and "<" not in default and "(" not in default[1:]:
            texts.append(f"{each.name}={default}")
        else:
            texts.append(f"{each.name}=...")
    return f"({', '.join(text for text in texts if text not in ('self', 'cls'))})"


def members(kind: type, listed: Collection[type]) -> Iterator[tuple[str, str]]:
    """Yield name and arguments of the attributes that a class adds to those of the ``listed`` classes.

    Attributes of base classes that are not listed belong to it. The fields that are its arguments are left out.
    """
    found: dict[str, Any] = {}
    bases = [base for base in reversed(kind.__mro__) if base.__module__.partition(".")[0] == "gymnosoma"]
    for base in bases:
        if base is kind or base not in listed:
            found |= dict.fromkeys(inspect.get_annotations(base)) | vars(base)
    elsewhere = {name for base in bases if base in listed and base is not kind for name in vars(base)}
    arguments = inspect.signature(kind).parameters if dataclasses.is_dataclass(kind) or issubclass(kind, tuple) else {}
    for name in sorted(found.keys() - elsewhere - set(arguments)):
        value = found[name]
        if not (name.startswith("_") or isinstance(value, Gone)):
            value = value.__func__ if isinstance(value, staticmethod | classmethod) else value
            yield name, signature(value) if inspect.isfunction(value) else ""


def python() -> Iterator[Name]:
    """Yield the names of the Python interface."""
    values = {
        (module, name): getattr(import_module(module), name) for module in PUBLIC for name in public_names(module)
    }
    classes = {value for value in values.values() if isinstance(value, type)}
    for (module, name), value in values.items():
        yield Name("python", module, name, signature(value) if callable(value) else "")
        if isinstance(value, type):
            yield from (Name("python", f"{module}.{name}", *each) for each in members(value, classes))


def commands() -> Iterator[Name]:
    """Yield the commands and their options, with the values of those that have a choice."""
    for name, parser in parsers():
        yield Name("command", "gymnosoma", name)
        for action in parser._actions:
            choices = ",".join(sorted(map(str, action.choices or ())))
            for option in action.option_strings or [str(action.dest).rpartition(".")[2]]:
                if action.dest != "help" and not option.startswith("--no-"):
                    yield Name("option", name, option, choices)


def environments() -> Iterator[Name]:
    """Yield ids with arguments, keys of the info, options of the reset and references; parameters and signals."""
    for entry in CATALOGUE:
        env_id = f"gymnosoma/{entry.name}"
        task = task_of(env_id, **entry.arguments)
        yield Name("id", "gymnosoma", entry.name)
        words = {
            "argument": [*task_arguments(type(task)), *SHARED],
            "action": task.action_modes,
            "info": [*task.info_fields, *task.reward_fields, "failure"],
            "reset": task.options,
            "observation": task.layout.fields,
            "reference": references_of(env_id),
        }
        yield from (Name(kind, entry.name, name) for kind, names in words.items() for name in names)
        animal = entry.task.partition(".")[0]
        yield from (Name("signal", animal, name) for name in task.animal.signals)
        yield from (Name("parameter", animal, name) for name in task.animal.parameters)


def keys(kind: type, owner: str) -> Iterator[Name]:
    """Yield the keys of a file that a dataclass describes, with those of the dataclasses in it."""
    for name, hint in get_type_hints(kind).items():
        yield Name("key", owner, name.rstrip("_"))
        for part in (hint, *get_args(hint)):
            if dataclasses.is_dataclass(part) and isinstance(part, type):
                yield from keys(part, f"{owner}.{name.rstrip('_')}")


def files() -> Iterator[Name]:
    """Yield the keys of files, and the names of their formats."""
    for label, table in KINDS.items():
        yield from (Name("key", f"model.{label}".rstrip("."), key.name) for key in table.keys)
    tables = {"population.NAME": Population, "projection": Projection, "sense": Sense}
    for label, kind in {"": Circuit, **tables, "output.antagonists": Antagonists}.items():
        for name in (field.name for field in dataclasses.fields(kind)):
            if name not in ("populations", "projections", "senses", "antagonists", "muscles"):
                yield Name("key", f"circuit.{label}".rstrip("."), {"source": "from", "target": "to"}.get(name, name))
    yield Name("key", "circuit.output", "muscles")
    for dynamics, constants in CONSTANTS.items():
        yield from (Name("key", f"circuit.{dynamics}", name) for name in constants)
    usual = runs._defaults()
    for name in (*ALGORITHMS, ""):
        names = [*usual[name]] if name else [key for key in usual if key not in (*ALGORITHMS, "ranges")]
        yield from (Name("key", f"recipe.{name}".rstrip("."), key) for key in names)
    for owner, record in {"card": card.Card, "result": results.Result, "evaluate": Summary}.items():
        yield from keys(record, owner)
    formats = {"result": results.FORMAT, "card": card.FORMAT, "trajectory": trajectory.FORMAT, "model": 1}
    yield from (Name("format", name, str(value)) for name, value in formats.items())
    suffixes = {"film": FORMATS, "table": TABLES, "body": READERS}
    yield from (Name("suffix", name, suffix) for name, values in suffixes.items() for suffix in values)


def surface() -> list[str]:
    """Return the lines of all public names."""
    return sorted({name.line for make in (python, commands, environments, files) for name in make()})


def renewed(text: str, lines: Iterable[str], version: str) -> str:
    """Return the list with the present ``lines``, marked where they differ from those of the last version.

    Args:
        text: The list so far.
        lines: The present names.
        version: Present version. The marks of another one are dropped.
    """
    head, *old = text.splitlines() or [""]
    same = head.split()[-1:] == [version]
    signs = {line[2:]: line[0] for line in old}
    now = set(lines)
    before = {line for line, sign in signs.items() if sign != ("+" if same else "-")} if old else now
    body = sorted((line, " " if line in before & now else "+" if line in now else "-") for line in before | now)
    return "\n".join([f"Public names, with changes in version {version}", *(f"{s} {line}" for line, s in body)]) + "\n"


def unnamed(text: str, changes: str) -> list[str]:
    """Return the marked lines of a list that a section of the changelog does not name in a code span.

    A member is also named by its class, command or id, if this is new or removed itself.
    """
    spans = " ".join(re.findall(r"`([^`]+)`", changes))
    marked = [(line[0], Name(*(line[2:] + "   ").split(" ", 3))) for line in text.splitlines()[1:] if line[0] != " "]
    whole = {(sign, name.name) for sign, name in marked}

    def is_named(word: str) -> bool:
        return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", spans) is not None

    return [
        f"{sign} {name.line}"
        for sign, name in marked
        if not is_named(name.name)
        and not ((sign, last := re.split(r"[. ]", name.owner)[-1]) in whole and is_named(last))
    ]


def main() -> None:
    """Renew the list, and print the changes that the changelog leaves out."""
    file = ROOT / FILE
    text = renewed(file.read_text("utf-8") if file.is_file() else "", surface(), gymnosoma.__version__)
    file.write_text(text, "utf-8")
    if missing := unnamed(text, newest_changes(ROOT)):
        sys.exit("\n".join(["CHANGELOG.md must name these changes in its first section, as code:", *missing]))


def newest_changes(root: Path) -> str:
    """Return the first section of the changelog."""
    return re.split(r"^## ", (root / "CHANGELOG.md").read_text("utf-8"), flags=re.MULTILINE)[1]


if __name__ == "__main__":
    main()
