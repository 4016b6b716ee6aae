"""Tasks of musculoskeletal models: hold the cat's hindlimb, stand on a platform, take a posture with any model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arguments import choice, number, numbers, shown
from ..core.env.spec import ActionField, Ending, Field, Hidden
from ..core.env.task import EpisodeStart, Rows, measures, tolerance
from ..core.kernels.sums import total_square
from ..core.model.control import Floats
from ..core.model.quantities import Option
from .animal import Neuromechanic
from .hindlimb import PAW_FORCE, POSTURE, STRETCH_DELAY, hindlimb, stretch_reflex
from .model import changed
from .standing import DAMPING, DELAY, STIFFNESS, reflex_torque, standing
from .task import NeuromechanicTask, StandTask, move_on

FALLEN, BEYOND = 10.0, 11.0
"""Endings: the limb has left its posture; a joint has left its range."""


def _pair(name: str, value: Any, minimum: float | None = None, maximum: float | None = None) -> tuple[float, float]:
    """Check that an argument is (low, high), and within bounds."""
    pair = numbers(name, value, minimum=minimum, maximum=maximum)
    if pair.shape != (2,) or not pair[0] < pair[1]:
        raise ValueError(f"{name} must be (low, high), got {shown(value)}")
    return float(pair[0]), float(pair[1])


def kept_pattern(name: str) -> Floats:
    """Read a pattern of excitations that holds the limb, of those in ``assets/neuromechanic``."""
    with resources.files("gymnosoma.assets").joinpath("neuromechanic", f"{name}.txt").open(encoding="utf-8") as file:
        return np.loadtxt(file)


class _PushedLimb(Neuromechanic):
    """A limb whose wrench is no parameter, as the task writes its pushes there."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.parameters = {name: option for name, option in self.parameters.items() if name != "wrench"}


