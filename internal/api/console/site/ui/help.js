// Keys, and the words of the console.

import { el } from './dom.js';

const keys = [
  ['/', 'search'], ['?', 'this page'],
  ['← →', 'message before, message after'], ['[ ]', 'call before, call after'],
  ['p', 'pin the message, or unpin it'], ['u', 'undo the plan of this call, with a preview'],
  ['Enter', 'open what is chosen in a list'], ['Esc', 'close'],
];

const words = [
  ['came', 'what your program sent to Oriel: usually its whole history'],
  ['sent', 'what Oriel sent of it to the provider'],
  ['budget', 'the most that the profile sends'],
  ['plan', 'one decision about what leaves, with a reason for every message'],
  ['pinned', 'stays in the window whatever happens'],
  ['recalled', 'left the window and was brought back because a call needed it'],
  ['~', 'an estimate'],
];

export function help() {
  const list = (rows, first) => el('dl', { class: 'facts' }, rows.map(([a, b]) => [el('dt', {}, first(a)), el('dd', {}, b)]));
  const box = el('dialog', { 'aria-labelledby': 'help-title', onclose: () => box.remove() },
    el('h2', { id: 'help-title' }, 'Keys'),
    list(keys, (k) => k.split(' ').map((c) => [el('kbd', {}, c), ' '])),
    el('h2', {}, 'Words'),
    list(words, (w) => el('b', {}, w)),
    el('form', { method: 'dialog' }, el('button', { class: 'primary', autofocus: true }, 'Close')));
  document.body.append(box);
  box.showModal();
}
