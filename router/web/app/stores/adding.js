// Add data: waits for the first rows of a table, and sends a file in batches.

import { batch, signal } from '../../vendor/core.js';
import { ApiError, isAbort } from '../lib/api.js';
import { batchesOf, typeOfLines } from '../lib/batches.js';
import { readLines } from '../lib/ndjson.js';

/** @typedef {import('../lib/line.js').Row} Row */
/** @typedef {{name: string, size: number, sent: number, rows: number, refused: number, reasons: string[], error: string, done: boolean}} Sending */

const mostBatch = 1 << 20;
const mostShown = 50;
const mostReasons = 5;

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
  let following = new AbortController();
  let upload = new AbortController();

  /**
   * Follows a table until it is there, and then its rows.
   * @param {string} db
   * @param {string} table
   */
  async function follow(db, table) {
    following.abort();
    following = new AbortController();
    const { signal: stop } = following;
    batch(() => {
      rows.value = [];
      count.value = 0;
      waits.value = table;
    });
    // Rows of the last minute count: a sender may have been quicker than the reader.
    const query = new URLSearchParams({ db, table, shape: 'row', since: '60s' });
    while (!stop.aborted) {
      try {
        const response = await api.send({ path: `/v1/tail?${query}`, signal: stop });
        if (response.body) await readRows(response.body);
      } catch (error) {
        if (isAbort(error)) return;
        // The table does not exist yet, or the server is down: try again.
      }
      await clock.wait(1000, stop).catch(() => {});
    }
  }

  /** @param {ReadableStream<Uint8Array>} body */
  async function readRows(body) {
    for await (const { values } of readLines(body)) {
      const fresh = values.filter((line) => line.id);
      if (fresh.length === 0) continue;
      batch(() => {
        count.value += fresh.length;
        rows.value = [...rows.value, ...fresh].slice(-mostShown);
      });
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
