"""Packaging and architecture: what is installed, and who may import whom."""

import ast
import email
import graphlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import gymnosoma
from gymnosoma.envs import CATALOGUE

ROOT = Path(__file__).resolve().parents[1]
MAPPED = ("envs", "agents", "assets")
ROOMS = ("papers", "tools")


def run(*command, cwd, env=None):
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, env=env, check=False
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


FILM = ("imageio", "imageio_ffmpeg", "PIL")
DATA = ("pandas", "matplotlib", "PIL")
EXTRA = ("stable_baselines3", "tensorboard", "cma", "optuna", "moviepy", "minari", "h5py", "pyarrow", *FILM, *DATA)
"""Modules that come with extras only; without torch, which tyro imports where it finds a trace of it."""

LINKED = all((ROOT / "gymnosoma" / name).is_symlink() for name in MAPPED)
"""False in a checkout without symbolic links, where an installed package works all the same."""


@pytest.mark.skipif(not LINKED, reason="this checkout has no symbolic links")
def test_links_are_relative():
    for name in (*MAPPED, *ROOMS):
        assert os.readlink(ROOT / "gymnosoma" / name) == f"../{name}"


def test_version_is_what_the_package_says():
    assert "version" in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dynamic"]
    assert f"version: {gymnosoma.__version__}" in (ROOT / "CITATION.cff").read_text()
    assert f"## {gymnosoma.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def files():
    """Names of what belongs to this checkout, as git tells, or to this sdist; without the links and the contest."""
    if (ROOT / ".git").exists():
        names = run("git", "ls-files", "-c", "-o", "--exclude-standard", cwd=ROOT).splitlines()
    else:
        names = (ROOT / "gymnosoma.egg-info" / "SOURCES.txt").read_text().splitlines()
    left = {f"gymnosoma/{name}" for name in (*MAPPED, *ROOMS)}
    left |= {name for name in names if name.startswith("docs/contest/")}
    return [name for name in dict.fromkeys(names) if name not in left and (ROOT / name).is_file()]


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
    own = ("__init__.py", "__main__.py", "py.typed")
    kept |= {f"gymnosoma/{name}": (ROOT / "gymnosoma" / name).read_bytes() for name in own}
    assert packed.keys() == kept.keys()
    assert packed == kept
    assert told["Version"] == gymnosoma.__version__
    core = [text for text in told.get_all("Requires-Dist") if "extra ==" not in text]
    assert {"rich", "tqdm", "tyro"} <= set(core) and not any(name in text for text in core for name in EXTRA)
    assert "gymnosoma = gymnosoma.cli.main:main" in commands
    description = told.get_payload(decode=True).decode()
    assert "](https://" in description and not re.search(r"\]\((?!https?:|#)", description)
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
    script = "from gymnosoma.cli.main import main; main()"
    command = [sys.executable, "-S", "-c", script, "figures", "--page", "papers.md"]
    done = subprocess.run(command, cwd=foreign, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 2 and "this needs the folder papers/ of the repository" in done.stderr


@pytest.mark.full
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no checkout of git tells what there should be")
def test_the_sdist_holds_what_git_does(tmp_path):
    with tarfile.open(build("sdist", tmp_path)) as archive:
        packed = {item.name.partition("/")[2] for item in archive.getmembers() if item.isfile()}
    assert set(files()) <= packed
    assert all(
        name.startswith("gymnosoma.egg-info/") or name in ("PKG-INFO", "setup.cfg") for name in packed - set(files())
    )


def test_a_checkout_without_links_says_what_is_missing(tmp_path):
    """As git leaves it where core.symlinks is false: files that hold where the links should lead."""
    package = tmp_path / "gymnosoma"
    package.mkdir()
    for name in MAPPED:
        (tmp_path / name).mkdir()
        (package / name).write_text(f"../{name}")
    (package / "__init__.py").write_bytes((ROOT / "gymnosoma" / "__init__.py").read_bytes())
    command = [sys.executable, "-S", "-c", "import gymnosoma"]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=env, check=False)
    assert "ImportError: this checkout lacks its symbolic links: gymnosoma/envs" in done.stderr.splitlines()[-1]


