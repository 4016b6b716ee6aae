"""Compile the hooks of a task: methods for one animal, written in plain Python.

`CompiledTask` translates the methods of a task that run in every step, and the methods that they call, into kernels
without ``self``. Numbers and arrays read from ``self`` become fields of a record of constants. Calls of ``self.method``
and ``super().method`` become calls of other kernels. Conditions on strings, flags or None are evaluated at compilation.
Tasks that differ only in their constants share their kernels.
"""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import math
import operator
import os
import re
import textwrap
import types
from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from itertools import pairwise
from typing import Any

import numpy as np
from numba.core.errors import NumbaError, UnsupportedBytecodeError
from numpy.typing import NDArray

from ..kernels.jit import kernel, rebound
from . import guards

NAMES = ("prepare", "command", "reward", "ending", "sense", "info")
"""Hooks of every task."""

LARGEST_INTEGER = 2.0**53
"""Largest integer of a task that hooks read; products of larger ones would not fit into 64 bits."""

LIMIT = 10.0
"""Observations are clipped to this multiple of their scale."""

COMPARED_STEPS = 1000
"""Steps in which the hooks of a task from outside the package also run as plain Python."""

FAULTS = {
    -1e6: "reward returned no finite number",
    -2e6: "ending returned no finite number",
    -3e6: "sense set an observation that is not a number",
}
"""Reasons of the endings that a step sets if a hook fails."""

_REWARD, _ENDING, _SENSE = FAULTS

Place = tuple[str, ...]
"""Path of attributes from a task to an object: () is the task, ("animal",) its animal."""

_PACKAGE = __name__.partition(".envs.")[0]
_FOLDER = os.path.realpath(f"{__file__}/../../..") + os.sep
_KERNELS: dict[Any, Any] = {}
_DTYPES: dict[Any, Any] = {}


def row_loops(
    prepare: Any,
    command: Any,
    reward: Any,
    ending: Any,
    sense: Any,
    info: Any,
    copy_sensed: Any,
    copy_reported: Any,
    clear_terms: Any,
) -> tuple[Callable[..., None], ...]:
    """Return loops over rows that call hooks: before the circuit, for the drive, and at the end of the period."""

    def prepare_rows(constants, rows, memory, actions):
        for b in range(len(rows)):
            prepare(constants[0], rows[b], memory[b], actions[b])

    def command_rows(constants, rows, memory, actions, drive):
        for b in range(len(rows)):
            command(constants[0], rows[b], memory[b], actions[b], drive[b])

    def close_rows(
        constants, rows, memory, moved, rewards, endings, sensed, numbers, blank, scale, observations, infos
    ):
        for b in range(len(rows)):
            if moved:
                rewards[b] = reward(constants[0], rows[b], memory[b])
                endings[b] = ending(constants[0], rows[b], memory[b])
                if not math.isfinite(endings[b]):
                    endings[b] = _ENDING
                if not math.isfinite(rewards[b]):
                    rewards[b], endings[b] = 0.0, _REWARD
                    clear_terms(memory[b])
            for j in range(len(scale)):
                numbers[b, j] = blank
            copy_sensed(rows[b], memory[b], sensed[b])
            sense(constants[0], rows[b], memory[b], sensed[b])
            unknown = False
            for j in range(len(scale)):
                value = numbers[b, j] / scale[j]
                unknown |= value != value
                observations[b, j] = min(max(value, -LIMIT), LIMIT)
            if unknown and moved:
                endings[b] = _SENSE
                for j in range(len(scale)):
                    if math.isnan(numbers[b, j]):
                        observations[b, j] = 0.0
            copy_reported(rows[b], memory[b], infos[b])
            info(constants[0], rows[b], memory[b], infos[b])

    return prepare_rows, command_rows, close_rows


