// Two texts and how they differ, line by line.

import { html, useMemo } from '../../vendor/core.js';
import { diffLines, nearChanges } from '../lib/diff.js';

const signs = { same: ' ', added: '+', removed: '−' };

/** @param {{before: string, after: string}} props */
export function DiffView({ before, after }) {
  const lines = useMemo(() => nearChanges(diffLines(before, after), 3), [before, after]);
  if (!lines.some((line) => line && line.kind !== 'same')) return html`<p class="quiet none">Both texts are the same.</p>`;
  return html`<div class="diff" data-ui="diff" tabindex="0" role="region" aria-label="What differs">${lines.map((line) =>
    line
      ? html`<div class=${line.kind}><span>${line.before || ''}</span><span>${line.after || ''}</span><b>${signs[line.kind]}</b><code>${line.text}
        ${'\u200b'}</code></div>`
      : html`<div class="left-out"><code>…</code></div>`,
  )}</div>`;
}
