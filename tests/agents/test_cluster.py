"""Jobs on two Ray nodes of one machine: a node, the command, or all of it ends in the middle."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from pieces import lock, mark_and_wait, marked
from runs import curve

import gymnosoma
from gymnosoma.agents.benchmark import entrants, results
from gymnosoma.agents.learning.training import TrainConfig, train, train_all
from gymnosoma.agents.support.files import locked
from gymnosoma.agents.support.workers import RayExecutor, run_jobs, workers

ray = pytest.importorskip("ray")
psutil = pytest.importorskip("psutil")  # comes with Ray
pytestmark = [pytest.mark.full, pytest.mark.skipif(os.name == "nt", reason="Ray has no cluster on Windows")]

ROOT = Path(gymnosoma.__file__).resolve().parents[1]
SWIM = "gymnosoma/WormSwim-v0"
WILD = Path(__file__).parents[1] / "fixtures" / "wild.toml"
BENCHMARK = (
    "benchmark run WormSwim-v0 --policy zero baseline --learner recipe fixtures.learner:hold --seeds 2 --marks 9000 "
    "--episodes 4 --folder b"
)
NODE = {"num_cpus": 1, "node_ip_address": "127.0.0.1"}


@pytest.fixture(scope="module")
def cluster():
    """Two nodes with one core each, which listen to this machine only and leave the user's clusters alone."""
    from ray.cluster_utils import Cluster

    paths = [str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(prefix="ray") as folder:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
        patch.setenv("RAY_TMPDIR", folder)
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # Ray's name for 127.0.0.1; of this process:
        patch.setattr(ray._private.ray_constants, "ENABLE_RAY_CLUSTER", False)
        nodes = Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
        nodes.add_node(**NODE)
        yield nodes
        nodes.shutdown()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Results of the benchmark in one process."""
    folder = tmp_path_factory.mktemp("undisturbed")
    end(begin(folder, BENCHMARK), folder)
    return lines_of(folder)


def lines_of(folder):
    """Lines of the results, without CPU seconds, which differ between two undisturbed runs."""
    return [{**vars(line), "seconds": None} for line in results.read(folder / "b" / "results.jsonl")]


def begin(folder, command):
    """A command in a folder, in a process of its own."""
    with (folder / "said").open("a") as said:
        command = [sys.executable, ROOT / "train.py", *command.split()]
        return subprocess.Popen(command, cwd=folder, stdout=said, stderr=said)


def end(process, folder, code=0):
    assert process.wait(500) == code, (folder / "said").read_text()[-3000:]


def wait_for(found, deadline=500.0):
    """What a function finds, as soon as it finds something."""
    until = time.monotonic() + deadline
    while not (something := found()):
        assert time.monotonic() < until
        time.sleep(0.02)
    return something


def busy():
    """Processes of this test's clusters that run a job."""
    found = []
    for each in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # it has ended
            found += [each] * ("ray::_on_node" in " ".join(each.cmdline()))
    return found


def jobs_of(node):
    """Processes of a node."""
    return psutil.Process(node.all_processes["raylet"][0].process.pid).children(recursive=True)


def second_node(cluster):
    return next(each for each in cluster.list_all_nodes() if each is not cluster.head_node)


def remove_node(cluster):
    """Kill the node without the head and its jobs at once, as a power cut does, and start another."""
    node = second_node(cluster)
    jobs = jobs_of(node)
    for each in jobs:
        with suppress(psutil.NoSuchProcess):  # it has ended
            each.suspend()
    cluster.remove_node(node, allow_graceful=False)
    for each in jobs:
        with suppress(psutil.NoSuchProcess):
            each.kill()
    cluster.add_node(**NODE)


def wait_for_nodes(executor, folder):
    """Wait until both nodes take jobs; a node that has just started gets none."""
    folder.mkdir()
    futures = [executor.submit(mark_and_wait, folder, name) for name in "ab"]
    wait_for(lambda: len([*folder.iterdir()]) == 2)
    (folder / "go").touch()
    assert [future.result(60) for future in futures] == ["A", "B"]


def test_results_equal_those_of_one_process_also_if_the_command_is_killed(cluster, undisturbed, tmp_path):
    command = f"{BENCHMARK} --ray {cluster.address}"
    process = begin(tmp_path, command)
    lines = tmp_path / "b" / "lines"
    before = wait_for(lambda: {file: file.stat().st_mtime_ns for file in lines.glob("Worm*.jsonl")})
    process.kill()
    end(process, tmp_path, -signal.SIGKILL)
    wait_for(lambda: not busy())  # Ray ends the jobs
    assert len(before) < len(undisturbed)
    end(begin(tmp_path, command), tmp_path)
    assert lines_of(tmp_path) == undisturbed and len(undisturbed) == 6
    assert before.items() <= {file: file.stat().st_mtime_ns for file in lines.iterdir()}.items()
    end(begin(tmp_path, f"benchmark check b/results.jsonl --trust --ray {cluster.address}"), tmp_path)


def test_jobs_of_a_removed_node_run_on_another(cluster, tmp_path, capsys):
    names = ("a", "b", "c", "d")
    with workers(ray=cluster.address) as executor:
        futures = {name: executor.submit(mark_and_wait, tmp_path, name) for name in names}
        wait_for(lambda: len([*tmp_path.iterdir()]) == 2)
        remove_node(cluster)
        (tmp_path / "go").touch()
        assert [futures[name].result(300) for name in names] == ["A", "B", "C", "D"]
        lines = wait_for(lambda: capsys.readouterr().err, 30.0).splitlines()
    assert lines == ["node 127.0.0.1 has left the cluster (2 remain); its jobs start again on another"]
    assert sorted((tmp_path / name).read_text().count("begun") for name in names) == [1, 1, 1, 2]


def test_a_training_continues_from_its_checkpoint_on_another_node(cluster, tmp_path):
    settings = {"steps": 24_000, "checkpoint": 2000, "recipe": WILD}
    runs = {tmp_path / str(seed): TrainConfig(seed=seed, **settings) for seed in range(2)}

    def trained():
        """Whether a training of the second node, which locks its folder, has written a checkpoint and events."""
        own = set()
        for each in jobs_of(second_node(cluster)):
            with suppress(psutil.Error):  # it has ended
                own.update(Path(file.path) for file in each.open_files())
        return any(run / ".lock" in own and (run / "config.json").is_file() and [*run.rglob("events*")] for run in runs)

    with workers(ray=cluster.address) as executor, ThreadPoolExecutor(1) as thread:
        wait_for_nodes(executor, tmp_path / "nodes")
        ended = thread.submit(train_all, SWIM, runs, executor)
        wait_for(trained)
        remove_node(cluster)
        ended.result(500)
    assert sorted(len([*(run / "tensorboard").rglob("events*")]) for run in runs) == [1, 2]  # one was resumed
    for run, config in runs.items():
        alone = tmp_path / f"alone-{run.name}"
        train(SWIM, alone, config)
        assert curve(run) == curve(alone)
        assert (run / "policy.safetensors").read_bytes() == (alone / "policy.safetensors").read_bytes()


def test_seeds_train_on_a_cluster(cluster, tmp_path):
    end(
        begin(tmp_path, f"train WormSwim-v0 --seeds 2 --steps 4000 --episodes 2 --folder r --ray {cluster.address}"),
        tmp_path,
    )
    assert all((tmp_path / f"r-{seed}" / "evaluation.json").is_file() for seed in range(2))


def test_jobs_that_fail_or_die(cluster, tmp_path):
    names = ("a", "fails", "dies", "dies once")
    with workers(ray=cluster.address) as executor:
        outcomes = run_jobs(executor, marked, {name: (tmp_path, name) for name in names}, "job")
    assert [outcomes[name].value for name in names] == ["A", None, None, "DIES ONCE"]
    assert outcomes["fails"].error == "ValueError: two lines" and "worker died" in outcomes["dies"].error
    assert (tmp_path / "dies").read_text().count("begun") == 3


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_the_command_and_its_jobs(cluster, tmp_path, number, code):
    process = begin(tmp_path, f"{BENCHMARK} --marks 10000000 --ray {cluster.address}")
    wait_for(lambda: len(busy()) == 2)
    process.send_signal(number)
    end(process, tmp_path, code)
    wait_for(lambda: not busy(), 20.0)
    assert "Traceback" not in (tmp_path / "said").read_text()


def test_a_benchmark_needs_no_shared_folder(cluster, tmp_path):
    jobs = entrants.jobs(SWIM, ["zero"], ["fixtures.learner:hold", entrants.RECIPE], 1, [5000], episodes=4)
    absent = tmp_path / "absent"  # as the results folder of another machine
    with RayExecutor(cluster.address) as executor:
        remote = [executor.submit(entrants.run_job, job, absent).result(300) for job in jobs]
    assert not absent.exists()
    for job, result in zip(jobs, remote, strict=True):
        entrants.save_job(job, tmp_path / "b", result)
    results.gather(tmp_path / "b")
    lines = lines_of(tmp_path)
    entrants.run(jobs, tmp_path / "here" / "b")
    assert lines == lines_of(tmp_path / "here") and len(lines) == 3
    assert all((tmp_path / "b" / "weights" / line["weights"]).is_dir() for line in lines if line["mark"])


def test_a_job_waits_for_the_lock_of_a_lost_machine(cluster, tmp_path):
    with RayExecutor(cluster.address) as executor:
        with locked("folder", tmp_path / "run"):
            future = executor.submit(lock, tmp_path)
            wait_for((tmp_path / "begun").exists)
            time.sleep(0.5)
        assert future.result(60) == "locked"


def test_nothing_listens_beyond_this_machine(cluster):
    """Ray runs whatever is sent to its ports; by default they listen to all networks."""
    with workers(ray=cluster.address) as executor:
        assert executor.submit(abs, -3).result(60) == 3
        processes = psutil.Process().children(recursive=True)
        ports = [port for each in processes for port in each.net_connections() if port.status == psutil.CONN_LISTEN]
    assert len(ports) > 3 and {port.laddr.ip.removeprefix("::ffff:") for port in ports} == {"127.0.0.1"}


@pytest.mark.parametrize(
    ("address", "reason"),
    [("127.0.0.1:1", "Connection refused"), ("nohost.invalid:6379", ""), ("127.0.0.1", "Invalid address format")],
)
def test_an_address_without_a_cluster_is_one_line(cluster, tmp_path, error_of, address, reason):
    text = f"error: ray must be the address of a running Ray cluster, got {address!r}: "
    error = error_of("benchmark", "run", "WormSwim-v0", "--policy", "zero", "--folder", tmp_path, "--ray", address)
    assert error.startswith(text) and reason in error


def test_processes_and_a_cluster_exclude_each_other(error_of):
    error = error_of("benchmark", "check", "results.jsonl", "--processes", 2, "--ray", "auto")
    assert error == "error: processes must be left out with ray, got 2"


def test_the_batch_script_of_the_guide_is_understood(tmp_path, command, capsys):
    from ray.scripts.scripts import start
    from ray.scripts.symmetric_run import symmetric_run

    page = (ROOT / "docs" / "guides" / "processes.md").read_text("utf-8")
    (script,) = (block for block in re.findall(r"^```bash\n(.*?)^```", page, re.DOTALL | re.M) if "#SBATCH" in block)
    for name, body in (("srun", 'shift; "$@"'), ("scontrol", "echo first"), ("ray", r'printf "%s\n" "$@"')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    (tmp_path / "venv" / "bin" / "activate").touch()
    sizes = {"SLURM_JOB_NODELIST": "first,second", "SLURM_NNODES": "2", "SLURM_CPUS_PER_TASK": "64"}
    env = {**os.environ, **sizes, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    ran = subprocess.run(
        ["bash", "-eu"], input=script, cwd=tmp_path, env=env, capture_output=True, text=True, check=True
    )
    words = ran.stdout.splitlines()
    (kind, *options), (program, *rest) = words[: words.index("--")], words[words.index("--") + 1 :]
    assert (kind, program) == ("symmetric-run", "gymnosoma")
    values = symmetric_run.make_context(kind, options).params
    assert (values["address"], values["min_nodes"]) == ("first:6379", 2)
    assert start.make_context("start", ["--head", *values["ray_args_and_entrypoint"]]).params["num_cpus"] == 64
    with pytest.raises(SystemExit, match="0"):
        command(*rest[:2], "--help")
    text = capsys.readouterr().out
    assert all(word in text for word in rest if word.startswith("--"))
