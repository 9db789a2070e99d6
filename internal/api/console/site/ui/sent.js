// What the model saw at a call, byte for byte, and the difference between two calls.

import { address, get, text } from './api.js';
import { bytes, count, el, foreign, loading, plural, replace, short, show } from './dom.js';
import { whole } from './message.js';

const noCall = () => el('p', { class: 'empty' }, 'No call of this conversation was recorded.');

// sentTab shows the body of a call: message by message, or as the bytes that went out.
export function sentTab(box, context, params) {
  const { call } = context.state;
  if (!call) return replace(box, noCall());
  const came = params.raw === 'came';
  const path = context.of(`calls/${call}/sent`);
  const query = came ? { body: 'came' } : {};
  const pick = (value, name) => el('button', { type: 'button', 'aria-pressed': String((params.raw ?? '') === value), class: (params.raw ?? '') === value ? 'primary' : null, onclick: () => context.go({ raw: value || null }) }, name);
  const bar = el('div', { class: 'actions' }, pick('', 'By message'), pick('bytes', 'Bytes'), pick('came', 'As it came'), el('a', { class: 'small', href: address(path, query), download: `call-${call}.json` }, 'Save'));
  const body = el('div', { class: 'stack' }, loading());
  replace(box, el('div', { class: 'stack' }, bar, body));
  show(body, async () => {
    const t = await text(path, query, context.signal());
    const size = bytes(new TextEncoder().encode(t).length);
    const note = el('p', { class: 'soft small' }, came ? `The body of call ${call} as your program sent it, ${size}.` : `The body of call ${call} as it went to the provider, ${size}, without keys.`);
    return [note, params.raw ? whole(t) : messages(t)];
  });
}

// messages lists the messages of a body in any of the vendors' forms. What it does not know
// is shown as JSON.
function messages(t) {
  const body = JSON.parse(t);
  const list = body.messages ?? body.input ?? body.contents ?? [];
  const rows = [];
  const system = body.system ?? body.instructions ?? body.systemInstruction;
  if (system) rows.push(['system', system]);
  if (body.tools?.length) rows.push([plural(body.tools.length, 'tool'), body.tools]);
  for (const m of typeof list === 'string' ? [{ role: 'user', content: list }] : list) rows.push([m.role ?? m.type ?? 'message', m.content ?? m.parts ?? m.output ?? m]);
  const shown = rows.length > 400 ? [...rows.slice(0, 200), null, ...rows.slice(-200)] : rows;
  return el('div', {}, shown.map((r) => {
    if (!r) return el('p', { class: 'soft' }, `${count(rows.length - 400)} more between; the bytes have all of them.`);
    const words = plain(r[1]);
    const d = el('details', { class: 'sent', ontoggle: () => { if (d.open && d.childElementCount === 1) d.append(whole(words)); } },
      el('summary', { class: 'cut' }, el('b', {}, foreign(r[0])), ' ', foreign(words.slice(0, 120).replace(/\s+/g, ' '), 'span', { class: 'soft' })));
    return d;
  }));
}

// plain makes text of a content: texts as they are, everything else as JSON without base64.
function plain(content) {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return json(content);
  return content.map((p) => (typeof p === 'string' ? p : typeof p.text === 'string' ? p.text : typeof p.content === 'string' ? p.content : json(p))).join('\n\n');
}

const json = (v) => JSON.stringify(v, (_, s) => (typeof s === 'string' && s.length > 2000 && /^[A-Za-z0-9+/=_-]+$/.test(s.slice(0, 400)) ? `[base64, ${count(s.length)} characters]` : s), 2);

// diffTab shows what changed between two calls.
export function diffTab(box, context, params) {
  const { call, calls } = context.state;
  if (!call) return replace(box, noCall());
  const against = params.with ?? (call > 1 ? String(call - 1) : 'came');
  const other = el('select', { 'aria-label': 'Compared with', onchange: () => context.go({ with: other.value }) });
  const options = ['came', ...recent(calls, Number(against)).map(String)];
  other.append(...options.map((o) => el('option', { value: o }, o === 'came' ? 'what came at this call' : `call ${o}`)));
  other.value = against;
  const body = el('div', {}, loading());
  replace(box, el('div', { class: 'stack' }, el('div', { class: 'actions' }, `Call ${count(call)} compared with`, other), body));
  show(body, async () => {
    const d = await get(context.of(`calls/${call}/diff`), { with: against }, context.signal());
    return d.changes.length ? el('ul', { class: 'changes' }, d.changes.map(change)) : el('p', { class: 'empty' }, 'Both are the same.');
  });
}

// recent are at most 200 calls around one.
function recent(calls, around) {
  const from = Math.max(1, Math.min(around || calls, calls) - 150);
  return Array.from({ length: Math.min(200, calls - from + 1) }, (_, i) => from + i).reverse();
}

const signs = { same: '', added: '+', removed: '−', changed: '~' };

function change(c) {
  const n = c.last - c.first + 1;
  return el('li', { class: c.op },
    el('span', {}, el('span', { 'aria-hidden': 'true' }, signs[c.op]), el('span', { class: 'unseen' }, c.op)),
    el('span', { class: 'who figure' }, c.first === 0 ? [`${c.role} `, foreign(c.name ?? '')] : n > 1 ? `${count(c.first)}–${count(c.last)}` : [`${count(c.first)} `, foreign(c.role)]),
    el('div', { class: 'what' },
      c.op === 'same' ? el('div', { class: 'words' }, n > 1 ? `${plural(n, 'message')} the same` : 'the same') : foreign((c.text ?? '').slice(0, 300), 'div', { class: 'words' }),
      c.lines?.map((l) => el('div', { class: `line ${l.op}` }, `${signs[l.op]} `, foreign(l.text)))),
    el('span', { class: 'figure soft', title: 'tokens, an estimate' }, '~' + short(c.tokens)));
}
