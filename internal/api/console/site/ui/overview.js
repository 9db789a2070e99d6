// Overview: what today cost and saved, what happens now, whether all is well.

import { get, later, zone } from './api.js';
import { bars } from './chart.js';
import { bytes, clock, count, day, duration, el, foreign, link, loading, money, percent, place, plural, priced, problem, replace, short, when } from './dom.js';
import { lesson } from './lesson.js';

const day24 = 24 * 3600e3;

export default function overview() {
  const figures = el('div', { class: 'stack' }, loading());
  const hours = el('section', { class: 'card', 'aria-label': 'Tokens by hour' }, loading());
  const days = el('section', { class: 'card', 'aria-label': 'Money by day' }, loading());
  const feed = el('ul', { class: 'feed' });
  const feedCard = el('section', { class: 'card', 'aria-labelledby': 'now' },
    el('div', { class: 'card-head' }, el('h2', { id: 'now' }, 'Calls'), el('span', { class: 'soft small' }, 'newest first; tokens that came → were sent')), feed);
  const health = el('section', { class: 'card', 'aria-labelledby': 'health' }, el('h2', { id: 'health' }, 'Health'));
  const node = el('div', { class: 'stack' }, el('h1', { class: 'unseen' }, 'Overview'), figures,
    el('div', { class: 'columns' }, el('div', { class: 'stack' }, hours, days, health), el('div', { class: 'stack' }, feedCard)));
  let rows = [];
  let running = [];
  let ticking = null; // while calls run

  async function refresh() {
    try {
      const o = await get('overview', { zone });
      const none = o.store.messages === 0 && o.live.length === 0 && o.running.length === 0;
      for (const part of [hours, days, feedCard, health]) part.hidden = none;
      replace(figures, none ? lesson() : [stats(o), minor(o)]);
      rows = o.live;
      nowRuns(o.running);
      replace(health, el('h2', { id: 'health' }, 'Health'), healthOf(o));
    } catch (err) {
      replace(figures, problem(err, refresh));
    }
  }

  // nowRuns shows the calls that have not ended. Their times count on.
  function nowRuns(calls) {
    running = calls.map((c) => ({ ...c, title: c.title || titleOf(c.conversation), since: Date.now() - c.ms }));
    clearInterval(ticking);
    ticking = running.length ? setInterval(drawFeed, 1000) : null;
    drawFeed();
  }

  const titleOf = (conversation) => rows.find((r) => r.conversation === conversation)?.title;

  function drawFeed() {
    const known = running.filter((c) => !rows.some((r) => r.id === c.id));
    replace(feed, rows.length + known.length ? [...known.map(runs), ...rows.slice(0, 14).map(call)] : el('li', { class: 'soft' }, el('span', { class: 'all' }, 'None today.')));
  }

  async function charts() {
    try {
      const [byHour, byDay] = await Promise.all([get('usage', { by: 'hour', since: '24h', zone }), get('usage', { by: 'day', since: '30d', zone })]);
      replace(hours, bars(lastHours(byHour.rows), { title: 'Tokens, last 24 hours', names: ['sent', 'left out'], write: short }));
      replace(days, bars(lastDays(byDay.rows), { title: 'Money, last 30 days', names: ['paid', 'saved (estimate)'], write: money }), el('p', { class: 'small' }, link('#/usage', {}, 'By model, project and conversation')));
    } catch (err) {
      replace(hours, problem(err, charts));
      replace(days);
    }
  }

  const soon = later(4000, refresh);
  const redraw = later(20000, charts);
  refresh();
  charts();
  return {
    node,
    title: 'Overview',
    event(e) {
      if (e.kind === 'call') {
        const title = titleOf(e.conversation);
        rows = [{ time: e.time, conversation: e.conversation, call: e.call, id: e.call, model: e.model, title, came: e.tokens_before ?? 0, sent: e.tokens_after ?? 0, plan: e.plan, ms: e.ms, error: e.error }, ...rows.filter((r) => r.id !== e.call)].slice(0, 20);
        drawFeed();
      }
      if (e.kind === 'running') {
        nowRuns(e.running);
        if (!rows.length || running.some((c) => !c.title)) soon(); // the event has no titles
        return;
      }
      soon();
      redraw();
    },
    stop() {
      clearInterval(ticking);
      soon.stop();
      redraw.stop();
    },
  };
}

