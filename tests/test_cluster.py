"""What docs/guides/cluster.md rests on: the image, the cluster to start from, the commands they name."""

import functools
import os
import platform
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import gymnosoma
from gymnosoma.cli import main as cli

ROOT = Path(gymnosoma.__file__).resolve().parents[1]
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
GUIDE = (ROOT / "docs" / "guides" / "cluster.md").read_text("utf-8")
CLUSTER = (ROOT / "cluster.yaml").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


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
    assert needed | {"pyproject.toml", "README.md", "constraints.txt"} == given


MET = """
import sys
import llvmlite.binding as llvm
llvm.get_host_cpu_name = lambda: sys.argv[1]
from gymnosoma.envs.core.kernels.jit import asinh
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
