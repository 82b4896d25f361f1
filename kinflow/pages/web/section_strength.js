// How strong the dependence is: every group by its size, or the likelihood of one number.

function sectionGroups(host, data) {
  const groups = data.groups;
  const box = figure(host, null);
  const largest = Math.max(...groups.map((g) => g.size));
  new Plot(box, {
    label: `Learned correlation of ${groups.length} groups against their size`, height: 360,
    x: {domain: [1.7, largest * 1.2], log: true, label: data.size_label || 'rows of the group'}, y: {domain: [-0.03, 1.03], label: 'learned correlation ρ within the group'},
    draw(p) {
      if (Number.isFinite(data.typical)) p.rule({y: data.typical, text: `typical ρ ${say(data.typical, 3)}`, anchor: 'end'});
      const many = groups.length > 150;
      for (const g of groups) if (g.low !== null && g.low !== undefined) p.interval(g.low, g.high, g.size, {stroke: 'faint', opacity: many ? 0.35 : 0.7});
      p.dots(groups.map((g) => g.size), groups.map((g) => g.rho), {fill: 'model', radius: many ? 2.2 : 3.4, opacity: many ? 0.6 : 0.9});
      for (const g of groups) {
        p.target(g.size, g.rho, `${g.name}\n${say(g.size)} rows\nρ ${say(g.rho, 3)}${g.low !== null && g.low !== undefined ? `, 95% from ${say(g.low, 3)} to ${say(g.high, 3)}` : ''}`);
      }
    }});
  caption(host, data.caption);
  numbers(host, [{name: 'group', text: true}, {name: 'rows'}, {name: 'ρ', digits: 3}, {name: '95% from', digits: 3}, {name: 'to', digits: 3}],
    groups.map((g) => [g.name, g.size, g.rho, g.low ?? null, g.high ?? null]));
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
      p.rule({y: -1.92, text: 'edge of the 95% interval'});
      p.line(data.at, data.log_likelihood, {width: 2});
      p.rule({x: data.estimate, stroke: 'model', dash: null});
      data.at.forEach((v, i) => p.target(v, data.log_likelihood[i], `${data.parameter} ${say(v, 3)}\n${say(data.log_likelihood[i], 3)} nats`));
    }});
  caption(host, data.caption);
  numbers(host, [{name: data.parameter}, {name: 'log-likelihood less its maximum'}], data.at.map((v, i) => [v, data.log_likelihood[i]]));
}
