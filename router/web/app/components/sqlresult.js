// The answer to a statement: its rows in a grid, as a plot, or how it was run.

import { html, useEffect, useMemo, useState } from '../../vendor/core.js';
import { curlOf } from '../lib/api.js';
import { formatCount, formatDuration, formatRows, noFormulas, visible, visibleLines } from '../lib/format.js';
import { orderOf, toCSV, toJSON, toTSV, withoutFormulas } from '../lib/results.js';
import { isNumeric } from '../lib/shape.js';
import { cellText, changesIn, splitStatements } from '../lib/statements.js';
import { ColumnHeads } from './columnheads.js';
import { copyText } from './copy.js';
import { Dialog } from './dialog.js';
import { download } from './download.js';
import { Menu } from './menu.js';
import { Plot } from './plot.js';
import { ErrorPanel, Progress } from './states.js';
import { VirtualList } from './virtual.js';

/** @typedef {import('../lib/api.js').SqlResult} SqlResult */
/** @typedef {{by: number, down: boolean} | null} Sort */

export const views = { table: 'Table', plot: 'Plot', plan: 'Plan' };

/** The answers to the statements, one of them at a time. @param {{stores: import('../main.js').Stores, tab: import('../stores/sql.js').Tab, answer: SqlResult}} props */
export function Results({ stores, tab, answer }) {
  const all = answer.all ?? [answer];
  const [chosen, setChosen] = useState({ of: answer, at: all.length - 1 });
  const at = chosen.of === answer ? chosen.at : all.length - 1;
  const statements = splitStatements(tab.ran.value).filter(Boolean);
  const one = all.length > 1 && statements.length === all.length ? statements[at] : tab.ran.value;
  return html`${
    all.length > 1 &&
    html`<div class="answers" role="group" aria-label="Answers">${all.map(
      (_, i) =>
        html`<button class="text" data-ui="answer" aria-pressed=${i === at} title=${visibleLines(statements[i]?.slice(0, 300) ?? '')}
          onClick=${() => setChosen({ of: answer, at: i })}>${i + 1} <code>${visible((statements[i] ?? '').replace(/\s+/g, ' ').slice(0, 24))}</code></button>`,
    )}</div>`
  }<${Result} stores=${stores} tab=${tab} answer=${all[at] ?? answer} statement=${one} />`;
}

/** @param {{stores: import('../main.js').Stores, tab: import('../stores/sql.js').Tab, answer: SqlResult, statement: string}} props */
function Result({ stores, tab, answer, statement }) {
  const { sql } = stores;
  const { columns, rows } = answer;
  const asked = stores.place.here.value.params.get('tab') ?? '';
  const view = Object.hasOwn(views, asked) ? asked : 'table';
  const [sort, setSort] = useState(/** @type {Sort} */ (null));
  useEffect(() => setSort(null), [answer]);
  const order = useMemo(() => orderOf(answer, sort), [answer, sort]);
  const request = { path: '/v1/sql', form: { sql: statement, db: sql.db() } };
  const read = tab.reads.value.value;
  const said =
    answer.affected === null || columns.length > 0
      ? `${rows.length === sql.most.value ? 'First ' : ''}${formatRows(rows.length)}`
      : `${formatCount(answer.affected)} rows affected`;
  return html`<section class="pane result" aria-label="Result" data-ui="result">
    <div class="head">${
      columns.length > 0 &&
      html`<div class="tabs" role="group" aria-label="View">${Object.entries(views).map(
        ([id, name]) => html`<button class="text" data-ui=${`tab-${id}`} aria-pressed=${id === view} onClick=${() => sql.show(id)}>${name}</button>`,
      )}</div>`
    }<h2>${said}</h2>
      <span class="quiet wide">${columns.length > 0 && `${columns.length} ${columns.length === 1 ? 'column' : 'columns'} · `}
        ${formatDuration(answer.ms)}
        ${
          read &&
          html` · <span data-ui="segments-read" title="By EXPLAIN; Plan says more">
        ${formatCount(read.segments)} of ${formatCount(read.of)} ${read.of === 1 ? 'segment' : 'segments'}</span>`
        }</span>
        <span class="grow"></span>
      ${columns.length > 0 && html`<${Take} answer=${answer} order=${order} statement=${statement} db=${sql.db()} />`}
      <button class="text" onClick=${() => copyText(curlOf(request, location.origin, stores.signIn.user.value))}>Copy as curl</button></div>
    ${
      columns.length > 0 &&
      (view === 'plot'
        ? html`<${Plot} answer=${answer} />`
        : view === 'plan'
          ? html`<${Plan} sql=${sql} tab=${tab} statement=${statement} />`
          : html`<${Grid} answer=${answer} order=${order} sort=${sort} onSort=${setSort} />`)
    }
  </section>`;
}

/**
 * Takes the rows elsewhere: all of them as a file of the server, or those on screen.
 * @param {{answer: SqlResult, order: number[], statement: string, db: string}} props
 */
