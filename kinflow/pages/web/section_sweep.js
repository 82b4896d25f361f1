// All runs of a sweep: parallel coordinates, and a table that sorts and filters.

function sectionSweep(host, data) {
  const {columns, rows, score} = data;
  // Every axis: a number keeps its scale where it has many values, all else is a list.
  const axes = data.axes.map((c) => {
    const values = rows.map((r) => r[c]);
    const numeric = values.every((v) => typeof v === 'number' || v === null);
    const distinct = [...new Set(values)].sort((a, b) => (numeric ? a - b : String(a).localeCompare(String(b), 'en', {numeric: true})));
    const listed = !numeric || (distinct.length <= 8 && !data.outcomes.includes(c));
    const [low, high] = extent(values.filter((v) => typeof v === 'number'));
    return {column: c, name: columns[c].name, distinct, listed, low, high, chosen: null,
      at(v) {
        if (v === null || v === undefined) return NaN;
        return listed ? (distinct.length > 1 ? distinct.indexOf(v) / (distinct.length - 1) : 0.5) : (v - low) / (high - low || 1);
      }};
  });
  const scores = rows.map((r) => r[score]).filter(Number.isFinite).sort((a, b) => a - b);
  const cut = quantile(scores, 0.25), best = scores[0];
  const scoreAxis = axes.find((a) => a.column === score);
  const top = quantile(scores, 0.9);
  if (scoreAxis) {
    Object.assign(scoreAxis, {listed: false, low: best, high: top > best ? top : scoreAxis.high});
    scoreAxis.at = (v) => (v === null ? NaN : Math.min((v - scoreAxis.low) / (scoreAxis.high - scoreAxis.low || 1), 1.04));
  }
  const filters = {};
  const row = controls(host);
  for (const axis of axes) {
    if (axis.column === score || !axis.listed || axis.distinct.length < 2) continue;
    select(row, axis.name, [['', 'all'], ...axis.distinct.map((v, i) => [i, typeof v === 'number' ? say(v) : v])], '', (value) => {
      filters[axis.column] = value === '' ? undefined : axis.distinct[value];
      refresh();
    });
  }
  const keeps = (r) => Object.entries(filters).every(([c, v]) => v === undefined || r[c] === v);
  const box = figure(host, null);
  key(box, [{text: 'best quarter of the runs', stroke: 'model'}, {text: 'the best run', stroke: 'second'}, {text: 'others', stroke: 'faint'}]);
  const plot = new Plot(box, {
    label: `Options and scores of ${rows.length} runs as parallel coordinates`, height: 360, zoom: false, margin: {left: 24, right: 60, top: 50, bottom: 16},
    x: {domain: [0, Math.max(axes.length - 1, 1)], ticks: () => []}, y: {domain: [-0.05, 1.08], ticks: () => []},
    draw(p) {
      const jitter = rows.map((_, i) => ((i * 0.618) % 1 - 0.5) * 0.035);
      const order = rows.map((_, i) => i).filter((i) => keeps(rows[i])).sort((a, b) => (rows[b][score] ?? Infinity) - (rows[a][score] ?? Infinity));
      for (const i of order) {
        const r = rows[i], good = r[score] !== null && r[score] <= cut, first = r[score] === best;
        const ys = axes.map((a) => a.at(r[a.column]) + (a.listed ? jitter[i] : 0));
        p.line(axes.map((_, k) => k), ys, {stroke: first ? 'second' : good ? 'model' : 'faint', width: first ? 2.4 : 1, opacity: first ? 1 : good ? 0.55 : Math.max(0.12, Math.min(0.4, 30 / order.length))});
        axes.forEach((a, k) => p.target(k, ys[k], () => columns.map((c, n) => `${c.name}: ${typeof r[n] === 'number' ? say(r[n]) : r[n] ?? '–'}`).join('\n')));
      }
      const crowded = axes.length > 1 && p.x(1) - p.x(0) < 7 * Math.max(...axes.map((a) => a.name.length));
      axes.forEach((a, k) => {
        const at = p.x(k);
        p.front.append(draw('line', {class: 'axis', x1: at, x2: at, y1: p.area.top, y2: p.area.bottom}));
        const anchor = k === 0 ? 'start' : k === axes.length - 1 ? 'end' : 'middle';
        p.front.append(draw('text', {class: 'note', x: k === 0 ? at - 20 : k === axes.length - 1 ? at + 56 : at, y: p.area.top - (crowded && k % 2 ? 30 : 14), 'text-anchor': anchor}, a.name));
        const marks = a.listed ? a.distinct.map((v, i) => [a.distinct.length > 1 ? i / (a.distinct.length - 1) : 0.5, typeof v === 'number' ? say(v) : v])
          : [[0, say(a.low, 4)], [1, (a.column === score ? '≥ ' : '') + say(a.high, 4)]];
        marks.forEach(([share, text]) => p.front.append(draw('text', {x: at + 6, y: p.y(share) + 4, 'paint-order': 'stroke', stroke: 'var(--paper)', 'stroke-width': 3}, text)));
      });
    }});
  caption(host, data.caption);
  host.append(make('h3', {}, 'All runs'));
  const tools = controls(host);
  const search = make('input', {type: 'search', placeholder: 'find', 'aria-label': 'Find runs with this text', oninput: () => refresh()});
  const count = make('span', {class: 'says', 'aria-live': 'polite'});
  tools.append(search, count);
  const list = table(host, columns, rows, {sorts: true, most: 25, wide: true, label: 'Runs of the sweep', marked: (r) => r[score] === best});
  function refresh() {
    const text = search.value.toLowerCase();
    const shown = list.filter((r) => keeps(r) && (!text || r.some((cell) => String(cell).toLowerCase().includes(text))));
    count.textContent = `${shown.length} of ${rows.length} runs`;
    plot.render();
  }
  refresh();
}
