// The pipeline that is being edited, its samples and their results.

import { batch, computed, signal } from '../../vendor/core.js';
import { quoteText, tableTarget } from '../lib/sqlquote.js';
import { faultsOf } from '../lib/yamltext.js';
import { createDrafts } from './drafts.js';
import { createLatest } from './latest.js';

/**
 * @typedef {{version: string, size: number, by?: string, note?: string}} Version
 * @typedef {{name: string, version: string, by?: string, note?: string, versions: Version[]}} PipelineInfo
 * @typedef {{name: string, version: string, pipeline: string}} Stored
 * @typedef {{pipeline: string, step: string, line?: number, took_us?: number, record?: Record<string, unknown>, cut?: boolean, added: string[], changed: string[], removed: string[]}} Step
 * @typedef {{pipeline: string, step: string, position: number, line?: number, offset?: number, field: string, value: string, reason: string}} StepError
 * @typedef {{index: number, input?: Record<string, unknown>, cut?: boolean, outcome: string, steps?: Step[], rows: {table: string}[], error?: StepError}} TracedRecord
 * @typedef {{key: string, value: unknown}} Cell
 * @typedef {{table_name: string, schema: {name: string, data_type: string, column_type: string, index?: string, fulltext: boolean}[], rows: Cell[][], options?: Record<string, string>, exists?: boolean, refused?: string, new_columns?: string[], different_options?: {option: string, wanted: string, table: string}[], rows_cut?: number}} StoredTable
 * @typedef {{table: string, column: string, type?: string, outcome: string, records: number, example: string}} Conflict
 * @typedef {{tables: StoredTable[], records: TracedRecord[], conflicts?: Conflict[], skipped?: number, cut?: boolean, execution_time_ms: number}} DryRun
 * @typedef {DryRun & {lines: string[]}} Tested lines are the samples that were run
 */

const mostSamples = 100;
const mostTargets = 100; // tables on which a replay may need a privilege
const mostTraced = 10; // whose steps the server describes: the first ones, or those that are named

/**
 * @param {object} with_
 * @param {import('../lib/api.js').Api} with_.api
 * @param {Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>} with_.storage of all tabs
 * @param {Pick<Storage, 'getItem' | 'setItem'>} with_.session of this tab
 * @param {typeof import('./latest.js').clock} with_.clock
 * @param {import('./pipelinelist.js').PipelineList} with_.all
 */
