// A button that opens a panel below it. Escape and a click elsewhere close it; the focus returns to the button.

import { html, useEffect, useLayoutEffect, useRef, useState } from '../../vendor/core.js';
import { floatPanel } from './floating.js';

/**
 * @param {object} props
 * @param {unknown} props.button what stands on the button
 * @param {string} props.label for screen readers
 * @param {string} [props.class]
 * @param {string} [props.ui]
 * @param {string} [props.panelClass]
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
    if (open && box.current) return floatPanel(box.current);
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
