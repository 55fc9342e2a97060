// The fields in which two sets of rows differ, the most different first.

import { html, useEffect, useState } from '../../vendor/core.js';
import { clauseFor, valuesOf } from '../lib/edit.js';
import { formatCount, visible } from '../lib/format.js';
import { formatTime } from '../lib/time.js';
import { Elapsed, Empty, ErrorPanel } from './states.js';

const mostValues = 8;

/** @param {{stores: import('../main.js').Stores}} props */
export function Compare({ stores }) {
  const { analysis, explore, prefs } = stores;
  const sets = analysis.sets.value;
  const zone = prefs.zone.value;
  const { q, bq, partial } = explore.state.value;
  const [other, setOther] = useState(bq);
  useEffect(() => void analysis.compare(), [JSON.stringify(sets), q, partial]);
  const answer = analysis.comparison.value.value;
  const empty = answer !== null && (answer.a.rows === 0 || answer.b.rows === 0);
  const span = (/** @type {{from: string, to: string}} */ r) => `${formatTime(r.from, zone)} – ${formatTime(r.to, zone).slice(11)}`;
  return html`<div class="comparing" data-ui="compare"><div class="subhead">${
    sets &&
    html`<span><i class="set-a"></i>A: ${span(sets.a)} <b>${answer && formatCount(answer.a.rows)}</b></span>
      <span><i class="set-b"></i>B: ${sets.rest ? 'the rest of the range' : bq ? html`the search <code>${bq}</code>` : 'the range before'} <b>
        ${answer && formatCount(answer.b.rows)}</b></span>`
  }<${Elapsed} since=${analysis.comparison.since.value} onCancel=${analysis.comparison.cancel} /><span class="grow"></span>
    ${
      (explore.state.value.afrom || bq) &&
      html`<button class="text"
    onClick=${() => explore.set({ afrom: '', ato: '', bq: '' })}>Compare with the range before</button>`
    }
    <form class="withsearch" onSubmit=${(/** @type {Event} */ e) => {
      e.preventDefault();
      explore.set({ bq: other.trim(), afrom: '', ato: '' });
    }}><input data-ui="compare-search" aria-label="Compare with the rows of this search" placeholder="with another search" value=${other}
      onInput=${(/** @type {InputEvent} */ e) => setOther(/** @type {HTMLInputElement} */ (e.currentTarget).value)} /></form></div>
    <${ErrorPanel} latest=${analysis.comparison} what="Comparing" />
    ${answer?.low && !empty && html`<p class="wrong none">One set has fewer than 30 rows: the differences may be chance.</p>`}
    ${empty && html`<${Nothing} answer=${answer} before=${!sets?.rest && !bq} />`}
    ${
      answer &&
      !empty &&
      answer.fields.length === 0 &&
      html`<${Empty} title="No field differs.">
      <p>Drag over a part of the histogram to compare it with the rest.</p><//>`
    }
    <div class=${`compared ${analysis.comparison.since.value && answer ? 'dim' : ''}`}>${answer?.fields.map(
      (field) => html`<${Card} key=${field.name} field=${field} answer=${answer} onOnly=${explore.only} onWithout=${explore.without} />`,
    )}
    ${answer && !empty && html`<${OtherFields} answer=${answer} search=${q} fields=${explore.fields.value.value?.fields ?? []} />`}</div></div>`;
}

/**
 * Says that a set has no rows, so that nothing can be compared.
 * @param {{answer: import('../stores/analysis.js').Comparison, before: boolean}} props before: B is the range before
 */
function Nothing({ answer, before }) {
  const none =
    answer.b.rows > 0 ? 'A has no rows.' : answer.a.rows === 0 ? 'Neither set has rows.' : before ? 'The range before has no rows.' : 'B has no rows.';
  return html`<${Empty} title="There is nothing to compare."><p>${none} Drag over a part of the histogram to compare it with the rest, or write another search.</p><//>`;
}

/**
 * The fields that are not drawn, and why.
 * @param {{answer: import('../stores/analysis.js').Comparison, search: string, fields: import('../stores/explore.js').Field[]}} props
 */
function OtherFields({ answer, search, fields }) {
  const fixed = answer.same.filter((name) => valuesOf(search, name).size > 0);
  const said = new Set([...answer.same, ...answer.unique, ...answer.fields.map((f) => f.name)]);
  const groups = [
    ['Alike in both', answer.same.filter((name) => !fixed.includes(name))],
    ['The same by the search', fixed],
    ['Too many different values to compare', answer.unique],
    ['Not compared', fields.filter((f) => f.fill > 0 && f.role !== 'time' && !f.json_paths?.length && !said.has(f.name)).map((f) => f.name)],
  ];
  return groups.map(
    ([title, names]) =>
      names.length > 0 && html`<p class="quiet none" data-ui="not-differing">${title}: ${visible(/** @type {string[]} */ (names).join(', '))}.</p>`,
  );
}

/** @param {{field: import('../stores/analysis.js').ComparedField, answer: import('../stores/analysis.js').Comparison, onOnly: (clause: string) => void, onWithout: (clause: string) => void}} props */
function Card({ field, answer, onOnly, onWithout }) {
  const shares = field.values.map(({ value, a, b }) => ({ value, a: answer.a.rows > 0 ? a / answer.a.rows : 0, b: answer.b.rows > 0 ? b / answer.b.rows : 0 }));
  const shown = field.kind === 'numbers' ? shares : [...shares].sort((x, y) => Math.abs(y.a - y.b) - Math.abs(x.a - x.b)).slice(0, mostValues);
  const most = Math.max(0.0001, ...shown.flatMap(({ a, b }) => [a, b]));
  const clause = (/** @type {number} */ i) => {
    const { value } = shown[i];
    if (value === null) return clauseFor(field.name, '*', ':').replace('"*"', '*');
    if (field.kind !== 'numbers') return clauseFor(field.name, String(value));
    const next = shown[i + 1]?.value;
    return next === undefined ? `${field.name}:>=${value}` : `${field.name}:${value}..${next}`;
  };
  return html`<section class="card" data-ui="compare-field" aria-label=${field.name}><h3>${field.name}
    <small title="0: the same, 1: nothing in common">${field.score.toFixed(2)}</small></h3>
    <ul>${shown.map(
      ({ value, a, b }, i) => html`<li><button class="only" onClick=${() => (value === null ? onWithout(clause(i)) : onOnly(clause(i)))}
        title=${`A ${percent(a)}, B ${percent(b)}; click: only these`}>
        ${value === null ? 'no value' : `${field.kind === 'numbers' ? '≥ ' : ''}${field.kind === 'numbers' ? formatCount(Number(Number(value).toPrecision(4))) : visible(String(value).slice(0, 60))}`}</button>
        <span class="pair" aria-hidden="true"><i class="set-a" style=${{ width: `${(a / most) * 100}%` }}></i>
          <i class="set-b" style=${{ width: `${(b / most) * 100}%` }}></i></span><small>${percent(a)}<br />${percent(b)}</small></li>`,
    )}</ul></section>`;
}

/** @param {number} share */
function percent(share) {
  return `${share > 0 && share < 0.001 ? '< 0.1' : (share * 100).toFixed(1)} %`;
}
