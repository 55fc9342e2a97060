// The pickers for the table and the time range.

import { html, useState } from '../../vendor/core.js';
import { formatBytes, formatCount } from '../lib/format.js';
import { formatTime, isSwapped, parseTime, quickRanges, rangeText, shiftRange } from '../lib/time.js';
import { Menu } from './menu.js';

/**
 * @typedef {{db: string, name: string, rows: number, bytes: number}} TableInfo
 *
 * @param {object} props
 * @param {string} props.db
 * @param {string[]} props.tables
 * @param {TableInfo[]} props.all
 * @param {(db: string, tables: string[]) => void} props.onPick
 * @param {boolean} [props.single] only one table can be chosen
 */
export function TablePicker({ db, tables, all, onPick, single }) {
  const [find, setFind] = useState('');
  const name = tables.length === 0 ? 'Choose a table' : `${db}.${tables.join(', ')}`;
  const button = html`<span class="hidden">Table: </span><span>${name}</span><span class="caret"></span>`;
  return html`<${Menu} button=${button} label="Table" class="field table" ui="table" panelClass="tables">${(/** @type {() => void} */ close) => {
    const shown = all.filter((t) => `${t.db}.${t.name}`.includes(find.trim())).slice(0, 200);
    const pattern = find.includes('*') && !single ? find.trim() : '';
    const pick = (/** @type {string} */ ofDb, /** @type {string[]} */ picked) => {
      onPick(ofDb, picked);
      close();
    };
    return html`<input class="find" type="search" placeholder="Find a table, or a pattern like k8s_*" aria-label="Find a table" value=${find}
        onInput=${(/** @type {InputEvent} */ e) => setFind(/** @type {HTMLInputElement} */ (e.currentTarget).value)}
        onKeyDown=${(/** @type {KeyboardEvent} */ e) => {
          if (e.key !== 'Enter') return;
          if (pattern) pick(db, [pattern]);
          else if (shown[0]) pick(shown[0].db, [shown[0].name]);
        }} />
      ${pattern && html`<button type="button" class="choice" onClick=${() => pick(db, [pattern])}>All tables ${pattern} of ${db}</button>`}
      <ul>${shown.map(
        (t) => html`<li class=${t.db === db && tables.includes(t.name) ? 'on' : ''}>
          <button type="button" class="choice" onClick=${() => pick(t.db, [t.name])}><span>${t.db}.${t.name}</span><small>
            ${formatCount(t.rows)} rows, ${formatBytes(t.bytes)}</small></button>
          ${
            !single &&
            t.db === db &&
            !tables.includes(t.name) &&
            tables.length > 0 &&
            tables.length < 32 &&
            html`<button type="button" class="text" aria-label=${`add ${t.name} to the search`} onClick=${() => pick(db, [...tables, t.name])}>add</button>`
          }
        </li>`,
      )}</ul>
      ${shown.length === 0 && !pattern && html`<p class="quiet">No table name contains this text.</p>`}`;
  }}<//>`;
}

/**
 * @param {object} props
 * @param {string} props.from
 * @param {string} props.to
 * @param {{from: string, to: string} | null} props.answered the range of the rows on screen
 * @param {string} props.zone
 * @param {(from: string, to: string) => void} props.onRange
 */
export function RangePicker({ from, to, answered, zone, onRange }) {
  const said = rangeText(from, to, zone);
  const button = html`<span class="hidden">Time range: </span><span>${said} </span><span class="quiet" data-ui="zone">${zone}</span><span class="caret"></span>`;
  return html`<${Menu} button=${button} label="Time range" class="field range" ui="range" panelClass="ranges">${(/** @type {() => void} */ close) =>
    html`<${RangeForm} ...${{ from, to, answered, zone }} onRange=${(/** @type {string} */ a, /** @type {string} */ b) => {
      onRange(a, b);
      close();
    }} />`}<//>`;
}

const isTime = (/** @type {string} */ text) => /^\d{4}-/.test(text);

/** @param {Parameters<typeof RangePicker>[0]} props */
function RangeForm({ from, to, answered, zone, onRange }) {
  const write = (/** @type {string} */ t) => (isTime(t) ? formatTime(t, zone) : t);
  const [begin, setBegin] = useState(write(from));
  const [end, setEnd] = useState(write(to) || 'now');
  const [wrong, setWrong] = useState('');
  const [swapped, setSwapped] = useState(false);

  /** @param {Event} event */
  function apply(event) {
    event.preventDefault();
    const now = new Date();
    setSwapped(false);
    const [a, b] = [parseTime(begin, zone, now), parseTime(end, zone, now)];
    if (a === null || b === null) {
      setWrong(`“${a === null ? begin : end}” is not a time. Write -90m, today, or 2026-01-05 10:00.`);
      return;
    }
    if (begin.trim() === '') {
      setWrong('Write where the range begins, such as -1h.');
      return;
    }
    if (isSwapped(a, b, now)) {
      setWrong(`“${end.trim() || 'now'}” is not after “${begin}”: the range would end before it begins.`);
      setSwapped(true);
      return;
    }
    onRange(a, b);
  }

  function swap() {
    setBegin(end);
    setEnd(begin);
    setWrong('');
    setSwapped(false);
  }

  // The range that was asked for last may have no answer yet.
  const shown = isTime(from) && isTime(to) ? { from, to } : answered;
  const shift = (/** @type {string} */ label, /** @type {string} */ title, /** @type {number} */ by, /** @type {number} */ times) => {
    const move = () => {
      if (!shown) return;
      const range = shiftRange(shown, by, times);
      onRange(range.from, range.to);
    };
    return html`<button type="button" class="button" disabled=${!shown} title=${title} onClick=${move}>${label}</button>`;
  };

  return html`<div class="quick">${quickRanges.map(
    (quick) =>
      html`<button type="button" class="choice" aria-pressed=${quick === from && to === ''} onClick=${() => onRange(quick, '')}>${rangeText(quick, '', zone)}</button>`,
  )}</div>
    <form onSubmit=${apply}>
      <label>From<input value=${begin} onInput=${(/** @type {InputEvent} */ e) => setBegin(/** @type {HTMLInputElement} */ (e.currentTarget).value)} /></label>
      <label>To<input value=${end} onInput=${(/** @type {InputEvent} */ e) => setEnd(/** @type {HTMLInputElement} */ (e.currentTarget).value)} /></label>
      ${
        wrong &&
        html`<p class="wrong" role="alert" data-ui="range-wrong">
        ${wrong} ${swapped && html`<button type="button" class="text go" data-ui="swap-ends" onClick=${swap}>Swap them</button>`}</p>`
      }
      <p class="quiet">Times in ${zone}. ${answered && html`On screen: ${formatTime(answered.from, zone)} – ${formatTime(answered.to, zone)}`}</p>
      <button class="button main">Apply</button><p class="shifts">
        ${shift('← Earlier', 'The range before this one', -1, 1)}${shift('Later →', 'The range after this one', 1, 1)}
          ${shift('Wider', 'Twice as long', 0, 2)}${shift('Narrower', 'Half as long', 0, 0.5)}</p>
    </form>`;
}
