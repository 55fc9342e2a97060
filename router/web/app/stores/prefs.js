// What a reader chose for this browser: theme, zone, density, columns of a table. Kept in local storage.

import { effect, signal } from '../../vendor/core.js';
import { browserZone } from '../lib/time.js';

/** @typedef {ReturnType<typeof createPrefs>} Prefs */

/** @typedef {{text: string, at?: number, ms?: number, failed?: boolean, cancelled?: boolean}} Run a statement that ran, when, for how long and how it ended */

const mostTables = 200;

/** @param {any} entry a run, or a text alone @returns {Run | null} */
function asRun(entry) {
  if (typeof entry === 'string') return { text: entry };
  return typeof entry?.text === 'string' ? entry : null;
}

/** @param {Pick<Storage, 'getItem' | 'setItem'>} storage */
export function createPrefs(storage) {
  return {
    theme: kept('theme', 'system'),
    zone: kept('zone', browserZone),
    density: kept('density', 'normal'),
    singleKeys: kept('keys', 'on'),
    table: kept('table', ''),
    user: kept('user', ''), // the name that signed in last
    fieldsWidth: kept('fields-width', '256'), // pixels
    detailWidth: kept('detail-width', '412'),
    fieldsShown: kept('fields-shown', 'yes'),
    history: list('history'),
    sqlHistory: list('sql-history', asRun), // the statements that ran, the newest first
    /** The texts whose patterns are shown, of tables without a message: table=field, the one chosen last first. */
    patternFields: list('pattern-fields'),
    /** Of each table, by db.table: its columns, the fields that are open, the widths of columns. */
    columns: byTable('columns'),
    openFields: byTable('open-fields'),
    widths: byTable('widths'),
    roles: byTable('roles'), // the columns with the message and the level
  };

  /**
   * What was chosen for tables. The tables that were used last are kept.
   * @param {string} name
   */
  function byTable(name) {
    const all = signal(parsed(name, {}));
    effect(() => write(name, JSON.stringify(Object.fromEntries(Object.entries(all.value).slice(-mostTables)))));
    return {
      /** @param {string} table */
      get: (table) => /** @type {any} */ (all.value[table]),
      /**
       * @param {string} table
       * @param {string[] | Record<string, number> | Record<string, string>} value
       */
      set(table, value) {
        const others = Object.entries(all.value).filter(([name]) => name !== table);
        all.value = { ...Object.fromEntries(others), [table]: value }; // the last one
      },
    };
  }

  /**
   * @param {string} name
   * @param {Record<string, unknown>} initial
   */
  function parsed(name, initial) {
    try {
      const stored = JSON.parse(read(name) ?? 'null');
      return typeof stored === 'object' && stored !== null && !Array.isArray(stored) ? stored : initial;
    } catch {
      return initial; // the stored text is not JSON
    }
  }

  /**
   * @param {string} name
   * @param {string} initial
   */
  function kept(name, initial) {
    const value = signal(read(name) ?? initial);
    effect(() => write(name, value.value));
    return value;
  }

  /**
   * @template [T=string]
   * @param {string} name
   * @param {(entry: unknown) => T | null} [entry] null: it is of another version
   */
  function list(name, entry = (text) => /** @type {any} */ (typeof text === 'string' ? text : null)) {
    /** @type {T[]} */
    let initial = [];
    try {
      const stored = JSON.parse(read(name) ?? '[]');
      if (Array.isArray(stored)) initial = stored.map(entry).filter((kept) => kept !== null);
    } catch {
      // the stored text is not a list
    }
    const value = signal(initial);
    effect(() => write(name, JSON.stringify(value.value.slice(0, 200))));
    return value;
  }

  /** @param {string} name */
  function read(name) {
    try {
      return storage.getItem(`cordwood.${name}`);
    } catch {
      return null; // storage is switched off
    }
  }

  /**
   * @param {string} name
   * @param {string} text
   */
  function write(name, text) {
    try {
      storage.setItem(`cordwood.${name}`, text);
    } catch {
      // storage is full or switched off
    }
  }
}
