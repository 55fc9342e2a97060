// The pipeline that is being edited: its text, its versions, and what is stored of it.

import { batch, computed, signal } from '../../vendor/core.js';
import { quoteText, tableTarget } from '../lib/sqlquote.js';
import { createDrafts } from './drafts.js';
import { createDryRun } from './dryrun.js';
import { createLatest } from './latest.js';
import { createSamples } from './samples.js';

/**
 * @typedef {{version: string, size: number, by?: string, note?: string}} Version
 * @typedef {{name: string, version: string, by?: string, note?: string, versions: Version[]}} PipelineInfo
 * @typedef {{name: string, version: string, pipeline: string}} Stored
 */

const mostTargets = 100; // tables on which a replay may need a privilege

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
  const saving = /** @type {import('./latest.js').Latest<unknown>} */ (createLatest(clock, { once: true }));
  const rejected = /** @type {import('./latest.js').Latest<{count: number, targets: string[]}>} */ (createLatest(clock)); // the rejected records of the pipeline that are kept, and their tables
  const deleting = /** @type {import('./latest.js').Latest<unknown>} */ (createLatest(clock, { once: true }));
  const helps =
    /** @type {import('./latest.js').Latest<{schema: import('../lib/pipelinecomplete.js').Schema, functions: import('../lib/pipelinecomplete.js').VrlFunction[]}>} */ (
      createLatest(clock)
    );
  const name = signal('');
  const draft = signal('');
  const sampled = createSamples({ api, storage, clock, name });
  const tests = createDryRun({ api, clock, draft, samples: sampled.samples });
  const draftOf = signal(''); // the version for which a text that was not saved was written, if another one is open
  let newest = ''; // the newest version that the reader knew when the text was opened; empty: the list will tell
  const proposed = signal(''); // the note that is proposed for the next version

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
      sampled.openSamples(wanted); // another page may have added one
      if (name.value === wanted) return; // the results stay, until the text is another one
      name.value = wanted;
      proposed.value = '';
      tests.clearResults();
    });
    drafts.open(wanted);
    sampled.stopTaking();
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
    sampled.stopTaking();
    drafts.open(wanted);
    batch(() => {
      name.value = wanted;
      stored.value.value = null;
      sampled.setSamples(lines);
      write(text);
    });
  }

  /** Goes on with a pipeline that is not stored yet, after a reload. @param {string} wanted */
  function resume(wanted) {
    if (name.value === wanted) return;
    sampled.stopTaking();
    batch(() => {
      sampled.openSamples(wanted);
      name.value = wanted;
      stored.value.value = null;
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
    sampled.forgetSamples(of);
    if (name.value === of) name.value = '';
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

  return {
    ...sampled,
    ...tests,
    list,
    stored,
    helps,
    loadHelps,
    saving,
    deleting,
    name,
    draft,
    draftOf,
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
    save,
    rejected,
    countRejected,
  };
}
