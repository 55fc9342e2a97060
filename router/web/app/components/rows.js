// The list of rows: stripe of the level, time, level, chosen columns, line, and the grain at its right edge.

import { html, useMemo, useState } from '../../vendor/core.js';
import { leafName, valueText, visible } from '../lib/format.js';
import { copyLine, valueOf } from '../lib/line.js';
import { ColumnHeads } from './columnheads.js';
import { Grain } from './grain.js';
import { MarkLine, RowLine } from './rowline.js';
import { VirtualList } from './virtual.js';

/** @typedef {import('../lib/line.js').Row} Row */
/** @typedef {import('../lib/line.js').Shape} Shape */
/**
 * What can be done to columns.
 * @typedef {{widths: Record<string, number>, onMove: (from: number, to: number) => void, onWidth: (name: string, width: number) => void}} ColumnTools
 */

export const rowHeights = /** @type {Record<string, number>} */ ({ dense: 20, normal: 24, comfortable: 28 });

/**
 * @param {object} props
 * @param {number} props.count
 * @param {(index: number) => Row | null} props.at
 * @param {unknown} props.of another one: the rows are others
 * @param {Shape} props.shape
 * @param {string[]} props.columns
 * @param {ColumnTools} [props.columnTools]
 * @param {RegExp | null} props.marks
 * @param {string} props.zone
 * @param {string} props.density
 * @param {string} props.label
 * @param {string} props.selected id of the row that is open
 * @param {number} [props.focus]
 * @param {(row: Row, index: number) => void} props.onOpen
 * @param {(from: number, to: number, top: number) => void} [props.onSee]
 * @param {number} [props.start] the row at the top at first
 * @param {number} [props.dropped]
 * @param {boolean} [props.follow]
 * @param {(atEnd: boolean) => void} [props.onEnd]
 * @param {string} [props.resetKey]
 * @param {boolean} [props.narrow]
 * @param {boolean} [props.wrap] each row is shown whole
 * @param {{anchor: number, end: number} | null} [props.picked] rows that are selected
 * @param {(index: number) => void} [props.onPick]
 * @param {string} [props.ui] the name of a row for tests
 * @param {number} [props.unfolded] the row that is shown whole; -1: none
 */
export function Rows(props) {
  const { count, at, shape, columns, columnTools, zone, unfolded = -1, dropped = 0 } = props;
  const shown = useMemo(() => new Set(columns), [columns.join('\n')]);
  const guessed = useMemo(() => columnWidths(columns, at, count), [columns.join('\n'), count > 0]);
  const widths = new Map(columns.map((name) => [name, columnTools?.widths[name] ?? guessed.get(name) ?? 100]));
  const [went, setWent] = useState(-1); // where a click on the grain went
  const height = props.narrow ? 46 : (rowHeights[props.density] ?? 24);
  const [first, last] = props.picked ? [Math.min(props.picked.anchor, props.picked.end), Math.max(props.picked.anchor, props.picked.end)] : [-1, -2];

  /** @param {number} index */
  function row(index) {
    const data = at(index);
    if (!data) return html`<div class="row" role="row" key=${`empty-${index}`}><span role="gridcell">…</span></div>`;
    if (data.mark) return html`<${MarkLine} key=${data.id} row=${data} index=${index} zone=${zone} />`;
    return html`<${RowLine} key=${data.id} row=${data} index=${index} ...${props} shown=${shown} widths=${widths}
      chosen=${index >= first && index <= last} whole=${index === unfolded} />`;
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

  const heads = columns.map((name) => ({
    id: name,
    name: visible(leafName(name)),
    title: name,
    width: /** @type {number} */ (widths.get(name)),
    number: shape.numbers?.has(name),
  }));
  return html`<div class="colhead" role="group" aria-label="Columns">
      <span>time, ${zone}</span><span>level</span>
      ${
        columnTools
          ? html`<${ColumnHeads} columns=${heads} onMove=${columnTools.onMove}
            onWidth=${(/** @type {number} */ i, /** @type {number} */ width) => columnTools.onWidth(columns[i], width)} />`
          : heads.map((c) => html`<span class=${`col ${c.number ? 'r' : ''}`} style=${{ width: `${c.width}px` }} title=${c.title}>${c.name}</span>`)
      }
      <span>${shape.message ? `${shape.message} and the rest` : 'fields'}</span>
    </div>
    <div class=${`rows ${props.density} ${props.wrap ? 'wrapped' : ''}`} onCopy=${copy}>
      <${VirtualList} count=${count} height=${height} measured=${Boolean(props.wrap) || unfolded >= 0} label=${props.label} row=${row} onSee=${props.onSee}
        focus=${went >= 0 ? went : props.focus} dropped=${dropped} follow=${props.follow} onEnd=${props.onEnd} start=${props.start} resetKey=${props.resetKey} />
      <${Grain} count=${count} of=${props.of} height=${props.wrap || unfolded >= 0 ? 0 : count * height} at=${at} shape=${shape} marks=${props.marks} onGo=${setWent} />
    </div>`;
}

/** The elements of rows that the selection touches. */
function selectedRows() {
  const selection = getSelection();
  if (!selection || selection.isCollapsed) return [];
  return [.../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('.rows .row[data-index]'))].filter((element) =>
    selection.containsNode(element, true),
  );
}

/**
 * Guesses how wide columns are, by the first rows.
 * @param {string[]} columns
 * @param {(index: number) => Row | null} at
 * @param {number} count
 */
function columnWidths(columns, at, count) {
  const widths = new Map();
  for (const name of columns) {
    let most = leafName(name).length;
    for (let i = 0; i < Math.min(count, 100); i++) {
      const row = at(i);
      if (row) most = Math.max(most, valueText(valueOf(row, name)).length);
    }
    widths.set(name, Math.round(Math.min(Math.max(most, 6), 26) * 7.3));
  }
  return widths;
}
