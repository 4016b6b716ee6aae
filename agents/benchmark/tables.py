"""Tables of the mean score of each entrant on each environment, in the unit of the score and on a common scale.

On the scale, 0 is the animal's own controller. 1 is a limit that no policy can exceed or, where none is
known, the score of an oracle.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gymnosoma.envs import CATALOGUE
from gymnosoma.envs.core.env.documentation import normaliser

from ..learning.search import CONSTANT
from ..policies.lookup import REPLAY
from ..policies.registry import all_ids, references_of, task_class
from .entrants import RECIPE
from .protocol import TRAININGS, episodes_of
from .results import Measurement, Result
from .statistics import Estimate, combined, estimate, holm, of_points

LEAST = -1.0
"""Lower limit of scaled scores in means over environments; lower scores are clipped."""

RANKED = [f"gymnosoma/{entry.name}" for entry in CATALOGUE if entry.ranked]


@dataclass
class Cell:
    """Results of an entrant on one environment: one policy, or several trainings.

    Attributes:
        score: Mean score, in the unit of the score.
        scaled: Mean score on the scale of the environment, or None without a scale.
        clipped: Scaled mean with scores clipped at `LEAST`.
        points: Mean score of each training, if there are several.
        scaled_points: These scores on the scale.
        failed, succeeded: Fractions of failed and of successful episodes, or None if unknown.
        broken: Number of failed trainings.
    """

    lines: list[Result]
    score: Estimate = field(init=False)
    scaled: Estimate | None = field(init=False, default=None)
    clipped: Estimate | None = field(init=False, default=None)
    scaled_points: list[float] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        """Compute the estimates from the lines."""
        self.points = [each.episodes.mean for each in self.lines] if len(self.lines) > 1 else []
        self.failed = self._mean([each.episodes.failed for each in self.lines])
        self.succeeded = self._mean([each.episodes.succeeded for each in self.lines])
        self.broken = sum(each.failed is not None for each in self.lines)
        episodes = self.lines[0].episodes
        scale = normaliser(self.lines[0].id)
        self.score = of_points(self.points) if self.points else self._single(episodes, 0.0, 1.0)
        if scale is not None:
            floor, length = scale["floor"], scale["best"] - scale["floor"]
            if self.points:
                self.scaled_points = [(point - floor) / length for point in self.points]
                self.scaled = of_points(self.scaled_points)
                self.clipped = of_points(np.maximum(self.scaled_points, LEAST))
            else:
                self.scaled = self._single(episodes, floor, length)
                self.clipped = self.scaled._replace(mean=max(self.scaled.mean, LEAST))

    @staticmethod
    def _mean(shares: Sequence[float | None]) -> float | None:
        numbers = [share for share in shares if share is not None]
        return float(np.mean(numbers)) if numbers else None

    @staticmethod
    def _single(episodes: Measurement, floor: float, length: float) -> Estimate:
        return estimate((episodes.mean - floor) / length, (episodes.sd or 0.0) / length, episodes.count)


@dataclass
class Row:
    """Results of an entrant at one mark.

    Args:
        mark: Number of steps; 0 for a policy, and for the recipe, which has its own number of steps.
        episodes: Number of episodes if it differs from the protocol, else None.
    """

    track: str
    mark: int
    entrant: str
    episodes: int | None
    cells: dict[str, Cell]

    @property
    def name(self) -> str:
        """Name of the entrant, with the number of episodes if it differs from the protocol."""
        return self.entrant if self.episodes is None else f"{self.entrant}, {self.episodes} episodes"

    @property
    def lines(self) -> list[Result]:
        """Lines of all environments."""
        return [line for cell in self.cells.values() for line in cell.lines]

    @property
    def learns(self) -> bool:
        """Whether the entrant is a learner."""
        return any(line.mark for line in self.lines)

    @property
    def mean(self) -> Estimate | None:
        """Unweighted mean over all ranked environments, or None if environments or trainings are missing."""
        cells = [self.cells[env_id] for env_id in RANKED if env_id in self.cells]
        clipped = [cell.clipped for cell in cells if cell.clipped is not None]
        fewest = min((len(cell.lines) for cell in cells), default=0)
        if self.episodes or len(clipped) < len(RANKED) or fewest < (TRAININGS if self.learns else 1):
            return None
        return combined(clipped, [1.0 / len(clipped)] * len(clipped))


def rows_of(lines: Iterable[Result]) -> list[Row]:
    """Group lines into rows, with policies first, then learners by track and mark.

    A training counts once, however often it is among the lines. Another version of an entrant has its own row.

    Raises:
        ValueError: If lines come from different versions of an environment.
    """
    groups: dict[tuple[Any, ...], dict[str, dict[tuple[int, int], Result]]] = {}
    digests: dict[tuple[str, str], str] = {}
    fingerprints: dict[tuple[str, str], str] = {}
    for each in lines:
        name, mark, count = each.entrant.name, each.mark, each.episodes.count
        env_id, digest = each.id, each.entrant.digest
        if fingerprints.setdefault((env_id, json.dumps(each.env)), each.fingerprint) != each.fingerprint:
            raise ValueError(f"results must be of one version of {env_id}, got {name} measured on another")
        few = None if count == episodes_of(env_id) else count
        learns = mark and name != RECIPE
        first = digests.setdefault((name, "" if learns else env_id), digest)
        if digest != first:
            name += f" (version {digest})"
        key = (each.track, mark if learns else 0, name, few)
        groups.setdefault(key, {}).setdefault(env_id, {}).setdefault((each.seed, mark), each)
    order = {env_id: k for k, env_id in enumerate(all_ids())}
    rows = [
        Row(track, mark, name, few, {k: Cell([*cells[k].values()]) for k in sorted(cells, key=order.__getitem__)})
        for (track, mark, name, few), cells in groups.items()
    ]
    return sorted(rows, key=lambda row: (row.learns, row.mark > 0, row.track, -row.mark))


def at(rows: Sequence[Row], env_id: str) -> dict[str, Cell]:
    """Return the cells of one environment by entrant: policies and the recipe, with the protocol's episodes."""
    return {
        row.entrant: row.cells[env_id] for row in rows if not row.mark and row.episodes is None and env_id in row.cells
    }


