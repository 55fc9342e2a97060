// The fields of a table with their most frequent values. A click on a value edits the search.

import { html, useState } from '../../vendor/core.js';
import { clauseFor, hasCondition, valuesOf } from '../lib/edit.js';
import { formatBytes, formatCount, leafName, visible } from '../lib/format.js';
import { levelOf } from '../lib/levels.js';
import { NumberFacet } from './numberfacet.js';
import { ValueFind } from './valuefind.js';

/**
 * @typedef {{name: string, type: string, role: string | null, fill: number, rank: number, of?: {fill: number}}} Field
 * @typedef {{name: string, filled: number, distinct: number, values: {value: unknown, count: number, cut?: number}[], other: number, estimated?: boolean, stats?: import('./numberfacet.js').Stats}} Facet
 *
 * @param {object} props
 * @param {Field[]} props.fields
 * @param {string[]} props.useful names, the most useful ones first
 * @param {string[]} props.chosen names that have a column
 * @param {string[]} props.open
 * @param {Facet[]} props.facets
 * @param {unknown} props.failed what is said if the values could not be counted
 * @param {(facet: {sampled?: boolean}) => boolean} props.exact
 * @param {string} props.text of the search
 * @param {import('../lib/line.js').Shape} props.shape
 * @param {Map<string, 'in' | 'out'>} props.levels that the search asks for, or leaves out
 * @param {(name: string) => void} props.onToggle
 * @param {(name: string) => void} props.onColumn
 * @param {(clause: string) => void} props.onOnly
 * @param {(clause: string) => void} props.onWithout
 * @param {(field: string, value: string) => void} props.onEither any of the values that are ticked
 * @param {(field: string, prefix: string) => Promise<{value: unknown, count: number}[]>} props.onFind values that begin so
 * @param {() => void} [props.onClose] on a phone, where the list covers the rows
 */
export function FieldList(props) {
  const { fields, useful, chosen } = props;
  const [find, setFind] = useState('');
  const [all, setAll] = useState(false);
  const wanted = find.trim().toLowerCase();
  const byName = new Map(fields.map((f) => [f.name, f]));
  const first = new Set([...chosen, ...useful]);
  const unchosen = useful.filter((name) => !chosen.includes(name));
  const rest = fields.filter((f) => !first.has(f.name) && f.role !== 'time');
  const other = rest.filter((f) => f.fill > 0);
  const empty = rest.filter((f) => f.fill === 0);
  const found = wanted ? fields.filter((f) => f.name.toLowerCase().includes(wanted)).slice(0, 200) : [];
  const some = (/** @type {string[]} */ names) => names.map((name) => byName.get(name)).filter(Boolean);

  return html`<section class="pane fieldlist" aria-label="Fields"><h2 class="hidden">Fields</h2>
    <div class="head"><input class="find" id="field-find" type="search" data-ui="field-find" placeholder="Find a field" aria-label="Find a field"
      value=${find} onInput=${(/** @type {InputEvent} */ e) => setFind(/** @type {HTMLInputElement} */ (e.currentTarget).value)} /><kbd>F</kbd>
        ${props.onClose && html`<button class="text fields-button" onClick=${props.onClose}>Close</button>`}</div>
    <div class="fields">${props.failed}
      ${
        wanted
          ? html`<p>${found.length === 0 ? 'No field has this in its name.' : `${found.length} found`}</p><${Group} ...${props} fields=${found} />`
          : html`${some(chosen).length > 0 && html`<p>Columns</p><${Group} ...${props} fields=${some(chosen)} />`}
              ${unchosen.length > 0 && html`<p>Useful</p><${Group} ...${props} fields=${some(unchosen)} />`}
              ${
                rest.length > 0 &&
                html`<p><button class="text" aria-expanded=${all} onClick=${() => setAll(!all)}>
                ${other.length} other, ${empty.length} empty</button></p>`
              }
              ${all && html`<${Group} ...${props} fields=${[...other, ...empty].slice(0, 500)} />`}`
      }
    </div>
  </section>`;
}

const mostValues = 12; // of a field of numbers: more are shown as ranges

/** @param {any} props */
function Group(props) {
  return props.fields.map((/** @type {Field} */ field) => html`<${FieldItem} key=${field.name} ...${props} field=${field} />`);
}

