"""Models of MuJoCo against what MuJoCo computes for them."""

from pathlib import Path

import numpy as np
import pytest

from gymnosoma.biomechanics import load, mujoco_fields
from gymnosoma.biomechanics.mujoco import read_mujoco
from gymnosoma.biomechanics.self_check import check_lengths
from gymnosoma.envs import simulate
from gymnosoma.envs.neuromechanic import Neuromechanic

mujoco = pytest.importorskip("mujoco")
pytestmark = pytest.mark.full

ARM = Path(__file__).parents[1] / "fixtures" / "mujoco_arm.xml"
XML = ARM.read_text("utf-8")


@pytest.fixture(scope="module")
def pair():
    return mujoco.MjModel.from_xml_path(str(ARM)), Neuromechanic(load(ARM))


def test_masses_lengths_arms_and_forces_are_mujocos(pair):
    model, animal = pair
    data, row, rng = mujoco.MjData(model), animal.rows(1), np.random.default_rng(4)
    assert animal.model.bodies == ("shoulder", "slide", "elbow") and animal.model.followers == ("wrist",)
    assert animal.model.muscles == ("m_one", "two", "three") and animal.model.inputs[-1] == "motor"
    f = np.poly1d([0.0, -0.1, 0.2, 0.5, 0.1])
    wound = set()
    for _ in range(300):
        q, v = rng.uniform([-1.3, -0.1, -1.4], [1.3, 0.1, 1.2]), rng.normal(size=3)
        G = np.vstack([np.eye(3), [0.0, 0.0, f.deriv()(q[2])]])
        data.qpos[:], data.qvel[:] = model.qpos0 + np.append(q, f(q[2])), G @ v
        data.act[:] = rng.uniform(size=3)
        mujoco.mj_forward(model, data)
        row["q"], row["v"], row["activation"] = q, v, data.act
        k, M = animal.mechanics(row), np.zeros((4, 4))
        mujoco.mj_fullM(model, data, M)
        bend = np.array([0.0, 0.0, 0.0, f.deriv().deriv()(q[2]) * v[2] ** 2])
        assert np.abs(k["M"] - G.T @ M @ G).max() < 1e-12
        assert np.abs(k["bias"] - G.T @ (data.qfrc_bias + M @ bend)).max() < 1e-11
        assert np.abs(k["length"] - data.actuator_length[:3]).max() < 1e-12
        assert np.abs(k["rate"] - data.actuator_velocity[:3]).max() < 1e-11
        assert np.abs(k["force"] + data.actuator_force[:3]).max() < 1e-9 * 300
        wound.add(tuple(data.ten_wrapnum))
    assert len(wound) > 2  # strings touch and do not


def test_an_import_is_compared_with_its_source(pair, tmp_path):
    path = tmp_path / "arm.xml"
    path.write_text(XML)
    assert check_lengths(pair[1], path) == ["lengths of 3 muscles: within 1 mm of the source"]
    path.write_text(XML.replace('name="low" pos="-0.04', 'name="low" pos="-0.06'))
    lines = check_lengths(pair[1], path)
    assert [line.split(":")[0] for line in lines] == ["length of two", "length of three", "lengths of 1 muscles"]


WRAP = """
<mujoco>
  <worldbody>
    <site name="a" pos="{a}"/><site name="side" pos="{side}"/>
    <geom name="surface" type="{kind}" size="{radius} 0.1" pos="0.01 0.02 0.03" euler="10 20 30"/>
    <body>
      <joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/><joint type="slide" axis="0 0 1"/>
      <geom type="sphere" size="0.01" contype="0"/><site name="b"/>
    </body>
  </worldbody>
  <tendon><spatial name="t"><site site="a"/><geom geom="surface" sidesite="side"/><site site="b"/></spatial></tendon>
  <actuator><muscle name="m" tendon="t" lengthrange="0.1 0.7"/></actuator>
</mujoco>
"""


