"""Kernels as WebAssembly: Numba's LLVM code, optimised for that target and linked without imports."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numba
from llvmlite import binding as llvm
from numba.core import target_extension
from numba.core.compiler_lock import global_compiler_lock
from numba.core.typing import Signature

from gymnosoma.envs.core.kernels import cache as kernel_cache
from gymnosoma.envs.core.kernels.target import NAME, Part, PartCompiler, linked, pass_builder

TRIPLE = "wasm32-unknown-unknown"

FEATURES = "+simd128,+bulk-memory"
"""WebAssembly features, supported by every browser since 2021."""

STACK = 1 << 18
"""Size of the stack in bytes; only LLVM uses it, for temporaries."""

LARGEST = 150_000
"""Largest size of a module, bytes."""

FUNCTION, TABLE, MEMORY, GLOBAL = range(4)
"""Kinds of imports and exports."""

IMPORTS, MEMORIES, GLOBALS, EXPORTS, DATA = 2, 5, 6, 7, 11
"""Section numbers."""

ORDER = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 10, 11)
"""Order of sections in a module; the data count (12) precedes the code (10)."""

SYMBOLS, DATA_SYMBOL, SECTION_SYMBOL, UNDEFINED, EXPLICIT_NAME = 8, 1, 3, 0x10, 0x40
"""Constants of an object's ``linking`` section, see https://github.com/WebAssembly/tool-conventions."""

I32_CONST, END, PAGE = 0x41, b"\x0b", 65536

# Functions that Numba and NumPy call by name. A square root is an instruction. Kernels reshape contiguous arrays only,
# so the new strides (bytes) are products of the new shape.
HELPERS = f"""
target triple = "{TRIPLE}"
declare void @llvm.trap()
declare double @llvm.sqrt.f64(double)
define double @sqrt(double %x) {{
  %y = call double @llvm.sqrt.f64(double %x)
  ret double %y
}}
define i32 @numba_attempt_nocopy_reshape(i64 %nd, i8* %dims, i8* %strides, i64 %n, i64* %shape, i64* %new, i64 %size,
                                         i32 %fortran) {{
entry:
  br label %loop
loop:
  %left = phi i64 [ %n, %entry ], [ %i, %body ]
  %stride = phi i64 [ %size, %entry ], [ %next, %body ]
  %done = icmp eq i64 %left, 0
  br i1 %done, label %end, label %body
body:
  %i = sub i64 %left, 1
  %place = getelementptr i64, i64* %new, i64 %i
  store i64 %stride, i64* %place
  %at = getelementptr i64, i64* %shape, i64 %i
  %length = load i64, i64* %at
  %next = mul i64 %stride, %length
  br label %loop
end:
  ret i32 1
}}
"""


TRAP = """
define double @{}(double %x, double %y) {{
  call void @llvm.trap()
  unreachable
}}
"""
"""Function that traps; a caller with one argument leaves the second undefined."""


def _target() -> Any:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(TRIPLE).create_target_machine(opt=3, features=FEATURES)


def _parsed(text: str, machine: Any) -> Any:
    """Parse LLVM code that was generated for this machine, and change its target to WebAssembly."""
    text = re.sub(r'target datalayout = ".*"', f'target datalayout = "{machine.target_data}"', text)
    text = re.sub(r'target triple = ".*"', f'target triple = "{TRIPLE}"', text)
    text = re.sub(r'"target-(cpu|features)"="[^"]*"', "", text)
    text = text.replace("= common ", "= internal ").replace("fastcc ", "")
    module = llvm.parse_assembly(text)
    module.verify()
    return module


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the Python function of a kernel."""
    return getattr(function, "py_func", function)


def _translated(function: Callable[..., Any], signature: Signature) -> tuple[str, str]:
    """Return Numba's unoptimised LLVM code of a kernel and its callees, and the kernel's name in it."""
    options = {"nopython": True, "error_model": "numpy", "_nrt": False, "no_cpython_wrapper": True}
    part = Part(_plain(function), targetoptions=options | {"no_cfunc_wrapper": True}, pipeline_class=PartCompiler)
    with target_extension.target_override(NAME), global_compiler_lock:
        part.compile(signature.args)
    (compiled,) = part.overloads.values()
    module, symbol = compiled.library._final_module.clone(), compiled.fndesc.llvm_func_name
    for each in linked(compiled.library):
        module.link_in(each._get_module_for_linking(), preserve=True)
    module.get_function(symbol).linkage = "external"  # is kept without a caller
    return str(module), symbol


def compile_module(kernels: Mapping[str, tuple[Callable[..., Any], Signature]], never: Sequence[str] = ()) -> bytes:
    """Compile kernels to a WebAssembly module without imports, and cache it on disk like other kernels.

    Args:
        kernels: Function and signature of each kernel, by the exported name.
        never: C library functions that kernels reference but do not call with these arguments; a call traps.

    Returns:
        bytes: Module, which also exports ``memory`` and ``__heap_base``.

    Raises:
        ValueError: If a kernel calls a function outside the module, such as one of the C library.
    """
    parts = [(name, kernel_cache.file_of(_plain(each), str(kind)).name) for name, (each, kind) in kernels.items()]
    path = kernel_cache.file_of(_compiled, parts, never, numba.__version__)
    try:
        module = kernel_cache.load(path)
    except ValueError:  # damaged file
        module = None
    if module is None:
        module = _compiled(kernels, never)
        kernel_cache.save(path, module)
    return module


def _compiled(kernels: Mapping[str, tuple[Callable[..., Any], Signature]], never: Sequence[str]) -> bytes:
    """Compile kernels as `compile_module` does, without the cache."""
    machine = _target()
    whole = _parsed(HELPERS + "".join(map(TRAP.format, never)), machine)
    for name, (function, signature) in kernels.items():
        text, symbol = _translated(function, signature)
        whole.link_in(_parsed(re.sub(rf'@"?{re.escape(symbol)}"?(?=\W)', f"@{name}", text), machine))
    for function in whole.functions:
        if not function.is_declaration:
            function.linkage = "external" if function.name in kernels else "internal"
    for unroll in (False, True):  # as `target` does for this machine: loops are vectorised before they are unrolled
        passes = pass_builder(machine, 3, unroll, loops=True, others=unroll)
        passes.getModulePassManager().run(whole, passes)
    missing = sorted(f.name for f in whole.functions if f.is_declaration and not f.name.startswith("llvm."))
    if missing:
        raise ValueError(f"kernels must only call functions in their module, got {', '.join(missing)}")
    return link(machine.emit_object(whole), list(kernels))


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Read an unsigned number (LEB128), and return it with the offset of its end."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _written(value: int, bits: int = 7) -> bytes:
    """Encode a non-negative number (LEB128); the last byte has at most 7 bits, or 6 if the number is signed."""
    low, rest = value & 127, value >> 7
    return bytes([low | 128]) + _written(rest, bits) if rest or low >> bits else bytes([low])


def _sections(data: bytes, at: int, end: int) -> list[tuple[int, bytes]]:
    """Return the numbers and contents of the sections, or of the parts of a section, from ``at`` to ``end``."""
    sections = []
    while at < end:
        number = data[at]
        size, start = _number(data, at + 1)
        at = start + size
        sections.append((number, data[start:at]))
    return sections


def _text(data: bytes, at: int) -> tuple[str, int]:
    size, start = _number(data, at)
    return data[start : start + size].decode(), start + size


def _imports(data: bytes) -> list[tuple[int, str]]:
    """Return the kinds and names of an object's imports."""
    imports = []
    count, at = _number(data, 0)
    for _ in range(count):
        _, at = _text(data, at)
        name, at = _text(data, at)
        kind = data[at]
        imports.append((kind, name))
        at += 3 if kind == GLOBAL else 1
        if kind in (TABLE, MEMORY):
            at += kind == TABLE
            limited, at = data[at] & 1, _number(data, at + 1)[1]
            at = _number(data, at)[1] if limited else at
        elif kind == FUNCTION:
            at = _number(data, at)[1]
    return imports


