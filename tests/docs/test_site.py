"""The documentation: its examples run, and the site can be built."""

import doctest
import importlib
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from docs.outputs import renewed
from gymnosoma.agents.policies.evaluation import evaluate
from gymnosoma.agents.policies.lookup import find_policy

ID = "gymnosoma/WormSwim-v0"
ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").glob("[!_]*/*.md"))
PAGES = [page for page in PAGES if page.parent.name in ("animals", "guides")]


GUIDES = [page for page in PAGES if page.parent.name == "guides"]
GENERATED = {"api", "environments", "live", "_static"}
"""Folders of the site that its build makes."""


def numbers(text):
    """A text without its numbers, and these."""
    number = r"(?<![\w.])-?\d+\.?\d*(?:e[+-]?\d+)?(?![\w.]*\w)"
    return " ".join(re.sub(number, "#", text).split()), list(map(float, re.findall(number, text)))


@pytest.mark.full
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_shows_what_its_examples_print(page, tmp_path, monkeypatch):
    """``python docs/outputs.py`` writes what they print."""
    monkeypatch.chdir(tmp_path)  # where some of them write
    # Times and numbers of compiled kernels depend on tests that run at the same time; `test_commands` checks them.
    times = re.compile(r"(?<=: )[\d.]+ s$|^\d+(?= kernels compiled$)", re.MULTILINE)
    shown = times.sub("", page.read_text("utf-8"))
    (text, values), (expected, figures) = map(numbers, (times.sub("", renewed(shown)), shown))
    assert text == expected
    assert values == pytest.approx(figures, rel=0.01, abs=1e-3)


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_a_guide_opens_with_what_you_can_do_and_shows_output(page):
    title, opening, rest = page.read_text("utf-8").split("\n\n", 2)
    assert title.startswith("# ") and opening.startswith("You ") and "```text\n```" not in rest
    assert re.search(r"^(```(text|console)\n.|!\[|\| ?-|```\{include\})", rest, re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_names_the_extras_that_its_examples_need(page):
    code = "".join(re.findall(r"^```(?:py|sh|con).*?^```", text := page.read_text("utf-8"), re.DOTALL | re.MULTILINE))
    for extra, use in {"data": r"\.plot\(|pyplot", "film": r"\.mp4|\.gif"}.items():
        assert not re.search(use, code) or re.search(rf"\.\[[a-z,]*({extra}|train)", text), extra


def places(page):
    """What links may name in a page: its headings, as a browser writes them."""
    heads = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head).strip().lower().replace(" ", "-") for head in heads}


@pytest.mark.parametrize(
    "page", [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *PAGES], ids=lambda page: page.stem
)
def test_links_lead_to_a_page_and_a_heading(page):
    pattern = r"(?:\]\(|href=\")(?!\w+:)([^)#\s\"]*)(?:#([^)\s\"]*))?[)\"]"
    for path, place in re.findall(pattern, text := page.read_text("utf-8")):
        target = (page.parent / path).resolve() if path else page
        if not GENERATED & {*target.relative_to(ROOT).parts}:
            assert target.exists(), path
            assert not place or "{include}" in target.read_text("utf-8") or place in places(target), f"{path}#{place}"
        elif page in GUIDES:  # read in a clone, too
            assert "install.md#build-this-site" in text, path


def test_links_of_the_readme_that_the_first_page_includes_lead_to_pages():
    readme, index = ((ROOT / name).read_text("utf-8") for name in ("README.md", "docs/index.md"))
    borders = re.search(
        r'README.md\n:start-after: "(.*)"\n:end-before: "(.*)"\n:relative-docs: docs/$', index, re.MULTILINE
    )
    start, end = borders.groups()
    links = re.findall(r"\]\((?!\w+:)([^)]*)\)", readme.partition(start)[2].partition(end)[0])
    assert links and all(link.startswith("docs/") for link in links)


def test_the_table_of_physics_names_tests():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    named = re.findall(r"`([\w/]*\.py)?::(test_\w+)`", text)
    path = ""
    for file, name in named:
        path = file or path
        assert f"\ndef {name}(" in (ROOT / "tests" / path).read_text("utf-8"), f"{path}::{name}"
    assert len(named) > 40


FULL = pytest.mark.full  # for examples with models that compile kernels of their own
EXAMPLES = [
    pytest.param(path.relative_to(ROOT), marks=FULL if re.search("neurom|Stand", path.read_text("utf-8")) else ())
    for room in ("envs", "agents", "recordings", "biomechanics", "papers")
    for path in sorted((ROOT / room).rglob("*.py"))
    if re.search(r"^ +>>> ", path.read_text("utf-8"), re.MULTILINE)
]


@pytest.mark.parametrize("path", EXAMPLES, ids=str)
def test_examples_of_docstrings_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where some of them write
    package = () if path.parts[0] == "papers" else ("gymnosoma",)
    result = doctest.testmod(importlib.import_module(".".join([*package, *path.with_suffix("").parts])))
    assert result.attempted and not result.failed


def run(*command, **more):
    """Output of a command of Python."""
    ended = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=580, **more)
    assert ended.returncode == 0, ended.stderr[-3000:]
    return ended.stdout


# The first argument of each example, for a few steps, and the library that it needs.
FEW_STEPS = {
    "curriculum": ("1", "stable_baselines3"),
    "gymnasium_vectors": ("20", "array_api_compat"),
    "hair_material": ("", "scipy"),
    "her_reach": ("2500", "stable_baselines3"),  # one update after a random episode of each worm
    "imperfect_senses": ("1", "torch"),
    "minari_cloning": ("8", "minari"),
    "optuna_recipe": ("4", "optuna"),
    "optuna_sine": ("3", "optuna"),
    "pixels_ppo": ("32", "stable_baselines3"),
    "recurrent_agent": ("2", "torch"),
    "rllib_ppo": ("8192", "ray.rllib"),
    "single_file_ppo": ("WormSwim-v0 2048", "torch"),
    "stable_baselines3_ppo": ("8192", "stable_baselines3"),
    "start_learning": ("WormSwim-v0 PPO 2048", "matplotlib"),
    "torchrl_ppo": ("8192", "torchrl"),
    "transfer": ("1700", "stable_baselines3"),  # a few updates
}


def test_every_example_is_tested_and_shown():
    examples = {path.name for path in (ROOT / "examples").glob("*.*")}
    assert examples == {f"{name}.py" for name in FEW_STEPS} | {"first.ipynb", "lesson.ipynb", "rl_zoo3_ppo.py"}
    guides = "".join(page.read_text("utf-8") for page in GUIDES)
    assert not [name for name in examples if name not in guides]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    asked = re.search(r"\[(.*)\]", extras["dev"][0])[1].split(",")
    installed = {re.split(r"[^\w-]", each)[0] for name in [*asked, "dev"] for each in extras[name]}
    needed = {library.replace("_", "-") for _, library in FEW_STEPS.values()} | {"rl-zoo3"}
    needed -= {"ray.rllib", "torch", "scipy"}  # an environment of its own; what others bring
    assert needed <= {each.replace("_", "-") for each in installed}


@pytest.mark.full
@pytest.mark.parametrize("name", FEW_STEPS)
def test_an_example_runs_as_shown(name, tmp_path):
    amount, library = FEW_STEPS[name]
    pytest.importorskip(library)
    env = {**os.environ, "MINARI_DATASETS_PATH": str(tmp_path / "datasets")}
    printed = run(ROOT / "examples" / f"{name}.py", *amount.split(), cwd=tmp_path, env=env)
    assert ("GPa" if name == "hair_material" else "return") in printed
    if name == "minari_cloning":
        cloned, recorded = map(float, re.search(r"return (\S+), of the dataset (\S+)", printed).groups())
        chance = evaluate(ID, find_policy(ID, "random"), 8).returns.mean()
        assert cloned > chance + 0.8 * (recorded - chance)
    page = (ROOT / "docs" / "guides" / f"{'learn' if name == 'start_learning' else 'scores'}.md").read_text()
    for saved in {*tmp_path.glob("*.*")} - {*tmp_path.glob("*.png")}:  # what the guide does with it
        (block,) = (text for text in re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.M) if saved.name in text)
        (tmp_path / "my_agent.py").write_text(block)
        policy = "my_agent:" + re.search(r"^def (\w+)", block, re.MULTILINE)[1]
        command = [ROOT / "train.py", "evaluate", "WormSwim-v0", "--policy", policy, "--episodes", "4"]
        assert policy in run(*command, cwd=tmp_path)


@pytest.mark.full
def test_the_first_notebook_runs():
    pytest.importorskip("stable_baselines3")
    cells = json.loads((ROOT / "examples" / "first.ipynb").read_text("utf-8"))["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    short, replaced = re.subn(r"STEPS = [\d_]+", "STEPS = 16_384", code)
    told = run("-c", short, env={**os.environ, "MPLBACKEND": "agg", "SDL_VIDEODRIVER": "dummy"})
    assert replaced == 1 and re.search(r"^baseline +0\.\d+ mm/s\nWormSwim .*\ntrained +0\.1", told, re.MULTILINE)


@pytest.mark.parametrize("name", ["first", "lesson"])
def test_a_notebook_begins_with_its_installation(name):
    cells = json.loads((ROOT / "examples" / f"{name}.ipynb").read_text("utf-8"))["cells"]
    first = next("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    extras = re.search(r"gymnosoma\[([a-z,]+)\] @ git\+https", first)[1].split(",")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["urls"]["Repository"] in first and {*extras} <= {*project["optional-dependencies"]}
    compile(first, name, "exec")


@pytest.mark.full
def test_rl_zoo_trains_by_our_recipes(tmp_path):
    if importlib.util.find_spec("rl_zoo3") is None:  # importing it replaces Gymnasium's TimeLimit for the other tests
        pytest.skip("rl_zoo3 is not installed")
    settings = ROOT / "examples" / "rl_zoo3_ppo.py"
    command = ["-m", "rl_zoo3.train", "--algo", "ppo", "--env", ID, "--gym-packages", "gymnosoma", "-c", settings]
    small = ["-n", "512", "--eval-freq", "-1", "-params", "n_envs:2"]
    assert "total_timesteps" in run(*command, *small, "-f", tmp_path)
    assert list(tmp_path.glob("ppo/*/*.zip"))


@pytest.mark.parametrize(
    "name",
    [pytest.param("worm_gait", marks=pytest.mark.full), pytest.param("lamprey_edge_cells", marks=pytest.mark.slow)],
)
def test_a_study_runs(name, tmp_path):
    run(ROOT / "studies" / name / "run.py", "--quick", "--folder", tmp_path)
    assert len(list(tmp_path.glob("*.csv"))) == 3
