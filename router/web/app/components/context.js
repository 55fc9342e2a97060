// The rows around the open row, from the same source, without the search.

import { html } from '../../vendor/core.js';
import { columnsFor, useNarrow } from './narrow.js';
import { Rows } from './rows.js';
import { ErrorPanel } from './states.js';

/** @param {{stores: import('../main.js').Stores}} props */
export function ContextPane({ stores }) {
  const { explore, prefs } = stores;
  const narrow = useNarrow();
  const answer = explore.around.value.value;
  const state = explore.state.value;
  const rows = explore.contextRows();
  const at = rows.findIndex((row) => row.id === state.row);
  // The open row is in the middle.
  const focus = answer && state.row === answer.row.id ? Math.min(at + 10, rows.length - 1) : at;
  const sources = [...new Set([...explore.sharedFields(), ...explore.apart.value])];
  const toggle = (/** @type {string} */ name, /** @type {boolean} */ shared) => {
    explore.apart.value = shared ? [...explore.apart.value, name] : explore.apart.value.filter((n) => n !== name);
  };
  return html`<section class="pane list" aria-label="Rows around the row" data-ui="context">
    <div class="head"><h2>In context</h2>
      ${sources.map((name) => {
        const shared = !explore.apart.value.includes(name);
        return html`<button class="text" aria-pressed=${shared} title="Only rows with the same value" onClick=${() => toggle(name, shared)}>
          ${shared ? '✓ ' : ''}same ${name}</button>`;
      })}
      <span class="grow"></span><button class="text go" onClick=${() => explore.set({ view: 'rows' })}>Back to the search</button></div>
    ${
      explore.around.error.value
        ? html`<${ErrorPanel} latest=${explore.around} what="Asking for its neighbours" />`
        : answer &&
          html`<${Rows} count=${rows.length} of=${rows} at=${(/** @type {number} */ i) => rows[i] ?? null} shape=${explore.shape.value}
            columns=${columnsFor(narrow, explore.cols.value, explore.fields.value.value)}
            marks=${explore.marks.value} zone=${prefs.zone.value} density=${prefs.density.value} narrow=${narrow} label=${`${rows.length} rows, oldest first`}
            ui="context-row" selected=${state.row} focus=${focus} wrap=${state.wrap}
              onOpen=${(/** @type {import('../lib/line.js').Row} */ row) => (narrow ? explore.set({ view: 'rows', row: row.id }) : explore.open(row))} />`
    }
    <div class="foot"><span>${answer && `${answer.before.length} rows before, ${answer.after.length} after; without the search`}</span><span class="grow"></span>
      ${
        answer &&
        explore.contextMore.value &&
        html`<button class="text go" data-ui="context-more"
        onClick=${() => void explore.widenContext()}>More at both ends</button>`
      }</div>
  </section>`;
}