def ahead(rows: Sequence[Row]) -> set[str]:
    """Return the ids for which training with the recipe beats all fixed policies.

    Each difference must have p < 0.05 in Welch's test. The largest p-value of each id is Holm-corrected for the number
    of ids.
    """
    largest = {}
    for env_id in all_ids():
        cells = at(rows, env_id)
        others = _fixed(cells).values()
        if RECIPE in cells and others:
            differences = [combined([cells[RECIPE].score, other.score], [1.0, -1.0]) for other in others]
            largest[env_id] = max(each.p if each.mean > 0.0 else 1.0 for each in differences)
    return {env_id for env_id, p in zip(largest, holm([*largest.values()]), strict=True) if p < 0.05}


def _fixed(cells: Mapping[str, Cell]) -> dict[str, Cell]:
    """Return the cells of the policies that training is compared with."""
    return {name: cell for name, cell in cells.items() if name not in ("random", "trained", RECIPE)}


def text(value: Estimate | None, points: Sequence[float] = (), digits: str = ".3g") -> str:
    """Format a mean with its interval and, for several trainings, the lowest score."""
    if value is None:
        return ""
    least = f", least {min(points):z{digits}}" if points else ""
    low, high = value.interval
    return f"{value.mean:z{digits}} [{low:z{digits}}, {high:z{digits}}]{least}"


def percent(*shares: float | None) -> str:
    """Format fractions as percentages, side by side; empty if none is known.

    Only fractions of exactly 0 and 1 are shown as 0% and 100%.

    Examples:
        >>> percent(0.0, 0.001, None, 0.774, 0.999)
        '0% / <1% / ? / 77% / >99%'
    """
    if all(share is None for share in shares):
        return ""
    return " / ".join(
        "?" if share is None else "<1%" if 0.0 < share < 0.005 else ">99%" if 0.995 <= share < 1.0 else f"{share:.0%}"
        for share in shares
    )


