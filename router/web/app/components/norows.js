// Shown if there are no rows: the reason, and what helps.

import { html, useLayoutEffect } from '../../vendor/core.js';
import { searchEveryField, valuesOf } from '../lib/edit.js';
import { formatCount, formatDuration, visible } from '../lib/format.js';
import { isLevelWord, levels } from '../lib/levels.js';
import { formatSpan, parseSpan } from '../lib/time.js';
import { formatPlace } from '../lib/url.js';
import { exploreDefaults } from '../stores/explorestate.js';
import { useMay } from './may.js';
import { Empty } from './states.js';

const day = 86400e3;

/** @param {{explore: import('../stores/explore.js').Explore}} props */
export function NoRows({ explore }) {
  const state = explore.state.value;
  const range = explore.range.value;
  useLayoutEffect(() => {
    explore.unfiltered.value.value = null;
    if (state.q) void explore.countUnfiltered();
  }, [state.q, range?.from, range?.to]);
  const all = state.q ? explore.unfiltered.value.value : { total: 0 };
  const last = explore.fields.value.value?.last_row;
  const end = parseSpan(state.to) !== null ? Date.now() - Number(parseSpan(state.to)) : Date.parse(state.to || 'now');
  const later = last && new Date(last).getTime() >= end; // false for a range that ends now
  const ago = last ? Date.now() - new Date(last).getTime() : null;
  const span = parseSpan(state.from) ?? 3600e3;
  const everywhere = searchEveryField(state.q);
  const around = (/** @type {string} */ time) => ({
    from: new Date(new Date(time).getTime() - span).toISOString(),
    to: new Date(new Date(time).getTime() + 1000).toISOString(),
  });
  const { level, scheme } = explore.shape.value;
  const asked = [...new Set([...valuesOf(state.q, 'level'), ...valuesOf(state.q, level ?? 'level')])];
  const unusual = scheme === 'text' ? asked.filter(([value, how]) => how === 'in' && !isLevelWord(value)).map(([value]) => value) : [];
  return html`<${Empty} title=${titleOf(all)}>
    ${
      unusual.length > 0 &&
      html`<p
      data-ui="unusual-level">The search asks for the level ${visible([...new Set(unusual)].join(', '))}. The usual levels are ${levels.join(', ')}.</p>`
    }
    ${
      last &&
      ago !== null &&
      html`<p
      data-ui="newest-row">The newest row of the table is ${formatDuration(Math.max(0, ago))} old${later ? ', later than this range' : ''}.</p>`
    }
    <p class="acts">
      ${
        everywhere !== state.q &&
        all?.total !== 0 &&
        html`<button class="button main" data-ui="every-field"
        onClick=${() => explore.search(everywhere)}>Search every field</button>`
      }
      ${state.q && all?.total !== 0 && html`<button class="button" onClick=${() => explore.search('')}>Without the search</button>`}
      ${last && ago !== null && (later || ago > span) && html`<button class="button" onClick=${() => explore.set(around(last))}>Show the newest row</button>`}
      <button class="button" onClick=${() => explore.set({ from: formatSpan(Math.max(day, span * 24)), to: '' })}>Look further back</button>
    </p><//>`;
}

/** @param {{total: number, exact?: boolean} | null} all rows of the range, whatever the search is; null: they are not counted yet */
function titleOf(all) {
  if (all === null) return 'No row in this range matches.';
  return all.total > 0 ? `None of the ${all.exact === false ? '≈ ' : ''}${formatCount(all.total)} rows in this range matches.` : 'No row in this range.';
}

/** Shown if there is no table, or only those of the server. @param {{signIn: import('../stores/signin.js').SignIn, others?: {db: string, name: string}[]}} props */
export function NoTable({ signIn, others = [] }) {
  const mayAll = useMay(signIn, [['SELECT', '*.*']])?.[0];
  if (mayAll === undefined) return null;
  if (!mayAll && others.length === 0) {
    return html`<${Empty} title="There is no table that you may read.">
      <p>You are signed in as <b>${signIn.user.value}</b>. An administrator can grant this user SELECT on tables.</p>
      <p class="acts"><a class="button" href="/dashboard/settings">See who you are, or sign in as somebody else</a></p><//>`;
  }
  return html`<${Empty} title="There is no table yet.">
    <p>The first rows that you send to a table create it.</p>
    <p class="acts"><a class="button main" href="/dashboard/add">Add data</a></p>
    ${
      others.length > 0 &&
      html`<p class="quiet">The server’s own: ${others.map(
        ({ db, name }) => html`<a class="text go" href=${formatPlace('explore', { db, t: name }, exploreDefaults)}>${db}.${name}</a> `,
      )}</p>`
    }<//>`;
}
