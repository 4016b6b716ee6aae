"""Command ``fit``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import tyro

import gymnosoma
from gymnosoma.envs.core.trajectory import Trajectory
from gymnosoma.envs.worm import Midlines, WormParams, fit_medium, forces
from gymnosoma.envs.worm.fit import MediumFit
from gymnosoma.envs.worm.params import friction as friction_of

from .arguments import read_size

Files = Annotated[tuple[Path, ...], tyro.conf.arg(metavar="FILE"), tyro.conf.Positional]
AnimalName = Annotated[Literal["worm"], tyro.conf.arg(metavar="worm"), tyro.conf.Positional]

FIGURES = (".pdf", ".png", ".svg")
"""Endings of a figure."""

PAPERS_LINE = "the paper's line of media from water to agar"


def fit(
    animal: AnimalName,
    files: Files,
    /,
    worm: str | None = None,
    rate: float | None = None,
    microns_per_pixel: float | None = None,
    head: Literal["first", "last"] | None = None,
    y_down: bool | None = None,
    keypoints: str = "",
    window: float = 1.0,
    sigma: bool = False,
    friction: tuple[float, float] | None = None,
    stiffness: float | None = None,
    damping: float | None = None,
    repeats: int | None = None,
    seed: int = 0,
    save: Path | None = None,
    csv: Path | None = None,
    film: Path | None = None,
    figure: Path | None = None,
    size: str = "960x540",
) -> None:
    """Find the medium of recorded worms, and the forces on one of them.

    Midlines alone tell the ratio of the friction coefficients, the path, and forces over b_perp; in newtons they are
    with --sigma or --friction, and the drive of the joints with --stiffness and --damping.

    Args:
        animal: worm.
        files: Recordings of worms in the same medium: .npy, .csv, .wcon, .json, .hdf5 or .h5.
        worm: Which of several in a file.
        rate: Frames a second, where the file does not say it.
        microns_per_pixel: Where the file has pixels.
        head: Which end of a midline is the head, where the file does not say it.
        y_down: Whether y grows downwards, where a file of pixels does not say it.
        keypoints: Names of the body parts of a DeepLabCut file, head to tail, between commas.
        window: In which displacements are compared, s.
        sigma: The medium lies on the paper's line from water to agar, so that b_perp follows from the ratio.
        friction: Coefficients across and along, kg/s.
        stiffness: Of a joint, kappa, N m.
        damping: Of a joint, c, N m s.
        repeats: Of the bootstrap for each worm.
        seed: Of the bootstrap.
        save: What was found and assumed, .json.
        csv: Forces over time.
        film: The recorded midline in grey, what the medium makes of the shapes in colour: .mp4, .gif, or .png.
        figure: Path, kymogram, forces and the profile of sigma: .pdf, .png or .svg.
        size: Of a frame of the film, in pixels.
    """
    from ..files import check_writable, result
    from ..showing.film import check_film

    width, height = read_size(size)
    for name, path in (("save", save), ("csv", csv), ("film", film), ("figure", figure)):
        if path is not None:
            check_writable(name, path)
            if len(files) > 1 and name != "save":
                raise ValueError(f"{name} must be asked of one recording, got {len(files)}")
    if film is not None:
        check_film("film", film, width, height)
    if figure is not None:
        _check_figure(figure)
    if not files:
        raise ValueError("files must be one recording or more, got none")
    if (stiffness is None) != (damping is None):
        raise ValueError("stiffness and damping must be given together: midlines alone tell neither")
    if stiffness is not None and friction is None and not sigma:
        raise ValueError("friction or sigma must be given with stiffness: midlines alone tell no scale of force")
    if sigma and friction is not None:
        raise ValueError("friction must be left out where sigma says what it is, got both")
    names = tuple(name.strip() for name in keypoints.split(",") if name.strip())
    lines = [Midlines.read(path, worm, rate, microns_per_pixel, head, y_down, names) for path in files]
    motions = [each.smoothed() for each in lines]
    for each in motions:
        print(each.report)
    found = fit_medium(motions, repeats, seed, window)
    print(found.report)
    params = _params(found, sigma, friction, stiffness, damping)
    if save is not None:
        told = _told(files, found, sigma, friction, stiffness, damping)
        with result("save", save) as file:
            file.write_text(json.dumps(told, indent=2) + "\n")
    if csv is not None or film is not None or figure is not None:
        run = forces(motions[0], params)
        for note in run.notes[len(motions[0].notes) :]:
            print(note)
        if csv is not None:
            with result("csv", csv) as file:
                _write(run, file)
        if film is not None or figure is not None:
            from ..showing.recorded import save_figure, save_recorded

            if film is not None:
                save_recorded(run, lines[0], film, width, height)
            if figure is not None:
                save_figure(run, found, figure)
    for path in (save, csv, film, figure):
        if path is not None:
            print(f"Wrote {path}.")


def _check_figure(path: Path) -> None:
    if path.suffix not in FIGURES:
        raise ValueError(f"figure must end in one of {', '.join(FIGURES)}, got {str(path)!r}")
    import matplotlib  # noqa: F401 (what is missing is found before the work)


def _params(
    found: MediumFit,
    sigma: bool,
    friction: tuple[float, float] | None,
    stiffness: float | None,
    damping: float | None,
) -> WormParams | MediumFit | tuple[float, float]:
    """What is known of the worm, as `forces` takes it."""
    if sigma:
        if np.isnan(found.sigma):
            raise ValueError("sigma must not be assumed where only a bound of the ratio is known: give friction")
        across, along = friction_of(found.sigma)
        friction = float(across), float(along)
    if friction is None:
        return found
    if stiffness is None or damping is None:
        return friction
    return WormParams(
        friction_perpendicular=friction[0], friction_parallel=friction[1], stiffness=stiffness, damping=damping
    )


def _told(
    files: Sequence[Path],
    found: MediumFit,
    sigma: bool,
    friction: tuple[float, float] | None,
    stiffness: float | None,
    damping: float | None,
) -> dict[str, Any]:
    """What was found and what was assumed, for JSON."""
    assumed = {"sigma": PAPERS_LINE} if sigma else {}
    given = {"friction": friction, "stiffness": stiffness, "damping": damping}
    known = ["path", "ratio", "force_per_friction", "power_per_friction", "torque_per_friction"]
    known += ["friction_force", "power", "joint_torque"] if sigma or friction else []
    known += ["control_angle"] if stiffness is not None else []
    return {
        "version": gymnosoma.__version__,
        "files": [{"name": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()} for path in files],
        "ratio": _number(found.ratio),
        "ratio_interval": [_number(value) for value in found.ratio_interval],
        "sigma": _number(found.sigma),
        "sigma_interval": [_number(value) for value in found.interval],
        "sigma_means": f"on {PAPERS_LINE}, where the ratio is what was found",
        "worms": [
            {"sigma": each.sigma, "interval": list(map(_number, each.interval)), "residual_m": each.residual}
            | {"windows": each.windows}
            for each in found.per_worm
        ],
        "identifiable": known,
        "assumed": assumed | {name: value for name, value in given.items() if value is not None},
        "repeats": found.repeats,
        "bias": found.bias,
        "seed": found.seed,
        "notes": list(found.notes),
    }


def _number(value: float) -> float | None:
    """A number of JSON, which has no infinity: null where there is none."""
    return float(value) if np.isfinite(value) else None


def _write(run: Trajectory, path: Path) -> None:
    names = ["centre", "refit_centre", "refit_turn", "reliable", "joint_angle"]
    names += [name for name in ("friction_force", "power", "joint_torque", "control_angle") if name in run]
    if "friction_force" not in run:
        names += ["force_per_friction", "power_per_friction", "torque_per_friction"]
    run.to_csv(path, *names)
