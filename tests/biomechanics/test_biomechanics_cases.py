"""Inputs on which imports once failed without a word: each is right, or refused by name."""

import json
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from gymnosoma.agents.learning.training import TrainConfig
from gymnosoma.biomechanics import (
    Load,
    Motion,
    import_model,
    inverse_dynamics,
    point_path,
    read_loads,
    read_motion,
    write_toml,
)
from gymnosoma.biomechanics import hill_curves as hill
from gymnosoma.biomechanics.inverse import smooth
from gymnosoma.biomechanics.opensim_muscles import PROPERTIES
from gymnosoma.biomechanics.opensim_skeleton import function_of, value_of
from gymnosoma.cli.train import ModelOptions, train
from gymnosoma.envs.neuromechanic import Neuromechanic, equilibrate, load
from gymnosoma.envs.neuromechanic.hindlimb import asset
from gymnosoma.envs.neuromechanic.skeleton import curve

OPENSIM = Path(__file__).parents[1] / "opensim"
TEXT = (OPENSIM / "body_frame.osim").read_text()


SLIDER = """<OpenSimDocument Version="40600"><Model name="m"><Ground name="ground"/>
<BodySet name="bodyset"><objects><Body name="b"><mass>1</mass>
<inertia>0.01 0.01 0.01 0 0 0</inertia></Body></objects>
</BodySet>
<JointSet name="jointset"><objects><SliderJoint name="j"><socket_parent_frame>/ground</socket_parent_frame>
<socket_child_frame>/bodyset/b</socket_child_frame><coordinates><Coordinate name="x"/></coordinates></SliderJoint>
</objects></JointSet><ForceSet name="forceset"><objects><KIND name="u"><GeometryPath name="path"><PathPointSet><objects>
<PathPoint name="o"><socket_parent_frame>/ground</socket_parent_frame></PathPoint>
<PathPoint name="i"><socket_parent_frame>/bodyset/b</socket_parent_frame></PathPoint></objects></PathPointSet>
</GeometryPath><max_isometric_force>250</max_isometric_force><optimal_fiber_length>0.12</optimal_fiber_length>
<tendon_slack_length>0.15</tendon_slack_length><pennation_angle_at_optimal>0.3</pennation_angle_at_optimal>
MORE</KIND></objects></ForceSet></Model></OpenSimDocument>"""
"""A mass that slides along x, pulled by a muscle from the origin."""


def slider(kind="Thelen2003Muscle", more=""):
    return SLIDER.replace("KIND", kind).replace("MORE", more)


def written(tmp_path, text, name="model.osim"):
    path = tmp_path / name
    path.write_text(text)
    return path


@pytest.mark.full
@pytest.mark.parametrize("name", ["body_frame", "degroote_width", "prescribed", "wrap_same_name"])
def test_lengths_arms_and_forces_are_opensims(name):
    case = json.loads((OPENSIM / f"{name}.json").read_text())
    animal = Neuromechanic(import_model(OPENSIM / f"{name}.osim")[0])
    row, place = animal.rows(1), [case["names"].index(joint) for joint in animal.model.bodies]
    for q, length, arm, force in zip(case["q"], case["L"], case["A"], case["F"], strict=True):
        animal.reset(row, np.zeros(1, int), {"q": np.array(q)[place], "activation": np.full(1, 0.5)})
        k = animal.mechanics(row)
        assert np.abs(k["length"] - length).max() < 1e-12
        assert np.abs(k["arm"] - np.array(arm, float)[:, place]).max() < 1e-12
        assert np.abs(k["force"] - force).max() < 0.01  # measured: 0.006 with Millard's curves, 2e-4 with De Groote's


