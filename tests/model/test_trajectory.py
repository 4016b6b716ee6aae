"""Trajectories: what they hold, as files and tables; films of them; the command that makes them."""

import inspect
import json
import re
from importlib import resources

import gymnasium
import numpy as np
import pytest
from fixtures.pendulum.animal import Pendulum

from gymnosoma.agents import ControllerAgent
from gymnosoma.envs import Circuit, Schedule, Trajectory, simulate
from gymnosoma.envs.core.arguments import plain
from gymnosoma.envs.core.draw.view import View
from gymnosoma.envs.lamprey import IsolatedCord, Lamprey, LampreyParams
from gymnosoma.envs.neuromechanic import Neuromechanic
from gymnosoma.envs.whisker_chain import Whisker, WhiskerParams
from gymnosoma.envs.whisker_rod import Relief, WhiskerRod, WhiskerRodParams
from gymnosoma.envs.worm import SineKymogram, Worm, WormParams
from gymnosoma.films import film
from gymnosoma.films.reel import Replay

ARM = resources.files("gymnosoma.assets") / "neuromechanic" / "arm.toml"


def worm():
    return simulate(Worm(WormParams(n_rods=13)), SineKymogram(n_joints=12), 0.5, every=0.05)


def lamprey():
    animal = Lamprey(LampreyParams(water=2.0), circuit={"segments": 200, "head_segments": 3})
    return simulate(animal, [0.4, 0.0, 1.0], 0.5, every=0.05)


def whisker_chain():
    return simulate(Whisker(pegs=2), [100.0, 0.0, 0.0], 0.02, every=1e-3, start={"peg": [[0.03, 0.003], [1.0, 1.0]]})


def whisker_rod():
    length = WhiskerRodParams().length
    return simulate(WhiskerRod(), [0.1, 0.0, 0.0], 4e-3, every=5e-4, start={"plate_distance": 0.98 * length})


def neuromechanic():
    animal = Neuromechanic(ARM)
    return simulate(animal, np.full(animal.drive_size, 0.2), 0.1, every=0.01)


RUNS = [
    worm,
    *(pytest.param(run, marks=pytest.mark.full) for run in (whisker_rod, neuromechanic)),
    *(pytest.param(run, marks=pytest.mark.slow) for run in (lamprey, whisker_chain)),
]


def same(a, b):
    return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


@pytest.mark.parametrize("make", RUNS)
def test_rows_hold_what_was_sensed_on_the_way(make):
    run = make()
    for name in run:
        alone = np.array([run.animal.signal(run.rows[i : i + 1], name)[0] for i in range(len(run.rows))])
        assert same(run[name], alone), name
    assert len(run) == len(run.animal.signals) - 1 and np.allclose(run.rows["time"], run.time)


@pytest.mark.parametrize("make", RUNS)
def test_a_file_gives_it_back_to_the_bit(make, tmp_path):
    run = make()
    run.save(tmp_path / "run.npz")
    back = Trajectory.load(tmp_path / "run.npz")
    assert same(back.time, run.time) and list(back) == list(run) and back.failure == run.failure
    for name in run:
        assert same(back[name], run[name]), name
    for name in run.animal.state.names:
        assert same(back.rows[name], run.rows[name]), name
    assert type(back.animal) is type(run.animal) and back.animal.dt == run.animal.dt
    drawn = [next(iter_drawn(each)) for each in (run, back)]
    assert np.array_equal(*drawn)
    # The animal is the same: it goes on in the same way.
    after = []
    for each in (run, back):
        rows = each.rows[-1:].copy()
        each.animal.advance(rows, np.zeros(1, np.int64), np.zeros((1, each.animal.drive_size)), 5)
        after.append(rows)
    for name in run.animal.state.names:
        assert same(after[0][name], after[1][name]), name


def iter_drawn(run, **arguments):
    replay = Replay(run, 320, 180, **arguments)
    for _ in replay:
        yield replay.draw().array()


class Goalless:
    """A task of which the picture knows nothing but what it asks of all."""

    def __init__(self, animal, control_rate, duration):
        self.animal, self.control_rate, self.duration, self.memory = animal, control_rate, duration, np.dtype([])


@pytest.mark.parametrize("make", RUNS)
def test_films_show_the_environments_picture(make):
    run = make()
    rate = 1.0 / run.time[1]
    view = View(Goalless(run.animal, rate, run.time[-1]), 1, 320, 180, 50.0, False)
    frames = list(iter_drawn(run, fps=50.0, slow=rate / 50.0))
    assert len(frames) == len(run.rows)
    for row, frame in zip(run.rows, frames, strict=True):
        view.trails[0].record(row, np.zeros((), view.task.memory))
        assert np.array_equal(frame, view.draw().array())
    assert not np.array_equal(frames[0], frames[-1])


