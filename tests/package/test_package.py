"""Packaging: what is installed, what it imports, and which extras it needs."""

import email
import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

import gymnosoma
from gymnosoma.envs import CATALOGUE

ROOT = Path(__file__).resolve().parents[2]
SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
MAPPED = tuple(folder for folder in SETUPTOOLS["package-dir"].values() if folder != "gymnosoma")
"""Folders of the root that are subpackages of the package."""


def run(*command, cwd, env=None):
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, env=env, check=False
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


FILM = ("imageio", "imageio_ffmpeg", "PIL")
DATA = ("pandas", "matplotlib", "PIL")
EXTRA = ("stable_baselines3", "tensorboard", "cma", "optuna", "moviepy", "minari", "h5py", "pyarrow", "ray")
EXTRA += (*FILM, *DATA)
"""Modules that come with extras only; without torch, which tyro imports where it finds a trace of it."""


def test_version_is_what_the_package_says():
    assert "version" in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dynamic"]
    assert f"version: {gymnosoma.__version__}" in (ROOT / "CITATION.cff").read_text()
    assert f"## {gymnosoma.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def files():
    """Names of what belongs to this checkout, as git tells, or to this sdist; without published weights."""
    if (ROOT / ".git").exists():
        names = run("git", "ls-files", "-c", "-o", "--exclude-standard", cwd=ROOT).splitlines()
    else:
        names = (ROOT / "gymnosoma.egg-info" / "SOURCES.txt").read_text().splitlines()
    return [
        name
        for name in dict.fromkeys(names)
        if not name.startswith("docs/results/weights/") and (ROOT / name).is_file()
    ]


def build(what, folder):
    """Path of the wheel or the sdist, made of a copy: a build leaves folders beside its sources."""
    source = folder / "source"
    for name in files():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes((ROOT / name).read_bytes())
    made = run(
        sys.executable, "-c", f"from setuptools import build_meta; print(build_meta.build_{what}('..'))", cwd=source
    )
    return folder / made.split()[-1]


@pytest.mark.full
def test_the_wheel_holds_the_package_and_works_beside_a_foreign_envs_folder(tmp_path):
    """Every file of the package is in it as it is here, so what other tests do to these files holds for the wheel's.

    That tasks are found in its files alone is tried in a folder with an envs/ of its own.
    """
    home = tmp_path / "home"
    with zipfile.ZipFile(build("wheel", tmp_path)) as wheel:
        packed = {name: wheel.read(name) for name in wheel.namelist() if ".dist-info/" not in name}
        [metadata] = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
        told = email.message_from_bytes(wheel.read(metadata))
        commands = wheel.read(metadata.replace("METADATA", "entry_points.txt")).decode()
        wheel.extractall(home)  # as an installer does with a wheel of Python alone
    mine = [name for name in files() if name.startswith(tuple(f"{top}/" for top in MAPPED))]
    kept = {f"gymnosoma/{name}": (ROOT / name).read_bytes() for name in mine}
    kept |= {name: (ROOT / name).read_bytes() for name in files() if name.startswith("gymnosoma/")}
    assert packed.keys() == kept.keys()
    assert packed == kept
    assert told["Version"] == gymnosoma.__version__
    core = [text for text in told.get_all("Requires-Dist") if "extra ==" not in text]
    assert {"rich", "tqdm", "tyro"} <= set(core) and not any(name in text for text in core for name in EXTRA)
    assert "gymnosoma = gymnosoma.cli.main:main" in commands
    foreign = tmp_path / "work"
    (foreign / "envs").mkdir(parents=True)
    (foreign / "envs" / "__init__.py").write_text("raise RuntimeError('the foreign envs was imported')\n")
    # Dependencies come from this interpreter; an editable gymnosoma does not, as -S and PYTHONPATH read no .pth files.
    libraries = [path for path in sys.path if path.endswith("-packages")]
    script = (
        "import gymnasium, gymnosoma\n"
        f"assert gymnosoma.__file__.startswith({str(home)!r}), gymnosoma.__file__\n"
        "from gymnosoma.envs.core.env.task import load_task\n"
        f"for name, task in {[(entry.name, entry.task) for entry in CATALOGUE]}:\n"
        "    load_task('gymnosoma.envs.' + task)\n"
        "    if not task.startswith('neuromechanic'):  # these seek a posture, by kernels that would be compiled\n"
        "        gymnasium.make('gymnosoma/' + name)\n"
        "    print(name)\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(home), *libraries])}
    made = run(sys.executable, "-S", "-c", script, cwd=foreign, env=env)
    assert made.splitlines() == [entry.name for entry in CATALOGUE]


@pytest.mark.full
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no checkout of git tells what there should be")
def test_the_sdist_holds_what_git_does(tmp_path):
    with tarfile.open(build("sdist", tmp_path)) as archive:
        packed = {item.name.partition("/")[2] for item in archive.getmembers() if item.isfile()}
    assert set(files()) <= packed
    assert all(
        name.startswith("gymnosoma.egg-info/") or name in ("PKG-INFO", "setup.cfg") for name in packed - set(files())
    )


def test_importing_under_another_name_is_refused():
    done = subprocess.run([sys.executable, "-c", "import envs"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "import it as 'gymnosoma.envs'" in done.stderr


def test_making_an_environment_imports_what_it_needs():
    """Neither drawing nor what only analysis, training or figures need."""
    script = (
        "import sys, gymnasium, gymnosoma\n"
        "gymnasium.make('gymnosoma/WormSwim-v0')\n"
        "print(*[name for name in ('pygame', 'torch', 'matplotlib', 'scipy.signal', 'scipy.stats', 'scipy.optimize')"
        " if name in sys.modules])\n"
    )
    assert run(sys.executable, "-c", script, cwd=ROOT).split() == []


def without_extras(tmp_path, *commands, but=()):
    """Outputs of commands, and what they import, in a process that finds the core's dependencies, ``but`` some more."""
    script = (
        "import json, sys\n"
        "sys.stderr = sys.stdout\n"  # what is told of errors belongs to the output
        f"sys.modules.update(dict.fromkeys({[name for name in EXTRA if name not in but]}))\n"
        "from gymnosoma.cli.main import main\n"
        "for command in json.load(sys.stdin):\n"
        "    sys.argv[1:] = command\n"
        "    try:\n"
        "        main()\n"
        "    except SystemExit:\n"
        "        pass\n"
        "    known = ('torch', 'pygame', 'scipy.stats', 'scipy.optimize')\n"
        "    print('imported:', *[name for name in known if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        input=json.dumps([command.split() for command in commands]),
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]),
        },
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return re.split(r"^imported:(.*)\n", done.stdout, flags=re.MULTILINE)


def test_what_lists_and_helps_needs_no_extra_and_makes_no_environment(tmp_path):
    version, _, helped, _, table, imported, _ = without_extras(tmp_path, "--version", "--help", "list")
    assert version.strip() == gymnosoma.__version__
    assert "simulate" in helped and "play" in helped
    assert sum(entry.name in line for line in table.splitlines() for entry in CATALOGUE) == len(CATALOGUE)
    assert not imported.strip()


def test_pinned_versions_run_on_the_oldest_python():
    """Such as that of Debian 12, which is 3.11.2: pip does not find a version that asks for a newer one."""
    pins = re.findall(r"^([\w.-]+)==", (ROOT / "constraints.txt").read_text("utf-8"), re.MULTILINE)
    installed = {entry.name.lower().replace("_", "-"): entry for entry in metadata.distributions()}
    found = [installed[name] for pin in pins if (name := pin.lower().replace("_", "-")) in installed]
    assert len(found) > 20
    needs = {entry.name: entry.metadata["Requires-Python"] or "" for entry in found}
    assert not {name: need for name, need in needs.items() if "3.11.0" not in SpecifierSet(need)}


def test_the_cpu_build_of_torch_fits_the_constraints():
    pinned = re.search("^torch==(.+)$", (ROOT / "constraints.txt").read_text("utf-8"), re.MULTILINE)[1]
    assert re.findall(r"^torch==(.+)$", (ROOT / "constraints-rllib.txt").read_text("utf-8"), re.MULTILINE) == [pinned]
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):  # the pin is in the constraints alone
        assert not re.search("pip install.*torch==|--index-url .*pytorch", page.read_text("utf-8")), page


