// What a panel shows instead of its content: an error with what to do, emptiness with what helps, and waiting.

import { html, useEffect, useState } from '../../vendor/core.js';
import { curlOf } from '../lib/api.js';
import { formatDuration } from '../lib/format.js';
import { copyText } from './copy.js';

/**
 * @template T
 * @typedef {import('../stores/latest.js').Latest<T>} Latest
 */

/** @param {{latest: Latest<any>, what: string, children?: unknown}} props */
export function ErrorPanel({ latest, what }) {
  const error = latest.error.value;
  if (!error) return null;
  const waits = latest.retryAt.value;
  return html`<div class="error-panel" data-ui="error" role="alert">
    <p><b>${what} failed.</b> ${error.message}</p>
    ${error.nearest.length > 0 && html`<p>Near by: ${error.nearest.join(', ')}</p>`}
    <p class="quiet">${error.code ? `Code ${error.code}. ` : ''}${error.status ? `HTTP ${error.status}.` : ''}
      ${waits > 0 && html` <${Countdown} until=${waits} />`}</p>
    <p class="acts">
      <button class="button" data-ui="retry" onClick=${latest.again}>Try again</button>
      ${error.request && html`<button class="text" onClick=${() => copyText(curlOf(/** @type {any} */ (error.request), location.origin))}>Copy as curl</button>`}
    </p>
  </div>`;
}

/** @param {{until: number}} props */
function Countdown({ until }) {
  const now = useNow(500);
  return html`Tried again in ${Math.max(0, Math.ceil((until - now) / 1000))} s.`;
}

/**
 * The time, again and again.
 * @param {number} every in milliseconds
 */
export function useNow(every) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), every);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}

/**
 * The line below the search while something is loading, and after a second how long it takes, with Cancel.
 * @param {{since: number, onCancel: () => void, slow?: unknown}} props slow: what is shown after ten seconds
 */
export function Progress({ since, onCancel, slow }) {
  if (!since) return html`<div class="progress"></div>`;
  return html`<div class="progress on" role="progressbar" aria-label="Loading"><${Elapsed} since=${since} onCancel=${onCancel} slow=${slow} /></div>`;
}

/** @param {{since: number, onCancel: () => void, slow?: unknown}} props */
function Elapsed({ since, onCancel, slow }) {
  const now = useNow(250);
  if (now - since < 1000) return null;
  return html`<span class="elapsed">${formatDuration(now - since)}
    ${now - since > 10000 && slow && html` · ${slow}`}
    <button class="text go" data-ui="cancel" onClick=${onCancel}>Cancel</button></span>`;
}

/** @param {{title: string, children?: unknown}} props */
export function Empty({ title, children }) {
  return html`<div class="empty-panel" data-ui="empty">
    <svg width="56" height="56" viewBox="0 0 20 20" aria-hidden="true"><circle cx="10" cy="5.4" r="3.9" /><circle cx="5.5" cy="13.2" r="3.9" /><circle cx="14.5" cy="13.2" r="3.9" /></svg>
    <h2>${title}</h2>${children}
  </div>`;
}
