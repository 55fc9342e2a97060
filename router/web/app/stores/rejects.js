// Rejected records: how many there are by reason, samples of them, and sending them again.

import { signal } from '../../vendor/core.js';
import { isAbort } from '../lib/api.js';
import { clauseFor } from '../lib/edit.js';
import { formatCount } from '../lib/format.js';
import { readLines } from '../lib/ndjson.js';
import { quoteText } from '../lib/sqlquote.js';
import { createLatest } from './latest.js';
import { needOfRejects } from './rejectcount.js';

/**
 * @typedef {{pipeline: string, table: string, kind: string, reason: string, count: number, last: string, newest: Reject}} Reason
 * @typedef {{there: boolean, list: Reason[], total: number}} Reasons total: of all reasons, also of those that are not listed
 * @typedef {{at: string, db: string, table: string, pipeline: string, version: string, kind: string, error: string, format: string, record: string}} Reject
 * @typedef {{pipeline: string, table: string, kind: string, from: string, to: string}} Wanted
 * @typedef {{done: number, of: number, stored: number, failed: number, before: number, untried?: number, forbidden?: number, reasons: {reason: string, count: number}[], end: boolean, error: string, dry: boolean}} Replay
 */

// What differs between errors of one reason: quoted texts, perhaps cut at their end, and numbers.
const values = '"(?:[^"\\\\]|\\\\.)*?(?:"|…)|[0-9]+';
const fields = ['table_schema', 'table_name', 'pipeline', 'pipeline_version', 'kind', 'error', 'format', 'record']; // as toReject reads them
const mostSamples = 50;

/**
 * @param {object} with_
 * @param {import('../lib/api.js').Api} with_.api
 * @param {typeof import('./latest.js').clock} with_.clock
 * @param {import('./rejectcount.js').RejectCount} with_.counted
 */
export function createRejects({ api, clock, counted }) {
  const { ask, isThere } = counted;
  const reasons = /** @type {import('./latest.js').Latest<Reasons>} */ (createLatest(clock));
  const samples = /** @type {import('./latest.js').Latest<Reject[]>} */ (createLatest(clock));
  const overTime = /** @type {import('./latest.js').Latest<import('../lib/geometry.js').Hits | null>} */ (createLatest(clock));
  const restored = /** @type {import('./latest.js').Latest<number>} */ (createLatest(clock)); // how many of all rejects a replay stored
  const replay = signal(/** @type {Replay | null} */ (null));
  let running = new AbortController();

  /** @param {Wanted} wanted */
  async function load(wanted) {
    /** @type {Reasons} */
    const nothing = { there: false, list: [], total: 0 };
    const where = conditionOf(wanted);
    const byReason =
      `SELECT pipeline, table_name, kind, regexp_replace(error, ${quoteText(values)}, '…', 'g') AS reason, count(*) AS n, max(rejected_at) AS newest, ` +
      `sum(count(*)) OVER (), ${fields.map((f) => `arg_max(${f}, rejected_at)`).join(', ')} ` +
      `FROM svc_private.rejects${where} GROUP BY pipeline, table_name, kind, reason ORDER BY n DESC LIMIT 200`;
    const newest = `SELECT rejected_at, ${fields.join(', ')} ` + `FROM svc_private.rejects${where} ORDER BY rejected_at DESC LIMIT ${mostSamples}`;
    await Promise.all([
      reasons.run((signal) => ask(byReason, signal, (rows) => ({ there: true, list: rows.map(toReason), total: Number(rows[0]?.[6] ?? 0) }), nothing)),
      samples.run((signal) => ask(newest, signal, (rows) => rows.map(toReject), [])),
      overTime.run((signal) => countOverTime(wanted, signal)),
      restored.run(countRestored),
    ]);
  }

  /** Counts the rejects that replays stored. Who may not read the table of replays is told nothing. @param {AbortSignal} signal */
  async function countRestored(signal) {
    if (!(await isThere(signal))) return 0;
    const statement = 'SELECT count(DISTINCT id) FROM svc_private.replayed';
    try {
      return Number((await api.sql(statement, { signal, need: ['SELECT', 'svc_private.replayed'] })).rows[0]?.[0] ?? 0);
    } catch (error) {
      const { code, status } = /** @type {import('../lib/api.js').ApiError} */ (error);
      if (code === 4001 || status === 403) return 0; // nothing was replayed yet
      throw error;
    }
  }

  /**
   * Counts the rejects over time, by kind.
   * @param {Wanted} wanted
   * @param {AbortSignal} signal
   */
  async function countOverTime({ pipeline, table, kind, from, to }, signal) {
    const conditions = Object.entries({ pipeline, table_name: table, kind }).filter(([, value]) => value !== '');
    const query = conditions.map(([name, value]) => clauseFor(name, value)).join(' ');
    const body = { db: 'svc_private', tables: ['rejects'], from: from || undefined, to: to || null, query, by: 'kind', buckets: 120 };
    if (!(await isThere(signal))) return null;
    try {
      return await api.json({ path: '/v1/explore/hits', body, signal, need: needOfRejects });
    } catch (error) {
      if (/** @type {import('../lib/api.js').ApiError} */ (error).code === 4001) return null; // no such table
      throw error;
    }
  }

  /**
   * Sends rejected records again, or only tries it.
   * @param {Wanted & {toPipeline: string, toTable: string}} wanted
   * @param {boolean} dry
   */
  async function send({ pipeline, table, kind, from, to, toPipeline, toTable }, dry) {
    running.abort();
    const own = (running = new AbortController());
    /** @param {Partial<Replay>} change */
    const tell = (change) => {
      if (running === own) replay.value = { .../** @type {Replay} */ (replay.value), ...change }; // else another replay began
    };
    const body = {
      pipeline: pipeline || undefined,
      table: table || undefined,
      kind: kind || undefined,
      since: from || undefined,
      until: to || undefined,
      to_pipeline: toPipeline.trim() || undefined,
      to_table: toTable.trim() || undefined,
      dry_run: dry,
    };
    replay.value = { done: 0, of: 0, stored: 0, failed: 0, before: 0, reasons: [], end: false, error: '', dry };
    try {
      const response = await api.send({ path: '/v1/rejects/replay', body, signal: own.signal });
      if (!response.body) return;
      for await (const { values } of readLines(response.body)) {
        for (const line of values) tell(line);
      }
      tell({ end: true });
    } catch (error) {
      const text = isAbort(error) ? 'Cancelled: what was stored stays.' : error instanceof Error ? error.message : String(error);
      tell({ error: text, end: true });
    }
  }

  /**
   * The newest rejects of a table since a time.
   * @param {{db: string, table: string, since: number}} of
   * @param {AbortSignal} signal
   * @returns {Promise<Reject[]>}
   */
  function newest({ db, table, since }, signal) {
    const statement =
      `SELECT rejected_at, ${fields.join(', ')} FROM svc_private.rejects ` +
      `WHERE table_schema = ${quoteText(db)} AND table_name = ${quoteText(table)} AND rejected_at >= ${quoteText(new Date(since).toISOString())} ` +
      'ORDER BY rejected_at DESC LIMIT 5';
    return ask(statement, signal, (rows) => rows.map(toReject), []);
  }

  return {
    newest,
    reasons,
    overTime,
    samples,
    restored,
    replay,
    load,
    send,
    cancel: () => running.abort(),
  };
}