class HindlimbHold(NeuromechanicTask):
    """Hold posture and paw force of a cat's hindlimb against pushes and a load.

    ## Description

    The hindlimb of Bunderson et al. (2012), illustrations 1 and 2: 31 muscles, 7 joints, the pelvis fixed, the paw
    gimballed where it stands, so that four degrees of freedom are left. The paw is to push with 8.5 N, 35 degrees
    backward of straight down. A load, a lasting force from a random direction, comes upon the ankle in the first
    {load_rise:g} s, and every second a push of 50 ms hits it, at a random time from a random direction, with up to a
    largest force that is drawn for every episode, as is the load; neither is shown. Many patterns of excitation hold
    the limb, few of them against pushes, and none against a load that it does not know. What is felt of joints and paw
    is {delay:g} s old: a cat's stretch reflex takes that long. The limb has left its posture where a joint is
    {largest_error:g} rad away from it.

    By default the stretch reflex, on the most stable pattern, holds the limb, and actions move the posture to which it
    pulls, as descending commands move the thresholds of reflexes (Feldman 1986), by at most {largest_shift:g} rad in
    each joint: zeros are the animal's own controller.

    ## Rewards

    0.6 for the posture, falling to a tenth of it at {posture_margin:g} rad (rms over the joints); 0.3 for the force,
    falling to a tenth of it {force_margin:g} N off; 0.1 times one minus the mean squared activation: at most 1 in a
    step. The score is the return. ``info["held"]`` is the time (s) so far.

    ## Starting State

    In the posture, at rest, with the activations of the central one of all patterns that hold the limb, each changed by
    up to 0.02 at random.
    """

    action_modes = ("residual", "excitation")
    options = {
        "push": Option(0.0, 50.0, "N", "largest force of the pushes"),
        "load": Option(0.0, 50.0, "N", "lasting force"),
    }
    hidden = {"push": Hidden(4.0, 10.0, test=(8, 9)), "load": Hidden(2.0, 4.0, test=(8, 9))}
    endings = {FALLEN: Ending("the limb has left its posture")}
    physiology = measures("neuromechanic", "HindlimbHold")
    arguments = {
        **NeuromechanicTask.arguments,
        "dt": "time step, s; by default 1 ms, with ``rk4`` 0.02 ms",
        "stiffness": "short-range stiffness of the muscles, in maximal forces per optimal length",
        "delay": "of the senses, s, in whole control periods",
    }
    remembers = {"push": "({self.seconds},4)f8", "load": "3f8", "pushing": "3f8", "shift": "7f8"}
    remembers |= dict.fromkeys(("past_error", "past_rate"), "({self.moments},7)f8")
    remembers |= {"past_force": "({self.moments},3)f8"}
    """Time (s) and force (N) of each push, load and push in force (N), and how far (rad) actions have moved the posture
    to which the reflex pulls. Of all moments from that which is felt to the present: deviations of the joints (rad),
    their rates (rad/s), deviation of the force on the paw (N)."""
    informs = {"held": "f8", "posture_error": "f8", "force_error": "f8", "paw_force": "3f8", "push": "f8", "load": "f8"}
    """Time held (s), deviations of posture (rad, rms) and force, push, load and force on the paw (N)."""
    largest_shift, fastest_shift = 0.5, 2.0
    """Of that posture in each joint, rad and rad/s."""
    seconds, push_duration = 5, 0.05
    """Number of pushes that are drawn at a reset, one for each second, and how long (s) one of them lasts."""
    delay = STRETCH_DELAY
    """Delay of the senses, s."""
    load_rise = 0.2
    """Time in which the load comes, s."""
    posture_margin, force_margin = 0.04, 2.0
    """Deviations of the joints (rad, rms) and of the force on the paw (N) that earn a tenth of what they may."""
    largest_error = 0.7
    """Angle of a joint from the posture, rad, at which the limb is lost."""
    stretch_gain, rate_gain = 34.0, 0.38
    """Gains of the stretch reflex on the most stable pattern, 1/m and s/m: the best constants of a search."""

    def __init__(
        self,
        scheme: str = "semi_implicit",
        dt: float | None = None,
        stiffness: float = 4.0,
        delay: float = STRETCH_DELAY,
        params: Mapping[str, Any] | str | Path | None = None,
        **common: Any,
    ) -> None:
        super().__init__(**common)
        number("stiffness", stiffness, above=0)
        self.delay = number("delay", delay, minimum=0, maximum=1)
        self.moments = math.ceil(self.delay * self.control_rate - 1e-6) + 1
        model = hindlimb(stiffness, params=params)
        model["wrench"] = {"push": {"body": "ankle_extension"}}
        choice("scheme", scheme, Neuromechanic.solvers["scheme"])
        usual = 1e-3 if scheme == "semi_implicit" else 2e-5
        self.animal = _PushedLimb(model, usual if dt is None else dt, scheme)
        if params is None:
            self.pattern = kept_pattern("central")  # of the limb as it is by default, however stiff
        else:
            from .analysis import central_pattern  # scipy, slow to import

            self.pattern = central_pattern(self.animal, POSTURE, reaction=PAW_FORCE)
        self._usual = params is None and stiffness == 4.0
        rows = self.animal.rows(1)
        rows["q"] = POSTURE
        self.arm = self.animal.mechanics(rows)["arm"]

    @cached_property
    def stable_pattern(self) -> Floats:
        """Pattern (31,) of those that hold the limb from which a deviation decays fastest.

        That of the limb as it is by default has been kept: the search samples along vectors that LAPACK chooses, others
        on another CPU, and so ends at another pattern.
        """
        if self._usual:
            return kept_pattern("most_stable")
        from .analysis import most_stable  # scipy, slow to import

        return most_stable(self.animal, POSTURE, reaction=PAW_FORCE)

    def fields(self) -> dict[str, Field]:
        joints, muscles = len(POSTURE), self.animal.model.counts["active"]
        return {
            "posture_error": Field(joints, "rad", 0.2, "joint angles from the posture to be held, a delay ago"),
            "posture_rate": Field(joints, "rad/s", 5.0, "joint rates, a delay ago"),
            "activation": Field(muscles, "1", 1.0, "activations"),
            "force_error": Field(3, "N", 5.0, "ground's force on the paw, from the wanted one, a delay ago"),
        }

    def action_fields(self, mode: str | None = None) -> dict[str, ActionField]:
        if (mode or self.actions) == "residual":
            fastest, meaning = self.fastest_shift, "rate of the posture to which the reflex pulls, in each joint"
            return {"shift_rate": ActionField(len(POSTURE), -fastest, fastest, "rad/s", meaning)}
        return {"excitation": ActionField(self.animal.drive_size, 0.0, 1.0, "1", "excitation of each muscle")}

    def start(self, episodes: EpisodeStart) -> dict[str, Any]:
        draws = episodes.draw(lambda rng: rng.uniform(-1.0, 1.0, self.animal.drive_size))
        activation = np.clip(self.pattern + 0.02 * draws, 0.0, 1.0)
        pushes = episodes.draw(lambda rng: rng.standard_normal((self.seconds, 3)))
        chance = episodes.draw(lambda rng: rng.random((self.seconds, 2)))
        pushes /= np.sqrt(np.sum(pushes**2, -1, keepdims=True))
        size = episodes.hidden("push")
        push = episodes.memory["push"]
        push[:, :, 0] = np.arange(self.seconds) + (1.0 - self.push_duration) * chance[:, :, 0]
        push[:, :, 1:] = (size[:, None] * chance[:, :, 1])[:, :, None] * pushes
        towards = episodes.draw(lambda rng: rng.standard_normal(3))
        towards /= np.sqrt(np.sum(towards**2, 1, keepdims=True))
        episodes.memory["load"] = episodes.hidden("load")[:, None] * towards
        return {"activation": activation, "input": activation}

    def begin(self, episodes: EpisodeStart, rows: Rows) -> None:
        # The limb is felt as if it had always been as it is now.
        episodes.memory["past_error"] = (rows["q"] - POSTURE)[:, None]
        episodes.memory["past_rate"] = rows["v"][:, None]
        episodes.memory["past_force"] = (rows["reaction"] - PAW_FORCE)[:, None]

    def command(self, row: Any, memory: Any, action: Any, drive: Any) -> None:
        self.press(row, memory)
        if self.actions == "residual":
            for i in range(len(action)):
                shift = memory.shift[i] + self.meaning(action, i) / self.control_rate
                memory.shift[i] = min(max(shift, -self.largest_shift), self.largest_shift)
            for m in range(len(drive)):
                drive[m] = self.excitation(memory, m)
        else:
            super().command(row, memory, action, drive)

    def press(self, row: Any, memory: Any) -> None:
        """Set the force on the ankle: the load, and a push, which begins and ends with a control period."""
        second = min(int(row.time), self.seconds - 1)
        since = row.time - memory.push[second, 0]
        pushed = 0.0 <= since < self.push_duration
        share = min(row.time / self.load_rise, 1.0)
        for i in range(3):
            memory.pushing[i] = memory.push[second, 1 + i] if pushed else 0.0
            row.wrench[0, i] = memory.pushing[i] + share * memory.load[i]

    def excitation(self, memory: Any, m: int) -> Any:
        """Excitation of muscle ``m`` by the stretch reflex, which pulls to where actions have moved the posture."""
        error, rate, shortening = memory.past_error[0], memory.past_rate[0], 0.0
        reflex = stretch_reflex(self.arm[m], error, rate, self.stretch_gain, self.rate_gain)
        for i in range(len(POSTURE)):
            shortening += memory.shift[i] * self.arm[m, i]
        return min(max(self.stable_pattern[m] + reflex + self.stretch_gain * shortening, 0.0), 1.0)

    def sense(self, row: Any, memory: Any, observation: Any) -> None:
        for i in range(len(row.q)):
            observation.posture_error[i], observation.posture_rate[i] = memory.past_error[0, i], memory.past_rate[0, i]
        for i in range(3):
            observation.force_error[i] = memory.past_force[0, i]

    def reward(self, row: Any, memory: Any) -> Any:
        self.remember(row, memory)
        posture = tolerance(self.posture_error(memory), 0.0, 0.0, self.posture_margin)
        force = tolerance(self.force_error(memory), 0.0, 0.0, self.force_margin)
        effort = total_square(row.activation) / len(row.activation)
        return 0.6 * posture + 0.3 * force + 0.1 * (1.0 - effort)

    def remember(self, row: Any, memory: Any) -> None:
        """Add the present to what is remembered."""
        move_on(memory.past_error)
        move_on(memory.past_rate)
        move_on(memory.past_force)
        for i in range(len(row.q)):
            memory.past_error[-1, i] = row.q[i] - POSTURE[i]
            memory.past_rate[-1, i] = row.v[i]
        for i in range(3):
            memory.past_force[-1, i] = row.reaction[i] - PAW_FORCE[i]

    def posture_error(self, memory: Any) -> Any:
        """Deviation of the posture, rad, rms over the joints."""
        return math.sqrt(total_square(memory.past_error[-1]) / len(POSTURE))

    def force_error(self, memory: Any) -> Any:
        """Deviation of the force on the paw, N."""
        return math.sqrt(total_square(memory.past_force[-1]))

    def ending(self, row: Any, memory: Any) -> Any:
        for i in range(len(row.q)):
            if abs(row.q[i] - POSTURE[i]) > self.largest_error:
                return FALLEN
        return 0.0

    def info(self, row: Any, memory: Any, info: Any) -> None:
        info.held = row.time
        info.posture_error, info.force_error = self.posture_error(memory), self.force_error(memory)
        info.push, info.load = math.sqrt(total_square(memory.pushing)), math.sqrt(total_square(memory.load))
        for i in range(3):
            info.paw_force[i] = row.reaction[i]


