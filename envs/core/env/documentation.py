"""Documentation of environments, made from the task's docstring and its data.

Tables of actions, observations, arguments, options and endings are generated from the task's data. The description, the
rewards, the starting state and, after the first version, the version history are written by hand in the docstring of
the task's class, under these headings.
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
from .hooks import LIMIT
from .task import ActionField, Ending, Task, task_arguments

HEADINGS = ("Description", "Rewards", "Starting State", "Version History")
"""Headings in the docstring of a task's class."""

FIGURES = "benchmark.json"
"""Asset with the scores of policies on each id, written by ``tools.publish``."""

NORMALISERS = "normalisers.toml"
"""Asset with the scores that are 0 and 1 on the normalised scale."""


def describe(
    task: Task,
    history: int = 1,
    env_id: str | None = None,
    max_episode_steps: int | None = None,
    reward_threshold: float | None = None,
) -> str:
    """Write the documentation of an environment in Markdown, under Gymnasium's headings.

    Args:
        task: Task of the environment.
        history: Number of stacked observations.
        env_id: Id of the environment, used to list its reference scores.
        max_episode_steps, reward_threshold: Time limit and threshold of the id.

    Raises:
        ValueError: If the docstring lacks one of the headings.
    """
    texts = sections(task)
    seconds = "" if max_episode_steps is None else f", for at most {max_episode_steps / task.control_rate:.4g} s"
    parts = {
        "Description": f"{texts['Description']}\n\nThe agent acts {task.control_rate:g} times per second{seconds}.",
        "Action Space": _actions(task),
        "Observation Space": _observations(task, history),
        "Rewards": _rewards(task, texts["Rewards"], env_id, reward_threshold),
        "Starting State": texts["Starting State"],
        "Episode End": _endings(task, max_episode_steps),
        "Arguments": _arguments(task),
        "Version History": texts["Version History"],
    }
    first = (summary(type(task)), *_direct_control(task, env_id))
    return "\n\n".join([*first, *(f"## {name}\n\n{text}" for name, text in parts.items())])


def summary(kind: type[Task]) -> str:
    """Return the first line of a task's docstring."""
    return (inspect.getdoc(kind) or "").partition("\n")[0]


def sections(task: Task) -> dict[str, str]:
    """Return the sections of a task's docstring by heading; a class overrides the sections of its bases.

    ``{name}`` and ``{name:format}`` are replaced by attributes of the task.

    Raises:
        ValueError: If one of `HEADINGS` is missing, or there is another heading.
    """
    texts = {"Version History": "* v0: first version"}
    for base in reversed(type(task).__mro__):
        parts = re.split(r"^## (.*)$", inspect.cleandoc(vars(base).get("__doc__") or ""), flags=re.MULTILINE)
        texts |= dict(zip(parts[1::2], map(str.strip, parts[2::2]), strict=True))
    if set(texts) != set(HEADINGS):
        raise ValueError(f"docstring of {type(task).__name__} must have the headings {HEADINGS}, got {tuple(texts)}")
    return {name: filled(text, task) for name, text in texts.items()}


def filled(text: str, task: Task) -> str:
    """Replace ``{name}`` and ``{name:format}`` in a text by attributes of the task."""
    return re.sub(r"\{(\w+)(?::([^}]*))?\}", lambda match: format(getattr(task, match[1]), match[2] or ""), text)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    cells = [list(head), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in cells]
    return "\n".join([lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]])


def _places(sizes: Iterable[int]) -> list[str]:
    """Return the indices of fields with these sizes, such as ``0 .. 23``."""
    ends = np.cumsum(list(sizes)).tolist()
    starts = [0, *ends[:-1]]
    return [f"{a}" if b == a + 1 else f"{a} .. {b - 1}" for a, b in zip(starts, ends, strict=True)]


def _meaning(field: ActionField) -> str:
    return f'{field.meaning}; the correct value is ``info["{field.truth}"]``' if field.truth else field.meaning


