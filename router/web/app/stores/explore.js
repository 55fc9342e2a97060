// Explore: one search over tables and a range, its rows by pages, its histogram, its fields and the row that is open.

import { batch, computed, effect, signal } from '../../vendor/core.js';
import { quoteFault, replaceBytes, valuesOf as chosenValues, wantedWords } from '../lib/edit.js';
import { addPage, indexOf, noPages, rowAt } from '../lib/pages.js';
import { shapeOf, tableField, withPaths } from '../lib/shape.js';
import { joinNames } from '../lib/url.js';
import { createColumns } from './columns.js';
import { createCounts } from './counts.js';
import { createExploreState, createNamedFields, exploreDefaults } from './explorestate.js';
import { createLatest } from './latest.js';
import { createNeighbours } from './neighbours.js';
import { createReload } from './reload.js';
import { createRowList, pageSize } from './rowlist.js';
import { createClicks, createDraft } from './searchtext.js';
import { createSelection } from './selection.js';

/** @typedef {import('../lib/line.js').Row} Row */
/** @typedef {ReturnType<typeof createExplore>} Explore */
/** @typedef {{name: string, type: string, index: string | null, role: string | null, fill: number, unique: number, rank: number, json_paths?: string[]}} Field */

const longestWait = 60; // ms that the counts wait for the range of the rows
const firstOpen = 5; // fields that are open before somebody opens others

/**
 * @param {object} with_
 * @param {import('../lib/api.js').Api} with_.api
 * @param {import('./place.js').PlaceStore} with_.place
 * @param {import('./prefs.js').Prefs} with_.prefs
 * @param {typeof import('./latest.js').clock} with_.clock
 * @param {Pick<Storage, 'getItem' | 'setItem'>} [with_.session] the storage of this tab
 */