function stat(name, value, note, title) {
  return el('div', { class: 'stat', title }, el('dt', {}, name), el('dd', {}, el('b', {}, value), note ? el('span', { class: 'note' }, note) : null));
}

function stats(o) {
  const t = o.today;
  const would = t.tokens.sent + t.tokens.left_out;
  const paid = t.money.cost + t.money.summaries;
  return el('dl', { class: 'stats' },
    stat('Calls today', count(t.calls), t.failed ? `${count(t.failed)} not answered` : t.calls ? 'all answered' : 'none since midnight', 'calls to providers since midnight'),
    stat('Tokens sent', short(t.tokens.sent), t.tokens.left_out > 0 ? `of ~${short(would)}: ${percent(t.tokens.left_out / would)} left out` : t.calls ? 'everything that came' : null, `${count(t.tokens.sent)} prompt tokens went to providers; ${count(t.tokens.left_out)} were left out`),
    stat('Paid', priced(paid, t.money.unknown_models), t.money.saved > 0.00005 ? `~${money(t.money.without)} had everything been sent` : 'with the cache of providers', 'by the price table, with cache reads and writes at their prices, and summaries'),
    stat('Read from cache', t.tokens.sent ? percent(t.tokens.cache_read / t.tokens.sent) : '–', `${short(t.tokens.cache_read)} read, ${short(t.tokens.cache_write)} written`, 'prompt tokens that providers had in their caches'));
}

function minor(o) {
  const t = o.today;
  return el('dl', { class: 'stats minor' },
    stat('Cuts', count(t.cuts), 'windows made smaller', 'a cut stays for the following calls, so that caches stay warm'),
    stat('Recalls', count(t.recalls), `calls, with ${plural(t.passages, 'passage')}`, 'calls for which Oriel brought back passages that had left'),
    stat('Conversations', count(o.conversations.count), plural(o.conversations.active, 'active today', 'active today'), 'conversations of this history, and those with a call since midnight'),
    stat('History', bytes(o.store.disk || o.store.stored), plural(o.store.messages, 'message'), o.store.disk ? 'what the data folder takes on the disk' : 'the size of your history in the store'));
}

function healthOf(o) {
  const fails = o.fail_open;
  const c = o.calibration;
  return [el('dl', { class: 'facts' },
    el('dt', {}, 'Store'), el('dd', { class: o.store.status === 'failed' ? 'wrong' : null }, o.store.status === 'failed' ? o.store.error || 'cannot be written' : 'can be written'),
    o.queue ? waiting(o.queue, o.spool) : null, // only whoever runs the server sees it
    el('dt', {}, 'Failed open'), el('dd', {}, fails.total ? `${plural(fails.total, 'call')} went on without a part of Oriel` : 'never since the start'),
    el('dt', { title: 'how far Oriel\u2019s counts of tokens were from what providers reported' }, 'Counting error'), el('dd', {}, c.calls ? `${(c.error * 100).toFixed(1)}% on average, over ${plural(c.calls, 'call')}` : 'not known: no provider has reported a count today', c.models.length > 1 ? el('ul', { class: 'small soft' }, c.models.slice(0, 5).map((m) => el('li', {}, foreign(m.model), ` ${(m.error * 100).toFixed(1)}%, ${plural(m.calls, 'call')}`))) : null),
    el('dt', { title: 'what providers accept, learnt from requests that they refused' }, 'Learnt limits'), el('dd', {}, o.limits.length ? el('ul', {}, o.limits.slice(0, 5).map(limit), o.limits.length > 5 ? el('li', {}, link('#/settings', {}, `${count(o.limits.length - 5)} more`)) : null) : 'none: no provider has refused a request as too large')),
  o.unread?.length ? [el('h3', { title: 'nothing of these requests is recorded or cut' }, 'Not read'), el('ul', { class: 'small' }, o.unread.slice(0, 5).map((u) => el('li', {}, `${count(u.count)} × `, foreign(u.client || 'a client without a name'), ' ', foreign(u.path), ' ', el('span', { class: 'soft' }, foreign(u.why), ' ', when(u.last)))))] : null,
  fails.reasons?.length ? el('ul', { class: 'small' }, fails.reasons.slice(0, 5).map((r) => el('li', {}, `${count(r.count)} × `, foreign(r.reason || r.kind), ' ', el('span', { class: 'soft' }, when(r.last))))) : null,
  el('p', { class: 'soft small' }, `Version ${o.version}, up since `, when(o.started))];
}

