// The operations of a cluster: those that run, with Cancel, and the last ones that ended.

import { html } from '../../vendor/core.js';
import { operationProgress, operationWords } from '../lib/clusterwords.js';
import { ErrorPanel, useNow } from './states.js';

/** @param {{operations: any[], stores: import('../main.js').Stores, may: boolean}} props */
export function Operations({ operations, stores, may }) {
  const { cancelling } = stores.operations;
  const now = useNow(1000);
  const zone = stores.prefs.zone.value;
  return html`<${ErrorPanel} latest=${cancelling} what="Cancelling" />
    ${operations.length === 0 && html`<p class="quiet none">No operation is running or stored.</p>`}
    <ul class="ops">${operations.map((o) => {
      const runs = o.state === 'running';
      return html`<li data-ui="operation" data-state=${o.state} key=${o.id}><h3>${operationWords(o)}
        ${runs && may && html`<${Cancel} operation=${o} stores=${stores} />`}</h3>
        ${runs && o.total_bytes > 0 && html`<div class="bar" style=${{ '--p': `${(o.done_bytes / o.total_bytes) * 100}%` }}></div>`}<p>
          ${operationProgress(o, now, zone)}</p></li>`;
    })}</ul>`;
}

/** @param {{operation: {id: number, cancel: boolean}, stores: import('../main.js').Stores}} props */
function Cancel({ operation, stores }) {
  if (operation.cancel) return html`<span class="text">being cancelled</span>`;
  return html`<button class="text" data-ui="cancel" onClick=${() => stores.operations.cancel(operation.id).then(() => stores.health.load())}>Cancel</button>`;
}

/** How old the state on screen is. @param {{stores: import('../main.js').Stores}} props */
export function Refreshed({ stores }) {
  const ago = Math.floor((useNow(1000) - stores.health.answered.value) / 1000);
  return html`<span class="quiet" data-ui="refreshed">refreshed ${ago < 1 ? 'just now' : `${ago} s ago`}</span>`;
}
