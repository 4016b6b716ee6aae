"""What docs/guides/cluster.md rests on: the plan, the image, the cluster to start from, the commands they name."""

import functools
import json
import os
import platform
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from dataclasses import asdict
from pathlib import Path

import pytest
import yaml

import gymnosoma
from gymnosoma.agents.commands import main as cli
from gymnosoma.agents.evaluation.jobs import jobs_of
from gymnosoma.envs import CATALOGUE

ROOT = Path(gymnosoma.__file__).resolve().parents[1]
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
GUIDE = (ROOT / "docs" / "guides" / "cluster.md").read_text("utf-8")
CLUSTER = (ROOT / "cluster.yaml").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


@pytest.fixture(scope="module")
def plan():
    return runpy.run_path(str(ROOT / "docs" / "cluster_plan.py"), run_name="plan")


def test_the_plan_in_the_guide_is_that_of_the_script(plan):
    pieces = plan["read"](plan["TIMES"].read_text("utf-8"))
    assert plan["written"](pieces) == plan["TIMES"].read_text("utf-8")
    assert {piece.id for piece in pieces} == {entry.name for entry in CATALOGUE}
    assert plan["table"](pieces) in GUIDE and plan["in_guide"](GUIDE, plan["table"](pieces)) == GUIDE


def test_work_is_spread_over_cores(plan):
    makespan = plan["makespan"]
    assert makespan([1.0] * 4, 2, task=0.0, start=0.5) == 2.5 and makespan([3.0, 1.0, 1.0, 1.0], 2, 0.0, 0.0) == 3.0
    assert makespan([0.01] * 1000, 1000, task=0.1, start=0.0) == pytest.approx(100.01)  # the scheduler is the limit


def test_the_plan_takes_its_times_from_a_benchmark(plan, tmp_path):
    """Of one id; the rest is as there, and says so."""
    for job in jobs_of("gymnosoma/WormSwim-v0", trainings=2):
        result = {"job": asdict(job), "scores": [0.0] * 256, "seconds": 2.0}
        if job.training is not None:
            result |= {"curve": {"steps": [2e5, 4e5], "seconds": [10.0, 20.0]}, "validation": 0.0}
            job.run(tmp_path).mkdir(parents=True)
            (job.run(tmp_path) / "checkpoint.zip").write_bytes(b"1234")
        job.file(tmp_path).parent.mkdir(parents=True, exist_ok=True)
        job.file(tmp_path).write_text(json.dumps(result))
    pieces = plan["measured"](tmp_path)
    found = {(piece.id, piece.policy): piece[2:] for piece in pieces}
    assert found["WormSwim-v0", "random"] == (1, 2.0, 0.0, "measured")
    assert found["WormSwim-v0", "trained"] == (5, 20.0 + 2.0 * (1 + 128 / 256), 4 * 4.0, "measured")
    assert found["WormSwim-v0", "trial"] == (20, 10.0 + 2.0 * 64 / 256, 0.0, "measured")
    assert found["WormSwim-v0", "best constant"][1] > 5.0
    assert found["WormMedium-v0", "trained"] == (5, 23.0, 16.0, "as worm")
    assert found["WhiskerTap-v0", "trained"] == (5, 23.0, 16.0, "as all")
    assert found["WormTransition-v0", "oracle"] == (1, 2.0, 0.0, "as worm")
    assert "WormSwim-v0" not in plan["absent"](pieces) and "WormMedium-v0" in plan["absent"](pieces)
    with pytest.raises(ValueError, match="folder must hold results of a benchmark with 'trial', got none"):
        plan["measured"](tmp_path / "none")


def runs():
    """Commands of the Dockerfile, each as words."""
    whole = DOCKERFILE.replace("\\\n", " ")
    return [shlex.split(step) for line in re.findall(r"^RUN (.*)$", whole, re.MULTILINE) for step in line.split("&&")]


