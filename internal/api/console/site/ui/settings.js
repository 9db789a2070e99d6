// Settings, read only: what holds, and where it was set.

import { get } from './api.js';
import { count, el, figure, foreign, loading, percent, plural, problem, replace, short, table } from './dom.js';

export default function settings() {
  const own = el('section', { class: 'card' }, el('h2', {}, 'In effect'), loading());
  const models = el('section', { class: 'card' }, el('h2', {}, 'Models'), loading());
  const node = el('div', { class: 'stack' },
    el('div', { class: 'head' }, el('div', {}, el('h1', {}, 'Settings'), el('p', { class: 'sub' }, 'Read only. A change of the file takes effect within seconds; ', el('code', {}, 'oriel config'), ' prints the same.'))),
    own, models);

  async function loadSettings() {
    try {
      const s = await get('settings');
      const set = s.settings.filter((x) => x.source !== 'default');
      const rest = s.settings.filter((x) => x.source === 'default');
      replace(own, el('div', { class: 'card-head' }, el('h2', {}, 'In effect'), el('span', { class: 'soft small' }, s.file ? foreign(s.file) : null)),
        s.held ? el('p', { class: 'problem' }, 'Changed settings are not in use: ', foreign(s.held)) : null,
        set.length ? values('Settings that were set', set) : el('p', { class: 'empty' }, 'Nothing was set: all settings are the defaults.'),
        el('details', { open: set.length === 0 }, el('summary', {}, `${plural(rest.length, 'default')}`), values('Defaults', rest)));
    } catch (err) {
      replace(own, el('h2', {}, 'In effect'), problem(err, loadSettings));
    }
  }

  async function loadModels() {
    try {
      const m = await get('models');
      const learnt = m.calibration ?? [];
      const used = new Set(learnt.map((c) => c.model));
      m.models.sort((a, b) => used.has(b.id) - used.has(a.id) || a.id.localeCompare(b.id)); // those in use first
      const filter = el('input', { type: 'search', placeholder: 'Name of a model', 'aria-label': 'Find a model', oninput: () => rows() });
      const body = el('tbody', {});
      const rows = () => {
        const found = m.models.filter((x) => x.id.includes(filter.value.trim().toLowerCase()));
        const shown = filter.value ? 60 : 12;
        replace(body, found.slice(0, shown).map(model), found.length > shown ? el('tr', {}, el('td', { colspan: '6', class: 'soft' }, `${count(found.length - shown)} more: type a name`)) : null);
      };
      rows();
      replace(models,
        el('h2', {}, 'Learnt from providers'),
        learnt.length ? table('Calibration', ['Model', ['Reported / counted', 'what a provider reports is this many times what is counted here, and for some models a constant more: their frame of a request'], 'Error to expect', 'Calls'], learnt.map(calibration)) : el('p', { class: 'empty' }, 'No provider has reported a count yet: counts are those of the tokenizer.'),
        m.limits?.length ? table('Limits', ['Limit learnt from a refusal', 'Tokens'], m.limits.map((l) => el('tr', {}, el('td', {}, foreign(l.model, 'code')), figure(short(l.tokens))))) : null,
        el('div', { class: 'card-head' }, el('h2', {}, `Models (${count(m.models.length)})`), filter),
        table('Models', ['Model', 'Window', 'Output', 'Input $/M', 'Cached $/M', 'Output $/M'], body, { kind: 'models' }));
    } catch (err) {
      replace(models, el('h2', {}, 'Models'), problem(err, loadModels));
    }
  }

  loadSettings();
  loadModels();
  return { node, title: 'Settings' };
}

const values = (label, list) => table(label, ['Setting', 'Value', 'From'], list.map((x) => el('tr', {},
  el('td', {}, el('code', {}, x.key), x.about ? el('div', { class: 'soft small' }, foreign(x.about)) : null),
  el('td', {}, value(x.value)),
  el('td', { class: 'soft small' }, foreign([x.source, x.where].filter(Boolean).join(' ')), x.restart ? el('div', {}, 'a change needs a restart') : null))), { kind: 'settings', figures: 3 });

function value(v) {
  const text = Array.isArray(v) ? v.join(', ') : String(v ?? '');
  return text === '' ? el('span', { class: 'soft' }, '–') : foreign(text, 'code');
}

function calibration(c) {
  const offset = Math.abs(c.offset) >= 1 ? (c.offset > 0 ? ' + ' : ' − ') + count(Math.abs(c.offset)) : '';
  return el('tr', {}, el('td', {}, foreign(c.model, 'code')), figure(`× ${c.slope.toFixed(3)}${offset}`), figure(percent(c.error)), figure(count(c.n)));
}

function model(x) {
  const price = (v) => (v === undefined || v === null ? '–' : '$' + (v >= 0.1 || v === 0 ? v.toFixed(2) : String(Number(v.toFixed(4)))));
  const size = (n) => (n ? short(n) : '–');
  return el('tr', {}, el('td', {}, foreign(x.id, 'code')), [size(x.window), size(x.max_output), price(x.prices?.input), price(x.prices?.cache_read), price(x.prices?.output)].map((t) => figure(t)));
}
