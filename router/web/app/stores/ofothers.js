// The stores of the pages without an editor, and of the views of Explore other than rows. They are loaded with those.

import { createAccess } from './access.js';
import { createAdding } from './adding.js';
import { createAnalysis } from './analysis.js';
import { createForRejects } from './ofrejects.js';
import { createLastRows } from './lastrows.js';
import { clock } from './latest.js';
import { createOperations } from './operations.js';
import { createTable } from './table.js';
import { createTail } from './tail.js';

/** @typedef {ReturnType<typeof createOthers>} OtherStores */

/** @param {import('../main.js').FirstStores} first */
export function createOthers(first) {
  const { api, explore, place, prefs } = first;
  return {
    ...createForRejects(first),
    access: createAccess(api, clock),
    adding: createAdding({ api, clock }),
    analysis: createAnalysis({ api, explore, clock }),
    lastRows: createLastRows(api, clock),
    operations: createOperations(api, clock),
    table: createTable(api, clock),
    tail: createTail({ api, place, prefs, clock, session: sessionStorage }),
  };
}