// waiting shows the calls that are not written yet, of all tenants.
function waiting(queue, spool) {
  const size = (w, where) => (w.calls ? `${plural(w.calls, 'call')} ${where}, ${bytes(w.bytes)}` : 'empty');
  return [
    el('dt', { title: 'calls that have ended and are not written yet' }, 'Queue'), el('dd', {}, size(queue, 'to be written')),
    el('dt', { title: 'calls that wait on disk because the store did not accept them' }, 'Spool'),
    el('dd', {}, size(spool, 'on disk'), spool.newer ? `, ${count(spool.newer)} of a newer version` : null, spool.lost ? el('span', { class: 'wrong' }, `; ${plural(spool.lost, 'call')} lost since the start`) : null)];
}

const limit = (l) => el('li', { title: l.conversation ? 'of one conversation, until another confirms it' : null }, foreign(l.model), ` ${short(l.tokens)} tokens `, el('span', { class: 'soft' }, 'since ', when(l.at)));

// runs is a row for a call that has not ended.
function runs(c) {
  return el('li', { class: 'runs' },
    when(c.time),
    el('span', { class: 'line' }, c.title ? link(place(c.conversation), {}, foreign(c.title)) : 'a new conversation'),
    el('span', { class: 'figure', title: 'since the request came' }, `running ${duration(Date.now() - c.since)}`),
    el('span', { class: 'under figure' }, foreign(c.model || 'unknown model'), c.tokens_after ? el('span', {}, c.tokens_after < c.tokens_before ? `${short(c.tokens_before)} → ${short(c.tokens_after)}` : `${short(c.tokens_after)} tokens`) : null));
}

function call(c) {
  const cut = c.tokens_after < c.tokens_before;
  return el('li', {},
    when(c.time),
    el('span', { class: 'line' }, c.conversation ? link(place(c.conversation, { call: c.call }), {}, foreign(c.title || c.conversation)) : 'a call'),
    el('span', { class: 'figure', title: 'what the call cost' }, c.priced ? (c.cost ? money(c.cost) : '') : c.error || c.priced === undefined ? '' : '?'),
    el('span', { class: 'under figure' }, foreign(c.model || 'unknown model'), el('span', { title: cut ? `${count(c.tokens_before)} tokens came, ${count(c.tokens_after)} were sent` : `${count(c.tokens_after)} tokens came and were sent` }, cut ? `${short(c.tokens_before)} → ${short(c.tokens_after)}` : `${short(c.tokens_after)} tokens`),
      c.ms ? el('span', { title: 'from the request to the end of the answer' }, duration(c.ms)) : null,
      cut && c.plan ? el('span', { class: 'tag on', title: 'the plan by which something was left out' }, /^p-/.test(c.plan) ? '✂' : `✂ ${c.plan}`) : null, c.error ? foreign(c.error, 'span', { class: 'wrong' }) : null));
}

// lastHours has a row for each of the last 24 hours, whether it had calls or not.
function lastHours(rows) {
  const by = new Map(rows.map((r) => [r.key, r]));
  return Array.from({ length: 24 }, (_, i) => {
    const t = new Date(Date.now() - (23 - i) * 3600e3);
    const r = by.get(`${isoDay(t)}T${String(t.getHours()).padStart(2, '0')}`);
    const label = `${clock(t).slice(0, 2)}:00`;
    return { label, tick: label, a: r?.input ?? 0, b: r?.left_out ?? 0 };
  });
}

function lastDays(rows) {
  const by = new Map(rows.map((r) => [r.key, r]));
  return Array.from({ length: 30 }, (_, i) => {
    const t = new Date(Date.now() - (29 - i) * day24);
    const r = by.get(isoDay(t));
    const paid = (r?.cost ?? 0) + (r?.summaries ?? 0);
    return { label: day(t), tick: day(t), a: paid, b: Math.max(0, (r?.without ?? 0) - paid) };
  });
}

const isoDay = (t) => `${t.getFullYear()}-${String(t.getMonth() + 1).padStart(2, '0')}-${String(t.getDate()).padStart(2, '0')}`;
