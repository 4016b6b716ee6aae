"use strict";
/* C. elegans in water and on agar: body, friction, power, kymogram. */

gymnosoma.Show.scene("worm", (animal) => {
  const C = gymnosoma.Canvas, about = animal.about, colours = about.colours;
  const RODS = animal.field("rod_angle").length, JOINTS = RODS - 1;
  const angle = animal.field("rod_angle"), centre = animal.field("centre"), drive = animal.field("control_angle");
  const points = animal.field("points", "points"), velocity = animal.field("rod_velocity"), length = animal.field("length");
  const work = animal.field("muscle_work"), effort = animal.field("muscle_effort");
  const HOLD = 0.02, COLUMNS = 400, SHOWN = 0.8, BEND = 0.08; // s, moments of a kymogram, rad of its deepest colour, rad
  const recorded = {};
  for (const [name, text] of Object.entries(about.recorded)) recorded[name] = new Float32Array(gymnosoma.bytes(text).buffer);
  let phase = 0, clock = 0, angles = null, frame = 0, power = 0, paid = 0, moments, kymogram, wave, usual, eye, view, target = null;

  /** Friction across and along the body, kg/s, of a medium from water (0) to agar (1). */
  function friction(sigma) {
    const [water, agar] = about.friction;
    return [0, 1].map((i) => water[i] ** (1 - sigma) * agar[i] ** sigma);
  }

  /** Mean speed of the centre and, in water and on agar, the score of the worm's tasks: this speed minus the cost of work
      and heat of the muscles. Both are those of the last periods of the wave, at most 3 s; dashes in the first period. */
  function speed() {
    const time = moments.column("time"), track = moments.column("centre"), bill = moments.column("paid"), last = time.length - 1;
    const periods = Math.floor(3 * values.frequency) || 1, scored = values.medium % 1 === 0;
    if (!(time[last] >= Math.min(3, 1 / values.frequency))) return `– mm/s${scored ? ", score –" : ""}`;
    const begin = time[last] - Math.min(3, periods / values.frequency);
    const first = time.findIndex((t) => t >= begin - 1e-9), span = time[last] - time[first];
    const way = Math.hypot(track[last][0] - track[first][0], track[last][1] - track[first][1]) / span;
    return `${(1e3 * way).toFixed(3)} mm/s${scored ? `, score ${(1e3 * (way - (bill[last] - bill[first]) / span)).toFixed(3)}` : ""}`;
  }

  /** The paper's travelling wave (rad), whose phase goes on where its frequency changes. */
  function sine(values, out) {
    const height = values.amplitude * Math.min(1, clock * values.frequency);
    const bend = target ? steering() : 0;
    for (let i = 0; i < JOINTS; i++) out[i] = bend + height * Math.cos(2 * Math.PI * ((values.wavenumber * i) / (JOINTS - 1) - phase));
  }

  /** Mean joint angle (rad) that turns the worm to the goal: a right turn is positive. */
  function steering() {
    let u = 0, v = 0;
    for (let i = 0; i < RODS; i++) [u, v] = [u - Math.cos(angle[i]), v - Math.sin(angle[i])];
    const [x, y] = [target[0] - centre[0], target[1] - centre[1]], error = Math.atan2(u * y - v * x, u * x + v * y);
    return -BEND * Math.max(-1, Math.min(1, 2 * error));
  }

  function forces() {
    const across = animal.field("friction_perpendicular")[0] / RODS, along = animal.field("friction_parallel")[0] / RODS;
    const found = [];
    power = 0;
    for (let i = 0; i < RODS; i++) {
      const back = animal.field("step")[0] > 0 ? 0.5 * animal.numbers.dt * animal.field("rod_rate")[i] : 0;
      const c = Math.cos(angle[i] - back), s = Math.sin(angle[i] - back), u = velocity[i], v = velocity[RODS + i];
      const forward = u * c + v * s, sideways = v * c - u * s;
      const force = [-along * forward * c + across * sideways * s, -along * forward * s - across * sideways * c];
      power -= force[0] * u + force[1] * v;
      found.push(force);
    }
    return found;
  }

  function body() {
    animal.call("points");
    return Array.from({ length: RODS + 1 }, (_, i) => [points[2 * i], points[2 * i + 1]]);
  }

  /** Do what the worm does in this medium, between the paper's two settings. */
  function match(show) {
    const sigma = values.medium, w = about.wave;
    show.set("wave", "sine");
    show.set("amplitude", w.wave_amplitude);
    show.set("wavenumber", (1 - sigma) * w.water_wavenumber + sigma * w.agar_wavenumber);
    show.set("frequency", 1 / ((1 - sigma) * w.water_period + sigma * w.agar_period));
  }

  let values;
  const scene = {
    title: "C. elegans swims in water and crawls on agar",
    hold: HOLD,
    pace: 1,
    controls: [
      { name: "medium", label: "Medium", low: 0, high: 1, value: 0, text: (v) => (v === 0 ? "water" : v === 1 ? "agar" : `${v.toFixed(2)} (water 0, agar 1)`) },
      { name: "wave", label: "Muscles follow", options: [["sine", "a sine"], ["omega_turn", "a recorded omega turn"], ["delta_turn", "a recorded delta turn"]], value: "sine" },
      { name: "wavenumber", label: "Waves on the body", low: 0.2, high: 2.5, value: about.wave.water_wavenumber },
      { name: "frequency", label: "Frequency", low: 0, high: 4, value: 1 / about.wave.water_period, unit: "Hz" },
      { name: "amplitude", label: "Amplitude", low: 0, high: 0.9, value: about.wave.wave_amplitude, unit: "rad" },
      { name: "match", label: "The paper's wave for this medium", press: (show) => match(show) },
    ],

    start(given) {
      values = given;
      phase = clock = frame = paid = 0;
      moments = new C.Trail(150);
      kymogram = { wanted: [], done: [] };
      usual = 0;
      eye = target = null;
    },

    change(given, name) {
      values = given;
      if (name === "medium") {
        const [across, along] = friction(given.medium);
        animal.set("friction_perpendicular", across);
        animal.set("friction_parallel", along);
      }
      if (name === "wave") {
        if (given.wave !== wave) frame = 0;
        wave = given.wave;
        angles = wave === "sine" ? null : recorded[wave];
      }
    },

    step(seconds) {
      const steps = Math.round(seconds / animal.numbers.dt);
      let well = true;
      for (let k = 0; well && k < steps; k++) {
        const dt = animal.numbers.dt;
        if (scene.command) {
          if (k === 0) scene.command(drive);
        } else if (angles) {
          const now = Math.min(Math.floor(frame * about.frame_rate + 1e-9), angles.length / JOINTS - 1);
          for (let i = 0; i < JOINTS; i++) drive[i] = angles[now * JOINTS + i];
        } else {
          phase += 0.5 * dt * values.frequency;
          clock += 0.5 * dt;
          sine(values, drive);
          phase += 0.5 * dt * values.frequency;
          clock += 0.5 * dt;
        }
        frame += dt;
        well = animal.advance(1);
        const [cost, heat] = about.price[Math.round(values.medium)];
        paid += cost * (work[0] + heat * effort[0]);
      }
      for (const [name, at] of [["wanted", (i) => drive[i]], ["done", (i) => angle[i + 1] - angle[i]]]) {
        kymogram[name].push(Float32Array.from({ length: JOINTS }, (_, i) => at(i)));
        if (kymogram[name].length > COLUMNS) kymogram[name].shift();
      }
      forces();
      const joints = body();
      if (target && Math.hypot(target[0] - joints[0][0], target[1] - joints[0][1]) < 0.1 * length[0]) target = null;
      moments.push({ time: animal.field("time")[0], power, paid, centre: [...centre], head: joints[0], tail: joints[RODS] });
      return well;
    },

    draw(canvas) {
      const narrow = canvas.width < 640, strip = narrow ? 120 : 116, side = narrow ? 0 : 250, traces = narrow ? 90 : 0, edge = narrow ? 72 : 92;
      const area = [0, 0, canvas.width - side, canvas.height - strip - traces];
      const joints = body(), force = forces(), at = [centre[0], centre[1]], L = length[0];
      eye = eye ? [0, 1].map((i) => eye[i] + 0.05 * (at[i] - eye[i])) : at;
      view = canvas.view(area, eye, narrow ? 2.2 * L : 2.8 * L);
      view.inside(() => {
        view.grid(0.5 * L, canvas.rule);
        for (const [name, colour] of [["tail", canvas.aft], ["head", canvas.fore]]) {
          const track = moments.column(name);
          if (track.length > 3) view.polyline(C.smooth(track, 3), colour, 1.25, canvas.paper);
        }
        scene.arrows(canvas, view, joints, force);
        if (scene.behind) scene.behind(canvas, view);
        if (target) view.goal(target);
        drawBody(canvas, view, joints);
      });
      view.scaleBar();
      const medium = values.medium === 0 ? "in water" : values.medium === 1 ? "on agar" : "in between";
      const lost = narrow ? "" : `, power ${C.quantity(Math.max(power, 0), "W", 2)}`;
      canvas.label(scene.headline ? scene.headline() : `${speed()}${lost}, ${medium}`, 12, 18, canvas.ink, 14, [0, 0.5], [0, 0], canvas.plate);
      if (!scene.command) canvas.label(target ? "it steers to the goal" : "click or drag: a goal for the worm", 12, narrow ? 78 : 40, canvas.muted, 11, [0, 0.5], [0, 0], canvas.plate);
      scene.traces(canvas, narrow ? [edge, canvas.height - strip - traces, canvas.width - edge - 8, traces - 6] : [canvas.width - side + 8, 12, side - 20, 110]);
      legend(canvas, ...(narrow ? [12, 40] : [canvas.width - side + 10, 146]));
      kymograms(canvas, [edge, canvas.height - strip + 6, canvas.width - edge - (narrow ? 8 : 12), strip - 16]);
    },

    arrows(canvas, view, joints, force) {
      const mean = Math.sqrt(force.reduce((sum, f) => sum + f[0] ** 2 + f[1] ** 2, 0) / RODS);
      usual = Math.max(mean, usual + 0.03 * (mean - usual)); // agar's forces are thousands of those of water
      if (!(usual > 0)) return;
      const scale = (0.13 * length[0]) / usual;
      force.forEach((f, i) => {
        view.arrow(0.5 * (joints[i][0] + joints[i + 1][0]), 0.5 * (joints[i][1] + joints[i + 1][1]), f[0] * scale, f[1] * scale, canvas.seen(colours.force), 1.25);
      });
      const shown = C.rounded(2 * usual), left = view.low[0] + 14 * view.point, low = view.low[1] + 16 * view.point;
      view.arrow(left, low, shown * scale, 0, canvas.seen(colours.force), 1.25);
      view.label(`friction ${C.quantity(shown, "N")}`, left, low, canvas.seen(colours.force), 11, [0, 1], [0, -8], canvas.plate);
    },

    traces(canvas, area) {
      const time = moments.column("time"), powers = moments.column("power");
      const limit = C.above(1.05 * Math.max(1e-12, ...powers));
      const panel = canvas.panel([area[0], area[1] + 20, area[2], area[3] - 20], [time.length ? Math.max(time[0], time[time.length - 1] - 3) : 0, 0], [1, limit]);
      panel.x = area[2] / 3;
      canvas.box(area, canvas.card);
      panel.inside(() => panel.polyline(time.map((t, i) => [t, powers[i]]), canvas.ink, 1.25));
      canvas.label(`power, up to ${C.quantity(limit, "W")}, 3 s`, area[0] + 6, area[1] + 10, canvas.muted, 11);
    },

    /** A click or a drag in the picture is where the worm steers to. */
    pointer(kind, px, py, show) {
      if (!view || scene.command || kind === "cancel") return false;
      const inside = px < view.area[0] + view.area[2] && py < view.area[1] + view.area[3];
      if (kind === "down" && (!inside || values.wave !== "sine")) return false;
      if (kind === "down" || target) target = view.from(px, py);
      return true;
    },

    tell: () => `Its centre is ${(1e3 * Math.hypot(centre[0], centre[1])).toFixed(1)} mm from the start.`,

    python(v) {
      const made = v.wave === "sine"
        ? `SineKymogram(${v.amplitude.toPrecision(4)}, ${v.wavenumber.toPrecision(4)}, period=${v.frequency > 0 ? (1 / v.frequency).toPrecision(4) : "1e9"})`
        : `KymogramPlayback("${v.wave}")`;
      return `
from gymnosoma.envs import simulate
from gymnosoma.envs.worm import ${v.wave === "sine" ? "SineKymogram" : "KymogramPlayback"}, Worm, WormParams

worm = Worm(WormParams.in_medium(sigma=${Number(v.medium.toPrecision(4))}))
run = simulate(worm, ${made}, duration=10.0, every=0.05)
run.save("worm.npz")`;
    },
  };

  /** The ellipse of an adult, with dorsal and ventral side and the two bulbs of the pharynx. */
  function drawBody(canvas, view, joints) {
    const middle = C.smooth(joints, 4), last = middle.length - 1;
    const radius = middle.map((_, i) => {
      const along = i / last;
      return colours.radius * length[0] * Math.sqrt(Math.max(0, 1 - (2 * along - 1) ** 2)) * Math.min(1, 0.15 + 0.85 * Math.sqrt(Math.max(0, 1 - along) / 0.3));
    });
    const [dorsal, ventral] = C.outline(middle, radius), whole = [...dorsal, ...[...ventral].reverse()];
    const wide = (colours.radius * length[0]) / view.point;
    view.polygon(whole, colours.flesh, colours.shade, 0.1 * wide);
    view.polygon([...middle, ...[...ventral].reverse()], C.mix(colours.flesh, colours.shade, 0.18));
    view.polyline(middle.slice(4, 24), C.mix(colours.flesh, colours.shade, 0.7), 0.22 * wide);
    view.disc(...middle[17], 0.28 * wide, colours.shade);
    view.disc(...middle[24], 0.36 * wide, colours.shade);
    view.polyline(dorsal, canvas.warm, 0.16 * wide);
    view.polyline(ventral, canvas.cold, 0.16 * wide);
    return view.disc(...middle[2], 0.36 * wide, canvas.fore);
  }

  function legend(canvas, x, y) {
    [["head", canvas.fore], ["tail", canvas.aft], ["dorsal", canvas.warm], ["ventral", canvas.cold]].forEach(([name, colour], i) => {
      canvas.polyline([[x + 118 * (i % 2), y + 18 * (i >> 1)], [x + 14 + 118 * (i % 2), y + 18 * (i >> 1)]], colour, 2.5);
      canvas.label(name, x + 20 + 118 * (i % 2), y + 18 * (i >> 1), canvas.muted, 11);
    });
  }

  function kymograms(canvas, area) {
    const height = 0.5 * (area[3] - 6);
    [["wanted", "command"], ["done", "actual"]].forEach(([name, title], k) => {
      const cells = canvas.cells(name, JOINTS, COLUMNS), columns = kymogram[name];
      for (let j = 0; j < COLUMNS; j++) {
        for (let i = 0; i < JOINTS; i++) canvas.diverging(cells, i * COLUMNS + j, j < columns.length ? columns[j][i] : 0, SHOWN);
      }
      const y = area[1] + k * (height + 6);
      const seen = Math.max(columns.length, COLUMNS / 4);
      canvas.raster([area[0], y, area[2], height], cells, seen);
      canvas.label(title, area[0] - 6, y + 0.5 * height - 7, canvas.ink, 11, [1, 0.5]);
      canvas.label(k ? `± ${SHOWN} rad` : `last ${(scene.hold * seen).toFixed(0)} s`, area[0] - 6, y + 0.5 * height + 7, canvas.muted, 9, [1, 0.5]);
    });
  }

  scene.tools = { friction, forces, sine, speed, body, drawBody };
  return scene;
});
