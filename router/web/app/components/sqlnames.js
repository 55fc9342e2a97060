// The tables, and the columns of one: a click writes the name into the statement.

import { html, useState } from '../../vendor/core.js';
import { formatCount } from '../lib/format.js';
import { quoteName, quoteText } from '../lib/sqlquote.js';
import { createLatest, clock } from '../stores/latest.js';

/** @param {{stores: import('../main.js').Stores, onInsert: (text: string) => void, onClose: () => void}} props onClose: where the list covers the page */
export function SqlNames({ stores, onInsert, onClose }) {
  const [find, setFind] = useState('');
  const [open, setOpen] = useState('');
  const [columns] = useState(() => /** @type {import('../stores/latest.js').Latest<[string, string][]>} */ (createLatest(clock)));
  const wanted = find.trim().toLowerCase();
  const shown = stores.tables.all.value.filter((t) => `${t.db}.${t.name}`.toLowerCase().includes(wanted)).slice(0, 300);
  const write = (/** @type {string} */ name) => onInsert(/^[a-z_][a-z0-9_]*$/.test(name) ? name : quoteName(name));

  /** @param {import('../stores/tables.js').TableInfo} t */
  function toggle(t) {
    const key = `${t.db}.${t.name}`;
    setOpen(open === key ? '' : key);
    if (open === key) return;
    const statement = `SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = ${quoteText(t.db)} AND table_name = ${quoteText(t.name)} ORDER BY ordinal_position`;
    void columns.run(async (signal) => (await stores.api.sql(statement, { signal })).rows.map(([name, type]) => [String(name), String(type)]), key);
  }

  return html`<section class="pane sqlnames" aria-label="Tables"><h2 class="hidden">Tables</h2><div class="head">
    <input class="find" type="search" placeholder="Find a table" aria-label="Find a table" value=${find}
      onInput=${(/** @type {InputEvent} */ e) => setFind(/** @type {HTMLInputElement} */ (e.currentTarget).value)} />
        <button class="text small-only" aria-label="Close the tables" onClick=${onClose}>✕</button></div>
    <div class="fields">${shown.map((t) => {
      const key = `${t.db}.${t.name}`;
      const name = t.db === stores.sql.db() ? t.name : key;
      return html`<div key=${key}><h3 class=${open === key ? 'open' : ''}>
        <button aria-expanded=${open === key} title=${key} onClick=${() => toggle(t)}>${name}</button><span>${formatCount(t.rows)}</span>
        <button class="text col" aria-label=${`Write the name ${name}`}
          onClick=${() => (t.db === stores.sql.db() ? write(t.name) : onInsert(`${t.db}.${quoteName(t.name)}`))}>write</button></h3>
        ${
          open === key &&
          html`<ul class="values names">
          ${columns.value.value?.map(
            ([column, type]) => html`<li><button class="only" onClick=${() => write(column)}>${column}</button><span>
          ${type}</span></li>`,
          )}</ul>`
        }</div>`;
    })}</div></section>`;
}
