// The keys of Explore, and the actions that have no button.

import { useEffect } from '../../vendor/core.js';
import { isBad, levelOf } from '../lib/levels.js';
import { copyLine } from '../lib/line.js';
import { indexOf, rowAt } from '../lib/pages.js';
import { formatPlace, joinNames } from '../lib/url.js';
import { toast } from '../stores/toast.js';
import { copyText } from './copy.js';

/** @typedef {import('../main.js').Stores} Stores */

/** @param {Stores} stores */
export function useExploreKeys(stores) {
  useEffect(() => stores.keys.bind({ ...rowKeys(stores), ...viewKeys(stores) }), [stores]);
}

/** Clicks the element with a name. @param {string} ui */
function press(ui) {
  /** @type {HTMLElement | null} */ (document.querySelector(`[data-ui=${ui}]`))?.click();
}

/** @param {Stores} stores @returns {import('../stores/keys.js').Bindings} */
function rowKeys(stores) {
  const { explore } = stores;
  return {
    j: ['next row', () => move(explore, 1)],
    ArrowDown: ['next row', () => move(explore, 1)],
    k: ['previous row', () => move(explore, -1)],
    ArrowUp: ['previous row', () => move(explore, -1)],
    Enter: ['open the row; again: go to its fields', () => openOrEnter(explore)],
    J: ['select more rows', () => pickMore(explore, 1)],
    K: ['select fewer rows', () => pickMore(explore, -1)],
    Escape: ['close the row, then clear the selection', () => (explore.state.value.row ? explore.open(null) : explore.clearPicked())],
    'shift+Enter': ['unfold the row in its place', () => explore.unfold() || toast('Open or select a row first.')],
    '[': ['previous warning or worse', () => moveToBad(explore, -1)],
    ']': ['next warning or worse', () => moveToBad(explore, 1)],
    '+': ['only rows with the focused value', () => pressOfFocused('value-in')],
    '-': ['only rows without the focused value', () => pressOfFocused('value-out')],
    y: ['copy the selected rows, or the row', () => copyRows(explore)],
    c: ['rows around this one', () => explore.state.value.row && explore.set({ view: explore.state.value.view === 'context' ? 'rows' : 'context' })],
  };
}

/** @param {Stores} stores @returns {import('../stores/keys.js').Bindings} */
function viewKeys(stores) {
  const { explore, prefs, place } = stores;
  const zones = [...new Set([Intl.DateTimeFormat().resolvedOptions().timeZone, 'UTC'])];
  const toggle = (/** @type {string} */ view) => explore.set({ view: explore.state.value.view === view ? 'rows' : view });
  const hide = () => {
    const { hide } = explore.state.value;
    const changed = hide.includes('hist') ? hide.filter((h) => h !== 'hist') : [...hide, 'hist'];
    explore.set({ hide: joinNames(changed) }, { replace: true });
  };
  const tail = () => {
    const { db, tables, q } = explore.state.value;
    place.go(formatPlace('tail', { db, t: tables[0], q, ...explore.roles.value }, { db: 'public' }));
  };
  return {
    '/': ['search', () => document.getElementById('search')?.focus()],
    'ctrl+Enter': ['run', () => void explore.search(explore.draft.value)],
    x: ['patterns, and back', () => toggle('patterns')],
    d: ['what is different, and back; of selected rows, the first and the last', () => compareRows(explore) || toggle('compare')],
    f: ['find a field', () => document.getElementById('field-find')?.focus()],
    e: ['columns', () => press('columns')],
    w: ['wrap lines', () => explore.set({ wrap: explore.state.value.wrap ? '' : '1' }, { replace: true })],
    h: ['show or hide the histogram', hide],
    t: ['time range', () => press('range')],
    z: ['switch the zone', () => (prefs.zone.value = zones[(zones.indexOf(prefs.zone.value) + 1) % zones.length])],
    l: ['follow from here', tail],
  };
}

/** Clicks a button of the value that has the focus. @param {string} ui */
function pressOfFocused(ui) {
  const value = document.activeElement?.closest('[data-ui=value], [data-ui=detail-field]');
  /** @type {HTMLElement | null} */ (value?.querySelector(`[data-ui=${ui}]`) ?? null)?.click();
}

/**
 * Opens the row so many rows below the one that is open.
 * @param {Stores['explore']} explore
 * @param {number} by
 */
export function move(explore, by) {
  const { view, row: id } = explore.state.value;
  if (view === 'context') {
    const rows = explore.contextRows();
    const next = rows[rows.findIndex((r) => r.id === id) + by];
    if (next) explore.open(next);
    return;
  }
  const list = explore.list.value;
  const at = indexOf(list, id);
  const { row } = rowAt(list, Math.max(0, Math.min(list.count - 1, at + by)));
  if (row) explore.open(row);
}

/** Opens the selected row, or the first one in sight; if a row is open, moves the focus to it. @param {Stores['explore']} explore */
function openOrEnter(explore) {
  const { list, picked, opened } = explore;
  if (opened.value.value) return /** @type {HTMLElement | null} */ (document.querySelector('.detail dl button'))?.focus();
  const box = document.querySelector('.list [data-ui=rows]');
  const top = box?.getBoundingClientRect().top ?? 0;
  const rows = /** @type {HTMLElement[]} */ ([...(box?.querySelectorAll('[data-index]') ?? [])]);
  const first = rows.find((row) => row.getBoundingClientRect().top >= top);
  const { row } = rowAt(list.value, picked.value?.end ?? Number(first?.dataset.index ?? 0));
  return row && explore.open(row);
}

/**
 * Opens the next row of warning or worse.
 * @param {Stores['explore']} explore
 * @param {number} by
 */
function moveToBad(explore, by) {
  const list = explore.list.value;
  const { level, scheme } = explore.shape.value;
  for (let i = indexOf(list, explore.state.value.row) + by; i >= 0 && i < list.count; i += by) {
    const { row } = rowAt(list, i);
    if (row && level && isBad(levelOf(row.v[level], scheme))) return explore.open(row);
  }
  return toast('No further warning or error among the loaded rows.');
}

/**
 * @param {Stores['explore']} explore
 * @param {number} by
 */
function pickMore(explore, by) {
  explore.pick((explore.picked.value?.end ?? indexOf(explore.list.value, explore.state.value.row)) + by);
}

/** Shows in which fields the first and the last of the selected rows differ. @param {Stores['explore']} explore */
function compareRows(explore) {
  const rows = explore.pickedRows();
  if (rows.length < 2) return false;
  explore.differing.value = [rows[0], rows[rows.length - 1]];
  return true;
}

/** @param {Stores['explore']} explore */
function copyRows(explore) {
  const rows = explore.pickedRows();
  const one = explore.opened.value.value;
  const { shape, cols } = explore;
  if (rows.length > 0) void copyText(rows.map((row) => copyLine(row, shape.value, cols.value)).join('\n'));
  else if (one) void copyText(copyLine(one, shape.value, cols.value));
}
