// The pages with an editor, which are loaded when the first of them is opened.

export { PipelinesPage } from './pipelines.js';
export { SqlPage } from './sql.js';
export { createEditors as makeStores } from '../stores/ofeditors.js';