def interned(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return a unique object for each dtype, because numba compares different objects field by field in each call."""
    return _DTYPES.setdefault(dtype, dtype)


class CompiledTask:
    """The hooks of a task as loops over rows.

    Args:
        task: Its attributes are read when the first rows are processed; later changes are ignored.
        compiled: False runs the hooks as plain Python, so that prints and breakpoints work; the task is much slower.

    Raises:
        TypeError: If a hook cannot be compiled; the message names the hook and the line.
    """

    def __init__(self, task: Any, compiled: bool = True) -> None:
        self._task = task
        self._compiled = compiled
        self._checked = compiled and is_foreign(type(task))
        self._values: dict[str, Any] = {}
        self._methods: dict[Any, Any] = {}
        self._sensed_type = np.dtype([(name, "f8", (field.size,)) for name, field in task.layout.fields.items()])
        shapes = {**(task.animal.state.fields or {}), **(task.memory.fields or {})}
        types = task.info_fields | dict.fromkeys(task.reward_fields, "copy")
        copied = [name for name, form in types.items() if form == "copy"]
        for name in copied:
            if name not in shapes:
                raise TypeError(
                    f"info_fields to copy must be fields of memory or row, got {name!r}; these are {', '.join(shapes)}"
                )
        types |= {name: shapes[name][0] for name in copied}
        self._info_type = interned(np.dtype(list(types.items())))
        names = self._info_type.names or ()
        self.info_names = names, tuple(name for name in names if self._info_type[name].shape)
        """Names of the info's fields, and of those among them that are arrays."""
        copies = self._copy(self._sensed_type, True), self._copy(self._info_type, False, copied)
        hooks = [self.method((), name)[0] for name in NAMES]
        terms = [f"    memory.{name} = 0.0" for name in task.reward_fields]
        clear_terms = _defined("\n".join(["def copy(memory):", "    pass", *terms]), compiled)
        self.kernels = (*hooks, *copies, clear_terms)
        """Hooks, and kernels that copy fields to the observation and the info and clear the terms of the reward."""
        self._loops = (
            _loops(*self.kernels) if compiled else tuple(map(np.errstate(all="ignore"), row_loops(*self.kernels)))
        )
        self._scale = np.concatenate(
            [np.broadcast_to(field.scale, field.size) for field in task.layout.fields.values()]
        )
        self._constants = self._record()
        self._buffers: dict[int, tuple[NDArray[Any], ...]] = {}
        self.blank = 0.0
        """Value of the observation's entries before `sense`."""

    # Running.

    def command(self, actions: NDArray[np.float64], rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Return the drive (B, nu) for actions (B, action_size), and update the memory."""
        drive = np.empty((len(rows), self._task.animal.drive_size))
        if self._task.circuit is not None:
            self._run(0, rows, memory, actions)
            self._task.advance_circuit(rows, memory)
        self._run(1, rows, memory, actions, drive)
        return drive

    def close(self, rows: NDArray[Any], memory: NDArray[Any], moved: bool = True) -> tuple[NDArray[Any], ...]:
        """Return rewards (B,), endings (B,), observations (B, d) and infos (B,) at the end of a control period.

        Rewards and observations that are not finite become 0, with an ending in `FAULTS`. If the rows have not
        ``moved``, rewards and endings are undefined, observations may be NaN, and the memory does not change. If they
        have, the next call overwrites the infos.
        """
        count = len(rows)
        if count not in self._buffers:
            sensed, infos = np.zeros(count, interned(self._sensed_type)), np.zeros(count, self._info_type)
            self._buffers[count] = sensed, sensed.view(np.float64).reshape(count, -1), infos, infos.view(np.uint8)
        sensed, numbers, infos, octets = self._buffers[count]
        if moved:
            octets.fill(0)
        else:
            infos = np.zeros(count, self._info_type)
        rewards, endings = np.empty(count), np.empty(count)
        observations = np.empty((count, len(self._scale)), np.float32)
        given = moved, rewards, endings, sensed, numbers, self.blank, self._scale, observations, infos
        self._run(2, rows, memory, *given)
        return rewards, endings, observations, infos

    def sensed(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[Any]:
        """Return the sensed values in SI, as records (B,) with the fields of the observation."""
        self.close(rows, memory, False)
        return self._buffers[len(rows)][0].copy()

    def observe(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float32]:
        """Return the observations (B, d) of rows."""
        return self.close(rows, memory, False)[2]

    def info(self, rows: NDArray[Any], memory: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return the infos of rows in SI, each with a leading axis of B."""
        return columns(self.close(rows, memory, False)[3])

    def _run(self, place: int, rows: NDArray[Any], memory: NDArray[Any], *arguments: Any) -> None:
        """Run one of the loops; an error of a hook from outside the package names its line."""
        before = memory.tobytes() if self._checked else b""  # faster than a copy of records
        given = (rows, memory, *arguments) if self._compiled else map(_in_python, (rows, memory, *arguments))
        try:
            self._loops[place](self._constants, *given)
        except (NumbaError, UnsupportedBytecodeError) as error:
            raise TypeError(
                f"{_place(str(error))}: a hook cannot be compiled. Hooks work on numbers: they index arrays, do not "
                "calculate with whole arrays, and always return a number. `compiled = False` in the class of the task "
                "runs them as plain Python."
            ) from error
        except Exception as error:
            if not self._checked:
                raise
            copies = rows.copy(), np.frombuffer(before, memory.dtype).copy()
            raise self._located(error, place, *copies, arguments[0]) from None

    def _located(
        self, error: Exception, place: int, rows: NDArray[Any], memory: NDArray[Any], argument: Any
    ) -> Exception:
        """Return an error of a loop with the hook and the line, which plain Python finds."""
        hooks = CompiledTask(self._task, compiled=False)
        try:
            (hooks.close if place == 2 else functools.partial(hooks.command, argument))(rows, memory)
        except Exception as found:
            kind, text = type(found), str(_explained(self._task, found))
        else:
            names = ("prepare", "command", "reward, ending, sense or info")[place]
            kind, text = type(error), f"{type(self._task).__name__}: {names}: {error}"
        return kind(text) if kind.__module__ == "builtins" else RuntimeError(text)

    # Compilation.

    def method(self, place: Place, name: str, after: type | None = None) -> tuple[Any, bool]:
        """Return the kernel of a method of the object at a place, and whether it takes the constants.

        For a call of ``super()`` in the class ``after``, only the classes behind it in the resolution order are used.
        """
        key = place, name, after
        if key not in self._methods:
            self._methods[key] = None
            self._methods[key] = self._method(place, name, after)
        if self._methods[key] is None:
            raise TypeError(f"{'.'.join(('self', *place, name))} calls itself: write a loop instead")
        return self._methods[key]

    def _method(self, place: Place, name: str, after: type | None) -> tuple[Any, bool]:
        kinds = type(self.at(place)).__mro__
        kinds = kinds if after is None else kinds[kinds.index(after) + 1 :]
        owner = next((kind for kind in kinds if name in vars(kind)), None)
        function = None if owner is None else vars(owner)[name]
        if owner is None or not isinstance(function, types.FunctionType | staticmethod):
            raise TypeError(f"{'.'.join(('self', *place, name))} is not a method that can be compiled")
        if isinstance(function, staticmethod):
            return _static(function.__func__, self._compiled, is_foreign(owner)), False
        return self._translated(function, place, owner), True

    def value(self, place: Place) -> Any:
        """Return an expression for the value at a place: a literal, or a field of the record of constants."""
        value = self.at(place)
        if value is None or isinstance(value, bool | np.bool_ | str):
            return ast.Constant(bool(value) if isinstance(value, np.bool_) else value)
        array = np.asarray(value)
        if array.dtype.kind == "b":  # numba has no arrays of flags in records
            array = array.astype(np.int8)
        if array.dtype.kind not in "if" or not array.size:
            what = ".".join(("self", *place))
            raise TypeError(f"{what} must be a number, an array of numbers, a string, a flag or None, got {value!r}")
        if array.dtype.kind == "i" and (np.abs(array.astype(float)) > LARGEST_INTEGER).any():
            raise TypeError(f"{'.'.join(('self', *place))} is an integer beyond 2**53, got {value!r}: make it a float")
        self._values[".".join(place)] = array
        return ast.Attribute(ast.Name("self", ast.Load()), ".".join(place), ast.Load())

    def at(self, place: Place) -> Any:
        """Return the object at a place."""
        return functools.reduce(getattr, place, self._task)

    def _record(self) -> Any:
        values = sorted(self._values.items()) or [("none", np.zeros(()))]
        record = np.zeros(1, interned(np.dtype([(name, value.dtype, value.shape) for name, value in values])))
        for name, value in values:
            record[name] = value
        return record if self._compiled else _in_python(record)

    def _kernel(self, function: Callable[..., Any], foreign: bool) -> Any:
        if not self._compiled:
            return plain(function)
        return checked(function) if foreign else kernel(function)

    def _translated(self, function: types.FunctionType, place: Place, owner: type) -> Any:
        name = f"{owner.__qualname__}.{function.__name__}"
        try:
            tree = ast.parse(_source(function))
        except OSError:
            raise TypeError(f"{name} cannot be compiled without its source: write the class into a file") from None
        if random := random_name(function):
            raise TypeError(
                f"{name} uses {random}, whose numbers the seed of an episode does not decide: draw them in start or "
                "begin by episodes.draw, and keep them in the memory"
            )
        translation = _Translation(self, place, owner, name, function.__globals__)
        if not isinstance(tree.body[0], ast.FunctionDef):
            raise TypeError(f"{name} must be defined by def")
        definition = translation.visit_method(tree.body[0])
        calls, foreign = translation.calls, is_foreign(owner)
        if foreign:
            definition, added = guarded(definition, function, name)
            calls = calls | added
        key = function, ast.dump(definition), tuple(sorted(calls.items(), key=lambda call: call[0]))
        if (key, self._compiled) not in _KERNELS:
            new = _function(definition, function, name, calls)
            _KERNELS[key, self._compiled] = self._kernel(new, foreign)
        return _KERNELS[key, self._compiled]

    def _copy(self, target: np.dtype[Any], flat: bool, names: Iterable[str] | None = None) -> Any:
        """Return a kernel that copies fields of the same name from memory or rows to ``target``, ``flat`` or shaped."""
        memory, state = self._task.memory.fields or {}, self._task.animal.state.fields or {}
        lines = ["def copy(row, memory, target):", "    pass"]
        for name in target.names or () if names is None else names:
            if name not in memory and name not in state:
                continue
            holder, (dtype, *_) = ("memory", memory[name]) if name in memory else ("row", state[name])
            if flat and int(np.prod(dtype.shape)) != target[name].shape[0]:
                raise TypeError(
                    f"observation.{name} must have shape {dtype.shape} as {holder}.{name}, got {target[name].shape}"
                )
            lines += [f"    {'    ' * k}for i{k} in range({n}):" for k, n in enumerate(dtype.shape)]
            index = ", ".join(f"i{k}" for k in range(dtype.ndim))
            place = " + ".join(f"i{k} * {int(np.prod(dtype.shape[k + 1 :]))}" for k in range(dtype.ndim)) or "0"
            own = f"[{index}]" if index else ""
            lines.append(
                f"    {'    ' * dtype.ndim}target.{name}{f'[{place}]' if flat else own} = {holder}.{name}{own}"
            )
        return _defined("\n".join(lines), self._compiled)


@functools.cache
def _source(function: Any) -> str:
    lines, first = inspect.getsourcelines(function)
    return "\n" * (first - 1) + textwrap.dedent("".join(lines))  # lines keep their numbers


def _names(function: types.FunctionType) -> dict[str, Any]:
    """Return the global and enclosed names of a function."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return function.__globals__ | {cell: content.cell_contents for cell, content in cells if cell != "__class__"}


def _function(
    definition: ast.FunctionDef, function: types.FunctionType, name: str, calls: Mapping[str, Any]
) -> types.FunctionType:
    """Return a function from a changed definition of ``function``."""
    module = ast.fix_missing_locations(ast.Module([definition], []))
    names = dict(function.__globals__)
    exec(compile(module, function.__code__.co_filename, "exec", dont_inherit=True), names)  # to define it
    code = names[function.__name__].__code__
    new = types.FunctionType(code, {**_names(function), **calls}, function.__name__, function.__defaults__)
    new.__qualname__, new.__module__, new.__kwdefaults__ = name, function.__module__, function.__kwdefaults__
    return new


def guarded(
    definition: ast.FunctionDef, function: types.FunctionType, name: str
) -> tuple[ast.FunctionDef, dict[str, Any]]:
    """Add `Guards` to the definition of a function; return it and the kernels that it calls."""

    def fail(node: Any, problem: str) -> TypeError:
        return TypeError(f"{name}, line {node.lineno}: {problem}")

    translation = guards.Guards(_names(function), secured, fail)
    return translation.visit_definition(definition), translation.calls


def secured(function: Any) -> Any:
    """Return a function or kernel from outside the package as a kernel with guards; None for others."""
    own = getattr(function, "py_func", function)
    if own not in _SECURED:
        _SECURED[own] = None  # a recursive kernel calls itself as it is
        if is_foreign(own):
            try:
                definition = ast.parse(_source(own)).body[0]
            except OSError:  # entered interactively
                definition = None
            new = own
            if isinstance(definition, ast.FunctionDef):
                definition.decorator_list, definition.returns = [], None
                changed, calls = guarded(definition, own, own.__qualname__)
                new = _function(changed, own, own.__qualname__, calls)
            _SECURED[own] = checked(new)
    return _SECURED[own]


_SECURED: dict[Any, Any] = {}


@functools.cache
def random_name(function: Any) -> str | None:
    """Return the name by which a function, or one that it calls, uses random numbers; None if it does not."""
    functions, index = [getattr(function, "py_func", function)], 0
    while index < len(functions):
        own = functions[index]
        index += 1
        codes = [own.__code__]
        for code in codes:  # nested functions are appended
            codes += [each for each in code.co_consts if isinstance(each, types.CodeType)]
            for name in code.co_names:
                value = own.__globals__.get(name)
                value = getattr(value, "py_func", value)
                owner = getattr(value, "__self__", None)
                module = value.__name__ if isinstance(value, types.ModuleType) else type(owner).__module__
                if module in _RANDOM or module.startswith("numpy.random"):
                    return name
                if value is np and "random" in code.co_names:
                    return f"{name}.random"
                if isinstance(value, types.FunctionType) and value not in functions:
                    functions.append(value)
    return None


_RANDOM = ("random", "secrets")
"""Modules with random numbers."""


def checked(function: Callable[..., Any]) -> Any:
    """Compile a kernel that raises IndexError if an index is out of range."""
    dispatcher = kernel(function)
    dispatcher.targetoptions["boundscheck"] = True
    if hasattr(dispatcher._cache, "_key"):
        dispatcher._cache._key += ("checked",)
    return dispatcher


@functools.cache
def _static(function: Any, compiled: bool, foreign: bool) -> Any:
    guarded_kernel = secured(function) if foreign else None
    if not compiled:
        return plain(guarded_kernel or function)
    return guarded_kernel or kernel(function)


@functools.cache
def _defined(source: str, compiled: bool) -> Any:
    names: dict[str, Any] = {"__name__": __name__}
    exec(compile(source, __file__, "exec"), names)
    return kernel(names["copy"]) if compiled else names["copy"]


@functools.cache
def _loops(*hooks: Any) -> tuple[Any, ...]:
    """Compile the loops around hooks; tasks with the same hooks share them."""
    return tuple(map(kernel, row_loops(*hooks)))


def _place(message: str) -> str:
    """Return the file and the line in a message of numba, those of a user if there are any."""
    places = re.findall(r'([^\s"]+\.py)"?,? (?:line |\()(\d+)', message)
    places = [place for place in places if "numba" not in place[0]]
    of_users = [place for place in places if not os.path.realpath(place[0]).startswith(_FOLDER)]
    file, line = next(iter(of_users or places), ("a hook", "?"))
    return f"{file}, line {line}"


class _Translation(ast.NodeTransformer):
    """Translation into a function of a method of the object at a ``place``, defined in the class ``owner``."""

    def __init__(self, hooks: CompiledTask, place: Place, owner: type, name: str, names: Mapping[str, Any]) -> None:
        self._hooks, self._place, self._owner, self._name, self._names = hooks, place, owner, name, names
        self._foreign = is_foreign(owner)
        self._locals: set[str] = set()
        self.calls: dict[str, Any] = {}
        """Kernels that the function calls, by name."""

    def visit_method(self, node: Any) -> ast.FunctionDef:
        """Translate the definition of the method."""
        node.decorator_list, node.returns = [], None
        names = [each for each in ast.walk(node) if isinstance(each, ast.Name)]
        self._locals = {each.id for each in names if isinstance(each.ctx, ast.Store)}
        self._locals |= {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
        if isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant):
            node.body = node.body[1:] or [ast.Pass()]
        if not node.args.args or node.args.args[0].arg != "self":
            raise self._fail(node, "the first argument of a hook must be called self")
        node.args.args = [ast.arg(arg.arg) for arg in node.args.args]  # without types
        node.body = self._visited(node.body) or [ast.Pass()]
        return node

    def _fail(self, node: Any, problem: str) -> TypeError:
        return TypeError(f"{self._name}, line {node.lineno}: {problem}")

    def _chain(self, node: Any) -> Place | None:
        """Return the names after ``self`` in ``self.name.name``; None for other expressions."""
        names: list[str] = []
        while isinstance(node, ast.Attribute):
            names.insert(0, node.attr)
            node = node.value
        return tuple(names) if isinstance(node, ast.Name) and node.id == "self" and names else None

    def visit_Call(self, node: ast.Call) -> Any:
        chain, function = self._chain(node.func), node.func
        after = None
        if chain is None and isinstance(function, ast.Attribute) and ast.unparse(function.value) == "super()":
            chain, after = (function.attr,), self._owner
        if chain is None:
            return self.generic_visit(node)
        place = (*self._place, *chain[:-1])
        try:
            called, takes = self._hooks.method(place, chain[-1], after)
        except (TypeError, AttributeError) as error:
            raise self._fail(node, str(error)) from None
        alias = ".".join(("super" if after else "self", *place, chain[-1]))  # no name in Python has dots
        self.calls[alias] = called
        arguments: list[ast.expr] = [ast.Name("self", ast.Load())] if takes else []
        arguments += [self.visit(each) for each in node.args]
        keywords = [ast.keyword(each.arg, self.visit(each.value)) for each in node.keywords]
        return ast.copy_location(ast.Call(ast.Name(alias, ast.Load()), arguments, keywords), node)

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        chain = self._chain(node)
        if chain is None:
            kind = self._names.get(node.value.id) if isinstance(node.value, ast.Name) else None
            if isinstance(kind, type) and issubclass(kind, IntEnum):  # numbers in kernels are float64
                return ast.copy_location(ast.Constant(float(kind[node.attr])), node)
            return self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            raise self._fail(node, f"self.{'.'.join(chain)} cannot be set in a hook: what changes belongs to memory")
        try:
            return ast.copy_location(self._hooks.value((*self._place, *chain)), node)
        except (TypeError, AttributeError) as error:
            raise self._fail(node, str(error)) from None

    def visit_Name(self, node: ast.Name) -> Any:
        if node.id == "self":
            raise self._fail(node, "self can only be used as self.name in a hook")
        value = self._names.get(node.id)
        if self._foreign and isinstance(value, np.ndarray) and value.flags.writeable and node.id not in self._locals:
            raise self._fail(
                node,
                f"{node.id} is an array that may change, but a hook would keep its present values: make it an "
                f"attribute of the task, or read-only by {node.id}.setflags(write=False)",
            )
        return node

    def visit_Constant(self, node: ast.Constant) -> Any:
        if type(node.value) is int and abs(node.value) >= 2**63:
            raise self._fail(node, f"integers in a hook have 64 bits, got {node.value}: write a float")
        return node

    def visit_Compare(self, node: ast.Compare) -> Any:
        if any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops):
            return self._decided(node)
        return self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        flags = [isinstance(each, ast.Compare | ast.BoolOp) for each in (node.left, node.right)]
        if all(flags) and not isinstance(node.op, ast.BitAnd | ast.BitOr | ast.BitXor):
            raise self._fail(node, f"flags have no sum in a hook, got {ast.unparse(node)}: write float(...) for each")
        fixed = isinstance(node.right, ast.Constant)
        new = ast.BinOp(self.visit(node.left), node.op, self.visit(node.right))
        if self._foreign and isinstance(node.op, ast.Pow) and not fixed:  # integers have no negative powers
            new.left = ast.Call(ast.Name("float", ast.Load()), [new.left], [])
        return ast.copy_location(new, node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        assigned = ast.Assign([node.target], node.value or ast.Constant(0.0))
        return self.visit(ast.copy_location(assigned, node))

    def _decided(self, test: ast.expr) -> Any:
        """Translate a condition; return a constant if it only depends on strings, flags and None of the task."""
        if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is | ast.IsNot):
            chain, other = self._chain(test.left), test.comparators[0]
            if chain is None or len(test.ops) > 1 or not (isinstance(other, ast.Constant) and other.value is None):
                raise self._fail(
                    test,
                    f"a hook can only compare self.name with None by 'is', got {ast.unparse(test)}; write "
                    "'if self.name:' or 'if not self.name:' for a flag, and == for numbers and strings",
                )
            is_none = self._hooks.at((*self._place, *chain)) is None
            return ast.Constant(is_none is isinstance(test.ops[0], ast.Is))
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self._decided(test.operand)
            return ast.Constant(not inner.value) if isinstance(inner, ast.Constant) else ast.UnaryOp(ast.Not(), inner)
        if isinstance(test, ast.BoolOp):
            end, rest = isinstance(test.op, ast.Or), []
            for each in map(self._decided, test.values):
                if not isinstance(each, ast.Constant):
                    rest.append(each)
                elif bool(each.value) is end:
                    return ast.Constant(end)
            return ast.BoolOp(test.op, rest) if len(rest) > 1 else rest[0] if rest else ast.Constant(not end)
        new = self.visit(test)
        try:
            return ast.Constant(_compared(new) if isinstance(new, ast.Compare) else ast.literal_eval(new))
        except ValueError:  # not a literal
            return new

    def visit_If(self, node: ast.If) -> Any:
        test = self._decided(node.test)
        if isinstance(test, ast.Constant):
            return self._visited(node.body if test.value else node.orelse)
        node.test = ast.copy_location(test, node)
        node.body = self._visited(node.body) or [ast.Pass()]
        node.orelse = self._visited(node.orelse)
        return node

    def _visited(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        visited = [self.visit(each) for each in statements]
        return [each for part in visited for each in (part if isinstance(part, list) else [part])]

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        test = self._decided(node.test)
        if isinstance(test, ast.Constant):
            return self.visit(node.body if test.value else node.orelse)
        return ast.copy_location(ast.IfExp(test, self.visit(node.body), self.visit(node.orelse)), node)


_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda one, other: one in other,
    ast.NotIn: lambda one, other: one not in other,
}


def _compared(node: ast.Compare) -> bool:
    """Return the value of a comparison of literals; raise ValueError if it has other operands."""
    values = [ast.literal_eval(each) for each in (node.left, *node.comparators)]
    return all(_COMPARISONS[type(op)](*pair) for op, pair in zip(node.ops, pairwise(values), strict=True))


class Record:
    """Record with fields as attributes, for hooks in plain Python."""

    def __init__(self, record: Any) -> None:
        object.__setattr__(self, "_record", record)

    def __getattr__(self, name: str) -> Any:
        if name not in self._record.dtype.names:
            raise AttributeError(f"there is no field {name!r}; fields are {', '.join(self._record.dtype.names)}")
        return self._record[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if np.shape(getattr(self, name)) != np.shape(value):
            raise ValueError(f"{name} must have shape {np.shape(getattr(self, name))}, got {value!r}")
        self._record[name] = value


def _in_python(argument: Any) -> Any:
    """Return an argument of a loop for hooks in plain Python: records as objects, others as they are."""
    records = isinstance(argument, np.ndarray) and argument.dtype.names
    return [Record(each) for each in argument] if records else argument


@functools.cache
def plain(function: Any) -> Any:
    """Return a function that runs as plain Python, with all kernels that it calls."""
    own = getattr(function, "py_func", function)
    kernels = {name: plain(own.__globals__[name]) for name in own.__code__.co_names if _is_kernel(own, name)}
    return rebound(own, own.__qualname__, **kernels)


def _is_kernel(function: Any, name: str) -> bool:
    return hasattr(function.__globals__.get(name), "py_func")


def columns(infos: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return the columns of infos by name, as arrays of their own: torch refuses the strides of records with flags."""
    return {name: infos[name].copy() for name in infos.dtype.names or ()}


def _explained(task: Any, error: Exception) -> TypeError:
    """Return the present error of a hook in plain Python, with its place."""
    frames = [frame for frame in inspect.trace() if frame.filename not in (__file__, guards.__file__)]
    where = f"{frames[-1].function}, line {frames[-1].lineno}" if frames else "a hook"
    return TypeError(f"{type(task).__name__}: {where}: {str(error) or type(error).__name__}")


def try_hooks(task: Any, rows: NDArray[Any], memory: NDArray[Any]) -> None:
    """Run each hook of a task once as plain Python, so that mistakes raise Python's own errors.

    Raises:
        TypeError: If a hook raises an error or returns no number, the terms of the reward do not add up to it, `sense`
            or `info` changes row or memory, or `sense` does not set a field of the observation. The message names the
            task.
    """
    rows, memory = rows[:1].copy(), memory[:1].copy()
    name = type(task).__name__
    hooks = CompiledTask(task, compiled=False)
    try:
        hooks.command(np.zeros((1, task.action_size)), rows, memory)
        rewards, endings, _, infos = hooks.close(rows, memory)
        hooks.blank = np.nan
        before = rows.tobytes(), memory.tobytes()
        sensed = hooks.sensed(rows, memory)
    except Exception as error:
        raise _explained(task, error) from error
    if endings[0] in FAULTS:
        raise TypeError(f"{name}: {FAULTS[endings[0]]}")
    terms = sum(infos[each][0] for each in task.reward_fields)
    if task.reward_fields and not math.isclose(terms, rewards[0], rel_tol=1e-6, abs_tol=1e-9):
        raise TypeError(
            f"{name}: reward returned {rewards[0]}, but its terms add up to {terms}: set memory.reward_NAME for each "
            f"NAME in reward_terms ({', '.join(task.reward_terms)}), or remove it by an entry of None"
        )
    if before != (rows.tobytes(), memory.tobytes()):
        raise TypeError(f"{name}: sense and info must not change row or memory")
    for field in sensed.dtype.names or ():
        if np.isnan(sensed[field]).any():
            raise TypeError(f"{name}: sense leaves observation.{field} unset")


class Comparison:
    """Hooks of a task in plain Python, to be compared with the compiled ones.

    Args:
        task: The task.
        steps: Number of steps to compare.
    """

    def __init__(self, task: Any, steps: int = COMPARED_STEPS) -> None:
        self._task = task
        self._results: tuple[Any, ...] | None = None
        self._row = 0
        self.steps = steps

    def __reduce__(self) -> tuple[Any, ...]:
        return Comparison, (self._task, self.steps)

    @functools.cached_property
    def _hooks(self) -> CompiledTask:
        return CompiledTask(copy.copy(self._task), compiled=False)  # its circuit has one row

    def command(self, actions: NDArray[Any], rows: NDArray[Any], memory: NDArray[Any], ids: NDArray[Any]) -> None:
        """Run `command` for one of the rows ``ids``, before the compiled one."""
        self.steps -= 1
        self._row = int(ids[self.steps % len(ids)]) if len(ids) else 0
        self._results = self._plain(lambda *copies: (self._hooks.command(actions[self._part], *copies),), rows, memory)

    def close(self, rows: NDArray[Any], memory: NDArray[Any]) -> None:
        """Run the hooks at the end of a period, before the compiled ones."""
        self._results = self._plain(self._hooks.close, rows, memory)

    def check(self, names: str, results: tuple[NDArray[Any], ...], rows: NDArray[Any], memory: NDArray[Any]) -> None:
        """Raise TypeError if compiled hooks had other ``results`` (with ``names``) or changed the records otherwise."""
        if self._results is None:
            return
        pairs = dict(zip(names.split(), zip(results, self._results, strict=False), strict=True))
        copies = zip((rows, memory), self._results[-2:], strict=True)
        for part, (own, copied) in zip(("row", "memory"), copies, strict=True):
            pairs |= {f"{part}.{name}": (own[name], copied[name]) for name in own.dtype.names or ()}
        infos = pairs.pop("infos", None)
        if infos is not None:
            pairs |= {f"info.{name}": (infos[0][name], infos[1][name]) for name in infos[0].dtype.names or ()}
        for name, (compiled, python) in pairs.items():
            one, other = compiled[self._part], python
            if not np.allclose(one.astype(float), other.astype(float), 1e-6, 1e-12, equal_nan=True):
                raise TypeError(
                    f"{type(self._task).__name__}: the compiled hooks give {name} = {one[0]}, plain Python gives "
                    f"{other[0]}: integers have 64 bits and no negative powers, and flags have no sum; write float(...)"
                )

    @property
    def _part(self) -> slice:
        return slice(self._row, self._row + 1)

    def _plain(self, run: Callable[..., Any], rows: NDArray[Any], memory: NDArray[Any]) -> tuple[Any, ...] | None:
        copies = rows[self._part].copy(), memory[self._part].copy()
        try:
            return (*run(*copies), *copies)
        except (ValueError, OverflowError):  # compiled, the result is not a number, or the hook raises it as well
            return None
        except Exception as error:
            raise _explained(self._task, error) from error


def is_foreign(kind: type) -> bool:
    """Return whether a class is defined outside the package."""
    return not kind.__module__.startswith(f"{_PACKAGE}.")
