// The actions on a table: a form for each, its statement, and its effect.

import { html, useState } from '../../vendor/core.js';
import { formatBytes, formatCount } from '../lib/format.js';
import { quoteName, quoteText } from '../lib/sqlwords.js';
import { toast } from '../stores/toast.js';
import { Confirm } from './dialog.js';
import { ErrorPanel } from './states.js';

/** @typedef {import('../stores/tables.js').TableInfo} TableInfo */
/** @typedef {Record<string, string>} Values */

const types = ['STRING', 'BIGINT', 'DOUBLE', 'BOOLEAN', 'TIMESTAMP(3)', 'TIMESTAMP(9)', 'JSON', 'BINARY'];
const indexes = ['INVERTED', 'SKIPPING', 'FULLTEXT'];

/**
 * @typedef {object} TableActionInfo
 * @property {string} id
 * @property {string} name
 * @property {string} says what happens
 * @property {[string, string, string][]} asks name, label and kind (text, type, column or index) of each value
 * @property {(table: string, values: Values) => string} statement
 * @property {boolean} [gone] the table is not there afterwards
 * @property {boolean} [typed] its name has to be typed
 */

/** @type {TableActionInfo[]} */
export const tableActions = [
  {
    id: 'ttl',
    name: 'Set how long rows are kept…',
    says: 'Older rows are removed automatically. Write 12h, 7d, 3M, 1y, or forever.',
    asks: [['ttl', 'ttl', 'text']],
    statement: (table, { ttl }) => `ALTER TABLE ${table} SET 'ttl' = ${quoteText(ttl)}`,
  },
  {
    id: 'column',
    name: 'Add a column…',
    says: 'Existing rows have null in it.',
    asks: [
      ['column', 'Name', 'text'],
      ['type', 'Type', 'type'],
    ],
    statement: (table, { column, type }) => `ALTER TABLE ${table} ADD COLUMN ${quoteName(column)} ${type}`,
  },
  {
    id: 'index',
    name: 'Add an index…',
    says: 'It applies to new rows. INVERTED is for values that repeat, SKIPPING for ids, FULLTEXT for words in texts.',
    asks: [
      ['column', 'Column', 'column'],
      ['index', 'Index', 'index'],
    ],
    statement: (table, { column, index }) => `ALTER TABLE ${table} MODIFY COLUMN ${quoteName(column)} SET ${index} INDEX`,
  },
  {
    id: 'rename',
    name: 'Rename…',
    says: 'Senders that use the old name create a new table.',
    asks: [['to', 'New name', 'text']],
    statement: (table, { to }) => `ALTER TABLE ${table} RENAME TO ${quoteName(to)}`,
    gone: true,
  },
  {
    id: 'truncate',
    name: 'Remove all rows…',
    says: 'All rows are removed; columns and options stay. This cannot be undone.',
    asks: [],
    statement: (table) => `TRUNCATE TABLE ${table}`,
    typed: true,
  },
  {
    id: 'drop',
    name: 'Drop…',
    says: 'The table and all of its rows are removed. This cannot be undone.',
    asks: [],
    statement: (table) => `DROP TABLE ${table}`,
    typed: true,
    gone: true,
  },
];

/**
 * @param {object} props
 * @param {string} props.id
 * @param {string} props.db
 * @param {string} props.name
 * @param {TableInfo | undefined} props.info
 * @param {{name: string}[]} props.fields
 * @param {import('../main.js').Stores} props.stores
 * @param {() => void} props.onClose
 */
export function TableAction({ id, db, name, info, fields, stores, onClose }) {
  const { table, tables, place } = stores;
  const action = /** @type {TableActionInfo} */ (tableActions.find((a) => a.id === id));
  const [values, setValues] = useState(/** @type {Values} */ ({ ttl: info?.ttl ?? '', type: types[0], index: indexes[0], column: '', to: name }));
  const statement = action.statement(quoteName(name), values);

  async function run() {
    if (!(await table.change(db, statement))) return;
    toast(`Done: ${statement}`);
    onClose();
    await tables.load();
    if (action.gone) place.set('tables', values.to !== name && id === 'rename' ? { db, t: values.to } : { db }, { db: 'public' });
    else await table.load(db, name);
  }

  return html`<${Confirm} title=${action.name.replace('…', '')} word=${action.typed ? name : ''} action=${action.typed ? action.name.replace('…', '') : 'Run it'}
    onYes=${run} onClose=${() => {
      table.action.error.value = null;
      onClose();
    }}>
    <p>${action.says}</p>
    ${action.typed && info && html`<p><b>${db}.${name}</b> has ${formatCount(info.rows)} rows, ${formatBytes(info.bytes)}.</p>`}
    ${action.asks.map(
      ([key, label, kind]) =>
        html`<label>${label}<${Input} kind=${kind} fields=${fields} value=${values[key]} onValue=${(/** @type {string} */ v) => setValues({ ...values, [key]: v })} /></label>`,
    )}
    <pre class="asked">${statement}</pre>
    <${ErrorPanel} latest=${table.action} what="The statement" /><//>`;
}

/** @param {{kind: string, fields: {name: string}[], value: string, onValue: (value: string) => void}} props */
function Input({ kind, fields, value, onValue }) {
  const take = (/** @type {Event} */ e) => onValue(/** @type {HTMLInputElement} */ (e.currentTarget).value);
  if (kind === 'text') return html`<input required value=${value} onInput=${take} />`;
  const choices = kind === 'type' ? types : kind === 'index' ? indexes : fields.map((f) => f.name);
  return html`<select required value=${value} onChange=${take}>${kind === 'column' && html`<option value="">Choose</option>`}${choices.map((c) => html`<option value=${c}>${c}</option>`)}</select>`;
}
