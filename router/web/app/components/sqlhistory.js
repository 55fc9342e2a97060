// The statements that ran in this browser: they can be found by a part of their text, opened again and forgotten.

import { html, useState } from '../../vendor/core.js';
import { formatCount, formatDuration, visible, visibleLines } from '../lib/format.js';
import { Menu } from './menu.js';

const mostShown = 100;

/** When a statement ran, and how that ended. @param {import('../stores/prefs.js').Run} run */
function saidOf({ at, ms, failed, cancelled }) {
  if (at === undefined) return '';
  const ago = `${formatDuration(Math.max(0, Date.now() - at))} ago`;
  return ms === undefined ? ago : `${failed ? 'failed' : formatDuration(ms)}${cancelled ? ', cancelled' : ''} · ${ago}`;
}

/** @param {{sql: import('../main.js').Stores['sql']}} props */
export function HistoryMenu({ sql }) {
  return html`<${Menu} button=${html`<span>History</span>`} label="Statements that ran" ui="history" class="text change" panelClass="history">
    ${(/** @type {() => void} */ close) => html`<${HistoryList} sql=${sql} onDone=${close} />`}<//>`;
}

/** @param {{sql: import('../main.js').Stores['sql'], onDone: () => void}} props */
function HistoryList({ sql, onDone }) {
  const [find, setFind] = useState('');
  const all = sql.history.value;
  const found = all.filter(({ text }) => text.toLowerCase().includes(find.trim().toLowerCase()));
  if (all.length === 0) return html`<p class="quiet">No statement has run in this browser yet.</p>`;
  return html`<input class="find" type="search" data-ui="history-find" placeholder="Find a statement" aria-label="Find a statement" value=${find}
      onInput=${(/** @type {InputEvent} */ e) => setFind(/** @type {HTMLInputElement} */ (e.currentTarget).value)} />
    ${found.length === 0 && html`<p class="quiet">No statement has this text.</p>`}
    <ul>${found.slice(0, mostShown).map((run) => {
      const { text } = run;
      const line = visible(text.replace(/\s+/g, ' ').slice(0, 300));
      return html`<li key=${text}><button class="choice" data-ui="history-statement" title=${visibleLines(text.slice(0, 2000))}
        onClick=${() => (onDone(), sql.open(text))}><span>${line}</span><small class=${run.failed ? 'bad' : ''}>${saidOf(run)}</small></button>
        <button class="text" aria-label=${`Forget ${line.slice(0, 60)}`} onClick=${() => sql.forget(text)}>✕</button></li>`;
    })}</ul>
    ${found.length > mostShown && html`<p class="quiet">The first ${formatCount(mostShown)} of ${formatCount(found.length)}.</p>`}
    <button class="text go" data-ui="history-forget" onClick=${() => (sql.forget(), onDone())}>Forget all ${formatCount(all.length)}</button>`;
}
