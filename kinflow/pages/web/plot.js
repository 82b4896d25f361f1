// A picture with two axes: a canvas for what is many, SVG for axes, lines and words.
// Dragging zooms, a double click goes back; the arrow keys walk through the values.

function niceTicks([low, high], count) {
  const span = high - low;
  if (!(span > 0)) return [low];
  // One mark says nothing of the scale.
  for (let more = count; more < count + 6; ++more) {
    const ticks = evenTicks(low, high, span, more);
    if (ticks.length > 1) return ticks;
  }
  return [low, high];
}
function evenTicks(low, high, span, count) {
  const raw = span / Math.max(count, 1), power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].find((m) => m * power >= raw) * power;
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) {
    ticks.push(Number((i * step).toPrecision(12)));
  }
  return ticks;
}
function logTicks([low, high]) {
  const ticks = [];
  for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); ++e) {
    const wide = Math.log10(high / low) > 3.3;
    for (const m of wide ? [1] : [1, 2, 5]) {
      const value = Number((m * 10 ** e).toPrecision(12));
      if (value >= low * 0.999 && value <= high * 1.001) ticks.push(value);
    }
  }
  return ticks;
}
function scale(domain, [from, to], log) {
  const f = log ? Math.log : (v) => v;
  const low = f(domain[0]), high = f(domain[1]);
  const of = (v) => from + (f(v) - low) / (high - low || 1) * (to - from);
  of.back = (pixel) => {
    const v = low + (pixel - from) / (to - from) * (high - low);
    return log ? Math.exp(v) : v;
  };
  return of;
}

// options: label (what the picture shows, for those who do not see it), x and y
// ({domain, label, log, ticks, text}), height or aspect, margin, draw(plot), zoom, linked
// (plots that zoom together).
class Plot {
  constructor(host, options) {
    this.options = options;
    this.box = host.appendChild(make('div', {class: 'plot'}));
    // Under the canvas the grid, over it what is drawn of lines and words.
    this.under = this.box.appendChild(draw('svg', {'aria-hidden': 'true'}));
    this.canvas = this.box.appendChild(make('canvas', {'aria-hidden': 'true'}));
    this.svg = this.box.appendChild(draw('svg', {role: 'img', 'aria-label': options.label, tabindex: 0}));
    this.zoomed = null;
    if (options.linked) options.linked.push(this);
    this.listen();
    this.render = this.render.bind(this);
    drawings.add(this.render);
    this.render();
  }

  render() {
    const {options} = this;
    const width = this.box.clientWidth;
    if (!width) return;
    const inside = options.bare ? {left: 0, right: 0, top: 0, bottom: 0}
      : {left: 52, right: 12, top: 24, bottom: 40, ...options.margin};
    const height = options.height
      || Math.round((width - inside.left - inside.right) * (options.aspect || 1) + inside.top + inside.bottom);
    this.box.style.height = height + 'px';
    const ratio = devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.pen = this.canvas.getContext('2d');
    this.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    Object.assign(this, {width, height, ratio});
    this.area = {left: inside.left, right: width - inside.right, top: inside.top, bottom: height - inside.bottom};
    this.domain = this.zoomed || {x: options.x.domain, y: options.y.domain};
    this.x = scale(this.domain.x, [this.area.left, this.area.right], options.x.log);
    this.y = scale(this.domain.y, [this.area.bottom, this.area.top], options.y.log);
    this.svg.replaceChildren(draw('title', {}, options.label));
    this.targets = [];
    this.at = null;
    const id = 'clip' + (Plot.count = (Plot.count || 0) + 1);
    const {left, right, top, bottom} = this.area;
    this.svg.append(draw('clipPath', {id}, draw('rect', {x: left, y: top, width: Math.max(right - left, 1), height: Math.max(bottom - top, 1)})));
    this.under.replaceChildren();
    this.back = this.svg.appendChild(draw('g'));
    this.inside = this.svg.appendChild(draw('g', {'clip-path': `url(#${id})`}));
    this.front = this.svg.appendChild(draw('g'));
    if (!options.bare) this.axes();
    this.pen.save();
    this.pen.beginPath();
    this.pen.rect(left, top, right - left, bottom - top);
    this.pen.clip();
    options.draw(this);
    this.pen.restore();
    this.resetButton();
  }

