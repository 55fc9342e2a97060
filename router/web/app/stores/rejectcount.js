// How many records were rejected: for the top bar of every page, and for the list of pipelines.

import { createLatest } from './latest.js';

const day = '24 hours';
const exists = "SELECT 1 FROM information_schema.tables WHERE table_schema = 'svc_private' AND table_name = 'rejects'";

/** The privilege that statements about rejects need. */
export const needOfRejects = /** @type {[string, string]} */ (['SELECT', 'svc_private.rejects']);

/** @typedef {ReturnType<typeof createRejectCount>} RejectCount */

/**
 * @param {import('../lib/api.js').Api} api
 * @param {typeof import('./latest.js').clock} clock
 */
export function createRejectCount(api, clock) {
  const total = /** @type {import('./latest.js').Latest<number>} */ (createLatest(clock));
  let seen = false; // the table of rejects, which comes with the first of them

  /** @param {AbortSignal} signal */
  async function isThere(signal) {
    seen ||= (await api.sql(exists, { signal, need: needOfRejects })).rows.length > 0;
    return seen;
  }

  /**
   * Asks about the table of rejects.
   * @template T
   * @param {string} statement
   * @param {AbortSignal} signal
   * @param {(rows: unknown[][]) => T} read
   * @param {T} without
   */
  async function ask(statement, signal, read, without) {
    if (!(await isThere(signal))) return without;
    try {
      return read((await api.sql(statement, { signal, need: needOfRejects })).rows);
    } catch (error) {
      if (/** @type {import('../lib/api.js').ApiError} */ (error).code !== 4001) throw error;
      seen = false; // it was dropped
      return without;
    }
  }

  /** Counts the rejects of a day by pipeline. @param {AbortSignal} signal @returns {Promise<Map<string, number>>} */
  function countByPipeline(signal) {
    const statement = `SELECT pipeline, count(*) FROM svc_private.rejects WHERE rejected_at > now() - INTERVAL '${day}' GROUP BY pipeline`;
    return ask(statement, signal, (rows) => new Map(rows.map(([name, n]) => [String(name), Number(n)])), new Map());
  }

  return {
    total,
    isThere,
    ask,
    countByPipeline,
    /** Counts the rejects of a day, for the top bar. */
    count: () => total.run(async (signal) => [...(await countByPipeline(signal)).values()].reduce((a, b) => a + b, 0)),
  };
}
