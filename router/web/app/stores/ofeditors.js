// The stores of the pages with an editor, which are loaded with these pages.

import { clock } from './latest.js';
import { createForRejects } from './ofrejects.js';
import { createPipelines } from './pipelines.js';
import { createSaved } from './saved.js';
import { createSql } from './sql.js';

/** @typedef {ReturnType<typeof createEditors>} EditorStores */

/** @param {import('../main.js').FirstStores} first */
export function createEditors(first) {
  const { api, place, prefs, pipelineList } = first;
  const pipelines = createPipelines({ api, storage: localStorage, session: sessionStorage, clock, all: pipelineList });
  addEventListener('storage', (event) => pipelines.draftsChanged(event.key));
  return {
    ...createForRejects(first),
    pipelines,
    savedSql: createSaved(api, clock, 'sql'),
    sql: createSql({ api, place, storage: sessionStorage, clock, history: prefs.sqlHistory }),
  };
}
