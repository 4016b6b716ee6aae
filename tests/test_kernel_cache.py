"""The folder of compiled kernels may be damaged, full, shared or gone: programs run, and say it once."""

import errno
import hashlib
import importlib
import json
import os
import pickle
import random
import shutil
import subprocess
import sys
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

import numba
import pytest
from numba.core.registry import cpu_target

from gymnosoma.envs.core import jit
from gymnosoma.envs.core.compiling import _better

MODULE = """
import numpy as np
from gymnosoma.envs.core.jit import callback, kernel, prange, serial_and_threaded

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
    found = [path for path in folder.rglob("*") if path.is_file() and path.name != "seconds.json"]
    return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in found}


def place(folder):
    """Where the kernels of these sources are."""
    return next(path for path in folder.iterdir() if path.is_dir())


def signed(content):
    return hashlib.sha256(content).digest() + content


def damaged(content, how):
    middle = len(content) // 2
    return {
        "empty": b"",
        "one byte": content[:1],
        "checksum alone": content[: jit.DIGEST],
        "half": content[:middle],
        "last byte gone": content[:-1],
        "one byte more": content + b"\0",
        "zeros": bytes(len(content)),
        "garbage": random.Random(0).randbytes(len(content)),
        "one bit": content[:middle] + bytes([content[middle] ^ 4]) + content[middle + 1 :],
        "one bit of the checksum": bytes([content[0] ^ 1]) + content[1:],
        "no pickle": signed(content[jit.DIGEST : 2 * jit.DIGEST] + b"no pickle"),
        "another pickle": signed(content[jit.DIGEST : 2 * jit.DIGEST] + pickle.dumps(7)),
    }[how]


DAMAGE = [
    "empty",
    "one byte",
    "checksum alone",
    "half",
    "last byte gone",
    "one byte more",
    "zeros",
    "garbage",
    "one bit",
    "one bit of the checksum",
    "no pickle",
    "another pickle",
]


def test_a_second_process_compiles_nothing_and_damage_heals(tmp_path):
    script, folder = tmp_path / "small.py", tmp_path / "cache"
    script.write_text(MODULE)
    assert start(script, folder) == (PRINTED, [])
    first = files(folder)
    assert len(first) >= 7 and all(name.endswith(".nbc") for name in first)  # two signatures of triple and outer
    assert start(script, folder) == (PRINTED, [])
    assert files(folder) == first
    for how, path in zip(DAMAGE, folder.rglob("*.nbc"), strict=False):
        path.write_bytes(damaged(path.read_bytes(), how))
    printed, told = start(script, folder)
    assert printed == PRINTED
    assert len(told) == 1 and f"compiled kernels in {place(folder)} are damaged" in told[0]
    healed = files(folder)
    assert start(script, folder) == (PRINTED, [])
    assert files(folder) == healed and healed.keys() == first.keys()


def half(x):
    return 0.5 * x


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(jit, "_FOLDER", tmp_path / "cache" / "digest")
    return tmp_path / "cache" / "digest"


def run(function=half):
    """What a new process would meet: what it tells, and whether it has compiled."""
    jit._told.clear()
    compiled = jit.kernel(function)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert compiled(3.0) == 1.5
        assert compiled(3) == 1.5  # another signature; no second warning
    assert all(warning.category is RuntimeWarning for warning in caught)
    return [str(warning.message) for warning in caught], not compiled.stats.cache_hits


@pytest.mark.parametrize("how", DAMAGE)
def test_any_damage_heals(folder, how):
    assert run() == ([], True)
    assert run() == ([], False)
    whole = {path: path.read_bytes() for path in folder.iterdir()}
    assert len(whole) == 2
    for path, content in whole.items():
        path.write_bytes(damaged(content, how))
    (told,), compiled = run()
    assert told.startswith(f"compiled kernels in {folder} are damaged") and compiled
    assert run() == ([], False)
    assert {path for path in folder.iterdir()} == whole.keys()


def test_any_bit_counts(folder):
    run()
    path = next(folder.iterdir())
    content, rng = path.read_bytes(), random.Random(0)
    for _ in range(20):
        bad = bytearray(content)
        bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
        path.write_bytes(bad)
        (told,), _ = run()
        assert path.name in told and "wrong checksum" in told
    assert run() == ([], False)


def test_another_source_is_compiled(folder, tmp_path, monkeypatch):
    """In the same place, of the same name and byte code; only constants differ."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    seen = []
    for factors in ((0.125, 0.375), (0.375, 0.125), (0.375, 0.125)):
        (tmp_path / "edited.py").write_text("def f(x):\n    return {} * x + {} * x\n".format(*factors))
        jit._source_digest.cache_clear()
        monkeypatch.delitem(sys.modules, "edited", raising=False)
        seen.append(run(importlib.import_module("edited").f))
    assert seen == [([], True), ([], True), ([], False)]
    assert len(list(folder.iterdir())) == 2


