// The JSON API, relative to the page, so that a token before the path (/k/TOKEN/oriel/)
// goes with every request.

const base = new URL('api/', document.baseURI);

// Problem is an answer of application/problem+json.
export class Problem extends Error {
  constructor(status, body) {
    super(body.detail ?? body.title ?? `status ${status}`);
    this.status = status;
    this.title = body.title ?? 'The server refused this';
    this.detail = body.detail ?? `status ${status}`;
    this.hint = body.hint;
  }
}

// address returns the address of a route; parameters that are empty are left out.
export function address(path, params = {}) {
  const url = new URL(path, base);
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined && value !== null && value !== '') url.searchParams.set(name, value);
  }
  return url;
}

async function ask(path, params, init) {
  let response;
  try {
    response = await fetch(address(path, params), { credentials: 'same-origin', ...init });
  } catch (err) {
    if (err.name === 'AbortError') throw err;
    throw new Problem(0, { title: 'Oriel does not answer', detail: 'The server at this address has ended or cannot be reached.', hint: 'Start it again with oriel serve; this page continues by itself.' });
  }
  if (response.ok) return response;
  let body = {};
  try {
    body = await response.json();
  } catch {
    // A proxy in between may answer with a page of its own.
  }
  if (response.status === 401) dispatchEvent(new Event('signin')); // the frame asks for a token
  throw new Problem(response.status, body);
}

// get reads a route as JSON.
export const get = async (path, params, signal) => (await ask(path, params, { signal })).json();

// text reads a route as text.
export const text = async (path, params, signal) => (await ask(path, params, { signal })).text();

// send posts JSON. The header is one that no form of another page can send.
export const send = async (path, body, signal) => (await ask(path, {}, {
  method: 'POST', signal, headers: { 'Content-Type': 'application/json', 'X-Oriel-Console': '1' }, body: JSON.stringify(body),
})).json();

// remove deletes.
export const remove = async (path) => (await ask(path, {}, { method: 'DELETE', headers: { 'X-Oriel-Console': '1' } })).json();

// of is the path of a conversation.
export const of = (conversation, rest = '') => 'conversations/' + encodeURIComponent(conversation) + (rest ? '/' + rest : '');

// turns returns a function that gives a signal for a request of a kind and ends the one
// before it; its stop ends all.
export function turns() {
  const open = {};
  const turn = (kind = '') => {
    open[kind]?.abort();
    open[kind] = new AbortController();
    return open[kind].signal;
  };
  turn.stop = () => Object.values(open).forEach((c) => c.abort());
  return turn;
}

// zone is the time zone by whose days people count.
export const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC';

const kinds = ['call', 'truncation', 'condensation', 'resize', 'recall', 'pin', 'undo', 'release', 'overflow', 'fail-open', 'unknown-body', 'unseen', 'unkept-answer', 'unknown-profile', 'invalid-budget', 'dropped', 'running'];

// listen follows the server's events: onevent gets each, onstate whether the line is up. A
// page that nobody sees has no line, because a browser has only six for a server, in all of
// its tabs; when it is seen again, or when another process has written to the history,
// onevent gets an event "seen", as others may be missed. The function that is returned ends it.
export function listen(onevent, onstate) {
  let source = null;
  let down = false; // the line was lost
  let ended = false;
  const close = () => {
    source?.close();
    source = null;
  };
  const open = () => {
    if (source || document.hidden || ended) return;
    source = new EventSource(address('events'));
    for (const kind of kinds) {
      source.addEventListener(kind, (e) => onevent({ kind, ...JSON.parse(e.data) }));
    }
    source.addEventListener('history', () => onevent({ kind: 'seen' }));
    source.addEventListener('open', () => {
      onstate(true);
      if (down) onevent({ kind: 'seen' });
      down = false;
    });
    source.addEventListener('error', () => {
      down = true;
      onstate(false);
      // The browser tries again by itself, unless the answer was no stream.
      if (source?.readyState === EventSource.CLOSED) {
        close();
        setTimeout(open, 5000);
        get('health').catch(() => {}); // if a token is wanted now, the frame asks for it
      }
    });
  };
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) return close();
    open();
    onevent({ kind: 'seen' });
  });
  addEventListener('pagehide', close);
  addEventListener('pageshow', open);
  open();
  return () => {
    ended = true;
    close();
  };
}

// later calls f at most once in every ms, and once after the last call; it does nothing
// while nobody sees the page, and catches up when somebody does.
export function later(ms, f) {
  let timer = null;
  let last = 0;
  let owed = false;
  const run = () => {
    timer = null;
    if (document.hidden) {
      owed = true;
      return;
    }
    owed = false;
    last = Date.now();
    f();
  };
  const seen = () => {
    if (owed && !document.hidden && !timer) run();
  };
  document.addEventListener('visibilitychange', seen);
  const call = () => {
    timer ??= setTimeout(run, Math.max(0, last + ms - Date.now()));
  };
  call.stop = () => {
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', seen);
  };
  return call;
}
