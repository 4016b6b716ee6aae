"""Command ``simulate``."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from inspect import signature
from typing import Annotated, Any

import numpy as np
import tyro

from gymnosoma.agents.support.interruption import noted_signals
from gymnosoma.envs import Schedule
from gymnosoma.envs import simulate as simulate_animal
from gymnosoma.envs.core.arguments import one_of, read_params
from gymnosoma.envs.core.kinds import hint
from gymnosoma.envs.core.model.animal import ANIMALS, Animal, find_animal
from gymnosoma.envs.core.model.control import Controller

from .arguments import Events, Outputs, assignment, read_event, read_params_of, read_size

Named = Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME=VALUE"), tyro.conf.UseAppendAction]


AnimalName = Annotated[str, tyro.conf.arg(metavar="ANIMAL"), tyro.conf.Positional]


@dataclass(frozen=True)
class Settings:
    """Settings of a simulation.

    Args:
        drive: Constant values, a CSV file, or a controller of the animal. By default, the animal's own controller (the
            first below) at the paper's parameters, or 0 for a model without one. The file's columns are the time (s)
            and the drive (SI), in any order if the first line names them. Controllers: sine (for the current medium),
            water_sine, omega_turn, delta_turn (worm); brainstem (lamprey); whisk, tap (whisker_chain); sweep
            (whisker_rod).
        duration: Simulated time, s.
        every: Interval between recorded states, s. By default, hold. If it is not a multiple of hold, the nearest
            states are recorded with their actual times.
        hold: Time for which the drive is constant, s. By default, the controller's period, or the time step.
        param: Field of the animal's parameters, argument of its class, or key of its TOML file, such as n_rods=13,
            cord.segments=200 or body.fore.inertial.mass=0.5; @FILE.csv for a table. For a worm, sigma (0 water, 1 agar)
            and scale set the medium. May be repeated.
        start: Initial value or physical parameter (SI), such as heading=0.5; @FILE.csv for a table. May be repeated.
        scheme: Time-stepping scheme. By default, the animal's.
        dt: Time step, s.
    """

    drive: tuple[str, ...] = ()
    duration: float = 1.0
    every: float | None = None
    hold: float | None = None
    param: Named = ()
    start: Named = ()
    event: Events = ()
    scheme: str | None = None
    dt: float | None = None

    def initial(self) -> dict[str, Any]:
        """Return initial values by name."""
        return dict(assignment("start", text) for text in self.start)


SIMPLE = Settings()

MODELS = ("arm", "hindlimb", "hopper", "spindle", "standing")
"""Musculoskeletal models included in the package."""


def simulate(
    animal: AnimalName,
    /,
    settings: Annotated[Settings, tyro.conf.OmitArgPrefixes] = SIMPLE,
    save: Annotated[Outputs, tyro.conf.arg(aliases=("--csv", "--film"))] = (),
    slow: float = 1.0,
    fps: float = 50.0,
    size: str = "960x540",
) -> None:
    """Simulate an animal without an environment.

    The recording is saved, or shown in a window if --save is not used. Ctrl-C ends the simulation and keeps the
    recording up to then.

    Args:
        animal: worm, lamprey, whisker_chain, whisker_rod; a musculoskeletal model (arm, hindlimb, hopper, spindle,
            standing); or a file with your own model, such as mine.toml or mine.osim.
        save: Output files: the trajectory (.npz, for Trajectory.load), a table (.csv, .parquet, .json), a film (.mp4,
            .gif) or its last frame (.png).
        slow: Slow-motion factor of the film.
        fps: Maximum frame rate of the film, Hz.
        size: Size of a frame, in pixels.
    """
    from gymnosoma.agents.support.files import TABLES, check_saved, result, write_table
    from gymnosoma.envs.core.draw.view import open_display
    from gymnosoma.films.reel import FORMATS, INSTEAD, Replay, check_playback, play

    width, height = read_size(size)
    files = check_saved("save", save, (".npz", *TABLES, *FORMATS))
    check_playback(fps, slow)
    body = make_animal(animal, read_params_of(settings.param), {"scheme": settings.scheme, "dt": settings.dt})
    controller = read_drive(body, settings.drive)
    hold = usual_hold(body, controller) if settings.hold is None else settings.hold
    events = [read_event(text) for text in settings.event]
    if not files:
        open_display(INSTEAD)
    with _watched(settings.duration) as progress, warnings.catch_warnings(action="ignore", category=UserWarning):
        run = simulate_animal(
            body,
            controller,
            settings.duration,
            settings.every,
            start=settings.initial(),
            hold=hold,
            events=events,
            progress=progress,
        )
    print(f"{run.time[-1]:g} s in {len(run.time)} moments{f', then {run.failure}' if run.failure else ''}.")
    for path in files:
        if path.suffix in FORMATS:
            play(Replay(run, width, height, fps=fps, slow=slow), animal, path)
        else:
            with result("save", path) as file:
                if path.suffix == ".npz":
                    run.save(file)
                elif path.suffix == ".csv":
                    run.to_csv(file)
                else:
                    write_table(file, run.records())
        print(f"Wrote {path}.")
    if not files:
        play(Replay(run, width, height, fps=fps, slow=slow), animal)


def make_animal(name: str, params: Mapping[str, Any], solver: Mapping[str, Any]) -> Animal:
    """Create an animal by name or from a file, with changed parameters; ``None`` in ``solver`` means the default."""
    chosen = {key: value for key, value in solver.items() if value is not None}
    foreign = name.endswith((".osim", ".xml", ".mjb"))
    if foreign or name.endswith(".toml") or name in MODELS:
        from gymnosoma.envs.neuromechanic import hindlimb, standing
        from gymnosoma.envs.neuromechanic.model import changed

        if name == "hindlimb":  # its reference lengths follow from the other values
            model = hindlimb.hindlimb(params=params)
        else:
            source: Any = (
                standing.standing() if name == "standing" else hindlimb.asset(name) if name in MODELS else name
            )
            if foreign:
                from gymnosoma.biomechanics import load

                source = load(name)
            model = changed(source, dict(params))
        return find_animal("neuromechanic")(model, **chosen)
    names = [*(animal for animal in ANIMALS if animal != "neuromechanic"), *MODELS]
    if name not in names:
        raise ValueError(one_of("animal", name, names, ", or a model's file") + hint(name))
    kind = find_animal(name)
    own = {key: params[key] for key in params if key in signature(kind).parameters and key != "params"}
    fields = {key: value for key, value in params.items() if key not in own}
    usual: Any = kind.argument_types["params"]
    medium = {key: fields.pop(key) for key in ("sigma", "scale") if key in fields and hasattr(usual, "in_medium")}
    default = usual.in_medium(**medium) if medium else usual()
    if initial := (fields.keys() - vars(default).keys()) & kind(**own, **chosen).parameters.keys():
        raise ValueError(f"param must not set an initial value, which --start sets, got {min(initial)!r}")
    return kind(**own, params=read_params("param", fields, default), **chosen)


def usual_hold(body: Animal, controller: Controller) -> float:
    """Return the default time for which a drive is constant, s: the controller's period or the time step."""
    rate = getattr(controller, "control_rate", None)
    return body.dt if rate is None else 1.0 / rate