@pytest.mark.full
@pytest.mark.parametrize("name", ["elastic", "line"])
def test_accelerations_by_elastic_forces_are_opensims(name):
    case = json.loads((OPENSIM / f"{name}.json").read_text())
    animal = Neuromechanic(import_model(OPENSIM / f"{name}.osim")[0])
    row, place, touches = animal.rows(1), [case["names"].index(joint) for joint in animal.model.bodies], 0
    controls = case.get("controls", [()] * len(case["q"]))
    for q, v, qdd, control in zip(*(np.array(case[key])[:, place] for key in ("q", "v", "qdd")), controls, strict=True):
        row["q"], row["v"], row["input"] = q, v, control
        k = animal.mechanics(row)
        touches += np.count_nonzero(k["contact_force"].any(1))
        assert np.abs(k["qdd"] - qdd).max() < 1e-10 * np.abs(qdd).max()  # measured: 1e-14
    assert touches > len(case["q"]) or name == "line"


def body(parent="ground", **joint):
    return {"parent": parent, "joint": {"type": "revolute", "axis": [0, 0, 1]} | joint, "inertial": {"mass": 1.0}}


@pytest.mark.parametrize("count", range(1, 18))
def test_polynomials_of_any_width_are_right_beside_splines(count):
    powers = np.cos(np.arange(1.0, count + 1))
    x, y = [-1.0, -0.2, 0.3, 0.9], [0.2, -0.1, 0.4, 0.0]
    texts = {
        "p": f"<PolynomialFunction><coefficients>{' '.join(map(str, powers))}</coefficients></PolynomialFunction>",
        "s": f"<SimmSpline><x>{' '.join(map(str, x))}</x><y>{' '.join(map(str, y))}</y></SimmSpline>",
    }
    parts = {}
    for name, text in texts.items():
        if name == "p" and count > 16:
            with pytest.raises(ValueError, match="at most 16 numbers, got 17"):
                function_of(ElementTree.fromstring(text))
            return
        parts[name] = function_of(ElementTree.fromstring(text))
    followers = {name: body("a", follows="a", by=name) for name in parts}
    model = {"schema": 1, "body": {"a": body(), **followers}, "curve": {n: f["curve"] for n, f in parts.items()}}
    table = load(model).records(1e-3)[0]
    for q in (-1.2, -0.4, 0.7, 1.3):
        assert curve(table[0], 0, q)[0] == pytest.approx(np.polyval(powers, q), rel=1e-12)
        assert curve(table[0], 1, q)[0] == pytest.approx(value_of(parts["s"], q), rel=1e-12)


POINTS = [
    ("active", {}, {0.3: 0.1, 0.5: 0.117653, 0.7: 0.76702, 0.9: 0.95676, 1.2: 0.823681, 1.6: 0.263662, 2.0: 0.1}),
    ("active", (0.5, 0.8, 1.7, 0.6, 0.05), {0.4: 0.05, 0.6: 0.265752, 0.9: 0.969982, 1.5: 0.291847, 1.8: 0.05}),
    ("passive", {}, {0.9: 0.0, 1.05: 0.006505, 1.3: 0.126111, 1.7: 1.0, 1.9: 1.571429}),
    ("passive", (0.05, 0.6, 0.3, 4.0, 0.6), {1.0: 0.0, 1.1: 0.011347, 1.3: 0.18039, 1.6: 1.0, 1.8: 1.8}),
    ("velocity", {}, {-1.1: 0.0, -0.8: 0.037903, -0.3: 0.33024, -0.05: 0.771922, 0.05: 1.172346, 0.4: 1.31412}),
    ("velocity", (0.1, 0.3, 4.0, 0.05, 0.2, 1.6, 0.5, 0.7), {-0.5: 0.214756, -0.1: 0.694316, 0.1: 1.255869}),
    ("tendon", {}, {0.99: 0.0, 1.01: 0.099678, 1.03: 0.479399, 1.049: 1.0, 1.07: 1.589286}),
    ("tendon", (0.08, 25.0, 0.5, 0.4), {1.0: 0.0, 1.02: 0.081149, 1.05: 0.33183, 1.08: 1.0, 1.1: 1.5}),
]


