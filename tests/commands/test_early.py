"""What a command needs is checked before anything is computed: arguments, extras, a display, a free target."""

import re
import shutil
import sys

import pygame
import pytest

from gymnosoma.agents.learning import training
from gymnosoma.agents.policies.lookup import shipped
from gymnosoma.agents.support import files
from gymnosoma.envs.core.draw import view
from gymnosoma.envs.core.kernels.lanes import Stepper

SWIM = "WormSwim-v0"


@pytest.fixture
def idle(tmp_path, monkeypatch):
    """Nothing is stepped, and nothing that learns is imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Stepper, "_run", lambda *given: pytest.fail("something was simulated"))
    monkeypatch.setattr(training, "versions", lambda *names: pytest.fail("something that learns was imported"))
    pygame.display.quit()
    for name in view.DISPLAYS:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (("simulate", "worm", "--save", "a\nb.npz"), "save must not contain line breaks"),
        (("simulate", "worm", "--save", "a.npz", "--duration", "1e300"), "duration must be"),
        (("simulate", "worm", "--save", "a.npz", "--duration", "1e9"), "duration must be less, or every more"),
        (("simulate", "worm", "--save", "a.npz", "--start", "heading=@/dev/zero"), "start heading: file '/dev/zero'"),
        (("play", SWIM), "a window needs a display"),
        (("simulate", "worm"), "a window needs a display"),
        (("render", SWIM), "a window needs a display"),
        (("play", SWIM, "--param", "stifness=1"), "params: .stifness. is not known"),
        (("play", SWIM, "--option", "sigm=1"), "options: sigm is not known"),
        (("simulate", "worm", "--param", "stifness=1"), "stifness"),
        (("simulate", "lamprey", "--param", "transection=50"), "which --start sets, got 'transection'"),
        (("render", SWIM, "--option", "sigm=1"), "options: sigm is not known"),
        (("render", SWIM, "--policy", "missing"), "policy must be one of"),
        (("render", SWIM, "--save", "a.png", "--seconds", "0"), "seconds must be"),
        (("render", SWIM, "--save", "a.png", "--option", "sigm=1"), "options: sigm is not known"),
        (("train", SWIM, "--env", "histry=4"), "env: argument .histry. is not known; did you mean history"),
        (("train", SWIM, "--folder", "taken"), "folder 'taken' already contains a run"),
        (("train", SWIM, "--seeds", "2", "--folder", "taken", "--processes", "2"), "'taken-1' already contains a run"),
        (("train", SWIM, "--episodes", "0"), "episodes must be an integer from 1 to"),
        (("train", SWIM, "--folder", "none", "--resume"), "config.json' cannot be read"),
        (("evaluate", SWIM, "--option", "sigm=1"), "options: sigm is not known"),
        (("evaluate", SWIM, "--policy", "missing"), "policy must be one of random, .* got 'missing'"),
        (("evaluate", "WormCrawl-v0", "--policy", "policy"), "was trained for gymnosoma/WormSwim-v0"),
        (("evaluate", SWIM, "--json-file", "none/a.json"), "save must be a file in an existing folder.*none/a.json"),
        (("evaluate", SWIM, "--json-file", "folder.json"), "save must be a .*folder.json"),
        (("evaluate", SWIM, "--json-file", f"{'x' * 300}.json"), "save must be a .*x.json"),
        (("render", SWIM, "--save", "none/x.png"), "save must be a file in an existing folder, got "),
        (("benchmark", "run", SWIM, "--policy", "nobody"), "policy must be"),
        (("simulate", "worm", "--film", "x.gif", "--size", "999999999x9"), "size: width must be"),
        (("simulate", "worm", "--csv", "x.csv", "--slow", "0"), "slow must be"),
        (("simulate", "worm", "--save", "x.npz", "--fps", "nan"), "fps must be"),
        (("render", SWIM, "--save", "x.png", "x.gif"), "PIL must be installed for .gif"),
        (("play", SWIM, "--size", "64x9"), "size: height must be"),
        (("fit", "worm", "x.npy", "--save", "x.png", "--size", "9x64"), "size: width must be"),
        (("fit", "worm", "x.npy", "--save", "none/x.json"), "save must be a file in an existing"),
        (("import", "x.osim", "--save", "none/x.toml"), "to must be a file in an existing folder"),
        (("benchmark", "run", SWIM, "--folder", "taken/config.json"), "folder must be a writable folder"),
        (("benchmark", "table", "x.jsonl", "--out", "taken/config.json/x"), "out must be a writable folder"),
        (("train", SWIM, "--seeds", "3", "--seed", "2", "--folder", "file"), "folder must be .*, got 'file-3'"),
    ],
)
def test_it_is_checked_before_anything_is_computed(idle, tmp_path, monkeypatch, capsys, error_of, asked, message):
    for name in ("taken", "taken-1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").touch()
    (tmp_path / "file-3").touch()
    (tmp_path / "folder.json").mkdir()
    shutil.copytree(shipped("gymnosoma/WormSwim-v0"), tmp_path / "policy")
    real = files.find_spec
    monkeypatch.setattr(files, "find_spec", lambda name: None if name == "PIL" else real(name))
    monkeypatch.setitem(sys.modules, "h5py", None)
    told = error_of(*asked)
    assert re.search(message, told), told
    assert capsys.readouterr().err == f"{told}\n"  # no bar had begun
