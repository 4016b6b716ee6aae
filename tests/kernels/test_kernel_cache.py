"""The folder of compiled kernels may be damaged, full, shared or gone: programs run, and say it once."""

import errno
import importlib
import os
import pickle
import subprocess
import sys
import textwrap
import time
import warnings
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numba
import numpy as np
import pytest
from llvmlite.binding import get_host_cpu_features, get_host_cpu_name

from gymnosoma.envs.core import files as core_files
from gymnosoma.envs.core.kernels import cache as kernel_cache
from gymnosoma.envs.core.kernels import jit, lanes, maths, target
from gymnosoma.envs.core.kernels.jit import prange

AVOIDING = ("skylake-avx512", "cascadelake", "cooperlake", "icelake-server", "sapphirerapids", "emeraldrapids")
"""Processors that have vectors of 512 bits, which LLVM avoids."""

MODULE = """
import numpy as np
from gymnosoma.envs.core.kernels.jit import callback, kernel, prange, serial_and_threaded

@kernel
def triple(x):
    return 3 * x

@kernel
def outer(x):
    return triple(x) + 1

def _fill(out):
    for i in prange(len(out)):
        out[i] = triple(i)

serial, threaded = serial_and_threaded(_fill)

def note(t, out):
    out[0] = triple(t)

@kernel
def call(back, t, out):
    back(t, out)

out = np.zeros(3)
for fill in (serial, threaded):
    fill(out)
    print(out)
call(callback(note, 1), 5.0, out[::2])
print(out, outer(2.0), outer(2), triple(2.0), triple(2))
"""
PRINTED = "[0. 3. 6.]\n[0. 3. 6.]\n[15.  3.  6.] 7.0 7 6.0 6\n"


def environment(folder):
    return {**os.environ, "NUMBA_CACHE_DIR": str(folder)}


def start(script, folder, *arguments):
    """What a new process prints, and its warnings."""
    done = subprocess.run(
        [sys.executable, str(script), *arguments], env=environment(folder), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, [line for line in done.stderr.splitlines() if "Warning" in line]


def files(folder):
    """Compiled kernels below a folder by name, each with what tells that it was written anew."""
    found = [path for path in folder.rglob("*") if path.is_file()]
    return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in found}


def place(folder):
    """Where the kernels of these sources are."""
    return next(path for path in folder.iterdir() if path.is_dir())


def signed(content, path):
    return kernel_cache.checksum(path, content) + content


def flipped(content, at):
    return content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :]


