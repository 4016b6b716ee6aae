"""Hooks of tasks: what is compiled, and how mistakes are told."""

import copy
import math
import os
import subprocess
import sys
from typing import ClassVar

import gymnasium
import numpy as np
import pytest
from fixtures.worm_turn import Turn
from ids import ALL, FIRST, IDS

from gymnosoma.envs.core.env.environment import BodyEnv
from gymnosoma.envs.core.env.hooks import COMPARED_STEPS
from gymnosoma.envs.core.env.task import Score
from gymnosoma.envs.core.env.vector import BodyVectorEnv
from gymnosoma.envs.core.kernels.jit import kernel
from gymnosoma.envs.core.kernels.maths import mean, total
from gymnosoma.envs.lamprey.tasks import Economy

HERE = "env.test_hooks"


class WrongScore(Turn):
    score = Score("turnd")


class WrongField(Turn):
    def return_so_far(self, row, memory):
        memory.turnd = 0.0
        return 0.0


class WrongShape(Turn):
    def return_so_far(self, row, memory):
        memory.turned = row.centre
        return 0.0


class WrongIndex(Turn):
    def return_so_far(self, row, memory):
        return row.rod_angle[25]


class LateIndex(Turn):
    def return_so_far(self, row, memory):
        return row.rod_angle[int(1000.0 * row.time)]


class WrongConstant(Turn):
    def return_so_far(self, row, memory):
        return self.options


class Unset(Turn):
    observation_fields = {"direction": Turn.observation_fields["turned"]}


class Changing(Turn):
    def info(self, row, memory, info):
        memory.turned += 1.0


class NoReturn(Turn):
    def return_so_far(self, row, memory):
        memory.turned = 0.0


class WrongTerms(Turn):
    reward_terms = {"angle": "angle turned", "rest": "0"}

    def set_terms(self, reward, row, memory):
        memory.reward_angle = reward + 0.5


class UnknownReport(Turn):
    score = Score("return")
    info_fields = {"turnd": "copy"}


class ComparesByIs(Turn):
    def return_so_far(self, row, memory):
        return 1.0 if self.actions is self.degrees else 0.0


class ComparesWithTrue(Turn):
    flag = True

    def return_so_far(self, row, memory):
        return 1.0 if self.flag is True else 0.0


CHANGING = np.ones(2)


class ReadsChanging(Turn):
    def return_so_far(self, row, memory):
        return CHANGING[0]


class DrawsNumbers(Turn):
    def return_so_far(self, row, memory):
        return np.random.random()  # noqa: NPY002


class AddsFlags(Turn):
    def return_so_far(self, row, memory):
        return (row.time > 0.0) + (row.time > -1.0)


class WritesOutside(Turn):
    memory_fields = {"past": "3f8", "count": "f8"}

    def return_so_far(self, row, memory):
        memory.past[int(memory.count)] = 7.0
        memory.count += 1.0
        return 0.0


class Recursive(Turn):
    def product(self, n):
        return 1.0 if n <= 1 else n * self.product(n - 1)

    def return_so_far(self, row, memory):
        return self.product(3)


COUNT = 0.0


class SetsGlobal(Turn):
    def return_so_far(self, row, memory):
        global COUNT
        COUNT += 1.0
        return COUNT


class SetsItself(Turn):
    def return_so_far(self, row, memory):
        self.degrees = 1.0
        return 0.0


class WholeArrays(Turn):
    def return_so_far(self, row, memory):
        return (row.rod_angle * 2.0)[0]


class Choosing(Turn):
    mode, limit, flag = "left", None, True

    def side(self, row, factor=2.0, offset=0.0):
        return factor * row.time + offset

    def return_so_far(self, row, memory):
        if self.mode == "right" or not self.flag or self.limit is not None:
            return self.missing
        return self.side(row, offset=1.0) if self.flag and row.time >= 0.0 else 0.0


def test_an_unknown_score_is_told_at_once():
    with pytest.raises(ValueError, match="score: name 'turnd' is not known; did you mean turned"):
        BodyEnv(f"{HERE}:WrongScore")


