"""Variable steps with contact events against closed forms and small fixed steps."""

import re
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from neuromechanic.test_neuromechanic_contact import G, box, heavy, puck, slide
from scipy.spatial.transform import Rotation

import gymnosoma  # noqa: F401 (registers the ids)
from gymnosoma.envs import simulate
from gymnosoma.envs.neuromechanic import Neuromechanic, load, standing
from gymnosoma.envs.neuromechanic.contact import OPEN, SLIP, STICK
from gymnosoma.envs.neuromechanic.hindlimb import asset

pytestmark = pytest.mark.full
both = pytest.mark.parametrize("scheme", ["rk45", "dop853"])


@both
def test_a_fall_a_slide_and_a_push_agree_with_closed_forms(scheme):
    """At steps of 1 ms, the events are located to the tolerance, which fixed steps miss by up to 1 ms."""
    fallen = simulate(Neuromechanic(puck(), scheme=scheme), [], 0.4, every=0.01, start={"q": [0.0, 0.5]})
    free = fallen.time < np.sqrt(2 * 0.5 / G)
    assert np.abs(fallen["q"][free, 1] - (0.5 - 0.5 * G * fallen.time[free] ** 2)).max() < 1e-9
    assert np.abs(fallen["q"][~free]).max() < 1e-9
    assert fallen["contact_force"][-1, 0] == pytest.approx([0.0, 2.0 * G, 0.0])
    slid = simulate(Neuromechanic(puck(friction=0.3), scheme=scheme), [], 1.0, every=0.1, start={"v": [-2.0, 0.0]})
    assert slid["q"][-1, 0] == pytest.approx(-(2.0**2) / (2 * 0.3 * G), abs=1e-9)
    assert slid["contact_mode"][-1, 0] == STICK
    pushed = {"q": [0, 0.15, 0], "wrench": [[12.0, 0, 0, 0, 0, 0]]}
    pulled = simulate(Neuromechanic(box(0.3), scheme=scheme), [], 0.5, every=0.1, start=pushed)
    rub = 0.3 * 3.0 * G
    assert pulled["v"][-1, 0] == pytest.approx((12.0 - rub) / 3.0 * 0.5, abs=1e-9)
    shares = 0.5 * 3.0 * G + np.array([-1.0, 1.0]) * rub * 0.15 / 0.4
    assert pulled["contact_force"][-1, :, 1] == pytest.approx(shares, abs=1e-6)
    assert (pulled["contact_mode"][1:] == SLIP).all()


def test_a_spatial_slide_ends_where_friction_stops_it():
    model = puck(friction=0.2)
    del model["contact"]["foot"]["tangent"]
    model["body"] = {"x": slide([1, 0, 0]), "z": slide([0, 0, 1], "x"), "y": slide([0, 1, 0], "z") | heavy(2.0)}
    run = simulate(Neuromechanic(model, scheme="dop853"), [], 1.0, every=0.1, start={"v": [1.2, -0.9, 0.0]})
    speed = np.maximum(1.5 - 0.2 * G * run.time, 0.0)
    assert np.abs(run["v"] - speed[:, None] * [0.8, -0.6, 0.0]).max() < 1e-7


def test_boxes_thrown_at_the_ground_land_as_with_small_steps():
    """An impact on one corner, a slip, an impact on the other, rest: errors of fixed steps halve with the step."""
    start = {"q": [0, 0.4, 0.5], "v": [1.0, 0.0, 2.0]}
    run = simulate(Neuromechanic(box(0.7), scheme="rk45"), [], 0.6, every=0.02, start=start)
    coarse, fine = (
        np.abs(simulate(Neuromechanic(box(0.7), dt), [], 0.6, every=0.02, start=start)["q"] - run["q"])[-1].max()
        for dt in (1e-4, 5e-5)
    )
    assert fine < 1e-4 and coarse / fine == pytest.approx(2.0, abs=0.1)  # measured: 5.8e-5, 1.98
    assert {OPEN, STICK} < set(run["contact_mode"].ravel())


def test_the_standing_figure_moves_as_with_small_steps():
    """With delayed reflexes, up to the slip at 0.42 s and beyond it; fixed steps are of first order."""
    drive = standing.reflex_input()

    def moved(dt, scheme="semi_implicit"):
        return simulate(Neuromechanic(standing.standing(), dt, scheme), drive, 0.6, every=0.02)

    run, coarse, fine = moved(1e-3, "rk45"), moved(2e-4), moved(1e-4)
    errors = [np.abs(each["q"] - run["q"]).max() for each in (coarse, fine)]
    assert errors[1] < 1e-4 and errors[0] / errors[1] > 1.7  # measured: 4e-5, 2.8
    assert (run["contact_mode"] == fine["contact_mode"]).mean() > 0.98
    assert (run["contact_mode"][:, 0] >= SLIP).any()
    assert run["contact_force"][10] == pytest.approx(fine["contact_force"][10], rel=1e-3, abs=0.5)


