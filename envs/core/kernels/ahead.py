"""Compilation of an animal's step in a second process, while this process compiles other large kernels.

Both processes write the cache on disk, with a lock for each kernel. This process compiles what the other does not.
"""

from __future__ import annotations

import atexit
import json
import multiprocessing
import os
import pickle
import re
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from .compiling import Missing, only_loading

CODE = """
import json, pickle, sys
sys.path[:] = json.loads(sys.argv[1])
animal, count = pickle.load(sys.stdin.buffer)
animal.compile(count)
"""
"""Program of the second process, which does not import the main module of this process."""


_STARTED: set[Any] = set()


def compile_ahead(animal: Any, count: int) -> None:
    """Compile the step of an animal for ``count`` rows in a second process, which ends with this one.

    Nothing happens if the kernel is in the cache, with a single processor, or in a worker process, since workers of a
    pool compile at the same time. A process starts once for each class of animals. Failures are ignored.
    """
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    embedded = not re.match("python", Path(sys.executable or "").name)  # other programs do not take this code
    if processors < 2 or embedded or multiprocessing.parent_process() or type(animal) in _STARTED:
        return
    try:
        with only_loading():
            animal.compile(count)
    except Missing:
        _STARTED.add(type(animal))
        with suppress(Exception):
            content, command = pickle.dumps((animal, count)), [sys.executable, "-c", CODE, json.dumps(sys.path)]
            pipe, null = subprocess.PIPE, subprocess.DEVNULL
            process = subprocess.Popen(command, stdin=pipe, stdout=null, stderr=null)
            atexit.register(process.kill)
            threading.Thread(target=process.communicate, args=(content,), daemon=True).start()
