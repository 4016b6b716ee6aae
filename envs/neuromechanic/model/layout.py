"""Record types of a model, of its state and of the work space.

Arrays are padded to powers of two, and loops run to the true counts. So models of similar size share one compiled and
cached kernel, in which all addresses but one are constants.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..params import PHYSICAL

Arrays = dict[str, NDArray[Any]]
"""Constants of a model by name, see `ARRAYS`."""

_COUNTS = """
bodies links muscles active fibres neurons inputs wrenches pins contacts contact_rows delays depth motors fits limits:
states outputs size leaky reads pushes balls pulses touches bushings elastics:
"""
"""Numbers of the model's parts, the first fields of its record."""

# In the tables below, each line has names and their shape: numbers or padded counts. Padded counts are b for bodies, l
# for bodies with followers, d for coefficients and g for pieces of curves, e for points and wraps of a path, z for the
# state vector, ring for past signals, s for directions of elastic forces, and c for other parts. The type is float
# unless the line says int.

ARRAYS = """
gravity platform: 3  # m/s^2; direction of the ground's motion, 0 for none
ball: int c  # first joint of each ball
sequence coordinate: int c  # bodies after their parents (followers have the last numbers); the joint that moves each
curve: int c  # curve of followers, -1 for linear ones; unused for other bodies
slope shift: c  # of linear followers: position = slope * position of the leader + shift
curve_start: int c+1  # first piece of each curve
curve_x: g  # start and origin of pieces; the first of two pieces with the same start ends there
curve_piece: g d  # coefficients, highest power first
parent joint: int c  # -1 for the ground; REVOLUTE, PRISMATIC or BALL and the next two
axis at: c 3  # direction and position (m) of the joint in the parent
mass: c  # kg
centre: c 3  # m
inertia: c 6  # kg m^2
damping stiffness rest armature: c  # N m s/rad, N m/rad, rad, kg m^2; N s/m, N/m, m, kg for sliding joints
limit_joint: int c
limit: c 6  # arguments of `body.limit_torque`: rad, rad, N m/rad, N m/rad, N m s/rad, rad
cylinder_body: int c
cylinder_at: c 3  # m
cylinder_frame: c 3 3  # rows: side on which paths wrap, axis x side, axis
cylinder_radius cylinder_half: c  # m; half the length
cylinder_radii: c 3  # m, of ellipsoids
cylinder_way cylinder_quadrant: int c  # constant of `paths`; `side` of `ellipsoid.crest`
spline_start: int c+1  # first piece of each spline
spline_time: c  # s
spline_cubic: c 4  # coefficients, highest power first
muscle curves: int c  # constants of `muscles`
max_force optimal_length slack_length cos_pennation max_velocity: c  # N, m, m, 1, optimal lengths/s
thelen: c 6  # constants of Thelen's, MuJoCo's or own curves, in the order of `tables`: 1
force_length short_stiffness short_viscosity reference_length: c  # 1, 1, s, m
activation activation_kind: int c  # index of the activation, -1 for none; constant of `muscles`
rise_time fall_time: c  # s
winds: int c  # whether the path has wraps, pulleys, spheres or conditional points
fibre fit: int c  # index of the fibre length and of the fit, -1 for none
path_start: int c+1  # first point of each path
point_body: int 4c
point_at: 4c 3  # m
point_cylinder: int 4c  # -1 for a point
point_joint: int 4c  # joint of a conditional point, -1 for none
point_share: 4c  # factor on the length of the following segment, 0 at the end of a branch
point_range: 4c 2  # positions of that joint for which the point is active
wrap_start: int c+1  # first wrap of each muscle
wrap: int c 3  # cylinder; first and last point, counted from the muscle's first, between which the path can wrap
fit_mean: c  # m
fit_at fit_a: c b  # rad or m, m or 1
fit_B: c b b
excitation: int c 2  # signal
excitation_value: c  # for the signal CONSTANT
excitation_low excitation_high: c  # bounds of the excitation
tau: c  # s, of leaky neurons
bias: c
power: c  # of synapses
order: int c  # order in which neurons are computed, leaky ones last
shape: int c  # constant of `nerves`
low high: c
synapse_start: int c+1  # first synapse of each neuron
synapse: int c 6  # signal, column of the delayed signals or -1, delay in time steps, signal that multiplies the gain
gain offset: c  # of synapses
read: int c 2  # signals that control modules read
motor: int c 3  # joint, signal
motor_gain: c
pin_joint pin_spline: int c  # -1 for none
pin_body: int c 2
pin_at: c 2 3  # m
pin_axis: c 3
pin_local: int c  # whether the axis turns with the second body
pin_rate: c  # 1/s
contact_body: int c
contact_at: c 3  # m
contact_frame: c 3 3  # rows: normal, tangent, their cross product
contact_height contact_friction: c  # m, 1
touch_body: int c 2  # of compliant contacts: bodies of the sphere and of the other surface
touch_at: c 2 3  # m
touch_radius: c 2  # m; 0 for a plane
touch_normal: c 3  # of a plane, in its body
touch_law: c 7  # constants of `elastic`
bushing_body: int c 2
bushing_at: c 2 3  # m
bushing_frame: c 2 3 3  # rotation matrices of the frames in the bodies
bushing_stiffness bushing_damping: c 6  # of three angles and three displacements: N m/rad, N/m; N m s/rad, N s/m
push: int c 4  # wrench, its component, signal
wrench_body: int c
wrench_at: c 3  # m
wrench_local: int c  # whether its components are in the body's frame
delayed: int c 2  # signals with a delay
interval: c  # one number, the time step (s)
"""
"""Constants of a model. ``*_start`` ends with an extra entry. A signal is a kind and an index, see `nerves`."""

