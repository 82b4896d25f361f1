// A headless Chromium by its own protocol, over a pipe, so that Node alone is enough:
// pages from disk, what they complain of, and a mouse.
import {spawn} from 'node:child_process';
import {writeFileSync} from 'node:fs';
import {resolve} from 'node:path';
import {pathToFileURL} from 'node:url';

export const pause = (ms) => new Promise((done) => setTimeout(done, ms));

const frames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));

export class Browser {
  constructor(chromium, width) {
    this.width = width;
    this.process = spawn(chromium, ['--headless', '--no-sandbox', '--disable-gpu', '--hide-scrollbars', '--remote-debugging-pipe', '--no-first-run',
      '--disable-extensions', `--window-size=${width},900`, 'about:blank'], {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe']});
    this.last = 0;
    this.waiting = new Map();
    this.listener = null;
    let held = '';
    this.process.stdio[4].on('data', (bytes) => {
      held += bytes.toString('utf8');
      for (let end; (end = held.indexOf('\0')) >= 0;) {
        this.take(JSON.parse(held.slice(0, end)));
        held = held.slice(end + 1);
      }
    });
    this.process.on('exit', () => this.waiting.forEach(({failed}) => failed(new Error('the browser ended'))));
  }
  take(message) {
    if (!message.id) { this.listener?.(message); return; }
    const {done, failed} = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    message.error ? failed(new Error(message.error.message)) : done(message.result);
  }
  send(method, params = {}, sessionId = undefined) {
    const id = ++this.last;
    this.process.stdio[3].write(JSON.stringify({id, method, params, sessionId}) + '\0');
    return new Promise((done, failed) => this.waiting.set(id, {done, failed}));
  }
  async open(path, {dark = false} = {}) {
    const {targetId} = await this.send('Target.createTarget', {url: 'about:blank'});
    const {sessionId} = await this.send('Target.attachToTarget', {targetId, flatten: true});
    const page = new Page(this, targetId, sessionId);
    await page.load(path, dark);
    return page;
  }
  close() { this.process.kill(); }
}

class Page {
  constructor(browser, targetId, sessionId) {
    Object.assign(this, {browser, targetId, sessionId, errors: [], opened: 0});
  }
  send(method, params = {}) { return this.browser.send(method, params, this.sessionId); }

  async load(path, dark) {
    let loaded = false;
    const {errors} = this;
    this.browser.listener = ({sessionId, method, params}) => {
      if (sessionId !== this.sessionId) return;
      if (method === 'Runtime.exceptionThrown') errors.push(params.exceptionDetails.exception?.description || params.exceptionDetails.text);
      if (method === 'Runtime.consoleAPICalled' && ['error', 'assert', 'warning'].includes(params.type)) errors.push(params.args.map((a) => a.description || a.value).join(' '));
      if (method === 'Log.entryAdded' && ['error', 'warning'].includes(params.entry.level)) errors.push(params.entry.text);
      if (method === 'Page.javascriptDialogOpening') errors.push('a dialog opened: ' + params.message);
      if (method === 'Network.requestWillBeSent' && !/^(file|data):/.test(params.request.url)) errors.push('a request: ' + params.request.url);
      if (method === 'Page.loadEventFired') loaded = true;
    };
    for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await this.send(domain + '.enable');
    const {width} = this.browser;
    await this.send('Emulation.setDeviceMetricsOverride', {width, height: 900, deviceScaleFactor: 1, mobile: width < 600});
    if (dark) await this.send('Emulation.setEmulatedMedia', {features: [{name: 'prefers-color-scheme', value: 'dark'}]});
    const since = Date.now();
    await this.send('Page.navigate', {url: pathToFileURL(resolve(path)).href});
    while (!loaded && Date.now() - since < 30000) await pause(10);
    this.opened = Date.now() - since;
    await pause(100);
  }
  /// The value of a function that runs in the page, where `frames` waits for the next one.
  async evaluate(what, ...given) {
    const {result, exceptionDetails} = await this.send('Runtime.evaluate',
      {expression: `(() => { const frames = ${frames}; return (${what})(...${JSON.stringify(given)}); })()`, awaitPromise: true, returnByValue: true});
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description || exceptionDetails.text);
    return result.value;
  }
  async screenshot(path) {
    const {cssContentSize: s} = await this.send('Page.getLayoutMetrics');
    const {data} = await this.send('Page.captureScreenshot', {captureBeyondViewport: true, format: 'png',
      clip: {x: 0, y: 0, width: s.width, height: Math.min(s.height, 14000), scale: 1}});
    writeFileSync(path, Buffer.from(data, 'base64'));
  }
  async print(path) {
    const {data} = await this.send('Page.printToPDF', {printBackground: false, preferCSSPageSize: true, paperWidth: 8.27, paperHeight: 11.69});
    writeFileSync(path, Buffer.from(data, 'base64'));
  }
  mouse(type, x, y, more = {}) { return this.send('Input.dispatchMouseEvent', {type, x, y, ...more}); }
  move(x, y, buttons = 0) { return this.mouse('mouseMoved', x, y, {buttons}); }
  async press(x, y) {
    await this.move(x, y);
    await this.mouse('mousePressed', x, y, {button: 'left', buttons: 1, clickCount: 1});
    await this.mouse('mouseReleased', x, y, {button: 'left', clickCount: 1});
  }
  async drag(from, to) {
    await this.move(...from);
    await this.mouse('mousePressed', ...from, {button: 'left', buttons: 1, clickCount: 1});
    for (const share of [0.3, 0.7, 1]) await this.move(from[0] + share * (to[0] - from[0]), from[1] + share * (to[1] - from[1]), 1);
    await this.mouse('mouseReleased', ...to, {button: 'left', clickCount: 1});
  }
  close() { return this.browser.send('Target.closeTarget', {targetId: this.targetId}); }
}
