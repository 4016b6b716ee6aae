"""Files of every format, damaged and made to do harm: each is read, or refused in one line without much memory."""

import json
import lzma
import os
import re
import shutil
import stat
import tomllib
import tracemalloc
import zipfile
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import gymnasium
import numpy as np
import pytest
from hypothesis import strategies as st
from properties import TIERS, holds, refusal
from trackers import deeplabcut, wcon, write_csv, write_tierpsy, write_whisk

from gymnosoma import biomechanics
from gymnosoma.agents.benchmark import results
from gymnosoma.agents.learning.runs import recipe
from gymnosoma.agents.learning.training import Training
from gymnosoma.agents.policies.card import load_policy
from gymnosoma.agents.policies.config import read_config
from gymnosoma.agents.policies.lookup import shipped
from gymnosoma.agents.support.files import check_saved
from gymnosoma.cli.arguments import assignment
from gymnosoma.cli.fit import _read_hair
from gymnosoma.envs import Circuit, Population, Projection, Trajectory, simulate
from gymnosoma.envs.core.files import MEMORY, toml_value
from gymnosoma.envs.core.model.control import Schedule
from gymnosoma.envs.neuromechanic import load
from gymnosoma.envs.whisker_rod import Relief
from gymnosoma.envs.worm import Worm, load_kymogram
from gymnosoma.recordings import Kymogram, Midlines, RecordedBase

SWIM, ROOT, ASSETS = "gymnosoma/WormSwim-v0", Path(__file__).parents[2], resources.files("gymnosoma.assets")
LINES = 1e-3 * np.stack(np.broadcast_arrays(np.linspace(0, 1, 9), 0.01 * np.arange(9)[:, None]), -1)
WAVE = 0.1 * np.sin(np.arange(48.0)).reshape(12, 4)
BASE = np.stack([0.01 * np.arange(60), 0.3 * np.sin(np.arange(60.0))], 1)
PIXELS = {"rate": 30.0, "microns_per_pixel": 1.0, "y_down": False, "keypoints": tuple(f"p{j}" for j in range(9))}
RUN = {"id": SWIM, "algorithm": "cma", "steps": 1, "num_envs": 1, "seed": 0, "env": {"actions": "modes"}}
RUN |= {"settings": {"net_arch": [4]}, "fingerprint": "", "versions": {}}
RECIPE = (ROOT / "agents/learning/recipes/default.toml").read_text().partition("# Lowest")[0]
HAIR = "length = 0.05\ncurvature = 3.0\nn_links = 4\n"
MOT = "walk\nnRows=3\nendheader\ntime\tknee\n0\t1\n0.1\t2\n0.2\t3\n"
TRC = (
    "PathFileType\t4\nDataRate\tCameraRate\tNumFrames\n100\t100\t2\nFrame#\tTime\tHEEL\n\tX1\tY1\tZ1\n\n1\t0\t1\t2\t3\n"
)
XML = '<mujoco><worldbody><body name="a"><joint name="b"/><geom size="1"/></body></worldbody></mujoco>'


class Format(NamedTuple):
    """A kind of file: how a good one is written and read, and how many inputs a test tries."""

    write: Callable[[Path], object]
    read: Callable[[Path], object]
    most: int = 10**6


def text(content):
    return lambda path: path.write_text(content)


def copied(source):
    return lambda path: path.write_bytes(source.read_bytes())


def table(numbers, head=""):
    return lambda path: np.savetxt(path, numbers, delimiter=",", header=head, comments="")


def array(numbers):
    return lambda path: np.save(path, numbers)


