// The head of the list in Explore: rows, patterns or differences, and what can be done with all of them.

import { html } from '../../vendor/core.js';
import { curlOf } from '../lib/api.js';
import { formatCount, noFormulas, shellQuoted, shellWord } from '../lib/format.js';
import { ColumnsMenu } from './columnsmenu.js';
import { copyText } from './copy.js';
import { Menu } from './menu.js';

const views = [
  ['rows', 'Rows', ''],
  ['patterns', 'Patterns', 'X'],
  ['compare', 'Compare', 'D'],
];

/** @param {{stores: import('../main.js').Stores, onFields: () => void, fieldsHidden: boolean}} props */
export function ListHead({ stores, onFields, fieldsHidden }) {
  const { explore } = stores;
  const state = explore.state.value;
  return html`<div class="head"><div class="tabs" role="group" aria-label="View">${views.map(
    ([id, name, key]) =>
      html`<button class="text" data-ui=${`view-${id}`} aria-pressed=${id === state.view} title=${key} onClick=${() => explore.set({ view: id })}>${name}</button>`,
  )}</div><span class="grow"></span>
    ${
      explore.newer.value.value?.total > 0 &&
      html`<button class="text go" data-ui="new-rows" onClick=${() => (explore.clearPicked(), explore.run({ again: true }))}>↑ ${formatCount(explore.newer.value.value.total)} new rows</button>`
    }
    ${explore.begin.value && html`<button class="text go" data-ui="from-begin" onClick=${() => (explore.set({ row: '' }, { replace: true }), explore.run({ again: true }))}>The list begins at this row: show the first rows</button>`}
    <button class=${`text ${fieldsHidden ? '' : 'fields-button'}`} data-ui="show-fields" onClick=${onFields}>Fields</button>
    ${
      state.view === 'rows' &&
      html`<${ColumnsMenu} explore=${explore} /><button class="text" aria-pressed=${state.wrap} data-ui="wrap" title="W" onClick=${() => explore.set({ wrap: state.wrap ? '' : '1' }, { replace: true })}>${state.wrap ? 'One line' : 'Wrap'}</button>
      <button class="text" title="The order of the rows; click: the other order" onClick=${() => explore.set({ order: state.order === 'newest' ? 'oldest' : 'newest', row: '' })}>${state.order === 'newest' ? 'Newest first' : 'Oldest first'}</button>
      <${Export} explore=${explore} user=${stores.signIn.user.value} />`
    }</div>`;
}

/** @type {[string, string, string, Record<string, string>][]} the format, its name, the end of the file's name, and parameters */
const formats = [
  ['ndjson', 'NDJSON', 'ndjson', { nulls: 'omit' }],
  ['csvWithNames', 'CSV', 'csv', {}],
  ['csvWithNames', 'CSV for spreadsheets', 'csv', { formulas: 'text' }],
  ['parquet', 'Parquet', 'parquet', {}],
];

/** All rows of the search as a file: the browser asks the server for it and writes it to disk as it comes. @param {{explore: import('../stores/explore.js').Explore, user: string}} props */
function Export({ explore, user }) {
  const sql = (explore.compiled.value.value?.sql ?? '').replace(/\s+LIMIT \d+\s*$/, '');
  const { db, tables } = explore.state.value;
  const name = tables[0]?.replace(/[^\w.-]/g, '_') ?? 'rows';
  const picked = explore.pickedRows();
  const rows = () => (picked.length > 0 ? picked : explore.loadedRows());
  const linesOf = (/** @type {import('../lib/line.js').Row[]} */ of) =>
    of.map((row) => JSON.stringify({ [explore.shape.value.time]: row.time, ...row.v })).join('\n');
  const request = (/** @type {string} */ format, /** @type {Record<string, string>} */ more) => ({ sql, db, format, timeout: '1h', ...more });
  return html`<${Menu} button=${html`<span>Export</span>`} label="All rows of this search" ui="export" class="text change">${(
    /** @type {() => void} */ close,
  ) => html`
    ${formats.map(([format, label, end, more]) => {
      const address = `/v1/sql?${new URLSearchParams({ ...request(format, more), filename: `${name}.${end}` })}`;
      return html`<a class="choice" title=${more.formulas ? noFormulas : ''} href=${address} download=${`${name}.${end}`} onClick=${close}>${label}</a>`;
    })}
    <button class="choice" data-ui="copy-ndjson" onClick=${() => (close(), copyText(linesOf(rows())))}>Copy the ${picked.length > 0 ? 'selected' : 'loaded'} rows as NDJSON</button>
    <button class="choice" onClick=${() => (close(), copyText(curlOf({ path: '/v1/sql', form: request('ndjson', { nulls: 'omit' }) }, location.origin, user)))}>Copy as curl</button>
    <button class="choice" onClick=${() => (close(), copyText(`cordwood sql --db ${shellWord(db)} -o ndjson ${shellQuoted(sql)}`))}>Copy as cordwood sql</button>`}<//>`;
}