def test_the_image_has_what_the_package_asks():
    python = re.search(r"^FROM .*python:([\d.]+)-slim$", DOCKERFILE, re.MULTILINE)[1]
    assert f"Programming Language :: Python :: {python}" in PROJECT["classifiers"]
    [pip] = [command for command in runs() if command[:2] == ["pip", "install"]]
    extras = re.findall(r"/opt/gymnosoma\[(.*?)\]", " ".join(pip))[0].split(",")
    assert set(extras) <= set(PROJECT["optional-dependencies"])
    pins = dict(re.findall(r"^(\S+?)==(\S+)$", (ROOT / "constraints.txt").read_text("utf-8"), re.MULTILINE))
    plain = [word for word in pip[2:] if not word.startswith(("-", "/"))]
    assert "/opt/gymnosoma/constraints.txt" in pip and {word.partition("[")[0] for word in plain} <= set(pins)


def test_the_image_gets_what_an_installation_reads():
    lines = [line for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if not line.startswith("#")]
    given = {line[1:] for line in lines if line.startswith("!")}
    assert lines[0] == "*" and all((ROOT / name).exists() for name in given)
    needed = {path.partition("/")[0] for path in PROJECT["license-files"]} | {"gymnosoma", "envs", "agents", "assets"}
    assert needed | {"pyproject.toml", "setup.py", "README.md", "constraints.txt"} == given


MET = """
import sys
import llvmlite.binding as llvm
llvm.get_host_cpu_name = lambda: sys.argv[1]
from gymnosoma.envs.core.jit import asinh
print(asinh(0.5))
"""
"""A program on a machine that says that it has another CPU."""


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="the image is for these")
def test_kernels_of_the_image_serve_other_cpus(tmp_path):
    given = shlex.split(re.search(r"^ENV (NUMBA.*)$", DOCKERFILE, re.MULTILINE)[1])
    image = dict(pair.split("=", 1) for pair in given)
    compiled, printed = [], set()
    for folder, env in (("own", {}), ("image", image)):
        for cpu in ("x86-64", "x86-64-v2"):
            env = {**os.environ, **env, "NUMBA_CACHE_DIR": str(tmp_path / folder)}
            done = subprocess.run([sys.executable, "-c", MET, cpu], env=env, capture_output=True, text=True, check=True)
            printed.add(done.stdout)
            compiled.append(len(list((tmp_path / folder).rglob("*.nbc"))))
    assert compiled[1] == 2 * compiled[0] > 0 and compiled[3] == compiled[2] > 0 and len(printed) == 1


def test_the_cluster_has_what_ray_asks():
    cluster = yaml.safe_load(CLUSTER)
    assert {"cluster_name", "provider", "auth"} <= set(cluster)
    assert cluster["provider"]["type"] == "local" and {"head_ip", "worker_ips"} <= set(cluster["provider"])
    assert {"image", "container_name"} <= set(cluster["docker"])
    shared = re.search(r"^WORKDIR (\S+)$", DOCKERFILE, re.MULTILINE)[1]
    mount, secret = cluster["docker"]["run_options"]
    assert mount.split(":")[-1] == shared and f"RAY_AUTH_TOKEN_PATH={shared}/" in secret
    util = pytest.importorskip("ray.autoscaler._private.util")
    pytest.importorskip("jsonschema")
    util.validate_config(util.prepare_config(cluster))


def commands():
    """Command lines of this program that the guide, the image and the cluster name."""
    shell = "".join(re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL))
    names = "|".join(cli.COMMANDS)
    for text in (shell, DOCKERFILE, CLUSTER):
        for line in re.findall(rf"(?:gymnosoma|train\.py) ((?:{names})\b[^&\"\n]*)", text.replace("\\\n", " ")):
            yield line.partition(" #")[0].strip()


def test_commands_are_found():
    assert len(set(commands())) > 4


@pytest.mark.parametrize("line", sorted(set(commands())))
def test_commands_can_be_given(monkeypatch, line):
    name = line.split()[0]
    given = []

    @functools.wraps(cli.COMMANDS[name])
    def command(*args, **kwargs):
        given.append((args, kwargs))

    monkeypatch.setitem(cli.COMMANDS, name, command)
    monkeypatch.setattr(sys, "argv", ["gymnosoma", *shlex.split(line)])
    cli.main()
    assert len(given) == 1