@pytest.mark.parametrize(
    "kind, words",
    [
        (WrongField, "return_so_far, line .*'turnd'.*turned"),
        (WrongShape, "return_so_far, line .*turned must have shape"),
        (WrongIndex, "return_so_far, line .*out of bounds"),
        (ComparesByIs, "can only compare self.name with None by 'is', got self.actions is self.degrees"),
        (ComparesWithTrue, "by 'is', got self.flag is True; write 'if self.name:'"),
        (ReadsChanging, "CHANGING is an array that may change"),
        (DrawsNumbers, "uses np.random, .*episodes.draw"),
        (AddsFlags, "flags have no sum in a hook"),
        (WrongConstant, "WrongConstant.return_so_far, line .*options must be a number"),
        (Unset, "sense leaves observation.direction unset"),
        (Changing, "sense and info must not change"),
        (NoReturn, "reward returned no finite number"),
        (WrongTerms, r"its terms add up to 0.5.*: set memory.reward_NAME for each NAME .*\(angle, rest\), or remove"),
        (UnknownReport, "info_fields to copy must be fields of memory or row, got 'turnd'"),
        (Recursive, "self.product calls itself: write a loop"),
        (SetsGlobal, r"test_hooks\.py, line \d+: a hook cannot be compiled"),
        (SetsItself, "degrees cannot be set in a hook"),
        (WholeArrays, r"test_hooks\.py, line \d+: a hook cannot be compiled"),
    ],
)
def test_mistakes_are_told_in_plain_words(kind, words):
    env = BodyEnv(f"{HERE}:{kind.__name__}")
    with pytest.raises(TypeError, match=words):
        env.reset(seed=0)
        env.step(env.action_space.sample())


class Broken(Turn):
    """Each hook fails in a later step."""

    score = Score("return")

    def __init__(self, hook, **arguments):
        super().__init__(**arguments)
        self.hook = hook

    def return_so_far(self, row, memory):
        return 1.0 if self.hook != "reward" or row.time < 0.1 else math.nan

    def ending(self, row, memory):
        if self.hook == "unknown" and row.time > 0.1:
            return 77.0
        return math.inf if self.hook == "ending" and row.time > 0.1 else 0.0

    def sense(self, row, memory, observation):
        super().sense(row, memory, observation)
        if self.hook == "sense":
            observation.turned[0] = math.nan if row.time > 0.1 else 0.0


@pytest.mark.parametrize("compared", [True, False])
def test_nothing_is_written_outside_of_an_array(compared):
    """In the first steps, plain Python gives the line; afterwards, the compiled hook checks its indices."""
    envs = BodyVectorEnv(2, task=f"{HERE}:WritesOutside")
    if not compared:
        envs.batch._comparison = None
    envs.reset(seed=0)
    with pytest.raises(
        TypeError if compared else IndexError, match=r"WritesOutside: return_so_far, line .*out of bounds"
    ):
        for _ in range(5):
            envs.step(envs.action_space.sample())
    assert set(envs.batch.memory["past"].ravel()) <= {0.0, 7.0} and (envs.batch.memory["count"] <= 3.0).all()


@kernel
def root(x):
    """Kernel of a user."""
    return math.sqrt(x)


@kernel
def last(array, place):
    """Kernel of a user."""
    return array[place]


