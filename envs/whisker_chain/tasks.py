"""Tasks of the vibrissa: localise, detect, tap, hold a contact, whisk to a set point."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core.env.spec import ActionField, Ending, Field, Hidden, Score
from ..core.env.task import measures, tolerance
from ..core.kernels.noise import normal_number
from ..core.kernels.sums import total
from ..core.model.control import Floats
from ..core.model.quantities import Option
from .animal import FAR
from .task import ACCELERATION, MICRO, SENSOR, WhiskerTask, limited

RIGHT, WRONG = 1.0, 2.0
"""Endings: the answer was right, or wrong."""


class PegTask(WhiskerTask):
    """A point peg somewhere ahead, given by its place on the straight whisker and the base angle that touches it."""

    hidden = {"peg_place": Hidden(0.3, 0.9), "peg_bearing": Hidden(-0.15, 0.35)}
    absent_share = 0.0
    """Share of episodes without a peg."""
    push_cost = 0.01
    """Price of a push of 1 uN s."""
    remembers = dict.fromkeys(("peg_place", "peg_bearing", "present", "touched", "pushed"), "f8")
    reported = ["time", "peg_place", "peg_bearing", "pushed"]
    informs = {"touched": "f8"}
    options = {
        "peg_place": Option(0.15, 1.2, "lengths", "distance of the peg from the base"),
        "peg_bearing": Option(-0.3, 0.6, "rad", "base angle at which the straight whisker would touch the peg"),
        "peg_present": Option(0.0, 1.0, "1", "whether there is a peg: above 0.5"),
    }

    def start(self, episodes):
        values = super().start(episodes)
        memory = episodes.memory
        for name in ("peg_place", "peg_bearing"):
            memory[name] = episodes.hidden(name)
        presence = episodes.draw(lambda rng: rng.uniform() >= self.absent_share)
        memory["present"] = episodes.options.get("peg_present", presence)
        memory["touched"] = np.inf
        distance = np.where(memory["present"] > 0.5, memory["peg_place"] * self.length(episodes), FAR)
        peg = distance[:, None] * np.stack([np.cos(memory["peg_bearing"]), np.sin(memory["peg_bearing"])], 1)
        return values | {"peg": peg[:, None]}

    def reward(self, row: Any, memory: Any) -> Any:
        """Charge the push, and keep the time of the first touch and the sum of pushes."""
        push = row.contact_sum[0]
        memory.pushed += push
        if push > 0.0 and math.isinf(memory.touched):
            memory.touched = row.time
        return -self.push_cost * push / MICRO

    def info(self, row, memory, info):
        super().info(row, memory, info)
        info.touched = math.isfinite(memory.touched)


class AnswerTask(PegTask):
    """A peg about which a question is asked: the first answer that is committed counts, and ends the episode."""

    gentle = 80e-6
    """Push (N), mean over a period, beyond which the follicle is hurt: twice the peak of the push of the reference of
    `Localize`, which is 32 to 42 uN in the mean of episodes."""
    hurt_price = 0.02
    """Price of a period in which the push is twice as strong as is gentle; chosen, as is the next."""
    effort_price = 0.02
    """Price of a period in which command and muscle are as far apart as the largest command."""
    gentle_uN = 1e6 * gentle
    physiology = measures("whisker_chain", "AnswerTask", WhiskerTask.physiology, gentle=gentle_uN)
    commitment = 0.02
    """Time (s) for which ``commit`` must be above 0."""
    silence = 0.0
    """Reward of an episode's end without an answer."""
    observes = {"held": Field(1, "s", 0.02, "time for which ``commit`` has been above 0")}
    remembers = {"held": "f8", "committed": "f8"}
    reported = [*PegTask.reported, "committed"]
    informs = {"is_success": "?"}
    commit: Mapping[str, ActionField] = {
        "commit": ActionField(1, -1.0, 1.0, "1", "above 0 for 20 ms on end: the answer of now is final")
    }
    endings = {
        RIGHT: Ending("the right answer was committed", success=True),
        WRONG: Ending("a wrong answer was committed"),
    }

    def start(self, episodes):
        episodes.memory["committed"] = np.inf
        return super().start(episodes)

    def sense(self, row, memory, observation):
        super().sense(row, memory, observation)
        observation.held[0] = memory.held / self.control_rate

    @abstractmethod
    def right(self, memory: Any) -> Any:
        """Tell whether the present answer is right."""

    @abstractmethod
    def worth(self, row: Any, memory: Any) -> Any:
        """Say what the present answer is worth, if it is final."""

    def reward(self, row, memory):
        paid = super().reward(row, memory) - self.effort_price * memory.exertion
        force = row.contact_sum[0] * self.control_rate
        paid -= self.hurt_price * max(force / self.gentle - 1.0, 0.0)
        earned, commit = 0.0, self.meaning(memory.action, -1)
        memory.held = memory.held + 1.0 if commit > 0.0 else 0.0
        if math.isinf(memory.committed):
            if memory.held >= max(np.rint(self.commitment * self.control_rate), 1.0):
                memory.committed = row.time
                earned = self.worth(row, memory)
            elif abs(row.time - self.duration) < 0.5 / self.control_rate:
                earned = self.silence
        return paid + earned

    def ending(self, row, memory):
        if math.isinf(memory.committed):
            return 0.0
        return RIGHT if self.right(memory) else WRONG

    def info(self, row, memory, info):
        super().info(row, memory, info)
        info.is_success = math.isfinite(memory.committed) and self.right(memory)

    def haste(self, row: Any) -> Any:
        """Share of the reward that is left for who answers now."""
        return max(1.0 - row.time / self.duration, 0.0)


