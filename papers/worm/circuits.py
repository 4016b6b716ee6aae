"""Gaits of the worm's circuits over the medium and their robustness: ``python -m papers.worm.circuits``.

It writes ``docs/worm_circuits.webp`` and the tables of ``docs/animals/worm.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from scipy.stats import binomtest

from gymnosoma.agents.benchmark.tables import markdown
from gymnosoma.envs import simulate
from gymnosoma.envs.core.circuit.circuit import Circuit
from gymnosoma.envs.worm import Worm, active_joints
from gymnosoma.envs.worm.analysis import Gait
from tools.clone import put

from ..fingerprints import CIRCUITS, record
from ..paper import COLOURS, STYLE

DOCS = Path(__file__).parents[2] / "docs"

AUTHORS = {
    0.0: (2.222, 1.855, 0.083),
    0.01: (1.684, 1.808, 1.329),
    0.1: (0.977, 0.953, 0.607),
    0.5: (0.549, 0.797, 0.289),
    1.0: (0.401, 0.750, 0.1985),
}
"""Frequency (Hz), wavelength (body lengths), forward speed (mm/s) by the medium index of Boyle, Berri & Cohen (2012).

Measured on the midlines of the authors' program with its default constants.
"""

DRAWS, LASTS, BEGIN = 96, 26.0, 6.0
"""Draws of each row of the table of robustness; seconds of a run, and the start of its analysis."""

Array = np.ndarray[Any, Any]


def friction(index: Any, scale: float = 0.5) -> dict[str, Array]:
    """Return drag totals (kg/s), linear in the medium index as in the paper; the authors' program has half of them."""
    share = np.asarray(index, float)
    across, along = (5.2e-6, 128e-3), (3.3e-6, 3.2e-3)
    ends = {"friction_perpendicular": across, "friction_parallel": along}
    return {name: scale * (water + share * (agar - water)) for name, (water, agar) in ends.items()}


def gaits(worm: Worm, start: Mapping[str, Any], count: int) -> Array:
    """Return frequency (Hz), wavelength (body lengths), forward speed (mm/s) and amplitude (rad), (count, 4)."""
    runs = simulate(worm, np.zeros(24), LASTS, 0.025, start, count=count, signals=("joint_angle", "centre"))
    found = [Gait(run, BEGIN) for run in runs]
    return np.array([(g.frequency, 1.0 / g.wavenumber, 1e3 * g.forward, g.amplitude) for g in found])


SETTINGS: Mapping[str, tuple[str, float, dict[str, Any]]] = {
    "`boyle`, half the drag": ("boyle", 0.5, {}),
    "`boyle`, half the drag, joints follow activation": ("boyle", 0.5, active_joints(24)),
    "`boyle`, full drag": ("boyle", 1.0, {}),
    "`ventral_cord`, half the drag": ("ventral_cord", 0.5, {}),
}


def over_media(dt: float = 1e-3) -> dict[str, Array]:
    """Return the gaits (media, 4) of each of `SETTINGS`."""
    return {
        name: gaits(Worm(circuit=circuit, dt=dt), friction([*AUTHORS], scale) | start, len(AUTHORS))
        for name, (circuit, scale, start) in SETTINGS.items()
    }


def jittered(circuit: Circuit, rng: np.random.Generator) -> Circuit:
    """Return a circuit with 10% of noise on all constants of its cells, projections, senses and muscles."""
    cells = ("tonic", "bias", "threshold", "hysteresis", "delay")
    names = (*cells, "strength", "slopes", "bend", "activation", "stiffness")

    def noisy(member: Any) -> Any:
        values = {name: np.asarray(getattr(member, name)) for name in names if getattr(member, name, None)}
        factors = {name: 1.0 + 0.1 * rng.standard_normal(value.shape) for name, value in values.items()}
        return replace(member, **{name: (factors[name] * value).tolist() for name, value in values.items()})

    parts = ("populations", "projections", "senses")
    members: Any = {name: [*map(noisy, getattr(circuit, name))] for name in parts}
    return replace(circuit, **members, antagonists=noisy(circuit.antagonists))


CONDITIONS: Mapping[str, dict[str, Any]] = {
    "random starts": {},
    "joints 8 to 15 do not feel": {"feedback": 1.0 * (np.abs(np.arange(24) - 11.5) > 4.0)},
    "no inhibition of ventral cells": {"synapse": [1.0, 0.0, 1.0, 1.0]},  # of B_B
    "AVB off": {"tonic": 0.0},
}
"""Parameters of the conditions of the table, each from random starts."""