export function createPipelines({ api, storage, session, clock, all }) {
  const drafts = createDrafts({ storage, session, clock });
  const { list } = all;
  const stored = /** @type {import('./latest.js').Latest<Stored | null>} */ (createLatest(clock));
  const dry = /** @type {import('./latest.js').Latest<Tested>} */ (createLatest(clock));
  const taking = /** @type {import('./latest.js').Latest<string[]>} */ (createLatest(clock, { once: true }));
  const saving = /** @type {import('./latest.js').Latest<unknown>} */ (createLatest(clock, { once: true }));
  const rejected = /** @type {import('./latest.js').Latest<{count: number, targets: string[]}>} */ (createLatest(clock)); // the rejected records of the pipeline that are kept, and their tables
  const deleting = /** @type {import('./latest.js').Latest<unknown>} */ (createLatest(clock, { once: true }));
  const helps =
    /** @type {import('./latest.js').Latest<{schema: import('../lib/pipelinecomplete.js').Schema, functions: import('../lib/pipelinecomplete.js').VrlFunction[]}>} */ (
      createLatest(clock)
    );
  const name = signal('');
  const draft = signal('');
  const draftOf = signal(''); // the version for which a text that was not saved was written, if another one is open
  let newest = ''; // the newest version that the reader knew when the text was opened; empty: the list will tell
  const samples = signal(/** @type {string[]} */ ([]));
  const proposed = signal(''); // the note that is proposed for the next version
  const tested = signal(0); // when the last dry run was answered

  const faults = computed(() => (dry.error.value ? faultsOf(dry.error.value) : []));
  const changed = computed(() => draft.value !== (stored.value.value?.pipeline ?? ''));

  const isEmpty = computed(() => draft.value.trim() === '');

  const listed = (/** @type {string} */ of) => list.value.value?.find((p) => p.name === of)?.version ?? '';

  async function load() {
    await all.load();
    newest ||= listed(name.value);
  }

  /** Asks once for what the editor completes from: the form of pipelines, and the functions of programs. */
  function loadHelps() {
    if (helps.value.value || helps.since.value > 0) return;
    void helps.run(async (signal) => {
      const asks = ['/v1/pipelines/_schema', '/v1/vrl/functions'].map((path) => api.json({ path, signal }));
      const [schema, list] = await Promise.all(asks);
      return { schema, functions: list.functions };
    });
  }

  /**
   * Opens a pipeline, the newest version of it unless one is named; a name that is not stored begins a new one. Answers
   * whether its text is the one that is open now.
   * @param {string} wanted
   * @param {string} version
   */
  async function open(wanted, version) {
    batch(() => {
      stored.value.value = null;
      if (name.value === wanted) return; // the results stay, until the text is another one
      samples.value = readSamples(wanted);
      name.value = wanted;
      proposed.value = '';
      dry.value.value = null;
      dry.error.value = null;
    });
    drafts.open(wanted);
    taking.cancel();
    const now = await stored.run((signal) => readVersion(wanted, version, signal));
    if (!now) return false; // it cannot be read, or another text was opened meanwhile
    newest = version ? listed(wanted) : now.version;
    const kept = drafts.open(wanted);
    const mine = kept && (!version || kept.of === version) ? kept : null;
    batch(() => {
      draft.value = mine?.text ?? now.pipeline;
      draftOf.value = mine && mine.of !== now.version ? mine.of : '';
    });
    return true;
  }

  /**
   * Begins a pipeline that is not stored yet.
   * @param {string} wanted
   * @param {string} text
   * @param {string[]} lines
   */
  function begin(wanted, text, lines) {
    taking.cancel();
    drafts.open(wanted);
    batch(() => {
      name.value = wanted;
      stored.value.value = null;
      setSamples(lines);
      write(text);
    });
  }

  /** Goes on with a pipeline that is not stored yet, after a reload. @param {string} wanted */
  function resume(wanted) {
    if (name.value === wanted) return;
    taking.cancel();
    batch(() => {
      name.value = wanted;
      stored.value.value = null;
      samples.value = readSamples(wanted);
      draft.value = drafts.open(wanted)?.text ?? '';
      draftOf.value = '';
    });
    if (isEmpty.value) takeOther();
  }

  /** Changes the text. This browser keeps it until it is saved or discarded. @param {string} text */
  function write(text) {
    draft.value = text;
    const base = stored.value.value;
    drafts.write(text === base?.pipeline ? null : { of: draftOf.value || (base?.version ?? ''), text });
  }

  /** Goes on with the text of another tab. */
  function takeOther() {
    const other = drafts.other.value;
    if (!other) return;
    draftOf.value = other.of === stored.value.value?.version ? '' : other.of;
    write(other.text);
  }

  /** Goes on with the text as a change of the newest version, which somebody else stored meanwhile. */
  async function rebase() {
    const now = await stored.run((signal) => readVersion(name.value, '', signal));
    if (!now) return;
    newest = now.version;
    draftOf.value = '';
    saving.error.value = null;
    write(draft.value);
    await load();
  }

  /** Goes back to the stored text. */
  function discard() {
    write(stored.value.value?.pipeline ?? '');
    draftOf.value = proposed.value = '';
  }

  /**
   * @param {string} wanted
   * @param {string} version
   * @param {AbortSignal} [signal]
   * @returns {Promise<Stored>}
   */
  async function readVersion(wanted, version, signal) {
    const query = version ? `?${new URLSearchParams({ version })}` : '';
    const answer = await api.json({ path: `/v1/pipelines/${encodeURIComponent(wanted)}${query}`, signal });
    return answer.pipelines[0];
  }

  /**
   * Runs the samples through the text, without storing anything. Without samples, the text itself is checked.
   * @param {string} table
   * @param {number} [chosen] the sample whose steps are on screen
   */
  async function test(table, chosen = 0) {
    if (isEmpty.value) {
      dry.cancel();
      dry.value.value = null;
      dry.error.value = null; // of a text that is not there any more
      return;
    }
    const lines = samples.value;
    const of = { pipeline: draft.value, lines, table, chosen };
    if (await dry.run(async (signal) => ({ ...(await dryRun(of, signal)), lines }))) tested.value = clock.now();
  }

  /**
   * The result of each sample, if there is one yet: a result belongs to the text of a sample, whatever its place.
   * @type {import('../../vendor/core.js').ReadonlySignal<(TracedRecord | undefined)[]>}
   */
  const results = computed(() => {
    const { records = [], lines = [] } = dry.value.value ?? {};
    const of = new Map(records.map((record) => [lines[record.index], record]));
    return samples.value.map((text) => of.get(text));
  });

  /**
   * Runs lines, or objects of JSON, through a pipeline, with each of its steps.
   * @param {{pipeline: string, lines: string[], table?: string, chosen?: number}} of
   * @param {AbortSignal} signal
   * @returns {Promise<DryRun>}
   */
  function dryRun({ pipeline, lines, table, chosen = 0 }, signal) {
    const query = new URLSearchParams({ trace: 'true' });
    if (table) query.set('table', table);
    if (chosen >= mostTraced) query.set('trace_records', [...Array(mostTraced - 1).keys(), chosen].join(','));
    const body = { pipeline, ...dataOf(lines) };
    return api.json({ path: `/v1/pipelines/_dryrun?${query}`, body, signal });
  }

  /** The names of fields that the samples have at some step. */
  const knownFields = computed(() => {
    const names = (dry.value.value?.records ?? []).flatMap((r) => [r.input, ...(r.steps ?? []).map((s) => s.record)].flatMap((o) => Object.keys(o ?? {})));
    return [...new Set(names)];
  });

  /**
   * Stores the text as a new version, unless somebody stored another one since it was opened.
   * @param {string} note
   */
  async function save(note) {
    const base = stored.value.value;
    const [of, text] = [name.value, draft.value];
    if (base && !newest) await load();
    if (name.value !== of) return false; // another pipeline was opened meanwhile
    await saving.run((signal) => {
      const query = note ? `?${new URLSearchParams({ note })}` : '';
      /** @type {Record<string, string>} */
      const headers = { 'content-type': 'application/x-yaml' };
      if (base) headers['If-Match'] = `"${newest}"`;
      return api.json({ path: `/v1/pipelines/${encodeURIComponent(of)}${query}`, method: 'POST', text, headers, signal });
    });
    if (saving.error.value) return false;
    drafts.saved(of);
    proposed.value = '';
    await load();
    return true;
  }

  /**
   * Deletes versions of a pipeline, the oldest first, so that a failure leaves the newest ones.
   * @param {string} of
   * @param {string[]} versions the newest first
   */
  async function remove(of, versions) {
    await deleting.run(async (signal) => {
      for (const version of versions.toReversed()) {
        await api.json({ path: `/v1/pipelines/${encodeURIComponent(of)}?${new URLSearchParams({ version })}`, method: 'DELETE', signal });
      }
    });
    await load();
    return !deleting.error.value;
  }

  /** Forgets what this browser keeps of a pipeline. @param {string} of */
  function forget(of) {
    drafts.forget(of);
    storage.removeItem(`cordwood.samples.${of}`);
    if (name.value === of) name.value = '';
  }

  /** @param {string[]} lines */
  function setSamples(lines) {
    samples.value = lines.filter((line) => line.trim() !== '').slice(0, mostSamples);
    try {
      storage.setItem(`cordwood.samples.${name.value}`, JSON.stringify(samples.value));
    } catch {
      // storage is full or switched off
    }
  }

  /** @param {string} wanted */
  function readSamples(wanted) {
    try {
      const kept = JSON.parse(storage.getItem(`cordwood.samples.${wanted}`) ?? '[]');
      return Array.isArray(kept) ? kept.filter((line) => typeof line === 'string') : [];
    } catch {
      return [];
    }
  }

  /** Counts the rejected records of a pipeline that are kept. @param {string} of */
  function countRejected(of) {
    const statement = `SELECT table_schema, table_name, count(*) FROM svc_private.rejects WHERE pipeline = ${quoteText(of)} GROUP BY 1, 2 ORDER BY 3 DESC`;
    return rejected.run(async (signal) => {
      try {
        const { rows } = await api.sql(statement, { signal, need: ['SELECT', 'svc_private.rejects'] });
        return {
          count: rows.reduce((sum, [, , n]) => sum + Number(n), 0),
          targets: rows.slice(0, mostTargets).map(([db, table]) => tableTarget(String(db), String(table))),
        };
      } catch (error) {
        if (/** @type {import('../lib/api.js').ApiError} */ (error).code === 4001) return { count: 0, targets: [] }; // nothing was rejected yet
        throw error;
      }
    }, of);
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
    list,
    stored,
    dry,
    helps,
    loadHelps,
    saving,
    deleting,
    name,
    draft,
    draftOf,
    samples,
    tested,
    results,
    faults,
    changed,
    isEmpty,
    proposed,
    load,
    open,
    begin,
    isBegun: drafts.has,
    otherDraft: drafts.other,
    takeOther,
    dropOther: drafts.dropOther,
    draftsChanged: drafts.changed,
    resume,
    write,
    rebase,
    discard,
    remove,
    forget,
    readVersion,
    test,
    dryRun,
    knownFields,
    save,
    setSamples,
    rejected,
    countRejected,
    samplesFromRejects,
    samplesFromTable,
  };
}

/**
 * Samples as the data of a dry run: a record for each. A line within a text would be a record of its own in plain text.
 * @param {string[]} lines
 */
export function dataOf(lines) {
  const objects = lines.every(isObject);
  if (!objects && !lines.some((line) => /[\r\n]/.test(line))) return { data: lines.join('\n'), data_type: 'text/plain' };
  const records = lines.map((line) => (!objects ? JSON.stringify({ message: line }) : /[\r\n]/.test(line) ? line.replaceAll(/[\r\n]/g, ' ') : line));
  return { data: records.join('\n'), data_type: 'application/x-ndjson' };
}

/** @param {string} line */
function isObject(line) {
  try {
    const value = JSON.parse(line);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
