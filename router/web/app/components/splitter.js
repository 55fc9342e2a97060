// The edge between two panes, which is dragged, or moved by the arrow keys.

import { html, useRef } from '../../vendor/core.js';

const step = 16;
const closes = 60; // pixels below the least width at which a pane closes

/**
 * @param {object} props
 * @param {'left' | 'right'} props.side of the screen at which the pane is
 * @param {number} props.width of the pane
 * @param {number} props.least
 * @param {number} props.most
 * @param {string} props.label
 * @param {(width: number) => void} props.onWidth
 * @param {() => void} [props.onClose] the pane was made narrower than it can be
 */
export function Splitter({ side, width, least, most, label, onWidth, onClose }) {
  const begin = useRef(/** @type {{x: number, width: number} | null} */ (null));
  const towards = side === 'left' ? 1 : -1;

  /** @param {number} wanted */
  function take(wanted) {
    if (onClose && wanted < least - closes) {
      begin.current = null;
      onClose();
    } else onWidth(Math.round(Math.max(least, Math.min(most, wanted))));
  }

  /** @param {KeyboardEvent} event */
  function key(event) {
    const by = event.key === 'ArrowRight' ? step : event.key === 'ArrowLeft' ? -step : 0;
    if (by === 0) return;
    event.preventDefault();
    take(width + by * towards);
  }

  return html`<div class=${`splitter ${side}`} role="separator" tabindex="0" aria-orientation="vertical" aria-label=${label} aria-valuenow=${width}
    aria-valuemin=${least} aria-valuemax=${most}
    data-ui=${`splitter-${side}`} onKeyDown=${key}
    onPointerDown=${(/** @type {PointerEvent} */ e) => {
      begin.current = { x: e.clientX, width };
      /** @type {HTMLElement} */ (e.currentTarget).setPointerCapture(e.pointerId);
    }}
    onPointerMove=${(/** @type {PointerEvent} */ e) => begin.current && take(begin.current.width + (e.clientX - begin.current.x) * towards)}
    onPointerUp=${() => (begin.current = null)}></div>`;
}
