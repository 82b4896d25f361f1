// Two columns: the learned density as a map, with the rows or with draws over it.

function sectionDensity(host, data) {
  const rows = {x: unpack(data.rows.x), y: unpack(data.rows.y)};
  const draws = {x: unpack(data.draws.x), y: unpack(data.draws.y)};
  const map = unpackBytes(data.map), side = data.side;
  const show = {map: true, points: true};
  const row = controls(host);
  key(row, [{text: 'learned density', stroke: 'heat3', shape: 'box', what: 'map'}, {text: 'points', stroke: 'data', shape: 'dot', what: 'points'}],
    (entry) => { show[entry.what] = entry.on; linked.forEach((p) => p.render()); });
  const grid = figures(host, 'two'), linked = [];
  const densityAt = (x, y) => {
    const c = Math.floor((x - data.x[0]) / (data.x[1] - data.x[0]) * side), r = Math.floor((y - data.y[0]) / (data.y[1] - data.y[0]) * side);
    if (c < 0 || r < 0 || c >= side || r >= side) return null;
    return (map[r * side + c] / 255) ** 2 * data.largest;
  };
  const panel = (title, subtitle, points, label, name) => new Plot(figure(grid, title, subtitle), {
    label, aspect: 0.92, linked,
    x: {domain: data.x, label: data.columns[0]}, y: {domain: data.y, label: data.columns[1], noGrid: true},
    draw(p) {
      if (show.map) p.heat(map, side, side, data.x, data.y);
      if (show.points) p.dots(points.x, points.y, {fill: show.map ? 'data' : name === 'row' ? 'data' : 'model', radius: points.x.length > 2500 ? 0.8 : 1.3, opacity: show.map ? 0.42 : 0.6});
      points.x.forEach((x, i) => p.target(x, points.y[i], () => `${name === 'row' ? 'row ' + data.rows.number[i] : 'a draw'}\n${data.columns[0]} ${say(x)}\n${data.columns[1]} ${say(points.y[i])}\nlearned density ${say(densityAt(x, points.y[i]), 3)}`));
    },
    under(p, px, py) {
      const x = p.x.back(px), y = p.y.back(py), density = densityAt(x, y);
      return density === null ? null : {px, py, text: `${data.columns[0]} ${say(x, 3)}\n${data.columns[1]} ${say(y, 3)}\nlearned density ${say(density, 3)}`};
    }});
  panel('The rows of the table', data.rows_note, rows, `Learned density of ${data.columns.join(' and ')} with rows of the table over it`, 'row');
  panel('Draws from the model', data.draws_note, draws, `Learned density of ${data.columns.join(' and ')} with draws from the model over it`, 'draw');
  caption(host, data.caption);
}
