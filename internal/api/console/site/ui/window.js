// What fills the window: of everything that was sent in a day, or of one call.

import { get, of, turns, zone } from './api.js';
import { kinds, largest, unused } from './composition.js';
import { count, el, foreign, link, loading, percent, place, plural, priced, replace, short, show, when } from './dom.js';
import { picker } from './picker.js';

const spans = { '24h': 'the last 24 hours', '7d': 'the last 7 days', '30d': 'the last 30 days' };

export default function filling({ params, go }) {
  const body = el('div', { class: 'stack' }, loading());
  const span = el('select', { 'aria-label': 'Span', onchange: () => go({ since: span.value, conversation: null, call: null }) }, Object.entries(spans).map(([k, v]) => el('option', { value: k }, v)));
  const one = picker({ 'aria-label': 'Conversation', onchange: () => go({ conversation: one.node.value || null, call: null }) }, (c) => c.calls > 0);
  const node = el('div', { class: 'stack' },
    el('div', { class: 'head' }, el('div', {}, el('h1', {}, 'What fills the window'), el('p', { class: 'sub' }, 'Tokens that models were sent, by what they are.')),
      el('div', { class: 'actions' }, span, one.node)), body);
  const turn = turns();

  function load() {
    span.value = params.since ?? '24h';
    one.choose(params.conversation ?? '');
    replace(body, loading());
    return show(body, () => (params.conversation ? ofCall(turn()) : ofSpan(turn())), load);
  }

  async function ofSpan(signal) {
    const c = await get('composition', { since: params.since ?? '24h', zone }, signal);
    if (!c.calls) return el('section', { class: 'card' }, el('p', { class: 'empty' }, `No call in ${spans[params.since ?? '24h']}. What fills a window appears here with the first one.`));
    return [
      el('section', { class: 'card' }, el('div', { class: 'card-head' }, el('h2', {}, `${plural(c.calls, 'call')}, ${short(c.tokens)} tokens, ${priced(c.cost, c.unknown_models)} for prompts`), c.read < c.calls ? el('span', { class: 'tag', title: 'the largest are taken to pieces; of some the bodies are not kept' }, `~ from ${count(c.read)} of ${plural(c.calls, 'call')}`) : null),
        kinds(c.kinds, { cost: true, sign: '~', unknown: c.unknown_models }),
        el('p', { class: 'soft small' }, 'The sum is what providers counted and charged, without output; its parts are counted by Oriel and add up to it.')),
      el('section', { class: 'card' }, el('h2', {}, 'The ten largest things, and what each cost'), largest(c.largest.slice(0, 10), { over: true, sign: '~', unknown: c.unknown_models })),
      el('section', { class: 'card' }, el('h2', {}, 'Tools never used'), unused(c.unused) ?? el('p', { class: 'empty' }, 'Every tool that was sent was used.')),
    ];
  }

  async function ofCall(signal) {
    const path = of(params.conversation, `calls/${encodeURIComponent(params.call ?? 'last')}/composition`);
    return windowOf(await get(path, {}, signal));
  }

  load();
  return {
    node,
    title: 'What fills the window',
    update(p) {
      params = p;
      load();
    },
    stop: turn.stop,
  };
}

// windowOf draws the composition of one call.
export function windowOf(w) {
  const used = w.window ? Math.min(1, w.tokens / w.window) : 0;
  const mark = w.limit || w.budget;
  const sign = w.accuracy === 'exact' ? '' : '~';
  return [
    el('section', { class: 'card' },
      el('div', { class: 'card-head' },
        el('h2', {}, link(place(w.conversation, { call: w.call }), {}, `Call ${count(w.call)}`), ' · ', foreign(w.model), ' · ', when(w.time)),
        el('span', { class: 'soft small' }, w.accuracy === 'exact' ? 'exact counts' : 'counts are ' + (w.accuracy === 'estimate' ? 'estimates' : 'calibrated'))),
      el('p', { class: 'figure', title: `${count(w.tokens)} tokens were sent` }, el('b', {}, sign + short(w.tokens) + ' tokens'), w.window ? ` of a window of ${short(w.window)}, ${percent(used)} full` : '', w.left_out > 0 ? `; ~${short(w.left_out)} left out` : '', w.budget ? `; budget ${short(w.budget)}` : ''),
      w.window ? el('div', { class: 'gauge', role: 'img', 'aria-label': `${Math.round(used * 100)}% of the window` },
        el('span', { class: 'sent', style: { width: used * 100 + '%' } }),
        mark && mark < w.window ? el('span', { class: 'mark', style: { width: (mark / w.window) * 100 + '%' } }) : null) : null,
      kinds(w.kinds, { sign })),
    el('section', { class: 'card' }, el('h2', {}, 'The ten largest things'), largest(w.largest, { conversation: w.conversation, sum: w.tokens, sign }) ?? el('p', { class: 'empty' }, 'Nothing was sent.')),
    el('section', { class: 'card' }, el('h2', {}, 'Tools never used'), unused(w.unused, w.unused_calls) ?? el('p', { class: 'empty' }, 'Every tool that was sent was used, or none was sent.')),
  ];
}