class Localize(AnswerTask):
    """Touch a peg, say where it is, and be done.

    ## Description

    The vibrissa of Quist et al. (2014). A point peg stands 0.4 to 0.9 lengths from the base, where the straight
    whisker would touch it at a base angle of -0.15 to 0.35 rad. The reference sweeps at 100 deg/s until Fx tells the
    touch, decelerates, waits for the vibrations to die, solves the statics and commits the solution, which takes it
    0.42 s. ``quick`` does all that at 230 deg/s; ``guess`` names the middle without touching. Reward alone teaches no
    answers: ``info`` has the right ones, for supervision.

    ## Rewards

    When an answer has been committed for 20 ms, the episode ends with 1 if the estimated point is within 0.01 lengths
    of the peg, falling to 0.1 at 0.11 lengths, times 1 - t/{duration:g} s; without an answer there is nothing. Every
    uN s of push costs {push_cost:g}; a push beyond {gentle_uN:g} uN costs {hurt_price:g} in every period in which it is
    twice that, in proportion to the excess; and effort, the squared distance of command and muscle over the largest
    command, {effort_price:g} a period. ``info["error"]`` is the distance between both points in lengths,
    ``info["place_error"]`` that of the radial distances; ``info["peg_place"]`` and ``info["peg_bearing"]`` are the
    answers that would be best. Up to {near:g} lengths count as right, ``info["is_success"]``; ``info["committed"]`` is
    when an answer was (s, infinite before that).
    """

    score = Score("return", binary=True)
    hidden = {**AnswerTask.hidden, "peg_place": Hidden(0.4, 0.9)}
    duration = 0.6
    near = 0.11
    """Largest error of an answer that is called right, lengths."""
    answers = {
        "place": ActionField(1, 0.2, 1.0, "lengths", "estimate of the peg's distance from the base", "peg_place"),
        "bearing": ActionField(1, -0.35, 0.55, "rad", "estimate of the peg's bearing", "peg_bearing"),
        **AnswerTask.commit,
    }
    informs = {"error": "f8", "place_error": "f8"}

    def answer(self, memory: Any) -> Any:
        """Distance from the base (lengths) and bearing (rad) of the peg, as they are estimated."""
        return self.meaning(memory.action, -3), self.meaning(memory.action, -2)

    def error(self, memory: Any) -> Any:
        """Distance (lengths) between the peg and its estimate."""
        (place, bearing), truth = self.answer(memory), memory.peg_place
        off = place**2 + truth**2 - 2 * place * truth * math.cos(bearing - memory.peg_bearing)
        return math.sqrt(max(off, 0.0))

    def right(self, memory):
        return self.error(memory) <= self.near

    def worth(self, row, memory):
        return tolerance(self.error(memory), 0.0, 0.01, 0.1) * self.haste(row)

    def info(self, row, memory, info):
        super().info(row, memory, info)
        info.error = self.error(memory)
        info.place_error = abs(self.answer(memory)[0] - memory.peg_place)


