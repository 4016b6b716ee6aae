"""The contracts of the house: what a new field, a controller, a task and an animal may count on."""

import json
import re

import gymnasium
import ids
import numpy as np
import pytest
from fixtures.pendulum.animal import Pendulum
from fixtures.pendulum.controllers import Pump

from gymnosoma.agents import ControllerAgent
from gymnosoma.agents.controllers import references
from gymnosoma.agents.policies.registry import task_class
from gymnosoma.envs import CATALOGUE, simulate
from gymnosoma.envs.core.env.task import Ending
from gymnosoma.envs.core.kernels.lanes import Stepper, column
from gymnosoma.envs.core.model.control import Controller, TaskController
from gymnosoma.envs.worm import Worm
from gymnosoma.envs.worm.body import MIDPOINT, midpoint_work, state_dtype


@pytest.mark.parametrize("count", [1, pytest.param(20, marks=pytest.mark.full)])
def test_a_field_may_stand_anywhere_in_the_record(count):
    """Once the status was a number in the code: a field before it froze the worm at zero, without an error."""
    worm = Worm()
    plain, ids_ = worm.rows(count), np.arange(count)
    worm.reset(plain, ids_, {"joint_angle": np.linspace(-0.4, 0.6, 24)})
    state = np.dtype([("inserted", "f8"), *state_dtype(25).descr])
    rows = np.zeros(count, state)
    for name in plain.dtype.names:
        rows[name] = plain[name]
    rows["inserted"] = 7.0
    worm.advance(plain, ids_, np.full((count, 24), 0.2), 10)
    rows["control_angle"] = 0.2
    Stepper(state, midpoint_work(25), MIDPOINT).advance(rows, ids_, 10, worm.dt, worm.params.profile)
    assert (rows["time"] > 0.04).all() and (rows["status"] == 0.0).all() and (rows["inserted"] == 7.0).all()
    for name in plain.dtype.names:
        assert np.array_equal(rows[name], plain[name]), name


@pytest.mark.parametrize("fields", [[("time", "f8")], [("status", "f8", (2,))], [("status", "i8")]])
def test_a_record_needs_a_status(fields):
    with pytest.raises(ValueError, match="row must have a float64 field 'status'"):
        column(np.dtype(fields), "status")


def controllers():
    """Every reference of the catalogue with its task."""
    for entry in CATALOGUE:
        kind = task_class(f"gymnosoma/{entry.name}")
        for name, reference in references(kind).items():
            own = reference.env.get("circuit") or "Stand" in entry.name
            marks = pytest.mark.full if own else ()  # kernels of their own
            yield pytest.param(f"gymnosoma/{entry.name}", reference, id=f"{entry.name}-{name}", marks=marks)


@pytest.mark.parametrize(("env_id", "reference"), list(controllers()))
def test_every_reference_plays_its_task_and_says_what_it_reads(env_id, reference):
    """It drives the animal in `simulate` too, or says at once why not."""
    env = gymnasium.make(env_id, **reference.env).unwrapped
    task = env.task
    controller = reference.make(task)
    assert isinstance(controller, Controller | TaskController) and isinstance(controller.reads, tuple)
    agent = ControllerAgent(controller, task)
    observation, _ = env.reset(seed=0)
    for k in range(3):
        action = agent.act(observation[None], np.array([k == 0]))[0]
        assert env.action_space.contains(action)
        observation, *_ = env.step(action)
    period = 1.0 / task.control_rate
    if not isinstance(controller, Controller):
        with pytest.raises(ValueError, match=f"{type(controller).__name__} plays a task"):
            simulate(task.animal, controller, period, hold=period)
    elif missing := [name for name in controller.reads if name not in task.animal.signals]:
        with pytest.raises(ValueError, match=f"reads '{missing[0]}'.*; {type(task.animal).__name__} senses only "):
            simulate(task.animal, controller, period, hold=period)
    else:
        run = simulate(task.animal, reference.make(task), 3 * period, hold=period)
        assert run.failure is None and len(run.time) == 4


def test_what_a_task_does_not_observe_is_told_at_once():
    task = gymnasium.make("gymnosoma/WormSwim-v0").unwrapped.task
    with pytest.raises(ValueError, match=r"controller Pump reads 'rate'; Swim observes only joint_angle, .*direction"):
        ControllerAgent(Pump(), task)


def test_a_controller_drives_a_new_animal():
    run = simulate(Pendulum(), Pump(), 2.0, every=0.05, start={"angle": 3.0})
    assert run.failure is None and np.array_equal(run["time"], run.time)
    height = np.cos(run["angle"])
    assert height.max() > height[0] + 0.1  # pushed along its motion it gains energy


@pytest.mark.parametrize("env_id", ids.ADDED)
def test_the_commands_run_on_what_was_added(env_id, tmp_path, command, capsys):
    """A class, and one line in `ids`: list, evaluate, benchmark and render know it."""
    name = env_id.split("/")[1]
    command("list")
    assert re.search(rf"^ *{name}", capsys.readouterr().out, re.MULTILINE)
    own = list(references(task_class(env_id)))
    file = tmp_path / "figures.json"
    command("evaluate", name, "--episodes", 3, "--json-file", file)
    assert [row["policy"] for row in json.loads(file.read_text())] == (own or ["random"])
    command("benchmark", "run", name, "--episodes", 3, "--folder", tmp_path / "benchmark")
    lines = (tmp_path / "benchmark" / "results.jsonl").read_text().splitlines()
    assert {json.loads(line)["entrant"]["name"] for line in lines} == {
        "random",
        *(["baseline", "best constant", "replay of baseline"] if own else []),
    }
    picture = tmp_path / "last.png"
    command("render", name, "--seconds", 0.2, "--save", picture)
    assert picture.stat().st_size > 2_000


def test_success_and_failure_are_told_apart():
    """A row that fails as an animal has failed, whatever its task says of it."""
    env = gymnasium.make("gymnosoma/WormReach-v0").unwrapped
    env.reset(seed=0, options={"target_distance": 0.2e-3})
    batch, task = env.batch, env.task
    for code, ending in task.endings.items():
        assert isinstance(ending, Ending)
        batch.endings[0], batch.needs_reset[0] = code, True
        assert env.failures[batch.failures()[0]] == ("" if ending.success else ending.reason)
    batch.rows["status"] = 1.0
    for code in (0.0, 11.0):
        batch.endings[0] = code
        assert env.failures[batch.failures()[0]] == "a joint folded back to 180 degrees"