def _direct_control(task: Task, env_id: str | None) -> list[str]:
    """Return how to command the animal directly, if actions add to its own controller by default."""
    default, *others = task.action_modes
    if default != "residual":
        return []
    lines, sizes = [], {}
    for mode in others:
        fields = task.action_fields(mode)
        meanings = {name: field.meaning.partition(";")[0] for name, field in fields.items()}
        named = ", ".join(f"``{name}`` ({meaning})" for name, meaning in meanings.items())
        lines.append(f'* ``actions="{mode}"``: ' + (named if len(fields) > 1 else "".join(meanings.values())))
        sizes[mode] = sum(field.size for field in fields.values())
    make = f'gymnasium.make("{env_id or "ID"}", actions="{max(sizes, key=lambda mode: sizes[mode])}")'
    text = "By default, actions are residuals: they change what the animal's own controller does, and zeros are this "
    return [text + f"controller alone. Another meaning takes one argument, such as ``{make}``:", "\n".join(lines)]


def _actions(task: Task) -> str:
    texts = []
    for mode in task.action_modes:
        fields = task.action_fields(mode)
        default = " (default)" if mode == task.action_modes[0] and len(task.action_modes) > 1 else ""
        size = sum(field.size for field in fields.values())
        factor = task.authority if mode == "residual" else 1.0
        rows = [
            (place, name, _meaning(field), field.unit, *(f"{factor * end:g}" for end in (field.low, field.high)))
            for place, (name, field) in zip(_places(f.size for f in fields.values()), fields.items(), strict=True)
        ]
        table = _table(("entries", "name", "meaning", "unit", "value at -1", "value at 1"), rows)
        texts.append(f'``actions="{mode}"``{default}: ``Box(-1, 1, ({size},))``\n\n{table}' + _authority(task, mode))
    return "\n\n".join(texts)


def _authority(task: Task, mode: str) -> str:
    """Return how actions are limited and filtered with ``actions="residual"``."""
    limits, all_of_it = [], []
    if mode == "residual" and task.authority != 1.0:
        limits.append(f"the values at -1 and 1 are {task.authority:.0%} of the whole range (``authority``)")
        all_of_it.append("authority=1")
    if mode == "residual" and task.smoothing:
        limits.append(f"actions pass a filter with a time constant of {1e3 * task.smoothing:g} ms (``smoothing``)")
        all_of_it.append("smoothing=0")
    if not limits:
        return ""
    return (
        f"\n\nSo that random actions disturb the animal little, {', and '.join(limits)}. "
        f"``{', '.join(all_of_it)}`` gives the whole range at once."
    )


def _observations(task: Task, history: int) -> str:
    layout = task.layout
    shape = f"{history} * {layout.size}" if history > 1 else f"{layout.size}"
    rows = [
        (place, name, field.meaning, field.unit, ", ".join(f"{scale:g}" for scale in np.atleast_1d(field.scale)))
        for place, (name, field) in zip(
            _places(f.size for f in layout.fields.values()), layout.fields.items(), strict=True
        )
    ]
    stacked = f", {history} stacked observations (``history={history}``), oldest first" if history > 1 else ""
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
        failed = f"A failed episode scores {score.factor * score.failed:g}"
        text = f'The score is ``info["{score.name}"]``{unit} at the end of the episode. {failed}.'
    scale = normaliser(env_id or "")
    if scale is not None:
        text += f" On the normalised scale, {scale['floor']:g} is 0 and {scale['best']:g} is 1 ({scale['why']})."
    if threshold is not None:
        text += f" The task counts as solved at a return of {threshold:g}."
    parts = [description, _terms(task), text, _figures(env_id)]
    return "\n\n".join(part for part in parts if part)


def _terms(task: Task) -> str:
    """Return a table of the terms of the reward; empty if the task has none."""
    if not task.reward_fields:
        return ""
    texts = (filled(text, task) for text in task.reward_terms.values())
    return "``info`` has the terms of the step's reward, which is their sum:\n\n" + _table(
        ("key", "term"), zip((f"``{name}``" for name in task.reward_fields), texts, strict=True)
    )


@cache
def figures() -> Mapping[str, Any]:
    """Return the benchmark's scores by id; empty if there are none."""
    file = resources.files("gymnosoma.assets").joinpath(FIGURES)
    return json.loads(file.read_text("utf-8"))["results"] if file.is_file() else {}


