// What a panel shows instead of its content: an error with advice, advice if there is no content, or waiting.

import { html, useEffect, useState } from '../../vendor/core.js';
import { curlOf } from '../lib/api.js';
import { formatDuration } from '../lib/format.js';
import { copyText } from './copy.js';

/**
 * @template T
 * @typedef {import('../stores/latest.js').Latest<T>} Latest
 */

/** Codes of errors for which the rest of the cluster can still answer. */
const unreachable = [4010, 5000, 5003];

/**
 * @param {object} props
 * @param {Latest<any>} props.latest
 * @param {string} props.what
 * @param {() => void} [props.onPartial] requests the data of the other nodes
 * @param {(name: string) => void} [props.onNearest] replaces the wrong name
 * @param {(() => void) | false} [props.onText] searches for what was not understood as text
 * @param {boolean} [props.inForm] the form around it sends the request again, and goes on with the answer
 */
export function ErrorPanel({ latest, what, onPartial, onNearest, onText, inForm = false }) {
  const error = latest.error.value;
  if (!error) return null;
  const waits = latest.retryAt.value;
  return html`<div class="error-panel" data-ui="error" role="alert">
    <p><b>${what} failed:</b> ${said(error)}${latest.once && error.status === 0 && ' It may have been done all the same: look before you try again.'}</p>
    ${
      error.nearest.length > 0 &&
      html`<p class="similar">Similar: ${error.nearest.map((name) =>
        onNearest
          ? html`<button type="button" class="text go" data-ui="nearest"
        onClick=${() => onNearest(name)}>${name}</button> `
          : `${name} `,
      )}</p>`
    }
    ${
      error.status === 403 &&
      html`<p>Your user does not have the right for this. <a class="text go"
      href="/dashboard/settings">See who you are, or sign in as somebody else</a></p>`
    }
    <p class="quiet">${error.code ? `Code ${error.code}. ` : ''}${error.status ? `HTTP ${error.status}.` : ''}
      ${waits > 0 && html` <${Countdown} until=${waits} />`}</p>
    <p class="acts">
      ${!inForm && html`<button type="button" class="button" data-ui="retry" onClick=${latest.again}>Try again</button>`}
      ${onText && error.at && html`<button type="button" class="button" data-ui="as-text" onClick=${onText}>Search for it as text</button>`}
      ${onPartial && unreachable.includes(error.code) && html`<button type="button" class="button" data-ui="partial" onClick=${onPartial}>Show the rest</button>`}
      ${
        error.request &&
        !error.request.secret &&
        html`<button type="button" class="text" data-ui="copy-curl"
        onClick=${() => copyText(curlOf(/** @type {any} */ (error.request), location.origin, error.user))}>Copy as curl</button>`
      }
    </p>
  </div>`;
}

/** What an error says. The place in a search text is underlined there. @param {import('../lib/api.js').ApiError} error */
function said({ message, at }) {
  const text = at ? message.replace(/^search text at byte \d+: /, '') : message;
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** @param {{until: number}} props */
function Countdown({ until }) {
  const now = useNow(500);
  return html`The next try is in ${Math.max(0, Math.ceil((until - now) / 1000))} s.`;
}

/**
 * Returns the current time, and updates it regularly.
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
 * The line that moves while something is loading, and after a second how long it takes, with Cancel.
 * @param {{since: number, onCancel?: () => void}} props without onCancel, Elapsed stands elsewhere
 */
export function Progress({ since, onCancel }) {
  if (!since) return html`<div class="progress"></div>`;
  return html`<div class="progress on"><span role="progressbar" aria-label="Loading"></span>
    ${onCancel && html`<${Elapsed} since=${since} onCancel=${onCancel} />`}</div>`;
}

/**
 * For how long something is loading, after a second, with Cancel; since is 0 if nothing is.
 * @param {{since: number, onCancel: () => void, slow?: unknown}} props slow: what is shown after ten seconds
 */
export function Elapsed({ since, onCancel, slow }) {
  const now = useNow(250);
  if (!since || now - since < 1000) return null;
  return html`<span class="elapsed">${formatDuration(now - since)}
    ${now - since > 10000 && slow && html` · ${slow}`}
    <button class="text go" data-ui="cancel" onClick=${onCancel}>Cancel</button></span>`;
}

/**
 * Says what is missing from an answer that was allowed to be partial.
 * @param {{missing: {shards?: string[], segments?: string[]} | null, onAgain: () => void}} props
 */
export function Missing({ missing, onAgain }) {
  if (!missing) return null;
  const parts = [...(missing.shards ?? []), ...(missing.segments ?? [])];
  return html`<div class="banner" data-ui="partial" role="alert"><span>
    ${parts.length} ${parts.length === 1 ? 'part' : 'parts'} did not answer: rows are missing, and counts are too low. ${parts.slice(0, 3).join('; ')}
    ${parts.length > 3 && ' …'}</span>
    <button class="text go" onClick=${onAgain}>Ask for all</button></div>`;
}

/** Reports whether a component is on the screen for so many milliseconds. @param {number} ms */
export function useLate(ms) {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), ms);
    return () => clearTimeout(timer);
  }, []);
  return late;
}

/** Shown in place of the first rows if they take longer than a moment. */
export function Skeleton() {
  if (!useLate(150)) return html`<div class="waits"></div>`;
  return html`<div class="skeleton" aria-hidden="true">
    ${Array.from({ length: 14 }, (_, i) => html`<p key=${i} style=${{ width: `${38 + ((i * 29) % 47)}%` }}></p>`)}</div>`;
}

/** @param {{title: string, children?: unknown}} props */
export function Empty({ title, children }) {
  return html`<div class="empty-panel" data-ui="empty">
    <svg width="56" height="56" viewBox="0 0 20 20" aria-hidden="true"><circle cx="10" cy="5.4" r="3.9" /><circle cx="5.5" cy="13.2" r="3.9" />
      <circle cx="14.5" cy="13.2" r="3.9" /></svg>
    <h2>${title}</h2>${children}
  </div>`;
}
