// A message, whole.

import { get } from './api.js';
import { bytes, count, el, foreign, link, loading, marked, place, plural, replace, show, when } from './dom.js';
import { names } from './strip.js';

const first = 20_000; // characters of a text that are shown at once

// messageTab shows the chosen message.
export function messageTab(box, context) {
  const { state, strip } = context;
  const id = state.message;
  if (!id) {
    replace(box, el('p', { class: 'empty' }, 'Click a cell of the strip or a message of the list to read it whole. ', el('kbd', {}, '←'), ' ', el('kbd', {}, '→'), ' move from message to message, ', el('kbd', {}, 'p'), ' pins.'));
    return;
  }
  if (box.dataset.message !== String(id)) replace(box, loading());
  show(box, async () => {
    const m = await get(context.of(`messages/${id}`), { call: state.call || undefined }, context.signal());
    box.dataset.message = String(id);
    return draw(m, context, strip);
  });
}

function draw(m, context, strip) {
  const verdict = strip.verdict(m.id);
  const hidden = m.verdict && m.verdict !== 'keep';
  const recalled = (context.state.strip.recalled ?? []).filter((r) => r.into === m.id || (r.id === m.id && (!r.conversation || r.conversation === context.state.info.id)));
  return el('article', { class: 'message' },
    el('div', { class: 'with-button' }, el('div', { class: 'plan-head' }, el('h2', {}, `Message ${count(m.id)}`), el('span', { class: 'soft' }, strip.by(m.id)), el('span', { class: 'soft figure', title: `an estimate of how the model counts it; o200k_base counts ${count(m.tokens)}` }, '~' + plural(strip.tokens[m.id - 1] ?? m.tokens, 'token')), m.pinned ? el('span', { class: 'tag on' }, '★ pinned') : null),
      el('span', { class: 'actions' },
        el('button', { type: 'button', id: 'pin', onclick: () => context.pin(m.id, !m.pinned) }, m.pinned ? 'Unpin' : 'Pin'),
        hidden && m.plan ? el('button', { type: 'button', onclick: () => context.go({ tab: 'plans', plan: m.plan, preview: '1' }) }, 'Show again…') : null)),
    el('dl', { class: 'facts' },
      context.state.call ? [el('dt', {}, 'At this call'), el('dd', {}, names[verdict], hidden ? [` by ${m.plan}`, m.reason ? ': ' : '', foreign(m.reason ?? '')] : null)] : null,
      el('dt', {}, 'Time'), el('dd', {}, when(m.time)),
      m.history?.length ? [el('dt', {}, 'So far'), el('dd', {}, el('ul', {}, m.history.map((h) => el('li', {}, when(h.time), ` ${h.plan}${h.call ? ` at call ${count(h.call)}` : ''}: ${names[h.verdict] ?? h.verdict}`, h.reason ? [', ', foreign(h.reason)] : null))))] : null,
      recalled.length ? [el('dt', {}, 'Recalled'), el('dd', {}, passages(recalled, m.id, context))] : null,
      m.variants ? [el('dt', {}, 'Forms'), el('dd', {}, `it was sent in ${plural(m.variants + 1, 'form')}: the same words, other bytes`)] : null),
    m.parts.length ? m.parts.map(part) : whole('(no text)'));
}

// passages says which passages stand in a message, and where passages of it stand.
function passages(recalled, id, context) {
  const into = recalled.filter((r) => r.into === id);
  const from = recalled.filter((r) => r.into !== id);
  const tokens = into.reduce((sum, r) => sum + r.tokens, 0);
  return [
    into.length ? el('div', {}, `${plural(into.length, 'passage')} in it, ${plural(tokens, 'token')}, of `, few(into, (r) => `${r.conversation} ${r.id}`, (r) => source(r, context))) : null,
    from.length ? el('div', {}, 'passages of it stand in ', few(from, (r) => r.into, (r) => jump(r.into, context))) : null];
}

// few draws the first of what has different names.
function few(all, name, draw) {
  const once = [...new Map(all.map((r) => [name(r), r])).values()];
  return [once.slice(0, 6).flatMap((r, i) => [i ? ', ' : '', draw(r)]), once.length > 6 ? ` and ${plural(once.length - 6, 'other')}` : ''];
}

const jump = (id, context) => el('button', { type: 'button', class: 'quiet', onclick: () => context.go({ message: id, tab: null }) }, `message ${count(id)}`);

function source(r, context) {
  if (!r.conversation || r.conversation === context.state.info.id) return jump(r.id, context);
  return link(place(r.conversation, { message: r.id }), {}, `message ${count(r.id)} of another conversation`);
}

const partNames = { text: '', thinking: 'thinking', call: 'calls', result: 'result', image: 'image', document: 'document', audio: 'audio', other: 'other' };

// asked writes the arguments of a call: the text, if they are one.
function asked(text) {
  try {
    const values = Object.values(JSON.parse(text));
    if (values.length > 0 && typeof values[0] === 'string') return values[0].slice(0, 200);
  } catch {
    // It was cut, or is no JSON.
  }
  return text;
}

// part shows a part of a message. Images and files are named, never shown as text.
function part(p) {
  const head = [(partNames[p.kind] ?? p.kind) + (p.asked ? ' of' : ''), p.name ? foreign(p.name, 'b') : null, p.asked ? foreign(asked(p.asked), 'code') : null, p.error ? el('span', { class: 'tag' }, 'an error') : null, p.media ? `${p.media}${p.bytes ? ', ' + bytes(p.bytes) : ''}` : null].filter(Boolean);
  return el('div', { class: 'part' },
    head.length ? el('h3', {}, head) : null,
    p.text ? whole(p.text) : p.media ? null : el('p', { class: 'soft small' }, '(empty)'));
}

// whole shows a text, the beginning of a very long one first.
export function whole(text) {
  const box = el('pre', { class: 'text', dir: 'auto', tabindex: '0' });
  if (text.length <= first) return marked(box, text);
  marked(box, text.slice(0, first));
  const more = el('button', { type: 'button', onclick: () => {
    let at = first;
    more.remove();
    // In pieces, so that the page stays responsive.
    const next = () => {
      marked(box, text.slice(at, at + 500_000));
      at += 500_000;
      if (at < text.length && box.isConnected) requestAnimationFrame(next);
    };
    next();
  } }, `Show all ${count(text.length)} characters`);
  return el('div', {}, box, el('p', {}, more));
}
