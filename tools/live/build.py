"""Build the interactive pages: a script for all animals, one for each animal, and HTML pages."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from pathlib import Path

from gymnosoma.envs.core.draw import canvas
from gymnosoma.envs.core.files import replacing

from ..clone import ROOT
from .modules import ANIMALS
from .wasm import LARGEST

SCRIPTS = ROOT / "docs" / "live"

SHARED = ("engine.js", "canvas.js", "show.js")
"""Parts of ``live.js``, in order."""

COLOURS = ("PAPER", "CARD", "RULE", "MUTED", "INK", "GOAL", "WARM", "COLD", "FORE", "AFT")

PAGES = {
    "worm": (
        "Interactive worm",
        "*C. elegans* of Chung, Chang & Kim (2024). Choose a medium from water to agar, and drive the worm with the "
        "paper's wave, your own wave, or the recorded joint angles of a turning worm. Arrows show the friction. The "
        "stripes show the angles of the joints over time, head on top: the muscles' command, and the actual angles. "
        "The score is the speed minus the cost of muscle work, as in the tasks WormSwim and WormCrawl. "
        "Click or drag in the picture: the worm steers there.",
    ),
    "lamprey": (
        "Interactive lamprey",
        "Body and spinal cord of Ekeberg (1993), with all neurons. Click on the body or move the slider to cut the "
        "cord there. Click or drag elsewhere: the lamprey steers there.",
    ),
    "vibrissa": (
        "Interactive whisker chain",
        "A rat's whisker of Quist et al. (2014) that sweeps past a peg, and the forces on its base. Drag the peg.",
    ),
    "whisker": (
        "Interactive whisker rod",
        "Stick-slip of the whisker of Oladazimi, Putelat et al. (2021) in slow motion, with its moment as sound.",
    ),
    "figure": (
        "Interactive standing figure",
        "A standing person with the delayed reflexes of Bunderson et al. (2012). Push the ground by a drag to the "
        "side, and see whether the figure falls.",
    ),
    "limb": (
        "Interactive cat hindlimb",
        "The 31 muscles of Bunderson et al. (2012) hold a posture. Drag the ankle, or push it.",
    ),
}
"""Heading and text of each page."""

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<link rel="stylesheet" href="live.css">
</head>
<body class="gs-page">
<h1>{title}</h1>
<p>{text}</p>
{body}
</body>
</html>
"""


def _written(path: Path, text: str) -> None:
    if not path.is_file() or path.read_text("utf-8") != text:
        with replacing(path) as file:
            file.write(text.encode())


def animal_script(name: str) -> str:
    """Return the script of an animal, with its module, table and picture.

    Raises:
        ValueError: If the module has more than `LARGEST` bytes.
    """
    live = ANIMALS[name]()
    module = live.module()
    if len(module) > LARGEST:
        raise ValueError(f"module {name} must have at most {LARGEST} bytes, got {len(module)}")
    about = live.table() | {"wasm": base64.b64encode(module).decode()}
    scene = (SCRIPTS / f"{name}.js").read_text("utf-8")
    return f'gymnosoma.add("{name}", {json.dumps(about, separators=(",", ":"))});\n{scene}'


def embedded(name: str, folder: str = "", inside: str = "") -> str:
    """Return HTML that shows an animal with scripts from ``folder``; ``inside`` is the fallback if it cannot run."""
    scripts = "".join(f'<script src="{folder}{file}.js"></script>\n' for file in ("live", name))
    return f'<div data-gymnosoma="{name}">{inside}</div>\n{scripts}'


def _page(title: str, text: str, body: str) -> str:
    return PAGE.format(title=title, text=re.sub(r"\*(.+?)\*", r"<em>\1</em>", text).replace("&", "&amp;"), body=body)


def write(folder: Path, names: Iterable[str] = tuple(ANIMALS)) -> dict[str, int]:
    """Write scripts, style sheet and pages into a folder.

    Args:
        folder: Output folder; created if it does not exist.
        names: Animals; all by default.

    Returns:
        dict: Size in bytes of each file in the folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    colours = {name.lower(): getattr(canvas, name) for name in COLOURS}
    parts = [(SCRIPTS / name).read_text("utf-8") for name in SHARED]
    parts.insert(1, f"gymnosoma.colours = {json.dumps(colours)};\n")
    _written(folder / "live.js", "\n".join(parts))
    _written(folder / "live.css", (SCRIPTS / "live.css").read_text("utf-8"))
    for name in names:
        _written(folder / f"{name}.js", animal_script(name))
        _written(folder / f"{name}.html", _page(*PAGES[name], embedded(name)))
    links = "\n".join(f'<li><a href="{name}.html">{PAGES[name][0]}</a></li>' for name in names)
    _written(folder / "index.html", _page("Interactive animals", "The same kernels as in Python.", f"<ul>{links}</ul>"))
    return {path.name: path.stat().st_size for path in sorted(folder.iterdir()) if path.is_file()}