class Late(Turn):
    """Fails when the count of steps reaches 3, in the way that its argument names."""

    score = Score("return")
    memory_fields: ClassVar = {"count": "f8", "past": "3f8"}

    def __init__(self, failure, **arguments):
        super().__init__(**arguments)
        self.failure = failure

    @staticmethod
    def quotient(n):
        return 7 // n

    def return_so_far(self, row, memory):
        memory.count += 1.0
        n = 3 - int(memory.count)
        if self.failure == "floor":
            return 7.0 + (7 // n)
        if self.failure == "modulo":
            n = 7 % n
        if self.failure == "assigned":
            m = 7
            m //= n
            return float(m)
        if self.failure == "quotient":
            return 7 / n > 2.0
        if self.failure == "static":
            return self.quotient(n)
        if self.failure == "pair":
            return divmod(7, n)[1]
        if self.failure == "root":
            return max(math.sqrt(2.5 - memory.count), 0.0)
        if self.failure == "kernel":
            return max(root(2.5 - memory.count), 0.0)
        if self.failure == "power":
            return max((2.5 - memory.count) ** 0.3, 0.0)
        if self.failure == "logarithm":
            return max(math.log(3.0 - memory.count), 0.0)
        if self.failure == "integer":
            return float(int(1.0 / (3.0 - memory.count)))
        if self.failure == "index of a kernel":
            return last(memory.past, int(memory.count))
        return 1.0


LATE = {
    **dict.fromkeys(("floor", "modulo", "assigned", "quotient"), (ZeroDivisionError, "return_so_far, line .* by zero")),
    "static": (ZeroDivisionError, "quotient, line .* by zero"),
    "pair": (ZeroDivisionError, "return_so_far, line .* by zero"),
    **dict.fromkeys(("root", "logarithm"), (ValueError, "return_so_far, line .*math domain error")),
    "kernel": (ValueError, "root, line .*math domain error"),
    "power": (ValueError, "return_so_far, line .*power of a negative number"),
    "integer": (ValueError, "return_so_far, line .*cannot convert"),
    "index of a kernel": (IndexError, "last, line .*out of bounds"),
}


@pytest.mark.parametrize("failure", LATE)
def test_calculations_without_a_result_raise_errors(failure):
    """Also after the steps in which plain Python runs, too; plain Python then finds the line."""
    envs = BodyVectorEnv(2, task=f"{HERE}:Late", failure=failure)
    envs.batch._comparison = None
    envs.reset(seed=0)
    envs.step(envs.action_space.sample())
    kind, message = LATE[failure]
    with pytest.raises(kind, match=f"Late: {message}"):
        for _ in range(3):
            envs.step(envs.action_space.sample())


class PerhapsUnset(Turn):
    """Reads variables that are set in some steps only."""

    def __init__(self, form, **arguments):
        super().__init__(**arguments)
        self.form = form

    def return_so_far(self, row, memory):
        if self.form == "if":
            if row.time < 0.1:
                x = 1.0
            return x
        if self.form == "for":
            for j in range(int(row.time)):
                x = j
            return x
        if self.form == "while":
            while row.time < 0.1:
                x = 1.0
                break
            return x
        if self.form == "walrus":
            return 1.0 if row.time < 0.1 or ((x := 2.0) > 1.0 and row.time > 9.0) else x
        if self.form == "sum":
            if row.time > 0.1:
                x += 1.0
            return 1.0
        x = 1.0
        for j in range(3):
            y = x + j
        if row.time < 0.1:
            z = y
        else:
            z = 2.0
            y = 3.0
        return z + y + j if (w := x) > 0.0 and w < 2.0 else 0.0


@pytest.mark.parametrize("form", ["if", "for", "while", "walrus", "sum"])
def test_variables_that_may_be_unset_are_refused(form):
    with pytest.raises(TypeError, match=r"PerhapsUnset.return_so_far, line \d+: x may be unset here: set it before"):
        BodyEnv(f"{HERE}:PerhapsUnset", form=form).reset(seed=0)


def test_variables_that_every_branch_sets_are_allowed():
    env = BodyEnv(f"{HERE}:PerhapsUnset", form="none")
    env.reset(seed=0)
    env.step(np.zeros(env.action_space.shape))


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(
    ("hook", "reason"),
    [
        ("reward", "Broken: reward returned no finite number"),
        ("ending", "Broken: ending returned no finite number"),
        ("sense", "Broken: sense set an observation that is not a number"),
        ("unknown", "Broken: ending returned a number that is not in endings"),
    ],
)
def test_a_hook_that_fails_later_ends_the_episode(monkeypatch, hook, reason, compiled):
    monkeypatch.setattr(Broken, "compiled", compiled)
    envs = BodyVectorEnv(2, task=f"{HERE}:Broken", hook=hook)
    envs.reset(seed=0)
    for _ in range(20):
        observations, rewards, ended, _, infos = envs.step(envs.action_space.sample())
        assert np.isfinite(observations).all() and np.isfinite(rewards).all()
        if ended.any():
            break
    assert ended.all() and [envs.failures[code] for code in infos["failure"]] == [reason] * 2


class WithFlags(Turn):
    flags = (True, False)

    def return_so_far(self, row, memory):
        return 1.0 if self.flags[0] and not self.flags[1] else 0.0


def test_flags_can_be_in_an_array():
    env = BodyEnv(f"{HERE}:WithFlags")
    env.reset(seed=0)
    assert env.step(np.zeros(env.action_space.shape))[1] == 1.0


class WithCircuit(Economy):
    """The circuit of the lamprey is in the loop."""

    def __init__(self, overflows=False, **arguments):
        super().__init__(**arguments)
        self.overflows = overflows

    def ending(self, row, memory):
        n = int(1e10) if self.overflows else 0
        return super().ending(row, memory) + float(n * n)


@pytest.mark.full
def test_hooks_with_a_circuit_are_compared():
    envs = BodyVectorEnv(3, task=f"{HERE}:WithCircuit")
    assert envs.task.circuit is not None
    envs.reset(seed=0)
    for _ in range(10):
        envs.step(envs.action_space.sample())
    assert envs.batch._comparison.steps == COMPARED_STEPS - 10
    envs = BodyVectorEnv(3, task=f"{HERE}:WithCircuit", overflows=True)
    with pytest.raises(TypeError, match=r"the compiled hooks give ending = .*, plain Python gives"):
        envs.reset(seed=0)
        envs.step(envs.action_space.sample())


def test_choices_are_made_when_hooks_are_compiled():
    env = BodyEnv(f"{HERE}:Choosing")
    env.reset(seed=0)
    _, reward, *_ = env.step(np.zeros(env.action_space.shape))
    assert reward == pytest.approx(1.0 + 2.0 / env.task.control_rate)


def play(env, steps=30):
    env.reset(seed=1)
    rng = np.random.default_rng(0)
    parts = []
    for _ in range(steps):
        observation, reward, terminated, _, info = env.step(rng.uniform(-1.0, 1.0, env.action_space.shape))
        if terminated:
            env.reset()
        parts += [observation, [reward], *(np.ravel(info[name]) for name in sorted(info))]
    return np.concatenate(parts)


@pytest.mark.parametrize("env_id", IDS)
def test_plain_python_gives_the_same(env_id):
    """Plain Python also checks names, shapes and indices."""
    plain, compiled = (gymnasium.make(env_id).unwrapped for _ in range(2))
    plain.task.compiled = False
    assert np.array_equal(play(plain), play(compiled))


def test_tasks_that_differ_in_constants_share_kernels():
    crawl, swim = (gymnasium.make(f"gymnosoma/Worm{name}-v0").unwrapped.task for name in ("Crawl", "Swim"))
    assert crawl.hooks.kernels == swim.hooks.kernels
    assert crawl.hooks.kernels != gymnasium.make("gymnosoma/WormFollow-v0").unwrapped.task.hooks.kernels


def test_copies_have_hooks_of_their_own():
    env = BodyEnv(f"{HERE}:Turn")
    first = play(env)
    assert np.array_equal(play(copy.deepcopy(env)), first)


def test_numpy_gives_the_same_sums():
    rng = np.random.default_rng(0)
    for n in (1, 3, 7, 8, 9, 24, 25, 63, 128):
        values = rng.normal(size=n)
        assert total(values) == values.sum() and mean(values) == values.mean()


def run_checked(code, folder):
    """Run code with checked indices, which compiles kernels anew."""
    code = f"import sys; sys.path.insert(0, 'tests')\n{code}"
    variables = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(folder)}
    return subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True)


STEPS = """
import gymnasium, ids
for env_id in {names}:
    envs = gymnasium.make_vec(env_id, num_envs=2)
    envs.reset(seed=0)
    for _ in range(20):
        envs.step(envs.action_space.sample())
"""


@pytest.mark.parametrize(
    "names", [pytest.param(FIRST, marks=pytest.mark.slow), pytest.param(ALL, marks=pytest.mark.slow)]
)
def test_no_index_is_out_of_bounds(names, tmp_path):
    finished = run_checked(STEPS.format(names=names), tmp_path)
    assert finished.returncode == 0, finished.stderr


@pytest.mark.full
def test_checked_indices_are_told(tmp_path):
    code = f"""
from gymnosoma.envs.core.env.environment import BodyEnv
from gymnosoma.envs.core.env.task import Score
env = BodyEnv("{HERE}:LateIndex")
env.reset(seed=0)
env.step(env.action_space.sample())
"""
    assert "index 49 is out of bounds for axis 0 with size 25" in run_checked(code, tmp_path).stderr
