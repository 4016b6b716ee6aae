"""Command ``fit``."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import tyro

import gymnosoma
from gymnosoma.agents.support.files import check_installed
from gymnosoma.envs.core.files import check_file
from gymnosoma.envs.core.model.trajectory import Trajectory
from gymnosoma.envs.whisker_chain import Hair, RecordedBase, WhiskerParams, free_forces
from gymnosoma.envs.worm import Midlines, WormParams, fit_medium, fit_relaxation, forces
from gymnosoma.envs.worm.fit import MediumFit
from gymnosoma.envs.worm.motion import Motion
from gymnosoma.envs.worm.params import PHYSICAL
from gymnosoma.envs.worm.params import friction as friction_of

from .arguments import Saved, read_size

Files = Annotated[tuple[Path, ...], tyro.conf.arg(metavar="FILE"), tyro.conf.Positional]
AnimalName = Annotated[Literal["worm", "whisker"], tyro.conf.arg(metavar="worm|whisker"), tyro.conf.Positional]

FIGURES = (".pdf", ".png", ".svg")
"""Endings of a figure."""

MEDIUM = ("friction_perpendicular", "friction_parallel")

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
    relaxation: bool = False,
    repeats: int | None = None,
    seed: int = 0,
    params: Path | None = None,
    save: Saved = (),
    csv: Path | None = None,
    film: Path | None = None,
    figure: Path | None = None,
    size: str = "960x540",
) -> None:
    """Find the medium of recorded worms and the forces on one of them, or the forces at the base of a vibrissa.

    Midlines alone tell the ratio of the friction coefficients, the path, and forces over b_perp; in newtons they are
    with --sigma or --friction, and the drive of the joints with --stiffness and --damping. A vibrissa must whisk in
    free air; it takes --rate, --params, --save and --csv.

    Args:
        animal: worm or whisker.
        files: Recordings of worms in the same medium: .npy, .csv, .wcon, .json, .hdf5 or .h5; or the motion of a
            vibrissa's base, a .csv with the columns angle (rad), and x, y (m) and time (s) if they are known.
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
        relaxation: The muscles are silent in the whole recording: find b_perp / kappa and c / kappa of a worm that
            straightens, with the ratio of --friction or of the recording.
        repeats: Of the bootstrap for each worm.
        seed: Of the bootstrap.
        params: Shape of the vibrissa, .toml: length, base_radius, tip_radius (m) and curvature (1/m), n_links, density,
            modulus, damping_ratio; the paper's by default.
        save: What was found and assumed, .json; also a .csv, or a film, as of --csv and --film. Several may be given.
        csv: Forces over time.
        film: The recorded midline in grey, what the medium makes of the shapes in colour: .mp4, .gif, or .png.
        figure: Path, kymogram, forces and the profile of sigma: .pdf, .png or .svg.
        size: Of a frame of the film, in pixels.
    """
    from gymnosoma.agents.support.files import check_saved, check_writable
    from gymnosoma.films.reel import FORMATS, check_film

    width, height = read_size(size)
    results: dict[str, Path | None] = {"save": None, "csv": csv, "film": film, "figure": figure}
    for given in check_saved("save", save, (".json", ".csv", *FORMATS)):
        kind = {".json": "save", ".csv": "csv"}.get(given.suffix, "film")
        if results[kind] is not None:
            raise ValueError(f"save must give one file of a kind, got {str(results[kind])!r} and {str(given)!r}")
        results[kind] = given
    csv, film = results["csv"], results["film"]
    for name, path in results.items():
        if path is not None:
            check_writable(name, path)
            if len(files) > 1 and name != "save":
                raise ValueError(f"{name} must be asked of one recording, got {len(files)}")
    if film is not None:
        check_film("film", film, width, height)
    if figure is not None:
        _check_figure(figure)
    if animal == "whisker":
        others = {"sigma": sigma or None, "friction": friction, "stiffness": stiffness, "film": film, "figure": figure}
        _check_none(others | {"worm": worm, "head": head, "microns_per_pixel": microns_per_pixel})
        _fit_whisker(files, rate, params, results["save"], csv)
    else:
        if params is not None:
            raise ValueError(f"params must be left out for worms, got {str(params)!r}")
        if not files:
            raise ValueError("files must be one recording or more, got none")
        known = _Known(sigma, friction, stiffness, damping)
        known.check()
        names = tuple(name.strip() for name in keypoints.split(",") if name.strip())
        lines = [Midlines.read(path, worm, rate, microns_per_pixel, head, y_down, names) for path in files]
        motions = [each.smoothed() for each in lines]
        for each in motions:
            print(each.report)
        if relaxation:
            _relax(files, motions, known, results)
        else:
            found = fit_medium(motions, repeats, seed, window)
            print(found.report)
            _write_worm(files, lines[0], motions[0], found, known, results, (width, height))
    for path in results.values():
        if path is not None:
            print(f"Wrote {path}.")


def _relax(files: Sequence[Path], motions: Sequence[Motion], known: _Known, results: Mapping[str, Path | None]) -> None:
    """Find and write the passive body of a worm."""
    from gymnosoma.agents.support.files import result

    asked = [name for name, path in results.items() if path is not None and name != "save"]
    if len(motions) != 1 or asked or known.sigma or known.stiffness is not None:
        raise ValueError(f"relaxation must be asked of one recording, with friction and save alone, got {len(motions)}")
    ratio = None if known.friction is None else known.friction[0] / known.friction[1]
    found = fit_relaxation(motions[0], ratio)
    print(found.report)
    if results["save"] is not None:
        told = {
            "friction_over_stiffness": _number(found.friction_over_stiffness),
            "friction_interval": list(found.friction_interval),
            "lag": found.lag,
            "lag_interval": list(found.lag_interval),
            "ratio": found.ratio,
            "residual_rad": found.residual,
            "assumed": {"muscles": "silent"} | ({} if ratio is None else {"friction": known.friction}),
        }
        with result("save", results["save"]) as file:
            file.write_text(json.dumps(_files(files) | told, indent=2) + "\n", "utf-8")


def _check_none(given: Mapping[str, Any]) -> None:
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{name} must be left out for a vibrissa, got {value!r}")


class _Known(NamedTuple):
    """What is known of worms beside their midlines."""

    sigma: bool
    friction: tuple[float, float] | None
    stiffness: float | None
    damping: float | None

    def check(self) -> None:
        """Refuse what does not go together."""
        if (self.stiffness is None) != (self.damping is None):
            raise ValueError("stiffness and damping must be given together: midlines alone tell neither")
        if self.stiffness is not None and self.friction is None and not self.sigma:
            raise ValueError("friction or sigma must be given with stiffness: midlines alone tell no scale of force")
        for value, name in zip(self.friction or (), MEDIUM, strict=False):
            PHYSICAL[name].check("friction", value)
        if self.sigma and self.friction is not None:
            raise ValueError("friction must be left out where sigma says what it is, got both")

    def params(self, found: MediumFit) -> WormParams | MediumFit | tuple[float, float]:
        """All of it as `forces` takes it."""
        friction = self.friction
        if self.sigma:
            if np.isnan(found.sigma):
                raise ValueError("sigma must not be assumed where only a bound of the ratio is known: give friction")
            across, along = friction_of(found.sigma)
            friction = float(across), float(along)
        if friction is None:
            return found
        if self.stiffness is None or self.damping is None:
            return friction
        medium: dict[str, Any] = dict(zip(MEDIUM, friction, strict=True))
        return WormParams(**medium, stiffness=self.stiffness, damping=self.damping)


def _write_worm(
    files: Sequence[Path],
    lines: Midlines,
    motion: Motion,
    found: MediumFit,
    known: _Known,
    results: Mapping[str, Path | None],
    size: tuple[int, int],
) -> None:
    """Write what was found of worms, and the forces on the only one."""
    from gymnosoma.agents.support.files import result

    save, csv, film, figure = (results[name] for name in ("save", "csv", "film", "figure"))
    params = known.params(found)
    if save is not None:
        with result("save", save) as file:
            file.write_text(json.dumps(_files(files) | _told(found, known), indent=2) + "\n", "utf-8")
    if csv is None and film is None and figure is None:
        return
    run = forces(motion, params)
    for note in run.notes[len(motion.notes) :]:
        print(note)
    low, high = found.ratio_interval
    if known.friction is not None and not low <= (ratio := known.friction[0] / known.friction[1]) <= high:
        print(f"friction has the ratio {ratio:.3g}, which is not what the recording tells: {low:.3g} to {high:.3g}")
    if csv is not None:
        with result("csv", csv) as file:
            _write(run, file)
    if film is not None or figure is not None:
        from gymnosoma.films.recorded import save_figure, save_recorded

        if film is not None:
            save_recorded(run, lines, film, *size)
        if figure is not None:
            save_figure(run, found, figure)


def _fit_whisker(
    files: Sequence[Path], rate: float | None, params: Path | None, save: Path | None, csv: Path | None
) -> None:
    """Forces at the base of a vibrissa in free air."""
    from gymnosoma.agents.support.files import result

    if len(files) != 1:
        raise ValueError(f"files must be one recording of a vibrissa, got {len(files)}")
    hair = _hair(params)
    base = RecordedBase.read(files[0], rate)
    run = free_forces(base, hair)
    most = np.abs(run["base_wrench"]).max(0).tolist()
    noise = ", ".join(f"{name} {value:.2g}" for name, value in base.noise.items())
    print(f"{base.duration:g} s at {base.rate:g} Hz; noise: {noise} (rad, m)")
    print("in free air, at most: M {:.3g} N m, Fx {:.3g} N, Fy {:.3g} N".format(*most))
    if save is not None:
        told = _files(files) | {"noise": base.noise, "largest": dict(zip(("M", "Fx", "Fy"), most, strict=True))}
        told["assumed"] = {"contact": "none", "params": "the paper's D1 vibrissa" if params is None else params.name}
        with result("save", save) as file:
            file.write_text(json.dumps(told, indent=2) + "\n", "utf-8")
    if csv is not None:
        with result("csv", csv) as file:
            run.to_csv(file, "base_angle", "base", "base_wrench")


def _hair(path: Path | None) -> WhiskerParams:
    """Parameters of a vibrissa by its shape."""
    if path is None:
        return WhiskerParams()
    try:
        check_file(path)
        table = tomllib.loads(path.read_text("utf-8"))
        own: dict[str, Any] = {key: tuple(each) if isinstance(each, list) else each for key, each in table.items()}
        shape: dict[str, Any] = {name: getattr(WhiskerParams, name) for name in ("length", "base_radius", "tip_radius")}
        shape |= {name: own.pop(name) for name in (*shape, "curvature") if name in own}
        return WhiskerParams.of(Hair(**shape), **own)
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"params {str(path)!r} cannot be read: {error}") from None


def _files(files: Sequence[Path]) -> dict[str, Any]:
    """What was read, and by what."""
    sums = [{"name": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()} for path in files]
    return {"version": gymnosoma.__version__, "files": sums}


def _check_figure(path: Path) -> None:
    if path.suffix not in FIGURES:
        raise ValueError(f"figure must end in one of {', '.join(FIGURES)}, got {str(path)!r}")
    check_installed("matplotlib")


def _told(found: MediumFit, known: _Known) -> dict[str, Any]:
    """What was found and what was assumed, for JSON."""
    assumed: dict[str, Any] = {"sigma": PAPERS_LINE} if known.sigma else {}
    given = {"friction": known.friction, "stiffness": known.stiffness, "damping": known.damping}
    tells = ["path", "ratio", "force_per_friction", "power_per_friction", "torque_per_friction"]
    tells += ["friction_force", "power", "joint_torque"] if known.sigma or known.friction else []
    tells += ["control_angle"] if known.stiffness is not None else []
    return {
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
        "identifiable": tells,
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
