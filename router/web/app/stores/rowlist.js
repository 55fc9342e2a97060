// The rows of a search by pages: the next one when the end comes into sight, and those that were dropped again.

import { batch, signal } from '../../vendor/core.js';
import { addPage, dropFar, indexOf, noPages, refill, rowAt } from '../lib/pages.js';
import { createLatest } from './latest.js';

/** @typedef {import('../lib/line.js').Row} Row */

export const pageSize = 200;
const mostRows = 10000;

/**
 * @param {object} with_
 * @param {(path: string, body: Record<string, unknown>) => (signal: AbortSignal) => Promise<any>} with_.ask
 * @param {() => Record<string, unknown>} with_.scope
 * @param {{value: {row: string, order: string}}} with_.state
 * @param {import('./latest.js').Latest<any>} with_.first the request for the first page
 * @param {typeof import('./latest.js').clock} with_.clock
 * @param {import('./reload.js').Reload} with_.reload
 */
export function createRowList({ ask, scope, state, first, clock, reload }) {
  const list = signal(noPages());
  const more = createLatest(clock);
  const begin = signal(''); // the row at which the list begins; empty: the first of the range
  const start = signal(0); // the row that is at the top at first
  let seen = 0;

  /** Loads the next page if the reader is at the end already, where nothing would change that asks for it. */
  async function loadIfSeen() {
    if (!first.error.value && seen > list.value.count - 50) await loadMore();
  }

  /**
   * Begins the list at the row that the address names, or that was at the top before a reload, if it is not among the
   * first rows: a link to a row shows it among others.
   */
  async function beginAtRow() {
    const { order } = state.value;
    const top = reload.take('top');
    start.value = 0;
    const row = state.value.row || top;
    if (!row || first.error.value) return;
    if (top) start.value = Math.max(0, indexOf(list.value, top));
    if (list.value.next === null || indexOf(list.value, row) >= 0) return;
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
   * @param {number} top the first row that is seen whole; those before it are drawn above
   */
  function see(from, to, top) {
    seen = to;
    reload.keep('top', top > 0 || begin.value ? (rowAt(list.value, top).row?.id ?? '') : '');
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

  return { list, more, begin, start, see, beginAtRow, loadIfSeen, loadedRows: () => list.value.pages.flatMap((page) => page.rows ?? []) };
}
