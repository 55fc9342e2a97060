// The stores of the list of rejects, which pages with and without an editor have.

import { clock } from './latest.js';
import { createPipelines } from './pipelines.js';
import { createRejects } from './rejects.js';

/** @param {import('../main.js').FirstStores} first */
export function createForRejects({ api, pipelineList, rejectCount }) {
  const pipelines = createPipelines({ api, storage: localStorage, session: sessionStorage, clock, all: pipelineList });
  addEventListener('storage', (event) => pipelines.draftsChanged(event.key));
  return {
    pipelines,
    rejects: createRejects({ api, clock, counted: rejectCount }),
  };
}