def _functions(linking: bytes) -> dict[str, int]:
    """Return the indices of the functions that an object defines, by name, from its symbol table."""
    places: dict[str, int] = {}
    for number, data in _sections(linking, 1, len(linking)):  # after the version of the format
        if number != SYMBOLS:
            continue
        count, at = _number(data, 0)
        for _ in range(count):
            kind = data[at]
            flags, at = _number(data, at + 1)
            if kind == DATA_SYMBOL:
                _, at = _text(data, at)
                for _ in range(0 if flags & UNDEFINED else 3):
                    _, at = _number(data, at)
                continue
            place, at = _number(data, at)
            if kind == SECTION_SYMBOL or (flags & UNDEFINED and not flags & EXPLICIT_NAME):
                continue
            name, at = _text(data, at)
            if kind == FUNCTION and not flags & UNDEFINED:
                places[name] = place
    return places


def _data_end(data: bytes) -> int:
    """Return the end of the constants in memory; they start at 0."""
    end = 0
    count, at = _number(data, 0)
    for _ in range(count):
        if data[at] != 0 or data[at + 1] != I32_CONST:
            raise ValueError("constants must have fixed addresses in memory")
        place, at = _number(data, at + 2)
        size, at = _number(data, at + 1)
        at += size
        end = max(end, place + size)
    return end


def link(module: bytes, exports: Sequence[str]) -> bytes:
    """Convert a self-contained object to a module.

    LLVM has already resolved all addresses, so no linker is needed. The imported memory and stack pointer become
    definitions of the module, and the exports are added.

    Raises:
        ValueError: If the object imports anything else.
    """
    sections = _sections(module, 8, len(module))
    contents = {number: data for number, data in sections if number}
    custom = dict((name, data[at:]) for name, at, data in ((*_text(d, 0), d) for n, d in sections if n == 0))
    imports = _imports(contents.pop(IMPORTS, b"\0"))
    if [name for _, name in imports if name not in ("__linear_memory", "__stack_pointer")]:
        raise ValueError(f"module must import memory and stack only, got {imports}")
    functions = _functions(custom["linking"])
    top = -(-_data_end(contents.get(DATA, b"\0")) // 64) * 64 + STACK
    contents[MEMORIES] = _written(1) + b"\0" + _written(-(-top // PAGE))
    stack = b"\x7f\x01" + bytes([I32_CONST]) + _written(top, bits=6) + END
    contents[GLOBALS] = _written(2) + stack + b"\x7f\x00" + bytes([I32_CONST]) + _written(top, bits=6) + END
    named = [(name, FUNCTION, functions[name]) for name in exports]
    named += [("memory", MEMORY, 0), ("__heap_base", GLOBAL, 1)]
    contents[EXPORTS] = _written(len(named)) + b"".join(
        _written(len(name)) + name.encode() + bytes([kind]) + _written(place) for name, kind, place in named
    )
    parts = (
        bytes([number]) + _written(len(contents[number])) + contents[number] for number in ORDER if number in contents
    )
    return module[:8] + b"".join(parts)
