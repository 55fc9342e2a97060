// Rejected records, each with its reason and the way to its pipeline.

import { html } from '../../vendor/core.js';
import { visible } from '../lib/format.js';
import { formatTime } from '../lib/time.js';
import { keepSamples, keptSamples } from '../stores/keptsamples.js';

/** @typedef {import('../stores/rejects.js').Reject} Reject */

/** @param {{stores: import('../main.js').Stores, rejects: Reject[]}} props */
export function RejectList({ stores, rejects }) {
  return html`<ul class="rejectlist">${rejects.map(
    (r) => html`<li data-ui="reject"><p class="mono">${visible(r.record.slice(0, 500))}</p><p class="why">${visible(r.error.slice(0, 500))}</p>
      <p class="quiet">${formatTime(r.at, stores.prefs.zone.value)} · ${r.pipeline} → ${r.table} · ${r.format} ·${' '}
        <button class="text go" onClick=${() => fix(stores, r)}>Fix in pipeline</button></p></li>`,
  )}</ul>`;
}

/**
 * Opens the pipeline with the record as its first sample.
 * @param {import('../main.js').Stores} stores
 * @param {Reject} reject
 */
function fix({ place }, { pipeline, record, table }) {
  keepSamples(localStorage, pipeline, [record, ...keptSamples(localStorage, pipeline).filter((s) => s !== record)]);
  place.set('pipelines', { name: pipeline, t: table });
}
