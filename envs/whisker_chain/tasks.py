"""Tasks of the vibrissa: localise, detect, tap, hold a contact, whisk to a set point."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ..core.env.spec import ActionField, Ending, Field, Hidden, Score
from ..core.env.task import Rows, measures, tolerances
from ..core.kernels.noise import normal
from ..core.model.control import Floats
from ..core.model.quantities import Option
from .animal import FAR, wrench_mean
from .reflexes import Holding, Tapping, towards
from .task import MICRO, SENSOR, WhiskerTask

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

    def reward(self, rows: Rows, memory: Rows) -> Floats:
        """Charge the push, and keep the time of the first touch and the sum of pushes."""
        push = rows["contact_sum"][:, 0]
        memory["pushed"] += push
        memory["touched"] = np.where((push > 0.0) & np.isinf(memory["touched"]), rows["time"], memory["touched"])
        return -self.push_cost * push / MICRO

    def info(self, rows, memory):
        return super().info(rows, memory) | {"touched": np.isfinite(memory["touched"]).astype(float)}


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

    def sense(self, rows, memory):
        return super().sense(rows, memory) | {"held": memory["held"] / self.control_rate}

    @abstractmethod
    def right(self, memory: Rows) -> NDArray[np.bool_]:
        """Whether the present answer is right (B,)."""

    @abstractmethod
    def worth(self, rows: Rows, memory: Rows) -> Floats:
        """What the present answer is worth, if it is final (B,)."""

    def reward(self, rows, memory):
        paid = super().reward(rows, memory) - self.effort_price * memory["exertion"]
        force = rows["contact_sum"][:, 0] * self.control_rate
        paid -= self.hurt_price * np.maximum(force / self.gentle - 1.0, 0.0)
        silent = np.isinf(memory["committed"])
        memory["held"] = np.where(self.answer(memory, "commit") > 0.0, memory["held"] + 1.0, 0.0)
        commits = silent & (memory["held"] >= max(round(self.commitment * self.control_rate), 1))
        memory["committed"] = np.where(commits, rows["time"], memory["committed"])
        over = np.abs(rows["time"] - self.duration) < 0.5 / self.control_rate
        last = np.where(silent & over, self.silence, 0.0)
        return paid + np.where(commits, self.worth(rows, memory), last)

    def ending(self, rows, memory):
        return np.where(np.isfinite(memory["committed"]), np.where(self.right(memory), RIGHT, WRONG), 0.0)

    def info(self, rows, memory):
        success = np.isfinite(memory["committed"]) & self.right(memory)
        return super().info(rows, memory) | {"is_success": success}

    def _haste(self, rows: Rows) -> Floats:
        return np.maximum(1.0 - rows["time"] / self.duration, 0.0)


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

    def _errors(self, memory: Rows) -> tuple[Floats, Floats]:
        place, bearing = self.answer(memory, "place"), self.answer(memory, "bearing")
        truth = memory["peg_place"]
        off = place**2 + truth**2 - 2 * place * truth * np.cos(bearing - memory["peg_bearing"])
        return np.sqrt(np.maximum(off, 0.0)), np.abs(place - truth)

    def right(self, memory):
        return self._errors(memory)[0] <= self.near

    def worth(self, rows, memory):
        return tolerances(self._errors(memory)[0], 0.0, 0.01, 0.1) * self._haste(rows)

    def info(self, rows, memory):
        error, place_error = self._errors(memory)
        return super().info(rows, memory) | {"error": error, "place_error": place_error}


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

    def _said(self, memory: Rows) -> NDArray[np.bool_]:
        return self.answer(memory, "verdict") > 0.0

    def right(self, memory):
        return self._said(memory) == (memory["present"] > 0.5)

    def worth(self, rows, memory):
        return np.where(self.right(memory), self._haste(rows), -1.0)

    def info(self, rows, memory):
        decision, said, there = np.isfinite(memory["committed"]), self._said(memory), memory["present"] > 0.5
        hit, felt = decision & said & there, memory["touched"] < memory["committed"]
        delay = np.where(hit & felt, memory["committed"], np.inf) - np.where(hit & felt, memory["touched"], 0.0)
        return super().info(rows, memory) | {
            "peg_present": there.astype(float),
            "hit": hit.astype(float),
            "false_alarm": (decision & said & ~there).astype(float),
            "delay": delay,
        }


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
    reflex = Tapping()
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

    def own(self, added, rows, memory):
        angle, advances = rows["link_angle"][:, 0], memory["turned"] == 0.0
        felt = self.felt(rows, memory)
        feels, turns = self.reflex.feels(felt), self.reflex.feels(felt, added)
        memory["known"], memory["last"] = self.reflex.learns(
            feels, advances & turns, angle, memory["known"], memory["last"]
        )
        memory["turned"] = np.maximum(memory["turned"], turns)
        return self.reflex.turns(rows["base_rate"], angle, memory["turned"] > 0.0, self.control_rate)

    def _number(self, rows: Rows) -> Floats:
        """Windows (B,) that are over at the end of this period."""
        return np.floor((rows["time"] + 0.5 / self.control_rate) / self.window)

    def sense(self, rows, memory):
        remaining = self.window * (self._number(rows) + 1.0) - rows["time"]
        ahead = np.minimum(memory["known"] - rows["link_angle"][:, 0], 0.5)
        return super().sense(rows, memory) | {"left": remaining, "ahead": ahead}

    def _grade(self, memory: Rows) -> Floats:
        return memory["tapped"] / (1.0 + memory["push"] / MICRO)

    def reward(self, rows, memory):
        super().reward(rows, memory)
        push, before = rows["contact_sum"][:, 0], self._grade(memory)
        taps = (push > 0.0) & (memory["back"] > 0.0) & (memory["tapped"] == 0.0)
        memory["push"] += push
        memory["taps"] += taps
        memory["tapped"] = np.maximum(memory["tapped"], taps)
        earned = (self._grade(memory) - before) / self.taps
        # What a window has earned stays; the next one begins with nothing but where the base is.
        number, behind = self._number(rows), rows["link_angle"][:, 0] < self.behind
        new = number > memory["number"]
        memory["number"] = number
        for name in ("tapped", "push", "turned"):
            memory[name] = np.where(new, 0.0, memory[name])
        memory["back"] = np.where(new, behind, np.maximum(memory["back"], behind))
        return earned


class SmoothTask(WhiskerTask):
    """A task in which a smooth motion is possible, and effort has its price; it keeps the sum of errors."""

    duration = 2.0
    effort_price = 0.3
    """Price of a period in which command and muscle are as far apart as the largest command; chosen."""
    physiology = measures("whisker_chain", "SmoothTask", WhiskerTask.physiology)
    remembers = {"error": "f8"}
    precision: tuple[float, float]
    """Error that counts as none, and by how much more the reward falls to a tenth."""

    @abstractmethod
    def _error(self, rows: Rows, memory: Rows) -> Floats:
        """Distance (B,) from the goal."""

    def reward(self, rows: Rows, memory: Rows) -> Floats:
        error, (near, margin) = self._error(rows, memory), self.precision
        memory["error"] += error
        return tolerances(error, 0.0, near, margin) - self.effort_price * memory["exertion"]

    def info(self, rows, memory):
        return super().info(rows, memory) | {"error": memory["error"] / self._periods(rows)}


def swinging(memory: Rows, time: Floats | float) -> Floats:
    """Where three sines that began at 0 are at ``time``, (B,) in the unit of ``swing``."""
    phase = 2 * np.pi * memory["frequency"] * np.asarray(time)[..., None]
    return np.sum(memory["swing"] * (np.sin(phase + memory["lag"]) - np.sin(memory["lag"])), 1)


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
    reflex = Holding()
    start_angle = -0.05
    precision = (0.01 * MICRO, 0.08 * MICRO)
    effort_price = 1.0
    observes = {"goal": Field(1, "N m", 1e-6, "moment to hold")}
    remembers = {"goal": "f8", "swing": "3f8", "frequency": "3f8", "lag": "3f8"}
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
        peg = np.stack([place * self.length(episodes), swinging(memory, 0.0)], 1)
        return values | {"peg": peg[:, None]}

    def command(self, actions, rows, memory):
        # The peg swings on, whatever the whisker does.
        now = rows["time"]
        ahead = swinging(memory, now + 1.0 / self.control_rate) - swinging(memory, now)
        rows["peg_velocity"][:, 1, 0] = ahead * self.control_rate
        return super().command(actions, rows, memory)

    def own(self, added, rows, memory):
        error = self.felt(rows, memory)[:, 0] - memory["goal"]
        rate, _ = self.reflex.rate(error, 0.0, self.control_rate)
        return towards(rate + added, rows["base_rate"], self.control_rate, self.reflex.limit)

    def _error(self, rows: Rows, memory: Rows) -> Floats:
        return np.abs(wrench_mean(rows)[:, 0] - memory["goal"])


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
    remembers = dict.fromkeys(("swing", "frequency", "lag"), "3f8")

    def start(self, episodes):
        values = super().start(episodes)
        samples = episodes.draw(lambda rng: rng.uniform(size=9))
        episodes.memory["swing"] = 0.35 / 6 * (1.0 + samples[:, :3])
        episodes.memory["frequency"] = 1.0 + 3.0 * (np.arange(3) + samples[:, 3:6])
        episodes.memory["lag"] = 2 * np.pi * samples[:, 6:]
        return values

    def sense(self, rows, memory):
        goal = swinging(memory, rows["time"] + 1.0 / self.control_rate)
        return super().sense(rows, memory) | {
            "goal": goal + self.blur * normal(~memory["noise"], rows["step"], 1)[:, 0],
        }

    def goal(self, rows: Rows, memory: Rows) -> Floats:
        """Where the tip's direction is to be now, (B,) rad."""
        return swinging(memory, rows["time"])

    def _error(self, rows: Rows, memory: Rows) -> Floats:
        angle = rows["link_angle"]
        tip = np.arctan2(np.sum(np.sin(angle), 1), np.sum(np.cos(angle), 1))
        return np.abs(tip - self.goal(rows, memory))
