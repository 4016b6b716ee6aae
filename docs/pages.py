"""Sphinx extension that generates the pages of the environments and the Python interface, and tables for the animals.

The pages are generated from the code when the website is built, in folders that git ignores.
"""

from __future__ import annotations

import inspect
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pictures
from numba.core.dispatcher import Dispatcher

from gymnosoma.agents.benchmark.tables import markdown as table
from gymnosoma.agents.benchmark.tables import percent
from gymnosoma.agents.learning import runs
from gymnosoma.agents.policies import card
from gymnosoma.agents.policies.registry import references_of, task_class
from gymnosoma.biomechanics.importer import LARGEST_FILE
from gymnosoma.envs import CATALOGUE
from gymnosoma.envs.core import files
from gymnosoma.envs.core.circuit.circuit import Circuit
from gymnosoma.envs.core.circuit.members import CONSTANTS, Antagonists, Population, Projection, Sense
from gymnosoma.envs.core.env.documentation import figures, summary
from gymnosoma.envs.core.model.animal import ANIMALS
from gymnosoma.envs.neuromechanic import Neuromechanic
from gymnosoma.envs.neuromechanic.model.reader import OPTIONAL, REQUIRED, Key, Per
from gymnosoma.envs.neuromechanic.model.tables import KINDS
from tools.clone import ROOT
from tools.gates import published_rows
from tools.live import build
from tools.surface import PUBLIC, parsers, public_names

HERE = Path(__file__).parent


def described(keys: Sequence[Key]) -> Iterator[tuple[str, str, str, str]]:
    """Yield name, allowed value with unit, default and meaning of each key of a model file."""
    for key in keys:
        default = "required" if key.default is REQUIRED else "" if key.default is OPTIONAL else words(key.default)
        only = ", ".join(key.types) or key.beside
        holds = key.form.says + (f", {key.unit}" if key.unit not in ("", "1") else "")
        yield key.name + f" ({only})" * bool(only), holds, default, key.meaning


def words(default: Any) -> str:
    """Return the default of a key as text."""
    if isinstance(default, Per):
        return "; ".join(f"{word}: {words(value)}" for word, value in default.values.items())
    if isinstance(default, Mapping):
        return ", ".join(f"{key} = {words(value)}" for key, value in default.items()) or "none"
    if isinstance(default, list | tuple):
        return f"[{', '.join(map(words, default))}]"
    return default if isinstance(default, str) else f"{default:g}"


def title(animal: str) -> str:
    """Return the heading of an animal's page."""
    return (HERE / "animals" / f"{animal}.md").read_text("utf-8").partition("\n")[0].removeprefix("# ")


EXAMPLES = {
    "worm": "WormCrawl-v0",
    "lamprey": "LampreyEconomy-v0",
    "whisker_chain": "WhiskerLocalize-v0",
    "whisker_rod": "WhiskerSweep-v0",
    "neuromechanic": "StandGains-v0",
}
"""Id of each animal whose parameters its page lists."""


def write(path: Path, text: str) -> None:
    """Write a page if its text has changed, so that Sphinx rereads only changed pages."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_text() != text:
        path.write_text(text)


FILMS: dict[str, tuple[Path, Path]] = {}
"""Film and still of each id."""


def moving(name: str, above: str, controls: str = "controls") -> str:
    """Return HTML of the film of an id, with its still as poster; ``above`` is the path to the site's root."""
    film, still = (f"{above}_static/films/{path.name}" for path in FILMS[f"gymnosoma/{name}"])
    return (
        f'<video src="{film}" poster="{still}" width="960" height="540" {controls} loop muted playsinline '
        f'aria-label="{name}"></video>'
    )


def figure(name: str) -> str:
    """Return HTML of the film on the page of an id."""
    policy, ghost = pictures.shown(f"gymnosoma/{name}")
    words = {"trained": "The trained policy", "random": "Random actions"}
    caption = words.get(policy, "The animal's own controller") + "; in grey, the animal's own controller" * bool(ghost)
    shows = "this.controls = true"  # not before, because they cover the film
    video = moving(name, "../", f'autoplay tabindex="0" onclick="{shows}" onfocus="{shows}"')
    return f'<figure class="film"><div class="scroll">{video}</div><figcaption>{caption}.</figcaption></figure>\n\n'


