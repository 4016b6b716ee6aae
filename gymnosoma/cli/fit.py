"""Command ``fit``."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

import gymnosoma
from gymnosoma.agents.support.files import check_saved, result
from gymnosoma.envs.core.files import read_toml
from gymnosoma.envs.whisker_chain import Hair, WhiskerParams

from .arguments import Outputs, read_size

Files = Annotated[tuple[Path, ...], tyro.conf.arg(metavar="FILE"), tyro.conf.Positional]
AnimalName = Annotated[Literal["worm", "whisker"], tyro.conf.arg(metavar="worm|whisker"), tyro.conf.Positional]


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
    save: Outputs = (),
    size: str = "960x540",
) -> None:
    """Estimate forces from recordings of worms or of a whisker.

    For worms, midlines determine the ratio of the friction coefficients, the path, and forces divided by b_perp. Forces
    in newtons also need --sigma or --friction; the drive of the joints also needs --stiffness and --damping. For a
    whisker that moves in free air, the result is the force at its base; only --rate, --params and --save apply.

    Args:
        animal: worm or whisker.
        files: Recordings of worms in the same medium (.npy, .csv, .wcon, .json, .hdf5, .h5), or the motion of a
            whisker's base (.csv with the column angle (rad) and optionally x, y (m) and time (s)).
        worm: Worm to analyse, if a file contains several.
        rate: Frame rate, Hz, if the file does not contain it.
        microns_per_pixel: Scale, if the file is in pixels.
        head: End of the midline that is the head, if the file does not contain it.
        y_down: Whether y increases downwards, if the file is in pixels and does not contain it.
        keypoints: Body parts of a DeepLabCut file from head to tail, separated by commas.
        window: Time window over which displacements are compared, s.
        sigma: Assume a medium on the paper's line from water to agar, so that the ratio determines b_perp.
        friction: Friction coefficients across and along the body, kg/s.
        stiffness: Stiffness kappa of a joint, N m.
        damping: Damping c of a joint, N m s.
        relaxation: Assume that the muscles are inactive in the whole recording, and estimate b_perp / kappa and
            c / kappa of the straightening worm, with the friction ratio from --friction or from the recording.
        repeats: Number of bootstrap samples per worm.
        seed: Seed of the bootstrap.
        params: TOML file with the whisker's length, base_radius, tip_radius (m), curvature (1/m), n_links, density,
            modulus and damping_ratio. By default, the paper's whisker.
        save: Output files: the fit and its assumptions (.json), forces over time (.csv), or a film of the recorded
            midline (grey) and the worm moved by the fitted medium (colour; .mp4, .gif, .png).
        size: Size of a frame of the film, in pixels.
    """
    from gymnosoma import recordings
    from gymnosoma.films.recorded import save_recorded
    from gymnosoma.films.reel import FORMATS

    width, height = read_size(size)
    outputs = check_saved("save", save, (".json", ".csv", *FORMATS))
    for path in outputs:
        one = len(files) == 1 and not relaxation and (animal == "worm" or path.suffix == ".csv")
        if path.suffix != ".json" and not one:
            raise ValueError(f"save must end in .json for this study, got {str(path)!r}")
    if not files or (len(files) > 1 and (animal == "whisker" or relaxation)):
        raise ValueError(f"files must be one recording (several for worms without --relaxation), got {len(files)}")
    lines = []
    if animal == "whisker":
        study = recordings.study_vibrissa(recordings.RecordedBase.read(files[0], rate), _read_hair(params))
    else:
        names = tuple(name.strip() for name in keypoints.split(",") if name.strip())
        hints = worm, rate, microns_per_pixel, head, y_down, names
        lines = [recordings.Midlines.read(path, *hints) for path in files]
        if relaxation:
            study = recordings.study_relaxation(lines[0], friction)
        else:
            study = recordings.study_worms(lines, sigma, friction, stiffness, damping, window, repeats, seed)
    print(study.report)
    for path in outputs:
        with result("save", path) as file:
            if path.suffix == ".json":
                sums = [{"name": each.name, "sha256": hashlib.sha256(each.read_bytes()).hexdigest()} for each in files]
                about = {"version": gymnosoma.__version__, "files": sums, "params": params and params.name}
                file.write_text(json.dumps(about | dict(study.summary), indent=2) + "\n", "utf-8")
            elif path.suffix == ".csv":
                study.run.to_csv(file, *study.signals)
            else:
                save_recorded(study.run, lines[0], file, width, height)
        print(f"Wrote {path}.")


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
        raise ValueError(f"params {str(path)!r} cannot be read: {error}") from None
