"""Tasks of musculoskeletal models: hold a cat's hindlimb, stand on a platform, move a joint of any model.

Each class says what an environment observes, rewards and ends. Pictures of the goals are in ``picture.py``, the
animals' own controllers in ``agents/controllers/neuromechanic.py``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arguments import choice, number, numbers, shown, within
from ..core.env.task import (
    ActionField,
    Ending,
    EpisodeStart,
    Field,
    Hidden,
    Rows,
    Score,
    Task,
    measures,
    tolerance,
)
from ..core.kernels.jit import kernel
from ..core.kernels.maths import total_square
from ..core.model.animal import time_step
from ..core.model.control import Floats
from ..core.model.quantities import Option
from .animal import Neuromechanic
from .contact import SLIP
from .hindlimb import PAW_FORCE, POSTURE, STRETCH_DELAY, PushedLimb, hindlimb, kept_pattern, stretch_reflex
from .model import changed, held, limited
from .standing import DAMPING, LEG, RAMP, STIFFNESS, ramp_and_hold, splay, standing, upright


class ModelEnding(IntEnum):
    """Endings of tasks of musculoskeletal models."""

    POSTURE_LEFT = 10
    RANGE_LEFT = 11
    FALLEN = 12


class NeuromechanicTask(Task):
    """Base class for tasks of musculoskeletal models; subclasses add observations, reward and endings."""

    animal: Neuromechanic
    control_rate = 100.0
    drives = True
    arguments = {
        "scheme": "``semi_implicit``, or the paper's ``rk4``",
        "dt": "time step, s",
        "params": "changes to the model: a mapping such as "
        '``{"body": {"torso": {"inertial": {"mass": 40.0}}}}``, or the path of a TOML file with the same keys',
    }


def _pair(name: str, value: Any, minimum: float | None = None, maximum: float | None = None) -> tuple[float, float]:
    """Check an argument that must be a pair (low, high) within bounds, and return it as floats."""
    pair = numbers(name, value, minimum=minimum, maximum=maximum)
    if pair.shape != (2,) or not pair[0] < pair[1]:
        raise ValueError(f"{name} must be (low, high) with low < high, got {shown(value)}")
    return float(pair[0]), float(pair[1])


@kernel
def move_on(history):
    """Shift a history (moments, n) by one towards the oldest, so that the last entry can be overwritten."""
    for k in range(len(history) - 1):
        for i in range(history.shape[1]):
            history[k, i] = history[k + 1, i]


class HindlimbHold(NeuromechanicTask):
    """Hold posture and paw force of a cat's hindlimb against pushes and a load.

    ## Description

    The model is the hindlimb of Bunderson et al. (2012), illustrations 1 and 2, with 31 muscles and 7 joints. The
    pelvis is fixed and the paw is pinned to the ground but free to rotate, which leaves four degrees of freedom. The
    goal is to keep the posture of a standing cat while the paw pushes on the ground with 8.5 N, 35 degrees backward of
    straight down. External forces act on the ankle:

    | hidden quantity | distribution                                                                           |
    |-----------------|----------------------------------------------------------------------------------------|
    | load            | 2 to 4 N in a random direction, constant after a rise during the first {load_rise:g} s |
    | largest push    | 4 to 10 N                                                                              |
    | pushes          | 50 ms, one per second; random time and direction, 0 to 1 times the largest push        |

    The task is hard because few excitation patterns hold the limb against pushes and none against an unknown load,
    and because observations of joints and paw have the delay of a cat's stretch reflex, {delay:g} s. The episode fails
    when a joint is more than {largest_error:g} rad from the posture.

    By default, a stretch reflex adds to the most stable excitation pattern, and actions move the reference posture of
    the reflex by at most {largest_shift:g} rad per joint, as descending commands move the thresholds of reflexes
    (Feldman, 1986). Zero actions leave the reflex unchanged.

    ## Rewards

    The reward of each step is ``r = 0.6 P + 0.3 F + 0.1 (1 - E)``, at most 1:

    * ``P = 1 / (1 + 9 (error / {posture_margin:g} rad)^2)``, where ``error`` is the rms deviation of the joints (rad)
    * ``F = 1 / (1 + 9 (error / {force_margin:g} N)^2)``, where ``error`` is the norm of the deviation of the ground's
      force on the paw (N)
    * ``E``: mean squared activation of the muscles

    It rewards posture and force at the lowest activation. ``info["held"]`` is the time (s) since the start.
    ``info["is_success"]`` is true after {seconds} s if the means of both errors are at most those where ``P`` and ``F``
    are 1/2, a third of {posture_margin:g} rad and of {force_margin:g} N.

    ## Starting State

    The limb is at rest in the posture. Activations are those of the central pattern among all that hold the limb, each
    changed at random by up to 0.02.
    """

    action_modes = ("residual", "excitation")
    options = {
        "push": Option(0.0, 50.0, "N", "largest force of the pushes"),
        "load": Option(0.0, 50.0, "N", "constant force"),
    }
    hidden = {"push": Hidden(4.0, 10.0, test=(8, 9)), "load": Hidden(2.0, 4.0, test=(8, 9))}
    endings = {ModelEnding.POSTURE_LEFT: Ending("the limb has left its posture")}
    physiology = measures("neuromechanic", "HindlimbHold")
    arguments = {
        "dt": "time step, s; by default 1 ms, with ``rk4`` 0.02 ms",
        "stiffness": "short-range stiffness of the muscles, in maximal forces per optimal length",
        "delay": "delay of the senses, s, rounded up to whole control periods",
    }
    info_fields = {
        "held": "f8",
        "posture_error": "f8",
        "force_error": "f8",
        "paw_force": "3f8",
        "push": "f8",
        "load": "f8",
        "is_success": "?",
    }
    """Time since the start (s), deviation of the posture (rad, rms) and of the force (N), force on the paw, push and
    load (N)."""
    reward_terms = {"posture": "``0.6 P``", "force": "``0.3 F``", "effort": "``0.1 (1 - E)``"}
    largest_shift, fastest_shift = 0.5, 2.0
    """Largest shift (rad) and, with an ``authority`` of 1, rate of shift (rad/s) of the reflex's reference posture in
    each joint."""
    authority = 0.3
    seconds, push_duration = 5, 0.05
    """Number of pushes that a reset draws, one for each second, and duration of a push (s)."""
    delay = STRETCH_DELAY
    """Delay of the senses, s."""
    load_rise = 0.2
    """Time in which the load rises from 0, s."""
    posture_margin, force_margin = 0.04, 2.0
    """Deviations of the joints (rad, rms) and of the force on the paw (N) at which the reward's P and F are 0.1."""
    largest_error = 0.7
    """Largest deviation of a joint from the posture, rad."""
    stretch_gain, rate_gain = 34.0, 0.38
    """Gains of the stretch reflex on the most stable pattern, 1/m and s/m; the best constants of a search."""

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
        self.animal = PushedLimb(model, usual if dt is None else dt, scheme)
        if params is None:
            self.pattern = kept_pattern("central")  # of the default limb; it does not depend on stiffness
        else:
            from .analysis import central_pattern  # scipy, slow to import

            self.pattern = central_pattern(self.animal, POSTURE, reaction=PAW_FORCE)
        self._usual = params is None and stiffness == 4.0
        rows = self.animal.rows(1)
        rows["q"] = POSTURE
        self.arm = self.animal.mechanics(rows)["arm"]

    @cached_property
    def stable_pattern(self) -> Floats:
        """Most stable excitation pattern (31,) that holds the limb: deviations decay fastest.

        For the default limb it is read from a file: the search samples along basis vectors that LAPACK chooses, which
        differ between CPUs, and so do its results.
        """
        if self._usual:
            return kept_pattern("most_stable")
        from .analysis import most_stable  # scipy, slow to import

        return most_stable(self.animal, POSTURE, reaction=PAW_FORCE)

    @property
    def observation_fields(self) -> Mapping[str, Field]:
        joints, muscles = len(POSTURE), self.animal.model.counts["active"]
        return {
            "posture_error": Field(joints, "rad", 0.2, "delayed deviation of each joint from the posture"),
            "posture_rate": Field(joints, "rad/s", 5.0, "delayed rate of each joint"),
            "activation": Field(muscles, "1", 1.0, "activation of each muscle"),
            "force_error": Field(3, "N", 5.0, "delayed deviation of the ground's force on the paw"),
        }

    @property
    def memory_fields(self) -> Mapping[str, str]:
        """Fields of the memory.

        Time (s) and force (N) of each push; load and present push (N); shift of the reflex's reference posture (rad);
        sums of the errors of posture (rad) and force (N). Deviations (rad) and rates (rad/s) of joints and deviation of
        paw force (N), from one delay ago to the present.
        """
        fields = {"push": f"({self.seconds},4)f8", "load": "3f8", "pushing": "3f8", "shift": "7f8", "errors": "2f8"}
        history = dict.fromkeys(("past_error", "past_rate"), f"({self.moments},7)f8")
        return {**fields, **history, "past_force": f"({self.moments},3)f8"}

    def action_fields(self, mode: str | None = None) -> dict[str, ActionField]:
        if (mode or self.actions) == "residual":
            fastest, meaning = self.fastest_shift, "rate of change of the reflex's reference posture, for each joint"
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
        # Observations start as if the present state had lasted forever.
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
        """Set the force on the ankle, the load plus a push; pushes start and end at control periods."""
        second = min(int(row.time), self.seconds - 1)
        since = row.time - memory.push[second, 0]
        pushed = 0.0 <= since < self.push_duration
        share = min(row.time / self.load_rise, 1.0)
        for i in range(3):
            memory.pushing[i] = memory.push[second, 1 + i] if pushed else 0.0
            row.wrench[0, i] = memory.pushing[i] + share * memory.load[i]

    def excitation(self, memory: Any, m: int) -> Any:
        """Return the excitation of muscle ``m`` by the stretch reflex about the shifted reference posture."""
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
        memory.errors[0] += self.posture_error(memory)
        memory.errors[1] += self.force_error(memory)
        posture = tolerance(self.posture_error(memory), 0.0, 0.0, self.posture_margin)
        force = tolerance(self.force_error(memory), 0.0, 0.0, self.force_margin)
        effort = total_square(row.activation) / len(row.activation)
        memory.reward_posture, memory.reward_force = 0.6 * posture, 0.3 * force
        memory.reward_effort = 0.1 * (1.0 - effort)
        return memory.reward_posture + memory.reward_force + memory.reward_effort

    def remember(self, row: Any, memory: Any) -> None:
        """Append the present state to the delayed observations."""
        move_on(memory.past_error)
        move_on(memory.past_rate)
        move_on(memory.past_force)
        for i in range(len(row.q)):
            memory.past_error[-1, i] = row.q[i] - POSTURE[i]
            memory.past_rate[-1, i] = row.v[i]
        for i in range(3):
            memory.past_force[-1, i] = row.reaction[i] - PAW_FORCE[i]

    def posture_error(self, memory: Any) -> Any:
        """Return the deviation of the posture, rad, rms over the joints."""
        return math.sqrt(total_square(memory.past_error[-1]) / len(POSTURE))

    def force_error(self, memory: Any) -> Any:
        """Return the norm of the deviation of the force on the paw, N."""
        return math.sqrt(total_square(memory.past_force[-1]))

    def ending(self, row: Any, memory: Any) -> Any:
        for i in range(len(row.q)):
            if abs(row.q[i] - POSTURE[i]) > self.largest_error:
                return ModelEnding.POSTURE_LEFT
        return 0.0

    def info(self, row: Any, memory: Any, info: Any) -> None:
        info.held = row.time
        info.posture_error, info.force_error = self.posture_error(memory), self.force_error(memory)
        info.push, info.load = math.sqrt(total_square(memory.pushing)), math.sqrt(total_square(memory.load))
        count = row.time * self.control_rate
        over = row.status == 0.0 and count > self.seconds * self.control_rate - 0.5
        near = memory.errors[0] <= count * self.posture_margin / 3.0
        info.is_success = over and near and memory.errors[1] <= count * self.force_margin / 3.0
        for i in range(3):
            info.paw_force[i] = row.reaction[i]


