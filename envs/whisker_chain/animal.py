"""Class `Whisker`, which starts, advances and reads rows of whiskers; walls, and motions of the base.

It selects the kernels of a scheme and computes signals from rows. The equations of motion are in ``body.py``; the
interface is `core.model.animal.Animal`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gymnosoma.moved import points

from ..core.arguments import choice, whole
from ..core.kernels.lanes import LANES, Stepper
from ..core.kinds import takes_objects
from ..core.model.animal import MAX_THREADS, InLanes, time_step
from ..core.model.quantities import Signal
from .body import BROKEN, COMPLEMENTARITY, LOCATED, PARAMETERS, UNSOLVED, state_dtype, work_dtype
from .params import PHYSICAL, WhiskerParams

_SCHEMES = {"complementarity": (COMPLEMENTARITY, LANES), "events": (LOCATED, 1)}

FAR = 1.0
"""Distance (m) of an unused peg from the base."""

HALVINGS = 4
"""Largest number of halvings of the time step before a row fails."""


@points
class Whisker(InLanes):
    """Rat whisker as a chain of rigid links (Quist et al., 2014).

    The drive is the angular acceleration of the base (rad/s^2, counter-clockwise) and its acceleration along world x
    and y (m/s^2); :func:`follow` computes it from a motion. At rest the whisker points along x from the origin.

    The wrench M, Fx, Fy is the moment and force of the whisker on the follicle, in the axes of link 1. All three are
    negative if the whisker turns counter-clockwise against a peg. The wrench and ``joint_force`` refer to the start of
    the last time step and jump at impacts; ``base_wrench_mean`` is the mean over the last ``advance``.

    Signals by name, each with a leading axis of rows:

    {signals}

    By default the whisker starts unbent and at rest. The start values are ``base`` (2,) m, ``base_velocity`` (2,) m/s,
    ``base_angle`` rad, ``base_rate`` rad/s, ``link_angle`` (n,) rad (headings), ``link_rate`` (n,) rad/s (by default
    that of the base), ``peg`` (pegs, 2) m, ``peg_radius`` (pegs,) m (0: a point) and ``peg_velocity`` (pegs, 2) m/s.

    Args:
        params: Physical parameters. If ``friction`` is positive, contacts have friction, and rows can change its
            coefficient.
        dt (s): Time step. With 1e-4 s, M is accurate to 0.02% and Fy to 1%.
        scheme ({"complementarity", "events"}): Contacts are closed at the end of each step, or collisions are located
            within the step and resolved with the paper's restitution.
        pegs: Number of pegs, each a point or a disc. Unused pegs are at the distance ``FAR``.
        threads: Number of threads for many rows. Results do not depend on it.

    Raises:
        ValueError: If ``scheme`` is unknown, ``dt``, ``pegs`` or ``threads`` is out of range, or ``restitution`` is
            positive without ``events``.
    """

    SIGNALS: Mapping[str, Signal] = {
        "time": Signal("()", "s"),
        "base": Signal("(2,)", "m", "position of the follicle"),
        "base_velocity": Signal("(2,)", "m/s"),
        "base_angle": Signal("()", "rad", "heading of link 1", lambda self, rows: rows["link_angle"][:, 0]),
        "base_rate": Signal("()", "rad/s"),
        "base_acceleration": Signal(
            "()",
            "rad/s^2",
            "driven angular acceleration in the last ``advance``",
            lambda self, rows: rows["drive"][:, 0],
        ),
        "link_angle": Signal("(n,)", "rad", "heading of each link, base to tip"),
        "link_rate": Signal("(n,)", "rad/s", "rate of each heading, mean over the last time step"),
        "joint_angle": Signal(
            "(n - 1,)", "rad", "heading of link i+1 minus link i", lambda self, rows: np.diff(rows["link_angle"])
        ),
        "joint_torque": Signal("(n - 1,)", "N m", "torque of link i+1 on link i, middle of the last time step"),
        "joint_force": Signal("(n - 1, 2)", "N", "force of link i+1 on link i, along world x and y"),
        "joint_power": Signal(
            "(n - 1,)",
            "W",
            "power of spring and damper on the links",
            lambda self, rows: -self.joint_torque(rows) * np.diff(rows["link_rate"]),
        ),
        "node": Signal("(n + 1, 2)", "m", "positions of base, joints and tip", "nodes"),
        "base_wrench": Signal("(3,)", "N m, N, N", "M, Fx, Fy on the follicle", "wrench"),
        "base_wrench_mean": Signal(
            "(3,)", "N m, N, N", "mean of M, Fx, Fy over the last ``advance``", lambda self, rows: wrench_mean(rows)
        ),
        "peg": Signal("(pegs, 2)", "m", "centre of each peg", lambda self, rows: rows["peg"].swapaxes(1, 2)),
        "gap": Signal("(pegs,)", "m", "distance of each peg from the whisker; inf beyond the tip"),
        "contact_force": Signal(
            "(pegs, 2)",
            "N",
            "normal and tangential force on the whisker",
            lambda self, rows: rows["contact_force"].swapaxes(1, 2),
        ),
        "contact_place": Signal("(pegs,)", "1", "arc length of the contact, relative to the length of the whisker"),
        "contact_force_mean": Signal(
            "(pegs,)",
            "N",
            "mean normal force over the last ``advance``",
            lambda self, rows: rows["contact_sum"] / np.maximum(rows["span"], 1e-300)[:, None],
        ),
        "base_moment_mean": Signal(
            "()", "N m", "M of ``base_wrench_mean``", lambda self, rows: wrench_mean(rows)[:, 0]
        ),
        "collision_energy": Signal("()", "J", 'energy lost in collisions with ``scheme="events"``'),
        "energy": Signal("()", "J", "kinetic and elastic energy, see :meth:`energy`"),
    }

    drive_size = 3
    drive_names = ("base_acceleration", "acceleration_x", "acceleration_y")
    randomized_parameters = ("length", "mass", "stiffness", "damping")
    solvers: Mapping[str, tuple[str, ...]] = {"scheme": tuple(_SCHEMES)}
    argument_types: Mapping[str, type] = {"params": WhiskerParams}
    failures: Mapping[float, str] = {
        UNSOLVED: "the equations of a step were not solved",
        BROKEN: "the state is not finite",
    }

    @takes_objects
    def __init__(
        self,
        params: WhiskerParams | None = None,
        dt: float = 1e-4,
        scheme: str = "complementarity",
        pegs: int = 1,
        threads: int = 1,
    ) -> None:
        choice("scheme", scheme, _SCHEMES)
        whole("pegs", pegs, maximum=100)
        whole("threads", threads, maximum=MAX_THREADS)
        self.params = p = WhiskerParams() if params is None else params
        self.dt, self.scheme, self.pegs = time_step(dt, 1e-4), scheme, pegs
        if p.restitution and scheme != "events":
            raise ValueError(f"restitution needs scheme='events', got {p.restitution!r} with scheme={scheme!r}")
        effective = {"friction": p.friction > 0, "restitution": scheme == "events"}
        self.parameters = {name: PHYSICAL[name] for name in PARAMETERS if effective.get(name, True)}
        self.parameters["rest_angle"] = replace(PHYSICAL["rest_angle"], shape=(p.n_links - 1,))
        mass, stiffness, damping = map(np.array, (p.link_mass, p.joint_stiffness, p.joint_damping))
        self._defaults = {
            "length": p.length,
            "mass": mass.sum(),
            "stiffness": stiffness[1],
            "damping": damping[1],
            "friction": p.friction,
            "restitution": p.restitution,
            "stop_at_contact": p.stop_at_contact,
            "rest_angle": p.rest_angle,
        }
        centre = np.array(p.link_centroid) * p.n_links / p.length
        self.profile = np.array(
            [mass / mass.sum(), centre, stiffness / stiffness[1], damping / (damping[1] if damping[1] > 0 else 1.0)]
        )
        arms = np.tri(p.n_links, k=-1) + np.diag(centre)  # arm of mass l (first axis) about joint i, in links
        self._inertia = np.sum(self.profile[0, :, None, None] * arms[:, :, None] * arms[:, None, :], 0)
        self._moment = np.sum(self.profile[0, :, None] * arms, 0)
        self.state = state_dtype(p.n_links, pegs)
        self.indices = {"contact_link": range(p.n_links), "peg_side": range(-1, 2), "stopped": range(2)}
        kernels, lanes = _SCHEMES[scheme]
        work = work_dtype(p.n_links, pegs, 2 if p.friction > 0 else 1)
        self._stepper = Stepper(
            self.state, work, kernels, threads, lanes, constant=(*PARAMETERS, "rest_angle"), driven=("drive",)
        )

    def rows(self, count: int) -> NDArray[Any]:
        """Return ``count`` rows of state: unbent along x from the origin, at rest, with pegs out of reach."""
        rows = np.zeros(count, self.state)
        for name, value in self._defaults.items():
            rows[name] = value
        rows["link_angle"][:, 1:] = np.cumsum(rows["rest_angle"], 1)
        rows["peg"][:, 0] = FAR
        rows["peg_side"] = 1.0
        return rows

    def start_shapes(self) -> dict[str, tuple[int, ...]]:  # noqa: D102
        n = self.params.n_links
        base = {"base": (2,), "base_velocity": (2,), "base_angle": (), "base_rate": ()}
        pegs = {"peg": (self.pegs, 2), "peg_radius": (self.pegs,), "peg_velocity": (self.pegs, 2)}
        return {**base, "link_angle": (n,), "link_rate": (n,), **pegs}

    def start(self, fresh: NDArray[Any], values: Mapping[str, NDArray[np.float64]]) -> None:  # noqa: D102
        if "base_angle" in values and "link_angle" in values:
            raise ValueError("start: base_angle is the first link_angle; give one of them")
        if "base_rate" in values and "link_rate" in values:
            raise ValueError("start: base_rate is the first link_rate; give one of them")
        if (values.get("peg_radius", np.zeros(1)) < 0).any():
            raise ValueError(f"start: peg_radius must be at least 0, got {values['peg_radius']!r}")
        for name in ("base", "base_velocity", "peg_radius", *self.parameters):
            if name in values:
                fresh[name] = values[name]
        for name in ("peg", "peg_velocity"):
            if name in values:
                fresh[name] = values[name].swapaxes(1, 2)
        fresh["link_angle"][:, 0] = values.get("base_angle", 0.0)
        fresh["link_angle"][:, 1:] = fresh["link_angle"][:, :1] + np.cumsum(fresh["rest_angle"], 1)
        if "base_rate" in values:
            fresh["link_rate"] = values["base_rate"][:, None]
        for name in ("link_angle", "link_rate"):
            if name in values:
                fresh[name] = values[name]
        fresh["base_rate"] = fresh["link_rate"][:, 0]
        fresh["link_rate_before"] = fresh["link_rate"]
        fresh["base_velocity_mean"] = fresh["base_velocity_before"] = fresh["base_velocity"]
        fresh["peg_side"] = np.where(self.at_pegs(fresh)[1] >= 0.0, 1.0, -1.0)
        if (self.gap(fresh) < 0.0).any():
            raise ValueError(f"start: peg must not overlap the whisker, got a gap of {self.gap(fresh).min():g} m")
        inertia, moment = self.matrices(fresh)
        speed = fresh["link_rate"]
        fresh["momentum"] = np.sum(inertia * speed[:, None, :], 2) + np.sum(moment * fresh["base_velocity"][:, None], 2)
        fresh["linear_momentum"] = (
            np.sum(moment * speed[:, :, None], 1) + fresh["mass"][:, None] * fresh["base_velocity"]
        )

    def _arguments(self) -> tuple[Any, ...]:
        return self.dt, self.profile

    def advance(self, rows: NDArray[Any], ids: NDArray[np.int64], drive: NDArray[np.float64], steps: int) -> None:
        """Advance ``rows[ids]`` by ``steps`` time steps with a constant drive (A, 3).

        A row with an unsolved step repeats the call with half the time step, at most `HALVINGS` times. A row that
        still fails keeps its last valid state and gets a ``status`` listed in ``failures``.
        """
        super().advance(rows, ids, drive, steps)
        for halving in range(1, HALVINGS + 1):
            failed = ids[rows["status"][ids] != 0.0]
            if not failed.size:
                break
            rows["status"][failed] = 0.0
            self._stepper.advance(rows, failed, steps * 2**halving, self.dt / 2**halving, self.profile)

    def nodes(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the positions of base, joints and tip, (B, n + 1, 2) m."""
        angle = rows["link_angle"]
        link = (rows["length"] / self.params.n_links)[:, None, None]
        nodes = np.zeros((len(rows), self.params.n_links + 1, 2))
        nodes[:, 1:] = np.cumsum(link * np.stack([np.cos(angle), np.sin(angle)], 2), 1)
        return nodes + rows["base"][:, None]

    def at_pegs(self, rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return each peg's place along and across its nearest link (m), its distance (m), and the link, (B, pegs)."""
        link = (rows["length"] / self.params.n_links)[:, None, None]
        angle = rows["link_angle"][:, None, 1:]
        s, c = np.sin(angle), np.cos(angle)
        away = rows["peg"].swapaxes(1, 2)[:, :, None] - self.nodes(rows)[:, None, 1:-1]
        along = away[..., 0] * c + away[..., 1] * s
        across = away[..., 1] * c - away[..., 0] * s
        distance = np.hypot(along - np.clip(along, 0.0, link), across)
        nearest = np.argmin(distance, 2)
        along, across, distance = (
            np.take_along_axis(a, nearest[..., None], 2)[..., 0] for a in (along, across, distance)
        )
        return along, across, distance, nearest + 1

    def gap(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the distance between whisker and pegs (B, pegs) m; inf for a point beyond the tip or in link 1."""
        along, across, distance, link = self.at_pegs(rows)
        length, last = (rows["length"] / self.params.n_links)[:, None], self.params.n_links - 1
        free = ((link == last) & (along > length)) | ((link == 1) & (along < 0.0))
        point, here = rows["peg_radius"] == 0.0, rows["peg_side"] * across
        disc = np.where(free | (here >= 0.0), distance, -distance) - rows["peg_radius"]
        return np.where(point, np.where(free, np.inf, here), disc)

    def contact_place(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the arc length of each contact relative to the whisker's (B, pegs), NaN without contact."""
        place = rows["contact_link"] + rows["contact_place"] * (self.params.n_links / rows["length"])[:, None]
        return np.where(rows["touch"] > 0.0, place / self.params.n_links, np.nan)

    def matrices(self, rows: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the inertia of the headings (B, n, n) kg m^2, and their coupling to the base (B, n, 2) kg m."""
        angle = rows["link_angle"]
        link = rows["length"] / self.params.n_links
        swing = np.cos(angle[:, :, None] - angle[:, None, :])
        first = (rows["mass"] * link)[:, None, None] * self._moment[:, None]
        moment = first * np.stack([-np.sin(angle), np.cos(angle)], 2)
        return (rows["mass"] * link**2)[:, None, None] * self._inertia * swing, moment

    def speeds(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the current rates of the links (B, n) rad/s: the driven one of link 1, and M v = p for the rest."""
        inertia, moment = self.matrices(rows)
        driven = inertia[:, :, 0] * rows["base_rate"][:, None] + np.sum(moment * rows["base_velocity"][:, None], 2)
        rates = np.empty_like(rows["link_angle"])
        rates[:, 0] = rows["base_rate"]
        rates[:, 1:] = np.linalg.solve(inertia[:, 1:, 1:], (rows["momentum"] - driven)[:, 1:, None])[..., 0]
        return rates

    def energy(self, rows: NDArray[Any], rates: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Return the kinetic and elastic energy, (B,) J.

        The midpoint rule does not damp motions that are much faster than a step. If a peg shakes the stiff joints near
        the base, the momenta alternate from step to step, and so do the rates computed from them. With a peg at 10% of
        the length, the energy is then 40% too high at the default time step (2% at 20 us). The mean rates over a step
        (``link_rate``) do not alternate: pass them if you add up energies.

        Args:
            rows ((B,) records)
            rates ((B, n) array, rad/s): Rates of the links; by default `speeds`.
        """
        inertia, moment = self.matrices(rows)
        rates, base = self.speeds(rows) if rates is None else rates, rows["base_velocity"]
        kinetic = 0.5 * np.sum(inertia * rates[:, :, None] * rates[:, None, :], (1, 2))
        kinetic += np.sum(moment * rates[:, :, None] * base[:, None], (1, 2)) + 0.5 * rows["mass"] * np.sum(base**2, 1)
        bend = np.diff(rows["link_angle"]) - rows["rest_angle"]
        return kinetic + 0.5 * rows["stiffness"] * np.sum(self.profile[2, 1:] * bend**2, 1)

    def joint_torque(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the torque of springs and dampers, (B, n - 1) N m."""
        rate = np.diff(rows["link_rate"])
        bend = np.diff(rows["link_angle"]) - 0.5 * rows["step_length"][:, None] * rate - rows["rest_angle"]
        stiffness, damping = (
            rows[name][:, None] * self.profile[i, 1:] for i, name in ((2, "stiffness"), (3, "damping"))
        )
        return stiffness * bend + damping * rate

    def joint_force(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the force of each link on the one before it, (B, n - 1, 2) N."""
        # Contact force minus mass times acceleration, summed over the masses beyond the joint. The acceleration is the
        # change of their mean velocity.
        dt, link = rows["step_length"][:, None], (rows["length"] / self.params.n_links)[:, None]
        turn, before = dt * rows["link_rate"], dt * rows["link_rate_before"]
        start = rows["link_angle"] - turn
        change = np.zeros((*turn.shape, 2))
        for angle, rate, base, sign in (
            (start + 0.5 * turn, rows["link_rate"], rows["base_velocity_mean"], 1.0),
            (start - 0.5 * before, rows["link_rate_before"], rows["base_velocity_before"], -1.0),
        ):
            along = (link * rate)[..., None] * np.stack([-np.sin(angle), np.cos(angle)], 2)
            ends = base[:, None] + np.cumsum(along, 1) - along
            change += sign * (ends + self.profile[1, :, None] * along)
        load = -(rows["mass"][:, None] * self.profile[0])[..., None] * change / np.maximum(dt, 1e-300)[..., None]
        for o in range(self.pegs):
            push, drag = (force[:, None] for force in rows["contact_force"][:, :, o].T)
            normal = self._normal(rows, o, start)
            force = push * normal + drag * np.stack([-normal[:, 1], normal[:, 0]], 1)
            load[np.arange(len(rows)), rows["contact_link"][:, o].astype(int)] += force
        return np.cumsum(load[:, ::-1], 1)[:, -2::-1]

    def _normal(self, rows: NDArray[Any], o: int, angle: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the direction (B, 2) of the push of peg ``o`` for the headings ``angle`` at the last step's start."""
        each, dt = np.arange(len(rows)), rows["step_length"][:, None]
        link = rows["contact_link"][:, o].astype(int)
        tangent = np.stack([np.cos(angle), np.sin(angle)], 2)
        across = rows["peg_side"][:, o, None] * np.stack([tangent[each, link, 1], -tangent[each, link, 0]], 1)
        base = rows["base"] - dt * rows["base_velocity_mean"]
        inner = (rows["length"] / self.params.n_links)[:, None] * (np.cumsum(tangent, 1) - tangent)[each, link]
        away = base + inner + rows["contact_place"][:, o, None] * tangent[each, link]
        away -= rows["peg"][:, :, o] - dt * rows["peg_velocity"][:, :, o]
        disc = away / np.maximum(np.hypot(*away.T), 1e-300)[:, None]
        return np.where(rows["peg_radius"][:, o, None] > 0.0, disc, across)


def wrench_mean(rows: NDArray[Any]) -> NDArray[np.float64]:
    """Return the mean of M (N m), Fx and Fy (N) over the last ``advance``, (B, 3)."""
    return rows["wrench_sum"] / np.maximum(rows["span"], 1e-300)[:, None]


def wall(point: ArrayLike, direction: ArrayLike, pegs: int = 2) -> dict[str, NDArray[np.float64]]:
    """Return start values that turn ``pegs`` pegs into a wall.

    The pegs are discs with a radius of 10 km, which are flat to 0.1 um. Each disc stops one place of the whisker at a
    time. If a whisker sweeps over the wall with its last links lying flat, it penetrates by up to 0.04 mm with two pegs
    and 0.16 mm with one. If it is pressed on the wall along half of its length, it penetrates by up to 0.2 mm.

    Args:
        point ((2,) array, m): Point of the wall.
        direction ((2,) array): Normal of the wall, towards the whisker.
        pegs: Number of pegs of the animal.
    """
    radius = 1e4
    out = np.asarray(direction, float) / np.linalg.norm(direction)
    centre = np.asarray(point, float) - radius * out
    return {"peg": np.tile(centre, (pegs, 1)), "peg_radius": np.full(pegs, radius)}


def follow(
    hold: float,
    angle: Callable[[float], ArrayLike],
    x: Callable[[float], ArrayLike] | None = None,
    y: Callable[[float], ArrayLike] | None = None,
) -> tuple[Callable[[float], NDArray[np.float64]], dict[str, Any]]:
    """Return the drive and the start values with which the base follows a motion.

    Args:
        hold (s): Time for which ``simulate`` holds a drive constant; by default its time step.
        angle, x, y (functions of time): Angle (rad) and position (m) of the base with continuous slopes, also defined
            shortly before time 0. Each returns a number, or one per row (B,).

    Returns:
        drive, start: For :func:`gymnosoma.envs.simulate`.
    """
    parts = [part or (lambda t: 0.0) for part in (angle, x, y)]

    def slope(t: float) -> NDArray[np.float64]:
        d = 0.1 * hold
        return np.stack(np.broadcast_arrays(*[(np.asarray(part(t + d)) - part(t - d)) / (2 * d) for part in parts]), -1)

    def drive(t: float) -> NDArray[np.float64]:
        return (slope(t + 0.5 * hold) - slope(t - 0.5 * hold)) / hold

    rate = slope(0.0)
    start = {
        "base_angle": angle(0.0),
        "base_rate": rate[..., 0],
        "base": np.stack(np.broadcast_arrays(parts[1](0.0), parts[2](0.0)), -1),
        "base_velocity": rate[..., 1:],
    }
    return drive, start
