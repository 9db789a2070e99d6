// Signing in: the page asks for a token where the server wants one. A link may bring a token
// in its fragment (#token=TOKEN); it is never used before a person has agreed, because any
// site can have such a link.

import { Problem } from './api.js';
import { el, foreign, problem, replace } from './dom.js';

const address = new URL('session', document.baseURI);

async function ask(init) {
  const response = await fetch(address, { credentials: 'same-origin', ...init });
  if (response.ok) return response.status === 204 ? null : response.json();
  throw new Problem(response.status, await response.json().catch(() => ({})));
}

// session returns whose this browser is: {tenant, role, signed_in}, or null.
export const session = () => ask().catch(() => null);

// signOut ends the session of this browser.
export const signOut = () => ask({ method: 'DELETE', headers: { 'X-Oriel-Console': '1' } });

const signIn = (token) => ask({ method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ token }) });

// brought returns the token of the address, or '', and takes it out of the address and of
// the history of the browser.
export function brought() {
  const token = location.hash.match(/^#token=(.*)$/)?.[1] ?? '';
  if (token) history.replaceState(null, '', '#/');
  try {
    return decodeURIComponent(token);
  } catch {
    return token;
  }
}

const may = (role) => (role === 'read' ? 'to read its history' : 'to read its history, to pin and to undo');

// signInPage asks for a token, or whether to use the one that a link brought. done is called
// when the browser has signed in, or stays as it is.
export function signInPage({ token = '', done }) {
  const out = el('div', { class: 'stack' });
  const trouble = el('div', { role: 'alert' });
  const node = el('section', { class: 'card signin', 'aria-labelledby': 'signin' }, el('h1', { id: 'signin' }, 'Sign in'), out, trouble);

  async function enter(text) {
    replace(trouble);
    try {
      await signIn(text);
      done();
    } catch (err) {
      replace(trouble, problem(err));
    }
  }

  function form() {
    const input = el('input', { type: 'password', id: 'token', autocomplete: 'current-password', required: true, spellcheck: 'false' });
    replace(out,
      el('p', {}, 'This server is shared, and each token has a history of its own.'),
      el('form', { class: 'stack', onsubmit: (e) => { e.preventDefault(); enter(input.value.trim()); } },
        el('label', { class: 'field' }, 'Token', input),
        el('div', { class: 'actions' }, el('button', { class: 'primary', id: 'sign-in' }, 'Sign in'))),
      el('p', { class: 'soft small' }, 'It is what your agents send as ', el('code', {}, 'X-Oriel-Token'), '; ', el('code', {}, 'oriel token add'), ' makes one. This browser keeps a cookie for 30 days, not the token.'));
    requestAnimationFrame(() => input.focus());
  }

  // confirm asks before the token of a link is used.
  async function confirm() {
    const now = await session();
    let whose;
    try {
      whose = await ask({ headers: { 'X-Oriel-Token': token } });
    } catch (err) {
      form();
      replace(trouble, problem(err));
      return;
    }
    if (now?.tenant === whose.tenant && now.role === whose.role) return done();
    replace(out,
      el('p', {}, 'This link signs this browser in as ', foreign(whose.tenant, 'b'), ', ', may(whose.role), '.', now ? [' It shows the history of ', foreign(now.tenant, 'b'), ' now.'] : null),
      el('p', { class: 'soft small' }, 'Go on only if you know the link: what you do here would belong to this tenant.'),
      el('div', { class: 'actions' },
        el('button', { type: 'button', class: 'primary', id: 'sign-in', onclick: () => enter(token) }, 'Sign in as ', foreign(whose.tenant)),
        el('button', { type: 'button', id: 'stay', onclick: () => (now ? done() : form()) }, now ? ['Stay ', foreign(now.tenant)] : 'Do not')));
  }

  if (token) confirm();
  else form();
  return { node, title: 'Sign in' };
}