class StandGains(NeuromechanicTask):
    """Stay upright on a platform that moves sideways, by setting the gains of the hip reflexes.

    ## Description

    The model is the standing figure of Bunderson et al. (2012), illustration 3: a torso and two straight legs in the
    frontal plane, with feet in frictional contact with a platform. The paper's reflexes compute the torque of each hip
    in every time step, and the action sets their stiffness k and damping d:

    ``torque = -k (angle - rest) - d rate``, clipped to {largest_torque:g} N m.

    ``angle`` (rad) and ``rate`` (rad/s) of the hip are delayed, and ``rest`` is the angle in the symmetric stance. Two
    quantities are drawn for every episode and observed: the delay, 80 to 140 ms, and the distance of the feet. The
    option ``delay`` is the delay divided by 140 ms. Observations of the body are one time step older. There are
    {pushes} pushes of increasing speed. In each, the platform accelerates sideways in {ramp:g} s, moves at constant
    speed for {hold:g} s, and stops in {ramp:g} s:

    | hidden quantity          | distribution                                    |
    |--------------------------|-------------------------------------------------|
    | speed of the first push  | 0.12 to 0.18 m/s; each push adds {growth:g} m/s |
    | side of each push        | left or right                                   |
    | onset of the first push  | 0.1 to 0.5 s                                    |
    | time from onset to onset | {soonest:g} to {latest:g} s                     |

    The task is hard because suitable gains depend on the delay, the stance and the phase of the fall, while feet can
    slip, lift off and step. By default, actions change the paper's gains by at most {largest_change:.0%}, and zero
    actions are the paper's reflex.

    The episode fails when torso or a leg leans by more than {largest_lean:g} rad, or when the hips are lower than 0.4
    leg lengths. Most falls of the paper's reflex end with a kick. One foot lifts off, the late reflex swings the free
    leg with the largest torque, and the recoil throws the figure into the air for the last 0.15 to 0.2 s.

    ## Rewards

    The reward of each step is ``r = 1 - 0.4 (1 - L) - 0.1 T - 0.1 S``:

    * ``L = 1 / (1 + 9 (lean / 0.5 rad)^2)``, where ``lean`` is the rms of the angle of the torso from the vertical and
      of both hip angles from the symmetric stance (rad): 1 if upright, 0.1 at 0.5 rad
    * ``T``: mean over both hips of ``(torque / {largest_torque:g} N m)^2``
    * ``S``: fraction of the feet that slip

    It rewards an upright posture with little effort and steady feet, for as long as the figure stands.
    ``info["survived"]`` is 1 until the figure falls, ``info["pushes"]`` the number of pushes that have begun.
    ``info["is_success"]`` is true once more than half of the {pushes} pushes have begun, so that the figure has
    withstood half of them.

    ## Starting State

    The figure is upright and at rest, with the paper's gains of 255 N m/rad and 85 N m s/rad. The distance of the feet
    is drawn from 1 to 1.4 hip widths.
    """

    action_modes = ("residual", "gains")
    control_rate = 20.0
    options = {
        "stance": Option(0.8, 1.8, "hip widths", "distance of the feet"),
        "push": Option(-1.0, 1.0, "m/s", "speed of the first push, positive to the right; the side is random if drawn"),
        "growth": Option(-1.0, 1.0, "m/s", "increase in speed from push to push; with -1 there is a single push"),
        "onset": Option(0.0, 100.0, "s", "time at which the platform starts to move"),
    }
    endings = {ModelEnding.FALLEN: Ending("the figure has fallen")}
    hidden = {"push": Hidden(0.12, 0.18), "onset": Hidden(0.1, 0.5)}
    physiology = measures("neuromechanic", "StandGains")
    observation_fields = {
        "torso_angle": Field(1, "rad", 0.3, "delayed angle of the torso"),
        "torso_rate": Field(1, "rad/s", 1.0, "delayed angular velocity of the torso"),
        "hip_angle": Field(2, "rad", 0.3, "delayed angles of left and right leg from the torso"),
        "hip_rate": Field(2, "rad/s", 1.0, "delayed angular velocities of left and right hip"),
        "stance": Field(1, "hip widths", 1.0, "distance of the feet at the start"),
        "delay": Field(1, "s", 0.1, "delay of the reflexes"),
        "stiffness": Field(1, "N m/rad", 300.0, "present stiffness of the reflexes"),
        "damping": Field(1, "N m s/rad", 100.0, "present damping of the reflexes"),
    }
    memory_fields = {"stance": "f8", "splay": "f8", "work": "f8", "largest_torque": "f8"}
    """Distance of the feet (hip widths) and angle of the legs from the vertical (rad) at the start; positive work (J)
    and largest torque (N m) of the hips since the start, sampled at the ends of control periods."""
    info_fields = dict.fromkeys(("stance", "work", "largest_torque"), "copy")
    info_fields |= {"survived": "f8", "push": "f8", "pushes": "i8", "slipping": "i8", "is_success": "?"}
    """1 while the figure stands; speed of the latest push (m/s); number of pushes so far and of slipping feet."""
    reward_terms = {"survive": "1", "lean": "``-0.4 (1 - L)``", "effort": "``-0.1 T``", "slip": "``-0.1 S``"}
    arguments = {
        "scheme": "``semi_implicit``, which contacts require",
        "contacts": "contact solver: ``modes`` (default), ``staggered`` (the paper's) or ``sweep``",
    }
    stances = (1.0, 1.4)
    """Range from which the stance is drawn, hip widths."""
    largest_lean, lowest_hips = 1.2, 0.4 * LEG
    """Largest angle of torso or legs from the vertical (rad) and lowest height of the hips (m) of a standing figure."""
    pushes, growth = 8, 0.08
    """Number of pushes, and increase in speed from push to push (m/s)."""
    soonest, latest = 1.2, 1.8
    """Least and greatest time from the onset of a push to that of the next, s."""
    ramp, hold = RAMP, 0.4
    """Duration of the platform's acceleration and of its deceleration, and time between them, s."""
    largest_torque = 200.0
    """Limit of a hip's torque, and its scale in the reward, N m."""
    largest_stiffness, largest_damping = 600.0, 200.0
    """Stiffness (N m/rad) and damping (N m s/rad) of an action of 1 with ``actions="gains"``."""
    own, largest_change = (STIFFNESS, DAMPING), 0.6
    """Stiffness (N m/rad) and damping (N m s/rad) of the paper's reflex, and largest share that an action adds."""
    longest_delay, shortest_delay = 0.14, 0.08

    def __init__(
        self,
        scheme: str = "semi_implicit",
        dt: float = 1e-3,
        contacts: str | None = None,
        params: Mapping[str, Any] | str | Path | None = None,
        **common: Any,
    ) -> None:
        super().__init__(**common)
        choice("scheme", scheme, Neuromechanic.solvers["scheme"])
        dt = number("dt", time_step(dt, 1e-3), maximum=0.5 * self.longest_delay)
        model = standing(delay=self.longest_delay, largest_torque=self.largest_torque)
        model["platform"]["pulse"] *= self.pushes
        self.animal = Neuromechanic(changed(model, params), dt, scheme, contacts=contacts)

    def action_fields(self, mode: str | None = None) -> dict[str, ActionField]:
        names = ("stiffness", "N m/rad", self.largest_stiffness), ("damping", "N m s/rad", self.largest_damping)
        fields = {}
        for (name, unit, high), own in zip(names, self.own, strict=True):
            low, meaning = 0.0, f"{name} of both hips' reflexes"
            if (mode or self.actions) == "residual":
                high, meaning = self.largest_change * own, f"added to the paper's {name}, {own:g} {unit}"
                low = -high
            fields[name] = ActionField(1, low, high, unit, meaning)
        return fields

    def start(self, episodes: EpisodeStart) -> dict[str, Any]:
        options, draws = episodes.options, episodes.draw(lambda rng: rng.random(2 * self.pushes))
        low, high = self.stances
        stance = episodes.memory["stance"]
        stance[:] = options.get("stance", low + (high - low) * draws[:, 0])
        episodes.memory["splay"] = splay(stance)
        first, growth = episodes.hidden("push"), options.get("growth", np.full(len(episodes), self.growth))
        speed = np.maximum(np.abs(first)[:, None] + growth[:, None] * np.arange(self.pushes), 0.0)
        sides = np.where(draws[:, 1 : 1 + self.pushes] < 0.5, -1.0, 1.0)
        if "push" in options:
            sides[:, 0] = np.sign(first)
        later = self.soonest + (self.latest - self.soonest) * draws[:, 1 + self.pushes :]
        onset = np.cumsum(np.concatenate([episodes.hidden("onset")[:, None], later], 1), 1)
        pulse = ramp_and_hold(onset, sides * speed, self.ramp, self.hold).reshape(len(episodes), -1, 3)
        gains = np.tile([0.0, *self.own], (len(episodes), 1))
        gains[:, 0] = episodes.memory["splay"]
        delay = episodes.draw(lambda rng: rng.uniform(self.shortest_delay, self.longest_delay)) / self.longest_delay
        return {"q": upright(stance), "pulse": pulse, "input": gains, "delay": delay}

    def command(self, row: Any, memory: Any, action: Any, drive: Any) -> None:
        drive[0] = memory.splay
        for k in range(2):
            drive[1 + k] = self.meaning(action, k)
            if self.actions == "residual":
                drive[1 + k] += self.own[k]

    def action_from_drive(self, drive: Floats) -> NDArray[np.float32]:
        """Return the action with the gains closest to those of a drive (B, 3): splay (ignored), stiffness, damping."""
        return super().action_from_drive(np.asarray(drive)[:, 1:])

    def sense(self, row: Any, memory: Any, observation: Any) -> None:
        observation.torso_angle[0], observation.torso_rate[0] = row.neuron[0], row.neuron[1]
        for side in range(2):
            observation.hip_angle[side] = row.neuron[2 + 2 * side]
            observation.hip_rate[side] = row.neuron[3 + 2 * side]
        observation.delay[0] = self.longest_delay * row.delay
        observation.stiffness[0], observation.damping[0] = row.input[1], row.input[2]

    def slipping(self, row: Any) -> Any:
        """Return the number of slipping feet."""
        count = 0
        for mode in row.mode:
            count += mode >= SLIP
        return count

    def reward(self, row: Any, memory: Any) -> Any:
        left, right = row.neuron[-2], row.neuron[-1]
        power = max(left * row.v[3], 0.0) + max(right * row.v[4], 0.0)
        memory.work += power / self.control_rate
        memory.largest_torque = max(memory.largest_torque, abs(left), abs(right))
        lean = math.sqrt((row.q[2] ** 2 + (row.q[3] + memory.splay) ** 2 + (row.q[4] - memory.splay) ** 2) / 3.0)
        near = tolerance(lean, 0.0, 0.0, 0.5)
        effort = ((left / self.largest_torque) ** 2 + (right / self.largest_torque) ** 2) / 2.0
        memory.reward_survive, memory.reward_lean = 1.0, -0.4 * (1.0 - near)
        memory.reward_effort, memory.reward_slip = -0.1 * effort, -0.1 * (self.slipping(row) / len(row.mode))
        return memory.reward_survive + memory.reward_lean + memory.reward_effort + memory.reward_slip

    def ending(self, row: Any, memory: Any) -> Any:
        torso, left, right = row.q[2], row.q[3], row.q[4]
        lean = max(abs(torso), abs(torso + left), abs(torso + right))
        return ModelEnding.FALLEN if lean > self.largest_lean or row.q[1] < self.lowest_hips else 0.0

    def info(self, row: Any, memory: Any, info: Any) -> None:
        info.survived = 1.0 if row.status == 0.0 and self.ending(row, memory) == 0.0 else 0.0
        info.pushes, latest = 0, 0
        for k in range(0, len(row.pulse), 2):
            if row.pulse[k, 0] <= row.time:
                info.pushes, latest = info.pushes + 1, k
        info.push = row.pulse[latest, 2] * 2.0 * row.pulse[latest, 1] / np.pi
        info.slipping, info.is_success = self.slipping(row), 2 * info.pushes > self.pushes