def robustness(draws: int = DRAWS) -> dict[str, tuple[Array, ...]]:
    """Return gaits (draws, 4) in water and on agar of each condition; the worms have half the drag."""
    worm, rng = Worm(circuit="boyle"), np.random.default_rng(0)
    assert worm.circuit is not None
    rows = {}
    for name, parameters in CONDITIONS.items():
        neuron = np.zeros((draws, *worm.state["neuron"].shape))
        neuron[:, 0, :, 0] = rng.integers(0, 2, (draws, 2, 12))
        bent = 0.1 * rng.standard_normal((draws, 24))
        start = {"neuron": neuron, "joint_angle": bent} | parameters
        rows[name] = tuple(gaits(worm, friction(index) | start, draws) for index in (0.0, 1.0))
    several = [Worm(circuit=jittered(worm.circuit, rng)) for _ in range(draws)]
    rows["10% of noise on all constants"] = tuple(
        np.concatenate([gaits(each, friction(index), 1) for each in several]) for index in (0.0, 1.0)
    )
    return rows


def kept(found: Array, usual: Array) -> tuple[int, float, float]:
    """Return the number of worms within 25% of the usual frequency, wavelength and amplitude, with its 95% interval."""
    near = np.all(np.abs(found[:, [0, 1, 3]] / usual[[0, 1, 3]] - 1.0) < 0.25, axis=1)
    return int(near.sum()), *binomtest(int(near.sum()), len(near)).proportion_ci(method="wilson")


def tables(media: Mapping[str, Array], rows: Mapping[str, Sequence[Array]], usual: Array) -> dict[str, str]:
    """Return the tables of the page: ``media`` and ``robustness``."""
    lines = []
    for k, (index, theirs) in enumerate(AUTHORS.items()):
        lines.append([f"{index:g}", "authors' program", *map("{:.3f}".format, theirs)])
        for name, values in media.items():
            cells = [f"{a:.3f} ({100 * (a / b - 1):+.0f}%)" for a, b in zip(values[k], theirs, strict=False)]
            lines.append([f"{index:g}", name, *cells])
    head = ["medium", "model", "frequency, Hz", "wavelength, body lengths", "forward, mm/s"]
    robust = []
    for name, both in rows.items():
        for k, found in enumerate(both):
            count, low, high = kept(found, usual[k])
            low_end, middle, high_end = np.quantile(found, (0.05, 0.5, 0.95), axis=0)
            spans = [f"{middle[m]:.3f} ({low_end[m]:.3f} to {high_end[m]:.3f})" for m in (0, 2)]
            share = f"{count} of {len(found)} ({100 * low:.0f} to {100 * high:.0f}%)"
            robust.append([name, ("water", "agar")[k], share, *spans])
    words = ["condition", "medium", "keep the gait (95% interval)", "frequency, Hz (5 to 95%)", "forward, mm/s"]
    return {"media": markdown(head, lines), "robustness": markdown(words, robust)}


def draw(media: Mapping[str, Array], rows: Mapping[str, Sequence[Array]], usual: Array) -> Figure:
    """Draw frequency, wavelength and speed over the medium, and the share of worms that keep their gait."""
    figure = Figure(figsize=(11, 7.5), layout="constrained")
    axes, place = figure.subplots(2, 2).ravel(), np.arange(len(AUTHORS))
    labels = ("frequency (Hz)", "wavelength (body lengths)", "forward speed (mm/s)")
    for k, (ax, label) in enumerate(zip(axes, labels, strict=False)):
        theirs = [values[k] for values in AUTHORS.values()]
        ax.plot(place, theirs, "kD", markerfacecolor="none", label="authors' program", zorder=5)
        for name, values in media.items():
            ax.plot(place, values[:, k], "o-", markersize=4, label=name.replace("`", ""))
        ax.set_xticks(place, [f"{index:g}" for index in AUTHORS])
        ax.set(xlabel="medium index, 0 is water and 1 agar", ylabel=label, ylim=(0, None))
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    for k, medium in enumerate(("water", "agar")):
        for j, both in enumerate(rows.values()):
            count, low, high = kept(both[k], usual[k])
            share, shown = count / len(both[k]), medium if j == 0 else None
            bar = np.abs([[share - low], [high - share]])
            axes[3].errorbar(share, j + 0.2 * k, xerr=bar, fmt="o", color=COLOURS[k], capsize=3, label=shown)
    axes[3].set_yticks(np.arange(len(rows)) + 0.1, [*rows])
    axes[3].set(xlabel=f"share of {DRAWS} worms that keep their gait, 95% interval", xlim=(-0.03, 1.03))
    axes[3].invert_yaxis()
    axes[3].legend(loc="center")
    return figure


def main() -> None:
    """Compute everything, and write the picture and the tables."""
    media, rows = over_media(), robustness()
    usual = np.concatenate([gaits(Worm(circuit="boyle"), friction(index), 1) for index in (0.0, 1.0)])
    page = DOCS / "animals" / "worm.md"
    text = page.read_text("utf-8")
    for name, table in tables(media, rows, usual).items():
        text = put(text, name, table)
    page.write_text(text, "utf-8")
    with rc_context(STYLE):
        figure = draw(media, rows, usual)
        figure.savefig(DOCS / "worm_circuits.webp", dpi=110, pil_kwargs={"quality": 80})
    record([CIRCUITS])


if __name__ == "__main__":
    main()