def escaped(text: str) -> str:
    """Escape the characters that have a meaning in Markdown or HTML."""
    return re.sub(r"([\\`*_\[\]<>|&$~])", r"\\\1", text)


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Format a table in Markdown."""
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *rows])


def policies(rows: Sequence[Row]) -> str:
    """Format a Markdown table of fixed policies and of the recipe, in the unit of each score."""
    head = ["id", "score", "animal's own controller", "best other reference"]
    head += ["best constant parameters", "replay", f"trained by the recipe{_trainings(rows)}", "trained, shipped"]
    head += ["counts as 1", "failed: animal / recipe / shipped", "succeeded: animal / recipe / shipped"]
    bold, lines = ahead(rows), []
    for env_id in all_ids():
        cells = at(rows, env_id)
        if not cells:
            continue
        own = cells["baseline"].score.mean if "baseline" in cells else -math.inf
        others = {name: cells[name] for name in references_of(env_id) if name in cells and name != "baseline"}
        best = max(others, key=lambda name: others[name].score.mean, default=None)
        better = best is not None and others[best].score.mean > own
        replay = next((cell for name, cell in cells.items() if name.startswith(REPLAY)), None)
        score, scale = task_class(env_id).score, normaliser(env_id)
        name = score.name.removeprefix("is_").replace("_", " ")
        recipe, shown = _text(cells.get(RECIPE)), [cells.get(name) for name in ("baseline", RECIPE, "trained")]
        lines.append(
            [
                f"`{env_id.split('/')[1]}`",
                name if score.unit == "1" else f"{name}, {score.unit}",
                _text(cells.get("baseline")),
                f"{_text(others[best])} `{best}`" if better and best else "",
                _text(cells.get(CONSTANT)),
                _text(replay),
                f"**{recipe}**" if env_id in bold else recipe,
                _text(cells.get("trained")),
                f"{scale['best']:g}" if scale else "",
                percent(*(cell.failed if cell else None for cell in shown)),
                percent(*(cell.succeeded if cell else None for cell in shown)),
            ]
        )
    return markdown(head, lines) if lines else ""


def summary(rows: Sequence[Row]) -> str:
    """Format the main results as a Markdown list."""
    bold, above, best, close = ahead(rows), [], [], []
    for env_id in all_ids():
        cells = at(rows, env_id)
        others = {name: cell.score.mean for name, cell in _fixed(cells).items()}
        if RECIPE in cells and "baseline" in others:
            strongest = max(others, key=others.__getitem__)
            above.append(min(cells[RECIPE].points or [cells[RECIPE].score.mean]) > others["baseline"])
            best.append(cells[RECIPE].score.mean > others[strongest])
            close += [f"{env_id.split('/')[1]} (`{strongest}`)"] * (env_id not in bold)
    lines = []
    if above:
        lines = [
            f"Every training by the recipe of an id ends above the animal's own controller on {sum(above)} of "
            f"{len(above)} ids.",
            f"The mean of these trainings is above every policy that does not learn on {sum(best)} ids, on "
            f"{len(above) - len(close)} significantly (bold in the table)."
            + f" The others, with the best policy that does not learn, are {', '.join(close)}."
            * bool(close),
        ]
    for row in {row.entrant: row for row in reversed(rows) if row.mark}.values():  # after most steps
        trainings = [cell.scaled_points or [cell.scaled.mean] for cell in row.cells.values() if cell.scaled]
        lines.append(
            f"Every training of `{row.name}` is above the animal's own controller after {row.mark:,} steps on "
            f"{sum(min(points) > 0.0 for points in trainings)} of {len(trainings)} ids."
        )
    return "\n".join(f"- {line}" for line in lines)


def _trainings(rows: Sequence[Row]) -> str:
    """Return the number of trainings by the recipe on each environment, in parentheses; empty if there are none."""
    counts = [len(cell.lines) for row in rows if row.entrant == RECIPE for cell in row.cells.values()]
    return f" ({_range(counts)} trainings)" if counts else ""


def _range(numbers: Iterable[int]) -> str:
    """Format integers as their range, or as one number if they are equal."""
    ordered = sorted(numbers)
    return " to ".join(f"{number:,}" for number in dict.fromkeys((ordered[0], ordered[-1])))


def _text(cell: Cell | None) -> str:
    return "" if cell is None else text(cell.score)


def learners(rows: Sequence[Row]) -> str:
    """Format Markdown tables of learners, one per track and mark, on the scale of each environment."""
    groups: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        if row.mark:
            groups.setdefault((row.track, row.mark), []).append(row)
    parts = []
    for (track, mark), group in groups.items():
        ids = [env_id for env_id in all_ids() if any(env_id in row.cells for row in group)]
        lines = [
            [
                f"`{env_id.split('/')[1]}`",
                *(
                    text(cell.scaled, cell.scaled_points, ".2f") if (cell := row.cells.get(env_id)) else ""
                    for row in group
                ),
            ]
            for env_id in ids
        ]
        lines += [
            ["**mean**", *(text(row.mean, (), ".2f") for row in group)],
            ["trainings of each id", *(_range(len(cell.lines) for cell in row.cells.values()) for row in group)],
            ["steps of a training", *(_range(each.steps for each in row.lines) for row in group)],
            ["trainings that failed", *(str(sum(cell.broken for cell in row.cells.values())) for row in group)],
        ]
        table = markdown(["id", *(escaped(row.name) for row in group)], lines)
        parts.append(f"### After {mark:,} steps, track {track}\n\n{table}\n")
    return "\n".join(parts)
