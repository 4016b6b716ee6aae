"""What must hold whatever hypothesis thinks of: how many examples it may think of is a matter of the tier."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

DEFAULT, SLOW = 1, 35
"""How many times the examples of the default run; only the slow ones are others every time."""

TIERS = pytest.mark.parametrize(
    "tier",
    [
        pytest.param(DEFAULT, id="default"),
        pytest.param(SLOW, id="slow", marks=pytest.mark.slow),
    ],
)


def holds(check, tier, examples, **strategies):
    """Assert that ``check`` holds for examples of what it takes."""
    chosen = settings(
        max_examples=tier * examples,
        derandomize=tier < SLOW,
        database=None,
        deadline=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )
    chosen(given(**strategies)(check))()


def refusal(error, *words):
    """Assert that an error is a line with these words."""
    line = str(error)
    assert line and len(line.splitlines()) == 1 and len(line) < 2000, line
    for word in words:
        assert word in line, line


def refuse(make, *words):
    """Assert that a call raises ValueError in a line with these words."""
    with pytest.raises(ValueError) as caught:
        make()
    refusal(caught.value, *words)


def contents(env):
    """All that an environment's future depends on, to be compared: field by field, as records may have gaps."""
    found = {}
    for name, part in env.save().items():
        if not isinstance(part, np.ndarray):
            found[name] = repr(part)
        else:
            fields = part.dtype.names or [...]
            found |= {f"{name}: {field}": np.ascontiguousarray(part[field]).tobytes() for field in fields}
    return found