@pytest.mark.parametrize("kind", ["sphere", "cylinder"])
@pytest.mark.parametrize("inside", [False, True])
def test_strings_keep_to_mujocos_side(kind, inside):
    rng, wound = np.random.default_rng(3), 0
    for _ in range(8):
        radius, side = rng.uniform(0.02, 0.06), rng.normal(size=3)
        side *= radius * (rng.uniform(0.1, 0.9) if inside else rng.uniform(1.05, 3.0)) / np.linalg.norm(side)
        text = [" ".join(map(str, x)) for x in (0.1 * rng.normal(size=3), side + np.array([0.01, 0.02, 0.03]))]
        model = mujoco.MjModel.from_xml_string(WRAP.format(a=text[0], side=text[1], kind=kind, radius=radius))
        data, animal = mujoco.MjData(model), Neuromechanic(read_mujoco(model)[0])
        row = animal.rows(1)
        for _ in range(150):
            data.qpos[:] = row["q"] = 0.12 * rng.normal(size=3)
            data.qvel[:] = row["v"] = rng.normal(size=3)
            mujoco.mj_forward(model, data)
            k = animal.mechanics(row)
            assert k["length"][0] == pytest.approx(data.ten_length[0], abs=1e-9)
            # MuJoCo finds the point within a geom to about 1e-6.
            assert k["rate"][0] == pytest.approx(data.ten_velocity[0], abs=1e-5 if inside else 1e-9)
            wound += data.ten_wrapnum[0] > 2
    assert 200 < wound < 1100


def test_a_motion_is_mujocos():
    """The same model without what MuJoCo holds softly: its equality and limits."""
    xml = XML.replace('<equality><joint joint1="wrist" joint2="elbow" polycoef="0.1 0.5 0.2 -0.1 0"/></equality>', "")
    xml = xml.replace('limited="true"', 'limited="false"').replace(
        "<option ", '<option integrator="RK4" timestep="1e-4" '
    )
    model = mujoco.MjModel.from_xml_string(xml)
    animal, data = Neuromechanic(read_mujoco(model)[0], dt=1e-4, scheme="rk4"), mujoco.MjData(model)
    data.ctrl[:] = 0.3, 0.2, 0.1, 0.2
    run = simulate(animal, [0.3, 0.2, 0.1, 0.2], 0.3, every=0.3)
    for _ in range(3000):
        mujoco.mj_step(model, data)
    assert run["q"][-1] == pytest.approx(data.qpos - model.qpos0, abs=2e-3)
    assert np.abs(run["q"][-1]).max() > 0.1


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('sidesite="beside_pulley"', 'sidesite="beside_ball"', "actuator two: the side of pulley must be a site on"),
        (
            '<joint joint1="wrist" joint2="elbow" polycoef="0.1 0.5 0.2 -0.1 0"/>',
            '<weld body1="led"/>',
            "WELD is not supp",
        ),
        ('<spatial name="two">', '<spatial name="two" stiffness="3">', "stiffness of tendon two: 3 is not supported"),
        ('fvmax="1.4"', 'forcerange="-5 0"', "actuator two: limits of the force"),
        (
            '<motor name="motor"',
            '<position name="motor"',
            "actuator motor: supported are muscles on tendons, and motors",
        ),
    ],
)
def test_what_is_not_supported_is_refused_by_name(old, new, told):
    xml = XML.replace(old, new)
    with pytest.raises(ValueError, match=told):
        read_mujoco(mujoco.MjModel.from_xml_string(xml))
    read_mujoco(mujoco.MjModel.from_xml_string(xml), partial=True)


def test_properties_of_actuators_without_effect_are_reported():
    xml = XML.replace('fvmax="1.4"', 'fvmax="1.4" tausmooth="0.1" ctrlrange="0.1 1" damping="2"')
    ignored = " ".join(read_mujoco(mujoco.MjModel.from_xml_string(xml))[1].ignored)
    assert all(f"{name} of actuator two" in ignored for name in ("tausmooth", "ctrlrange", "damping"))
    assert "of actuator" not in " ".join(read_mujoco(mujoco.MjModel.from_xml_string(XML))[1].ignored)


