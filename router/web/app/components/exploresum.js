// The part above the rows in Explore: the number of rows, the legend and the histogram.

import { html } from '../../vendor/core.js';
import { clauseFor } from '../lib/edit.js';
import { formatCount, formatDuration, formatRows } from '../lib/format.js';
import { formatSpan, parseSpan } from '../lib/time.js';
import { joinNames } from '../lib/url.js';
import { colourOf, Histogram } from './histogram.js';
import { useNarrow } from './narrow.js';
import { Elapsed, ErrorPanel } from './states.js';

/** @typedef {import('../stores/explore.js').Explore} Explore */

/** @param {{stores: import('../main.js').Stores, since: number}} props since: when the search began that is under way; 0: none is */
export function Sum({ stores, since }) {
  const { explore, prefs } = stores;
  const hits = explore.hits.value.value;
  const state = explore.state.value;
  const hidden = state.hide.includes('hist');
  const narrow = useNarrow();
  const hide = state.hide.filter((h) => h !== 'hist');
  const taken = explore.first.value.value?.took_ms;
  const said = explore.first.error.value ?? explore.fields.error.value;
  return html`<section class="sum" aria-label="Total" aria-live="polite">
      ${hits && html`<h2 data-ui="total">${hits.exact === false ? '≈ ' : ''}${formatRows(hits.total)}</h2>`}
      ${hits?.exact === false && html`<button class="text go" data-ui="count-exactly" onClick=${explore.countExactly}>Count exactly</button>`}
      ${
        since > 0
          ? html`<${Elapsed} since=${since} onCancel=${explore.cancel} slow=${!said && html`<${WhySlow} explore=${explore} />`} />`
          : html`<span class="quiet">${taken !== undefined && hits ? `in ${formatDuration(Math.max(taken, hits.took_ms))}` : ''}</span>`
      }
      <${RefreshPicker} explore=${explore} /><${ByPicker} explore=${explore} /><${Legend} explore=${explore} hide=${hide} hidden=${hidden} /></section>
    ${explore.hits.error.value?.message !== said?.message && html`<${ErrorPanel} latest=${explore.hits} what="The histogram" />`}
    ${
      !hits &&
      !hidden &&
      (explore.refused.value || !explore.hits.error.value) &&
      html`<div class="hist waiting"
      style=${{ height: `${narrow ? 58 : 72}px` }}></div><div class="axis"></div>`
    }
    ${
      hits &&
      !hidden &&
      html`<${Histogram} hits=${hits} hidden=${hide} zone=${prefs.zone.value} height=${narrow ? 58 : 72} byLevel=${levelsOf(explore)}
      onZoom=${(/** @type {string} */ from, /** @type {string} */ to) => explore.set({ from, to, row: '' })}
      onCompare=${(/** @type {string} */ afrom, /** @type {string} */ ato) => explore.set({ view: 'compare', afrom, ato })} />`
    }`;
}

/** Whether and how the bars have the colours of levels. @param {Explore} explore @returns {boolean | 'status'} */
function levelsOf(explore) {
  if (explore.by.value !== 'level') return false;
  return explore.shape.value.scheme === 'status' ? 'status' : true;
}

/** The values of the bars: a click shows only one of them, a click with Alt hides it. @param {{explore: Explore, hide: string[], hidden: boolean}} props */
function Legend({ explore, hide, hidden }) {
  const by = explore.by.value;
  /** @type {{value: unknown, other?: boolean, counts: number[]}[]} */
  const series = explore.hits.value.value?.series ?? [];
  return html`<span class="legend">${series.map((s, place) => {
    const name = s.value === null ? 'none' : String(s.value);
    const choose = (/** @type {MouseEvent} */ event) => {
      if (event.altKey) {
        const kept = hide.includes(name) ? hide.filter((h) => h !== name) : [...hide, name];
        explore.set({ hide: joinNames([...kept, ...(hidden ? ['hist'] : [])]) }, { replace: true });
      } else if (s.value !== null && !s.other) void explore.only(clauseFor(by === 'level' ? levelField(explore) : by, name, ':'));
    };
    return html`<button class="text" data-ui=${`legend-${name}`} aria-pressed=${!hide.includes(name)} title="Show only this. With Alt: hide it" onClick=${choose}><i
      style=${{ background: colourOf(s.value, place, levelsOf(explore), s.other) }}></i>${name}<b>${formatCount(s.counts.reduce((a, b) => a + b, 0))}</b></button>`;
  })}</span>`;
}

/** The name of the level in a search: its own, if the table has another column of the name level. @param {Explore} explore */
function levelField(explore) {
  const { level } = explore.shape.value;
  const taken = explore.fields.value.value?.fields.some((/** @type {{name: string}} */ f) => f.name === 'level');
  return taken && level ? level : 'level';
}

/** Why a search takes long, and how to make it faster. @param {{explore: Explore}} props */
function WhySlow({ explore }) {
  const read = explore.reads.value.value?.read;
  const span = parseSpan(explore.state.value.from);
  return html`<span class="why-slow" data-ui="why-slow">
    ${read ? `${formatCount(read.rows)} rows${read.of > 0 ? `, in ${formatCount(read.segments)} of ${formatCount(read.of)} segments,` : ''} are read: ` : ''}narrow the time, or name a field</span>
    ${
      span &&
      span > 600e3 &&
      html` <button class="text go"
      onClick=${() => explore.set({ from: formatSpan(span / 4), to: '', row: '' })}>A quarter of the range</button>`
    }
    <button class="text go" onClick=${() => document.getElementById('search')?.focus()}>Name a field</button>`;
}

/** How often the search runs automatically. @param {{explore: Explore}} props */
function RefreshPicker({ explore }) {
  return html`<label class="by again">refresh <select aria-label="How often the search runs again" data-ui="refresh" value=${explore.refresh.value}
    onChange=${(/** @type {Event} */ e) => (explore.refresh.value = Number(/** @type {HTMLSelectElement} */ (e.currentTarget).value))}>
    <option value="0">off</option>${[5, 10, 30, 60].map((s) => html`<option value=${s}>${s} s</option>`)}</select></label>`;
}

/** What the bars of the histogram are coloured by. @param {{explore: Explore}} props */
function ByPicker({ explore }) {
  const by = explore.by.value;
  const names = [...new Set([...(by === 'level' || by === 'none' ? [] : [by]), ...explore.usefulFields().map((f) => f.name)])].filter(
    (name) => name !== 'level',
  );
  return html`<label class="by">by <select aria-label="What the bars are coloured by" data-ui="by" value=${by}
    onChange=${(/** @type {Event} */ e) => explore.set({ by: /** @type {HTMLSelectElement} */ (e.currentTarget).value, hide: '' })}>
    <option value="level">level</option>${names.map((name) => html`<option value=${name}>${name}</option>`)}<option value="none">nothing</option></select></label>`;
}
