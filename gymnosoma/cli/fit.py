"""Command ``fit``."""

from __future__ import annotations

import hashlib
import json
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

import gymnosoma
from gymnosoma.agents.support.files import check_saved, result
from gymnosoma.envs.core.files import check_file
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
    """Find the medium of recorded worms and the forces on one of them, or the forces at the base of a vibrissa.

    Midlines alone determine the ratio of the friction coefficients, the path, and forces over b_perp. Forces in newtons
    need --sigma or --friction, the drive of the joints --stiffness and --damping. A vibrissa must whisk in free air; it
    takes --rate, --params and --save.

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
        save: The fit and its assumptions (.json); forces over time (.csv); a film of the recorded midline in grey and
            the worm that the medium moves in colour (.mp4, .gif, .png). Several may be given.
        size: Of a frame of the film, in pixels.
    """
    from gymnosoma import recordings
    from gymnosoma.films.recorded import save_recorded
    from gymnosoma.films.reel import FORMATS, check_film

    width, height = read_size(size)
    outputs = check_saved("save", save, (".json", ".csv", *FORMATS))
    for path in outputs:
        if path.suffix in FORMATS:
            check_film("save", path)
        one = len(files) == 1 and not relaxation and (animal == "worm" or path.suffix == ".csv")
        if path.suffix != ".json" and not one:
            raise ValueError(f"save must end in .json for this study, got {str(path)!r}")
    if not files or (len(files) > 1 and (animal == "whisker" or relaxation)):
        raise ValueError(f"files must be one recording, or of behaving worms one or more, got {len(files)}")
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
