"""Writes the page: a file of what all animals share, one for each animal, and pages that show them."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from pathlib import Path

import gymnosoma
from gymnosoma.envs.core.draw import canvas
from gymnosoma.envs.core.files import replacing

from .modules import ANIMALS
from .wasm import LARGEST

SHARED = ("engine.js", "canvas.js", "show.js")
"""Files of ``live.js``, in their order."""

COLOURS = ("PAPER", "CARD", "RULE", "MUTED", "INK", "GOAL", "WARM", "COLD", "FORE", "AFT")

PAGES = {
    "worm": (
        "The worm, alive",
        "*C. elegans* of Chung, Chang & Kim (2024): from water to agar, by the paper's wave or one that you set, or by "
        "the muscles of a real worm that turns. Arrows are the friction on its rods.",
    ),
    "lamprey": (
        "The lamprey, alive",
        "The body and the spinal cord of Ekeberg (1993), each neuron of it. Click on the body, or move the slider, to "
        "cut the cord there.",
    ),
    "vibrissa": (
        "The vibrissa, alive",
        "A rat's whisker of Quist et al. (2014) that sweeps past a peg, which you drag; and what the follicle feels.",
    ),
    "whisker": (
        "The whisker on sandpaper, alive",
        "Stick and slip of the whisker of Oladazimi, Putelat et al. (2021), slowed down, and its moment as a sound.",
    ),
    "figure": (
        "The standing figure, alive",
        "A person on a platform with the late reflexes of Bunderson et al. (2012): push the ground, and see whether it "
        "stays.",
    ),
    "limb": (
        "The cat's hindlimb, alive",
        "Thirty-one muscles of Bunderson et al. (2012) hold a posture; drag the ankle, or push it.",
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


def sources() -> Path:
    """Folder of the scripts, of a checkout."""
    return Path(gymnosoma.__file__).resolve().parents[1] / "docs" / "live"


def _written(path: Path, text: str) -> None:
    if not path.is_file() or path.read_text("utf-8") != text:
        with replacing(path) as file:
            file.write(text.encode())


def animal_script(name: str) -> str:
    """Module, table and picture of an animal, as one script that needs no server.

    Raises:
        ValueError: If the module is larger than `LARGEST`.
    """
    live = ANIMALS[name]()
    module = live.module()
    if len(module) > LARGEST:
        raise ValueError(f"the module {name} must have at most {LARGEST} bytes, got {len(module)}")
    about = live.table() | {"wasm": base64.b64encode(module).decode()}
    scene = (sources() / f"{name}.js").read_text("utf-8")
    return f'gymnosoma.add("{name}", {json.dumps(about, separators=(",", ":"))});\n{scene}'


def embedded(name: str, folder: str = "", inside: str = "") -> str:
    """HTML that shows an animal, of scripts in a folder; what is ``inside`` stays where it cannot run."""
    scripts = "".join(f'<script src="{folder}{file}.js"></script>\n' for file in ("live", name))
    return f'<div data-gymnosoma="{name}">{inside}</div>\n{scripts}'


def _page(title: str, text: str, body: str) -> str:
    return PAGE.format(title=title, text=re.sub(r"\*(.+?)\*", r"<em>\1</em>", text).replace("&", "&amp;"), body=body)


def write(folder: Path, names: Iterable[str] = tuple(ANIMALS)) -> dict[str, int]:
    """Write scripts, style and pages into a folder.

    Args:
        folder: It is made where there is none.
        names: Animals; all by default.

    Returns:
        dict: Bytes of each file that was written or is there already.
    """
    folder.mkdir(parents=True, exist_ok=True)
    colours = {name.lower(): getattr(canvas, name) for name in COLOURS}
    parts = [(sources() / name).read_text("utf-8") for name in SHARED]
    parts.insert(1, f"gymnosoma.colours = {json.dumps(colours)};\n")
    _written(folder / "live.js", "\n".join(parts))
    _written(folder / "live.css", (sources() / "live.css").read_text("utf-8"))
    for name in names:
        _written(folder / f"{name}.js", animal_script(name))
        _written(folder / f"{name}.html", _page(*PAGES[name], embedded(name)))
    links = "\n".join(f'<li><a href="{name}.html">{PAGES[name][0]}</a></li>' for name in names)
    _written(folder / "index.html", _page("The animals, alive", "The same kernels as in Python.", f"<ul>{links}</ul>"))
    return {path.name: path.stat().st_size for path in sorted(folder.iterdir()) if path.is_file()}
