"""Chemotaxis of the worm: the field of a substance, the klinotaxis of the animal, and the task."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core.arguments import choice
from ..core.env.task import Field, Hidden, Score, measures
from ..core.kernels.jit import kernel
from ..core.kernels.maths import mean
from ..core.model.chain import chain_head
from ..core.model.quantities import Option
from .tasks import WormEnding, WormTask

FIELDS = ("gaussian", "linear")
"""Shapes of the field."""


@kernel
def klinotaxis(change, sway, along, across, weight, gain, limit):
    """Return averages of the gradient along and across the path (1/s), and the bias (rad) of all control angles.

    Args:
        change (1/s): Sensed relative change of the concentration.
        sway: Sine of the angle of the head to the body, low-passed like ``change``; positive to the left.
        along, across (1/s): Averages of ``change`` and of its deviation times ``sway`` until now.
        weight: Weight of the newest values in the averages.
        gain, limit (rad s, rad): Bias for an average of 1/s, and its maximum.
    """
    along += weight * (change - along)
    # Without the mean change, the bend of a turn does not count as a sway.
    across += weight * ((change - along) * sway - across)
    # The worm turns towards its concave side: to the left if joint angles are negative.
    return along, across, min(max(-gain * across, -limit), limit)


class Chemotaxis(WormTask):
    """Climb the gradient of a substance that is sensed at the head only.

    ## Description

    The worm is on agar. A source of an attractant is in any direction. The concentration ``C`` in mM is

    | ``field``      | concentration                                                 |
    |----------------|---------------------------------------------------------------|
    | ``"gaussian"`` | ``C = {peak:g} (exp(-d^2 / (2 w^2)) + k - k exp(-e^2 / (2 w^2)))``    |
    | ``"linear"``   | ``C = {peak:g} max(1 - d / (2 d0), 0)``, ``d`` negative beyond the source |

    * ``d``: distance of the head from the source, ``d0`` at the start; with ``"linear"``, along the first direction of
      the source, and 0 beyond it
    * ``e``: distance from a repellent, as far behind the start as the source is ahead; ``k``, the option ``repellent``,
      is its height, by default 0

    The worm senses ``C`` at its head, and its relative change ``s`` as the ASE neurons do, but no direction or place:

    ``s = (log(C + {threshold:g}) - a) / {sensing:g} s``, with ``da/dt = s``

    | hidden quantity     | range                  | effect                                                       |
    |---------------------|------------------------|--------------------------------------------------------------|
    | ``source_distance`` | 3 to 5 mm              | ``d0``                                                       |
    | ``width``           | 2 to 4 mm, log-uniform | ``w``                                                        |
    | ``wander``          | 0.005 to 0.015 rad     | amplitude of a spontaneous turning: a sine with a period of  |
    |                     |                        | {meander:g} s, added to all control angles                   |

    The reference is klinotaxis (Iino & Yoshida 2009): the animal feels the gradient across its path while its head
    sways from side to side, and bends towards the higher concentration. The angle added to all control angles is

    ``b = -clip({gain:g} s q, -{limit:g} rad, {limit:g} rad)``, with ``dq/dt = ((s - p) h - q) / {averaging:g} s`` and
    ``dp/dt = (s - p) / {averaging:g} s``,

    where ``h`` is the sine of the head's angle to the body, positive to the left, low-passed like ``s``. With a
    ``circuit``, this angle is added to those of the circuit.

    The task is hard because the direction must be inferred from one number over time, and because an animal that has
    passed the source feels no gradient across its path.

    ## Rewards

    The reward of each step is ``r = max(1 - d / d0, -1)``.

    The score is its mean since the start, ``info["chemotaxis_index"]``: the chemotaxis index of Izquierdo & Lockery
    (2010), with a lower limit. ``info["near_share"]`` is the share of time within {near_mm:g} mm, a body length, of the
    source, and ``info["is_success"]`` is true there. The body may cross itself; ``info["crossed"]`` reports this.
    """

    control_rate = 5.0
    authority, smoothing = 0.22, 0.4
    reference_text = "the paper's sine with klinotaxis"
    steers: Mapping[str, float] = {}
    """Not None, so that `steering_bias` is added to the paper's sine."""
    sensing = 0.4
    """Time constant of the sensory neurons, s."""
    averaging = 1.6
    """Time constant of the averages in `klinotaxis`, s: the period of the paper's sine."""
    gain, limit = 40.0, 0.03
    """Parameters of `klinotaxis`, rad s and rad."""
    peak, threshold = 50.0, 0.1
    """Concentration at the source, and the one below which the response flattens, mM."""
    meander = 40.0
    """Period of the spontaneous turning, s."""
    near = 1e-3
    """Distance from the source that counts as near, m."""
    near_mm = 1e3 * near
    score = Score("chemotaxis_index")
    physiology = measures("worm", "Chemotaxis", WormTask.physiology)
    options = {
        "source_distance": Option(0.5e-3, 60e-3, "m", "distance of the source from the head"),
        "source_bearing": Option(-np.pi, np.pi, "rad", "bearing of the source from the body axis, left positive"),
        "width": Option(0.5e-3, 60e-3, "m", "standard deviation of the Gaussian"),
        "repellent": Option(0.0, 1.0, "1", "height of the repellent relative to that of the source"),
        "wander": Option(0.0, 0.5, "rad", "amplitude of the spontaneous turning, an angle added to all control angles"),
    }
    hidden = {
        "source_distance": Hidden(3e-3, 5e-3),
        "width": Hidden(2e-3, 4e-3, logarithmic=True),
        "wander": Hidden(0.005, 0.015, paper=0.0),
    }
    endings = {WormEnding.CROSSED: None}  # type: ignore[dict-item]
    arguments = {"field": "shape of the field, ``gaussian`` or ``linear``"}
    observation_fields = {
        "concentration": Field(1, "mM", 25.0, "concentration at the head"),
        "change": Field(1, "1/s", 0.1, "relative change of the concentration, low-passed"),
        "phase": Field(2, "1", 1.0, "cosine and sine of the phase of the paper's sine"),
    }
    memory_fields = {
        **dict.fromkeys(("source", "ahead"), "2f8"),
        **dict.fromkeys(("distance", "start_distance", "width", "repellent", "wander", "turning", "curl"), "f8"),
        **dict.fromkeys(("concentration", "adapted", "change", "sway", "along", "across", "bias", "time_near"), "f8"),
    }
    info_fields = dict.fromkeys(("concentration", "distance"), "copy")
    info_fields |= {"chemotaxis_index": "f8", "near_share": "f8", "crossed": "?", "is_success": "?"}
    reward_terms = {"approach": "``max(1 - d / d0, -1)``"}

    def __init__(self, field: str = "gaussian", **arguments: Any) -> None:
        choice("field", field, FIELDS)
        self.field = field
        super().__init__(**arguments)

    def start(self, episodes):
        memory = episodes.memory
        memory["width"], memory["wander"] = episodes.hidden("width"), episodes.hidden("wander")
        memory["start_distance"] = memory["distance"] = episodes.hidden("source_distance")
        memory["repellent"] = episodes.options.get("repellent", 0.0)
        return super().start(episodes)

    def begin(self, episodes, rows):
        super().begin(episodes, rows)
        memory, forward = episodes.memory, self.forward(episodes)
        samples = episodes.draw(lambda rng: rng.uniform(-np.pi, np.pi, 2))
        bearing = np.arctan2(forward[:, 1], forward[:, 0]) + episodes.options.get("source_bearing", samples[:, 0])
        memory["ahead"] = np.stack([np.cos(bearing), np.sin(bearing)], 1)
        head = self.animal.points(rows)[:, 0]
        memory["source"] = head + memory["start_distance"][:, None] * memory["ahead"]
        memory["turning"] = samples[:, 1]
        for place, each in zip(head, memory.view(np.recarray), strict=True):
            each.concentration = self.concentration(place[0], place[1], each)
            each.adapted = math.log(each.concentration + self.threshold)

    def concentration(self, x: Any, y: Any, memory: Any) -> Any:
        """Return the concentration (mM) at a place (m)."""
        x, y, scale = x - memory.source[0], y - memory.source[1], -0.5 / (memory.width * memory.width)
        along = x * memory.ahead[0] + y * memory.ahead[1]
        if self.field == "linear":
            return self.peak * max(1.0 + 0.5 * along / memory.start_distance, 0.0)
        square, between = x * x + y * y, 2.0 * memory.start_distance
        # The repellent is as far behind the start as the source is ahead.
        other = square + between * (2.0 * along + between)
        return self.peak * (math.exp(scale * square) + memory.repellent * (1.0 - math.exp(scale * other)))

    def steering_bias(self, row, memory):
        return memory.bias

    def curl(self, memory):
        if self.animal.circuit is None:
            return memory.curl
        return memory.curl + memory.bias

    def sense(self, row, memory, observation):
        super().sense(row, memory, observation)
        observation.phase[0] = math.cos(self.wave.pace * row.time)
        observation.phase[1] = math.sin(self.wave.pace * row.time)

    def return_so_far(self, row, memory):
        x, y = chain_head(row.rod_angle, row.length, self.animal.rod_lengths, self.animal.rod_masses)
        x, y = x + row.centre[0], y + row.centre[1]
        memory.concentration = self.concentration(x, y, memory)
        response = math.log(memory.concentration + self.threshold)
        memory.adapted += self.newest(self.sensing) * (response - memory.adapted)
        memory.change = (response - memory.adapted) / self.sensing
        memory.sway += self.newest(self.sensing) * (math.sin(row.rod_angle[0] - mean(row.rod_angle)) - memory.sway)
        share = self.newest(self.averaging)
        memory.along, memory.across, memory.bias = klinotaxis(
            memory.change, memory.sway, memory.along, memory.across, share, self.gain, self.limit
        )
        memory.curl = memory.wander * math.sin(memory.turning + 2.0 * math.pi * row.time / self.meander)
        x, y = memory.source[0] - x, memory.source[1] - y
        if self.field == "linear":
            memory.distance = max(x * memory.ahead[0] + y * memory.ahead[1], 0.0)
        else:
            memory.distance = math.sqrt(x * x + y * y)
        if memory.distance <= self.near:
            memory.time_near += 1.0 / self.control_rate
        return memory.return_so_far + max(1.0 - memory.distance / memory.start_distance, -1.0)

    def set_terms(self, reward, row, memory):
        memory.reward_approach = reward

    def fails(self, row, memory):
        return row.status != 0.0

    def ending(self, row, memory):
        return 0.0

    def info(self, row, memory, info):
        time = max(row.time, 1.0 / self.control_rate)
        info.chemotaxis_index = memory.return_so_far / (time * self.control_rate)
        info.near_share = memory.time_near / time
        info.crossed, info.is_success = memory.crossed != 0.0, memory.distance <= self.near
