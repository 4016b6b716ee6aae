"""Guards in hooks from outside the package: calculations that fail in Python fail in kernels, too.

Numba divides integers by zero to 0, reads unset variables as 0, and converts NaN to an integer. Its error model for
Python would also raise an error if floats are divided by zero, which gives infinity in NumPy.
"""

from __future__ import annotations

import ast
import builtins
import math
import types
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..kernels.jit import kernel

LONGEST_INTEGER = 2.0**63
"""Integers in kernels are smaller than this."""


@kernel
def divisor(x):
    """Return a divisor; raise ZeroDivisionError if it is the integer 0."""
    if isinstance(x, (int, np.int64, np.int32)) and x == 0:
        raise ZeroDivisionError("integer division by zero")
    return x


@kernel
def rounded(x):
    """Return a number to be converted to an integer; raise ValueError if it does not fit into 64 bits."""
    if not -LONGEST_INTEGER <= x < LONGEST_INTEGER:
        raise ValueError("cannot convert a number to an integer of 64 bits")
    return x


@kernel
def power(x, y):
    """Return ``x ** y``; raise ValueError if it is undefined."""
    value = x**y
    if math.isnan(value) and not (math.isnan(x) or math.isnan(y)):
        raise ValueError("power of a negative number is undefined")
    return value


def _unary(function: Any) -> Any:
    def guarded(x):
        value = function(x)
        if not math.isfinite(value) and (math.isfinite(x) or (math.isnan(value) and not math.isnan(x))):
            raise ValueError("math domain error")
        return value

    guarded.__qualname__ = guarded.__name__ = f"guarded_{function.__name__}"
    return kernel(guarded)


FUNCTIONS = {
    getattr(math, name): _unary(getattr(math, name))
    for name in (
        *("sqrt", "log", "log2", "log10", "log1p", "exp", "expm1"),
        *("acos", "asin", "acosh", "atanh", "cosh", "sinh", "sin", "cos", "tan"),
    )
}
"""Functions with guards."""

INTEGERS = (int, round, math.floor, math.ceil, math.trunc)


