"""Results files of the benchmark. Each line is one policy, or one training at one mark.

Files are untrusted: all keys are checked, and no code is executed.
"""

from __future__ import annotations

import json
import lzma
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from gymnosoma.envs.core.arguments import choice, whole
from gymnosoma.envs.core.files import LARGEST_RECORDING, MEMORY, decoded, read_bytes
from gymnosoma.envs.core.kinds import advice

from ..policies.evaluation import BENCHMARK_SEED, VALIDATION_SEED
from ..policies.registry import all_ids, check_names
from ..support import schema
from ..support.files import replacing

FORMAT = "gymnosoma-result-1"

MAX_EPISODES = VALIDATION_SEED - BENCHMARK_SEED


Count = Annotated[int, partial(whole, minimum=0, maximum=2**53)]


@dataclass(frozen=True)
class Entrant:
    """Name, settings and digest of a policy or a learner."""

    name: str
    config: dict[str, Any]
    digest: str


@dataclass(frozen=True)
class ScoreName:
    """Name and unit of the score of an environment."""

    name: str
    unit: str


@dataclass(frozen=True)
class Measurement:
    """Scores of the episodes of the benchmark.

    Args:
        count: Number of episodes.
        scores: Scores in the unit of the score, with nine digits; may be only those of the first episodes.
        mean, sd: Mean and standard deviation of all scores.
        return_: Mean return.
        failed: Fraction of failed episodes.
        succeeded: Fraction of successful episodes, by ``info["is_success"]``; None for tasks that cannot succeed.
    """

    count: Annotated[int, partial(whole, minimum=1, maximum=MAX_EPISODES)]
    scores: list[float]
    mean: float
    sd: float | None
    return_: float | None
    failed: float | None
    succeeded: float | None = None

    def __post_init__(self) -> None:
        """Check that mean and standard deviation are those of the scores, if all are present."""
        if len(self.scores) > self.count:
            raise ValueError(f"scores must be at most {self.count}, got {len(self.scores)}")
        if len(self.scores) == self.count:
            for key, value in spread(self.scores).items():
                claim = getattr(self, key)
                if claim is None or not math.isclose(value, claim, rel_tol=1e-6, abs_tol=1e-9):
                    raise ValueError(f"{key} must be {value:.9g}, that of its scores, got {claim!r}")


@dataclass(frozen=True)
class Seconds:
    """CPU time of training and evaluation, s."""

    train: float
    evaluate: float


@dataclass(frozen=True, kw_only=True)
class Result:
    """Line of a results file: a policy (``mark`` 0), or a training measured at one mark. None means not recorded.

    Args:
        id, fingerprint: Environment, and digest of its behaviour.
        seed, mark, steps: Seed of a training, its step budget, and steps taken until the policy was reported.
        failed: Reason for the failure of a training.
        env: Arguments of the environment.
        made: Versions, processor and commit.
        weights: Digest of the policy's files, the name of their folder in ``weights``.
    """

    id: str
    fingerprint: str
    entrant: Entrant
    track: Literal["fixed", "open"]
    seed: Count
    mark: Count
    steps: Count
    failed: str | None
    env: dict[str, Any]
    score: ScoreName
    episodes: Measurement
    seconds: Seconds
    made: dict[str, str]
    weights: str | None

    @property
    def label(self) -> str:
        """Id, entrant and, for a training, seed and mark."""
        training = f", seed {self.seed}, mark {self.mark}" if self.mark else ""
        return f"{self.id.split('/')[1]}, {self.entrant.name}{training}"


def spread(scores: Sequence[float]) -> dict[str, float]:
    """Return mean and standard deviation of scores."""
    return {"mean": float(np.mean(scores)), "sd": float(np.std(scores, ddof=1)) if len(scores) > 1 else 0.0}


def read(file: Path) -> list[Result]:
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
        raise ValueError(f"file {str(file)!r} cannot be read: {advice(file, 'results') or error}") from None
    lines = []
    for k, text in enumerate(texts, 1):
        try:
            content = schema.parse_json(text)
            schema.mapping("a line", content)
            choice("$id", content.pop("$id", None), [FORMAT])
            line = schema.read(Result, content, "a line")
            choice("id", line.id, all_ids())
            check_names(line.id, line.env)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{str(file)!r}, line {k}: {advice(file, 'results') or error}") from None
        lines.append(line)
    return lines


def write(file: Path, lines: Iterable[Result]) -> None:
    """Write lines to a file, compressed if its suffix is ``.xz``."""
    contents = ({"$id": FORMAT, **schema.plain(each)} for each in lines)
    texts = (json.dumps(each, allow_nan=False, separators=(",", ":")) + "\n" for each in contents)
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


def failures(lines: Iterable[Result]) -> list[str]:
    """Return a message for each failed training, with the reason."""
    return [
        f"{each.label}: {each.failed}{'' if each.weights else '; it counts as zero actions'}"
        for each in lines
        if each.failed is not None
    ]
