// SQL: an editor, and the rows of the statement at the cursor.

import { html, useEffect, useMemo, useRef, useState } from '../../vendor/core.js';
import { CodeEditor } from '../components/code.js';
import { copyText } from '../components/copy.js';
import { Dialog } from '../components/dialog.js';
import { Plot } from '../components/plot.js';
import { SqlNames } from '../components/sqlnames.js';
import { ErrorPanel, Progress } from '../components/states.js';
import { VirtualList } from '../components/virtual.js';
import { curlOf } from '../lib/api.js';
import { formatCount, formatDuration, visible } from '../lib/format.js';
import { completeSql } from '../lib/sqlcomplete.js';
import { colourSql } from '../lib/sqltext.js';
import { cellText, changes, statementAt } from '../lib/statements.js';

/** @param {{stores: import('../main.js').Stores}} props */
export function SqlPage({ stores }) {
  const { sql } = stores;
  const area = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const [asked, setAsked] = useState('');
  useEffect(() => {
    document.title = 'SQL · cordwood';
  }, []);
  useEffect(() => sql.open(), [stores.place.here.value.params.get('q')]);

  /** Runs what is selected, else the statement at the cursor. What changes something is asked about first. */
  function run() {
    const element = /** @type {HTMLTextAreaElement} */ (area.current);
    const { selectionStart: from, selectionEnd: to } = element;
    const statement = from < to ? sql.text.value.slice(from, to).trim() : statementAt(sql.text.value, from);
    if (!statement) return;
    if (changes(statement)) setAsked(statement);
    else void sql.run(statement);
  }
  useEffect(() => stores.keys.bind({ 'ctrl+Enter': ['run the statement', () => run()] }), [stores]);

  const answer = sql.latest.value.value;
  /** Writes at the cursor. @param {string} name */
  function insert(name) {
    area.current?.focus();
    document.execCommand('insertText', false, name);
  }

  const text = sql.text.value;
  const [tables, columns] = [stores.tables.all.value, sql.columns.value.value ?? []];
  const complete = useMemo(() => {
    /** @type {import('../components/completion.js').Complete} */
    const found = (typed, caret) => {
      sql.describe(statementAt(typed, caret));
      return completeSql(typed, caret, { tables, columns, db: sql.db() });
    };
    return found;
  }, [tables, columns]);
  const may = stores.signIn.canManage.value;
  return html`<h1 class="hidden">SQL</h1><div class="sqlpage"><${SqlNames} stores=${stores} onInsert=${insert} />
    <div class="pane">
    <div class="sqleditor"><${CodeEditor} label="Statements" text=${text} lines=${useMemo(() => colourSql(text), [text])} onText=${sql.write} complete=${complete}
      onReady=${(/** @type {HTMLTextAreaElement} */ element) => (area.current = element)} /></div>
    <div class="tailbar">
      <button class="button main" data-ui="run" onClick=${() => run()}>Run</button><kbd>Ctrl ↵</kbd>
      <span class="quiet">database ${sql.db()}; times are in UTC; at most ${formatCount(sql.most)} rows are shown${may ? '' : '; you may only read'}</span>
    </div>
    <${Progress} since=${sql.latest.since.value} onCancel=${sql.latest.cancel} />
    <${ErrorPanel} latest=${sql.latest} what="The statement" />
    ${answer && !sql.latest.error.value && html`<${Result} stores=${stores} answer=${answer} />`}</div></div>
    ${
      asked &&
      html`<${Ask} statement=${asked} onNo=${() => setAsked('')} onYes=${() => {
        setAsked('');
        void sql.run(asked);
      }} />`
    }`;
}

/** @param {{statement: string, onNo: () => void, onYes: () => void}} props */
function Ask({ statement, onNo, onYes }) {
  return html`<${Dialog} title="This statement changes something" onClose=${onNo}>
    <pre class="asked">${statement.slice(0, 400)}</pre>
    <p class="acts"><button class="button main" onClick=${onYes}>Run it</button><button class="button" onClick=${onNo}>Cancel</button></p><//>`;
}

