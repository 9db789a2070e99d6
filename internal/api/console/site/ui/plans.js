// Plans: what left, when, why, and how to have it back.

import { get, send } from './api.js';
import { count, el, foreign, loading, plural, problem, replace, short, show, when } from './dom.js';
import { names } from './strip.js';

// plansTab lists the plans, newest first. The plan that is named by the parameters is open;
// with preview, so is what its undo would do.
export async function plansTab(box, context, params) {
  const at = context.state.strip?.plan;
  if (!box.querySelector('.plan')) replace(box, loading());
  try {
    const { items, next } = await get(context.of('plans'), { limit: 100 }, context.signal());
    if (!items.length) {
      replace(box, el('p', { class: 'empty' }, 'Nothing has left the window of this conversation: every message was sent as it came. A plan appears here when a call is over its budget.'));
      return;
    }
    const rows = items.map((p) => plan(p, context, p.id === at));
    replace(box, rows.map((r) => r.node), next ? older(next, context) : null);
    const open = rows.find((r) => r.id === params.plan);
    if (open) {
      await open.load();
      open.details.open = true;
      const pane = box.closest('.inspector');
      if (pane.scrollHeight > pane.clientHeight) pane.scrollTop = open.node.offsetTop - 54; // below the tabs
      if (params.preview) {
        context.go({ preview: null }, { replace: true });
        open.preview();
      }
    }
  } catch (err) {
    if (err.name !== 'AbortError') replace(box, problem(err));
  }
}

// older is a button that lists the plans before those of a page.
function older(cursor, context) {
  const button = el('button', { type: 'button', onclick: async () => {
    button.disabled = true;
    try {
      const { items, next } = await get(context.of('plans'), { limit: 100, cursor });
      button.replaceWith(...items.map((p) => plan(p, context, false).node), ...(next ? [older(next, context)] : []));
    } catch (err) {
      button.replaceWith(problem(err));
    }
  } }, 'Older plans');
  return button;
}

function plan(p, context, current) {
  const offer = el('div', {});
  const inside = el('div', {});
  const load = () => spans(inside, p, context);
  const details = el('details', { ontoggle: () => { if (details.open && !inside.hasChildNodes()) load(); } }, el('summary', {}, 'What, and why'), inside);
  const preview = () => undo(offer, p, context);
  const node = el('article', { class: 'plan' + (current ? ' at' : ''), id: 'plan-' + p.id },
    el('div', { class: 'with-button' }, el('div', { class: 'plan-head' }, el('b', {}, p.id), when(p.time), el('span', { class: 'soft figure', title: `${count(p.tokens_before)} tokens came, ${count(p.tokens_after)} were sent` }, `${short(p.tokens_before)} → ${short(p.tokens_after)} tokens`),
      current ? el('span', { class: 'tag on' }, 'of this call') : null, p.held ? el('span', { class: 'tag' }, 'undone') : null),
      el('span', {}, p.left && !p.held ? el('button', { type: 'button', class: 'undo', onclick: preview }, 'Undo…') : null)),
    el('p', {}, foreign(p.why, 'span')),
    el('p', { class: 'soft small' }, [p.left ? `${plural(size(p.left), 'message')} changed, which took ${short(p.left_tokens)} tokens` : '', p.back ? `${plural(size(p.back), 'message')} came back` : '', `policy ${p.policy}`, `budget ${short(p.budget)}`].filter(Boolean).join(' · ')),
    p.warnings?.map((w) => foreign(w, 'p', { class: 'small' })),
    offer, details);
  return { id: p.id, node, details, load, preview };
}

// few shortens a long list of ranges.
const few = (ranges) => {
  const all = ranges.split(',');
  return all.length > 12 ? all.slice(0, 10).join(', ') + ' …' : all.join(', ');
};

// size counts the messages of ranges: "3-9,12" has 8.
function size(ranges) {
  return ranges.split(',').reduce((n, r) => {
    const [first, last = first] = r.split('-').map(Number);
    return n + last - first + 1;
  }, 0);
}

