// The list of rows: stripe of the level, time, level, chosen columns, line, and the grain at its right edge.

import { html, useLayoutEffect, useMemo, useRef, useState } from '../../vendor/core.js';
import { formatCount, leafName, splitMatches, valueText, visible, visibleLines } from '../lib/format.js';
import { isBad, levelOf } from '../lib/levels.js';
import { copyLine, lineOf } from '../lib/line.js';
import { partsOfTime } from '../lib/time.js';
import { VirtualList } from './virtual.js';

/** @typedef {import('../lib/line.js').Row} Row */
/** @typedef {import('../lib/line.js').Shape} Shape */

export const rowHeights = /** @type {Record<string, number>} */ ({ dense: 20, normal: 24, comfortable: 28 });

/**
 * @param {object} props
 * @param {number} props.count
 * @param {(index: number) => Row | null} props.at
 * @param {Shape} props.shape
 * @param {string[]} props.columns
 * @param {RegExp | null} props.marks
 * @param {string} props.zone
 * @param {string} props.density
 * @param {string} props.label
 * @param {string} props.selected id of the row that is open
 * @param {number} [props.focus]
 * @param {(row: Row, index: number) => void} props.onOpen
 * @param {(from: number, to: number) => void} [props.onSee]
 * @param {number} [props.dropped]
 * @param {boolean} [props.follow]
 * @param {(atEnd: boolean) => void} [props.onEnd]
 * @param {string} [props.resetKey]
 * @param {boolean} [props.narrow]
 * @param {boolean} [props.wrap] three lines of each row are shown
 * @param {{anchor: number, end: number} | null} [props.picked] rows that are selected
 * @param {(index: number) => void} [props.onPick]
 * @param {number} [props.unfolded] the row that is shown whole; -1: none
 */
export function Rows(props) {
  const { count, at, shape, columns, zone } = props;
  const shown = useMemo(() => new Set(columns), [columns.join()]);
  const widths = useMemo(() => columnWidths(columns, at, count), [columns.join(), count > 0]);
  const height = props.wrap ? 66 : props.narrow ? 46 : (rowHeights[props.density] ?? 24);
  const { unfolded = -1 } = props;
  const [tallHeight, setTall] = useState(0);
  const tall = unfolded >= 0 ? { index: unfolded, more: Math.max(0, tallHeight - height) } : null;
  const [first, last] = props.picked ? [Math.min(props.picked.anchor, props.picked.end), Math.max(props.picked.anchor, props.picked.end)] : [-1, -2];

  /** @param {number} index */
  function row(index) {
    const data = at(index);
    if (!data) return html`<div class="row" role="row" key=${`empty-${index}`}><span role="gridcell">…</span></div>`;
    if (data.mark) return html`<${MarkLine} key=${data.id} row=${data} index=${index} zone=${zone} />`;
    return html`<${RowLine} key=${data.id} row=${data} index=${index} ...${props} shown=${shown} widths=${widths} chosen=${index >= first && index <= last} whole=${index === unfolded} onHeight=${setTall} />`;
  }

  /** @param {ClipboardEvent} event */
  function copy(event) {
    const ids = selectedRows();
    if (ids.length < 2 || !event.clipboardData) return;
    const [first, last] = [Number(ids[0].dataset.index), Number(ids[ids.length - 1].dataset.index)];
    const lines = [];
    for (let i = first; i <= last; i++) {
      const data = at(i);
      if (data && !data.mark) lines.push(copyLine(data, shape, columns));
    }
    event.clipboardData.setData('text/plain', lines.join('\n'));
    event.preventDefault();
  }

  return html`<div class="colhead" aria-hidden="true">
      <span>time, ${zone}</span><span>level</span>
      ${columns.map((name) => html`<span class="col" style=${{ width: `${widths.get(name)}px` }} title=${name}>${leafName(name)}</span>`)}
      <span>${shape.message ? `${shape.message} and the rest` : 'fields'}</span>
    </div>
    <div class=${`rows ${props.wrap ? 'wrapped' : props.density}`} onCopy=${copy}>
      <${VirtualList} count=${count} height=${height} tall=${tall} label=${props.label} row=${row} onSee=${props.onSee}
        focus=${props.focus} dropped=${props.dropped} follow=${props.follow} onEnd=${props.onEnd} resetKey=${props.resetKey} />
      <${Grain} count=${count} at=${at} shape=${shape} />
    </div>`;
}

/** The elements of rows that the selection touches. */
function selectedRows() {
  const selection = getSelection();
  if (!selection || selection.isCollapsed) return [];
  return [.../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('[data-ui=row]'))].filter((element) => selection.containsNode(element, true));
}

