// What the address of Explore says. A value that has no meaning is ignored, and the page says so.

import { computed } from '../../vendor/core.js';
import { hourBefore, isSwapped, parseEnd } from '../lib/time.js';
import { tableField, withPaths } from '../lib/shape.js';
import { splitNames, unknownParts } from '../lib/url.js';

const mostFields = 4096; // that the server lists

export const exploreDefaults = {
  db: 'public',
  from: '-1h',
  by: 'level',
  order: 'newest',
  view: 'rows',
};

const isEnd = (/** @type {string} */ text) => parseEnd(text) !== null;
const isBegin = (/** @type {string} */ text) => isEnd(text) && parseEnd(text) !== ''; // from now on there are no rows

/** @param {string[]} known */
function oneOf(...known) {
  return (/** @type {string} */ text) => known.includes(text);
}

/** @type {Record<string, (text: string) => boolean>} */
const hasMeaning = {
  from: isBegin,
  to: isEnd,
  afrom: isBegin,
  ato: isEnd,
  order: oneOf('newest', 'oldest'),
  view: oneOf('rows', 'patterns', 'compare', 'context'),
};

/**
 * @param {import('./place.js').PlaceStore} place
 * @param {import('./prefs.js').Prefs} prefs
 */
export function createExploreState(place, prefs) {
  const params = computed(() => place.here.value.params);
  const param = (/** @type {string} */ name, fallback = '') => {
    const text = params.value.get(name) ?? '';
    return text === '' || hasMeaning[name]?.(text) === false ? fallback : text;
  };
  const end = (/** @type {string} */ name, fallback = '') => parseEnd(param(name, fallback)) ?? fallback;
  /** Without a begin, the last hour; if the range ends before that begins, the hour before its end. */
  const begin = () => {
    const [from, to] = [end('from', exploreDefaults.from), end('to')];
    return param('from') === '' && isSwapped(from, to, new Date()) ? hourBefore(to) : from;
  };
  const state = computed(() => ({
    db: param('db', exploreDefaults.db),
    asked: params.value.has('t'), // else the table that was used last
    tables: tablesOf(params.value.getAll('t'), prefs.table.value),
    q: param('q'),
    from: begin(),
    to: end('to'),
    by: param('by', exploreDefaults.by),
    order: param('order', exploreDefaults.order),
    row: param('row'),
    view: param('view', exploreDefaults.view),
    cols: splitNames(param('cols')),
    hide: splitNames(param('hide')),
    wrap: param('wrap') === '1',
    afrom: end('afrom'), // a part of the range that is compared with the rest
    ato: end('ato'),
    bq: param('bq'), // a second search, whose rows are compared with those of the first
    partial: param('partial') === '1', // an answer of some of the shards is good enough
  }));

  /** What is in the address without a meaning: names, and values with their names. */
  const ignored = computed(() => {
    if (place.page.value !== 'explore') return [];
    const known = ['t', 'message', 'level', ...Object.keys(state.value)].filter((name) => name !== 'asked' && name !== 'tables');
    return unknownParts(params.value, Object.fromEntries(known.map((name) => [name, hasMeaning[name] ?? null])));
  });
  return { state, param, ignored };
}

/**
 * What of the address names a field: what the bars are coloured by, and the columns beside the line.
 * @param {{value: {by: string, cols: string[]}}} state
 * @param {Pick<import('./latest.js').Latest<any>, 'value'>} fields the answer that lists them
 */
export function createNamedFields(state, fields) {
  const names = computed(() => new Set(withPaths(fields.value.value?.fields ?? []).map((/** @type {{name: string}} */ f) => f.name)));
  const isThere = (/** @type {string} */ name) => name === tableField.name || names.value.size === 0 || names.value.size >= mostFields || names.value.has(name);
  const groups = (/** @type {string} */ by) => by === 'level' || by === 'none' || isThere(by);
  return {
    by: computed(() => (groups(state.value.by) ? state.value.by : exploreDefaults.by)),
    cols: computed(() => state.value.cols.filter(isThere)),
    /** Names in the address that no field has. */
    missingFields: computed(() => {
      const { by, cols } = state.value;
      return [...(groups(by) ? [] : [`by=${by}`]), ...cols.filter((name) => !isThere(name)).map((name) => `cols=${name}`)];
    }),
  };
}

/**
 * @param {string[]} asked
 * @param {string} last the table that was used last
 */
function tablesOf(asked, last) {
  const named = asked.filter(Boolean);
  if (named.length > 0) return named;
  return last ? [last] : [];
}
