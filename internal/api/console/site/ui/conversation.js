// One conversation: the strip, the slider over its calls, its messages, and a desk on which
// a message, the plans, what the model saw, a difference or the window is looked at.

import { address, get, later, of, remove, send, turns } from './api.js';
import { cacheOf } from './cache.js';
import { count, el, foreign, link, loading, money, percent, plural, priced, problem, replace, short, show, tokens, when } from './dom.js';
import { failure } from './failure.js';
import { VirtualList } from './list.js';
import { legend, names, Strip } from './strip.js';
import { messageTab } from './message.js';
import { plansTab } from './plans.js';
import { diffTab, sentTab } from './sent.js';
import { windowOf } from './window.js';

const tabs = { message: 'Message', plans: 'Plans', sent: 'What the model saw', diff: 'Difference', window: 'Window' };
const chunk = 40; // messages that are fetched together

export default function conversation({ args, params, go, title, toast }) {
  const name = args[0] ?? 'last';
  const state = { name, info: null, call: 0, calls: 0, strip: null, message: 0, tab: '' };
  const seen = new Map(); // strips by call
  const words = new Map(); // beginnings of messages by id
  const turn = turns();

  const head = el('div', { class: 'head' }, el('h1', {}, 'Conversation'));
  const strip = new Strip({ onchoose: (id) => go({ message: id, tab: state.tab === 'message' || !state.tab ? null : 'message' }, { replace: true }) });
  const slider = el('input', { type: 'range', class: 'slide', min: '1', max: '1', value: '1', 'aria-label': 'Call', oninput: () => go({ call: slider.value }, { replace: true }) });
  const at = el('span', { class: 'at', role: 'status' });
  const earlier = el('button', { type: 'button', 'aria-label': 'Call before', title: 'call before  [', onclick: () => step(-1) }, '◀');
  const after = el('button', { type: 'button', 'aria-label': 'Call after', title: 'call after  ]', onclick: () => step(1) }, '▶');
  const newest = el('button', { type: 'button', class: 'quiet wide', onclick: () => go({ call: null }) }, 'newest');
  const pinButton = el('button', { type: 'button', onclick: () => context.pin(state.message, !strip.pinned.has(state.message)) }, 'Pin');
  const undoButton = el('button', { type: 'button', onclick: () => go({ tab: 'plans', plan: state.strip.plan, preview: '1' }) }, 'Undo…');
  const bar = el('div', { class: 'call-bar' }, earlier, at, slider, after, newest);
  const callFacts = el('div', {});
  const cacheBox = el('div', { class: 'cache-box' });
  const stripCard = el('section', { class: 'card', 'aria-label': 'The window at a call' }, bar, callFacts, strip.node, legend());
  const list = new VirtualList({ rowHeight: 50, label: 'Messages', draw: row, onopen: (i) => {
    go({ message: i + 1, tab: null }, { replace: true });
    if (matchMedia('(max-width: 900px)').matches) inspector.scrollIntoView(); // it is below the list
  }, onmove: (i) => go({ message: i + 1, tab: null }, { replace: true }) });
  list.onshow = (first, last) => fetchWords(first + 1, last + 1);
  const listHead = el('span', { class: 'soft small' });
  const listCard = el('section', { class: 'card messages', 'aria-labelledby': 'messages' }, el('div', { class: 'card-head' }, el('h2', { id: 'messages' }, 'Messages'), listHead), list.node);
  const tabButtons = Object.entries(tabs).map(([id, text]) => el('button', { type: 'button', role: 'tab', id: 'tab-' + id, 'aria-controls': 'desk', onclick: () => go({ tab: id === 'message' ? null : id }) }, text === tabs.sent ? [el('span', { class: 'wide' }, text), el('span', { class: 'narrow' }, 'Sent')] : text));
  const tabBar = el('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Look at', onkeydown: moveTab }, tabButtons);
  const desk = el('div', { id: 'desk', role: 'tabpanel', tabindex: '0' });
  const inspector = el('section', { class: 'card inspector', 'aria-label': 'Details' }, tabBar, desk);
  const node = el('div', { class: 'stack' }, head, stripCard, el('div', { class: 'desk' }, listCard, inspector));

  function moveTab(e) {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!by) return;
    e.preventDefault();
    e.stopPropagation();
    const i = (tabButtons.indexOf(e.target) + by + tabButtons.length) % tabButtons.length;
    tabButtons[i].focus();
    tabButtons[i].click();
  }

  let missed = false; // something happened before the first drawing

  async function start() {
    const asked = params.call;
    try {
      const [info, s] = await Promise.all([get(of(name), {}, turn('info')), get(of(name, 'strip'), { call: asked }, turn('strip'))]);
      state.info = info;
      strip.conversation = info.id;
      title(info.title || info.id);
      drawHead();
      setStrip(s, true);
      const wanted = params;
      params = { ...wanted, call: asked };
      update(wanted);
      if (missed) soon();
      requestAnimationFrame(() => {
        if (state.message) return strip.choose(state.message);
        strip.end();
        list.reveal(s.upto - 1);
      });
      node.dataset.drawn = 'true';
    } catch (err) {
      if (err.status === 404) err.hint = 'It was deleted, or its id is another one: the page Conversations has all that there are.';
      if (err.name !== 'AbortError') replace(node, head, problem(err, () => location.reload()));
    }
  }

  function drawHead() {
    const c = state.info;
    const saved = c.without > 0 ? 1 - c.cost / c.without : 0;
    replace(head, el('div', { class: 'what' }, foreign(c.title || c.id, 'h1', { class: 'clamp', title: c.title }),
      el('p', { class: 'sub figure' }, [c.model ? foreign(c.model, 'bdi', { title: 'the model that was asked last' }) : null, plural(c.messages, 'message'), el('span', { title: c.imported ? 'calls that the imported session lists' : 'calls that were recorded' }, plural(c.calls || c.imported, 'call')), c.calls || c.imported ? el('span', { title: saved >= 0.01 ? `what its calls cost; ~${money(c.without)} had everything been sent` : 'what its calls cost' }, priced(c.cost, c.unknown_models) + (saved >= 0.01 ? ` (−${percent(saved)})` : '')) : null, c.project ? foreign(c.project, 'bdi', { title: 'the project' }) : null, c.private ? el('span', { class: 'tag', title: 'searches from other conversations do not cover it' }, 'private') : null].filter(Boolean).flatMap((p, i) => (i ? [' · ', p] : [p])))),
    el('div', { class: 'actions' },
      c.holds?.length ? el('button', { type: 'button', onclick: release, title: 'hold no longer what undos restored: a later cut may leave it out again' }, `Release ${plural(c.holds.length, 'undo', 'undos')}`) : null,
      pinButton, undoButton,
      el('a', { class: 'button', id: 'export', href: address(of(c.id, 'export')), download: '', title: 'save all messages as they came, one a line' }, 'Export'),
      link(`#/recall?conversation=${encodeURIComponent(c.id)}`, { class: 'button' }, 'Search')));
    drawActions();
  }

  // drawActions shows what can be done to the message and the plan that are looked at.
  function drawActions() {
    const id = state.message;
    pinButton.disabled = !id;
    pinButton.textContent = id && strip.pinned?.has(id) ? 'Unpin' : 'Pin';
    pinButton.title = id ? `message ${id}  p` : 'choose a message first';
    undoButton.disabled = !state.strip?.plan;
    undoButton.title = state.strip?.plan ? `show what an undo of ${state.strip.plan} would bring back  u` : 'nothing was left out at this call';
  }

  // setStrip takes what became of messages at a call; fresh has the messages, too.
  function setStrip(s, fresh) {
    state.strip = s;
    state.call = s.call;
    state.calls = s.calls;
    if (fresh) {
      strip.setMessages(s.kinds, s.tokens);
      list.set(s.count);
    }
    strip.setCall(s);
    list.clear();
    slider.max = String(Math.max(1, s.calls));
    slider.value = String(s.call || 1);
    slider.setAttribute('aria-valuetext', `call ${s.call} of ${s.calls}`);
    bar.hidden = s.calls === 0;
    earlier.disabled = s.call <= 1;
    after.disabled = newest.disabled = s.call >= s.calls;
    at.textContent = s.calls ? `Call ${count(s.call)} of ${count(s.calls)}` : '';
    listHead.textContent = s.count ? `${plural(s.count, 'message')}, ~${short(strip.tokens.reduce((a, b) => a + b, 0))} tokens` : '';
    drawCall(s);
  }

  function drawCall(s) {
    if (!s.calls) {
      replace(callFacts, el('p', { class: 'empty' }, 'No call of it was recorded here: it was imported, or came before Oriel did.'));
      return;
    }
    const most = Math.max(s.tokens_before, s.budget || 0, s.tokens_after) || 1;
    const width = (n) => ({ width: (n / most) * 100 + '%' });
    replace(callFacts,
      el('div', { class: 'gauge', role: 'img', 'aria-label': `${short(s.tokens_after)} of ${short(s.tokens_before)} tokens sent` },
        el('span', { class: 'came', style: width(s.tokens_before) }), el('span', { class: 'sent', style: width(s.tokens_after) }),
        s.budget && s.budget < most ? el('span', { class: 'mark', style: width(s.budget) }) : null),
      el('p', { class: 'call-facts figure' },
        el('span', { title: 'tokens of the request as your program sent it' }, 'came ', el('b', {}, tokens(s.tokens_before, { unit: false }))),
        el('span', { title: 'tokens that went to the provider' }, 'sent ', el('b', {}, tokens(s.tokens_after, { unit: false }))),
        s.budget ? el('span', { title: 'the most tokens that the profile sends' }, 'budget ', el('b', {}, tokens(s.budget, { unit: false }))) : null,
        el('span', {}, foreign(s.model)), el('span', {}, when(s.time)),
        s.plan ? el('button', { type: 'button', class: 'quiet', onclick: () => go({ tab: 'plans', plan: s.plan }) }, `plan ${s.plan}`) : el('span', {}, 'nothing left out'),
        s.branch ? el('span', { class: 'tag', title: 'the messages of this call are not those of the newest' }, 'another branch') : null),
      failure(s), cacheBox);
    drawActions();
    drawCache(s.call);
  }

  // drawCache says how much of a call was read from the provider's cache. To find out why it was
  // not more takes longer than the rest.
  async function drawCache(call) {
    if (cacheBox.dataset.call !== String(call)) replace(cacheBox, loading('cache'));
    cacheBox.dataset.call = String(call);
    try {
      const c = await get(of(name, `calls/${call}`), {}, turn('cache'));
      replace(cacheBox, cacheOf(c));
    } catch (err) {
      if (err.name !== 'AbortError') replace(cacheBox);
    }
  }

  async function showCall(call) {
    const key = String(call ?? '');
    const follow = (s) => {
      setStrip(s, false);
      strip.follow();
      if (!state.message) list.reveal(s.upto - 1);
    };
    if (seen.has(key)) return follow(seen.get(key));
    try {
      const s = await get(of(name, 'strip'), { call, only: 'verdicts' }, turn('strip'));
      if (s.count !== strip.count || s.branch !== state.strip.branch) {
        const whole = await get(of(name, 'strip'), { call }, turn('strip'));
        seen.clear();
        setStrip(whole, true);
        return;
      }
      if (seen.size > 300) seen.clear();
      if (call) seen.set(key, s);
      follow(s);
    } catch (err) {
      if (err.name !== 'AbortError') replace(callFacts, problem(err, () => showCall(call)));
    }
  }

  // row draws a message of the list.
  function row(i) {
    const id = i + 1;
    const verdict = strip.verdict(id);
    const w = words.get(id);
    return [
      el('span', { class: 'id' }, strip.pinned?.has(id) ? '★ ' : '', count(id)),
      el('span', { class: 'what cut' }, el('span', { class: 'by' }, strip.by(id)), el('br'), w === undefined ? el('span', { class: 'words soft' }, '…') : foreign(w || '(no text)', 'span', { class: 'words soft' })),
      el('span', { class: 'n' }, el('span', { title: 'tokens, an estimate' }, '~' + short(strip.tokens[i])), verdict === 'keep' ? null : el('span', { class: 'tag' }, names[verdict])),
    ];
  }

  let asked = '';
  async function fetchWords(first, last) {
    const from = Math.floor((first - 1) / chunk) * chunk + 1;
    for (let a = from; a <= Math.min(last, strip.count); a += chunk) {
      if (words.has(a) || asked === String(a)) continue;
      asked = String(a);
      try {
        const r = await get(of(name, 'messages'), { from: a, to: a + chunk - 1, limit: chunk }, turn('words'));
        for (let id = a; id < a + chunk; id++) words.set(id, '');
        for (const m of r.items) words.set(m.id, firstWords(m));
        list.clear();
      } catch {
        // The list shows ids and sizes without them.
      }
      asked = '';
      return;
    }
  }

  function firstWords(m) {
    const own = m.parts.filter((p) => !/^<system-reminder>/.test(p.text ?? '')); // what the agent put before a person's words
    const text = (own.length ? own : m.parts).map((p) => (p.kind === 'call' ? `${p.name} ${p.text ?? ''}` : p.text || p.media || '').slice(0, 400)).join(' ');
    return text.slice(0, 800).replace(/\s+/g, ' ').trim().slice(0, 160);
  }

  const context = {
    state, go, toast, of: (rest) => of(name, rest), signal: () => turn('desk'),
    strip,
    async pin(id, on) {
      try {
        if (on) await send(of(name, 'pins'), { id });
        else await remove(of(name, `pins/${id}`));
        toast(on ? `Message ${id} is pinned: the next call keeps it.` : `Message ${id} is not pinned any more.`);
        await reload();
      } catch (err) {
        toast(`${err.detail ?? err.message} ${err.hint ?? ''}`.trim());
      }
    },
    reload,
  };

  async function release() {
    try {
      await send(of(name, 'release'), {});
      toast('Released: a later cut may leave it out again.');
      await reload();
    } catch (err) {
      toast(`${err.detail ?? err.message}`);
    }
  }

  // reload reads everything that may have changed.
  async function reload() {
    seen.clear();
    try {
      const [info] = await Promise.all([get(of(name), {}, turn('info')), showCall(params.call)]);
      state.info = info;
      drawHead();
      drawDesk();
    } catch (err) {
      if (err.name !== 'AbortError') toast(err.message);
    }
  }

  function drawDesk() {
    const tab = tabs[params.tab] ? params.tab : 'message';
    state.tab = tab;
    for (const b of tabButtons) {
      const on = b.id === 'tab-' + tab;
      b.setAttribute('aria-selected', String(on));
      b.tabIndex = on ? 0 : -1;
    }
    desk.setAttribute('aria-labelledby', 'tab-' + tab);
    strip.show();
    const draw = { message: messageTab, plans: plansTab, sent: sentTab, diff: diffTab, window: callWindow }[tab];
    draw(desk, context, params);
  }

  function callWindow(box) {
    if (!state.call) return replace(box, el('p', { class: 'empty' }, 'No call of this conversation was recorded.'));
    replace(box, loading());
    show(box, async () => el('div', { class: 'stack' }, windowOf(await get(of(name, `calls/${state.call}/composition`), {}, turn('desk')))));
  }

  function step(by) {
    const to = Math.min(Math.max(state.call + by, 1), state.calls);
    if (to !== state.call) go({ call: to }, { replace: true });
  }

  let drawn = '';
  async function update(p) {
    const old = params;
    params = p;
    if (!state.strip) return; // start draws it
    const message = Math.min(Number(p.message) || 0, strip.count);
    if (message !== state.message) {
      state.message = message;
      strip.choose(message);
      list.choose(message - 1);
      drawActions();
    }
    if (old.call !== p.call) await showCall(p.call);
    const want = JSON.stringify([p.tab, p.message, p.plan, p.with, p.raw, state.call]);
    if (want !== drawn) {
      drawn = want;
      drawDesk();
    }
  }

  const soon = later(1500, async () => {
    seen.delete('');
    await reload();
  });
  start();
  return {
    node,
    title: 'Conversation',
    update,
    event(e) {
      if (!state.strip) missed = true;
      else if (e.kind === 'seen' || (e.conversation === state.info.id && ['call', 'pin', 'undo', 'release'].includes(e.kind))) soon();
    },
    key(e) {
      const id = state.message;
      const inside = e.target.closest('[role=tablist], input');
      switch (e.key) {
        case 'ArrowRight': case 'ArrowLeft':
          if (inside || !strip.count) return false;
          go({ message: Math.min(Math.max(id + (e.key === 'ArrowRight' ? 1 : -1), 1), strip.count), tab: null }, { replace: true });
          return true;
        case '[': step(-1); return true;
        case ']': step(1); return true;
        case 'p': if (id) context.pin(id, !strip.pinned.has(id)); return true;
        case 'u': go({ tab: 'plans', plan: state.strip?.plan, preview: '1' }); return true;
        default: return false;
      }
    },
    stop() {
      turn.stop();
      strip.stop();
      list.stop();
      soon.stop();
    },
  };
}