class StandPulse(StandTask):
    """Stay on one's feet when the ground jerks sideways, by the torques of the hips, with late senses.

    ## Description

    The standing figure of Bunderson et al. (2012), illustration 3: torso and two straight legs, seen from the front,
    feet in frictional contact with a platform. After 0.1 to 0.5 s the platform takes up a speed of 0.3 to 0.4 m/s, to
    either side, within 51 ms. What the nervous system knows of the body is 120 ms old; the option ``delay`` shortens
    that, to two time steps at least. The paper's reflex feeds back each hip's own angle and rate; feet may slip, lift
    off, and step. The figure has fallen where torso or a leg leans by more than {largest_lean:g} rad, or the hips are
    lower than 0.4 leg lengths.
    """

    action_modes = ("torque", "residual")
    physiology = measures("neuromechanic", "StandPulse", StandTask.physiology, largest_torque=StandTask.largest_torque)
    remembers = {"past_torque": "({self.periods},2)f8"}
    reflex_torque = staticmethod(reflex_torque)
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
        largest, meaning = self.largest_torque, "torques of left and right hip"
        if (mode or self.actions) == "residual":
            largest = self.residual_scale
            meaning = f"added to the torques of the paper's reflex of {STIFFNESS:g} N m/rad and {DAMPING:g} N m s/rad; "
            meaning += f"the sum is clipped at {self.largest_torque:g} N m"
        return {"torque": ActionField(2, -largest, largest, "N m", meaning)}

    def command(self, row: Any, memory: Any, action: Any, drive: Any) -> None:
        move_on(memory.past_torque)
        for side in range(2):
            torque = self.meaning(action, side)
            if self.actions == "residual":
                angle, rate = self.hip(row, side)
                reflex = self.reflex_torque((2 * side - 1) * memory.splay, angle, rate)
                torque = reflex + self.residual_scale * action[side]
            drive[side] = min(max(torque, -self.largest_torque), self.largest_torque)
            memory.past_torque[-1, side] = drive[side]

    def hip_torque(self, row: Any) -> Any:
        return row.input[0], row.input[1]