/**
 * Says what a replay did, or would do.
 * @param {Replay} replay
 */
export function replayWords({ done, of, stored, failed, before, untried = 0, forbidden = 0, dry, error }) {
  if (error && done === 0) return '';
  const all = formatCount(of || done);
  const earlier = before > 0 ? `${formatCount(before)} ${before === 1 ? 'is' : 'are'} stored already, by an earlier replay` : '';
  const other = untried > 0 ? `${formatCount(untried)} cannot be tried: they are requests of another protocol` : '';
  const left =
    forbidden > 0
      ? `${formatCount(forbidden)} left out, because the senders may not store them: choose the kind permission to store them with your rights`
      : '';
  const result = dry
    ? [`${formatCount(stored)} of ${all} would be stored`, earlier]
    : [`${formatCount(stored)} of ${all} stored, ${formatCount(failed)} failed again`, earlier];
  return [...result, other, left]
    .filter(Boolean)
    .map((text) => `${text}.`)
    .join(' ');
}

/**
 * Joins the reasons that differ only in values, with the most frequent first.
 * @param {{reason: string, count: number}[]} reasons
 */
export function groupReasons(reasons) {
  /** @type {Map<string, {reason: string, count: number}>} */
  const groups = new Map();
  for (const { reason, count } of reasons) {
    const key = reason.replace(new RegExp(values, 'g'), '…');
    const group = groups.get(key);
    if (group) Object.assign(group, { reason: key, count: group.count + count });
    else groups.set(key, { reason, count });
  }
  return [...groups.values()].sort((a, b) => b.count - a.count);
}

/** @param {Wanted} wanted */
function conditionOf({ pipeline, table, kind, from, to }) {
  const parts = [
    pipeline && `pipeline = ${quoteText(pipeline)}`,
    table && `table_name = ${quoteText(table)}`,
    kind && `kind = ${quoteText(kind)}`,
    from && `rejected_at >= ${quoteText(from)}`,
    to && `rejected_at < ${quoteText(to)}`,
  ].filter(Boolean);
  return parts.length > 0 ? ` WHERE ${parts.join(' AND ')}` : '';
}

/** @param {unknown[]} row @returns {Reason} */
function toReason([pipeline, table, kind, reason, count, last, , ...newest]) {
  const texts = { pipeline: String(pipeline), table: String(table), kind: String(kind), reason: String(reason) };
  return { ...texts, count: Number(count), last: timeOf(last), newest: toReject([last, ...newest]) };
}

/** @param {unknown[]} row @returns {Reject} */
function toReject([at, db, table, pipeline, version, kind, error, format, record]) {
  const [a, b, c, d, e, f, g, h] = [db, table, pipeline, version, kind, error, format, record].map((v) => String(v ?? ''));
  return { at: timeOf(at), db: a, table: b, pipeline: c, version: d, kind: e, error: f, format: g, record: h };
}

/** A time in nanoseconds. @param {unknown} value */
function timeOf(value) {
  return new Date(Number(value) / 1e6).toISOString();
}
