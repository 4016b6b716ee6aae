"""Files of the clone that the maintainers' programs read and write."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gymnosoma.agents.policies.registry import all_ids
from gymnosoma.agents.support.files import replacing
from gymnosoma.envs.core.env.documentation import NORMALISERS, normalisers

ROOT = Path(__file__).resolve().parents[1]

SCALE = ("floor", "best", "bound", "why")
"""Keys of a normaliser."""


def put(page: str, name: str, text: str) -> str:
    """Replace the text between the marks ``<!-- name -->`` and ``<!-- /name -->`` of a page."""
    before, mark, rest = page.partition(f"<!-- {name} -->\n")
    _, end, after = rest.partition(f"<!-- /{name} -->")
    if not mark or not end:
        raise ValueError(f"page must have the marks <!-- {name} --> and <!-- /{name} -->")
    return f"{before}{mark}{text.strip()}\n{end}{after}"


def between(page: str, name: str) -> str:
    """Return the text between the marks ``<!-- name -->`` and ``<!-- /name -->`` of a page, or nothing."""
    return page.partition(f"<!-- {name} -->\n")[2].partition(f"<!-- /{name} -->")[0]


def update_scales(entries: Mapping[str, Mapping[str, Any]]) -> None:
    """Update keys of the normalisers of some ids in assets."""
    normalisers.cache_clear()  # the file may have changed since it was read
    scales = {name: dict(entry) for name, entry in normalisers().items()}
    for env_id, entry in entries.items():
        scales.setdefault(env_id.removeprefix("gymnosoma/"), {}).update(entry)
    texts = [
        f"[{name}]\n" + "".join(f"{key} = {json.dumps(scales[name][key])}\n" for key in SCALE if key in scales[name])
        for name in (env_id.removeprefix("gymnosoma/") for env_id in all_ids())
        if name in scales
    ]
    path = ROOT / "assets" / NORMALISERS
    head = path.read_text("utf-8").partition("\n\n")[0] + "\n"
    with replacing(path) as file:
        file.write("\n".join([head, *texts]).encode())
    normalisers.cache_clear()
