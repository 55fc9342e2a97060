// Rows of the list that are selected, shown whole, or compared with each other.

import { signal } from '../../vendor/core.js';
import { indexOf, rowAt } from '../lib/pages.js';

/** @typedef {import('../lib/line.js').Row} Row */

/**
 * @param {{list: {value: import('../lib/pages.js').Pages}, state: {value: {row: string}}}} with_
 */
export function createSelection({ list, state }) {
  const picked = signal(/** @type {{anchor: number, end: number} | null} */ (null)); // by place
  const unfolded = signal(''); // id of the row that is shown whole in the list
  const differing = signal(/** @type {[Row, Row] | null} */ (null)); // two rows that are compared

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

  /** Shows a row whole in the list, or as one line again. */
  function unfold() {
    const at = picked.value?.end ?? indexOf(list.value, state.value.row);
    const id = rowAt(list.value, at).row?.id ?? '';
    unfolded.value = unfolded.value === id ? '' : id;
    return id !== '';
  }

  return {
    picked,
    unfolded,
    differing,
    pick,
    pickedRows,
    unfold,
    /** Selects no row, and shows none whole. */
    clearPicked() {
      picked.value = null;
      unfolded.value = '';
    },
  };
}
