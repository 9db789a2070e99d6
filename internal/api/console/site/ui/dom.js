// Elements and figures. Every text reaches the page as a text node: there is no way in
// this file to make markup of a string.

const SVG = 'http://www.w3.org/2000/svg';

// el makes an element. A property is a listener if it begins with "on", a property of the
// object if it is one of those below, and otherwise an attribute; null and false leave it
// out. Children are nodes, texts, or lists of both.
export function el(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

// svg is el for SVG.
export function svg(tag, props, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

const own = new Set(['value', 'checked', 'disabled', 'hidden', 'indeterminate', 'scrollTop']);

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (name === 'style') Object.assign(node.style, value);
    else if (own.has(name)) node[name] = value;
    else node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  return node;
}

// replace puts children in the place of all that a node has.
export function replace(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  return node;
}

// foreign makes a text of other people's: its direction does not reach the text around it,
// and characters that nobody can see, or that reorder what is seen, are shown as marks.
export function foreign(text, tag = 'bdi', props = {}) {
  const node = el(tag, { dir: 'auto', ...props });
  return marked(node, text);
}

// highlighted makes a text of other people's in which some words are marked, at most 200
// times.
export function highlighted(text, words, tag, props) {
  const node = el(tag, { dir: 'auto', ...props });
  const plain = (words ?? []).filter((w) => /^[\p{L}\p{N}_]+$/u.test(w));
  if (!plain.length) return marked(node, text);
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}_])(?:${plain.join('|')})(?![\\p{L}\\p{N}_])`, 'gu');
  let at = 0;
  let marks = 0;
  for (const found of text.matchAll(pattern)) {
    if (++marks > 200) break;
    marked(node, text.slice(at, found.index));
    node.append(el('mark', {}, found[0]));
    at = found.index + found[0].length;
  }
  return marked(node, text.slice(at));
}

// eslint-disable-next-line no-control-regex
const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udc7f]/g;

// marked appends a text to a node, with marks for hidden characters: at most a thousand of
// them, the rest is left out as they cannot be seen anyway.
export function marked(node, text) {
  let at = 0;
  let marks = 0;
  for (const found of text.matchAll(hidden)) {
    if (found.index > at) node.append(text.slice(at, found.index));
    at = found.index + found[0].length;
    if (found[0] === '\r' && text[at] === '\n') continue;
    if (++marks > 1000) continue;
    const code = 'U+' + found[0].codePointAt(0).toString(16).toUpperCase().padStart(4, '0');
    node.append(el('span', { class: 'control', title: 'a control character' }, code));
  }
  if (at < text.length) node.append(text.slice(at));
  return node;
}

const whole = new Intl.NumberFormat('en');
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });

// count writes a number in full.
export const count = (n) => whole.format(Math.round(n));

// short writes a number in three figures: 31.2M.
export const short = (n) => (Math.abs(n) < 10000 ? whole.format(Math.round(n)) : compact.format(n).replace('K', 'k'));

// money writes US dollars.
export function money(d) {
  if (d === 0) return '$0';
  const sign = d < 0 ? '−' : '';
  const a = Math.abs(d);
  if (a < 0.0001) return sign + '<$0.0001';
  return sign + '$' + (a < 0.01 ? a.toFixed(4) : a < 0.1 ? a.toFixed(3) : a < 1000 ? a.toFixed(2) : whole.format(Math.round(a)));
}

// priced writes a sum of money. With models whose prices are not known, it says that the sum is
// without their calls: "?" if there are no others.
export const priced = (d, unknown) => (unknown?.length ? (d ? money(d) + '+' : '?') : money(d));

// percent writes a share.
export const percent = (share) => (share > 0 && share < 0.01 ? '<1%' : Math.round(share * 100) + '%');

// duration writes a time that something took.
export function duration(ms) {
  if (ms < 995) return `${Math.round(ms)} ms`;
  return ms < 59_950 ? `${(ms / 1000).toFixed(1)} s` : `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

// bytes writes a size.
export function bytes(n) {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let i = 0;
  while (n >= 1000 && i < units.length - 1) {
    n /= 1000;
    i++;
  }
  return (i === 0 ? n : n.toPrecision(3)) + ' ' + units[i];
}

const clockFormat = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const dayFormat = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const fullFormat = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'medium' });

// clock writes the time of day.
export const clock = (t) => clockFormat.format(new Date(t));

// day writes a date without its year.
export const day = (t) => dayFormat.format(new Date(t));

// when writes a time as short as it can be, with the whole of it on hover.
export function when(t) {
  if (!t || t.startsWith('0001')) return el('span', {}, '–');
  const d = new Date(t);
  const now = new Date();
  const text = d.toDateString() === now.toDateString() ? clock(d) : day(d) + (d.getFullYear() === now.getFullYear() ? '' : ' ' + d.getFullYear()) + ', ' + clock(d).slice(0, 5);
  return el('time', { datetime: t, title: fullFormat.format(d) }, text);
}

// plural writes a number of things.
export const plural = (n, one, many = one + 's') => count(n) + ' ' + (n === 1 ? one : many);

// tokens writes a number of tokens with the exact figure on hover; estimates have a tilde.
export function tokens(n, { estimate = false, unit = true } = {}) {
  return el('span', { class: 'figure', title: (estimate ? 'about ' : '') + plural(n, 'token') }, (estimate ? '~' : '') + short(n) + (unit ? ' tokens' : ''));
}

// problem shows an error of the API where its result would be.
export function problem(err, retry) {
  return el('div', { class: 'problem', role: 'alert' },
    el('strong', {}, err.title ?? 'This could not be loaded'),
    el('p', {}, err.detail ?? String(err.message ?? err)),
    err.hint ? el('p', { class: 'hint' }, err.hint) : null,
    retry ? el('button', { type: 'button', onclick: retry }, 'Try again') : null);
}

// show puts into a box what make returns, or the error in its place with a button that calls
// retry. It returns whether there was none. What was ended by its signal changes nothing.
export async function show(box, make, retry) {
  try {
    replace(box, await make());
    return true;
  } catch (err) {
    if (err.name !== 'AbortError') replace(box, problem(err, retry));
    return false;
  }
}

// loading stands where a result will be.
export const loading = (what = 'Loading') => el('p', { class: 'loading', role: 'status' }, what + '…');

// link makes a link to a state of the console.
export const link = (href, props, ...children) => el('a', { href, ...props }, ...children);

// place is the address of a conversation, at a call or with a message.
export const place = (conversation, params = {}) => `#/conversation/${encodeURIComponent(conversation)}${Object.keys(params).length ? '?' + new URLSearchParams(params) : ''}`;

// table makes a table in a box of its own, in which it scrolls if it is too wide. columns are
// names, or [name, what it is]; those from the index figures on are numbers. rows are <tr>.
export function table(label, columns, rows, { kind = '', figures = 1, foot = null } = {}) {
  const head = (c, i) => el('th', { scope: 'col', class: i >= figures ? 'n' : null, title: Array.isArray(c) ? c[1] : null }, Array.isArray(c) ? c[0] : c);
  return el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': label },
    el('table', { class: `table ${kind}` }, el('thead', {}, el('tr', {}, columns.map(head))), Array.isArray(rows) ? el('tbody', {}, rows) : rows, foot ? el('tfoot', {}, foot) : null));
}

// figure makes a cell of a table with a number.
export const figure = (text, title) => el('td', { class: 'n', title }, text);