class Detect(AnswerTask):
    """Tell, quickly and gently, whether a peg stands in the way.

    ## Description

    The vibrissa of Quist et al. (2014). In half of the episodes a point peg stands 0.8 to 1 lengths from the base,
    where the straight whisker would touch it at a base angle of -0.15 to 0.3 rad; the sensors are three times as noisy
    as in the other tasks. The reference sweeps forwards as in a whisk of 8 Hz and takes Fx below a threshold for a
    touch, or the end of the sweep for the peg's absence: d' is 1.7, a hit comes 32 ms after the touch. With quiet
    sensors a threshold on Fx tells distal touches from free whisking, and one on M does not: this is the paper's claim.
    Policies are not ranked on it: an episode holds one verdict, right or wrong, and 256 of them resolve the difference
    of two policies to 14% of the scale; for 3%, an episode would have to hold some twenty pegs. Those who commit early
    turn back at full force, too, so that 6% of their commands are at the limit.

    ## Rewards

    When a verdict has been committed for 20 ms, the episode ends with 1 - t/{duration:g} s if it is right, with -1 if
    it is wrong; without a verdict it ends with {silence:g}. Every uN s of push costs {push_cost:g}, a push beyond
    {gentle_uN:g} uN and effort cost as in `Localize`.
    ``info["peg_present"]`` is the truth; ``info["is_success"]``, ``info["hit"]`` and ``info["false_alarm"]`` tell what
    the verdict was, ``info["committed"]`` when it was given (s, infinite before), ``info["delay"]`` how long it came
    after the first touch (s, infinite unless it did).
    """

    score = Score("return", failed=-1.0, binary=True)
    duration = 0.4
    silence = -1.0
    sensor = tuple(3.0 * deviation for deviation in SENSOR)
    hidden = {"peg_place": Hidden(0.8, 1.0), "peg_bearing": Hidden(-0.15, 0.3)}
    absent_share = 0.5
    answers = {
        "verdict": ActionField(1, -1.0, 1.0, "1", "above 0: there is a peg", "peg_present", verdict=True),
        **AnswerTask.commit,
    }
    informs = dict.fromkeys(("peg_present", "hit", "false_alarm", "delay"), "f8")

    def says(self, memory: Any) -> Any:
        """Tell whether the present verdict is that there is a peg."""
        return self.meaning(memory.action, -2) > 0.0

    def right(self, memory):
        return self.says(memory) == (memory.present > 0.5)

    def worth(self, row, memory):
        return self.haste(row) if self.right(memory) else -1.0

    def info(self, row, memory, info):
        super().info(row, memory, info)
        alarm, there = math.isfinite(memory.committed) and self.says(memory), memory.present > 0.5
        info.peg_present, info.hit, info.false_alarm = there, alarm and there, alarm and not there
        felt = alarm and there and memory.touched < memory.committed
        info.delay = memory.committed - memory.touched if felt else math.inf


