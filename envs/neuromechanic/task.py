"""Base class for tasks of musculoskeletal models."""

from __future__ import annotations

from ..core.env.task import Task
from ..core.kernels.jit import kernel
from .animal import Neuromechanic


@kernel
def move_on(history):
    """Shift a history (moments, n) by one towards the oldest, so that the last entry can be overwritten."""
    for k in range(len(history) - 1):
        for i in range(history.shape[1]):
            history[k, i] = history[k + 1, i]


class NeuromechanicTask(Task):
    """Base class for tasks of musculoskeletal models; subclasses add observations, reward and endings.

    ## Version History

    * v0: first version
    """

    animal: Neuromechanic
    control_rate = 100.0
    drives = True
    arguments = {
        **Task.arguments,
        "scheme": "``semi_implicit``, or the paper's ``rk4``",
        "dt": "time step, s",
        "params": "changes to the model: a mapping such as "
        '``{"body": {"torso": {"inertial": {"mass": 40.0}}}}``, or the path of a TOML file with the same keys',
    }