export function createExplore({ api, place, prefs, clock, session }) {
  const { state, param, ignored } = createExploreState(place, prefs);
  const fields = createLatest(clock);
  const named = createNamedFields(state, fields);
  const columns = createColumns({ state, cols: named.cols, set, param, prefs });

  const reload = createReload(session, () => {
    const { db, tables, q, from, to, order } = state.value;
    return JSON.stringify([db, tables, q, from, to, order, columns.roles.value]);
  });
  const { draft, begin: beginDraft } = createDraft(state, reload);
  const first = createLatest(clock);
  const compiled = createLatest(clock);
  const opened = createLatest(clock);
  const range = signal(/** @type {{from: string, to: string} | null} */ (null));
  const refresh = signal(0); // seconds between runs by themselves; 0: off
  const reads = createLatest(clock); // how much a run reads that takes long
  const openFields = signal(/** @type {string[]} */ ([]));
  let ran = ''; // the tables whose fields are known
  let runs = 0;
  let early = false; // a run has begun before the page is drawn
  let drawn = false; // the page was drawn before

  const shape = computed(() => shapeOf(fields.value.value));
  const several = computed(() => state.value.tables.length > 1 || Boolean(state.value.tables[0]?.includes('*')));
  const listed = computed(() => {
    const all = withPaths(/** @type {Field[]} */ (fields.value.value?.fields ?? []));
    return several.value && all.length > 0 ? [tableField, ...all] : all;
  });
  const marks = computed(() => wantedWords(state.value.q));
  const refused = computed(() => first.error.value?.status === 400 || fields.error.value?.status === 400);

  /** What every request of a run asks about. */
  function scope() {
    const { db, tables, q, from, to, partial } = state.value;
    const at = range.value;
    return {
      db,
      tables,
      from: at?.from ?? from,
      to: (at?.to ?? to) || null,
      query: q,
      allow_partial: partial || undefined,
      ...columns.asked(),
    };
  }

  /**
   * @param {string} path
   * @param {Record<string, unknown>} body
   */
  function ask(path, body) {
    return (/** @type {AbortSignal} */ signal) => api.json({ path: `/v1/explore/${path}`, body, signal });
  }

  const counts = createCounts({ ask, scope, state, by: named.by, shape, openFields, zone: prefs.zone, clock });
  const { hits, facets, newer } = counts;
  // Nothing that belongs to another search stands beside the error of this one.
  effect(() => {
    if (refused.value) [hits, facets, compiled].forEach((latest) => (latest.value.value = null));
  });
  const rowList = createRowList({ ask, scope, state, first, clock, reload });
  const { list, more, begin } = rowList;
  const selection = createSelection({ list, state });
  const { picked, unfolded } = selection;
  const neighbours = createNeighbours({ ask, state, fields, opened, clock });

  /**
   * Asks for everything that the address says. Rows are asked for at once, beside the fields that say what is in them.
   * @param {{again?: boolean}} [how] again: by itself; what is typed stays
   */
  async function run({ again = false } = {}) {
    const { tables, order } = state.value;
    if (tables.length === 0) return;
    const own = ++runs;
    forget(again);
    const known = learnFields();
    const body = scope();
    /** @type {(range: {from: string, to: string}) => void} */
    let answered;
    const ranged = /** @type {Promise<{from: string, to: string}>} */ (new Promise((resolve) => (answered = resolve)));
    const rows = first.run(async (signal) => {
      const asked = ask('rows', { ...body, limit: pageSize, order })(signal);
      void asked.then((answer) => answered(answer.range)).catch(() => {}); // the error is that of the run
      const [answer] = await Promise.all([asked, known]);
      batch(() => {
        range.value = answer.range;
        list.value = addPage(noPages(), {
          cursor: '',
          rows: answer.rows,
          next: answer.next,
        });
      });
      return answer;
    });
    const there = await known;
    // All that is on screen is of one moment, unless the rows take long.
    const moment = await Promise.race([ranged, clock.wait(longestWait, new AbortController().signal)]);
    if (own !== runs) return;
    const same = moment ? { ...body, from: moment.from, to: moment.to } : body;
    void compiled.run(ask('compile', same));
    if (!there) {
      first.cancel(); // the panel says what is wrong with the fields
      return;
    }
    await Promise.all([rows.then(rowList.beginAtRow).then(rowList.loadIfSeen), counts.countRows(same)]);
    await countFields();
  }

  /** Forgets what belongs to the run before. @param {boolean} again */
  function forget(again) {
    batch(() => {
      if (!again) beginDraft();
      begin.value = '';
      [newer, reads, more, facets, hits].forEach((latest) => latest.cancel());
      reads.value.value = null;
      newer.value.value = null;
      picked.value = null;
      range.value = null;
    });
  }

  /** Asks for the fields of the tables, if they are not those of the run before. Answers whether they are known. */
  async function learnFields() {
    const { db, tables, partial } = state.value;
    const key = JSON.stringify([db, tables, columns.roles.value, partial]);
    if (ran === key) return true;
    ran = key;
    batch(() => {
      list.value = noPages();
      hits.value.value = null;
      facets.value.value = null;
      first.value.value = null;
    });
    await fields.run(ask('fields', { db, tables, allow_partial: partial || undefined, ...columns.asked() }));
    if (ran !== key) return false;
    if (fields.error.value) {
      ran = '';
      return false;
    }
    openFields.value = prefs.openFields.get(columns.tableKey()) ?? firstFields();
    return true;
  }

  /**
   * Runs again while the newest rows are in sight and nobody reads; else counts what has come since.
   * @param {boolean} atBegin
   */
  async function refreshNow(atBegin) {
    const { view, row, from, to, order } = state.value;
    const moves = from.startsWith('-') && (to === '' || to === 'now');
    if (view !== 'rows' || row !== '' || !moves || first.since.value || hits.since.value) return;
    if (atBegin && order === 'newest' && !picked.value && !unfolded.value) await run({ again: true });
    else if (range.value) await counts.countNewer(range.value.to);
  }

  /** Counts the values of the fields that are open, once rows are on screen. */
  async function countFields() {
    if (!first.error.value) await counts.countValues();
  }

  function firstFields() {
    const level = shape.value.level && shape.value.scheme !== 'status' ? [shape.value.level] : [];
    const useful = usefulFields()
      .filter((f) => f.unique < 0.5)
      .map((f) => f.name);
    return [...new Set([...level, ...useful])].slice(0, firstOpen);
  }

  /** Fields that tell rows apart: those with a few values that many rows have. */
  function usefulFields() {
    return listed.value
      .filter((f) => f.fill >= 0.05 && !f.json_paths?.length && f.role !== 'time' && f.role !== 'message' && f.role !== 'error' && f.role !== 'trace')
      .sort((a, b) => a.rank - b.rank)
      .slice(0, 20);
  }

  /**
   * Changes the address: what the result depends on makes an entry in the history.
   * @param {Partial<Record<'db' | 'q' | 'from' | 'to' | 'by' | 'order' | 'row' | 'cols' | 'hide' | 'wrap' | 'view' | 'afrom' | 'ato' | 'bq' | 'partial' | 'message' | 'level', string>> & {t?: string[]}} change
   * @param {{replace?: boolean}} [how]
   */
  function set(change, how) {
    const s = state.value;
    const values = {
      db: s.db,
      t: s.tables,
      q: s.q,
      from: s.from,
      to: s.to,
      by: s.by,
      cols: joinNames(s.cols),
      order: s.order,
      row: s.row,
      view: s.view,
      hide: joinNames(s.hide),
      wrap: s.wrap ? '1' : '',
      afrom: s.afrom,
      ato: s.ato,
      bq: s.bq,
      partial: s.partial ? '1' : '',
      ...(change.t ? {} : columns.roles.value), // those of another table are others
      ...change,
    };
    place.set('explore', values, exploreDefaults, how);
  }

  /** @param {Row | null} row */
  function open(row) {
    set({ row: row?.id ?? '', ...(row ? {} : { view: 'rows' }) }, { replace: state.value.row !== '' });
  }

  /** Loads the row that the address names, with its values uncut. */
  async function loadOpened() {
    const id = state.value.row;
    if (!id) {
      opened.cancel();
      opened.value.value = opened.error.value = null;
      return;
    }
    const at = indexOf(list.value, id);
    const known = at < 0 ? null : rowAt(list.value, at).row;
    if (known && !known.cut) {
      opened.cancel();
      opened.error.value = null;
      opened.value.value = known;
      return;
    }
    const table = known?.table ?? state.value.tables[0];
    await opened.run(ask('row', { db: state.value.db, table, id, allow_partial: state.value.partial || undefined })); // the answer is the row
  }

  /** @param {{query: string, field: string, prefix: string, limit: number}} wanted */
  async function valuesOf(wanted) {
    const answer = await api.json({ path: '/v1/explore/values', body: { ...scope(), ...wanted } });
    return answer.values;
  }

  /**
   * @param {string} text
   * @param {{view?: string, row?: string}} [also] what changes with it
   */
  function search(text, also = {}) {
    const history = prefs.history.value.filter((old) => old !== text);
    if (text.trim() !== '') prefs.history.value = [text, ...history];
    if (text === state.value.q && !also.view) return run();
    set({ q: text, row: '', ...also });
    return undefined;
  }

  const clicks = createClicks({ state, draft, shape, fields: listed, search });

  return {
    ...rowList,
    ...counts,
    ...clicks,
    ...selection,
    ...neighbours,
    ...columns,
    state,
    draft,
    fields,
    first,
    compiled,
    opened,
    range,
    shape,
    marks,
    refused,
    openFields,
    refresh,
    refreshNow,
    reads,
    askReads: () => reads.run(ask('compile', { ...scope(), plan: true })),
    /** The search text, with a name in the place of what the server did not know. @param {string} name */
    replaceFault(name) {
      const at = (first.error.value ?? fields.error.value)?.at;
      return at ? replaceBytes(state.value.q, at, name) : state.value.q;
    },
    /** The search text with what the server did not understand in quotes. */
    faultAsText() {
      const at = (first.error.value ?? fields.error.value)?.at;
      return at ? quoteFault(state.value.q, at) : state.value.q;
    },
    listed,
    several,
    usefulFields,
    ...named,
    ignored,
    run,
    /** Shows the list as it was when the reader left the page; the first time, that is what a reload has kept. */
    comeBack() {
      if (drawn) reload.comeBack();
      drawn = true;
    },
    /** Begins before the page is drawn; the page then does not begin again. */
    runEarly() {
      early = state.value.tables.length > 0;
      void run();
    },
    /** Runs what the address says, unless that has begun already. */
    runOnce() {
      if (!early) void run();
      early = false;
    },
    set,
    open,
    loadOpened,
    countFields,
    scope,
    search,
    /** Values that begin so, whatever the search is. @param {string} field @param {string} prefix */
    valuesFor: (field, prefix) => valuesOf({ query: '', field, prefix, limit: 10 }),
    /** Values that begin so, in the search; a search for other values of the field does not count. @param {string} field @param {string} prefix */
    findValues: (field, prefix) => valuesOf({ query: chosenValues(state.value.q, field).size > 0 ? '' : state.value.q, field, prefix, limit: 20 }),
    cancel: () => [fields, first, more, hits, facets].forEach((latest) => latest.cancel()),
    /** @param {string} name */
    toggleField(name) {
      const open = openFields.value;
      openFields.value = open.includes(name) ? open.filter((n) => n !== name) : [...open, name];
      prefs.openFields.set(columns.tableKey(), openFields.value);
      if (openFields.value.includes(name)) void countFields();
    },
    /** What is missing from the answers on screen; null: nothing. */
    missing: computed(() => fields.value.value?.partial ?? first.value.value?.partial ?? hits.value.value?.partial ?? facets.value.value?.partial ?? null),
  };
}