  axes() {
    const {left, right, top, bottom} = this.area, {x, y} = this.options;
    const text = (axis, v) => (axis.text ? axis.text(v) : say(v, 6));
    const ticksOf = (axis, domain, count) =>
      (axis.ticks ? axis.ticks(domain) : axis.log ? logTicks(domain) : niceTicks(domain, count));
    for (const v of ticksOf(y, this.domain.y, (bottom - top) / 48)) {
      const at = this.y(v);
      if (!y.noGrid) this.under.append(draw('line', {class: 'grid', x1: left, x2: right, y1: at, y2: at}));
      this.back.append(draw('text', {x: left - 7, y: at + 4, 'text-anchor': 'end'}, text(y, v)));
    }
    for (const v of ticksOf(x, this.domain.x, (right - left) / 80)) {
      const at = this.x(v);
      if (x.grid) this.under.append(draw('line', {class: 'grid', x1: at, x2: at, y1: top, y2: bottom}));
      this.back.append(draw('line', {class: 'axis', x1: at, x2: at, y1: bottom, y2: bottom + 4}));
      this.back.append(draw('text', {x: at, y: bottom + 18, 'text-anchor': 'middle'}, text(x, v)));
    }
    this.back.append(draw('line', {class: 'axis', x1: left, x2: right, y1: bottom, y2: bottom}));
    if (y.label) this.back.append(draw('text', {class: 'label', x: 0, y: top - 11}, y.label));
    if (x.label) this.back.append(draw('text', {class: 'label', x: right, y: bottom + 35, 'text-anchor': 'end'}, x.label));
  }