class StandGains(StandTask):
    """Stay on one's feet when the ground jerks sideways, by setting the gains of the hips' reflexes.

    ## Description

    As ``StandPulse``, but the platform takes up 0.29 to 0.33 m/s, and the paper's reflexes act by themselves, at every
    time step: the torque of each hip is minus stiffness times its angle from the symmetric stance, minus damping times
    its rate, as they were a delay ago, at most {largest_torque:g} N m. The action sets the two gains. The delay, 80 to
    140 ms, is drawn for every episode, as is the stance; the option ``delay`` is its share of 140 ms. What is observed
    of the body is one time step older than the delay. The figure has fallen where torso or a leg leans by more than
    {largest_lean:g} rad, or the hips are lower than 0.4 leg lengths. The reference has the paper's gains, with
    which it falls a little sooner than without any reflex.

    ## Starting State

    Upright at rest, feet 1 to 1.4 hip widths apart, with the paper's gains of 255 N m/rad and 85 N m s/rad.
    """

    action_modes = ("gains",)
    hidden = StandTask.hidden | {"push": Hidden(0.29, 0.33)}
    physiology = measures("neuromechanic", "StandGains", StandTask.physiology)
    control_rate = 20.0
    observes = {
        "delay": Field(1, "s", 0.1, "delay"),
        "stiffness": Field(1, "N m/rad", 300.0, "stiffness in force"),
        "damping": Field(1, "N m s/rad", 100.0, "damping in force"),
    }
    largest_stiffness, largest_damping = 600.0, 200.0
    """What an action of 1 means, N m/rad and N m s/rad."""
    longest_delay, shortest_delay = 0.14, 0.08

    def figure(self, dt: float) -> dict[str, Any]:
        return standing(delay=self.longest_delay, largest_torque=self.largest_torque)

    def action_fields(self, mode: str | None = None) -> dict[str, ActionField]:
        return {
            "stiffness": ActionField(1, 0.0, self.largest_stiffness, "N m/rad", "stiffness of both hips' reflexes"),
            "damping": ActionField(1, 0.0, self.largest_damping, "N m s/rad", "their damping"),
        }

    def start(self, episodes):
        values = super().start(episodes)
        gains = np.tile([0.0, STIFFNESS, DAMPING], (len(episodes), 1))
        gains[:, 0] = episodes.memory["splay"]
        delay = episodes.draw(lambda rng: rng.uniform(self.shortest_delay, self.longest_delay))
        return values | {"input": gains, "delay": delay / self.longest_delay}

    def command(self, row: Any, memory: Any, action: Any, drive: Any) -> None:
        drive[0], drive[1], drive[2] = memory.splay, self.meaning(action, 0), self.meaning(action, 1)

    def action_from_drive(self, drive: Floats) -> NDArray[np.float32]:
        """Action whose gains come closest to those of a drive (B, 3), whose first entry is the stance's."""
        return self.action_from_values(np.asarray(drive)[:, 1:])

    def hip_torque(self, row: Any) -> Any:
        return row.neuron[-2], row.neuron[-1]

    def sense(self, row: Any, memory: Any, observation: Any) -> None:
        super().sense(row, memory, observation)
        observation.delay[0] = self.longest_delay * row.delay
        observation.stiffness[0], observation.damping[0] = row.input[1], row.input[2]


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

    The model's start, each joint displaced by up to 0.05 (rad, or m) at random, at rest and silent; a joint whose start
    is at an end of its range starts 0.05 inside it.
    """

    action_modes = ("inputs",)
    control_rate = 50.0
    endings = {BEYOND: Ending("a joint has left its range")}
    remembers = {"goal": "f8"}
    reported = ["time", "goal"]
    informs = {"error": "f8"}
    margin = 0.5
    """Distance from the goal, rad or m, at which nearness is a tenth."""
    arguments = {
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
        scheme: str = "semi_implicit",
        dt: float = 1e-3,
        modules: Mapping[str, Any] | None = None,
        contacts: str | None = None,
        params: Mapping[str, Any] | str | Path | None = None,
        **common: Any,
    ) -> None:
        super().__init__(**common)
        if params is not None:
            model = changed(model, params, modules)
        self.animal = Neuromechanic(model, dt, scheme, modules=modules, contacts=contacts)
        bodies, joints = self.animal.model.bodies, self.animal.model.joints
        choice("joint", bodies[-1] if joint is None else joint, bodies)
        self.joint = len(bodies) - 1 if joint is None else bodies.index(joint)
        self.ranges = np.array([[one.low, one.high] for one in joints]).T
        low, high = self.ranges[:, self.joint]
        middle = (0.75 * low + 0.25 * high, 0.25 * low + 0.75 * high)
        self.goal = _pair("goal", middle if goal is None else goal, low, high)
        if not self.animal.drive_size:
            raise ValueError("model must have at least one input.NAME, got none")
        self.inputs = _pair("inputs", inputs)
        self.unit = "rad" if joints[self.joint].revolute else "m"
        self.options = {"goal": Option(low, high, self.unit, "where the joint is to be")}

    def fields(self) -> dict[str, Field]:
        joints, active = self.animal.model.joints, self.animal.model.counts["active"]
        units = list(dict.fromkeys("rad" if joint.revolute else "m" for joint in joints))
        activation = {"activation": Field(active, "1", 1.0, "activations")} if active else {}
        return {
            "joint_angle": Field(len(joints), ", ".join(units), 1.0, "joint positions"),
            "joint_rate": Field(len(joints), ", ".join(f"{one}/s" for one in units), 5.0, "joint velocities"),
            **activation,
            "goal": Field(1, self.unit, 1.0, "where the joint is to be"),
            "error": Field(1, self.unit, 0.3, "goal less position"),
        }

    def action_fields(self, mode: str | None = None) -> dict[str, ActionField]:
        return {name: ActionField(1, *self.inputs, "1", f"input {name}") for name in self.animal.model.inputs}

    def start(self, episodes: EpisodeStart) -> dict[str, Any]:
        joints = self.animal.model.joints
        draws = episodes.draw(lambda rng: rng.uniform(-0.05, 0.05, len(joints)))
        goal = episodes.draw(lambda rng: rng.uniform(*self.goal))
        episodes.memory["goal"] = episodes.options.get("goal", goal)
        start = np.array([joint.start for joint in joints])
        inner = np.minimum(0.05, 0.25 * (self.ranges[1] - self.ranges[0]))
        start = np.clip(start + draws, self.ranges[0] + inner, self.ranges[1] - inner)
        return {"q": start, "input": self.inputs[0]}

    def error(self, row: Any, memory: Any) -> Any:
        """Goal less position, rad or m."""
        return memory.goal - row.q[self.joint]

    def sense(self, row: Any, memory: Any, observation: Any) -> None:
        for i in range(len(row.q)):
            observation.joint_angle[i], observation.joint_rate[i] = row.q[i], row.v[i]
        observation.error[0] = self.error(row, memory)

    def reward(self, row: Any, memory: Any) -> Any:
        effort = total_square(row.activation) / max(len(row.activation), 1)
        return tolerance(abs(self.error(row, memory)), 0.0, 0.0, self.margin) - 0.05 * effort

    def ending(self, row: Any, memory: Any) -> Any:
        for i in range(len(row.q)):
            if row.q[i] < self.ranges[0, i] or row.q[i] > self.ranges[1, i]:
                return BEYOND
        return 0.0

    def info(self, row: Any, memory: Any, info: Any) -> None:
        info.error = abs(self.error(row, memory))
