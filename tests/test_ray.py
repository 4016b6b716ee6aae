"""Every command on two Ray nodes of one machine; a benchmark of which a worker, a node, or the driver is killed."""

import contextlib
import csv
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pieces import marked

import gymnosoma
from gymnosoma.agents.benchmark import results
from gymnosoma.agents.support.workers import workers

pytest.importorskip("ray")
psutil = pytest.importorskip("psutil")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="there are no such signals")]

ROOT = Path(gymnosoma.__file__).resolve().parents[1]
STEPS = 130_000
"""Of a training: it has a checkpoint at 100,000."""
SMALL = ("benchmark", "run", "WormSwim-v0", "--policy", "random", "baseline", "--learner", "recipe", "--seeds", "2",
         "--marks", str(STEPS), "--episodes", "16", "--folder", ".")  # fmt: skip


def begin(folder, *command):
    """A command in a folder, in a process of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "said").open("a") as said:
        return subprocess.Popen([sys.executable, ROOT / "train.py", *command], cwd=folder, stdout=said, stderr=said)


def end(process, folder):
    assert process.wait(1800) == 0, (folder / "said").read_text()[-3000:]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    end(begin(folder, *SMALL), folder)
    return folder


@contextlib.contextmanager
def two_nodes():
    """Of one core each, with an address."""
    from ray.cluster_utils import Cluster

    paths = [str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        made.add_node(num_cpus=1)
        yield made
        made.shutdown()


@pytest.fixture
def cluster():
    """To be damaged."""
    with two_nodes() as made:
        yield made


@pytest.fixture(scope="module")
def calm():
    """A cluster that several tests share."""
    with two_nodes() as made:
        yield made


def wait_for(found, folder, deadline=900.0):
    """What a function finds, as soon as it finds something."""
    until = time.monotonic() + deadline
    while time.monotonic() < until:
        if something := found():
            return something
        time.sleep(0.05)
    raise AssertionError((folder / "said").read_text()[-3000:])


def in_the_midst(folder):
    """Wait until a training has come to a checkpoint, and is not at its end."""
    curve = folder / "runs" / "WormSwim-v0-recipe-0" / "curve.csv"
    rows = wait_for(lambda: curve.exists() and curve.read_text().splitlines()[1:], folder)
    assert int(rows[-1].split(",")[0]) < STEPS


def ray_workers():
    """Processes that do pieces of work."""
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if (process.info["cmdline"] or [""])[0].startswith("ray::_called_in")
    ]


def lines_of(folder):
    """Lines of the results, without CPU seconds, which differ between two undisturbed runs."""
    return [{**line, "seconds": None} for line in results.read(folder / "results.jsonl")]


@pytest.mark.parametrize("killed", ["worker", "node", "driver"])
def test_nothing_is_lost(undisturbed, tmp_path, cluster, killed):
    process = begin(tmp_path, *SMALL, "--ray", cluster.address)
    in_the_midst(tmp_path)
    begun = {path: path.stat().st_mtime_ns for path in (tmp_path / "lines").glob("*")}
    if killed == "worker":
        found = ray_workers()
        assert found
        for worker in found:
            worker.kill()
    elif killed == "node":
        other = next(node for node in cluster.list_all_nodes() if node is not cluster.head_node)
        cluster.remove_node(other, allow_graceful=False)
    elif killed == "driver":
        process.kill()
        process.wait()
        process = begin(tmp_path, *SMALL, "--ray", cluster.address)
    end(process, tmp_path)
    assert lines_of(tmp_path) == lines_of(undisturbed) and len(lines_of(tmp_path)) == 4
    assert all(path.stat().st_mtime_ns == when for path, when in begun.items())
    logs = [len(list((run / "tensorboard").rglob("events*"))) for run in (tmp_path / "runs").iterdir()]
    assert sum(logs) > 2  # what was resumed has one more


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_the_command_and_its_pieces(tmp_path, calm, number, code):
    process = begin(tmp_path, *SMALL, "--ray", calm.address)
    wait_for(ray_workers, tmp_path)
    process.send_signal(number)
    assert process.wait(120) == code
    wait_for(lambda: not ray_workers(), tmp_path)


def test_pieces_that_fail_or_die(tmp_path, cluster):
    names, before = ("a", "fails", "dies", "dies once"), signal.getsignal(signal.SIGTERM)
    with workers(ray=cluster.address) as engine:
        assert signal.getsignal(signal.SIGTERM) is before
        found = {name: rest for name, *rest in engine.work(marked, {name: (tmp_path, name) for name in names})}
    assert found["a"] == ["A", None] and found["dies once"] == ["DIES ONCE", None]
    assert found["fails"] == [None, "ValueError: two lines"] and "WorkerCrashedError" in found["dies"][1]


def test_a_cluster_of_our_own_listens_to_this_machine_alone():
    """Ray runs whatever is sent to its ports; by default they listen to all networks."""
    before = {process.pid for process in psutil.process_iter()}
    with workers(ray="") as engine:
        assert [outcome.value for outcome in engine.work(abs, {"a": (-3,)})] == [3]
        own = [process for process in psutil.process_iter() if process.pid not in before]
        ports = [port for process in own for port in process.net_connections() if port.status == psutil.CONN_LISTEN]
    assert len(ports) > 3 and {port.laddr.ip.removeprefix("::ffff:") for port in ports} == {"127.0.0.1"}


def test_an_address_without_a_cluster_is_told():
    told = r"ray must be the address of a running Ray cluster, got '127.0.0.1:1'"
    with pytest.raises(ValueError, match=told), workers(ray="127.0.0.1:1"):
        pass


COMMANDS = {
    "tune": "tune WormSwim-v0 --recipe x.toml --steps 2048 --trials 2 --together 2 --folder study",
    "train": "train WormSwim-v0 --steps 9000 --seeds 2 --episodes 2 --folder run",
    "csv": "sweep worm --over sigma=0:1:2 --over drive.amplitude=0.4,0.6 --drive sine --duration 0.02 --every 0.01",
}
RECIPE = """
env = { actions = "modes" }
[ppo]
n_steps = 64
batch_size = 128
n_epochs = 1
[tune.ppo]
num_envs = [8, 16]
learning_rate = [1e-4, 1e-3]
"""


def kept(folder):
    """What a command leaves in files, but for times, and for the order in which points are done."""
    found = {}
    for file in folder.rglob("*.*"):
        name = file.relative_to(folder).as_posix()
        if file.name == "curve.csv":
            with file.open() as rows:
                found[name] = [{**row, "seconds": None} for row in csv.DictReader(rows)]
        elif file.suffix == ".jsonl":
            found[name] = sorted(file.read_text().splitlines())
        elif file.suffix in (".json", ".csv", ".toml", ".parquet", ".safetensors", ".png"):
            found[name] = file.read_bytes()
    return found


@pytest.mark.parametrize("line", COMMANDS.values(), ids=COMMANDS)
def test_a_command_finds_the_same_on_ray(tmp_path, monkeypatch, calm, command, line):
    for name, engine in (("one", ()), ("two", ("--ray", calm.address))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.toml").write_text(RECIPE)
        monkeypatch.chdir(tmp_path / name)
        command(*line.split(), *engine)
    one, two = kept(tmp_path / "one"), kept(tmp_path / "two")
    assert len(one) > 1 and one.keys() == two.keys()
    assert [name for name in one if one[name] != two[name]] == []