def test_a_part_of_a_film_knows_what_was_before():
    run = worm()
    whole = list(iter_drawn(run, fps=20.0))
    part = list(iter_drawn(run, fps=20.0, start=0.2, end=0.3))
    assert len(part) == 3
    assert all(np.array_equal(a, b) for a, b in zip(part, whole[4:7], strict=True))
    assert len(list(iter_drawn(run, fps=10.0))) == 6
    assert len(list(iter_drawn(run, fps=10.0, slow=2.0))) == 11


@pytest.mark.parametrize("name", ["run.png", "run.gif", pytest.param("run.mp4", marks=pytest.mark.full)])
def test_films_are_written(name, tmp_path):
    assert film(worm(), tmp_path / name, 320, 180) == 11
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_trajectory_of_signals_alone_has_no_film(tmp_path):
    run = Trajectory(np.arange(3.0), {"angle": np.zeros((3, 2))})
    run.save(tmp_path / "run.npz")
    back = Trajectory.load(tmp_path / "run.npz")
    assert back["angle"].shape == (3, 2) and back.animal is None
    with pytest.raises(ValueError, match="run must contain its animal"):
        film(back, tmp_path / "run.png")


def test_other_animals_are_given_by_their_class(tmp_path):
    file = tmp_path / "run.npz"
    run = simulate(Pendulum(dt=0.01), [1.0], 0.1)
    run.save(file)
    assert Trajectory.load(file).animal is None  # the file names no code
    back = Trajectory.load(file, Pendulum)
    assert back.animal.dt == 0.01 and same(back.rows["angle"], run.rows["angle"])
    assert Trajectory.load(file, run.animal).animal is run.animal
    for wrong in (Worm, Worm()):
        with pytest.raises(ValueError, match=r"run\.npz' cannot be read: (the animal|rows) must be"):
            Trajectory.load(file, wrong)


def test_animals_are_made_from_plain_arguments():
    boyle, gain = Circuit.load("boyle", "worm"), np.linspace(0.5, 1.0, 24)
    for animal in (
        Worm(WormParams(control_gain=gain), dt=1e-3, circuit=boyle),
        Lamprey(LampreyParams(water=2.0), circuit=Circuit.load("cord", "lamprey").replace(MN={"gain": 0.4})),
        IsolatedCord({"segments": 200}, LampreyParams(feedback=0.0)),
        Whisker(WhiskerParams(rest_angle=tuple(0.01 * np.arange(12))), pegs=2),
        WhiskerRod(WhiskerRodParams(length=0.03), relief=Relief.sine(1e-6, 1e-3)),
    ):
        names = inspect.signature(type(animal)).bind(*animal._init_arguments[0], **animal._init_arguments[1]).arguments
        made = type(animal).from_plain(json.loads(json.dumps(plain(names))))
        assert made.params == animal.params and made.dt == animal.dt and made.state == animal.state
        assert getattr(made, "circuit", None) == getattr(animal, "circuit", None)
        assert not hasattr(made, "relief") or made.relief.height.tobytes() == animal.relief.height.tobytes()


def test_an_animal_has_a_default_drive():
    class Pushed(Pendulum):
        def default_drive(self):
            return Schedule(0.1, [[2.0]])

    assert same(simulate(Pushed(), None, 0.1).rows, simulate(Pendulum(), [2.0], 0.1).rows)
    assert same(simulate(Pendulum(), None, 0.1).rows, simulate(Pendulum(), [0.0], 0.1).rows)


def test_tables(tmp_path):
    run = worm()
    table = run.to_pandas()
    assert table.index.name == "time" and np.array_equal(table.index, run.time)
    assert np.array_equal(table["joint_angle_3"], run["joint_angle"][:, 3])
    assert np.array_equal(table["rod_velocity_2_1"], run["rod_velocity"][:, 2, 1])
    assert table.attrs["units"]["joint_rate_0"] == "rad/s" and table.attrs["units"]["power"] == "W"
    assert run.to_pandas("centre").columns.tolist() == ["centre_0", "centre_1"]
    run.to_csv(tmp_path / "run.csv")
    back = np.genfromtxt(tmp_path / "run.csv", delimiter=",", names=True)
    assert back.dtype.names == ("time", *table.columns)
    assert all(np.array_equal(back[name], table[name]) for name in table.columns)
    with pytest.raises(ValueError, match="signal must be one of"):
        run.to_csv(tmp_path / "run.csv", "speed")


def test_plots():
    import matplotlib

    matplotlib.use("agg")
    axes = worm().plot("joint_angle", "power", "centre")
    assert axes[1].get_ylabel() == "power [W]" and len(axes[2].lines) == 2 and axes[-1].get_xlabel() == "time [s]"
    axes[0].figure.canvas.draw()
    assert whisker_chain().plot("base_wrench")[0].get_ylabel() == "base_wrench_moment [N m]"
    assert worm().plot("friction_force")[1].collections[0].colorbar.ax.get_ylabel() == "friction_force_y [N]"
    assert lamprey().plot("neurons")[0].get_yticklabels()[5].get_text() == "right CCIN"
    assert lamprey().to_pandas("neurons").columns[-1] == "neurons_right_MN_199"


