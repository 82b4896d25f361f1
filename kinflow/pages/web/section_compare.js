// Several runs beside each other.

function sectionCompare(host, data) {
  const names = data.runs.map((r) => r.name);
  const paired = data.runs.some((r) => r.difference);
  const grid = figures(host, paired ? 'two' : '');
  const height = 70 + 34 * names.length;
  const axis = {domain: [names.length - 0.5, -0.5], ticks: () => names.map((_, i) => i), text: (i) => (names[i].length > 22 ? names[i].slice(0, 21) + '…' : names[i])};
  const part = (title, subtitle, values, zero) => new Plot(figure(grid, title, subtitle), {
    label: `${title} of ${names.length} runs`, height, zoom: false, margin: {left: 150, top: 12}, y: axis,
    x: {domain: padded(extent([...values.flatMap((v) => (v ? [v[0] - 2 * (v[1] || 0), v[0] + 2 * (v[1] || 0)] : [])), ...(zero ? [0] : [])]), 0.1), label: 'nats a row', grid: true},
    draw(p) {
      if (zero) p.rule({x: 0, dash: null, stroke: 'soft'});
      values.forEach((v, i) => {
        if (!v) return;
        const sure = zero && Math.abs(v[0]) > 2 * v[1];
        const fill = !zero ? 'model' : sure ? (v[0] < 0 ? 'good' : 'second') : 'soft';
        if (v[1]) p.interval(v[0] - 1.96 * v[1], v[0] + 1.96 * v[1], i, {vertical: false, stroke: fill, width: 2});
        p.dots([v[0]], [i], {fill, radius: 5, opacity: 1});
        p.target(v[0], i, `${names[i]}\n${say(v[0], 4)}${v[1] ? ` ± ${say(v[1], 2)}` : ''} nats`);
      });
    }});
  part(data.score_title, data.score_note, data.runs.map((r) => (r.nll === null ? null : [r.nll, r.error])), false);
  if (paired) part('Difference to the first run', 'row by row; below 0 is better', data.runs.map((r) => r.difference), true);
  caption(host, data.caption);
  table(host, data.columns, data.rows, {wide: true, label: 'Runs beside each other'});
}

// Learned densities on one scale.
function sectionMaps(host, data) {
  const grid = figures(host, data.panels.length > 2 ? 'three' : 'two'), linked = [];
  for (const panel of data.panels) {
    const map = panel.map ? unpackBytes(panel.map) : null, side = data.side;
    const xs = panel.rows ? unpack(panel.rows.x) : [], ys = panel.rows ? unpack(panel.rows.y) : [];
    const groups = panel.rows?.group;
    new Plot(figure(grid, panel.title, panel.subtitle), {
      label: `${panel.title}. ${panel.subtitle || ''}`, aspect: 0.92, linked, x: {domain: data.x, label: data.columns[0]}, y: {domain: data.y, label: data.columns[1], noGrid: true},
      margin: {left: 40},
      draw(p) {
        if (map) p.heat(map, side, side, data.x, data.y);
        if (!xs.length) return;
        const of = (g) => Array.from(xs, (_, i) => i).filter((i) => (groups ? groups[i] : 0) === g);
        const kinds = groups ? [0, ...[...new Set(groups)].filter((g) => g > 0).sort((a, b) => b - a)] : [0];
        for (const g of kinds) {
          const at = of(g);
          p.dots(at.map((i) => xs[i]), at.map((i) => ys[i]), {fill: g === 0 ? (groups ? 'faint' : 'data') : category(g - 1), radius: 1.2, opacity: g === 0 ? 0.35 : 0.75});
        }
      },
      under(p, px, py) {
        const x = p.x.back(px), y = p.y.back(py);
        let text = `${data.columns[0]} ${say(x, 3)}\n${data.columns[1]} ${say(y, 3)}`;
        if (map) {
          const c = Math.floor((x - data.x[0]) / (data.x[1] - data.x[0]) * side), r = Math.floor((y - data.y[0]) / (data.y[1] - data.y[0]) * side);
          if (c < 0 || r < 0 || c >= side || r >= side) return null;
          text += `\ndensity ${say((map[r * side + c] / 255) ** 2 * data.largest, 3)}`;
        }
        return {px, py, text};
      }});
  }
  caption(host, data.caption);
}

// Of simulated data: what was learned of each group over what is true.
function sectionRecovered(host, data) {
  const box = figure(figures(host, 'two'), null);
  const size = (g) => 2 + 1.1 * Math.log2(g.size);
  new Plot(box, {
    label: `Learned over true correlations of ${data.groups.length} groups`, aspect: 0.86,
    x: {domain: [-0.02, 1.02], label: 'true ρ', grid: true}, y: {domain: [-0.02, 1.02], label: 'learned ρ'},
    draw(p) {
      p.line([0, 1], [0, 1], {stroke: 'faint', width: 1});
      for (const g of data.groups) {
        p.dots([g.truth], [g.learned], {fill: 'model', radius: size(g), opacity: 0.55});
        p.target(g.truth, g.learned, `${g.name}, ${say(g.size)} rows\ntrue ${say(g.truth, 3)}\nlearned ${say(g.learned, 3)}`);
      }
    }});
  caption(host, data.caption);
}
