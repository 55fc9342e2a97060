// One row with all of its fields, beside the list.

import { html, useState } from '../../vendor/core.js';
import { clauseFor } from '../lib/edit.js';
import { formatBytes, formatCount, indentedJson, leafName, valueText, visible, withLines } from '../lib/format.js';
import { levelOf } from '../lib/levels.js';
import { leavesOf, valueOf } from '../lib/line.js';
import { tableField } from '../lib/shape.js';
import { describeTime, partsOfTime } from '../lib/time.js';
import { copyText } from './copy.js';
import { Marked } from './marked.js';

/**
 * @param {object} props
 * @param {import('../lib/line.js').Row} props.row
 * @param {import('../lib/line.js').Shape} props.shape
 * @param {string} props.zone
 * @param {RegExp | null} props.marks
 * @param {string[]} props.columns
 * @param {string | null} props.trace the field of traces
 * @param {boolean} [props.several] the rows are of several tables
 * @param {(by: number) => void} [props.onMove]
 * @param {() => void} props.onClose
 * @param {(clause: string) => void} [props.onOnly]
 * @param {(clause: string) => void} [props.onWithout]
 * @param {(name: string) => void} [props.onColumn]
 * @param {(name: string, value: unknown) => string} [props.shareOf] how many of the rows have a value
 * @param {() => void} [props.onContext]
 * @param {string} props.link
 */
export function Detail(props) {
  const { row, shape, zone, onMove, onClose, onContext } = props;
  const word = shape.level ? valueText(row.v[shape.level]) : '';
  const level = levelOf(shape.level ? row.v[shape.level] : null, shape.scheme);
  const at = partsOfTime(row.time, zone);
  const own = [shape.message, ...shape.order, ...Object.keys(row.v)].filter((name) => name !== null && row.v[name] !== undefined && name !== shape.time);
  const names = props.several ? [tableField.name, ...own] : own;
  return html`<section class="pane detail" aria-label="Row" data-ui="detail" tabindex="-1">
    <div class="head"><span class=${`level ${level}`}>${(shape.scheme === 'status' ? (level === 'other' ? '' : level) : word || level).toUpperCase()}</span>
      <button class="text mono" title=${`${describeTime(row.time, zone)}\nclick: copy`} onClick=${() => copyText(row.time)}>${at.date} ${at.time}
        ${at.fraction && `.${at.fraction}`}${zone === 'UTC' ? 'Z' : ''}</button>
      <span class="grow"></span>
      ${
        onMove &&
        html`<button class="text" aria-label="Previous row" onClick=${() => onMove(-1)}><svg width="16" height="16"><path d="m3 10 5-5 5 5" /></svg></button>
        <button class="text" aria-label="Next row" onClick=${() => onMove(1)}><svg width="16" height="16"><path d="m3 6 5 5 5-5" /></svg></button>`
      }
      <button class="text" aria-label="Close" onClick=${onClose}><svg width="16" height="16"><path d="m4 4 8 8m0-8-8 8" /></svg></button></div>
    <div class="acts">
      ${onContext && html`<button class="text go" data-ui="context" onClick=${onContext}>In context</button>`}
      <button class="text" onClick=${() => copyText(shape.message ? valueText(row.v[shape.message]) : JSON.stringify(row.v))}>Copy line</button>
      <button class="text" onClick=${() => copyText(JSON.stringify({ [shape.time]: row.time, ...row.v }, null, 2))}>JSON</button>
      <button class="text" onClick=${() => copyText(props.link)}>Link</button>
    </div>
    <dl>${[...new Set(/** @type {string[]} */ (names))]
      .flatMap((name) => fieldsIn(row, shape, name))
      .map(
        ({ name, value }) => html`<${DetailField}
      key=${name} name=${name} value=${value} ...${props} />`,
      )}</dl>
  </section>`;
}

const mostInObject = 60; // fields of an object of JSON; a larger one is shown as its text

