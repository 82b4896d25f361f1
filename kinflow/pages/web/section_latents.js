// Are the latents normal, and does the dependence go away?

function sectionLatents(host, data) {
  let after = data.after ? 'after' : 'before';
  const sets = {before: data.before, after: data.after};
  if (data.after) {
    choice(controls(host), 'latents', [['before', 'as the flow gives them'], ['after', 'with the dependence taken out']], after,
      (value) => { after = value; redraw(); });
  }
  const grid = figures(host, data.names.length > 2 ? 'three' : 'two');
  const plots = data.names.map((name, c) => new Plot(figure(grid, name), {
    label: `Normal quantiles of the latent ${name} with the band in which they lie by chance`, aspect: data.names.length > 2 ? 0.9 : 0.66,
    x: {domain: [-4, 4], label: 'normal quantile', grid: true}, y: {domain: [-4, 4], label: 'latent'},
    draw(p) {
      const set = sets[after], z = set.normal, q = set.quantiles[c];
      p.band(z, set.low, set.high, {fill: 'faint', opacity: 0.28});
      p.line([-4, 4], [-4, 4], {stroke: 'faint', width: 1});
      p.dots(z, q, {fill: 'model', radius: 2, opacity: 0.9});
      z.forEach((v, i) => p.target(v, q[i], `${name}\nquantile ${say(q[i], 3)}\nof a normal distribution ${say(v, 3)}\nby chance ${say(set.low[i], 3)} to ${say(set.high[i], 3)}`));
    }}));
  const redraw = () => plots.forEach((p) => p.render());
  caption(host, data.caption);
  if (data.pairs) {
    host.append(make('h3', {}, 'Pairs of latents'));
    sectionPairs(host, {...data.pairs, marginal_text: 'standard normal'});
  }
  numbers(host, [{name: 'latent', text: true}, {name: 'normal quantile'}, {name: 'before'}, {name: 'after'}],
    data.names.flatMap((name, c) => data.before.normal.map((z, i) => [name, z, data.before.quantiles[c][i], data.after?.quantiles[c][i] ?? null])));
}

// Products of the latents of two rows against the correlation that was learned.
function sectionAdjusted(host, data) {
  const grid = figures(host, 'two');
  const bins = data.bins;
  const top = Math.max(...bins.map((b) => b.model), 0.05);
  const every = bins.flatMap((b) => [b.before, b.after, 0, b.model]);
  const left = figure(grid, 'Pairs of rows', 'how alike two rows are, by how alike they are under the model');
  key(left, [{text: 'latents', stroke: 'second', shape: 'dot'}, {text: 'dependence taken out', stroke: 'model', shape: 'dot'}]);
  new Plot(left, {
    label: 'Mean product of the latents of two rows against their correlation under the model, before and after adjustment',
    aspect: 0.8, x: {domain: padded([0, top], 0.05), label: 'correlation of two rows under the model'}, y: {domain: padded(extent(every), 0.12), label: 'mean product of their latents'},
    draw(p) {
      p.rule({y: 0, dash: null, stroke: 'faint'});
      p.line([0, top], [0, top], {stroke: 'second', width: 1, dash: '4 4'});
      for (const [what, fill] of [['before', 'second'], ['after', 'model']]) {
        for (const b of bins) {
          const error = b[what + '_error'];
          if (error) p.interval(b[what] - 1.96 * error, b[what] + 1.96 * error, b.model, {stroke: fill});
          p.dots([b.model], [b[what]], {fill, radius: 3.5, opacity: 1});
          p.target(b.model, b[what], `${what === 'before' ? 'latents' : 'dependence taken out'}\ncorrelation under the model ${say(b.model, 3)}\nmean product ${say(b[what], 3)}${error ? ' ± ' + say(error, 2) : ''}\n${say(b.pairs)} pairs of rows`);
        }
      }
    }});
  const right = figure(grid, 'Columns and latents', data.columns_note);
  const labels = [{text: 'column', stroke: 'data', shape: 'ring'}, {text: 'latent', stroke: 'second', shape: 'dot'}, {text: 'dependence taken out', stroke: 'model', shape: 'dot'}];
  key(right, labels);
  const names = data.columns.map((c) => c.name);
  new Plot(right, {
    label: 'Correlation of related rows in each column, in its latent, and once the dependence is taken out', zoom: false,
    height: Math.max(150, 64 + 28 * names.length), margin: {left: 96, top: 12},
    x: {domain: padded(extent([...data.columns.flatMap((c) => [c.data, c.before, c.after]), 0, 0.1]), 0.08), label: 'correlation of related rows', grid: true},
    y: {domain: [names.length - 0.5, -0.5], ticks: () => names.map((_, i) => i), text: (i) => (names[i].length > 13 ? names[i].slice(0, 12) + '…' : names[i])},
    draw(p) {
      p.rule({x: 0, dash: null, stroke: 'faint'});
      data.columns.forEach((c, i) => {
        p.line([c.after, c.before], [i, i], {stroke: 'faint', width: 1.2});
        if (c.data !== null) p.dots([c.data], [i], {fill: 'data', radius: 4, opacity: 1, ring: true});
        p.dots([c.before], [i], {fill: 'second', radius: 4, opacity: 1});
        p.dots([c.after], [i], {fill: 'model', radius: 4, opacity: 1});
        for (const [what, text] of [['data', 'column'], ['before', 'latent'], ['after', 'dependence taken out']]) {
          if (c[what] !== null) p.target(c[what], i, `${c.name}, ${text}: ${say(c[what], 3)}`);
        }
      });
    }});
  caption(host, data.caption);
  numbers(host, [{name: 'correlation under the model'}, {name: 'pairs of rows'}, {name: 'latents'}, {name: 'error', digits: 2}, {name: 'dependence taken out'}, {name: 'error', digits: 2}],
    bins.map((b) => [b.model, b.pairs, b.before, b.before_error, b.after, b.after_error]));
}
