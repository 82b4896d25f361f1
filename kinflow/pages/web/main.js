// Puts the page together from the data that stand in it.

const renderers = {
  curves: sectionCurves, density: sectionDensity, pairs: sectionPairs, latents: sectionLatents, adjusted: sectionAdjusted,
  groups: sectionGroups, latents_strength: sectionLatentsStrength, likelihood: sectionLikelihood, table: sectionTable, images: sectionImages, report: sectionReport,
  scores: sectionScores, sweep: sectionSweep, compare: sectionCompare, maps: sectionMaps, manhattan: sectionManhattan,
  recovered: sectionRecovered, quantiles: sectionQuantiles, null_model: sectionNullModel, prd: sectionPrd
};

function header(page) {
  const facts = page.facts?.length ? make('dl', {class: 'facts'}, ...page.facts.map((fact) => make('div', {},
    make('dt', {}, fact.label), make('dd', {class: 'value'}, fact.value), fact.note ? make('dd', {class: 'note'}, fact.note) : null))) : null;
  return make('header', {}, make('p', {class: 'kicker'}, page.kind), make('h1', {}, make('bdi', {}, page.title)),
    page.subtitle ? make('p', {class: 'subtitle'}, page.subtitle) : null, facts);
}

function words(page) {
  const box = make('section', {id: 'words', 'aria-label': 'In words'}, make('h2', {}, 'In words'),
    make('div', {class: 'words'}, ...(page.words || []).map((one) => make('div', {}, make('h3', {}, one.heading), ...one.text.map((line) => make('p', {}, line))))));
  if (page.watch?.length) {
    box.append(make('div', {class: 'watch'}, make('h3', {}, 'What to watch'),
      make('ul', {}, ...page.watch.map((line) => make('li', {class: line.level}, line.text)))));
  }
  return box;
}

function provenance(page) {
  const box = make('section', {id: 'provenance'}, make('h2', {}, 'Where this comes from'), make('p', {class: 'lead'}, page.provenance_lead || 'What it takes to repeat this.'));
  for (const command of page.commands || []) box.append(make('code', {class: 'command'}, ...command.split(/(?<= )/).map((word) => make('span', {}, word))));
  box.append(make('dl', {class: 'facts-list'}, ...(page.provenance || []).flatMap(([name, value]) => [make('dt', {}, name), make('dd', {}, value)])));
  if (page.options?.length) {
    const more = make('details', {}, make('summary', {}, 'Every option with its value'));
    table(more, [{name: 'option', text: true}, {name: 'value', text: true}], page.options);
    box.append(more);
  }
  return box;
}

function contents(sections) {
  const links = sections.map(([id, title]) => make('a', {href: '#' + id}, title));
  document.getElementById('contents').append(make('ul', {}, ...links.map((link) => make('li', {}, link))));
  const see = () => {
    let now = 0;
    sections.forEach(([id], i) => { if (document.getElementById(id).getBoundingClientRect().top < 140) now = i; });
    if (innerHeight + scrollY >= document.documentElement.scrollHeight - 4) now = sections.length - 1;
    links.forEach((link, i) => (i === now ? link.setAttribute('aria-current', 'true') : link.removeAttribute('aria-current')));
  };
  let next = 0;
  addEventListener('scroll', () => { cancelAnimationFrame(next); next = requestAnimationFrame(see); }, {passive: true});
  see();
}

function start() {
  const page = JSON.parse(document.getElementById('data').textContent, (_, value) => (typeof value === 'string' ? inOrder(value) : value));
  const main = document.getElementById('page');
  const listed = [];
  main.replaceChildren(header(page));
  if (page.words?.length || page.watch?.length) {
    main.append(words(page));
    listed.push(['words', 'In words']);
  }
  for (const [i, data] of (page.sections || []).entries()) {
    const id = 'part' + (i + 1);
    const host = main.appendChild(make('section', {id}, make('h2', {}, data.title), data.lead ? make('p', {class: 'lead'}, data.lead) : null));
    listed.push([id, data.short || data.title]);
    try {
      if (data.missing) host.append(make('p', {class: 'notice'}, data.missing));
      else renderers[data.type](host, data);
    } catch (error) {
      console.error(error);
      host.append(make('p', {class: 'notice'}, 'This section could not be drawn: ' + error.message));
    }
  }
  main.append(provenance(page));
  listed.push(['provenance', 'Where this comes from']);
  main.append(make('footer', {}, page.footer));
  contents(listed);
  document.documentElement.dataset.drawn = 'yes';
}
start();
