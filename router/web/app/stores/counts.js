// The counts of a search in Explore: rows over time, and the values of fields.

import { computed } from '../../vendor/core.js';
import { formatShare } from '../lib/format.js';
import { createLatest } from './latest.js';

const buckets = 120; // bars of the histogram
const inTotal = { by: null, buckets: 1 };
const mostFields = 24; // whose values are asked for at once
const countTime = 600; // ms that exact counts of a search may take: with estimates after that, all is there within a second

/**
 * @param {object} with_
 * @param {(path: string, body: Record<string, unknown>) => (signal: AbortSignal) => Promise<any>} with_.ask
 * @param {() => any} with_.scope what every request of a run asks about
 * @param {ReturnType<typeof import('./explorestate.js').createExploreState>['state']} with_.state
 * @param {{readonly value: string}} with_.by what the bars are coloured by
 * @param {{readonly value: import('../lib/line.js').Shape}} with_.shape
 * @param {{readonly value: string[]}} with_.openFields
 * @param {{readonly value: string}} with_.zone
 * @param {typeof import('./latest.js').clock} with_.clock
 */
export function createCounts({ ask, scope, state, by, shape, openFields, zone, clock }) {
  const hits = createLatest(clock);
  const facets = createLatest(clock);
  const unfiltered = createLatest(clock); // how many rows the range has, whatever the search is
  const newer = createLatest(clock); // how many rows came since the run

  /**
   * How long exact counts may take. Without a search, the server keeps them, so it decides itself.
   * @param {number} ms
   */
  const within = (ms) => (state.value.q.trim() === '' ? {} : { budget_ms: ms });

  /**
   * Counts the rows over time.
   * @param {any} body the scope, at the moment of the run
   * @param {{exact?: true}} [how] exact: however long it takes
   */
  function countRows(body, how = {}) {
    const withoutSeries = by.value === 'none' || (by.value === 'level' && !shape.value.scheme);
    const wanted = { by: withoutSeries ? null : by.value, tz: zone.value, buckets, ...within(countTime), ...how };
    return hits.run(ask('hits', { ...body, ...wanted }));
  }

  /** Counts the values of the fields that are open. */
  async function countValues() {
    if (openFields.value.length === 0) return;
    const time = hits.value.value?.exact === false ? countTime / 2 : countTime; // what took long takes long again
    await facets.run(ask('facets', { ...scope(), fields: openFields.value.slice(0, mostFields), top: 10, own: 'exclude', ...within(time) }));
  }

  return {
    hits,
    facets,
    newer,
    unfiltered,
    total: computed(() => hits.value.value?.total ?? null),
    countRows,
    countValues,
    /** Counts again without an estimate. */
    countExactly: () => countRows(scope(), { exact: true }),
    countUnfiltered: () => unfiltered.run(ask('hits', { ...scope(), ...inTotal, query: '' })),
    /** Counts the rows since the end of the run. @param {string} end */
    countNewer: (end) => newer.run(ask('hits', { ...scope(), ...inTotal, from: end, to: null })),
    /**
     * Says how many of the rows have a value, if that was counted.
     * @param {string} name
     * @param {unknown} value
     */
    shareOf(name, value) {
      const { rows, fields: counted } = facets.value.value ?? {};
      const field = counted?.find((/** @type {any} */ f) => f.name === name);
      const found = field?.values.find((/** @type {any} */ v) => v.value === value);
      if (!found || !rows) return '';
      return `${field.sampled ? '≈ ' : ''}${formatShare(found.count / rows)} of rows`;
    },
  };
}
