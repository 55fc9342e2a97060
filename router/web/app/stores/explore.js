// Explore: one search over tables and a range, its rows by pages, its histogram, its fields and the row that is open.

import { batch, computed, effect, signal } from '../../vendor/core.js';
import { toggleAny, toggleClause, toggleExclusion, wantedWords } from '../lib/edit.js';
import { addPage, dropFar, indexOf, noPages, refill, rowAt } from '../lib/pages.js';
import { formatShare } from '../lib/format.js';
import { shapeOf } from '../lib/shape.js';
import { createLatest } from './latest.js';

/** @typedef {import('../lib/line.js').Row} Row */
/** @typedef {ReturnType<typeof createExplore>} Explore */
/** @typedef {{name: string, type: string, index: string | null, role: string | null, fill: number, unique: number, rank: number}} Field */

const pageSize = 200;
const mostRows = 10000;
export const mostColumns = 12;
const contextStep = 20;
const mostContext = 200;
const firstOpen = 5; // fields that are open before somebody opens others
export const exploreDefaults = { db: 'public', from: '-1h', by: 'level', order: 'newest', view: 'rows' };

/**
 * @param {object} with_
 * @param {import('../lib/api.js').Api} with_.api
 * @param {import('./place.js').PlaceStore} with_.place
 * @param {import('./prefs.js').Prefs} with_.prefs
 * @param {typeof import('./latest.js').clock} with_.clock
 * @param {Pick<Storage, 'getItem' | 'setItem'>} [with_.drafts] keeps what is typed while the page is loaded again
 */
