// The state of the cluster, as the top bar and the page Cluster show it.

import { createLatest } from './latest.js';

/**
 * @param {import('../lib/api.js').Api} api
 * @param {typeof import('./latest.js').clock} clock
 */
export function createHealth(api, clock) {
  const latest = createLatest(clock);
  return { ...latest, load: () => latest.run((signal) => api.json({ path: '/v1/cluster', signal })) };
}
