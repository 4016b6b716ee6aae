"""Packaging and architecture: what is installed, and who may import whom."""

import ast
import os
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import gymnosoma
from gymnosoma.envs import CATALOGUE

ROOT = Path(__file__).resolve().parents[1]
MAPPED = ("envs", "agents", "assets")


def run(*command, cwd, env=None):
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, env=env, check=False
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


LINKED = all((ROOT / "gymnosoma" / name).is_symlink() for name in MAPPED)
"""False in a checkout without symbolic links, where an installed package works all the same."""


@pytest.mark.skipif(not LINKED, reason="this checkout has no symbolic links")
def test_links_are_relative():
    for name in MAPPED:
        assert os.readlink(ROOT / "gymnosoma" / name) == f"../{name}"


def test_version_is_stated_once():
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert gymnosoma.__version__ == stated
    assert f"version: {stated}" in (ROOT / "CITATION.cff").read_text()
    assert f"## {stated}" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.full
def test_the_wheel_works_beside_a_foreign_envs_folder(tmp_path):
    """Build, install into an empty environment, and make every id from a folder with its own envs/."""
    source = tmp_path / "source"
    run("git", "-C", ROOT, "worktree", "prune", cwd=ROOT)
    run("git", "clone", "-q", ROOT, source, cwd=tmp_path)
    for name in run("git", "-C", ROOT, "ls-files", "-m", "-o", "--exclude-standard", cwd=ROOT).splitlines():
        if (ROOT / name).is_file() and not (ROOT / name).is_symlink():  # what is not committed yet
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-q")
    run(*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", tmp_path, source, cwd=tmp_path)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        packed = {name for name in wheel.namelist() if name.endswith(".py")}
    kept = {"gymnosoma/" + path.relative_to(ROOT).as_posix() for top in MAPPED for path in (ROOT / top).rglob("*.py")}
    assert packed == kept | {"gymnosoma/__init__.py"}
    home = tmp_path / "empty"
    venv.create(home, with_pip=False)
    python = home / ("Scripts" if os.name == "nt" else "bin") / "python"
    place = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=tmp_path).strip()
    run(*pip, "install", "--no-deps", "--target", place, next(tmp_path.glob("*.whl")), cwd=tmp_path)
    foreign = tmp_path / "work"
    (foreign / "envs").mkdir(parents=True)
    (foreign / "envs" / "__init__.py").write_text("raise RuntimeError('the foreign envs was imported')\n")
    # Dependencies come from this interpreter; an editable gymnosoma does not, as PYTHONPATH reads no .pth files.
    libraries = os.pathsep.join(path for path in sys.path if path.endswith("-packages"))
    script = (
        "import gymnasium, gymnosoma\n"
        f"assert gymnosoma.__file__.startswith({str(home)!r}), gymnosoma.__file__\n"
        f"for name in {[entry.name for entry in CATALOGUE]}:\n"
        "    env = gymnasium.make('gymnosoma/' + name)\n"
        "    env.reset(seed=0)\n"
        "    env.step(env.action_space.sample())\n"
        "    print(name)\n"
    )
    made = run(python, "-c", script, cwd=foreign, env={**os.environ, "PYTHONPATH": libraries})
    assert made.split() == [entry.name for entry in CATALOGUE]


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
    script = "from gymnosoma.envs.core.jit import sincos; print(sincos(0.5)[0])"
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


def kernel_files():
    return [p for p in (ROOT / "envs").rglob("*.py") if "\n@kernel" in p.read_text() and p.name != "jit.py"]


def test_kernels_import_only_numbers_and_each_other():
    assert kernel_files()
    own = {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in kernel_files()} | {"envs.core.jit"}
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
    assert knowing == {"__init__.py", "core/environment.py", "core/check.py"}


def test_the_core_knows_no_animal():
    animals = {path.parent.name for path in (ROOT / "envs").glob("*/animal.py")} - {"core"}
    assert len(animals) == 5
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


def test_listing_makes_no_environment():
    script = (
        "import sys\n"
        "from gymnosoma.agents.commands.list import list_\n"
        "list_()\n"
        "print('\\nimported:', *[name for name in ('pygame', 'torch', 'matplotlib', 'scipy.stats', 'scipy.optimize')"
        " if name in sys.modules])\n"
    )
    *table, last = run(sys.executable, "-c", script, cwd=ROOT).strip().splitlines()
    assert sum(entry.name in line for line in table for entry in CATALOGUE) == len(CATALOGUE)
    assert last == "imported:"


def test_the_readmes_python_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})


def test_the_readmes_links_exist():
    for link in re.findall(r"\]\((?!http)([^)#]+)\)", (ROOT / "README.md").read_text()):
        assert (ROOT / link).exists(), link


def test_ci_finds_the_readmes_command():
    commands = [line for line in (ROOT / "README.md").read_text().splitlines() if line.endswith("&& pytest")]
    assert len(commands) == 1
