// What a call failed with.

import { el, foreign } from './dom.js';

// failure says what became of a call that has no whole answer; null for one that has. A client
// that leaves is no fault.
export function failure({ error, retry_after: after }) {
  if (!error) return null;
  if (error.startsWith('the client left')) return foreign(error, 'p', { class: 'soft small' });
  return el('p', { class: 'wrong', id: 'failure' }, 'This call failed: ', foreign(error), after ? [' · Retry-After: ', foreign(/^\d+$/.test(after) ? after + ' s' : after)] : null);
}