class Tap(PegTask):
    """Touch a peg again and again, each time with the least push.

    ## Description

    The vibrissa of Quist et al. (2014). A point peg stands 0.5 to 0.8 lengths from the base, where the straight
    whisker would touch it at a base angle of -0.15 to 0.25 rad. It is to be tapped once in each of {taps} windows of
    {window:g} s; after the first tap it is known where it stands, so that memory pays. The animal's own way forgets: it
    approaches at 92 deg/s and retracts as soon as Fx tells the touch. ``remembers`` brakes for the bearing at which it
    has felt the peg before. With ``actions="residual"`` it is the environment that remembers this angle, and the
    observation tells it, so that who has no memory can learn to brake, too. Nearer pegs, which are stiffer, and farther
    ones, which are hardly felt, are left out, so that what policies differ by is how they tap, not where the peg was.

    ## Rewards

    The changes of the grades, over {taps}; so the return is the mean of the grades at the windows' ends. A window's
    grade is 0 until the peg has been touched in it, where the base has been behind {behind:g} rad in it before; then it
    is 1/(1 + push of the window/1 uN s). A push before that counts, but does not earn a grade. ``info["taps"]`` is the
    number of windows with a grade, ``info["pushed"]`` the push of all in N s.
    """

    action_modes = ("trajectory", "whisk", "residual")
    approach, threshold = 1.6, 0.8e-6
    """Rate (rad/s) at which the animal's own controller approaches, and how far Fx (N) falls where it turns back."""
    largest_evidence = 1e-6
    """What an action of 1 adds to the fall of Fx at which the animal's own controller turns back, N."""
    duration = 2.4
    taps = 4
    window = 0.6
    """Time for a tap, s."""
    behind = -0.3
    """Base angle (rad) behind which the base must have been in a window before a touch counts."""
    hidden = {"peg_place": Hidden(0.5, 0.8), "peg_bearing": Hidden(-0.15, 0.25)}
    observes = {
        "left": Field(1, "s", 0.6, "time to the window's end"),
        "back": Field(1, "1", 1.0, "whether the base has been behind in this window"),
    }
    remembers = dict.fromkeys(("back", "tapped", "push", "turned", "taps", "number", "known", "last"), "f8")
    """Of this window: whether the base has been behind, whether a tap has counted, the push (N s), whether the animal's
    own controller has turned back; windows with a tap; number of the window; base angles at which the peg was felt."""
    reported = [*PegTask.reported, "taps"]

    def action_fields(self, mode=None):
        if (mode or self.actions) != "residual":
            return super().action_fields(mode)
        most, meaning = self.largest_evidence, "added to the fall of Fx at which the animal's own controller turns back"
        return {"evidence": ActionField(1, -most, most, "N", meaning)}

    def fields(self):
        meaning = "from the base to the least angle at which its own controller has felt the peg, at most 0.5"
        own = {
            "turned": Field(1, "1", 1.0, "whether the animal's own controller has turned back in this window"),
            "ahead": Field(1, "rad", 0.1, meaning),
        }
        return super().fields() | (own if self.actions == "residual" else {})

    def start(self, episodes):
        episodes.memory["back"], episodes.memory["known"], episodes.memory["last"] = 1.0, 1.0, np.inf
        return super().start(episodes)

    def own(self, added, row, memory):
        angle, axial = row.link_angle[0], self.felt(row, memory, 1)
        turns = axial - added < -self.threshold
        # What is known is the least angle at which it has turned back and then felt the peg.
        if axial < -self.threshold:
            memory.known = min(memory.known, memory.last)
        memory.last = angle if turns and memory.turned == 0.0 else math.inf
        memory.turned = max(memory.turned, turns)
        if memory.turned > 0.0:
            return self.towards(-4.0 if angle > -0.3 else 0.0, row, ACCELERATION)
        return self.towards(self.approach, row, 1000.0)

    def windows(self, row: Any) -> Any:
        """Count the windows that are over at the end of this period."""
        return math.floor((row.time + 0.5 / self.control_rate) / self.window)

    def sense(self, row, memory, observation):
        super().sense(row, memory, observation)
        observation.left[0] = self.window * (self.windows(row) + 1.0) - row.time
        if self.actions == "residual":
            observation.ahead[0] = min(memory.known - row.link_angle[0], 0.5)

    def grade(self, memory: Any) -> Any:
        """Grade of the present window."""
        return memory.tapped / (1.0 + memory.push / MICRO)

    def reward(self, row, memory):
        super().reward(row, memory)
        push, before, number = row.contact_sum[0], self.grade(memory), self.windows(row)
        memory.push += push
        if push > 0.0 and memory.back > 0.0 and memory.tapped == 0.0:
            memory.tapped = 1.0
            memory.taps += 1.0
        earned = (self.grade(memory) - before) / self.taps
        # What a window has earned stays; the next one begins with nothing but where the base is.
        if number > memory.number:
            memory.tapped = memory.push = memory.turned = memory.back = 0.0
        memory.number = number
        if row.link_angle[0] < self.behind:
            memory.back = 1.0
        return earned


