// One row in a list.

import { html, useMemo, useRef } from '../../vendor/core.js';
import { formatBytes, valueText, visible } from '../lib/format.js';
import { levelOf } from '../lib/levels.js';
import { lineOf, valueOf } from '../lib/line.js';
import { describeTime, partsOfTime } from '../lib/time.js';
import { Marked } from './marked.js';

/** A line with the time, which a reader drew. @param {{row: import('../lib/line.js').Row, index: number, zone: string}} props */
export function MarkLine({ row, index, zone }) {
  return html`<div class="row marker" role="row" aria-rowindex=${index + 1} data-ui="marker">
    <span role="gridcell">marked at ${partsOfTime(row.time, zone).time}</span></div>`;
}

/** @param {any} props those of Rows, and of the row itself */
export function RowLine({ row, index, shape, columns, shown, widths, marks, zone, selected, chosen, whole, wrap, onOpen, onPick, ui = 'row' }) {
  const word = shape.level ? valueText(row.v[shape.level]) : '';
  const level = levelOf(shape.level ? row.v[shape.level] : null, shape.scheme);
  const sizes = columns.map((/** @type {string} */ name) => `${name} ${widths.get(name)}`).join();
  // What stands in a row stays the same while rows around it come and go.
  const cells = useMemo(() => {
    const time = partsOfTime(row.time, zone);
    const line = lineOf(row, shape, shown, whole ? Infinity : undefined);
    const lines = whole || wrap;
    const cut = shape.message && row.cut?.[shape.message]; // its length, if the list has only its begin
    const describe = (/** @type {MouseEvent} */ e) => {
      const element = /** @type {HTMLElement} */ (e.currentTarget);
      const open = /** @type {HTMLTimeElement | null | undefined} */ (element.closest('[role=grid]')?.querySelector('.row.on time'));
      element.title = describeTime(row.time, zone, Date.now(), open?.dateTime);
    };
    return html`<time role="gridcell" data-ui="row-time" datetime=${row.time} onMouseEnter=${describe}>${time.time}<s>
      ${time.fraction && `.${time.fraction.slice(0, 3)}`}</s></time>
    <em role="gridcell">${levelWord(level, word, shape.scheme)}</em>
    ${columns.map(
      (/** @type {string} */ name) =>
        html`<span class=${`src ${shape.numbers?.has(name) ? 'r' : ''}`} role="gridcell" style=${{ width: `${widths.get(name)}px` }}>${visible(valueText(valueOf(row, name)).slice(0, 200))}</span>`,
    )}
    <p role="gridcell" data-ui="row-line"><${Marked} text=${line.message} marks=${marks} lines=${lines} />${cut && html`<i> … of ${formatBytes(cut)}</i>`}${line.rest.map(
      (field, i) => html`${(i > 0 || line.message) && ' '}<b>${field.name}=</b><${Marked} text=${field.value} marks=${marks} lines=${lines} />`,
    )}</p>`;
  }, [row, shape, shown, sizes, marks, zone, whole, wrap]);
  const down = useRef({ x: 0, y: 0 }); // the row may be drawn again while the button is down

  /** @param {MouseEvent} event */
  function click(event) {
    if (event.shiftKey && onPick) return onPick(index);
    const moved = Math.hypot(event.clientX - down.current.x, event.clientY - down.current.y) >= 4;
    if (!moved && getSelection()?.isCollapsed !== false && event.detail < 2) onOpen(row, index);
    return undefined;
  }

  return html`<div class=${`row ${level} ${row.id === selected ? 'on' : ''} ${chosen ? 'picked' : ''} ${whole ? 'unfolded' : ''}`} role="row" aria-rowindex=${index + 1}
    aria-selected=${row.id === selected || chosen} data-ui=${ui} data-id=${row.id} data-level=${level} data-index=${index}
    onMouseDown=${(/** @type {MouseEvent} */ e) => {
      if (e.shiftKey && onPick) e.preventDefault(); // the browser would select text
      down.current = { x: e.clientX, y: e.clientY };
    }}
    onClick=${click}>${cells}</div>`;
}

const shortWords = /** @type {Record<string, string>} */ ({ warning: 'WARN', notice: 'NOTE', severe: 'SEV', critical: 'CRIT', information: 'INFO' });

/**
 * The word of a level. A status that asks for no attention has none: it is among the fields.
 * @param {string} level
 * @param {string} word as it is stored
 * @param {string | null} scheme
 */
export function levelWord(level, word, scheme) {
  if (scheme === 'status' && level === 'other') return '';
  const shown = scheme === 'text' ? word : level || word;
  return shortWords[shown.toLowerCase()] ?? shown.slice(0, 5).toUpperCase();
}
