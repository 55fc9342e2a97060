// The ruler at the right edge of a list: a tick for each loaded row that needs attention or matches the search.

import { html, useMemo } from '../../vendor/core.js';
import { formatCount, valueText } from '../lib/format.js';
import { isBad, levelOf } from '../lib/levels.js';

/** @typedef {import('../lib/line.js').Row} Row */
/** @typedef {import('../lib/line.js').Shape} Shape */

const places = 300; // ticks that can be distinguished
const mostLooked = 2000; // rows that are examined

/**
 * @param {object} props
 * @param {number} props.count
 * @param {(index: number) => Row | null} props.at
 * @param {Shape} props.shape
 * @param {RegExp | null} props.marks
 * @param {unknown} props.of another one: the rows are others
 * @param {number} [props.height] of all rows; the marks stand beside them if they are fewer than there is room for
 * @param {(index: number) => void} props.onGo
 */
export function Grain({ count, at, shape, marks, of, height, onGo }) {
  const ticks = useMemo(() => ticksOf({ count, at, shape, marks }), [count, of, shape, marks]);
  if (count === 0) return null;

  /** @param {MouseEvent} event */
  function go(event) {
    const box = /** @type {HTMLElement} */ (event.currentTarget).getBoundingClientRect();
    onGo(Math.min(count - 1, Math.floor(((event.clientY - box.top) / box.height) * count)));
  }

  return html`<div class="grain" data-ui="grain" aria-hidden="true" title=${`${formatCount(count)} rows; click: go there`}
    style=${height && { maxHeight: `${height}px` }} onClick=${go}>${ticks.map(
      ({ look, place }) => html`<i class=${look} style=${{ top: `${((place / places) * 100).toFixed(1)}%` }}></i>`,
    )}</div>`;
}

/** @param {Pick<Parameters<typeof Grain>[0], 'count' | 'at' | 'shape' | 'marks'>} of */
function ticksOf({ count, at, shape, marks }) {
  const ticks = [];
  const step = Math.max(1, Math.floor(count / mostLooked));
  let last = -1;
  for (let i = 0; i < count; i += step) {
    const row = at(i);
    const place = Math.round((i / count) * places);
    if (!row || row.mark || place === last) continue;
    const level = shape.level ? levelOf(row.v[shape.level], shape.scheme) : '';
    const look = isBad(level) ? level : marks && shape.message && hits(marks, valueText(row.v[shape.message])) ? 'hit' : '';
    if (!look) continue;
    last = place;
    ticks.push({ look, place });
  }
  return ticks;
}

/**
 * @param {RegExp} marks
 * @param {string} text
 */
function hits(marks, text) {
  marks.lastIndex = 0;
  return marks.test(text);
}