def pack(path, content=None, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("a.wcon", json.dumps(wcon(LINES)) if content is None else content)


def read_policy(path):
    """Read a policy of which one file may be another."""
    for file in shipped(SWIM).iterdir():
        if file.name != path.name:
            shutil.copy(file, path.parent)
    card = json.loads((shipped(SWIM) / "card.json").read_text())
    load_policy(path.parent, gymnasium.make_vec(SWIM, 1, **card["env"]))


def write_results(path):
    with lzma.open(ROOT / "docs/results/results.jsonl.xz") as file:
        results.write(path, [json.loads(file.readline()) for _ in range(3)])


def midlines(path):
    hints = PIXELS if path.name == "dlc.csv" else {"rate": 30.0}
    return Midlines.read(path, {".hdf5": 3, ".wcon": "a", ".zip": "a"}.get(path.suffix), **hints)


def whisk(path):
    return RecordedBase.read(path, 500.0, microns_per_pixel=50.0)


def tracked(kind):
    return Format(lambda path: write_tierpsy(path, LINES, kind), midlines)


def foreign(write, most):
    return Format(write, lambda path: biomechanics.load(path, partial=True), most)


FORMATS = {
    "cord.toml": Format(copied(ASSETS / "lamprey/circuits/cord.toml"), Circuit.read),
    "worm.toml": Format(copied(ASSETS / "worm/circuits/ahead.toml"), Circuit.read),
    "arm.toml": Format(copied(ASSETS / "neuromechanic/arm.toml"), load),
    "recipe.toml": Format(text(RECIPE), lambda path: recipe(SWIM, file=path), 300),
    "hair.toml": Format(text(HAIR), _read_hair),
    "card.json": Format(copied(shipped(SWIM) / "card.json"), read_policy, 300),
    "config.json": Format(text(json.dumps(RUN, indent=1)), lambda path: read_config(path.parent), 100),
    "policy.safetensors": Format(copied(shipped(SWIM) / "policy.safetensors"), read_policy, 300),
    "results.jsonl": Format(write_results, results.read),
    "results.jsonl.xz": Format(write_results, results.read),
    "run.npz": Format(lambda path: simulate(Worm(), np.zeros(24), 0.05).save(path), Trajectory.load),
    "wave.npy": Format(array(WAVE), load_kymogram),
    "wave.csv": Format(table(WAVE), load_kymogram),
    "gaps.csv": Format(table(WAVE, "a,b,c,d"), lambda path: Kymogram.read(path, 30.0)),
    "lines.npy": Format(array(LINES), midlines),
    "lines.csv": Format(lambda path: write_csv(path, LINES), midlines),
    "dlc.csv": Format(lambda path: path.write_text(deeplabcut(LINES)), midlines),
    "lines.wcon": Format(lambda path: path.write_text(json.dumps(wcon(LINES))), midlines),
    "lines.zip": Format(pack, midlines),
    **{f"{kind}.hdf5": tracked(kind) for kind in ("featuresN", "skeletons")},
    "base.csv": Format(table(BASE, "time,angle"), RecordedBase.read),
    **{f"base.{kind}": Format(lambda path: write_whisk(path, 1), whisk, 20) for kind in ("measurements", "whiskers")},
    "drive.csv": Format(table(BASE), Schedule.read),
    "heights.txt": Format(table(BASE[:, 1]), lambda path: Relief.measured(path, 1e-3)),
    "values.csv": Format(table(WAVE), lambda path: assignment("param", f"x=@{path}")),
    "walk.mot": Format(text(MOT), biomechanics.read_motion),
    "walk.trc": Format(text(TRC + "2\t0.01\t1\t2\t3\n"), biomechanics.read_motion),
    "leg.osim": foreign(copied(ROOT / "tests/opensim/leg6dof9musc.osim"), 20),
    "arm.xml": foreign(text(XML), 4),
}
EMPTY = ("recipe.toml", "hair.toml", "results.jsonl")
IDS, SLOW = pytest.mark.parametrize("name", FORMATS), pytest.param(1000, id="slow", marks=pytest.mark.slow)


@pytest.fixture
def good(tmp_path, name):
    """A good file and its content."""
    path = tmp_path / name
    pytest.importorskip({".hdf5": "h5py", ".xml": "mujoco"}.get(path.suffix, "numpy"))
    FORMATS[name].write(path)
    return path, path.read_bytes()


def survives(path, content=None):
    """Assert that a file is read, or refused in a line that names it, with little memory; return the error."""
    if content is not None:
        path.write_bytes(content)
    tracemalloc.start()
    try:
        FORMATS[path.name].read(path)
    except ValueError as error:
        refusal(error)
        assert path.name in str(error) or path.parent.name in str(error), error  # or another file of a policy
        return str(error)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1.25 * MEMORY, peak


@IDS
@pytest.mark.parametrize("count", [pytest.param(10, id="default"), SLOW])
def test_truncated_files(good, name, count):
    path, content = good
    assert survives(path) is None
    count = min(count, len(content) // 10, FORMATS[name].most)
    errors = [survives(path, content[: len(content) * k // count]) for k in range(count)]
    assert errors[0] or name in EMPTY
    if path.suffix in (".npy", ".npz", ".zip", ".xz", ".safetensors", ".xml", ".osim", ".json", ".hdf5"):
        assert all(errors)


@IDS
def test_special_files(good, tmp_path, name):
    path, _ = good
    path.unlink()
    assert survives(path)  # missing
    for target in ("/dev/zero", "/proc/self/maps", tmp_path, path):
        path.symlink_to(target)
        assert survives(path), target
        path.unlink()
    for kind in (stat.S_IFIFO, stat.S_IFSOCK, stat.S_IFREG):
        os.mknod(path, kind | 0o600)
        if kind == stat.S_IFREG:
            os.truncate(path, (1 << 31) + 1)
        assert survives(path)
        path.unlink()


@IDS
def test_foreign_texts(good, name):
    """Other encodings, deep nesting, endless lines and other kinds of files are no text of this format."""
    path, content = good
    deep = 100_000
    texts = [content.decode("latin-1").encode("utf-16"), content.replace(b"a", b"\0"), b"\xff" + content, b"\0" * 64]
    texts += [b"[" * deep, b'{"a":' * deep, b"a = " + b"[" * deep, b"a = " + b"{b=" * deep, b"[" + b"a." * deep]
    texts += [b"1" * 10_000, b"\xef\xbb\xbf", b"PK\5\6" + bytes(18), b"<a>" * deep, b"nan,inf\n1e999,0\n", b"\n" * 9]
    texts += [content + content, content[::-1], content + b"\n\n" + content[len(content) // 2 :]]
    for each in texts[: FORMATS[name].most]:
        survives(path, each)


VALUE = re.compile(r'(?<== )[^\n#]+|(?<=": )(?:"[^"]*"|\[[^\[\]]*\]|[^\s,{}\[\]]+)')
WRONG = 'true -1 1000000 1e30 0.5 nan NaN inf 1e308 "" "x" "\\u0000" "/dev/zero" [] [[]] ["x"] [1,2,3] [[[1,2]]] {} '
WRONG += '{"a":1} {a=1} 2020-01-01'


@pytest.mark.parametrize("name", [name for name in FORMATS if name.endswith((".toml", ".json", ".wcon"))])
@pytest.mark.parametrize("count", [pytest.param(40, id="default"), SLOW])
def test_values_of_a_wrong_type(good, name, count):
    """Every key with values of other types."""
    path, content = good
    places = [(each.span(), wrong) for each in VALUE.finditer(content.decode()) for wrong in WRONG.split()]
    rng = np.random.default_rng(0)
    for k in rng.permutation(len(places))[: min(count, FORMATS[name].most)]:
        (start, end), wrong = places[k]
        survives(path, content[:start] + wrong.encode() + content[end:])


# Small files that need much


def added(size):
    """Add an array of so many zeros to a trajectory."""

    def write(path):
        FORMATS["run.npz"].write(path)
        with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive, archive.open("x.npy", "w") as file:
            about = {"descr": "|u1", "fortran_order": False, "shape": (2 * MEMORY,)}
            np.lib.format.write_array_header_1_0(file, about)
            for _ in range(size >> 20):
                file.write(bytes(1 << 20))

    return write


def packed(*arguments):
    return lambda path: pack(path, *arguments)


def encrypted(path):
    pack(path)
    content = bytearray(path.read_bytes())
    content[6] |= 1
    content[content.rindex(b"PK\1\2") + 8] |= 1
    path.write_bytes(content)


def xz(content):
    return lambda path: path.write_bytes(lzma.compress(content, preset=0))


def hdf5(rows=9, points=9, chunks=None, link=None, external=None):
    """Tables of Tierpsy with fill values alone, which claim to be large, or are in another file."""

    def write(path):
        h5py = pytest.importorskip("h5py")
        with h5py.File(path, "w") as file:
            columns = np.dtype([("worm_index", "i4"), ("timestamp", "i4")])
            file.create_dataset("timeseries_data", (rows,), columns, chunks=chunks)
            if link:
                file["coordinates"] = getattr(h5py, link)("/other", *["/"] * (link == "ExternalLink"))
            else:
                file.create_dataset("coordinates/skeletons", (rows, points, 2), "f4", external=external)

    return write


NEST = '{"units":{"t":"s","x":"mm","y":"mm"},"data":[%s{"id":"a","t":[],"x":[],"y":[],"head":"L"}]}'
MANY = NEST % ("[]," * (1 << 23))
CLAIM = b"\x93NUMPY\1\0\x46\0{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000, 24)} \n"
REPLICATE = XML.replace("<body", '<replicate count="1000000000"><body').replace("</body>", "</body></replicate>")
GROUND = '[body.ground]\njoint = { type = "revolute", axis = [0, 0, 1] }\ninertial = { mass = 1 }\n'
MOTS = [("nRows=3", "nRows=4"), ("knee", "time"), ("0.2", "inf"), ("\t3", ""), ("0.1", "0.3"), ("3\n", "x\n")]
FAR = "frame,point,x,y\n0,0,0,0\n999999999,999999,0,0\n"
SMALL = {
    "run.npz": [added(2 * MEMORY), added(0)],
    "results.jsonl.xz": [xz(b"[" + b"[]," * (MEMORY // 48)), xz(b" " * (MEMORY + 1))],
    "lines.zip": [packed(None, zipfile.ZIP_LZMA), packed(MANY), packed(" " * 2 * MEMORY), encrypted],
    "lines.wcon": [text(content) for content in (NEST % "", NEST.replace("[]", "{}") % "", MANY)],
    "dlc.csv": [text("scorer\n\nbodyparts\n"), text("scorer,a\ncoords,x\n")],
    "lines.csv": [text(FAR)],
    "wave.npy": [lambda path: path.write_bytes(CLAIM), *map(array, ([[0.0, np.nan]], [["1", "2"]], [[1j]]))],
    "wave.csv": list(map(text, ("head,tail\n0.1,0.2\n", "0.1,,0.2\n", "0.1,0.2\n0.1\n"))),
    "featuresN.hdf5": [hdf5(10**9), hdf5(points=10**9), hdf5(10**8, chunks=(10**8,)), hdf5(external="other.h5")]
    + [hdf5(link=kind) for kind in ("ExternalLink", "SoftLink")],
    "walk.mot": [text(MOT.replace(*each)) for each in MOTS],
    "walk.trc": [text(TRC)],
    "leg.osim": [text("<a>" * (1 << 21))],
    "arm.xml": [text(REPLICATE)],
    "arm.toml": [text("schema = 1\n" + GROUND)],
}


@pytest.mark.parametrize(("name", "k"), [(name, k) for name in SMALL for k in range(len(SMALL[name]))])
def test_small_files_that_need_much(tmp_path, name, k, monkeypatch):
    if name == "arm.xml":
        pytest.importorskip("mujoco")
    monkeypatch.setattr(biomechanics.mujoco, "SECONDS", 3)
    SMALL[name][k](tmp_path / name)
    assert survives(tmp_path / name)


# Writers


def test_circuits_survive_their_files(tmp_path):
    """With numbers of NumPy, and with names that are no bare keys."""
    odd = Population("ä", "leaky", delay=np.float64(0.1), tonic=np.float32(0.5), sides=np.int64(2))
    some = Population("b", "phase", frequency=1, cells=np.array([0, 2]))
    paths = [Projection("ä", "ä", np.ones((2, 3)), rostral=np.int64(1), name=name) for name in ("a b", '"\\', "😀é")]
    circuit = Circuit(np.int64(3), [odd, some], paths, "ä", joint=np.arange(3), step=np.float64(1e-3))
    circuit.write(tmp_path / "circuit.toml")
    assert Circuit.read(tmp_path / "circuit.toml") == circuit


@TIERS
def test_values_survive_toml(tier):
    words = st.text(st.characters(exclude_categories=["Cs"]))
    plain = st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | words
    trees = st.recursive(plain, lambda part: st.lists(part, max_size=3) | st.dictionaries(words, part, max_size=3))

    def check(tree):
        assert tomllib.loads(f"x = {toml_value({'a': tree})}")["x"] == {"a": tree}

    holds(check, tier, 200, tree=trees)


def test_results_survive_their_files(tmp_path):
    write_results(tmp_path / "a.jsonl")
    lines = results.read(tmp_path / "a.jsonl")
    results.write(tmp_path / "b.jsonl.xz", lines)
    assert results.read(tmp_path / "b.jsonl.xz") == lines


def test_settings_out_of_range_are_refused_before_a_run_folder(tmp_path):
    wrong = {"ppo": ["n_steps = -1", "gamma = nan", "net_arch = [1e9]", "net_arch = [100000000]", "population = 9"]}
    wrong |= {"cma": ["population = 1_000_000_000", "sigma = 0.0"], "sac": ["tau = 2.0", "learning_rate = inf"]}
    for algorithm, texts in wrong.items():
        for each in [*texts, "imitate = 3", "steps = 0", "num_envs = 'x'", "env = 3"]:
            (tmp_path / "x.toml").write_text(f"[{algorithm}]\n{each}\n")
            with pytest.raises(ValueError) as error:
                Training(SWIM, algorithm, recipe_file=tmp_path / "x.toml").run(tmp_path / "run")
            refusal(error.value, each.split()[0])
            assert not (tmp_path / "run").exists()


def test_a_link_to_itself_is_no_output(tmp_path):
    (tmp_path / "a.csv").symlink_to(tmp_path / "a.csv")
    with pytest.raises(ValueError) as error:
        check_saved("save", [[tmp_path / "a.csv"]], (".csv",))
    refusal(error.value, "save", "a.csv")
