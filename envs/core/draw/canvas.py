"""Drawing canvas of all pictures: panels with their own units on a page of at least 960 x 540 points.

A picture is laid out in points [pt] and drawn in the units of its panels (metres, seconds, radians), y up; only this
module uses pixels. The page of a frame with another aspect ratio than 960 x 540 is higher or wider, so layouts always
have this space. Pictures are drawn at twice their size and scaled down, which smooths edges. No display is needed,
because pygame's video driver is not used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import CubicSpline

os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
import pygame

WIDTH, HEIGHT = 960.0, 540.0
"""Smallest size of a page, pt."""

HEADER = 64.0
"""Height of the captions at the top of a page, pt; labels in views do not overlap it."""

FOOTER = 52.0
"""Height of the legend and scale bar at the bottom of a view, pt; distances along a course do not overlap it."""

FARTHEST = 2.2
"""Largest extent of a view's shorter side, as a multiple of ``span``, so that the animal stays visible."""

_SUPER = 2
_LEGIBLE = 6
"""Smallest font that is drawn, in pixels at double size; smaller text is illegible."""

Colour = tuple[int, ...]
"""Red, green, blue and, if translucent, opacity, all 0 to 255."""

PAPER: Colour = (250, 249, 245)
PLATE: Colour = (250, 249, 245, 230)
CARD: Colour = (241, 239, 232)
RULE: Colour = (226, 223, 214)
MUTED: Colour = (134, 136, 140)
INK: Colour = (38, 46, 56)
GOAL: Colour = (46, 139, 98)
WARM: Colour = (200, 62, 50)
COLD: Colour = (42, 98, 176)
FORE: Colour = (226, 134, 26)
AFT: Colour = (72, 158, 206)
GHOST: Colour = (110, 116, 126)


def mix(one: Colour, other: Colour, share: float) -> Colour:
    """Interpolate between the colours ``one`` (share 0) and ``other`` (share 1)."""
    return tuple(round(a + (b - a) * share) for a, b in zip(one, other, strict=True))


def diverging(values: ArrayLike, limit: float) -> NDArray[np.uint8]:
    """Return colours (..., 3) of signed values: COLD at -limit, CARD at 0, WARM at +limit."""
    level = np.clip(np.asarray(values, float) / limit, -1.0, 1.0)[..., None]
    ends = np.where(level > 0, np.array(WARM, float), np.array(COLD, float))
    return (CARD + (ends - CARD) * np.abs(level) ** 0.8).astype(np.uint8)


def sequential(values: ArrayLike, limit: float, colour: Colour = INK) -> NDArray[np.uint8]:
    """Return colours (..., 3) of values from 0 (CARD) to ``limit``."""
    level = np.clip(np.asarray(values, float) / limit, 0.0, 1.0)[..., None]
    return (CARD + (np.array(colour, float) - CARD) * level).astype(np.uint8)


def quantity(value: float, unit: str, digits: int = 3) -> str:
    """Format a value in SI with a suitable prefix, such as ``quantity(2e-4, "m")``: 200 µm."""
    power = 0 if value == 0 else int(np.clip(np.floor(np.log10(abs(value)) / 3 + 1e-9), -5, 3))
    scaled = float(f"{value / 1000.0**power:.{digits}g}")
    return f"{scaled:g} {'fpnµm kMG'[power + 5].strip()}{unit}"


def rounded(value: float) -> float:
    """Return the largest of ..., 0.2, 0.5, 1, 2, 5, 10, 20, ... that does not exceed ``value``."""
    power = 10.0 ** np.floor(np.log10(value) + 1e-9)
    return float(power * max(step for step in (1, 2, 5) if step * power <= value * (1 + 1e-9)))


