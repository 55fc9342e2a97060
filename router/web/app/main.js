// Starts the page: makes the stores, joins them, and draws the page that the address names.

import { effect, html, render, useEffect } from '../vendor/core.js';
import { Banner, KeyHelp, TabBar, Toast, TopBar } from './components/shell.js';
import { SignInDialog } from './components/signin.js';
import { createApi } from './lib/api.js';
import { pages } from './pages/pages.js';
import { createExplore } from './stores/explore.js';
import { createHealth } from './stores/health.js';
import { createKeys } from './stores/keys.js';
import { clock } from './stores/latest.js';
import { createPlace } from './stores/place.js';
import { createPrefs } from './stores/prefs.js';
import { createSignIn } from './stores/signin.js';
import { createSql } from './stores/sql.js';
import { createTail } from './stores/tail.js';
import { createTables } from './stores/tables.js';

/** @typedef {ReturnType<typeof createStores>} Stores */

function createStores() {
  const signIn = createSignIn((...args) => fetch(...args));
  const api = createApi({ fetch: (...args) => fetch(...args), signIn });
  const prefs = createPrefs(localStorage);
  const place = createPlace(window);
  return {
    api,
    signIn,
    prefs,
    place,
    keys: createKeys(window, prefs.singleKeys),
    tables: createTables(api, clock),
    health: createHealth(api, clock),
    sql: createSql({ api, place, storage: sessionStorage, clock }),
    tail: createTail({ api, place, prefs, clock }),
    explore: createExplore({ api, place, prefs, clock }),
  };
}

/** @param {{stores: Stores}} props */
function App({ stores }) {
  const id = stores.place.page.value;
  const page = pages.find((p) => p.id === id) ?? pages[0];
  useEffect(() => {
    const reload = () => document.visibilityState === 'visible' && void stores.health.load();
    void stores.signIn.load();
    const timer = setInterval(reload, 10000);
    return () => clearInterval(timer);
  }, [stores]);
  return html`<${TopBar} pages=${pages} page=${page.id} stores=${stores} />
    <${Banner} stores=${stores} page=${page.id} />
    <main><${page.view} key=${page.id} stores=${stores} /></main>
    <${TabBar} pages=${pages} page=${page.id} />
    <${Toast} /><${KeyHelp} keys=${stores.keys} /><${SignInDialog} signIn=${stores.signIn} />`;
}

/**
 * Follows links within the page without loading it again.
 * @param {Stores} stores
 */
function followLinks(stores) {
  document.addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    const plain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
    if (!link || !plain || event.defaultPrevented || !link.getAttribute('href')?.startsWith('/dashboard/')) return;
    event.preventDefault();
    stores.place.go(/** @type {string} */ (link.getAttribute('href')));
  });
}

const stores = createStores();
effect(() => {
  const theme = stores.prefs.theme.value;
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
});
void stores.tables.load();
void stores.health.load();
void stores.signIn.load();
followLinks(stores);
sessionStorage.removeItem('cordwood.tries');
const root = /** @type {HTMLElement} */ (document.getElementById('app'));
root.replaceChildren();
render(html`<${App} stores=${stores} />`, root);