@pytest.mark.parametrize(("part", "constants", "points"), POINTS)
def test_millards_curves_are_opensims(part, constants, points):
    """The values are those of the package opensim 4.6, with default constants and with others."""
    kind = dict(zip(("active", "passive", "velocity", "tendon"), hill.MILLARD, strict=True))[part]
    own = hill.millard({kind: dict(zip(hill.MILLARD[kind], constants, strict=True))} if constants else {})[part]
    for x, y in points.items():
        assert value_of({"curve": own}, x) == pytest.approx(y, abs=5e-4)  # measured: 1.2e-4


MILLARD_MORE = """<fiber_damping>0.2</fiber_damping><FiberForceLengthCurve name="c">
<strain_at_zero_force>0.05</strain_at_zero_force><strain_at_one_norm_force>0.6</strain_at_one_norm_force>
<stiffness_at_low_force>0.3</stiffness_at_low_force><stiffness_at_one_norm_force>4</stiffness_at_one_norm_force>
<curviness>0.6</curviness></FiberForceLengthCurve>"""
DE_GROOTE_MORE = """<active_force_width_scale>1.6</active_force_width_scale><fiber_damping>0.05</fiber_damping>
<passive_fiber_strain_at_one_norm_force>0.5</passive_fiber_strain_at_one_norm_force>
<tendon_strain_at_one_norm_force>0.03</tendon_strain_at_one_norm_force>"""
SCHUTTE_MORE = """<damping>0.05</damping><SimmSpline name="passive_force_length_curve">
<x>-35 0.998 0.999 1.15 1.25 1.35 1.45 1.55 1.65 1.75 1.7501 1.7502 35</x>
<y>0 0 0 0 0.035 0.12 0.26 0.55 1.17 2 2 2 2</y></SimmSpline>"""
RIGID = "<ignore_tendon_compliance>true</ignore_tendon_compliance>"


FORCES = [
    ("Millard2012EquilibriumMuscle", RIGID + MILLARD_MORE, "0.24 -0.4 18.1145, 0.24 0.1 126.5774, 0.3 -0.1 91.8870"),
    ("Millard2012EquilibriumMuscle", "", "0.24 0 98.1693, 0.3 0 111.1176"),
    ("DeGrooteFregly2016Muscle", RIGID + DE_GROOTE_MORE, "0.24 -0.4 39.6606, 0.24 0.4 159.7074, 0.3 0 145.0985"),
    ("DeGrooteFregly2016Muscle", DE_GROOTE_MORE, "0.24 0 105.2424, 0.3 0 140.1310"),
    ("DeGrooteFregly2016Muscle", "", "0.24 0 94.0756, 0.3 0 107.6620"),
    ("Thelen2003Muscle", "", "0.24 0 103.3404, 0.3 0 117.2916"),
    ("Schutte1993Muscle_Deprecated", "", "0.24 0 107.1403, 0.3 0 116.3925"),
    ("Schutte1993Muscle_Deprecated", SCHUTTE_MORE, "0.24 0 106.3836, 0.3 0 90.0734"),
]
"""Kind, properties, and lengths (m), velocities (m/s) and forces (N) of opensim 4.6 at activation 0.5."""


@pytest.mark.full
@pytest.mark.parametrize(("kind", "more", "forces"), FORCES)
def test_muscles_pull_as_opensims(tmp_path, kind, more, forces):
    animal = Neuromechanic(import_model(written(tmp_path, slider(kind, more)))[0])
    row = animal.rows(1)
    for x, v, force in (map(float, entry.split()) for entry in forces.split(",")):
        animal.reset(row, np.zeros(1, int), {"q": np.array([x]), "v": np.array([v]), "activation": np.full(1, 0.5)})
        assert animal.mechanics(row)["force"][0] == pytest.approx(force, abs=0.05)


