"""Sphinx extension: formulas as MathML, which browsers draw without scripts or fonts from elsewhere."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

MATHML = "http://www.w3.org/1998/Math/MathML"
ElementTree.register_namespace("", MATHML)


def mathml(tex: str, as_block: bool = False) -> str:
    """Formula as MathML; the index of a symbol with a dot or a hat beside it, where docutils writes it below."""
    written = tex2mathml(tex, as_block=as_block).replace("&ApplyFunction;", "\u2061")  # the one name that is no XML
    formula = ElementTree.fromstring(written)
    for node in formula.iter(f"{{{MATHML}}}munderover"):
        symbol, index, accent = node
        if accent.get("stretchy") == "false":
            accented = ElementTree.Element(f"{{{MATHML}}}mover")
            accented.extend([symbol, accent])
            node.tag = f"{{{MATHML}}}msub"
            node[:] = [accented, index]
    return ElementTree.tostring(formula, "unicode")


def inline(self: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    self.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def block(self: Any, node: nodes.math_block) -> None:
    """Write a formula of its own."""
    self.body.append(f'<div class="math">{mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, Any]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
