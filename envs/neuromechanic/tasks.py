"""Tasks of musculoskeletal models: hold the cat's hindlimb, stand on a platform, take a posture with any model."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.animal import time_step
from ..core.arguments import choice, number, numbers, shown
from ..core.spec import ActionField, Ending, Field, Hidden, Measure, Option, Score
from ..core.task import EpisodeStart, Task, tolerance
from .animal import Neuromechanic
from .contact import SLIP
from .hindlimb import PAW_FORCE, POSTURE, STRETCH_DELAY, hindlimb, stretch_reflex
from .model import changed
from .reward import reward_standing
from .standing import DAMPING, DELAY, LEG, STIFFNESS, reflex_torque, splay, standing, upright

FALLEN, BEYOND, DOWN = 10.0, 11.0, 12.0
"""Endings: the limb has left its posture; a joint has left its range; the figure has fallen."""


class NeuromechanicTask(Task):
    """What actions mean to all models; subclasses add what is observed, goal, reward, endings.

    ## Version History

    * v0: first version
    """

    animal: Neuromechanic
    control_rate = 100.0
    arguments: Mapping[str, str] = {
        **Task.arguments,
        "scheme": "``semi_implicit``, or the paper's ``rk4``",
        "dt": "time step, s",
        "params": (
            "values of the model that are to be others, a mapping such as "
            '``{"body": {"torso": {"inertial": {"mass": 40.0}}}}``, or the path of a TOML file with the same keys'
        ),
    }

    @cached_property
    def _bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What -1 and 1 mean, each (action_size,)."""
        fields = self.action_fields().values()
        low, high = ([field.low for field in fields], [field.high for field in fields])
        sizes = [field.size for field in fields]
        return np.repeat(low, sizes), np.repeat(high, sizes)

    def values(self, actions: NDArray[np.float64]) -> NDArray[np.float64]:
        """What ``actions`` (B, action_size) mean, in SI."""
        low, high = self._bounds
        return low + 0.5 * (actions + 1.0) * (high - low)

    def action_from_values(self, values: NDArray[np.float64]) -> NDArray[np.float32]:
        """Action that means ``values`` (B, action_size) in SI."""
        low, high = self._bounds
        actions = 2.0 * (np.asarray(values) - low) / (high - low) - 1.0
        return np.clip(actions, -1.0, 1.0).astype(np.float32)

    def action_from_drive(self, drive: NDArray[np.float64]) -> NDArray[np.float32]:
        """Action whose inputs come closest to ``drive`` (B, u)."""
        if self.actions == "residual":
            raise ValueError("actions='residual' adds to the reference controller, whose own action is zero")
        return self.action_from_values(drive)

    def info(self, rows: NDArray[Any], memory: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Time, s."""
        return {"time": rows["time"].copy()}


def _pair(name: str, value: Any, minimum: float | None = None, maximum: float | None = None) -> tuple[float, float]:
    """Check (low, high)."""
    pair = numbers(name, value, minimum=minimum, maximum=maximum)
    if pair.shape != (2,) or not pair[0] < pair[1]:
        raise ValueError(f"{name} must be (low, high), got {shown(value)}")
    return float(pair[0]), float(pair[1])


def _mean_square(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean square (B,) of values (B, n); `numpy.mean` takes three times as long."""
    return np.add.reduce(values**2, 1) / values.shape[1]


class _PushedLimb(Neuromechanic):
    """An animal whose wrench is none of its parameters: the task's pushes write it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.parameters = {name: option for name, option in self.parameters.items() if name != "wrench"}


class HindlimbHold(NeuromechanicTask):
    """Hold posture and paw force of a cat's hindlimb against pushes.

    ## Description

    The hindlimb of Bunderson et al. (2012), illustrations 1 and 2: 31 muscles, 7 joints, the pelvis fixed, the paw
    gimballed where it stands, so that four degrees of freedom are left. The paw is to push with 8.5 N, 35 degrees
    backward of straight down. Every second a push of 50 ms hits the ankle, at a random time from a random direction,
    with up to a largest force that is drawn for every episode. Many patterns of excitation hold the limb, few of them
    against such pushes. What is felt of joints and paw is {delay:g} s old: a cat's stretch reflex takes that long. The
    limb has left its posture where a joint is {largest_error:g} rad away from it.

    ## Rewards

    0.6 for the posture, falling to a tenth of it at 0.1 rad (rms over the joints); 0.3 for the force, falling to a
    tenth of it 4 N off; 0.1 times one minus the mean squared activation: at most 1 in a step. The score is the return.
    ``info["held"]`` is the time (s) so far.

    ## Starting State

    In the posture, at rest, with the activations of the central one of all patterns that hold the limb, each changed by
    up to 0.02 at random.
    """

    action_modes = ("excitation", "residual")
    options: Mapping[str, Option] = {"push": Option(0.0, 50.0, "N", "largest force of the pushes")}
    hidden: Mapping[str, Hidden] = {"push": Hidden(10.0, 30.0)}
    endings: Mapping[float, Ending] = {FALLEN: Ending("the limb has left its posture")}
    score = Score("return")
    physiology: Mapping[str, Measure] = {
        "activation": Measure(
            "mean",
            "activation",
            meaning="activation of all muscles, co-contraction for the most part",
            times=1.25,
            why="the central pattern clenches all muscles already; feedback is to hold the limb, not more of that",
        ),
        "slew": Measure(
            "slew",
            "excitation",
            "1/s",
            meaning="rate of change of the excitations",
            times=2.0,
            why="the reflex hastens as pushes and its delay demand; twice that leaves room to answer sooner",
        ),
        "chatter": Measure(
            "above",
            "excitation",
            meaning="excitation above 10 Hz",
            band=10.0,
            times=2.0,
            why="activation takes 15 ms to rise and 60 ms to fall, and follows nothing as fast as that",
        ),
        "saturation": Measure("saturation", "action", meaning="share of actions at their limits"),
        "muscle_force": Measure(
            "peak",
            "muscle_force",
            "N",
            meaning="largest force of a muscle",
            times=1.5,
            why="muscles work where the reflex has them work; they would tear before a policy noticed",
        ),
        "paw_force": Measure(
            "peak",
            "reaction",
            "N",
            meaning="largest component of the ground's force on the paw",
            times=1.5,
            why="pushes and what balances them, as with the reflex",
        ),
    }
    arguments: Mapping[str, str] = {
        **NeuromechanicTask.arguments,
        "dt": "time step, s; by default 1 ms, with ``rk4`` 0.02 ms",
        "stiffness": "short-range stiffness of the muscles, in maximal forces per optimal length",
        "delay": "of the senses, s, in whole control periods",
    }
    seconds = 5
    """Pushes that are drawn at a reset, one for each second."""
    push_duration = 0.05
    """Of one push, s."""
    delay = STRETCH_DELAY
    """Of the senses, s."""
    largest_error = 0.7
    """Angle of a joint from the posture, rad, at which the limb is lost."""
    residual_scale = 0.25
    """Excitation that an action of 1 adds with ``actions="residual"``."""

    def __init__(
        self,
        actions: str | None = None,
        scheme: str = "semi_implicit",
        dt: float | None = None,
        control_rate: float | None = None,
        stiffness: float = 4.0,
        delay: float = STRETCH_DELAY,
        params: Mapping[str, Any] | str | Path | None = None,
    ) -> None:
        super().__init__(actions, control_rate)
        number("stiffness", stiffness, above=0)
        self.delay = number("delay", delay, minimum=0, maximum=1)
        self.periods = math.ceil(self.delay * self.control_rate - 1e-6)
        model = hindlimb(stiffness, params=params)
        model["wrench"] = {"push": {"body": "ankle_extension"}}
        choice("scheme", scheme, Neuromechanic.solvers["scheme"])
        default = 1e-3 if scheme == "semi_implicit" else 2e-5
        self.animal = _PushedLimb(model, default if dt is None else dt, scheme)
        self.pattern = self._central_pattern(usual=params is None)
        rows = self.animal.rows(1)
        rows["q"] = POSTURE
        self.arm = self.animal.mechanics(rows)["arm"]

    def _central_pattern(self, usual: bool) -> NDArray[np.float64]:
        """Pattern amid all that hold the limb: kept for the limb as it is by default, however stiff."""
        if usual:
            with resources.files("gymnosoma.assets").joinpath("neuromechanic", "central.txt").open() as file:
                return np.loadtxt(file)
        from .analysis import central_pattern  # scipy, slow to import

        return central_pattern(self.animal, POSTURE, reaction=PAW_FORCE)

    def fields(self) -> dict[str, Field]:
        """Error of the posture, activations, error of the force."""
        joints, muscles = len(POSTURE), self.animal.model.counts["active"]
        return {
            "posture_error": Field(joints, "rad", 0.2, "joint angles from the posture to be held, a delay ago"),
            "posture_rate": Field(joints, "rad/s", 5.0, "joint rates, a delay ago"),
            "activation": Field(muscles, "1", 1.0, "activations"),
            "force_error": Field(3, "N", 5.0, "ground's force on the paw, from the wanted one, a delay ago"),
        }

    def action_fields(self, mode: str | None = None) -> dict[str, ActionField]:
        """Excitations."""
        muscles, scale = self.animal.drive_size, self.residual_scale
        if (mode or self.actions) == "residual":
            meaning = "added to the central pattern and the stretch reflex; the sum is clipped"
            return {"excitation": ActionField(muscles, -scale, scale, "1", meaning)}
        return {"excitation": ActionField(muscles, 0.0, 1.0, "1", "excitation of each muscle")}

    def memory_fields(self) -> list[tuple[Any, ...]]:
        """Of each push its time (s) and force (N), and what is on its way to be felt, oldest first."""
        return [("push", "f8", (self.seconds, 4)), ("felt", "f8", (self.periods, 2 * len(POSTURE) + 3))]

    def start(self, episodes: EpisodeStart) -> dict[str, Any]:
        """In the posture; the pushes are drawn: when, and their force."""
        draws = episodes.draw(lambda rng: rng.uniform(-1.0, 1.0, self.animal.drive_size))
        activation = np.clip(self.pattern + 0.02 * draws, 0.0, 1.0)
        pushes = episodes.draw(lambda rng: rng.standard_normal((self.seconds, 3)))
        chance = episodes.draw(lambda rng: rng.random((self.seconds, 2)))
        pushes /= np.sqrt(np.sum(pushes**2, -1, keepdims=True))
        size = episodes.hidden("push")
        push = episodes.memory["push"]
        push[:, :, 0] = np.arange(self.seconds) + (1.0 - self.push_duration) * chance[:, :, 0]
        push[:, :, 1:] = (size[:, None] * chance[:, :, 1])[:, :, None] * pushes
        return {"activation": activation, "input": activation}

    def begin(self, episodes: EpisodeStart, rows: NDArray[Any]) -> None:
        """It is felt as if it had always been so."""
        episodes.memory["felt"] = self._present(rows)[:, None]

    def command(self, actions: NDArray[np.float64], rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Excitations from actions; pushes begin and end with a control period."""
        second = np.minimum(rows["time"].astype(np.int64), self.seconds - 1)
        push = memory["push"][np.arange(len(rows)), second]
        since = rows["time"] - push[:, 0]
        pushed = (since >= 0) & (since < self.push_duration)
        rows["wrench"][:, 0, :3] = np.where(pushed[:, None], push[:, 1:], 0.0)
        excitation = self.values(actions)
        if self.actions == "residual":
            known = self.sense(rows, memory)
            reflex = stretch_reflex(self.arm, known["posture_error"], known["posture_rate"])
            excitation = np.clip(self.pattern + reflex + excitation, 0.0, 1.0)
        memory["felt"] = np.concatenate([memory["felt"], self._present(rows)[:, None]], 1)[:, 1:]
        return excitation

    @staticmethod
    def _errors(rows: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Of the joints (B, 7) rad, and of the force on the paw (B, 3) N."""
        return rows["q"] - POSTURE, rows["reaction"] - PAW_FORCE

    def _present(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """What will be felt (B, 17): deviations and rates of the joints, deviation of the force."""
        angle, force = self._errors(rows)
        return np.concatenate([angle, rows["v"], force], 1)

    def _felt(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """What is felt (B, 17), a delay later."""
        return memory["felt"][:, 0] if self.periods else self._present(rows)

    def sense(self, rows: NDArray[Any], memory: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Deviations and rates as they are felt, and activations."""
        felt, joints = self._felt(rows, memory), len(POSTURE)
        return {
            "posture_error": felt[:, :joints],
            "posture_rate": felt[:, joints : 2 * joints],
            "activation": rows["activation"],
            "force_error": felt[:, 2 * joints :],
        }

    def reward(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Posture, force and economy."""
        angle, force = self._errors(rows)
        held = tolerance(np.sqrt(_mean_square(angle)), 0.0, 0.0, 0.1)
        pushed = tolerance(np.sqrt(np.sum(force**2, 1)), 0.0, 0.0, 4.0)
        return 0.6 * held + 0.3 * pushed + 0.1 * (1.0 - _mean_square(rows["activation"]))

    def ending(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """End when a joint is far from the posture."""
        return np.where(np.abs(rows["q"] - POSTURE).max(1) > self.largest_error, FALLEN, 0.0)

    def info(self, rows: NDArray[Any], memory: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Time and time held (s), deviations of posture (rad, rms) and force (N), force on the paw and push (N)."""
        angle, force = self._errors(rows)
        return super().info(rows, memory) | {
            "held": rows["time"].copy(),
            "posture_error": np.sqrt(_mean_square(angle)),
            "force_error": np.sqrt(np.sum(force**2, 1)),
            "paw_force": rows["reaction"].copy(),
            "push": np.sqrt(np.sum(rows["wrench"][:, 0, :3] ** 2, 1)),
        }


class StandTask(NeuromechanicTask):
    """What the standing figure's tasks share: stance and pulse, late senses, reward, and the fall.

    ## Rewards

    One each step, less up to 0.4 for leaning (0.36 at 0.5 rad, rms over torso and hips), 0.1 times the mean squared
    torque in units of {largest_torque:g} N m, and 0.05 for each foot that slips. The score is the return.
    ``info["survived"]`` is 1 while it stands.

    ## Starting State

    Upright at rest, feet 1 to 1.4 hip widths apart.
    """

    options: Mapping[str, Option] = {
        "stance": Option(0.8, 1.8, "hip widths", "distance of the feet"),
        "push": Option(
            -1.0, 1.0, "m/s", "speed that the platform takes up, positive to the right; to either side if drawn"
        ),
        "onset": Option(0.0, 100.0, "s", "time at which it does"),
    }
    endings: Mapping[float, Ending] = {DOWN: Ending("the figure has fallen")}
    hidden: Mapping[str, Hidden] = {"push": Hidden(0.2, 0.6), "onset": Hidden(0.1, 0.5)}
    physiology: Mapping[str, Measure] = {
        "power": Measure(
            "rate",
            "work",
            "W",
            meaning="positive power of the hips, of those who stand",
            maximum=12.0,
            why="twice what a reflex with a predictor needs, falls included: to stand harder pushes takes more power",
            complete=True,
        ),
        "largest_torque": Measure("final", "largest_torque", "N m", meaning="largest torque of a hip"),
        "contact_force": Measure(
            "rms",
            "contact_force",
            "N",
            meaning="force of the ground on the feet, of those who stand; its peak would be one time step's",
            maximum=310.0,
            why="1.5 times that of a reflex with a predictor: feet may step, but not stamp",
            complete=True,
        ),
    }
    arguments: Mapping[str, str] = {
        **NeuromechanicTask.arguments,
        "scheme": "``semi_implicit``, as contacts demand",
        "contacts": "their solver: ``modes``, the default, the paper's ``staggered``, or ``sweep``",
    }
    stances = (1.0, 1.4)
    """Range that the stance is drawn from, hip widths."""
    pulse_duration = 0.0507
    """Duration of the ground's acceleration, s."""
    largest_lean = 1.2
    """Angle of torso or leg out of the vertical, rad, beyond which the figure has fallen."""
    lowest_hips = 0.4 * LEG
    """Height of the hips, m, below which it has."""
    largest_torque = 200.0
    """Of a hip, N m; there effort counts as one."""
    longest_delay = DELAY
    """Delay of the senses, s, at most."""

    def __init__(
        self,
        actions: str | None = None,
        scheme: str = "semi_implicit",
        dt: float = 1e-3,
        control_rate: float | None = None,
        contacts: str | None = None,
        params: Mapping[str, Any] | str | Path | None = None,
    ) -> None:
        super().__init__(actions, control_rate)
        dt = number("dt", time_step(dt, 1e-3), maximum=0.5 * self.longest_delay)
        if abs(self.longest_delay / dt - round(self.longest_delay / dt)) > 1e-6:
            raise ValueError(f"dt must divide the delay of {self.longest_delay:g} s, got {shown(dt)}")
        self.animal = Neuromechanic(changed(self.figure(dt), params), dt, scheme, contacts=contacts)

    @abstractmethod
    def figure(self, dt: float) -> dict[str, Any]:
        """Model, for time steps of ``dt`` s."""

    @abstractmethod
    def hip_torque(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Torques of left and right hip (B, 2), N m."""

    def fields(self) -> dict[str, Field]:
        """Body as the nervous system knows it, and the stance."""
        return {
            "torso_angle": Field(1, "rad", 0.3, "angle of the torso, a delay ago"),
            "torso_rate": Field(1, "rad/s", 1.0, "its rate, a delay ago"),
            "hip_angle": Field(2, "rad", 0.3, "angles of left and right leg from the torso, a delay ago"),
            "hip_rate": Field(2, "rad/s", 1.0, "their rates, a delay ago"),
            "stance": Field(1, "hip widths", 1.0, "distance of the feet at the start"),
        }

    def memory_fields(self) -> list[tuple[Any, ...]]:
        """Distance of the feet at the start; positive work (J) and largest torque (N m) of the hips so far."""
        return [("stance", "f8"), ("work", "f8"), ("torque", "f8")]

    def start(self, episodes: EpisodeStart) -> dict[str, Any]:
        """Upright; stance and pulse are drawn."""
        options, draws = episodes.options, episodes.draw(lambda rng: rng.random(2))
        low, high = self.stances
        stance = episodes.memory["stance"]
        stance[:] = options.get("stance", low + (high - low) * draws[:, 0])
        push = episodes.hidden("push")
        if "push" not in options:
            push = np.where(draws[:, 1] < 0.5, -push, push)
        pulse = np.empty((len(episodes), 3))
        pulse[:, 0] = episodes.hidden("onset")
        pulse[:, 1] = self.pulse_duration
        pulse[:, 2] = push * np.pi / (2.0 * self.pulse_duration)
        return {"q": upright(stance), "pulse": pulse}

    def sense(self, rows: NDArray[Any], memory: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Body as the nervous system knows it, and the stance."""
        neuron = rows["neuron"]
        return {
            "torso_angle": neuron[:, 0],
            "torso_rate": neuron[:, 1],
            "hip_angle": neuron[:, 2:6:2],
            "hip_rate": neuron[:, 3:6:2],
            "stance": memory["stance"],
        }

    def reward(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Alive, less leaning, effort and slip."""
        reward, body = np.empty(len(rows)), (rows["q"], rows["v"], self.hip_torque(rows), rows["mode"])
        done = memory["work"], memory["torque"]
        reward_standing(*body, splay(memory["stance"]), self.largest_torque, self.control_rate, *done, reward)
        return reward

    def ending(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """End when torso or legs lean too far, or the hips are too low."""
        q = rows["q"]
        torso, left, right = q[:, 2], q[:, 3], q[:, 4]
        lean = np.maximum(np.abs(torso), np.maximum(np.abs(torso + left), np.abs(torso + right)))
        return np.where((lean > self.largest_lean) | (q[:, 1] < self.lowest_hips), DOWN, 0.0)

    def info(self, rows: NDArray[Any], memory: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Time (s), 1 while it stands, stance (hip widths), the ground's speed (m/s), number of slipping feet.

        And of the hips, at the ends of control periods, the positive work (J) and the largest torque (N m) so far.
        """
        return super().info(rows, memory) | {
            "survived": np.where((rows["status"] == 0.0) & (self.ending(rows, memory) == 0.0), 1.0, 0.0),
            "stance": memory["stance"].copy(),
            "push": rows["pulse"][:, 2] * 2.0 * self.pulse_duration / np.pi,
            "slipping": np.sum(rows["mode"] >= SLIP, 1),
            "work": memory["work"].copy(),
            "largest_torque": memory["torque"].copy(),
        }


class StandPulse(StandTask):
    """Stay on one's feet when the ground jerks sideways, by the torques of the hips, with late senses.

    ## Description

    The standing figure of Bunderson et al. (2012), illustration 3: torso and two straight legs, seen from the front,
    feet in frictional contact with a platform. After 0.1 to 0.5 s the platform takes up a speed of 0.2 to 0.6 m/s, to
    either side, within 51 ms. What the nervous system knows of the body is 120 ms old; the option ``delay`` shortens
    that, to two time steps at least. The paper's reflex feeds back each hip's own angle and rate; feet may slip, lift
    off, and step. The figure has fallen where torso or a leg leans by more than {largest_lean:g} rad, or the hips are
    lower than 0.4 leg lengths.
    """

    action_modes = ("torque", "residual")
    score = Score("return")
    physiology: Mapping[str, Measure] = {
        **StandTask.physiology,
        "torque": Measure(
            "rms",
            "input",
            "N m",
            meaning="torque of the hips",
            maximum=80.0,
            why="twice what a reflex with a predictor needs",
        ),
        "slew": Measure(
            "slew",
            "input",
            "N m/s",
            meaning="rate of change of the torques",
            maximum=1270.0,
            why="twice as quick as a reflex with a predictor",
        ),
        "chatter": Measure(
            "above",
            "input",
            "N m",
            meaning="torque above 10 Hz",
            band=10.0,
            maximum=10.0,
            why="twice that of a reflex with a predictor, 5% of the largest torque: muscles are slower than that",
        ),
        "saturation": Measure(
            "saturation",
            "input",
            meaning="share of torques at their limit",
            bound=StandTask.largest_torque,
            maximum=0.02,
            why="the limit of the torque is there for falls, not to be leant on",
        ),
    }
    residual_scale = 100.0
    """Torque, N m, that an action of 1 adds with ``actions="residual"``."""

    def figure(self, dt: float) -> dict[str, Any]:
        # Neurons are read as of the beginning of the last time step.
        return standing(drive="torque", delay=DELAY - dt)

    @cached_property
    def periods(self) -> int:
        """Control periods that cover the delay."""
        return math.ceil(DELAY * self.control_rate - 1e-6)

    def fields(self):
        meaning = f"torques of left and right hip in the last {self.periods} control periods, oldest first"
        return super().fields() | {"past_torque": Field(2 * self.periods, "N m", self.largest_torque, meaning)}

    def action_fields(self, mode: str | None = None) -> dict[str, ActionField]:
        """Torques of the hips."""
        most, meaning = self.largest_torque, "torques of left and right hip"
        if (mode or self.actions) == "residual":
            most = self.residual_scale
            meaning = (
                f"added to the torques of the paper's reflex of {STIFFNESS:g} N m/rad and {DAMPING:g} N m s/rad; the "
                f"sum is clipped at {self.largest_torque:g} N m"
            )
        return {"torque": ActionField(2, -most, most, "N m", meaning)}

    def memory_fields(self):
        return [*super().memory_fields(), ("past", "f8", (self.periods, 2))]

    def command(self, actions: NDArray[np.float64], rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Torques from actions."""
        if self.actions == "residual":
            known = self.sense(rows, memory)
            torque = reflex_torque(memory["stance"], known["hip_angle"], known["hip_rate"])
            torque = np.clip(torque + self.residual_scale * actions, -self.largest_torque, self.largest_torque)
        else:
            torque = self.values(actions)
        memory["past"] = np.concatenate([memory["past"][:, 1:], torque[:, None]], 1)
        return torque

    def hip_torque(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        return rows["input"]

    def sense(self, rows, memory):
        return super().sense(rows, memory) | {"past_torque": memory["past"].reshape(len(rows), -1)}


class StandGains(StandTask):
    """Stay on one's feet when the ground jerks sideways, by setting the gains of the hips' reflexes.

    ## Description

    As ``StandPulse``, but the paper's reflexes act by themselves, at every time step: the torque of each hip is minus
    stiffness times its angle from the symmetric stance, minus damping times its rate, as they were a delay ago, at most
    {largest_torque:g} N m. The action sets the two gains. The delay, 80 to 140 ms, is drawn for every episode, as is
    the stance; the option ``delay`` is its share of 140 ms. What is observed of the body is one time step older than
    the delay. The figure has fallen where torso or a leg leans by more than {largest_lean:g} rad, or the hips are lower
    than 0.4 leg lengths.

    ## Starting State

    Upright at rest, feet 1 to 1.4 hip widths apart, with the paper's gains of 255 N m/rad and 85 N m s/rad.
    """

    action_modes = ("gains",)
    score = Score("return")
    physiology: Mapping[str, Measure] = {
        **StandTask.physiology,
        "slew": Measure("slew", "action", "1/s", meaning="rate of change of the gains, in halves of their ranges"),
        "saturation": Measure("saturation", "action", meaning="share of gains at their limits"),
    }
    control_rate = 20.0
    largest_stiffness, largest_damping = 600.0, 200.0
    """What an action of 1 means, N m/rad and N m s/rad."""
    longest_delay, shortest_delay = 0.14, 0.08

    def figure(self, dt: float) -> dict[str, Any]:
        return standing(delay=self.longest_delay, largest_torque=self.largest_torque)

    def fields(self):
        return super().fields() | {
            "delay": Field(1, "s", 0.1, "delay"),
            "stiffness": Field(1, "N m/rad", 300.0, "stiffness in force"),
            "damping": Field(1, "N m s/rad", 100.0, "damping in force"),
        }

    def action_fields(self, mode: str | None = None) -> dict[str, ActionField]:
        """Gains of the reflexes."""
        return {
            "stiffness": ActionField(1, 0.0, self.largest_stiffness, "N m/rad", "stiffness of both hips' reflexes"),
            "damping": ActionField(1, 0.0, self.largest_damping, "N m s/rad", "their damping"),
        }

    def start(self, episodes):
        values = super().start(episodes)
        gains = np.tile([0.0, STIFFNESS, DAMPING], (len(episodes), 1))
        gains[:, 0] = splay(episodes.memory["stance"])
        delay = episodes.draw(lambda rng: rng.uniform(self.shortest_delay, self.longest_delay))
        return values | {"input": gains, "delay": delay / self.longest_delay}

    def command(self, actions: NDArray[np.float64], rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Splay of the stance, and gains from actions."""
        return np.column_stack([splay(memory["stance"]), self.values(actions)])

    def action_from_drive(self, drive: NDArray[np.float64]) -> NDArray[np.float32]:
        """Action whose gains come closest to those of a drive (B, 3), whose first entry is the stance's."""
        return self.action_from_values(np.asarray(drive)[:, 1:])

    def hip_torque(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        return rows["neuron"][:, -2:]

    def sense(self, rows, memory):
        _, stiffness, damping = rows["input"].T
        delay = self.longest_delay * rows["delay"]
        return super().sense(rows, memory) | {"delay": delay, "stiffness": stiffness, "damping": damping}


class Pose(NeuromechanicTask):
    """Bring a joint of any model to an angle and hold it there.

    ## Description

    For models that users write: ``register_model`` makes an id of a TOML file. The goal is drawn for every episode.
    Actions are the model's inputs, in the order of ``model.inputs``; how many there are, and how many joints and
    activations are observed, depends on the model, and so do the options of the reset.

    ## Rewards

    One at the goal, a tenth {margin:g} (rad, or m) away from it, less a twentieth of the mean squared activation. The
    score is the return. ``info["error"]`` is the distance from the goal.

    ## Starting State

    The model's start, each joint displaced by up to 0.05 (rad, or m) at random, at rest and silent.
    """

    action_modes = ("inputs",)
    control_rate = 50.0
    endings: Mapping[float, Ending] = {BEYOND: Ending("a joint has left its range")}
    margin = 0.5
    """Distance from the goal, rad or m, at which nearness is a tenth."""
    arguments: Mapping[str, str] = {
        **NeuromechanicTask.arguments,
        "model": "path of a TOML file, or a mapping with the same keys",
        "joint": "the body whose joint has a goal; by default the last",
        "goal": "(low, high) that the goal is drawn from; by default the middle half of the joint's range",
        "inputs": "what -1 and 1 of an action mean, for all inputs",
        "scheme": "``semi_implicit``, or the paper's ``rk4``, which takes no contacts",
        "modules": "control modules by name",
        "contacts": "solver of contacts: ``modes``, ``staggered`` or ``sweep``; by default the model's",
    }

    def __init__(
        self,
        model: str | Path | Mapping[str, Any],
        joint: str | None = None,
        goal: tuple[float, float] | None = None,
        inputs: tuple[float, float] = (0.0, 1.0),
        actions: str | None = None,
        scheme: str = "semi_implicit",
        dt: float = 1e-3,
        control_rate: float | None = None,
        modules: Mapping[str, Any] | None = None,
        contacts: str | None = None,
        params: Mapping[str, Any] | str | Path | None = None,
    ) -> None:
        super().__init__(actions, control_rate)
        if params is not None:
            model = changed(model, params, modules)
        self.animal = Neuromechanic(model, dt, scheme, modules=modules, contacts=contacts)
        bodies, joints = self.animal.model.bodies, self.animal.model.joints
        choice("joint", bodies[-1] if joint is None else joint, bodies)
        self.joint = len(bodies) - 1 if joint is None else bodies.index(joint)
        self._ranges = np.array([[one.low, one.high] for one in joints]).T
        low, high = self._ranges[:, self.joint]
        middle = (0.75 * low + 0.25 * high, 0.25 * low + 0.75 * high)
        self.goal = _pair("goal", middle if goal is None else goal, low, high)
        if not self.animal.drive_size:
            raise ValueError("model must have at least one input.NAME, got none")
        self.inputs = _pair("inputs", inputs)
        unit = "rad" if joints[self.joint].revolute else "m"
        self.options = {"goal": Option(low, high, unit, "where the joint is to be")}

    def fields(self) -> dict[str, Field]:
        """Joints, activations where there are any, and the goal."""
        joints, active = self.animal.model.joints, self.animal.model.counts["active"]
        unit = "rad" if joints[self.joint].revolute else "m"
        units = list(dict.fromkeys("rad" if joint.revolute else "m" for joint in joints))
        activation = {"activation": Field(active, "1", 1.0, "activations")} if active else {}
        return {
            "joint_angle": Field(len(joints), ", ".join(units), 1.0, "joint positions"),
            "joint_rate": Field(len(joints), ", ".join(f"{one}/s" for one in units), 5.0, "joint velocities"),
            **activation,
            "goal": Field(1, unit, 1.0, "where the joint is to be"),
            "error": Field(1, unit, 0.3, "goal less position"),
        }

    def action_fields(self, mode: str | None = None) -> dict[str, ActionField]:
        """The model's inputs, in its own units."""
        return {name: ActionField(1, *self.inputs, "1", f"input {name}") for name in self.animal.model.inputs}

    def memory_fields(self) -> list[tuple[Any, ...]]:
        """Goal."""
        return [("goal", "f8")]

    def start(self, episodes: EpisodeStart) -> dict[str, Any]:
        """Near the model's start; the goal is drawn."""
        joints = self.animal.model.joints
        draws = episodes.draw(lambda rng: rng.uniform(-0.05, 0.05, len(joints)))
        goal = episodes.draw(lambda rng: rng.uniform(*self.goal))
        episodes.memory["goal"] = episodes.options.get("goal", goal)
        return {"q": np.array([joint.start for joint in joints]) + draws, "input": self.inputs[0]}

    def command(self, actions: NDArray[np.float64], rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Inputs from actions."""
        return self.values(actions)

    def _error(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Goal less position (B,), rad or m."""
        return memory["goal"] - rows["q"][:, self.joint]

    def sense(self, rows: NDArray[Any], memory: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Joints, activations, and the goal."""
        return {
            "joint_angle": rows["q"],
            "joint_rate": rows["v"],
            "activation": rows["activation"],
            "goal": memory["goal"],
            "error": self._error(rows, memory),
        }

    def reward(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Nearness to the goal, less effort."""
        effort = np.sum(rows["activation"] ** 2, 1) / max(rows["activation"].shape[1], 1)
        return tolerance(np.abs(self._error(rows, memory)), 0.0, 0.0, self.margin) - 0.05 * effort

    def ending(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """End when a joint leaves its range."""
        low, high = self._ranges
        return np.where(((rows["q"] < low) | (rows["q"] > high)).any(1), BEYOND, 0.0)

    def info(self, rows: NDArray[Any], memory: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Time (s), goal and distance from it (rad or m)."""
        error = np.abs(self._error(rows, memory))
        return super().info(rows, memory) | {"goal": memory["goal"].copy(), "error": error}
