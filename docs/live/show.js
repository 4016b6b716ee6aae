"use strict";
/* Puts an animal into every element with data-gymnosoma="NAME": canvas, sliders, and what goes with them. */

gymnosoma.Show = (function () {
  const LONGEST = 0.05; // s of real time that a frame makes up for
  const BUSIEST = 5; // ms that a frame computes at most; where that does not do, the animal is slower than chosen
  const shows = {};

  /** Register what an animal looks like and what may be changed; see worm.js for what a scene has; `make` takes the animal. */
  function scene(name, make) {
    shows[name] = make;
  }

  function create(tag, about = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(about)) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value !== false) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children);
    return element;
  }

  /** Values that a link sets, as in #worm:medium=0.5,wave=sine, and sentences about those that are wrong. */
  function fromLink(hash, name, controls) {
    const values = {}, wrong = [];
    if (!hash.startsWith(`#${name}:`)) return [values, wrong];
    let text;
    try {
      text = decodeURIComponent(hash.slice(name.length + 2));
    } catch {
      return [values, ["The link cannot be read; everything is as usual."]];
    }
    for (const part of text.split(",")) {
      const [key, given = ""] = part.split("="), control = controls.find((each) => each.name === key && each.value !== undefined && !each.unkept);
      if (!control) {
        wrong.push(`The link sets "${key.slice(0, 40)}", which is not known here.`);
      } else if (control.options) {
        if (control.options.some(([option]) => option === given)) values[key] = given;
        else wrong.push(`The link sets ${control.label} to "${given.slice(0, 40)}"; allowed are ${control.options.map(([o]) => o).join(", ")}.`);
      } else {
        const value = given.trim() === "" ? NaN : Number(given);
        if (value >= control.low && value <= control.high) values[key] = value;
        else wrong.push(`The link sets ${control.label} to "${given.slice(0, 40)}", which must be a number between ${control.low} and ${control.high}.`);
      }
    }
    return [values, wrong];
  }

  class Show {
    constructor(place, name, animal) {
      this.place = place;
      this.animal = animal;
      this.name = name;
      this.scene = shows[name](animal);
      const wanted = (place.dataset.controls || "").split(" ").filter(Boolean);
      this.controls = this.scene.controls;
      this.shown = wanted.length ? this.controls.filter((each) => wanted.includes(each.name)) : this.controls;
      this.values = Object.fromEntries(this.controls.filter((each) => each.value !== undefined).map((each) => [each.name, each.value]));
      const [linked, wrong] = fromLink(location.hash, name, this.controls);
      Object.assign(this.values, linked);
      this.inputs = {};
      this.frames = { count: 0, worst: 0, total: 0 };
      this.late = 0;
      this._build();
      this._observe();
      this.restart();
      if (wrong.length) this.say(wrong.join(" "));
      this.paused = matchMedia("(prefers-reduced-motion: reduce)").matches;
      this._label();
      place.gymnosoma = this;
      addEventListener("hashchange", () => this._follow());
      this.draw();
      requestAnimationFrame((now) => this._frame(now));
    }

    _build() {
      const element = create("canvas", { role: "img", "aria-label": this.scene.title });
      this.button = create("button", { type: "button", onclick: () => this.toggle() });
      this.message = create("p", { class: "gs-message", role: "status", "aria-live": "polite", hidden: true });
      const panel = create("div", { class: "gs-controls", role: "group", "aria-label": `What can be changed: ${this.scene.title}` });
      for (const control of this.shown) panel.append(this._control(control));
      const again = create("button", { type: "button", onclick: () => this.restart() }, "Start again");
      const link = create("button", { type: "button", onclick: () => this.link() }, "Link to this");
      panel.append(create("div", { class: "gs-buttons" }, this.button, again, link));
      this.code = create("code");
      const copy = create("button", { type: "button", onclick: () => this._copy(this.code.textContent, "The lines are copied.") }, "Copy");
      const python = create("details", { class: "gs-python" }, create("summary", {}, "The same in Python"), create("pre", {}, this.code), copy);
      this.place.replaceChildren(element, panel, this.message, ...(this.place.hasAttribute("data-hero") ? [] : [python]));
      this.place.classList.add("gs-show");
      this.canvas = new gymnosoma.Canvas(element, gymnosoma.colours);
      this._pointer(element);
    }

    _control(control) {
      const id = `gs-${this.name}-${control.name}`;
      if (control.press) {
        return create("div", { class: "gs-buttons" }, create("button", { type: "button", id, onclick: () => this._press(control) }, control.label));
      }
      const label = create("label", { for: id }, control.label), value = create("output", { for: id });
      let input;
      if (control.options) {
        input = create("select", { id }, ...control.options.map(([key, text]) => create("option", { value: key }, text)));
        input.addEventListener("change", () => this.set(control.name, input.value));
      } else {
        input = create("input", { id, type: "range", min: control.low, max: control.high, step: control.step || "any" });
        input.addEventListener("input", () => this.set(control.name, Number(input.value)));
      }
      this.inputs[control.name] = [input, value, control];
      return create("div", { class: "gs-control" }, label, value, input);
    }

    _press(control) {
      control.press(this);
      if (this.paused) this.toggle();
    }

    /** Change a value; what is beyond its range is refused with a sentence. */
    set(name, value) {
      const control = this.controls.find((each) => each.name === name);
      const allowed = control && (control.options ? control.options.some(([key]) => key === value) : value >= control.low && value <= control.high);
      if (!allowed) {
        const range = !control ? "is not known here" : control.options ? `must be one of ${control.options.map(([key]) => key).join(", ")}` : `must lie between ${control.low} and ${control.high}`;
        this.say(`${control ? control.label : name} ${range}, got ${value}.`);
        return false;
      }
      this.values[name] = value;
      this._told();
      this.scene.change(this.values, name);
      return true;
    }

    _told() {
      for (const [name, [input, output, control]] of Object.entries(this.inputs)) {
        const value = this.values[name];
        if (String(input.value) !== String(value)) input.value = value;
        const text = control.text ? control.text(value, this.values) : control.options ? "" : `${Number(value.toPrecision(3))} ${control.unit || ""}`;
        output.textContent = text;
        if (!control.options) input.setAttribute("aria-valuetext", text || String(value));
      }
      this.code.textContent = this.scene.python(this.values).trim();
    }

    /** Begin anew with the values that are set. */
    restart() {
      this.animal.reset();
      this.rest = 0;
      this.say("");
      this.scene.start(this.values);
      for (const name in this.values) this.scene.change(this.values, name);
      this._told();
      this.draw();
    }

    toggle() {
      this.paused = !this.paused;
      this._label();
      this.draw();
    }

    _label() {
      this.button.textContent = this.paused ? "Run" : "Pause";
      this.button.setAttribute("aria-pressed", String(!this.paused));
    }

    /** Say a sentence below the picture, also to screen readers; none hides it. */
    say(text) {
      this.message.textContent = text;
      this.message.hidden = !text;
    }

    link() {
      const kept = this.controls.filter((each) => each.value !== undefined && !each.unkept).map((each) => [each.name, this.values[each.name]]);
      const parts = kept.map(([name, value]) => `${name}=${typeof value === "number" ? Number(value.toPrecision(6)) : value}`);
      const hash = `#${this.name}:${parts.join(",")}`;
      location.hash = hash;
      this._copy(location.href.split("#")[0] + hash, "The address keeps what is set here; it is copied.");
    }

    /** Take over the values of a link that was clicked while the page is open. */
    _follow() {
      const [linked, wrong] = fromLink(location.hash, this.name, this.controls);
      const same = (a, b) => a === b || Math.abs(a - b) <= 1e-5 * Math.abs(b); // links have six digits
      const changed = Object.entries(linked).filter(([name, value]) => !same(value, this.values[name]));
      if (changed.length) {
        Object.assign(this.values, linked);
        this.restart();
      }
      if (wrong.length) this.say(wrong.join(" "));
    }

    async _copy(text, said) {
      try {
        await navigator.clipboard.writeText(text);
        this.say(said);
      } catch {
        this.say("Nothing could be copied: this page may not write to the clipboard.");
      }
    }

    _observe() {
      this.seen = true;
      if (typeof IntersectionObserver === "function") {
        new IntersectionObserver((entries) => (this.seen = entries[entries.length - 1].isIntersecting)).observe(this.place);
      }
    }

    _pointer(element) {
      let held = false;
      const tell = (kind, event) => {
        if (!this.scene.pointer) return;
        const box = element.getBoundingClientRect();
        if (this.scene.pointer(kind, event.clientX - box.left, event.clientY - box.top, this)) event.preventDefault();
        if (this.paused) this.draw();
      };
      element.addEventListener("pointerdown", (event) => {
        held = true;
        element.setPointerCapture(event.pointerId);
        tell("down", event);
      });
      element.addEventListener("pointermove", (event) => held && tell("move", event));
      for (const end of ["up", "cancel"]) {
        element.addEventListener(`pointer${end}`, (event) => {
          if (held) tell(end, event);
          held = false;
        });
      }
      if (this.scene.pointer) {
        element.style.touchAction = this.scene.grab ? "none" : "pan-y"; // the page still scrolls
        element.style.cursor = "pointer";
      }
    }

    _frame(now) {
      const real = Math.min(LONGEST, Math.max(0, (now - (this.before ?? now)) / 1000));
      this.before = now;
      if (this.seen && !document.hidden && !this.paused) this.run(real);
      requestAnimationFrame((later) => this._frame(later));
    }

    /** Advance by so much real time (s), and draw. */
    run(real) {
      const began = performance.now();
      const hold = this.scene.hold, pace = typeof this.scene.pace === "function" ? this.scene.pace() : this.scene.pace;
      this.rest = Math.min(this.rest + real * pace, LONGEST * pace);
      let well = this.animal.failure === null;
      let late = false;
      while (well && !late && this.rest >= hold) {
        this.rest -= hold;
        well = this.scene.step(hold);
        late = performance.now() - began > BUSIEST;
      }
      if (late) this.rest = Math.min(this.rest, hold);
      this.late += 0.1 * (Number(late) - this.late);
      if (this.scene.after) this.scene.after(real);
      this.draw();
      if (!well && this.message.hidden) {
        const why = this.scene.ended ? this.scene.ended() : "";
        this.say(why || `The animal broke down: ${this.animal.failure}. "Start again" restarts it.`);
      }
      const took = performance.now() - began;
      this.frames.count += 1;
      this.frames.total += took;
      this.frames.worst = Math.max(this.frames.worst, took);
    }

    draw() {
      const theme = document.body.dataset.theme, system = matchMedia("(prefers-color-scheme: dark)").matches;
      this.canvas.begin(theme === "dark" || ((theme === "auto" || (!theme && !this.place.closest("[data-light]"))) && system));
      this.scene.draw(this.canvas);
      const note = this.paused ? "paused" : this.late > 0.5 ? "slower: this computer is busy" : "";
      if (note) this.canvas.label(note, this.canvas.width - 12, 16, this.canvas.muted, 12, [1, 0.5], [0, 0], this.canvas.plate);
      const said = this.scene.tell();
      if (said !== this.said) {
        this.said = said;
        this.canvas.element.setAttribute("aria-label", `${this.scene.title}. ${said}`);
      }
    }
  }

  /** Put the animals in their places; what stood there, such as a film, stays where one cannot run. */
  async function begin() {
    for (const place of document.querySelectorAll("[data-gymnosoma]")) {
      try {
        const name = place.dataset.gymnosoma, animal = await gymnosoma.load(name);
        if (!shows[name]) throw new Error(`There is no picture of "${name}" here.`);
        new Show(place, name, animal);
      } catch (error) {
        place.append(create("p", { class: "gs-message", role: "status" }, error.message));
      }
    }
    document.documentElement.dataset.gymnosomaReady = "";
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else setTimeout(begin);

  return Object.assign(Show, { scene, create, fromLink });
})();
