// What a page does by itself. Everything is there without it, but for what happens live
// and the details of a field.
'use strict';

const live = document.getElementById('live');
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

// An element with text in it, never with markup.
function element(name, attributes = {}, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  e.append(...children);
  return e;
}

// Times, as kubectl writes them.
function span(seconds) {
  const s = Math.max(0, Math.floor(seconds)), m = Math.floor(s / 60), h = Math.floor(m / 60), d = Math.floor(h / 24);
  const two = (a, unit, b, small) => a + unit + (b ? b + small : '');
  if (s < 120) return s + 's';
  if (m < 10) return two(m, 'm', s % 60, 's');
  if (h < 3) return m + 'm';
  if (h < 8) return two(h, 'h', m % 60, 'm');
  if (h < 48) return h + 'h';
  if (d < 8) return two(d, 'd', h % 24, 'h');
  return d < 730 ? d + 'd' : two(Math.floor(d / 365), 'y', d % 365, 'd');
}

function showTimes() {
  for (const time of all('time[data-ago]')) {
    const text = span((Date.now() - Date.parse(time.dateTime)) / 1000) + ' ago';
    if (time.textContent !== text) time.textContent = text;
  }
}
setInterval(showTimes, 10000);

// Copying.
document.addEventListener('click', async (event) => {
  const button = event.target.closest('button[data-copy]');
  if (!button) return;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = 'Copied';
  } catch {
    button.textContent = 'Not allowed';
  }
  setTimeout(() => { button.textContent = 'Copy'; }, 1500);
});

// The field that the address names.
function rowNamed(hash) {
  let name = hash.slice(1);
  try { name = decodeURIComponent(name); } catch { /* it is as it is */ }
  return name && document.querySelector(`a.row[id="${CSS.escape(name)}"]`);
}

function choose(row) {
  for (const other of all('a.row[aria-current]')) other.removeAttribute('aria-current');
  const object = row && row.closest('.object');
  if (!object) return;
  row.setAttribute('aria-current', 'true');
  for (const other of all('a.row[tabindex="0"]', object)) other.tabIndex = -1;
  row.tabIndex = 0;
  object.details ??= JSON.parse(object.querySelector('script.details').textContent);
  const field = object.details[row.id.slice(object.dataset.prefix.length)];
  const chosen = object.querySelector('.chosen');
  chosen.replaceChildren(...describe(field, object.dataset));
  chosen.hidden = false;
  for (const other of all('.entry [aria-current]', object)) other.removeAttribute('aria-current');
  const line = field.entry && all('.entry span', object)[field.entry - 1];
  if (line) { // what says so
    line.setAttribute('aria-current', 'true');
    line.closest('details').open = true;
    line.parentElement.scrollTop = line.offsetTop - line.parentElement.offsetTop - 60;
  }
  showTimes();
  object.querySelector('.hint').hidden = true;
}

function describe(field, object) {
  const list = element('dl');
  const add = (title, ...content) => list.append(element('dt', {}, title), element('dd', {}, ...content));
  const value = (text) => text.length > 60 || text.includes('\n') ? element('pre', { tabindex: 0 }, text) : element('code', {}, text);
  add('State', element('span', { class: 'look c-' + field.class }, field.state));
  add('Why', field.why);
  add('Live', field.live === undefined ? '(absent)' : value(field.live));
  if (field.desired !== undefined && field.desired !== field.live) add('Desired', value(field.desired));
  if (field.manifest !== undefined) add('In the manifest, not held', value(field.manifest));
  if (field.writer) {
    add('Written by', field.writer, ...(field.at ? [', ', element('time', { datetime: field.at, title: field.at, ...(live && { 'data-ago': '' }) }, field.at)] : []));
  }
  const parts = [element('div', { class: 'path' }, element('h2', {}, field.path), copier(field.path, 'Copy the path')), list];
  if (field.verb) {
    const command = `${object.program} ${field.verb} ${object.target} ${field.quote}${object.flags}`;
    parts.push(element('p', { class: 'muted' }, field.verb === 'hold' ? 'To hold it:' : 'To free it:'),
      element('div', { class: 'command' }, element('code', {}, command), copier(command, 'Copy the command')));
  }
  return parts;
}

