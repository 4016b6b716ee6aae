"use strict";
/* A person on a platform: push the ground; the late reflexes of the hips keep the balance, or do not. */

gymnosoma.Show.scene("figure", (animal) => {
  const C = gymnosoma.Canvas, about = animal.about, colours = about.colours;
  const q = animal.field("q"), impulse = animal.field("impulse"), mode = animal.field("mode"), neuron = animal.field("neuron");
  const HOLD = 0.01, SHOWN = 4, { hips, leg, ramp, hold, delay, lowest, leaning } = about.figure;
  let values, moments, fell, pushed, pulled = null;

  /** What a person's posture (5 joints) looks like: trunk, head, legs. */
  function posture(q) {
    const across = [Math.cos(q[2]), Math.sin(q[2])], up = [-across[1], across[0]];
    const at = (a, b) => [q[0] + a * across[0] + b * up[0], q[1] + a * across[1] + b * up[1]];
    const trunk = [at(-0.5 * hips, 0), at(0.5 * hips, 0), at(0.17, 0.5), at(-0.17, 0.5)];
    const feet = [3, 4].map((i) => [trunk[i - 3][0] + leg * Math.sin(q[2] + q[i]), trunk[i - 3][1] - leg * Math.cos(q[2] + q[i])]);
    return { trunk, feet, head: at(0, 0.68), neck: at(0, 0.5) };
  }

  const scene = {
    title: "A person stands on a platform that is pushed",
    hold: HOLD,
    pace: 1,
    controls: [
      { name: "push", label: "Push of the ground", low: -0.6, high: 0.6, value: -0.25, unit: "m/s" },
      { name: "go", label: "Push the ground", press: (show) => push(show) },
      { name: "stance", label: "Stance (restarts)", options: Object.keys(about.starts).sort((a, b) => a - b).map((s) => [s, `${s} hip widths`]), value: "1.1" },
      { name: "delay", label: "Delay of the senses", low: 5, high: Math.round(1e3 * delay), step: 1, value: Math.round(1e3 * delay), unit: "ms" },
      { name: "stiffness", label: "Stiffness of the reflex", low: 0, high: 600, value: about.gains[0], unit: "N m/rad" },
      { name: "damping", label: "Damping of the reflex", low: 0, high: 200, value: about.gains[1], unit: "N m s/rad" },
    ],

    start(given) {
      values = given;
      animal.restore(about.starts[given.stance].state);
      moments = new C.Trail(Math.round(SHOWN / HOLD));
      fell = pushed = null;
    },

    change(given, name) {
      const anew = name === "stance" && values && moments.items.length > 0 && given.stance !== scene.stance;
      values = given;
      scene.stance = given.stance;
      if (anew) {
        animal.reset();
        scene.start(given);
      }
      animal.drive([about.starts[given.stance].splay, given.stiffness, given.damping]);
      animal.set("delay", Math.max((1e-3 * given.delay) / delay, about.parameters.delay.low));
    },

    step(seconds) {
      if (fell) return false;
      const well = animal.advance(Math.round(seconds / animal.numbers.dt)), time = animal.field("time")[0];
      moments.push({ time, q: [...q], known: [neuron[0], neuron[2], neuron[4]], feet: posture(q).feet.map((f) => f[0]), slips: [mode[0] >= 2, mode[1] >= 2] });
      const lean = Math.max(Math.abs(q[2]), Math.abs(q[2] + q[3]), Math.abs(q[2] + q[4]));
      if (lean > leaning || q[1] < lowest) {
        const { feet } = posture(q);
        fell = { time, side: q[0] > 0.5 * (feet[0][0] + feet[1][0]) ? "right" : "left" };
      }
      return well && !fell;
    },

    draw(canvas) {
      const narrow = canvas.width < 640, wide = narrow ? canvas.width : 0.6 * canvas.width, high = narrow ? 330 : canvas.height;
      const tall = 2.2, view = canvas.view([0, 0, wide, high], [q[0], 0.5 * tall - 0.3], (tall * wide) / high);
      view.inside(() => {
        ground(canvas, view);
        const last = moments.items[moments.items.length - 1];
        if (last) {
          const then = moments.items[Math.max(0, moments.items.length - 1 - Math.round((1e-3 * values.delay) / HOLD))];
          person(canvas, view, then.q, true);
        }
        person(canvas, view, q, false);
        forces(canvas, view);
      });
      view.scaleBar();
      canvas.label(scene.tell(), 12, 18, canvas.ink, 14, [0, 0.5], [0, 0], canvas.plate);
      canvas.label("drag to a side: push the ground", 12, high - 14, canvas.muted, 11, [0, 0.5], [0, 0], canvas.plate);
      if (pulled) canvas.arrow(...pulled.from, pulled.to[0] - pulled.from[0], 0, canvas.warm, 3);
      const area = narrow ? [10, high + 26, canvas.width - 20, canvas.height - high - 34] : [wide + 12, 30, canvas.width - wide - 24, canvas.height - 42];
      traces(canvas, area);
    },

    /** A drag to a side pushes the ground there, the further the faster; a click, towards the side that is clicked. */
    pointer(kind, px, py, show) {
      if (kind === "down") pulled = { from: [px, py], to: [px, py] };
      if (!pulled) return false;
      if (kind === "move") pulled.to = [px, py];
      const way = pulled.to[0] - pulled.from[0];
      if (Math.abs(way) > 8) show.set("push", Math.max(-0.6, Math.min(0.6, 0.003 * way)));
      if (kind === "up") {
        const side = px < (show.canvas.width < 640 ? 0.5 : 0.3) * show.canvas.width ? -1 : 1;
        if (Math.abs(way) <= 8) show.set("push", side * Math.max(0.05, Math.abs(values.push)));
        push(show);
      }
      if (kind === "up" || kind === "cancel") pulled = null;
      return true;
    },

    tell() {
      if (fell) return `It fell to the ${fell.side}, ${pushed === null ? fell.time.toFixed(1) + " s after the start" : (fell.time - pushed).toFixed(1) + " s after the push"}.`;
      if (pushed === null) return "It stands; push the ground.";
      const now = animal.field("time")[0] - pushed;
      return now < 2 * ramp + hold ? "The ground moves." : now < 3 ? "The ground has stopped." : "It has kept its balance.";
    },

    ended: () => (fell ? `${scene.tell()} "Start again" puts it on its feet.` : ""),

    python(v) {
      return `
from gymnosoma.envs import simulate
from gymnosoma.envs.neuromechanic import Neuromechanic
from gymnosoma.envs.neuromechanic.standing import ramp_and_hold, reflex_input, standing

figure = Neuromechanic(standing(${v.stance}))
start = {"pulse": ramp_and_hold(0.2, ${v.push.toPrecision(3)}), "delay": ${((1e-3 * v.delay) / delay).toPrecision(4)}}
run = simulate(figure, reflex_input(${v.stance}, ${v.stiffness.toPrecision(4)}, ${v.damping.toPrecision(4)}), 4.0, every=0.01, start=start)
run.save("figure.npz")`;
    },
  };

  /** Accelerate the ground by a half-sine to the speed that is set, and stop it later. */
  function push(show) {
    if (fell) show.restart();
    pushed = animal.field("time")[0] + HOLD;
    const peak = (values.push * Math.PI) / (2 * ramp);
    animal.field("pulse").set([pushed, ramp, peak, pushed + ramp + hold, ramp, -peak]);
  }

  /** How far the ground has moved since it was pushed, m. */
  function moved() {
    const pulses = animal.field("pulse"), time = animal.field("time")[0];
    return [0, 3].reduce((sum, i) => {
      const [onset, duration, peak] = pulses.slice(i, i + 3), since = Math.max(0, time - onset);
      const within = Math.min(since, duration), pace = Math.PI / duration;
      return sum + (peak / pace) * (within - Math.sin(pace * within) / pace + 2 * (since - within));
    }, 0);
  }

  function ground(canvas, view) {
    const shift = moved(), [low, high] = [view.low[0], view.high[0]];
    for (let k = Math.ceil((low + shift) / 0.5); k <= (high + shift) / 0.5; k++) view.polyline([[0.5 * k - shift, 0], [0.5 * k - shift, view.high[1]]], canvas.rule, 0.75);
    view.polygon([[low, -0.1], [high, -0.1], [high, 0], [low, 0]], C.mix(canvas.card, canvas.rule, 0.8));
    view.polyline([[low, 0], [high, 0]], colours.edge, 1.5);
    for (let k = Math.ceil(low / 0.25); k <= high / 0.25; k++) view.polyline([[0.25 * k, 0], [0.25 * k - 0.04, -0.1]], colours.edge, 1);
    [canvas.fore, canvas.aft].forEach((colour, side) => {
      moments.items.forEach((m, i) => {
        if (i && m.slips[side]) view.polyline([[moments.items[i - 1].feet[side], -0.012], [m.feet[side], -0.012]], colour, 5);
      });
    });
  }

  /** A part of the body from one point to another, with half widths (m) at equal distances. */
  function flesh(view, from, to, widths, colour, edge) {
    const line = C.smooth(widths.map((w, i) => [i / (widths.length - 1), w]), 6);
    const [left, right] = C.outline(line.map(([s]) => [0, 1].map((j) => from[j] + s * (to[j] - from[j]))), line.map(([, w]) => w));
    view.polygon([...left, ...right.reverse()], colour, edge, 1.5);
  }

  function person(canvas, view, q, felt) {
    const { trunk, feet, head, neck } = posture(q), hips = [0, 1].map((j) => 0.5 * (trunk[0][j] + trunk[1][j]));
    if (felt) {
      for (const line of [[trunk[0], feet[0]], [trunk[1], feet[1]], [...trunk, trunk[0]]]) view.polyline(line, canvas.cold, 1.25);
      const ring = Array.from({ length: 37 }, (_, i) => [head[0] + 0.105 * Math.cos((i * Math.PI) / 18), head[1] + 0.105 * Math.sin((i * Math.PI) / 18)]);
      return view.polyline(ring, canvas.cold, 1.25);
    }
    const up = [0, 1].map((j) => (neck[j] - hips[j]) / 0.5), across = [up[1], -up[0]];
    const shifted = (at, u, v) => [0, 1].map((j) => at[j] + u * across[j] + v * up[j]);
    for (const i of [0, 1]) flesh(view, trunk[i], feet[i], [0.05, 0.085, 0.065, 0.048, 0.056, 0.034, 0.045], colours.bone, colours.edge);
    flesh(view, shifted(hips, 0, -0.06), shifted(hips, 0, 0.6), [0.15, 0.165, 0.14, 0.145, 0.165, 0.19, 0.185, 0.05], colours.bone, colours.edge);
    view.disc(...head, 0.105 / view.point + 1, colours.edge);
    view.disc(...head, 0.105 / view.point, colours.bone);
    for (const i of [0, 1]) {
      for (const flank of [-1, 1]) { // the muscle that turns the leg towards its flank is active
        const level = Math.max(0, Math.min(1, (flank * neuron[neuron.length - 2 + i]) / 30));
        const knee = [0, 1].map((j) => trunk[i][j] + 0.28 * (feet[i][j] - trunk[i][j]));
        const colour = C.mix([228, 196, 186], canvas.warm, level);
        flesh(view, shifted(trunk[i], 0.05 * flank, 0.13), shifted(knee, 0.035 * flank, 0), [0.003, 0.014 + 0.012 * level, 0.003], colour, colours.edge);
      }
      view.disc(...trunk[i], 3, colours.edge);
    }
  }

  function forces(canvas, view) {
    const { feet } = posture(q), dt = animal.numbers.dt;
    feet.forEach((foot, i) => {
      const normal = impulse[2 * i] / dt, along = impulse[2 * i + 1] / dt;
      if (!(normal > 0)) return;
      view.arrow(foot[0], foot[1], (0.55 / 700) * along, (0.55 / 700) * normal, canvas.goal, 3);
      view.label(`${normal.toFixed(0)} N`, foot[0], foot[1] + 0.16, canvas.goal, 11, [i ? 0 : 1, 0.5], [i ? 22 : -22, 0], canvas.plate);
    });
  }

  function traces(canvas, area) {
    const height = (area[3] - 12) / 3, time = moments.column("time");
    canvas.label("true", area[0], area[1] - 12, canvas.ink, 12);
    canvas.label(`delayed by ${values.delay.toFixed(0)} ms`, area[0] + 40, area[1] - 12, canvas.cold, 12);
    ["torso", "left hip", "right hip"].forEach((name, k) => {
      const angle = moments.items.map((m) => (m.q[2 + k] * 180) / Math.PI), known = moments.items.map((m) => (m.known[k] * 180) / Math.PI);
      const panel = canvas.trace([area[0], area[1] + k * (height + 6), area[2], height], time, angle, SHOWN, 40, canvas.ink, `${name}  ± 40°`);
      panel.inside(() => panel.polyline(time.map((t, i) => [t, known[i]]), canvas.cold, 1.25));
    });
  }

  return scene;
});
