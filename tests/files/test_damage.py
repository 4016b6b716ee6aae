"""Formats times damages: each file is read, or refused in one line that names it, without much memory."""

import json
import lzma
import os
import random
import re
import shutil
import stat
import struct
import tomllib
import tracemalloc
import zipfile
from collections import Counter
from importlib import resources
from typing import NamedTuple

import numpy as np
import pytest
from formats import FORMATS, LINES, SWIM, TRC, XML, array, chain, listening, midlines, pack
from hypothesis import note
from hypothesis import strategies as st
from properties import DEFAULT, TIERS, holds, refusal
from runs import train
from safetensors.numpy import load_file, save_file
from trackers import wcon

from gymnosoma import biomechanics
from gymnosoma.envs.core.files import LARGEST_TEXT, MEMORY
from gymnosoma.envs.neuromechanic import Neuromechanic

CONTAINERS = (".npy", ".npz", ".zip", ".xz", ".safetensors", ".xml", ".osim", ".json", ".hdf5")
"""Endings of formats of which no part is a whole file."""

KEYS = ("format", "id", "algorithm", "observation_space", "action_space", "env", "scores", "versions", "fingerprint")
"""Keys that a card needs."""
EMPTY = ("recipe.toml", "hair.toml", "results.jsonl")
"""Formats of which an empty file is one."""


@pytest.fixture
def good(tmp_path, name):
    """A good file and its content."""
    path = tmp_path / name
    pytest.importorskip({".hdf5": "h5py", ".xml": "mujoco"}.get(path.suffix, "numpy"))
    FORMATS[name].write(path)
    return path, path.read_bytes()


def survives(path, content=None, read=None):
    """Assert that a file is read, or refused in a line that names it, with little memory; return the error."""
    form = FORMATS[path.name]
    if content is not None:
        path.write_bytes(content)
    tracemalloc.start()
    try:
        (read or form.read)(path)
    except ValueError as error:
        refusal(error)
        assert path.name in str(error) or path.parent.name in str(error), error  # or another file of a policy
        assert not form.told or str(error).startswith(form.told % str(path)), error
        return str(error)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1.25 * MEMORY, peak


# Damages of all formats