_STATE = f"""
time step status:  # s, since reset
z: z  # state vector of Eq. 3
input: c  # drive
wrench: c 6  # N, N m
ring: ring  # past values of delayed signals
excitation force neuron reaction impulse mode: c  # of the last evaluation or step: 1, N, 1, N, N s, 1
contact_error alternations:  # m/s, 1
pulse: c 3  # of the ground: onset (s), duration (s), peak (m/s^2)
{" ".join(PHYSICAL)}:  # the row's parameters
"""

_ROW = f"""
time step status:
q v: bodies
n: states
activation: active
fibre_length: fibres
input: inputs
wrench: wrenches 6
ring: depth delays
excitation force: muscles
neuron: neurons
reaction: pins
impulse: contacts contact_rows
mode: contacts
contact_error alternations:
pulse: pulses 3
{" ".join(PHYSICAL)}:
"""

_WORK = """
turn: l 3 3  # rotation matrices of the bodies
origin: l 3  # m
S V A f: l 6  # spatial vectors: joint axes, velocities, accelerations, forces
body_inertia inertia: l 10  # of each body, and including all its descendants
follow: l 4  # of followers: position, its first and second derivative by that of the leader, bias force
node: e 3  # points of a path: m
node_body node_wrap: int e  # body; wrap that made the point, -1 for a point of the model
node_point: int e
wrap_arc: e  # m
M L: b b  # mass matrix and its Cholesky factor
bias tau qdd: b  # generalised forces and accelerations
momentum: 12
meet: 4 3
ball: 3 3
ellipsoid: 12 5 3  # blocks of `ellipsoid`
arm: c b  # moment arms, m or 1
length rate fibre fibre_rate slope force: c  # of muscles: m, m/s, m, m/s, N s/m, N
neuron output heard motor push excitation: c
active smooth: c  # of muscles: activation, its rate for the kind SMOOTH (1/s)
J: c b
drift: c
MJ: c b
schur: c c
way: s b  # directions of elastic forces
elastic: s 3  # their forces, stiffness and damping: N, N/m, N s/m
touch: c 8  # of compliant contacts: gap (m), normal force (N), point (3,) m, force (3,) N
reaction: c
dz: z  # rate of the state vector
free friction: c  # of contacts: m/s, 1
grid: 4 5
gravity: 3
delayed: c
start stage total: z
"""

WRITTEN = "excitation", "force", "neuron", "reaction", "impulse", "mode", "contact_error"
"""Fields that a step writes in addition to the state vector. They are adjacent, so that one loop checks them all."""


def _fields(text: str, sizes: Mapping[str, int]) -> list[tuple[str, str, tuple[int, ...]]]:
    """Return name, type and shape of each field of a record."""
    fields = []
    for line in text.strip().splitlines():
        names, _, said = line.partition("#")[0].partition(":")
        form, *shape = said.split() if "int" in said else ["", *said.split()]
        size = tuple(sizes[part] if part in sizes else int(part) for part in shape)
        fields += [(name, "i8" if form else "f8", size) for name in names.split()]
    return fields


