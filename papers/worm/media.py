"""Supplements of Fig. 5, and Appendix 1, Figs. 3 to 6, of the worm's paper: recorded turns at different friction."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gymnosoma.envs.worm import Worm, medium
from gymnosoma.envs.worm.kymogram import FRAME_RATE

from ..paper import Sheet
from .analysis import distance, force_map, path_length, tracking_error, turning
from .drawing import DELTA, MM, OMEGA, OURS, PAPER, PN, Array, Recording, body, head, heat_map, joints, tracks
from .playback import play
from .turns import HEAT

SIGMAS = np.arange(11) / 10
ETAS = 10.0 ** -np.arange(10)

SCHEMES = {"published": "the paper's scheme", "midpoint": "ours"}


@cache
def _play(recording: Recording, over: str, scheme: str, dt: float, media: tuple[int, int]) -> dict[str, Array]:
    """Play a recorded turn in a range of media, and return tracks, friction and the paper's measures."""
    chosen = slice(*media)
    friction = medium(SIGMAS[chosen]) if over == "sigma" else medium(1.0, ETAS[chosen])
    start = friction | {"heading": recording.heading}
    run = play(Worm(dt=dt, scheme=scheme), recording.angles, start, len(friction["friction_parallel"]))
    return {
        "points": joints(run["rod_angle"], run["centre"]).swapaxes(0, 1),
        "friction": force_map(run["rod_angle"], run["rod_centre"], friction).magnitude.swapaxes(0, 1),
        "error": tracking_error(run["joint_angle"], recording.angles),
        "distance": MM * distance(run["centre_velocity"]),
        "length": MM * path_length(run["centre"]),
        "turning": turning(run["rod_angle"]),
    }


def _runs(sheet: Sheet, recording: Recording, over: str) -> dict[str, dict[str, Array]]:
    """Play a recorded turn in all media by both schemes; for eta <= 1e-6, the paper's scheme uses steps of 1e-6 s."""
    jobs = [("midpoint", 0.1 / FRAME_RATE, (0, 11)), ("published", 1e-5, (0, 11 if over == "sigma" else 6))]
    if over == "eta":
        jobs += [("published", 1e-6, (k, k + 1)) for k in range(6, len(ETAS))]
    parts: dict[str, list[dict[str, Array]]] = {scheme: [] for scheme in SCHEMES}
    for scheme, dt, media in sheet.progress(jobs, f"{recording.kymogram} over {over}"):
        parts[scheme].append(_play(recording, over, scheme, dt, media))
    return {
        scheme: {name: np.concatenate([part[name] for part in own]) for name in own[0]} for scheme, own in parts.items()
    }


def _tracks(figure: Figure, sheet: Sheet, run: dict[str, Array], over: str, names: list[str]) -> None:
    """Draw panel A: tracks of head and tail in each medium."""
    values = SIGMAS if over == "sigma" else ETAS
    order = range(len(values))[::-1] if over == "sigma" else range(len(values))
    axes = figure.subplots(3, 4)
    for ax, k in zip(axes.flat, order, strict=False):
        points = run["points"][k]
        tracks(ax, points)
        for frame, shade in ((0, 0.35), (len(points) - 1, 1.0)):
            body(ax, points[frame], alpha=shade)
            head(ax, points[frame], 3.5)
        ax.set_aspect("equal", adjustable="datalim")
        ax.set_title(names[k], fontsize=10)
        ax.tick_params(labelsize=8)
    for ax in axes.flat[len(values) :]:
        ax.set_axis_off()
    axes.flat[len(values)].legend(
        *(entries[:3] for entries in axes.flat[0].get_legend_handles_labels()), loc="center left"
    )
    figure.supxlabel("x (mm)", fontsize=10)
    figure.supylabel("y (mm)", fontsize=10)
    time = np.arange(run["points"].shape[1]) / FRAME_RATE
    ends = {
        f"{end}_{axis}_mm": MM * run["points"][:, :, k, a]
        for end, k in (("head", 0), ("tail", -1))
        for a, axis in enumerate("xy")
    }
    sheet.table("A", **{over: values[:, None], "time_s": time}, **ends)


