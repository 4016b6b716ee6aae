"""Kernel that draws small pictures of many animals, pixel by pixel."""

from __future__ import annotations

import math

import numpy as np

from ..kernels.jit import kernel


@kernel
def paint(lines, radius, colours, centre, span, paper, rule, spacing, origin, across, out):
    """Draw thick lines with round ends and smooth edges on ruled paper, in order from bottom to top.

    Args:
        lines ((B, S, 4) float, m): Ends x, y, x, y of each; lines that are not finite are skipped.
        radius ((B, S) float, m): Half width; at least half a pixel is drawn.
        colours ((S, 3) float): 0 to 255.
        centre ((B, 2) float, m): Middle of the picture; x to the right, y up.
        span ((B,) float, m): Width and height of the picture.
        paper, rule ((B, 3) float): Colours of the paper and of its rules.
        spacing (m): Distance between rules.
        origin ((B, 2) float, m): Position of a crossing of rules.
        across ((2, n) float): Scratch.
        out ((B, n, n, 3) uint8): Output, top row first.
    """
    size = out.shape[1]
    half = 0.5 * size
    for b in range(out.shape[0]):
        scale = size / span[b]
        for axis in range(2):
            for i in range(size):
                place = (i + 0.5 - half) / scale
                place = centre[b, axis] + (place if axis == 0 else -place) - origin[b, axis]
                off = abs(place / spacing - math.floor(place / spacing + 0.5)) * spacing * scale
                across[axis, i] = min(max(1.0 - off, 0.0), 1.0)
        for j in range(size):
            for i in range(size):
                share = max(across[0, i], across[1, j])
                for k in range(3):
                    out[b, j, i, k] = np.uint8(paper[b, k] + share * (rule[b, k] - paper[b, k]) + 0.5)
        for s in range(lines.shape[1]):
            x0 = half + scale * (lines[b, s, 0] - centre[b, 0])
            y0 = half - scale * (lines[b, s, 1] - centre[b, 1])
            dx = half + scale * (lines[b, s, 2] - centre[b, 0]) - x0
            dy = half - scale * (lines[b, s, 3] - centre[b, 1]) - y0
            r = max(scale * radius[b, s], 0.5)
            if 0.0 * (x0 + y0 + dx + dy + r) != 0.0:
                continue
            low_x, high_x = min(x0, x0 + dx) - r - 0.5, max(x0, x0 + dx) + r + 0.5
            low_y, high_y = min(y0, y0 + dy) - r - 0.5, max(y0, y0 + dy) + r + 0.5
            first_i, last_i = int(min(max(low_x, 0.0), size)), int(min(max(high_x + 1.0, 0.0), size))
            first_j, last_j = int(min(max(low_y, 0.0), size)), int(min(max(high_y + 1.0, 0.0), size))
            reach = dx * dx + dy * dy
            for j in range(first_j, last_j):
                for i in range(first_i, last_i):
                    px, py = i + 0.5 - x0, j + 0.5 - y0
                    along = 0.0
                    if reach > 0.0:
                        along = min(max((px * dx + py * dy) / reach, 0.0), 1.0)
                    px, py = px - along * dx, py - along * dy
                    cover = min(max(r + 0.5 - math.sqrt(px * px + py * py), 0.0), 1.0)
                    for k in range(3):
                        below = float(out[b, j, i, k])
                        out[b, j, i, k] = np.uint8(below + cover * (colours[s, k] - below) + 0.5)
