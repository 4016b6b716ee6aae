"""The documentation: its examples run, and the site can be built."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs").glob("[!_]*/*.md"))
PAGES = [page for page in PAGES if page.parent.name in ("animals", "guides")]


def blocks(page):
    """Examples of a page that can run as they stand; those marked ``python`` need files of the reader's."""
    return re.findall(r"^```py\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.full
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: page.stem)
def test_examples_of_a_page_run(page):
    names = {}
    for block in blocks(page):
        exec(compile(block, str(page), "exec"), names)


@pytest.mark.full
@pytest.mark.parametrize("name", ["stable_baselines3_ppo", "single_file_ppo"])
def test_examples_with_other_libraries_run(name):
    ended = subprocess.run(
        [sys.executable, ROOT / "examples" / f"{name}.py", "20000"], capture_output=True, text=True, timeout=300
    )
    assert ended.returncode == 0, ended.stderr
    assert "return" in ended.stdout


@pytest.mark.full
def test_the_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("sphinx", reason="the extra docs is not installed")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", ROOT / "docs", tmp_path]
    built = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert built.returncode == 0, built.stderr[-3000:]
    assert (tmp_path / "environments" / "WormSwim-v0.html").is_file()
