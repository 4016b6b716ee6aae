"""Circuits of the worm that make its gaits by proprioception alone: bistable motor neurons that feel bending.

Wen et al. (2012), doi:10.1016/j.neuron.2012.08.039, found that motor neurons pass on the bending of the body in front
of them; Boyle, Berri & Cohen (2012), doi:10.3389/fncom.2012.00010, that feedback by stretch alone makes swimming,
crawling and what lies between. Their abstracts were opened for this; the equations are simpler, the constants fitted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.circuit.circuit import Circuit, Population, Projection, Sense


def _muscles(drive: float, taper: float, joints: int) -> Any:
    """Amplitude (1, joints) rad of the muscles, which fades to ``taper`` of itself at the tail."""
    return drive * (1.0 + (taper - 1.0) * np.arange(joints) / (joints - 1))[None]


def ahead(
    drive: float,
    taper: float,
    muscle_delay: float,
    delay: float,
    head_beta: float,
    beta: float,
    gain: float,
    gap: float,
    reach: float,
    head_gain: float,
    head_joints: int,
    joints: int = 24,
) -> Circuit:
    """Make the circuit in which every cell bends as the body in front of it is bent; after Wen et al. (2012), abridged.

    A pair of a dorsal and a ventral motor neuron that inhibit each other is one bistable cell. The first cell serves
    all joints of the head; it bends them until they are bent, and then to the other side. The constants are fitted
    (``tools/worm_circuit.py``), not measured.

    Args:
        drive (rad), taper: Amplitude of the muscles at the head, and its factor at the tail.
        muscle_delay, delay (s): Time constants of muscles and neurons.
        head_beta, beta: Strength with which cells of the head and behind it hold what they do.
        gain (1/rad), gap, reach (joints): What a cell is driven with by the mean bending of so many joints in front of
            it, after a gap.
        head_gain (1/rad), head_joints: What turns the cell of the head round, and how many joints it feels and bends.
        joints: Of the body.
    """
    amplitude, place = _muscles(drive, taper, joints), np.arange(joints)
    return Circuit(
        joints,
        (
            Population("head", "bistable", 1, (0, 1), gain=head_beta, delay=delay),
            Population("body", "bistable", 1, (head_joints, joints), gain=beta, delay=delay),
            Population("muscle", "leaky", 1, delay=muscle_delay, output="linear"),
            Population("head_bending", "sense", 1, (0, 1)),
            Population("bending", "sense", 1),
        ),
        (
            Projection("head_bending", "head", head_gain, "inhibit"),
            Projection("bending", "body", gain),
            Projection("head", "muscle", np.where(place < head_joints, amplitude, 0.0), caudal=head_joints - 1),
            Projection("body", "muscle", amplitude),
        ),
        "muscle",
        (
            Sense("head_bending", "joint_angle", (-0.5, head_joints - 0.5)),
            Sense("bending", "joint_angle", (-gap - reach, -gap)),
        ),
    )


def behind(
    drive: float,
    taper: float,
    muscle_delay: float,
    delay: float,
    beta: float,
    gain: float,
    gap: float,
    reach: float,
    own_gain: float,
    joints: int = 24,
) -> Circuit:
    """Make the circuit in which every cell is turned by the bending behind it; after Boyle et al. (2012), abridged.

    No cell leads. Where nothing lies behind, a cell feels its own joint. The constants are fitted, as those of `ahead`.

    Args:
        drive (rad), taper, muscle_delay, delay (s), beta, gain (1/rad), gap, reach (joints): As of `ahead`, but that
            the stretch lies behind the cell.
        own_gain (1/rad): What a cell is driven with by its own joint.
        joints: Of the body.
    """
    place = np.arange(joints)
    own = np.where(place + gap < joints - 0.5, own_gain, own_gain - gain)[None]
    return Circuit(
        joints,
        (
            Population("body", "bistable", 1, gain=beta, delay=delay),
            Population("muscle", "leaky", 1, delay=muscle_delay, output="linear"),
            Population("bending", "sense", 1),
            Population("own_bending", "sense", 1),
        ),
        (
            Projection("bending", "body", gain, "inhibit"),
            Projection("own_bending", "body", own),
            Projection("body", "muscle", _muscles(drive, taper, joints)),
        ),
        "muscle",
        (
            Sense("bending", "joint_angle", (gap, gap + reach)),
            Sense("own_bending", "joint_angle"),
        ),
    )
