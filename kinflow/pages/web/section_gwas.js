// Association: p-values along the genome, regions of loci, quantiles, null models.

function sectionManhattan(host, data) {
  const {chromosomes} = data;
  const end = chromosomes[chromosomes.length - 1];
  const span = end.start + end.length;
  const cells = new Uint16Array(unpackBytes(data.cells).buffer);
  const tops = {x: data.top.map((v) => chromosomes[v.chromosome].start + v.position), y: data.top.map((v) => v.log10_p)};
  const highest = Math.max(data.threshold_log10 * 1.08, ...tops.y, 3) * 1.04;
  const parity = new Uint8Array(cells.length / 2);
  {
    const starts = chromosomes.map((c) => c.start);
    for (let i = 0; i < parity.length; ++i) {
      const at = cells[2 * i] * data.cell_width;
      let c = starts.length - 1;
      while (c > 0 && starts[c] > at) --c;
      parity[i] = c % 2;
    }
  }
  const region = make('div', {'aria-live': 'polite'});
  const loci = data.loci || [];
  const box = figure(host, null);
  const chromosomeAt = (v) => chromosomes.findLast((c) => c.start <= v) || chromosomes[0];
  let range = null;
  const genome = new Plot(box, {
    label: `Manhattan plot of ${say(data.tested)} variants, ${loci.length} loci`, height: 360, margin: {left: 40, right: 4},
    zoomed: (domain) => { range = domain; },
    x: {domain: [-0.006 * span, 1.006 * span], label: 'chromosome', ticks: (d) => {
        const inside = chromosomes.filter((c) => c.start + c.length > d[0] && c.start < d[1]);
        if (d[1] - d[0] < span / 30) return niceTicks(d.map((v) => v - chromosomeAt((d[0] + d[1]) / 2).start), 6).map((v) => v + chromosomeAt((d[0] + d[1]) / 2).start);
        const least = (d[1] - d[0]) / Math.max((box.clientWidth || 900) / 20, 4);
        let last = -Infinity;
        return inside.map((c) => c.start + c.length / 2).filter((v) => { if (v - last < least) return false; last = v; return true; });
      }, text: (v) => {
        const c = chromosomeAt(v);
        return range && range.x[1] - range.x[0] < span / 30 ? `${say((v - c.start) / 1e6, 5)} Mb` : c.name;
      }},
    y: {domain: [0, highest], label: '−log₁₀ p'},
    draw(p) {
      const pen = p.pen;
      const size = Math.max(2.2, (p.x(data.cell_width) - p.x(0)) * 1.0), tall = Math.max(2.2, p.y(0) - p.y(data.cell_height));
      for (const side of [0, 1]) {
        pen.fillStyle = color(side ? 'c5' : 'model');
        for (let i = 0; i < parity.length; ++i) {
          if (parity[i] !== side) continue;
          pen.fillRect(p.x(cells[2 * i] * data.cell_width), p.y((cells[2 * i + 1] + 1) * data.cell_height), size, tall);
        }
      }
      for (const side of [0, 1]) {
        const at = data.top.map((_, i) => i).filter((i) => data.top[i].chromosome % 2 === side);
        p.dots(at.map((i) => tops.x[i]), at.map((i) => tops.y[i]), {fill: side ? 'c5' : 'model', radius: 1.7, opacity: 1});
      }
      p.rule({y: data.threshold_log10, stroke: 'second', text: `p = ${say(data.threshold, 2)}`});
      data.top.forEach((v, i) => p.target(tops.x[i], tops.y[i], () => `${v.id}\n${chromosomes[v.chromosome].name}:${say(v.position, 12)}\n−log₁₀ p ${say(v.log10_p, 4)}`));
      for (const locus of loci) {
        const x = chromosomes[locus.chromosome].start + locus.position;
        p.dots([x], [locus.log10_p], {fill: 'second', radius: 4.5, opacity: 1});
        p.target(x, locus.log10_p, `${locus.id}\n${chromosomes[locus.chromosome].name}:${say(locus.position, 12)}\n−log₁₀ p ${say(locus.log10_p, 4)}\npress to see the region`, () => open(locus));
      }
    }});
  caption(host, data.caption);
  if (loci.length) {
    host.append(make('h3', {}, data.loci_title));
    table(host, data.loci_columns, data.loci_rows, {most: 12, wide: true, sorts: true, label: data.loci_title, press: (row) => open(loci[row[0] - 1])});
    caption(host, 'Press a row, or a marked point above, to see its region.');
  }
  host.append(region);
  let drawn = [];

  function open(locus, scrolls = true) {
    drawn.forEach((plot) => drawings.delete(plot.render));
    drawn = [];
    region.replaceChildren(make('h3', {}, `Around ${locus.id}, chromosome ${chromosomes[locus.chromosome].name}`));
    const positions = unpack(locus.positions), values = unpack(locus.values), named = locus.variants;
    const grid = figures(region, 'two');
    const near = new Map(named.map((v) => [v.position, v]));
    let chosen = named[0];
    const map = new Plot(figure(grid, 'The region', 'press a variant for its effects'), {
      label: `p-values of variants around ${locus.id}`, aspect: 0.72,
      x: {domain: padded([locus.start, locus.end], 0.02), label: 'position', text: (v) => say(v / 1e6, 6) + ' Mb', ticks: (d) => niceTicks(d, 4)},
      y: {domain: [0, Math.max(locus.log10_p, data.threshold_log10) * 1.1], label: '−log₁₀ p'},
      draw(p) {
        p.rule({y: data.threshold_log10, stroke: 'second'});
        p.dots(positions, values, {fill: 'model', radius: 2.4, opacity: 0.8});
        named.forEach((v) => p.target(v.position, v.log10_p, `${v.id}\n−log₁₀ p ${say(v.log10_p, 4)}`, () => { chosen = v; map.render(); show(); }));
        p.dots([chosen.position], [chosen.log10_p], {fill: 'second', radius: 5, opacity: 1});
      }});
    const side = figure(grid, null), traits = data.traits;
    let effects = null;
    function show() {
      if (effects) { drawings.delete(effects.render); }
      side.replaceChildren(make('p', {class: 'title'}, `Effects of ${chosen.id}`),
        make('p', {class: 'subtitle'}, `one allele ${chosen.a1 || 'A1'}${Number.isFinite(chosen.frequency) ? `, frequency ${say(chosen.frequency, 3)}` : ''}, with 95% intervals`));
      const e = chosen.effects, s = chosen.errors;
      effects = new Plot(side, {
        label: `Effects of ${chosen.id} on ${traits.length} traits`, height: 70 + 26 * traits.length, zoom: false, margin: {left: 110, top: 12},
        x: {domain: padded(extent([0, ...e.flatMap((v, i) => (v === null ? [] : [v - 2 * s[i], v + 2 * s[i]]))]), 0.05), label: 'effect on the trait as tested', grid: true},
        y: {domain: [traits.length - 0.5, -0.5], ticks: () => traits.map((_, i) => i), text: (i) => (traits[i].length > 15 ? traits[i].slice(0, 14) + '…' : traits[i])},
        draw(p) {
          p.rule({x: 0, dash: null, stroke: 'soft'});
          e.forEach((v, i) => {
            if (v === null) return;
            const sure = Math.abs(v) > 1.96 * s[i];
            p.interval(v - 1.96 * s[i], v + 1.96 * s[i], i, {vertical: false, stroke: sure ? 'model' : 'faint', width: 2});
            p.dots([v], [i], {fill: sure ? 'model' : 'faint', radius: 4.5, opacity: 1});
            p.target(v, i, `${traits[i]}\n${say(v, 3)} ± ${say(s[i], 2)}`);
          });
        }});
      drawn.push(effects);
    }
    show();
    drawn.push(map);
    if (scrolls) region.scrollIntoView({block: 'nearest'});
  }
  if (loci.length) open(loci[0], false);
}