def outline(points: NDArray[np.float64], radius: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return both sides of a body with varying width.

    Args:
        points ((N, 2) float): Midline, first to last.
        radius ((N,) or scalar): Half width, in the same unit.

    Returns:
        left, right (N, 2) float: Left and right when walking along the midline, y up.
    """
    along = np.gradient(points, axis=0)
    along /= np.maximum(np.hypot(along[:, 0], along[:, 1]), 1e-300)[:, None]
    across = np.stack([-along[:, 1], along[:, 0]], 1) * np.broadcast_to(radius, len(points))[:, None]
    return points + across, points - across


def steady(track: NDArray[np.float64], moments: int, reach: float = np.inf) -> NDArray[np.float64]:
    """Return the position (2,) of a smooth camera: the trend of the newest ``moments`` of a track (N, 2).

    It is at most ``reach`` from the newest position along each axis. It depends only on the track, and not on which
    moments were drawn, so equal tracks give equal frames.
    """
    newest = track[-max(1, moments) :]
    half = len(newest) // 2
    if half == 0:
        return newest[0]
    older, recent = newest[:half].mean(0), newest[half:].mean(0)
    trend = recent + 0.5 * (recent - older)  # a mean alone would lag
    return np.clip(trend, newest[-1] - reach, newest[-1] + reach)


def past(rows: NDArray[Any], moments: int) -> list[NDArray[np.float64]]:
    """Return the track of an animal in the older half of its newest ``moments``, to keep it in view."""
    return [rows["centre"][-moments:][: 1 + min(moments, len(rows)) // 2]]


@cache
def _font(size: int) -> pygame.font.Font:
    pygame.font.init()
    return pygame.font.Font(None, size)


def _write(text: str, size: int, colour: Colour) -> pygame.Surface:
    try:
        return _font(size).render(text, True, colour[:3])
    except pygame.error:  # pygame was quit, for example by Gymnasium's HumanRendering
        _font.cache_clear()
        return _font(size).render(text, True, colour[:3])


class Panel:
    """Rectangle of the page with its own units; drawings are clipped to it.

    Args:
        surface: Pixels of the panel.
        scale: Pixels per point.
        area ((x, y, width, height), pt)
        low, high ((2,) float): Values at its lower left and upper right corner; swapped for an axis in the other
            direction.
    """

    def __init__(
        self,
        surface: pygame.Surface,
        scale: float,
        area: tuple[float, float, float, float],
        low: ArrayLike,
        high: ArrayLike,
    ) -> None:
        self.surface, self.scale, self.area = surface, scale, area
        self.low, self.high = np.asarray(low, float), np.asarray(high, float)
        self.header = 0.0  # pt at the top without labels that have a plate
        size = np.array(surface.get_size(), float)
        self._stretch = np.array([size[0], -size[1]]) / (self.high - self.low)
        self._shift = np.array([0.0, size[1]]) - self.low * self._stretch

    def place(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return the pixels (N, 2) of points (N, 2) in the panel's units."""
        pixels = np.asarray(points, float) * self._stretch + self._shift
        return np.fmin(np.fmax(pixels, -1e5), 1e5)  # removes NaN, which the drawing functions reject

    @property
    def point(self) -> float:
        """Length of a point in the panel's unit of x."""
        return float(self.scale / abs(self._stretch[0]))

    def polygon(self, points: ArrayLike, colour: Colour, edge: Colour | None = None, width: float = 1.0) -> None:
        """Fill a polygon, and draw its edge with ``width`` [pt]."""
        pixels = self.place(points)
        self._paint(pixels, colour, 2.0, lambda surface, at: _fill(surface, at, colour))
        if edge is not None:
            self.polyline(np.concatenate([points, np.asarray(points)[:1]]), edge, width)

    def polyline(self, points: ArrayLike, colour: Colour, width: float = 1.5, fade: Colour | None = None) -> None:
        """Draw a line with ``width`` [pt]; with ``fade``, the first point has that colour."""
        pixels = self.place(points)
        step = np.abs(np.diff(pixels, axis=0)).max(1, initial=0.0)
        if len(pixels) < 2:
            return
        # Points closer than three pixels at double size take time without a visible effect.
        keep = np.diff(np.floor(np.cumsum(step) / 3.0), prepend=0.0) > 0
        keep[-1] = True
        pixels = np.concatenate([pixels[:1], pixels[1:][keep]])
        thick = max(1, round(width * self.scale))
        shades = 48 if fade else 1
        colours = [mix(fade, colour, (k + 1) / shades) if fade else colour for k in range(shades)]
        shade = np.arange(len(pixels) - 1) * shades // (len(pixels) - 1)

        def draw(surface: pygame.Surface, at: NDArray[np.float64]) -> None:
            for start, end, k in zip(at[:-1].tolist(), at[1:].tolist(), shade.tolist(), strict=True):
                pygame.draw.aaline(surface, colours[k], start, end, thick)

        self._paint(pixels, colour, thick + 2.0, draw)

    def tracks(self, points: NDArray[np.float64], ghost: bool) -> None:
        """Draw smooth tracks of a body's ends from its points (moments, N, 2); of a ``ghost``, only the head's."""
        moments = np.arange(len(points))
        between = np.linspace(0, moments[-1], 3 * moments[-1] + 1)
        for end, colour in ((0, mix(PAPER, GHOST, 0.5)),) if ghost else ((-1, AFT), (0, FORE)):
            track = points[:, end]
            if len(track) > 3:  # fast swimming has only a dozen samples per wave
                track = CubicSpline(moments, track)(between)
            self.polyline(track, colour, 1.25, PAPER)

    def disc(self, at: ArrayLike, radius: float, colour: Colour) -> None:
        """Fill a circle of ``radius`` [pt]."""
        size = radius * self.scale
        self._paint(
            self.place(np.asarray(at)[None]),
            colour,
            size + 2,
            lambda s, p: pygame.draw.aacircle(s, colour, p[0].tolist(), size),
        )

    def ring(self, at: ArrayLike, radius: float, colour: Colour, width: float = 1.5) -> None:
        """Draw a circle of ``radius`` in the panel's unit."""
        turn = np.linspace(0.0, 2 * np.pi, 73)
        self.polyline(np.asarray(at) + radius * np.stack([np.cos(turn), np.sin(turn)], 1), colour, width)

    def arrow(self, start: ArrayLike, vector: ArrayLike, colour: Colour, width: float = 1.5) -> None:
        """Draw an arrow; its head is proportional to ``width`` [pt], and smaller on a short arrow."""
        start = np.asarray(start, float)
        tail, tip = self.place(np.stack([start, start + np.asarray(vector, float)]))
        reach = float(np.hypot(*(tip - tail)))
        if reach < 1.0:
            return
        along = (tip - tail) / reach
        across = np.array([-along[1], along[0]])
        half, head = 0.5 * width * self.scale, min(4.5 * width * self.scale, 0.6 * reach)
        neck = tip - head * along
        wing = 0.45 * head * across
        shaft = min(half, 0.2 * head) * across
        shape = np.array([tail + shaft, neck + shaft, neck + wing, tip, neck - wing, neck - shaft, tail - shaft])
        self._paint(shape, colour, 2.0, lambda surface, at: _fill(surface, at, colour))

    def raster(self, colours: NDArray[np.uint8], low: ArrayLike | None = None, high: ArrayLike | None = None) -> None:
        """Draw cells of colours (rows, columns, 3), first row on top, between two corners (default: the panel's)."""
        rows, columns = colours.shape[:2]
        ends = self.place(np.array([self.low if low is None else low, self.high if high is None else high]))
        (x0, y1), (x1, y0) = np.rint(ends).astype(int)
        if not (rows and columns and x1 > x0 and y1 > y0):
            return
        cells = pygame.image.frombuffer(colours.tobytes(), (columns, rows), "RGB")
        self.surface.blit(pygame.transform.scale(cells, (int(x1 - x0), int(y1 - y0))), (int(x0), int(y0)))

    def label(
        self,
        text: str,
        at: ArrayLike,
        colour: Colour = INK,
        size: float = 12.0,
        align: tuple[float, float] = (0.0, 0.5),
        offset: tuple[float, float] = (0.0, 0.0),
        back: Colour | None = None,
    ) -> None:
        """Write ``text`` of ``size`` [pt].

        Args:
            at ((2,) float)
            size (pt)
            align ((2,) float): Fractions of the text's width left of ``at`` and of its height above it.
            offset ((2,) float, pt): Shift to the right and down.
            back: Colour of a plate behind the text, which keeps it legible above a drawing.
        """
        size_px = round(1.45 * size * self.scale)
        if not text or size_px < _LEGIBLE:
            return
        image = _write(text, size_px, colour)
        if len(colour) > 3:
            image.set_alpha(colour[3])
        extent = np.array(image.get_size(), float)
        corner = self.place(np.asarray(at)[None])[0] + np.multiply(offset, self.scale) - np.multiply(align, extent)
        if back is not None:
            pad = self.scale * np.array([4.0, 1.0])
            low, high = corner - pad, corner + extent + pad
            if low[1] < self.header * self.scale:
                return
            plate = np.array([low, (high[0], low[1]), high, (low[0], high[1])])
            self._paint(plate, back, 0.0, lambda surface, at: pygame.draw.polygon(surface, back, at.tolist()))
        self.surface.blit(image, np.rint(corner).tolist())

    def inside(self, at: ArrayLike, rim: float = 36.0) -> NDArray[np.float64]:
        """Return the point (2,) of a view nearest to ``at`` and ``rim`` [pt] from its border, captions and legend."""
        low = self.low + self.point * np.array([rim, max(rim, FOOTER + 16.0)])
        high = self.high - self.point * np.array([rim, rim + self.header])
        return np.clip(at, low, np.maximum(low, high))

    def holds(self, at: NDArray[np.float64]) -> bool:
        """Return whether ``at`` (2,) is inside a view."""
        return bool(((at >= self.low) & (at <= self.high)).all())

    def pointer(self, at: NDArray[np.float64], colour: Colour, name: str = "") -> None:
        """Draw an arrow labelled ``name`` at the border of a view towards ``at`` (2,), if this is outside."""
        if self.holds(at):
            return
        rim = self.inside(at)
        ahead = self.point * (at - rim) / np.hypot(*(at - rim))
        self.arrow(rim, 24.0 * ahead, colour, 3.0)
        self.label(name, rim - 34.0 * ahead * (1.0, 0.5), colour, 12, (0.5, 0.5), back=PLATE)

    def name_trails(self, animal: Any, trails: Sequence[Any], moments: int) -> None:
        """Write the name of an animal and of its ghost above the upper and below the lower one, or at the border."""
        higher = [steady(trail.rows["centre"], moments)[1] for trail in trails]
        for k, trail in enumerate(trails):
            colour, at = GHOST if k else INK, trail.rows["centre"][-1]
            self.pointer(at, colour, trail.name)
            if trail.name and self.holds(at):
                points, up = animal.points(trail.rows[-moments:]), 1 if (k > 0) == (higher[0] < higher[-1]) else -1
                edge = steady(np.stack([points[..., 0].mean(1), up * (up * points[..., 1]).max(1)], 1), moments)
                place = np.maximum(self.inside(edge), self.low + (FOOTER + (22.0 if up < 0 else 0.0)) * self.point)
                self.label(trail.name, place, colour, 12, (0.5, 0.5), (0, -22 * up), PLATE)

    def grid(self, spacing: float, colour: Colour = RULE, width: float = 0.75) -> None:
        """Draw lines at multiples of ``spacing``, unless they would be closer than two points."""
        if spacing < 2.0 * self.point:
            return
        low, high = np.minimum(self.low, self.high), np.maximum(self.low, self.high)
        for axis in (0, 1):
            for k in np.arange(np.ceil(low[axis] / spacing), np.floor(high[axis] / spacing) + 1):
                ends = np.array([low, high])
                ends[:, axis] = k * spacing
                self.polyline(ends, colour, width)

    def course(
        self,
        start: NDArray[np.float64],
        way: NDArray[np.float64],
        spacing: float,
        arrow: float,
        name: Callable[[float], str],
    ) -> None:
        """Draw the goal as a line from ``start`` (2,) along the unit vector ``way`` (2,).

        Every ``spacing``, it has an arrow of length ``arrow`` and the ``name`` of the distance from the start.
        """
        side = np.array([-way[1], way[0]])
        reach = np.hypot(*(self.high - self.low))
        along = float(np.sum((0.5 * (self.low + self.high) - start) * way))
        self.polyline([start + max(0.0, along - reach) * way, start + (along + reach) * way], GOAL, 1.0)
        for k in range(max(0, int((along - reach) / spacing)), int((along + reach) / spacing) + 1):
            at = start + k * spacing * way
            self.arrow(at - 0.02 * spacing * way, arrow * way, GOAL, 1.5)
            if at[1] > self.low[1] + FOOTER * self.point:  # not among the words of the legend
                self.label(name(k * spacing), at, GOAL, 11, (0.5, 0.5), (18 * side[0], -14 * side[1]), PLATE)

    def scale_bar(self, unit: str = "m", colour: Colour = INK) -> None:
        """Draw a bar with a round length in the lower right corner."""
        span, point = abs(self.high[0] - self.low[0]), self.point
        length = rounded(0.18 * min(span, WIDTH * point))
        right, bottom = self.high[0] - 24 * point, self.low[1] + 20 * point
        bar = np.array([[right - length, bottom], [right, bottom]])
        self.polyline(bar, colour, 2.5)
        self.label(quantity(length, unit), bar.mean(0), colour, 12, (0.5, 1.0), (0, -5), PLATE)

    def _paint(
        self,
        pixels: NDArray[np.float64],
        colour: Colour,
        margin: float,
        draw: Callable[[pygame.Surface, NDArray[np.float64]], object],
    ) -> None:
        """Draw directly, or on a separate surface if the colour is translucent."""
        if len(colour) == 3:
            draw(self.surface, pixels)
            return
        low, high = np.floor(pixels.min(0) - margin), np.ceil(pixels.max(0) + margin)
        low, high = np.maximum(low, 0), np.minimum(high, self.surface.get_size())
        if (high <= low).any():
            return
        sheet = pygame.Surface((high - low).tolist(), pygame.SRCALPHA, 32)
        sheet.fill((*colour[:3], 0))
        draw(sheet, pixels - low)
        self.surface.blit(sheet, low.tolist())


def _fill(surface: pygame.Surface, pixels: NDArray[np.float64], colour: Colour) -> None:
    points = pixels.tolist()
    pygame.draw.polygon(surface, colour, points)
    if len(colour) == 3:  # a smooth edge would be visible on a translucent shape
        pygame.draw.aalines(surface, colour, True, points)


class Canvas(Panel):
    """Page: a panel in points, x right and y down, that contains other panels.

    Args:
        width, height: Size of the frames in pixels. The page is at least 960 pt wide and 540 pt high, and exactly one
            of these if the aspect ratio differs.
    """

    def __init__(self, width: int = 960, height: int = 540) -> None:
        self.size = int(width), int(height)
        scale = min(width / WIDTH, height / HEIGHT)
        self.width, self.height = width / scale, height / scale
        surface = pygame.Surface((_SUPER * self.size[0], _SUPER * self.size[1]), depth=32)
        area = (0.0, 0.0, self.width, self.height)
        super().__init__(surface, _SUPER * scale, area, (0.0, self.height), (self.width, 0.0))
        self._frame = pygame.Surface(self.size, depth=32)
        self.close = False
        """Whether views stay near the animal, at the largest scale, and are centred on its recent track."""

    def clear(self, colour: Colour = PAPER) -> None:
        """Start a new picture."""
        self.surface.fill(colour)

    def box(self, area: tuple[float, float, float, float], colour: Colour) -> None:
        """Fill a rectangle (x, y, width, height) [pt]."""
        self.surface.fill(colour, self._pixels(area))

    def panel(self, area: tuple[float, float, float, float], low: ArrayLike, high: ArrayLike) -> Panel:
        """Return a panel at ``area`` (x, y, width, height) [pt] with the values ``low`` and ``high`` at its corners."""
        return Panel(self.surface.subsurface(self._pixels(area)), self.scale, area, low, high)

    def titles(self, headline: str, caption: str) -> None:
        """Write a headline and a caption below it at the top left."""
        self.label(headline, (24, 30), INK, 17, back=PLATE)
        self.label(caption, (24, 52), MUTED, 12, back=PLATE)

    def names(self, trail: Any, ghost: Any) -> None:
        """Write the names of the animal and its ghost, if there is one, in their colours below the caption."""
        self.label(trail.name, (24, 74), INK, 12, back=PLATE)
        self.label(ghost.name if ghost else "", (24, 92), GHOST, 12, back=PLATE)

    def legend(self, y: float, entries: Mapping[str, Colour]) -> None:
        """Write the meaning of the colours of lines at the left, at height ``y`` [pt]."""
        for k, (name, colour) in enumerate(entries.items()):
            self.polyline([(24.0 + 102.0 * k, y), (38.0 + 102.0 * k, y)], colour, 2.5)
            self.label(name, (44.0 + 102.0 * k, y), MUTED, 11, back=PLATE)

    def view(
        self,
        area: tuple[float, float, float, float],
        points: ArrayLike,
        span: float,
        margin: float = 0.0,
        height: float = 0.0,
        farthest: float = FARTHEST,
    ) -> Panel:
        """Return a panel with equal scales that shows ``points`` (N, 2) with ``margin``, and at least ``span``.

        Args:
            area ((x, y, width, height), pt)
            points ((N, 2) float): Points in the panel's unit; a single point is followed by the camera. The first is
                always visible, and the rest unless the shorter side of the view would exceed ``farthest`` spans.
            span, height: Smallest width and height of the view.
            margin: Space around the points; if there is any, they also stay below the captions.
        """
        places = np.atleast_2d(np.asarray(points, float))
        low, high = places.min(0) - margin, places.max(0) + margin
        header = max(0.0, HEADER - area[1])
        above = header / area[2] if margin else 0.0
        shape = area[3] / area[2] - above
        extent = max(high[0] - low[0], (high[1] - low[1]) / shape)
        most = max(span, height / shape) if self.close else farthest * span * max(1.0, 1.0 / shape)
        width = min(max(span, height / shape, extent), most)
        half, middle = 0.5 * width * np.array([1.0, shape]), 0.5 * (low + high)
        if extent > most:
            rim = np.minimum(0.6 * half, np.maximum(half - margin, 0.0))
            middle = np.clip(middle, places[0] - rim, places[0] + rim)
        panel = self.panel(area, middle - half, middle + half + (0.0, width * above))
        panel.header = header
        return panel

    def trace(
        self,
        area: tuple[float, float, float, float],
        time: NDArray[np.float64],
        values: NDArray[np.float64],
        duration: float,
        limit: float,
        colour: Colour = INK,
        title: str = "",
    ) -> Panel:
        """Draw a trace of values (N,) that fills from the left and scrolls when it is full.

        Args:
            area ((x, y, width, height), pt)
            time ((N,) float, s)
            values ((N,) float)
            duration (s)
            limit: The vertical axis extends from -limit to +limit.
        """
        start = max(time[0], time[-1] - duration)
        panel = self.panel(area, (start, -limit), (start + duration, limit))
        self.box(area, CARD)
        panel.polyline([(start, 0.0), (start + duration, 0.0)], RULE, 1.0)
        panel.polyline(np.stack([time, values], 1)[time >= start], colour, 1.25)
        panel.label(title, (start, limit), MUTED, 11, (0.0, 0.0), (6, 4), (*CARD, 210))
        return panel

    def kymograms(
        self, height: float, periods: int, strips: Sequence[tuple[str, str, NDArray[np.uint8]]], size: float = 10.0
    ) -> None:
        """Draw kymograms of the body over the last ``periods`` at the bottom of the page, with the head on top.

        Args:
            height (pt): Height of all together.
            periods: Number of moments that fill a kymogram.
            strips: Name, caption, and colours (parts of the body, moments, 3) of each.
            size (pt): Size of the captions.
        """
        top, left, right = self.height - height, 112.0, 56.0
        self.box((0, top, self.width, height), mix(PAPER, CARD, 0.5))
        each = (height - 20.0 - 6.0 * (len(strips) - 1)) / len(strips)
        for k, (name, caption, colours) in enumerate(strips):
            y = top + 10 + k * (each + 6)
            area = (left, y, self.width - left - right, each)
            self.box(area, CARD)
            self.panel(area, (0, 0), (periods, 1)).raster(colours, (0, 0), (colours.shape[1], 1))
            self.label(name, (left - 12, y + 0.5 * each - 6), INK, 12, (1.0, 0.5))
            self.label(caption, (left - 12, y + 0.5 * each + 9), MUTED, size, (1.0, 0.5))
            self.label("head", (self.width - right + 8, y + 6), MUTED, 10)
            self.label("tail", (self.width - right + 8, y + each - 6), MUTED, 10)

    def bar(self, area: tuple[float, float, float, float], share: float, colour: Colour, back: Colour = RULE) -> None:
        """Draw a horizontal bar [pt], filled from the left up to ``share`` (0 to 1)."""
        x, y, width, height = area
        self.box(area, back)
        if share > 0.0:
            self.box((x, y, width * min(float(share), 1.0), height), colour)

    def array(self) -> NDArray[np.uint8]:
        """Return the frame (height, width, 3)."""
        return np.frombuffer(pygame.image.tobytes(self.frame(), "RGB"), np.uint8).reshape(*self.size[::-1], 3).copy()

    def frame(self) -> pygame.Surface:
        """Return the frame as a surface of the final size."""
        return pygame.transform.smoothscale(self.surface, self.size, self._frame)

    def _pixels(self, area: Sequence[float]) -> pygame.Rect:
        x, y, width, height = (value * self.scale for value in area)
        corner = round(x), round(y)
        rectangle = pygame.Rect(corner, (max(1, round(x + width) - corner[0]), max(1, round(y + height) - corner[1])))
        return rectangle.clip(self.surface.get_rect())
