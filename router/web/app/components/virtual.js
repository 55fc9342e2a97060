// A list that only draws the rows in sight. Rows have the same height, or are measured when they are drawn.

import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../../vendor/core.js';
import { createHeights, rowsInSight } from '../lib/heights.js';

/**
 * @param {object} props
 * @param {number} props.count
 * @param {number} props.height of a row
 * @param {boolean} [props.measured] rows may be higher or lower
 * @param {number} [props.dropped] rows that are gone from the begin: what is seen does not move by that
 * @param {string} props.label
 * @param {(index: number) => unknown} props.row
 * @param {(from: number, to: number, top: number) => void} [props.onSee] says which rows are drawn, and the first in sight
 * @param {number} [props.start] the row at the top at first
 * @param {number} [props.focus] the row that must be in sight; -1: none
 * @param {boolean} [props.follow] stay at the end
 * @param {(atEnd: boolean) => void} [props.onEnd] says whether the end is in sight
 * @param {string} [props.resetKey] a new list begins at its top
 */
export function VirtualList({ count, height, measured = false, dropped = 0, label, row, onSee, focus = -1, follow, onEnd, start = 0, resetKey }) {
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const block = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [view, setView] = useState({ top: 0, height: 600, width: 0 });
  const [, redraw] = useState({});
  const before = useRef({ dropped, resetKey });
  // Measured heights are valid for one width and one list.
  const heights = useMemo(() => createHeights(height), [height, measured, measured && view.width, resetKey]);
  const gone = useRef(0); // pixels of rows that were dropped since the last picture
  if (dropped > before.current.dropped) gone.current += heights.drop(dropped - before.current.dropped);
  before.current.dropped = dropped;
  heights.resize(count);

  const look = (/** @type {HTMLDivElement} */ element) => setView({ top: element.scrollTop, height: element.clientHeight, width: element.clientWidth });
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(() => look(element));
    observer.observe(element);
    look(element);
    return () => observer.disconnect();
  }, []);

  const { from, to } = rowsInSight(heights, view, count);

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    if (before.current.resetKey !== resetKey) element.scrollTop = 0;
    else if (!follow) element.scrollTop -= gone.current;
    before.current.resetKey = resetKey;
    gone.current = 0;
  }, [dropped, follow, resetKey]);

  // Measures the drawn rows. The first row in sight stays in place, whatever the heights of the rows above it are.
  useLayoutEffect(() => {
    const element = box.current;
    if (!measured || !element || !block.current) return;
    const anchor = heights.indexAt(element.scrollTop);
    const top = heights.topOf(anchor);
    let changed = false;
    [.../** @type {NodeListOf<HTMLElement>} */ (block.current.childNodes)].forEach((child, i) => {
      changed = heights.set(from + i, child.offsetHeight) || changed;
    });
    if (!changed) return;
    element.scrollTop += heights.topOf(anchor) - top;
    redraw({});
  });

  useLayoutEffect(() => {
    if (follow && box.current) box.current.scrollTop = heights.total();
  });

  useLayoutEffect(() => {
    const element = box.current;
    if (!element || focus < 0) return;
    const top = heights.topOf(focus);
    const bottom = Math.min(heights.topOf(focus + 1), top + element.clientHeight); // of a row that is too high, its begin
    if (top < element.scrollTop) element.scrollTop = top;
    else if (bottom > element.scrollTop + element.clientHeight) {
      element.scrollTop = bottom - element.clientHeight;
    }
  }, [focus, heights]);

  useEffect(() => {
    if (count > 0) onSee?.(from, to, heights.indexAt(view.top));
  }, [from, to, count, resetKey]);

  useLayoutEffect(() => {
    if (box.current && start > 0) box.current.scrollTop = heights.topOf(start);
  }, [start]);

  /** @param {Event} event */
  function scrolled(event) {
    const element = /** @type {HTMLDivElement} */ (event.currentTarget);
    look(element);
    onEnd?.(element.scrollTop + element.clientHeight > element.scrollHeight - height);
  }

  const indexes = Array.from({ length: to - from }, (_, i) => from + i);
  return html`<div class="scroller" ref=${box} onScroll=${scrolled} data-ui="rows" role="grid" tabindex="0"
    aria-label=${label} aria-rowcount=${count}>
    <div class="spread" role="presentation" style=${{ height: `${heights.total()}px` }}>
      <div class="block" ref=${block} role="rowgroup" style=${{ transform: `translateY(${heights.topOf(from)}px)` }}>${indexes.map(row)}</div>
    </div>
  </div>`;
}
