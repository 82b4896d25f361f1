// Elements, numbers as text, colours of the theme, and the line of text beside the
// pointer. Names from files become text nodes only, never markup.

const SVG = 'http://www.w3.org/2000/svg';

function put(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : value);
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}
const make = (tag, attributes, ...children) =>
  put(document.createElement(tag), attributes, children);
const draw = (tag, attributes, ...children) =>
  put(document.createElementNS(SVG, tag), attributes, children);

// Numbers that were packed by packed_numbers.cpp: 16 bits of [low, high]; the largest
// stands for a number that is missing.
function unpack(packed) {
  if (!packed) return [];
  const bytes = atob(packed.bytes);
  const values = new Float64Array(bytes.length / 2);
  for (let i = 0; i < values.length; ++i) {
    const code = bytes.charCodeAt(2 * i) + 256 * bytes.charCodeAt(2 * i + 1);
    values[i] = code === 65535 ? NaN
      : packed.low + (packed.high - packed.low) * code / 65534;
  }
  return values;
}
function unpackBytes(text) {
  const bytes = atob(text);
  return Uint8Array.from(bytes, (c) => c.charCodeAt(0));
}

// A name that is written from right to left turns nothing around but itself; characters
// that would turn what follows them are shown by their numbers.
function inOrder(text) {
  if (!/[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc]/.test(text)) return text;
  // Isolates in sentences are our own.
  const plain = text.replace(/[\u200e\u200f\u202a-\u202e\u2066\u2067]/g, (c) => `\u27e8U+${c.charCodeAt(0).toString(16).toUpperCase()}\u27e9`);
  return `\u2068${plain}\u2069`;
}

// A number for a person, with the minus sign of typography.
function say(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return '–';
  if (typeof value === 'string') return value;
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '−∞';
  let text;
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= Math.max(1e7, 10 ** digits))) {
    const [mantissa, exponent] = value.toExponential(Math.max(digits - 2, 1)).split('e');
    text = mantissa + ' × 10' + Array.from(String(Number(exponent)),
      (c) => '⁰¹²³⁴⁵⁶⁷⁸⁹'[c] || '⁻').join('');
  } else if (Number.isInteger(value)) {
    text = value.toLocaleString('en-US');
  } else {
    text = String(Number(value.toPrecision(digits)));
    if (size >= 10000) text = Math.round(value).toLocaleString('en-US');
  }
  return text.replace(/^-/, '−');
}
const fixed = (value, digits) => Number.isFinite(value)
  ? value.toFixed(digits).replace(/^-/, '−') : '–';

function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
}
const category = (index) => 'c' + (index % 8);
function rgb(hex) {
  const n = parseInt(hex.slice(1), 16);
  return [n >> 16, (n >> 8) & 255, n & 255];
}
// 256 steps from the paper to the darkest (on dark paper, the lightest) colour.
function heatColors() {
  const stops = [0, 1, 2, 3, 4, 5].map((i) => rgb(color('heat' + i)));
  return Array.from({length: 256}, (_, i) => {
    const at = i / 255 * 5, low = Math.min(Math.floor(at), 4), share = at - low;
    return stops[low].map((c, k) => Math.round(c + (stops[low + 1][k] - c) * share));
  });
}

const hover = {
  show(text, x, y) {
    const box = document.getElementById('hover');
    box.hidden = false;
    if (box.textContent !== text) box.textContent = text;
    const width = box.offsetWidth, height = box.offsetHeight;
    const left = x + 14 + width > innerWidth - 8 ? x - 14 - width : x + 14;
    box.style.left = Math.max(8, left) + 'px';
    box.style.top = Math.max(8, Math.min(y - height - 8, innerHeight - height - 8)) + 'px';
  },
  hide() { document.getElementById('hover').hidden = true; }
};

// Everything that is drawn anew when the width, the theme or the paper changes.
const drawings = new Set();
let waiting = 0;
function redrawAll() {
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(() => drawings.forEach((one) => one()));
}
addEventListener('resize', redrawAll);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redrawAll);
addEventListener('beforeprint', () => {
  document.documentElement.setAttribute('data-print', '');
  drawings.forEach((one) => one());
});
addEventListener('afterprint', () => {
  document.documentElement.removeAttribute('data-print');
  redrawAll();
});

const extent = (values) => {
  let low = Infinity, high = -Infinity;
  for (const v of values) if (Number.isFinite(v)) { if (v < low) low = v; if (v > high) high = v; }
  return low <= high ? [low, high] : [0, 1];
};
function padded([low, high], share = 0.04) {
  const gap = (high - low || Math.abs(high) || 1) * share;
  return [low - gap, high + gap];
}
function quantile(values, p) {
  const sorted = Array.from(values).filter(Number.isFinite).sort((a, b) => a - b);
  if (!sorted.length) return NaN;
  const at = p * (sorted.length - 1), low = Math.floor(at);
  return sorted[low] + (at - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
}
