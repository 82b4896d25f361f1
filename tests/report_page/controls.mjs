// What a reader does with a page, each with what must come of it. Functions with `inPage`
// in their name run in the page.
import {pause} from './browser.mjs';

/* global frames */
// Keys, choices, lists, sorting, filters, keyboard: by events of the document.
async function pressAllInPage() {
  const wrong = [];
  const text = (node) => node.textContent.trim().slice(0, 60);
  const state = (node) => {
    const section = node.closest('section');
    return section.innerHTML.length + '|' + section.textContent + '|' +
      [...section.querySelectorAll('canvas')].map((c) => c.toDataURL().length + c.toDataURL().slice(-80)).join();
  };
  for (const notice of document.querySelectorAll('.notice')) {
    if (notice.textContent.includes('could not be drawn')) wrong.push(text(notice));
  }
  for (const button of [...document.querySelectorAll('main button')]) {
    if (!button.isConnected || button.hidden || button.closest('th')) continue;
    const before = button.getAttribute('aria-pressed'), picture = state(button);
    const grouped = button.closest('[role=group]');
    button.click();
    await frames();
    // A column may stay chosen where two are the fewest, so only keys must change.
    if (button.classList.contains('key')) {
      if (button.getAttribute('aria-pressed') === before) wrong.push('a key stays as it is: ' + text(button));
      if (state(button) === picture) wrong.push('a key changes no picture: ' + text(button));
      button.click();
    }
    if (grouped) {
      if (button.getAttribute('aria-pressed') !== 'true') wrong.push('a choice stays as it is: ' + text(button));
      if (before !== 'true' && state(button) === picture) wrong.push('a choice changes no picture: ' + text(button));
    }
  }
  for (const select of document.querySelectorAll('main select')) {
    const before = state(select), chosen = select.selectedIndex;
    select.selectedIndex = select.options.length - 1;
    select.dispatchEvent(new Event('change'));
    await frames();
    if (select.options.length > 1 && select.selectedIndex !== chosen && state(select) === before) wrong.push('a list changes nothing: ' + text(select.parentElement));
    select.selectedIndex = chosen;
    select.dispatchEvent(new Event('change'));
  }
  for (const details of document.querySelectorAll('main details')) details.open = true;
  await frames();
  const number = (cell) => Number(cell.replace(/,/g, '').replace('−', '-'));
  for (const head of document.querySelectorAll('main th button')) {
    const table = head.closest('table'), place = [...head.closest('tr').children].indexOf(head.closest('th'));
    for (const up of [true, false]) {
      head.click();
      await frames();
      const cells = [...table.querySelectorAll('tbody tr')].map((row) => row.children[place].textContent).filter((cell) => cell !== '–' && cell !== '');
      const values = cells.map(number);
      if (!values.length || !values.every(Number.isFinite)) continue;
      if (values.some((v, i) => i && (up ? v < values[i - 1] : v > values[i - 1]))) wrong.push(`a column does not sort: ${text(head)}`);
    }
  }
  for (const search of document.querySelectorAll('input[type=search]')) {
    const rows = () => search.closest('section').querySelectorAll('tbody tr').length;
    const before = rows();
    search.value = 'no run has this';
    search.dispatchEvent(new Event('input'));
    if (rows() !== 0) wrong.push('the search finds what is not there');
    search.value = '';
    search.dispatchEvent(new Event('input'));
    if (rows() !== before) wrong.push('an empty search does not show all');
  }
  let walked = 0;
  const plots = [...document.querySelectorAll('.plot > svg[role]')];
  for (const svg of plots) {
    const name = svg.getAttribute('aria-label');
    if (!name) wrong.push('a picture without a text');
    svg.focus();
    svg.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}));
    walked += !document.getElementById('hover').hidden;
    const ticks = svg.textContent;
    svg.dispatchEvent(new KeyboardEvent('keydown', {key: '+', bubbles: true}));
    if (svg.parentElement.querySelector('.reset')) {
      if (svg.textContent === ticks) wrong.push('zooming changes nothing: ' + name);
      svg.dispatchEvent(new KeyboardEvent('keydown', {key: '0', bubbles: true}));
      if (svg.parentElement.querySelector('.reset')) wrong.push('zooming does not go back: ' + name);
    }
    svg.blur();
  }
  if (plots.length && !walked) wrong.push('no picture has a value to walk to');
  if (document.querySelector('main img[onerror], main b, main script')) wrong.push('a name became an element');
  if (/[\u202a-\u202e]/.test(document.querySelector('main').textContent)) wrong.push('a name can turn around what follows it');
  const wide = document.documentElement.scrollWidth - innerWidth;
  if (wide > 1) wrong.push(`the page is ${wide} pixels wider than the window`);
  return {wrong, plots: plots.length, sections: document.querySelectorAll('main section').length, drawn: document.documentElement.dataset.drawn === 'yes'};
}

