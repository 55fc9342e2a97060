// The rows before and after the open row, from the same source, without the search.

import { computed, signal } from '../../vendor/core.js';
import { createLatest } from './latest.js';

/** @typedef {import('../lib/line.js').Row} Row */
/** @typedef {import('./explore.js').Field} Field */

const contextStep = 20;
const mostContext = 200;

/**
 * @param {object} with_
 * @param {(path: string, body: Record<string, unknown>) => (signal: AbortSignal) => Promise<any>} with_.ask
 * @param {{value: {db: string, tables: string[], view: string, partial: boolean}}} with_.state
 * @param {import('./latest.js').Latest<any>} with_.fields
 * @param {import('./latest.js').Latest<any>} with_.opened
 * @param {typeof import('./latest.js').clock} with_.clock
 */
export function createNeighbours({ ask, state, fields, opened, clock }) {
  const around = createLatest(clock);
  const reach = signal(contextStep); // rows on each side
  const apart = signal(/** @type {string[]} */ ([])); // fields that neighbours need not share
  let aroundOf = '';

  /** The fields whose value the neighbours of a row share: those of its source. */
  function sharedFields() {
    const sources = (fields.value.value?.fields ?? []).filter((/** @type {Field} */ f) => f.role === 'source');
    return sources.map((/** @type {Field} */ f) => f.name).filter((/** @type {string} */ name) => !apart.value.includes(name));
  }

  /**
   * The neighbours that are on screen, and the row between them.
   * @returns {Row[]}
   */
  function contextRows() {
    const answer = around.value.value;
    return answer ? [...answer.before, answer.row, ...answer.after] : [];
  }

  /** Loads the rows before and after the one that is open, without the search. */
  async function loadContext() {
    const row = opened.value.value;
    if (state.value.view !== 'context' || !row) return;
    const same = sharedFields();
    const key = JSON.stringify([state.value.db, row.table, same, reach.value]);
    if (key === aroundOf && contextRows().some((r) => r.id === row.id)) return; // it is there: nothing moves
    aroundOf = key;
    const table = row.table ?? state.value.tables[0];
    const body = { db: state.value.db, table, id: row.id, before: reach.value, after: reach.value, same, allow_partial: state.value.partial || undefined };
    await around.run(ask('context', body));
  }

  return {
    around,
    apart,
    sharedFields,
    contextRows,
    loadContext,
    contextMore: computed(() => reach.value < mostContext),
    widenContext() {
      reach.value = Math.min(mostContext, reach.value * 3);
      return loadContext();
    },
  };
}
