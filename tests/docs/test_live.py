"""The animals in a browser: the same kernels as here, and the pages; in a headless Chromium."""

import base64
import re
from pathlib import Path

import gymnasium
import live_browser
import numpy as np
import pytest

from gymnosoma.envs.neuromechanic.standing import ramp_and_hold
from gymnosoma.envs.worm import SineKymogram, WormParams
from tools.live import build, modules
from tools.live.wasm import LARGEST, compile_module

LESSON = Path(__file__).parents[2] / "docs" / "guides" / "lesson.md"
WAVES = re.findall(r"live/worm\.html(#worm:[^\"]*)", LESSON.read_text("utf-8"))
"""Links that set the sliders, first to the animal's waves in water and on agar."""
TIERS = {"worm": (), "figure": pytest.mark.slow}
ANIMALS = [pytest.param(name, marks=TIERS.get(name, pytest.mark.full)) for name in modules.ANIMALS]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = live_browser.open_browser(tmp_path_factory.mktemp("browser"))
    yield browser
    browser.quit()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Folder in which pages of animals are made when they are asked for."""
    folder = tmp_path_factory.mktemp("live")

    def page(name):
        if not (folder / f"{name}.html").is_file():
            build.write(folder, [name])
        return folder / f"{name}.html"

    return page


def show(browser, script, *arguments):
    """Run a script in which ``show`` is the animal of the page, which stands still; what it returns."""
    begin = "const show = document.querySelector('[data-gymnosoma]').gymnosoma; show.paused = true;"
    return browser.execute_script(begin + script, *arguments)


STEPS = """
const [name, drives, steps, fields, numbers, done] = arguments;
gymnosoma.load(name).then((animal) => {
  for (const [field, values] of Object.entries(fields)) animal.field(field).set(values);
  Object.assign(animal.numbers, numbers);
  for (const drive of drives) {
    animal.drive(drive);
    animal.advance(steps);
  }
  const place = animal.about.arrays.state;
  const state = new Uint8Array(animal.field("time").buffer, animal._base + place.at, place.item);
  done([btoa(String.fromCharCode(...state)), animal.failure]);
}, (error) => done(["", error.message]));
"""

SIZES = {"worm": 0.6, "lamprey": [0.4, 0.1, 0.3], "vibrissa": [3e3, 1.0, 1.0], "whisker": [0.3, 0.02, 1.0]}
"""Largest drives of the comparison, in SI."""


def compare(browser, name, scheme=None, **fields):
    """State after 1,000 steps with 100 drives, in the browser and here, as bytes."""
    live = modules.ANIMALS[name]()
    rng = np.random.default_rng(1)
    if name in SIZES:
        drives = rng.uniform(-1.0, 1.0, (100, live.animal.drive_size)) * SIZES[name]
    elif name == "figure":
        drives = live.start["input"] * rng.uniform(0.9, 1.1, (100, 3))
    else:
        drives = rng.uniform(0.0, 0.2, (100, live.animal.drive_size))
    if name == "lamprey":
        drives = np.abs(drives)
    rows = live.rows()
    given = {}
    for field, value in fields.items():
        rows[field] = value
        given[field] = np.ravel(rows[field]).tolist()
    numbers = live.more["schemes"][scheme] if scheme else {}
    animal = type(live.animal)(scheme=scheme) if scheme else live.animal
    found, failure = browser.execute_async_script(STEPS, name, drives.tolist(), 10, given, numbers)
    assert failure is None
    for drive in drives:
        animal.advance(rows, np.array([0]), drive[None], 10)
    assert rows["status"][0] == 0.0
    return base64.b64decode(found), rows.tobytes()


@pytest.mark.parametrize("name", ANIMALS)
def test_the_state_is_that_of_python_to_the_bit(name, browser, site):
    live_browser.visit(browser, site(name))
    more = {"figure": {"pulse": [[0.1, 0.05, 4.0], [0.2, 0.05, -4.0]]}, "limb": {"wrench": 2.0}}.get(name, {})
    found, expected = compare(browser, name, **more)
    assert found == expected
    assert np.frombuffer(expected).any()


@pytest.mark.full
def test_the_implicit_scheme_of_the_lamprey_is_that_of_python_to_the_bit(browser, site):
    live_browser.visit(browser, site("lamprey"))
    found, expected = compare(browser, "lamprey", "implicit", transection=40.0, current=[0.1, -0.05])
    assert found == expected


def test_a_module_names_what_it_cannot_call():
    import math

    import numba

    def angle(x, y):
        x[0] = math.atan2(y, y)

    kernels = {"angle": (angle, numba.void(numba.float64[::1], numba.float64))}
    with pytest.raises(ValueError, match=r"got atan2$"):
        compile_module(kernels)
    assert len(compile_module(kernels, ("atan2",))) < LARGEST


def test_the_worms_wave_friction_and_power_are_those_of_python(browser, site):
    live_browser.visit(browser, site("worm"))
    live = modules.worm()
    script = """
