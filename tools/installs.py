"""Measure what each extra adds to the plain install, on Linux: ``python -m tools.installs [EXTRA ...]``.

The result is the table of ``docs/guides/install.md``. ``docs/installs.json`` also has a digest of the requirements of
each row, which `publish` compares with the present ones. Each row is installed into an environment of its own, on top
of the plain install and, if it needs torch, of torch's CPU build.
"""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gymnosoma.agents.benchmark.tables import markdown
from gymnosoma.agents.policies.fingerprints import values_digest

from .clone import ROOT, put

GUIDE, MEASURED, PINS = "docs/guides/install.md", "docs/installs.json", "constraints.txt"
TORCH = ("torch",)
PURPOSES = {
    "none": "environments, `simulate`, `play`, `evaluate`, `fit`, `import`, stills",
    "film": "films, .mp4 and .gif",
    "data": "pandas, curves, figures of the papers",
    "recordings": "HDF5 (Tierpsy, DeepLabCut) and SLEAP",
    "offline": "Minari's datasets",
    "cluster": "Ray, for jobs on several machines",
    "peers": "programs with which speed is compared",
    "torch": "the CPU build of torch, which all that follow need",
    "train": "learning, learning curves, films",
    "notebook": "`train` and JupyterLab",
    "docs": "`train` and this site",
    "dev": "`train`, `data`, `recordings`, `offline`, `cluster`, `docs`, libraries of the examples, tests, linters",
    "rllib": "RLlib, in an environment of its own",
}
"""Extras and their purposes; the rows from ``train`` on are installed on top of torch."""

OWN_PINS = {"rllib": "constraints-rllib.txt"}
"""Extras with versions of their own."""


def requirements(extra: str, root: Path) -> list[str]:
    """Return the requirements of the package with an extra, and those of the extras that it includes."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    optional = project["optional-dependencies"]

    def of(name: str) -> Iterator[str]:
        for each in optional.get(name, TORCH if name == "torch" else ()):
            included = re.fullmatch(r"gymnosoma\[(.*)\]", each)
            yield from (line for other in included[1].split(",") for line in of(other)) if included else (each,)

    return [*project["dependencies"], *of(extra)]


def digest(extra: str, root: Path) -> str:
    """Return a digest of what a row depends on: requirements, and the versions to which they are pinned."""
    pins = (root / OWN_PINS.get(extra, PINS)).read_text("utf-8").splitlines()
    return values_digest(requirements(extra, root), [line for line in pins if not line.startswith("#")])


def measure(extra: str) -> dict[str, int]:
    """Install an extra; return the number of its packages, wheels and disk space in MB, processor time in s."""
    later = list(PURPOSES).index(extra) > list(PURPOSES).index("torch")
    below = [] if extra == "none" else ["none", *(["torch"] if later else [])]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = folder / "venv" / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        for each in [*below, extra]:
            packages, disk = _packages(python), _megabytes(folder / "venv")
            wheels = folder / each
            pip: list[str | Path] = [python, "-m", "pip", "-q"]
            pins: list[str | Path] = ["-c", ROOT / OWN_PINS.get(extra, PINS)]
            asked = requirements(each, ROOT)
            subprocess.run([*pip, "wheel", *pins, "-w", wheels, *asked], check=True)
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([*pip, "install", "--no-cache-dir", *pins, *asked], check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
        new = _packages(python) - packages
        names = {re.sub(r"[-_.]+", "-", each).lower() for each in new}
        files = [each for each in wheels.iterdir() if re.sub(r"[-_.]+", "-", each.name.split("-")[0]).lower() in names]
        return {
            "packages": len(new),
            "download": round(sum(each.stat().st_size for each in files) / 1e6),
            "disk": round(_megabytes(folder / "venv") - disk),
            "seconds": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime),
        }


def _packages(python: Path) -> set[str]:
    listed = subprocess.run([python, "-m", "pip", "list", "--format", "json"], capture_output=True, check=True)
    return {each["name"] for each in json.loads(listed.stdout)}


def _megabytes(folder: Path) -> float:
    return sum(each.stat().st_size for each in folder.rglob("*") if each.is_file()) / 1e6


def table(measured: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the table of the guide."""
    numbers = ("packages", "download", "disk", "seconds")
    rows = [
        [name if name in ("none", "torch") else f"`{name}`", words, *(str(measured[name][each]) for each in numbers)]
        for name, words in PURPOSES.items()
        if name in measured
    ]
    return markdown(["extra", "for", "packages", "download, MB", "disk, MB", "CPU s"], rows)


def stale(root: Path) -> Iterator[str]:
    """List the rows whose requirements have changed."""
    measured = json.loads((root / MEASURED).read_text("utf-8"))
    for extra in PURPOSES:
        if measured.get(extra, {}).get("digest") != digest(extra, root):
            yield f"{GUIDE}: requirements of {extra} have changed: run `python -m tools.installs {extra}`"
    if table(measured) not in (root / GUIDE).read_text("utf-8"):
        yield f"{GUIDE}: sizes differ from {MEASURED}"


def main() -> None:
    """Measure the extras named by the arguments, all by default, and write the table."""
    path, guide = ROOT / MEASURED, ROOT / GUIDE
    measured = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    for extra in sys.argv[1:] or PURPOSES:
        measured[extra] = measure(extra) | {"digest": digest(extra, ROOT)}
        print(extra, measured[extra], flush=True)
        rows = {name: measured[name] for name in PURPOSES if name in measured}
        path.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
        guide.write_text(put(guide.read_text("utf-8"), "installs", table(rows)), "utf-8")


if __name__ == "__main__":
    main()
