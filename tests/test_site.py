"""The documentation: its examples run, and the site can be built."""

import doctest
import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import live_browser
import pytest

from gymnosoma.agents.policies.evaluation import evaluate
from gymnosoma.agents.policies.lookup import find_policy
from gymnosoma.envs import CATALOGUE

ID = "gymnosoma/WormSwim-v0"
ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs").glob("[!_]*/*.md"))
PAGES = [page for page in PAGES if page.parent.name in ("animals", "guides")]


def blocks(page):
    """Examples of a page that can run as they stand; those marked ``python`` need files of the reader's."""
    return re.findall(r"^```py\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.full
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: page.stem)
def test_examples_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where some of them write
    names = {}
    for block in blocks(page):
        exec(compile(block, str(page), "exec"), names)


EXAMPLES = [
    path.relative_to(ROOT)
    for room in ("envs", "agents", "recordings", "papers")
    for path in sorted((ROOT / room).rglob("*.py"))
    if re.search(r"^ +>>> ", path.read_text("utf-8"), re.MULTILINE)
]


@pytest.mark.parametrize("path", EXAMPLES, ids=str)
def test_examples_of_docstrings_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where some of them write
    result = doctest.testmod(importlib.import_module(".".join(["gymnosoma", *path.with_suffix("").parts])))
    assert result.attempted and not result.failed


def run(*command, **more):
    """Output of a command of Python."""
    ended = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=580, **more)
    assert ended.returncode == 0, ended.stderr[-3000:]
    return ended.stdout


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "amount", "library"),
    [
        ("stable_baselines3_ppo", "20000", "stable_baselines3"),
        ("single_file_ppo", "40000", "torch"),
        ("optuna_sine", "3", "optuna"),
        ("pixels_ppo", "256", "stable_baselines3"),
        ("her_reach", "2500", "stable_baselines3"),
        pytest.param("transfer", "1700", "stable_baselines3", marks=pytest.mark.slow),
        ("gymnasium_vectors", "20", "array_api_compat"),
        ("recurrent_agent", "2", "torch"),
        ("curriculum", "2", "stable_baselines3"),
        ("imperfect_senses", "2", "torch"),
        ("torchrl_ppo", "8192", "torchrl"),
        ("rllib_ppo", "8192", "ray.rllib"),
    ],
)
def test_examples_with_other_libraries_run(name, amount, library, tmp_path):
    pytest.importorskip(library)
    assert "return" in run(ROOT / "examples" / f"{name}.py", amount, cwd=tmp_path)
    page = (ROOT / "docs" / "guides" / "libraries.md").read_text()
    for saved in {*tmp_path.glob("*.*")} - {*tmp_path.glob("*.png")}:  # what the guide does with it
        (block,) = (text for text in re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.M) if saved.name in text)
        (tmp_path / "my_agent.py").write_text(block)
        command = [ROOT / "train.py", "evaluate", "WormSwim-v0", "--policy", "my_agent:swim", "--episodes", "4"]
        assert "my_agent:swim" in run(*command, cwd=tmp_path)


NOTEBOOK = json.loads((ROOT / "examples" / "first.ipynb").read_text("utf-8"))["cells"]


@pytest.mark.full
def test_the_notebook_runs():
    pytest.importorskip("stable_baselines3")
    code = "\n".join("".join(cell["source"]) for cell in NOTEBOOK if cell["cell_type"] == "code")
    short = re.sub(r"STEPS = [\d_]+", "STEPS = 20_000", code)
    assert short != code
    told = run("-c", short, env={**os.environ, "MPLBACKEND": "agg", "SDL_VIDEODRIVER": "dummy"})
    assert re.search(r"^baseline +0\.\d+ mm/s\nWormSwim .*\ntrained +0\.1", told, re.MULTILINE)


@pytest.mark.full
def test_rl_zoo_trains_by_our_recipes(tmp_path):
    pytest.importorskip("rl_zoo3")
    settings = ROOT / "examples" / "rl_zoo3_ppo.py"
    command = ["-m", "rl_zoo3.train", "--algo", "ppo", "--env", ID, "--gym-packages", "gymnosoma", "-c", settings]
    small = ["-n", "512", "--eval-freq", "-1", "-params", "n_envs:2"]
    assert "total_timesteps" in run(*command, *small, "-f", tmp_path)
    assert list(tmp_path.glob("ppo/*/*.zip"))