@pytest.mark.full
@pytest.mark.term
def test_schuttes_muscle_obeys_its_equations(tmp_path):
    """The inverse of the force-velocity curve with damping is OpenSim's calcFiberVelocity, a quadratic equation."""
    animal = Neuromechanic(import_model(written(tmp_path, slider("Schutte1993Muscle_Deprecated", SCHUTTE_MORE)))[0])
    row, rng, damping, concave, optimal = animal.rows(1), np.random.default_rng(0), 0.05, 0.15, 0.12
    description = animal.model.description
    active, passive = (
        description["curve"][description["muscle"]["u"]["model"][name]] for name in ("active", "passive")
    )
    speeds = []
    for _ in range(40):
        row["activation"], row["input"] = a, e = rng.uniform(0.05, 1.0, (2, 1))
        row["q"], row["fibre_length"] = 0.27, 0.12 * rng.uniform(0.9, 1.1)
        length = row["fibre_length"][0, 0] / optimal
        force = animal.mechanics(row)["force"][0] / 250.0 / np.sqrt(1.0 - (np.sin(0.3) / length) ** 2)
        load = max(force - value_of({"curve": passive}, length), 0.0)
        still = a[0] * max(value_of({"curve": active}, length), 0.0)
        if load < still:
            c = concave * (load - still) / damping
            b = -(load + concave * (still + damping)) / damping
            speed = 0.5 * (-b - np.sqrt(b * b - 4.0 * c))
        else:
            slow = 0.13 * concave / (concave + 1.0)
            c, b = -slow * (load - still) / damping, -((load - 1.4 * still) / damping - slow)
            speed = 0.5 * (-b + np.sqrt(b * b - 4.0 * c))
        rates = animal.rate(row)[2:]
        rise = (e - a) * (7.667 * e + 1.459854 if e > a else 1.459854) / 0.1
        assert rates[0] == pytest.approx(rise[0], rel=1e-12)
        assert rates[1] / (10.0 * optimal) == pytest.approx(min(speed, 1.0), abs=2e-4)  # measured: 9e-5
        speeds.append(speed)
    assert min(speeds) < -0.1 and max(speeds) > 0.1


@pytest.mark.parametrize("kind", PROPERTIES)
def test_properties_without_effect_are_reported(tmp_path, kind):
    more = "<someday>3</someday><default_activation>0.3</default_activation><min_control>0.2</min_control>"
    report = import_model(written(tmp_path, slider(kind, more)))[1]
    assert {entry.split(" ")[0] for entry in report.ignored} == {"someday", "default_activation", "min_control"}
    assert not import_model(written(tmp_path, slider(kind)))[1].ignored
    with pytest.raises(ValueError, match=r"u: ignore_activation_dynamics = true is not supported"):
        import_model(written(tmp_path, slider(kind, "<ignore_activation_dynamics>true</ignore_activation_dynamics>")))
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "import.md").read_text("utf-8")
    assert all(f"`{name}`" in guide for name in PROPERTIES[kind])


COUPLER = """<ConstraintSet name="c"><objects><CoordinateCouplerConstraint name="k"><coupled_coordinates_function>
<LinearFunction><coefficients>1 0</coefficients></LinearFunction></coupled_coordinates_function>
<independent_coordinate_names>{}</independent_coordinate_names><dependent_coordinate_name>{}</dependent_coordinate_name>
</CoordinateCouplerConstraint></objects></ConstraintSet><ForceSet"""
WRAP = (
    "<PathWrapSet><objects><PathWrap><wrap_object>w</wrap_object><range>{}</range></PathWrap></objects></PathWrapSet>"
    "</GeometryPath>"
)
ON_GROUND = '<Ground name="ground"><WrapObjectSet><objects><WrapSphere name="w"/></objects></WrapObjectSet></Ground>'