def tiles(pages: Mapping[str, tuple[str, str]]) -> str:
    """Return tiles that link to pages and play the film of an id under the pointer; keys are the words below."""
    play = 'preload="none" onmouseenter="this.play()" onmouseleave="this.load()"'
    text = "".join(
        f'<a href="{link}">{moving(name, "", play)}<span>{words}</span></a>\n' for words, (link, name) in pages.items()
    )
    return f'<div class="tiles">\n{text}</div>\n'


def page(name: str) -> str:
    """Return the page of an id: a film, an example, its documentation and its reference controllers."""
    env_id = f"gymnosoma/{name}"
    env: Any = gymnasium.make(env_id).unwrapped
    text = f"# {name}\n\n{figure(name)}"
    text += f'```py\nimport gymnasium, gymnosoma\n\nenv = gymnasium.make("{env_id}")\n```\n\n'
    text += re.sub(r"(?<=\| )(\d+) \.\. (\d+)(?= \|)", "\\1\u00a0..\u00a0\\2", env.__doc__) + "\n"
    names = ", ".join(f"`{reference}`" for reference in references_of(env_id))
    text += f"\n## Reference controllers\n\n{names or 'None.'}\n"
    env.close()
    return text


def tasks(animal: str, to: str, columns: Sequence[str]) -> str:
    """Return the table of an animal's ids with some of `SCORES`; ``to`` is the path to their pages.

    The last two columns are the shares of failed and of successful episodes of the animal and of the shipped policy.
    """
    rows = []
    for entry in CATALOGUE:
        if entry.task.startswith(f"{animal}."):
            policies = figures().get(f"gymnosoma/{entry.name}", {}).get("policies", {})
            scores = [f"{policies[key]['mean']:.3g}" if key in policies else "" for key in columns]
            task = summary(task_class(f"gymnosoma/{entry.name}")).rstrip(".")
            both = [policies.get(key, {}) for key in ("baseline", "trained")]
            shares = [percent(*(each.get(key) for each in both)) for key in ("failed", "succeeded")]
            rows.append((f"[{entry.name}]({to}{entry.name}.md)", task, *scores, *shares))
    head = ("id", "task", *(SCORES[key] for key in columns), "failed: animal / shipped", "succeeded: animal / shipped")
    return table(head, rows) + "\n"


def environments() -> str:
    """Return the page that lists all ids by animal, with scores and gates."""
    parts = [
        "# Environments\n",
        "Films show the first seconds of an episode, slowed down for whiskers and short episodes, or all of it in time "
        "lapse.\n",
    ]
    for folder in ANIMALS:
        names = [entry.name for entry in CATALOGUE if entry.task.startswith(f"{folder}.")]
        parts.append(f"## [{title(folder)}](../animals/{folder}.md)\n\n{tasks(folder, '', list(SCORES))}")
        parts.append("```{toctree}\n:hidden:\n\n" + "\n".join(names) + "\n```\n")
    parts.append("[All results](../results/index.md), including learning algorithms.\n")
    return "\n".join([*parts, gates()])


def gates() -> str:
    """Return the section on gates: the measurements of each id that decide whether policies are ranked on it."""
    rows = [
        (
            f"[{name}]({name}.md)" if name in {entry.name for entry in CATALOGUE} else name,
            f"{float(row['floor']):.3g} .. {float(row['best']):.3g}",
            f"{float(row['score']):.3g} ({row['closed']})",
            f"{float(row['open_score']):.3g}",
            f"{float(row['script_share']):.2f} ({row['script']})",
            f"{float(row['half_width']):.1%}",
            f"{float(row['failed']):.0%}",
            row["fails"] or "none",
        )
        for name, row in published_rows().items()
    ]
    head = (
        "id",
        "scale",
        "feedback",
        "without",
        "best script",
        "half-width",
        "failed",
        "gates not passed",
    )
    return (
        "## Gates\n\nPolicies are ranked on an id after it has passed these gates (`python -m tools.gates ID`):\n\n"
        "- (a) feedback is worth a fifth of the scale, compared with a replay of actions or an answer without touch;\n"
        "- (b) no script with a few parameters scores above 0.9 on the scale;\n"
        "- (c) the best reference and the best policy respect the animal's limits;\n"
        "- (d) the half-width of a paired interval of 256 episodes is at most 3% of the scale;\n"
        "- (e) less than 5% of episodes fail for reasons that the task does not measure.\n\n" + table(head, rows) + "\n"
    )


