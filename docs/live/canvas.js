"use strict";
/* The canvas of all pictures, after envs/core/draw/canvas.py: panels with their own units, y up, on a page in CSS pixels. */

gymnosoma.Canvas = (function () {
  const DARK = { paper: [22, 25, 30], card: [33, 37, 44], rule: [56, 61, 69], muted: [150, 154, 161], ink: [226, 229, 233], cold: [92, 148, 226], warm: [228, 104, 92], goal: [72, 176, 130] };
  const PREFIX = "fpnµm kMG";

  const css = (colour) => (colour.length > 3 ? `rgba(${colour[0]},${colour[1]},${colour[2]},${colour[3] / 255})` : `rgb(${colour.join(",")})`);

  /** Colour on the way from one to the other. */
  const mix = (one, other, share) => one.map((a, i) => Math.round(a + (other[i] - a) * share));

  /** Write a value in SI with the prefix that suits it: 200 µm. */
  function quantity(value, unit, digits = 3) {
    const power = value === 0 ? 0 : Math.max(-5, Math.min(3, Math.floor(Math.log10(Math.abs(value)) / 3 + 1e-9)));
    return `${Number((value / 1000 ** power).toPrecision(digits))} ${PREFIX[power + 5].trim()}${unit}`;
  }

  /** Largest of 1, 2, 5, 10, ... that does not exceed a value. */
  function rounded(value) {
    const power = 10 ** Math.floor(Math.log10(value) + 1e-9);
    return power * (value >= 5 * power * (1 - 1e-9) ? 5 : value >= 2 * power * (1 - 1e-9) ? 2 : 1);
  }

  /** Smallest of 1, 2, 5, 10, ... that is at least a value. */
  const above = (value) => 1 / rounded(1 / value);

  class Panel {
    constructor(page, area, low, high) {
      this.page = page;
      this.area = area;
      this.low = low;
      this.high = high;
      this.x = area[2] / (high[0] - low[0]);
      this.y = -area[3] / (high[1] - low[1]);
      this.point = 1 / Math.abs(this.x);
    }

    at(x, y) {
      return [this.area[0] + (x - this.low[0]) * this.x, this.area[1] + this.area[3] + (y - this.low[1]) * this.y];
    }

    /** Units of what stands at a place of the page. */
    from(px, py) {
      return [this.low[0] + (px - this.area[0]) / this.x, this.low[1] + (py - this.area[1] - this.area[3]) / this.y];
    }

    /** Draw with the panel's border as the border of what is seen. */
    inside(draw) {
      const c = this.page.context;
      c.save();
      c.beginPath();
      c.rect(...this.area);
      c.clip();
      draw(this);
      c.restore();
    }

    _path(points) {
      const c = this.page.context;
      c.beginPath();
      for (let i = 0; i < points.length; i++) c.lineTo(...this.at(points[i][0], points[i][1]));
    }

    polygon(points, colour, edge, width = 1) {
      const c = this.page.context;
      this._path(points);
      c.closePath();
      c.fillStyle = css(colour);
      c.fill();
      if (edge) this._stroke(edge, width);
    }

    _stroke(colour, width) {
      const c = this.page.context;
      c.strokeStyle = css(colour);
      c.lineWidth = width;
      c.lineJoin = c.lineCap = "round";
      c.stroke();
    }

    /** A line; with `fade`, from that colour at its first point. */
    polyline(points, colour, width = 1.5, fade = null) {
      const shades = fade && points.length > 8 ? 8 : 1;
      for (let k = 0; k < shades; k++) {
        const from = Math.floor((k * (points.length - 1)) / shades), to = Math.floor(((k + 1) * (points.length - 1)) / shades);
        this._path(points.slice(from, to + 1));
        this._stroke(fade ? mix(fade, colour, (k + 1) / shades) : colour, width);
      }
    }

    disc(x, y, radius, colour) {
      const c = this.page.context;
      c.beginPath();
      c.arc(...this.at(x, y), radius, 0, 2 * Math.PI);
      c.fillStyle = css(colour);
      c.fill();
    }

    arrow(x, y, u, v, colour, width = 1.5) {
      const [ax, ay] = this.at(x, y), [bx, by] = this.at(x + u, y + v), reach = Math.hypot(bx - ax, by - ay);
      if (!(reach > 1) || !isFinite(reach)) return;
      const ex = (bx - ax) / reach, ey = (by - ay) / reach, head = Math.min(4.5 * width, 0.6 * reach), wing = 0.45 * head;
      const c = this.page.context;
      c.beginPath();
      c.moveTo(ax, ay);
      c.lineTo(bx - head * ex, by - head * ey);
      this._stroke(colour, width);
      c.beginPath();
      c.moveTo(bx, by);
      c.lineTo(bx - head * ex - wing * ey, by - head * ey + wing * ex);
      c.lineTo(bx - head * ex + wing * ey, by - head * ey - wing * ex);
      c.fillStyle = css(colour);
      c.fill();
    }

    label(text, x, y, colour, size = 12, align = [0, 0.5], offset = [0, 0], back = null) {
      const c = this.page.context, [px, py] = this.at(x, y);
      c.font = `${size}px system-ui, sans-serif`;
      const width = c.measureText(text).width, left = px + offset[0] - align[0] * width, top = py + offset[1] - align[1] * size;
      if (back) {
        c.fillStyle = css(back);
        c.fillRect(left - 4, top - 2, width + 8, size + 4);
      }
      c.fillStyle = css(colour);
      c.textBaseline = "middle";
      c.fillText(text, left, top + 0.5 * size);
    }

    grid(spacing, colour, width = 0.75) {
      if (spacing < 4 * this.point) return;
      for (const axis of [0, 1]) {
        const low = Math.min(this.low[axis], this.high[axis]), high = Math.max(this.low[axis], this.high[axis]);
        for (let k = Math.ceil(low / spacing); k <= high / spacing; k++) {
          const one = [...this.low], other = [...this.high];
          one[axis] = other[axis] = k * spacing;
          this.polyline([one, other], colour, width);
        }
      }
    }

    /** A place to steer to. */
    goal(at) {
      this.disc(...at, 13, [...this.page.goal, 60]);
      this.disc(...at, 5, this.page.goal);
    }

    scaleBar(unit = "m") {
      const length = rounded(0.2 * Math.min(Math.abs(this.high[0] - this.low[0]), 700 * this.point));
      const right = this.high[0] - 16 * this.point, bottom = this.low[1] + 16 * this.point;
      this.polyline([[right - length, bottom], [right, bottom]], this.page.ink, 2.5);
      this.label(quantity(length, unit), right - 0.5 * length, bottom, this.page.ink, 12, [0.5, 1], [0, -7], this.page.plate);
    }
  }

  class Canvas extends Panel {
    constructor(element, colours) {
      super({}, [0, 0, 1, 1], [0, 1], [1, 0]);
      this.page = this;
      this.element = element;
      this.context = element.getContext("2d");
      this.colours = colours;
      Object.assign(this, colours);
      this._rasters = {};
    }

    /** Begin a picture: of the size that the element has, light or dark. */
    begin(dark) {
      const { clientWidth: width, clientHeight: height } = this.element, scale = Math.min(2, window.devicePixelRatio || 1);
      if (this.element.width !== Math.round(width * scale) || this.element.height !== Math.round(height * scale)) {
        this.element.width = Math.round(width * scale);
        this.element.height = Math.round(height * scale);
      }
      Object.assign(this, this.colours, dark ? DARK : {});
      this.dark = dark;
      this.plate = [...this.paper, 215];
      this.context.setTransform(scale, 0, 0, scale, 0, 0);
      this.width = width;
      this.height = height;
      this.area = [0, 0, width, height];
      this.low = [0, height];
      this.high = [width, 0];
      this.x = this.y = this.point = 1;
      this.box(this.area, this.paper);
    }

    /** A colour of an animal's own that is seen on dark paper, too. */
    seen(colour) {
      return this.dark ? mix(colour, this.ink, 0.5) : colour;
    }

    box(area, colour) {
      this.context.fillStyle = css(colour);
      this.context.fillRect(...area);
    }

    panel(area, low, high) {
      return new Panel(this, area, low, high);
    }

    /** A panel with equal scales around a middle, so many units wide. */
    view(area, middle, span) {
      const w = 0.5 * span, h = (w * area[3]) / area[2];
      return this.panel(area, [middle[0] - w, middle[1] - h], [middle[0] + w, middle[1] + h]);
    }

    /** A trace of values over the last `duration` s below its title; the ends of the scale are -limit and +limit. */
    trace(area, time, values, duration, limit, colour, title, shift = 0) {
      const count = time.length, start = count ? Math.max(time[0], time[count - 1] - duration) : 0, head = 18;
      const panel = this.panel([area[0], area[1] + head, area[2], area[3] - head], [start, -limit], [start + duration, limit]);
      this.box(area, this.card);
      panel.polyline([[start, 0], [start + duration, 0]], this.rule, 1);
      panel.inside(() => {
        const c = this.context;
        c.beginPath();
        for (let i = 0; i < count; i++) if (time[i] >= start) c.lineTo(...panel.at(time[i], values[i] - shift));
        panel._stroke(colour, 1.25);
      });
      panel.label(title, start, limit, this.muted, 11, [0, 1], [6, -2]);
      return panel;
    }

    /** Cells of colours: rows x columns x RGBA, in a buffer that `cells` gave; the first columns fill the area. */
    raster(area, cells, columns = cells.columns) {
      cells.context.putImageData(cells.data, 0, 0);
      this.context.imageSmoothingEnabled = false;
      this.context.drawImage(cells.element, 0, 0, columns, cells.rows, ...area);
    }

    cells(name, rows, columns) {
      let found = this._rasters[name];
      if (!found || found.rows !== rows || found.columns !== columns) {
        const element = document.createElement("canvas");
        element.width = columns;
        element.height = rows;
        const context = element.getContext("2d");
        found = this._rasters[name] = { element, context, data: context.createImageData(columns, rows), rows, columns };
      }
      return found;
    }

    /** Write colours of signed values to the cells: cold at -limit, card at 0, warm at +limit. */
    diverging(cells, place, value, limit) {
      const level = Math.max(-1, Math.min(1, value / limit)), end = level > 0 ? this.warm : this.cold;
      this._write(cells, place, end, Math.abs(level) ** 0.8);
    }

    sequential(cells, place, value, limit, colour) {
      this._write(cells, place, colour, Math.max(0, Math.min(1, value / limit)));
    }

    _write(cells, place, end, share) {
      const data = cells.data.data, card = this.card;
      for (let i = 0; i < 3; i++) data[4 * place + i] = card[i] + (end[i] - card[i]) * share;
      data[4 * place + 3] = 255;
    }
  }

  /** Sides of a body of varying width, [left, right], as seen when walking along it. */
  function outline(points, radius) {
    const left = [], right = [], last = points.length - 1;
    for (let i = 0; i <= last; i++) {
      const a = points[Math.max(i - 1, 0)], b = points[Math.min(i + 1, last)];
      const u = b[0] - a[0], v = b[1] - a[1], d = radius[i] / (Math.hypot(u, v) || 1);
      left.push([points[i][0] - v * d, points[i][1] + u * d]);
      right.push([points[i][0] + v * d, points[i][1] - u * d]);
    }
    return [left, right];
  }

  /** A smooth line through points: cubic, with the slopes of Catmull and Rom, so many pieces between two. */
  function smooth(points, pieces) {
    const out = [], last = points.length - 1;
    for (let i = 0; i < last; i++) {
      const p = points[Math.max(i - 1, 0)], q = points[i], r = points[i + 1], s = points[Math.min(i + 2, last)];
      for (let k = 0; k < pieces; k++) {
        const t = k / pieces, a = t * t * (3 - 2 * t), b = t * (1 - t) * (1 - t), c = t * t * (t - 1);
        out.push([0, 1].map((j) => q[j] + a * (r[j] - q[j]) + 0.5 * b * (r[j] - p[j]) + 0.5 * c * (s[j] - q[j])));
      }
    }
    out.push(points[last]);
    return out;
  }

  /** The newest of what is kept, at most so many: an array to draw, and no more memory after the first minutes. */
  class Trail {
    constructor(most) {
      this.most = most;
      this.items = [];
    }

    push(item) {
      this.items.push(item);
      if (this.items.length > this.most) this.items.shift();
    }

    column(name) {
      return this.items.map((item) => item[name]);
    }
  }

  return Object.assign(Canvas, { css, mix, quantity, rounded, above, outline, smooth, Trail });
})();
