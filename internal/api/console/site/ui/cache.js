// What providers read from their caches, and why not more.

import { count, el, figure, foreign, link, money, percent, place, plural, short, table, tokens, when } from './dom.js';

// reasons say what each reason means.
const reasons = {
  pause: 'the call before was longer ago than the provider keeps its cache',
  client: 'the client changed what it had sent before, or asked for no cache',
  cut: 'Oriel left something out, or put it back',
  model: 'the call before asked another model',
  minimum: 'the prompt is shorter than what the provider caches',
  provider: 'no reason was found',
};

// span writes a time span in seconds: 5 min, 1 h 20 min, 3 d.
function span(s) {
  if (s < 60) return `${Math.round(s)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  const m = Math.floor((s % 3600) / 60);
  return s < 172800 ? `${Math.floor(s / 3600)} h${m ? ` ${m} min` : ''}` : `${Math.floor(s / 86400)} d`;
}

// where names the place of a change.
function where(c) {
  const byte = `byte ${count(c.byte)} of `;
  if (c.where === 'marks') return ['a cache was asked for not at all, or not for all of it'];
  if (c.where === 'tools') return [byte, `tool ${count(c.at)}, `, foreign(c.name ?? '')];
  if (c.where === 'system') return [byte, `the system prompt, part ${count(c.at)}`];
  return [byte, `message ${count(c.at)}, `, foreign(c.name ?? '')];
}

// why says in a few words why a prompt was not read from the cache.
function why(m) {
  const said = m.said ? ['; the provider says ', foreign(m.said)] : [];
  switch (m.reason) {
    case 'pause': return [`a pause of ${span(m.pause)}, the cache lives ${span(m.lifetime)}`, said];
    case 'client': return ['the client changed ', m.change?.where === 'marks' ? 'nothing, but ' : '', m.change ? where(m.change) : 'something that prompts are not compared by', said];
    case 'cut': return [m.plan ? `cut by plan ${m.plan}` : 'cut', said];
    case 'model': return ['another model before: ', foreign(m.model ?? ''), said];
    case 'minimum': return [`prompts below ${count(m.minimum)} tokens are not cached`, said];
    default: return ['no reason was found', said];
  }
}

// parting shows what stood where two prompts part.
function parting(c) {
  if (!c?.old && !c?.new) return null;
  return el('div', { class: 'parting' },
    c.old ? el('div', { class: 'line removed' }, el('span', { class: 'unseen' }, 'before: '), '− ', foreign(c.old)) : null,
    c.new ? el('div', { class: 'line added' }, el('span', { class: 'unseen' }, 'now: '), '+ ', foreign(c.new)) : null);
}

// cacheOf says what a call read from its provider's cache; null where nobody knows.
export function cacheOf(call) {
  const u = call.usage;
  if (!u) return null;
  const read = u.cache_read ?? 0;
  const prompt = (u.input ?? 0) + read + (u.cache_write ?? 0) + (u.cache_write_1h ?? 0);
  const m = call.miss;
  return el('div', { class: 'cache', id: 'cache' },
    el('p', { class: 'figure' }, el('span', { title: `${count(read)} of ${plural(prompt, 'token')}, as the provider counted them` }, `cache ${percent(prompt ? read / prompt : 0)}`),
      m ? [' · ', el('b', {}, tokens(m.tokens)), ' more could have been read', m.cost ? `, ${money(m.cost)}` : '', ': ', why(m)] : null),
    m ? parting(m.change) : null);
}

// beginning clips a title.
const beginning = (t) => (t.length > 60 ? t.slice(0, 60) + '…' : t);

// cacheCard is the report on all calls of a span of time.
export function cacheCard(r, titles) {
  if (!r.input) return null;
  const rows = r.reasons.filter((s) => s.calls);
  return el('section', { class: 'card', id: 'cache' },
    el('div', { class: 'card-head' }, el('h2', {}, `Cache: ${percent(r.cache_read / r.input)} of prompts were read from it`, r.unread ? `, ${short(r.unread)} tokens more could have been` : ''), r.cost ? el('span', { class: 'soft small' }, `${money(r.cost)} more than reading them would have cost`) : null),
    rows.length ? table('Why tokens were not read from the cache', ['Reason', ['Calls', 'calls with this reason'], ['Tokens', 'that could have been read and were not'], ['Cost', 'more than reading them would have cost']],
      rows.map((s) => el('tr', {}, el('th', { scope: 'row' }, s.reason, ' ', el('span', { class: 'soft small wide' }, reasons[s.reason])), figure(count(s.calls)), figure(short(s.tokens), count(s.tokens)), figure(money(s.cost))))) : el('p', { class: 'empty' }, 'Everything was read that could have been.'),
    r.largest.length ? [el('h3', { class: 'missed-head' }, 'The largest'), el('ul', { class: 'missed' }, r.largest.slice(0, 5).map((m) => el('li', {},
      el('p', {}, el('b', {}, tokens(m.tokens)), m.cost ? ` ${money(m.cost)}` : '', ' · ', link(place(m.conversation, { call: m.call }), { title: m.conversation }, foreign(beginning(titles?.get(m.conversation) || m.conversation)), ` call ${count(m.call)}`), ' · ', when(m.time), ' · ', why(m)),
      parting(m.change))))] : null,
    r.unreported ? el('p', { class: 'soft small' }, `Of ${plural(r.unreported, 'call')} the provider reported no usage: they are in no figure.`) : null);
}
