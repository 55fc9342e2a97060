// The actions on a table: a form for each, its statement, and its effect.

import { html, useEffect, useState } from '../../vendor/core.js';
import { formatBytes, formatCount, formatRows } from '../lib/format.js';
import { quoteName, quoteText, tableTarget } from '../lib/sqlquote.js';
import { parseTTL } from '../lib/ttl.js';
import { toast } from '../stores/toast.js';
import { useMay } from './may.js';
import { StatementForm } from './statementform.js';

/** @typedef {import('../stores/tables.js').TableInfo} TableInfo */
/** @typedef {Record<string, string>} Values */

const types = ['STRING', 'BIGINT', 'DOUBLE', 'BOOLEAN', 'TIMESTAMP(3)', 'TIMESTAMP(9)', 'JSON', 'BINARY'];
const privileges = ['ALTER', 'DROP', 'DELETE'];
const indexes = ['INVERTED', 'SKIPPING', 'FULLTEXT'];

/**
 * @typedef {object} TableActionInfo
 * @property {string} id
 * @property {string} name
 * @property {string[]} needs the privileges on the table
 * @property {string} says what happens
 * @property {[string, string, string][]} asks name, label and kind (text, type, column or index) of each value
 * @property {(table: string, values: Values) => string} statement
 * @property {boolean} [gone] the table is not there afterwards
 * @property {boolean} [typed] its name has to be typed
 * @property {(values: Values, info: TableInfo | undefined) => boolean} [loses] whether these values remove rows
 */

/** @type {TableActionInfo[]} */
export const tableActions = [
  {
    id: 'ttl',
    needs: ['ALTER'],
    name: 'Set how long rows are kept…',
    says: 'Older rows are removed at once, and from then on when they reach that age. Write 12h, 7d, 3M, 1y, or forever.',
    asks: [['ttl', 'Keep rows for', 'text']],
    loses: ({ ttl }, info) => parseTTL(ttl) < parseTTL(info?.ttl || 'forever'),
    statement: (table, { ttl }) => `ALTER TABLE ${table} SET 'ttl' = ${quoteText(ttl)}`,
  },
  {
    id: 'column',
    needs: ['ALTER'],
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
    needs: ['ALTER'],
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
    needs: ['ALTER', 'DROP'],
    name: 'Rename…',
    says: 'Senders that use the old name create a new table.',
    asks: [['to', 'New name', 'text']],
    statement: (table, { to }) => `ALTER TABLE ${table} RENAME TO ${quoteName(to)}`,
    gone: true,
  },
  {
    id: 'truncate',
    needs: ['DELETE'],
    name: 'Remove all rows…',
    says: 'All rows are removed; columns and options stay. This cannot be undone.',
    asks: [],
    statement: (table) => `TRUNCATE TABLE ${table}`,
    typed: true,
  },
  {
    id: 'drop',
    needs: ['DROP'],
    name: 'Drop…',
    says: 'The table and all of its rows are removed. This cannot be undone.',
    asks: [],
    statement: (table) => `DROP TABLE ${table}`,
    typed: true,
    gone: true,
  },
];

/**
 * The actions that the user may do on a table.
 * @param {import('../stores/signin.js').SignIn} signIn
 * @param {string} db
 * @param {string} name
 */
export function useTableActions(signIn, db, name) {
  const held = useMay(
    signIn,
    privileges.map((privilege) => [privilege, tableTarget(db, name)]),
  );
  return tableActions.filter(({ needs }) => needs.every((privilege) => held?.[privileges.indexOf(privilege)]));
}

/**
 * @param {object} props
 * @param {string} props.id
 * @param {string} props.db
 * @param {string} props.name
 * @param {TableInfo | undefined} props.info
 * @param {{name: string, role?: string | null}[]} props.fields
 * @param {import('../main.js').Stores} props.stores
 * @param {() => void} props.onClose
 */
export function TableAction({ id, db, name, info, fields, stores, onClose }) {
  const { table, tables, place } = stores;
  const action = /** @type {TableActionInfo} */ (tableActions.find((a) => a.id === id));
  const [older, setOlder] = useState({ ttl: '', count: 0 });
  const countOf = (/** @type {Values} */ values) => (older.ttl === values.ttl ? older.count : null);

  /** @param {Values} values */
  async function run(values) {
    const statement = action.statement(quoteName(name), values);
    if (!(await table.change(db, statement))) return;
    toast(`Done: ${statement}`);
    onClose();
    await tables.load();
    if (action.gone) place.set('tables', id === 'rename' ? { db, t: values.to } : { db }, { db: 'public' });
    else await table.load(db, name);
  }

  return html`<${StatementForm} name=${action.name} says=${action.says} asks=${action.asks}
    word=${(/** @type {Values} */ values) => (action.typed || (action.loses?.(values, info) && countOf(values) !== 0) ? name : '')}
    choices=${{ type: types, index: indexes, column: fields.map((f) => f.name) }} initial=${{ ttl: info?.ttl || 'forever', to: name }}
    remark=${(/** @type {Values} */ values) =>
      action.loses?.(values, info) &&
      html`<${Expiring} table=${table} db=${db} name=${name}
      time=${fields.find((f) => f.role === 'time')?.name} ttl=${values.ttl} count=${countOf(values)}
      onCount=${(/** @type {number} */ count) => setOlder({ ttl: values.ttl, count })} />`}
    statement=${(/** @type {Values} */ values) => action.statement(quoteName(name), values)} latest=${table.action} onRun=${run} onClose=${onClose}>
    ${
      action.typed &&
      info &&
      html`<p><b>
      ${db}.${name}</b> ${!info.sized ? 'may have rows that you may not see' : `has ${formatRows(info.rows)}, ${formatBytes(info.bytes)}`}.</p>`
    }<//>`;
}

/**
 * How many rows are older than a ttl.
 * @param {object} props
 * @param {import('../main.js').Stores['table']} props.table
 * @param {string} props.db
 * @param {string} props.name
 * @param {string | undefined} props.time the column of the time index
 * @param {string} props.ttl
 * @param {number | null} props.count null: not known
 * @param {(count: number) => void} props.onCount
 */
function Expiring({ table, db, name, time, ttl, count, onCount }) {
  useEffect(() => {
    if (!time) return undefined;
    const stopped = new AbortController();
    const timer = setTimeout(() => void table.countOlder(db, name, time, parseTTL(ttl), stopped.signal).then(onCount, () => {}), 300); // no request while a number is typed
    return () => {
      clearTimeout(timer);
      stopped.abort();
    };
  }, [db, name, time, ttl]);
  if (count === 0) return html`<span data-ui="expiring">No row is that old now.</span>`;
  return html`<span data-ui="expiring"><b>
    ${count === null ? 'All older rows' : count === 1 ? '1 row' : `${formatCount(count)} rows`}</b> of ${db}.${name} ${count === 1 ? 'is' : 'are'} removed. This cannot be undone.</span>`;
}
