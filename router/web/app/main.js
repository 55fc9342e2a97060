// Starts the page: makes the stores, joins them, and draws the page that the address names.

import { effect, html, render, useEffect } from '../vendor/core.js';
import { Banner, KeyHelp, TabBar, Toast, TopBar } from './components/shell.js';
import { SignInDialog } from './components/signin.js';
import { Later } from './components/later.js';
import { createApi } from './lib/api.js';
import { nowhere, pages } from './pages/pages.js';
import { createExplore } from './stores/explore.js';
import { createHealth } from './stores/health.js';
import { createKeys } from './stores/keys.js';
import { clock } from './stores/latest.js';
import { createPipelineList } from './stores/pipelinelist.js';
import { createPlace } from './stores/place.js';
import { createPrefs } from './stores/prefs.js';
import { createRejectCount } from './stores/rejectcount.js';
import { createSaved } from './stores/saved.js';
import { createSignIn } from './stores/signin.js';
import { createTables } from './stores/tables.js';
import { toast } from './stores/toast.js';

/**
 * @typedef {ReturnType<typeof createStores>} FirstStores what every page needs
 * @typedef {FirstStores & import('./stores/ofothers.js').OtherStores & import('./stores/ofeditors.js').EditorStores} Stores a page has its own ones and these
 */

function createStores() {
  const prefs = createPrefs(localStorage);
  const signIn = createSignIn({ fetch: (...args) => fetch(...args), clock, lastUser: prefs.user });
  const api = createApi({ fetch: (...args) => fetch(...args), signIn });
  const saved = createSaved(api, clock);
  const place = createPlace(window, saved.shorten);
  const explore = createExplore({ api, place, prefs, clock, session: sessionStorage });
  return {
    api,
    signIn,
    prefs,
    place,
    keys: createKeys(window, prefs.singleKeys),
    tables: createTables(api, clock),
    saved,
    health: createHealth(api, clock),
    pipelineList: createPipelineList(api, clock),
    rejectCount: createRejectCount(api, clock),
    explore,
  };
}

/** @param {{stores: Stores}} props */
function App({ stores }) {
  const id = stores.place.page.value;
  const short = id === 's' ? stores.place.here.value.rest : '';
  useEffect(() => {
    if (!short) return;
    stores.saved.follow(short).then(
      (address) => stores.place.go(address, { replace: true }),
      (error) => {
        toast(`The short link does not work: ${error.message}`);
        stores.place.go('/dashboard/explore', { replace: true });
      },
    );
  }, [short]);
  const page = pageOf(stores.place.here.value) ?? nowhere;
  useEffect(() => {
    const isUsed = () => document.visibilityState === 'visible' && !stores.signIn.open.value;
    const reload = () => isUsed() && void stores.health.load();
    const countRejects = () => isUsed() && void stores.rejectCount.count();
    const first = setTimeout(countRejects, 2000); // after the rows are on screen
    const timers = [setInterval(reload, 10000), setInterval(countRejects, 60000)];
    return () => {
      clearTimeout(first);
      timers.forEach(clearInterval);
    };
  }, [stores]);
  useEffect(() => {
    const goes = pages.filter((p) => p.key).map((p) => [`g ${p.key}`, [p.name, () => stores.place.go(`/dashboard/${p.id}`)]]);
    return stores.keys.bind(Object.fromEntries(goes));
  }, [stores]);
  return html`<${TopBar} pages=${pages} page=${page.id} stores=${stores} />
    <${Banner} stores=${stores} page=${page.id} />
    <main>${short ? html`<div class="waits" aria-busy="true"></div>` : html`<${PageView} key=${page.id} page=${page} stores=${stores} />`}</main>
    <${TabBar} pages=${pages} page=${page.id} stores=${stores} />
    <${Toast} /><${KeyHelp} keys=${stores.keys} /><${SignInDialog} signIn=${stores.signIn} />`;
}

/**
 * The page that an address names; null: none.
 * @param {import('./lib/url.js').Place} here
 */
function pageOf({ page, rest }) {
  if (rest) return null;
  return pages.find((p) => p.id === (page || 'explore')) ?? null;
}

/** @param {{page: import('./pages/pages.js').Page, stores: Stores}} props */
function PageView({ page, stores }) {
  if (page.view) return html`<${page.view} stores=${stores} />`;
  return html`<${Later} id=${page.id} load=${page.load} stores=${stores} />`;
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

/**
 * Leaves the first requests to those for rows, if the address says of which table. Without one the tables come first.
 * @param {() => void} load
 */
function afterFirstRows(load) {
  const { explore, place } = stores;
  if (place.page.value !== 'explore' || explore.state.value.tables.length === 0) return load();
  const most = setTimeout(go, 2000);
  const stop = effect(() => {
    if (explore.first.value.value || explore.first.error.value || explore.fields.error.value) requestAnimationFrame(() => setTimeout(go)); // once they are drawn
  });
  let gone = false;
  function go() {
    if (gone) return;
    gone = true;
    clearTimeout(most);
    stop();
    load();
  }
}

const stores = /** @type {Stores} */ (createStores()); // those of other pages are added when they are loaded
effect(() => {
  const theme = stores.prefs.theme.value;
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
});
afterFirstRows(() => {
  void stores.health.load();
  void stores.signIn.load();
  void stores.tables.load();
});
followLinks(stores);
if (stores.place.page.value === 'explore') stores.explore.runEarly();
sessionStorage.removeItem('cordwood.tries');
const root = /** @type {HTMLElement} */ (document.getElementById('app'));
root.replaceChildren();
render(html`<${App} stores=${stores} />`, root);