TOUCH = """<HuntCrossleyForce name="h"><HuntCrossleyForce::ContactParametersSet name="contact_parameters"><objects>
<HuntCrossleyForce::ContactParameters><geometry>{}</geometry></HuntCrossleyForce::ContactParameters></objects>
</HuntCrossleyForce::ContactParametersSet></HuntCrossleyForce></objects></ForceSet><ContactGeometrySet><objects>
<ContactMesh name="mesh"/><ContactHalfSpace name="floor"><socket_frame>/ground</socket_frame></ContactHalfSpace>
<ContactSphere name="ball"><socket_frame>/bodyset/b</socket_frame><radius>0.1</radius></ContactSphere></objects>
</ContactGeometrySet>"""


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("<ForceSet", COUPLER.format("x", "y"), "no coordinate 'y'"),
        ("<ForceSet", COUPLER.format("y", "x"), "no coordinate 'y'"),
        ("<ForceSet", COUPLER.format("x", "x"), "x depends on itself"),
        ("</GeometryPath>", WRAP.format("inf 2"), "range"),
        ("</GeometryPath>", WRAP.format("1 7"), "range"),
        ("</GeometryPath>", WRAP.format("2"), "range of PathWrap must be 2 numbers"),
        ("<mass>1<", "<mass>inf<", "mass of b must be a number"),
        ("<mass>1<", "<mass>1 2<", "mass of b must be a number"),
        ("0.01 0.01 0.01 0 0 0", "0.01 0.01 0.01", "inertia of b must be 6 numbers"),
        ('<Coordinate name="x"/>', "", "must have 1 coordinates, got 0"),
        ("/bodyset/b<", "/bodyset/c<", "frame '/bodyset/c' is not known"),
        ("</objects></ForceSet>", TOUCH.format("s"), "no contact geometry 's'"),
        ("</objects></ForceSet>", TOUCH.format("mesh"), "its surface 'mesh' is a ContactMesh"),
        ("</objects></ForceSet>", TOUCH.format("ball floor"), "stiffness must be a number"),
        (
            '<Coordinate name="x"/>',
            '<Coordinate name="x"><prescribed>true</prescribed><prescribed_function><Sine/></prescribed_function>'
            "</Coordinate>",
            "function Sine is not supported",
        ),
        (
            '<Coordinate name="x"/>',
            '<Coordinate name="x"><prescribed>true</prescribed><prescribed_function><LinearFunction/>'
            "</prescribed_function></Coordinate>",
            "prescribed by a function of time",
        ),
    ],
)
def test_wrong_values_are_refused_by_name(tmp_path, old, new, told):
    text = slider().replace('<Ground name="ground"/>', ON_GROUND).replace(old, new)
    path = written(tmp_path, text)
    with pytest.raises(ValueError, match="not supported") as caught:
        import_model(path)
    assert told in str(caught.value)
    import_model(path, partial=True)


def test_the_first_wrap_object_of_a_name_counts_also_on_offset_frames(tmp_path):
    """OpenSim takes the first in the order of components; all have names of their own in the description."""
    frame = (
        '<Body name="b"><components><PhysicalOffsetFrame name="f"><socket_parent>..</socket_parent>'
        "<translation>0 0.3 0</translation><WrapObjectSet><objects>{}</objects></WrapObjectSet></PhysicalOffsetFrame>"
        "</components>"
    )
    sphere = '<WrapSphere name="w"><translation>0.1 0 0</translation></WrapSphere>'
    text = slider().replace('<Body name="b">', frame.format(sphere)).replace("</GeometryPath>", WRAP.format("-1 -1"))
    surface = import_model(written(tmp_path, text))[0]["cylinder"]
    assert surface["w"]["body"] == "x" and surface["w"]["at"] == [0.1, 0.3, 0.0]
    first = import_model(written(tmp_path, text.replace('<Ground name="ground"/>', ON_GROUND)))[0]["cylinder"]
    assert first["w"]["body"] == "ground"


def test_parts_of_one_name_are_told_apart(tmp_path):
    text = slider()
    force = text[text.index("<Thelen2003Muscle") : text.index("</objects></ForceSet>")]
    description, report = import_model(written(tmp_path, text.replace(force, force + force)))
    assert list(description["muscle"]) == description["inputs"] == ["u", "u_2"] and report.renamed == ["u to u_2"]