// Texts of pictures that lie on each other or are cut off at the edge of the window.
function crowdedInPage() {
  const wrong = [];
  for (const svg of document.querySelectorAll('.plot > svg[role]')) {
    const boxes = [...svg.querySelectorAll('text')].filter((t) => t.textContent.trim() && !t.getAttribute('transform'))
      .map((t) => ({text: t.textContent, box: t.getBoundingClientRect()})).filter(({box}) => box.width > 0);
    const picture = svg.getBoundingClientRect();
    for (const {text, box} of boxes) {
      if (box.left < picture.left - 8 || box.right > Math.min(picture.right + 12, innerWidth + 1)) wrong.push(`a label leaves its picture: "${text}" of ${svg.getAttribute('aria-label').slice(0, 60)}`);
    }
    for (let i = 0; i < boxes.length; ++i) {
      for (let j = 0; j < i; ++j) {
        const a = boxes[i].box, b = boxes[j].box;
        const across = Math.min(a.right, b.right) - Math.max(a.left, b.left), down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (across > 2 && down > 5) wrong.push(`labels overlap: "${boxes[j].text}" and "${boxes[i].text}" of ${svg.getAttribute('aria-label').slice(0, 60)}`);
      }
    }
  }
  return wrong;
}

// The middle of a picture's plot area after it was scrolled into view, and its extent.
async function placeInPage(number) {
  const svg = document.querySelectorAll('.plot > svg[role]')[number];
  document.documentElement.style.scrollBehavior = 'auto';
  svg.scrollIntoView({block: 'center'});
  await frames();
  const box = svg.getBoundingClientRect();
  return {left: box.left, top: Math.max(box.top, 60), width: box.width, height: Math.min(box.height, innerHeight - 120)};
}

// From a move of the mouse until the frame that shows what came of it.
function watchMovesInPage() {
  window.moved = [];
  addEventListener('pointermove', () => {
    const since = performance.now();
    requestAnimationFrame(() => setTimeout(() => window.moved.push(performance.now() - since)));
  }, {capture: true});
}

// Where the first value of a picture stands; null where it has none.
function valueInPage(number) {
  const svg = document.querySelectorAll('.plot > svg[role]')[number];
  svg.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}));
  const mark = svg.querySelector('.mark')?.getBoundingClientRect();
  svg.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape', bubbles: true}));
  return mark && {x: mark.x + mark.width / 2, y: mark.y + mark.height / 2, name: svg.getAttribute('aria-label')};
}

// Moves the mouse over every picture, drags over those that zoom, and goes back.
async function moveOverPictures(page, plots) {
  const wrong = [];
  await page.evaluate(watchMovesInPage);
  for (let number = 0; number < Math.min(plots, 16); ++number) {
    const box = await page.evaluate(placeInPage, number);
    for (let i = 1; i < 12; ++i) await page.move(box.left + box.width * i / 12, box.top + box.height * (0.3 + 0.4 * i / 12));
    const value = await page.evaluate(valueInPage, number);
    if (value) {
      await page.move(value.x, value.y);
      if (await page.evaluate(() => document.getElementById('hover').hidden)) wrong.push('the mouse shows no value: ' + value.name);
    }
    const zooms = await page.evaluate((n) => {
      const plot = document.querySelectorAll('.plot')[n];
      plot.querySelector('svg[role]').dispatchEvent(new KeyboardEvent('keydown', {key: '+', bubbles: true}));
      const reset = plot.querySelector('.reset');
      reset?.click();
      return !!reset;
    }, number);
    if (!zooms) continue;
    await page.drag([box.left + box.width * 0.4, box.top + box.height * 0.3], [box.left + box.width * 0.7, box.top + box.height * 0.6]);
    const result = await page.evaluate((n) => {
      const plot = document.querySelectorAll('.plot')[n], reset = plot.querySelector('.reset');
      reset?.click();
      return {zoomed: !!reset, back: !plot.querySelector('.reset'), name: plot.querySelector('svg[role]').getAttribute('aria-label')};
    }, number);
    if (!result.zoomed) wrong.push('dragging does not zoom: ' + result.name);
    if (!result.back) wrong.push('the button does not go back: ' + result.name);
  }
  await pause(50);
  const moved = (await page.evaluate(() => window.moved)).sort((a, b) => a - b);
  return {wrong, hover: moved.length ? moved[Math.floor(0.95 * (moved.length - 1))] : 0, slowest: moved.at(-1) || 0};
}

