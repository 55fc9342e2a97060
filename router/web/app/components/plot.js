// Rows of an answer drawn as lines, bars or points.

import { html, useEffect, useRef, useState } from '../../vendor/core.js';
import { formatCount } from '../lib/format.js';
import { axisTicks } from '../lib/geometry.js';
import { levels } from '../lib/levels.js';
import { guessAxes, roundTicks, seriesOf, stacked } from '../lib/plot.js';
import { partsOfTime } from '../lib/time.js';
import { toast } from '../stores/toast.js';
import { download, pictureOf } from './download.js';
import { colourOf } from './histogram.js';
import { Empty } from './states.js';

const kinds = ['line', 'bars', 'stacked', 'points'];
const left = 64;
const bottom = 24;
const height = 320;

/** @param {{answer: import('../lib/api.js').SqlResult}} props */
export function Plot({ answer }) {
  const [axes, setAxes] = useState(guessAxes(answer.columns));
  const [kind, setKind] = useState('line');
  const [zoom, setZoom] = useState(/** @type {[number, number] | null} */ (null));
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  useEffect(() => {
    setAxes(guessAxes(answer.columns));
    setZoom(null);
  }, [answer]);
  if (!axes || answer.rows.length === 0)
    return html`<${Empty} title="There is nothing to draw."><p>A plot needs a column of numbers and another column for the horizontal axis.</p><//>`;
  const drawn = within(seriesOf(answer, axes), zoom);

  const colours = coloursOf(drawn.series);

  /** Saves the plot as it looks. */
  async function save() {
    const svg = box.current?.querySelector('svg');
    if (!svg) return;
    const ground = getComputedStyle(/** @type {Element} */ (box.current)).backgroundColor;
    await pictureOf(svg, ground).then(
      (picture) => download(picture, 'plot.png'),
      (error) => toast(`The picture was not made: ${error.message}`),
    );
  }

  const pick = (/** @type {'x' | 'y' | 'series'} */ name, /** @type {string} */ label) => html`<label>${label} <select aria-label=${label} value=${axes[name]}
    onChange=${(/** @type {Event} */ e) => setAxes({ ...axes, [name]: Number(/** @type {HTMLSelectElement} */ (e.currentTarget).value) })}>
    ${name === 'series' && html`<option value="-1">none</option>`}${answer.columns.map((c, i) => html`<option value=${i}>${c.name}</option>`)}</select></label>`;
  return html`<div class="plot" data-ui="plot" ref=${box}><div class="subhead"><span class="orders" role="group" aria-label="Kind">${kinds.map(
    (k) => html`<button class="text" aria-pressed=${k === kind} onClick=${() => setKind(k)}>${k}</button>`,
  )}</span><span class="grow"></span>${zoom && html`<button class="text go" data-ui="whole-plot" onClick=${() => setZoom(null)}>Whole range</button>`}
    ${pick('x', 'X')}${pick('y', 'Y')}${pick('series', 'Series')}<button class="text" data-ui="plot-png" onClick=${save}>PNG</button></div>
    <${Drawing} drawn=${kind === 'stacked' ? { ...drawn, series: stacked(drawn.series) } : drawn} kind=${kind} colours=${colours}
      onZoom=${(/** @type {[number, number]} */ range) => setZoom(range)} />
    <p class="legend">${drawn.series.map((s, i) => html`<span><i style=${{ background: colours[i] }}></i>${s.name}</span>`)}
      ${drawn.left > 0 && html`<span class="quiet">${drawn.left} more are not drawn</span>`}</p></div>`;
}

/**
 * Leaves out the points beside a part of the horizontal axis.
 * @param {ReturnType<typeof seriesOf>} drawn
 * @param {[number, number] | null} zoom
 */
function within(drawn, zoom) {
  if (!zoom) return drawn;
  const series = drawn.series.map(({ name, points }) => ({ name, points: points.filter(([x]) => x >= zoom[0] && x <= zoom[1]) }));
  return { ...drawn, series: series.filter(({ points }) => points.length > 0) };
}

