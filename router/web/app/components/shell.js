// What stands around every page: the bar at the top, on phones the bar at the bottom, messages and the list of keys.

import { html, useEffect, useState } from '../../vendor/core.js';
import { message } from '../stores/toast.js';

/** @typedef {{id: string, name: string}} PageInfo */

/**
 * @param {object} props
 * @param {PageInfo[]} props.pages
 * @param {string} props.page
 * @param {import('../main.js').Stores} props.stores
 */
export function TopBar({ pages, page, stores }) {
  const { prefs, health } = stores;
  const state = health.value.value;
  return html`<header class="top">
    <a class="mark" href="/dashboard/explore"><svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true"><circle cx="10" cy="5.4" r="3.9" /><circle cx="5.5" cy="13.2" r="3.9" /><circle cx="14.5" cy="13.2" r="3.9" /><circle cx="10" cy="5.4" r="1.1" /><circle cx="5.5" cy="13.2" r="1.1" /><circle cx="14.5" cy="13.2" r="1.1" /></svg>cordwood</a>
    <nav aria-label="Pages">${pages.map(({ id, name }) => html`<a href=${`/dashboard/${id}`} data-ui=${`nav-${id}`} aria-current=${id === page ? 'page' : undefined}>${name}</a>`)}</nav>
    <span class="grow"></span>
    ${
      state &&
      html`<a class="health" data-ui="health" href="/dashboard/cluster"><span class=${`dot ${state.health === 'ok' ? '' : 'bad'}`}></span>${
        state.health === 'ok' ? `${state.nodes.length} ${state.nodes.length === 1 ? 'node' : 'nodes'} ok` : state.health
      }</a>`
    }
    ${stores.signIn.user.value && html`<span class="user">${stores.signIn.user.value} <button class="text" onClick=${() => stores.signIn.leave().then(() => location.reload())}>Sign out</button></span>`}
    <select id="theme" data-ui="theme" aria-label="Theme" value=${prefs.theme.value}
      onChange=${(/** @type {Event} */ e) => (prefs.theme.value = /** @type {HTMLSelectElement} */ (e.currentTarget).value)}>
      <option value="system">System</option><option value="light">Light</option><option value="dark">Dark</option></select>
  </header>`;
}

/** @param {{pages: PageInfo[], page: string}} props */
export function TabBar({ pages, page }) {
  return html`<nav class="tabbar" aria-label="Pages">${pages.map(
    ({ id, name }) => html`<a href=${`/dashboard/${id}`} aria-current=${id === page ? 'page' : undefined}>${name}</a>`,
  )}</nav>`;
}

export function Toast() {
  return html`<div class=${`toast ${message.value ? 'on' : ''}`} data-ui="toast" role="status">${message.value}</div>`;
}

/** The problem that is worst now. @param {{stores: import('../main.js').Stores, page: string}} props */
export function Banner({ stores, page }) {
  const { health } = stores;
  const gone = health.error.value?.status === 0;
  const problem = health.value.value?.problems?.[0];
  if (gone) {
    return html`<div class="banner" data-ui="banner" role="alert">The server does not answer. What is on screen stays; it is asked again by itself.</div>`;
  }
  if (!problem || page === 'cluster') return null;
  return html`<div class="banner" data-ui="banner" role="alert"><span>${problem.text}</span> <a class="text go" href="/dashboard/cluster">Cluster</a></div>`;
}

/** All keys. @param {{keys: import('../stores/keys.js').Keys}} props */
export function KeyHelp({ keys }) {
  const [open, setOpen] = useState(false);
  useEffect(() => keys.bind({ '?': ['all keys', () => setOpen(true)] }), [keys]);
  if (!open) return null;
  const rows = keys.layers.value.flatMap((layer) => Object.entries(layer));
  return html`<dialog class="sheet" ref=${(/** @type {HTMLDialogElement | null} */ d) => d && !d.open && d.showModal()} onClose=${() => setOpen(false)} aria-label="Keys">
    <h2>Keys</h2>
    <table><tbody>${rows.map(([key, [what]]) => html`<tr><th scope="row"><kbd>${key}</kbd></th><td>${what}</td></tr>`)}</tbody></table>
    <form method="dialog"><button class="button" onClick=${(/** @type {Event} */ e) => {
      e.preventDefault();
      setOpen(false);
    }}>Close</button></form>
  </dialog>`;
}
