// The state of the cluster, as the top bar and the page Cluster show it, and whether the server answers.

import { signal } from '../../vendor/core.js';
import { createLatest } from './latest.js';

/**
 * @param {import('../lib/api.js').Api} api
 * @param {typeof import('./latest.js').clock} clock
 */
export function createHealth(api, clock) {
  const latest = createLatest(clock);
  const answered = signal(clock.now()); // when the server answered last
  const load = () =>
    latest.run(async (signal) => {
      const state = await api.json({ path: '/v1/cluster', signal, need: ['MONITOR', 'CLUSTER'] });
      answered.value = clock.now();
      return state;
    });
  return { ...latest, answered, load };
}
