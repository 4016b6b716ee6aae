"""Results files of the benchmark. Each line is one policy, or one training at one mark.

Files are untrusted: all keys are checked, and no code is executed.
"""

from __future__ import annotations

import json
import lzma
import math
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from gymnosoma.envs.core.arguments import choice, number, numbers, shown, whole
from gymnosoma.envs.core.files import LARGEST_RECORDING, MEMORY, decoded, read_bytes

from ..policies.registry import all_ids, check_names
from ..support import schema
from ..support.files import replacing
from . import protocol

FORMAT = "gymnosoma-result-1"


_whole: schema.Check = partial(whole, minimum=0, maximum=2**53)


def _scores(name: str, value: Any) -> None:
    schema.typed(name, value, list, "be a list")
    if numbers(name, value).ndim != 1:
        raise ValueError(f"{name} must be a list of numbers, got {shown(value)}")


def _texts(name: str, value: Any) -> None:
    schema.OBJECT(name, value)
    for key, each in value.items():
        schema.TEXT(f"{name}: {key}", each)


def _or_null(check: schema.Check) -> schema.Check:
    return lambda name, value: None if value is None else check(name, value)


def _object(**keys: schema.Check) -> schema.Check:
    return lambda name, value: schema.held(name, value, keys)


LINE: dict[str, schema.Check] = {
    "$id": lambda name, value: choice(name, value, [FORMAT]),
    "id": schema.TEXT,
    "fingerprint": schema.TEXT,
    "entrant": _object(name=schema.TEXT, config=schema.OBJECT, digest=schema.TEXT),
    "track": lambda name, value: choice(name, value, protocol.TRACKS),
    "seed": _whole,
    "mark": _whole,
    "steps": _whole,
    "failed": _or_null(schema.TEXT),
    "env": schema.OBJECT,
    "score": _object(name=schema.TEXT, unit=schema.TEXT),
    "episodes": _object(
        count=lambda name, value: whole(name, value, 1, protocol.MAX_EPISODES),
        scores=_scores,
        mean=number,
        sd=_or_null(number),
        **{"return": _or_null(number)},
        failed=_or_null(number),
    ),
    "seconds": _object(train=number, evaluate=number),
    "made": _texts,
    "weights": _or_null(schema.TEXT),
}
"""Checks of the keys of a line, which are all required. ``scores`` may contain only the first episodes. Numbers that
were not recorded are null."""


def read(file: Path) -> list[dict[str, Any]]:
    """Read a results file, which may be compressed (``.xz``).

    Raises:
        ValueError: If it is not a valid results file; names file, line and key.
    """
    try:
        content = read_bytes(file, LARGEST_RECORDING)
        size = len(content)
        if file.suffix == ".xz":
            unpacker = lzma.LZMADecompressor(memlimit=MEMORY)
            content = unpacker.decompress(content, MEMORY // 2)
            if not unpacker.eof:
                raise ValueError(f"it is cut off, or has more than {MEMORY // 2} bytes")
        texts = decoded(content, size).splitlines()
    except (OSError, EOFError, ValueError, lzma.LZMAError) as error:
        raise ValueError(f"file {str(file)!r} cannot be read: {error}") from None
    lines = []
    for k, text in enumerate(texts, 1):
        try:
            line = json.loads(text, parse_constant=schema.refuse)
            schema.held("a line", line, LINE)
            choice("id", line["id"], all_ids())
            check_names(line["id"], line["env"])
            _check_scores(line["episodes"])
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{str(file)!r}, line {k}: {error}") from None
        lines.append(line)
    return lines


def _check_scores(episodes: Mapping[str, Any]) -> None:
    """Raise ValueError if all scores are present and their mean or standard deviation differs from the line's."""
    scores = episodes["scores"]
    if len(scores) > episodes["count"]:
        raise ValueError(f"episodes: scores must be at most {episodes['count']}, got {len(scores)}")
    if len(scores) == episodes["count"]:
        for key, value in protocol.spread(scores).items():
            if episodes[key] is None or not math.isclose(value, episodes[key], rel_tol=1e-6, abs_tol=1e-9):
                raise ValueError(f"episodes: {key} must be {value:.9g}, that of its scores, got {episodes[key]!r}")


def write(file: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    """Write lines to a file, compressed if its suffix is ``.xz``."""
    texts = (json.dumps(each, allow_nan=False, separators=(",", ":")) + "\n" for each in lines)
    content = "".join(texts).encode()
    file.parent.mkdir(parents=True, exist_ok=True)
    with replacing(file) as out:
        out.write(lzma.compress(content, preset=9) if file.suffix == ".xz" else content)


def gather(folder: Path) -> Path:
    """Collect the lines of all jobs of a folder in its ``results.jsonl``, and return its path."""
    write(
        folder / "results.jsonl", (line for file in sorted((folder / "lines").glob("*.jsonl")) for line in read(file))
    )
    return folder / "results.jsonl"


def name_of(line: Mapping[str, Any]) -> str:
    """Return a label of a line: id, entrant and, for a training, seed and mark."""
    training = f", seed {line['seed']}, mark {line['mark']}" if line["mark"] else ""
    return f"{line['id'].split('/')[1]}, {line['entrant']['name']}{training}"


def failures(lines: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a message for each failed training, with the reason."""
    return [
        f"{name_of(each)}: {each['failed']}{'' if each['weights'] else '; it counts as zero actions'}"
        for each in lines
        if each["failed"] is not None
    ]