function Take({ answer, order, statement, db }) {
  const { columns } = answer;
  const rows = () => order.map((i) => answer.rows[i]);
  const link = (/** @type {string} */ format, /** @type {string} */ end, more = {}) =>
    `/v1/sql?${new URLSearchParams({ sql: statement, db, format, timeout: '1h', filename: `rows.${end}`, ...more })}`;
  const tame = () => withoutFormulas(columns, rows());
  const csv = (/** @type {ReturnType<typeof tame>} */ of) => toCSV(of.columns, of.rows);
  const tabs = (/** @type {ReturnType<typeof tame>} */ of) => [of.columns.map((c) => c.name).join('\t'), toTSV(of.columns, of.rows)].join('\n');
  const save = (/** @type {string} */ text, /** @type {string} */ type, /** @type {string} */ end) => download(new Blob([text], { type }), `rows.${end}`);
  return html`<${Menu} button=${html`<span>Download or copy</span>`} label="Rows of the answer" ui="take" class="text change">${(
    /** @type {() => void} */ close,
  ) => {
    const act = (/** @type {() => unknown} */ run) => () => (close(), void run());
    return html`${
      changesIn(statement).length === 0 &&
      html`<p class="quiet">All rows, by running it again</p>
      <a class="choice" href=${link('csvWithNames', 'csv')} download="rows.csv" onClick=${close}>CSV</a>
      <a class="choice" title=${noFormulas} href=${link('csvWithNames', 'csv', { formulas: 'text' })} download="rows.csv" onClick=${close}>CSV for spreadsheets</a>
      <a class="choice" href=${link('ndjson', 'ndjson')} download="rows.ndjson" onClick=${close}>NDJSON</a>
      <a class="choice" href=${link('parquet', 'parquet')} download="rows.parquet" onClick=${close}>Parquet</a>`
    }
    <p class="quiet">The ${formatCount(order.length)} rows here</p>
    <button class="choice" data-ui="save-csv" onClick=${act(() => save(toCSV(columns, rows()), 'text/csv', 'csv'))}>CSV</button>
    <button class="choice" data-ui="save-csv-text" title=${noFormulas} onClick=${act(() => save(csv(tame()), 'text/csv', 'csv'))}>CSV for spreadsheets</button>
    <button class="choice" data-ui="save-json" onClick=${act(() => save(toJSON(columns, rows()), 'application/json', 'json'))}>JSON</button>
    <button class="choice" data-ui="copy-tsv" onClick=${act(() => copyText(tabs({ columns, rows: rows() })))}>Copy with tabs</button>
    <button class="choice" data-ui="copy-tsv-text" title=${noFormulas} onClick=${act(() => copyText(tabs(tame())))}>Copy with tabs for spreadsheets</button>
    <button class="choice" data-ui="copy-csv" onClick=${act(() => copyText(toCSV(columns, rows())))}>Copy as CSV</button>
    <button class="choice" data-ui="copy-json" onClick=${act(() => copyText(toJSON(columns, rows())))}>Copy as JSON</button>`;
  }}<//>`;
}

/**
 * The rows. Arrows move over the cells; Enter or a double click opens one.
 * @param {{answer: SqlResult, order: number[], sort: Sort, onSort: (sort: Sort) => void}} props
 */
