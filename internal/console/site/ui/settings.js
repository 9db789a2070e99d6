// Settings, read only: what holds, and where it was set.

import { get } from './api.js';
import { count, el, foreign, loading, money, plural, problem, replace, short } from './dom.js';

export default function settings() {
  const own = el('section', { class: 'card' }, el('h2', {}, 'Settings'), loading());
  const models = el('section', { class: 'card' }, el('h2', {}, 'Models'), loading());
  const node = el('div', { class: 'stack' },
    el('div', { class: 'head' }, el('div', {}, el('h1', {}, 'Settings'), el('p', { class: 'sub' }, 'Read only. A change of the file takes effect within seconds; ', el('code', {}, 'oriel config'), ' prints the same.'))),
    own, models);

  async function loadSettings() {
    try {
      const s = await get('settings');
      replace(own, el('div', { class: 'card-head' }, el('h2', {}, 'In effect'), el('span', { class: 'soft small' }, s.file ? foreign(s.file) : 'no file: defaults')),
        s.held ? el('p', { class: 'problem' }, 'Changed settings are not in use: ', foreign(s.held)) : null,
        scrolled('Settings', el('table', { class: 'table' }, el('thead', {}, el('tr', {}, ['Setting', 'Value', 'From'].map((h) => el('th', { scope: 'col' }, h)))),
          el('tbody', {}, s.settings.map((x) => el('tr', {}, el('td', {}, el('code', {}, x.key), x.about ? el('div', { class: 'soft small' }, foreign(x.about)) : null), el('td', {}, foreign(x.text ?? String(x.value ?? ''), 'code')), el('td', { class: 'soft' }, x.source, x.where ? [' ', foreign(x.where, 'span', { class: 'small' })] : null, x.restart ? el('span', { class: 'tag' }, 'needs a restart') : null)))))));
    } catch (err) {
      replace(own, el('h2', {}, 'Settings'), problem(err, loadSettings));
    }
  }

  async function loadModels() {
    try {
      const m = await get('models');
      const used = new Map((m.calibration ?? []).map((c) => [c.model, c]));
      const filter = el('input', { type: 'search', placeholder: 'Name', 'aria-label': 'Find a model', oninput: () => rows() });
      const body = el('tbody', {});
      const rows = () => {
        const found = m.models.filter((x) => (x.name ?? x.id ?? '').includes(filter.value.trim().toLowerCase()));
        replace(body, found.slice(0, 60).map(model), found.length > 60 ? el('tr', {}, el('td', { colspan: '6', class: 'soft' }, `${count(found.length - 60)} more: type a name`)) : null);
      };
      rows();
      replace(models, el('div', { class: 'card-head' }, el('h2', {}, `${plural(m.models.length, 'model')}`), filter),
        used.size ? [el('h3', {}, 'Counts, corrected by what providers reported'), el('p', { class: 'call-facts' }, [...used.values()].map((c) => el('span', {}, foreign(c.model), ' ', el('b', {}, calibrated(c)))))] : el('p', { class: 'soft small' }, 'No provider has reported a count yet: counts are those of the tokenizer.'),
        m.limits?.length ? [el('h3', {}, 'Limits learnt from refusals'), el('p', { class: 'call-facts' }, m.limits.map((l) => el('span', {}, foreign(l.model ?? ''), ' ', el('b', {}, short(l.limit ?? l.tokens ?? 0)))))] : null,
        scrolled('Models', el('table', { class: 'table' }, el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, 'Model'), ['Window', 'Output', 'Input $/M', 'Cached', 'Output $/M'].map((h) => el('th', { scope: 'col', class: 'n' }, h)))), body)));
    } catch (err) {
      replace(models, el('h2', {}, 'Models'), problem(err, loadModels));
    }
  }

  loadSettings();
  loadModels();
  return { node, title: 'Settings' };
}

const scrolled = (label, table) => el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': label }, table);

function calibrated(c) {
  const scale = c.scale ?? c.factor;
  return [scale !== undefined ? `× ${scale.toFixed(3)}` : '', c.calls !== undefined ? ` (${plural(c.calls, 'call')})` : ''].join('');
}

function model(x) {
  const price = (v) => (v === undefined || v === null ? '–' : money(v));
  return el('tr', {}, el('td', {}, foreign(x.name ?? x.id, 'code'), x.date ? [' ', el('span', { class: 'soft small' }, x.date)] : null),
    el('td', { class: 'n' }, x.window ? short(x.window) : '–'), el('td', { class: 'n' }, x.output ? short(x.output) : '–'),
    el('td', { class: 'n' }, price(x.input_price ?? x.prices?.input)), el('td', { class: 'n' }, price(x.cache_read_price ?? x.prices?.cache_read)), el('td', { class: 'n' }, price(x.output_price ?? x.prices?.output)));
}
