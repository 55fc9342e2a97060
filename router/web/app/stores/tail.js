// Live tail: new rows of a table as they are committed, in a ring. Held, the list stands still and the rows go on into it.

import { batch, computed, effect, signal } from '../../vendor/core.js';
import { isAbort } from '../lib/api.js';
import { replaceBytes, wantedWords } from '../lib/edit.js';
import { readLines } from '../lib/ndjson.js';
import { emptyRing, push } from '../lib/ring.js';
import { shapeOf } from '../lib/shape.js';
import { unknownParts } from '../lib/url.js';
import { askedFor, keyOf, rolesOf } from './columns.js';
import { createLatest } from './latest.js';
import { createReload } from './reload.js';

/** @typedef {import('../lib/line.js').Row} Row */

export const ringSizes = [1000, 10000];
const mostBytes = 16 << 20;
const drawEvery = 100;
const quietAfter = 3000; // ms without a row after which the rate is 0
const noTable = 4001; // code of an error: there is no such table
const tableWait = 2000; // ms until the page asks again

/**
 * @param {object} with_
 * @param {import('../lib/api.js').Api} with_.api
 * @param {import('./place.js').PlaceStore} with_.place
 * @param {import('./prefs.js').Prefs} with_.prefs
 * @param {typeof import('./latest.js').clock} with_.clock
 * @param {Pick<Storage, 'getItem' | 'setItem'>} [with_.session] keeps a search that was typed and not run
 */