class SmoothTask(WhiskerTask):
    """A task in which a smooth motion is possible, and effort has its price; peg or goal move in three sines."""

    duration = 2.0
    effort_price = 0.3
    """Price of a period in which command and muscle are as far apart as the largest command; chosen."""
    physiology = measures("whisker_chain", "SmoothTask", WhiskerTask.physiology)
    remembers = {"error": "f8", "swing": "3f8", "frequency": "3f8", "lag": "3f8"}
    """Sum of errors; amplitudes, frequencies (Hz) and first phases (rad) of three sines."""
    precision: tuple[float, float]
    """Error that counts as none, and by how much more the reward falls to a tenth."""
    informs = {"error": "f8"}

    @abstractmethod
    def distance(self, row: Any, memory: Any) -> Any:
        """Give the distance from the goal."""

    def reward(self, row: Any, memory: Any) -> Any:
        distance = self.distance(row, memory)
        memory.error += distance
        near = tolerance(distance, 0.0, self.precision[0], self.precision[1])
        return near - self.effort_price * memory.exertion

    def info(self, row, memory, info):
        super().info(row, memory, info)
        info.error = memory.error / self.periods(row)

    def sines(self, memory: Any, time: Any) -> Any:
        """Where the sines, whose sum began at 0, are at a time (s), in the unit of ``swing``."""
        place = 0.0
        for k in range(3):
            phase = 2 * math.pi * memory.frequency[k] * time
            place += memory.swing[k] * (math.sin(phase + memory.lag[k]) - math.sin(memory.lag[k]))
        return place


