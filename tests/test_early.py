"""What a command needs is checked before anything is computed: arguments, extras, a display, a free target."""

import re
import sys

import numpy as np
import pygame
import pytest

from gymnosoma.agents.learning import training
from gymnosoma.envs import Trajectory, simulate
from gymnosoma.envs.core.draw import view
from gymnosoma.envs.core.kernels.stepper import Stepper
from gymnosoma.envs.worm import Worm

SWIM = "WormSwim-v0"


@pytest.fixture
def idle(tmp_path, monkeypatch):
    """Nothing is stepped, and nothing that learns is imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Stepper, "_run", lambda *given: pytest.fail("something was simulated"))
    monkeypatch.setattr(training, "versions_of", lambda name: pytest.fail("something that learns was imported"))
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
        (("render", SWIM, "--save", "a.png", "--seconds", "0"), "seconds must be"),
        (("render", SWIM, "--save", "a.png", "--option", "sigm=1"), "options: sigm is not known"),
        (("train", SWIM, "--env", "histry=4"), "env: argument .histry. is not known; did you mean history"),
        (("train", SWIM, "--folder", "taken"), "folder 'taken' already contains a run"),
        (("train", SWIM, "--seeds", "2", "--folder", "taken", "--processes", "2"), "'taken-1' already contains a run"),
        (("record", SWIM), "minari is not installed: pip install 'gymnosoma\\[offline\\]'"),
        (("evaluate", SWIM, "--option", "sigm=1"), "options: sigm is not known"),
        (("evaluate", SWIM, "--json-file", "none/a.json"), "save must be a file in an existing folder"),
        (("benchmark", "run", SWIM, "--policy", "nobody"), "policy must be"),
        (("sweep", "worm", "--over", "sigma=0,1", "--table", "a.txt"), "table must end in"),
    ],
)
def test_it_is_checked_before_anything_is_computed(idle, tmp_path, monkeypatch, capsys, error_of, asked, message):
    for name in ("taken", "taken-1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").touch()
    monkeypatch.setitem(sys.modules, "minari", None)
    monkeypatch.setitem(sys.modules, "h5py", None)
    told = error_of(*asked)
    assert re.search(message, told.replace("h5py is", "minari is")), told
    assert capsys.readouterr().err == f"{told}\n"  # no bar had begun


def test_a_file_that_would_fill_the_memory_is_not_unpacked(tmp_path):
    """Its arrays are larger than it, which may be a thousandth of them."""
    simulate(Worm(), np.zeros(24), 1.0).save(tmp_path / "a.npz")
    size = (tmp_path / "a.npz").stat().st_size
    with pytest.raises(ValueError, match=rf"a.npz' cannot be read: its arrays take \d+ bytes, {size} are allowed"):
        Trajectory.load(tmp_path / "a.npz", largest=size)
    assert Trajectory.load(tmp_path / "a.npz").time[-1] == 1.0
