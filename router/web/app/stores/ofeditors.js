// The stores of the pages with an editor, which are loaded with these pages.

import { clock } from './latest.js';
import { createForRejects } from './ofrejects.js';
import { createSaved } from './saved.js';
import { createSql } from './sql.js';

/** @typedef {ReturnType<typeof createEditors>} EditorStores */

/** @param {import('../main.js').FirstStores} first */
export function createEditors(first) {
  const { api, place, prefs } = first;
  return {
    ...createForRejects(first),
    savedSql: createSaved(api, clock, 'sql'),
    sql: createSql({ api, place, storage: sessionStorage, clock, history: prefs.sqlHistory }),
  };
}
