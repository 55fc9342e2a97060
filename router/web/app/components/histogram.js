// Rows by time and level. Dragging selects; what is outside is dimmed.

import { html, useEffect, useRef, useState } from '../../vendor/core.js';
import { formatCount } from '../lib/format.js';
import { axisTicks, stackBars } from '../lib/geometry.js';
import { levels } from '../lib/levels.js';
import { offsetOf, partsOfTime } from '../lib/time.js';

/** @typedef {import('../lib/geometry.js').Hits} Hits */

// Colours of values that are not levels. None of them suggests an error, or looks like that of the other values.
const palette = ['accent', 'number', 'olive', 'bar-info', 'indigo', 'ink', 'brown', 'mint'];

/**
 * The colour of a series: that of its level, else one by its place.
 * @param {unknown} value
 * @param {number} place
 * @param {boolean | 'status'} [byLevel] status: levels are those of HTTP, where others are requests that went well
 * @param {boolean} [rest] the series has the values without a series of their own
 */
export function colourOf(value, place, byLevel = true, rest = false) {
  if (byLevel === 'status' && value === 'other') return 'var(--bar-info)';
  if (value === null) return 'var(--line-2)';
  if (rest || (byLevel && value === 'other')) return 'var(--bar-none)';
  return byLevel && levels.includes(String(value)) ? `var(--bar-${value})` : `var(--${palette[place % palette.length]})`;
}

/**
 * @param {object} props
 * @param {Hits} props.hits
 * @param {string[]} props.hidden values that are not drawn
 * @param {string} props.zone
 * @param {number} props.height
 * @param {boolean | 'status'} props.byLevel
 * @param {(from: string, to: string) => void} props.onZoom
 * @param {(from: string, to: string) => void} [props.onCompare]
 */
