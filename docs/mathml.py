"""Sphinx extension that writes formulas as MathML, which browsers render without scripts or web fonts."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

MATHML = "http://www.w3.org/1998/Math/MathML"
HIGH = ("mfrac", "munder", "munderover")
"""Elements that are taller than a line."""

ElementTree.register_namespace("", MATHML)


def mathml(tex: str, as_block: bool = False) -> str:
    """Convert a formula to MathML; a symbol with a dot or hat keeps its index on the right."""
    markup = tex2mathml(tex, as_block=as_block).replace("&ApplyFunction;", "\u2061")  # not valid in XML
    formula = ElementTree.fromstring(markup)
    for node in formula.iter(f"{{{MATHML}}}munderover"):
        symbol, index, accent = node
        if accent.get("stretchy") == "false":
            accented = ElementTree.Element(f"{{{MATHML}}}mover")
            accented.extend([symbol, accent])
            node.tag = f"{{{MATHML}}}msub"
            node[:] = [accented, index]
    for parent in list(formula.iter()):
        _space(parent)
        _grow(parent)
        _lift(parent)
    return ElementTree.tostring(formula, "unicode")


def _space(parent: ElementTree.Element) -> None:
    """Add space around function names such as cos, except next to operators and before brackets."""
    children, operator = list(parent), f"{{{MATHML}}}mo"
    for k in reversed([k for k, child in enumerate(children) if child.text == "\u2061"]):
        after, before = children[k + 1 : k + 2], children[max(0, k - 2) : k - 1]
        if after and operator not in (after[0].tag, *(child.tag for child in after[0][:1])):
            parent.insert(k + 1, ElementTree.Element(f"{{{MATHML}}}mspace", width="0.17em"))
        if before and before[0].tag != operator:
            parent.insert(k - 1, ElementTree.Element(f"{{{MATHML}}}mspace", width="0.17em"))


def _lift(parent: ElementTree.Element) -> None:
    """Raise dots and hats slightly; without a mathematical font they touch their symbols."""
    if parent.tag == f"{{{MATHML}}}mover" and parent[1].tag == f"{{{MATHML}}}mo":
        accent = parent[1]
        parent[1] = ElementTree.Element(f"{{{MATHML}}}mpadded", voffset="-0.3em", height="-0.3em")
        parent[1].append(accent)


def _grow(parent: ElementTree.Element) -> None:
    """Enlarge brackets around tall elements; browsers do not stretch them without a mathematical font."""
    if any(True for kind in HIGH for _ in parent.iter(f"{{{MATHML}}}{kind}")):
        for child in parent[:1] + parent[-1:]:
            if child.tag.endswith("}mo") and child.text in ("(", ")") and "stretchy" not in child.attrib:
                child.set("mathsize", "170%")


def inline(self: Any, node: nodes.math) -> None:
    """Write an inline formula."""
    self.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def block(self: Any, node: nodes.math_block) -> None:
    """Write a displayed formula."""
    self.body.append(f'<div class="math">{mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, Any]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
