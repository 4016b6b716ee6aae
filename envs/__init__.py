"""The environments."""

if __name__ != "gymnosoma.envs":
    raise ImportError(
        f"this package was imported as {__name__!r}: import it as 'gymnosoma.envs' (pip install -e .). Under two names "
        "the compiled kernels would be mixed up in numba's cache."
    )

from .core.simulate import Trajectory, simulate

__all__ = ["Trajectory", "simulate"]
