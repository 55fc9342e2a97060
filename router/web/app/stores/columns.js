// What a reader chose for the columns of a table: those beside the line, and those with the message and the level.

import { computed } from '../../vendor/core.js';
import { joinNames } from '../lib/url.js';

export const mostColumns = 12;

/** @typedef {{message: string, level: string}} Roles names of columns; empty: the server finds the column by its name */

/**
 * @param {object} with_
 * @param {{value: {db: string, tables: string[], cols: string[]}}} with_.state
 * @param {{value: string[]}} with_.cols columns of the address that the tables have
 * @param {(change: {cols?: string, t?: string[], message?: string, level?: string}, how?: {replace?: boolean}) => void} with_.set changes the address
 * @param {(name: string) => string} with_.param reads the address
 * @param {import('./prefs.js').Prefs} with_.prefs
 */
export function createColumns({ state, cols: shown, set, param, prefs }) {
  /** What is chosen for a table is kept under its name. */
  const tableKey = () => keyOf(state.value.db, state.value.tables);

  /** The address counts before what this browser keeps. */
  const roles = computed(() => {
    const kept = rolesOf(prefs, state.value.db, state.value.tables);
    return { message: param('message') || kept.message, level: param('level') || kept.level };
  });

  /** @param {string[]} cols */
  function setColumns(cols) {
    prefs.columns.set(tableKey(), cols);
    set({ cols: joinNames(cols) });
  }

  return {
    tableKey,
    roles,
    /** The chosen columns, as requests have them. */
    asked: () => askedFor(roles.value),
    /** @param {'message' | 'level'} role @param {string} name empty: the server finds it */
    chooseRole(role, name) {
      const chosen = { ...roles.value, [role]: name };
      prefs.roles.set(tableKey(), chosen);
      set(chosen);
    },
    setColumns,
    /** @param {string} name */
    toggleColumn(name) {
      const cols = shown.value;
      setColumns(cols.includes(name) ? cols.filter((n) => n !== name) : [...cols, name].slice(0, mostColumns));
    },
    /**
     * Puts a column at the place of another.
     * @param {number} from
     * @param {number} to
     */
    moveColumn(from, to) {
      const cols = [...shown.value];
      const [moved] = cols.splice(from, 1);
      cols.splice(to, 0, moved);
      setColumns(cols);
    },
    /** Puts what was chosen for the table into the address, if the address does not have it. */
    recallColumns() {
      const kept = prefs.columns.get(tableKey());
      const recalled = state.value.cols.length === 0 && Array.isArray(kept) ? joinNames(kept) : '';
      const { message, level } = roles.value;
      if (recalled || message !== param('message') || level !== param('level')) {
        set(recalled ? { cols: recalled } : {}, { replace: true });
      }
    },
    /** Without what objects inherit, since a column may have a name such as constructor. */
    widths: computed(() => /** @type {Record<string, number>} */ ({ __proto__: null, ...prefs.widths.get(tableKey()) })),
    /**
     * @param {string} name
     * @param {number} width
     */
    widen: (name, width) => prefs.widths.set(tableKey(), { ...prefs.widths.get(tableKey()), [name]: width }),
  };
}

/** The name under which choices for tables are kept. @param {string} db @param {string[]} tables */
export function keyOf(db, tables) {
  return `${db}.${tables.join()}`;
}

/**
 * The columns that this browser keeps as those with the message and the level.
 * @param {import('./prefs.js').Prefs} prefs
 * @param {string} db
 * @param {string[]} tables
 * @returns {Roles}
 */
export function rolesOf(prefs, db, tables) {
  const kept = prefs.roles.get(keyOf(db, tables)) ?? {};
  const text = (/** @type {unknown} */ name) => (typeof name === 'string' ? name : '');
  return { message: text(kept.message), level: text(kept.level) };
}

/** @param {Roles} roles */
export function askedFor({ message, level }) {
  return { message_column: message || undefined, level_column: level || undefined };
}
