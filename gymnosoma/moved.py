"""Names that moved or are gone, so that the error of an older program says where they are.

`MOVED` has them by the version that moved them; they stay for one minor version. To add one, write a line there. A
module that had the name calls `point_from` at its end, and a class that had it is decorated with `points`.
"""

from __future__ import annotations

import sys
from typing import Any, TypeVar

MOVED = {
    "1.0": {
        # Modules.
        "gymnosoma.agents.evaluation": "now gymnosoma.agents.policies and gymnosoma.agents.benchmark",
        "gymnosoma.agents.learning.tuning": "gone: examples/optuna_recipe.py in a clone tunes a recipe with Optuna",
        "gymnosoma.agents.showing": "now gymnosoma.films",
        "gymnosoma.agents.training": "now gymnosoma.agents.learning.training",
        "gymnosoma.biomechanics.delays": "now gymnosoma.biomechanics.feedback",
        "gymnosoma.biomechanics.parts": "now gymnosoma.biomechanics.importer",
        "gymnosoma.biomechanics.regulation": "now gymnosoma.biomechanics.feedback",
        "gymnosoma.envs.core.canvas": "now gymnosoma.envs.core.draw.canvas",
        "gymnosoma.envs.core.describe": "now gymnosoma.envs.core.env.documentation",
        "gymnosoma.envs.core.env.distributions": "gone: use frozen distributions of scipy.stats",
        "gymnosoma.envs.core.env.spec": "now gymnosoma.envs.core.env.task",
        "gymnosoma.envs.core.environment": "now gymnosoma.envs.core.env.environment",
        "gymnosoma.envs.core.kernels.noise": "now gymnosoma.envs.core.kernels.maths",
        "gymnosoma.envs.core.kernels.records": "now gymnosoma.envs.core.kernels.lanes",
        "gymnosoma.envs.core.kernels.stepper": "now gymnosoma.envs.core.kernels.lanes",
        "gymnosoma.envs.core.kernels.sums": "now gymnosoma.envs.core.kernels.maths",
        "gymnosoma.envs.core.spec": "now gymnosoma.envs.core.env.task",
        "gymnosoma.envs.core.task": "now gymnosoma.envs.core.env.task",
        "gymnosoma.envs.lamprey.isolated": "now gymnosoma.envs.lamprey.animal",
        "gymnosoma.envs.neuromechanic.build": "now gymnosoma.envs.neuromechanic.model.build",
        "gymnosoma.envs.neuromechanic.curves": "now gymnosoma.envs.neuromechanic.model.build",
        "gymnosoma.envs.neuromechanic.equilibrium": "now gymnosoma.envs.neuromechanic.analysis",
        "gymnosoma.envs.neuromechanic.inverse": "now gymnosoma.biomechanics",
        "gymnosoma.envs.neuromechanic.keys": "now gymnosoma.envs.neuromechanic.model.tables",
        "gymnosoma.envs.neuromechanic.layout": "now gymnosoma.envs.neuromechanic.model.layout",
        "gymnosoma.envs.neuromechanic.modules": "now gymnosoma.envs.neuromechanic.nerves",
        "gymnosoma.envs.neuromechanic.mujoco": "now gymnosoma.biomechanics.mujoco",
        "gymnosoma.envs.neuromechanic.opensim": "now gymnosoma.biomechanics.opensim",
        "gymnosoma.envs.neuromechanic.reader": "now gymnosoma.envs.neuromechanic.model.reader",
        "gymnosoma.envs.neuromechanic.regulation": "now gymnosoma.biomechanics.feedback",
        "gymnosoma.envs.whisker_chain.linear": "now gymnosoma.envs.whisker_chain.analysis",
        "gymnosoma.envs.whisker_chain.statics": "now gymnosoma.envs.whisker_chain.analysis",
        "gymnosoma.envs.worm.fit": "now gymnosoma.recordings.medium",
        "gymnosoma.envs.worm.forces": "now gymnosoma.recordings.forces",
        "gymnosoma.envs.worm.midlines": "now gymnosoma.recordings.midlines",
        # Names in modules.
        "gymnosoma.agents.Constant": "now gymnosoma.agents.ConstantAgent",
        "gymnosoma.agents.Controlled": "now gymnosoma.agents.ControllerAgent",
        "gymnosoma.agents.Random": "now gymnosoma.agents.RandomAgent",
        "gymnosoma.agents.Trained": "now gymnosoma.agents.load_policy",
        "gymnosoma.agents.TrainedAgent": "now gymnosoma.agents.load_policy",
        "gymnosoma.agents.film": "now gymnosoma.films.film",
        "gymnosoma.agents.benchmark.entrants.Piece": "now gymnosoma.agents.benchmark.entrants.Job",
        "gymnosoma.agents.benchmark.entrants.do": "now gymnosoma.agents.benchmark.entrants.run_job",
        "gymnosoma.agents.learning.training.Training": "gone: call gymnosoma.agents.learning.training.train",
        "gymnosoma.agents.policies.fingerprints.of_files": "now gymnosoma.agents.policies.fingerprints.files_digest",
        "gymnosoma.agents.policies.fingerprints.of_id": "now gymnosoma.agents.policies.fingerprints.env_fingerprint",
        "gymnosoma.agents.policies.fingerprints.of_values": "now gymnosoma.agents.policies.fingerprints.values_digest",
        "gymnosoma.biomechanics.search_gains": "gone: gymnosoma.biomechanics.lqr designs feedback",
        "gymnosoma.envs.Choice": "gone: pass a frozen distribution of scipy.stats, such as rv_discrete",
        "gymnosoma.envs.LogUniform": "gone: pass scipy.stats.loguniform(low, high)",
        "gymnosoma.envs.Normal": "gone: pass scipy.stats.norm(mean, deviation)",
        "gymnosoma.envs.Uniform": "gone: pass the pair (low, high)",
        "gymnosoma.envs.core.circuit.Circuit": "now gymnosoma.envs.Circuit",
        "gymnosoma.envs.core.circuit.Population": "now gymnosoma.envs.Population",
        "gymnosoma.envs.core.circuit.Projection": "now gymnosoma.envs.Projection",
        "gymnosoma.envs.core.circuit.Sense": "now gymnosoma.envs.Sense",
        "gymnosoma.envs.lamprey.Cord": "now gymnosoma.envs.Circuit",
        "gymnosoma.envs.lamprey.EdgeSynapse": "now gymnosoma.envs.Projection",
        "gymnosoma.envs.lamprey.Neuron": "now gymnosoma.envs.Population",
        "gymnosoma.envs.lamprey.Synapse": "now gymnosoma.envs.Projection",
        "gymnosoma.envs.lamprey.analysis.swim": "gone from the package: papers.lamprey.measures.swim in a clone",
        "gymnosoma.envs.neuromechanic.COM": "gone: write a gymnosoma.envs.neuromechanic.Module",
        "gymnosoma.envs.neuromechanic.analysis.characteristic_roots": "now gymnosoma.biomechanics.characteristic_roots",
        "gymnosoma.envs.neuromechanic.analysis.input_matrix": "now gymnosoma.biomechanics.input_matrix",
        "gymnosoma.envs.whisker_chain.RecordedBase": "now gymnosoma.recordings.RecordedBase",
        "gymnosoma.envs.whisker_chain.free_forces": "now gymnosoma.recordings.free_forces",
        "gymnosoma.envs.worm.Kymogram": "now gymnosoma.recordings.Kymogram",
        "gymnosoma.envs.worm.Midlines": "now gymnosoma.recordings.Midlines",
        "gymnosoma.envs.worm.fit_medium": "now gymnosoma.recordings.fit_medium",
        "gymnosoma.recordings.RelaxationFit": "gone: gymnosoma.recordings.fit_medium fits beating worms",
        "gymnosoma.recordings.Study": "gone: gymnosoma fit writes the same summary",
        "gymnosoma.recordings.fit_relaxation": "gone: gymnosoma.recordings.fit_medium fits beating worms",
        "gymnosoma.recordings.identify_chain": "gone from the package: examples/hair_material.py in a clone",
        "gymnosoma.recordings.identify_rod": "gone from the package: examples/hair_material.py in a clone",
        "gymnosoma.recordings.study_vibrissa": "gone: call gymnosoma.recordings.free_forces",
        "gymnosoma.recordings.study_worms": "gone: call fit_medium and forces of gymnosoma.recordings",
        # Attributes of classes.
        "BodyEnv.simulation": "now BodyEnv.batch",
        "BodyVectorEnv.simulation": "now BodyVectorEnv.batch",
        "Lamprey.joint_forces": "now Lamprey.joint_force",
        "Neuromechanic.integrate": "gone: call gymnosoma.envs.simulate",
        "Swimming.edge_cells": "gone from the package: papers.lamprey.measures.Swimming in a clone",
        "Swimming.turn_rate": "gone from the package: papers.lamprey.measures.Swimming in a clone",
        "Swimming.wavelength": "gone from the package: papers.lamprey.measures.Swimming in a clone",
        "Task.informs": "now Task.info_fields",
        "Task.observes": "now Task.observation_fields",
        "Task.remembers": "now Task.memory_fields",
        "Task.reported": "now Task.info_fields",
        "Task.varied": "now Task.randomized_parameters",
        "Whisker.impact": "gone from the package: papers.whisker_chain.analysis.impact in a clone",
        "WhiskerParams.tapered": "now WhiskerParams.of",
        "WormParams.from_outline": "now WormParams.with_outline",
        "WormTask.value": "now WormTask.return_so_far",
        # Commands and options.
        "gymnosoma benchmark --train-seeds": "now gymnosoma benchmark run --seeds",
        "gymnosoma check": "now gymnosoma benchmark check",
        "gymnosoma enter": "now gymnosoma benchmark run",
        "gymnosoma figures": "gone from the package: python -m papers in a clone",
        "gymnosoma fit --csv": "now gymnosoma fit --save",
        "gymnosoma fit --figure": "now gymnosoma fit --save",
        "gymnosoma fit --film": "now gymnosoma fit --save",
        "gymnosoma gates": "gone from the package: python -m tools.gates in a clone",
        "gymnosoma leaderboard": "now gymnosoma benchmark table",
        "gymnosoma live": "gone from the package: python -m tools.live in a clone",
        "gymnosoma oracle": "gone from the package: python -m tools.oracle in a clone",
        "gymnosoma physiology": "now gymnosoma evaluate --physiology",
        "gymnosoma record": "gone: minari.DataCollector records episodes, see examples/minari_cloning.py in a clone",
        "gymnosoma soak": "gone from the package: pytest -m slow in a clone",
        "gymnosoma speed": "gone from the package: python -m tools.speed in a clone",
        "gymnosoma sweep": "gone: one call of gymnosoma.envs.simulate with count= and start= varies parameters",
        "gymnosoma train --model": "gone: write gymnosoma train FILE",
        "gymnosoma train --task": "gone: a model has one task",
        "gymnosoma tune": "gone: examples/optuna_recipe.py in a clone tunes a recipe with Optuna",
    }
}
"""Predicate of each name: "now NAME", or "gone" with what to use instead."""

