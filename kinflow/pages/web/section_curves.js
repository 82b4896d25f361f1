// Learning curves of all replicas and folds, with the epochs that were kept.

function sectionCurves(host, data) {
  for (const s of data.series) {
    for (const name of ['score', 'train', 'parameter']) s[name] = s[name]?.map((v) => v ?? NaN);
  }
  const what = {score: data.score_label, train: 'training NLL, nats a row'};
  if (data.parameter_label) what.parameter = data.parameter_label;
  let shown = 'score', fold = 'all', others = true;
  const row = controls(host);
  choice(row, null, Object.keys(what).map((name) => [name, {score: data.held_out_text, train: 'Training', parameter: 'Dependence'}[name]]), shown,
    (value) => { shown = value; redraw(); });
  const folds = [...new Set(data.series.map((s) => s.fold))].sort((a, b) => a - b);
  if (folds.length > 1) {
    select(row, 'fold', [['all', 'all'], ...folds.map((f) => [f, f])], 'all', (value) => { fold = value; redraw(); });
  }
  const hasOthers = data.series.some((s) => !s.member);
  if (hasOthers) key(row, [{text: 'flows that were not kept', stroke: 'faint', opacity: 0.6}], (entry) => { others = entry.on; redraw(); });

  const visible = () => data.series.filter((s) => (fold === 'all' || String(s.fold) === String(fold)) && (others || s.member));
  const valuesOf = (s) => (shown === 'parameter' ? s.parameter : s[shown]) || [];
  function domain() {
    const series = visible(), every = [], kept = [];
    let low = Infinity, high = -Infinity;
    for (const s of series) {
      valuesOf(s).forEach((v) => { if (Number.isFinite(v)) every.push(v); });
      if (!s.member && hasOthers) continue;
      // What the kept flows reach decides; the first epochs may stand above the picture.
      kept.push(...valuesOf(s).filter(Number.isFinite));
    }
    if (kept.length) [low, high] = [Math.min(...kept), quantile(kept, 0.95)];
    if (!(low <= high)) [low, high] = extent(every);
    return shown === 'parameter' ? padded(extent(every), 0.06) : padded([Math.min(low, quantile(every, 0.02)), high], 0.1);
  }
  const box = figure(host, null);
  const x = {domain: padded(extent(data.series.flatMap((s) => [s.epoch[0], s.epoch[s.epoch.length - 1]])), 0.02), label: 'epoch',
    ticks: (d) => niceTicks(d, 9).filter(Number.isInteger)};
  const y = {domain: domain(), label: what[shown]};
  const paint = (s) => (s.member ? category(folds.length > 1 ? folds.indexOf(s.fold) : 0) : 'faint');
  const plot = new Plot(box, {
    label: `Learning curves of ${data.series.length} flows over epochs`, height: 380, x, y,
    draw(p) {
      for (const s of [...visible()].sort((a, b) => a.member - b.member)) {
        p.line(s.epoch, valuesOf(s), {stroke: paint(s), width: s.member ? 1.7 : 0.8, opacity: s.member ? 0.95 : 0.45, joins: true});
        const name = `${data.folds ? `fold ${s.fold}, ` : ''}flow ${s.replica + 1}${s.kind ? ', ' + s.kind : ''}`;
        s.epoch.forEach((e, i) => {
          if (s.member || data.series.length < 40) p.target(e, valuesOf(s)[i], `${name}\nepoch ${e}: ${say(valuesOf(s)[i], 5)}${s.member ? `\nkept at epoch ${s.best}` : '\nnot kept'}`);
        });
      }
      for (const s of visible().filter((one) => one.member)) {
        const at = s.epoch.indexOf(s.best);
        if (at >= 0) p.dots([s.best], [valuesOf(s)[at]], {fill: paint(s), radius: 4, opacity: 1});
      }
    }});
  function redraw() {
    y.domain = domain();
    y.label = what[shown];
    plot.zoomed = null;
    plot.render();
  }
  caption(host, data.caption);
  numbers(host, [...(data.folds ? [{name: 'fold'}] : []), {name: 'flow'}, {name: 'kind', text: true}, {name: 'best epoch'}, {name: data.score_label, digits: 5}, {name: 'kept', text: true}],
    data.series.map((s) => [...(data.folds ? [s.fold] : []), s.replica + 1, s.kind || '', s.best, s.best_score, s.member ? 'yes' : 'no']));
}
