"""Paths over an ellipsoid against closed forms, OpenSim and their own derivatives."""

import json
from pathlib import Path

import numpy as np
import pytest

from gymnosoma.biomechanics import import_model
from gymnosoma.envs.neuromechanic import Neuromechanic

OPENSIM = Path(__file__).parents[1] / "opensim"

pytestmark = pytest.mark.full


def body(axis, **more):
    return {"joint": {"type": "revolute", "axis": axis}, "inertial": {"mass": 1.0, "inertia": [1.0] * 3}} | more


def over(surface, first=(0.02, 0.2, 0.01), last=(-0.03, -0.3, 0.02)):
    """A rod with two joints, and a string from the ground to the rod over a surface."""
    return {
        "schema": 1,
        "body": {"yaw": body([1, 0, 0]), "rod": body([0, 0, 1], parent="yaw")},
        "cylinder": {"head": {"body": "ground", "at": [0, 0, 0]} | surface},
        "muscle": {
            "m": {
                "model": {"type": "proportional", "max_force": 10.0},
                "path": [["ground", *first], ["rod", *last]],
                "wraps": [{"cylinder": "head"}],
                "excitation": 0.5,
            }
        },
    }


def strings(animal, postures):
    """Lengths and moment arms at postures."""
    row = animal.rows(1)
    for q in postures:
        row["q"] = q
        k = animal.mechanics(row)
        yield k["length"], k["arm"]


@pytest.mark.term
@pytest.mark.parametrize("method", ["hybrid", "axial", "midpoint"])
def test_an_ellipsoid_with_equal_radii_is_a_sphere(method):
    turned = {"attitude": [0.5, 0.5, -0.5, 0.5], "at": [0.01, 0.0, 0.005]}
    ellipsoid = Neuromechanic(over({"type": "ellipsoid", "radii": [0.05] * 3, "method": method} | turned))
    sphere = Neuromechanic(over({"type": "sphere", "radius": 0.05, "at": turned["at"]}))
    postures = np.random.default_rng(0).uniform(-0.5, 0.5, (10, 2))
    bent = 0
    for own, other in zip(strings(ellipsoid, postures), strings(sphere, postures), strict=True):
        np.testing.assert_allclose(own[0], other[0], atol=1e-12)
        np.testing.assert_allclose(own[1], other[1], atol=1e-9)
        bent += abs(other[1][0, 1]) > 0.03
    assert bent > 5


def test_the_equator_of_a_spheroid_is_a_circle():
    """On a plane perpendicular to the axis, the string is that of a pulley on the side of the quadrant."""
    spheroid = {"type": "ellipsoid", "radii": [0.05, 0.05, 0.02]}
    for side, quadrant in ((1.0, "x"), (-1.0, "-x")):
        animal = Neuromechanic(over(spheroid | {"quadrant": quadrant}, (0.0, 0.2, 0.0), (0.0, -0.3, 0.0)))
        for q in (-0.1, 0.05, 0.1):
            ((length, arm),) = strings(animal, [[0.0, q]])
            arc = np.pi - np.arccos(0.05 / 0.2) - np.arccos(0.05 / 0.3) - side * q
            straight = np.sqrt(0.2**2 - 0.05**2) + np.sqrt(0.3**2 - 0.05**2)
            assert length[0] == pytest.approx(straight + 0.05 * arc, abs=1e-12)
            assert arm[0, 1] == pytest.approx(side * 0.05, abs=1e-9)


def test_lengths_over_an_ellipsoid_are_opensims_and_moment_arms_their_derivatives():
    case = json.loads((OPENSIM / "ellipsoid.json").read_text())
    animal, h = Neuromechanic(import_model(OPENSIM / "ellipsoid.osim")[0]), 1e-6
    assert animal.model.bodies == tuple(case["names"])
    off = []
    for q, lengths in zip(case["q"], case["L"], strict=True):
        shifts = [np.add(q, shift) for shift in ([0.0, 0.0], [h, 0.0], [-h, 0.0], [0.0, h], [0.0, -h])]
        (length, arm), *others = strings(animal, shifts)
        off.append(np.abs(length - lengths))
        slopes = [(others[2 * j + 1][0] - others[2 * j][0]) / (2 * h) for j in range(2)]
        np.testing.assert_allclose(arm, np.transpose(slopes), atol=1e-8)
    assert np.max(off) < 1e-4  # measured: 8e-5, as OpenSim samples sharp turns of the normal
    assert np.median(off) < 1e-6


@pytest.mark.parametrize(
    ("surface", "told"),
    [
        ({"radii": [0.05, 0.05]}, r"cylinder.head.radii must be a list of 3 numbers"),
        ({"radii": [0.05, 0.05, 0.0]}, r"cylinder.head.radii must be 3 numbers above 0"),
        ({"radii": [0.05] * 3, "quadrant": "up"}, r"cylinder.head.quadrant must be"),
        ({"radii": [0.05] * 3, "method": "geodesic"}, r"cylinder.head.method must be"),
        ({"radii": [0.05] * 3, "attitude": [1, 1, 0, 0]}, r"cylinder.head.attitude must be a unit quaternion"),
        ({"radii": [0.05] * 3, "radius": 0.05}, r"cylinder.head.radius"),
    ],
)
def test_impossible_ellipsoids_are_refused(surface, told):
    with pytest.raises(ValueError, match=told):
        Neuromechanic(over({"type": "ellipsoid"} | surface))
