// All pages, in the order of the bar. Explore is loaded at once, and the others when they are opened.

import { html } from '../../vendor/core.js';
import { Empty } from '../components/states.js';
import { ExplorePage } from './explore.js';

/**
 * @typedef {(props: {stores: import('../main.js').Stores}) => unknown} View
 * @typedef {{id: string, name: string, key?: string, view?: View, load?: () => Promise<View>, bar?: boolean}} Page its key comes after G
 */

const others = () => import('./others.js');
const editors = () => import('./editors.js');

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
  { id: 'tail', key: 't', name: 'Tail', load: async () => (await others()).TailPage },
  { id: 'sql', key: 's', name: 'SQL', load: async () => (await editors()).SqlPage },
  { id: 'pipelines', key: 'p', name: 'Pipelines', load: async () => (await editors()).PipelinesPage },
  { id: 'rejects', key: 'r', name: 'Rejects', load: async () => (await others()).RejectsPage },
  { id: 'tables', key: 'b', name: 'Tables', load: async () => (await others()).TablesPage },
  { id: 'cluster', key: 'c', name: 'Cluster', load: async () => (await others()).ClusterPage },
  { id: 'add', name: 'Add data', bar: false, load: async () => (await others()).AddPage },
  { id: 'settings', name: 'Settings', bar: false, load: async () => (await others()).SettingsPage },
];
