// The frame: which page an address means, the line of events, keys that work everywhere.
//
// An address is a state: #/conversation/ID?call=47&message=23. A page is a function that
// gets its arguments, its parameters and go, which changes parameters, and returns {node,
// title} and, if it has them, update(params), event(e), key(e) and stop().

import { get, listen } from './api.js';
import { el, foreign, replace } from './dom.js';
import overview from './overview.js';
import conversations from './conversations.js';
import conversation from './conversation.js';
import usage from './usage.js';
import filling from './window.js';
import recall from './recall.js';
import settings from './settings.js';
import { help } from './help.js';
import { brought, session, signInPage, signOut } from './signin.js';

const pages = { '': overview, conversations, conversation, usage, window: filling, recall, settings };
const tabs = { '': 'overview', conversation: 'conversations' };
const main = document.getElementById('main');
let now = null; // {name, args, page}
let asking = false; // for a token
let stopListening = () => {};

// read takes an address apart.
function read() {
  const [path, query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  const [name, ...args] = path.split('/').map(decode);
  return { name: Object.hasOwn(pages, name) ? name : '', args, params: Object.fromEntries(new URLSearchParams(query)) };
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

// go changes parameters of the address; null removes one. What a person does stays in the
// history of the browser unless replace is set.
function go(changes, { replace: quietly = false } = {}) {
  const { name, args, params } = read();
  const next = new URLSearchParams();
  for (const [k, v] of Object.entries({ ...params, ...changes })) {
    if (v !== null && v !== undefined && v !== '') next.set(k, v);
  }
  const hash = '#/' + [name, ...args.map(encodeURIComponent)].join('/').replace(/\/$/, '') + (next.size ? '?' + next : '');
  if (hash === location.hash) return;
  if (quietly) {
    history.replaceState(null, '', hash);
    route();
  } else {
    location.hash = hash;
  }
}

function route() {
  if (asking) return;
  const to = read();
  if (now && now.name === to.name && now.args.join('/') === to.args.join('/')) {
    now.page.update?.(to.params);
    return;
  }
  now?.page.stop?.();
  const page = pages[to.name]({ args: to.args, params: to.params, go, title, toast });
  const first = !now;
  now = { name: to.name, args: to.args, page };
  replace(main, page.node);
  title(page.title);
  for (const a of document.querySelectorAll('.top nav a')) {
    if (a.dataset.page === (tabs[to.name] ?? to.name)) a.setAttribute('aria-current', 'page');
    else a.removeAttribute('aria-current');
  }
  scrollTo(0, 0);
  if (page.focus && !matchMedia('(pointer: coarse)').matches) page.focus();
  else if (!first) main.focus({ preventScroll: true });
}

function title(text) {
  document.title = text ? text + ' · Oriel' : 'Oriel';
}

let toastTimer;

// toast says for a few seconds what was done.
function toast(text) {
  document.getElementById('toast').textContent = text;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => { document.getElementById('toast').textContent = ''; }, 6000);
}

function state(on) {
  const live = document.getElementById('live');
  live.textContent = on ? 'live' : 'not connected';
  live.classList.toggle('on', on);
}

addEventListener('keydown', (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented || document.querySelector('dialog[open]')) return;
  if (e.target.closest('input:not([type=range]), select, textarea')) return;
  if (e.key === '?') help();
  else if (e.key === '/') {
    const search = main.querySelector('input[type=search]');
    if (search) search.focus();
    else { // at once, so that what is typed next reaches the box
      history.pushState(null, '', '#/conversations');
      route();
      main.querySelector('input[type=search]').focus();
    }
  } else if (!now?.page.key?.(e)) return;
  e.preventDefault();
});

document.querySelector('.skip').addEventListener('click', (e) => {
  e.preventDefault();
  main.focus();
});
document.getElementById('help').addEventListener('click', help);
document.getElementById('sign-out').addEventListener('click', async () => {
  try {
    await signOut();
    location.reload();
  } catch (err) {
    toast(err.message);
  }
});

// askToken shows the page that asks for a token, in the place of any other.
function askToken(token) {
  if (asking) return;
  asking = true;
  now?.page.stop?.();
  stopListening();
  document.body.classList.add('asking');
  const page = signInPage({ token, done: () => location.reload() });
  replace(main, page.node);
  title(page.title);
}

// begin draws the page that the address means.
function begin() {
  route();
  stopListening = listen((e) => now?.page.event?.(e), state);
  session().then((s) => {
    if (!s) return;
    const who = document.getElementById('who');
    who.hidden = s.tenant === 'local';
    replace(who, 'as ', foreign(s.tenant), s.role === 'read' ? ', reading' : '');
    document.getElementById('sign-out').hidden = !s.signed_in;
  });
  get('overview').then((o) => {
    document.getElementById('profile').textContent = o.profile;
    document.getElementById('profile').title = 'the profile of calls that name none';
    document.getElementById('place').textContent = o.listen || location.host;
  }, () => {});
}

addEventListener('hashchange', () => {
  const token = brought();
  if (token) askToken(token);
  else route();
});
addEventListener('signin', () => askToken(''));
const token = brought();
if (token) askToken(token);
else begin();

// For programs that drive the console: it is drawn.
document.documentElement.dataset.ready = 'true';
document.body.append(el('div', { hidden: true, id: 'drawn' }));