def test_long_chains_are_read(tmp_path):
    bodies = "".join(f'<Body name="b{i}"><mass>1</mass></Body>' for i in range(1500))
    joints = "".join(
        f'<PinJoint name="j{i}"><socket_parent_frame>{f"/bodyset/b{i - 1}" if i else "/ground"}</socket_parent_frame>'
        f"<socket_child_frame>/bodyset/b{i}</socket_child_frame><coordinates><Coordinate name='q{i}'/></coordinates>"
        "</PinJoint>"
        for i in reversed(range(1500))
    )
    text = f"<BodySet><objects>{bodies}</objects></BodySet><JointSet><objects>{joints}</objects></JointSet>"
    text = f'<OpenSimDocument Version="40000"><Model>{text}</Model></OpenSimDocument>'
    assert len(import_model(written(tmp_path, text))[0]["body"]) == 1500


@pytest.mark.parametrize("name", ["a\nb = 1", 'q"\\t', "\x7f", "\u65e5\U0001f600"])
def test_names_from_outside_are_escaped(name):
    text = write_toml({"title": name, "part": {name: {"list": [name, 1, True, {"key": name}]}}})
    assert tomllib.loads(text) == {"title": name, "part": {name: {"list": [name, 1, True, {"key": name}]}}}


# Motions


def motion(tmp_path, header, rows="0\t1\t2\n1\t3\t4\n", names="time\tknee\ttx"):
    return read_motion(written(tmp_path, f"{header}\nendheader\n{names}\n{rows}", "m.mot"))


@pytest.mark.parametrize(
    ("header", "degrees"),
    [
        ("version=1\ninDegrees=yes", True),
        ("version=1\ninDegrees = Yes", True),
        ("version=1\ninDegrees=no\n# not inDegrees=yes", False),
        ("version=1\nthe flag inDegrees=yes was wrong", False),
        ("version=1", False),
        ("nRows=2", True),
    ],
)
def test_the_unit_of_angles_is_opensims(tmp_path, header, degrees):
    assert motion(tmp_path, header).degrees is degrees
    assert read_motion(OPENSIM / "simm_degrees.mot").degrees


def test_columns_are_found_by_label_or_coordinate(tmp_path):
    names = "time /jointset/knee/knee/speed /jointset/knee/knee/value /jointset/hip/hip/value /other/hip/hip/value"
    table = motion(tmp_path, "version=1", "0 1 2 3 4\n1 1 2 3 4\n", names)
    assert table["knee"][0] == 2.0 and table["/jointset/knee/knee/speed"][0] == 1.0
    with pytest.raises(ValueError, match="several columns 'hip'; candidates are"):
        table["hip"]
    with pytest.raises(ValueError, match="no column 'speed'; candidates are"):
        table["speed"]


def test_gaps_are_nan_and_named():
    table, markers = read_motion(OPENSIM / "gap.mot"), read_motion(OPENSIM / "gap.trc")
    assert np.isnan(table["knee"]).tolist() == [False, True, False] and table["tx"].tolist() == [0.1, 0.2, 0.3]
    assert np.isnan(markers["A.y"]).tolist() == [False, True, False] and markers["B.z"].tolist() == [6.0] * 3
    arm = Neuromechanic(asset("arm"))
    gap = Motion(np.arange(3.0), arm.model.bodies, np.array([[0.0, 0.0], [0.0, np.nan], [0.0, 0.0]]))
    with pytest.raises(ValueError, match="a gap in column 'fore' at 1 s"):
        inverse_dynamics(arm, gap, cutoff=None)


@pytest.mark.parametrize(
    ("cutoff", "values"),
    [
        (6.0, [[0.2998441, 3.189118, 0.1411], [0.3000535, -2.287067, 130.563], [-0.1046662, 3.806609, 0.0768]]),
        (None, [[0.3, 7.466483, -183.671], [0.2832667, -2.015411, 140.9259], [-0.1045707, 0.58066, -141.0282]]),
    ],
)
def test_motions_are_filtered_as_opensims_also_at_the_ends(cutoff, values):
    arm, time = Neuromechanic(asset("arm")), 0.02 * np.arange(40)
    x = np.sin(7 * time) + 0.3 * np.cos(25 * time) + 0.5 * time
    parts = smooth(arm, Motion(time, arm.model.bodies, np.stack([x, -x], 1)), cutoff)
    for part, exact in zip(parts, np.transpose(values), strict=True):
        assert part[[0, 20, 39], 0] == pytest.approx(exact, abs=2e-4)


