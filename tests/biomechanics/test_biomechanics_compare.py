"""The comparison with OpenSim, where its package is installed."""

import shutil
from pathlib import Path

import pytest

from gymnosoma.biomechanics import compare, import_model, timing

OPENSIM = Path(__file__).parents[1] / "opensim"

OLD = """<OpenSimDocument Version="30000"><Model name="m"><BodySet><objects><Body name="ground"/><Body name="b">
<mass>1</mass><inertia_xx>1</inertia_xx><inertia_yy>1</inertia_yy><inertia_zz>1</inertia_zz><Joint><PinJoint name="j">
<parent_body>ground</parent_body><CoordinateSet><objects><Coordinate name="turn"/></objects></CoordinateSet></PinJoint>
</Joint></Body></objects></BodySet></Model></OpenSimDocument>"""

pytestmark = pytest.mark.full


def test_the_table_has_a_row_for_each_file(tmp_path, capsys):
    pytest.importorskip("opensim.simulation")
    shutil.copy(OPENSIM / "gait10dof18musc.osim", tmp_path)
    text = (OPENSIM / "leg6dof9musc.osim").read_text()
    (tmp_path / "off.osim").write_text(text.replace("<mass>", "<mass>-"))
    compare.main(tmp_path, states=2)
    *_, right, wrong = capsys.readouterr().out.splitlines()
    name, size, refused, *errors = (cell.strip() for cell in right.strip("|").split("|"))
    assert (name, size, refused) == ("gait10dof18musc.osim", "10, 18", "none")
    assert all(float(error) < 1e-9 for error in errors)
    assert wrong.startswith("| off.osim | | ")


def test_the_table_compares_lengths_and_arms_of_mujocos_models(tmp_path, capsys):
    pytest.importorskip("mujoco")
    text = (Path(__file__).parents[1] / "fixtures" / "mujoco_arm.xml").read_text()
    (tmp_path / "arm.xml").write_text(text)
    compare.main(tmp_path / "arm.xml", states=4)
    row = capsys.readouterr().out.splitlines()[-1]
    name, _, refused, length, arm, acceleration, _ = (cell.strip() for cell in row.strip("|").split("|"))
    assert (name, refused) == ("arm.xml", "none")
    assert max(float(length.split()[0]), float(arm), float(acceleration)) < 1e-5


def test_opensim_and_gymnosoma_converge_to_the_same_motion(capsys, monkeypatch):
    """The leg's angles, with settings that are exact to 0.1 degrees, and a ratio for each setting of gymnosoma."""
    pytest.importorskip("opensim.simulation")
    monkeypatch.setattr(timing, "METHODS", timing.METHODS[:1])
    monkeypatch.setattr(timing, "ACCURACIES", (1e-4, 1e-6))
    monkeypatch.setattr(timing, "SCHEMES", {"rk4": (1e-3,)})
    monkeypatch.setattr(timing, "EXACT", 1e-4)
    table, apart = timing.settings(OPENSIM / "leg6dof9musc.osim", 2)
    assert apart < 0.01 and len(table) == 4 and all(each.error < 0.1 for each in table)
    assert timing.cheapest(table, 1.0).program == "OpenSim" and timing.cheapest(table, 0.0) is None


def test_a_file_of_format_3_is_converted_by_opensim(tmp_path):
    pytest.importorskip("opensim.simulation")
    path = tmp_path / "old.osim"
    path.write_text(OLD)
    description, report = import_model(path)
    assert list(description["body"]) == ["turn"] and not report.refused