/** @param {{stores: import('../main.js').Stores, answer: import('../lib/api.js').SqlResult}} props */
function Result({ stores, answer }) {
  const { sql } = stores;
  const { columns, rows } = answer;
  const view = stores.place.here.value.params.get('tab') ?? 'table';
  const request = { path: '/v1/sql', form: { sql: sql.ran.value, db: sql.db() } };
  const csv = `/v1/sql?${new URLSearchParams({ sql: sql.ran.value, db: sql.db(), format: 'csv', filename: 'rows.csv' })}`;
  return html`<section class="pane result" aria-label="Result" data-ui="result">
    <div class="head">${columns.length > 0 && html`<div class="tabs" role="group" aria-label="View">${['table', 'plot', 'plan'].map((v) => html`<button class="text" data-ui=${`tab-${v}`} aria-pressed=${v === view} onClick=${() => sql.show(v)}>${v === 'table' ? 'Table' : v === 'plot' ? 'Plot' : 'Plan'}</button>`)}</div>`}<h2>${answer.affected === null || columns.length > 0 ? `${rows.length === sql.most ? 'First ' : ''}${formatCount(rows.length)} rows` : `${formatCount(answer.affected)} rows affected`}</h2>
      <span class="quiet">${columns.length > 0 && `${columns.length} columns · `}${formatDuration(answer.ms)}</span><span class="grow"></span>
      ${!changes(sql.ran.value) && html`<a class="text" href=${csv} download="rows.csv">CSV</a>`}
      <button class="text" onClick=${() => copyText(curlOf(request, location.origin))}>Copy as curl</button></div>
    ${columns.length > 0 && (view === 'plot' ? html`<${Plot} answer=${answer} />` : view === 'plan' ? html`<${Plan} sql=${sql} />` : html`<${Grid} answer=${answer} resetKey=${sql.ran.value} />`)}
  </section>`;
}

/** The rows. @param {{answer: import('../lib/api.js').SqlResult, resetKey: string}} props */
function Grid({ answer, resetKey }) {
  const { columns, rows } = answer;
  const texts = rows.slice(0, 200).map((row) => row.map((cell, i) => cellText(cell, columns[i].type)));
  const widths = columns.map((c, i) => {
    const longest = texts.reduce((most, row) => Math.max(most, Math.min(row[i].length, 60)), c.name.length);
    return Math.round(longest * 7.3) + 24;
  });
  const total = widths.reduce((sum, w) => sum + w, 0);
  return html`<div class="grid"><div class="gridwidth" style=${{ minWidth: `${total}px` }}>
      <div class="colhead" aria-hidden="true">${columns.map((c, i) => html`<span style=${{ width: `${widths[i]}px` }} title=${c.type}>${c.name}</span>`)}</div>
      <${VirtualList} count=${rows.length} height=${24} label=${`${rows.length} rows`} resetKey=${resetKey} row=${(
        /** @type {number} */ index,
      ) => html`<div class="row cells" role="row" aria-rowindex=${index + 1} key=${index}>
        ${rows[index].map((cell, i) => {
          const text = cellText(cell, columns[i].type);
          return html`<span role="gridcell" class=${cell === null ? 'nul' : typeof cell === 'number' && !columns[i].type.startsWith('Timestamp') ? 'num' : ''} style=${{ width: `${widths[i]}px` }}
            title=${text.slice(0, 500)} onDblClick=${() => copyText(text)}>${visible(text.slice(0, 300))}</span>`;
        })}</div>`} /></div></div>`;
}

/** How the statement runs: what is read, and each step of the engine with its time. @param {{sql: import('../main.js').Stores['sql']}} props */
function Plan({ sql }) {
  useEffect(() => void sql.explain(), [sql.ran.value]);
  const rows = sql.plan.value.value?.rows ?? [];
  const read = rows.find(([key]) => key === 'segments')?.[1];
  return html`<div class="scrolled plan" data-ui="plan"><${Progress} since=${sql.plan.since.value} onCancel=${sql.plan.cancel} /><${ErrorPanel} latest=${sql.plan} what="EXPLAIN ANALYZE" />
    ${read && html`<p class="none">It reads ${String(read)}.</p>`}
    ${rows.filter(([key]) => key !== 'segments').map(([, text]) => html`<pre tabindex="0">${String(text)}</pre>`)}</div>`;
}