DAMAGE = {
    "empty": lambda content, path: b"",
    "checksum alone": lambda content, path: content[: kernel_cache.CHECKSUM],
    "half": lambda content, path: content[: len(content) // 2],
    "one bit": lambda content, path: flipped(content, len(content) // 2),
    "one bit of the checksum": lambda content, path: flipped(content, 0),
    "no pickle": lambda content, path: signed(b"no pickle", path),
    "another pickle": lambda content, path: signed(pickle.dumps(7), path),
    "another kernel": lambda content, path: signed(content[kernel_cache.CHECKSUM :], path.with_name("other.nbc")),
}


def test_a_second_process_compiles_nothing_and_damage_heals(tmp_path):
    script, folder = tmp_path / "small.py", tmp_path / "cache"
    script.write_text(MODULE)
    assert start(script, folder) == (PRINTED, [])
    first = files(folder)
    assert len(first) >= 7 and all(name.endswith(".nbc") for name in first)  # two signatures of triple and outer
    for how, path in zip(DAMAGE, folder.rglob("*.nbc"), strict=False):
        path.write_bytes(DAMAGE[how](path.read_bytes(), path))
    printed, (told,) = start(script, folder)
    assert printed == PRINTED and f"compiled kernels in {place(folder)} are damaged" in told
    healed = files(folder)
    assert start(script, folder) == (PRINTED, [])
    assert files(folder) == healed and healed.keys() == first.keys()


HOST = {*get_host_cpu_features().flatten().split(",")}


@pytest.mark.skipif(not {*kernel_cache.LEVELS["x86-64-v3"].split(",")} <= HOST, reason="no kernels for this processor")
def test_a_wheels_kernels_serve_the_code_and_processors_they_were_made_for(tmp_path, monkeypatch):
    script, made, folder = tmp_path / "small.py", tmp_path / "made", tmp_path / "cache"
    script.write_text(MODULE)
    level = {"NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": kernel_cache.LEVELS["x86-64-v3"]}
    with monkeypatch.context() as building:
        for name, value in level.items():
            building.setenv(name, value)
        assert start(script, made) == (PRINTED, [])
    kernels = {path.name: path.read_bytes() for path in place(made).iterdir()}
    monkeypatch.setattr(kernel_cache, "FOLDER", folder / place(made).name)

    def wheel(kernels, inside=None, name="good.whl"):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            for kernel, content in kernels.items():
                archive.writestr(f"gymnosoma/envs/core/kernels/shipped/{inside or place(made).name}/{kernel}", content)
        return tmp_path / name

    assert kernel_cache.copy_shipped(wheel(kernels)) == len(kernels)
    copied = files(folder)
    assert start(script, folder) == (PRINTED, []) and files(folder) == copied  # nothing was compiled

    monkeypatch.setattr(kernel_cache, "FOLDER", tmp_path / "own" / place(made).name)
    kernel_cache.copy_shipped(wheel(kernels))
    native = tmp_path / "native.py"
    inside = textwrap.indent(MODULE, "    ")
    native.write_text(f"from gymnosoma.envs.core.kernels.cache import only_native\nwith only_native():{inside}")
    assert start(native, tmp_path / "own") == (PRINTED, []) and len(files(tmp_path / "own")) == 2 * len(kernels)
    monkeypatch.setattr(kernel_cache, "FOLDER", folder / place(made).name)

    one, other = sorted(place(folder).iterdir())[:2]
    one.unlink()
    assert start(script, folder) == (PRINTED, []) and len(files(folder)) == len(copied)  # one compiled here
    other.write_bytes(flipped(other.read_bytes(), 1000))
    printed, (told,) = start(script, folder)
    assert printed == PRINTED and "are damaged" in told and len(files(folder)) == len(copied) + 1
    script.write_text(MODULE.replace("3 * x", "5 * x"))
    assert start(script, folder)[0].startswith("[ 0.  5. 10.]")
    script.write_text(MODULE)
    count = len(files(folder))
    monkeypatch.setenv("NUMBA_CPU_NAME", "x86-64-v2"), monkeypatch.setenv("NUMBA_CPU_FEATURES", "+sse4.2")
    assert start(script, folder) == (PRINTED, []) and len(files(folder)) == count + len(kernels)

    name, content = next(iter(kernels.items()))
    for bad, message in (
        (wheel({name: flipped(content, 1000)}, name="damaged.whl"), f"wheel has a damaged kernel, {name}: "),
        (
            wheel(kernels, "0" * 16, "other.whl"),
            "wheel must have kernels for this version of the code, numba and Python",
        ),
        (wheel({"../out.nbc": content}, name="outside.whl"), "wheel must have kernels"),
        (script, "wheel must be a wheel of gymnosoma"),
    ):
        with pytest.raises(ValueError, match=message):
            kernel_cache.copy_shipped(bad)


def half(x):
    return 0.5 * x


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(kernel_cache, "FOLDER", tmp_path / "cache" / "digest")
    return tmp_path / "cache" / "digest"


def run(function=half):
    """What a new process would meet: what it tells, and whether it has compiled."""
    kernel_cache.warn.cache_clear()
    compiled = jit.kernel(function)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert compiled(3.0) == 1.5
    assert all(warning.category is RuntimeWarning for warning in caught)
    return [str(warning.message) for warning in caught], not compiled.stats.cache_hits


@pytest.mark.parametrize("how", DAMAGE)
def test_any_damage_heals(folder, how):
    assert run() == ([], True)
    assert run() == ([], False)
    whole = {path: path.read_bytes() for path in folder.iterdir()}
    assert len(whole) == 1
    for path, content in whole.items():
        path.write_bytes(DAMAGE[how](content, path))
    (told,), compiled = run()
    assert told.startswith(f"compiled kernels in {folder} are damaged") and compiled
    assert run() == ([], False)
    assert {path for path in folder.iterdir()} == whole.keys()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_is_replaced(folder):
    run()
    (path,) = folder.iterdir()
    path.unlink()
    os.mkfifo(path)
    (message,), compiled = run()
    assert message.startswith(f"compiled kernels in {folder} are damaged") and compiled
    assert run() == ([], False)


@pytest.mark.parametrize("base", ["", "cache", "./cache", "~/cache"])
def test_a_relative_cache_home_is_ignored(monkeypatch, tmp_path, base):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", base)
    assert kernel_cache.find_folder().parent == tmp_path / ".cache" / "gymnosoma"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    assert kernel_cache.find_folder().parent == tmp_path / "other" / "gymnosoma"


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners")
@pytest.mark.parametrize("what", ["folder", "file"])
@pytest.mark.parametrize(("mode", "owner"), [(0o770, None), (0o700, 12345)])
def test_what_others_can_write_is_never_unpickled(folder, monkeypatch, what, mode, owner):
    """It is compiled in memory, with one warning, and stays as it is. Folders of ours are for us alone."""
    assert run() == ([], True) and run() == ([], False) and folder.stat().st_mode & 0o777 == 0o700
    places = [folder] if what == "folder" else list(folder.iterdir())
    for place in places:
        place.chmod(mode)
    foreign, real = {place.stat().st_ino for place in places}, os.stat

    def stat(path, **where):  # as after a chown, which root alone can do
        found = real(path, **where)
        return os.stat_result((*found[:4], owner, *found[5:10])) if owner and found.st_ino in foreign else found

    monkeypatch.setattr(core_files.os, "stat", stat)
    monkeypatch.setattr(core_files, "_is_own_group", lambda number: False)
    monkeypatch.setattr(kernel_cache.pickle, "loads", lambda content: pytest.fail("it was unpickled"))
    (told,), compiled = run()
    assert compiled and "not used, for other users can write there" in told


SOURCES = {
    "params": "LENGTH, UNUSED = 0.25, 1.0\nTABLE = np.array([1.0, 2.0])\nWIDTHS = frozenset({'left', 'right'})\n",
    "more": "MASS = 3.0\nPAIR = (1.0, (2.0, 'three'))\nclass Kind(enum.Enum):\n    SOFT = 1\n",
    "helpers": """
from .more import MASS
from . import more
def shared(x):
    return MASS * x + more.PAIR[0]
@kernel
def helper(x, gain=2.0):
    return gain * shared(x)
""",
    "body": """
from .params import LENGTH, TABLE, WIDTHS
from .more import Kind
from .helpers import helper
from . import params, helpers
def made(factor):
    def inner(x):
        return factor * x
    return inner
inner = made(7.0)
@intrinsic
def nothing(context):
    return None
@kernel
def step(x, y=5.0):
    'What it does.'
    nothing()
    if x in {1.0, 2.0} or WIDTHS:
        return helper(x, 4.0) + LENGTH * TABLE[0]
    return inner(x) + y + Kind.SOFT.value + sum([6.0 * z for z in x])
def idle():
    return params.LENGTH + np.sin(1.0)
""",
}
"""Modules of a package, none of which but one holds a kernel that Python calls."""

REACHED = [
    ("params", "0.25", "0.5"), ("params", "2.0]", "4.0]"), ("params", "'left'", "'right, '"),
    ("more", "3.0", "4.0"), ("more", "(1.0, ", "(1, "), ("more", "'three'", "'four'"), ("more", "SOFT = 1", "SOFT = 2"),
    ("helpers", "return MASS * x", "return MASS + x"), ("helpers", "gain=2.0", "gain=2.5"),
    ("helpers", "more.PAIR[0]", "more.MASS"),
    ("body", "4.0", "4.5"), ("body", "7.0", "7.5"), ("body", "factor * x", "factor + x"), ("body", "5.0", "5"),
    ("body", "return None", "return 1"), ("body", "{1.0, 2.0}", "{1.0, 3.0}"), ("body", "6.0", "6.5"),
    ("body", "helper(x, 4.0)", "helper(x, gain=4.0)"),
]  # fmt: skip


@pytest.fixture
def digest(tmp_path, monkeypatch):
    """Digest of the kernel of the package, with what stands in its files, which may be edited before."""
    head = "import enum\nimport numpy as np\nfrom numba.extending import intrinsic\n"
    head += "from gymnosoma.envs.core.kernels.jit import kernel\n"
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def find(edited=None, old=None, new=None):
        (tmp_path / "creeper").mkdir(exist_ok=True)
        for name, text in SOURCES.items():
            assert name != edited or text.count(old) >= 1
            (tmp_path / "creeper" / f"{name}.py").write_text(
                head + (text.replace(old, new) if name == edited else text)
            )
        for name in [name for name in sys.modules if name.partition(".")[0] == "creeper"]:
            monkeypatch.delitem(sys.modules, name)
        importlib.invalidate_caches()
        return kernel_cache.code_digest(importlib.import_module("creeper.body").step.py_func)

    return find


@pytest.mark.parametrize("edit", REACHED, ids=str)
def test_an_edit_of_what_a_kernel_reaches_is_compiled(digest, edit):
    assert digest(*edit) != digest()


@pytest.mark.parametrize("where", ["mkdir", "write_bytes", "replace"])
def test_a_full_disk(folder, monkeypatch, where):
    def fail(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os if where == "replace" else Path, where, fail)
        (told,), compiled = run()
    assert f"{folder} cannot be saved ({os.strerror(errno.ENOSPC)})" in told and compiled
    assert not folder.exists() or not list(folder.iterdir())
    assert run() == ([], True) and run() == ([], False)


def test_two_processes_fill_one_cache(tmp_path):
    script, folder = tmp_path / "small.py", tmp_path / "cache"
    script.write_text(MODULE)
    with ThreadPoolExecutor() as pool:
        assert list(pool.map(lambda _: start(script, folder), range(2))) == [(PRINTED, [])] * 2
    written = files(folder)
    assert all(name.endswith(".nbc") for name in written)
    assert start(script, folder) == (PRINTED, []) and files(folder) == written  # the third compiles nothing


def test_a_kernel_is_awaited_while_another_process_compiles_it(folder, monkeypatch):
    assert run() == ([], True)
    (path,) = folder.iterdir()
    content = path.read_bytes()
    for patience, compiled in ((60.0, False), (0.01, True)):  # the second waits in vain
        monkeypatch.setattr(kernel_cache, "PATIENCE", patience)
        path.unlink()
        lock = kernel_cache.locked(path)
        with ThreadPoolExecutor() as pool:
            awaiting = pool.submit(run)
            time.sleep(0.2)
            if compiled:
                awaiting.result()
            path.write_bytes(content)
            lock.release()
            assert awaiting.result() == ([], compiled)


AHEAD = """
from gymnosoma.envs.core.kernels.jit import kernel

@kernel
def double(x):
    return 2 * x

class Animal:
    def compile(self, count):
        double(float(count))
"""


def test_a_second_process_compiles_ahead_and_only_if_it_is_needed(tmp_path, monkeypatch):
    (tmp_path / "doubling.py").write_text(AHEAD)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(kernel_cache, "FOLDER", kernel_cache.find_folder())
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    doubling, started = importlib.import_module("doubling"), []
    monkeypatch.setattr(kernel_cache.atexit, "register", started.append)
    for parent, expected in (("a pool", 0), (None, 1)):
        monkeypatch.setattr(kernel_cache.multiprocessing, "parent_process", lambda parent=parent: parent)
        monkeypatch.setattr(kernel_cache, "_STARTED", set())
        for _ in range(3):
            kernel_cache.compile_ahead(doubling.Animal(), 3)
        assert len(started) == expected
        assert not started or started[0].__self__.wait(100) == 0
    assert not doubling.double.signatures
    assert doubling.double(3.0) == 6.0 and doubling.double.stats.cache_hits


def test_what_is_registered_while_a_kernel_is_compiled_is_found():
    """numba registers intrinsics, such as `max` is made of, when they are called, in whichever registry comes first."""
    context = maths.exp.targetctx
    context.refresh()
    for number, registry in enumerate(list(context._registries)):
        registry.lower(("late", number), numba.types.float64)(lambda *given: None)
    context.refresh()
    for number in range(len(context._registries)):
        assert context._defns["late", number].find((numba.types.float64,))


def _indexed(rows, vector, table, i):
    rows[i].table[i, -2] = vector[-1] + table[1][i] + rows[-1].table[0, 1]
    vector[1:][0] = rows[i].table[-1][0] + len(table[:, 1:])
    table[i] = rows[0].table[i, 0]
    rows[0] = rows[i]


def test_kernels_index_as_python_does():
    def arrays():
        return np.arange(12.0).view([("table", "f8", (2, 3))]), np.arange(3.0), np.arange(6.0).reshape(2, 3)

    ours, numpys = arrays(), arrays()
    jit.kernel(_indexed)(*ours, -1)
    _indexed(numpys[0].view(np.recarray), *numpys[1:], -1)
    assert all(np.array_equal(a, b) for a, b in zip(ours, numpys, strict=True))


def _increased(ids, rows):
    for j in prange(rows[0].numbers.shape[0]):
        for e in range(rows[0].numbers.shape[1]):
            rows[0].numbers[j, e] += 1.0


def stepped(width, wide=False):
    """A loop over rows, compiled in memory for a block of lanes."""
    compiled, _ = jit.serial_and_threaded(_increased, wide=wide)
    compiled._cache = numba.core.caching.NullCache()
    compiled(np.zeros(1, int), np.zeros(1, lanes.in_lanes(np.dtype([("state", "f8", 512)]), width)))
    return compiled


@pytest.mark.skipif(get_host_cpu_name() not in AVOIDING, reason="LLVM uses the widest vectors of this processor")
@pytest.mark.parametrize(("width", "wide"), [(1, False), (1, True), (16, False), (16, True)])
def test_wide_blocks_alone_have_vectors_of_512_bits(width, wide):
    compiled = stepped(width, wide)
    assert ("zmm" in compiled.inspect_asm(compiled.signatures[0])) is (wide and width > 1)


@pytest.mark.parametrize(("width", "count"), [(1, 1), (16, 2)])
def test_a_step_of_one_animal_is_optimised_once(monkeypatch, width, count):
    passes, builder = [], target.pass_builder

    def note(*options, loops=False, **others):
        passes.append(loops)  # only in a whole kernel
        return builder(*options, loops=loops, **others)

    monkeypatch.setattr(target, "pass_builder", note)
    stepped(width)
    assert sum(passes) == count


RECORDS = """
import sys
import numba, numpy as np
if sys.argv[1] == "next":
    from numba.core import codegen, untyped_passes
    numba.__version__ = "0.99.0"
    del codegen.JITCodeLibrary, untyped_passes.LiteralUnroll
from gymnosoma.envs.core.kernels.jit import kernel

@numba.njit
def minus(x, y):
    return x - y

@kernel
def difference(row):
    return minus(row.a, row.b[0])

@kernel
def first(rows):
    return difference(rows[0])

for order in sys.argv[2:]:
    rows = np.ones(2, np.dtype([{"a": ("a", "f8"), "b": ("b", "f8", (2,))}[name] for name in order]))
    rows["b"] = 3.0
    print(first(rows), first.stats.cache_hits.total())
"""


@pytest.mark.parametrize("version", ["tested", "next"])
def test_records_of_equal_fields_are_told_apart_by_any_numba(tmp_path, version):
    """If numba names record types, both processes give their first the same name. The next version lacks names."""
    (tmp_path / "records.py").write_text(RECORDS)
    assert start(tmp_path / "records.py", tmp_path, version, "ab") == ("-2.0 0\n", [])
    assert start(tmp_path / "records.py", tmp_path, version, "ba", "ab") == ("-2.0 0\n-2.0 1\n", [])


THEIRS = """
import numba
import numpy as np

@numba.njit(cache=True)
def inner(x):
    return max(abs(x), np.floor(x)) % 3.0

@numba.njit(cache=True)
def outer(rows):
    for row in rows:
        row.q[0] = inner(row.v) + rows[0].q[1] ** 2
    return min(rows[0].v, 7.0)
"""
OURS = THEIRS.replace("@numba.njit(cache=True)", "@kernel").replace(
    "import numba", "from gymnosoma.envs.core.kernels.jit import kernel"
)
BESIDE = """
import importlib, re, sys, threading
from pathlib import Path
import numba, numpy as np
from numba.core import event

rows, told, changed = np.ones(3, np.dtype([("q", "f8", (2,)), ("v", "f8")])), {}, set()

def attributes():
    modules = [vars(module) for name, module in sys.modules.items() if name.startswith("numba.")]
    classes = {each for names in modules for each in names.values() if isinstance(each, type)}
    named = {(str(each), name): value for each in classes for name, value in vars(each).items()}
    return {key: value for key, value in named.items() if callable(value) or isinstance(value, property)}

def compile_theirs(moment):
    folder = numba.config.CACHE_DIR = Path(__file__).with_name(moment)
    sys.modules.pop("theirs", None)
    outer = importlib.import_module("theirs").outer
    result = outer(rows), *outer.inspect_llvm().items()
    index = [path.read_bytes().rpartition(b"(")[2] for path in sorted(folder.rglob("*.nbi"))]
    told[moment] = re.sub("[0-9]+", "#", f"{result} {index}")  # names contain counters

class During(event.Listener):
    def on_start(self, happened):
        changed.update(key for key, value in attributes().items() if before.get(key, value) is not value)
        thread.ident or thread.start()
    on_end = on_start

compile_theirs("before")
before, thread = attributes(), threading.Thread(target=compile_theirs, args=["during"])
event.register("numba:compile", During())
import ours
print(ours.outer(rows), rows["q"][:, 0])
thread.join()
compile_theirs("after")
print(sorted(changed), len(told), len(set(told.values())))
"""


def test_numba_compiles_other_packages_as_without_this_one(tmp_path):
    for name, text in (("theirs", THEIRS), ("ours", OURS), ("beside", BESIDE)):
        (tmp_path / f"{name}.py").write_text(text)
    told, _ = start(tmp_path / "beside.py", tmp_path / "cache")
    assert told.splitlines() == ["1.0 [2. 2. 2.]", "[] 3 1"]