function Grid({ answer, order, sort, onSort }) {
  const { columns, rows } = answer;
  const guessed = useMemo(() => guessWidths(answer), [answer]);
  const [widened, setWidened] = useState(/** @type {Record<number, number>} */ ({}));
  const [at, setAt] = useState({ row: -1, column: 0 });
  const [opened, setOpened] = useState(/** @type {{name: string, text: string} | null} */ (null));
  useEffect(() => {
    setWidened({});
    setAt({ row: -1, column: 0 });
  }, [answer]);
  const widths = guessed.map((width, i) => widened[i] ?? width);
  const open = (/** @type {number} */ row, /** @type {number} */ column) => {
    if (rows[order[row]]) setOpened({ name: columns[column].name, text: fullText(rows[order[row]][column], columns[column].type) });
  };

  /** @param {KeyboardEvent} event */
  function key(event) {
    const step = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key];
    if (/** @type {Element} */ (event.target).closest('.colhead')) return;
    if (step) setAt({ row: clamp(at.row + step[0], rows.length), column: clamp(at.column + (at.row < 0 ? 0 : step[1]), columns.length) });
    else if (event.key === 'Enter' && at.row >= 0) open(at.row, at.column);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {ClipboardEvent} event */
  function copy(event) {
    const selection = getSelection();
    const box = /** @type {HTMLElement} */ (event.currentTarget);
    const touched = [.../** @type {NodeListOf<HTMLElement>} */ (box.querySelectorAll('.cells'))].filter((row) => selection?.containsNode(row, true));
    if (touched.length < 2 || !event.clipboardData) return;
    const [first, last] = [touched[0], touched[touched.length - 1]].map((row) => Number(row.dataset.index));
    event.clipboardData.setData(
      'text/plain',
      toTSV(
        columns,
        order.slice(first, last + 1).map((i) => rows[i]),
      ),
    );
    event.preventDefault();
  }

  const sorted = (/** @type {number} */ i) => (sort?.by !== i ? '' : sort.down ? 'down' : 'up');
  const heads = columns.map((c, i) => ({
    id: `${c.name} ${i}`,
    name: visible(c.name),
    title: visible(`${c.name}, ${c.type}; click: sort`),
    width: widths[i],
    sorted: sorted(i),
    number: isNumeric(c.type),
  }));
  const row = (/** @type {number} */ index) => html`<div class="row cells" role="row" aria-rowindex=${index + 1} data-index=${index} key=${index}>
    ${rows[order[index]].map((cell, i) => {
      const text = cellText(cell, columns[i].type).slice(0, 300);
      const look = cell === null ? 'nul' : isNumeric(columns[i].type) ? 'num' : '';
      return html`<span role="gridcell" class=${`${look} ${index === at.row && i === at.column ? 'on' : ''}`} style=${{ width: `${widths[i]}px` }}
        onDblClick=${() => open(index, i)} onClick=${() => setAt({ row: index, column: i })}>${visible(text)}</span>`;
    })}</div>`;
  return html`<div class="grid" onKeyDown=${key} onCopy=${copy}><div class="gridwidth" style=${{ minWidth: `${widths.reduce((sum, w) => sum + w, 0)}px` }}>
      <div class="colhead" role="group" aria-label="Columns">
        <${ColumnHeads} columns=${heads} onWidth=${(/** @type {number} */ i, /** @type {number} */ width) => setWidened({ ...widened, [i]: width })}
        onSort=${(/** @type {number} */ i) => onSort(sort?.by !== i ? { by: i, down: false } : sort.down ? null : { by: i, down: true })} /></div>
      <${VirtualList} count=${rows.length} height=${24} label=${`${rows.length} rows; arrows move, Enter opens a cell`} focus=${at.row}
        resetKey=${`${order[0]} ${sort?.by} ${sort?.down}`} row=${row} /></div>
      ${opened && html`<${Cell} ...${opened} onClose=${() => setOpened(null)} />`}</div>`;
}

/** The whole value of a cell. @param {{name: string, text: string, onClose: () => void}} props */
function Cell({ name, text, onClose }) {
  return html`<${Dialog} title=${name} class="broad" onClose=${onClose}><pre class="asked cell-text" data-ui="cell" tabindex="0">${visibleLines(text)}</pre>
    <p class="acts"><button class="button main" onClick=${() => copyText(text)}>Copy</button><button class="button" onClick=${onClose}>Close</button></p><//>`;
}

/**
 * Writes a value whole: JSON on several lines.
 * @param {unknown} value
 * @param {string} type
 */
function fullText(value, type) {
  const text = cellText(value, type);
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text; // it only begins like JSON
  }
}

/** @param {SqlResult} answer */
function guessWidths({ columns, rows }) {
  const texts = rows.slice(0, 200).map((row) => row.map((cell, i) => visible(cellText(cell, columns[i].type).slice(0, 60))));
  return columns.map((c, i) => {
    const longest = texts.reduce((most, row) => Math.max(most, Math.min(row[i].length, 60)), c.name.length);
    return Math.ceil(Math.max(longest, 4) * 7.3) + 24;
  });
}

/** @param {number} n @param {number} count */
function clamp(n, count) {
  return Math.max(0, Math.min(count - 1, n));
}

/** @param {string} text */
function withCommas(text) {
  return text.replace(/\b\d{4,}\b/g, (n) => formatCount(Number(n)));
}

/** How a statement runs: what is read, and each step of the engine with its time. @param {{sql: import('../main.js').Stores['sql'], tab: import('../stores/sql.js').Tab, statement: string}} props */
function Plan({ sql, tab, statement }) {
  useEffect(() => void sql.explain(statement), [statement]);
  const rows = tab.plan.value.value?.rows ?? [];
  const read = rows.find(([key]) => key === 'segments')?.[1];
  return html`<div class="scrolled plan" data-ui="plan"><${Progress} since=${tab.plan.since.value} onCancel=${tab.plan.cancel} />
    <${ErrorPanel} latest=${tab.plan} what="EXPLAIN ANALYZE" />
    ${
      read &&
      html`<ul class="read" data-ui="plan-read">${String(read)
        .split(/;\s*|\n\s*/)
        .map((part) => html`<li>${withCommas(part)}</li>`)}</ul>`
    }
    ${rows.filter(([key]) => key !== 'segments').map(([, text]) => html`<pre tabindex="0">${String(text)}</pre>`)}</div>`;
}
