// A list of the newest conversations to choose from.

import { get } from './api.js';
import { el } from './dom.js';

// picker returns a select of conversations, and choose(id), which chooses one, also if it is
// not among the newest; '' is all of them. listed ends when the newest are there, and returns
// them. wanted tells which are listed.
export function picker(props, wanted = () => true) {
  const node = el('select', props, el('option', { value: '' }, 'all conversations'));
  const option = (id) => {
    let found = [...node.options].find((o) => o.value === id);
    if (!found) node.append(found = el('option', { value: id }, id));
    return found;
  };
  const choose = (id) => {
    option(id);
    node.value = id;
  };
  const listed = get('conversations', { limit: 50 }).then((r) => {
    for (const c of r.items.filter(wanted)) option(c.id).textContent = (c.title || c.id).slice(0, 60);
    return r.items;
  }, () => []);
  return { node, choose, listed };
}