export function createExplore({ api, place, prefs, clock, drafts }) {
  const param = (/** @type {string} */ name, fallback = '') => place.here.value.params.get(name) ?? fallback;
  const state = computed(() => ({
    db: param('db', 'public'),
    asked: place.here.value.params.has('t'), // else the table that was used last
    tables: tablesOf(place.here.value.params.getAll('t'), prefs.table.value),
    q: param('q'),
    from: param('from', '-1h'),
    to: param('to'),
    by: param('by', 'level'),
    order: param('order', 'newest'),
    row: param('row'),
    view: param('view', 'rows'),
    cols: param('cols').split(',').filter(Boolean),
    hide: param('hide').split(',').filter(Boolean),
    wrap: param('wrap') === '1',
    afrom: param('afrom'), // a part of the range that is compared with the rest
    ato: param('ato'),
    bq: param('bq'), // a second search, whose rows are compared with those of the first
    partial: param('partial') === '1', // an answer of some of the shards is good enough
  }));

  const draft = signal(state.value.q);
  let recalled = recallDraft(); // what was typed and not run before the page was loaded again
  effect(() => drafts?.setItem('cordwood.draft', JSON.stringify([state.value.q, draft.value])));
  const begin = signal(''); // the row at which the list begins; empty: the first of the range
  const fields = createLatest(clock);
  const first = createLatest(clock);
  const more = createLatest(clock);
  const hits = createLatest(clock);
  const facets = createLatest(clock);
  const compiled = createLatest(clock);
  const opened = createLatest(clock);
  const around = createLatest(clock);
  const reach = signal(contextStep); // rows on each side in the context
  const apart = signal(/** @type {string[]} */ ([])); // fields that neighbours need not share
  const list = signal(noPages());
  const range = signal(/** @type {{from: string, to: string} | null} */ (null));
  const picked = signal(/** @type {{anchor: number, end: number} | null} */ (null)); // rows that are selected, by place
  const unfolded = signal(''); // id of the row that is shown whole in the list
  const refresh = signal(0); // seconds between runs by themselves; 0: off
  const reads = createLatest(clock); // how much a run reads that takes long
  const newer = createLatest(clock); // how many rows came since the run
  const differing = signal(/** @type {[Row, Row] | null} */ (null)); // two rows that are compared
  const openFields = signal(/** @type {string[]} */ ([]));
  let ran = ''; // the tables whose fields are known
  let runs = 0;
  let early = false; // a run has begun before the page is drawn
  let seen = 0;
  let aroundOf = '';

  const shape = computed(() => shapeOf(fields.value.value));
  const marks = computed(() => wantedWords(state.value.q));
  const total = computed(() => hits.value.value?.total ?? null);

  /** What every request of a run asks about. */
  function scope() {
    const { db, tables, q, from, to, partial } = state.value;
    const at = range.value;
    return { db, tables, from: at?.from ?? from, to: (at?.to ?? to) || null, query: q, allow_partial: partial || undefined };
  }

  /**
   * @param {string} path
   * @param {Record<string, unknown>} body
   */
  function ask(path, body) {
    return (/** @type {AbortSignal} */ signal) => api.json({ path: `/v1/explore/${path}`, body, signal });
  }

  /**
   * Asks for everything that the address says, from the begin. Rows are asked for at once, beside the fields that say what is in them.
   * @param {{again?: boolean}} [how] again: by itself; what is typed stays
   */
  async function run({ again = false } = {}) {
    const { tables, order } = state.value;
    if (tables.length === 0) return;
    const own = ++runs;
    forget(again);
    const known = learnFields();
    const body = scope();
    const rows = first.run(async (signal) => {
      const [answer] = await Promise.all([ask('rows', { ...body, limit: pageSize, order })(signal), known]);
      batch(() => {
        range.value = answer.range;
        list.value = addPage(noPages(), { cursor: '', rows: answer.rows, next: answer.next });
      });
      return answer;
    });
    void compiled.run(ask('compile', body));
    const there = await known;
    if (own !== runs) return;
    if (!there) {
      first.cancel(); // the panel says what is wrong with the fields
      return;
    }
    await Promise.all([rows.then(beginAtRow).then(loadIfSeen), count(body)]);
    await countFields();
  }

  /** Forgets what belongs to the run before. @param {boolean} again */
  function forget(again) {
    batch(() => {
      if (!again) draft.value = recalled ?? state.value.q;
      recalled = null;
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
    const { db, tables } = state.value;
    const key = JSON.stringify([db, tables]);
    if (ran === key) return true;
    ran = key;
    batch(() => {
      list.value = noPages();
      hits.value.value = null;
      facets.value.value = null;
      first.value.value = null;
    });
    await fields.run(ask('fields', { db, tables }));
    if (ran !== key) return false;
    if (fields.error.value) {
      ran = '';
      return false;
    }
    openFields.value = prefs.openFields.get(tableKey()) ?? firstFields();
    return true;
  }

  /** Loads the next page if the reader is at the end already, where nothing would change that asks for it. */
  async function loadIfSeen() {
    if (!first.error.value && seen > list.value.count - 50) await loadMore();
  }

  /** Has the list begin at the row that the address names, if that is not among the first ones: a link to a row shows it among others. */
  async function beginAtRow() {
    const { row, order } = state.value;
    if (!row || first.error.value || list.value.next === null || indexOf(list.value, row) >= 0) return;
    await more.run(async (signal) => {
      const answer = await ask('rows', { ...scope(), limit: pageSize, order, at: row })(signal);
      if (!answer.rows.some((/** @type {Row} */ r) => r.id === row)) return answer; // another search, or the row is gone
      batch(() => {
        begin.value = row;
        list.value = addPage(noPages(), { cursor: '', rows: answer.rows, next: answer.next });
      });
      return answer;
    });
  }

  /** The search that was typed before the page was loaded again, if it belongs to the same address. */
  function recallDraft() {
    try {
      const [q, text] = JSON.parse(drafts?.getItem('cordwood.draft') ?? '[]');
      return q === state.value.q && typeof text === 'string' ? text : null;
    } catch {
      return null;
    }
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
    else if (range.value) await newer.run(ask('hits', { ...scope(), from: range.value.to, to: null, by: null, buckets: 1 }));
  }

  /** Shows a row whole in the list, or as one line again. */
  function unfold() {
    const at = picked.value?.end ?? indexOf(list.value, state.value.row);
    const id = rowAt(list.value, at).row?.id ?? '';
    unfolded.value = unfolded.value === id ? '' : id;
    return id !== '';
  }

  /** @param {ReturnType<typeof scope>} body */
  function count(body) {
    const by = state.value.by === 'none' ? null : state.value.by;
    const grouped = by === 'level' && !shape.value.scheme ? null : by;
    return hits.run(ask('hits', { ...body, by: grouped, tz: prefs.zone.value, buckets: 120 }));
  }

  /** Asks for the values of the fields that are open, once rows are on screen. */
  async function countFields() {
    if (openFields.value.length === 0 || first.error.value) return;
    await facets.run(ask('facets', { ...scope(), fields: openFields.value.slice(0, 24), top: 10, own: 'exclude' }));
  }

  function firstFields() {
    const level = shape.value.level && shape.value.scheme !== 'status' ? [shape.value.level] : [];
    const useful = usefulFields()
      .filter((/** @type {Field} */ f) => f.unique < 0.5)
      .map((/** @type {Field} */ f) => f.name);
    return [...new Set([...level, ...useful])].slice(0, firstOpen);
  }

  /** Fields that tell rows apart: those with a few values that many rows have. */
  function usefulFields() {
    /** @type {Field[]} */
    const all = fields.value.value?.fields ?? [];
    return all
      .filter((f) => f.fill >= 0.05 && f.role !== 'time' && f.role !== 'message' && f.role !== 'error' && f.role !== 'trace')
      .sort((a, b) => a.rank - b.rank)
      .slice(0, 20);
  }

  /** Loads the next page. */
  async function loadMore() {
    const { next } = list.value;
    if (!next || more.since.value || first.since.value) return;
    await more.run(async (signal) => {
      const answer = await page(next, signal);
      list.value = addPage(list.value, { cursor: next, rows: answer.rows, next: answer.next });
      return answer;
    });
    if (!more.error.value && list.value.next !== next) await loadIfSeen();
  }

  /**
   * @param {string} cursor
   * @param {AbortSignal} signal
   */
  function page(cursor, signal) {
    const at = cursor ? { cursor } : begin.value ? { at: begin.value } : {};
    return ask('rows', { ...scope(), limit: pageSize, order: state.value.order, ...at })(signal);
  }

  /**
   * Says which rows are seen: asks for those that are not there, and drops those that are far away.
   * @param {number} from
   * @param {number} to
   */
  function see(from, to) {
    seen = to;
    list.value = dropFar(list.value, Math.floor((from + to) / 2), mostRows);
    if (to > list.value.count - 50) void loadMore();
    for (const index of [from, to - 1]) {
      const { row, page: missing } = rowAt(list.value, index);
      if (row || !missing || more.since.value) continue;
      void more.run(async (signal) => {
        const answer = await page(missing.cursor, signal);
        list.value = refill(list.value, missing.cursor, answer.rows);
        return answer;
      });
    }
  }

  /**
   * Changes the address: what the result depends on makes an entry in the history.
   * @param {Partial<Record<'db' | 'q' | 'from' | 'to' | 'by' | 'order' | 'row' | 'cols' | 'hide' | 'wrap' | 'view' | 'afrom' | 'ato' | 'bq' | 'partial', string>> & {t?: string[]}} change
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
      cols: s.cols.join(','),
      order: s.order,
      row: s.row,
      view: s.view,
      hide: s.hide.join(','),
      wrap: s.wrap ? '1' : '',
      afrom: s.afrom,
      ato: s.ato,
      bq: s.bq,
      partial: s.partial ? '1' : '',
      ...change,
    };
    place.set('explore', values, exploreDefaults, how);
  }

  /** The fields whose value the neighbours of a row share: those of its source. */
  function sharedFields() {
    const sources = (fields.value.value?.fields ?? []).filter((/** @type {Field} */ f) => f.role === 'source');
    return sources.map((/** @type {Field} */ f) => f.name).filter((/** @type {string} */ name) => !apart.value.includes(name));
  }

  /**
   * The neighbours that are on screen, and the row between them.
   * @returns {Row[]}
   */
  function contextRows() {
    const answer = around.value.value;
    return answer ? [...answer.before, answer.row, ...answer.after] : [];
  }

  /** Loads the rows before and after the one that is open, without the search. */
  async function loadContext() {
    const row = opened.value.value;
    if (state.value.view !== 'context' || !row) return;
    const same = sharedFields();
    const key = JSON.stringify([state.value.db, row.table, same, reach.value]);
    if (key === aroundOf && contextRows().some((r) => r.id === row.id)) return; // it is there: nothing moves
    aroundOf = key;
    const table = row.table ?? state.value.tables[0];
    const body = { db: state.value.db, table, id: row.id, before: reach.value, after: reach.value, same };
    await around.run(ask('context', body));
  }

  /**
   * Selects the rows from the one that was selected or opened before to another.
   * @param {number} index
   */
  function pick(index) {
    const at = Math.max(0, Math.min(list.value.count - 1, index));
    const from = picked.value?.anchor ?? Math.max(0, indexOf(list.value, state.value.row));
    picked.value = { anchor: from, end: at };
  }

  /** The selected rows that are loaded. */
  function pickedRows() {
    if (!picked.value) return [];
    const { anchor, end } = picked.value;
    const rows = [];
    for (let i = Math.min(anchor, end); i <= Math.max(anchor, end); i++) {
      const { row } = rowAt(list.value, i);
      if (row) rows.push(row);
    }
    return rows;
  }

  /** What is chosen for a table is kept under its name. */
  function tableKey() {
    return `${state.value.db}.${state.value.tables.join()}`;
  }

  /** @param {string[]} cols */
  function setColumns(cols) {
    prefs.columns.set(tableKey(), cols);
    set({ cols: cols.join(',') });
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
      opened.value.value = null;
      return;
    }
    const at = indexOf(list.value, id);
    const known = at < 0 ? null : rowAt(list.value, at).row;
    if (known && !known.cut) {
      opened.cancel();
      opened.value.value = known;
      return;
    }
    const table = known?.table ?? state.value.tables[0];
    await opened.run(async (signal) => {
      const answer = await ask('row', { db: state.value.db, table, id })(signal);
      return answer.row;
    });
  }

  /**
   * @param {string} text
   */
  function search(text) {
    const history = prefs.history.value.filter((old) => old !== text);
    if (text.trim() !== '') prefs.history.value = [text, ...history];
    if (text === state.value.q) return run();
    set({ q: text, row: '' });
    return undefined;
  }

  return {
    state,
    draft,
    fields,
    first,
    more,
    hits,
    facets,
    compiled,
    opened,
    around,
    apart,
    sharedFields,
    loadContext,
    contextRows,
    contextMore: computed(() => reach.value < mostContext),
    widenContext() {
      reach.value = Math.min(mostContext, reach.value * 3);
      return loadContext();
    },
    begin,
    list,
    range,
    shape,
    marks,
    total,
    openFields,
    picked,
    unfolded,
    unfold,
    refresh,
    refreshNow,
    newer,
    reads,
    askReads: () => reads.run(ask('compile', { ...scope(), plan: true })),
    differing,
    /**
     * Says how many of the rows have a value, if that was counted.
     * @param {string} name
     * @param {unknown} value
     */
    shareOf(name, value) {
      const { rows, exact, fields: counted } = facets.value.value ?? {};
      const found = counted?.find((/** @type {any} */ f) => f.name === name)?.values.find((/** @type {any} */ v) => v.value === value);
      if (!found || !rows) return '';
      return `${exact === false ? '≈ ' : ''}${formatShare(found.count / rows)} of rows`;
    },
    pick,
    pickedRows,
    loadedRows: () => list.value.pages.flatMap((page) => page.rows ?? []),
    /** Selects no row, and shows none whole. */
    clearPicked() {
      picked.value = null;
      unfolded.value = '';
    },
    /** The search text, with a name in the place of what the server did not know. @param {string} name */
    replaceFault(name) {
      const at = (first.error.value ?? fields.error.value)?.at;
      if (!at) return state.value.q;
      const bytes = new TextEncoder().encode(state.value.q);
      const text = (/** @type {Uint8Array} */ part) => new TextDecoder().decode(part);
      return text(bytes.slice(0, at.offset)) + name + text(bytes.slice(at.offset + at.length));
    },
    usefulFields,
    unknownNames: () => [...new Set(place.here.value.params.keys())].filter((name) => name !== 't' && !Object.hasOwn(state.value, name)),
    run,
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
    see,
    set,
    open,
    loadOpened,
    countFields,
    scope,
    search,
    /**
     * @param {string} field
     * @param {string} prefix
     */
    valuesFor: async (field, prefix) => {
      const answer = await api.json({ path: '/v1/explore/values', body: { ...scope(), query: '', field, prefix, limit: 10 } });
      return answer.values;
    },
    cancel: () => [fields, first, more, hits, facets].forEach((latest) => latest.cancel()),
    /** @param {string} clause */
    only: (clause) => search(toggleClause(state.value.q, clause)),
    /** Any of these. @param {string} field @param {string} value */
    either: (field, value) => search(toggleAny(state.value.q, field, value, field === shape.value.level ? ':' : '=')),
    /** @param {string} clause */
    without: (clause) => search(toggleExclusion(state.value.q, clause)),
    /** @param {string} name */
    toggleField(name) {
      const open = openFields.value;
      openFields.value = open.includes(name) ? open.filter((n) => n !== name) : [...open, name];
      prefs.openFields.set(tableKey(), openFields.value);
      if (openFields.value.includes(name)) void countFields();
    },
    /** @param {string} name */
    toggleColumn(name) {
      const cols = state.value.cols;
      setColumns(cols.includes(name) ? cols.filter((n) => n !== name) : [...cols, name].slice(0, mostColumns));
    },
    /**
     * Puts a column at the place of another.
     * @param {number} from
     * @param {number} to
     */
    moveColumn(from, to) {
      const cols = [...state.value.cols];
      const [moved] = cols.splice(from, 1);
      cols.splice(to, 0, moved);
      setColumns(cols);
    },
    setColumns,
    /** The columns that were chosen for the table, if the address names none. */
    recallColumns() {
      const kept = prefs.columns.get(tableKey());
      if (state.value.cols.length === 0 && Array.isArray(kept) && kept.length > 0) set({ cols: kept.join(',') }, { replace: true });
    },
    widths: computed(() => /** @type {Record<string, number>} */ (prefs.widths.get(tableKey()) ?? {})),
    /**
     * @param {string} name
     * @param {number} width
     */
    widen: (name, width) => prefs.widths.set(tableKey(), { ...prefs.widths.get(tableKey()), [name]: width }),
    /** What is missing from the answers on screen; null: nothing. */
    missing: computed(() => first.value.value?.partial ?? hits.value.value?.partial ?? facets.value.value?.partial ?? null),
  };
}

/**
 * @param {string[]} asked
 * @param {string} last the table that was used last
 */
function tablesOf(asked, last) {
  if (asked.length > 0) return asked;
  return last ? [last] : [];
}