def test_importing_under_another_name_is_refused():
    done = subprocess.run([sys.executable, "-c", "import envs"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "import it as 'gymnosoma.envs'" in done.stderr


@pytest.mark.parametrize("writable", [True, False])
def test_kernels_are_cached_where_that_is_possible(tmp_path, writable):
    folder = tmp_path / "cache"
    if writable:
        folder.mkdir()
    else:
        folder.write_text("a file, so that no folder can be made here")
    script = "from gymnosoma.envs.core.kernels.jit import sincos; print(sincos(0.5)[0])"
    env = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    assert run(sys.executable, "-c", script, cwd=tmp_path, env=env).startswith("0.479425538604203")
    if writable:
        assert list(folder.rglob("*.nbc"))


def imports(path):
    """Modules that a file imports, relative ones resolved to paths below the root."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                base = path.parents[node.level - 1].relative_to(ROOT)
                yield ".".join([*base.parts, *([node.module] if node.module else [])])
            else:
                yield node.module


def modules_of(*folders):
    """Modules of folders, each with those among them that it imports anywhere: in functions and for types, too."""
    paths = {
        ".".join(p.relative_to(ROOT).with_suffix("").parts): p for top in folders for p in (ROOT / top).rglob("*.py")
    }
    paths = {name.removesuffix(".__init__"): path for name, path in paths.items()}
    found = {}
    for name, path in paths.items():
        found[name] = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                asked = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                base = ".".join(path.parents[node.level - 1].relative_to(ROOT).parts) if node.level else ""
                base = ".".join(filter(None, (base, node.module)))
                asked = [f"{base}.{alias.name}" for alias in node.names]
                asked = [one if one.removeprefix("gymnosoma.") in paths else base for one in asked]
            else:
                continue
            found[name] |= {one.removeprefix("gymnosoma.") for one in asked} & paths.keys() - {name}
    return found


def test_imports_run_one_way():
    """No circle, and no arrow up: core, animals, agents, their commands, then papers and tools."""
    graph = modules_of("envs", "agents", "papers", "tools")
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle
    floors = ("envs.core", "envs", "agents", "agents.commands", "papers", "tools")

    def floor(name):
        return max(k for k, top in enumerate(floors) if f"{name}.".startswith(f"{top}."))

    assert not {(name, other) for name, asked in graph.items() for other in asked if floor(other) > floor(name)}


def kernel_files():
    return [p for p in (ROOT / "envs").rglob("*.py") if "\n@kernel" in p.read_text() and p.name != "jit.py"]


def test_kernels_import_only_numbers_and_each_other():
    assert kernel_files()
    own = {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in kernel_files()}
    own |= {"envs.core.jit", "envs.core.records"}
    plain = {"__future__", "collections.abc", "math", "numba", "numpy", "numpy.typing", "typing"}
    for path in kernel_files():
        assert set(imports(path)) <= plain | own, path


@pytest.mark.parametrize(
    ("folder", "forbidden"),
    [("envs", {"stable_baselines3", "torch", "matplotlib", "gymnosoma.agents", "agents"}), ("assets", {"gymnosoma"})],
)
def test_layers(folder, forbidden):
    for path in (ROOT / folder).rglob("*.py"):
        asked = {"matplotlib"} if path.name == "trajectory.py" else set()  # by `plot`, when it is called
        found = {name for name in imports(path) if any((name + ".").startswith(f + ".") for f in forbidden - asked)}
        assert not found, path


def test_only_the_environments_know_gymnasium():
    knowing = {
        path.relative_to(ROOT / "envs").as_posix()
        for path in (ROOT / "envs").rglob("*.py")
        if any(name.split(".")[0] == "gymnasium" for name in imports(path))
    }
    # The catalogue registers, the checker checks any vector environment.
    assert knowing == {"__init__.py", "core/env/environment.py", "core/env/checker.py"}


def test_the_core_knows_no_animal():
    animals = {path.parent.name for path in (ROOT / "envs").glob("*/animal.py")} - {"core"}
    assert animals
    for path in (ROOT / "envs" / "core").glob("*.py"):
        assert not any(f"envs.{animal}" in name for name in imports(path) for animal in animals), path


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


NEEDED = {
    "train WormSwim-v0": "train",
    "tune WormSwim-v0": "train",
    "benchmark WormSwim-v0": "data",
    "benchmark WormSwim-v0 --train-seeds 1": "train",
    "enter WormSwim-v0 --learner ppo": "train",
    "enter WormSwim-v0 --learner cma": "train",
    "fit worm midlines.npy --figure figure.pdf": "data",
    "simulate worm --save run.parquet": "data",
    "record WormSwim-v0": "offline",
    "render WormSwim-v0 --save film.mp4": "film",
    "simulate worm --film film.gif": "film",
}
"""Commands that need an extra, and which."""


def test_commands_name_the_extra_they_need_before_they_begin(tmp_path):
    for text, extra in zip(without_extras(tmp_path, *NEEDED)[::2], NEEDED.values(), strict=False):
        assert text.startswith("error: ") and len(text.splitlines()) == 1
        assert f"pip install 'gymnosoma[{extra}]'" in text
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


@pytest.mark.full
@pytest.mark.parametrize(
    ("extra", "commands"),
    [
        (
            FILM,
            {
                "render WormSwim-v0 --policy trained --seconds 0.2 --size 128x128 --save a.mp4": "Wrote a.mp4",
                "simulate worm --drive sine --duration 0.2 --size 128x128 --save b.gif": "Wrote b.gif",
            },
        ),
        (DATA, {"benchmark WormSwim-v0 --episodes 2 --policy random --folder .": "Figures and pictures are in ."}),
    ],
    ids=["film", "data"],
)
def test_the_extra_that_is_named_is_enough(tmp_path, extra, commands):
    told = without_extras(tmp_path, *commands, but=extra)[::2]
    for text, words in zip(told, commands.values(), strict=False):
        assert words in text


def test_a_console_may_lack_signs():
    """As one of Windows, or of a bare container does: bullets and plus-minus are question marks there."""
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    assert "simulate" in run(sys.executable, "train.py", "--help", cwd=ROOT, env=env)


def test_text_is_of_one_encoding_on_all_systems():
    """What is read and written as text names it, as Windows has another one."""
    for path in (path for room in ("envs", "agents", *ROOMS) for path in (ROOT / room).rglob("*.py")):
        for call in (node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            given = [*call.args, *(each.value for each in call.keywords)]
            words = [each.value for each in given if isinstance(each, ast.Constant) and isinstance(each.value, str)]
            mode = not given or any(set(word) <= {*"rwxat+"} for word in words)  # of text, or none
            if name in ("read_text", "write_text") or (name == "open" and mode and "archive." not in ast.unparse(call)):
                assert any(word.startswith("utf-8") for word in words), f"{path}:{call.lineno}"


def test_the_readmes_python_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})


def test_the_readme_is_short():
    text = (ROOT / "README.md").read_text()
    assert len(text.split()) < 900 and len(re.findall(r"^!\[", text, re.MULTILINE)) == 1


def test_the_readmes_links_exist():
    for link in re.findall(r"\]\((?!http)([^)#]+)\)", (ROOT / "README.md").read_text()):
        assert (ROOT / link).exists(), link


def test_ci_finds_the_readmes_command():
    commands = [line for line in (ROOT / "README.md").read_text().splitlines() if line.endswith("&& pytest")]
    assert len(commands) == 1
