// The times of the newest rows of the tables in sight: one request for each, a few at a time.

import { signal } from '../../vendor/core.js';

const atOnce = 3;
const settle = 200; // milliseconds: nothing is asked for while the list is scrolled
const fresh = 60_000; // milliseconds for which the server keeps its answer too

/** @typedef {ReturnType<typeof createLastRows>} LastRows */

/**
 * @param {import('../lib/api.js').Api} api
 * @param {typeof import('./latest.js').clock} clock
 */
export function createLastRows(api, clock) {
  const times = signal(/** @type {Record<string, string>} */ ({})); // by JSON of database and table; empty: no row
  /** @type {Map<string, number>} when a table was asked about */
  const asked = new Map();
  /** @type {AbortController | null} */
  let current = null;

  /** @param {{db: string, name: string}[]} tables @param {AbortSignal} signal */
  async function askEach(tables, signal) {
    for (let next = tables.shift(); next && !signal.aborted; next = tables.shift()) {
      const key = keyOf(next);
      asked.set(key, clock.now());
      try {
        const { last_row: last } = await api.json({ path: '/v1/explore/fields', body: { db: next.db, tables: [next.name] }, signal });
        times.value = { ...times.value, [key]: last ?? '' };
      } catch {
        asked.delete(key); // asked again when it is seen again; the list says nothing of it
      }
    }
  }

  return {
    times,
    /** The newest row of a table as RFC 3339; empty: it has none; undefined: not known. @param {{db: string, name: string}} table */
    of: (table) => times.value[keyOf(table)],
    /** Asks about the tables in sight, and leaves off those that were. @param {{db: string, name: string}[]} tables */
    async see(tables) {
      current?.abort();
      const own = new AbortController();
      current = own;
      const wanted = tables.filter((t) => clock.now() - (asked.get(keyOf(t)) ?? -Infinity) > fresh);
      if (wanted.length === 0) return;
      await clock.wait(settle, own.signal).catch(() => {});
      if (own.signal.aborted) return;
      await Promise.all(Array.from({ length: atOnce }, () => askEach(wanted, own.signal)));
    },
    stop: () => current?.abort(),
  };
}

/** @param {{db: string, name: string}} table */
function keyOf({ db, name }) {
  return JSON.stringify([db, name]);
}
