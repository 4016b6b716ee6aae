"""The image and the cluster of docs/guides/cluster.md."""

import os
import platform
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")


MET = """
import sys
import llvmlite.binding as llvm
llvm.get_host_cpu_name = lambda: sys.argv[1]
from gymnosoma.envs.core.kernels.jit import asinh
print(asinh(0.5))
"""
"""A program on a machine that says that it has another CPU."""


@pytest.mark.slow
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
