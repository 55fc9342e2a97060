// A button that opens a panel below it. Escape and a click elsewhere close it; the focus returns to the button.

import { html, useEffect, useLayoutEffect, useRef, useState } from '../../vendor/core.js';

/**
 * @param {object} props
 * @param {unknown} props.button what stands on the button
 * @param {string} props.label for screen readers
 * @param {string} [props.class]
 * @param {string} [props.ui]
 * @param {string} [props.panelClass]
 * @param {boolean} [props.floats] the panel is placed by the window, so that a table which scrolls does not cut it off
 * @param {(close: () => void) => unknown} props.children
 */
export function Menu(props) {
  const [open, setOpen] = useState(false);
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const close = () => {
    setOpen(false);
    box.current?.querySelector('button')?.focus();
  };
  useEffect(() => {
    if (!open) return undefined;
    /** @param {Event} event */
    const outside = (event) => {
      if (!box.current?.contains(/** @type {globalThis.Node} */ (event.target))) setOpen(false);
    };
    addEventListener('pointerdown', outside);
    box.current?.querySelector('.panel')?.querySelector('input')?.focus();
    return () => removeEventListener('pointerdown', outside);
  }, [open]);
  useLayoutEffect(() => {
    const panel = box.current?.querySelector('.panel');
    if (!open || !props.floats || !(panel instanceof HTMLElement)) return undefined;
    const place = () => box.current && placeBeside(panel, box.current.getBoundingClientRect());
    place();
    addEventListener('scroll', place, true);
    addEventListener('resize', place);
    return () => {
      removeEventListener('scroll', place, true);
      removeEventListener('resize', place);
    };
  }, [open]);
  return html`<div class=${`menu ${props.class ?? ''}`} ref=${box} onKeyDown=${(/** @type {KeyboardEvent} */ e) => {
    if (e.key !== 'Escape' || !open) return;
    e.stopPropagation();
    close();
  }}>
    <button type="button" class=${props.class} data-ui=${props.ui} aria-haspopup="dialog"
      aria-expanded=${open} onClick=${() => setOpen(!open)}>${props.button}</button>
    ${open && html`<div class=${`panel ${props.panelClass ?? ''}`} role="dialog" aria-label=${props.label}>${props.children(close)}</div>`}
  </div>`;
}

const margin = 12; // to the edge of the window

/**
 * Places a panel below a button, or above it if there is no room.
 * @param {HTMLElement} panel
 * @param {DOMRect} button
 */
function placeBeside(panel, button) {
  panel.style.position = 'fixed'; // it may be wider than in the table
  const { width, height } = panel.getBoundingClientRect();
  const { clientWidth, clientHeight } = document.documentElement;
  const below = button.bottom + 4;
  const top = below + height + margin > clientHeight ? Math.max(margin, button.top - height - 4) : below;
  const left = Math.max(margin, Math.min(button.left, clientWidth - width - margin));
  Object.assign(panel.style, { top: `${top}px`, left: `${left}px`, right: 'auto' });
}
