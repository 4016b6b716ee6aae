"""What is written is read again as it was."""

import tomllib

import numpy as np
import pytest
from formats import write_results
from hypothesis import strategies as st
from properties import TIERS, holds, refusal

from gymnosoma.agents.benchmark import results
from gymnosoma.agents.support.files import check_saved, locked
from gymnosoma.envs import Circuit, Population, Projection
from gymnosoma.envs.core.files import partial_path, toml_value


def test_circuits_survive_their_files(tmp_path):
    """With numbers of NumPy, and with names that are no bare keys."""
    odd = Population("ä", "leaky", delay=np.float64(0.1), tonic=np.float32(0.5), sides=np.int64(2))
    some = Population("b", "phase", frequency=1, cells=np.array([0, 2]))
    paths = [Projection("ä", "ä", np.ones((2, 3)), rostral=np.int64(1), name=name) for name in ("a b", '"\\', "😀é")]
    circuit = Circuit(np.int64(3), [odd, some], paths, "ä", joint=np.arange(3), step=np.float64(1e-3))
    circuit.write(tmp_path / "circuit.toml")
    assert Circuit.read(tmp_path / "circuit.toml") == circuit


@TIERS
def test_values_survive_toml(tier):
    words = st.text(st.characters(exclude_categories=["Cs"]))
    plain = st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | words
    trees = st.recursive(plain, lambda part: st.lists(part, max_size=3) | st.dictionaries(words, part, max_size=3))

    def check(tree):
        assert tomllib.loads(f"x = {toml_value({'a': tree})}")["x"] == {"a": tree}

    holds(check, tier, 200, tree=trees)


def test_results_survive_their_files(tmp_path):
    write_results(tmp_path / "a.jsonl")
    lines = results.read(tmp_path / "a.jsonl")
    results.write(tmp_path / "b.jsonl.xz", lines)
    assert results.read(tmp_path / "b.jsonl.xz") == lines


def test_a_link_to_itself_is_no_output(tmp_path):
    (tmp_path / "a.csv").symlink_to(tmp_path / "a.csv")
    with pytest.raises(ValueError) as error:
        check_saved("save", [[tmp_path / "a.csv"]], (".csv",))
    refusal(error.value, "save", "a.csv")


def test_partial_files_of_killed_processes_are_removed(tmp_path):
    """Also in subfolders, but for those with a lock of their own, where somebody else may be writing."""
    partial = [partial_path(tmp_path / each) for each in ("a.json", "lines/b.jsonl", "weights/digest", "run/c.zip")]
    for path in partial:
        path.parent.mkdir(exist_ok=True)
        path.touch()
    partial[2].unlink()
    partial[2].mkdir()
    (partial[2] / "d").touch()
    (tmp_path / "run" / ".lock").touch()
    with locked("folder", tmp_path):
        assert [path.exists() for path in partial] == [False, False, False, True]
