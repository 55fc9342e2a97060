// The fields in which two rows differ.

import { html } from '../../vendor/core.js';
import { formatCount, visible } from '../lib/format.js';
import { differences } from '../lib/line.js';
import { partsOfTime } from '../lib/time.js';
import { Dialog } from './dialog.js';

/**
 * @param {object} props
 * @param {import('../lib/line.js').Row} props.a
 * @param {import('../lib/line.js').Row} props.b
 * @param {import('../lib/line.js').Shape} props.shape
 * @param {string} props.zone
 * @param {() => void} props.onClose
 */
export function RowDifferences({ a, b, shape, zone, onClose }) {
  const found = differences(a, b, shape);
  const cut = [a, b].some((row) => found.some(({ name }) => row.cut?.[name]));
  const head = (/** @type {import('../lib/line.js').Row} */ row) => {
    const at = partsOfTime(row.time, zone);
    return `${at.time}${at.fraction && `.${at.fraction}`}`;
  };
  const cell = (/** @type {string | null} */ text) => (text === null ? html`<td class="quiet">none</td>` : html`<td>${visible(text.slice(0, 2000))}</td>`);
  return html`<${Dialog} title="Fields that differ" class="broad" onClose=${onClose}>
    ${
      found.length === 0
        ? html`<p class="none">All fields of the two rows are the same.</p>`
        : html`<div class="rowdiff" tabindex="0" role="group" aria-label="Differences"><table data-ui="row-differences"><thead><tr>
          <th scope="col">field</th><th scope="col">${head(a)}</th><th scope="col">${head(b)}</th></tr></thead>
          <tbody>${found.map((field) => html`<tr><th scope="row">${field.name}</th>${cell(field.a)}${cell(field.b)}</tr>`)}</tbody></table></div>`
    }
    <p class="acts"><span class="quiet grow">${formatCount(found.length)} ${found.length === 1 ? 'field differs' : 'fields differ'}; times in ${zone}
      ${cut ? '; long values are compared by their first 1,024 bytes' : ''}</span><button class="button" onClick=${onClose}>Close</button></p><//>`;
}
