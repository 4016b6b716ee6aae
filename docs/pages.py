"""Sphinx extension: pages made of the package itself, one for each id, and tables for the animals' pages.

They are written when the site is built, into folders that git ignores, so that they cannot disagree with the code.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numba.core.dispatcher import Dispatcher

import gymnosoma
from gymnosoma.agents.benchmark.tables import markdown as table
from gymnosoma.agents.policies.lookup import shipped
from gymnosoma.agents.policies.registry import references_of
from gymnosoma.envs import CATALOGUE
from gymnosoma.envs.core.env.documentation import figures
from gymnosoma.envs.core.model.animal import ANIMALS
from gymnosoma.envs.neuromechanic.keys import KINDS
from gymnosoma.envs.neuromechanic.reader import OPTIONAL, REQUIRED, Key, Per
from tools.gates import kept
from tools.live import build

HERE = Path(__file__).parent


def described(keys: Sequence[Key]) -> Iterator[tuple[str, str, str, str]]:
    """Describe each key: its name, what it may hold with the unit, its default, and its meaning."""
    for key in keys:
        default = "required" if key.default is REQUIRED else "" if key.default is OPTIONAL else words(key.default)
        only = ", ".join(key.types) or key.beside
        holds = key.form.says + (f", {key.unit}" if key.unit not in ("", "1") else "")
        yield key.name + f" ({only})" * bool(only), holds, default, key.meaning


def words(default: Any) -> str:
    """Default of a key, in words."""
    if isinstance(default, Per):
        return "; ".join(f"{word}: {words(value)}" for word, value in default.values.items())
    if isinstance(default, Mapping):
        return ", ".join(f"{key} = {words(value)}" for key, value in default.items()) or "none"
    if isinstance(default, list | tuple):
        return f"[{', '.join(map(words, default))}]"
    return default if isinstance(default, str) else f"{default:g}"


def title(animal: str) -> str:
    """The heading of an animal's page."""
    return (HERE / "animals" / f"{animal}.md").read_text("utf-8").partition("\n")[0].removeprefix("# ")


@cache
def example(animal: str) -> str:
    """The first id of an animal with the most parameters to change, as a lamprey has with its cord only."""
    names = [entry.name for entry in CATALOGUE if entry.task.startswith(f"{animal}.")]
    tasks: dict[str, Any] = {name: gymnasium.make(f"gymnosoma/{name}").unwrapped for name in names}
    return max(names, key=lambda name: len(tasks[name].task.animal.parameters))