const copier = (text, label) => element('button', { type: 'button', 'data-copy': text, 'aria-label': label }, 'Copy');

// Moving between fields by keys, without a tab stop for each.
const urgent = '.c-contested, .c-drifted, .c-removed, .c-other';
document.addEventListener('keydown', (event) => {
  const row = event.target.closest && event.target.closest('a.row');
  if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
  const rows = all('a.row', row.closest('.yaml')), at = rows.indexOf(row);
  const next = {
    ArrowDown: () => rows[at + 1], ArrowUp: () => rows[at - 1], Home: () => rows[0], End: () => rows.at(-1),
    n: () => rows.slice(at + 1).find((r) => r.matches(urgent)), p: () => rows.slice(0, at).findLast((r) => r.matches(urgent)),
  }[event.key];
  if (!next) return;
  event.preventDefault();
  const to = next();
  if (!to) return;
  to.focus();
  history.replaceState(null, '', to.hash);
  choose(to);
});

function prepare() {
  for (const object of all('.object')) {
    delete object.details;
    all('a.row', object).forEach((row, i) => { row.tabIndex = i === 0 ? 0 : -1; });
  }
  choose(rowNamed(location.hash));
  showTimes();
}
window.addEventListener('hashchange', () => choose(rowNamed(location.hash)));

// The filter asks as one types.
let typed;
document.addEventListener('input', (event) => {
  const form = event.target.closest('form.filter');
  if (!form) return;
  clearTimeout(typed);
  typed = setTimeout(() => {
    const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
    history.replaceState(null, '', form.getAttribute('action') + '?' + query);
    refresh();
  }, 150);
});

// Changes are fetched as a page, and what differs is put in place.
let busy = false, again = false;
async function refresh() {
  again = true;
  if (busy) return;
  busy = true;
  while (again) {
    again = false;
    const started = performance.now();
    try {
      const response = await fetch(location.pathname + location.search, { headers: { Accept: 'text/html' } });
      const page = new DOMParser().parseFromString(await response.text(), 'text/html');
      const main = page.getElementById('main');
      if (!main) throw new Error(response.statusText);
      const kept = { open: true, tabindex: true, 'aria-current': true };
      Idiomorph.morph(document.getElementById('main'), main.innerHTML, {
        morphStyle: 'innerHTML', ignoreActiveValue: true,
        callbacks: { beforeAttributeUpdated: (name, node) => !(kept[name] && (node.matches('details, a.row, .entry span'))) },
      });
      document.title = page.title;
      prepare();
    } catch (error) {
      say('away', 'not live: ' + error.message);
    }
    // One tenth of the time at most goes into this, here and at the API server.
    await new Promise((done) => setTimeout(done, Math.max(300, 9 * (performance.now() - started))));
  }
  busy = false;
}

function say(state, text) {
  live.dataset.state = state;
  if (live.textContent !== text) live.textContent = text;
}

// The stream is open while the page is open.
let stream, known = live && live.dataset.revision;
function listen() {
  if (document.hidden) {
    if (stream) stream.close();
    stream = null;
    return;
  }
  if (stream) return;
  stream = new EventSource('/events?since=' + known);
  stream.onopen = () => say('live', 'live');
  stream.onerror = () => say('away', stream.readyState === EventSource.CLOSED ? 'ended: start it again' : 'connecting again');
  stream.addEventListener('changed', (event) => {
    known = event.lastEventId;
    const keys = JSON.parse(event.data);
    if (live.dataset.watched === '*' || keys.includes('*') || keys.includes(live.dataset.watched)) refresh();
  });
  stream.addEventListener('trouble', (event) => {
    const text = JSON.parse(event.data);
    say(text ? 'away' : 'live', text ? 'not live: ' + text : 'live');
  });
}

document.documentElement.classList.add('scripted');
prepare();
if (live) {
  document.addEventListener('visibilitychange', listen);
  listen();
}