def _curves(figure: Figure, sheet: Sheet, runs: dict[str, dict[str, Array]], over: str) -> dict[str, Axes]:
    """Draw panel B: the measures over the media, by both schemes."""
    values = SIGMAS if over == "sigma" else ETAS
    axes = dict(zip(("error", "distance", "turning"), figure.subplots(3, 1, sharex=True), strict=True))
    labels = {"error": "$E_\\theta$ (rad)", "distance": "distance (mm)", "turning": "turning S (rad)"}
    for name, ax in axes.items():
        ax.plot(values, runs["published"][name], "ko-", ms=5, label=SCHEMES["published"])
        ax.plot(values, runs["midpoint"][name], "s--", color=OURS, mfc="none", ms=6, label=SCHEMES["midpoint"])
        ax.set_ylabel(labels[name])
    axes["distance"].plot(values, runs["published"]["length"], ":", color="k", lw=1, label="length of the path")
    axes["turning"].set_xlabel("medium index $\\sigma$" if over == "sigma" else "factor on friction $\\eta$")
    if over == "eta":
        axes["turning"].set_xscale("log")
        axes["turning"].invert_xaxis()
    columns = {
        f"{what}_{scheme}": runs[scheme][name]
        for scheme in SCHEMES
        for name, what in (
            ("error", "error_rad"),
            ("distance", "distance_mm"),
            ("length", "path_length_mm"),
            ("turning", "turning_rad"),
        )
    }
    sheet.table("B", **{over: values}, **columns)
    return axes


def _frame(title: str) -> tuple[Figure, Figure, Figure]:
    figure = Figure(figsize=(17, 9.5), layout="constrained")
    left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=[1.9, 1], wspace=0.02).ravel()
    figure.suptitle(f"{title}; tracks by the paper's scheme")
    return figure, left, right


def _over_sigma(recording: Recording, sheet: Sheet) -> Figure:
    runs = _runs(sheet, recording, "sigma")
    figure, left, right = _frame(f"{recording.title} from agar to water")
    _tracks(left, sheet, runs["published"], "sigma", [f"$\\sigma$ = {sigma:.1f}" for sigma in SIGMAS])
    axes = _curves(right, sheet, runs, "sigma")
    error, way, turned = (runs["published"][name] for name in ("error", "distance", "turning"))
    converged = runs["midpoint"]
    k = int(way.argmax())
    best, path = (SIGMAS[values.argmax()] for values in (converged["distance"], runs["published"]["length"]))
    sheet.found(error_rise=np.diff(error).min(), longest=SIGMAS[k], longest_converged=best, longest_path=path)
    sheet.found(longest_distance=way[k], next_distance=np.delete(way, k).max())
    longest = sheet.printed("longest")
    axes["distance"].axvline(longest, color=PAPER, ls="--", lw=1, label=f"paper: longest at {longest}")
    if recording is OMEGA:
        sheet.found(
            turning_rise=-np.diff(turned[1:]).max(),
            turning_top=SIGMAS[1 + turned[1:].argmax()],
            turning_range=float(np.ptp(turned[:8])),
            turning_range_converged=np.ptp(converged["turning"][:8]),
            distance_fall=np.diff(way[:8]).min(),
        )
        middle = 0.5 * (turned[:8].min() + turned[:8].max())
        axes["turning"].fill_between([0, 0.7], middle - 0.165, middle + 0.165, color="0.85", label="paper: 0.33 rad")
    else:
        sheet.found(turning_rise=-np.diff(turned[6:]).max(), turning_fall=np.diff(turned[:7]).min())
        sheet.found(distance_fall=np.diff(way[:10]).min())
        axes["turning"].axvline(0.6, color=PAPER, ls="--", lw=1, label="paper: highest at 0.6")
    for ax in axes.values():
        ax.legend(fontsize=9)
    return figure


