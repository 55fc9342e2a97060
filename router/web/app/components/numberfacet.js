// A field of numbers: the distribution of its values as bars. A drag over them, or two numbers, select a part.

import { html, useEffect, useRef, useState } from '../../vendor/core.js';
import { clauseFor } from '../lib/edit.js';
import { formatCount } from '../lib/format.js';

/** @typedef {{min: number, p25: number, p50: number, p75: number, max: number, bins: number[]}} Stats bins are of one width, from min to max */

/**
 * @param {object} props
 * @param {{name: string, filled: number, stats?: Stats}} props.facet
 * @param {boolean} props.exact
 * @param {(clause: string) => void} props.onOnly
 */
export function NumberFacet({ facet, exact, onOnly }) {
  const { min, p25, p50, p75, max, bins } = /** @type {Stats} */ (facet.stats);
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const anchor = useRef(-1);
  const [brush, setBrush] = useState(/** @type {[number, number] | null} */ (null));
  const [range, setRange] = useState(['', '']);
  useEffect(() => setBrush(null), [min, max]);
  const most = Math.max(1, ...bins);
  const edge = (/** @type {number} */ bin) => roundTo(min + ((max - min) * bin) / bins.length, (max - min) / bins.length);

  /** @param {PointerEvent} event */
  function binAt(event) {
    const at = /** @type {HTMLDivElement} */ (box.current).getBoundingClientRect();
    return Math.max(0, Math.min(bins.length - 1, Math.floor(((event.clientX - at.left) / at.width) * bins.length)));
  }

  /** @param {PointerEvent} event */
  function select(event) {
    const to = binAt(event);
    const [low, high] = [Math.min(anchor.current, to), Math.max(anchor.current, to)];
    setBrush([low, high]);
    setRange([low === 0 ? String(min) : edge(low), high === bins.length - 1 ? String(max) : edge(high + 1)]);
  }

  function clear() {
    setBrush(null);
    setRange(['', '']);
  }

  /** @param {Event} event */
  function apply(event) {
    event.preventDefault();
    const [low, high] = range.map((text) => text.trim());
    clear();
    const field = clauseFor(facet.name, 0).slice(0, -2);
    if (low && high) onOnly(`${field}:${low}..${high}`);
    else if (low) onOnly(`${field}:>=${low}`);
    else if (high) onOnly(`${field}:<=${high}`);
  }

  const input = (/** @type {0 | 1} */ end, /** @type {string} */ label) =>
    html`<input inputmode="decimal" aria-label=${`${facet.name}, ${label}`} placeholder=${shortNumber(end === 0 ? min : max)} value=${range[end]}
      pattern="-?[0-9.]+([eE][\\-+]?[0-9]+)?"
      onInput=${(/** @type {InputEvent} */ e) => setRange(end === 0 ? [valueOf(e), range[1]] : [range[0], valueOf(e)])} />`;
  return html`<form class="numbers" data-ui="number-facet" onSubmit=${apply}>
    <div class="bins" ref=${box} aria-hidden="true" title="Drag over a part"
      onPointerDown=${(/** @type {PointerEvent} */ e) => {
        anchor.current = binAt(e);
        box.current?.setPointerCapture(e.pointerId);
        select(e);
      }}
      onPointerMove=${(/** @type {PointerEvent} */ e) => anchor.current >= 0 && select(e)}
      onPointerUp=${() => (anchor.current = -1)}>${bins.map(
        (n, i) =>
          html`<u class=${brush && (i < brush[0] || i > brush[1]) ? 'out' : ''} style=${{ height: `${n > 0 ? Math.max(2, (n / most) * 36) : 0}px` }}></u>`,
      )}</div>
    <p class="quiet"
      title="A quarter of the values is at most the first number, a half the second, three quarters the third">quartiles ${exact ? '' : '≈ '}
      ${[p25, p50, p75].map(shortNumber).join(' · ')}</p>
    <p class="quiet">${formatCount(facet.filled)} rows</p>
    <p>${input(0, 'at least')}<span>–</span>${input(1, 'at most')}
      <button class="text go" data-ui="number-range" disabled=${!range[0] && !range[1]}>Only</button></p></form>`;
}

/** @param {Event} event */
function valueOf(event) {
  return /** @type {HTMLInputElement} */ (event.currentTarget).value;
}

/**
 * Writes a number to the place that a step needs.
 * @param {number} n
 * @param {number} step
 */
function roundTo(n, step) {
  return String(Number(n.toFixed(Math.max(0, Math.min(12, 1 - Math.floor(Math.log10(step || 1)))))));
}

/** @param {number} n */
function shortNumber(n) {
  return Math.abs(n) >= 1e6 || (n !== 0 && Math.abs(n) < 1e-3) ? n.toExponential(2) : formatCount(Number(n.toPrecision(4)));
}