def read_drive(animal: Animal, texts: Sequence[str]) -> Controller:
    """Create a controller from constant values, a CSV file, or a name."""
    from gymnosoma.agents.controllers import drives

    controllers = drives(animal)
    if not texts:
        return animal.default_drive()
    if len(texts) == 1 and texts[0] in controllers:
        return controllers[texts[0]](animal)
    if len(texts) == 1 and texts[0].endswith(".csv"):
        return Schedule.read(texts[0]).ordered(animal.drive_names)
    try:
        values = np.array([float(text) for text in texts])
        return Schedule([0.0], np.broadcast_to(values, (1, animal.drive_size)))
    except ValueError:
        names = ", ".join((*controllers, "a .csv file", f"1 or {animal.drive_size} numbers"))
        raise ValueError(f"drive must be one of {names}, got {' '.join(texts)!r}{hint(texts[0])}") from None


@contextmanager
def _watched(duration: float) -> Iterator[Callable[[float], None]]:
    """Show a progress bar; yield a function that takes the simulated time (s) and stops the simulation at Ctrl-C."""
    from gymnosoma.agents.support.progress import progress_bar

    form = "{l_bar}{bar}| {n:.3g} of {total:.3g} s [{elapsed}<{remaining}]"
    with noted_signals(signal.SIGINT) as caught, ExitStack() as stack:
        bars: list[Any] = []

        def show_time(t: float) -> None:
            if caught:
                raise StopIteration
            if not bars:  # simulate() has now checked all arguments
                bars.append(stack.enter_context(progress_bar(total=duration, leave=False, bar_format=form)))
            bars[0].update(t - bars[0].n)

        yield show_time
