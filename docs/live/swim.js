"use strict";
/* A trained swimmer: the worm, moved by its network, and in grey the paper's wave. Needs worm.js, and its table a policy. */

gymnosoma.Show.scene("swim", (animal, ghost) => {
  const about = animal.about, policy = about.policy, scene = gymnosoma.Show.make("worm", animal), worm = { ...scene };
  const own = gymnosoma.Show.make("worm", ghost);
  const angle = animal.field("rod_angle"), rate = animal.field("rod_rate"), velocity = animal.field("centre_velocity"), JOINTS = angle.length - 1;
  const numbers = (text) => new Float32Array(gymnosoma.bytes(text).buffer);
  const layers = policy.layers.map(([shape, weights, biases]) => [shape, numbers(weights), numbers(biases)]);
  let action, goal, paths;

  /** Components of a vector of the world along and to the left of the head. */
  function inBody(vector) {
    const heading = angle[0] + Math.PI, c = Math.cos(heading), s = Math.sin(heading);
    return [c * vector[0] + s * vector[1], c * vector[1] - s * vector[0]];
  }

  const SENSES = {
    joint_angle: () => Array.from({ length: JOINTS }, (_, i) => angle[i + 1] - angle[i]),
    joint_rate: () => Array.from({ length: JOINTS }, (_, i) => rate[i + 1] - rate[i]),
    action: () => action,
    velocity: () => inBody(velocity),
    direction: () => inBody(goal),
  };

  /** What the network is told: fields in the task's order, in their scales. */
  function observe() {
    const seen = policy.fields.flatMap(([name]) => SENSES[name]());
    return seen.map((value, i) => Math.max(-policy.limit, Math.min(policy.limit, value / policy.scale[i])));
  }

  /** What the network answers: layers with tanh between them, within -1 and 1. */
  function act(observation) {
    let x = observation;
    layers.forEach(([[outputs, inputs], weights, biases], k) => {
      const before = k ? x.map(Math.tanh) : x;
      x = Array.from({ length: outputs }, (_, o) => {
        let sum = biases[o];
        for (let i = 0; i < inputs; i++) sum += weights[o * inputs + i] * before[i];
        return sum;
      });
    });
    return x.map((value) => Math.max(-1, Math.min(1, value)));
  }

  Object.assign(scene, {
    title: "A worm that a neural network swims, beside the paper's wave",
    hold: 1 / policy.control_rate,
    controls: worm.controls.filter((each) => ["wavenumber", "frequency", "amplitude"].includes(each.name)).map((each) => ({ ...each, label: `${each.label} (grey)` })),

    start(given) {
      const water = { ...given, medium: 0, wave: "sine" };
      worm.start(water);
      own.start(water);
      action = policy.modes.map(() => 0);
      goal = [-Math.cos(0), -Math.sin(0)]; // the worm lies along x, its head at -x
      paths = [[0, 0], [0, 0]];
    },

    change(given, name) {
      worm.change({ ...given, medium: 0, wave: "sine" }, name);
      own.change({ ...given, medium: 0, wave: "sine" }, name);
    },

    /** Joints' control angles of the action, which change no faster than the task allows. */
    command(drive) {
      action = act(observe());
      const step = policy.fastest / policy.control_rate, most = policy.largest_angle;
      for (let i = 0; i < JOINTS; i++) {
        const sum = most * action.reduce((total, a, m) => total + a * policy.modes[m][i], 0);
        drive[i] = Math.min(Math.max(Math.max(-most, Math.min(most, sum)), drive[i] - step), drive[i] + step);
      }
    },

    step(seconds) {
      const well = worm.step(seconds) && own.step(seconds);
      paths = [animal, ghost].map((each) => -each.field("centre")[0]);
      return well;
    },

    behind: (canvas, view) => own.tools.drawBody(canvas, view, own.tools.body(), [110, 116, 126]),

    tell: () => `${(1e3 * paths[0]).toFixed(2)} mm ahead, the paper's wave ${(1e3 * paths[1]).toFixed(2)} mm`,

    headline: () => scene.tell(),

    python: () => `
import gymnosoma
from gymnosoma.agents.policies.lookup import evaluate, find_policy

usual = {"curl": 0.0, "drag": 1.0, "strength": 1.0}
for name in ("trained", "baseline"):
    print(evaluate("${policy.id}", find_policy("${policy.id}", name), 4, options=usual).returns)`,
  });

  scene.tools = {
    ...scene.tools,
    observe,
    act,
    /** Sense and answer in a state that is given, for tests. */
    answer(state) {
      for (const name of ["rod_angle", "rod_rate", "centre_velocity"]) animal.field(name).set(state[name]);
      action = state.action;
      goal = state.goal;
      const seen = observe();
      return [seen, act(seen)];
    },
  };
  return scene;
});