def cut(content, count):
    count = min(count, len(content) // 10)
    return [content[: len(content) * k // count] for k in range(count)]


def foreign_texts(content, count):
    """Other encodings, deep nesting, endless lines and other kinds of files."""
    deep = 100_000
    texts = [content.decode("latin-1").encode("utf-16"), content.replace(b"a", b"\0"), b"\xff" + content, b"\0" * 64]
    texts += [b"[" * deep, b'{"a":' * deep, b"a = " + b"[" * deep, b"a = " + b"{b=" * deep, b"[" + b"a." * deep]
    texts += [b"1" * 10_000, b"\xef\xbb\xbf", b"PK\5\6" + bytes(18), b"<a>" * deep, b"nan,inf\n1e999,0\n", b"\n" * 9]
    texts += [b"\xfd7zXZ\x00 no", b"\x80", content + content, content[::-1]]
    return [*texts, content + b"\n\n" + content[len(content) // 2 :]]


def bytes_changed(content, count):
    """Bytes that are flipped, cut, doubled, or of anything; most near the start, where a file tells of itself."""
    rng = random.Random(0)
    for k in range(4 * count):
        i, j = sorted(rng.sample(range(len(content) if k % 2 else min(len(content), 1200)), 2))
        yield (
            content[:i] + bytes([content[i] ^ 1 << rng.randrange(8)]) + content[i + 1 :],
            content[:i] + content[j:],
            content[:j] + content[i:],
            content[:i] + rng.randbytes(j - i) + content[j:],
            content[:i] + rng.randbytes(1) + content[i + 1 : j] + rng.randbytes(1) + content[j + 1 :],
            rng.randbytes(100),
        )[k % 6]


VALUE = re.compile(r'(?<== )[^\n#]+|(?<=": )(?:"[^"]*"|\[[^\[\]]*\]|[^\s,{}\[\]]+)')
WRONG = (
    'true null -1 1000000 1e30 0.5 nan NaN inf 1e308 "" "x" "\\u0000" "/dev/zero" [] [[]] ["x"] [1,2,3] [[[1,2]]] {} '
)
WRONG += '{"a":1} {a=1} 2020-01-01 1' + "0" * 400


def values_changed(content, count):
    """Every key with values of other types."""
    places = [(each.span(), wrong) for each in VALUE.finditer(content.decode()) for wrong in WRONG.split()]
    for k in np.random.default_rng(0).permutation(len(places))[: 4 * count]:
        (start, end), wrong = places[k]
        yield content[:start] + wrong.encode() + content[end:]


DAMAGES = [
    pytest.param(name, damage, id=f"{name}-{damage.__name__}")
    for damage in (cut, foreign_texts, bytes_changed, values_changed)
    for name in FORMATS
    if damage is not values_changed or name.endswith((".toml", ".json", ".jsonl", ".wcon"))
]


@pytest.mark.filterwarnings("ignore:Polyfit may be poorly conditioned")
@pytest.mark.parametrize(("name", "damage"), DAMAGES)
@pytest.mark.parametrize(
    "count", [pytest.param(10, id="default"), pytest.param(1000, id="slow", marks=pytest.mark.slow)]
)
def test_damaged_files(good, name, damage, count):
    path, content = good
    assert survives(path) is None
    most = FORMATS[name].most
    errors = [survives(path, each) for each, _ in zip(damage(content, min(count, most)), range(most), strict=False)]
    if damage is cut:
        assert errors[0] or name in EMPTY
        assert all(errors) or path.suffix not in CONTAINERS


@pytest.mark.slow
@pytest.mark.parametrize("name", ["checkpoint.zip", "curve.csv"])
def test_runs_with_bytes_changed(tmp_path, name):
    """They go on, or are refused in a line."""
    train(SWIM, tmp_path / "run", "ppo", steps=2000, num_envs=8)
    for content in bytes_changed((tmp_path / "run" / name).read_bytes(), 15):
        shutil.copytree(tmp_path / "run", tmp_path / "copy")
        (tmp_path / "copy" / name).write_bytes(content)
        try:
            train(SWIM, tmp_path / "copy", resume=True)
        except (ValueError, OSError) as error:
            refusal(error)
        shutil.rmtree(tmp_path / "copy")


@pytest.mark.parametrize("name", FORMATS)
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


# Faults of one format


class Fault(NamedTuple):
    """What is wrong with a file, how its error begins to tell it (a pattern), and how it is read if not as usual."""

    harm: object
    """A content, two texts of which the second replaces the first, or a function that harms a good file."""

    message: str = ""
    read: object = None


def arrays_changed(change):
    """Change the arrays of a trajectory."""

    def harm(path):
        with np.load(path) as archive:
            arrays = dict(archive)
        np.savez(path, **change(arrays))

    return harm


def about(old, new):
    return arrays_changed(lambda arrays: arrays | {"about": np.array(str(arrays["about"]).replace(old, new))})


def turned_over(path):
    content = path.read_bytes()
    middle = len(content) // 2
    path.write_bytes(content[:middle] + bytes(255 - byte for byte in content[middle:][:64]) + content[middle + 64 :])


def added(size):
    """Add an array of so many zeros to a trajectory."""

    def harm(path):
        with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive, archive.open("x.npy", "w") as file:
            header = {"descr": "|u1", "fortran_order": False, "shape": (2 * MEMORY,)}
            np.lib.format.write_array_header_1_0(file, header)
            for _ in range(size >> 20):
                file.write(bytes(1 << 20))

    return harm


def packed(*arguments):
    return lambda path: pack(path, *arguments)


def encrypted(path):
    content = bytearray(path.read_bytes())
    content[6] |= 1
    content[content.rindex(b"PK\1\2") + 8] |= 1
    path.write_bytes(content)


def hdf5(rows=9, points=9, chunks=None, link=None, external=None):
    """Tables of Tierpsy with fill values alone, which claim to be large, or are in another file."""

    def harm(path):
        h5py = pytest.importorskip("h5py")
        with h5py.File(path, "w") as file:
            columns = np.dtype([("worm_index", "i4"), ("timestamp", "i4")])
            file.create_dataset("timeseries_data", (rows,), columns, chunks=chunks)
            if link:
                file["coordinates"] = getattr(h5py, link)("/other", *["/"] * (link == "ExternalLink"))
            else:
                file.create_dataset("coordinates/skeletons", (rows, points, 2), "f4", external=external)

    return harm


def keys(**changes):
    """Change keys of a JSON file, or of each line of one; `None` takes a key away."""

    def harm(path):
        lines = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
        documents = [json.loads(line) | changes for line in lines]
        whole = [{key: value for key, value in each.items() if value is not None} for each in documents]
        path.write_text("\n".join(map(json.dumps, whole)))

    return harm


def network(**changes):
    return keys(network={"net_arch": [64, 64], "activation": "Tanh"} | changes)


def header(content, tail=b""):
    """Header of weights."""
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return struct.pack("<Q", len(data)) + data + tail


def claim(shape, size):
    return header({"layers.0.bias": {"dtype": "F32", "shape": shape, "data_offsets": [0, 24]}}, bytes(size))


def tensors(**changes):
    return lambda path: save_file(load_file(path) | changes, path)


def bias(value):
    return tensors(**{"layers.2.bias": np.asarray(value)})


def made_a_folder(path):
    path.unlink()
    path.mkdir()


def truncated(size):
    return lambda path: os.truncate(path, size)


def worm(units=None, **entry):
    """A recording of one worm."""
    places = {"id": "a", "t": [0], "x": [[0, 1, 2, 3, 4]], "y": [[0] * 5], "head": "L"} | entry
    places |= {axis: places[axis] * len(places["t"]) for axis in "xy"}
    return json.dumps({"units": {"t": "s", "x": "mm", "y": "mm"} | (units or {}), "data": [places]})


def more(content):
    """Add lines to a file."""
    return lambda path: path.write_text(path.read_text() + content)


NAMES = ("arm", "hindlimb", "standing", "spindle")
MODELS = {
    name: resources.files("gymnosoma.assets").joinpath(f"neuromechanic/{name}.toml").read_text() for name in NAMES
}
GROUND = '[body.ground]\njoint = { type = "revolute", axis = [0, 0, 1] }\ninertial = { mass = 1 }\n'
NEST = '{"units":{"t":"s","x":"mm","y":"mm"},"data":[%s{"id":"a","t":[],"x":[],"y":[],"head":"L"}]}'
MANY = NEST % ("[]," * (1 << 23))
CLAIM = b"\x93NUMPY\1\0\x46\0{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000, 24)} \n"
REPLICATE = XML.replace("<body", '<replicate count="1000000000"><body').replace("</body>", "</body></replicate>")
SPACE = {"shape": [58], "low": -10.0, "high": 10.0}
NO_WEIGHTS = "policy.safetensors': it is not a safetensors file"
END = "walk\nendheader\n"
SCALE = {"data": wcon(LINES)["data"][:1]}

FAULTS = {
    "arm.toml": {
        "no value": Fault("schema = ", "cannot be read"),
        "ground": Fault("schema = 1\n" + GROUND),
        "long delay": Fault(
            ("delay = 0.03", "delay = 1e4"), r"neuron.reflex.synapse\[0\].delay must be a number from 0 to"
        ),
        "900 bodies": Fault(chain(900), "body must hold at most 128 tables, got 900"),
        "100000 bodies": Fault(chain(100_000), "bytes, 1048576 are allowed"),
        "contacts": Fault(
            more("".join(f"[contact.c{i}]\n" for i in range(257))), "contact must hold at most 256 tables, got 257"
        ),
        "rigid contacts": Fault(
            more("".join(f'[contact.c{i}]\npoint = ["fore", 0.1, 0, 0]\nfriction = 0.5\n' for i in range(65))),
            "contact: a model has at most 64 rigid contacts, got 65",
        ),
        "synapses": Fault(
            more("[neuron.n]\nsynapse = [" + '{ from = "neuron.reflex" },' * 2049 + "]\n"), "at most 2048 tables, got"
        ),
        "circle": Fault(
            more(listening(1000, lambda i: (i + 1) % 1000)),
            "neuron.n0.synapse without delay makes a cycle: n0 -> n1",
        ),
        "no UTF-8": Fault(MODELS["arm"].encode() + b"# \xff\n", "can't decode byte 0xff"),
        "400 digits": Fault(
            ("damping = 0.1", "damping = " + "1" * 400), "body.upper.joint.damping must be a number within"
        ),
        "hexadecimal": Fault(
            ("damping = 0.1", "damping = 0x" + "1" * 9000), "body.upper.joint.damping must be a number"
        ),
        "undeclared": Fault(("input.triceps", "input.tricep"), "input 'tricep' is not declared"),
        "no list": Fault(("[0, -9.81, 0]", "3"), "model.gravity must be a list of 3 numbers, got 3"),
        "truth": Fault(
            ("mass = 2.0", "mass = true"), "body.upper.inertial.mass must be a number of at least 0, got True"
        ),
        "tiny": Fault(
            ("max_force = 600.0", "max_force = 1e-300"),
            "muscle.biceps.model.max_force must be a number of at least 1e-12",
        ),
        "header": Fault(more("[" + ".".join("a" * 100_000) + "]\n"), "line 28: a key has more than 16 parts"),
        "braces": Fault(more("x = " + "{ a = " * 100_000), "its values are nested too deeply"),
        "two lines": Fault(
            more('[body."a\\nb"]\n'), r"body: a name must have 1 to 100 printable characters, got 'a\\nb'"
        ),
    },
    "cord.toml": {
        "no target": Fault(
            "segments = 9\n[output]\nmuscles = 'h'\n[[projection]]\nfrom = 'h'\n", "projection must have target"
        ),
    },
    "worm.toml": {"signal": Fault(('signal = "joint_angle"', "signal = 5"), "signal must be a name, got 5")},
    "recipe.toml": {
        "no value": Fault("steps = ", "recipe '.*recipe.toml': .*(Invalid|Expected)"),
        "flight": Fault("flight = 1", "recipe '.*recipe.toml': .*key must be one of algorithm, .*, got 'flight'"),
    },
    "run.npz": {
        "much": Fault(added(2 * MEMORY)),
        "claim": Fault(added(0)),
        "text": Fault(b"time,angle\n"),
        "middle": Fault(turned_over),
        "array": Fault(lambda path: np.save(path.open("wb"), np.zeros(3))),
        "foreign": Fault(arrays_changed(lambda arrays: {"a": np.zeros(3)})),
        "pickle": Fault(arrays_changed(lambda arrays: arrays | {"power": np.array([print], object)})),
        "format": Fault(about('"format": 1', '"format": 9')),
        "rows": Fault(arrays_changed(lambda arrays: arrays | {"rows": arrays["rows"][1:]})),
        "arguments": Fault(about("n_rods", "n_rats")),
    },
    "results.jsonl.xz": {
        "much": Fault(lzma.compress(b"[" + b"[]," * (MEMORY // 48), preset=0)),
        "blank": Fault(lzma.compress(b" " * (MEMORY + 1), preset=0), f"more than {MEMORY // 2} bytes"),
    },
    "results.jsonl": {
        name: Fault(keys(**change), "results.jsonl', line 1: ")
        for name, change in {
            "escape": {"failed": "\x1b[2J"},
            "line break": {"made": {"cpu": "a\nb"}},
            "number": {"made": {"commit": 5}},
            "control": {"score": {"name": "\x9b1m", "unit": "1"}},
            "direction": {"config\u202e": 1},
        }.items()
    },
    "lines.zip": {
        "method": Fault(packed(None, zipfile.ZIP_LZMA)),
        "many": Fault(packed(MANY)),
        "much": Fault(packed(" " * 2 * MEMORY)),
        "encrypted": Fault(encrypted),
    },
    "lines.wcon": {
        "empty": Fault(NEST % ""),
        "tables": Fault(NEST.replace("[]", "{}") % ""),
        "many": Fault(MANY),
        "lacks": Fault('{"units": {}, "data": [{"id": "a"}]}'),
        "unit": Fault(worm({"x": "pixels"})),
        "head": Fault(worm(head="?")),
        "twice": Fault(worm(t=[0, 0])),
        "far": Fault(worm(t=[0, 1, 1e12])),
        "other rate": Fault(worm(t=[0, 0.1])),
        "scale": Fault(keys(**SCALE), read=lambda path: midlines(path, microns_per_pixel=5.0)),
    },
    "dlc.csv": {"lines": Fault("scorer\n\nbodyparts\n"), "coords": Fault("scorer,a\ncoords,x\n")},
    "lines.csv": {
        "far": Fault("frame,point,x,y\n0,0,0,0\n999999999,999999,0,0\n"),
        "header": Fault("frame,x,y\n1,2,3\n"),
        "twice": Fault(more("0,0,1e-3,1e-3\n")),
    },
    "lines.npy": {
        "empty": Fault(array(np.full((9, 9, 2), np.nan))),
        "pickle": Fault(lambda path: np.save(path, np.array([{}], object), allow_pickle=True)),
        "worm": Fault(lambda path: None, read=lambda path: midlines(path, worm=1)),
        "keypoints": Fault(lambda path: None, read=lambda path: midlines(path, keypoints=("a",))),
    },
    "wave.npy": {
        "claim": Fault(CLAIM),
        "NaN": Fault(array([[0.0, np.nan]])),
        "text": Fault(array([["1", "2"]])),
        "complex": Fault(array([[1j]])),
        "large": Fault(truncated(LARGEST_TEXT + 1), f"{LARGEST_TEXT + 1} bytes, {LARGEST_TEXT} are allowed"),
    },
    "wave.csv": {"head": Fault("head,tail\n0.1,0.2\n"), "gap": Fault("0.1,,0.2\n"), "ragged": Fault("0.1,0.2\n0.1\n")},
    "drive.csv": {
        "head alone": Fault("time,a\n"),
        "twice": Fault("0,1\n0,2\n"),
        "ragged": Fault("0,1\n1\n"),
        "text": Fault("0,x\n1,2\n0,nan\n"),
        "times alone": Fault("0\n1\n"),
        "NaN": Fault("0,nan,1\n1,2,3\n", "values must be finite"),
    },
    "featuresN.hdf5": {
        "rows": Fault(hdf5(10**9)),
        "points": Fault(hdf5(points=10**9)),
        "chunks": Fault(hdf5(10**8, chunks=(10**8,))),
        "elsewhere": Fault(hdf5(external="other.h5")),
        "external link": Fault(hdf5(link="ExternalLink")),
        "link": Fault(hdf5(link="SoftLink")),
    },
    "walk.mot": {
        "rows": Fault(("nRows=3", "nRows=4")),
        "column twice": Fault(("knee", "time")),
        "infinite": Fault(("0.2", "inf")),
        "value": Fault(("\t3", "")),
        "order": Fault(("0.1", "0.3")),
        "text": Fault(("\t3\n", "\tx\n"), "a number for knee"),
        "no header": Fault("time a\n0 1\n", "cannot be read"),
        "header alone": Fault("endheader\n", "cannot be read"),
        "no time": Fault("endheader\nt a\n0 1\n1 2\n", "cannot be read"),
        "no rows": Fault("endheader\ntime a\n", "cannot be read"),
        "backwards": Fault("endheader\ntime a\n1 1\n0 2\n", "cannot be read"),
        "too many": Fault("endheader\ntime a\n0 1\n1 2 3\n", "line 4 must have 2 values, got 3"),
        "too few": Fault("walk\nendheader\ntime knee tx\n0 1\n1 2 3\n", "line 4 must have 3 values, got 2"),
        "unit": Fault(("nRows=3", "inDegrees=maybe"), "inDegrees must be yes or no, got 'maybe'"),
    },
    "walk.trc": {"rows": Fault(TRC)},
    "leg.osim": {
        "deep": Fault("<a>" * (1 << 21)),
        "tags": Fault(('<CustomJoint name="ankle_r">', '<BallJoint name="ankle_r">'), "cannot be read: mismatched tag"),
        "version": Fault(
            ('Version="40000"', 'Version="30000"'),
            r"must be of OpenSim's format 4 \(Version 40000 or more\), got '30000'",
        ),
        "entities": Fault(
            lambda path: path.write_text("<!DOCTYPE a>" + path.read_text()),
            "must have no document type and no entities",
        ),
    },
    "arm.xml": {
        "replicate": Fault(REPLICATE),
        "open": Fault("<mujoco><worldbody><body/></worldbody>", r"arm.xml' cannot be compiled by MuJoCo: XML"),
    },
    "policy.safetensors": {
        "absent": Fault(os.unlink, "policy.safetensors' cannot be read: No such file"),
        "a folder": Fault(made_a_folder, "policy.safetensors': it is not a regular file"),
        "truncated": Fault(truncated(5000), NO_WEIGHTS),
        "empty": Fault(b"", NO_WEIGHTS),
        "long header": Fault(header(b" " * 70_000), "header must have at most 65536 bytes, got 70000"),
        "no JSON": Fault(header(b"{nothing"), NO_WEIGHTS),
        "negative": Fault(claim([-6], 24), NO_WEIGHTS),
        "overflow": Fault(claim([2**62, 8], 24), NO_WEIGHTS),
        "bytes beyond": Fault(claim([6], 30), NO_WEIGHTS),
        "too few": Fault(claim([6], 24), "tensors are missing or unknown: .*layers.0.weight"),
        "extra": Fault(tensors(**{"x\ny": np.zeros(1, np.float32)}), r"tensors are missing .*x\\ny"),
        "shape": Fault(bias(np.zeros(7, np.float32)), r"tensor 'layers.2.bias' must be F32 \(6,\), got F32 \(7,\)"),
        "type": Fault(bias(np.zeros(6)), r"tensor 'layers.2.bias' must be F32 \(6,\), got F64 \(6,\)"),
        "NaN": Fault(bias(np.full(6, np.nan, np.float32)), "tensor 'layers.2.bias' must be finite"),
    },
    "card.json": {
        "absent": Fault(os.unlink, "card.json' cannot be read: No such file"),
        "a folder": Fault(made_a_folder, "card.json.*it is not a regular file"),
        "empty": Fault(b"", "card.json' cannot be read: Expecting value"),
        "list": Fault(b"[1]", "card.json' must be an object"),
        "not UTF-8": Fault(b'{"id": "\xff"}', "codec can't decode"),
        "deep": Fault(b"[" * 60_000, "recursion"),
        "long": Fault(b" " * 70_000, "65536 are allowed"),
        "5000 digits": Fault(b'{"format": 1' + b"0" * 5000 + b"}", "digits"),
        "NaN": Fault(b'{"format": NaN}', "numbers must be finite, got NaN"),
        "unknown": Fault(keys(pickle="x"), "'pickle' is not known; allowed are format, id"),
        "later": Fault(keys(format=2), "format must be an integer from 1 to 1, got 2"),
        "bool": Fault(keys(format=True), "format must be an integer from 1 to 1, got True"),
        "other id": Fault(keys(id="gymnosoma/WormCrawl-v0"), "was trained for gymnosoma/WormCrawl-v0, not for"),
        "algorithm": Fault(keys(algorithm="a2c"), "algorithm must be one of ppo, sac, cma, supervised, got 'a2c'"),
        "width": Fault(network(net_arch=[128, -1]), r"net_arch must be a list .* got \[128, -1\]"),
        "huge": Fault(network(net_arch=[10**400]), r"weights must have at most 67108864 bytes"),
        "many": Fault(network(net_arch=[1] * 1000), "net_arch must be a list of at most 16 integers"),
        "other net": Fault(network(net_arch=[64, 32]), r"must be F32 \(32, 64\), got F32 \(64, 64\)"),
        "activation": Fault(
            network(activation="Module"), "network: activation must be one of Tanh, ReLU, got 'Module'"
        ),
        "network": Fault(keys(network={"activation": "Tanh"}), "network: net_arch is missing"),
        "no parts": Fault(keys(network=None), "must have a network, a controller, or both with a rule"),
        "too many parts": Fault(keys(controller={"name": "baseline", "parameters": {}}), "or both with a rule"),
        "space": Fault(
            keys(observation_space=SPACE | {"shape": [10**9]}), r"observation_space must be the environment's, .*58"
        ),
        "bounds": Fault(keys(action_space=SPACE), "action_space must be the environment's"),
        "task": Fault(keys(env={"task": "os:system"}), "card.json': env: argument must be one of .*, got 'task'"),
        **{f"no {key}": Fault(keys(**{key: None}), f"card.json': {key} is missing") for key in KEYS},
    },
}


@pytest.mark.parametrize(("name", "fault"), [(name, fault) for name, faults in FAULTS.items() for fault in faults])
def test_files_with_a_fault_are_refused(good, monkeypatch, name, fault):
    path, content = good
    harm, message, read = FAULTS[name][fault]
    monkeypatch.setattr(biomechanics.mujoco, "SECONDS", 3)
    if isinstance(harm, bytes | str):
        path.write_bytes(harm if isinstance(harm, bytes) else harm.encode())
    elif isinstance(harm, tuple):
        path.write_text(content.decode().replace(*harm, 1))
    else:
        harm(path)
    assert read or not path.is_file() or path.read_bytes() != content
    error = survives(path, read=read)
    assert error and re.search(message, error), error


def test_settings_out_of_range_are_refused_before_a_run_folder(tmp_path):
    wrong = {"ppo": ["n_steps = -1", "gamma = nan", "net_arch = [1e9]", "net_arch = [100000000]", "population = 9"]}
    wrong |= {"cma": ["population = 1_000_000_000", "sigma = 0.0"], "sac": ["tau = 2.0", "learning_rate = inf"]}
    for algorithm, texts in wrong.items():
        for each in [*texts, "imitate = 3", "steps = 0", "num_envs = 'x'", "env = 3"]:
            (tmp_path / "x.toml").write_text(f"[{algorithm}]\n{each}\n")
            with pytest.raises(ValueError) as error:
                train(SWIM, tmp_path / "run", algorithm, recipe=tmp_path / "x.toml")
            refusal(error.value, each.split()[0])
            assert not (tmp_path / "run").exists()


# Mutations

TOKENS = ["nan", "inf", "-inf", "1e308", "-1e308", "1e-320", "0", "-1", "1e9", "-1e9", "1e-12", "9" * 400]
TOKENS += [
    "true",
    '""',
    '"ground"',
    '"neuron.reflex"',
    "[]",
    "{}",
    "[0, 0, 0]",
    "[[]]",
    "{ type = 1 }",
    "1979-05-27",
    "'",
]


def mutate(text, rng):
    """Change a few things of a file: a value, a word, a line, a byte."""
    data = text.encode()
    for _ in range(rng.randrange(1, 3)):
        text = data.decode(errors="surrogateescape")
        lines = text.splitlines(keepends=True)
        at = rng.randrange(len(lines))
        kind = rng.randrange(12)
        if kind < 7:  # a number
            found = list(re.finditer(r"(?<![\w.])-?\d[\d.e-]*", text))
            old = rng.choice(found)
            scaled = (
                f"{float(old[0]) * 10.0 ** rng.randrange(-9, 10):g}" if re.fullmatch(r"-?\d+\.?\d*", old[0]) else "1"
            )
            new = scaled if kind < 5 else rng.choice(TOKENS)
            text = text[: old.start()] + new + text[old.end() :]
        elif kind == 7:  # a word, by another of the file
            found = list(re.finditer(r"[A-Za-z_]+", text))
            old, new = rng.choice(found), rng.choice(found)
            text = text[: old.start()] + new[0] + text[old.end() :]
        elif kind == 8:
            del lines[at]
            text = "".join(lines)
        elif kind == 9:
            lines.insert(rng.randrange(len(lines)), lines[at])
            text = "".join(lines)
        elif kind == 10:  # a whole value
            key, equals, _ = lines[at].partition("=")
            lines[at] = f"{key}{equals} {rng.choice(TOKENS)}\n"
            text = "".join(lines)
        data = text.encode(errors="surrogateescape")
        if kind == 11:
            where = rng.randrange(len(data))
            data = data[:where] + bytes([rng.randrange(256)]) + data[where + rng.randrange(2) :]
    return data


def outcome(path, sizes):
    """Tell what becomes of a model: refused, run, or only built where its size would need kernels of its own."""
    try:
        animal = Neuromechanic(path)
        if (animal.table.dtype, animal.state) not in sizes:
            return "built"
        rows, ids = animal.rows(2), np.arange(2)
        for drive in (0.0, 1.0, -1.0):
            animal.advance(rows, ids, np.full((2, animal.drive_size), drive), 10)
            assert set(rows["status"]) <= {0.0, *animal.failures}
            for name in animal.signals:
                assert np.isfinite(animal.signal(rows, name)).all(), name
        return "run" if (rows["status"] == 0.0).all() else "broke down"
    except ValueError as error:
        line = str(error)
        assert "\n" not in line and len(line) < 2000 and f"{path.name}'" in line, line
        return "refused"


@TIERS
def test_mutated_models(tmp_path, tier):
    """Each mutation of a file of the package is refused in a line, or runs finite."""
    animals = map(Neuromechanic, map(tomllib.loads, MODELS.values()))  # by default those without contacts run
    sizes = [(each.table.dtype, each.state) for each in animals if tier > DEFAULT or each.contacts is None]
    path = tmp_path / "mutant.toml"
    outcomes: Counter[str] = Counter()

    def check(name, rng):
        path.write_bytes(mutate(MODELS[name], rng))
        note(repr(path.read_bytes()))
        outcomes[outcome(path, sizes)] += 1

    holds(check, tier, 250, name=st.sampled_from(NAMES), rng=st.randoms(use_true_random=False))
    assert outcomes["refused"] > outcomes.total() / 3 and outcomes["run"] > outcomes.total() / 5, outcomes