class Guards(ast.NodeTransformer):
    """Translation of a function from outside the package to one with guards.

    Args:
        names: Global names of the function.
        secured: Function from a kernel to one with guards; None for kernels of the package.
        fail: Function from a node and a problem to an error.
    """

    def __init__(
        self, names: Mapping[str, Any], secured: Callable[[Any], Any], fail: Callable[[Any, str], Exception]
    ) -> None:
        self._names, self._secured, self._fail = names, secured, fail
        self._locals: frozenset[str] = frozenset()
        self.calls: dict[str, Any] = {}
        """Kernels that the function calls, by name."""

    def visit_definition(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Translate a definition; raise the error of ``fail`` if a variable may be unset where it is read."""
        module = ast.fix_missing_locations(ast.Module([node], []))
        parts = compile(module, "definition", "exec", dont_inherit=True).co_consts
        code = next(each for each in parts if isinstance(each, types.CodeType) and each.co_name == node.name)
        self._locals = frozenset(code.co_varnames + code.co_cellvars)
        arguments = {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
        _Assignments(self._locals, self._fail).block(node.body, frozenset(arguments))
        node.body = [self.visit(each) for each in node.body]
        return node

    def _value(self, node: Any) -> Any:
        """Return the object of a global name or of a module's attribute; None for other expressions."""
        if isinstance(node, ast.Name):
            return None if node.id in self._locals else self._names.get(node.id, getattr(builtins, node.id, None))
        if isinstance(node, ast.Attribute):
            owner = self._value(node.value)
            return getattr(owner, node.attr, None) if isinstance(owner, types.ModuleType) else None
        return None

    def _call(self, called: Any, *arguments: ast.expr) -> ast.Call:
        alias = f"guard.{called.__module__}.{called.__qualname__}"  # no name in Python has dots
        self.calls[alias] = called
        return ast.Call(ast.Name(alias, ast.Load()), list(arguments), [])

    def visit_Call(self, node: ast.Call) -> Any:  # noqa: D102
        called = self._value(node.func)
        self.generic_visit(node)
        if not isinstance(called, types.ModuleType) and hasattr(called, "py_func"):
            if (new := self._secured(called)) is not None:
                node.func = ast.copy_location(self._call(new).func, node)
        elif isinstance(called, types.BuiltinFunctionType | type) and not node.keywords:
            if called in FUNCTIONS and len(node.args) == 1:
                return ast.copy_location(self._call(FUNCTIONS[called], *node.args), node)
            if called in INTEGERS and len(node.args) == 1:
                node.args = [self._call(rounded, *node.args)]
            if called is divmod and len(node.args) == 2:
                node.args[1] = self._call(divisor, node.args[1])
        return node

    def visit_BinOp(self, node: ast.BinOp) -> Any:  # noqa: D102
        self.generic_visit(node)
        node.left, node.right = self._operands(node)
        whole = isinstance(node.right, ast.Constant) and isinstance(node.right.value, int)
        if isinstance(node.op, ast.Pow) and not whole:
            return ast.copy_location(self._call(power, node.left, node.right), node)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:  # noqa: D102
        self.generic_visit(node)
        node.value = self._operands(node)[1]
        return node

    def _operands(self, node: Any) -> tuple[Any, Any]:
        right = node.right if isinstance(node, ast.BinOp) else node.value
        fixed = isinstance(right, ast.Constant) and right.value != 0
        if isinstance(node.op, ast.Div | ast.FloorDiv | ast.Mod) and not fixed:
            right = self._call(divisor, right)
        return getattr(node, "left", None), right


class _Assignments:
    """Check that variables of a function are set before they are read, whatever branches it takes.

    Sets of variables that are set for sure pass through the statements; None follows statements that do not go on.
    """

    def __init__(self, names: frozenset[str], fail: Callable[[Any, str], Exception]) -> None:
        self._names, self._fail = names, fail

    def block(self, statements: list[ast.stmt], names: frozenset[str]) -> frozenset[str] | None:
        """Return the variables that are set after statements."""
        for each in statements:
            after = self._statement(each, names)
            if after is None:
                return None
            names = after
        return names

    def _statement(self, node: Any, names: frozenset[str]) -> frozenset[str] | None:
        if isinstance(node, ast.If):
            names = self._expression(node.test, names)
            return _joined(self.block(node.body, names), self.block(node.orelse, names))
        if isinstance(node, ast.For | ast.While):
            head = node.iter if isinstance(node, ast.For) else node.test
            names = inside = self._expression(head, names)
            if isinstance(node, ast.For):
                inside = self._expression(node.target, names)
            end = self.block(node.body, inside)
            jumps = any(isinstance(each, ast.Break | ast.Continue) for each in ast.walk(node))
            if not jumps and end is not None and _runs(node):
                names = end
            after = self.block(node.orelse, names)
            return names if jumps else after
        if isinstance(node, ast.Try):
            end = self.block(node.body, names)
            end = None if end is None else self.block(node.orelse, end)
            for handler in node.handlers:
                end = _joined(end, self.block(handler.body, names | ({handler.name} if handler.name else set())))
            final = self.block(node.finalbody, names)
            return None if final is None or end is None else final | end
        if isinstance(node, ast.Assign | ast.AnnAssign):
            names = self._expression(node.value, names)
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                names = self._expression(target, names)
            return names
        if isinstance(node, ast.AugAssign):
            if isinstance(node.target, ast.Name):
                self._read(node.target, node.target.id, names)
            return self._expression(node.target, self._expression(node.value, names))
        if isinstance(node, ast.Break | ast.Continue):
            return None
        names = self._expression(node, names)
        return None if isinstance(node, ast.Return | ast.Raise) else names

    def _expression(self, node: Any, names: frozenset[str]) -> frozenset[str]:
        """Return the variables that are set after an expression."""
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                return names | {node.id}
            self._read(node, node.id, names)
            return names - {node.id} if isinstance(node.ctx, ast.Del) else names
        if isinstance(node, ast.NamedExpr):
            return self._expression(node.value, names) | {node.target.id}
        if isinstance(node, ast.BoolOp | ast.IfExp):
            first, *rest = node.values if isinstance(node, ast.BoolOp) else (node.test, node.body, node.orelse)
            names = inside = self._expression(first, names)
            for each in rest:  # only some of these are evaluated
                after = self._expression(each, inside)
                inside = after if isinstance(node, ast.BoolOp) else inside
            return names
        scopes = ast.Lambda | ast.FunctionDef | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
        if isinstance(node, scopes):
            parts = [each for each in ast.walk(node) if isinstance(each, ast.Name)]
            own = {each.id for each in parts if isinstance(each.ctx, ast.Store)}
            own |= {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
            for each in parts:
                if each.id not in own:
                    self._read(each, each.id, names)
            return names | {node.name} if isinstance(node, ast.FunctionDef) else names
        for child in ast.iter_child_nodes(node):
            names = self._expression(child, names)
        return names

    def _read(self, node: Any, name: str, names: frozenset[str]) -> None:
        if name in self._names and name not in names:
            raise self._fail(node, f"{name} may be unset here: set it before the condition or the loop")


def _joined(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    return other if one is None else one if other is None else one & other


def _runs(node: ast.For | ast.While) -> bool:
    """Return whether a loop surely runs once, as ``for j in range(3)`` does."""
    head = node.iter if isinstance(node, ast.For) else None
    if not (isinstance(head, ast.Call) and isinstance(head.func, ast.Name) and head.func.id == "range"):
        return False
    counts = [each.value for each in head.args if isinstance(each, ast.Constant) and isinstance(each.value, int)]
    return len(counts) == len(head.args) and 0 not in counts[2:] and len(range(*counts)) > 0
