// Any number of columns: every pair of those that are chosen, rows below the diagonal,
// draws from the model above it, and the marginals of both on it.

function sectionPairs(host, data) {
  const rows = data.rows.map(unpack), draws = data.draws.map(unpack), ranges = data.ranges;
  const most = 8;
  let chosen = data.columns.map((_, i) => i).slice(0, Math.min(data.columns.length, 4));
  const show = {rows: true, draws: true};
  const keys = [{text: data.rows_text || 'rows of the table (below)', stroke: 'data', shape: 'dot', what: 'rows'}];
  if (draws.length) keys.push({text: data.draws_text || 'draws from the model (above)', stroke: 'model', shape: 'dot', what: 'draws'});
  if (data.marginal_text) key(host, [{text: 'held-out rows', stroke: 'data', shape: 'dot'}, {text: data.marginal_text, stroke: 'model'}]);
  if (draws.length) key(controls(host), keys, (entry) => { show[entry.what] = entry.on; redraw(); });
  if (data.columns.length > 2) {
    const row = controls(host);
    row.append(make('span', {class: 'says'}, `columns (up to ${most})`));
    const buttons = data.columns.map((name, i) => make('button', {type: 'button', 'aria-pressed': String(chosen.includes(i)), onclick: () => {
      chosen = chosen.includes(i) ? chosen.filter((c) => c !== i) : [...chosen, i].sort((a, b) => a - b);
      if (chosen.length > most) chosen = chosen.filter((c) => c !== chosen.find((one) => one !== i));
      if (chosen.length < 2) chosen = [...new Set([...chosen, i])].sort((a, b) => a - b);
      buttons.forEach((b, k) => b.setAttribute('aria-pressed', String(chosen.includes(k))));
      build();
    }}, name));
    row.append(...buttons);
  }
  const box = host.appendChild(make('div', {class: 'pairs'}));
  let plots = [];
  const redraw = () => plots.forEach((p) => p.render());

  function marginal(p, c) {
    const {low, high, rows: ofRows, draws: ofDraws} = data.marginals[c];
    const step = (high - low) / ofRows.length;
    const top = Math.max(...ofRows, ...(ofDraws || [0])) * 1.12;
    const [y0, y1] = p.domain.y, up = (v) => y0 + v / top * (y1 - y0);
    ofRows.forEach((v, i) => { if (show.rows) p.bar(low + i * step, low + (i + 1) * step, up(v), {fill: 'data', opacity: 0.28, base: y0}); });
    if (ofDraws && show.draws) {
      const xs = [], ys = [];
      ofDraws.forEach((v, i) => { xs.push(low + i * step, low + (i + 1) * step); ys.push(up(v), up(v)); });
      p.line(xs, ys, {stroke: 'model', width: 1.6});
    }
  }
  function build() {
    plots.forEach((p) => drawings.delete(p.render));
    plots = [];
    box.replaceChildren();
    const n = chosen.length;
    box.style.gridTemplateColumns = `repeat(${n}, minmax(0, 1fr))`;
    box.style.maxWidth = `${Math.max(n * 19, 24)}rem`;
    chosen.forEach((cy, i) => chosen.forEach((cx, j) => {
      const bottom = i === n - 1, left = j === 0;
      const title = i === j ? data.columns[cx] : null;
      const cell = box.appendChild(make('div', {}));
      if (j > i && !draws.length) return;
      const source = i > j ? 'rows' : 'draws';
      plots.push(new Plot(cell, {
        label: i === j ? `Distribution of ${data.columns[cx]} in rows and draws`
          : `${source === 'rows' || !draws.length ? 'Rows of the table' : 'Draws from the model'}: ${data.columns[cy]} over ${data.columns[cx]}`,
        aspect: 0.9, zoom: i !== j,
        margin: {left: n > 5 ? 8 : 34, right: 4, top: i === j ? 22 : 6, bottom: n > 5 ? 8 : 24},
        x: {domain: ranges[cx], text: n > 5 ? () => '' : (v) => say(v, 3), grid: true, ticks: (d) => niceTicks(d, n > 3 ? 2 : 4)},
        y: i === j ? {domain: [0, 1], ticks: () => []} : {domain: ranges[cy], text: n > 5 ? () => '' : (v) => say(v, 3), ticks: (d) => niceTicks(d, n > 3 ? 2 : 4)},
        draw(p) {
          if (i === j) { marginal(p, cx); }
          else if (i > j || !draws.length) {
            if (show.rows) p.dots(rows[cx], rows[cy], {fill: 'data', radius: n > 4 ? 0.8 : 1.1, opacity: 0.5});
            rows[cx].forEach((v, k) => p.target(v, rows[cy][k], () => `row ${data.numbers[k]}\n${data.columns[cx]} ${say(v)}\n${data.columns[cy]} ${say(rows[cy][k])}`));
          } else if (show.draws) {
            p.dots(draws[cx], draws[cy], {fill: 'model', radius: n > 4 ? 0.8 : 1.1, opacity: 0.5});
          }
          if (title) p.front.append(draw('text', {class: 'note', x: p.area.left, y: p.area.top - 8}, title));
        }}));
    }));
  }
  build();
  caption(host, data.caption);
}
