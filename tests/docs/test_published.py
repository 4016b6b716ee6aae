"""Published tables name what they were computed with, and a change of it is found."""

import json
import re
import shutil

import pytest

from gymnosoma.envs.core.kernels.cache import SECONDS
from gymnosoma.envs.worm import Worm, WormParams
from papers import fingerprints
from tools import installs, publish, texts

ROOT = installs.ROOT


@pytest.fixture
def clone(tmp_path):
    """The files that the checks read, in a folder of its own."""
    for name in (installs.GUIDE, installs.MEASURED, installs.PINS, "constraints-rllib.txt", "pyproject.toml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def changed(path, before, after):
    text = path.read_text("utf-8")
    assert before in text
    path.write_text(text.replace(before, after), "utf-8")


def test_sizes_of_installations_are_those_of_the_present_requirements():
    assert not [*installs.stale(ROOT)]


@pytest.mark.parametrize(
    ("file", "before", "after", "stale"),
    [
        ("pyproject.toml", '"cma>=4"', '"cma>=5"', {"train", "notebook", "docs", "dev"}),
        ("pyproject.toml", '"optuna>=4"', '"optuna>=4", "flask"', {"dev"}),
        ("constraints-rllib.txt", "ray==2", "ray==3", {"rllib"}),
        ("constraints.txt", "numpy==2", "numpy==3", {*installs.PURPOSES} - {"rllib"}),
        (installs.GUIDE, "| 131 |", "| 130 |", {"sizes"}),
    ],
)
def test_a_changed_requirement_is_found(file, before, after, stale, clone):
    changed(clone / file, before, after)
    found = [text.partition(": ")[2] for text in installs.stale(clone)]
    assert {text.removeprefix("requirements of ").split()[0] for text in found} == stale


def test_numbers_that_the_readme_repeats_are_those_of_their_sources():
    readme, papers, recordings = (
        (ROOT / name).read_text("utf-8") for name in ("README.md", "docs/guides/papers.md", "docs/guides/recordings.md")
    )
    defaults = re.findall(r"^\|.*\| [^|;]*?([\d.]+)% \|$", papers, re.MULTILINE)
    assert f"by up to {max(defaults, key=float)}%" in " ".join(readme.split()) and len(defaults) == 6
    assert f"takes {min(SECONDS.values())} to {max(SECONDS.values())} seconds" in readme
    (alone,) = re.findall(r"to ([\d.]+ mm); .*follow_recorded.png", recordings)
    assert f"to {alone}; " in readme


def test_every_measured_text_has_a_digest():
    assert [*json.loads((ROOT / texts.MEASURED).read_text("utf-8"))] == [*texts.TEXTS]
    for name, text in texts.TEXTS.items():
        assert texts.numbers((ROOT / text.page).read_text("utf-8"), name), name


@pytest.mark.full
def test_measured_texts_are_those_of_the_present_code():
    assert not [*texts.stale()]


def test_a_changed_number_or_source_of_a_text_is_found(tmp_path, monkeypatch):
    sources = ["one"]
    monkeypatch.setattr(texts, "TEXTS", {"speed": texts.Text("page.md", "measure", lambda: sources)})
    monkeypatch.setattr("sys.argv", ["texts", "speed"])
    (tmp_path / "docs").mkdir()
    page = tmp_path / "page.md"
    page.write_text("1 worm\n\n<!-- speed -->\nIt swims 0.15 mm/s.\n<!-- /speed -->\n")
    texts.main(tmp_path)
    changed(page, "1 worm", "2 worms")
    changed(page, "It swims", "The worm swims")
    assert not [*texts.stale(tmp_path)]
    changed(page, "0.15", "0.16")
    [found] = texts.stale(tmp_path)
    assert found.startswith("page.md: speed: ") and "`measure`" in found and "`python -m tools.texts speed`" in found
    texts.main(tmp_path)
    assert not [*texts.stale(tmp_path)]
    sources[0] = "two"
    assert [*texts.stale(tmp_path)] == [found]


def test_every_figure_and_table_of_the_papers_has_a_fingerprint():
    known = json.loads((ROOT / fingerprints.RECORD).read_text("utf-8"))
    assert [*known] == [name for name, _ in fingerprints.names()]


@pytest.mark.full
def test_the_papers_numbers_are_those_of_the_present_code():
    assert not [*fingerprints.stale()]


def test_figures_of_another_animal_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr(fingerprints, "fingerprint", str.upper)
    (tmp_path / "docs").mkdir()
    every = [name for name, _ in fingerprints.names()]
    fingerprints.record(every[:-2], tmp_path)
    assert len([*fingerprints.stale(tmp_path)]) == 2
    fingerprints.record(every[-2:], tmp_path)
    assert not [*fingerprints.stale(tmp_path)]
    monkeypatch.setattr(fingerprints, "fingerprint", lambda own: own.upper() + "!" * (own == fingerprints.CIRCUITS))
    assert [*fingerprints.stale(tmp_path)] == [
        f"{fingerprints.RECORD}: worm circuits has changed: run `python -m papers.worm.circuits`"
    ]


def test_a_fingerprint_is_of_behaviour(tmp_path):
    usual, stiffer = Worm(), Worm(WormParams(stiffness=1.01 * WormParams().stiffness))
    assert fingerprints.behaviour(usual) == fingerprints.behaviour(Worm()) != fingerprints.behaviour(stiffer)
    path, digests = tmp_path / "module.py", []
    for text in ('"""Old."""\nX = 1  # one\n', '"""New."""\n\nX = 1\n', '"""New."""\n\nX = 2\n'):
        path.write_text(text)
        digests.append(fingerprints.code(path))
    assert digests[0] == digests[1] != digests[2]


def test_a_changed_library_table_is_found(tmp_path, monkeypatch):
    for name in (publish.CLIENTS, publish.LIBRARIES):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    measured = json.loads((ROOT / publish.CLIENTS).read_text("utf-8"))
    now = {env_id: digest for entry in measured.values() for env_id, digest in entry["ids"].items()}
    monkeypatch.setattr(publish, "env_fingerprint", lambda env_id, env: now[env_id])
    monkeypatch.setattr(publish, "all_ids", lambda: [*now])  # without those of the tests
    before, changed_id = {*publish.stale_clients(tmp_path)}, "gymnosoma/StandGains-v0"
    now[changed_id] = "another"
    found = {*publish.stale_clients(tmp_path)} - before
    assert len(found) == sum(changed_id in entry["ids"] for entry in measured.values()) > 0
    assert all(text.endswith(changed_id) for text in found)