/**
 * A field, or those in it if its column has JSON.
 * @param {import('../lib/line.js').Row} row
 * @param {import('../lib/line.js').Shape} shape
 * @param {string} name
 */
function fieldsIn(row, shape, name) {
  const whole = [{ name, value: valueOf(row, name) }];
  const inside = shape.json?.has(name) && !row.cut?.[name] ? leavesOf(name, row.v[name]) : whole;
  return inside.length > 0 && inside.length <= mostInObject ? inside : whole;
}

/** @param {any} props */
function DetailField({ name, value, row, marks, columns, trace, onOnly, onWithout, onColumn, shareOf }) {
  const share = shareOf?.(name, value);
  const text = valueText(value);
  const object = typeof value === 'object';
  const json = object ? JSON.stringify(value, null, 2) : indentedJson(text);
  const indented = withLines(json) === (object ? json : text) ? '' : withLines(json);
  const long = object || indented !== '' || text.includes('\n') || text.length > 160;
  const cut = row.cut?.[name];
  const clause = clauseFor(name, text);
  return html`<div class=${long ? 'block' : ''} data-ui="detail-field" data-name=${name}>
    <dt title=${name}>${visible(leafName(name))}</dt>
    <dd class=${typeof value === 'number' ? 'n' : ''}>
      ${
        long
          ? html`<${LongValue} text=${object ? json : text} indented=${indented} marks=${marks} cut=${cut} />`
          : html`<span class="value" data-ui="detail-value">${text === '' ? '“”' : html`<${Marked} text=${text} marks=${marks} />`}
            ${share && html`<small class="share">${share}</small>`}</span>`
      }
      <span class="value-acts">
        ${
          onOnly &&
          !object &&
          !cut &&
          text.length <= 1024 &&
          html`<button data-ui="value-in" aria-label=${`Only ${visible(text)}`} onClick=${() => onOnly(clause)}>+</button>
            <button data-ui="value-out" aria-label=${`Not ${visible(text)}`} onClick=${() => onWithout(clause)}>−</button>`
        }
        <button aria-label=${`Copy ${name}`} onClick=${() => copyText(text)}>copy</button>
        ${onColumn && html`<button aria-pressed=${columns.includes(name)} aria-label=${`Column ${name}`} onClick=${() => onColumn(name)}>column</button>`}
      </span>
      ${onOnly && name === trace && html`<br /><button class="text go" onClick=${() => onOnly(clause)}>rows of this trace</button>`}
    </dd>
  </div>`;
}

const foldedLines = 8;
const foldedCharacters = 2000;

/**
 * A text of several lines, of which the first ones are shown at first.
 * @param {{text: string, indented: string, marks: RegExp | null, cut?: number}} props indented: the text with indents and
 *   the lines of its texts, if it is JSON; cut: its length in bytes, if it is longer than what is here
 */
function LongValue({ text: stored, indented, marks, cut }) {
  const [whole, setWhole] = useState(false);
  const [asStored, setAsStored] = useState(false);
  const text = indented && !asStored ? indented : stored;
  const lines = text.split('\n');
  const folds = lines.length > foldedLines + 2 || text.length > foldedCharacters;
  const shown = folds && !whole ? lines.slice(0, foldedLines).join('\n').slice(0, foldedCharacters) : text;
  return html`<pre data-ui="detail-value"><${Marked} text=${shown} marks=${marks} lines />${cut && (whole || !folds) && html`<i>… of ${formatBytes(cut)}</i>`}</pre>
    ${
      folds &&
      html`<button class="text go fold" aria-expanded=${whole} onClick=${() => setWhole(!whole)}>
      ${whole ? 'Fold' : lines.length > foldedLines ? `All ${formatCount(lines.length)} lines` : `All ${formatBytes(cut ?? text.length)}`}</button>`
    }
    ${indented && html`<button class="text go fold" data-ui="as-stored" aria-pressed=${asStored} onClick=${() => setAsStored(!asStored)}>As stored</button>`}`;
}