def _over_eta(recording: Recording, sheet: Sheet) -> Figure:
    runs = _runs(sheet, recording, "eta")
    figure, left, right = _frame(f"{recording.title} with the friction of agar times $\\eta$")
    names = ["$\\eta$ = 1"] + [f"$\\eta = 10^{{-{k}}}$" for k in range(1, len(ETAS))]
    _tracks(left, sheet, runs["published"], "eta", names)
    axes = _curves(right, sheet, runs, "eta")
    error, way, turned = (runs["published"][name] for name in ("error", "distance", "turning"))
    axes["turning"].set_yscale("log")
    bound = sheet.printed("least_error")
    axes["error"].axhline(bound, color=PAPER, ls="--", lw=1, label=f"paper: never below {bound:g}")
    sheet.found(least_error=error.min(), turning_rise=np.diff(turned[:3]).min(), distance_fall=-np.diff(way[6:]).max())
    if recording is OMEGA:
        sheet.found(distance_rise=np.diff(way[:3]).min())
    for scheme, suffix in (("published", ""), ("midpoint", "_converged")):
        error, way, turned = (runs[scheme][name] for name in ("error", "distance", "turning"))
        values = {
            "error_fall": -np.diff(error).max(),
            "late_fall": 100 * (error[2] - error[9]) / (error[0] - error[9]),
            "distance_range": float(np.ptp(way[2:7]) / way[2]),
            "turning_range": float(np.ptp(turned[2:7]) / turned[2]),
            "turning_late": turned[9] - turned[6],
        }
        sheet.found(**{name + suffix: value for name, value in values.items()})
    for ax in axes.values():
        ax.axvspan(
            1e-2, 1e-6, color="0.92", zorder=0, label="paper: almost identical" if ax is axes["distance"] else None
        )
        ax.legend(fontsize=9)
    return figure


def _friction_over_eta(recording: Recording, sheet: Sheet) -> Figure:
    run = _runs(sheet, recording, "eta")["published"]
    friction = run["friction"]
    figure = Figure(figsize=(15, 9), layout="constrained")
    figure.suptitle(
        f"{recording.title}: friction on each segment by the paper's scheme; scales reach to the 98% quantile"
    )
    duration = friction.shape[1] / FRAME_RATE
    axes = figure.subplots(5, 2, sharex=True)
    for ax, k in zip(axes.T.flat, range(len(ETAS)), strict=True):
        limit = float(np.quantile(friction[k], 0.98))
        image = heat_map(ax, PN * friction[k], duration, PN * limit, cmap=HEAT, vmin=0)
        ax.set_title("$\\eta$ = 1" if k == 0 else f"$\\eta = 10^{{-{k}}}$", fontsize=10)
        figure.colorbar(image, ax=ax, label="pN", pad=0.01, extend="max")
    for ax in axes[-1]:
        ax.set_xlabel("time (s)")
    # Correlations over segments and frames compare patterns independently of their scale.
    patterns = friction[:, 1:].reshape(len(ETAS), -1)
    alike = np.array([np.corrcoef(patterns[2], pattern)[0, 1] for pattern in patterns])
    sheet.found(pattern=alike[3:7].min(), **{f"alike_{k}": alike[k] for k in range(3, 10)})
    time = np.arange(friction.shape[1])[:, None] / FRAME_RATE
    sheet.table("friction", eta=ETAS[:, None, None], time_s=time, rod=np.arange(1, 26), friction_pN=PN * friction)
    sheet.table("pattern", eta=ETAS, correlation_with_1e_minus_2=alike)
    return figure


figure_5_supplement_2, figure_5_supplement_3 = partial(_over_sigma, OMEGA), partial(_over_sigma, DELTA)
appendix_1_figure_3, appendix_1_figure_5 = partial(_over_eta, OMEGA), partial(_over_eta, DELTA)
appendix_1_figure_4, appendix_1_figure_6 = partial(_friction_over_eta, OMEGA), partial(_friction_over_eta, DELTA)
