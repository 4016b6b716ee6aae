"""Settings of the test run."""

import os

# The reference solutions factor small matrices, on which BLAS threads only wait for each other.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import ids  # noqa: E402, F401 (registers the tasks of the fixtures)
