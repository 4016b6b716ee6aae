"""Every format of a file that the package reads: how a good one is written, and how it is read."""

import json
import lzma
import shutil
import zipfile
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import numpy as np
from trackers import deeplabcut, wcon, write_csv, write_tierpsy, write_whisk

from gymnosoma import biomechanics
from gymnosoma.agents.benchmark import results
from gymnosoma.agents.learning.runs import read_config, recipe
from gymnosoma.agents.policies.lookup import find_policy, shipped
from gymnosoma.cli.arguments import assignment
from gymnosoma.cli.fit import _read_hair
from gymnosoma.envs import Circuit, Trajectory, simulate
from gymnosoma.envs.core.model.control import Schedule
from gymnosoma.envs.neuromechanic import load
from gymnosoma.envs.whisker_rod import Relief
from gymnosoma.envs.worm import Worm, WormParams, load_kymogram
from gymnosoma.envs.wrappers import make_vec
from gymnosoma.recordings import Kymogram, Midlines, RecordedBase

SWIM, ROOT, ASSETS = "gymnosoma/WormSwim-v0", Path(__file__).parents[1], resources.files("gymnosoma.assets")
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
    told: str = ""
    """How its errors begin, with %r for the path."""


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
    """Play a policy of which one file may be another."""
    for file in shipped(SWIM).iterdir():
        if file.name != path.name:
            shutil.copy(file, path.parent)
    policy = find_policy(SWIM, str(path.parent))
    envs = make_vec(SWIM, 1, **policy.env)
    assert np.isfinite(policy.make(envs, 0).act(np.zeros((1, 58), np.float32), None)).all()


def write_results(path):
    with lzma.open(ROOT / "docs/results/results.jsonl.xz") as file:
        lines = b"".join(file.readline() for _ in range(3))
    path.write_bytes(lzma.compress(lines) if path.suffix == ".xz" else lines)


LINK = '[body.b%d]\nparent = "%s"\njoint = { type = "revolute", axis = [0, 0, 1] }\ninertial = { mass = 1 }\n'


def chain(count):
    """Text of a model: a chain of bodies."""
    return "schema = 1\n" + "".join(LINK % (i, f"b{i - 1}" if i else "ground") for i in range(count))


def listening(count, to):
    """Part of a model: neurons that listen to each other."""
    return "".join(f'[neuron.n{i}]\nsynapse = [{{ from = "neuron.n{to(i)}" }}]\n' for i in range(count))


def midlines(path, **more):
    hints = PIXELS if path.name == "dlc.csv" else {"rate": 30.0}
    worm = {".hdf5": 3, ".wcon": "a", ".zip": "a"}.get(path.suffix)
    return Midlines.read(path, **{"worm": worm} | hints | more)


def whisk(path):
    return RecordedBase.read(path, 500.0, microns_per_pixel=50.0)


def recording(write):
    return Format(write, midlines, told="recording %r cannot be read: ")


def foreign(write, most):
    return Format(write, lambda path: biomechanics.load(path, partial=True), most)


FORMATS = {
    "cord.toml": Format(copied(ASSETS / "lamprey/circuits/cord.toml"), Circuit.read),
    "worm.toml": Format(copied(ASSETS / "worm/circuits/ahead.toml"), Circuit.read),
    "arm.toml": Format(copied(ASSETS / "neuromechanic/arm.toml"), load, told="model %r"),
    "recipe.toml": Format(text(RECIPE), lambda path: recipe(SWIM, file=path), 300),
    "hair.toml": Format(text(HAIR), _read_hair),
    "card.json": Format(copied(shipped(SWIM) / "card.json"), read_policy, 300),
    "config.json": Format(text(json.dumps(RUN, indent=1)), lambda path: read_config(path.parent), 100),
    "policy.safetensors": Format(copied(shipped(SWIM) / "policy.safetensors"), read_policy, 300),
    "results.jsonl": Format(write_results, results.read),
    "results.jsonl.xz": Format(write_results, results.read),
    "run.npz": Format(
        lambda path: simulate(Worm(WormParams(n_rods=13)), np.zeros(12), 0.05).save(path),
        Trajectory.load,
        told="trajectory %r cannot be read: ",
    ),
    "wave.npy": Format(array(WAVE), load_kymogram),
    "wave.csv": Format(table(WAVE), load_kymogram),
    "gaps.csv": Format(table(WAVE, "a,b,c,d"), lambda path: Kymogram.read(path, 30.0)),
    "gaps.npy": Format(array(WAVE), lambda path: Kymogram.read(path, 30.0)),
    "lines.npy": recording(array(LINES)),
    "lines.csv": recording(lambda path: write_csv(path, LINES)),
    "dlc.csv": recording(lambda path: path.write_text(deeplabcut(LINES))),
    "lines.wcon": recording(lambda path: path.write_text(json.dumps(wcon(LINES)))),
    "lines.zip": recording(pack),
    "featuresN.hdf5": recording(lambda path: write_tierpsy(path, LINES, "featuresN")),
    "skeletons.hdf5": recording(lambda path: write_tierpsy(path, LINES, "skeletons")),
    "base.csv": Format(table(BASE, "time,angle"), RecordedBase.read),
    "base.measurements": Format(lambda path: write_whisk(path, 1), whisk, 20),
    "base.whiskers": Format(lambda path: write_whisk(path, 1), whisk, 20),
    "drive.csv": Format(table(BASE), Schedule.read, told="drive %r cannot be read: "),
    "heights.txt": Format(table(BASE[:, 1]), lambda path: Relief.measured(path, 1e-3)),
    "values.csv": Format(table(WAVE), lambda path: assignment("param", f"x=@{path}")),
    "walk.mot": Format(text(MOT), biomechanics.read_motion),
    "walk.trc": Format(text(TRC + "2\t0.01\t1\t2\t3\n"), biomechanics.read_motion),
    "leg.osim": foreign(copied(ROOT / "tests/opensim/leg6dof9musc.osim"), 20),
    "arm.xml": foreign(text(XML), 4),
}
