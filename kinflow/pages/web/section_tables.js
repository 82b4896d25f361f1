// Sections that are a table, a sheet of images, or the text of a report.

function sectionTable(host, data) {
  table(host, data.columns, data.rows, {sorts: true, most: data.most || 30, wide: data.wide, label: data.title,
    marked: data.marked === undefined ? null : (row) => row[data.marked.column] === data.marked.value});
  caption(host, data.caption);
}

function sectionImages(host, data) {
  const grid = figures(host, data.sheets.length > 1 ? 'two' : '');
  for (const sheet of data.sheets) {
    figure(grid, sheet.title, sheet.subtitle).append(make('img', {class: sheet.is_picture ? 'picture' : 'sheet', src: sheet.source, alt: sheet.label,
      width: sheet.width, height: sheet.height, loading: 'lazy'}));
  }
  caption(host, data.caption);
}

// Blocks of a Markdown report, taken apart by markdown_blocks.cpp.
function inline(pieces) {
  return pieces.map((piece) => (piece.code ? make('code', {}, piece.text) : piece.strong ? make('strong', {}, piece.text)
    : piece.emphasis ? make('em', {}, piece.text) : piece.text));
}
function sectionReport(host, data) {
  for (const block of data.blocks) {
    if (block.kind === 'heading') host.append(make('h3', {}, ...inline(block.text)));
    else if (block.kind === 'text') host.append(make('p', {}, ...inline(block.text)));
    else if (block.kind === 'list') host.append(make('ul', {}, ...block.items.map((item) => make('li', {}, ...inline(item)))));
    else if (block.kind === 'image') host.append(make('img', {class: 'picture', src: block.source, alt: block.label, width: block.width, height: block.height}));
    else if (block.kind === 'table') {
      host.append(make('div', {class: 'scroll'}, make('table', {},
        make('thead', {}, make('tr', {}, ...block.head.map((cell, i) => make('th', {scope: 'col', class: block.left[i] ? 'text' : null}, ...inline(cell))))),
        make('tbody', {}, ...block.rows.map((row) => make('tr', {}, ...row.map((cell, i) => make('td', {class: block.left[i] ? 'text' : null}, ...inline(cell)))))))));
    }
  }
}

// Scores of methods over repetitions, joined where they are of one data set.
function sectionScores(host, data) {
  const grid = figures(host, data.panels.length > 1 ? 'two' : '');
  for (const panel of data.panels) {
    const names = panel.methods.map((m) => m.name);
    new Plot(figure(grid, panel.title), {
      label: `${data.label} of ${names.length} methods on ${panel.title || 'the data'}`, height: 70 + 26 * names.length, margin: {left: 170, top: 12}, zoom: false,
      x: {domain: padded(extent(panel.methods.flatMap((m) => m.values)), 0.08), label: data.label, grid: true},
      y: {domain: [names.length - 0.5, -0.5], ticks: () => names.map((_, i) => i), text: (i) => (names[i].length > 26 ? names[i].slice(0, 25) + '…' : names[i])},
      draw(p) {
        panel.methods.forEach((m, i) => {
          const mean = m.values.reduce((a, b) => a + b, 0) / m.values.length;
          p.dots(m.values, m.values.map(() => i), {fill: 'faint', radius: 3, opacity: 0.7});
          p.dots([mean], [i], {fill: 'model', radius: 4.5, opacity: 1});
          p.target(mean, i, `${m.name}\nmean ${say(mean, 4)} of ${m.values.length}`);
        });
      }});
  }
  caption(host, data.caption);
}