BODIES = """
<mujoco>
  <option gravity="1 2 -9"><flag {flags}/></option>
  <default><joint damping="0.3" armature="0.2" stiffness="2"/></default>
  <worldbody>
    <body name="trunk" gravcomp="0.7" quat="1 0.2 0.3 0.4" pos="0.1 0.2 0.3">
      <joint name="root" type="free"/><geom type="box" size="0.1 0.2 0.3"/>
      <body name="arm" pos="0.1 0.2 0.1" gravcomp="-0.3" euler="10 20 30">
        <joint name="ball" type="ball"/><geom type="box" size="0.1 0.05 0.03"/>
        <body name="hand" pos="0 0 0.2" euler="20 10 0">
          <joint name="hinge" axis="1 1 0" springref="20" ref="10"/><geom type="box" size="0.1 0.05 0.03"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


@pytest.mark.parametrize("flags", ["", 'gravity="disable"', 'spring="disable"', 'spring="disable" damper="disable"'])
def test_flags_and_passive_forces_are_mujocos(flags):
    """Gravity compensation, and damping, armature and springs of free bodies and balls."""
    description, report = read_mujoco(mujoco.MjModel.from_xml_string(BODIES.format(flags=flags)))
    assert "accelerations at 3 random states" in report.taken[-1] and not report.refused  # measured: 3e-13
    assert ("wrench" in description) == (flags in ("", 'spring="disable"'))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("<option ", '<option density="3" ', "option density: 3"),
        ("<option ", '<option wind="1 0 0" viscosity="1" ', "option wind: 1 0 0"),
        ("<option ", '<option actuatorgroupdisable="0" ', "option disableactuator: 1"),
        ('axis="1 2 0.5"', 'axis="1 2 0.5" actuatorfrcrange="-1 1"', "actfrclimited of joint shoulder"),
        ('stiffness="30"', 'stiffness="30 2"', "stiffnesspoly of joint slide: 2 0"),
        ('damping="1"', 'damping="1 2"', "dampingpoly of degree of freedom slide: 2 0"),
        ('<spatial name="three">', '<spatial name="three" armature="2">', "armature of tendon three: 2"),
        ("<option ", '<option><flag actuation="disable"/></option><option ', "flag actuation"),
    ],
)
def test_physics_that_is_not_supported_is_refused_by_name(old, new, told):
    """The rest of the model is compared with MuJoCo's without that."""
    model = mujoco.MjModel.from_xml_string(XML.replace(old, new).replace('<geom geom="ball"/>', ""))
    with pytest.raises(ValueError, match=told):
        read_mujoco(model)
    report = read_mujoco(model, partial=True)[1]
    assert told in " ".join(report.refused) and "accelerations" in report.taken[-1]


def test_fields_that_act_in_constraints_are_reported():
    xml = XML.replace('name="slide"', 'name="slide" frictionloss="2"').replace("<option ", '<option timestep="0.005" ')
    ignored = read_mujoco(mujoco.MjModel.from_xml_string(xml))[1].ignored
    assert {"frictionloss of degree of freedom slide: 2", "option timestep: 0.005"} <= set(ignored)


def test_a_wrong_conversion_is_refused(monkeypatch):
    """As if a field of a later version changed the motion and nobody had asked for it."""
    kind = mujoco_fields.KINDS["degree of freedom"]
    changed = kind._replace(converted=f"{kind.converted} dampingpoly")
    monkeypatch.setitem(mujoco_fields.KINDS, "degree of freedom", changed)
    with pytest.raises(ValueError, match=r"accelerations differ from MuJoCo's by 0\.\d+ of the largest"):
        read_mujoco(mujoco.MjModel.from_xml_string(XML.replace('damping="1"', 'damping="1 20"')))


def test_a_file_that_cannot_be_compiled_is_told(tmp_path):
    (tmp_path / "x.xml").write_text("<mujoco><worldbody><body/></worldbody>")
    with pytest.raises(ValueError, match=r"x.xml' cannot be compiled by MuJoCo: XML"):
        load(tmp_path / "x.xml")
    with pytest.raises(ValueError, match=r"y.xml' cannot be compiled by MuJoCo"):
        load(tmp_path / "y.xml")
    with pytest.raises(ValueError, match="mj_saveLastXML"):
        load(tmp_path / "y.mjb")
