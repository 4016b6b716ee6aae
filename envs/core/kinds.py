"""Kinds of files, so that a file that is passed to the wrong function is refused with the right one."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from .arguments import shown
from .files import read_array, read_toml

LOADERS = {
    "model": "gymnosoma.envs.neuromechanic.Neuromechanic",
    "foreign": "gymnosoma.biomechanics.load, or convert it to TOML with 'gymnosoma import'",
    "circuit": "gymnosoma.envs.Circuit.read",
    "recipe": "gymnosoma train --recipe",
    "policy": "gymnosoma.agents.load_policy, which takes its folder",
    "results": "gymnosoma benchmark table",
    "trajectory": "gymnosoma.envs.Trajectory.load",
    "midlines": "gymnosoma.recordings.Midlines.read",
    "base": "gymnosoma.recordings.RecordedBase.read",
    "kymogram": "gymnosoma.envs.worm.load_kymogram",
    "drive": "gymnosoma.envs.Schedule.read",
    "motion": "gymnosoma.biomechanics.read_motion",
    "loads": "gymnosoma.biomechanics.read_loads",
}
"""Function or command that reads each kind of file."""

SUFFIXES = {".npz": "trajectory", ".safetensors": "policy"}
SUFFIXES |= dict.fromkeys((".osim", ".mjb"), "foreign") | dict.fromkeys((".jsonl", ".xz"), "results")
SUFFIXES |= dict.fromkeys((".wcon", ".hdf5", ".h5", ".slp", ".zip"), "midlines")
SUFFIXES |= dict.fromkeys((".measurements", ".whiskers"), "base") | dict.fromkeys((".mot", ".sto", ".trc"), "motion")
"""Kinds of files that their names tell."""

HEAD = 1 << 16
"""Number of bytes of a text that are read to find its kind."""


def _toml_kind(path: Path) -> str:
    keys = read_toml(path).keys()
    marks = {"model": {"schema", "body"}, "circuit": {"population", "projection"}, "recipe": {"algorithm", "num_envs"}}
    return next((kind for kind, names in marks.items() if names & keys), "")


def _text_kind(path: Path) -> str:
    with path.open("rb") as file:
        head = file.read(HEAD).decode("utf-8", "replace")
    names = set(re.split(r"[,;\t]", head.partition("\n")[0].strip().lower()))
    if path.suffix == ".json":
        return "midlines" if '"data"' in head and '"units"' in head else ""
    if path.suffix == ".xml":
        return "loads" if "ExternalLoads" in head else "foreign"
    if "scorer" in names or "instance.score" in names or ("frame" in names and names & {"x", "x0"}):
        return "midlines"
    return ("base" if "angle" in names else "drive") if "time" in names else ""


def kind_of(source: Any) -> str:
    """Return the kind of a file, one of `LOADERS`, from its name and beginning; empty if it is not certain."""
    with suppress(Exception):  # of files that are missing or damaged
        path = Path(source)
        if path.name == "card.json" or (path / "card.json").is_file():
            return "policy"
        if kind := SUFFIXES.get(path.suffix.lower()):
            return kind
        if path.is_file() and path.suffix == ".toml":
            return _toml_kind(path)
        if path.is_file() and path.suffix == ".npy":
            return {2: "kymogram", 3: "midlines"}.get(read_array(path).ndim, "")
        if path.is_file() and path.suffix in (".csv", ".json", ".tsv", ".txt", ".xml"):
            return _text_kind(path)
    return ""


def advice(source: Any, *kinds: str) -> str:
    """Return "load it with" and the function for a file that is not of the ``kinds`` of a function; else empty."""
    kind = kind_of(source)
    return f"load it with {LOADERS[kind]}" if kind and kind not in kinds else ""


def hint(source: Any, *kinds: str) -> str:
    """Return `advice` as the end of a message."""
    return f"; {text}" if (text := advice(source, *kinds)) else ""


Function = TypeVar("Function", bound=Callable[..., Any])


READERS = {
    "Agent": "gymnosoma.agents.load_policy",
    "Drive": LOADERS["drive"],
    "Policy": "gymnosoma.agents.policies.lookup.find_policy",
    "Relief": "gymnosoma.envs.whisker_rod.Relief.measured",
}
"""Function that makes an object of a class, for names of files whose kind is not certain."""


def takes_objects(function: Function) -> Function:
    """Let a function refuse the name of a file where it takes an object; the error has the function that reads it.

    Warnings of the function need a ``stacklevel`` that is one higher.
    """
    texts = {
        name: text.replace(" | ", " or ")
        for name, text in function.__annotations__.items()
        if not {"str", "Path", "Any", "Literal"} & set(re.split(r"\W+", re.sub(r"\[.*\]", "", text)))
    }
    parameters = inspect.signature(function)

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if any(isinstance(value, str | Path) for value in (*args, *kwargs.values())):
            with suppress(TypeError):  # of arguments that Python refuses below
                for name, value in parameters.bind_partial(*args, **kwargs).arguments.items():
                    if isinstance(value, str | Path) and name in texts:
                        reader = READERS.get(texts[name].partition(" ")[0])
                        end = hint(value) or (f"; load it with {reader}" if reader else "")
                        raise ValueError(f"{name} must be {texts[name]}, got {shown(str(value))}{end}")
        return function(*args, **kwargs)

    return checked  # type: ignore[return-value]