/** @param {any} props */
function FieldItem({ field, open, facets, exact, chosen, onToggle, onColumn, ...rest }) {
  const opened = open.includes(field.name);
  const facet = facets.find((/** @type {Facet} */ f) => f.name === field.name);
  const column = chosen.includes(field.name);
  return html`<div class="fielditem">
    <h3 class=${opened ? 'open' : ''} data-ui="field" data-name=${field.name}>
      <button aria-expanded=${opened} title=${field.of ? `${field.name}, in JSON` : `${field.name}, ${field.type}`}
        onClick=${() => onToggle(field.name)}>${visible(leafName(field.name))}</button>
      <span>${facet && opened ? `${distinctText(facet)} ${facet.distinct === 1 ? 'value' : 'values'}` : `${field.of && field.fill > 0 ? '≤ ' : ''}${Math.round(field.fill * 100)} %`}</span>
      <button class="text col" aria-pressed=${column} aria-label=${`${column ? 'Remove' : 'Add'} the column ${field.name}`}
        onClick=${() => onColumn(field.name)}>${column ? '− col' : '+ col'}</button>
    </h3>
    ${
      opened &&
      facet &&
      (facet.stats && facet.distinct > mostValues
        ? html`<${NumberFacet} key=${facet.name} facet=${facet} exact=${exact(facet)}
      onOnly=${rest.onOnly} />`
        : html`<${Values} facet=${facet} exact=${exact(facet)} ...${rest} />`)
    }
  </div>`;
}

/**
 * Says how many different values a field has.
 * @param {Facet} facet
 */
function distinctText(facet) {
  return (facet.estimated ? '≈ ' : '') + formatCount(facet.distinct);
}

/** @param {any} props */
function Values({ facet, exact, text, shape, levels, onOnly, onWithout, onEither, onFind }) {
  const [found, setFound] = useState(/** @type {import('./valuefind.js').Value[] | null} */ (null));
  const listed = found ?? facet.values;
  const most = Math.max(1, ...listed.map((/** @type {{count: number}} */ v) => v.count));
  const chosen = valuesOf(text, facet.name);
  const byLevel = (/** @type {string} */ name) => (facet.name === shape.level ? levels.get(levelOf(name, shape.scheme)) : undefined);
  const grouped = facet.values.length > 0;
  const own = hasCondition(text, facet.name) || (facet.name === shape.level && hasCondition(text, 'level'));
  const finder =
    (facet.other > 0 || !grouped) && html`<${ValueFind} field=${facet.name} distinct=${distinctText(facet)} onFind=${onFind} onFound=${setFound} />`;
  if (facet.filled === 0) return html`<p class="quiet none">No row of this search has it.</p>`;
  return html`${own && html`<p class="quiet none" data-ui="own-condition">counted without its own condition</p>`}
    ${!grouped && !found && html`<p class="quiet none">${distinctText(facet)} different values: too many to group.</p>`}${finder}<ul class="values">${listed.map(
      (/** @type {{value: unknown, count: number, cut?: number}} */ { value, count, cut }, /** @type {number} */ i) => {
        const name = String(value);
        const clause = clauseFor(facet.name, name);
        const state = chosen.get(name) ?? byLevel(name);
        const unsearchable = cannotBeSearched(name, cut);
        return html`<li key=${`${name} ${i}`} class=${state ?? ''} data-ui="value" data-value=${name} style=${{ '--p': `${Math.max(1, (count / most) * 100).toFixed(1)}%` }}>
      <input type="checkbox" data-ui="value-any" checked=${state === 'in'} aria-label=${`Any of these: ${visible(name)}`}
        title=${unsearchable || 'Any of the ticked values'} disabled=${unsearchable !== ''} onChange=${() => onEither(facet.name, name)} />
      <button class="only" data-ui="value-in" title=${unsearchable || `Only ${name}`} disabled=${unsearchable !== ''}
        onClick=${() => onOnly(clause)}>${visible(name) || '“”'}</button>
      <span>${exact ? '' : '≈ '}${formatCount(count)}</span>
      <button class="not" data-ui="value-out" aria-label=${`Not ${name}`} title=${unsearchable} disabled=${unsearchable !== ''}
        onClick=${() => onWithout(clause)}>−</button>
    </li>`;
      },
    )}
  ${!found && facet.other > 0 && html`<li class="other"><span>other</span><span>${exact ? '' : '≈ '}${formatCount(facet.other)}</span></li>`}</ul>`;
}

/**
 * Says why a search cannot find a value; empty: it can.
 * @param {string} value
 * @param {number} [cut] the bytes of the whole value, if this is only its begin
 */
function cannotBeSearched(value, cut) {
  if (cut) return `This is the beginning of a value of ${formatBytes(cut)}, which is too long for a search`;
  return value.includes('\0') ? 'A search cannot have the NUL character of this value' : '';
}