/** @param {{drawn: ReturnType<typeof seriesOf>, kind: string, colours: string[], onZoom: (range: [number, number]) => void}} props */
function Drawing({ drawn, kind, colours, onZoom }) {
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [width, setWidth] = useState(900);
  useEffect(() => {
    const element = /** @type {HTMLDivElement} */ (box.current);
    const observer = new ResizeObserver(() => setWidth(Math.max(240, element.clientWidth - 24)));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const { series, labels, time } = drawn;
  const points = series.flatMap((s) => s.points);
  const [minX, maxX] = [Math.min(...points.map((p) => p[0])), Math.max(...points.map((p) => p[0]))];
  const [low, high] = [Math.min(0, ...points.map((p) => p[1])), Math.max(0, ...points.map((p) => p[1]))];
  const bars = kind === 'bars' || kind === 'stacked';
  const places = new Set(points.map((p) => p[0])).size;
  const slot = bars || labels ? (width - left - 12) / Math.max(1, places) : 0;
  const toX = (/** @type {number} */ x) =>
    left + slot / 2 + (maxX > minX ? ((x - minX) / (maxX - minX)) * (width - left - 12 - slot) : (width - left - slot) / 2);
  const toValue = (/** @type {number} */ at) => minX + ((at - left - slot / 2) / (width - left - 12 - slot || 1)) * (maxX - minX);
  const [brush, setBrush] = useState(/** @type {[number, number] | null} */ (null));
  const placeOf = (/** @type {PointerEvent} */ e) =>
    Math.max(left, Math.min(width - 12, e.clientX - /** @type {Element} */ (e.currentTarget).getBoundingClientRect().left));
  const release = () => {
    if (brush && Math.abs(brush[1] - brush[0]) > 4 && maxX > minX) onZoom([toValue(Math.min(...brush)), toValue(Math.max(...brush))]);
    setBrush(null);
  };
  const toY = (/** @type {number} */ y) => 8 + (1 - (y - low) / (high - low || 1)) * (height - bottom - 8);
  const ticksX = labels
    ? labels.map((text, i) => ({ at: i, text })).filter((_, i) => i % Math.ceil(labels.length / Math.max(1, width / 110)) === 0)
    : time
      ? axisTicks(minX, Math.max(maxX, minX + 1000), width, () => 0).map(({ at }) => ({ at, text: timeText(at) }))
      : roundTicks(minX, maxX, width / 110).map((at) => ({ at, text: formatCount(at) }));
  return html`<div ref=${box} class="drawing"><svg width=${width} height=${height} role="img" onPointerDown=${(/** @type {PointerEvent} */ e) => {
    /** @type {Element} */ (e.currentTarget).setPointerCapture(e.pointerId);
    setBrush([placeOf(e), placeOf(e)]);
  }} onPointerMove=${(/** @type {PointerEvent} */ e) => brush && setBrush([brush[0], placeOf(e)])} onPointerUp=${release}
    aria-label=${`${series.length} series, ${points.length} points, from ${formatCount(low)} to ${formatCount(high)}`}>
    ${roundTicks(low, high, 6).map(
      (t) => html`<line class="rule" x1=${left} x2=${width} y1=${Math.round(toY(t)) + 0.5}
      y2=${Math.round(toY(t)) + 0.5} /><text x=${left - 8} y=${toY(t) + 4} text-anchor="end">${formatCount(t)}</text>`,
    )}
    ${ticksX.map((t) => html`<text x=${toX(t.at)} y=${height - 6} text-anchor="middle">${t.text.slice(0, 16)}</text>`)}
    ${(bars ? [...series].reverse() : series).map((s, i) => {
      const place = bars ? series.length - 1 - i : i;
      const colour = colours[place];
      if (kind === 'points') return s.points.map((p) => html`<circle cx=${toX(p[0])} cy=${toY(p[1])} r="2.5" style=${{ fill: colour, stroke: 'none' }} />`);
      if (bars)
        return html`<${Bars} points=${s.points} colour=${colour} toX=${toX} toY=${toY} slot=${slot} part=${kind === 'bars' ? place : 0}
          parts=${kind === 'bars' ? series.length : 1} />`;
      if (s.points.length === 1) return html`<circle cx=${toX(s.points[0][0])} cy=${toY(s.points[0][1])} r="2.5" style=${{ fill: colour, stroke: 'none' }} />`;
      return html`<polyline points=${s.points.map((p) => `${toX(p[0]).toFixed(1)},${toY(p[1]).toFixed(1)}`).join(' ')} style=${{ stroke: colour }} />`;
    })}
    ${brush && html`<rect class="zoomed" x=${Math.min(...brush)} y="8" width=${Math.abs(brush[1] - brush[0])} height=${height - bottom - 8} />`}
  </svg></div>`;
}

/** The colours of series: those of levels, and for other names some that no level has. @param {{name: string}[]} series */
function coloursOf(series) {
  const names = series.map((s) => s.name.toLowerCase());
  const others = names.filter((name) => !levels.includes(name));
  const beside = (/** @type {number} */ place) => (others.length < names.length && place > 2 ? place + 1 : place); // the fourth is that of info
  return names.map((name) => (levels.includes(name) ? colourOf(name, 0) : colourOf(name, beside(others.indexOf(name)), false)));
}

/** @param {{points: [number, number][], colour: string, toX: (x: number) => number, toY: (y: number) => number, slot: number, part: number, parts: number}} props */
function Bars({ points, colour, toX, toY, slot, part, parts }) {
  const gap = slot > 6 ? 2 : 0;
  const wide = Math.max(1, (slot - gap) / parts);
  return points.map(([x, y]) => {
    const [top, end] = [Math.min(toY(y), toY(0)), Math.max(toY(y), toY(0))];
    return html`<rect x=${toX(x) - (slot - gap) / 2 + part * wide} y=${top} width=${wide} height=${Math.max(1, end - top)} style=${{ fill: colour, stroke: 'none' }} />`;
  });
}

/** @param {number} at */
function timeText(at) {
  const { date, time } = partsOfTime(at, 'UTC');
  return time === '00:00:00' ? date.slice(5) : time.endsWith(':00') ? time.slice(0, 5) : time;
}
