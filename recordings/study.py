"""Complete analyses of recordings: a report to print, a summary to save, and the forces on one animal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np

from gymnosoma.envs.whisker_chain import WhiskerParams
from gymnosoma.envs.worm import WormParams, medium

from .body import Progress, silent
from .forces import forces
from .medium import MediumFit, fit_medium
from .midlines import Midlines
from .vibrissa import RecordedBase, free_forces


class Study(NamedTuple):
    """Results of a study.

    Args:
        report: Text to print.
        summary: Results and assumptions, serialisable as JSON.
        run (Trajectory): Forces over time; None for several recordings.
        signals: Names of the signals of ``run`` to save in a table.
    """

    report: str
    summary: Mapping[str, Any]
    run: Any = None
    signals: tuple[str, ...] = ()


def study_worms(
    midlines: Sequence[Midlines],
    sigma: bool = False,
    friction: tuple[float, float] | None = None,
    stiffness: float | None = None,
    damping: float | None = None,
    window: float = 1.0,
    repeats: int | None = None,
    seed: int = 0,
    run: bool = True,
    progress: Progress = silent,
) -> Study:
    """Estimate the medium of worms and, for a single worm, the forces and, if possible, the drive.

    Args:
        midlines: Midlines of worms in the same medium.
        sigma: Assume that the medium is on the paper's line from water to agar, so that b_perp follows from the ratio.
        friction (kg/s): Friction coefficients across and along the body, instead of ``sigma``.
        stiffness, damping (N m, N m s): Stiffness and damping of the joints, both or neither.
        window, repeats, seed, progress: As in `fit_medium`.
        run: Whether to compute forces and drive, which need much memory for a long recording.

    Raises:
        ValueError: If the arguments are inconsistent, or if `Midlines.smoothed`, `fit_medium` or `forces` raise it.
    """
    if (stiffness is None) != (damping is None):
        raise ValueError("stiffness and damping must be given together: midlines alone determine neither")
    if sigma and friction is not None:
        raise ValueError("friction must not be given with sigma, which determines it")
    if stiffness is not None and friction is None and not sigma:
        raise ValueError("friction or sigma must be given with stiffness: midlines alone do not determine forces")
    motions = [each.smoothed(progress=progress) for each in midlines]
    fit = fit_medium(motions, repeats, seed, window, progress)
    if sigma and np.isnan(fit.sigma):
        raise ValueError("sigma must not be used if only a bound of the ratio is known: give friction")
    reports = [*(motion.report for motion in motions), fit.report]
    assumed = {"sigma": sigma or None, "friction": friction, "stiffness": stiffness, "damping": damping}
    per_worm = [worm._asdict() for worm in fit.per_worm]
    summary = _plain(asdict(fit) | {"per_worm": per_worm, "ratio": fit.ratio, "ratio_interval": fit.ratio_interval})
    summary["assumed"] = {name: value for name, value in assumed.items() if value is not None}
    if len(motions) > 1 or not run:
        return Study("\n".join(reports), summary)
    if sigma:
        coefficients = medium(fit.sigma)
        friction = float(coefficients["friction_perpendicular"]), float(coefficients["friction_parallel"])
    params: WormParams | MediumFit | tuple[float, float] = friction or fit
    if friction is not None and stiffness is not None and damping is not None:
        params = WormParams(
            friction_perpendicular=friction[0], friction_parallel=friction[1], stiffness=stiffness, damping=damping
        )
    out = forces(motions[0], params)
    reports += out.notes[len(motions[0].notes) :]
    names = ("friction_force", "power", "joint_torque", "control_angle")
    available = [name for name in names if name in out]
    available = available or ["force_per_friction", "power_per_friction", "torque_per_friction"]
    signals = ("centre", "refit_centre", "refit_turn", "reliable", "joint_angle", *available)
    return Study("\n".join(reports), summary, out, signals)


def study_vibrissa(base: RecordedBase, params: WhiskerParams | None = None, seed: int = 0) -> Study:
    """Compute the forces at the base of a whisker in free air, and their errors from noise; see `free_forces`."""
    run, names = free_forces(base, params), ("M", "Fx", "Fy")
    wrench, again = run["base_wrench"], free_forces(base.repeated(seed), params)["base_wrench"]
    most = dict(zip(names, np.abs(wrench).max(0).tolist(), strict=True))
    # Smoothing again changes the forces by about half of their error, because it also removes some motion.
    error = dict(zip(names, (2.0 * np.sqrt(np.mean((again - wrench) ** 2, 0))).tolist(), strict=True))
    noise = ", ".join(f"{name} {value:.2g}" for name, value in base.noise.items())
    reports = [*base.notes, f"{base.duration:g} s at {base.rate:g} Hz; noise: {noise} (rad, m)"]
    for what, value in {"largest values in free air": most, "root-mean-square errors": error}.items():
        reports.append(f"{what}: M {value['M']:.3g} N m, Fx {value['Fx']:.3g} N, Fy {value['Fy']:.3g} N")
    summary = {"noise": base.noise, "largest": most, "error": error, "seed": seed, "assumed": {"contact": "none"}}
    return Study("\n".join(reports), summary, run, ("base_angle", "base", "base_wrench"))


def _plain(value: Any) -> Any:
    """Replace infinity and NaN, which JSON does not support, by None."""
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
