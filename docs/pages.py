"""Sphinx extension: pages made of the package itself, one for each id, and tables for the animals' pages.

They are written when the site is built, into folders that git ignores, so that they cannot disagree with the code.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterable, Sequence
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numba.core.dispatcher import Dispatcher
from sphinx.util.display import status_iterator

import gymnosoma
from gymnosoma.agents.benchmark import results
from gymnosoma.agents.benchmark.pictures import draw_curves, draw_leaderboard
from gymnosoma.agents.policies.lookup import shipped
from gymnosoma.agents.policies.registry import all_ids, references_of
from gymnosoma.envs import CATALOGUE
from gymnosoma.envs.core.env.documentation import FIGURES, figures
from gymnosoma.envs.core.model.animal import ANIMALS
from gymnosoma.envs.neuromechanic.keys import KINDS, described
from tools import publish
from tools.gates import kept
from tools.live import build

HERE = Path(__file__).parent

CONTEST = HERE / "contest"
"""Results of the contest, and its policies."""


def title(animal: str) -> str:
    """The heading of an animal's page."""
    return (HERE / "animals" / f"{animal}.md").read_text("utf-8").partition("\n")[0].removeprefix("# ")


@cache
def example(animal: str) -> str:
    """The first id of an animal with the most parameters to change, as a lamprey has with its cord only."""
    names = [entry.name for entry in CATALOGUE if entry.task.startswith(f"{animal}.")]
    tasks: dict[str, Any] = {name: gymnasium.make(f"gymnosoma/{name}").unwrapped for name in names}
    return max(names, key=lambda name: len(tasks[name].task.animal.parameters))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lay out a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


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
    """All ids for the home: stills that lead to their pages, and move under the pointer where films were made."""
    text = ""
    for entry in CATALOGUE:
        name, still = entry.name, f"_static/stills/{entry.name}.webp"
        films = (f"{name}-{policy}.mp4" for policy in ("trained", "baseline"))
        film = next((film for film in films if (HERE / "static" / "films" / film).is_file()), None)
        shown = f'<img src="{still}" alt="" width="480" height="270" loading="lazy">'
        if film is not None:
            shown = (
                f'<video src="_static/films/{film}" poster="{still}" width="480" height="270" preload="none" '
                'loop muted playsinline onmouseenter="this.play()" onmouseleave="this.pause()"></video>'
            )
        text += f'<a href="environments/{name}.html">{shown}<span>{name.removesuffix("-v0")}</span></a>\n'
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
    text += learning(name) + body(name)
    env.close()
    return text


def learning(name: str) -> str:
    """Learning curves of an id, as the benchmark wrote them, and when they pass what is known."""
    env_id = f"gymnosoma/{name}"
    curves = json.loads((HERE / publish.CURVES).read_text()).get(env_id)
    if curves is None:
        return "\n## Learning curve\n\nNot measured for this version.\n"
    picture = HERE / "environments" / "curves" / f"{name}.svg"
    picture.parent.mkdir(parents=True, exist_ok=True)
    draw_curves({env_id: curves}, figures(), picture)
    rows = [
        (PASSED.get(what, what), "not by half of them" if seconds is None else f"{seconds:.3g} s")
        for what, seconds in figures()[env_id]["seconds"].items()
    ]
    return (
        f"\n## Learning curve\n\n![Score against steps and CPU seconds](curves/{name}.svg)\n\n"
        f"{len(curves)} trainings by the recipe (`python train.py train {name}`), each a line: the mean score of its "
        "latest episodes, with the noise of exploration. Dashed: blue the animal's own controller, green its best "
        "constant parameters. CPU seconds are those of all threads, on one machine.\n\n"
        + table(("median training passes", "after"), rows)
        + "\n"
    )


def body(name: str) -> str:
    """What the shipped policy does to the body, beside the animal's own controller."""
    shown = figures().get(f"gymnosoma/{name}", {}).get("shipped")
    if shown is None:
        return ""

    def cell(value: float | None) -> str:
        return "" if value is None else f"{value:.3g}"

    rows = [
        (what if entry["unit"] == "1" else f"{what}, {entry['unit']}", *(cell(entry.get(key)) for key in BODY))
        for what, entry in shown["physiology"].items()
    ]
    low, high = shown["interval"]
    return (
        "\n## What the trained policy does to the body\n\nThe best training comes with the package (`trained`): "
        f"{shown['mean']:.3g} [{low:.3g}, {high:.3g}]. Means of 16 episodes; "
        f"`python train.py evaluate {name} --physiology` tells what is meant, and why there are limits.\n\n"
        + table(("measure", *BODY.values()), rows)
        + "\n"
    )


