"use strict";
/* The rat's vibrissa: it whisks past a peg, which one drags; moment and forces at its base. */

gymnosoma.Show.scene("vibrissa", (animal) => {
  const C = gymnosoma.Canvas, about = animal.about, colours = about.colours;
  const angle = animal.field("link_angle"), LINKS = angle.length, length = animal.field("length"), base = animal.field("base");
  const peg = animal.field("peg"), speed = animal.field("peg_velocity"), wrench = animal.field("wrench_sum"), span = animal.field("span");
  const HOLD = 1e-3, SHOWN = 0.5, RIM = 0.85, FASTEST = 1.0, FOLLOW = 30;
  let values, moments, phase, amplitude, wanted, held = false, view;

  function nodes() {
    const out = [[base[0], base[1]]], link = length[0] / LINKS;
    for (let i = 0; i < LINKS; i++) out.push([out[i][0] + link * Math.cos(angle[i]), out[i][1] + link * Math.sin(angle[i])]);
    return out;
  }

  const scene = {
    title: "A rat's vibrissa whisks past a peg",
    hold: HOLD,
    pace: () => 1 / values.slowed,
    grab: true,
    controls: [
      { name: "amplitude", label: "Amplitude", low: 0, high: 30, value: 15, unit: "°" },
      { name: "frequency", label: "Whisks a second", low: 0, high: 15, value: 8, unit: "Hz" },
      { name: "x", label: "Peg along the whisker", low: 15, high: 60, value: Math.round(700 * length[0]), unit: "mm" },
      { name: "y", label: "Peg across", low: -25, high: 25, value: 8, unit: "mm" },
      { name: "slowed", label: "Slowed down", low: 1, high: 50, value: 10, text: (v) => `${v.toPrecision(2)} times` },
    ],

    start(given) {
      values = given;
      moments = new C.Trail(Math.round(SHOWN / HOLD));
      phase = amplitude = 0;
    },

    change(given) {
      values = given;
      wanted = [1e-3 * given.x, 1e-3 * given.y];
    },

    step(seconds) {
      phase += seconds * values.frequency;
      amplitude += (Math.PI / 180) * values.amplitude * (seconds / 0.1) - amplitude * (seconds / 0.1);
      const turn = 2 * Math.PI * phase, aim = amplitude * Math.sin(turn);
      const rate = 2 * Math.PI * values.frequency * amplitude * Math.cos(turn) + FOLLOW * (aim - angle[0]);
      animal.drive([(rate - animal.field("base_rate")[0]) / seconds, 0, 0]);
      for (const axis of [0, 1]) speed[axis] = Math.max(-FASTEST, Math.min(FASTEST, (wanted[axis] - peg[axis]) / (10 * seconds)));
      const well = animal.advance(Math.round(seconds / animal.numbers.dt));
      const mean = [0, 1, 2].map((i) => wrench[i] / Math.max(span[0], 1e-300));
      moments.push({ time: animal.field("time")[0], angle: (angle[0] * 180) / Math.PI, M: mean[0], Fx: mean[1], Fy: mean[2], push: animal.field("contact_sum")[0] / Math.max(span[0], 1e-300) });
      return well;
    },

    draw(canvas) {
      const narrow = canvas.width < 640, wide = narrow ? canvas.width : 0.62 * canvas.width, high = narrow ? 300 : canvas.height;
      view = canvas.view([0, 0, wide, high], [0.52 * length[0], 0], 1.25 * length[0]);
      view.inside(() => {
        view.grid(0.01, canvas.rule);
        view.polygon([view.low, [0, view.low[1]], [0, view.high[1]], [view.low[0], view.high[1]]], colours.skin);
        const line = nodes(), middle = C.smooth(line, 3);
        view.polyline(line.slice(0, 2), colours.follicle, 9);
        const radius = middle.map((_, i) => about.radii[0] + ((about.radii[1] - about.radii[0]) * i) / (middle.length - 1));
        const [left, right] = C.outline(middle, radius.map((r) => Math.max(r, 0.5 * view.point)));
        view.polygon([...left, ...right.reverse()], canvas.seen(colours.whisker));
        thePeg(canvas);
      });
      view.scaleBar();
      const last = moments.items[moments.items.length - 1];
      const said = last && last.push > 1e-9 ? `the peg pushes with ${C.quantity(last.push, "N", 2)}` : "drag the peg";
      canvas.label(said, view.at(0, 0)[0] + 14, 18, canvas.ink, 14, [0, 0.5], [0, 0], canvas.plate);
      traces(canvas, narrow ? [10, high + 8, canvas.width - 20, canvas.height - high - 16] : [wide + 12, 12, canvas.width - wide - 24, canvas.height - 24]);
    },

    /** Drag the peg, or move it to where one clicks. */
    pointer(kind, px, py, show) {
      if (!view) return false;
      const at = view.from(px, py);
      if (kind === "down") held = at[0] < view.high[0] && at[1] > view.low[1];
      if (!held) return false;
      for (const [axis, name] of [[0, "x"], [1, "y"]]) {
        const control = scene.controls.find((each) => each.name === name);
        show.set(name, Math.max(control.low, Math.min(control.high, 1e3 * at[axis])));
      }
      if (kind === "up" || kind === "cancel") held = false;
      return true;
    },

    tell() {
      const recent = moments.items.slice(-200);
      const most = Math.max(0, ...recent.map((m) => m.push));
      return most > 1e-9 ? "The whisker touches the peg." : "The whisker is free.";
    },

    python(v) {
      const swing = (Math.PI / 180) * v.amplitude;
      return `
import numpy as np
from gymnosoma.envs import simulate
from gymnosoma.envs.whisker_chain import Whisker
from gymnosoma.envs.whisker_chain.animal import follow

drive, start = follow(1e-3, lambda t: ${swing.toPrecision(4)} * np.sin(${(2 * Math.PI * v.frequency).toPrecision(5)} * t))
peg = {"peg": [[${(1e-3 * v.x).toPrecision(4)}, ${(1e-3 * v.y).toPrecision(4)}]], "peg_radius": [${about.peg_radius}]}
run = simulate(Whisker(), drive, 0.5, hold=1e-3, every=1e-3, start=start | peg)
run.save("vibrissa.npz")`;
    },
  };

  function thePeg(canvas) {
    const radius = Math.max(4, animal.field("peg_radius")[0] / view.point);
    view.disc(peg[0], peg[1], radius + 8, [...colours.peg, 60]);
    view.disc(peg[0], peg[1], radius, colours.peg);
    const last = moments.items[moments.items.length - 1];
    if (!last || !(last.push > 1e-9)) return;
    const heading = angle[Math.round(animal.field("contact_link")[0])], side = -animal.field("peg_side")[0];
    const reach = 18 * Math.log1p(last.push / 1e-6) * view.point;
    view.arrow(peg[0], peg[1], -side * Math.sin(heading) * reach, side * Math.cos(heading) * reach, canvas.warm, 2);
  }

  function traces(canvas, area) {
    const rows = [["angle", "base angle", "°", 20, canvas.ink], ["M", "moment M", "N m", 0.1e-6, canvas.warm], ["Fy", "transverse force Fy", "N", 5e-6, canvas.cold], ["Fx", "axial force Fx", "N", 1e-6, canvas.goal]];
    const height = (area[3] - 18) / 4, time = moments.column("time");
    rows.forEach(([name, title, unit, least, colour], k) => {
      const column = moments.column(name);
      const limit = (least * 10) / C.rounded(10 / Math.max(1, Math.max(0, ...column.map(Math.abs)) / least));
      const size = unit === "°" ? `± ${limit}°` : `± ${C.quantity(limit, unit)}`;
      canvas.trace([area[0], area[1] + k * (height + 6), area[2], height], time, column, SHOWN, limit, colour, `${title}  ${size}`);
    });
  }

  return scene;
});
