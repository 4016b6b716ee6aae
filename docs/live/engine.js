"use strict";
/* Kernels of gymnosoma in a browser: a module of WebAssembly, its memory by names, and nothing else.

   gymnosoma.load("worm") gives a promise of an Animal; files such as worm.js bring module and table. */

var gymnosoma = (function () {
  const known = {};
  const LINE = 64;

  function bytes(base64) {
    const text = atob(base64), out = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) out[i] = text.charCodeAt(i);
    return out;
  }

  /** One animal: the arrays that its kernels work on, by the names of the table, all in SI. */
  class Animal {
    constructor(about, instance) {
      this.about = about;
      this.failure = null;
      this.numbers = { ...about.numbers };
      this._kernels = instance.exports;
      const base = Math.ceil(this._kernels.__heap_base.value / LINE) * LINE;
      const memory = this._kernels.memory, end = base + about.bytes + LINE + 16;
      if (end > memory.buffer.byteLength) memory.grow(Math.ceil((end - memory.buffer.byteLength) / 65536));
      this._base = base;
      this._results = base + Math.ceil(about.bytes / LINE) * LINE; // what a kernel returns, which is nothing
      this._bytes = new Uint8Array(memory.buffer, base, about.bytes);
      this._fields = {};
      this._calls = {};
      for (const name in about.kernels) this._calls[name] = this._arguments(about.kernels[name]);
      const state = about.arrays.state;
      this._state = new Float64Array(memory.buffer, base + state.at, state.item / 8);
      this._kept = new Float64Array(this._state.length);
      this._image = [];
      for (let i = 0; i < about.image.length; i += 2) this._image.push([about.image[i], bytes(about.image[i + 1])]);
      this.reset();
    }

    /** Start anew: state, parameters and scratch space as they were first. */
    reset() {
      this._bytes.fill(0);
      for (const [at, run] of this._image) this._bytes.set(run, at);
      this.failure = null;
    }

    /** Set the state to an image of one, as the table has them. */
    restore(image) {
      this._state.fill(0);
      const raw = new Uint8Array(this._state.buffer, this._state.byteOffset, this._state.byteLength);
      for (let i = 0; i < image.length; i += 2) raw.set(bytes(image[i + 1]), image[i]);
    }

    /** Numbers of a field of the state (or of another record or array), which may be read and written: Float64Array. */
    field(name, array = "state") {
      const key = array + "." + name;
      if (!this._fields[key]) {
        const place = this.about.arrays[array];
        const field = place && (place.fields ? place.fields[name] : place);
        if (!field) throw new RangeError(`${array} has no field "${name}"`);
        const at = this._base + place.at + (place.fields ? field.at : 0);
        const count = field.shape.reduce((a, b) => a * b, 1);
        this._fields[key] = new Float64Array(this._kernels.memory.buffer, at, count);
      }
      return this._fields[key];
    }

    /** Set a parameter, a number for all of it or an array; a RangeError says what is allowed. */
    set(name, value) {
      const option = this.about.parameters[name];
      if (!option) throw new RangeError(`${name} is no parameter; there are ${Object.keys(this.about.parameters).join(", ")}`);
      const field = this.field(name), given = typeof value === "number" ? field.map(() => value) : Array.from(value);
      if (given.length !== field.length) throw new RangeError(`${name} must have ${field.length} numbers, got ${given.length}`);
      for (const each of given) {
        if (!(each >= option.low && each <= option.high)) {
          throw new RangeError(`${name} must lie between ${option.low} and ${option.high} ${option.unit}, got ${each}`);
        }
      }
      field.set(given);
    }

    /** What drives the animal from now on: as many numbers as its table's driven fields hold, in their order. */
    drive(values) {
      const fields = this.about.driven.map((name) => this.field(name));
      const count = fields.reduce((sum, field) => sum + field.length, 0);
      if (values.length !== count) throw new RangeError(`a drive has ${count} numbers, got ${values.length}`);
      let at = 0;
      for (const field of fields) {
        for (let i = 0; i < field.length; i++) field[i] = values[at++];
      }
    }

    /** Take so many time steps; false where the animal broke down, as `failure` says. Its state is then the last that was well. */
    advance(steps) {
      if (this.failure !== null) return false;
      this._kept.set(this._state);
      const dt = this.numbers.dt;
      let status = 0;
      for (let halving = 0; halving <= (this.about.halvings || 0); halving++) {
        if (halving) {
          this._state.set(this._kept);
          this.field("status")[0] = 0;
        }
        this.numbers.dt = dt / 2 ** halving;
        this.call("advance", steps * 2 ** halving);
        status = this._broken() ? NaN : this.field("status")[0];
        if (status === 0) break;
      }
      this.numbers.dt = dt;
      if (status === 0) return true;
      this.failure = this.about.failures[status.toFixed(1)] || "the state is not finite";
      this._state.set(this._kept);
      return false;
    }

    /** Call a kernel, with as many steps where it takes some. */
    call(name, steps = 0) {
      const [given, changing] = this._calls[name];
      for (const [place, number, whole] of changing) {
        const value = number === "steps" ? steps : this.numbers[number];
        given[place] = whole ? BigInt(value) : value;
      }
      if (this._kernels[name](...given) !== 0) throw new Error(`the kernel ${name} was stopped`);
    }

    _broken() {
      for (const value of this._state) if (!(Math.abs(value) < 1e100)) return true;
      return false;
    }

    /** What numba's functions take: room for what they return, then arrays in seven words (five and two a dimension). */
    _arguments(names) {
      const given = [this._results, this._results + 8], changing = [];
      for (const name of names) {
        const array = this.about.arrays[name];
        if (!array) {
          changing.push([given.length, name, name === "steps" || this.about.whole.includes(name)]);
          given.push(0);
          continue;
        }
        const strides = [];
        array.shape.reduceRight((stride, length) => (strides.unshift(BigInt(stride)), stride * length), array.item);
        const count = array.shape.reduce((a, b) => a * b, 1);
        given.push(0, 0, BigInt(count), BigInt(array.item), this._base + array.at, ...array.shape.map(BigInt), ...strides);
      }
      return [given, changing];
    }
  }

  /** Make known what a file brings. */
  function add(name, about) {
    known[name] = about;
  }

  /** A promise of a new animal. */
  async function load(name) {
    if (typeof WebAssembly !== "object" || typeof BigInt !== "function") {
      throw new Error("This browser has no WebAssembly, on which the animals run.");
    }
    const about = known[name];
    if (!about) throw new Error(`There is no animal "${name}" here; there are: ${Object.keys(known).join(", ") || "none"}.`);
    try {
      about.compiled = about.compiled || WebAssembly.compile(bytes(about.wasm));
      return new Animal(about, await WebAssembly.instantiate(await about.compiled));
    } catch (error) {
      throw new Error(`The animal could not be started in this browser (${error.message}).`);
    }
  }

  return { add, load, Animal, known, bytes };
})();
