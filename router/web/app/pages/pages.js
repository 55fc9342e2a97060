// All pages, in the order of the bar. Explore is loaded at once, and the others when they are opened.

import { html } from '../../vendor/core.js';
import { withStores } from '../components/later.js';
import { Empty } from '../components/states.js';
import { ExplorePage } from './explore.js';

/**
 * @typedef {(props: {stores: import('../main.js').Stores}) => unknown} View
 * @typedef {import('../main.js').Stores} Stores
 * @typedef {{id: string, name: string, key?: string, view?: View, load?: (stores: Stores) => Promise<View>, bar?: boolean}} Page its key comes after G
 */

/** @param {Stores} stores */
const others = (stores) => withStores(import('./others.js'), stores);
/** @param {Stores} stores */
const editors = (stores) => withStores(import('./editors.js'), stores);

/** Shown where an address names no page. @type {Page} */
export const nowhere = {
  id: '',
  name: '',
  view: () => html`<h1 class="hidden">No page</h1><${Empty} title="There is no page at this address.">
    <p class="acts"><a class="button" href="/dashboard/explore">Explore</a></p><//>`,
};

/** @type {Page[]} */
export const pages = [
  { id: 'explore', key: 'e', name: 'Explore', view: ExplorePage },
  { id: 'tail', key: 't', name: 'Tail', load: async (stores) => (await others(stores)).TailPage },
  { id: 'sql', key: 's', name: 'SQL', load: async (stores) => (await editors(stores)).SqlPage },
  { id: 'pipelines', key: 'p', name: 'Pipelines', load: async (stores) => (await editors(stores)).PipelinesPage },
  { id: 'rejects', key: 'r', name: 'Rejects', load: async (stores) => (await others(stores)).RejectsPage },
  { id: 'tables', key: 'b', name: 'Tables', load: async (stores) => (await others(stores)).TablesPage },
  { id: 'cluster', key: 'c', name: 'Cluster', load: async (stores) => (await others(stores)).ClusterPage },
  { id: 'add', name: 'Add data', bar: false, load: async (stores) => (await others(stores)).AddPage },
  { id: 'settings', name: 'Settings', bar: false, load: async (stores) => (await others(stores)).SettingsPage },
];