  line(xs, ys, {stroke = 'model', width = 1.5, dash = null, opacity = 1, joins = false} = {}) {
    let path = '', open = false;
    for (let i = 0; i < xs.length; ++i) {
      const px = this.x(xs[i]), py = this.y(ys[i]);
      if (!Number.isFinite(px) || !Number.isFinite(py)) { open = open && joins; continue; }
      const within = Math.max(-1e4, Math.min(1e4, py));
      path += (open ? 'L' : 'M') + px.toFixed(1) + ' ' + within.toFixed(1);
      open = true;
    }
    if (path) {
      this.inside.append(draw('path', {d: path, fill: 'none', stroke: `var(--${stroke})`, 'stroke-width': width,
        'stroke-dasharray': dash, opacity, 'stroke-linejoin': 'round'}));
    }
  }
  band(xs, lows, highs, {fill = 'model', opacity = 0.15} = {}) {
    const go = (values, order) => order.map((i) => this.x(xs[i]).toFixed(1) + ' ' + this.y(values[i]).toFixed(1));
    const order = Array.from(xs, (_, i) => i);
    this.inside.append(draw('path', {d: 'M' + [...go(lows, order), ...go(highs, [...order].reverse())].join('L') + 'Z',
      fill: `var(--${fill})`, opacity}));
  }
  // Points: on the canvas where they are many, else in the order of what is drawn.
  dots(xs, ys, {fill = 'data', radius = 2, opacity = 0.6, ring = false} = {}) {
    if (xs.length < 300) {
      for (let i = 0; i < xs.length; ++i) {
        const cx = this.x(xs[i]), cy = this.y(ys[i]), paint = `var(--${fill})`;
        if (!Number.isFinite(cx) || !Number.isFinite(cy)) continue;
        this.inside.append(draw('circle', {cx: cx.toFixed(1), cy: cy.toFixed(1), r: radius, opacity,
          ...(ring ? {fill: 'var(--paper)', stroke: paint, 'stroke-width': 1.6} : {fill: paint})}));
      }
      return;
    }
    const pen = this.pen;
    pen.globalAlpha = opacity;
    pen.fillStyle = pen.strokeStyle = color(fill);
    pen.lineWidth = 1.5;
    for (let i = 0; i < xs.length; ++i) {
      const px = this.x(xs[i]), py = this.y(ys[i]);
      if (!Number.isFinite(px) || !Number.isFinite(py)) continue;
      if (radius < 1) { pen.fillRect(px - radius, py - radius, 2 * radius, 2 * radius); continue; }
      pen.beginPath();
      pen.arc(px, py, radius, 0, 2 * Math.PI);
      ring ? pen.stroke() : pen.fill();
    }
    pen.globalAlpha = 1;
  }
  // values: 0 to 255, rows from the bottom.
  heat(values, columns, rows, xs, ys) {
    const colors = heatColors();
    const picture = make('canvas', {width: columns, height: rows}), pen = picture.getContext('2d');
    const pixels = pen.createImageData(columns, rows);
    for (let r = 0; r < rows; ++r) {
      for (let c = 0; c < columns; ++c) {
        const at = 4 * ((rows - 1 - r) * columns + c);
        const [red, green, blue] = colors[values[r * columns + c]];
        pixels.data.set([red, green, blue, 255], at);
      }
    }
    pen.putImageData(pixels, 0, 0);
    this.pen.imageSmoothingEnabled = true;
    this.pen.imageSmoothingQuality = 'high';
    this.pen.drawImage(picture, this.x(xs[0]), this.y(ys[1]), this.x(xs[1]) - this.x(xs[0]), this.y(ys[0]) - this.y(ys[1]));
  }
  rule({x = null, y = null, dash = '4 4', stroke = 'soft', text = null, anchor = 'end'}) {
    const {left, right, top, bottom} = this.area;
    const at = x === null ? this.y(y) : this.x(x);
    if (!Number.isFinite(at)) return;
    this.inside.append(draw('line', x === null ? {x1: left, x2: right, y1: at, y2: at, stroke: `var(--${stroke})`, 'stroke-dasharray': dash}
      : {x1: at, x2: at, y1: top, y2: bottom, stroke: `var(--${stroke})`, 'stroke-dasharray': dash}));
    if (text && at > top - 1 && x === null && at < bottom) {
      this.front.append(draw('text', {class: 'note rule-text', x: anchor === 'end' ? right : left + 4, y: at - 6, 'text-anchor': anchor}, text));
    }
  }
  bar(x1, x2, y, {fill = 'model', opacity = 1, base = 0} = {}) {
    const left = this.x(x1), right = this.x(x2), at = this.y(y), from = this.y(base);
    this.inside.append(draw('rect', {x: left, width: Math.max(right - left - 0.5, 0.5), y: Math.min(at, from),
      height: Math.abs(from - at), fill: `var(--${fill})`, opacity}));
  }
  interval(low, high, at, {stroke = 'model', vertical = true, width = 1.2, opacity = 0.7} = {}) {
    const points = vertical ? {x1: this.x(at), x2: this.x(at), y1: this.y(low), y2: this.y(high)}
      : {y1: this.y(at), y2: this.y(at), x1: this.x(low), x2: this.x(high)};
    this.inside.append(draw('line', {...points, stroke: `var(--${stroke})`, 'stroke-width': width, opacity}));
  }
  note(x, y, text, {anchor = 'start', dx = 0, dy = 0, fill = null} = {}) {
    this.front.append(draw('text', {class: 'note', x: this.x(x) + dx, y: this.y(y) + dy, 'text-anchor': anchor,
      fill: fill ? `var(--${fill})` : null}, text));
  }
  // A place whose text the pointer shows; `press` is called by a click or Enter.
  target(x, y, text, press = null) {
    const px = this.x(x), py = this.y(y);
    const {left, right, top, bottom} = this.area;
    if (px >= left - 2 && px <= right + 2 && py >= top - 2 && py <= bottom + 2) this.targets.push({px, py, text, press});
  }