function sectionQuantiles(host, data) {
  const grid = figures(host, data.methods.length > 1 ? 'two' : 'two');
  for (const method of data.methods) {
    const top = Math.max(...method.expected, 3) * 1.05, high = Math.max(top, ...method.observed) * 1.03;
    new Plot(figure(grid, method.title, method.subtitle), {
      label: `Quantiles of p-values of ${method.title} with the band of chance`, aspect: 0.9,
      x: {domain: [0, top], label: '−log₁₀ p by chance'}, y: {domain: [0, high], label: '−log₁₀ p'},
      draw(p) {
        p.band(method.expected, method.low, method.high, {fill: 'faint', opacity: 0.28});
        p.line([0, top], [0, top], {stroke: 'faint', width: 1});
        p.dots(method.expected, method.observed, {fill: 'model', radius: 2, opacity: 0.9});
        method.expected.forEach((v, i) => p.target(v, method.observed[i], `−log₁₀ p ${say(method.observed[i], 3)}\nby chance ${say(v, 3)}`));
      }});
  }
  caption(host, data.caption);
}

// A correlation as a colour: blue above 0, vermilion below.
function sectionNullModel(host, data) {
  const grid = figures(host, 'two');
  const names = data.traits, short = (t) => (t.length > 12 ? t.slice(0, 11) + '…' : t);
  if (data.shares.length > 0) new Plot(figure(grid, data.share_title, data.share_note), {
    label: data.share_title, height: 70 + 28 * names.length, zoom: false, margin: {left: 104, top: 12}, x: {domain: [0, 1], label: 'share of the variance', grid: true},
    y: {domain: [names.length - 0.5, -0.5], ticks: () => names.map((_, i) => i), text: (i) => short(names[i])},
    draw(p) {
      names.forEach((name, i) => {
        const v = data.shares[i];
        p.inside.append(draw('rect', {x: p.x(0), width: Math.max(p.x(v) - p.x(0), 0), y: p.y(i) - 7, height: 14, rx: 2, fill: 'var(--model)'}));
        p.note(v, i, fixed(v, 2), {dx: 6, dy: 4});
        p.target(v, i, `${name}: ${say(v, 3)}`);
      });
    }});
  if (names.length > 1) {
    new Plot(figure(grid, 'Correlations of the traits', 'genetic below the diagonal, the rest above'), {
      label: 'Genetic correlations of the traits, and those of the rest', aspect: 0.86, zoom: false, margin: {left: 104, top: 12, bottom: 66},
      x: {domain: [-0.5, names.length - 0.5], ticks: () => []}, y: {domain: [names.length - 0.5, -0.5], ticks: () => names.map((_, i) => i), text: (i) => short(names[i]), noGrid: true},
      draw(p) {
        const w = Math.abs(p.x(1) - p.x(0)), h = Math.abs(p.y(1) - p.y(0));
        names.forEach((a, i) => {
          p.front.append(draw('text', {transform: `translate(${p.x(i) + 4} ${p.area.bottom + 10}) rotate(-50)`, 'text-anchor': 'end'}, short(a)));
          names.forEach((b, j) => {
            if (i === j) return;
            const genetic = i > j, v = genetic ? data.genetic[i][j] : data.rest[i][j];
            p.inside.append(draw('rect', {x: p.x(j) - w / 2 + 1, y: p.y(i) - h / 2 + 1, width: Math.max(w - 2, 1), height: Math.max(h - 2, 1), rx: 2,
              fill: `var(--${v >= 0 ? 'model' : 'second'})`, opacity: Math.min(Math.abs(v), 1) * 0.9 + 0.04}));
            if (w > 40) p.inside.append(draw('text', {x: p.x(j), y: p.y(i) + 4, 'text-anchor': 'middle', class: 'note', 'paint-order': 'stroke', stroke: 'var(--paper)', 'stroke-width': 3}, fixed(v, 2)));
            p.target(j, i, `${a} and ${b}\n${genetic ? 'genetic' : 'other'} correlation ${say(v, 3)}`);
          });
        });
      }});
  }
  caption(host, data.caption);
  numbers(host, [{name: 'trait', text: true}, ...names.map((n) => ({name: n, digits: 3}))], names.map((n, i) => [n, ...names.map((_, j) => (i === j ? data.shares[i] ?? null : i > j ? data.genetic[i][j] : data.rest[i][j]))]),
    'The numbers as a table: shares on the diagonal, genetic correlations below it');
}

// Precision and recall of drawn images.
function sectionPrd(host, data) {
  const box = figure(figures(host, 'two'), null);
  key(box, data.curves.map((c, i) => ({text: c.name, stroke: category(i)})));
  new Plot(box, {
    label: 'Precision against recall of drawn images', aspect: 0.9, x: {domain: [0, 1], label: 'recall'}, y: {domain: [0, 1], label: 'precision'},
    draw(p) {
      data.curves.forEach((c, i) => {
        p.line(c.recall, c.precision, {stroke: category(i), width: 2});
        c.recall.forEach((v, k) => p.target(v, c.precision[k], `${c.name}\nrecall ${say(v, 3)}\nprecision ${say(c.precision[k], 3)}`));
      });
    }});
  caption(host, data.caption);
}
