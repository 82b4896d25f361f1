// How strong the dependence is: every group by its size, or the likelihood of one number.

function sectionGroups(host, data) {
  const groups = data.groups, latents = data.latents || [];
  let shown = -1;
  const rho = (g) => (shown < 0 ? g.rho : g.of_latents[shown]);
  const typical = () => (shown < 0 ? data.typical : latents[shown].typical);
  const interval = (g) => shown < 0 && g.low !== null && g.low !== undefined && g.high !== null;
  if (latents.length) {
    select(controls(host), 'correlation of', [[-1, 'all latents, their mean'], ...latents.map((l, i) => [i, l.name])], -1,
      (value) => { shown = Number(value); plot.render(); });
  }
  const box = figure(host, null);
  const sizes = groups.map((g) => g.size);
  // Groups of one size beside each other.
  const crowded = groups.length > 3 * new Set(sizes).size;
  const places = sizes.map((size, i) => (crowded ? size * (1 + 0.09 * ((i * 0.618) % 1 - 0.5)) : size));
  const plot = new Plot(box, {
    label: `Learned correlation of ${groups.length} groups against their size`, height: 360,
    x: {domain: [Math.min(...sizes) / 1.15, Math.max(...sizes) * 1.15], log: true, label: data.size_label || 'rows of the group'},
    y: {domain: [-0.03, 1.03], label: 'learned correlation ρ within the group'},
    draw(p) {
      if (Number.isFinite(typical())) p.rule({y: typical(), text: `typical ρ ${say(typical(), 3)}`, anchor: 'end'});
      const many = groups.length > 150;
      groups.forEach((g, i) => { if (interval(g)) p.interval(g.low, g.high, places[i], {stroke: 'faint', opacity: many ? 0.35 : 0.7}); });
      p.dots(places, groups.map(rho), {fill: 'model', radius: many ? 2.2 : 3.4, opacity: many ? 0.6 : 0.9});
      groups.forEach((g, i) => {
        p.target(places[i], rho(g), `${g.name}\n${say(g.size)} rows\nρ ${say(rho(g), 3)}${interval(g) ? `, 95% interval ${say(g.low, 3)} to ${say(g.high, 3)}` : ''}`);
      });
    }});
  caption(host, data.caption);
  numbers(host, [{name: 'group', text: true}, {name: 'rows'}, {name: latents.length ? 'mean ρ' : 'ρ', digits: 3}, ...latents.map((l) => ({name: l.name, digits: 3})),
    {name: '95% from', digits: 3}, {name: 'to', digits: 3}],
    groups.map((g) => [g.name, g.size, g.rho, ...(g.of_latents || []), g.low ?? null, g.high ?? null]));
}

// One number for each latent, with its interval.
function sectionLatentsStrength(host, data) {
  const {latents, parameter} = data;
  const box = figure(figures(host, 'two'), null);
  new Plot(box, {
    label: `${parameter} of ${latents.length} latents with 95% intervals`, height: 70 + 28 * latents.length, zoom: false, margin: {left: 48, top: 12},
    x: {domain: [0, 1], label: parameter, grid: true}, y: {domain: [latents.length - 0.5, -0.5], ticks: () => latents.map((_, i) => i), text: (i) => latents[i].name},
    draw(p) {
      latents.forEach((l, i) => {
        if (l.low !== null && l.high !== null) p.interval(l.low, l.high, i, {vertical: false, width: 2});
        p.dots([l.value], [i], {fill: 'model', radius: 4.5, opacity: 1});
        p.target(l.value, i, `${l.name}: ${parameter} ${say(l.value, 3)}${l.low === null ? '' : `\n95% interval ${say(l.low, 3)} to ${say(l.high, 3)}`}`);
      });
    }});
  caption(host, data.caption);
  numbers(host, [{name: 'latent', text: true}, {name: parameter, digits: 3}, {name: '95% from', digits: 3}, {name: 'to', digits: 3}], latents.map((l) => [l.name, l.value, l.low, l.high]));
}

function sectionLikelihood(host, data) {
  const box = figure(host, null);
  const floor = Math.min(0, Math.max(Math.min(...data.log_likelihood), -30));
  new Plot(box, {
    label: `Log-likelihood of ${data.parameter}`, height: 300, x: {domain: [0, 1], label: data.parameter}, y: {domain: padded([floor, 0], 0.06), label: 'log-likelihood less its maximum, nats'},
    draw(p) {
      if (data.interval) {
        p.inside.append(draw('rect', {x: p.x(data.interval[0]), width: p.x(data.interval[1]) - p.x(data.interval[0]), y: p.area.top, height: p.area.bottom - p.area.top, fill: 'var(--model)', opacity: 0.1}));
      }
      p.rule({y: -1.92, text: 'above the dashed line: 95% interval', anchor: 'start'});
      p.line(data.at, data.log_likelihood, {width: 2});
      p.rule({x: data.estimate, stroke: 'model', dash: null});
      data.at.forEach((v, i) => p.target(v, data.log_likelihood[i], `${data.parameter} ${say(v, 3)}\n${say(data.log_likelihood[i], 3)} nats`));
    }});
  caption(host, data.caption);
  numbers(host, [{name: data.parameter}, {name: 'log-likelihood less its maximum'}], data.at.map((v, i) => [v, data.log_likelihood[i]]));
}