SCORES = {
    "random": "random actions",
    "baseline": "animal's own controller",
    "best constant": "best constant parameters",
    "recipe": "trained by the recipe",
    "trained": "trained, shipped",
}


def parameters(name: str) -> str:
    """Return the table of an animal's parameters that can be set for each row, with default, range and shape."""
    env: Any = gymnasium.make(f"gymnosoma/{name}").unwrapped
    env.reset(seed=0)
    animal, rows = env.task.animal, []
    plain = animal if isinstance(animal, Neuromechanic) else type(animal)()  # with its nervous system, if it has one
    for key, option in (animal.parameters | plain.parameters).items():
        value = np.unique(env.batch.rows[key]) if key in animal.parameters else ()
        ends = f"{value[0]:.3g} .. {value[-1]:.3g}" if len(value) else ""
        text = f"{value[0]:.6g}" if len(value) == 1 else ends
        unit = "" if option.unit == "1" else option.unit
        shape = f"{option.shape}" if option.shape else ""
        rows.append((f"`{key}`", option.meaning, text, f"{option.low:g} .. {option.high:g}", unit, shape))
    env.close()
    return table(("parameter", "meaning", f"in {name}", "range", "unit", "shape"), rows) + "\n"


def constants(animal: str) -> str:
    """Return a table of the printed constants with their sources, or the README of the model files."""
    folder = ROOT / "assets" / animal
    rows = []
    for path in sorted(folder.glob("*.toml")):
        for name, entry in tomllib.loads(path.read_text("utf-8")).items():
            if not isinstance(entry, dict) or not entry.keys() >= {"value", "source"}:  # part of a model file
                continue
            change = f"used here: {shown(entry['used'])}. " if "used" in entry else ""
            unit = "" if entry.get("unit", "1") == "1" else entry["unit"]
            rows.append((name, shown(entry["value"]), unit, entry["source"], change + entry.get("note", "")))
    if rows:
        return table(("constant", "as printed", "unit", "source", "note"), rows) + "\n"
    readme = folder / "README.md"
    return readme.read_text("utf-8").partition("\n")[2] if readme.is_file() else ""


def model_keys() -> str:
    """Return tables of the keys of a model file."""
    head = "key", "value", "default", "meaning"
    parts = []
    for kind, keys in KINDS.items():
        rows = [(f"`{key}`", *rest) for key, *rest in described(keys.keys)]
        parts.append((f"`[{kind}]`\n\n" if kind else "") + table(head, rows))
    return "\n\n".join(parts) + "\n"


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
        parts.append(f"## {name}\n\n{text}\n\n" + table(("argument", "meaning"), rows))
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
        parts.append(f"`{label}`\n\n" * bool(label) + table(("key", "value and meaning"), rows))
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
    parts.append("Constants of the `dynamics`:\n\n" + table(("dynamics", "constant", "range", "default"), rows))
    return "\n\n".join(parts) + "\n"


