"""Environments and models: the catalogue of ids, and simulation without reinforcement learning.

To add a task, write its class in ``<animal>/tasks.py`` and add a line to ``CATALOGUE``.
"""

from __future__ import annotations

if __name__ != "gymnosoma.envs":
    raise ImportError(
        f"this package was imported as {__name__!r}: import it as 'gymnosoma.envs' (pip install -e .). numba's cache "
        "would mix up kernels of a package with two names."
    )

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import gymnasium

from gymnosoma.moved import point_from

from .core.model.animal import ANIMALS

if TYPE_CHECKING:
    from .core.circuit.circuit import Circuit
    from .core.circuit.members import Population, Projection, Sense
    from .core.env.checker import check_vector_env
    from .core.env.task import tolerance
    from .core.model.control import Event, OpenLoop, Schedule
    from .core.model.simulate import simulate
    from .core.model.trajectory import Trajectory

__all__ = [
    "CATALOGUE",
    "CatalogueEntry",
    "Circuit",
    "Event",
    "OpenLoop",
    "Population",
    "Projection",
    "Schedule",
    "Sense",
    "Trajectory",
    "check_vector_env",
    "register",
    "register_model",
    "simulate",
    "tolerance",
]

_PLACES = {
    "core.circuit.circuit": ("Circuit",),
    "core.circuit.members": ("Population", "Projection", "Sense"),
    "core.env.checker": ("check_vector_env",),
    "core.env.task": ("tolerance",),
    "core.model.control": ("Event", "OpenLoop", "Schedule"),
    "core.model.simulate": ("simulate",),
    "core.model.trajectory": ("Trajectory",),
}
"""Names imported on first use, because an environment needs few of them."""


def __getattr__(name: str) -> Any:
    for place, names in _PLACES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{place}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class CatalogueEntry(NamedTuple):
    """Environment that is part of the package.

    Args:
        name: Id without ``gymnosoma/``.
        task: Module in ``gymnosoma.envs`` and class of the task.
        max_episode_steps: Time limit.
        reward_threshold (float or None): Return at which the task counts as solved, between the benchmark's returns of
            the best constant parameters and of the best known policy; None if no known policy beats constant
            parameters, or if these were not searched.
        arguments: Arguments of the environment.
        ranked: Whether the id passes the gates (``docs/gates.csv``) and counts in comparisons over all ids.
    """

    name: str
    task: str
    max_episode_steps: int
    reward_threshold: float | None = None
    arguments: Mapping[str, Any] = {}
    ranked: bool = True


CATALOGUE = (
    CatalogueEntry("WormCrawl-v0", "worm.tasks:Crawl", 400, 80.0),
    CatalogueEntry("WormSwim-v0", "worm.tasks:Swim", 400, 55.0),
    CatalogueEntry("WormReach-v0", "worm.tasks:Reach", 600, 83.0),
    CatalogueEntry("WormEscape-v0", "worm.tasks:Escape", 480, 75.0),
    CatalogueEntry("WormFollow-v0", "worm.tasks:Follow", 601, 280.0),
    CatalogueEntry("WormChemotaxis-v0", "worm.chemotaxis:Chemotaxis", 400, 300.0),
    CatalogueEntry("WormMedium-v0", "worm.media:Medium", 400, 350.0),
    CatalogueEntry("LampreyEconomy-v0", "lamprey.tasks:Economy", 300, 140.0, {"history": 2}),
    CatalogueEntry("LampreyWaypoints-v0", "lamprey.tasks:Waypoints", 1000, 1050.0),
    CatalogueEntry("LampreyEscape-v0", "lamprey.tasks:Escape", 200, 270.0),
    CatalogueEntry("WhiskerLocalize-v0", "whisker_chain.tasks:Localize", 150, 0.67),
    CatalogueEntry("WhiskerTap-v0", "whisker_chain.tasks:Tap", 600, 85.0),
    CatalogueEntry("WhiskerHold-v0", "whisker_chain.tasks:Hold", 500, 380.0),
    CatalogueEntry("WhiskerWhisk-v0", "whisker_chain.tasks:Whisk", 500, 450.0),
    CatalogueEntry("WhiskerSweep-v0", "whisker_rod.tasks:Sweep", 500, 370.0, {"history": 3}),
    CatalogueEntry("WhiskerRegulate-v0", "whisker_rod.tasks:Regulate", 500, 322.0),
    CatalogueEntry("WhiskerTexture-v0", "whisker_rod.tasks:Texture", 500, 7.0),
    CatalogueEntry("HindlimbHold-v0", "neuromechanic.tasks:HindlimbHold", 500, 350.0),
    CatalogueEntry("StandGains-v0", "neuromechanic.tasks:StandGains", 280, 160.0),
)

ANIMALS |= {
    "worm": "gymnosoma.envs.worm.animal:Worm",
    "lamprey": "gymnosoma.envs.lamprey.animal:Lamprey",
    "whisker_chain": "gymnosoma.envs.whisker_chain.animal:Whisker",
    "whisker_rod": "gymnosoma.envs.whisker_rod.animal:WhiskerRod",
    "neuromechanic": "gymnosoma.envs.neuromechanic.animal:Neuromechanic",
}


def register(
    env_id: str, task: str, max_episode_steps: int, reward_threshold: float | None = None, **arguments: Any
) -> None:
    """Register an environment for your own task.

    Args:
        env_id: Id such as ``"gymnosoma/MyTask-v0"``. Ids that start with ``gymnosoma/`` can be trained and evaluated
            like those of the package.
        task: Module and class, such as ``"my_package.tasks:MyTask"``. Its reference controllers are read from the table
            ``REFERENCES`` of ``my_package.controllers``, if that has an entry for the class.
        max_episode_steps: Time limit.
        reward_threshold: Return at which the task counts as solved.
        **arguments: Arguments of the environment.
    """
    gymnasium.register(
        env_id,
        entry_point="gymnosoma.envs.core.env.environment:BodyEnv",
        vector_entry_point="gymnosoma.envs.core.env.vector:BodyVectorEnv",
        max_episode_steps=max_episode_steps,
        reward_threshold=reward_threshold,
        kwargs={"task": task, **arguments},
    )


def register_model(env_id: str, model: str | Path | Mapping[str, Any], steps: int = 200, **arguments: Any) -> None:
    """Register an environment for your own musculoskeletal model.

    Args:
        env_id: Id such as ``"gymnosoma/MyArm-v0"``. Ids that start with ``gymnosoma/`` can be trained and evaluated
            like those of the package.
        model (path of a TOML file, or mapping): See `gymnosoma.envs.neuromechanic.load`.
        steps: Time limit.
        **arguments: Arguments of the task `gymnosoma.envs.neuromechanic.tasks.Pose`: ``joint`` and ``goal``, ``fixed``
            (joints to hold), ``ranges`` (``"end"``, ``"limit"`` or ``"ignore"``), and others.
    """
    register(env_id, "gymnosoma.envs.neuromechanic.tasks:Pose", steps, model=model, **arguments)


for _name, _task, _limit, _threshold, _arguments, _ in CATALOGUE:
    register(f"gymnosoma/{_name}", f"gymnosoma.envs.{_task}", _limit, _threshold, **_arguments)

point_from(__name__)