def write(path: Path, text: str) -> None:
    """Write a page if it changed, so that Sphinx reads only what did."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_text() != text:
        path.write_text(text)


def film(name: str, caption: str, above: str) -> str:
    """Show a film of ``docs/films.py``, where it was made."""
    if not (HERE / "static" / "films" / f"{name}.mp4").is_file():
        return ""
    return (
        f'<figure><video src="{above}_static/films/{name}.mp4" autoplay loop muted playsinline controls></video>'
        f"<figcaption>{caption}</figcaption></figure>\n\n"
    )


def still(name: str, above: str) -> str:
    """Show the still of an id, which ``docs/pictures.py`` made."""
    return f'<figure><img src="{above}_static/stills/{name}.webp" alt="{name}"></figure>\n\n'


def tiles() -> str:
    """List all ids for the home: stills that lead to their pages, and move under the pointer where films were made."""
    text = ""
    for entry in CATALOGUE:
        name, still = entry.name, f"_static/stills/{entry.name}.webp"
        films = (f"{name}-{policy}.mp4" for policy in ("trained", "baseline"))
        film = next((film for film in films if (HERE / "static" / "films" / film).is_file()), None)
        picture = f'<img src="{still}" alt="" width="480" height="270" loading="lazy">'
        if film is not None:
            picture = (
                f'<video src="_static/films/{film}" poster="{still}" width="480" height="270" preload="none" '
                'loop muted playsinline onmouseenter="this.play()" onmouseleave="this.pause()"></video>'
            )
        text += f'<a href="environments/{name}.html">{picture}<span>{name.removesuffix("-v0")}</span></a>\n'
    return f'<div class="tiles">\n{text}</div>\n'


def page(name: str) -> str:
    """Page of an id: films, how it is made, and its own documentation."""
    env_id = f"gymnosoma/{name}"
    env: Any = gymnasium.make(env_id).unwrapped
    text = f"# {name}\n\n"
    films = film(f"{name}-baseline", "The animal's own controller", "../")
    if shipped(env_id).is_dir():
        films += film(f"{name}-trained", "The trained policy; in grey, the animal's own controller", "../")
    text += films or still(name, "../")
    text += f'```py\nimport gymnasium, gymnosoma\n\nenv = gymnasium.make("{env_id}")\n```\n\n{env.__doc__}\n'
    names = ", ".join(f"`{reference}`" for reference in references_of(env_id))
    text += f"\n## Reference controllers\n\n{names or 'None.'}\n"
    env.close()
    return text


def environments() -> str:
    """Page that lists all ids, by animal."""
    parts = [
        "# Environments\n",
        "Films tell simulated time; of what is over in less than two seconds they are slower than they say.\n",
    ]
    for folder in ANIMALS:
        rows, names = [], []
        for entry in CATALOGUE:
            if not entry.task.startswith(f"{folder}."):
                continue
            env: Any = gymnasium.make(f"gymnosoma/{entry.name}").unwrapped
            summary = env.__doc__.partition("\n")[0].rstrip(".")
            policies = figures().get(f"gymnosoma/{entry.name}", {}).get("policies", {})
            scores = [f"{policies[key]['mean']:.3g}" if key in policies else "" for key in SCORES]
            rows.append((f"[{entry.name}]({entry.name}.md)", summary, *scores))
            names.append(entry.name)
            env.close()
        parts.append(f"## [{title(folder)}](../animals/{folder}.md)\n")
        parts.append(table(("id", "task", *SCORES.values()), rows) + "\n")
        parts.append("```{toctree}\n:hidden:\n\n" + "\n".join(names) + "\n```\n")
    parts.append("[All results](../results/index.md), also of learning algorithms.\n")
    return "\n".join([*parts, gates()])


def gates() -> str:
    """What was measured of each id before policies are ranked on it."""
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
        for name, row in kept().items()
    ]
    head = (
        "id",
        "scale",
        "feedback",
        "without",
        "best script on the scale",
        "half an interval",
        "failed",
        "gates not passed",
    )
    return (
        "## What a task must hold\n\nBefore policies are ranked on an id it passes gates (`python -m tools.gates ID`): "
        "(a) feedback is worth a fifth of the scale, against a replay of its own actions or an answer "
        "without touching; (b) no script of a few parameters is above .9; (c) best reference and policy keep to the "
        "animal's limits; (d) half of a paired interval of 256 episodes is at most 3% of the scale; (e) less than 5% "
        "of episodes fail otherwise than by what the task measures.\n\n" + table(head, rows) + "\n"
    )


SCORES = {
    "random": "chance",
    "baseline": "animal's own controller",
    "best constant": "best constant parameters",
    "recipe": "trained by the recipe",
    "trained": "trained, shipped",
}


def parameters(name: str) -> str:
    """Tabulate the parameters of an animal that a row may change, with default and range."""
    env: Any = gymnasium.make(f"gymnosoma/{name}").unwrapped
    env.reset(seed=0)
    rows = []
    for key, option in env.task.animal.parameters.items():
        value = np.unique(env.batch.rows[key])
        text = f"{value[0]:.6g}" if len(value) == 1 else f"{value[0]:.3g} .. {value[-1]:.3g}"
        unit = "" if option.unit == "1" else option.unit
        rows.append((f"`{key}`", option.meaning, text, f"{option.low:g} .. {option.high:g}", unit))
    env.close()
    return table(("parameter", "meaning", f"in {name}", "range", "unit"), rows) + "\n"


def constants(animal: str) -> str:
    """Tabulate the printed constants with their sources; for models in TOML return their README."""
    folder = Path(gymnosoma.__file__).parent / "assets" / animal
    rows = []
    for path in sorted(folder.glob("*.toml")):
        for name, entry in tomllib.loads(path.read_text("utf-8")).items():
            if not isinstance(entry, dict) or not entry.keys() >= {"value", "source"}:  # part of a model
                continue
            change = f"used here: {shown(entry['used'])}. " if "used" in entry else ""
            unit = "" if entry.get("unit", "1") == "1" else entry["unit"]
            rows.append((name, shown(entry["value"]), unit, entry["source"], change + entry.get("note", "")))
    if rows:
        return table(("constant", "as printed", "unit", "source", "note"), rows) + "\n"
    readme = folder / "README.md"
    return readme.read_text("utf-8").partition("\n")[2] if readme.is_file() else ""


def model_keys() -> str:
    """Tables of the keys that a model file may have."""
    head = "key", "what it holds", "default", "meaning"
    parts = []
    for kind, keys in KINDS.items():
        rows = [(f"`{key}`", *rest) for key, *rest in described(keys)]
        parts.append((f"`[{kind}]`\n\n" if kind else "") + table(head, rows))
    return "\n\n".join(parts) + "\n"


def shown(value: Any) -> str:
    """Write a constant; of a list with a value for each link, all of them."""
    return ", ".join(map(shown, value)) if isinstance(value, list) else f"{value:g}"


def live() -> None:
    """Write the animals that run in a browser, and a page of the site for each."""
    build.write(HERE / "static" / "live")
    for name in build.ANIMALS:
        heading, text = build.PAGES[name]
        inside = (film(LIVE_FILMS[name], "", "../") or still(LIVE_FILMS[name].rpartition("-")[0], "../")).strip()
        page = f"```{{raw}} html\n{build.embedded(name, '../_static/live/', inside)}```\n"
        write(HERE / "live" / f"{name}.md", f"# {heading}\n\n{text}\n\n{page}")


LIVE_FILMS = {
    "worm": "WormCrawl-v0-baseline",
    "lamprey": "LampreyWaypoints-v0-baseline",
    "vibrissa": "WhiskerTap-v0-baseline",
    "whisker": "WhiskerRegulate-v0-baseline",
    "figure": "StandPulse-v0-baseline",
    "limb": "HindlimbHold-v0-baseline",
}
"""What is shown where an animal cannot run."""


PUBLIC = {
    **dict.fromkeys(
        (
            "gymnosoma.envs",
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
    "gymnosoma.envs.core.env.task": ("Task",),
    "gymnosoma.envs.core.circuit.circuit": ("Circuit", "Population", "Projection", "Sense"),
    "gymnosoma.agents.learning.training": ("Training",),
    "gymnosoma.agents.learning.sb3_env": ("make_sb3_env",),
}
"""Modules, and the public names of each: all that it exports, if none are named."""


def public(module: str) -> str:
    """Page of the public names of a module."""
    names = PUBLIC[module] or import_module(module).__all__
    text = f"# {module}\n\n```{{eval-rst}}\n.. automodule:: {module}\n   :no-members:\n"
    for name in names:
        value = getattr(import_module(module), name)
        kind = "autoclass" if isinstance(value, type) else "autofunction" if callable(value) else "py:data"
        text += f"\n.. {kind}:: {module}.{name}\n"
        text += "   :no-index:\n" if (module, name) == ("gymnosoma.envs.whisker_rod", "Hair") else ""  # the same class
    return text + "```\n"


def reference(folder: Path) -> None:
    """Write the reference of the Python interface, a page for each module that has public names."""
    for module in PUBLIC:
        write(folder / f"{module}.md", public(module))
    about = "What is public, and stays what it is as [versions](../guides/versions.md) promise; all else may change."
    write(folder / "index.md", f"# Python\n\n{about}\n\n```{{toctree}}\n" + "\n".join(PUBLIC) + "\n```\n")


def plain_functions(app: Any) -> None:
    """Put the Python function in a kernel's place: autodoc knows nothing of compiled ones."""
    for name, module in list(sys.modules.items()):
        if name.startswith("gymnosoma"):
            for key, value in list(vars(module).items()):
                if isinstance(value, Dispatcher):
                    setattr(module, key, value.py_func)


