// SQL: an editor with tabs, and the rows of the statement at the cursor.

import { html, useEffect, useMemo, useRef, useState } from '../../vendor/core.js';
import { CodeEditor } from '../components/code.js';
import { HiddenNotice } from '../components/hidden.js';
import { SavedMenu } from '../components/share.js';
import { AskFirst } from '../components/sqlask.js';
import { HistoryMenu } from '../components/sqlhistory.js';
import { SqlNames } from '../components/sqlnames.js';
import { Results, views } from '../components/sqlresult.js';
import { ErrorPanel, Progress } from '../components/states.js';
import { useIgnored } from '../components/ignored.js';
import { formatCount, visible } from '../lib/format.js';
import { completeSql } from '../lib/sqlcomplete.js';
import { colourSql } from '../lib/sqltext.js';
import { changesIn, statementAt } from '../lib/statements.js';
import { unknownParts } from '../lib/url.js';
import { rowLimits } from '../stores/sql.js';
import { toast } from '../stores/toast.js';

/** @typedef {import('../stores/sql.js').Tab} Tab */

const parameters = { db: null, q: null, tab: (/** @type {string} */ view) => Object.hasOwn(views, view) };

/** @param {{stores: import('../main.js').Stores}} props */
export function SqlPage({ stores }) {
  const { sql } = stores;
  const area = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const [asked, setAsked] = useState('');
  const [names, setNames] = useState(false); // on a small screen
  useEffect(() => {
    document.title = 'SQL · cordwood';
  }, []);

  useIgnored(stores.place.page.value === 'sql' ? unknownParts(stores.place.here.value.params, parameters) : []);
  const tab = sql.tab.value;
  const text = tab.text.value;

  /** Runs what is selected, else the statement at the cursor. What changes something is asked about first. */
  function run() {
    const element = /** @type {HTMLTextAreaElement} */ (area.current);
    const { selectionStart: from, selectionEnd: to, value } = element;
    return runOne(from < to ? value.slice(from, to).trim() : statementAt(value, from));
  }

  /** @param {string} statement */
  function runOne(statement) {
    if (!statement) return toast('There is no statement to run.');
    if (changesIn(statement).length > 0) setAsked(statement);
    else void sql.run(statement);
    return undefined;
  }
  useEffect(() => stores.keys.bind({ 'ctrl+Enter': ['run the statement', () => run()] }), [stores]);

  /** Writes at the cursor. @param {string} name */
  function insert(name) {
    setNames(false);
    area.current?.focus();
    document.execCommand('insertText', false, name);
  }

  const [tables, columns] = [stores.tables.all.value, sql.columns.value.value ?? []];
  const complete = useMemo(() => {
    /** @type {import('../components/completion.js').Complete} */
    const found = (typed, caret) => {
      sql.describe(statementAt(typed, caret));
      return completeSql(typed, caret, { tables, columns, db: sql.db() });
    };
    return found;
  }, [tables, columns]);
  const answer = tab.latest.value.value;
  return html`<h1 class="hidden">SQL</h1><div class=${`sqlpage ${names ? 'names-open' : ''}`}>
    <${SqlNames} stores=${stores} onInsert=${insert} onClose=${() => setNames(false)} />
    <div class="pane">
    <${Tabs} sql=${sql} />
    <div class="sqleditor"><${CodeEditor} key=${tab.id} label="Statements" text=${text} lines=${useMemo(() => colourSql(text), [text])} wrong=${sql.faultOf(tab)}
      onText=${sql.write} complete=${complete} onReady=${(/** @type {HTMLTextAreaElement} */ element) => (area.current = element)} /></div>
    <${HiddenNotice} text=${text} onText=${sql.write} />
    <div class="tailbar">
      <button class="button main" data-ui="run" onClick=${() => run()}>Run</button><kbd>Ctrl ↵</kbd>
      <button class="text small-only" data-ui="sql-tables" aria-expanded=${names} onClick=${() => setNames(!names)}>Tables</button>
      <label class="by again"><span class="wide">at most </span><select aria-label="Rows that are shown at most" value=${sql.most.value}
        onChange=${(/** @type {Event} */ e) => (sql.most.value = Number(/** @type {HTMLSelectElement} */ (e.currentTarget).value))}>
          ${rowLimits.map((n) => html`<option value=${n}>${formatCount(n)}</option>`)}</select><span class="wide"> rows</span></label>
      <${SavedMenu} saved=${stores.savedSql} place=${stores.place} user=${stores.signIn.user.value} what="statement" /><${HistoryMenu} sql=${sql} />
      <span class="quiet">database ${sql.db()}; times are in UTC</span>
    </div>
    <${Progress} since=${tab.latest.since.value} onCancel=${tab.latest.cancel} />
    ${
      tab.latest.cancelled.value &&
      html`<p class="quiet none" role="status" data-ui="cancelled">The statement was cancelled. <button class="text go"
      data-ui="retry" onClick=${tab.latest.again}>Run it again</button></p>`
    }
    <${ErrorPanel} latest=${tab.latest} what="The statement" onNearest=${(/** @type {string} */ name) => runOne(sql.correct(tab, name))} />
    ${answer && !tab.latest.error.value && html`<${Results} stores=${stores} tab=${tab} answer=${answer} />`}</div></div>
    ${
      asked &&
      html`<${AskFirst} text=${asked} db=${sql.db()} tables=${tables} signIn=${stores.signIn} onNo=${() => setAsked('')} onYes=${() => {
        setAsked('');
        void sql.run(asked);
      }} />`
    }`;
}

/** The texts, by the words with which they begin. @param {{sql: import('../main.js').Stores['sql']}} props */
function Tabs({ sql }) {
  return html`<div class="sqltabs" role="group" aria-label="Texts">${sql.tabs.value.map(
    (tab, i) =>
      html`<span class=${tab === sql.tab.value ? 'on' : ''} key=${tab.id}>
        <button class="text" data-ui="sql-tab" aria-pressed=${tab === sql.tab.value} onClick=${() => (sql.at.value = i)}>${nameOf(tab)}</button>
        <button class="text" aria-label=${`Close ${nameOf(tab)}`} onClick=${() => sql.closeTab(tab)}>✕</button></span>`,
  )}<button class="text" data-ui="sql-new" aria-label="New text" title="New text" onClick=${() => sql.addTab('')}>+</button></div>`;
}

/** @param {Tab} tab */
function nameOf(tab) {
  const words = tab.text.value.trim().replace(/\s+/g, ' ');
  return words.length > 24 ? `${visible(words.slice(0, 24))}…` : visible(words) || 'empty';
}
