"""Fingerprints of what the papers' numbers and the worm's tables depend on.

``docs/papers.json`` has the fingerprint with which each figure of ``docs/papers.csv`` and the tables of
``papers.worm.circuits`` and ``papers.worm.medium`` were computed. `stale` lists those that differ from the present
code.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from gymnosoma.agents.policies.fingerprints import env_fingerprint, policy_fingerprint, rounded, values_digest
from gymnosoma.agents.policies.lookup import find_policy
from gymnosoma.envs import simulate
from gymnosoma.envs.core.model.animal import Animal, find_animal
from gymnosoma.envs.neuromechanic.hindlimb import hindlimb
from gymnosoma.envs.neuromechanic.standing import standing
from gymnosoma.envs.worm import Worm

from .paper import PAPERS, printed

ROOT = Path(__file__).resolve().parents[1]
RECORD = "docs/papers.json"
CIRCUITS = "worm circuits"
MEDIUM = "worm medium"
"""Names of the tables of the worm's circuits and of its gaits over the medium in `RECORD`; the others are an animal and
a figure."""


def behaviour(animal: Animal, drive: Any = None, **start: Any) -> str:
    """Return a digest of all signals of an animal in its first tenth of a second, with six digits."""
    run = simulate(animal, drive, 0.1, every=0.01, start=start)
    return values_digest(repr(run), rounded(run[name] for name in run))


def code(path: Path) -> str:
    """Return a digest of a module without its comments and docstrings, or of the text of another file."""
    text = path.read_text("utf-8")
    if path.suffix != ".py":
        return values_digest(text)
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body[0] = ast.Pass()
    return values_digest(ast.unparse(tree))


@cache
def fingerprint(name: str) -> str:
    """Return the fingerprint of an animal's figures, or of `CIRCUITS`."""
    folder = ROOT / "papers"
    if name == CIRCUITS:
        worms = [Worm(circuit=circuit) for circuit in ("boyle", "ventral_cord")]
        return values_digest(code(folder / "worm" / "circuits.py"), *(behaviour(each, np.zeros(24)) for each in worms))
    if name == MEDIUM:
        env_id = "gymnosoma/WormMedium-v0"
        shown = [policy_fingerprint(env_id, find_policy(env_id, each)) for each in ("trained", "boyle")]
        files = (folder / "worm" / "medium.py", ROOT / "assets" / "worm" / "sines.toml")
        return values_digest(*map(code, files), env_fingerprint(env_id, {}), *shown)
    kind: Any = find_animal(name)
    if name == "neuromechanic":
        models = [kind(description) for description in (hindlimb(), standing())]
    else:
        models = [kind(**{solver: value}) for solver, values in kind.solvers.items() for value in values]
    modules = sorted(
        {*(folder / name).glob("*.py")} - {folder / "worm" / f"{each}.py" for each in ("circuits", "medium")}
    )
    return values_digest(*map(code, [*modules, folder / f"{name}.csv"]), *map(behaviour, models))


def names() -> Iterator[tuple[str, str]]:
    """Yield the name of each entry of `RECORD`, and of its fingerprint."""
    yield from ((f"{animal} {figure}", animal) for animal in PAPERS for figure in printed(animal))
    yield CIRCUITS, CIRCUITS
    yield MEDIUM, MEDIUM


def record(entries: Iterable[str], root: Path = ROOT) -> None:
    """Write the fingerprints of entries that have been computed."""
    path, computed = root / RECORD, {*entries}
    known = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    known |= {name: fingerprint(own) for name, own in names() if name in computed}
    path.write_text(json.dumps({name: known[name] for name, _ in names() if name in known}, indent=1) + "\n", "utf-8")


def stale(root: Path = ROOT) -> Iterator[str]:
    """List the figures and tables that were computed with other code."""
    known = json.loads((root / RECORD).read_text("utf-8"))
    for name, own in names():
        if known.get(name) != fingerprint(own):
            animal, _, figure = name.partition(" ")
            module = f"papers {animal} --figure {figure} --page docs/papers.md"
            module = f"papers.{own.replace(' ', '.')}" if own in (CIRCUITS, MEDIUM) else module
            yield f"{RECORD}: {name} has changed: run `python -m {module}`"
