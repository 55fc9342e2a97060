// One table: its columns, its statement, its segments, and its actions.

import { quoteName, quoteText } from '../lib/sqlquote.js';
import { createLatest } from './latest.js';

/**
 * Details: what is null may not be seen by this user; refused says why.
 * @typedef {{file: string, shard: number, rows: number, bytes: number, from: string, to: string}} Segment
 * @typedef {import('../lib/api.js').ApiError} ApiError
 * @typedef {{ddl: string | null, fields: import('./explore.js').Field[] | null, lastRow: string | null, rows: any[], segments: Segment[] | null, refused: {what: string, error: ApiError}[]}} Details
 */

const mostSegments = 2000;
export const newestRows = 100; // among which there may be a value of a field that few rows have

/**
 * @param {import('../lib/api.js').Api} api
 * @param {typeof import('./latest.js').clock} clock
 */
export function createTable(api, clock) {
  const latest = /** @type {import('./latest.js').Latest<Details>} */ (createLatest(clock));
  const action = createLatest(clock, { once: true });

  return {
    latest,
    action,
    /**
     * @param {string} db
     * @param {string} name
     */
    load: (db, name) =>
      latest.run(
        async (signal) => {
          const scope = { db, tables: [name] };
          const refused = /** @type {Details['refused']} */ ([]);
          /**
           * The rights differ for each part: who may not see one of them sees the others.
           * @template T
           * @param {string} what
           * @param {Promise<T>} asked
           * @returns {Promise<T | null>}
           */
          const allowed = (what, asked) =>
            asked.catch((error) => {
              if (error.status !== 403) throw error;
              if (!refused.some((r) => r.error.message === error.message)) refused.push({ what, error });
              return null;
            });
          const [fields, newest, ddl, segments] = await Promise.all([
            allowed('The columns are', api.json({ path: '/v1/explore/fields', body: scope, signal })),
            allowed('The newest values are', api.json({ path: '/v1/explore/rows', body: { ...scope, limit: newestRows, max_value_bytes: 100 }, signal })),
            allowed('The statement is', api.sql(`SHOW CREATE TABLE ${quoteName(name)}`, { signal, db })),
            allowed('The segments are', api.sql(segmentsOf(db, name), { signal, need: ['MONITOR', 'CLUSTER'] })),
          ]);
          if (!fields && !ddl && !segments) throw refused[0].error;
          return {
            ddl: ddl && String(ddl.rows[0]?.[1] ?? ''),
            fields: fields && fields.fields,
            lastRow: fields && fields.last_row,
            rows: newest?.rows ?? [],
            segments: segments && segments.rows.map(toSegment),
            refused,
          };
        },
        JSON.stringify([db, name]),
      ),
    /**
     * Counts the rows that are older than a time to live.
     * @param {string} db
     * @param {string} name
     * @param {string} time the column of the time index
     * @param {number} ms
     * @param {AbortSignal} signal
     */
    async countOlder(db, name, time, ms, signal) {
      const before = new Date(Math.max(0, clock.now() - ms)).toISOString();
      const answer = await api.sql(`SELECT count(*) FROM ${quoteName(name)} WHERE ${quoteName(time)} < ${quoteText(before)}`, { signal, db });
      return Number(answer.rows[0][0]);
    },
    /**
     * Runs a statement that changes the table. Answers whether it did.
     * @param {string} db
     * @param {string} statement
     */
    async change(db, statement) {
      await action.run((signal) => api.sql(statement, { signal, db }));
      return action.error.value === null;
    },
  };
}

/**
 * @param {string} db
 * @param {string} name
 */
function segmentsOf(db, name) {
  return (
    'SELECT file, shard_id, rows, bytes, min_time, max_time FROM svc_private.segments ' +
    `WHERE table_schema = ${quoteText(db)} AND table_name = ${quoteText(name)} ORDER BY min_time DESC LIMIT ${mostSegments}`
  );
}

/**
 * @param {unknown[]} row
 * @returns {Segment}
 */
function toSegment([file, shard, rows, bytes, from, to]) {
  return { file: String(file), shard: Number(shard), rows: Number(rows), bytes: Number(bytes), from: timeOf(from), to: timeOf(to) };
}

/**
 * A time of svc_private.segments, which is in microseconds.
 * @param {unknown} value
 */
function timeOf(value) {
  const micros = Number(value);
  return Number.isFinite(micros) ? new Date(micros / 1000).toISOString() : String(value);
}
