"""Sphinx configuration of the website; build it with ``python -m sphinx -W docs site``."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
sys.path.insert(0, str(Path(__file__).parent))

import gymnosoma

project = "gymnosoma"
author = copyright = "The gymnosoma developers"
version = release = gymnosoma.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.intersphinx",
    "sphinx_copybutton",
    "pages",
]
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist", "attrs_block", "attrs_inline"]
myst_heading_anchors = 3
html_math_renderer = "mathml"  # browsers render it without scripts or web fonts
default_role = "autolink"
smartquotes = False  # keeps "--option" and "" as they are
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings give types and shapes
autodoc_default_options = {"members": True, "show-inheritance": True}
autosummary_generate = False
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_preprocess_types = False
intersphinx_mapping: dict[str, tuple[str, str | None]] = {}  # empty, so that the build works offline
html_theme = "furo"
html_title = "gymnosoma"
html_static_path = ["static"]
html_css_files = ["site.css", "live/live.css"]
html_js_files = ["tables.js", "versions.js"]
templates_path = ["templates"]
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "version.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
html_show_sphinx = False
exclude_patterns = ["animals/tables"]
suppress_warnings = ["ref.python"]  # words in backticks that match several attributes are not links
html_search_scorer = str(Path(__file__).parent / "scorer.js")


def inline_math(writer: Any, node: nodes.math) -> None:
    """Write an inline formula as MathML."""
    writer.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def displayed_math(writer: Any, node: nodes.math_block) -> None:
    """Write a displayed formula as MathML."""
    writer.body.append(f'<div class="math">{tex2mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Register the renderer of formulas."""
    app.add_html_math_renderer("mathml", (inline_math, None), (displayed_math, None))
