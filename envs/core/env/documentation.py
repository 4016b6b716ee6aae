"""The documentation of an environment: prose from its task's docstring, all else from its data.

Tables of actions, observations, arguments, options and endings are made from what the task is made of, so that
they cannot say anything else. Description, rewards, starting state and version history are written by hand, under
these headings in the docstring of the task's class.
"""

from __future__ import annotations

import inspect
import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from ..model.quantities import Option
from .batch import IMPERFECT
from .spec import LIMIT, ActionField, Ending
from .task import Task, task_arguments

HEADINGS = ("Description", "Rewards", "Starting State", "Version History")
"""Headings of what the docstring of a task's class holds."""

FIGURES = "benchmark.json"
"""Asset with the scores of policies on each id, which ``tools.publish`` writes."""

NORMALISERS = "normalisers.toml"
"""Asset with what normalised scores call 0 and 1."""


def describe(
    task: Task,
    history: int = 1,
    env_id: str | None = None,
    max_episode_steps: int | None = None,
    reward_threshold: float | None = None,
) -> str:
    """Document a task as an environment, with Gymnasium's headings, in Markdown.

    Args:
        history: Observations that are stacked.
        env_id: For its reference figures.
        max_episode_steps, reward_threshold: Of the id.

    Raises:
        ValueError: If the docstring lacks one of the headings.
    """
    texts = sections(task)
    seconds = "" if max_episode_steps is None else f", {max_episode_steps / task.control_rate:g} s"
    parts = {
        "Description": f"{texts['Description']}\n\n{task.control_rate:g} actions a second{seconds}.",
        "Action Space": _actions(task),
        "Observation Space": _observations(task, history),
        "Rewards": _rewards(task, texts["Rewards"], env_id, reward_threshold),
        "Starting State": texts["Starting State"],
        "Episode End": _endings(task, max_episode_steps),
        "Arguments": _arguments(task),
        "Version History": texts["Version History"],
    }
    return "\n\n".join([summary(type(task)), *(f"## {name}\n\n{text}" for name, text in parts.items())])


def summary(kind: type[Task]) -> str:
    """First line of a task's docstring."""
    return (inspect.getdoc(kind) or "").partition("\n")[0]


def sections(task: Task) -> dict[str, str]:
    """Read the sections of the docstrings of a task's class and its bases by heading; a class's own text wins.

    ``{name}`` and ``{name:format}`` stand for attributes of the task.

    Raises:
        ValueError: If one of `HEADINGS` is missing, or there is another.
    """
    texts: dict[str, str] = {}
    for base in reversed(type(task).__mro__):
        parts = re.split(r"^## (.*)$", inspect.cleandoc(vars(base).get("__doc__") or ""), flags=re.MULTILINE)
        texts |= dict(zip(parts[1::2], map(str.strip, parts[2::2]), strict=True))
    if set(texts) != set(HEADINGS):
        raise ValueError(f"docstring of {type(task).__name__} must have the headings {HEADINGS}, got {tuple(texts)}")

    def value(match: re.Match[str]) -> str:
        return format(getattr(task, match[1]), match[2] or "")

    return {name: re.sub(r"\{(\w+)(?::([^}]*))?\}", value, text) for name, text in texts.items()}


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    cells = [list(head), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in cells]
    return "\n".join([lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]])


def _places(sizes: Iterable[int]) -> list[str]:
    """Entries that fields of these sizes take, as in ``0 .. 23``."""
    ends = np.cumsum(list(sizes)).tolist()
    starts = [0, *ends[:-1]]
    return [f"{a}" if b == a + 1 else f"{a} .. {b - 1}" for a, b in zip(starts, ends, strict=True)]


def _meaning(field: ActionField) -> str:
    return f'{field.meaning}; the truth is ``info["{field.truth}"]``' if field.truth else field.meaning


def _actions(task: Task) -> str:
    texts = []
    for mode in task.action_modes:
        fields = task.action_fields(mode)
        default = " (default)" if mode == task.action_modes[0] and len(task.action_modes) > 1 else ""
        size = sum(field.size for field in fields.values())
        rows = [
            (place, name, _meaning(field), field.unit, f"{field.low:g}", f"{field.high:g}")
            for place, (name, field) in zip(_places(f.size for f in fields.values()), fields.items(), strict=True)
        ]
        texts.append(
            f'``actions="{mode}"``{default}: ``Box(-1, 1, ({size},))``\n\n'
            + _table(("entries", "name", "meaning", "unit", "-1 is", "1 is"), rows)
        )
    return "\n\n".join(texts)