const { sine, forces, friction, body } = show.scene.tools;
show.set("medium", 0.3);
show.set("frequency", 1.5);
show.restart();
const drive = new Float64Array(24);
for (let k = 0; k < 150; k++) show.scene.step(show.scene.hold);
sine(show.values, drive);
const state = Object.fromEntries(arguments[0].map((name) => [name, [...show.animal.field(name)]]));
return [state, [...drive], forces(), friction(0.3), body(), show.values];
"""
    names = [name for name in live.animal.state.names if name != "status"]
    state, drive, forces, friction, body, values = show(browser, script, names)
    rows = live.animal.rows(1)
    for name in names:
        rows[name] = np.reshape(state[name], rows[name].shape)
    assert np.abs(rows["rod_angle"]).max() > 0.1
    wave = SineKymogram(values["amplitude"], values["wavenumber"], 1.0 / values["frequency"])
    np.testing.assert_allclose(drive, wave(3.0), atol=1e-12)
    force = live.animal.friction_force(rows)[0]
    np.testing.assert_allclose(forces, force, atol=1e-12 * np.abs(force).max())
    medium = WormParams.in_medium(0.3)
    np.testing.assert_allclose(friction, [medium.friction_perpendicular, medium.friction_parallel], rtol=1e-12)
    np.testing.assert_allclose(body, live.animal.points(rows)[0], rtol=0, atol=1e-15)


@pytest.mark.parametrize(("task", "span", "link"), [("WormSwim-v0", 2.8, WAVES[0]), ("WormCrawl-v0", 1.6, WAVES[1])])
def test_the_worms_score_is_that_of_the_task(browser, site, task, span, link):
    env = gymnasium.make(f"gymnosoma/{task}", split="paper", actions="angles", control_rate=200, max_episode_steps=1201)
    own, track = env.unwrapped.task, [env.reset(seed=0)[1]]
    for _ in range(1200):
        track.append(env.step(np.float32(own.wave(track[-1]["time"]) / own.largest_angle))[-1])
    then, now = track[-1 - round(200 * span)], track[-1]
    paid, before = ((info["speed"] - info["priced_speed"]) * info["time"] for info in (now, then))
    score = 1e3 * (np.linalg.norm(now["centre"] - then["centre"]) - paid + before) / span
    live_browser.visit(browser, site("worm"), link)
    steps = "for (let k = 0; k < arguments[0]; k++) show.scene.step(show.scene.hold); return show.scene.tools.speed();"
    assert show(browser, f"show.restart(); {steps}", 10) == "\u2013 mm/s, score \u2013"
    assert float(show(browser, steps, 290).rpartition(" ")[2]) == pytest.approx(score, rel=0.02)


def test_sliders_move_parameters_and_a_link_keeps_them(browser, site):
    live_browser.visit(browser, site("worm"))
    script = """
const slider = document.querySelector("#gs-worm-medium");
slider.value = "1";
slider.dispatchEvent(new Event("input"));
const across = show.animal.field("friction_perpendicular")[0];
const refused = [show.set("medium", 2), show.message.textContent];
show.link();
return [across, refused, location.hash, document.querySelector(".gs-python code").textContent];
"""
    across, refused, link, python = show(browser, script)
    assert across == pytest.approx(WormParams.in_medium(1.0).friction_perpendicular, rel=1e-12)
    assert refused == [False, "Medium must lie between 0 and 1, got 2."]
    assert "sigma=1)" in python
    live_browser.visit(browser, site("worm"), link)
    assert show(browser, "return show.values.medium;") == 1
    script = """
location.hash = "#worm:medium=0.5";
return new Promise((done) => setTimeout(() => done(show.values.medium), 100));
"""
    assert show(browser, script) == 0.5


@pytest.mark.parametrize("name", ANIMALS)
def test_the_lines_of_python_run(name, browser, site, tmp_path, monkeypatch):
    live_browser.visit(browser, site(name))
    script = """
for (const control of show.controls) {
  if (control.options && !control.unkept) show.set(control.name, control.options[1][0]);
}
for (const [name, value] of [["cut", 40], ["current", 0.1], ["push", 0.05]]) {
  if (name in show.values) show.set(name, value);
}
return document.querySelector(".gs-python code").textContent;
"""
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(show(browser, script), names)
    assert names["run"].failure is None and len(names["run"].time) > 4
    assert list(tmp_path.glob("*.npz"))


@pytest.mark.full
def test_the_figure_falls_and_stands_as_in_python(browser, site):
    live_browser.visit(browser, site("figure"))
    script = """
