// The store of the list of rejects, which pages with and without an editor have.

import { clock } from './latest.js';
import { createRejects } from './rejects.js';

/** @param {import('../main.js').FirstStores} first */
export function createForRejects({ api, rejectCount }) {
  return { rejects: createRejects({ api, clock, counted: rejectCount }) };
}