def _observations(task: Task, history: int) -> str:
    layout = task.layout
    shape = f"{history} * {layout.size}" if history > 1 else f"{layout.size}"
    rows = [
        (
            place,
            name,
            field.meaning,
            field.unit,
            ", ".join(f"{scale:g}" for scale in np.atleast_1d(field.scale)),
        )
        for place, (name, field) in zip(
            _places(f.size for f in layout.fields.values()), layout.fields.items(), strict=True
        )
    ]
    stacked = f"; {history} observations are stacked (``history={history}``), oldest first" if history > 1 else ""
    mode = f' with ``actions="{task.actions}"``' if len(task.action_modes) > 1 else ""
    return f"``Box({-LIMIT:g}, {LIMIT:g}, ({shape},))``{mode}{stacked}\n\n" + _table(
        ("entries", "name", "meaning", "unit", "divided by"), rows
    )


def _rewards(task: Task, description: str, env_id: str | None, threshold: float | None) -> str:
    score = task.score
    unit = "" if score.unit == "1" else f" in {score.unit}"
    if score.name == "return":
        text = "The score is the return."
    else:
        failed = f"{score.factor * score.failed:g} for an episode that failed"
        text = f'The score is ``info["{score.name}"]``{unit} at the end, {failed}.'
    scale = normaliser(env_id or "")
    if scale is not None:
        text += f" Normalised scores call {scale['floor']:g} 0 and {scale['best']:g} 1 ({scale['why']})."
    if threshold is not None:
        text += f" A return of {threshold:g} counts as solved."
    table = _figures(env_id)
    return f"{description}\n\n{text}" + (f"\n\n{table}" if table else "")


@cache
def figures() -> Mapping[str, Any]:
    """Reference figures of the ids, as the benchmark wrote them; empty where there are none."""
    file = resources.files("gymnosoma.assets").joinpath(FIGURES)
    return json.loads(file.read_text("utf-8"))["results"] if file.is_file() else {}


@cache
def normalisers() -> Mapping[str, Mapping[str, Any]]:
    """What normalised scores call 0 (``floor``) and 1 (``best``, a ``bound`` or not, and ``why``), by name of the id.

    Both are in the unit of the score, and frozen for each id and version.
    """
    return tomllib.loads(resources.files("gymnosoma.assets").joinpath(NORMALISERS).read_text("utf-8"))


def normaliser(env_id: str) -> Mapping[str, Any] | None:
    """Those of an id; None where it has none: its scores are not normalised."""
    return normalisers().get(env_id.removeprefix("gymnosoma/"))


def _figures(env_id: str | None) -> str:
    result = figures().get(env_id or "")
    if result is None:
        return ""
    rows = [
        (
            name if entry["trainings"] < 2 else f"{name}, {entry['trainings']} trainings",
            f"{entry['mean']:.3g}",
            "{:.3g} .. {:.3g}".format(*entry["interval"]),
            "" if entry["failed"] is None else f"{entry['failed']:.0%}",
        )
        for name, entry in result["policies"].items()
    ]
    return _table(("policy", "mean score", "95% interval", "failed"), rows)


def _endings(task: Task, limit: int | None) -> str:
    def of(endings: Iterable[Ending], success: bool) -> list[str]:
        return [ending.reason for ending in endings if ending.success is success]

    success = of(task.endings.values(), True)
    failure = [*of(task.endings.values(), False), *task.animal.failures.values()]
    lines = [f"Success: {'; '.join(success)}."] if success else []
    lines.append(f'Failure (``info["failure"]`` tells which): {"; ".join(failure)}.')
    if limit is not None:
        lines.append(f"Truncated after {limit} steps.")
    return "\n\n".join(lines)


def _arguments(task: Task) -> str:
    defaults = task_arguments(type(task))
    rows = [
        (f"``{name}``", task.arguments[name], "" if value in (None, inspect.Parameter.empty) else f"``{value!r}``")
        for name, value in defaults.items()
    ]
    options = [
        (f"``{name}``", option.meaning, _range(option), option.unit)
        for name, option in {**task.animal.parameters, **task.options}.items()
    ]
    return (
        _table(("argument", "meaning", "default"), rows)
        + "\n\n``history``, ``randomize``, ``split``, ``render_mode`` and size as for all environments, and "
        + f"{', '.join(f'``{name}``' for name in IMPERFECT)} for imperfect senses and late hands; ``signals`` "
        + f"adds any of {', '.join(task.animal.signals)} to the info.\n\n"
        + "Options of the reset; ``randomize`` draws one number for all entries, or with ``each=True`` one for each; "
        + "``keep`` lets them stay for the episodes that follow; ``events`` change the first "
        + f"{len(task.animal.parameters)} in the course of an episode:\n\n"
        + _table(("option", "meaning", "range", "unit"), options)
        + _hidden(task)
    )


def _hidden(task: Task) -> str:
    ranges = [
        f"``{name}`` {one.low:g} .. {one.high:g}{' (evenly in its logarithm)' if one.logarithmic else ''}"
        for name, one in task.hidden.items()
    ]
    if not ranges:
        return ""
    return (
        f"\n\nDrawn for every episode, and not shown: {', '.join(ranges)}; ``split`` holds back the outer tenths of "
        "these, and two within."
    )


def _range(option: Option) -> str:
    shape = f" {option.shape}" if option.shape else ""
    return f"{option.low:g} .. {option.high:g}{shape}"