NEEDED = {
    "train WormSwim-v0": "train",
    "benchmark run WormSwim-v0": "train",
    "benchmark run WormSwim-v0 --learner ppo_default": "train",
    "benchmark run WormSwim-v0 --learner recipe": "train",
    "benchmark run WormSwim-v0 --policy zero --ray auto": "cluster",
    "fit worm midlines.npy --save film.mp4": "film",
    "simulate worm --save run.parquet": "data",
    "render WormSwim-v0 --save film.mp4": "film",
    "simulate worm --film film.gif": "film",
}
"""Commands that need an extra, and which."""


def test_commands_name_the_extra_they_need_before_they_begin(tmp_path):
    for text, extra in zip(without_extras(tmp_path, *NEEDED)[::2], NEEDED.values(), strict=False):
        assert text.startswith("error: ") and len(text.splitlines()) == 1
        assert f"in the clone, pip install -c constraints.txt -e '.[{extra}]'" in text
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.name != ".lock"]


@pytest.mark.full
def test_what_shows_needs_no_extra(tmp_path):
    told = without_extras(
        tmp_path,
        "render WormSwim-v0 --seconds 0.1 --size 128x128 --save still.png",
        "simulate worm --drive sine --duration 0.1 --size 128x128 --film other.png --csv run.csv",
        "evaluate WormSwim-v0 --episodes 2",
        "evaluate WormSwim-v0 --policy trained --episodes 2",
    )[::2]
    assert {path.name for path in tmp_path.iterdir()} == {"still.png", "other.png", "run.csv"}
    assert "Wrote still.png" in told[0] and "Wrote other.png" in told[1] and "baseline" in told[2]
    assert "trained" in told[3]


def test_a_console_may_lack_signs():
    """As one of Windows, or of a bare container does: bullets and plus-minus are question marks there."""
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    assert "simulate" in run(sys.executable, "train.py", "--help", cwd=ROOT, env=env)


def test_ci_runs_the_readmes_commands():
    readme = (ROOT / "README.md").read_text("utf-8")
    first, tests, *_ = re.findall(r"^```sh\n(.*?)^```", readme, re.DOTALL | re.MULTILINE)
    for line in (first, tests):
        assert line.startswith("python3 -m venv venv && . venv/bin/activate && pip install ") and line.count("\n") == 1
        assert line.count("pip install") == 1
    assert "gymnosoma train" in first and "gymnosoma render" in first and tests.endswith("&& pytest\n")
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    assert '"$(block 1)"' in script and '"$(block 2)"' in script and "env -i" in script


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="only git lists the kinds of files")
def test_a_clone_needs_no_symbolic_links():
    """Git for Windows writes them as text files."""
    modes = {line.split()[0] for line in run("git", "ls-files", "-s", cwd=ROOT).splitlines()}
    assert modes <= {"100644", "100755"}