def test_schedules(tmp_path):
    (tmp_path / "drive.csv").write_text("time,a,b\n0,1,2\n0.5,3,4\n")
    schedule = Schedule.read(tmp_path / "drive.csv")
    drive = schedule.drive(np.array([-1.0, 0.0, 0.49, 0.5, 9.0]), {}, np.zeros(5, bool))
    assert drive.tolist() == [[1, 2], [1, 2], [1, 2], [3, 4], [3, 4]]
    assert Schedule(0.1, [[0.0], [1.0]]).times.tolist() == [0.0, 0.1]


@pytest.mark.parametrize("header", ["biceps,time,triceps", "# made by hand\nbiceps, time, 'x'"])
def test_columns_are_found_by_their_names(header, tmp_path):
    file, arm = tmp_path / "drive.csv", Neuromechanic(ARM)
    file.write_text("\ufeff" + header.replace("'x'", '"triceps"') + "\n0.0,0,0.5\n0.1,0.05,0.2\n", encoding="utf-8")
    schedule = Schedule.read(file)
    assert schedule.ordered(arm.drive_names).at(np.zeros(1)).tolist() == [[0.5, 0.0]]
    by_order = Schedule([0.0, 0.05], [[0.5, 0.0], [0.2, 0.1]])
    assert same(simulate(arm, schedule, 0.1).rows, simulate(arm, by_order, 0.1).rows)
    assert same(simulate(arm, [schedule], 0.1, count=1)[0].rows, simulate(arm, by_order, 0.1).rows)


def test_wrong_columns_are_refused(tmp_path):
    (tmp_path / "drive.csv").write_text("time,triceps,bicep\n0,1,2\n")
    message = "'bicep' is not known; did you mean biceps?, and 'biceps' is missing"
    with pytest.raises(ValueError, match=re.escape(message)):
        simulate(Neuromechanic(ARM), Schedule.read(tmp_path / "drive.csv"), 0.1)


def test_a_table_drives_an_animal_and_plays_a_task_by_its_names():
    names = Worm().drive_names
    assert names == tuple(simulate(Worm(), np.zeros(24), 0.1).to_pandas("control_angle"))
    values = np.random.default_rng(0).uniform(-0.1, 0.1, (1, 24))
    tables = Schedule(0.1, values, names), Schedule(0.1, values[:, ::-1], names[::-1])
    envs = gymnasium.make_vec("gymnosoma/WormSwim-v0", num_envs=1, actions="angles")
    one, other = (ControllerAgent(table, envs.task).act(envs.reset(seed=0)[0], np.ones(1, bool)) for table in tables)
    assert same(one, other)
    assert Pendulum().drive_names == ("drive_0",) and len(Lamprey(drive="residual").drive_names) == 21
    assert IsolatedCord().drive_names[2:4] == ("head_extra", "joint_angle_0")


def test_a_controller_may_end_a_simulation():
    def until(t):
        if t > 0.1:
            raise StopIteration
        return np.zeros(24)

    run = simulate(Worm(), until, 1.0, every=0.05)
    assert run.failure is None and run.time.tolist() == pytest.approx([0.0, 0.05, 0.1])


COMMANDS = {
    "worm": "--drive sine --duration 0.5 --every 0.05 --param n_rods=25 --event 0.2:damping=1e-11 --start heading=0.5",
    "lamprey": "--drive 0.4 0 1 --duration 0.5 --every 0.05 --param circuit.segments=200 --scheme implicit",
    "whisker_chain": "--drive whisk --duration 0.04 --param pegs=2 --slow 10",
    "whisker_rod": "--drive sweep --duration 4e-3 --every 5e-4 --start plate_distance=0.0327 --slow 50",
    "arm.toml": "--drive drive.csv --duration 0.1 --every 0.01 --param body.fore.joint.damping=0.3",
}


@pytest.mark.parametrize("animal", ["worm", *(pytest.param(a, marks=pytest.mark.full) for a in list(COMMANDS)[1:])])
def test_the_command(animal, tmp_path, monkeypatch, capsys, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.toml").write_text(ARM.read_text())
    size = Neuromechanic(ARM).drive_size
    (tmp_path / "drive.csv").write_text(f"0{',0.1' * size}\n0.05{',0.2' * size}\n")
    outputs = "--save run.npz --csv run.csv --film run.png --size 320x180"
    command("simulate", animal, *COMMANDS[animal].split(), *outputs.split())
    assert "moments" in capsys.readouterr().out
    run = Trajectory.load("run.npz")
    assert run.failure is None and run.animal is not None
    assert len((tmp_path / "run.csv").read_text().splitlines()) == len(run.time) + 1
    assert (tmp_path / "run.png").stat().st_size > 1000