def plain_headings(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Show the headings of a task's docstring, which are Markdown, as bold lines."""
    lines[:] = [re.sub(r"^## (.*)$", r"**\1**", line) for line in lines]


def no_alias(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out the fields of named tuples, of which Python tells nothing but their number."""
    return True if (getattr(obj, "__doc__", None) or "").startswith("Alias for field number") else None


def generate(app: Any) -> None:
    """Write all pages."""
    folder = HERE / "environments"
    write(folder / "index.md", environments())
    for entry in CATALOGUE:
        write(folder / f"{entry.name}.md", page(entry.name))
    write(HERE / "animals" / "tables" / "tiles.md", tiles())
    write(HERE / "animals" / "tables" / "model_keys.md", model_keys())
    for animal in ANIMALS:
        write(HERE / "animals" / "tables" / f"{animal}_parameters.md", parameters(example(animal)))
        write(HERE / "animals" / "tables" / f"{animal}_constants.md", constants(animal))
    live()
    reference(HERE / "api")


def setup(app: Any) -> dict[str, Any]:
    """Make the pages before Sphinx looks for them."""
    app.connect("builder-inited", generate, priority=100)
    app.connect("builder-inited", plain_functions, priority=200)
    app.connect("autodoc-process-docstring", plain_headings, priority=100)
    app.connect("autodoc-skip-member", no_alias)
    return {"parallel_read_safe": True}
