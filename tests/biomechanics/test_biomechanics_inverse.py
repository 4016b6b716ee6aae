"""From motions to torques and muscles, and feedback behind delays."""

import json
from pathlib import Path

import numpy as np
import pytest

from gymnosoma.biomechanics import (
    Load,
    Motion,
    induced_accelerations,
    inverse_dynamics,
    load,
    lqr,
    moment_arms,
    read_motion,
    static_optimisation,
    torques,
)
from gymnosoma.envs import simulate
from gymnosoma.envs.neuromechanic import Neuromechanic, equilibrate
from gymnosoma.envs.neuromechanic.hindlimb import asset

pytestmark = pytest.mark.full

OPENSIM = Path(__file__).parents[1] / "opensim"
WALK = json.loads((OPENSIM / "gait10dof18musc_walk_id.json").read_text())


@pytest.fixture(scope="module")
def walker():
    return Neuromechanic(load(OPENSIM / "gait10dof18musc.osim"))


def walk(walker, name):
    return np.array(WALK[name])[[WALK["coordinates"].index(joint) for joint in walker.model.bodies]].T


def test_the_torques_of_walking_are_opensims(walker):
    run = torques(walker, np.array(WALK["time"]), *(walk(walker, name) for name in ("q", "u", "udot")))
    assert np.abs(run["torque"] - walk(walker, "tau")).max() < 1e-7  # measured: 3e-13, of 985


def test_muscles_walk(walker):
    """What they pull gives the torques of the joints that they cross, but for the back, whose motor is not there."""
    names, q = walker.model.bodies, walk(walker, "q")
    motion = Motion(np.array(WALK["time"]), names, np.degrees(q), True)
    slides = [not joint.revolute for joint in walker.model.joints]
    motion.values[:, slides] = q[:, slides]
    run = static_optimisation(walker, inverse_dynamics(walker, motion, cutoff=6.0))
    legs = [i for i, name in enumerate(names) if name[:3] in ("hip", "kne", "ank")]
    held, missed = run["held"] > 0, np.abs(run["residual"][:, legs])
    assert held.mean() >= 0.99  # in one frame the right hip's flexors are too weak
    assert (missed[held] < 1e-3 * np.abs(run["torque"][:, legs]).max(0)).all()
    assert run["activation"].min() >= 0.0 and run["activation"].max() <= 1.0
    row = walker.rows(1)
    row["q"], row["v"] = run["q"][40], run["v"][40]
    given = walker.mechanics(row)["arm"].T @ run["force"][40] + run["residual"][40]
    assert given == pytest.approx(run["torque"][40], abs=1e-6)
    strong = static_optimisation(walker, inverse_dynamics(walker, motion), reserve=np.full(len(names), 1e4))
    assert np.sum(strong["activation"] ** 2) < 1e-3 * np.sum(run["activation"] ** 2)


def test_loads_from_outside_are_taken_off():
    arm, time = Neuromechanic(asset("arm")), np.linspace(0.0, 1.0, 11)
    still = Motion(time, arm.model.bodies, np.tile([0.3, 0.8], (11, 1)))
    names = [f"ground_{what}{axis}" for what in ("force_v", "force_p", "torque_") for axis in "xyz"]
    push = Motion(time, tuple(names), np.tile([3.0, 5.0, 0, 0.1, -0.4, 0, 0, 0, 0.5], (11, 1)))
    run = inverse_dynamics(arm, still, [Load("fore", push)], cutoff=None)
    wrenched = asset("arm") | {"wrench": {"hand": {"body": "fore"}}}
    other = Neuromechanic(wrenched)
    row = other.rows(1)
    row["q"] = [0.3, 0.8]
    k = other.mechanics(row)
    hand = np.array([0.1, -0.4, 0.0]) - k["origin"][1]
    row["wrench"][0, 0] = [3.0, 5.0, 0.0, *np.cross(hand, [3.0, 5.0, 0.0])]
    row["wrench"][0, 0, 5] += 0.5
    assert run["torque"][5] == pytest.approx(k["bias"] - other.mechanics(row)["wrench_torque"][0], abs=1e-9)
    with pytest.raises(ValueError, match="body must be one of upper, fore"):
        inverse_dynamics(arm, still, [Load("hand", push)], cutoff=None)
    with pytest.raises(ValueError, match="no column 'fore'"):
        inverse_dynamics(arm, Motion(time, ("upper",), still.values[:, :1]))
    with pytest.raises(ValueError, match="a gap in column 'upper' at 0 s"):
        inverse_dynamics(arm, Motion(time, arm.model.bodies, still.values * np.nan))


def test_tables_of_motions_are_read(tmp_path):
    path = tmp_path / "walk.mot"
    path.write_text("walk\nversion=1\nnRows=2\ninDegrees=yes\nendheader\ntime\tknee/value\t hip\n0\t1 2\n0.1\t3\t4\n")
    motion = read_motion(path)
    assert motion.degrees and motion["knee"].tolist() == [1.0, 3.0] and motion["hip"].tolist() == [2.0, 4.0]
    path = tmp_path / "walk.trc"
    lines = ["PathFileType\t4", "DataRate", "100", "Frame#\tTime\tHEEL\t\t\tTOE", "\t\tX1\tY1\tZ1\tX2\tY2\tZ2", ""]
    path.write_text("\n".join([*lines, "1\t0.0\t1\t2\t3\t4\t5\t6", "2\t0.01\t1\t2\t3\t4\t5\t7"]))
    assert read_motion(path)["TOE.z"].tolist() == [6.0, 7.0]


def test_arms_over_a_joint_are_slopes_of_the_length(walker):
    run = moment_arms(walker, "knee_angle_r", count=401)
    muscle = walker.model.muscles.index("vasti_r")
    slope = np.gradient(run["length"][:, muscle], run.time)
    error = np.abs(slope + run["arm"][:, muscle])[2:-2]
    assert np.quantile(error, 0.95) < 1e-4  # beside the knots of its moving points


def test_induced_accelerations_add_up():
    arm = Neuromechanic(asset("arm"))
    row = arm.rows(1)
    row["q"], row["v"], row["activation"] = [0.3, 0.8], [1.0, -2.0], [0.2, 0.6]
    parts = induced_accelerations(arm, row)
    qdd = arm.mechanics(row)["qdd"]
    total = sum(part.sum(0) if part.ndim == 2 else part for part in parts.values())
    assert np.abs(total - qdd).max() < 1e-10 * np.abs(qdd).max()
    weak = row.copy()
    weak["strength"] = 0.5  # muscle forces are linear in strength
    half = 2.0 * (qdd - arm.mechanics(weak)["qdd"])
    assert np.abs(parts["muscle"].sum(0) - half).max() < 1e-9 * np.abs(half).max()


# Feedback


@pytest.fixture(scope="module")
def held():
    model = asset("arm")
    model["muscle"]["biceps"]["excitation"] = "input.biceps"
    del model["neuron"]
    arm = Neuromechanic(model)
    return arm, equilibrate(arm, [-0.5, 0.5]).start


@pytest.mark.parametrize("delay", [0.0, 0.01, 0.1])
def test_feedback_that_knows_its_delay_holds_the_arm(held, delay):
    arm, start = held
    regulator = lqr(arm, start, delay=delay)
    assert regulator.growth < -5.0
    run = simulate(arm, regulator, 3.0, every=0.1, start=start | {"q": start["q"] + [0.01, -0.01]})
    assert np.abs(run["q"][-1] - start["q"]).max() < 1e-9
