// What stands in the place of rows: the patterns of their texts, and the fields in which two sets of rows differ.

import { computed } from '../../vendor/core.js';
import { createLatest } from './latest.js';

/**
 * @typedef {{pattern: string, count: number, about?: boolean, before: number, levels: Record<string, number>, first: string, last: string, spark: number[], example: {id: string, text: string}, query: string}} Pattern
 * @typedef {{field: string, patterns: Pattern[], rows: number, other: number, exact: boolean, before_about?: boolean, read?: {rows: number}}} Patterns
 * @typedef {{name: string, score: number, kind: string, values: {value: unknown, a: number, b: number}[]}} ComparedField
 * @typedef {{a: {rows: number}, b: {rows: number}, fields: ComparedField[], same: string[], unique: string[], low: boolean, exact: boolean}} Comparison
 */

/**
 * @param {object} with_
 * @param {import('../lib/api.js').Api} with_.api
 * @param {import('./explore.js').Explore} with_.explore
 * @param {typeof import('./latest.js').clock} with_.clock
 */
export function createAnalysis({ api, explore, clock }) {
  const patterns = /** @type {import('./latest.js').Latest<Patterns>} */ (createLatest(clock));
  const comparison = /** @type {import('./latest.js').Latest<Comparison>} */ (createLatest(clock));

  /** What is compared: a part of the range with the rest of it, two searches, or the range with the one before. */
  const sets = computed(() => {
    const { afrom, ato, bq } = explore.state.value;
    const range = explore.range.value;
    if (!range) return null;
    if (afrom && ato) return { a: { from: afrom, to: ato }, b: { from: range.from, to: range.to }, rest: true };
    if (bq) return { a: range, b: { ...range, query: bq }, rest: false };
    const [from, to] = [Date.parse(range.from), Date.parse(range.to)];
    return { a: { from: range.from, to: range.to }, b: { from: new Date(2 * from - to).toISOString(), to: range.from }, rest: false };
  });

  return {
    patterns,
    comparison,
    sets,
    /** @param {string} field the text whose patterns are wanted; empty: the message */
    loadPatterns: (field) =>
      patterns.run((signal) =>
        api.json({ path: '/v1/explore/patterns', body: { ...explore.scope(), field: field || undefined, limit: 200, before: true }, signal }),
      ),
    async compare() {
      const now = sets.value;
      if (!now) return;
      const scope = explore.scope();
      const body = { a: { ...scope, ...now.a }, b: { ...scope, ...now.b }, rest: now.rest, top: 20 };
      await comparison.run((signal) => api.json({ path: '/v1/explore/compare', body, signal }));
    },
  };
}