const [push] = arguments;
show.set("push", push);
show.restart();
document.querySelector("#gs-figure-go").click();
show.paused = true;
let well = true;
for (let k = 0; well && k < 330; k++) well = show.scene.step(show.scene.hold);
return [show.scene.tell(), [...show.animal.field("q")], show.animal.field("pulse")[0], show.animal.field("time")[0]];
"""
    live = modules.figure()
    for push, word in ((-0.05, "kept"), (-0.6, "fell")):
        said, q, onset, time = show(browser, script, push)
        assert word in said
        rows = live.rows()
        rows["pulse"] = ramp_and_hold(onset, push)
        drive = live.start["input"][None]
        for _ in range(round(time / 0.01)):
            live.animal.advance(rows, np.array([0]), drive, 10)
        np.testing.assert_allclose(q, rows["q"][0], rtol=0, atol=1e-9)


DRAG = """
const scene = show.scene, element = show.canvas.element, box = element.getBoundingClientRect();
element.setPointerCapture = () => {};
for (let k = 0; k < 300; k++) scene.step(scene.hold);
show.draw();
for (const [kind, x, y] of arguments[0]) {
  const at = { clientX: box.left + x, clientY: box.top + y, pointerId: 1 };
  element.dispatchEvent(new PointerEvent(`pointer${kind}`, at));
}
"""


@pytest.mark.parametrize(("name", "steps"), [("worm", 400), ("lamprey", 150)])
def test_an_animal_steers_to_where_one_clicks(name, steps, browser, site):
    script = 'const before = [...show.animal.field("centre")];'
    script += "for (let k = 0; k < arguments[1]; k++) scene.step(scene.hold);"
    script += 'const now = show.animal.field("centre"); return now[1] - before[1];'
    ways = []
    for y in (60, 330):  # the upper and the lower part of the picture
        live_browser.visit(browser, site(name))
        show(browser, "show.restart();")
        ways.append(show(browser, DRAG + script, [["down", 60, y], ["up", 60, y]], steps))
    assert ways[0] > 0 > ways[1]


def test_a_drag_pushes_the_ground_and_moves_the_peg(browser, site):
    live_browser.visit(browser, site("figure"))
    assert (
        show(browser, DRAG + "return show.values.push", [["down", 200, 300], ["move", 100, 300], ["up", 100, 300]]) < 0
    )
    assert show(browser, "return show.scene.tell();") == "The ground moves."
    live_browser.visit(browser, site("vibrissa"))
    x, y = show(browser, DRAG + "return [show.values.x, show.values.y]", [["down", 300, 150], ["up", 300, 150]])
    assert (x, y) != (show(browser, "return show.scene.controls[2].value"), 8)


def test_the_links_of_the_lesson_set_the_sliders(browser, site):
    assert len(WAVES) >= 4
    for link in WAVES:
        live_browser.visit(browser, site("worm"), link)
        values, message = show(browser, "return [show.values, show.message.textContent];")
        assert not message
        parts = (part.split("=") for part in link.removeprefix("#worm:").split(","))
        assert values | {name: float(value) for name, value in parts} == values
    live_browser.resize(browser, 390, 664)
    slide = "show.inputs.frequency[0].scrollIntoView(false);"
    assert show(browser, f"{slide} return show.canvas.element.getBoundingClientRect().top;") == 0


def test_a_phone_shows_a_table_with_narrow_columns_row_by_row(browser, tmp_path):
    static, cell = Path(__file__).parents[2] / "docs" / "static", "<td>some words in a column</td>"
    rows = [f"<div class=table-wrapper><table><tbody><tr>{n * cell}</tr></tbody></table></div>" for n in (2, 3)]
    page = f"<meta name=viewport content='width=device-width'><script src={static / 'tables.js'}></script>"
    (tmp_path / "page.html").write_text("<!doctype html>" + page + "<div style='width: 9em'>" + "".join(rows))
    browser.get((tmp_path / "page.html").as_uri())
    found = "return [...document.querySelectorAll('.table-wrapper')].map((one) => one.classList.contains('stack'));"
    assert browser.execute_script(found) == [False, True]


def test_the_first_page_has_the_lines_of_the_shell_beside_the_worm(browser, tmp_path):
    docs = Path(__file__).parents[2] / "docs"
    beside = (docs / "index.md").read_text("utf-8").partition('<div class="broad beside">')[2].partition("\n## ")[0]
    assert 0 < beside.find("README.md") < beside.find('data-gymnosoma="worm"')
    head = f"<meta name=viewport content='width=device-width'><link rel=stylesheet href={docs / 'static/site.css'}>"
    boxes = "<div class='broad beside'><div>lines</div><div>worm</div></div>"
    (tmp_path / "page.html").write_text(f"<!doctype html>{head}<div class=content>{boxes}</div>")
    browser.get((tmp_path / "page.html").as_uri())
    tops = "return [...document.querySelector('.beside').children].map((one) => one.getBoundingClientRect().top);"
    for width, level in ((1400, True), (390, False)):
        live_browser.resize(browser, width, 664)
        lines, worm = browser.execute_script(tops)
        assert (lines == worm) is level
