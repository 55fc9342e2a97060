// Operations of the cluster: beginning one, the word that a dangerous one asks for, cancelling, and what a rebalance would do.

import { signal } from '../../vendor/core.js';
import { createLatest } from './latest.js';

/**
 * @typedef {Record<string, unknown>} OperationRequest as /v1/cluster/operations takes it
 * @typedef {{operation?: {id: number}, message?: string, confirm?: string, removal?: Removal}} OperationAnswer
 * @typedef {{shard: number, tables: {table: string, bytes: number, from: number[], to: number[]}[], bytes: number, waits: string[]}} Removal
 * @typedef {{moves: {shard: number, from: string, to: string, bytes: number, reason: string}[], blocked: string[], paused: boolean, even: string}} Plan
 */

const need = /** @type {[string, string]} */ (['MONITOR', 'CLUSTER']);

/**
 * @param {import('../lib/api.js').Api} api
 * @param {typeof import('./latest.js').clock} clock
 */
export function createOperations(api, clock) {
  const start = /** @type {import('./latest.js').Latest<OperationAnswer>} */ (createLatest(clock, { once: true }));
  const plan = /** @type {import('./latest.js').Latest<Plan>} */ (createLatest(clock));
  const cancelling = /** @type {import('./latest.js').Latest<OperationAnswer>} */ (createLatest(clock, { once: true }));
  const list = /** @type {import('./latest.js').Latest<any[]>} */ (createLatest(clock));
  const asks = signal(''); // the word that the server wants typed before it begins

  return {
    start,
    plan,
    list,
    cancelling,
    asks,
    /** Forgets what was answered before. */
    clear() {
      start.cancel();
      start.value.value = null;
      start.error.value = null;
      asks.value = '';
    },
    /**
     * Begins an operation. Answers whether it began, or was done at once.
     * @param {OperationRequest} request
     */
    async begin(request) {
      await start.run((signal) => api.json({ path: '/v1/cluster/operations', body: request, signal }));
      const answer = start.value.value;
      asks.value = answer?.confirm ?? '';
      return !start.error.value && answer !== null && !answer.confirm && !answer.removal;
    },
    /** Lists what is under way and what is remembered. */
    loadList: () => list.run(async (signal) => (await api.json({ path: '/v1/cluster/operations', signal, need })).operations),
    loadPlan: () => plan.run((signal) => api.json({ path: '/v1/cluster/plan', signal, need })),
    /** @param {number} id */
    cancel: (id) => cancelling.run((signal) => api.json({ path: `/v1/cluster/operations/${id}`, method: 'DELETE', signal })),
  };
}
