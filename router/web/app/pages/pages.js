// The pages that there are, in the order of the bar. Explore is there at once, the others are loaded when they are opened.

import { ExplorePage } from './explore.js';

/**
 * @typedef {(props: {stores: import('../main.js').Stores}) => unknown} View
 * @typedef {{id: string, name: string, view?: View, load?: () => Promise<View>, bar?: boolean}} Page
 */

/** @type {Page[]} */
export const pages = [
  { id: 'explore', name: 'Explore', view: ExplorePage },
  { id: 'tail', name: 'Tail', load: async () => (await import('./tail.js')).TailPage },
  { id: 'sql', name: 'SQL', load: async () => (await import('./sql.js')).SqlPage },
  { id: 'pipelines', name: 'Pipelines', load: async () => (await import('./pipelines.js')).PipelinesPage },
  { id: 'rejects', name: 'Rejects', load: async () => (await import('./rejects.js')).RejectsPage },
  { id: 'tables', name: 'Tables', load: async () => (await import('./tables.js')).TablesPage },
  { id: 'cluster', name: 'Cluster', load: async () => (await import('./cluster.js')).ClusterPage },
  { id: 'add', name: 'Add data', bar: false, load: async () => (await import('./add.js')).AddPage },
  { id: 'settings', name: 'Settings', bar: false, load: async () => (await import('./settings.js')).SettingsPage },
];