@pytest.mark.full
def test_a_behaviour_is_cloned_from_a_dataset(tmp_path):
    pytest.importorskip("minari")
    pytest.importorskip("h5py")
    more = {"env": {**os.environ, "MINARI_DATASETS_PATH": str(tmp_path)}}
    told = run(ROOT / "train.py", "record", "WormSwim-v0", "--noise", "0.1", "--episodes", "8", **more)
    name = told.partition(": 8 episodes")[0]
    told = run(ROOT / "examples" / "minari_cloning.py", name, **more)
    cloned, recorded = map(float, re.search(r"return (\S+), of the dataset (\S+)", told).groups())
    chance = evaluate(ID, find_policy(ID, "random"), 8).returns.mean()
    assert cloned > chance + 0.8 * (recorded - chance)


def test_formulas_are_shown_whole(tmp_path, monkeypatch):
    """In a browser, narrow and wide: nothing is cut off above or below; functions stand apart, and brackets grow."""
    monkeypatch.syspath_prepend(ROOT / "docs")
    mathml = importlib.import_module("mathml").mathml
    found = [tex for page in PAGES for tex in re.findall(r"^\$\$(.*?)\$\$", page.read_text(), re.DOTALL | re.MULTILINE)]
    assert len(found) > 10
    assert mathml(r"A \cos\alpha").count("<mspace") == 2 and mathml(r"\cos(\alpha) = \cos^2(x)").count("<mspace") == 0
    assert mathml(r"\left(\frac{a}{b}\right)").count('mathsize="170%"') == 2 and "mathsize" not in mathml(
        r"\left(a\right)"
    )
    shown = "".join(f'<div class="math">{mathml(tex, as_block=True)}</div>' for tex in found)
    style = (ROOT / "docs" / "static" / "site.css").read_text()
    page = tmp_path / "formulas.html"
    page.write_text(f"<!doctype html><meta charset=utf-8><style>body {{ line-height: 1.5 }} {style}</style>{shown}")
    browser = live_browser.open_browser(tmp_path / "browser")
    try:
        for width in (1400, 390):
            live_browser.resize(browser, width, 900)
            browser.get(page.as_uri())
            heights = "return [...document.querySelectorAll('div.math')].map((e) => e.scrollHeight - e.clientHeight)"
            assert browser.execute_script(heights) == [0] * len(found)
    finally:
        browser.quit()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Folder of the built site."""
    pytest.importorskip("sphinx", reason="the extra docs is not installed")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", ROOT / "docs", folder]
    built = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert built.returncode == 0, built.stderr[-3000:]
    return folder


@pytest.mark.full
def test_the_site_builds_without_a_warning(site):
    assert (site / "environments" / "WormSwim-v0.html").is_file()
    pages = "".join(page.read_text() for page in site.glob("api/*.html"))
    home = (site / "index.html").read_text()
    tiles = re.findall(r'<a href="environments/([\w-]+).html"><(?:img|video)', home)
    assert tiles == [entry.name for entry in CATALOGUE] and home.index('class="tiles"') < home.index("data-gymnosoma")
    names = re.findall(r'<dt class="sig[^>]* id="([^"]+)"', pages)
    assert "gymnosoma.envs.simulate" in names and not any("._" in name for name in names)


@pytest.mark.full
def test_the_site_can_be_read_and_searched(site, tmp_path):
    browser = live_browser.open_browser(tmp_path / "browser")
    try:
        for width in (1400, 390):
            live_browser.resize(browser, width, 900)
            for page in ("index", "guides/first", "guides/train", "animals/worm", "environments/index"):
                browser.get((site / f"{page}.html").as_uri())
                cut = "[...document.querySelectorAll('.highlight pre')].some((e) => e.scrollWidth > e.clientWidth)"
                assert not browser.execute_script(f"return {cut}"), page
                assert browser.execute_script("return document.documentElement.scrollWidth") <= width, page
                wide = "[...document.querySelectorAll('.table-wrapper')].some((e) => e.scrollWidth > e.clientWidth)"
                assert width > 390 or not browser.execute_script(f"return {wide}"), page
        browser.get(f"{(site / 'search.html').as_uri()}?q=how+to+train")
        found = (
            "const done = arguments[0]; (function wait() { const a = document.querySelector('#search-results li a');"
        )
        found += " a ? done(a.textContent) : setTimeout(wait, 50); })();"
        assert browser.execute_async_script(found) == "Train and evaluate"
    finally:
        browser.quit()
