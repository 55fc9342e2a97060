// The samples of the pipeline that is open, which this browser keeps, and where they come from.

import { signal } from '../../vendor/core.js';
import { quoteText } from '../lib/sqlquote.js';
import { keepSamples, keptSamples } from './keptsamples.js';
import { createLatest } from './latest.js';

const mostSamples = 100;

/**
 * @param {object} with_
 * @param {import('../lib/api.js').Api} with_.api
 * @param {Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>} with_.storage of all tabs
 * @param {typeof import('./latest.js').clock} with_.clock
 * @param {{value: string}} with_.name of the pipeline
 */
export function createSamples({ api, storage, clock, name }) {
  const samples = signal(/** @type {string[]} */ ([]));
  const taking = /** @type {import('./latest.js').Latest<string[]>} */ (createLatest(clock, { once: true }));

  /** @param {string[]} lines */
  function setSamples(lines) {
    samples.value = lines.filter((line) => line.trim() !== '').slice(0, mostSamples);
    keepSamples(storage, name.value, samples.value);
  }

  /**
   * Takes lines as samples when they are there, unless another pipeline is opened or others are taken meanwhile. Answers
   * what to say if there are none.
   * @param {(signal: AbortSignal) => Promise<string[]>} ask
   */
  async function take(ask) {
    const lines = await taking.run(ask);
    if (lines && lines.length > 0) setSamples(lines);
    return taking.error.value?.message ?? (lines?.length === 0 ? 'There are none.' : '');
  }

  /**
   * Takes the newest rejected records of this pipeline as samples.
   * @param {(table: string) => void} onTable takes the table that the newest one was sent to
   */
  function samplesFromRejects(onTable) {
    const statement = `SELECT record, table_schema, table_name FROM svc_private.rejects WHERE pipeline = ${quoteText(name.value)} ORDER BY rejected_at DESC LIMIT ${mostSamples}`;
    return take(async (signal) => {
      const { rows } = await api.sql(statement, { signal });
      if (rows.length > 0 && rows[0][1] === 'public') onTable(String(rows[0][2]));
      return rows.map(([record]) => String(record));
    });
  }

  /**
   * Takes the newest values of a column of a table as samples.
   * @param {string} db
   * @param {string} table
   */
  function samplesFromTable(db, table) {
    return take(async (signal) => {
      const fields = await api.json({ path: '/v1/explore/fields', body: { db, tables: [table] }, signal });
      const message = fields.fields.find((/** @type {any} */ f) => f.role === 'message')?.name;
      const answer = await api.json({ path: '/v1/explore/rows', body: { db, tables: [table], limit: 20 }, signal });
      return answer.rows.map((/** @type {any} */ row) => (message ? String(row.v[message] ?? '') : JSON.stringify(row.v)));
    });
  }

  return {
    samples,
    setSamples,
    /** Goes back to those that this browser keeps. @param {string} wanted */
    openSamples(wanted) {
      const lines = keptSamples(storage, wanted);
      if (wanted !== name.value || lines.length > 0) samples.value = lines; // else this browser keeps nothing
    },
    /** @param {string} of */
    forgetSamples: (of) => keepSamples(storage, of, null),
    /** Lets nothing become samples that was asked for before. */
    stopTaking: () => taking.cancel(),
    samplesFromRejects,
    samplesFromTable,
  };
}
