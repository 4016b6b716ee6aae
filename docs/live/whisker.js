"use strict";
/* The rat's whisker on sandpaper: stick and slip, moment and spectrum at its base, and that moment as a sound. */

gymnosoma.Show.scene("whisker", (animal) => {
  const C = gymnosoma.Canvas, about = animal.about, colours = about.colours;
  const angle = animal.field("segment_angle"), N = angle.length, size = animal.field("segment_length", "work"), length = animal.field("length");
  const distance = animal.field("plate_distance"), position = animal.field("plate_position"), tip = animal.field("tip");
  const HOLD = 50e-6, SAMPLES = 1024, SHOWN = SAMPLES * HOLD, HOP = SAMPLES / 2, REACH = 256, LEVEL = 0.4; // s, samples
  const moment = new Float64Array(SAMPLES), slipped = new Float32Array(SAMPLES), re = new Float64Array(SAMPLES), im = new Float64Array(SAMPLES);
  const power = new Float64Array(SAMPLES / 2), recent = new Float64Array(2 * SAMPLES), ending = new Float64Array(HOP);
  let values, count, sound = null, loud = 0, next = 0;

  const beyond = (i) => length[0] * ((N - i) / N) ** 1.5; // length of the hair beyond a node

  /** Nodes of the hair; the kernel has the lengths of the segments from the first step on. */
  function nodes() {
    const out = [[0, 0]];
    for (let i = 0; i < N; i++) {
      const h = size[i] || beyond(i) - beyond(i + 1);
      out.push([out[i][0] + h * Math.cos(angle[i]), out[i][1] + h * Math.sin(angle[i])]);
    }
    return out;
  }

  const slips = () => Math.abs(animal.field("slip_speed")[0]) > 0.5 * Math.abs(animal.field("plate_velocity")[0]);

  const scene = {
    title: "A rat's whisker sticks to sandpaper and slips",
    hold: HOLD,
    pace: () => 1 / values.slowed,
    controls: [
      { name: "speed", label: "Speed of the plate", low: 0.02, high: 0.6, value: 0.2, unit: "m/s" },
      { name: "distance", label: "Distance of the plate", low: 0.978, high: 1.01, value: 0.98, text: (v) => `${(100 * v).toFixed(2)} % of the whisker's length` },
      { name: "grain", label: "Slip length of the sandpaper", low: 0, high: 2, value: 1, text: (v) => C.quantity(1e-6 * 10 ** v, "m", 2) },
      { name: "relief", label: "Relief", options: [["flat", "flat"], ["grating", `a grating, ${C.quantity(about.period, "m")}`]], value: "flat" },
      { name: "slowed", label: "Slowed down", low: 1, high: 200, value: 40, text: (v) => `${v.toPrecision(2)} times` },
      { name: "sound", label: "Moment as a sound", options: [["off", "off"], ["on", "on"]], value: "off", unkept: true },
    ],

    start(given) {
      values = given;
      count = 0;
      moment.fill(0);
      slipped.fill(0);
      power.fill(0);
      recent.fill(0);
      ending.fill(0);
      loud = 0;
    },

    change(given, name) {
      values = given;
      animal.set("memory_length", 1e-6 * 10 ** given.grain);
      animal.set("relief", given.relief === "grating" ? 1 : 0);
      animal.numbers.dt = given.relief === "grating" ? 5e-6 : 10e-6;
      if (name === "sound") listen(given.sound === "on");
    },

    step(seconds) {
      const aim = values.distance * length[0];
      animal.drive([values.speed, Math.max(-0.05, Math.min(0.05, (aim - distance[0]) / 0.01)), 0]);
      const well = animal.advance(Math.round(seconds / animal.numbers.dt));
      const M = animal.field("base_wrench_mean")[0];
      moment[count % SAMPLES] = recent[count % recent.length] = M;
      slipped[count % SAMPLES] = slips() ? 1 : 0;
      count += 1;
      return well;
    },

    after() {
      if (sound) play();
    },

    draw(canvas) {
      const narrow = canvas.width < 640, wide = narrow ? canvas.width : 0.58 * canvas.width, high = narrow ? 300 : canvas.height, L = length[0];
      const line = C.smooth(nodes(), 3);
      const view = canvas.view([0, 0, wide, high], [0.1 * L, 0.53 * L], narrow ? 1.35 * L : 1.3 * L * Math.max(1, wide / high));
      view.inside(() => {
        plate(canvas, view, 1e-3);
        const last = line.length - 1, radius = line.map((_, i) => Math.max(6 * (about.radii[0] + ((about.radii[1] - about.radii[0]) * i) / last), 0.8 * view.point));
        const [left, right] = C.outline(line, radius);
        view.polygon([...left, ...right.reverse()], canvas.seen(colours.whisker));
        view.polygon([[-0.03 * L, -0.06 * L], [0.03 * L, -0.06 * L], [0.03 * L, 0], [-0.03 * L, 0]], canvas.ink);
      });
      view.scaleBar();
      close(canvas, line, narrow ? [canvas.width - 138, 70, 128, 130] : [wide - 206, 96, 196, 180]);
      [["stick", canvas.warm], ["slip", canvas.goal]].forEach(([name, colour], k) => {
        canvas.disc(20 + 60 * k, high - 18, 4, colour);
        canvas.label(name, 30 + 60 * k, high - 18, canvas.muted, 11);
      });
      canvas.label(`plate ${C.quantity(values.speed, "m/s")}, slowed down ${values.slowed.toPrecision(2)} times`, 12, 18, canvas.ink, 14, [0, 0.5], [0, 0], canvas.plate);
      const area = narrow ? [10, high + 8, canvas.width - 20, canvas.height - high - 16] : [wide + 12, 12, canvas.width - wide - 24, canvas.height - 24];
      const half = 0.5 * (area[3] - 8);
      trace(canvas, [area[0], area[1], area[2], half]);
      spectrum(canvas, [area[0], area[1] + half + 8, area[2], half]);
    },

    tell: () => (slips() ? "The tip slips." : "The tip sticks to the plate."),

    ended: () => (animal.failure ? `${animal.failure[0].toUpperCase()}${animal.failure.slice(1)}. "Start again" restarts it.` : ""),

    python(v) {
      const relief = v.relief === "grating";
      return `
from gymnosoma.envs import simulate
from gymnosoma.envs.whisker_rod import ${relief ? "Relief, " : ""}WhiskerRod, WhiskerRodParams

rod = WhiskerRod(WhiskerRodParams(memory_length=${(1e-6 * 10 ** v.grain).toPrecision(4)})${relief ? `, relief=Relief.sine(1e-6, ${about.period})` : ""})
start = {"plate_distance": ${v.distance.toPrecision(5)} * rod.params.length}
run = simulate(rod, [${v.speed.toPrecision(4)}, 0.0, 0.0], 0.1, hold=1e-3, start=start)
run.save("whisker.npz")`;
    },
  };

  /** The plate with its grains, which move with it. */
  function plate(canvas, view, grain) {
    const height = (x) => distance[0] + (values.relief === "grating" ? about.top * Math.sin((2 * Math.PI * (x - position[0])) / about.period) : 0);
    const line = Array.from({ length: 121 }, (_, i) => view.low[0] + ((view.high[0] - view.low[0]) * i) / 120).map((x) => [x, height(x)]);
    view.polygon([...line, view.high, [view.low[0], view.high[1]]], C.mix(canvas.paper, colours.grit, 0.45));
    view.polyline(line, colours.grit, 1.5);
    const first = Math.floor((view.low[0] - position[0]) / grain);
    for (let k = first; k < first + (view.high[0] - view.low[0]) / grain + 1; k++) {
      const u = chance(12.9898 * (k % 1000)), v = chance(78.233 * (k % 1000));
      view.disc(position[0] + (k + 0.1 + 0.8 * u) * grain, distance[0] + (0.1 + 0.8 * v) * grain, (0.12 * grain) / view.point, colours.grit);
    }
  }

  /** A number between 0 and 1 that looks like a random one, always the same for the same. */
  function chance(seed) {
    const x = 43758.5453 * Math.sin(seed);
    return x - Math.floor(x);
  }

  /** Magnified tip, with the force of the plate on it. */
  function close(canvas, line, area) {
    const L = length[0], view = canvas.view(area, [tip[0], distance[0] - 0.004 * L], 0.05 * L);
    canvas.box([area[0] - 1, area[1] - 1, area[2] + 2, area[3] + 2], canvas.rule);
    canvas.box(area, canvas.paper);
    view.inside(() => {
      plate(canvas, view, 0.1e-3);
      view.polyline(line, canvas.seen(colours.whisker), 3);
      view.disc(tip[0], tip[1], 5, slips() ? canvas.goal : canvas.warm);
      const force = animal.field("tip_force");
      view.arrow(tip[0], tip[1], (6e-3 * L * force[0]) / 1e-6, (6e-3 * L * force[1]) / 1e-6, canvas.cold, 2);
      view.label(C.quantity(Math.hypot(force[0], force[1]), "N", 2), tip[0], tip[1], canvas.cold, 11, [0.5, 0], [0, 16], canvas.plate);
    });
    canvas.label("tip", area[0] + 6, area[1] + area[3] - 10, canvas.muted, 11);
  }

  function trace(canvas, area) {
    const shown = Math.min(count, SAMPLES), limit = 6e-8, panel = canvas.panel(area, [0, -limit], [SAMPLES, limit]);
    canvas.box(area, canvas.card);
    panel.polyline([[0, 0], [SAMPLES, 0]], canvas.rule, 1);
    panel.inside(() => {
      const line = [];
      for (let i = 0; i < shown; i++) line.push([i, moment[(count - shown + i) % SAMPLES]]);
      panel.polyline(line, canvas.ink, 1.25);
      for (let i = 0; i < shown; i += 4) {
        const [x] = panel.at(i, 0);
        canvas.box([x, area[1] + area[3] - 4, (4 * area[2]) / SAMPLES + 0.5, 4], slipped[(count - shown + i) % SAMPLES] ? canvas.goal : canvas.warm);
      }
    });
    canvas.label(`moment at the base, ± ${C.quantity(limit, "N m")}, ${Math.round(1e3 * SHOWN)} ms`, area[0] + 6, area[1] + 10, canvas.muted, 11);
  }

  /** Power of the moment by frequency, up to 2 kHz, of what the trace shows. */
  function spectrum(canvas, area) {
    let mean = 0;
    for (let i = 0; i < SAMPLES; i++) mean += moment[i] / SAMPLES;
    for (let i = 0; i < SAMPLES; i++) {
      re[i] = (moment[(count + i) % SAMPLES] - mean) * (0.5 - 0.5 * Math.cos((2 * Math.PI * i) / SAMPLES));
      im[i] = 0;
    }
    transform(re, im);
    const top = Math.floor(2000 * SHOWN), line = [[0, -5]];
    for (let i = 1; i <= top; i++) {
      power[i] += 0.2 * ((1e18 * (re[i] ** 2 + im[i] ** 2)) / SAMPLES ** 2 - power[i]);
      line.push([i, Math.log10(power[i] + 1e-9)]);
    }
    const panel = canvas.panel([area[0], area[1], area[2], area[3] - 20], [0, -5], [top, 3]); // its axis is below
    canvas.box(area, canvas.card);
    panel.inside(() => panel.polygon([...line, [top, -5]], canvas.aft));
    for (const kHz of [0.5, 1, 1.5]) canvas.label(`${kHz} kHz`, panel.at(kHz * 1e3 * SHOWN, 0)[0], area[1] + area[3] - 10, canvas.ink, 10, [0.5, 0.5]);
    canvas.label("power of the moment, log10 (nN m)²", area[0] + 6, area[1] + 10, canvas.muted, 11);
  }

  /** Fourier transform in place, of a power of two numbers. */
  function transform(a, b) {
    for (let i = 1, j = 0; i < a.length; i++) {
      let bit = a.length >> 1;
      for (; j & bit; bit >>= 1) j ^= bit;
      j ^= bit;
      if (i < j) [a[i], a[j], b[i], b[j]] = [a[j], a[i], b[j], b[i]];
    }
    for (let size = 2; size <= a.length; size *= 2) {
      for (let k = 0; k < size / 2; k++) {
        const c = Math.cos((2 * Math.PI * k) / size), s = -Math.sin((2 * Math.PI * k) / size);
        for (let i = k; i < a.length; i += size) {
          const j = i + size / 2, x = c * a[j] - s * b[j], y = s * a[j] + c * b[j];
          a[j] = a[i] - x;
          b[j] = b[i] - y;
          a[i] += x;
          b[i] += y;
        }
      }
    }
  }

  function listen(on) {
    if (on && !sound && window.AudioContext) sound = new AudioContext();
    if (!on && sound) {
      sound.close();
      sound = null;
    }
    next = 0;
  }

  /** The newest 51 ms of the moment as samples within -LEVEL and LEVEL, which fade in and out: a grain of the sound.

      Grains that overlap by half sound at the whisker's own pitch, however much it is slowed down. Each is taken from
      where it goes on best from the one before. */
  function grain() {
    const at = (i) => recent[(count + i) % recent.length], first = recent.length - SAMPLES; // at(0) is the oldest
    let shift = 0, best = -Infinity;
    for (let j = 0; j < REACH; j += 2) {
      let alike = 0;
      for (let i = 0; i < HOP; i += 4) alike += at(first - j + i) * ending[i];
      if (alike > best) [best, shift] = [alike, j];
    }
    const data = Float32Array.from({ length: SAMPLES }, (_, i) => 1e9 * at(first - shift + i));
    const mean = data.reduce((a, b) => a + b, 0) / SAMPLES;
    for (let i = 0; i < HOP; i++) ending[i] = 1e-9 * (data[HOP + i] - mean);
    const peak = data.reduce((most, each) => Math.max(most, Math.abs(each - mean)), 0);
    loud = Math.max(0.95 * loud, peak, 0.1); // nN m
    return data.map((each, i) => ((LEVEL * (each - mean)) / loud) * (0.5 - 0.5 * Math.cos((2 * Math.PI * i) / SAMPLES)));
  }

  /** Send grains to the loudspeaker, a tenth of a second ahead. */
  function play() {
    next = Math.max(next, sound.currentTime + 0.02);
    while (next < sound.currentTime + 0.1) {
      const buffer = sound.createBuffer(1, SAMPLES, 1 / HOLD), source = sound.createBufferSource();
      buffer.copyToChannel(grain(), 0);
      source.buffer = buffer;
      source.connect(sound.destination);
      source.start(next);
      next += HOP * HOLD;
    }
  }

  scene.tools = { grain, recent, HOP };
  return scene;
});
