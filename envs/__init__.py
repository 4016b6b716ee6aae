"""The environments: the catalogue of ids, and the models without reinforcement learning.

To add a task, write its class in ``<animal>/tasks.py`` and add a line to ``CATALOGUE``.
"""

from __future__ import annotations

if __name__ != "gymnosoma.envs":
    raise ImportError(
        f"this package was imported as {__name__!r}: import it as 'gymnosoma.envs' (pip install -e .). Under two names "
        "the compiled kernels would be mixed up in numba's cache."
    )

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium

from .core.check import check_vector_env
from .core.simulate import Trajectory, simulate
from .core.task import tolerance

__all__ = ["CATALOGUE", "Trajectory", "check_vector_env", "register_model", "simulate", "tolerance"]

CATALOGUE: tuple[tuple[str, str, int, float | None, dict[str, Any]], ...] = (
    # id, task, time limit in steps, reward that counts as solved, arguments
    ("WormCrawl-v0", "worm.tasks:Crawl", 400, 200.0, {}),
    ("WormSwim-v0", "worm.tasks:Swim", 400, 135.0, {}),
    ("WormMedium-v0", "worm.tasks:Medium", 400, 150.0, {"history": 4}),
    ("WormReach-v0", "worm.tasks:Reach", 600, 60.0, {}),
    ("WormEscape-v0", "worm.tasks:Escape", 480, 3.0, {}),
    ("WormFollow-v0", "worm.tasks:Follow", 601, 550.0, {}),
    ("LampreySprint-v0", "lamprey.tasks:Sprint", 250, 800.0, {}),
    ("LampreyEconomy-v0", "lamprey.tasks:Economy", 250, 250.0, {}),
    ("LampreyWaypoints-v0", "lamprey.tasks:Waypoints", 600, 1000.0, {}),
    ("LampreyEscape-v0", "lamprey.tasks:Escape", 100, 200.0, {}),
    ("LampreySpeed-v0", "lamprey.tasks:Speed", 400, 300.0, {"history": 4}),
    ("WhiskerLocalize-v0", "whisker_chain.tasks:Localize", 150, 0.7, {}),
    ("WhiskerDetect-v0", "whisker_chain.tasks:Detect", 100, 0.46, {}),
    ("WhiskerTap-v0", "whisker_chain.tasks:Tap", 100, 0.9, {}),
    ("WhiskerHold-v0", "whisker_chain.tasks:Hold", 500, 480.0, {}),
    ("WhiskerWhisk-v0", "whisker_chain.tasks:Whisk", 500, 470.0, {}),
    ("WhiskerTexture-v0", "whisker_rod.tasks:Texture", 250, 0.8, {}),
    ("WhiskerSweep-v0", "whisker_rod.tasks:Sweep", 500, 490.0, {}),
    ("WhiskerRegulate-v0", "whisker_rod.tasks:Regulate", 500, 400.0, {}),
    ("HindlimbHold-v0", "neuromechanic.tasks:HindlimbHold", 500, 482.0, {}),
    ("StandPulse-v0", "neuromechanic.tasks:StandPulse", 400, 380.0, {}),
    ("StandGains-v0", "neuromechanic.tasks:StandGains", 80, 70.0, {}),
)


def _register(env_id: str, task: str, limit: int, threshold: float | None, arguments: dict[str, Any]) -> None:
    gymnasium.register(
        env_id,
        entry_point="gymnosoma.envs.core.batch:BodyEnv",
        vector_entry_point="gymnosoma.envs.core.batch:BodyVectorEnv",
        max_episode_steps=limit,
        reward_threshold=threshold,
        kwargs={"task": task, **arguments},
    )


def register_model(env_id: str, model: str | Path | Mapping[str, Any], steps: int = 200, **arguments: Any) -> None:
    """Register an environment for a musculoskeletal model of your own.

    Parameters
    ----------
    env_id : str
        Such as ``"gymnosoma/MyArm-v0"``; ids that begin so can be trained and measured like all others.
    model : path of a TOML file, or mapping
        See `gymnosoma.envs.neuromechanic.load`.
    steps : int
        Time limit.
    **arguments
        Of the task `gymnosoma.envs.neuromechanic.tasks.Pose`, such as ``joint=`` and ``goal=``.
    """
    _register(env_id, "neuromechanic.tasks:Pose", steps, None, {"model": model, **arguments})


for _name, _task, _limit, _threshold, _arguments in CATALOGUE:
    _register(f"gymnosoma/{_name}", _task, _limit, _threshold, _arguments)
