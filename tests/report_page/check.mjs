// Opens report pages in a headless Chromium and fails where the console has an error, a
// section could not be drawn, a script of a name ran, labels overlap, or a control does
// not what it says.
//   node check.mjs CHROMIUM page.html [...] [--screenshots DIR] [--dark] [--width W]
//     [--json FILE for what was measured]
import {mkdirSync, writeFileSync} from 'node:fs';
import {basename} from 'node:path';
import {Browser} from './browser.mjs';
import {useEverything} from './controls.mjs';

const words = process.argv.slice(2);
const option = (name) => {
  const at = words.indexOf(name);
  return at < 0 ? null : words.splice(at, 2)[1];
};
const screenshots = option('--screenshots'), json = option('--json');
const width = Number(option('--width') || 1200);
const dark = words.includes('--dark');
const [chromium, ...paths] = words.filter((word) => word !== '--dark');

const browser = new Browser(chromium, width);
const measured = [];
let failures = 0;
try {
  for (const path of paths) {
    const page = await browser.open(path, {dark});
    if (screenshots) {
      mkdirSync(screenshots, {recursive: true});
      const name = `${screenshots}/${basename(path, '.html')}${dark ? '-dark' : ''}${width < 600 ? '-phone' : ''}`;
      await page.screenshot(name + '.png');
      if (!dark && width >= 600) await page.print(name + '.pdf');
    }
    let found = {wrong: [], drawn: false, sections: 0, plots: 0, hover: 0, slowest: 0, frame: 0, longest: 0};
    try {
      found = await useEverything(page);
    } catch (error) {
      found.wrong.push(error.message);
    }
    if (!found.drawn) found.wrong.push('the page was not drawn');
    const all = [...page.errors, ...found.wrong];
    failures += all.length > 0;
    const ms = (value) => value.toFixed(0) + ' ms';
    console.log(`${all.length ? 'FAILED' : 'ok'}  ${path}: ${found.sections} sections, ${found.plots} pictures, opened in ${ms(page.opened)}, ` +
      `hover shown after ${ms(found.hover)} (longest ${ms(found.slowest)}), frames while scrolling ${ms(found.frame)} (longest ${ms(found.longest)})`);
    for (const one of all) console.log('    ' + one);
    measured.push({path, opened_ms: page.opened, hover_ms: found.hover, longest_hover_ms: found.slowest, frame_ms: found.frame, longest_frame_ms: found.longest, problems: all});
    await page.close();
  }
} catch (error) {
  console.log('FAILED: ' + error.message);
  ++failures;
}
if (json) writeFileSync(json, JSON.stringify(measured, null, 1));
browser.close();
process.exit(failures ? 1 : 0);
