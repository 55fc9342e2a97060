// The stores of the list of rejects, which pages with and without an editor have.

import { clock } from './latest.js';
import { createPipelines } from './pipelines.js';
import { createRejects } from './rejects.js';

/** @param {import('../main.js').FirstStores} first */
export function createForRejects({ api, pipelineList, rejectCount }) {
  return {
    pipelines: createPipelines({ api, storage: localStorage, clock, all: pipelineList }),
    rejects: createRejects({ api, clock, counted: rejectCount }),
  };
}
