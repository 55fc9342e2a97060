// The patterns of the texts of a search: how often each occurs, when, and how often it occurred before.

import { html, useEffect, useState } from '../../vendor/core.js';
import { formatCount, visible } from '../lib/format.js';
import { isBad, levels } from '../lib/levels.js';
import { formatTime } from '../lib/time.js';
import { Elapsed, Empty, ErrorPanel } from './states.js';

/** @typedef {import('../stores/analysis.js').Pattern} Pattern */
/** @typedef {import('../stores/explore.js').Field} Field */

const orders = /** @type {Record<string, [string, (a: Pattern, b: Pattern) => number]>} */ ({
  count: ['Most', (a, b) => b.count - a.count],
  rare: ['Fewest', (a, b) => a.count - b.count],
  new: ['New', (a, b) => Number(a.before > 0) - Number(b.before > 0) || b.count - a.count],
  growing: ['Growing', (a, b) => b.count / (b.before + 1) - a.count / (a.before + 1)],
});

/** @param {{stores: import('../main.js').Stores}} props */
export function Patterns({ stores }) {
  const { analysis, explore, prefs } = stores;
  const [order, setOrder] = useState('count');
  const range = explore.range.value;
  const state = explore.state.value;
  const fields = /** @type {Field[]} */ (explore.fields.value.value?.fields ?? []);
  const texts = fields.filter((f) => f.type === 'String').map((f) => f.name);
  const of = `${state.db}.${state.tables.join()}=`;
  const chosen = prefs.patternFields.value.find((text) => text.startsWith(of))?.slice(of.length) ?? '';
  const field = texts.includes(chosen) ? chosen : '';
  const unknown = fields.length > 0 && field === '' && !fields.some((f) => f.role === 'message');
  useEffect(() => {
    if (range && !unknown) void analysis.loadPatterns(field);
  }, [range?.from, range?.to, state.q, state.partial, field, unknown]);
  const choose = (/** @type {string} */ name) => {
    prefs.patternFields.value = [of + name, ...prefs.patternFields.value.filter((text) => !text.startsWith(of))];
  };
  if (unknown) return html`<${ChooseText} texts=${texts} onChoose=${choose} />`;
  const answer = analysis.patterns.value.value;
  const total = answer?.rows ?? 0;
  const list = [...(answer?.patterns ?? [])].sort(orders[order][1]);
  return html`<div class="subhead"><span class="quiet">
    ${answer && `${answer.exact ? '' : '≈ '}${formatCount(total)} rows as ${formatCount(answer.patterns.length)} ${answer.patterns.length === 1 ? 'pattern' : 'patterns'} of`}</span>
      ${
        answer &&
        html`<select aria-label="Text whose patterns are shown" value=${field || answer.field}
          onChange=${(/** @type {Event} */ e) => choose(/** @type {HTMLSelectElement} */ (e.currentTarget).value)}>${[...new Set([answer.field, ...texts])].map(
            (name) => html`<option value=${name}>${name}</option>`,
          )}</select>`
      }<${Elapsed} since=${analysis.patterns.since.value} onCancel=${analysis.patterns.cancel} /><span class="grow"></span>
      <span role="group" aria-label="Order" class="orders">
        ${Object.entries(orders).map(
          ([id, [name]]) => html`<button class="text" aria-pressed=${id === order} onClick=${() => setOrder(id)}>
        ${name}</button>`,
        )}</span></div>
    <${ErrorPanel} latest=${analysis.patterns} what="Looking for patterns" />
    ${answer && answer.patterns.length === 0 && html`<${Empty} title="No row has this text."><p>Choose another field, or a longer range.</p><//>`}
    ${
      answer &&
      list.length > 0 &&
      html`<div class="patternhead" aria-hidden="true"><span class="count">rows<small>share</small></span>
      <span class="when">over the range</span><span class="only">pattern</span><span class="wide before">range before</span>
      <span class="wide since">first row here</span><span class="not"></span></div>`
    }
    <ul data-ui="patterns" class=${`patterns ${analysis.patterns.since.value && answer ? 'dim' : ''}`}>${list.map(
      (p) => html`<${PatternLine} key=${p.pattern} pattern=${p} total=${total} zone=${prefs.zone.value} exact=${answer?.exact !== false && !p.about}
        aboutBefore=${answer?.before_about}
        onOnly=${() => explore.only(p.query, { view: 'rows' })} onWithout=${() => explore.without(`(${p.query})`)} />`,
    )}</ul>
    ${answer && answer.other > 0 && html`<div class="foot"><span>${formatCount(answer.other)} rows have none of these patterns</span></div>`}`;
}

/**
 * Asks for the text whose patterns are to be shown, of a table without a message.
 * @param {{texts: string[], onChoose: (name: string) => void}} props
 */
function ChooseText({ texts, onChoose }) {
  if (texts.length === 0) return html`<${Empty} title="There are no texts."><p>Patterns need a field with texts, and this table has none.</p><//>`;
  return html`<${Empty} title="Which text?"><p>This table has no message field. Show the patterns of</p>
    <p class="acts">${texts.slice(0, 20).map((name) => html`<button class="button" data-ui="pattern-field" onClick=${() => onChoose(name)}>${name}</button> `)}</p><//>`;
}

/** @param {{pattern: Pattern, total: number, zone: string, exact: boolean, aboutBefore: boolean | undefined, onOnly: () => void, onWithout: () => void}} props */
function PatternLine({ pattern, total, zone, exact, aboutBefore, onOnly, onWithout }) {
  const share = total > 0 ? (pattern.count / total) * 100 : 0;
  const worst = levels.find((level) => pattern.levels[level] > 0 && isBad(level)) ?? '';
  const before = (aboutBefore ? '≈ ' : '') + (pattern.before === 0 ? 'new' : formatCount(pattern.before));
  return html`<li data-ui="pattern" class=${worst}>
    <span class="count">${exact ? '' : '≈ '}${formatCount(pattern.count)}<small>${share < 0.1 ? '< 0.1' : share.toFixed(1)} %</small></span>
    <${Spark} counts=${pattern.spark} level=${worst} />
    <button class="only" title=${visible(pattern.example.text.slice(0, 500))} onClick=${onOnly}>
      ${pattern.pattern.split('⟨*⟩').map((part, i) => html`${i > 0 && html`<i>⟨*⟩</i>`}${visible(part)}`)}</button>
    <small title="Rows in the range before, of the same length" class=${`wide before ${pattern.before === 0 ? 'fresh' : ''}`}>${before}</small>
      <small class="wide since" title="The first of these rows in this range">${formatTime(pattern.first, zone).slice(5, 16)}</small>
    <button class="text not" aria-label=${`Hide rows like ${visible(pattern.pattern.slice(0, 60))}`} title="Hide these rows" onClick=${onWithout}>−</button></li>`;
}

/** @param {{counts: number[], level: string}} props */
function Spark({ counts, level }) {
  const most = Math.max(1, ...counts);
  const bars = counts.map((n, i) => (n > 0 ? `M${i * 3 + 1} 18v-${Math.max(1, (n / most) * 16).toFixed(1)}` : '')).join('');
  return html`<svg class="spark" width="72" height="18" viewBox="0 0 72 18" aria-hidden="true">
    <path d=${bars} stroke=${`var(--bar-${level || 'info'})`} stroke-width="2" /></svg>`;
}
