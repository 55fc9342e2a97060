// The frame of every page: the bar at the top, on phones the bar at the bottom, messages and the list of keys.

import { html, useEffect, useState } from '../../vendor/core.js';
import { formatCount, formatDuration, sentence } from '../lib/format.js';
import { keyRows } from '../lib/keynames.js';
import { message } from '../stores/toast.js';
import { Dialog } from './dialog.js';
import { Menu } from './menu.js';
import { Palette } from './palette.js';
import { useNow } from './states.js';

/** @typedef {{id: string, name: string, bar?: boolean}} PageInfo */

/** Moves the focus over the bar, to the first control of the page. */
function toContent() {
  const controls = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('main :is(a[href], button, input, select, textarea, [tabindex="0"])'));
  [...controls].find((control) => control.checkVisibility())?.focus();
}

/**
 * @param {object} props
 * @param {PageInfo[]} props.pages
 * @param {string} props.page
 * @param {import('../main.js').Stores} props.stores
 */
export function TopBar({ pages, page, stores }) {
  const { prefs, health } = stores;
  const state = health.value.value;
  const gone = isGone(health);
  const ok = state?.health === 'ok' && !gone;
  const rejected = stores.rejectCount.total.value.value ?? 0;
  return html`<header class="top">
    <button class="button skip" data-ui="skip" onClick=${toContent}>Go to the content</button>
    <a class="mark" href="/dashboard/explore"><svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true"><circle cx="10" cy="5.4" r="3.9" />
      <circle cx="5.5" cy="13.2" r="3.9" /><circle cx="14.5" cy="13.2" r="3.9" /><circle cx="10" cy="5.4" r="1.1" />
      <circle cx="5.5" cy="13.2" r="1.1" /><circle cx="14.5" cy="13.2" r="1.1" /></svg>cordwood</a>
    <nav aria-label="Pages">
      ${pages
        .filter((p) => p.bar !== false)
        .map(
          ({ id, name }) => html`<a href=${`/dashboard/${id}`} data-ui=${`nav-${id}`}
      aria-current=${id === page ? 'page' : undefined}>${name}
      ${id === 'rejects' && rejected > 0 && html` <small title=${`${formatCount(rejected)} in the last day`}>${rejected > 99 ? '99+' : rejected}</small>`}</a>`,
        )}</nav>
    <span class="grow"></span><${Palette} stores=${stores} pages=${pages} />
    ${
      state &&
      html`<a class="health" data-ui="health" href="/dashboard/cluster"><span class=${`dot ${ok ? '' : `bad ${state.health}`}`}></span>${
        gone ? 'no answer' : ok ? `${state.nodes.length} ${state.nodes.length === 1 ? 'node' : 'nodes'} ok` : state.health
      }</a>`
    }
    <a class="button" data-ui="nav-add" href="/dashboard/add" aria-current=${page === 'add' ? 'page' : undefined}>Add data</a>
    <${ThemePicker} prefs=${prefs} />
    <a class="user" data-ui="nav-settings" href="/dashboard/settings"
      aria-current=${page === 'settings' ? 'page' : undefined}>Settings${
        stores.signIn.user.value &&
        html` <small title=${stores.signIn.user.value}>
      ${stores.signIn.user.value}</small>`
      }
      ${!stores.signIn.canManage.value && html` <small>${mostOf(stores.signIn.session.value)}</small>`}</a>
  </header>`;
}

/** @param {{prefs: import('../main.js').Stores['prefs']}} props */
function ThemePicker({ prefs }) {
  return html`<select class="theme" data-ui="theme" aria-label="Theme" value=${prefs.theme.value}
      onChange=${(/** @type {Event} */ e) => (prefs.theme.value = /** @type {HTMLSelectElement} */ (e.currentTarget).value)}>
      <option value="system">System</option><option value="light">Light</option><option value="dark">Dark</option></select>`;
}

