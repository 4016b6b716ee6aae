"""Tables of the reference pages that are made from the code: commands, keys of a circuit, sizes of files."""

from __future__ import annotations

import inspect
import re
import warnings
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from typing import Any

import tyro

from gymnosoma.agents.benchmark.tables import markdown
from gymnosoma.agents.policies import card, config
from gymnosoma.biomechanics.importer import LARGEST_FILE
from gymnosoma.cli.main import COMMANDS
from gymnosoma.envs.core import files
from gymnosoma.envs.core.circuit.circuit import Circuit
from gymnosoma.envs.core.circuit.members import CONSTANTS, Antagonists, Population, Projection, Sense


def parsers() -> Iterator[tuple[str, ArgumentParser]]:
    """Yield the name and the parser of each command; those of a command with actions follow one another."""
    for name, command in COMMANDS.items():
        with warnings.catch_warnings():  # tyro has no other access to its help
            warnings.simplefilter("ignore", DeprecationWarning)
            parser: Any = tyro.extras.get_parser(command)
        [actions] = [each.choices for each in parser._actions if isinstance(each.choices, Mapping)] or [{"": parser}]
        for action, each in actions.items():
            yield f"{name} {action}".strip(), each


def commands() -> str:
    """Return a section for each command, with the table of its options."""
    parts = []
    for name, parser in parsers():
        rows = []
        for action in parser._actions:
            if action.dest != "help":
                words = [option for option in action.option_strings if not option.startswith("--no-")]
                value = re.sub(r"\{None\}\||[][]", "", str(action.metavar or "")).replace("|", " or ")
                value = value if "," in value else re.sub("[{}]", "", value)
                value = re.sub(r"^(\w+) \1 \.\.\.", r"\1 ...", value)
                about, _, default = (action.help or "").replace("%%", "%").rpartition(" (")
                default = re.sub(r"^default: |^required|^repeatable|'", "", default[:-1])
                default = "" if default in ("None", "False", "") else f" Default: {default}."
                label = (
                    ", ".join(f"`{word} {value}`".replace(" `", "`") for word in words)
                    or f"`{action.dest.split('.')[-1]}`"
                )
                rows.append((label, " ".join(about.split()) + default))
        text = " ".join(str(parser.description).split("\n\n")[0].split())
        parts.append(f"## {name}\n\n{text}\n\n" + markdown(("argument", "meaning"), rows))
    return "\n\n".join(parts) + "\n"


def arguments(kind: type) -> list[tuple[str, str]]:
    """Return name and meaning of each argument that a class's docstring describes."""
    section = re.split(r"\n(?=\w+:\n)", (inspect.getdoc(kind) or "").partition("Args:\n")[2])[0]
    found = re.findall(r"^    (\w[^\n]*(?:\n {8}[^\n]*)*)", section, re.MULTILINE)
    rows = []
    for text in (" ".join(each.split()) for each in found):
        head, _, meaning = (
            text.partition(": ") if re.match(r"[\w, ]+( \([^:]*\)[\w, ()]*)?: ", text) else (text, "", "")
        )
        several = re.sub(r" \((s|Hz)\)(?=,)", "", head)  # a list of names, some with a unit
        names, form = re.sub(r" \(.*", "", several), re.search(r" \((.*)\)$", several)
        keys = ", ".join(f"`{name}`" for name in names.split(", "))
        rows.append((keys, ". ".join(filter(None, [form and len(several) == len(head) and form[1], meaning]))))
    return rows


def circuit_keys() -> str:
    """Return tables of the keys of a circuit's file."""
    kinds = {
        "": Circuit,
        "[population.NAME]": Population,
        "[[projection]]": Projection,
        "[[sense]]": Sense,
        "[output.antagonists]": Antagonists,
    }
    other = {"`source`, `target`": "`from`, `to`", "`muscles`": "`[output]` `muscles`"}
    inner = {"`name`", "`populations`", "`projections`", "`senses`", "`antagonists`"}
    parts = []
    for label, kind in kinds.items():
        rows = [(other.get(keys, keys), about) for keys, about in arguments(kind)]
        left = inner if kind in (Circuit, Population) else set()
        rows = [row for row in rows if row[0] not in left]
        parts.append(f"`{label}`\n\n" * bool(label) + markdown(("key", "value and meaning"), rows))
    rows = [
        (
            dynamics,
            f"`{name}`",
            f"{option.low:g} .. {option.high:g}" + f" {option.unit}" * (option.unit != "1"),
            "required" if default is None else f"{default:g}",
        )
        for dynamics, constants in CONSTANTS.items()
        for name, (option, default) in constants.items()
    ]
    parts.append("Constants of the `dynamics`:\n\n" + markdown(("dynamics", "constant", "range", "default"), rows))
    return "\n\n".join(parts) + "\n"


def sizes() -> str:
    """Return the table of the largest files that are read."""
    rows = {
        "policy cards, configurations of runs": min(card.MAX_HEADER, config.MAX_CONFIG),
        "models, circuits, recipes, parameters (TOML)": files.LARGEST_SETTINGS,
        "OpenSim and MuJoCo models (`.osim`, `.xml`)": LARGEST_FILE,
        "tables: drives, kymograms, the base of a whisker, values for `--param`": files.LARGEST_TEXT,
        "weights of a policy": card.MAX_WEIGHTS,
        "recordings as text (`.csv`, `.wcon`), motions (`.mot`, `.sto`, `.trc`), results": files.LARGEST_RECORDING,
        "recordings as `.npy` and HDF5, trajectories (`.npz`)": files.LARGEST_BINARY,
    }
    units = {30: "GiB", 20: "MiB", 10: "KiB"}
    shifts = {name: next(shift for shift in units if size >> shift) for name, size in rows.items()}
    texts = [(name, f"{size >> shifts[name]} {units[shifts[name]]}") for name, size in rows.items()]
    return markdown(("file", "largest size"), texts) + "\n"