BODY = {"baseline": "the animal's own controller", "trained": "trained", "limit": "at most"}

PASSED = {"baseline": "the animal's own controller", "best constant": "its best constant parameters"}


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
    scores = json.loads((publish.checkout() / "assets" / FIGURES).read_text("utf-8"))
    return "\n".join([*parts, f"## All scores\n\n{publish.table(scores)}\n\n{SEARCHED}", gates()])


SEARCHED = """\
The best constant parameters are those that a search over a reference controller's constants finds. The search and the
trainings draw what an id hides from its training split only; the scores are of the whole range. The package ships the
best training that stays within what the task lets a policy do to the body. Prices and muscles are set so that a faster
wave of the animal's own kind does not pay: in water the paper's wave is the best of all sines.
"""


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


def contest(folder: Path) -> str:
    """Page of what learners reached, whether ids tell them apart, and its picture in ``folder``."""
    if not (CONTEST / "results.jsonl").is_file():
        return "# Learners compared\n\nThe results lie in the repository alone.\n"
    rows = results.rows_of([CONTEST / "results.jsonl"])
    folder.mkdir(parents=True, exist_ok=True)
    draw_leaderboard(rows, folder / "contest.png")
    names = [env_id.split("/")[1] for env_id in all_ids() if any(env_id in row["ids"] for row in rows)]
    parts = [
        "# Learners compared\n",
        "What algorithms reach on all ranked ids as they are registered, each by one configuration that was not "
        "tuned, within a budget of steps, in the same 256 episodes that nobody learned in. 0 is the better of the "
        "animal's own controller and zero actions, 1 a bound or what an oracle found. "
        "[Enter an algorithm](../guides/enter.md) tells how yours comes in. A learner with fewer than "
        f"{results.PRELIMINARY} trainings of each id has no mean over ids, and wide intervals.\n",
        "![Learners by colour on each id, the animal at 0 and the oracle at 1](contest.png)\n",
    ]
    marks: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        marks.setdefault(row["mark"], []).append(row)
    for mark, at in sorted(marks.items(), key=lambda each: (not each[0], -len(each[1][0]["ids"]), -each[0])):
        some = [name for name in names if any(f"gymnosoma/{name}" in row["ids"] for row in at)]
        parts.append(f"## After {mark:,} steps\n" if mark else "## Without learning\n")
        if len(some) < len(names):
            parts.append("These ids were named before anything was trained that long; there is no mean over them.\n")
        lines = [
            (f"[{name}]({name}.md)", *(results.cell(row["ids"].get(f"gymnosoma/{name}")) for row in at))
            for name in some
        ]
        if len(some) == len(names):
            lines.append(("**mean**", *(results.cell({"points": ()} | row if "mean" in row else None) for row in at)))
            unclipped = (f"{row['unclipped']:.2f}" if "mean" in row else "" for row in at)
            lines.append(("mean, nothing clipped at -1", *unclipped))
        if mark:
            fewest = (str(min(len(each["points"]) for each in row["ids"].values())) for row in at)
            lines.append(("trainings of each id", *fewest))
        parts.append(table(("id", *(row["learner"] for row in at)), lines) + "\n")
        found = results.agreement(at)
        if found:
            parts.append(
                f"Kendall's tau between ids of the learners' ranks, with its 95% interval: {results.tau(found)}. 1 "
                "would mean that all ids rank them alike, 0 that they do so by chance.\n"
            )
            lines = [
                (
                    env_id.split("/")[1],
                    results.tau(each) if "tau" in each else "",
                    f"{each['apart']} of {each['pairs']}",
                    "all" if each["all"] else "none" if each["none"] else "some",
                )
                for env_id, each in found["ids"].items()
            ]
            head = ("id", "tau with the others", "pairs of learners told apart", f"reach {results.SOLVED}")
            parts.append(table(head, lines) + "\n")
    commits = {line["versions"].get("commit", "")[:10] for line in results.read(CONTEST / "results.jsonl")} - {""}
    parts.append(
        "Intervals are Student's, over trainings; the least training stands beside. Pairs are told apart by Welch's "
        f"test at 5%, adjusted by Holm. Trained on {', '.join(sorted(commits))}, by `gymnosoma enter`; all scores of "
        "all episodes are in `docs/contest/results.jsonl`, and `gymnosoma check` plays its policies again.\n"
    )
    return "\n".join(parts)


