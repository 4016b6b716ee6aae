"""Values of the arguments of every environment, other than the defaults."""

from dataclasses import replace
from pathlib import Path

import gymnasium
import numpy as np
from scipy.stats import loguniform, rv_discrete, truncnorm, uniform

from gymnosoma.envs.core.circuit.circuit import Circuit

ANGLES = 0.5 * np.sin(np.linspace(0.0, 12.0, 200)[:, None] - np.linspace(0.0, 8.0, 24))
CORD = {"ends": "clamp", "EIN": {"threshold": -0.1}}


def examples(env_id):
    """Arguments of an id, as pairs: those that the example needs, and one whose value is not the default."""
    task = gymnasium.make(env_id).unwrapped.task
    animal, layout, name = task.animal, task.layout, next(iter(task.animal.parameters))
    usual = animal.rows(1)[name][0].flat[0]
    field = next(iter(layout.fields))
    for argument in ("noise", "dropout", "resolution"):
        value = np.float64(0.1 if argument == "dropout" else 0.1 * layout.scale[0])
        yield {}, {"wrappers": {"DisturbObservation": {argument: {field: value}}}}
    yield {}, {"randomize": {name: loguniform(0.8 * usual, np.float64(1.2 * usual))}}
    yield {}, {"history": np.int64(5)}
    yield {}, {"wrappers": {"DelayObservation": {"delay": 2}}}
    yield {}, {"wrappers": {"DelayAction": {"delay": 1}}}
    yield {"render_mode": "rgb_array"}, {"width": np.int64(80)}
    yield {"render_mode": "rgb_array"}, {"height": 64}
    if env_id.startswith("gymnosoma/Pendulum"):
        return
    yield {}, {"split": "test" if task.hidden else "robust"}
    yield {}, {"wrappers": {"PixelObservation": {"size": 40}}}
    if any(field.along for field in layout.fields.values()):
        yield {}, {"wrappers": {"ModeObservation": {"modes": 4}}}
    if hasattr(task, "goal_wanted"):
        yield {}, {"wrappers": {"GoalObservation": {}}}
    for argument, values in choices(task).items():
        for value in values:
            if value != getattr(task if argument == "actions" else animal, argument):
                yield {}, {argument: value}
    yield {}, {"control_rate": 0.5 * task.control_rate}
    if "residual" in task.action_modes:
        yield {}, {"authority": 0.5 * task.authority}
        if "action" in task.memory.names:
            yield {}, {"smoothing": 0.5}
    yield {}, {"dt": 0.5 * animal.dt}
    kinds = (f"_{kind.__name__.lower().lstrip('_')}" for kind in type(animal).__mro__)
    yield from next((globals()[kind] for kind in kinds if kind in globals()), lambda task: ())(task)
    yield from OWN.get(env_id.partition("/")[2], ())


def choices(task):
    """Allowed values of the arguments that select one of them."""
    return {"actions": task.action_modes, **task.animal.solvers}


def _worm(task):
    yield {}, {"params": replace(task.animal.params, stiffness=1.5e-10)}
    yield {}, {"circuit": "ahead"}
    yield {"actions": "weights"}, {"circuit": Circuit.load("ahead", "worm")}
    yield {"actions": "residual"}, {"kymogram": ANGLES}
    yield {"actions": "residual", "kymogram": ANGLES[:, :12]} if task.recorded else {}, {"n_rods": 13}


def _lamprey(task):
    yield {}, {"params": replace(task.animal.params, muscle_gain=np.linspace(3e-3, 1e-3, 9))}
    cord = Circuit.load("cord", "lamprey").replace(**CORD)
    yield {"actions": "brainstem"}, {"circuit": CORD}
    yield {"actions": "brainstem"}, {"circuit": cord}


def _whisker(task):
    yield {}, {"params": replace(task.animal.params, length=0.04)}
    yield {}, {"noise": 0.5}
    if "peg_place" in task.options:
        near = {name: (value, value) for name, value in PEG.items() if name in task.options}
        yield {"randomize": near}, {"friction": 0.3}


def _whiskerrod(task):
    yield {}, {"params": replace(task.animal.params, damping=2.0)}
    yield {}, {"noise": 0.5}
    yield {}, {"n_segments": 20}
    yield {}, {"relief_slope": 0.1}


def _pushedlimb(task):
    yield {}, {"params": {"muscle": {"mg": {"model": {"max_force": np.float64(1.0)}}}}}
    yield {}, {"stiffness": 3.0}
    yield {}, {"delay": 0.03}


def _neuromechanic(task):
    yield {}, {"params": {"body": {"torso": {"inertial": {"mass": 50.0}}}}}


OWN = {
    "WormFollow-v0": [({}, {"turn": "delta_turn"})],
    "WhiskerSweep-v0": [({}, {"plate_speed": 0.2})],
}
"""Arguments of one task."""

DISTRIBUTIONS = {
    "mass": loguniform(1e-9, np.float64(3e-9)),
    "control_gain": uniform(np.full(24, 0.9), 0.2),
    "stiffness": truncnorm(-7.0, 3.0, loc=1.7e-10, scale=1e-11),
    "damping": rv_discrete(values=([1e-11, 3e-11], [0.25, 0.75])),
    "friction_parallel": (0.003, np.float32(0.004)),
}
"""One distribution of every kind, for a worm."""

FILE = {"circuit": Path(__file__).parents[1] / "assets" / "worm" / "circuits" / "ahead.toml"}

TWO = {
    **{"forced_bending": (0.0, 1e-3), "current": (0.0, 0.1), "bath": (0.0, 0.3), "noise": (0.0, 0.1)},
    **{"transection": (0.0, 5.0), "external_damping": (0.0, 100.0), "curvature": (0.0, -10.0), "cut": (0.0, 1.0)},
    **{"rest_angle": (0.0, 0.05), "restitution": (0.0, 0.5), "stop_at_contact": (0.0, 1.0), "side": (-1.0, 1.0)},
    **{"onset": (0.0, 0.05), "noise_seed": (0.0, 1.0), "forced_frequency": (0.0, 5.0)},
}
"""Two values of options whose usual value is 0, or whose whole range has no effect within a second."""

BENT = {"forced_bending": 1e-3}
PEG = {"peg_bearing": -0.3, "peg_place": 0.6}
NEEDED = {
    **{"forced_lag": BENT, "forced_frequency": BENT, "noise_seed": {"noise": 0.1}, "push": {"onset": 0.0}},
    **{"cell_gain": {"cell_segments": [0.0, 100.0]}, "cell_segments": {"cell_gain": 0.5}},
    **{"stop_at_contact": PEG, "restitution": PEG, "friction": PEG},
}
"""Other options without which an option has no effect."""


def options(env):
    """Options and parameters of an environment, as pairs of mappings that differ in one of them."""
    known = {**env.task.parameters, **env.task.options}
    for name, option in known.items():
        env.reset(seed=1)
        usual = env.batch.rows[name][0] if name in (env.batch.rows.dtype.names or ()) else 0.0
        if name in TWO:
            values = TWO[name]
        elif name in env.task.animal.parameters and np.any(usual):
            values = (usual, 0.7 * usual)
        else:
            ends = (option.low, min(option.high, option.low + 5.0))
            values = tuple(ends[0] + share * (ends[1] - ends[0]) for share in (0.45, 0.55))
        needed = {other: value for other, value in NEEDED.get(name, {}).items() if other in known and other != name}
        both = [{**needed, name: value} for value in values]
        yield name, [{one: np.broadcast_to(v, known[one].shape) for one, v in each.items()} for each in both]