  point(target, event = null) {
    this.at = target;
    this.marker?.remove();
    if (!target) { hover.hide(); return; }
    this.marker = draw('circle', {class: 'mark', cx: target.px, cy: target.py, r: 5});
    this.svg.append(this.marker);
    const box = this.svg.getBoundingClientRect();
    const text = typeof target.text === 'function' ? target.text() : target.text;
    hover.show(text, event ? event.clientX : box.left + target.px, event ? event.clientY : box.top + target.py);
  }
  nearest(px, py, reach = 26) {
    let best = null, least = reach * reach;
    for (const t of this.targets) {
      const d = (t.px - px) ** 2 + (t.py - py) ** 2;
      if (d < least) { least = d; best = t; }
    }
    return best;
  }
  place(event) {
    const box = this.svg.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }
  listen() {
    const {svg} = this;
    let from = null, brush = null;
    const zooms = () => this.options.zoom !== false && !this.options.bare;
    svg.addEventListener('pointerdown', (event) => {
      if (event.pointerType === 'touch' || event.button || !zooms()) return;
      from = this.place(event);
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener('pointermove', (event) => {
      const [px, py] = this.place(event);
      if (from && (brush || Math.hypot(px - from[0], py - from[1]) > 5)) {
        brush = brush || this.svg.appendChild(draw('rect', {class: 'brush'}));
        const {left, right, top, bottom} = this.area;
        const xs = [from[0], px].map((v) => Math.min(Math.max(v, left), right)).sort((a, b) => a - b);
        const ys = [from[1], py].map((v) => Math.min(Math.max(v, top), bottom)).sort((a, b) => a - b);
        put(brush, {x: xs[0], y: ys[0], width: xs[1] - xs[0], height: ys[1] - ys[0]}, []);
        brush.limits = {xs, ys};
        hover.hide();
        return;
      }
      const found = this.nearest(px, py) || this.options.under?.(this, px, py);
      this.point(found || null, event);
    });
    svg.addEventListener('pointerup', (event) => {
      const limits = brush?.limits;
      if (!brush && from) (this.nearest(...this.place(event)))?.press?.();
      from = null;
      brush?.remove();
      brush = null;
      if (!limits || limits.xs[1] - limits.xs[0] < 6 || limits.ys[1] - limits.ys[0] < 6) return;
      this.zoom({x: limits.xs.map(this.x.back), y: [...limits.ys].reverse().map(this.y.back)});
    });
    svg.addEventListener('click', (event) => {
      if (this.options.bare || this.options.zoom === false || matchMedia('(pointer: coarse)').matches) {
        const found = this.nearest(...this.place(event));
        if (found) { this.point(found, event); found.press?.(); }
      }
    });
    svg.addEventListener('pointerleave', () => { if (!from) this.point(null); });
    svg.addEventListener('blur', () => this.point(null));
    svg.addEventListener('dblclick', () => this.zoom(null));
    svg.addEventListener('keydown', (event) => this.key(event));
  }
  key(event) {
    const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
    const {x, y} = this.domain;
    const by = (domain, log, f) => {
      const s = log ? Math.log : (v) => v, back = log ? Math.exp : (v) => v;
      const middle = (s(domain[0]) + s(domain[1])) / 2, half = (s(domain[1]) - s(domain[0])) / 2 * f;
      return [back(middle - half), back(middle + half)];
    };
    if (step && this.targets.length) {
      const order = [...this.targets].sort((a, b) => a.px - b.px || a.py - b.py);
      const now = order.indexOf(this.at);
      this.point(order[now < 0 ? 0 : (now + step + order.length) % order.length]);
    } else if (event.key === 'Escape') { this.point(null);
    } else if (event.key === 'Enter' && this.at?.press) { this.at.press();
    } else if (event.key === '0') { this.zoom(null);
    } else if ((event.key === '+' || event.key === '-') && this.options.zoom !== false && !this.options.bare) {
      const f = event.key === '+' ? 0.7 : 1 / 0.7;
      this.zoom({x: by(x, this.options.x.log, f), y: by(y, this.options.y.log, f)});
    } else return;
    event.preventDefault();
  }
  zoom(domain) {
    for (const plot of this.options.linked || [this]) {
      plot.zoomed = domain;
      plot.render();
    }
    this.options.zoomed?.(domain);
  }
  resetButton() {
    this.reset?.remove();
    if (!this.zoomed) return;
    this.reset = this.box.appendChild(make('button', {class: 'reset', type: 'button', onclick: () => this.zoom(null)}, 'Show all'));
  }
}
