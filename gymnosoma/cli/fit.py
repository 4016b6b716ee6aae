"""Command ``fit``: choose the analysis of recordings, print a report and save the results."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import tyro

import gymnosoma
from gymnosoma.agents.support.files import check_saved, result, to_json
from gymnosoma.agents.support.progress import progress_bar
from gymnosoma.envs.core.arguments import shown
from gymnosoma.envs.core.files import read_toml
from gymnosoma.envs.core.kinds import advice
from gymnosoma.envs.whisker_chain import Hair, WhiskerParams
from gymnosoma.envs.worm import WormParams, medium
from gymnosoma.recordings import MediumFit, Midlines, RecordedBase, fit_medium, forces, free_forces

from .arguments import Outputs, read_size

Files = Annotated[tuple[Path, ...], tyro.conf.arg(metavar="FILE"), tyro.conf.Positional]
AnimalName = Annotated[Literal["worm", "whisker"], tyro.conf.arg(metavar="worm|whisker"), tyro.conf.Positional]


FILES = {"rate", "microns_per_pixel", "y_down", "start", "stop", "save", "size"}
USED = {
    "a whisker": FILES | {"whisker", "angle_unit", "length_unit", "params", "seed"},
    "several worms": (worms := FILES | {"worm", "head", "keypoints", "window", "repeats", "seed"}),
    "a worm": worms | {"sigma", "friction", "stiffness", "damping"},
}
"""Options that have an effect, by study."""


def fit(
    animal: AnimalName,
    files: Files,
    /,
    worm: str | None = None,
    rate: float | None = None,
    microns_per_pixel: float | None = None,
    head: Literal["first", "last", None] = None,
    y_down: Literal[True, False, None] = None,
    keypoints: str = "",
    start: Annotated[float | None, tyro.conf.arg(name="from")] = None,
    stop: Annotated[float | None, tyro.conf.arg(name="to")] = None,
    window: float = 1.0,
    sigma: bool = False,
    friction: tuple[float, float] | None = None,
    stiffness: float | None = None,
    damping: float | None = None,
    repeats: int | None = None,
    seed: int = 0,
    whisker: str | None = None,
    angle_unit: str | None = None,
    length_unit: str | None = None,
    params: Path | None = None,
    save: Outputs = (),
    size: str = "960x540",
) -> None:
    """Estimate forces from recordings of worms or of a whisker.

    For worms, midlines determine the ratio of the friction coefficients, the path, and forces divided by b_perp. Forces
    in newtons also need --sigma or --friction; the drive of the joints also needs --stiffness and --damping. For a
    whisker that moves in free air, the result is the force at its base. Options that have no effect are refused.

    Args:
        animal: worm or whisker.
        files: Recordings of worms in the same medium (.npy, .csv, .wcon, .json, .zip, .hdf5, .h5, .slp), or the motion
            of a whisker's base (.csv with the column angle and optionally x, y, time, frame, whisker; .measurements and
            .whiskers of whisk).
        worm: Worm to analyse, if a file contains several.
        rate: Frame rate, Hz, if the file does not contain it.
        microns_per_pixel: Scale, if the file is in pixels.
        head: End of the midline that is the head, if the file does not contain it.
        y_down: Whether y increases downwards, if the file is in pixels and does not contain it.
        keypoints: Body parts of a DeepLabCut file from head to tail, separated by commas.
        start: Time from which the recording is used, s from its first frame; the start by default.
        stop: Time up to which the recording is used, s; the end by default. Fit the parts of a recording alone if the
            animal is lost between them.
        window: Time window over which displacements are compared, s.
        sigma: Assume a medium on the paper's line from water to agar, so that the ratio determines b_perp.
        friction: Friction coefficients across and along the body, kg/s.
        stiffness: Stiffness kappa of a joint, N m.
        damping: Damping c of a joint, N m s.
        repeats: Number of bootstrap samples per worm.
        seed: Seed of the bootstrap, and of the noise from which a whisker's errors follow.
        whisker: Whisker to analyse, if the file contains several.
        angle_unit: Unit of angles, rad or deg, if the column's name does not contain it; rad by default.
        length_unit: Unit of positions, m, mm, um or px, if the columns' names do not contain it; m by default.
        params: TOML file with the whisker's length, base_radius, tip_radius (m), curvature (1/m), n_links, density,
            modulus and damping_ratio. By default, the paper's whisker.
        save: Output files: the fit and its assumptions (.json), forces over time (.csv), or a film of the recorded
            midline (grey) and the worm moved by the fitted medium (colour; .mp4, .gif, .png). For a whisker, .png is
            a figure of the motion and the forces.
        size: Size of a frame of the film, in pixels.
    """
    options = dict(locals())
    study_name = "a whisker" if animal == "whisker" else "several worms" if len(files) > 1 else "a worm"
    usual = {name: each.default for name, each in inspect.signature(fit).parameters.items()}
    for name, value in options.items():
        if name not in {"animal", "files"} | USED[study_name] and value != usual[name]:
            raise ValueError(f"{name} must be left out, because it has no effect on {study_name}, got {shown(value)}")
    from gymnosoma.films.recorded import save_recorded
    from gymnosoma.films.reel import FORMATS

    width, height = read_size(size)
    outputs = check_saved("save", save, (".json", ".csv", *FORMATS))
    for path in outputs:
        one = len(files) == 1 and (animal == "worm" or path.suffix in (".csv", ".png"))
        if path.suffix != ".json" and not one:
            raise ValueError(f"save must end in .json for this study, got {str(path)!r}")
    if not files or (len(files) > 1 and animal == "whisker"):
        raise ValueError(f"files must be one recording (several for worms), got {len(files)}")
    lines = []
    if animal == "whisker":
        units = angle_unit, length_unit, microns_per_pixel, y_down
        base = RecordedBase.read(files[0], rate, whisker, *units, start, stop)
        study = _fit_whisker(base, _read_hair(params), seed)
    else:
        names = tuple(name.strip() for name in keypoints.split(",") if name.strip())
        hints = worm, rate, microns_per_pixel, head, y_down, names
        lines = [Midlines.read(path, *hints, start, stop) for path in files]
        run = stiffness is not None or any(path.suffix != ".json" for path in outputs)
        progress = partial(progress_bar, leave=False, delay=3.0)
        fitting = {"window": window, "repeats": repeats, "seed": seed, "progress": progress}
        study = _fit_worms(lines, sigma, friction, stiffness, damping, fitting, run)
    print(study.report)
    for path in outputs:
        with result("save", path) as file:
            if path.suffix == ".json":
                sums = [{"name": each.name, "sha256": hashlib.sha256(each.read_bytes()).hexdigest()} for each in files]
                about: dict[str, Any] = {
                    "version": gymnosoma.__version__,
                    "files": sums,
                    "params": params and params.name,
                    "from": start,
                    "to": stop,
                }
                file.write_text(json.dumps(to_json(about | dict(study.summary)), indent=2) + "\n", "utf-8")
            elif path.suffix == ".csv":
                study.run.to_csv(file, *study.signals)
            elif animal == "whisker":
                study.run.plot("base_angle", "base_wrench")[0].figure.savefig(file, format="png")
            else:
                save_recorded(study.run, lines[0], file, width, height)
        print(f"Wrote {path}.")


class Study(NamedTuple):
    """Report to print, summary for JSON, and forces over time (None for several recordings) with signals to save."""

    report: str
    summary: Mapping[str, Any]
    run: Any = None
    signals: tuple[str, ...] = ()


def _fit_worms(
    lines: Sequence[Midlines],
    sigma: bool,
    friction: tuple[float, float] | None,
    stiffness: float | None,
    damping: float | None,
    fitting: Mapping[str, Any],
    run: bool,
) -> Study:
    """Estimate the medium of worms and, for a single worm with ``run``, the forces and, if possible, the drive."""
    if (stiffness is None) != (damping is None):
        raise ValueError("stiffness and damping must be given together: midlines alone determine neither")
    if sigma and friction is not None:
        raise ValueError("friction must not be given with sigma, which determines it")
    if stiffness is not None and friction is None and not sigma:
        raise ValueError("friction or sigma must be given with stiffness: midlines alone do not determine forces")
    motions = [each.smoothed(progress=fitting["progress"]) for each in lines]
    fit = fit_medium(motions, **fitting)
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


def _fit_whisker(base: RecordedBase, params: WhiskerParams, seed: int) -> Study:
    """Compute the forces at the base of a whisker in free air, and their errors from noise."""
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


def _read_hair(path: Path | None) -> WhiskerParams:
    """Read whisker parameters from a TOML file."""
    if path is None:
        return WhiskerParams()
    try:
        table = read_toml(path)
        own: dict[str, Any] = {key: tuple(each) if isinstance(each, list) else each for key, each in table.items()}
        shape: dict[str, Any] = {name: getattr(WhiskerParams, name) for name in ("length", "base_radius", "tip_radius")}
        shape |= {name: own.pop(name) for name in (*shape, "curvature") if name in own}
        return WhiskerParams.of(Hair(**shape), **own)
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"params {str(path)!r} cannot be read: {advice(path) or error}") from None