class Hold(SmoothTask):
    """Hold a contact moment against a peg that moves.

    ## Description

    The vibrissa of Quist et al. (2014). A point peg 0.5 to 0.6 lengths from the base, just ahead of the whisker,
    swings across it in three sines of 3 to 10 Hz, with 0.17 to 0.33 mm each. The rats are predicted to press in and to
    wait until the vibrations have died; here the pressure itself is to be kept, a moment of -1.5 to -0.5 uN m drawn for
    every episode. The animal's own controller turns the base at a rate in proportion to the error of M, and actions add
    to that rate by default; ``firm`` has almost twice the gain, and with half as much again some episodes chatter.

    ## Rewards

    1 within 0.01 uN m of the goal, falling to 0.1 at 0.09 uN m, less {effort_price:g} times the effort: the squared
    distance of command and muscle, over the largest command. ``info["error"]`` is the distance from the goal in N m,
    ``info["effort"]`` the effort, means over the episode so far.

    ## Starting State

    Straight and at rest, 0.05 rad short of the peg.
    """

    action_modes = ("residual", "trajectory", "whisk")
    gain, limit = 8e6, 1500.0
    """Rate (rad/s per N m) by which the animal's own controller answers an error of M, and its largest acceleration
    (rad/s^2)."""
    start_angle = -0.05
    precision = (0.01 * MICRO, 0.08 * MICRO)
    effort_price = 1.0
    observes = {"goal": Field(1, "N m", 1e-6, "moment to hold")}
    remembers = {"goal": "f8"}
    reported = ["time", "goal"]
    hidden = {"peg_place": Hidden(0.5, 0.6)}
    options = {
        "peg_place": Option(0.2, 0.9, "lengths", "distance of the peg from the base"),
        "goal": Option(-3e-6, 0.0, "N m", "moment to hold"),
    }

    def start(self, episodes):
        values = super().start(episodes)
        memory = episodes.memory
        memory["goal"] = episodes.options.get("goal", (-1.5 + episodes.draw(lambda rng: rng.uniform())) * MICRO)
        place = episodes.hidden("peg_place")
        samples = episodes.draw(lambda rng: rng.uniform(size=9))
        memory["swing"] = 1e-3 / 3 * (0.5 + 0.5 * samples[:, :3])
        memory["frequency"] = 3.0 + 7.0 * samples[:, 3:6]
        memory["lag"] = 2 * np.pi * samples[:, 6:]
        peg = np.stack([place * self.length(episodes), np.zeros(len(episodes))], 1)
        return values | {"peg": peg[:, None]}

    def command(self, row, memory, action, drive):
        # The peg swings on, whatever the whisker does.
        ahead = self.sines(memory, row.time + 1.0 / self.control_rate) - self.sines(memory, row.time)
        row.peg_velocity[1, 0] = ahead * self.control_rate
        super().command(row, memory, action, drive)

    def own(self, added, row, memory):
        error = self.felt(row, memory, 0) - memory.goal
        rate = limited(self.gain * error, 5.0)  # pressing on makes M more negative
        return self.towards(rate + added, row, self.limit)

    def distance(self, row, memory):
        return abs(self.wrench(row, 0) - memory.goal)


class Whisk(SmoothTask):
    """Follow a moving goal in free air with the tip.

    ## Description

    The vibrissa of Quist et al. (2014), without a peg. The tip's direction from the base is to follow a goal, a sum of
    three sines of 1 to 4, 4 to 7 and 7 to 10 Hz that are drawn for every episode, together as large as a whisk. The
    goal is seen in a noise of {blur:g} rad; who looks back can tell where it goes. The whisker resonates at 49 Hz.

    ## Rewards

    1 while the tip's direction is within 0.005 rad of the goal, falling to 0.1 at 0.055 rad, less {effort_price:g}
    times the effort: the squared distance of command and muscle, over the largest command. ``info["error"]`` is the
    distance from the goal in rad, ``info["effort"]`` the effort, means over the episode so far.

    ## Starting State

    Straight and at rest along x, where the goal begins.
    """

    start_angle = 0.0
    precision = (0.005, 0.05)
    observes = {"goal": Field(1, "rad", 0.5, "angle at which to be at the end of the next period, seen in noise")}
    blur = 0.001
    """Standard deviation of the noise in which the goal is seen, rad."""

    def start(self, episodes):
        values = super().start(episodes)
        samples = episodes.draw(lambda rng: rng.uniform(size=9))
        episodes.memory["swing"] = 0.35 / 6 * (1.0 + samples[:, :3])
        episodes.memory["frequency"] = 1.0 + 3.0 * (np.arange(3) + samples[:, 3:6])
        episodes.memory["lag"] = 2 * np.pi * samples[:, 6:]
        return values

    def sense(self, row, memory, observation):
        super().sense(row, memory, observation)
        noise = self.blur * normal_number(~memory.noise, row.step, 1, 0)
        observation.goal[0] = self.sines(memory, row.time + 1.0 / self.control_rate) + noise

    @property
    def directions(self) -> Floats:
        """Work space for the direction of each link, (2, n)."""
        return np.empty((2, self.animal.params.n_links))

    def distance(self, row, memory):
        along, across = self.directions[0], self.directions[1]
        for i in range(len(along)):
            along[i], across[i] = math.cos(row.link_angle[i]), math.sin(row.link_angle[i])
        return abs(math.atan2(total(across), total(along)) - self.sines(memory, row.time))
