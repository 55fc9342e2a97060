// What is loaded when it is shown for the first time: pages, and views of Explore.

import { html, useEffect, useState } from '../../vendor/core.js';
import { Empty } from './states.js';

/** @typedef {import('../pages/pages.js').View} View */

/** @type {Map<string, View>} */
const loaded = new Map();

/** @param {{id: string, load: () => Promise<View>, stores: import('../main.js').Stores}} props */
export function Later({ id, load, stores }) {
  const [, redraw] = useState(0);
  const [failed, setFailed] = useState(false);
  const View = loaded.get(id);
  useEffect(() => {
    if (View) return;
    load().then(
      (view) => {
        loaded.set(id, view);
        redraw(1);
      },
      () => setFailed(true),
    );
  }, []);
  if (View) return html`<${View} stores=${stores} />`;
  if (!failed) return html`<div class="waits" aria-busy="true"></div>`;
  return html`<${Empty} title="This page did not load.">
    <p>The server does not answer, or its version has changed.</p>
    <p class="acts"><button class="button main" onClick=${() => location.reload()}>Load again</button></p><//>`;
}
