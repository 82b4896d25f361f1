// Opens report pages in a headless Chromium and fails where the console has an error, a
// section could not be drawn, a script of a name ran, or a control does nothing. It talks
// to the browser by its own protocol, over a pipe, so that Node alone is enough.
//   node check.mjs CHROMIUM page.html [...] [--screenshots DIR] [--dark] [--width W]
import {spawn} from 'node:child_process';
import {mkdirSync, writeFileSync} from 'node:fs';
import {basename, resolve} from 'node:path';
import {pathToFileURL} from 'node:url';

const words = process.argv.slice(2);
const option = (name) => {
  const at = words.indexOf(name);
  return at < 0 ? null : words.splice(at, 2)[1];
};
const screenshots = option('--screenshots');
const width = Number(option('--width') || 1200);
const dark = words.includes('--dark');
const [chromium, ...pages] = words.filter((word) => word !== '--dark');

const browser = spawn(chromium, ['--headless', '--no-sandbox', '--disable-gpu', '--hide-scrollbars', '--remote-debugging-pipe', '--no-first-run',
  '--disable-extensions', `--window-size=${width},900`, 'about:blank'], {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe']});
let last = 0, held = '';
const waiting = new Map(), listeners = [];
browser.stdio[4].on('data', (bytes) => {
  held += bytes.toString('utf8');
  for (let end; (end = held.indexOf('\0')) >= 0;) {
    const message = JSON.parse(held.slice(0, end));
    held = held.slice(end + 1);
    if (message.id) {
      const {done, failed} = waiting.get(message.id);
      waiting.delete(message.id);
      message.error ? failed(new Error(message.error.message)) : done(message.result);
    } else listeners.forEach((one) => one(message));
  }
});
function send(method, params = {}, sessionId = undefined) {
  const id = ++last;
  browser.stdio[3].write(JSON.stringify({id, method, params, sessionId}) + '\0');
  return new Promise((done, failed) => waiting.set(id, {done, failed}));
}
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

// Runs in the page: presses what can be pressed, moves over pictures, and says what is
// wrong.
async function exercise() {
  const wrong = [];
  const text = (node) => node.textContent.trim().slice(0, 60);
  for (const notice of document.querySelectorAll('.notice')) {
    if (notice.textContent.includes('could not be drawn')) wrong.push(text(notice));
  }
  const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  for (const button of [...document.querySelectorAll('main button')]) {
    if (!button.isConnected || button.hidden) continue;
    const before = button.getAttribute('aria-pressed');
    const grouped = button.closest('[role=group]');
    button.click();
    await frame();
    // A column may stay chosen where two are the fewest, so only keys must change.
    if (button.classList.contains('key') && button.getAttribute('aria-pressed') === before) wrong.push('a key does nothing: ' + text(button));
    if (grouped && button.getAttribute('aria-pressed') !== 'true') wrong.push('a choice does nothing: ' + text(button));
    if (button.classList.contains('key')) button.click();
  }
  for (const select of document.querySelectorAll('main select')) {
    select.selectedIndex = select.options.length - 1;
    select.dispatchEvent(new Event('change'));
    await frame();
    select.selectedIndex = 0;
    select.dispatchEvent(new Event('change'));
  }
  for (const details of document.querySelectorAll('main details')) details.open = true;
  await frame();
  let hovered = 0, slowest = 0;
  const plots = [...document.querySelectorAll('.plot > svg[role]')];
  for (const svg of plots) {
    if (!svg.getAttribute('aria-label')) wrong.push('a picture without a text');
    svg.focus();
    svg.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}));
    hovered += !document.getElementById('hover').hidden;
    const box = svg.getBoundingClientRect();
    for (let i = 1; i < 12; ++i) {
      const since = performance.now();
      svg.dispatchEvent(new PointerEvent('pointermove', {clientX: box.left + box.width * i / 12, clientY: box.top + box.height / 2, bubbles: true}));
      slowest = Math.max(slowest, performance.now() - since);
    }
    const ticks = svg.textContent;
    svg.dispatchEvent(new KeyboardEvent('keydown', {key: '+', bubbles: true}));
    const zooms = svg.parentElement.querySelector('.reset');
    if (zooms) {
      if (svg.textContent === ticks) wrong.push('zooming changes nothing: ' + svg.getAttribute('aria-label'));
      svg.dispatchEvent(new KeyboardEvent('keydown', {key: '0', bubbles: true}));
      if (svg.parentElement.querySelector('.reset')) wrong.push('zooming does not go back: ' + svg.getAttribute('aria-label'));
    }
    svg.blur();
  }
  if (plots.length && !hovered) wrong.push('no picture has a value to walk to');
  if (document.querySelector('main img[onerror], main b, main script')) wrong.push('a name became an element');
  const wide = document.documentElement.scrollWidth - innerWidth;
  if (wide > 1) wrong.push(`the page is ${wide} pixels wider than the window`);
  scrollTo(0, 0);
  let frames = 0, longest = 0, before = performance.now();
  const height = document.documentElement.scrollHeight;
  document.documentElement.style.scrollBehavior = 'auto';
  for (let y = 0; y < height && frames < 120; y += 120, ++frames) {
    scrollTo(0, y);
    await new Promise((done) => requestAnimationFrame(done));
    const now = performance.now();
    longest = Math.max(longest, now - before);
    before = now;
  }
  scrollTo(0, 0);
  return {wrong, plots: plots.length, slowest, longest, sections: document.querySelectorAll('main section').length,
    drawn: document.documentElement.dataset.drawn === 'yes'};
}