export function createTail({ api, place, prefs, clock, session }) {
  const params = computed(() => place.here.value.params);
  const state = computed(() => ({
    db: params.value.get('db') ?? 'public',
    table: params.value.get('t') ?? prefs.table.value,
    q: params.value.get('q') ?? '',
    wrap: params.value.get('wrap') === '1',
  }));
  const roles = computed(() => {
    const kept = rolesOf(prefs, state.value.db, [state.value.table]);
    return { message: params.value.get('message') || kept.message, level: params.value.get('level') || kept.level };
  });
  const columns = computed(() => /** @type {string[]} */ (prefs.columns.get(keyOf(state.value.db, [state.value.table])) ?? []));
  const draft = signal('');
  const search = () => JSON.stringify([place.page.value, state.value.db, state.value.table, state.value.q]);
  const reload = createReload(session, search, 'cordwood.tail');
  effect(() => reload.keep('draft', draft.value));
  let followed = ''; // the search of the last call of follow
  const fields = createLatest(clock);
  const ring = emptyRing();
  const drawn = signal({ count: 0, dropped: 0, still: false });
  const held = signal(/** @type {{at: number, seen: number} | null} */ (null));
  const live = signal(false);
  const ended = signal('');
  const trying = signal(false); // it has ended and begins again by itself
  const fault = signal(/** @type {{offset: number, length: number} | null} */ (null)); // the part of the search that is wrong, in bytes
  const nearest = signal(/** @type {string[]} */ ([])); // names that the wrong part may mean
  const rate = signal(0);
  const most = signal(10000);
  /** @type {Set<string>} */
  const known = new Set();
  /** @type {AbortController | null} */
  let current = null;

  const shape = computed(() => shapeOf(fields.value.value));
  const received = () => ring.dropped + ring.items.length;
  /** @type {Row[] | null} */
  let kept = null; // what a held list shows from when the ring would drop rows of it
  const shown = () => (held.value && kept ? kept : ring.items);

  /** What the address has that this page does not know. */
  const ignored = computed(() => {
    if (place.page.value !== 'tail') return [];
    return unknownParts(params.value, { db: null, t: null, q: null, wrap: null, message: null, level: null });
  });
  const isMissing = () => fields.error.value?.code === noTable;
  /** Whether the tail has ended, or has not begun, because of an error. */
  const stopped = () => !live.value && !isMissing() && (ended.value !== '' || fields.error.value !== null);

  /** @param {string} since stored rows that come first; empty: none */
  async function follow(since = '') {
    stop();
    const own = new AbortController();
    current = own;
    const { db, table, q } = state.value;
    const asked = askedFor(roles.value);
    batch(() => {
      if (search() !== followed) draft.value = reload.take('draft') ?? q; // else the reader may be typing
      followed = search();
      ended.value = '';
      fault.value = null;
      nearest.value = [];
      live.value = false;
    });
    if (!table) return;
    const learn = () => fields.run((signal) => api.json({ path: '/v1/explore/fields', body: { db, tables: [table], ...asked }, signal }));
    await learn();
    while (current === own && isMissing()) {
      await clock.wait(tableWait, own.signal).catch(() => {});
      since = `${(2 * tableWait) / 1000}s`; // the rows that created it
      if (current === own) await learn();
    }
    if (current !== own || fields.error.value) return;
    for (let tries = 0; current === own;) {
      const why = await stream(own, tailPath({ db, table, search: q, since, ...asked }));
      if (current !== own || !why) return;
      ended.value = why.text;
      trying.value = why.again;
      if (live.value) tries = 0; // the server answered
      live.value = false;
      if (!why.again) return;
      since = `${Math.ceil((clock.now() - lastSeen) / 1000) + 1}s`;
      await clock.wait(Math.min(1000 * 2 ** tries++, 10000), own.signal).catch(() => {});
    }
  }

  let lastSeen = clock.now();

  /**
   * Reads one answer to its end.
   * @param {AbortController} own
   * @param {string} path
   * @returns {Promise<{text: string, again: boolean} | null>} why it ended; null: it was stopped
   */
  async function stream(own, path) {
    try {
      const response = await api.send({ path, signal: own.signal });
      live.value = true;
      ended.value = '';
      for await (const { values, sizes } of readLines(/** @type {any} */ (response.body))) {
        if (current !== own) return null;
        lastSeen = clock.now();
        const last = values[values.length - 1];
        if (last && 'code' in last && 'error' in last && Object.keys(last).length === 2) return endOf(last);
        add(values, sizes);
      }
      return { text: 'The server ended the tail. Reconnecting.', again: true };
    } catch (error) {
      if (isAbort(error)) return null;
      const { status, at, nearest: names } = /** @type {any} */ (error);
      fault.value = at ?? null;
      nearest.value = names ?? [];
      const again = status === 0 || status === undefined || status === 503;
      return { text: `${/** @type {Error} */ (error).message}${again ? ' Trying again.' : ''}`, again };
    }
  }

  /**
   * @param {Row[]} rows
   * @param {number[]} sizes
   */
  function add(rows, sizes) {
    // An id that is there already is that of a row that came by `since` as well.
    const fresh = rows.map((row, i) => ({ row, size: sizes[i] })).filter(({ row }) => !known.has(row.id));
    for (const { row } of fresh) known.add(row.id);
    const before = ring.items.slice(0, fresh.length).concat(fresh.map(({ row }) => row));
    const dropped = ring.dropped;
    const there = held.value && !kept ? ring.items.slice() : null;
    push(
      ring,
      fresh.map(({ row }) => row),
      fresh.map(({ size }) => size),
      most.value,
      mostBytes,
    );
    for (const row of before.slice(0, ring.dropped - dropped)) known.delete(row.id);
    if (there && ring.dropped > dropped) kept = there;
    counted += fresh.length;
    schedule();
  }

  let counted = 0;
  let countedAt = clock.now();
  let due = false;
  let quiet = /** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined);

  /** Draws at most ten times a second. */
  function schedule() {
    clearTimeout(quiet);
    quiet = setTimeout(() => {
      rate.value = counted = 0;
      countedAt = clock.now();
    }, quietAfter);
    if (due) return;
    due = true;
    setTimeout(() => {
      due = false;
      const now = clock.now();
      if (now - countedAt >= 1000) {
        rate.value = Math.round((counted * 1000) / (now - countedAt));
        counted = 0;
        countedAt = now;
      }
      const dropped = held.value && kept ? drawn.value.dropped : ring.dropped;
      const count = held.value ? Math.min(shown().length, held.value.seen - dropped) : ring.items.length; // what comes while it is held waits
      drawn.value = { count, dropped, still: Boolean(held.value && kept) };
    }, drawEvery);
  }

  function stop() {
    current?.abort();
    current = null;
    live.value = false;
    rate.value = 0;
    clearTimeout(quiet);
  }

  return {
    isMissing,
    stopped,
    fault,
    nearest,
    ignored,
    state,
    draft,
    fields,
    shape,
    drawn,
    held,
    live,
    ended,
    trying,
    rate,
    most,
    marks: computed(() => wantedWords(state.value.q)),
    at: (/** @type {number} */ index) => shown()[index] ?? null,
    columns,
    roles,
    /** The search text, with a name in the place of what the server did not know. @param {string} name */
    replaceFault: (name) => (fault.value ? replaceBytes(state.value.q, fault.value, name) : state.value.q),
    /** Asks for a row with its values uncut. @param {Row} row @returns {Promise<Row>} */
    wholeRow: ({ id, table }) => api.json({ path: '/v1/explore/row', body: { db: state.value.db, table, id } }),
    fresh: () => (held.value ? received() - held.value.seen : 0),
    follow,
    stop,
    hold() {
      held.value ??= { at: clock.now(), seen: received() };
    },
    /** Draws a line below the rows that have come so far, with the time. */
    mark() {
      const at = clock.now();
      push(ring, [{ id: `mark ${at} ${received()}`, time: new Date(at).toISOString(), table: '', v: {}, mark: true }], [40], most.value, mostBytes);
      if (held.value) held.value = { ...held.value, seen: received() };
      schedule();
    },
    release() {
      held.value = null;
      kept = null;
      drawn.value = { count: ring.items.length, dropped: ring.dropped, still: false };
    },
    clear() {
      Object.assign(ring, emptyRing());
      known.clear();
      held.value = null;
      kept = null;
      drawn.value = { count: 0, dropped: 0, still: false };
    },
    /**
     * @param {{t?: string, db?: string, q?: string, wrap?: string}} change
     * @param {{replace?: boolean}} [how]
     */
    set(change, how) {
      const { db, table, q, wrap } = state.value;
      place.set('tail', { db, t: table, q, wrap: wrap ? '1' : '', ...(change.t ? {} : roles.value), ...change }, { db: 'public' }, how);
    },
  };
}

/** @param {Record<string, string | undefined>} parameters those that are empty are left out */
function tailPath(parameters) {
  const query = new URLSearchParams({ shape: 'row' });
  for (const [name, value] of Object.entries(parameters)) if (value) query.set(name, value);
  return `/v1/tail?${query}`;
}

/** @param {{code: number, error: string}} last */
function endOf(last) {
  if (last.code === 6001) {
    return { text: 'The browser was too slow: some rows are missing here, but not in the table. Reconnecting.', again: true };
  }
  return { text: last.error, again: last.code === 4008 || last.code === 5003 };
}
