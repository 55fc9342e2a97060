// The names of all pipelines, with their versions: for the list of pipelines, and for the palette of every page.

import { createLatest } from './latest.js';

/** @typedef {import('./pipelines.js').PipelineInfo} PipelineInfo */
/** @typedef {ReturnType<typeof createPipelineList>} PipelineList */

/**
 * @param {import('../lib/api.js').Api} api
 * @param {typeof import('./latest.js').clock} clock
 */
export function createPipelineList(api, clock) {
  const list = /** @type {import('./latest.js').Latest<PipelineInfo[]>} */ (createLatest(clock));
  return {
    list,
    load: () => list.run(async (signal) => (await api.json({ path: '/v1/pipelines', signal })).pipelines),
  };
}