@cache
def _forms(bodies: int, wide: int) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Return the types and unpadded shapes of the constants."""
    return {
        name: (form, shape)
        for name, form, shape in _fields(ARRAYS, {"b": bodies, "c": -1, "c+1": -1, "4c": -1, "g": -1, "d": wide})
    }


def arrays_of(values: Mapping[str, ArrayLike], bodies: int = 0, wide: int = 4) -> Arrays:
    """Convert constants of the model to arrays with the types and unpadded shapes of `ARRAYS`."""
    forms = _forms(bodies, wide)
    return {name: np.array(value, forms[name][0]).reshape(forms[name][1]) for name, value in values.items()}


def columns(rows: Sequence[Mapping[str, Any]], names: str, prefix: str = "", bodies: int = 0) -> Arrays:
    """Convert the entries ``names`` of all rows to arrays (see `arrays_of`), with ``prefix`` before their names."""
    return arrays_of({prefix + name: [row[name] for row in rows] for name in names.split()}, bodies)


def _power(least: int, *counts: int) -> int:
    """Return the smallest power of two that is at least ``least`` and all ``counts``."""
    return 1 << (max(least, *counts) - 1).bit_length()


def pack(
    arrays: Mapping[str, NDArray[Any]], counts: Mapping[str, int]
) -> tuple[NDArray[Any], dict[str, np.dtype[Any]]]:
    """Pack the arrays of a model into the record that kernels read, and make the types of state and work space.

    Args:
        arrays: Constants of `ARRAYS`, from `build`. Bodies follow their parents.
        counts: Numbers of bodies, muscles and other parts, and the depth of the ring.

    Returns:
        table, records: Record (1,) of the model, and record types by name: ``row`` (state of an animal with public
            field names), ``state`` (the same memory with the kernels' field names) and ``work``.

    Notes:
        The state vector z in a row consists of ``q`` and ``v`` (joint positions and velocities), ``n`` (states of
        control modules and leaky neurons), ``activation`` and ``fibre_length`` (m, compliant tendons). `contact`
        writes ``impulse`` (m, rows), ``mode``, ``contact_error`` and ``alternations`` of the last step.
    """
    paths = np.diff(arrays["path_start"]).max(initial=0) + 2 * np.diff(arrays["wrap_start"]).max(initial=0)
    own = "point_", "curve_x", "curve_piece"
    most = max(len(a) - name.endswith("_start") for name, a in arrays.items() if not name.startswith(own))
    solved, points = counts["contacts"] * counts["contact_rows"], -(-len(arrays["point_body"]) // 4)
    b, c = _power(8, counts["bodies"]), _power(8, most, points, solved, counts["states"], counts["outputs"])
    counted = [name for name, _, _ in _fields(_COUNTS, {})]
    past = counts["depth"] * counts["delays"]
    wide = _power(4, arrays["curve_piece"].shape[1]), _power(8, counts["links"]), _power(8, int(paths))
    sizes = dict(zip("dle", wide, strict=True)) | {"b": b, "c": c, "c+1": c + 1, "4c": 4 * c}
    sizes |= {
        "s": _power(8, counts["elastics"]),
        "g": _power(c, len(arrays["curve_x"])),
        "z": 2 * b + 3 * c,
        "ring": _power(256, past) if past else 1,
    }
    table = np.zeros(1, [(name, "i8") for name in counted] + _fields(ARRAYS, sizes))
    for name in counted:
        table[name] = counts[name]
    for name, array in arrays.items():
        table[name][0][tuple(slice(0, n) for n in array.shape)] = array
    state = np.dtype(_fields(_STATE, sizes))
    places = {name: (form, at) for name, (form, at, *_) in state.fields.items()}  # type: ignore[union-attr]
    first, last = places[WRITTEN[0]][1], places[WRITTEN[-1]][1] + 8
    whole = {"written": (("f8", ((last - first) // 8,)), first), "all": (("f8", (state.itemsize // 8,)), 0)}
    row, at = {}, places["z"][1]
    for name, form, shape in _fields(_ROW, counts):
        row[name] = (form, shape), places[name][1] if name in places else at
        at += 0 if name in places else 8 * math.prod(shape)
    records = {"row": _record(row, state.itemsize), "state": _record(places | whole, state.itemsize)}
    return table, records | {"work": np.dtype(_fields(_WORK, sizes))}


def _record(places: Mapping[str, tuple[Any, int]], itemsize: int) -> np.dtype[Any]:
    """Return a record type from the type and offset of each field; fields may overlap."""
    forms, offsets = zip(*places.values(), strict=True)
    return np.dtype({"names": list(places), "formats": forms, "offsets": offsets, "itemsize": itemsize})
