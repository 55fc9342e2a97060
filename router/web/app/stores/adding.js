// Add data: waits for the first rows of a table, and sends a file in batches.

import { batch, signal } from '../../vendor/core.js';
import { ApiError, isAbort } from '../lib/api.js';
import { batchesOf, typeOfLines } from '../lib/batches.js';
import { readLines } from '../lib/ndjson.js';
import { tableTarget } from '../lib/sqlquote.js';

/** @typedef {import('../lib/line.js').Row} Row */
/** @typedef {{name: string, size: number, sent: number, rows: number, refused: number, reasons: string[], error: string, done: boolean}} Sending */

const mostBatch = 1 << 20;
const mostShown = 50;
const mostReasons = 5;
const noTable = 4001; // the code of the error that says so
const lastTime = '2261-12-31T00:00:00Z'; // no row is later

/**
 * @param {object} with_
 * @param {import('../lib/api.js').Api} with_.api
 * @param {typeof import('./latest.js').clock} with_.clock
 */
export function createAdding({ api, clock }) {
  const rows = signal(/** @type {Row[]} */ ([]));
  const count = signal(0);
  const waits = signal(''); // what is waited for; empty: nothing
  const sending = signal(/** @type {Sending | null} */ (null));
  let before = -1; // rows that the table had when the page began to wait; -1: not known
  let following = new AbortController();
  let upload = new AbortController();

  /**
   * Follows a table until it is there, and then its rows. The number of rows that have arrived is by how much those of
   * the table have become more: so a row counts whatever its time is, and once, also if the connection breaks.
   * @param {string} db
   * @param {string} table
   * @param {{fresh?: boolean}} [how] fresh: there was no such table a moment ago, so all of its rows count
   */
  async function follow(db, table, { fresh = false } = {}) {
    following.abort();
    following = new AbortController();
    const { signal: stop } = following;
    before = fresh ? 0 : -1;
    batch(() => {
      rows.value = [];
      count.value = 0;
      waits.value = table;
    });
    const query = new URLSearchParams({ db, table, shape: 'row' });
    while (!stop.aborted) {
      try {
        await recount(db, table, stop);
        const response = await api.send({ path: `/v1/tail?${query}`, signal: stop });
        await recount(db, table, stop); // of what came before the tail began
        if (response.body) await readRows(response.body, () => recount(db, table, stop), stop);
      } catch (error) {
        if (isAbort(error)) return;
        if (error instanceof ApiError && error.code === noTable) before = 0;
        // The table does not exist yet, or the server is down: try again.
      }
      await clock.wait(1000, stop).catch(() => {});
    }
  }

  /**
   * Counts the rows that have arrived. If they came before the tail began, the newest of them are shown.
   * @param {string} db
   * @param {string} table
   * @param {AbortSignal} stop
   */
  async function recount(db, table, stop) {
    const { rows: counted } = await api.sql(`SELECT count(*) FROM ${tableTarget(db, table)}`, { db, signal: stop });
    const total = Number(counted[0][0]);
    if (before < 0) before = total;
    const arrived = Math.max(0, total - before);
    if (arrived > 0 && rows.value.length === 0) {
      const body = { db, tables: [table], to: lastTime, limit: Math.min(arrived, mostShown) };
      rows.value = (await api.json({ path: '/v1/explore/rows', body, signal: stop })).rows.reverse();
    }
    count.value = arrived;
  }

  /**
   * @param {ReadableStream<Uint8Array>} body
   * @param {() => Promise<void>} onRows
   * @param {AbortSignal} stop
   */
  async function readRows(body, onRows, stop) {
    let counting = false;
    const countSoon = async () => {
      if (counting) return;
      counting = true;
      await clock.wait(200, stop);
      counting = false;
      await onRows();
    };
    for await (const { values } of readLines(body)) {
      const fresh = values.filter((line) => line.id);
      if (fresh.length === 0) continue;
      rows.value = [...rows.value, ...fresh].slice(-mostShown);
      countSoon().catch(() => {}); // the next rows, or the next tail, count them
    }
  }

  /**
   * Sends a file, a batch after the other. A batch whose answer is lost is sent again, and stored once.
   * @param {File} file
   * @param {{db: string, table: string, pipeline: string}} to
   */
  async function send(file, { db, table, pipeline }) {
    upload.abort();
    upload = new AbortController();
    const { signal: stop } = upload;
    sending.value = { name: file.name, size: file.size, sent: 0, rows: 0, refused: 0, reasons: [], error: '', done: false };
    const key = randomKey();
    const query = new URLSearchParams({ db, table, pipeline_name: pipeline, skip_error: 'true' });
    let type = '';
    let number = 0;
    try {
      for await (const { text, end } of batchesOf(file, mostBatch)) {
        type ||= typeOfLines(text);
        const headers = { 'content-type': type, 'Idempotency-Key': `${key}-${number++}` };
        const answer = await sendBatch({ path: `/v1/ingest?${query}`, method: 'POST', text, headers, signal: stop });
        sending.value = joined(/** @type {Sending} */ (sending.value), end, answer);
      }
      sending.value = { .../** @type {Sending} */ (sending.value), done: true };
    } catch (error) {
      const reason = isAbort(error) ? 'Cancelled: what was sent stays.' : error instanceof Error ? error.message : String(error);
      sending.value = { .../** @type {Sending} */ (sending.value), error: reason, done: true };
    }
  }

  /** @param {import('../lib/api.js').Request} request */
  async function sendBatch(request) {
    for (let tries = 0; ; tries++) {
      try {
        return await api.json(request);
      } catch (error) {
        const again = error instanceof ApiError && (error.status === 0 || error.status === 429 || error.status === 503);
        if (!again || tries >= 5) throw error;
        await clock.wait(error.retryAfter * 1000 || 1000 * 2 ** tries, /** @type {AbortSignal} */ (request.signal));
      }
    }
  }

  return {
    rows,
    count,
    waits,
    sending,
    follow,
    stop: () => following.abort(),
    send,
    cancel: () => upload.abort(),
  };
}

/**
 * What was sent so far, with the answer to one more batch.
 * @param {Sending} before
 * @param {number} sent
 * @param {any} answer
 * @returns {Sending}
 */
function joined(before, sent, answer) {
  const rows = (answer.output ?? []).reduce((/** @type {number} */ n, /** @type {any} */ o) => n + (o.affectedrows ?? 0), before.rows);
  const fresh = (answer.skipped?.reasons ?? []).map((/** @type {{error: string}} */ r) => r.error); // of the first ones only
  const reasons = [...new Set([...before.reasons, ...fresh])].slice(0, mostReasons);
  return { ...before, sent, rows, refused: before.refused + (answer.skipped?.count ?? 0), reasons };
}

/** A text that no other upload has; crypto.randomUUID is not there on plain HTTP from another machine. */
function randomKey() {
  return [...crypto.getRandomValues(new Uint8Array(12))].map((b) => b.toString(16).padStart(2, '0')).join('');
}