# Names of bodies

LOADS = """<OpenSimDocument><ExternalLoads name="l"><objects><ExternalForce name="f">
<applied_to_body>{}</applied_to_body><force_expressed_in_body>{}</force_expressed_in_body>
<point_expressed_in_body>{}</point_expressed_in_body><force_identifier>f</force_identifier>
<point_identifier>p</point_identifier><torque_identifier>Unassigned</torque_identifier></ExternalForce></objects>
<datafile>m.mot</datafile></ExternalLoads></OpenSimDocument>"""


@pytest.mark.full
def test_bodies_keep_their_names(tmp_path):
    """A force on the lower leg, given in the world and in the leg, at a point in the world and in the leg."""
    leg = Neuromechanic(import_model(OPENSIM / "body_frame.osim")[0])
    q, time = np.array([0.4, -0.9]), np.arange(3.0)
    still = Motion(time, leg.model.bodies, np.tile(q, (3, 1)))
    plain = inverse_dynamics(leg, still, cutoff=None)
    at = np.array([0.02, -0.1, 0.0])
    place = point_path(leg, plain, "lower", at)[0]
    turn = q.sum()
    knee = np.array([0.3 * np.sin(q[0]), 1.0 - 0.3 * np.cos(q[0]), 0.0])
    R = np.array([[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0], [0, 0, 1.0]])
    assert place == pytest.approx(knee + R @ at, abs=1e-12)
    force = np.array([3.0, 50.0, 0.0])
    torques = []
    for axes, origin in (("ground", "ground"), ("ground", "lower"), ("/bodyset/lower", "ground")):
        values = [*(force if axes == "ground" else R.T @ force), *(place if origin == "ground" else at)]
        table = "\n".join("\t".join(map(str, [float(t), *map(float, values)])) for t in time)
        motion(tmp_path, "version=1", table, "time fx fy fz px py pz")
        loads = read_loads(written(tmp_path, LOADS.format("lower", axes, origin), "loads.xml"))
        torques.append(inverse_dynamics(leg, still, loads, cutoff=None)["torque"][0])
    arms = [np.cross(place - joint, force)[2] for joint in (np.array([0.0, 1.0, 0.0]), knee)]
    for torque in torques:
        assert torque == pytest.approx(plain["torque"][0] - arms, abs=1e-9)
    with pytest.raises(ValueError, match="body must be one of hip_q, knee_q, upper, lower, ground"):
        inverse_dynamics(leg, still, [Load("foot", still)], cutoff=None)


@pytest.mark.full
def test_floating_models_are_told_what_to_do():
    leg = Neuromechanic(import_model(OPENSIM / "leg6dof9musc.osim")[0])
    with pytest.raises(ValueError, match=r"no muscle or pin acts on joints with a load .*: pelvis_"):
        equilibrate(leg, [joint.start for joint in leg.model.joints])


@pytest.mark.slow
def test_one_command_leads_from_a_file_to_a_policy_and_a_film(tmp_path):
    # Measured: 192.2 of PPO, 174.3 of the reflex, about 60 s of CPU time.
    model = str(OPENSIM / "arm26.osim")
    train(model, TrainConfig(steps=500_000), ModelOptions("r_elbow_flex"), folder=tmp_path / "run")
    own, reflex, _ = json.loads((tmp_path / "run" / "evaluation.json").read_text())
    assert own["score_mean"] > 0.9 * reflex["score_mean"] > 100.0
    assert (tmp_path / "run" / "episode.gif").stat().st_size > 100_000