def test_feet_that_neurons_feel_hop_as_with_small_steps():
    """The neuron integrates the impacts, too."""
    run, fine = (
        simulate(Neuromechanic(asset("hopper"), dt, scheme), None, 0.6, every=0.04)["q"]
        for dt, scheme in ((1e-3, "rk45"), (5e-5, "semi_implicit"))
    )
    assert np.abs(run - fine).max() < 1e-3  # measured: 4e-4, and 0.1 without impacts
    assert run[:, 1].max() > run[0, 1]


@both
def test_an_arm_with_a_delayed_reflex_agrees_with_fixed_steps(scheme):
    """Also where the drive changes, and for two rows at once."""

    def swung(dt, scheme, **more):
        animal = Neuromechanic(asset("arm"), dt, scheme, **more)
        drive = lambda t: [0.3, 0.2] if t < 0.1 else [0.0, 0.9]  # noqa: E731
        return simulate(animal, drive, 0.3, every=0.1, start={"v": [[1.0, -2.0], [0.0, 1.0]]}, count=2)

    exact = swung(1e-4, "rk4")
    for run, other in zip(swung(1e-4, scheme, tolerance=1e-10), exact, strict=True):
        assert np.abs(run["q"] - other["q"]).max() < 1e-7
        assert np.abs(run["activation"] - other["activation"]).max() < 1e-7
    loose = np.abs(swung(1e-4, scheme, tolerance=1e-3)[0]["q"] - exact[0]["q"]).max()
    assert loose > 1e-7


def test_a_free_body_turns_over_and_keeps_its_momentum():
    """The rotation vector is shortened before it becomes singular."""
    inertia, spin = np.array([0.01, 0.02, 0.025]), np.array([1.0, 10.0, 2.0])
    body = {"joint": {"type": "free"}, "inertial": {"mass": 1.0, "inertia": inertia.tolist()}}
    animal = Neuromechanic({"schema": 1, "body": {"block": body}}, scheme="dop853", tolerance=1e-10)
    run = simulate(animal, [], 1.5, every=0.1, start={"v": [1.0, 2.0, 0.0, *spin]})
    attitude = Rotation.from_quat(np.roll(run["quaternion"][:, 0], -1, 1))
    assert np.abs(attitude.apply(inertia * run["v"][:, 3:]) - inertia * spin).max() < 1e-9
    assert np.abs(np.sum(inertia * run["v"][:, 3:] ** 2, 1) - np.sum(inertia * spin**2)).max() < 1e-9
    assert np.abs(run["q"][-1, :3] - [1.5, 3.0, 0.0]).max() < 1e-9
    assert np.linalg.norm(run["q"][:, 3:], axis=1).max() < 1.5 * np.pi


def test_a_failure_ends_a_run_and_keeps_the_last_state():
    with pytest.warns(UserWarning, match="a joint moves too fast"):
        run = simulate(Neuromechanic(puck(), scheme="rk45"), [], 1.0, start={"wrench": [[1e6, 0, 0, 0, 0, 0]]})
    assert 9.9e3 < run["v"][-1, 0] < 1e4 and np.isfinite(run["energy"]).all()


def test_refusals_say_what_to_use():
    with pytest.raises(ValueError, match=r"outside an environment 'rk45' or 'dop853'.* got 'rk4'"):
        gymnasium.make("gymnosoma/StandGains-v0", scheme="rk4")
    with pytest.raises(ValueError, match=r"scheme .* must be one of semi_implicit, rk4"):
        gymnasium.make("gymnosoma/StandGains-v0", scheme="rk45")
    with pytest.raises(ValueError, match=r"tolerance must be .*, got 0"):
        Neuromechanic(load(puck()), scheme="rk45", tolerance=0.0)


def test_the_table_of_solvers_has_the_differences_that_the_guide_prints():
    guide = (Path(__file__).parents[2] / "docs/guides/papers.md").read_text("utf-8")
    table, printed = guide.partition("## The papers' own solvers")[2].split("```text\n")[:2]
    differences = re.findall(r": (\S+%)", printed.partition("```")[0])
    assert len(differences) == 7
    assert all(f": {value} |" in table for value in differences)
