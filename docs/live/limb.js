"use strict";
/* The cat's hindlimb: its muscles hold a posture by their stiffness and a late stretch reflex; push it where one drags. */

gymnosoma.Show.scene("limb", (animal) => {
  const C = gymnosoma.Canvas, about = animal.about, colours = about.colours, limb = about.limb;
  const q = animal.field("q"), v = animal.field("v"), activation = animal.field("activation"), wrench = animal.field("wrench");
  const turn = animal.field("turn", "work"), origin = animal.field("origin", "work"), reaction = animal.field("reaction");
  const JOINTS = q.length, MUSCLES = activation.length, HOLD = 0.01, COLUMNS = 300;
  let values, raster, late, kick, lost, view;

  /** Place in the world, x and y, of a point of a body. */
  function place(body, at) {
    return [0, 1].map((i) => origin[3 * body + i] + [0, 1, 2].reduce((sum, j) => sum + turn[9 * body + 3 * i + j] * at[j], 0));
  }

  const sticks = () => limb.sticks.map(([body, from, to]) => [place(body, from), place(body, to)]);

  /** Excitations: the pattern, and to each muscle what its own stretch a delay ago adds. */
  function excite() {
    const felt = late.length > limb.periods ? late.shift() : null;
    return Array.from({ length: MUSCLES }, (_, m) => {
      let reflex = 0;
      if (felt) for (let j = 0; j < JOINTS; j++) reflex -= limb.arm[m][j] * (limb.stretch * felt[0][j] + limb.rate * felt[1][j]);
      reflex = values.reflex * Math.max(-limb.largest, Math.min(limb.largest, reflex));
      return Math.max(0, Math.min(1, limb.pattern[m] + reflex));
    });
  }

  const scene = {
    title: "The muscles of a cat's hindlimb hold a posture against pushes",
    hold: HOLD,
    pace: () => 1 / values.slowed,
    grab: true,
    controls: [
      { name: "force", label: "Force of a push", low: 0, high: 30, value: 10, unit: "N" },
      { name: "direction", label: "Its direction", low: -180, high: 180, value: 0, unit: "°" },
      { name: "go", label: "Push for 50 ms", press: () => (kick = { until: animal.field("time")[0] + 0.05 }) },
      { name: "reflex", label: "Stretch reflex", low: 0, high: 1, value: 1, text: (x) => `${Math.round(100 * x)} %` },
      { name: "strength", label: "Strength of the muscles", low: 0.2, high: 2, value: 1, text: (x) => `${Math.round(100 * x)} %` },
      { name: "slowed", label: "Slowed down", low: 1, high: 20, value: 4, text: (x) => `${x.toPrecision(2)} times` },
    ],

    start(given) {
      values = given;
      raster = [];
      late = [];
      kick = lost = null;
    },

    change(given) {
      values = given;
      animal.set("strength", given.strength);
    },

    step(seconds) {
      if (lost) return false;
      animal.drive(excite());
      late.push([Array.from(q, (x, j) => x - limb.posture[j]), [...v]]);
      const now = animal.field("time")[0];
      if (kick && kick.until !== undefined && now >= kick.until - 1e-9) kick = null;
      const force = kick ? kick.force || [values.force * Math.cos((values.direction * Math.PI) / 180), values.force * Math.sin((values.direction * Math.PI) / 180)] : [0, 0];
      wrench.set([force[0], force[1], 0, 0, 0, 0]);
      const well = animal.advance(Math.round(seconds / animal.numbers.dt));
      raster.push(Float32Array.from(activation));
      if (raster.length > COLUMNS) raster.shift();
      if (q.some((x, j) => Math.abs(x - limb.posture[j]) > limb.largest_error)) lost = animal.field("time")[0];
      return well && !lost;
    },

    draw(canvas) {
      const strip = 130, narrow = canvas.width < 640, reach = limb.reach;
      view = canvas.view([0, 0, canvas.width, canvas.height - strip], limb.middle, 1.05 * reach * Math.max(1, canvas.width / (canvas.height - strip)));
      const [paw] = sticks().slice(-1), ankle = place(limb.pushed, [0, 0, 0]);
      view.inside(() => {
        view.grid(C.rounded(0.25 * reach), canvas.rule);
        const thick = (0.045 * reach) / view.point;
        for (const stick of sticks()) view.polyline(stick, colours.edge, thick + 2);
        for (const stick of sticks()) view.polyline(stick, colours.bone, thick);
        for (const [body] of limb.sticks) view.disc(...place(body, [0, 0, 0]), 0.3 * thick + 1.5, colours.edge);
        const scale = (0.4 * reach) / 8.5;
        view.polyline([[view.low[0], paw[1][1]], [view.high[0], paw[1][1]]], colours.edge, 2);
        view.label("ground", view.low[0], paw[1][1], canvas.muted, 11, [0, 0.5], [12, 12], canvas.plate);
        view.arrow(...paw[1], scale * limb.paw_force[0], scale * limb.paw_force[1], canvas.goal, 4);
        view.arrow(...paw[1], scale * reaction[0], scale * reaction[1], canvas.ink, 2);
        const tip = [paw[1][0] + scale * limb.paw_force[0], paw[1][1] + scale * limb.paw_force[1]];
        view.label("target", ...tip, canvas.goal, 11, [0, 0.5], [12, -9], canvas.plate);
        view.label("force of the ground", ...tip, canvas.ink, 11, [0, 0.5], [12, 9], canvas.plate);
        const push = [wrench[0], wrench[1]];
        view.disc(...ankle, 16, [...canvas.cold, 45]);
        view.arrow(ankle[0] - 0.6 * scale * push[0], ankle[1] - 0.6 * scale * push[1], 0.6 * scale * push[0], 0.6 * scale * push[1], canvas.cold, 3);
      });
      view.scaleBar();
      canvas.label(scene.tell(), 12, 18, canvas.ink, 14, [0, 0.5], [0, 0], canvas.plate);
      activations(canvas, [narrow ? 66 : 112, canvas.height - strip + 8, canvas.width - (narrow ? 76 : 124), strip - 18]);
    },

    /** Drag the ankle: it is pulled towards where one drags, 1 N for each millimetre. */
    pointer(kind, px, py) {
      if (!view) return false;
      const at = view.from(px, py), ankle = place(limb.pushed, [0, 0, 0]), away = [at[0] - ankle[0], at[1] - ankle[1]];
      if (kind === "down" && Math.hypot(...away) > 40 * view.point) return false;
      if (kind === "up" || kind === "cancel") kick = null;
      else if (kind === "down" || (kick && kick.force)) {
        const size = Math.hypot(...away), most = Math.min(1, 30 / (1e3 * size || 1));
        kick = { force: away.map((a) => 1e3 * a * most) };
      } else return false;
      return true;
    },

    tell() {
      if (lost) return "The limb has left its posture.";
      const error = Math.sqrt(q.reduce((sum, x, j) => sum + (x - limb.posture[j]) ** 2, 0) / JOINTS);
      return `${((error * 180) / Math.PI).toFixed(1)}° from the posture (rms)`;
    },

    ended: () => (lost ? 'The limb has left its posture, by 40° in one joint. "Start again" restarts it.' : ""),

    python(x) {
      const angle = (x.direction * Math.PI) / 180;
      return `
import gymnasium, gymnosoma

env = gymnasium.make("gymnosoma/HindlimbHold-v0").unwrapped
limb, pattern = env.task.animal, env.task.pattern
push = [[${(x.force * Math.cos(angle)).toPrecision(4)}, ${(x.force * Math.sin(angle)).toPrecision(4)}, 0.0, 0.0, 0.0, 0.0]]
start = {"activation": pattern, "wrench": push, "strength": ${x.strength.toPrecision(3)}}
run = gymnosoma.envs.simulate(limb, pattern, 0.05, hold=0.01, start=start)
run.save("limb.npz")`;
    },
  };

  function activations(canvas, area) {
    const cells = canvas.cells("activation", MUSCLES, COLUMNS);
    for (let j = 0; j < COLUMNS; j++) for (let m = 0; m < MUSCLES; m++) canvas.sequential(cells, m * COLUMNS + j, j < raster.length ? raster[j][m] : 0, 1, canvas.warm);
    canvas.raster(area, cells, Math.max(raster.length, COLUMNS / 4));
    canvas.label("activation", area[0] - 6, area[1] + 0.5 * area[3] - 8, canvas.ink, 11, [1, 0.5]);
    canvas.label(`${MUSCLES} muscles`, area[0] - 6, area[1] + 0.5 * area[3] + 8, canvas.muted, 9, [1, 0.5]);
    const most = [...activation.keys()].sort((a, b) => activation[b] - activation[a]).slice(0, 3).map((m) => limb.muscles[m]);
    canvas.label(`most active: ${most.join(", ")}`, area[0] + 6, area[1] + 10, canvas.ink, 10, [0, 0.5], [0, 0], canvas.plate);
  }

  return scene;
});