export function Histogram({ hits, hidden, zone, height, byLevel, onZoom, onCompare }) {
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [width, setWidth] = useState(1000);
  const [brush, setBrush] = useState(/** @type {[number, number] | null} */ (null));
  const anchor = useRef(-1);

  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useEffect(() => setBrush(null), [hits]);

  const shown = hits.series.map((s, place) => ({ ...s, place })).filter((s) => !hidden.includes(String(s.value)));
  const count = hits.times.length;
  const bars =
    shown.length > 0
      ? stackBars(
          shown.map((s) => s.counts),
          height,
        )
      : hits.times.map(() => []);
  const times = hits.times.map((t) => new Date(t).getTime());
  const step = count > 1 ? times[1] - times[0] : Number(hits.step) || 1000;
  const end = (times[count - 1] ?? 0) + step;
  const selected = brush && /** @type {[number, number]} */ ([Math.min(...brush), Math.max(...brush)]);

  /** @param {PointerEvent} event */
  function bucketAt(event) {
    const at = /** @type {HTMLDivElement} */ (box.current).getBoundingClientRect();
    return Math.max(0, Math.min(count - 1, Math.floor(((event.clientX - at.left) / at.width) * count)));
  }

  /** @param {(from: string, to: string) => void} act */
  function withSelection(act) {
    if (selected) act(new Date(times[selected[0]]).toISOString(), new Date(times[selected[1]] + step).toISOString());
  }
  const zoom = () => withSelection(onZoom);

  /** @param {KeyboardEvent} event */
  function key(event) {
    const move = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (move) {
      event.preventDefault();
      const from = brush ?? [0, 0];
      const to = Math.max(0, Math.min(count - 1, from[1] + move));
      setBrush(event.shiftKey ? [from[0], to] : [to, to]);
    } else if (event.key === 'Enter') zoom();
    else if (event.key === 'Escape' && brush) {
      event.stopPropagation();
      setBrush(null);
    }
  }

  const lookOf = (/** @type {number} */ b) =>
    [
      selected && (b < selected[0] || b > selected[1]) && 'out',
      ((b === 0 && hits.cut?.first) || (b === count - 1 && hits.cut?.last)) && 'cut', // the range has only a part of its time
    ]
      .filter(Boolean)
      .join(' ');
  const describe = (/** @type {number} */ b) =>
    `${partsOfTime(times[b], zone).time}: ${shown.map((s) => `${s.value ?? 'none'} ${formatCount(s.counts[b])}`).join(', ')}`;

  return html`<div class="hist" data-ui="histogram" ref=${box} tabindex="0" role="slider" aria-label="Rows by time; arrows move, Shift extends, Enter zooms"
      aria-valuemin="0" aria-valuemax=${Math.max(0, count - 1)} aria-valuenow=${brush?.[1] ?? 0} aria-valuetext=${count > 0 ? describe(brush?.[1] ?? 0) : 'no rows'}
      onKeyDown=${key}
      onPointerDown=${(/** @type {PointerEvent} */ e) => {
        if (e.button !== 0 || /** @type {Element} */ (e.target).closest('.brush-acts')) return;
        anchor.current = bucketAt(e);
        setBrush(null);
        box.current?.setPointerCapture(e.pointerId);
      }}
      onPointerMove=${(/** @type {PointerEvent} */ e) => anchor.current >= 0 && bucketAt(e) !== anchor.current && setBrush([anchor.current, bucketAt(e)])}
      onPointerUp=${() => (anchor.current = -1)}>
    <div class="bars">${bars.map(
      (ends, b) => html`<u key=${b} data-ui="bar" class=${lookOf(b)}
        title=${describe(b)} style=${{ background: gradient(ends, shown, byLevel) }}></u>`,
    )}</div>
    ${
      selected &&
      html`<${Brush} from=${selected[0]} to=${selected[1]} count=${count}
      text=${`${partsOfTime(times[selected[0]], zone).time} – ${partsOfTime(times[selected[1]] + step, zone).time}`} onZoom=${zoom}
      onCompare=${onCompare && (() => withSelection(onCompare))} />`
    }
  </div>
  <div class="axis" aria-hidden="true">${
    count > 0 &&
    axisTicks(times[0], end, width, (at) => offsetOf(at, zone)).map(
      (tick) => html`<span style=${{ left: `${(tick.share * 100).toFixed(2)}%` }}>${tickText(tick.at, end - times[0], zone)}</span>`,
    )
  }</div>
  <table class="hidden"><caption>Rows by time</caption><tbody>${hits.times
    .filter((_, b) => shown.some((s) => s.counts[b] > 0))
    .slice(0, 400)
    .map((t, i) => html`<tr><th scope="row">${partsOfTime(t, zone).time}</th><td>${describe(hits.times.indexOf(t, i))}</td></tr>`)}</tbody></table>`;
}

/** @param {{from: number, to: number, count: number, text: string, onZoom: () => void, onCompare?: () => void}} props */
function Brush({ from, to, count, text, onZoom, onCompare }) {
  const left = (from / count) * 100;
  const right = ((to + 1) / count) * 100;
  return html`<div class=${`brush ${right > 60 ? 'at-left' : ''}`} style=${{ left: `${left}%`, width: `${right - left}%` }}>
    <div class="brush-acts"><span class="mono">${text}</span><button class="text go" data-ui="brush-zoom" onClick=${onZoom}>Zoom in</button>
      ${onCompare && html`<button class="text go" data-ui="brush-compare" onClick=${onCompare}>What is different here?</button>`}</div>
  </div>`;
}

/**
 * @param {number[]} ends
 * @param {{value: unknown, other?: boolean, place: number}[]} shown
 * @param {boolean | 'status'} byLevel
 */
function gradient(ends, shown, byLevel) {
  const stops = ends.map((end, i) => `${colourOf(shown[i].value, shown[i].place, byLevel, shown[i].other)} 0 ${end}px`);
  return `linear-gradient(to top, ${[...stops, 'transparent 0'].join(', ')})`;
}

/**
 * @param {number} at
 * @param {number} span
 * @param {string} zone
 */
function tickText(at, span, zone) {
  const { date, time } = partsOfTime(at, zone);
  if (time === '00:00:00') return date.slice(5);
  if (span > 3 * 86400e3) return `${date.slice(5)} ${time.slice(0, 5)}`;
  return time.endsWith(':00') ? time.slice(0, 5) : time;
}
