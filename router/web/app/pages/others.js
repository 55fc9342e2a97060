// The pages without an editor, and the views of Explore other than rows. They are loaded later: all together, with one
// request, when the first of them is opened.

export { Compare } from '../components/compare.js';
export { Patterns } from '../components/patterns.js';
export { AddPage } from './add.js';
export { ClusterPage } from './cluster.js';
export { RejectsPage } from './rejects.js';
export { SettingsPage } from './settings.js';
export { TablesPage } from './tables.js';
export { TailPage } from './tail.js';
export { createOthers as makeStores } from '../stores/ofothers.js';