_PLACES = {name: f"{name} is {place}" for names in MOVED.values() for name, place in names.items()}


class _Finder:
    """Finder of modules that Python asks last."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        """Raise ImportError if a module, or a name imported from a package, has moved."""
        if name in _PLACES:  # Python ignores a ModuleNotFoundError for a name imported from a package
            raise ImportError(_PLACES[name], name=name)


sys.meta_path.append(_Finder)


def point_from(module: str) -> None:
    """Give a module that had names before a function that says where they are."""
    own = sys.modules[module]
    usual = getattr(own, "__getattr__", None)

    def place(name: str) -> Any:
        text = _PLACES.get(f"{module}.{name}")
        if text and not hasattr(own, "__path__"):  # Python would replace an AttributeError by its own ImportError
            raise ImportError(text)
        if usual and not text:
            return usual(name)
        raise AttributeError(text or f"module {module!r} has no attribute {name!r}")

    own.__getattr__ = place  # type: ignore[method-assign]


class Gone:
    """Attribute of a class that raises AttributeError with its new place."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __get__(self, instance: object, owner: type) -> Any:
        raise AttributeError(self._text)


Class = TypeVar("Class", bound=type)


def points(kind: Class) -> Class:
    """Let the attributes that a class had before say where they are."""
    for name, text in _PLACES.items():
        owner, _, attribute = name.rpartition(".")
        if owner == kind.__name__:
            setattr(kind, attribute, Gone(text))
    return kind


def place_of(*words: str) -> str | None:
    """Return the error for the words of a command that has moved, or one of whose options has moved; else None."""
    options = (f"{words[0]} {word.partition('=')[0]}" for word in words[1:] if word.startswith("--")) if words else ()
    return next(filter(None, (_PLACES.get(f"gymnosoma {text}") for text in (*words[:1], *options))), None)
