"""Measure what each extra of the package adds to the plain install, and write the table of the guide "Install".

``python docs/extras.py`` installs the package and every extra into empty environments, one after another, which takes
about ten minutes; ``python docs/extras.py film data`` repeats two of them. ``docs/extras.csv`` keeps the measurements.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import urllib.request
from pathlib import Path
from tempfile import TemporaryDirectory

from gymnosoma.agents.benchmark.tables import markdown
from tools.clone import put

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "guides" / "install.md"
CSV = ROOT / "docs" / "extras.csv"
LEARN = "train", "docs", "notebook", "dev", "rllib"
"""Extras that need torch, which is measured apart, because its size depends on the build."""

USES = {
    "none": "environments, `simulate`, `play`, `evaluate`, `fit`, `import`, stills",
    "film": "films, .mp4 and .gif",
    "data": "pandas, curves, figures of the papers",
    "recordings": "HDF5 (Tierpsy, DeepLabCut) and SLEAP",
    "offline": "Minari's datasets",
    "peers": "programs with which speed is compared",
    "torch": "the CPU build of torch, which all that follow need",
    "train": "learning, learning curves, films",
    "notebook": "`train` and JupyterLab",
    "docs": "`train` and this site",
    "dev": "`train`, `data`, `recordings`, `docs`, tests and linters",
    "rllib": "RLlib, in an environment of its own",
}


def size(url: str) -> int:
    """Return the number of bytes of a file on the disk or on a server."""
    if url.startswith("file://"):
        return Path(urllib.request.url2pathname(url.removeprefix("file://"))).stat().st_size
    with urllib.request.urlopen(urllib.request.Request(url, method="HEAD")) as reply:
        return int(reply.headers["Content-Length"])


def pip(python: Path, *arguments: str | Path) -> list[str]:
    """Run pip, and return the addresses of the files that it installed or, with ``--dry-run``, would install."""
    with TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [python, "-m", "pip", "install", "-q", "--no-cache-dir", "--report", report, *arguments]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        return [item["download_info"]["url"] for item in json.loads(report.read_text())["install"]]


def disk(folder: Path) -> int:
    """Return the bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def measure(wheel: Path, extra: str, table: dict[str, list[float]]) -> None:
    """Install an extra into an empty environment; add packages, download (MB), disk (MB) and processor time (s)."""
    constraints = ROOT / ("constraints-rllib.txt" if extra == "rllib" else "constraints.txt")
    package = f"gymnosoma[{extra}] @ {wheel.as_uri()}" if extra != "none" else str(wheel)
    with TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        [site] = Path(folder).glob("lib/python*/site-packages")
        for name in ["torch", package] if extra in LEARN else [package]:
            before, begun = disk(site), resource.getrusage(resource.RUSAGE_CHILDREN)
            files = pip(Path(folder) / "bin" / "python", "-c", constraints, name)
            ended = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds = ended.ru_utime + ended.ru_stime - begun.ru_utime - begun.ru_stime
            amounts = [len(files), sum(map(size, files)) / 1e6, (disk(site) - before) / 1e6, seconds]
            table[name if name == "torch" else extra] = amounts
            print(extra, name, *(f"{amount:,.0f}" for amount in amounts), flush=True)


def main() -> None:
    """Measure the extras on the command line, by default all of them, and write the table."""
    table: dict[str, list[float]] = {}
    if sys.argv[1:]:
        lines = CSV.read_text("utf-8").splitlines()
        table = {name: list(map(float, amounts)) for name, *amounts in (line.split(",") for line in lines)}
    with TemporaryDirectory() as folder:
        build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ROOT]
        subprocess.run(build, check=True, stderr=subprocess.DEVNULL)
        [wheel] = Path(folder).glob("*.whl")
        for extra in sys.argv[1:] or [name for name in USES if name != "torch"]:
            measure(wheel, extra, table)
            lines = [",".join([name, *(f"{amount:.1f}" for amount in table[name])]) for name in USES if name in table]
            CSV.write_text("\n".join(lines) + "\n", "utf-8")
    write(table)


def write(table: dict[str, list[float]]) -> None:
    """Write the table of the guide."""
    rows = []
    for name in (name for name in USES if name in table):
        less = table["none"] if name not in ("none", "torch") else [0.0] * 4
        numbers = (f"{amount - core:,.0f}" for amount, core in zip(table[name], less, strict=True))
        rows.append((name if name in ("none", "torch") else f"`{name}`", USES[name], *numbers))
    head = "extra", "for", "packages", "download, MB", "disk, MB", "CPU s"
    PAGE.write_text(put(PAGE.read_text("utf-8"), "extras", markdown(head, rows)), "utf-8")


if __name__ == "__main__":
    main()