/** The bar of a phone: the pages that are used there, and the others behind More, with the theme. @param {{pages: PageInfo[], page: string, stores: import('../main.js').Stores}} props */
export function TabBar({ pages, page, stores }) {
  const first = pages.slice(0, 4);
  const others = pages.slice(4);
  const link = (/** @type {PageInfo} */ { id, name }) => html`<a href=${`/dashboard/${id}`} aria-current=${id === page ? 'page' : undefined}>${name}</a>`;
  return html`<nav class="tabbar" aria-label="Pages">${first.map(link)}
    <${Menu} button=${html`<span>More</span>`} label="Other pages" class=${`more ${others.some((p) => p.id === page) ? 'current' : ''}`}>${(
      /** @type {() => void} */ close,
    ) =>
      html`<div class="morelinks" onClick=${close}>${others.map(link)}</div><label class="choice">Theme <${ThemePicker} prefs=${stores.prefs} /></label>`}<//>
  </nav>`;
}

export function Toast() {
  return html`<div class=${`toast ${message.value ? 'on' : ''}`} data-ui="toast" role="status">${message.value}</div>`;
}

/** Reports whether the server does not answer. @param {import('../main.js').Stores['health']} health */
function isGone(health) {
  return health.error.value?.status === 0;
}

/** The worst current problem. @param {{stores: import('../main.js').Stores, page: string}} props */
export function Banner({ stores, page }) {
  const { health } = stores;
  const gone = isGone(health);
  const problem = health.value.value?.problems?.[0];
  useEffect(() => {
    if (!gone && stores.signIn.session.value) void stores.signIn.load(); // the server is back, perhaps with another version
  }, [gone]);
  if (gone) return html`<div class="banner" data-ui="banner" role="alert"><${Gone} health=${health} /></div>`;
  if (stores.signIn.otherVersion.value) {
    return html`<div class="banner" data-ui="banner" role="alert">The server's version has changed. <button class="text go" data-ui="reload"
      onClick=${() => location.reload()}>Reload the page</button></div>`;
  }
  if (!problem || page === 'cluster') return null;
  return html`<div class="banner" data-ui="banner" role="alert"><span>${sentence(problem.text)}</span> <a class="text go" href="/dashboard/cluster">Cluster</a></div>`;
}

/** For how long the server has not answered. @param {{health: import('../main.js').Stores['health']}} props */
function Gone({ health }) {
  const now = useNow(1000);
  const again = health.retryAt.value;
  return html`<span>No answer from the server for ${formatDuration(Math.max(0, now - health.answered.value))}. What is on screen stays${again > now ? `; the page asks again in ${Math.ceil((again - now) / 1000)} s` : ''}.</span>
    <button class="text go" data-ui="retry" onClick=${() => void health.load()}>Ask now</button>`;
}

/** All keys. @param {{keys: import('../stores/keys.js').Keys}} props */
export function KeyHelp({ keys }) {
  const [open, setOpen] = useState(false);
  useEffect(() => keys.bind({ '?': ['all keys', () => setOpen(true)] }), [keys]);
  if (!open) return null;
  const rows = keyRows(keys.layers.value);
  // The list has the focus, so that it shows its begin and scrolls by keys.
  return html`<${Dialog} title="Keys" class="keys" onClose=${() => setOpen(false)}>
    <div class="keylist" tabindex="0" autofocus role="region" aria-label="Keys of this page"><dl>
      ${rows.map(({ keys, what }) => html`<div><dt>${keys.map((key, i) => html`${i > 0 && ' '}<kbd>${key}</kbd>`)}</dt><dd>${what}</dd></div>`)}</dl></div>
    <p class="acts"><button class="button" onClick=${() => setOpen(false)}>Close</button></p><//>`;
}

/** What a user may do at most who does not operate the cluster. @param {import('../stores/signin.js').Session | null} session */
function mostOf(session) {
  if (session?.can_read) return 'may read';
  return session?.can_write ? 'may send rows' : 'has no rights';
}
