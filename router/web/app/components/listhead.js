// The head of the list in Explore: rows, patterns or differences, and what can be done with all of them.

import { html } from '../../vendor/core.js';
import { curlOf } from '../lib/api.js';
import { formatCount, noFormulas, shellQuoted, shellWord } from '../lib/format.js';
import { ColumnsChooser, ColumnsMenu } from './columnsmenu.js';
import { copyText } from './copy.js';
import { Menu } from './menu.js';
import { usePhone } from './narrow.js';

const views = [
  ['rows', 'Rows', ''],
  ['patterns', 'Patterns', 'X'],
  ['compare', 'Compare', 'D'],
];

/** @param {{stores: import('../main.js').Stores, onFields: () => void, fieldsHidden: boolean}} props */
export function ListHead({ stores, onFields, fieldsHidden }) {
  const { explore } = stores;
  const state = explore.state.value;
  const phone = usePhone();
  return html`<div class="head"><div class="tabs" role="group" aria-label="View">${views.map(
    ([id, name, key]) =>
      html`<button class="text" data-ui=${`view-${id}`} aria-pressed=${id === state.view} title=${key} onClick=${() => explore.set({ view: id })}>${name}</button>`,
  )}</div><span class="grow"></span>
    ${
      explore.newer.value.value?.total > 0 &&
      html`<button class="text go" data-ui="new-rows"
        onClick=${() => (explore.clearPicked(), explore.run({ again: true }))}>↑ ${formatCount(explore.newer.value.value.total)} new rows</button>`
    }
    ${
      explore.begin.value &&
      html`<button class="text go" data-ui="from-begin"
      onClick=${() => (explore.set({ row: '' }, { replace: true }), explore.run({ again: true }))}>The list begins at this row: show the first rows</button>`
    }
    <button class=${`text ${fieldsHidden ? '' : 'fields-button'}`} data-ui="show-fields" onClick=${onFields}>Fields</button>
    ${state.view === 'rows' && html`<${phone ? ActsMenu : Acts} explore=${explore} user=${stores.signIn.user.value} />`}</div>`;
}

/** @typedef {{explore: import('../stores/explore.js').Explore, user: string}} ActsProps */

/** What can be done with the rows. @param {ActsProps} props */
function Acts({ explore, user }) {
  return html`<${ColumnsMenu} explore=${explore} /><${Looks} explore=${explore} look="text" onDone=${() => {}} />
    <${Menu} button=${html`<span>Export</span>`} label="All rows of this search" ui="export" class="text change">${(/** @type {() => void} */ close) =>
      html`<${ExportChoices} explore=${explore} user=${user} onDone=${close} />`}<//>`;
}

/** The same on a phone, in one menu. @param {ActsProps} props */
function ActsMenu({ explore, user }) {
  const button = html`<span>Options</span><span class="caret"></span>`;
  return html`<${Menu} button=${button} label="What can be done with the rows" ui="list-acts" class="text change" panelClass="searchacts">${(
    /** @type {() => void} */ close,
  ) => html`<${Looks} explore=${explore} look="choice" onDone=${close} />
      <h3>Export all rows</h3><${ExportChoices} explore=${explore} user=${user} onDone=${close} />
      <h3>Column beside the line</h3><${ColumnsChooser} explore=${explore} />`}<//>`;
}

/** How the rows are shown. @param {{explore: import('../stores/explore.js').Explore, look: string, onDone: () => void}} props */
function Looks({ explore, look, onDone }) {
  const { wrap, order } = explore.state.value;
  const newest = order === 'newest';
  const turn = () => (onDone(), explore.set({ wrap: wrap ? '' : '1' }, { replace: true }));
  const reverse = () => (onDone(), explore.set({ order: newest ? 'oldest' : 'newest', row: '' }));
  return html`<button class=${look} aria-pressed=${wrap} data-ui="wrap" title="W" onClick=${turn}>${wrap ? 'One line' : 'Wrap'}</button>
    <button class=${look} title="The order of the rows; click: the other order" onClick=${reverse}>${newest ? 'Newest first' : 'Oldest first'}</button>`;
}

/** @type {[string, string, string, Record<string, string>][]} the format, its name, the end of the file's name, and parameters */
const formats = [
  ['ndjson', 'NDJSON', 'ndjson', { nulls: 'omit' }],
  ['csvWithNames', 'CSV', 'csv', {}],
  ['csvWithNames', 'CSV for spreadsheets', 'csv', { formulas: 'text' }],
  ['parquet', 'Parquet', 'parquet', {}],
];

/** All rows of the search as a file: the browser asks the server for it and writes it to disk as it comes. @param {ActsProps & {onDone: () => void}} props */
function ExportChoices({ explore, user, onDone }) {
  const sql = (explore.compiled.value.value?.sql ?? '').replace(/\s+LIMIT \d+\s*$/, '');
  const { db, tables } = explore.state.value;
  const name = tables[0]?.replace(/[^\w.-]/g, '_') ?? 'rows';
  const picked = explore.pickedRows();
  const rows = () => (picked.length > 0 ? picked : explore.loadedRows());
  const linesOf = (/** @type {import('../lib/line.js').Row[]} */ of) =>
    of.map((row) => JSON.stringify({ [explore.shape.value.time]: row.time, ...row.v })).join('\n');
  const request = (/** @type {string} */ format, /** @type {Record<string, string>} */ more) => ({ sql, db, format, timeout: '1h', ...more });
  return html`${formats.map(([format, label, end, more]) => {
    const address = `/v1/sql?${new URLSearchParams({ ...request(format, more), filename: `${name}.${end}` })}`;
    return html`<a class="choice" title=${more.formulas ? noFormulas : ''} href=${address} download=${`${name}.${end}`} onClick=${onDone}>${label}</a>`;
  })}
    <button class="choice" data-ui="copy-ndjson"
      onClick=${() => (onDone(), copyText(linesOf(rows())))}>Copy the ${picked.length > 0 ? 'selected' : 'loaded'} rows as NDJSON</button>
    <button class="choice"
      onClick=${() => (onDone(), copyText(curlOf({ path: '/v1/sql', form: request('ndjson', { nulls: 'omit' }) }, location.origin, user)))}>Copy as curl</button>
    <button class="choice" onClick=${() => (onDone(), copyText(`cordwood sql --db ${shellWord(db)} -o ndjson ${shellQuoted(sql)}`))}>Copy as cordwood sql</button>`;
}