def sizes() -> str:
    """Return the table of the largest files that are read."""
    rows = {
        "policy cards, configurations of runs": min(card.MAX_HEADER, runs.MAX_CONFIG),
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
    return table(("file", "largest size"), texts) + "\n"


def shown(value: Any) -> str:
    """Return a constant as text; the values of a list are separated by commas."""
    return ", ".join(map(shown, value)) if isinstance(value, list) else f"{value:g}"


def live() -> None:
    """Write the scripts of the animals that run in a browser, and a page for each."""
    build.write(HERE / "static" / "live")
    for name in build.ANIMALS:
        heading, text = build.PAGES[name]
        inside = moving(LIVE_FILMS[name], "../")
        page = f"```{{raw}} html\n{build.embedded(name, '../_static/live/', inside)}```\n"
        write(HERE / "live" / f"{name}.md", f"# {heading}\n\n{text}\n\n{page}")


LIVE_FILMS = {
    "worm": "WormCrawl-v0",
    "lamprey": "LampreyWaypoints-v0",
    "vibrissa": "WhiskerTap-v0",
    "whisker": "WhiskerRegulate-v0",
    "figure": "StandGains-v0",
    "limb": "HindlimbHold-v0",
}
"""Film for each animal, shown if the browser cannot run it."""


def public(module: str) -> str:
    """Return the page of a module with its public names."""
    text = f"# {module}\n\n```{{eval-rst}}\n.. automodule:: {module}\n   :no-members:\n"
    for name in public_names(module):
        value = getattr(import_module(module), name)
        kind = "autoclass" if isinstance(value, type) else "autofunction" if callable(value) else "py:data"
        text += f"\n.. {kind}:: {module}.{name}\n"
        text += "   :no-index:\n" if (module, name) == ("gymnosoma.envs.whisker_rod", "Hair") else ""  # the same class
    return text + "```\n"


def reference(folder: Path) -> None:
    """Write the reference of the Python interface, one page for each module in `PUBLIC`."""
    for module in PUBLIC:
        write(folder / f"{module}.md", public(module))
    about = "The public names. [Versions](../guides/versions.md) lists what is stable; all other names are internal."
    write(folder / "index.md", f"# Python\n\n{about}\n\n```{{toctree}}\n" + "\n".join(PUBLIC) + "\n```\n")


def plain_functions(app: Any) -> None:
    """Replace kernels by their Python functions, because autodoc does not support compiled functions."""
    for name, module in list(sys.modules.items()):
        if name.startswith("gymnosoma"):
            for key, value in list(vars(module).items()):
                if isinstance(value, Dispatcher):
                    setattr(module, key, value.py_func)


def plain_headings(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Convert the Markdown headings of a task's docstring to bold lines."""
    lines[:] = [re.sub(r"^## (.*)$", r"**\1**", line) for line in lines]


def is_private(value: Any) -> bool:
    """Return whether an object is a class with a private name."""
    return isinstance(value, type) and value.__name__.startswith("_")


def public_bases(app: Any, name: str, obj: Any, options: Any, bases: list[type]) -> None:
    """Show the public class behind a private base class."""
    for k, base in enumerate(bases):
        if is_private(base):
            bases[k] = next(each for each in base.__mro__ if not is_private(each))


def no_alias(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Skip aliases of private classes, and the fields of named tuples, which have only Python's default docstring."""
    default = (getattr(obj, "__doc__", None) or "").startswith("Alias for field number")
    return True if default or is_private(obj) else None


def generate(app: Any) -> None:
    """Write all generated pages."""
    FILMS.update(pictures.make(f"gymnosoma/{entry.name}" for entry in CATALOGUE))
    folder = HERE / "environments"
    write(folder / "index.md", environments())
    for entry in CATALOGUE:
        write(folder / f"{entry.name}.md", page(entry.name))
    ids = {entry.name.removesuffix("-v0"): (f"environments/{entry.name}.html", entry.name) for entry in CATALOGUE}
    write(HERE / "animals" / "tables" / "ids.md", tiles(ids))
    others = {build.PAGES[name][0]: (f"live/{name}.html", LIVE_FILMS[name]) for name in build.ANIMALS if name != "worm"}
    write(HERE / "animals" / "tables" / "animals.md", tiles(others))
    tables = {"model_keys": model_keys, "circuit_keys": circuit_keys, "commands": commands, "sizes": sizes}
    for name, make in tables.items():
        write(HERE / "animals" / "tables" / f"{name}.md", make())
    for animal in ANIMALS:
        write(HERE / "animals" / "tables" / f"{animal}_parameters.md", parameters(EXAMPLES[animal]))
        write(
            HERE / "animals" / "tables" / f"{animal}_tasks.md",
            tasks(animal, "../environments/", ("baseline", "trained")),
        )
        write(HERE / "animals" / "tables" / f"{animal}_constants.md", constants(animal))
    live()
    reference(HERE / "api")


def setup(app: Any) -> dict[str, Any]:
    """Register the extension; pages are generated before Sphinx reads its sources."""
    app.connect("builder-inited", generate, priority=100)
    app.connect("builder-inited", plain_functions, priority=200)
    app.connect("autodoc-process-docstring", plain_headings, priority=100)
    app.connect("autodoc-process-bases", public_bases)
    app.connect("autodoc-skip-member", no_alias)
    return {"parallel_read_safe": True}
