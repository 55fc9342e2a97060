// The pages without an editor that are loaded later: all together, with one request, when the first of them is opened.

export { AddPage } from './add.js';
export { ClusterPage } from './cluster.js';
export { RejectsPage } from './rejects.js';
export { SettingsPage } from './settings.js';
export { TablesPage } from './tables.js';
export { TailPage } from './tail.js';
