// What fills a window: kinds, the largest things, tools that nobody used.

import { count, el, figure, foreign, link, money, percent, place, plural, priced, short, table } from './dom.js';

const about = {
  system: 'system prompt', tools: 'tools', memory: 'memory file', people: "people's words", agent: "the agent's notes",
  model: "model's words", calls: 'calls of tools', thinking: 'thinking', results: 'results', media: 'images and files',
  digest: 'digest', recalled: 'recalled', notes: 'notes of Oriel', other: 'other', overhead: 'structure', free: 'free',
};
const ours = new Set(['digest', 'recalled', 'notes']);

// label names a kind: "results of Bash".
export function label(kind, name) {
  const what = about[kind] ?? kind;
  if (!name) return kind === 'tools' ? 'tools of the agent' : what;
  if (kind === 'calls') return ['calls of ', foreign(name)];
  if (kind === 'tools' || kind === 'results') return [what + ' of ', foreign(name)];
  return [what + ' ', foreign(name)];
}

// kinds draws a bar for each kind, as long as its share of the largest.
export function kinds(list, { most = 18, cost = false, sign = '', unknown = [] } = {}) {
  const shown = [...list].sort((a, b) => (a.kind === 'free') - (b.kind === 'free') || b.tokens - a.tokens);
  const free = shown.filter((k) => k.kind === 'free');
  const used = shown.filter((k) => k.kind !== 'free');
  const rest = used.slice(most);
  const rows = [...used.slice(0, most), ...free];
  const top = Math.max(...used.map((k) => k.tokens), 1);
  const sum = used.reduce((n, k) => n + k.tokens, 0) || 1;
  return el('ul', { class: 'kinds' },
    rows.map((k) => el('li', { class: k.kind === 'free' ? 'free' : ours.has(k.kind) ? 'ours' : null, title: `${sign}${count(k.tokens)} tokens` + (k.count ? `, ${plural(k.count, 'piece')}` : '') },
      el('span', { class: 'cut' }, label(k.kind, k.name)),
      k.kind === 'free' ? el('span', {}) : el('span', { class: 'bar', style: { width: Math.min(100, (k.tokens / top) * 100) + '%' } }),
      el('span', { class: 'n' }, sign + short(k.tokens)),
      el('span', { class: 'n soft' }, cost && k.cost !== undefined ? priced(k.cost, k.cost ? [] : unknown) : k.kind === 'free' ? '' : percent(k.tokens / sum)))),
    rest.length ? el('li', {}, el('span', { class: 'soft' }, plural(rest.length, 'more kind')), el('span', {}), el('span', { class: 'n soft' }, sign + short(rest.reduce((s, k) => s + k.tokens, 0))),
      el('span', { class: 'n soft' }, cost ? priced(rest.reduce((s, k) => s + (k.cost ?? 0), 0), unknown) : percent(rest.reduce((s, k) => s + k.tokens, 0) / sum))) : null);
}

// largest is a table of the largest single things. conversation is that of the window, for
// things that do not name one; sum is what was sent, of which they are shares.
export function largest(list, { conversation, sum = 0, over = false, sign = '', unknown = [] } = {}) {
  if (!list?.length) return null;
  const columns = ['What, and how it begins', ['Tokens', 'of one time'], ...(over ? [['Sent', 'with how many calls'], ['Cost', 'the price of prompts, in proportion to tokens']] : [['Share', 'of what was sent']])];
  return table('The largest things', columns, list.map((t) => {
    const c = t.conversation ?? conversation;
    const what = t.kind === 'tools' ? ['tool ', foreign(t.name)] : label(t.kind, t.name);
    return el('tr', {},
      el('td', {}, c && t.id ? link(place(c, { message: t.id }), { title: `message ${t.id}` }, what) : what, t.text ? foreign(cut(t.text), 'div', { class: 'soft small' }) : null),
      figure(sign + short(t.tokens), plural(t.tokens, 'token')),
      over ? [figure(`${count(t.calls ?? 1)} ×`, `${count(t.total ?? 0)} tokens in all`), figure(priced(t.cost ?? 0, t.cost ? [] : unknown))] : figure(percent(t.tokens / (sum || 1))));
  }));
}

// cut shortens the beginning of a text, which the API has cut already, at a word.
const cut = (text) => (text.length < 80 ? text : text.slice(0, 140).replace(/\s\S*$/, '') + ' …');

// unused names the tools that were sent with every call and that nobody used.
export function unused(list, calls) {
  if (!list?.length) return null;
  const sum = list.reduce((s, t) => s + t.tokens, 0);
  return [el('p', {}, `${plural(list.length, 'tool')} ${list.length === 1 ? 'was' : 'were'} sent with every call`, calls ? ` (${count(calls)})` : '', ` and never used: ~${count(sum)} tokens of each prompt.`),
    el('ul', { class: 'actions small' }, list.slice(0, 40).map((t) => el('li', { class: 'tag', title: plural(t.tokens, 'token') + (t.cost ? `, ${money(t.cost)} today` : '') }, foreign(t.name), ` ${short(t.tokens)}`)),
      list.length > 40 ? el('li', { class: 'tag' }, `${count(list.length - 40)} more`) : null)];
}