class Pose(NeuromechanicTask):
    """Move a joint of any model to an angle and hold it there.

    ## Description

    This task is for users' models: ``register_model`` makes an id from a TOML file. The goal is fixed, or drawn for
    every episode, and observed. Actions set the model's inputs, in the order of ``model.inputs``. No quantity is
    hidden. The agent must learn how the inputs move the joint without a joint leaving its range, which ends the
    episode.

    ## Rewards

    The reward of each step is ``r = 1 / (1 + 9 (error / {margin:g})^2) - {effort:g} E``, where ``error`` is the
    distance of the joint from the goal (rad, or 0.1 m for a sliding joint) and ``E`` the mean squared activation of the
    muscles. It rewards a joint near its goal at low activation, so that antagonists do not pull against each other.
    ``info["error"]`` is the distance, and the score ``held`` the time for which it has been at most {near:g}.
    ``info["is_success"]`` is true if this is at least {hold:g} s.

    ## Starting State

    The model is at rest in its start posture, with each joint displaced at random by up to 0.05 (rad or m) and all
    inputs at their lowest value. Joints start at least 0.05 inside their range, or a quarter of a narrow range.
    """

    action_modes = ("inputs",)
    control_rate = 50.0
    endings = {ModelEnding.RANGE_LEFT: Ending("a joint has left its range")}
    memory_fields = {"goal": "f8", "held": "f8"}
    info_fields = {"goal": "copy", "held": "copy", "error": "f8", "is_success": "?"}
    reward_terms = {"precision": "``1 / (1 + 9 (error / {margin:g})^2)``", "effort": "``-{effort:g} E``"}
    score = Score("held", "s")
    margin, near = 0.5, 0.1
    """Distances from the goal at which the first term is 0.1, and up to which the goal is held; rad or 0.1 m."""
    effort = 0.5
    """Reward for full activation of all muscles, times -1."""
    hold = 1.0
    """Time for which a success holds the goal, s."""
    arguments = {
        "model": "path of a TOML file, or a mapping with the same keys",
        "joint": "name of the joint to move; the last joint by default",
        "goal": "position of the joint, or range (low, high) from which it is drawn, rad or m; by default the middle "
        "half of the joint's range",
        "inputs": "values of all inputs at actions of -1 and 1",
        "scheme": "``semi_implicit``, or the paper's ``rk4`` for models without contacts",
        "modules": "control modules by name",
        "contacts": "contact solver: ``modes``, ``staggered`` or ``sweep``; by default the model's",
        "fixed": "joints to hold at their start position: names, or a mapping of names to positions, rad or m",
        "ranges": "``end``: a joint that leaves its range ends the episode; ``limit``: stiff limits stop the joints at "
        "their ranges; ``ignore``: ranges bound only starts and goals",
    }

    def __init__(
        self,
        model: str | Path | Mapping[str, Any],
        joint: str | None = None,
        goal: float | tuple[float, float] | None = None,
        inputs: tuple[float, float] = (0.0, 1.0),
        scheme: str = "semi_implicit",
        dt: float = 1e-3,
        modules: Mapping[str, Any] | None = None,
        contacts: str | None = None,
        fixed: Mapping[str, float] | Sequence[str] = (),
        ranges: str = "end",
        params: Mapping[str, Any] | str | Path | None = None,
        **common: Any,
    ) -> None:
        super().__init__(**common)
        choice("ranges", ranges, ("end", "limit", "ignore"))
        choice("scheme", scheme, Neuromechanic.solvers["scheme"])
        if params is not None:
            model = changed(model, params, modules)
        if fixed:
            model = held(changed(model, None), fixed)

        def build(source: Any) -> Neuromechanic:
            return Neuromechanic(source, dt, scheme, modules=modules, contacts=contacts)

        self.animal = limited(changed(model, None), fixed, build) if ranges == "limit" else build(model)
        bodies, joints = self.animal.model.bodies, self.animal.model.joints
        choice("joint", bodies[-1] if joint is None else joint, bodies)
        self.joint = len(bodies) - 1 if joint is None else bodies.index(joint)
        self.ranges = np.array([[one.low, one.high] for one in joints]).T
        self.loose = np.array([body not in fixed for body in bodies])
        self.bounds = np.where(self.loose & (ranges == "end"), self.ranges, [[-np.inf], [np.inf]])
        low, high = self.ranges[:, self.joint]
        middle = (0.75 * low + 0.25 * high, 0.25 * low + 0.75 * high)
        self.unit = "rad" if joints[self.joint].revolute else "m"
        own = f"goal of {bodies[self.joint]}"
        goal = within(own, numbers(own, middle if goal is None else goal), low, high, self.unit).tolist()
        self.goal = _pair("goal", goal) if isinstance(goal, list) else (goal, goal)
        if not self.animal.drive_size:
            raise ValueError("model must have at least one input (input.NAME), got none")
        self.inputs = _pair("inputs", inputs)
        self.scale = 1.0 if joints[self.joint].revolute else 0.1
        self.options = {"goal": Option(low, high, self.unit, "position of the joint to reach")}

    @property
    def observation_fields(self) -> Mapping[str, Field]:
        joints, active = self.animal.model.joints, self.animal.model.counts["active"]
        units = list(dict.fromkeys("rad" if joint.revolute else "m" for joint in joints))
        activation = {"activation": Field(active, "1", 1.0, "activations")} if active else {}
        return {
            "joint_angle": Field(len(joints), ", ".join(units), 1.0, "joint positions"),
            "joint_rate": Field(len(joints), ", ".join(f"{one}/s" for one in units), 5.0, "joint velocities"),
            **activation,
            "goal": Field(1, self.unit, 1.0, "position of the joint to reach"),
            "error": Field(1, self.unit, 0.3, "goal minus position"),
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
        free = np.clip(start + draws, self.ranges[0] + inner, self.ranges[1] - inner)
        return {"q": np.where(self.loose, free, start), "input": self.inputs[0]}

    def error(self, row: Any, memory: Any) -> Any:
        """Return goal minus position, rad or m."""
        return memory.goal - row.q[self.joint]

    def sense(self, row: Any, memory: Any, observation: Any) -> None:
        for i in range(len(row.q)):
            observation.joint_angle[i], observation.joint_rate[i] = row.q[i], row.v[i]
        observation.error[0] = self.error(row, memory)

    def reward(self, row: Any, memory: Any) -> Any:
        effort = total_square(row.activation) / max(len(row.activation), 1)
        error = abs(self.error(row, memory)) / self.scale
        memory.held = memory.held + 1.0 / self.control_rate if error <= self.near else 0.0
        memory.reward_precision = tolerance(error, 0.0, 0.0, self.margin)
        memory.reward_effort = -self.effort * effort
        return memory.reward_precision + memory.reward_effort

    def ending(self, row: Any, memory: Any) -> Any:
        for i in range(len(row.q)):
            if row.q[i] < self.bounds[0, i] or row.q[i] > self.bounds[1, i]:
                return ModelEnding.RANGE_LEFT
        return 0.0

    @cached_property
    def failures(self) -> tuple[str, ...]:
        bounded = np.flatnonzero(np.isfinite(self.bounds[0]))
        return (*super().failures, *map(self._left, bounded.tolist()))

    def _left(self, i: int) -> str:
        """Return the reason of a failure in which joint ``i`` has left its range."""
        low, high = self.ranges[:, i]
        return f"joint {self.animal.model.bodies[i]} has left its range, {low:.4g} to {high:.4g}"

    def reason(self, row: Any, ending: float) -> str:
        outside = (row["q"] < self.bounds[0]) | (row["q"] > self.bounds[1])
        return self._left(int(np.argmax(outside))) if outside.any() else super().reason(row, ending)

    def info(self, row: Any, memory: Any, info: Any) -> None:
        info.error = abs(self.error(row, memory))
        info.is_success = memory.held >= self.hold - 1e-9
