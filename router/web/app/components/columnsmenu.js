// The menu with the columns beside the line and their order.

import { html, useState } from '../../vendor/core.js';
import { visible } from '../lib/format.js';
import { mostColumns } from '../stores/columns.js';
import { Menu } from './menu.js';
import { RoleChooser } from './roles.js';

const mostShown = 100;

/** @param {{explore: import('../stores/explore.js').Explore}} props */
export function ColumnsMenu({ explore }) {
  const count = explore.cols.value.length;
  return html`<${Menu} button=${html`<span>Columns${count > 0 && ` ${count}`}</span>`} label="Columns" ui="columns" class="text change">
    ${() => html`<${ColumnsChooser} explore=${explore} />`}<//>`;
}

/** The content of the menu. @param {{explore: import('../stores/explore.js').Explore}} props */
export function ColumnsChooser({ explore }) {
  const [find, setFind] = useState('');
  const cols = explore.cols.value;
  const fields = explore.listed.value;
  const wanted = find.trim().toLowerCase();
  const others = fields.filter((f) => !cols.includes(f.name) && f.name.toLowerCase().includes(wanted));
  const full = cols.length >= mostColumns;
  /** Enter takes the first field that is found. @param {KeyboardEvent} event */
  function key(event) {
    if (event.key !== 'Enter' || wanted === '' || others.length === 0 || full) return;
    event.preventDefault();
    explore.toggleColumn(others[0].name);
    setFind('');
  }
  return html`<input class="find" type="search" placeholder="Find a field" aria-label="Find a field" value=${find} onKeyDown=${key}
      onInput=${(/** @type {InputEvent} */ e) => setFind(/** @type {HTMLInputElement} */ (e.currentTarget).value)} />
    <ul>${cols.map(
      (name, i) =>
        html`<li class="on" key=${name}><button class="choice" data-ui="column-remove" aria-label=${`${name}: remove the column`}
          onClick=${() => explore.toggleColumn(name)}>✓ ${visible(name)}</button>
          <button class="text" disabled=${i === 0} aria-label=${`Move ${name} to the left`} onClick=${() => explore.moveColumn(i, i - 1)}>←</button>
          <button class="text" disabled=${i === cols.length - 1} aria-label=${`Move ${name} to the right`} onClick=${() => explore.moveColumn(i, i + 1)}>→</button></li>`,
    )}${others
      .slice(0, mostShown)
      .map(
        ({ name }) =>
          html`<li key=${name}><button class="choice" data-ui="column-add" disabled=${full} onClick=${() => explore.toggleColumn(name)}>${visible(name)}</button></li>`,
      )}</ul>
    ${full && html`<p class="quiet">There are at most ${mostColumns} columns.</p>`}
    ${others.length > mostShown && html`<p class="quiet">${others.length - mostShown} more: type a part of the name.</p>`}
    <${RoleChooser} fields=${fields} roles=${explore.roles.value} onRole=${explore.chooseRole} />`;
}
