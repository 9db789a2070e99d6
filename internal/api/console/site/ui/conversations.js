// Conversations: all of them, the one used last first.

import { get, later, send, turns } from './api.js';
import { count, el, foreign, link, money, percent, place, plural, priced, problem, replace, short, tokens, when } from './dom.js';
import { lesson } from './lesson.js';
import { VirtualList } from './list.js';

const page = 100;

export default function conversations({ params, go }) {
  let items = [];
  let next = '';
  let total = 0;
  const turn = turns();
  let signal = null; // of what was searched for last
  const about = el('p', { class: 'sub', role: 'status' });
  const trouble = el('div', {});
  const near = el('div', {});
  const search = el('input', { type: 'search', placeholder: 'Words, a question, a title, a project', 'aria-label': 'Search conversations', value: params.search ?? '', oninput: () => typed() });
  const list = new VirtualList({ rowHeight: 58, label: 'Conversations', draw: row, onopen: (i) => { if (items[i]) location.hash = place(items[i].id); } });
  list.onshow = (_, last) => { if (last >= items.length - 20 && next) more(); };
  const body = el('section', { class: 'card conversations', 'aria-label': 'List' },
    el('div', { class: 'columns-head', 'aria-hidden': 'true' }, Object.entries({ Conversation: null, Model: 'the model that was asked last' }).map(([t, title]) => el('span', { title }, t)),
      Object.entries({ Calls: 'calls that were recorded', Tokens: 'tokens of the newest request, as it came', Cost: 'what its calls cost, and how much less than had everything been sent', Last: 'when the last message came' }).map(([t, title]) => el('span', { class: 'n', title }, t))),
    list.node);
  const node = el('div', { class: 'stack' },
    el('div', { class: 'head' }, el('div', {}, el('h1', {}, 'Conversations'), about)),
    el('form', { class: 'search', role: 'search', onsubmit: (e) => { e.preventDefault(); typed(0); } }, search),
    trouble, near, body);

  let wait;
  function typed(ms = 250) {
    clearTimeout(wait);
    wait = setTimeout(() => go({ search: search.value.trim() || null }, { replace: true }), ms);
  }

  async function load() {
    signal = turn();
    about.textContent = 'Looking…';
    passages();
    try {
      const r = await get('conversations', { limit: page, search: params.search }, signal);
      items = r.items;
      next = r.next;
      total = r.total;
      replace(trouble, items.length === 0 && !params.search ? lesson() : null);
      body.hidden = items.length === 0;
      about.textContent = words();
      list.set(Math.max(total ?? 0, items.length));
    } catch (err) {
      if (err.name !== 'AbortError') {
        about.textContent = '';
        replace(trouble, problem(err, load));
      }
    }
  }

  // passages shows what is near to the words of a search in all conversations, by word and
  // by meaning.
  async function passages() {
    if (!params.search) return replace(near);
    try {
      const r = await send('recall', { query: params.search, budget: 1500 }, signal);
      const best = [...r.passages].sort((a, b) => b.score - a.score).slice(0, 5);
      replace(near, best.length ? el('section', { class: 'card' },
        el('div', { class: 'card-head' }, el('h2', {}, 'Passages near to it'), link(`#/recall?q=${encodeURIComponent(params.search)}`, { class: 'small' }, 'all, with scores')),
        el('ul', { class: 'feed' }, best.map((p) => el('li', {}, p.time ? when(p.time) : el('span', {}),
          el('span', { class: 'line' }, link(place(p.conversation, { message: p.id }), {}, foreign(p.text.replace(/\s+/g, ' ').slice(0, 200)))),
          el('span', { class: 'soft figure' }, p.score.toFixed(2)))))) : null);
    } catch (err) {
      if (err.name !== 'AbortError') replace(near); // the list below is the answer
    }
  }

  function words() {
    if (items.length === 0) return params.search ? 'Nothing matches: try fewer words, a project, or the beginning of an id.' : 'None yet: they appear with the first call.';
    return params.search ? `${plural(total, 'conversation')}, the nearest first` : `${plural(total, 'conversation')}, the one used last first`;
  }

  let loading = false;
  async function more() {
    if (loading || !next) return;
    loading = true;
    try {
      const r = await get('conversations', { limit: page, cursor: next, search: params.search }, signal);
      items.push(...r.items);
      next = r.next;
      list.set(Math.max(total ?? 0, items.length));
    } catch (err) {
      if (err.name !== 'AbortError') replace(trouble, problem(err, more));
    }
    loading = false;
  }

  function row(i) {
    const c = items[i];
    if (!c) return el('span', { class: 'soft' }, '…');
    const saved = c.without > 0 ? 1 - c.cost / c.without : 0;
    return [
      el('span', { class: 'what' }, foreign(c.title || c.id, 'span', { class: 'title cut' }),
        el('span', { class: 'soft cut' }, state(c), ' · ', plural(c.messages, 'message'), ' · ', foreign(c.project || c.id))),
      foreign(c.model || '–', 'span', { class: 'cut soft small' }),
      el('span', { class: 'n', title: c.imported ? 'as the imported session lists them' : null }, count(c.calls || c.imported)),
      el('span', { class: 'n', title: c.calls ? null : 'of its messages' }, c.calls || c.tokens_before ? tokens(c.tokens_before, { unit: false }) : '–'),
      el('span', { class: 'n money', title: saved >= 0.01 ? `~${money(c.without)} had everything been sent` : null }, c.calls || c.imported ? priced(c.cost, c.unknown_models) : '–', saved >= 0.01 ? el('span', { class: 'soft small' }, ' −' + percent(saved)) : null),
      el('span', { class: 'n last soft' }, when(c.last)),
    ];
  }

  // state says how the newest call went.
  function state(c) {
    if (!c.calls) return c.imported ? 'imported' : 'no call recorded';
    if (c.error) return foreign(c.error, 'span', { class: 'wrong', title: 'the newest call was not answered' });
    if (c.tokens_after >= c.tokens_before) return el('span', { title: 'the newest call sent everything that came' }, 'whole');
    return el('span', { title: `the newest call sent ${count(c.tokens_after)} of ${count(c.tokens_before)} tokens, by the newest of ${plural(c.plans, 'plan')}` }, `${short(c.tokens_after)} of ${short(c.tokens_before)} sent`);
  }

  const soon = later(5000, () => { if (!params.search && list.node.scrollTop < 200) load(); });
  load();
  return {
    node,
    title: 'Conversations',
    update(p) {
      if (p.search === params.search) return;
      params = p;
      if (document.activeElement !== search) search.value = p.search ?? '';
      load();
    },
    event: (e) => { if (e.kind === 'call' || e.kind === 'seen') soon(); },
    stop() {
      turn.stop();
      list.stop();
      soon.stop();
    },
  };
}
