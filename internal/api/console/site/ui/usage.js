// Usage: what calls used, cost and saved, by time, model, project or conversation.

import { get, later, turns, zone } from './api.js';
import { cacheCard } from './cache.js';
import { count, el, figure, foreign, link, loading, money, percent, place, plural, priced, replace, short, show, table } from './dom.js';

const ways = { day: 'day', hour: 'hour', week: 'week', month: 'month', model: 'model', project: 'project', conversation: 'conversation' };
const spans = { '24h': 'the last 24 hours', '7d': 'the last 7 days', '30d': 'the last 30 days', '365d': 'the last year' };
const times = new Set(['hour', 'day', 'week', 'month']);

// about writes an estimated sum of money of a row.
const about = (d, r) => (d || !r.unknown_models?.length ? '~' : '') + priced(d, r.unknown_models);

// columns are [name, what it is, figure]. Estimates have a tilde.
const columns = [
  ['Calls', 'calls to providers', (r) => count(r.calls)],
  ['Sent', 'prompt tokens that went to providers, those of their caches among them', (r) => short(r.input)],
  ['Left out', 'tokens that came and were not sent', (r) => '~' + short(r.left_out)],
  ['Cache read', 'prompt tokens that providers had in their caches', (r) => short(r.cache_read)],
  ['Cache write', 'prompt tokens that providers wrote to their caches', (r) => short(r.cache_write)],
  ['Output', 'tokens of the replies', (r) => short(r.output)],
  ['Paid', 'by the price table, with cache reads and writes at their prices, and summaries', (r) => priced(r.cost + r.summaries, r.unknown_models)],
  ['Without', 'had everything been sent: an estimate', (r) => about(r.without, r)],
  ['Saved', 'what was not paid thanks to Oriel: an estimate', (r) => (r.without || r.summaries ? '~' + money(r.without - r.cost - r.summaries) : about(0, r))],
];

export default function usage({ params, go }) {
  const body = el('section', { class: 'card' }, loading());
  const cache = el('div', {});
  const pick = (label, options, name, fallback) => {
    const node = el('select', { onchange: () => go({ [name]: node.value === fallback ? null : node.value }) }, Object.entries(options).map(([k, v]) => el('option', { value: k }, v)));
    return [node, el('label', { class: 'field inline' }, label, node)];
  };
  const [by, byField] = pick('by', ways, 'by', 'day');
  const [since, sinceField] = pick('in', spans, 'since', '30d');
  const node = el('div', { class: 'stack' },
    el('div', { class: 'head' }, el('div', {}, el('h1', {}, 'Usage'), el('p', { class: 'sub' }, 'What calls used and cost, and what they would have cost without Oriel.')), el('div', { class: 'actions' }, byField, sinceField)), body, cache);
  const turn = turns();

  function load() {
    by.value = params.by ?? 'day';
    since.value = params.since ?? '30d';
    if (!cache.childElementCount) replace(cache, loading('Looking at caches'));
    drawCache();
    return show(body, async () => {
      const signal = turn('usage');
      const [u, named] = await Promise.all([get('usage', { by: by.value, since: since.value, zone }, signal), by.value === 'conversation' ? get('conversations', { limit: 500 }, signal) : { items: [] }]);
      return u.rows.length ? report(u, new Map(named.items.map((c) => [c.id, c.title]))) : el('p', { class: 'empty' }, `No call in ${spans[since.value]}. What it uses and costs appears here with the first one.`);
    }, load);
  }

  // drawCache shows why calls were not read from caches, which takes longer to find out.
  async function drawCache() {
    try {
      const signal = turn('cache');
      const r = await get('cache', { since: since.value, zone }, signal);
      const named = r.largest.length ? await get('conversations', { limit: 500 }, signal) : { items: [] };
      replace(cache, cacheCard(r, new Map(named.items.map((c) => [c.id, c.title]))));
    } catch (err) {
      if (err.name !== 'AbortError') replace(cache);
    }
  }

  const soon = later(15000, load);
  load();
  return {
    node,
    title: 'Usage',
    update(p) {
      params = p;
      load();
    },
    event: (e) => { if (e.kind === 'call' || e.kind === 'seen') soon(); },
    stop() {
      turn.stop();
      soon.stop();
    },
  };
}

// report is a table of what was used; titles are those of conversations, by id.
function report(u, titles) {
  const rows = times.has(u.by) ? [...u.rows].reverse() : u.rows; // the newest first
  const saved = u.total.without > 0 ? (u.total.without - u.total.cost - u.total.summaries) / u.total.without : 0;
  const head = el('div', { class: 'card-head' }, el('h2', {}, `${plural(u.total.calls, 'call')}, ${priced(u.total.cost + u.total.summaries, u.total.unknown_models)}`, saved >= 0.005 ? `, ${percent(saved)} less than without` : ''),
    el('span', { class: 'soft small' }, u.prices.oldest ? `prices of ${u.prices.oldest}${u.prices.newest === u.prices.oldest ? '' : ` to ${u.prices.newest}`}` : ''));
  const line = (r, first, props) => el('tr', props, el('th', { scope: 'row' }, first), columns.map(([, , write]) => figure(write(r))));
  return [head,
    table('Usage', [u.by[0].toUpperCase() + u.by.slice(1), ...columns], rows.slice(0, 200).map((r) => line(r, name(u.by, r, titles))), { kind: 'usage', foot: line(u.total, 'all', { class: 'total' }) }),
    rows.length > 200 ? el('p', { class: 'soft small' }, `${count(rows.length - 200)} more: `, el('code', {}, `oriel usage --by ${u.by}`), ' prints all.') : null,
    u.total.unreported ? el('p', { class: 'soft small' }, `${plural(u.total.unreported, 'call')} without a report of the provider: counted by Oriel.`) : null,
    observed(u.total.observed),
    u.total.unknown_models?.length ? el('p', { class: 'soft small' }, 'Without a price: ', u.total.unknown_models.slice(0, 10).map((m, i) => [i ? ', ' : '', foreign(m)]), '.') : null];
}

// observed shows what other profiles would have sent and cost of calls that were sent as they came.
function observed(o) {
  if (!o) return null;
  const row = (name, r, props) => el('tr', props, el('th', { scope: 'row' }, name), figure(short(r.input), count(r.input)), figure('cuts' in r ? count(r.cuts) : '–'), figure(('cuts' in r ? '~' : '') + money(r.cost)), figure('cuts' in r && o.cost ? `${r.cost > o.cost ? '+' : '−'}${percent(Math.abs(r.cost - o.cost) / o.cost)}` : '–'));
  return el('div', { id: 'observed' }, el('h3', { class: 'missed-head' }, `What profiles would have sent of ${plural(o.calls, 'call')} under observe`),
    table('What profiles would have sent', ['Profile', ['Tokens', 'of prompts, without what recall adds'], ['Cuts', 'how often it would have cut'], ['Cost', 'an estimate'], ['Change', 'against what was paid']],
      [row('as it came', { input: o.input, cost: o.cost }), ...o.would.map((w) => row(w.profile, w))]));
}

function name(by, r, titles) {
  if (by === 'conversation') return link(place(r.key), { title: r.key }, foreign(titles.get(r.key) || r.key));
  if (by === 'hour') return r.key.replace('T', ' ') + ':00';
  return r.key ? foreign(r.key) : 'none';
}
