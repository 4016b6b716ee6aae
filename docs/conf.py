"""Sphinx configuration of the website; build it with ``python -m sphinx -W docs site``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

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
    "mathml",
    "pages",
]
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist", "attrs_block", "attrs_inline"]
myst_heading_anchors = 3
html_math_renderer = "mathml"
default_role = "autolink"
smartquotes = False  # "--option" and "" are no dashes and quotation marks
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
