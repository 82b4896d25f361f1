// What a reader presses and sorts: switches, keys of a picture, tables.

function figure(host, title, subtitle = null) {
  return host.appendChild(make('figure', {}, title ? make('p', {class: 'title'}, title) : null,
    subtitle ? make('p', {class: 'subtitle'}, subtitle) : null));
}
const figures = (host, kind = '') => host.appendChild(make('div', {class: 'figures ' + kind}));
const controls = (host) => host.appendChild(make('div', {class: 'controls'}));

// One of several: [[value, text], ...].
function choice(host, says, values, chosen, change) {
  if (says) host.append(make('span', {class: 'says'}, says));
  const buttons = values.map(([value, text]) => make('button', {
    type: 'button', 'aria-pressed': String(value === chosen),
    onclick: () => {
      buttons.forEach((b, i) => b.setAttribute('aria-pressed', String(values[i][0] === value)));
      change(value);
    }}, text));
  host.append(make('span', {role: 'group', 'aria-label': says || 'Show', class: 'controls', style: null}, ...buttons));
}
function select(host, says, values, chosen, change) {
  const box = make('select', {onchange: () => change(box.value)},
    ...values.map(([value, text]) => make('option', {value, selected: String(value) === String(chosen)}, text)));
  host.append(make('label', {class: 'says'}, says + ' ', box));
  return box;
}

// A sample of how something is drawn.
function sample({stroke, shape = 'line', dash = null, opacity = 1}) {
  const icon = draw('svg', {viewBox: '0 0 18 12', 'aria-hidden': 'true'});
  const paint = `var(--${stroke})`;
  if (shape === 'dot') icon.append(draw('circle', {cx: 9, cy: 6, r: 4, fill: paint, opacity}));
  else if (shape === 'box') icon.append(draw('rect', {x: 2, y: 1, width: 14, height: 10, rx: 2, fill: paint, opacity}));
  else if (shape === 'ring') icon.append(draw('circle', {cx: 9, cy: 6, r: 4, fill: 'none', stroke: paint, 'stroke-width': 1.8}));
  else icon.append(draw('line', {x1: 1, x2: 17, y1: 6, y2: 6, stroke: paint, 'stroke-width': 2.4, 'stroke-dasharray': dash, opacity}));
  return icon;
}
// A key that shows what is what; with `change`, each entry can be switched off.
function key(host, entries, change = null) {
  if (!change) {
    return host.appendChild(make('p', {class: 'keys'}, ...entries.map((e) => make('span', {}, sample(e), e.text))));
  }
  const row = host.classList.contains('controls') ? host : controls(host);
  for (const entry of entries) {
    const button = make('button', {type: 'button', class: 'key', 'aria-pressed': String(entry.on !== false), onclick: () => {
      entry.on = entry.on === false;
      button.setAttribute('aria-pressed', String(entry.on));
      change(entry);
    }}, sample(entry), entry.text);
    row.append(button);
  }
  return row;
}

// columns: [{name, text (left), digits, say}], rows: lists of cells.
function table(host, columns, rows, {sorts = false, marked = null, wide = false, most = 0, label = null, press = null} = {}) {
  const body = make('tbody');
  let shown = [...rows], all = false;
  const more = make('button', {type: 'button', onclick: () => { all = true; fill(); }});
  const cell = (column, value) => (column.say ? column.say(value) : typeof value === 'number' ? (column.decimals ? fixed(value, column.decimals) : say(value, column.digits || 4))
    : value === null || value === undefined ? '–' : value);
  function fill() {
    const cut = most && !all ? shown.slice(0, most) : shown;
    body.replaceChildren(...cut.map((row) => {
      const line = make('tr', {class: marked?.(row) ? 'marked' : null},
        ...columns.map((column, i) => make('td', {class: column.text ? 'text' : null}, cell(column, row[i]))));
      if (press) {
        line.tabIndex = 0;
        line.style.cursor = 'pointer';
        line.addEventListener('click', () => press(row));
        line.addEventListener('keydown', (event) => { if (event.key === 'Enter') press(row); });
      }
      return line;
    }));
    more.hidden = cut.length === shown.length;
    more.textContent = `Show all ${shown.length.toLocaleString('en-US')} rows`;
  }
  const heads = columns.map((column, i) => {
    const head = make('th', {scope: 'col', class: column.text ? 'text' : null});
    if (!sorts) { head.append(column.name); return head; }
    head.append(make('button', {type: 'button', onclick: () => {
      const up = head.getAttribute('aria-sort') !== 'ascending';
      heads.forEach((h) => h.removeAttribute('aria-sort'));
      head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
      sortBy(i, up);
    }}, column.name));
    return head;
  });
  function sortBy(i, up) {
    const compare = (a, b) => {
      const missing = (v) => v === null || v === undefined || Number.isNaN(v);
      if (missing(a[i]) || missing(b[i])) return missing(a[i]) - missing(b[i]);
      const order = typeof a[i] === 'number' && typeof b[i] === 'number' ? a[i] - b[i]
        : String(a[i]).localeCompare(String(b[i]), 'en', {numeric: true});
      return up ? order : -order;
    };
    rows = [...rows].sort(compare);
    shown = [...shown].sort(compare);
    fill();
  }
  fill();
  host.append(make('div', {class: 'scroll'},
    make('table', {class: wide ? 'wide' : null, 'aria-label': label}, make('thead', {}, make('tr', {}, ...heads)), body)), more);
  return {filter(keep) { shown = rows.filter(keep); fill(); return shown; }};
}

// The numbers behind a picture, for those who would rather have them.
function numbers(host, columns, rows, says = 'The numbers as a table') {
  if (!rows.length) return;
  const box = make('details', {}, make('summary', {}, says));
  box.addEventListener('toggle', () => {
    if (box.open && box.childElementCount === 1) table(box, columns, rows, {most: 100, sorts: true});
  });
  host.append(box);
}
const caption = (host, text) => text && host.append(make('p', {class: 'caption'}, text));
