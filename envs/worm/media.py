"""Swimming and crawling in a medium that changes: the fastest sines, and the task."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..core.env.task import ActionField, Field, Hidden, Score, measures
from ..core.kernels.maths import mean
from ..core.model.control import Floats
from ..core.model.quantities import Option, read_table
from .params import friction, table
from .tasks import WormEnding, WormTask

AMPLITUDE = table()["wave_amplitude"]
"""Amplitude of the paper's sines, rad."""


@cache
def fastest_sines() -> Mapping[str, Floats]:
    """Return the fastest sine with the paper's amplitude in 11 media, as in Fig. 5 of Chung et al. (2024).

    Returns:
        ``sigma``, ``frequency`` (Hz), ``wavenumber``, ``speed`` (m/s), positive muscle ``power`` (W), and ``gain``, the
        amplitude of the joint angles relative to that of the control angles; each (11,).
    """
    return read_table("worm/sines.toml")


def of_medium(sigma: ArrayLike, name: str) -> Floats:
    """Return a value of `fastest_sines` for medium indices, linearly interpolated."""
    sines = fastest_sines()
    return np.interp(np.asarray(sigma, np.float64), sines["sigma"], sines[name])


class Medium(WormTask):
    """Swim or crawl: move fast and efficiently in a hidden medium that changes.

    ## Description

    The medium index ``sigma`` is 0 in water and 1 on agar. The worm meets a second medium for {stay:g} s and returns to
    the first one. In one of them, the fastest sine swims; in the other, it crawls:

    | hidden quantity | range     | effect                                               |
    |-----------------|-----------|------------------------------------------------------|
    | ``light``       | 0 to 0.5  | medium index for swimming                            |
    | ``heavy``       | 0.8 to 1  | medium index for crawling                            |
    | ``direction``   | 1 or -1   | the second medium: 1 for ``heavy``, -1 for ``light`` |
    | ``change_time`` | 2 to 10 s | start of the second medium                           |

    The friction is that of Chung et al. (2024): it grows geometrically by a factor of 24,600 across the body, and its
    ratio across to along the body from 1.5 to 40. The worm senses its joints, and knows the wave that it commands, but
    not the medium, its speed or its position. A heavy medium shows in joints that follow the commands less far.

    The reference is the paper's fastest sine for the first medium (Fig. 5): the animal has adapted to it. Actions
    change frequency, wavenumber and amplitude of this sine, whose phase is continuous. With a ``circuit``, stretch
    receptors adapt the gait (Boyle, Berri & Cohen 2012).

    The task is hard because the best frequency and wavelength depend on the medium, which must be inferred from the
    response of the joints, and because the second medium lasts only a few periods of a crawl.

    ## Rewards

    The reward of each control period is ``r = 2 v / v0 - P / P0``:

    * ``v``: speed of the centre of mass along the average direction of the body, a low-pass filter with a time constant
      of {axis_time:g} s; the worm does not have to steer
    * ``P``: positive power of the muscles, as in WormCrawl without the heat
    * ``v0``, ``P0``: speed and power of the fastest sine with the paper's amplitude in the present medium
      (``assets/worm/sines.toml``)

    So this sine has a reward of 1 in each medium. The score ``info["net_progress"]`` is the mean reward since the
    start; ``relative_speed`` and ``relative_power`` are the means of ``v / v0`` and ``P / P0``. The body may cross
    itself; ``info["crossed"]`` reports this.
    """

    control_rate = 20.0
    authority, smoothing = 0.6, 2.0
    reference_text = "the paper's fastest sine for the first medium"
    octaves, waves, growth = 2.5, 3.2, 0.8
    """Largest changes of frequency (octaves), wavenumber and amplitude (octaves) with an ``authority`` of 1."""
    stay = 8.0
    """Time in the second medium, s."""
    axis_time = 2.0
    """Time constant of the average direction of the body, s."""
    score = Score("net_progress")
    physiology = measures("worm", "Medium", WormTask.physiology)
    options = {
        "light": Option(0.0, 1.0, "1", "medium index, for swimming"),
        "heavy": Option(0.0, 1.0, "1", "medium index, for crawling"),
        "direction": Option(-1.0, 1.0, "1", "the second medium is ``heavy`` if positive, ``light`` if not"),
        "change_time": Option(0.0, 1e6, "s", "start of the second medium"),
        "stay": Option(0.0, 1e6, "s", "time in the second medium; the default is that of the task"),
    }
    unavailable = dict.fromkeys(("friction_perpendicular", "friction_parallel"), "a task without ``light``")
    hidden = {
        "light": Hidden(0.0, 0.5, test=(0, 9)),
        "heavy": Hidden(0.8, 1.0),
        "change_time": Hidden(2.0, 10.0),
    }
    endings = {WormEnding.CROSSED: None}  # type: ignore[dict-item]
    observation_fields: Mapping[str, Any] = {
        "velocity": None,
        "phase": Field(2, "1", 1.0, "cosine and sine of the phase of the commanded sine"),
        "wave": Field(3, "Hz, 1, rad", (1.0, 1.0, 0.6), "frequency, wavenumber and amplitude of the commanded sine"),
    }
    memory_fields = {
        **dict.fromkeys(("media", "speeds", "powers", "across", "along", "axis", "place"), "2f8"),
        **dict.fromkeys(("own", "wave"), "3f8"),
        **dict.fromkeys(("sigma", "change_time", "stay", "now", "cycle", "progress", "effort"), "f8"),
    }
    indices = {"now": range(2)}
    info_fields = {"sigma": "copy", "crossed": "?"}
    info_fields |= dict.fromkeys(("relative_speed", "relative_power", "net_progress"), "f8")
    reward_terms = {"speed": "``2 v / v0``", "power": "``-P / P0``"}

    def action_fields(self, mode=None):
        if (mode or self.actions) != "residual":
            return super().action_fields(mode)
        return {
            "frequency": ActionField(1, -self.octaves, self.octaves, "1", "change of the frequency, octaves"),
            "wavenumber": ActionField(1, -self.waves, self.waves, "1", "change of the wavenumber"),
            "amplitude": ActionField(
                1, -self.growth, self.growth, "1", f"change of the amplitude, octaves, added to {self.reference_text}"
            ),
        }

    def start(self, episodes):
        memory, light, heavy = episodes.memory, episodes.hidden("light"), episodes.hidden("heavy")
        samples = episodes.draw(lambda rng: rng.uniform(-1.0, 1.0))
        first = episodes.options.get("direction", samples)[:, None] > 0.0
        media = memory["media"] = np.where(first, np.stack([light, heavy], 1), np.stack([heavy, light], 1))
        memory["sigma"], memory["change_time"] = media[:, 0], episodes.hidden("change_time")
        memory["stay"] = episodes.options.get("stay", self.stay)
        memory["speeds"], memory["powers"] = of_medium(media, "speed"), of_medium(media, "power")
        memory["across"], memory["along"] = friction(media)
        sigma = media[:, 0]
        wave = [of_medium(sigma, "frequency"), of_medium(sigma, "wavenumber"), np.full(len(sigma), AMPLITUDE)]
        memory["own"] = memory["wave"] = np.stack(wave, 1)
        return super().start(episodes) | {
            "friction_perpendicular": memory["across"][:, 0],
            "friction_parallel": memory["along"][:, 0],
        }

    def begin(self, episodes, rows):
        super().begin(episodes, rows)
        episodes.memory["axis"], episodes.memory["place"] = self.forward(episodes), rows["centre"]

    def command(self, row, memory, action, drive):
        since = row.time + 0.5 / self.control_rate - memory.change_time
        now = 1 if 0.0 < since <= memory.stay else 0
        memory.now, memory.sigma = now, memory.media[now]
        row.friction_perpendicular, row.friction_parallel = memory.across[now], memory.along[now]
        if self.actions == "residual":
            memory.wave[0] = memory.own[0] * 2.0 ** self.meaning(action, 0)
            memory.wave[1] = memory.own[1] + self.meaning(action, 1)
            memory.wave[2] = memory.own[2] * 2.0 ** self.meaning(action, 2)
        half = math.pi * memory.wave[0] / self.control_rate
        memory.cycle += half
        super().command(row, memory, action, drive)
        memory.cycle = (memory.cycle + half) % (2.0 * math.pi)

    def reference_angles(self, row, memory, drive):
        height = memory.wave[2] * min((row.time + 0.5 / self.control_rate) * memory.own[0], 1.0)
        for j in range(len(drive)):
            drive[j] = height * math.cos(2.0 * math.pi * memory.wave[1] * j / (len(drive) - 1) - memory.cycle)

    def bend(self, action, j):
        if self.actions == "residual":
            return 0.0
        return super().bend(action, j)

    def sense(self, row, memory, observation):
        super().sense(row, memory, observation)
        observation.phase[0], observation.phase[1] = math.cos(memory.cycle), math.sin(memory.cycle)

    def return_so_far(self, row, memory):
        now, share, heading = int(memory.now), self.newest(self.axis_time), self.heading(row)
        heading += mean(row.rod_angle) - row.rod_angle[0]
        memory.axis[0] += share * (math.cos(heading) - memory.axis[0])
        memory.axis[1] += share * (math.sin(heading) - memory.axis[1])
        size = max(math.sqrt(memory.axis[0] * memory.axis[0] + memory.axis[1] * memory.axis[1]), 1e-12)
        x, y = row.centre[0] - memory.place[0], row.centre[1] - memory.place[1]
        memory.place[0], memory.place[1] = row.centre[0], row.centre[1]
        speed = (x * memory.axis[0] + y * memory.axis[1]) * self.control_rate / (size * memory.speeds[now])
        power = row.muscle_work * self.control_rate / memory.powers[now]
        memory.progress, memory.effort = memory.progress + speed, memory.effort + power
        memory.reward_power = -power
        return memory.return_so_far + 2.0 * speed - power

    def set_terms(self, reward, row, memory):
        memory.reward_speed = reward - memory.reward_power

    def fails(self, row, memory):
        return row.status != 0.0

    def ending(self, row, memory):
        return 0.0

    def info(self, row, memory, info):
        periods = max(row.time * self.control_rate, 1.0)
        info.relative_speed, info.relative_power = memory.progress / periods, memory.effort / periods
        info.net_progress, info.crossed = memory.return_so_far / periods, memory.crossed != 0.0
