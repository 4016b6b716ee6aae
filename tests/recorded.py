"""Synthetic recordings: worms with waves of their own, as a camera and a tracker see them."""

import numpy as np
from scipy.interpolate import CubicSpline

from gymnosoma.envs import simulate
from gymnosoma.envs.core.model.control import OpenLoop
from gymnosoma.envs.worm import SineKymogram, Worm, WormParams
from gymnosoma.envs.worm.params import friction
from gymnosoma.recordings.body import arc_length
from gymnosoma.recordings.medium import ratio_of

RATE = 30.0
"""Frames a second."""


class Wave(OpenLoop):
    """The wave of a medium, whose amplitude, phase and bias wander."""

    def __init__(self, sigma, rng):
        wave = SineKymogram.for_medium(min(sigma, 1.0))
        self.wavenumber, self.period, self.amplitude = np.array([wave.wavenumber, wave.period, 0.6]) * rng.uniform(
            [0.85, 0.85, 0.8], [1.15, 1.15, 1.1]
        )
        self.share, self.rate = rng.uniform(0, [[0.15], [0.6], [0.06]], (3, 1)), rng.uniform(0.1, 0.3, (3, 1))
        self.bias, self.phase = rng.normal(0.0, 0.03), rng.uniform(0, 2 * np.pi, (4, 1))

    def at(self, t):
        swell, late, lean = self.share * np.sin(2 * np.pi * self.rate * t + self.phase[:3])
        place = 2 * np.pi * self.wavenumber * np.linspace(0.0, 1.0, 24)
        angle = 2 * np.pi * t / self.period + late + self.phase[3]
        height = self.amplitude * (1.0 + swell) * np.minimum(t / self.period, 1.0)
        return height[:, None] * np.cos(place - angle[:, None]) + (self.bias + lean)[:, None]


def worms(sigma, count, seconds, rate=RATE, seed=0):
    """Trajectories of worms in a medium, each with a wave of its own, and the first frame after they have begun."""
    rng = np.random.default_rng([seed, round(1000 * sigma)])
    across = float(friction(min(sigma, 1.0))[0])  # in what is tougher than agar muscles bend no body
    worm = Worm(
        WormParams(friction_perpendicular=across, friction_parallel=across / float(ratio_of(sigma))),
        dt=1 / (rate * np.ceil(400 / rate)),
    )
    waves = [Wave(sigma, rng) for _ in range(count)]
    return simulate(worm, waves, 3.0 + seconds, every=1 / rate, count=count), round(3.0 * rate)


def joints(run, first=0):
    """Head, joints and tail (N, 26, 2) m."""
    angle = run["rod_angle"][first:]
    rods = 1e-3 / 25 * np.stack([np.cos(angle), np.sin(angle)], -1)
    return run["head"][first:, None] + np.pad(np.cumsum(rods, 1), ((0, 0), (1, 0), (0, 0)))


def even(curve, along, places):
    """Interpolate curves (T, A, 2) of lengths ``along`` (T, A) at ``places`` (T, K), given as shares of the length."""
    cases = zip(curve, along / along[:, -1:], places, strict=True)
    return np.array([np.stack([np.interp(share, length, axis) for axis in line.T], 1) for line, length, share in cases])


def seen(ends, rng, points=49, noise=2e-6, cut=10e-6, drops=0.05, gap=10, tail=0.0, half=0):
    """Midlines (N, P, 2) m of chains: even, tips cut, noise on each point, frames lost alone and in a row."""
    curve = CubicSpline(np.linspace(0.0, 1.0, ends.shape[1]), ends, axis=1)(np.linspace(0.0, 1.0, 501))
    head, missed = np.abs(rng.normal(0.0, cut / 1e-3, (len(ends), 2))).T[..., None] + [[[0.0]], [[tail]]]
    seen = np.ones(len(ends))
    seen[rng.permutation(len(ends))[:half]] = 0.5
    shares = (seen[:, None] - head - missed) * np.linspace(0.0, 1.0, points)
    lines = even(curve, arc_length(curve), head + shares)
    lines += rng.normal(0.0, noise, lines.shape)
    lost = rng.random(len(lines)) < drops
    start = rng.integers(len(lines) // 5, len(lines) // 2)
    lost[start : start + gap] = True
    lost[[0, -1]] = False
    lines[lost] = np.nan
    return lines


def recorded_worm(path):
    """Save a worm of 5 s at sigma 0.5, and return the path."""
    (run,), first = worms(0.5, 1, 5.0)
    np.save(path, seen(joints(run, first), np.random.default_rng(0), gap=0))
    return path
