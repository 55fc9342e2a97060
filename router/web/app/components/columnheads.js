// The heads of columns: a drag moves one, its right edge makes it wider. By keyboard, Shift and the arrows move it,
// Alt and the arrows make it wider.

import { html, useRef } from '../../vendor/core.js';

const least = 40;
const most = 1200;
const step = 16;

/**
 * @typedef {{id: string, name: string, title: string, width: number, sorted?: 'up' | 'down' | '', number?: boolean}} Column number: its values are at the right
 *
 * @param {object} props
 * @param {Column[]} props.columns
 * @param {(from: number, to: number) => void} [props.onMove]
 * @param {(index: number, width: number) => void} props.onWidth
 * @param {(index: number) => void} [props.onSort]
 */
export function ColumnHeads({ columns, onMove, onWidth, onSort }) {
  const dragged = useRef(-1);

  /**
   * @param {number} index
   * @param {number} width
   */
  const widen = (index, width) => onWidth(index, Math.max(least, Math.min(most, Math.round(width))));

  /**
   * @param {KeyboardEvent} event
   * @param {number} index
   */
  function key(event, index) {
    const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (by === 0 || !(event.shiftKey || event.altKey)) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.altKey) widen(index, columns[index].width + by * step);
    else if (columns[index + by]) onMove?.(index, index + by);
  }

  return columns.map(
    (
      column,
      index,
    ) => html`<span class=${`col ${column.number ? 'r' : ''}`} key=${column.id} style=${{ width: `${column.width}px` }} draggable=${Boolean(onMove)}
      data-ui="column" data-name=${column.id}
      onDragStart=${(/** @type {DragEvent} */ e) => {
        dragged.current = index;
        e.dataTransfer?.setData('text/plain', column.id);
      }}
      onDragOver=${(/** @type {DragEvent} */ e) => dragged.current >= 0 && e.preventDefault()}
      onDragEnd=${() => (dragged.current = -1)}
      onDrop=${(/** @type {DragEvent} */ e) => {
        e.preventDefault();
        if (dragged.current >= 0 && dragged.current !== index) onMove?.(dragged.current, index);
        dragged.current = -1;
      }}>
      <button class="text" title=${column.title} aria-label=${`Column ${column.name}${column.sorted ? `, sorted ${column.sorted}` : ''}`}
        onKeyDown=${(/** @type {KeyboardEvent} */ e) => key(e, index)}
        onClick=${() => onSort?.(index)}>${column.name}${column.sorted && html`<i>${column.sorted === 'down' ? '↓' : '↑'}</i>`}</button>
      <${Grip} width=${column.width} onWidth=${(/** @type {number} */ width) => widen(index, width)} /></span>`,
  );
}

/** The right edge of a head, which is dragged. @param {{width: number, onWidth: (width: number) => void}} props */
function Grip({ width, onWidth }) {
  const begin = useRef(/** @type {{x: number, width: number} | null} */ (null));
  return html`<i class="grip" onMouseDown=${(/** @type {MouseEvent} */ e) => e.preventDefault()}
    onPointerDown=${(/** @type {PointerEvent} */ e) => {
      begin.current = { x: e.clientX, width };
      /** @type {HTMLElement} */ (e.currentTarget).setPointerCapture(e.pointerId);
    }}
    onPointerMove=${(/** @type {PointerEvent} */ e) => begin.current && onWidth(begin.current.width + e.clientX - begin.current.x)}
    onPointerUp=${() => (begin.current = null)}></i>`;
}
