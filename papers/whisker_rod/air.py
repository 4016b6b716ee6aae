"""Table 1 of the whisker rod's paper, and the whisker in air."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from gymnosoma.envs import simulate
from gymnosoma.envs.whisker_rod import WhiskerRod, WhiskerRodParams
from gymnosoma.envs.whisker_rod.params import table

from ..paper import Sheet, mark_printed
from .analysis import FRAME
from .reference import Reference
from .sliding import BASE, MM, MODES, MS, NN, NNM, Array, animal


def _modes(**params: Any) -> tuple[Array, Array, Array, float]:
    """Return natural frequencies (Hz), shapes (n + 1, n) of the modes, and nodes (m) of a whisker in air.

    The last value is the distance (m) from the base at which the bending of the second mode changes sign.
    """
    rod = WhiskerRod(WhiskerRodParams(n_segments=100, **params))
    rows = rod.rows(1)
    frequencies, angles = Reference(rod, rows[0]).modes()
    h = rod.rods(rows)[0, 0]
    deflection = np.concatenate([np.zeros((1, len(h))), np.cumsum(h[:, None] * angles, 0)])
    bend, joints = np.diff(angles[:, 1]), np.cumsum(h)[:-1]
    k = int(np.flatnonzero(bend[1:] * bend[:-1] < 0.0)[0])
    node = joints[k] + (joints[k + 1] - joints[k]) * bend[k] / (bend[k] - bend[k + 1])
    return frequencies, deflection / np.abs(deflection).max(0), np.append(0.0, np.cumsum(h)), node


def table_1(sheet: Sheet) -> Figure:
    """Draw the derived values of Table 1, the modes in air, and the ring-down used to find Young's modulus."""
    t, p = table(), WhiskerRodParams()
    figure = Figure(figsize=(13, 9), layout="constrained")
    figure.suptitle("Table 1: what follows from it")
    (left, right), (low_left, low_right) = figure.subplots(2, 2)
    frequencies, shapes, arc, node = _modes()
    for k in range(4):
        left.plot(MM * arc, shapes[:, k], color=MODES[k], label=f"{frequencies[k]:.1f} Hz")
    left.axhline(0, color="0.7", lw=0.8)
    left.set(title="modes in air", xlabel="distance from the base (mm)", ylabel="deflection, largest 1")
    left.legend()
    sheet.table("modes", place_mm=MM * arc, **{f"mode_{k + 1}": shapes[:, k] for k in range(6)})

    moduli = np.linspace(2e9, 5e9, 31)
    over = frequencies[:4] * np.sqrt(moduli / p.youngs_modulus)[:, None]
    for k in range(4):
        right.plot(moduli / 1e9, over[:, k], color=MODES[k], label=f"mode {k + 1}")
    mark_printed(right, t["youngs_modulus"] / 1e9, 230.0)
    right.set(title="frequencies in air", xlabel="Young's modulus (GPa)", ylabel="Hz")
    right.legend()
    sheet.table("moduli", modulus_GPa=moduli / 1e9, **{f"mode_{k + 1}_Hz": over[:, k] for k in range(4)})

    frequency, power, time, moment = _ring_down()
    low_left.semilogy(frequency, power, color=BASE)
    for k in range(4):
        low_left.axvline(frequencies[k], color=MODES[k], lw=0.8)
    low_left.axvline(230, color="0.5", ls="--", label="paper, mode 2: 230 Hz")
    low_left.set(
        title="ring-down after a force on the tip", xlabel="frequency (Hz)", ylabel="base moment, power", xlim=(0, 1000)
    )
    low_left.legend()
    sheet.table("ring_down_spectrum", frequency_Hz=frequency, power=power)
    low_right.plot(MS * time[:400], NNM * moment[:400], color=BASE, lw=1)
    low_right.set(title="the same over time", xlabel="time (ms)", ylabel="base moment (nN m)")
    sheet.table("ring_down", time_ms=MS * time, moment_nNm=NNM * moment)

    a, b = p.base_radius, p.tip_radius
    mass = p.density * np.pi * p.length * (a * a + a * b + b * b) / 3
    speed = np.sqrt(p.youngs_modulus / p.density)
    peak = (frequency > 150) & (frequency < 300)
    sheet.found(
        mass=1e6 * mass,
        truncation=MM * p.length * b / (a - b),
        sound=speed,
        damping=0.5e7 * p.density * speed * a**3,
        second_mode=frequencies[1],
        modulus=p.youngs_modulus / 1e9 * (230 / frequencies[1]) ** 2,
        complete_cone=_modes(tip_radius=1e-7)[0][1],
        ring_down=frequency[peak][np.argmax(power[peak])],
        air_node=MM * node,
        slenderness=p.length / p.base_radius,
        critical_load=NN * np.pi**2 / 4 * p.youngs_modulus * np.pi / 4 * b**4 / p.length**2,
    )
    return figure


def _ring_down() -> tuple[NDArray[Any], ...]:
    """Simulate the release of the tip from a deflection of 1 mm.

    Returns:
        tuple of array: Frequencies (Hz) and power of the base moment, times (s) and the base moment (N m).
    """
    rod = animal(damping=0.1)
    h, _, _, stiffness, *_ = rod.rods(rod.rows(1))[0]
    arc = np.append(0.0, np.cumsum(h))
    bend = np.cumsum((arc[-1] - arc[:-1]) / stiffness)
    start = {"plate_distance": 1.0, "segment_angle": np.pi / 2 - 1e-3 * bend / (h @ bend)}
    series = simulate(rod, np.zeros(3), 4000 * FRAME, FRAME, start, FRAME)["moment"][:, 0]
    window = np.hanning(len(series))
    power = np.abs(np.fft.rfft(window * series)) ** 2
    frequency, time = np.fft.rfftfreq(len(series), FRAME), FRAME * np.arange(len(series))
    return frequency, power / power.max(), time, series