SCORES = {
    "random": "chance",
    "baseline": "animal's own controller",
    "best constant": "best constant parameters",
    "trained": "trained",
}


def parameters(name: str) -> str:
    """Table of what a row may change of an animal, with the default and the range."""
    env: Any = gymnasium.make(f"gymnosoma/{name}").unwrapped
    env.reset(seed=0)
    rows = []
    for key, option in env.task.animal.parameters.items():
        value = np.unique(env.batch.rows[key])
        shown = f"{value[0]:.6g}" if len(value) == 1 else f"{value[0]:.3g} .. {value[-1]:.3g}"
        unit = "" if option.unit == "1" else option.unit
        rows.append((f"`{key}`", option.meaning, shown, f"{option.low:g} .. {option.high:g}", unit))
    env.close()
    return table(("parameter", "meaning", f"in {name}", "range", "unit"), rows) + "\n"


def constants(animal: str) -> str:
    """Table of the constants that the papers print, with their sources; of models in TOML, what their folder tells."""
    folder = Path(gymnosoma.__file__).parent / "assets" / animal
    rows = []
    for path in sorted(folder.glob("*.toml")):
        for name, entry in tomllib.loads(path.read_text("utf-8")).items():
            if not isinstance(entry, dict) or not entry.keys() >= {"value", "source"}:  # part of a model
                continue
            used = f"used here: {shown(entry['used'])}. " if "used" in entry else ""
            unit = "" if entry.get("unit", "1") == "1" else entry["unit"]
            rows.append((name, shown(entry["value"]), unit, entry["source"], used + entry.get("note", "")))
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
    for name in build.write(HERE / "static" / "live", watch=partial(told, "WebAssembly... ")) and build.shown():
        heading, text = build.PAGES[name]
        inside = (film(LIVE_FILMS[name], "", "../") or still(LIVE_FILMS[name].rpartition("-")[0], "../")).strip()
        shown = f"```{{raw}} html\n{build.embedded(name, '../_static/live/', inside)}```\n"
        write(HERE / "live" / f"{name}.md", f"# {heading}\n\n{text}\n\n{shown}")


LIVE_FILMS = {
    "worm": "WormCrawl-v0-baseline",
    "lamprey": "LampreyWaypoints-v0-baseline",
    "vibrissa": "WhiskerTap-v0-baseline",
    "whisker": "WhiskerRegulate-v0-baseline",
    "figure": "StandPulse-v0-baseline",
    "limb": "HindlimbHold-v0-baseline",
    "swim": "WormSwim-v0-trained",
}
"""What is shown where an animal cannot run."""


PUBLIC = {
    **dict.fromkeys(
        ("gymnosoma.envs", *(f"gymnosoma.envs.{animal}" for animal in ANIMALS), "gymnosoma.agents", "gymnosoma.films"),
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
    found = import_module(module)
    text = f"# {module}\n\n```{{eval-rst}}\n.. automodule:: {module}\n   :no-members:\n"
    for name in PUBLIC[module] or found.__all__:
        kind = "autoclass" if isinstance(getattr(found, name), type) else "autofunction"
        text += f"\n.. {kind if callable(getattr(found, name)) else 'py:data'}:: {module}.{name}\n"
        text += "   :no-index:\n" if (module, name) == ("gymnosoma.envs.whisker_rod", "Hair") else ""  # the same class
    return text + "```\n"


def reference(folder: Path) -> None:
    """Write the reference of the Python interface, a page for each module that has public names."""
    for left in {*folder.glob("gymnosoma*.md")} - {folder / f"{module}.md" for module in PUBLIC}:
        left.unlink()
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


def told(what: str, names: list[str]) -> Iterable[str]:
    """Go through names, in a line of Sphinx that tells how far it is."""
    return status_iterator(names, what, "darkgreen", len(names))


def generate(app: Any) -> None:
    """Write all pages."""
    folder = HERE / "environments"
    write(folder / "index.md", environments())
    write(folder / "contest.md", contest(folder))
    for name in told("pages of ids... ", [entry.name for entry in CATALOGUE]):
        write(folder / f"{name}.md", page(name))
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
