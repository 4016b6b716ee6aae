"""Settings of the test run."""

import os
import re
import signal
import sys
import tempfile

import pytest

# The reference solutions factor small matrices, on which BLAS threads only wait for each other.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# No window opens and no screen is needed; tests of displays change this themselves.
os.environ.update(SDL_VIDEODRIVER="dummy", MPLBACKEND="agg")

# What it writes beside its examples, of which it keeps none.
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", os.path.join(tempfile.gettempdir(), "gymnosoma-hypothesis"))

# A shell lets what it starts in the background ignore Ctrl-C, which the tests raise.
signal.signal(signal.SIGINT, signal.default_int_handler)

import ids  # noqa: E402, F401 (registers the tasks of the fixtures)


def pytest_collection_modifyitems(config, items):
    """Leave out what is slow, unless the expression after -m speaks of it."""
    if "slow" not in config.option.markexpr:
        slow = [item for item in items if item.get_closest_marker("slow")]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if item not in slow]


@pytest.fixture
def command(monkeypatch):
    """Runs a command line."""
    from gymnosoma.cli import main as cli

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["gymnosoma", *map(str, arguments)])
        cli.main()

    return run


@pytest.fixture
def error_of(command):
    """Runs a command line; gives its error, which must be one line, or its exit code, or None if it ends well."""

    def run(*arguments):
        try:
            command(*arguments)
        except SystemExit as stopped:
            if re.fullmatch("error: .+", str(stopped)):
                assert stopped.code in (1, 2)
                return str(stopped)
            return stopped.code
        return None

    return run