def test_what_is_typed_in_is_compiled_without_a_word(folder):
    names = {"__name__": "typed"}
    exec(compile("def f(x):\n    return 0.5 * x\n", "<stdin>", "exec"), names)
    assert run(names["f"]) == run(names["f"]) == ([], True)
    assert not folder.exists()


def test_what_takes_long_is_told(folder, caplog):
    def told():
        caplog.clear()
        serial, _ = jit.serial_and_threaded(half, "half_rows", "gymnosoma.envs.worm.body")
        assert serial(3.0) == 1.5
        return [record.getMessage() for record in caplog.records]

    assert told() == ["gymnosoma: compiling worm (half), once on this machine"]
    assert told() == []
    shutil.rmtree(folder)  # as an edited source has another one
    seconds = folder.parent / "seconds.json"
    seconds.write_text('{"worm (half)": 7.3, "worm (other)": 1.0}')
    assert told() == ["gymnosoma: compiling worm (half), once on this machine; it took 7 s last time"]
    assert json.loads(seconds.read_text())["worm (other)"] == 1.0
    for content in ("", "[]", '{"worm (half)": null}'):
        shutil.rmtree(folder)
        seconds.write_text(content)
        assert told() == ["gymnosoma: compiling worm (half), once on this machine"]


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EACCES])
@pytest.mark.parametrize("where", ["mkdir", "write_bytes", "replace"])
def test_a_full_disk(folder, monkeypatch, error, where):
    def fail(*_, **__):
        raise OSError(error, os.strerror(error))

    def fill(path, content):
        with open(path, "wb") as file:
            file.write(content[: len(content) // 2])
        fail()

    with monkeypatch.context() as patch:
        if where == "replace":
            patch.setattr(os, "replace", fail)
        else:
            patch.setattr(Path, where, fail if where == "mkdir" else fill)
        (told,), compiled = run()
    assert told.startswith(f"compiled kernels cannot be saved in {folder}; NUMBA_CACHE_DIR names another folder")
    assert os.strerror(error) in told and compiled
    assert not folder.exists() or not list(folder.iterdir())
    assert run() == ([], True) and run() == ([], False)


@pytest.mark.skipif(os.name == "nt", reason="no limits there")
def test_files_that_may_not_grow(tmp_path):
    script, folder = tmp_path / "small.py", tmp_path / "cache"
    script.write_text("import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n" + MODULE)
    printed, told = start(script, folder)
    assert printed == PRINTED
    assert len(told) == 1 and f"cannot be saved in {place(folder)}" in told[0]
    assert not files(folder)


def test_a_folder_that_cannot_be_made_or_vanishes(folder):
    folder.parent.write_text("a file, as a home may be that is none")
    (told,), compiled = run()
    assert f"cannot be saved in {folder}" in told and compiled
    folder.parent.unlink()
    assert run() == ([], True) and run() == ([], False)
    shutil.rmtree(folder.parent)
    assert run() == ([], True) and run() == ([], False)
    path = next(folder.iterdir())
    path.unlink()
    path.mkdir()  # a folder in the place of a file
    (told,), _ = run()
    assert f"cannot be saved in {folder}" in told
    assert list(folder.glob("*.tmp")) == []


def test_without_a_home(monkeypatch):
    """Machine code is not looked for in a folder ``~`` of the present one."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(jit, "AppDirs", lambda *_, **__: SimpleNamespace(user_cache_dir="~/.cache/gymnosoma"))
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    folder = jit._cache_folder()
    assert Path(os.devnull).absolute() in folder.parents
    monkeypatch.setattr(jit, "_FOLDER", folder)
    (told,), compiled = run()
    assert f"cannot be saved in {folder}" in told and compiled


def test_what_killed_processes_have_left_is_removed(folder):
    folder.mkdir(parents=True)
    old, new = folder / "half-0.tmp", folder / "half-1.tmp"
    for path in (old, new):
        path.write_bytes(b"half of a file")
    os.utime(old, (time.time() - 7200,) * 2)
    assert run() == ([], True)
    assert not old.exists() and new.exists()


def at_once(script, folder, count):
    """What processes that start at the same time print, and what is written to the standard error."""
    processes = [
        subprocess.Popen(
            [sys.executable, str(script), str(k)],
            env=environment(folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for k in range(count)
    ]  # fmt: skip
    done = [process.communicate() for process in processes]
    assert [process.returncode for process in processes] == [0] * count, done
    return done


@pytest.mark.full
def test_eight_processes_on_a_cold_cache(tmp_path):
    """Each begins with a signature of its own, so that all save the same kernel at the same time; then a worm."""
    script, folder = tmp_path / "many.py", tmp_path / "cache"
    script.write_text("""
import sys
import gymnasium, numpy as np
from gymnosoma.envs.core.jit import kernel

@kernel
def total(x):
    result = x[0] + 1
    for i in range(1, len(x)):
        result += x[i]
    return result

kinds = ["i1", "i2", "i4", "i8", "u1", "u2", "f4", "f8"]
k = int(sys.argv[1])
print([float(total(np.arange(5, dtype=kind))) for kind in np.roll(kinds, -k)])
env = gymnasium.make("gymnosoma:gymnosoma/WormSwim-v0")
observation, _ = env.reset(seed=0)
for _ in range(5):
    observation, reward, *_ = env.step(np.full(24, 0.3, np.float32))
print(observation.tobytes().hex(), reward)
""")
    done = at_once(script, folder, 8)
    assert [printed for printed, _ in done] == [done[0][0]] * 8 and done[0][0].startswith(str([11.0] * 8))
    assert {line for _, told in done for line in told.splitlines()} == {
        "gymnosoma: compiling worm (midpoint), once on this machine"
    }
    written = files(folder)
    assert written and all(name.endswith(".nbc") for name in written)
    assert sum(name.startswith("total-") for name in written) == 8
    assert start(script, folder, "0") == (done[0][0], [])
    assert files(folder) == written  # the ninth compiles nothing


@pytest.mark.full
def test_eight_processes_on_a_damaged_cache(tmp_path):
    script, folder = tmp_path / "small.py", tmp_path / "cache"
    script.write_text(MODULE)
    start(script, folder)
    for path in folder.rglob("*.nbc"):
        path.write_bytes(b"damaged")
    for printed, told in at_once(script, folder, 8):
        assert printed == PRINTED and told.count("RuntimeWarning") <= 1  # who comes late finds it whole
    assert start(script, folder) == (PRINTED, [])
    assert not list(folder.rglob("*.tmp"))


def test_what_is_registered_while_a_kernel_is_compiled_is_found():
    """numba registers intrinsics, such as `max` is made of, when they are called, in whichever registry comes first."""
    context = cpu_target.target_context
    with _better():
        context.refresh()
        for number, registry in enumerate(list(context._registries)):
            registry.lower(("late", number), numba.types.float64)(lambda *given: None)
        context.refresh()
    for number in range(len(context._registries)):
        assert context._defns["late", number].find((numba.types.float64,))