@cache
def normalisers() -> Mapping[str, Mapping[str, Any]]:
    """Return the scores that are 0 and 1 on the normalised scale, by name of the id.

    An entry has ``floor`` (the score that is 0), ``best`` (the score that is 1), ``bound`` (whether ``best`` is an
    upper bound) and ``why``. Both scores are in the unit of the score and do not change within a version of the id.
    """
    return tomllib.loads(resources.files("gymnosoma.assets").joinpath(NORMALISERS).read_text("utf-8"))


def normaliser(env_id: str) -> Mapping[str, Any] | None:
    """Return the entry of an id in `normalisers`, or None if its scores are not normalised."""
    return normalisers().get(env_id.removeprefix("gymnosoma/"))


def _figures(env_id: str | None) -> str:
    result = figures().get(env_id or "")
    if result is None:
        return ""
    policies = result["policies"]
    shares = [key for key in ("failed", "succeeded") if any(entry.get(key) is not None for entry in policies.values())]
    rows = [
        (
            name if entry["trainings"] < 2 else f"{name}, {entry['trainings']} training runs",
            f"{entry['mean']:.3g}",
            "{:.3g} .. {:.3g}".format(*entry["interval"]),
            *("" if entry.get(key) is None else f"{entry[key]:.0%}" for key in shares),
        )
        for name, entry in policies.items()
    ]
    return _table(("policy", "mean score", "95% interval", *shares), rows)


def _endings(task: Task, limit: int | None) -> str:
    def of(endings: Iterable[Ending], success: bool) -> list[str]:
        return [ending.reason for ending in endings if ending.success is success]

    success = of(task.endings.values(), True)
    failure = [f"{number}: {reason}" for number, reason in enumerate(task.failures) if number]
    lines = [f"Success: {'; '.join(success)}."] if success else []
    lines.append(f'Failure (``info["failure"]``, 0 without one; texts are in ``failures``): {"; ".join(failure)}.')
    if limit is not None:
        lines.append(f"Episodes are truncated after {limit} steps.")
    return "\n\n".join(lines)


def _arguments(task: Task) -> str:
    defaults = task_arguments(type(task))
    rows = [
        (f"``{name}``", task.arguments[name], "" if value in (None, inspect.Parameter.empty) else f"``{value!r}``")
        for name, value in defaults.items()
    ]
    options = [
        (f"``{name}``", option.meaning, _range(option), option.unit)
        for name, option in {**task.parameters, **task.options}.items()
    ]
    return (
        _table(("argument", "meaning", "default"), rows)
        + "\n\nAll environments accept ``history``, ``randomize``, ``split``, ``render_mode``, ``width``, ``height``. "
        + "``gymnosoma.envs.wrappers`` has sensor noise, delays and other forms of the observation. "
        + f"``env.unwrapped.signal(name)`` returns one of these signals: {', '.join(task.animal.signals)}.\n\n"
        + "``reset(options=...)`` sets these options. ``randomize`` draws one number for all entries of an option, or "
        + "one for each with ``each=True``. ``keep`` applies them to the following episodes, too. ``events`` can "
        + f"change the first {len(task.parameters)} during an episode.\n\n"
        + _table(("option", "meaning", "range", "unit"), options)
        + _hidden(task)
    )


def _hidden(task: Task) -> str:
    ranges = [
        f"``{name}`` {one.low:g} .. {one.high:g}{' (log-uniform)' if one.logarithmic else ''}"
        for name, one in task.hidden.items()
    ]
    if not ranges:
        return ""
    paper = [f"``{name}`` {one.paper:g}" for name, one in task.hidden.items() if one.paper is not None]
    return (
        (f'\n\n``split="paper"`` sets the paper\'s own conditions: {", ".join(paper)}.' if paper else "")
        + f"\n\nHidden options are drawn for every episode and not observed: {', '.join(ranges)}. ``split`` holds out "
        "the outer tenths of these ranges and two inside."
    )


def _range(option: Option) -> str:
    shape = f" {option.shape}" if option.shape else ""
    return f"{option.low:g} .. {option.high:g}{shape}"