/**
 * @param {string[]} columns
 * @param {(index: number) => Row | null} at
 * @param {number} count
 */
function columnWidths(columns, at, count) {
  const widths = new Map();
  for (const name of columns) {
    let most = leafName(name).length;
    for (let i = 0; i < Math.min(count, 100); i++) most = Math.max(most, valueText(at(i)?.v[name]).length);
    widths.set(name, Math.round(Math.min(Math.max(most, 6), 26) * 7.3));
  }
  return widths;
}

/** A line with the time, which a reader drew. @param {any} props */
function MarkLine({ row, index, zone }) {
  return html`<div class="row marker" role="row" aria-rowindex=${index + 1} data-ui="marker"><span role="gridcell">marked at ${partsOfTime(row.time, zone).time}</span></div>`;
}

/** @param {any} props */
function RowLine({ row, index, shape, columns, shown, widths, marks, zone, selected, chosen, whole, onHeight, onOpen, onPick }) {
  const time = partsOfTime(row.time, zone);
  const word = shape.level ? valueText(row.v[shape.level]) : '';
  const level = levelOf(shape.level ? row.v[shape.level] : null, shape.scheme);
  const line = lineOf(row, shape, shown, whole ? Infinity : undefined);
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  useLayoutEffect(() => {
    if (!whole || !box.current) return undefined;
    const element = box.current;
    const observer = new ResizeObserver(() => onHeight(element.offsetHeight));
    observer.observe(element);
    onHeight(element.offsetHeight);
    return () => observer.disconnect();
  }, [whole, row]);
  let down = { x: 0, y: 0 };
  return html`<div class=${`row ${level} ${row.id === selected ? 'on' : ''} ${chosen ? 'picked' : ''} ${whole ? 'unfolded' : ''}`} role="row" ref=${box} aria-rowindex=${index + 1}
    aria-selected=${row.id === selected || chosen} data-ui="row" data-id=${row.id} data-level=${level} data-index=${index}
    onMouseDown=${(/** @type {MouseEvent} */ e) => {
      if (e.shiftKey && onPick) e.preventDefault(); // the browser would select text
      down = { x: e.clientX, y: e.clientY };
    }}
    onClick=${(/** @type {MouseEvent} */ e) => {
      if (e.shiftKey && onPick) return onPick(index);
      const moved = Math.hypot(e.clientX - down.x, e.clientY - down.y) >= 4;
      if (!moved && getSelection()?.isCollapsed !== false && e.detail < 2) onOpen(row, index);
      return undefined;
    }}>
    <time role="gridcell" data-ui="row-time" datetime=${row.time} title=${`${row.time}`}>${time.time}<s>${time.fraction && `.${time.fraction.slice(0, 3)}`}</s></time>
    <em role="gridcell">${(shape.scheme === 'text' ? word : level || word).slice(0, 5).toUpperCase()}</em>
    ${columns.map(
      (/** @type {string} */ name) =>
        html`<span class="src" role="gridcell" style=${{ width: `${widths.get(name)}px` }}>${visible(valueText(row.v[name]).slice(0, 200))}</span>`,
    )}
    <p role="gridcell" data-ui="row-line"><${Marked} text=${line.message} marks=${marks} lines=${whole} />${line.rest.map(
      (field) => html` <b>${field.name}=</b><${Marked} text=${field.value} marks=${marks} lines=${whole} />`,
    )}</p>
  </div>`;
}

/**
 * A text with the words marked that the search looks for.
 * @param {{text: string, marks: RegExp | null, lines?: boolean}} props lines: where there is room for them, they stay lines
 */
export function Marked({ text, marks, lines }) {
  const shown = lines ? visibleLines : visible;
  return splitMatches(text, marks).map((part) => (part.hit ? html`<mark>${shown(part.text)}</mark>` : shown(part.text)));
}

/**
 * A tick for each loaded row that asks for attention.
 * @param {{count: number, at: (index: number) => Row | null, shape: Shape}} props
 */
function Grain({ count, at, shape }) {
  if (!shape.level || count === 0) return null;
  const ticks = [];
  const step = Math.max(1, Math.floor(count / 2000));
  let last = -1;
  for (let i = 0; i < count; i += step) {
    const level = levelOf(at(i)?.v[shape.level], shape.scheme);
    const top = Math.round((i / count) * 300);
    if (!isBad(level) || top === last) continue;
    last = top;
    ticks.push(html`<i class=${level} style=${{ top: `${(top / 3).toFixed(1)}%` }}></i>`);
  }
  return html`<div class="grain" data-ui="grain" aria-hidden="true" title=${`${formatCount(count)} rows`}>${ticks}</div>`;
}