let failures = 0;
try {
  for (const page of pages) {
    const {targetId} = await send('Target.createTarget', {url: 'about:blank'});
    const {sessionId} = await send('Target.attachToTarget', {targetId, flatten: true});
    const errors = [];
    let loaded = false;
    listeners.length = 0;
    listeners.push((message) => {
      if (message.sessionId !== sessionId) return;
      const {method, params} = message;
      if (method === 'Runtime.exceptionThrown') errors.push(params.exceptionDetails.exception?.description || params.exceptionDetails.text);
      if (method === 'Runtime.consoleAPICalled' && ['error', 'assert'].includes(params.type)) errors.push(params.args.map((a) => a.description || a.value).join(' '));
      if (method === 'Log.entryAdded' && params.entry.level === 'error') errors.push(params.entry.text);
      if (method === 'Page.javascriptDialogOpening') errors.push('a dialog opened: ' + params.message);
      if (method === 'Network.requestWillBeSent' && !/^(file|data):/.test(params.request.url)) errors.push('a request: ' + params.request.url);
      if (method === 'Page.loadEventFired') loaded = true;
    });
    for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await send(domain + '.enable', {}, sessionId);
    await send('Emulation.setDeviceMetricsOverride', {width, height: 900, deviceScaleFactor: 1, mobile: width < 600}, sessionId);
    if (dark) await send('Emulation.setEmulatedMedia', {features: [{name: 'prefers-color-scheme', value: 'dark'}]}, sessionId);
    const since = Date.now();
    await send('Page.navigate', {url: pathToFileURL(resolve(page)).href}, sessionId);
    while (!loaded && Date.now() - since < 30000) await pause(20);
    const opened = Date.now() - since;
    await pause(100);
    if (screenshots) {
      mkdirSync(screenshots, {recursive: true});
      const {data} = await send('Page.captureScreenshot', {captureBeyondViewport: true, format: 'png',
        clip: await (async () => {
          const {cssContentSize: s} = await send('Page.getLayoutMetrics', {}, sessionId);
          return {x: 0, y: 0, width: s.width, height: Math.min(s.height, 12000), scale: 1};
        })()}, sessionId);
      writeFileSync(`${screenshots}/${basename(page, '.html')}${dark ? '-dark' : ''}${width < 600 ? '-phone' : ''}.png`, Buffer.from(data, 'base64'));
    }
    const {result, exceptionDetails} = await send('Runtime.evaluate', {expression: `(${exercise})()`, awaitPromise: true, returnByValue: true}, sessionId);
    if (exceptionDetails) errors.push(exceptionDetails.exception?.description || exceptionDetails.text);
    const found = result.value || {wrong: ['the page was not looked at'], drawn: false};
    if (!found.drawn) errors.push('the page was not drawn');
    const all = [...errors, ...found.wrong];
    failures += all.length > 0;
    console.log(`${all.length ? 'FAILED' : 'ok'}  ${page}: ${found.sections} sections, ${found.plots} pictures, opened in ${opened} ms, hover up to ${(found.slowest || 0).toFixed(1)} ms, frame while scrolling up to ${(found.longest || 0).toFixed(0)} ms`);
    for (const one of all) console.log('    ' + one);
    await send('Target.closeTarget', {targetId});
  }
} catch (error) {
  console.log('FAILED: ' + error.message);
  ++failures;
}
browser.kill();
process.exit(failures ? 1 : 0);
