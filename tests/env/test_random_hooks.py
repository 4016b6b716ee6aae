"""Random hooks: compiled, they give what they give as plain Python, to the bit, for one row and for many."""

import importlib.util
import sys

import numpy as np
import pytest
from hypothesis import strategies as st
from properties import holds

from gymnosoma.envs.core.env.hooks import CompiledTask, interned
from gymnosoma.envs.core.kernels import cache

HEAD = """
import math
from fixtures.worm_turn import Turn

class Base(Turn):
    memory_fields = {"first": "f8", "second": "f8", "past": "4f8"}
    def helper(self, x, y):
        return x - 0.5 * y

class Random(Base):
    gain, flag, kind = 1.7, True, "fast"
    weights = (0.3, -1.2, 0.7, 2.5)
    def helper(self, x, y=1.5):
        return 0.9 * super().helper(x, y) + self.gain

    def return_so_far(self, row, memory):
        x = memory.turned
"""

# Powers are left out: Python calls `pow`, a kernel multiplies, and the last bit may differ.
FORMS = [
    "({} + {})", "({} - {})", "({} * {})", "({} / (abs({}) + 1.0))", "min({}, {})", "max({}, {})",
    "self.helper({}, y={})", "self.helper({})", "abs({})", "math.sin({})", "math.sqrt(abs({}))", "(-{})",
    "({} if {} > {} else {})", "({} if self.flag else {})",
    "({} if self.kind == 'slow' else {})", "math.atan2({}, {})",
]  # fmt: skip
LEAVES = ["x", "memory.first", "memory.second", "row.time", "row.rod_angle[3]", "row.rod_angle[-1]", "self.gain"]
LEAVES += ["memory.past[0]", "memory.past[-1]", "self.weights[2]", "len(self.weights)", "0.25", "2"]

TERMS = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.sampled_from(FORMS).flatmap(
        lambda form: st.tuples(*[inner] * form.count("{}")).map(lambda parts: form.format(*parts))
    ),
    max_leaves=6,
)
CONDITIONS = st.one_of(
    st.tuples(TERMS, st.sampled_from(["<", ">=", "!="]), TERMS).map(" ".join),
    st.sampled_from(["self.flag", "not self.flag", "self.kind == 'fast'", "self.kind in ('slow', 'late')"]),
    st.tuples(TERMS, TERMS).map(lambda pair: "self.flag and not {} > {}".format(*pair)),
    st.tuples(TERMS, TERMS, TERMS).map(lambda three: "{} < {} <= {}".format(*three)),
)
PLACES = ["x", "memory.first", "memory.second", "memory.past[1]", "memory.past[-2]"]
SIMPLE = st.one_of(
    st.tuples(st.sampled_from(PLACES), TERMS).map(lambda pair: ["{} = math.sin({})".format(*pair)]),
    st.tuples(st.sampled_from(PLACES), TERMS).map(lambda pair: ["{} += math.sin({})".format(*pair)]),
)


def block(head, lines):
    return [head, *(f"    {line}" for line in lines)]


STATEMENTS = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        st.tuples(CONDITIONS, inner, inner).map(lambda p: [*block(f"if {p[0]}:", p[1]), *block("else:", p[2])]),
        st.tuples(st.integers(1, 4), inner).map(
            lambda p: block(f"for j in range({p[0]}):", ["x += self.weights[j] * memory.past[j]", *p[1]])
        ),
        inner.map(lambda lines: ["n = 0", *block("while n < 3:", ["n += 1", *lines])]),
    ),
    max_leaves=3,
)
BODIES = st.lists(STATEMENTS, min_size=1, max_size=3).map(lambda parts: [line for part in parts for line in part])


def results(task, compiled, count):
    """All that hooks give and change in four periods."""
    hooks, rng = CompiledTask(task, compiled), np.random.default_rng(0)
    rows, memory = task.animal.rows(count), np.zeros(count, interned(task.memory))
    found = []
    for k in range(4):
        actions, angles = rng.uniform(-1.0, 1.0, (3, task.action_size)), rng.normal(size=(3, 25))
        rows["rod_angle"], rows["time"] = angles[:count], 0.1 * k
        drive = hooks.command(actions[:count], rows, memory)
        values = drive, *hooks.close(rows, memory)[:3], *(memory[name].copy() for name in memory.dtype.names)
        found.append([np.ascontiguousarray(value) for value in values])
    return found


@pytest.mark.parametrize("examples", [50, pytest.param(2000, marks=pytest.mark.slow)])
def test_compiled_and_plain_hooks_are_equal(examples, tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "FOLDER", tmp_path / "kernels")
    numbers = iter(range(10**6))

    def check(body, value):
        name = f"random_hooks_{next(numbers)}"
        lines = "".join(f"        {line}\n" for line in [*body, f"return {value}"])
        path = tmp_path / f"{name}.py"
        path.write_text(HEAD + lines)
        spec = importlib.util.spec_from_file_location(name, path)
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        try:
            compiled = {count: results(module.Random(), True, count) for count in (1, 3)}
            for count, found in compiled.items():
                for own, plain in zip(found, results(module.Random(), False, count), strict=True):
                    assert [each.tobytes() for each in own] == [each.tobytes() for each in plain], lines
            for alone, many in zip(compiled[1], compiled[3], strict=True):
                assert all(one[0].tobytes() == each[0].tobytes() for one, each in zip(alone, many, strict=True)), lines
        finally:
            del sys.modules[name]

    holds(check, 1, examples, body=BODIES, value=TERMS)
