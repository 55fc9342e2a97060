// What is loaded when it is shown for the first time: pages, and views of Explore.

import { html, useEffect, useState } from '../../vendor/core.js';
import { Empty, useLate } from './states.js';

/** @typedef {import('../main.js').Stores} Stores */
/** @typedef {import('../pages/pages.js').View} View */

/** @type {Map<string, View>} */
const loaded = new Map();

/** What was loaded and has made its stores. @type {WeakSet<object>} */
const made = new WeakSet();

/**
 * Loads pages. The first time, their stores are added to those that are there.
 * @template {{makeStores: (first: Stores) => Partial<Stores>}} M
 * @param {Promise<M>} loading
 * @param {Stores} stores
 */
export async function withStores(loading, stores) {
  const module = await loading;
  if (!made.has(module)) {
    made.add(module);
    Object.assign(stores, { ...module.makeStores(stores), ...stores });
  }
  return module;
}

/** @param {{id: string, load: (stores: Stores) => Promise<View>, stores: Stores}} props */
export function Later({ id, load, stores }) {
  const [, redraw] = useState(0);
  const [failed, setFailed] = useState(false);
  const late = useLate(1000);
  const View = loaded.get(id);
  useEffect(() => {
    if (View) return;
    load(stores).then(
      (view) => {
        loaded.set(id, view);
        redraw(1);
      },
      () => setFailed(true),
    );
  }, []);
  if (View) return html`<${View} stores=${stores} />`;
  if (!failed) return html`<div class="waits" aria-busy="true">${late && html`<p class="quiet none">Loading…</p>`}</div>`;
  return html`<${Empty} title="This page did not load.">
    <p>The server does not answer, or its version has changed.</p>
    <p class="acts"><button class="button main" onClick=${() => location.reload()}>Load again</button></p><//>`;
}
