// The question before statements run that change something: what they remove, and how much that is.

import { html } from '../../vendor/core.js';
import { formatBytes, formatCount, formatRows, visible, visibleLines } from '../lib/format.js';
import { tableTarget } from '../lib/sqlquote.js';
import { changesIn, lossOf } from '../lib/statements.js';
import { Dialog } from './dialog.js';
import { useMay } from './may.js';

const mostShown = 2000; // characters

/**
 * @param {object} props
 * @param {string} props.text the statements
 * @param {string} props.db in which they run
 * @param {import('../stores/tables.js').TableInfo[]} props.tables
 * @param {import('../stores/signin.js').SignIn} props.signIn
 * @param {() => void} props.onNo
 * @param {() => void} props.onYes
 */
export function AskFirst({ text, db, tables, signIn, onNo, onYes }) {
  const changes = changesIn(text);
  const losses = changes.map(lossOf).filter((loss) => loss !== null);
  const [only] = losses;
  const act = changes.length === 1 && only ? actOf(only) : '';
  const ofTables = losses.filter((loss) => loss.kind === 'table');
  const held = useMay(
    signIn,
    ofTables.map((loss) => [privileges[loss.verb], tableTarget(loss.db || db, loss.name)]),
  );
  const lacks = ofTables.find((_, i) => held?.[i] === false);
  const title = act ? `${act}?` : changes.length > 1 ? `${formatCount(changes.length)} statements change something` : 'This statement changes something';
  return html`<${Dialog} title=${title} onClose=${onNo}>
    ${losses.map((loss) => html`<p data-ui="loss">${!act && html`<b>${actOf(loss)}.</b> `}${consequence(loss, db, tables)}</p>`)}
    <pre class="asked" tabindex="0">${visibleLines(text.slice(0, mostShown))}${text.length > mostShown && ' …'}</pre>
    ${
      lacks &&
      html`<p class="wrong"
      data-ui="lacks">This needs the privilege ${privileges[lacks.verb]} on ${visible(`${lacks.db || db}.${lacks.name}`)}, which ${signIn.user.value} does not have.</p>`
    }
    <p class="acts"><button class=${`button main ${losses.length > 0 ? 'danger' : ''}`} data-ui="run-anyway" disabled=${lacks !== undefined}
      onClick=${onYes}>${act ? verbs[only.verb] : changes.length > 1 ? 'Run them' : 'Run it'}</button>
      <button class="button" data-ui="close-dialog" autofocus onClick=${onNo}>Cancel</button></p><//>`;
}

const privileges = { drop: 'DROP', truncate: 'DELETE', delete: 'DELETE' };
const verbs = { drop: 'Drop it', truncate: 'Remove the rows', delete: 'Delete the rows' };

/** @param {import('../lib/statements.js').Loss} loss */
function actOf({ verb, kind, db, name }) {
  const what = `${db && `${db}.`}${name}`;
  if (verb === 'drop') return visible(`Drop the ${kind} ${what}`);
  return visible(verb === 'truncate' ? `Remove all rows of ${what}` : `Delete rows of ${what}`);
}

/**
 * Says what is gone afterwards.
 * @param {import('../lib/statements.js').Loss} loss
 * @param {string} current
 * @param {import('../stores/tables.js').TableInfo[]} tables
 */
function consequence({ verb, kind, db, name }, current, tables) {
  if (verb === 'drop' && (kind === 'database' || kind === 'schema')) {
    const inside = tables.filter((t) => t.db === name);
    return inside.length === 0
      ? 'It cannot be brought back.'
      : `It has ${formatCount(inside.length)} ${inside.length === 1 ? 'table' : 'tables'}, with ${sizeOf(inside)}. Only a backup brings them back.`;
  }
  if (kind !== 'table') return 'It cannot be brought back.';
  const table = tables.find((t) => t.db === (db || current) && t.name === name);
  const only = 'Only a backup brings them back.';
  if (!table?.sized) return `${verb === 'delete' ? 'The rows that it finds are removed.' : 'All of its rows are removed.'} ${only}`;
  return verb === 'delete' ? `The table has ${sizeOf([table])}; those that the statement finds are removed. ${only}` : `It has ${sizeOf([table])}. ${only}`;
}

/** @param {import('../stores/tables.js').TableInfo[]} tables */
function sizeOf(tables) {
  const [rows, bytes] = [tables.reduce((n, t) => n + t.rows, 0), tables.reduce((n, t) => n + t.bytes, 0)];
  return `${formatRows(rows)} (${formatBytes(bytes)})`;
}
