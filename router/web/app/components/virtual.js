// A list of which only the rows in sight are in the document. Rows have one height, but for one that may be higher.

import { html, useEffect, useLayoutEffect, useRef, useState } from '../../vendor/core.js';
import { topOf, visibleRows } from '../lib/geometry.js';

/**
 * @param {object} props
 * @param {number} props.count
 * @param {number} props.height of a row
 * @param {number} [props.dropped] rows that are gone from the begin: what is seen does not move by that
 * @param {string} props.label
 * @param {(index: number) => unknown} props.row
 * @param {(from: number, to: number) => void} [props.onSee]
 * @param {number} [props.focus] the row that must be in sight; -1: none
 * @param {boolean} [props.follow] stay at the end
 * @param {(atEnd: boolean) => void} [props.onEnd] says whether the end is in sight
 * @param {import('../lib/geometry.js').Tall | null} [props.tall] a row that is higher than the others
 * @param {string} [props.resetKey] a new list begins at its top
 */
export function VirtualList({ count, height, dropped = 0, label, row, onSee, focus = -1, follow, onEnd, resetKey, tall = null }) {
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [view, setView] = useState({ top: 0, height: 600 });
  const before = useRef({ dropped, resetKey });

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const measure = () => setView({ top: element.scrollTop, height: element.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    if (before.current.resetKey !== resetKey) element.scrollTop = 0;
    else if (!follow && dropped > before.current.dropped) {
      element.scrollTop -= (dropped - before.current.dropped) * height;
    }
    before.current = { dropped, resetKey };
    if (follow) element.scrollTop = topOf(count, height, tall);
  }, [count, dropped, height, follow, resetKey]);

  useLayoutEffect(() => {
    const element = box.current;
    if (!element || focus < 0) return;
    const top = topOf(focus, height, tall);
    const bottom = Math.min(topOf(focus + 1, height, tall), top + element.clientHeight); // of a row that is too high, its begin
    if (top < element.scrollTop) element.scrollTop = top;
    else if (bottom > element.scrollTop + element.clientHeight) {
      element.scrollTop = bottom - element.clientHeight;
    }
  }, [focus, height, tall?.index, tall?.more]);

  const { from, to } = visibleRows(view.top, view.height, height, count, 8, tall);
  useEffect(() => {
    if (count > 0) onSee?.(from, to);
  }, [from, to, count]);

  /** @param {Event} event */
  function scrolled(event) {
    const element = /** @type {HTMLDivElement} */ (event.currentTarget);
    setView({ top: element.scrollTop, height: element.clientHeight });
    onEnd?.(element.scrollTop + element.clientHeight > element.scrollHeight - height);
  }

  const indexes = Array.from({ length: to - from }, (_, i) => from + i);
  return html`<div class="scroller" ref=${box} onScroll=${scrolled} data-ui="rows" role="grid" tabindex="0"
    aria-label=${label} aria-rowcount=${count}>
    <div class="spread" role="presentation" style=${{ height: `${topOf(count, height, tall)}px` }}>
      <div class="block" role="rowgroup" style=${{ transform: `translateY(${topOf(from, height, tall)}px)` }}>${indexes.map(row)}</div>
    </div>
  </div>`;
}