// A press on a marked locus opens its region, a press on a variant its effects.
async function pressLoci(page) {
  const rows = await page.evaluate(() => {
    const table = [...document.querySelectorAll('main table')].find((t) => t.textContent.includes('further variants'));
    return table ? [...table.querySelectorAll('tbody tr')].map((row) => row.children[1].textContent) : [];
  });
  const wrong = [];
  for (const [i, id] of rows.slice(0, 4).entries()) {
    const heading = await page.evaluate((n) => {
      const table = [...document.querySelectorAll('main table')].find((t) => t.textContent.includes('further variants'));
      table.querySelectorAll('tbody tr')[n].click();
      return table.closest('section').querySelector('[aria-live] h3').textContent;
    }, i);
    if (!heading.includes(id)) wrong.push(`pressing ${id} opens "${heading}"`);
  }
  if (!rows.length) return wrong;
  const region = await page.evaluate(() => [...document.querySelectorAll('.plot > svg[role]')].findIndex((svg) => svg.getAttribute('aria-label').startsWith('p-values of variants')));
  const effects = () => page.evaluate((n) => document.querySelectorAll('.plot > svg[role]')[n].closest('.figures').children[1].textContent, region);
  const box = await page.evaluate(placeInPage, region);
  const before = await effects();
  const seen = new Set([before]);
  for (let i = 1; i < 24; ++i) {
    for (const height of [0.35, 0.5, 0.65, 0.8]) {
      await page.press(box.left + box.width * i / 24, box.top + box.height * height);
      seen.add(await effects());
      if (seen.size > 2) return wrong;
    }
  }
  const named = await page.evaluate(() => JSON.parse(document.getElementById('data').textContent).sections.find((s) => s.type === 'manhattan').loci[0].variants.length);
  if (named > 2 && seen.size < 2) wrong.push('pressing variants of a region changes no effects');
  return wrong;
}

// Frames while the wheel moves through the page, of at most `most` pixels.
async function scroll(page) {
  await page.evaluate(() => {
    document.documentElement.style.scrollBehavior = 'auto';
    scrollTo(0, 0);
    window.frames_ = [];
    let before = performance.now();
    const next = () => {
      if (!window.frames_) return;
      const now = performance.now();
      window.frames_.push(now - before);
      before = now;
      requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
  });
  const height = await page.evaluate(() => document.documentElement.scrollHeight - innerHeight);
  const far = Math.min(height, 9000);
  if (far > 0) await page.send('Input.synthesizeScrollGesture', {x: 150, y: 450, yDistance: -far, speed: 3000});
  const {times, at} = await page.evaluate(() => {
    const times = window.frames_;
    window.frames_ = null;
    return {times, at: scrollY};
  });
  const sorted = times.slice(2).sort((a, b) => a - b);
  await page.evaluate(() => scrollTo(0, 0));
  return {wrong: at > 0.9 * far ? [] : [`scrolling ends at ${at} of ${far}`], frame: sorted[Math.floor(0.95 * (sorted.length - 1))] || 0, longest: sorted.at(-1) || 0};
}

/// Everything at once: what is wrong, and how fast it was.
export async function useEverything(page) {
  const crowded = await page.evaluate(crowdedInPage);
  const scrolled = await scroll(page);
  const found = await page.evaluate(pressAllInPage);
  const moved = await moveOverPictures(page, found.plots);
  const pressed = await pressLoci(page);
  return {...found, wrong: [...crowded, ...scrolled.wrong, ...found.wrong, ...moved.wrong, ...pressed], hover: moved.hover, slowest: moved.slowest, frame: scrolled.frame, longest: scrolled.longest};
}
