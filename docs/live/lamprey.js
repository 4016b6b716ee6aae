"use strict";
/* The lamprey: body with its muscles, the cord's thousand neurons, their raster; cut, currents, edge cells. */

gymnosoma.Show.scene("lamprey", (animal) => {
  const C = gymnosoma.Canvas, about = animal.about, colours = about.colours, lengths = about.lengths;
  const angle = animal.field("link_angle"), place = animal.field("link_position"), LINKS = angle.length, JOINTS = LINKS - 1;
  const motoneuron = animal.field("motoneuron"), centre = animal.field("centre"), output = animal.field("output", "work");
  const SEGMENTS = about.segments, POPULATIONS = output.length / (2 * SEGMENTS), LENGTH = lengths.reduce((a, b) => a + b, 0);
  const HOLD = 0.01, COLUMNS = 300, CELLS = ["excitatory (EIN)", "crossed (CCIN)", "lateral (LIN)", "motoneurons", "edge cells"];
  let values, moments, raster, eye, view, target = null, told = null;

  /** Output of the edge cells of a side and joint, 1/m. */
  function edge(side, q) {
    const curvature = (2 * (angle[q] - angle[q + 1])) / (lengths[q] + lengths[q + 1]);
    return Math.max(side ? curvature : -curvature, 0);
  }

  /** Head tip, joints and tail tip. */
  function points() {
    const out = [];
    for (let i = 0; i < LINKS; i++) {
      const h = 0.5 * lengths[i];
      out.push([place[i] - h * Math.cos(angle[i]), place[LINKS + i] - h * Math.sin(angle[i])]);
    }
    const h = 0.5 * lengths[JOINTS], last = angle[JOINTS];
    out.push([place[JOINTS] + h * Math.cos(last), place[LINKS + JOINTS] + h * Math.sin(last)]);
    return out;
  }

  const scene = {
    title: "A lamprey swims by the neurons of its cord",
    hold: HOLD,
    pace: 1,
    controls: [
      { name: "tonic", label: "Tonic level", low: 0, high: 1, value: 0.4 },
      { name: "asymmetry", label: "Asymmetry, right is positive", low: -0.3, high: 0.3, value: 0 },
      { name: "edge", label: "Edge cells", options: [["on", "on"], ["off", "off"]], value: "on" },
      { name: "cut", label: "Cut behind segment", low: 0, high: SEGMENTS - 1, step: 1, value: 0, text: (v) => (v ? String(v) : "none") },
      { name: "bath", label: "Bath behind the cut", low: 0, high: 0.5, value: 0 },
      { name: "current", label: "Current along x", low: -0.5, high: 0.5, value: 0, unit: "m/s" },
      { name: "across", label: "Current along y", low: -0.5, high: 0.5, value: 0, unit: "m/s" },
      { name: "scheme", label: "Scheme", options: Object.keys(about.schemes).map((name) => [name, name === "published" ? "the paper's" : name]), value: "published" },
    ],

    start(given) {
      values = given;
      moments = new C.Trail(160);
      raster = { left: [], right: [] };
      eye = target = null;
    },

    change(given) {
      values = given;
      animal.drive([given.tonic, given.asymmetry, about.head_extra]);
      animal.set("feedback", given.edge === "on" ? about.parameters.feedback.value : 0);
      animal.set("transection", given.cut);
      animal.set("bath", Array.from({ length: SEGMENTS }, (_, q) => (given.cut && q >= given.cut ? given.bath : 0)));
      animal.set("current", [given.current, given.across]);
      Object.assign(animal.numbers, about.schemes[given.scheme]);
    },

    step(seconds) {
      if (target) steer();
      const well = animal.advance(Math.round(seconds / animal.numbers.dt));
      ["left", "right"].forEach((side, s) => {
        raster[side].push(motoneuron.slice(s * JOINTS, (s + 1) * JOINTS));
        if (raster[side].length > COLUMNS) raster[side].shift();
      });
      const joints = points();
      moments.push({ time: animal.field("time")[0], centre: [...centre], head: joints[0], tail: joints[LINKS], motion: motoneuron[4] - motoneuron[JOINTS + 4] });
      return well;
    },

    draw(canvas) {
      const narrow = canvas.width < 640, strip = 100, side = narrow ? 0 : 300, cord = narrow ? 170 : 0, names = 108;
      const joints = points();
      eye = eye ? [0, 1].map((i) => eye[i] + 0.2 * (centre[i] - eye[i])) : [...centre];
      view = canvas.view([0, 0, canvas.width - side, canvas.height - strip - cord], eye, (narrow ? 1.7 : 2.2) * LENGTH);
      view.inside(() => {
        view.grid(0.1, canvas.rule);
        for (const [name, colour] of [["head", canvas.fore], ["tail", canvas.aft]]) {
          const track = moments.column(name);
          if (track.length > 3) view.polyline(track, colour, 1.25, canvas.paper);
        }
        body(canvas, joints);
        if (target) view.goal(target);
        const { current, across } = values, speed = Math.hypot(current, across);
        if (speed > 0.004) {
          const scale = (50 * view.point) / Math.max(speed, 0.15), x = view.high[0] - 60 * view.point, y = view.high[1] - 50 * view.point;
          view.arrow(x - 0.5 * current * scale, y - 0.5 * across * scale, current * scale, across * scale, canvas.aft, 2.5);
          view.label(`current ${speed.toFixed(2)} m/s`, x, y, canvas.aft, 11, [0.5, 0], [0, 22], canvas.plate);
        }
      });
      view.scaleBar();
      canvas.label(scene.tell(), 12, 18, canvas.ink, 14, [0, 0.5], [0, 0], canvas.plate);
      [["head's track", canvas.fore], ["tail's track", canvas.aft]].forEach(([name, colour], i) => {
        canvas.polyline([[12 + 104 * i, 40], [26 + 104 * i, 40]], colour, 2.5);
        canvas.label(name, 32 + 104 * i, 40, canvas.muted, 11, [0, 0.5], [0, 0], canvas.plate);
      });
      canvas.label(target ? "it steers to the goal" : "drag: a goal to steer to; click on the body: cut the cord", 12, 60, canvas.muted, 11, [0, 0.5], [0, 0], canvas.plate);
      neurons(canvas, narrow ? [names, canvas.height - strip - cord, canvas.width - names - 8, cord - 16] : [canvas.width - side + names, 26, side - names - 10, canvas.height - strip - 44]);
      strips(canvas, [names, canvas.height - strip + 6, canvas.width - names - 8, strip - 14]);
    },

    /** Cut the cord where one clicks on the body; elsewhere, a click or a drag is where it steers to. */
    pointer(kind, px, py, show) {
      if (kind === "cancel" || !view || px > view.area[2] || py > view.area[3]) return false;
      if (kind !== "down") {
        if (target) target = view.from(px, py);
        return target !== null;
      }
      const at = view.from(px, py), joints = points();
      let best = 14 * view.point, cut = null;
      for (let i = 0; i < LINKS; i++) {
        for (let k = 0; k < SEGMENTS / LINKS; k++) {
          const t = ((k + 0.5) * LINKS) / SEGMENTS, x = joints[i][0] + t * (joints[i + 1][0] - joints[i][0]), y = joints[i][1] + t * (joints[i + 1][1] - joints[i][1]);
          const away = Math.hypot(at[0] - x, at[1] - y);
          if (away < best) [best, cut] = [away, (i * SEGMENTS) / LINKS + k];
        }
      }
      told = show;
      if (cut === null) target = at;
      else show.set("cut", cut);
      return true;
    },

    tell() {
      const first = moments.items[Math.max(0, moments.items.length - 80)], last = moments.items[moments.items.length - 1];
      if (!last || !(last.time > first.time)) return "It begins to swim.";
      const speed = Math.hypot(last.centre[0] - first.centre[0], last.centre[1] - first.centre[1]) / (last.time - first.time);
      const ups = moments.items.filter((m, i) => i && moments.items[i - 1].motion < 0 && m.motion >= 0).map((m) => m.time);
      const beats = ups.length > 1 ? (ups.length - 1) / (ups[ups.length - 1] - ups[0]) : 0;
      return `speed ${speed.toFixed(2)} m/s, ${beats.toFixed(1)} strokes a second`;
    },

    python(v) {
      const start = [];
      if (v.edge === "off") start.push('"feedback": 0.0');
      if (v.cut) start.push(`"transection": ${v.cut}`, `"bath": ${v.bath.toPrecision(3)} * (np.arange(${SEGMENTS}) >= ${v.cut})`);
      if (v.current || v.across) start.push(`"current": [${v.current.toPrecision(3)}, ${v.across.toPrecision(3)}]`);
      return `
import numpy as np
from gymnosoma.envs import simulate
from gymnosoma.envs.lamprey import Lamprey

lamprey = Lamprey(scheme="${v.scheme}")
start = {${start.join(", ")}}
run = simulate(lamprey, [${v.tonic.toPrecision(3)}, ${v.asymmetry.toPrecision(3)}, ${about.head_extra}], 10.0, every=0.01, start=start)
run.save("lamprey.npz")`;
    },
  };

  /** Set the asymmetry that turns the head's half to the goal, until it is reached. */
  function steer() {
    let u = 0, v = 0;
    for (let i = 0; i < LINKS; i++) [u, v] = [u - Math.cos(angle[i]), v - Math.sin(angle[i])];
    const [x, y] = [target[0] - centre[0], target[1] - centre[1]], error = Math.atan2(u * y - v * x, u * x + v * y);
    const [head] = points();
    if (Math.hypot(target[0] - head[0], target[1] - head[1]) < 0.2 * LENGTH) target = null;
    told.set("asymmetry", target ? Math.max(-0.3, Math.min(0.3, -0.4 * error)) : 0);
  }

  function body(canvas, joints) {
    const pieces = 8, middle = C.smooth(joints, pieces), last = middle.length - 1;
    const radius = middle.map((_, i) => {
      const at = (i / last) * LINKS, low = Math.min(Math.max(at - 0.5, 0), LINKS - 1), j = Math.min(Math.floor(low), LINKS - 2);
      const width = about.widths[j] + (low - j) * (about.widths[j + 1] - about.widths[j]);
      const head = 1 - Math.max(0, 1 - at / 0.9) ** 2;
      return 0.5 * width * Math.sqrt(Math.max(0, Math.min(1, head) * Math.min(1, 2 * (LINKS - at))));
    });
    const [right, left] = C.outline(middle, radius);
    view.polygon([...right, ...[...left].reverse()], colours.flesh, colours.shade, 1.5);
    [left, right].forEach((rim, side) => {
      for (let j = 0; j < JOINTS; j++) {
        const from = pieces * j + 5, to = pieces * j + 12, between = (share) => middle.slice(from, to).map((m, i) => [0, 1].map((a) => m[a] + share * (rim[from + i][a] - m[a])));
        view.polygon([...between(0.25), ...between(0.9).reverse()], C.mix(colours.muscle, canvas.warm, Math.min(1, motoneuron[side * JOINTS + j])));
      }
    });
    for (const rim of [left, right]) view.disc(0.62 * rim[4][0] + 0.38 * middle[4][0], 0.62 * rim[4][1] + 0.38 * middle[4][1], 2.2, [38, 46, 56]);
    if (values.cut) {
      const i = Math.round((values.cut / SEGMENTS) * last);
      view.polyline([left[i], right[i]].map((p) => [0, 1].map((a) => middle[i][a] + 1.8 * (p[a] - middle[i][a]))), canvas.ink, 3);
    }
  }

  /** All outputs along the body, seen from above: left side on top, rostral right; a thousand neurons and the edge cells. */
  function neurons(canvas, area) {
    const rows = [];
    for (const [side, order] of [[0, [4, 3, 2, 0, 1]], [1, [1, 0, 2, 3, 4]]]) for (const cell of order) rows.push([side, cell]);
    const pitch = area[3] / rows.length;
    rows.forEach(([side, cell], k) => {
      const y = area[1] + k * pitch + (side ? 4 : 0), count = cell === 4 ? JOINTS : SEGMENTS, full = cell === 4 ? 25 : 1;
      const panel = canvas.panel([area[0], y, area[2], pitch - 3], [0, 0], [count, 1]);
      canvas.box(panel.area, canvas.card);
      const shape = [[count, 0]];
      for (let q = 0; q < count; q++) {
        const level = Math.min(1, (cell === 4 ? edge(side, q) : output[(side * POPULATIONS + cell) * SEGMENTS + q]) / full);
        shape.unshift([count - q - 1, level], [count - q, level]);
      }
      shape.unshift([0, 0]);
      panel.polygon(shape, cell === 4 ? canvas.aft : cell === 3 ? canvas.warm : canvas.cold);
      canvas.label(CELLS[cell], area[0] - 5, y + 0.5 * pitch - 2, canvas.ink, 10, [1, 0.5]);
    });
    canvas.label("left", area[0], area[1] - 8, canvas.muted, 10);
    canvas.label("tail to head", area[0] + area[2], area[1] - 8, canvas.muted, 10, [1, 0.5]);
    canvas.label("right", area[0], area[1] + area[3] + 10, canvas.muted, 10);
  }

  function strips(canvas, area) {
    const height = 0.5 * (area[3] - 6);
    ["left", "right"].forEach((name, k) => {
      const cells = canvas.cells(name, JOINTS, COLUMNS), columns = raster[name];
      for (let j = 0; j < COLUMNS; j++) {
        for (let i = 0; i < JOINTS; i++) canvas.sequential(cells, i * COLUMNS + j, j < columns.length ? columns[j][i] : 0, 1, canvas.warm);
      }
      const y = area[1] + k * (height + 6);
      const seen = Math.max(columns.length, COLUMNS / 4);
      canvas.raster([area[0], y, area[2], height], cells, seen);
      canvas.label(`${name} motoneurons`, area[0] - 6, y + 0.5 * height - 6, canvas.ink, 10, [1, 0.5]);
      canvas.label(`last ${(HOLD * seen).toFixed(1)} s`, area[0] - 6, y + 0.5 * height + 7, canvas.muted, 9, [1, 0.5]);
    });
  }

  return scene;
});
