// The dry run of a pipeline: what its text does with the samples.

import { computed, signal } from '../../vendor/core.js';
import { faultsOf } from '../lib/yamltext.js';
import { createLatest } from './latest.js';

/**
 * @typedef {{pipeline: string, step: string, line?: number, took_us?: number, record?: Record<string, unknown>, cut?: boolean, added: string[], changed: string[], removed: string[]}} Step
 * @typedef {{pipeline: string, step: string, position: number, line?: number, offset?: number, field: string, value: string, reason: string}} StepError
 * @typedef {{index: number, input?: Record<string, unknown>, cut?: boolean, outcome: string, steps?: Step[], rows: {table: string}[], error?: StepError}} TracedRecord
 * @typedef {{key: string, value: unknown}} Cell
 * @typedef {{table_name: string, schema: {name: string, data_type: string, column_type: string, index?: string, fulltext: boolean}[], rows: Cell[][], options?: Record<string, string>, exists?: boolean, refused?: string, new_columns?: string[], different_options?: {option: string, wanted: string, table: string}[], rows_cut?: number}} StoredTable
 * @typedef {{table: string, column: string, type?: string, outcome: string, records: number, example: string}} Conflict
 * @typedef {{tables: StoredTable[], records: TracedRecord[], conflicts?: Conflict[], skipped?: number, cut?: boolean, execution_time_ms: number}} DryRun
 * @typedef {DryRun & {lines: string[]}} Tested lines are the samples that were run
 */

const mostTraced = 10; // whose steps the server describes: the first ones, or those that are named

/**
 * @param {object} with_
 * @param {import('../lib/api.js').Api} with_.api
 * @param {typeof import('./latest.js').clock} with_.clock
 * @param {{value: string}} with_.draft the text
 * @param {{value: string[]}} with_.samples
 */
export function createDryRun({ api, clock, draft, samples }) {
  const dry = /** @type {import('./latest.js').Latest<Tested>} */ (createLatest(clock));
  const tested = signal(0); // when the last dry run was answered
  const faults = computed(() => (dry.error.value ? faultsOf(dry.error.value) : []));

  /** Forgets the results, which are those of another text. */
  function clearResults() {
    dry.value.value = null;
    dry.error.value = null;
  }

  /**
   * Runs the samples through the text, without storing anything. Without samples, the text itself is checked.
   * @param {string} table
   * @param {number} [chosen] the sample whose steps are on screen
   */
  async function test(table, chosen = 0) {
    if (draft.value.trim() === '') {
      dry.cancel();
      clearResults();
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

  return { dry, tested, faults, results, knownFields, clearResults, test, dryRun };
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
