"""Fingerprints of environments and source code, used to check whether saved results are still valid."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from gymnosoma.envs.wrappers import make_vec

PROBE_SEED, PROBES, PROBE_STEPS = 77_000, 4, 50
"""First seed, number and length of the episodes that probe the behaviour of an environment. They have no other use."""

NOISE = 1e-9
"""Absolute value below which a number counts as 0, such as the lean of a symmetric stance (rounding, up to 4e-13)."""


def values_digest(*values: Any) -> str:
    """Return a digest of plain values. The order of keys has no effect."""
    return hashlib.sha256(json.dumps(values, sort_keys=True, default=repr).encode()).hexdigest()[:16]


def files_digest(*paths: Path) -> str:
    """Return a digest of the contents of files, in the order of the arguments."""
    digests = []
    for path in paths:
        with path.open("rb") as file:
            digests.append(hashlib.file_digest(file, "sha256").hexdigest())
    return values_digest(*digests)


def env_fingerprint(env_id: str, env: Mapping[str, Any]) -> str:
    """Return a fingerprint of an environment's behaviour: its spaces, its score and the first steps of some episodes.

    Observations and rewards have a scale of 1. They are rounded to six digits, and values below `NOISE` to 0, so that
    the fingerprint does not depend on the processor. The argument ``split``, which selects the range of hidden options,
    has no effect.
    """
    spec: Any = gymnasium.spec(env_id)
    env = {name: value for name, value in env.items() if name != "split"}
    key = values_digest(env_id, spec.kwargs, env)
    if key in _cache:
        return _cache[key]
    envs: Any = make_vec(env_id, num_envs=PROBES, **env)
    try:
        spaces = [envs.single_observation_space, envs.single_action_space]
        facts = [key, spec.max_episode_steps, envs.task.control_rate, repr(envs.task.score)]
        facts += [[space.shape, space.low.tolist(), space.high.tolist()] for space in spaces]
        outputs = [envs.reset(seed=PROBE_SEED)[0]]
        for k in range(PROBE_STEPS):
            wave = np.sin(0.1 * k + np.arange(envs.task.action_size))
            outputs += envs.step(np.tile(wave, (PROBES, 1)).astype(np.float32))[:2]
    finally:
        envs.close()
    counted = [np.where(np.abs(each) < NOISE, 0.0, each).ravel().tolist() for each in outputs]
    _cache[key] = values_digest(facts, [[f"{value + 0.0:.6g}" for value in each] for each in counted])
    return _cache[key]


_cache: dict[str, str] = {}
"""Fingerprints computed in this process, by key."""


def sources_digest(*modules: str, within: str = "gymnosoma") -> str:
    """Return a digest of the sources of modules and of the modules that they import.

    Imports count if they are ``within`` the given package, in the module's own top-level package, or beside a module
    that is not installed. The digest also covers the files in ``assets`` of each animal involved.
    """
    paths: dict[str, Path] = {}
    names, own = list(modules), {name.partition(".")[0] for name in modules}
    for folder in {Path(spec.origin).parent for spec in map(_spec, modules) if spec} if "gymnosoma" not in own else ():
        own |= {path.stem for path in folder.iterdir() if "site-packages" not in folder.parts}
    prefixes = tuple(f"{package}." for package in (within, *own - {"gymnosoma"}))
    for name in names:  # imported names are appended during the loop
        spec = None if name in paths else _spec(name)
        if spec is None:
            continue
        paths[name] = Path(spec.origin)
        package = name if spec.submodule_search_locations else name.rpartition(".")[0]
        imported = _imported(paths[name].read_bytes(), package)
        names += [each for each in imported if f"{each}.".startswith(prefixes)]
    animals = sorted({name.split(".")[2] for name in paths if name.startswith("gymnosoma.envs.")} - {"core"})
    folders = [Path(str(resources.files("gymnosoma.assets").joinpath(animal))) for animal in animals]
    tables = [path for folder in folders for path in sorted(folder.glob("*")) if path.is_file()]
    return files_digest(*(paths[name] for name in sorted(paths)), *tables)


def _spec(name: str) -> Any:
    """Return the spec of a Python module, or None if the name is not a module, such as an imported class."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    return spec if spec is not None and (spec.origin or "").endswith(".py") else None


def _imported(source: bytes, package: str) -> list[str]:
    """Return all names that a source imports, also within functions. Some of them may not be modules."""
    names: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            names += [base, *(f"{base}.{each.name}" for each in node.names)]
    return names
