// SQL: an editor, and the rows of the statement at the cursor.

import { html, useEffect, useRef, useState } from '../../vendor/core.js';
import { copyText } from '../components/copy.js';
import { Dialog } from '../components/dialog.js';
import { ErrorPanel, Progress } from '../components/states.js';
import { VirtualList } from '../components/virtual.js';
import { curlOf } from '../lib/api.js';
import { formatCount, formatDuration, visible } from '../lib/format.js';
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
  function run(prefix = '') {
    const element = /** @type {HTMLTextAreaElement} */ (area.current);
    const { selectionStart: from, selectionEnd: to } = element;
    const statement = from < to ? sql.text.value.slice(from, to).trim() : statementAt(sql.text.value, from);
    if (!statement) return;
    if (changes(statement) && !prefix) setAsked(statement);
    else void sql.run(prefix + statement);
  }
  useEffect(() => stores.keys.bind({ 'ctrl+Enter': ['run the statement', () => run()] }), [stores]);

  const answer = sql.latest.value.value;
  return html`<h1 class="hidden">SQL</h1>
    <div class="editor"><textarea ref=${area} data-ui="editor" aria-label="Statements" spellcheck=${false} value=${sql.text.value}
      onInput=${(/** @type {InputEvent} */ e) => sql.write(/** @type {HTMLTextAreaElement} */ (e.currentTarget).value)}></textarea></div>
    <div class="tailbar">
      <button class="button main" data-ui="run" onClick=${() => run()}>Run</button><kbd>Ctrl ↵</kbd>
      <button class="button" onClick=${() => run('EXPLAIN ')}>Explain</button>
      <span class="quiet">database ${sql.db()}; times are in UTC; at most ${formatCount(sql.most)} rows are shown</span>
    </div>
    <${Progress} since=${sql.latest.since.value} onCancel=${sql.latest.cancel} />
    <${ErrorPanel} latest=${sql.latest} what="The statement" />
    ${answer && !sql.latest.error.value && html`<${Result} stores=${stores} answer=${answer} />`}
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
  const request = { path: '/v1/sql', form: { sql: sql.ran.value, db: sql.db() } };
  const csv = `/v1/sql?${new URLSearchParams({ sql: sql.ran.value, db: sql.db(), format: 'csv', filename: 'rows.csv' })}`;
  const texts = rows.slice(0, 200).map((row) => row.map((cell, i) => cellText(cell, columns[i].type)));
  const widths = columns.map((c, i) => {
    const longest = texts.reduce((most, row) => Math.max(most, Math.min(row[i].length, 60)), c.name.length);
    return Math.round(longest * 7.3) + 24;
  });
  const total = widths.reduce((sum, w) => sum + w, 0);
  return html`<section class="pane result" aria-label="Result" data-ui="result">
    <div class="head"><h2>${answer.affected === null || columns.length > 0 ? `${rows.length === sql.most ? 'First ' : ''}${formatCount(rows.length)} rows` : `${formatCount(answer.affected)} rows affected`}</h2>
      <span class="quiet">${columns.length > 0 && `${columns.length} columns · `}${formatDuration(answer.ms)}</span><span class="grow"></span>
      ${!changes(sql.ran.value) && html`<a class="text" href=${csv} download="rows.csv">CSV</a>`}
      <button class="text" onClick=${() => copyText(curlOf(request, location.origin))}>Copy as curl</button></div>
    ${
      columns.length > 0 &&
      html`<div class="grid"><div class="gridwidth" style=${{ minWidth: `${total}px` }}>
      <div class="colhead" aria-hidden="true">${columns.map((c, i) => html`<span style=${{ width: `${widths[i]}px` }} title=${c.type}>${c.name}</span>`)}</div>
      <${VirtualList} count=${rows.length} height=${24} label=${`${rows.length} rows`} resetKey=${sql.ran.value} row=${(
        /** @type {number} */ index,
      ) => html`<div class="row cells" role="row" aria-rowindex=${index + 1} key=${index}>
        ${rows[index].map((cell, i) => {
          const text = cellText(cell, columns[i].type);
          return html`<span role="gridcell" class=${cell === null ? 'nul' : typeof cell === 'number' && !columns[i].type.startsWith('Timestamp') ? 'num' : ''} style=${{ width: `${widths[i]}px` }}
            title=${text.slice(0, 500)} onDblClick=${() => copyText(text)}>${visible(text.slice(0, 300))}</span>`;
        })}</div>`} /></div></div>`
    }
  </section>`;
}