// spans shows what a plan did, stretch by stretch, and the texts that it put in.
function spans(box, p, context) {
  replace(box, loading());
  return show(box, async () => {
    const whole = await get(context.of(`plans/${p.id}`));
    return [
      el('ul', { class: 'spans' }, whole.spans.slice(0, 200).map((s) => el('li', {},
        el('button', { type: 'button', class: 'quiet', onclick: () => context.go({ message: s.first, tab: null }) }, s.first === s.last ? count(s.first) : `${count(s.first)}–${count(s.last)}`),
        el('span', { class: 'soft', title: 'tokens that the window lost, as counted here' }, short(s.tokens)),
        el('span', { class: 'words' }, names[s.verdict] ?? s.verdict, s.reason ? [': ', foreign(s.reason)] : null, el('br'), foreign(s.words, 'span', { class: 'soft' }))))),
      whole.inserted?.map((i) => el('details', {}, el('summary', {}, `${i.kind} put into message ${count(i.into)}, ${plural(i.tokens, 'token')}`), foreign(i.text, 'pre', { class: 'text' })))];
  });
}

// undo shows what an undo would do, and does it when a person agrees.
async function undo(box, p, context) {
  replace(box, loading('Looking what must leave for it'));
  try {
    const u = await send(context.of('undo'), { plan: p.id, preview: true });
    context.strip.show(u.back_ids ?? [], u.leaves_ids ?? []);
    const close = () => {
      context.strip.show();
      replace(box);
      box.parentElement?.querySelector('.undo')?.focus({ preventScroll: true });
    };
    const yes = el('button', { type: 'button', class: 'primary', id: 'do-undo', onclick: async () => {
      yes.disabled = true;
      try {
        await send(context.of('undo'), { plan: p.id });
        context.toast(`${p.id} is undone: the next call shows ${plural(u.back_ids.length, 'message')} again.`);
        close();
        await context.reload();
      } catch (err) {
        replace(box, problem(err));
      }
    } }, `Undo ${p.id}`);
    const none = !u.back;
    const other = none ? await send(context.of('undo'), { preview: true }).catch(() => null) : null; // the newest that left something out
    replace(box, el('div', { class: 'preview', role: 'group', 'aria-label': `Undo of ${p.id}`, onkeydown: (e) => { if (e.key === 'Escape') close(); } },
      none ? el('p', {}, p.held ? 'It is undone already.' : `${p.id} left nothing out that is not shown again already.`, other?.back && other.plan !== p.id ? ` The newest plan with something to bring back is ${other.plan}.` : null) : [
        el('p', {}, el('b', {}, 'Comes back: '), `${plural(u.back_ids.length, 'message')} (${few(u.back)}), ${short(u.back_tokens)} tokens more.`),
        el('p', {}, el('b', {}, 'Must leave for it: '), u.leaves || u.leaves_tokens > 0 ? `${u.leaves ? `${plural(u.leaves_ids.length, 'message')} (${few(u.leaves)})` : 'parts of others'}, of which the window loses ${short(u.leaves_tokens)} tokens${u.newer ? ', some of them newer' : ''}.` : 'nothing, as the newest call shows it.'),
        el('p', { class: 'soft small' }, 'On the strip: framed is what comes back, dashed what would leave. It takes effect with the next call, and the provider reads the changed part anew.')],
      el('div', { class: 'actions' }, none ? null : yes, other?.back && other.plan !== p.id ? el('button', { type: 'button', onclick: () => context.go({ plan: other.plan, preview: '1' }) }, `Undo ${other.plan}…`) : null, el('button', { type: 'button', onclick: close }, none ? 'Close' : 'Cancel'))));
    const pane = box.closest('.inspector').getBoundingClientRect();
    box.closest('.inspector').scrollTop += Math.max(0, box.getBoundingClientRect().bottom + 16 - pane.bottom);
    if (!none) yes.focus({ preventScroll: true });
  } catch (err) {
    replace(box, err.status === 409 ? cannot(err, box) : problem(err));
  }
}

// cannot says why an undo does not fit: that is no fault.
const cannot = (err, box) => el('div', { class: 'preview', role: 'status' }, el('b', {}, 'There is no room for it'), foreign(err.detail, 'p'), err.hint ? foreign(err.hint, 'p', { class: 'soft small' }) : null,
  el('div', { class: 'actions' }, el('button', { type: 'button', onclick: () => replace(box) }, 'Close')));
