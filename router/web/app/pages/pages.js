// The pages that there are, in the order of the bar. Explore is there at once, the others are loaded when they are opened.

import { ExplorePage } from './explore.js';

/**
 * @typedef {(props: {stores: import('../main.js').Stores}) => unknown} View
 * @typedef {{id: string, name: string, key?: string, view?: View, load?: () => Promise<View>, bar?: boolean}} Page its key comes after G
 */

/** @type {Page[]} */
export const pages = [
  { id: 'explore', key: 'e', name: 'Explore', view: ExplorePage },
  { id: 'tail', key: 't', name: 'Tail', load: async () => (await import('./tail.js')).TailPage },
  { id: 'sql', key: 's', name: 'SQL', load: async () => (await import('./sql.js')).SqlPage },
  { id: 'pipelines', key: 'p', name: 'Pipelines', load: async () => (await import('./pipelines.js')).PipelinesPage },
  { id: 'rejects', key: 'r', name: 'Rejects', load: async () => (await import('./rejects.js')).RejectsPage },
  { id: 'tables', key: 'b', name: 'Tables', load: async () => (await import('./tables.js')).TablesPage },
  { id: 'cluster', key: 'c', name: 'Cluster', load: async () => (await import('./cluster.js')).ClusterPage },
  { id: 'add', name: 'Add data', bar: false, load: async () => (await import('./add.js')).AddPage },
  { id: 'settings', name: 'Settings', bar: false, load: async () => (await import('./settings.js')).SettingsPage },
];
