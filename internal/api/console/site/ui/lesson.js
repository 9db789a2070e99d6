// What is shown before the first call: how to send one.

import { el } from './dom.js';

const step = (text, command) => el('li', {}, el('span', {}, text), el('pre', { class: 'shell', tabindex: '0' }, command));

export function lesson() {
  const here = location.origin;
  return el('section', { class: 'card lesson' },
    el('h2', {}, 'No call has come through yet'),
    el('p', { class: 'soft' }, 'Oriel stands between your agent and its provider. Two ways to send the first call; it appears here while it runs.'),
    el('ol', {},
      step('Start an agent under Oriel: nothing else to set.', 'oriel run -- claude'),
      step('Or point a program that runs already at this server.', `export ANTHROPIC_BASE_URL=${here}\nexport OPENAI_BASE_URL=${here}/v1`)),
    el('p', { class: 'soft small' }, el('code', {}, 'oriel demo'), ' plays a whole session without a key or a network. It has a history and a console of its own, and prints its address.'),
    el('p', { class: 'soft small' }, 'Sessions that you have already: ', el('code', {}, 'oriel import ~/.claude/projects'), ' makes them searchable here.'));
}
