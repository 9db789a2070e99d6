// Recall playground: what a query finds, with every score, and what missed and why.

import { send, turns } from './api.js';
import { count, duration, el, foreign, highlighted, link, loading, place, plural, replace, show, when } from './dom.js';
import { picker } from './picker.js';

const scopes = { user: 'everything', project: 'its project', conversation: 'this conversation' };
const modes = { hybrid: 'words and meaning', keyword: 'words', dense: 'meaning' };

export default function recall({ params, go }) {
  const query = el('input', { type: 'search', placeholder: 'Which port does the staging server use?', 'aria-label': 'Query', value: params.q ?? '', maxlength: '4000' });
  const where = picker({});
  const scope = el('select', {}, Object.entries(scopes).map(([k, v]) => el('option', { value: k }, v)));
  const mode = el('select', {}, Object.entries(modes).map(([k, v]) => el('option', { value: k }, v)));
  const budget = el('input', { type: 'number', min: '1', max: '100000', step: '1' });
  const floor = el('input', { type: 'number', min: '0', max: '1', step: '0.01', placeholder: '0.15' });
  const out = el('div', { class: 'stack' });
  const field = (name, control) => el('label', { class: 'field' }, name, control);
  const node = el('div', { class: 'stack' },
    el('div', { class: 'head' }, el('div', {}, el('h1', {}, 'Recall'), el('p', { class: 'sub' }, 'What would be found in what has left the window, and why.'))),
    el('form', { class: 'card recall-form', role: 'search', onsubmit: submit },
      el('div', { class: 'row-1' }, query, el('button', { class: 'primary' }, 'Find')),
      el('div', { class: 'row-2' }, field('Start from', where.node), field('Search', scope), field('By', mode), field('Tokens', budget), field('Floor', floor))),
    out);
  const turn = turns();

  function submit(e) {
    e.preventDefault();
    const next = { q: query.value.trim() || null, conversation: where.node.value || null, scope: scope.value === 'user' ? null : scope.value, mode: mode.value === 'hybrid' ? null : mode.value, budget: budget.value === '2048' ? null : budget.value, floor: floor.value || null };
    if (Object.entries(next).every(([k, v]) => (params[k] ?? null) === v)) find();
    else go(next);
  }

  function fields() {
    query.value = params.q ?? '';
    where.choose(params.conversation ?? '');
    scope.value = params.scope ?? (params.conversation ? 'conversation' : 'user');
    mode.value = params.mode ?? 'hybrid';
    budget.value = params.budget ?? '2048';
    floor.value = params.floor ?? '';
  }

  function find() {
    const signal = turn();
    if (!params.q) return replace(out, lesson());
    replace(out, loading('Searching'));
    const body = { query: params.q, budget: Number(params.budget ?? 2048), mode: params.mode ?? 'hybrid', explain: true };
    if (params.conversation) Object.assign(body, { conversation: params.conversation, scope: params.scope ?? 'conversation' });
    if (params.floor) body.floor = Number(params.floor);
    return show(out, async () => {
      const [r, newest] = await Promise.all([send('recall', body, signal), where.listed]);
      return result(r, body, new Map(newest.map((c) => [c.id, c.title])));
    }, find);
  }

  fields();
  find();
  return {
    node,
    title: 'Recall',
    focus: params.q ? null : () => query.focus(),
    update(p) {
      params = p;
      fields();
      find();
    },
    stop: turn.stop,
  };
}

// result shows what was found; titles are those of conversations, by id.
function result(r, asked, titles) {
  const x = r.explain ?? {};
  const best = [...r.passages].sort((a, b) => b.score - a.score);
  return [
    el('section', { class: 'card' },
      el('div', { class: 'card-head' }, el('h2', {}, r.passages.length ? `${plural(r.passages.length, 'passage')} would be shown` : 'Nothing would be shown'),
        el('span', { class: 'soft small figure' }, [`${plural(r.tokens, 'token')}`, duration(r.took_ms), x.certainty !== undefined ? `certainty ${x.certainty.toFixed(2)}` : null, x.floor !== undefined ? `floor ${x.floor.toFixed(2)}` : null].filter(Boolean).join(' · '))),
      r.mode !== asked.mode ? el('p', { class: 'soft small' }, `By ${modes[r.mode]} alone: the vectors are not ready yet. Ask again in a moment.`)
        : r.unembedded ? el('p', { class: 'soft small' }, `${plural(r.unembedded, 'passage')} by words alone so far: the vectors are read or made meanwhile. Ask again in a moment.`) : null,
      best.length ? best.map((p) => passage(p, titles, x.floor)) : el('p', { class: 'empty' }, 'Nothing in the history is near enough to the query. Below is what came nearest, and by how much it missed.')),
    x.missed?.length ? el('section', { class: 'card' }, el('h2', {}, 'Missed, and why'), x.missed.slice(0, 20).map((p) => passage(p, titles, x.floor, p.why))) : null,
    r.text ? el('section', { class: 'card' }, el('h2', {}, 'What a model would be shown'), foreign(r.text, 'pre', { class: 'text', tabindex: '0' })) : null,
  ];
}

function passage(p, titles, floor, why) {
  return el('article', { class: 'passage' },
    el('div', { class: 'plan-head' },
      link(place(p.conversation, { message: p.id }), {}, `message ${count(p.id)}`), el('span', { class: 'of cut', title: p.conversation }, 'of ', foreign(titles.get(p.conversation) || p.conversation)), el('span', { class: 'soft' }, foreign(p.role), p.name ? [' ', foreign(p.name)] : null), p.time ? when(p.time) : null, el('span', { class: 'soft figure' }, plural(p.tokens, 'token')), why ? el('span', { class: 'tag' }, why) : null),
    el('div', { class: 'scores figure' }, score('fused', p.score, 'from 0 to 1: how sure it is that the history knows, and where the passage stands', floor), score('keyword', p.keyword, "the words of the query that it has, as a share of the most that is possible (BM25)"), score('dense', p.dense, 'the cosine of its meaning and that of the query'), !p.prior ? null : el('div', { title: 'what speaker, role, date and standing instructions added' }, 'prior ', el('b', {}, `+${(p.prior ?? 0).toFixed(1)}`))),
    p.words.length ? null : el('p', { class: 'soft small' }, 'No word of the query stands in it.'),
    highlighted(p.text ?? '', p.words, 'pre', { class: 'text', tabindex: '0' }));
}

// score draws a figure from 0 to 1; floor is the least with which a passage is shown.
function score(name, value, about, floor) {
  const v = Math.max(0, Math.min(1, value ?? 0));
  return el('div', { title: about }, el('span', {}, name + ' '), el('b', {}, (value ?? 0).toFixed(2)), el('div', { class: 'score-bar' }, el('i', { style: { width: v * 100 + '%' } }), floor > 0 ? el('b', { class: 'floor', style: { left: floor * 100 + '%' }, title: `floor ${floor.toFixed(2)}: passages below it are not shown` }) : null));
}

const lesson = () => el('section', { class: 'card' }, el('p', { class: 'empty' }, 'Ask as an agent would: a question, a name, an error message. Each passage comes with how near its words are, how near its meaning is, and what both came to; below are those that missed, with the reason.'));
