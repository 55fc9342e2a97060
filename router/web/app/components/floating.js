// Places the panel of a menu by the window, so that a table which scrolls does not cut it off.

const margin = 12; // to the edge of the window

/**
 * Keeps the panel of a menu below its button, or above it if there is no room. Returns what ends this.
 * @param {HTMLElement} menu
 */
export function floatPanel(menu) {
  const place = () => placeBeside(/** @type {HTMLElement} */ (menu.querySelector('.panel')), menu.getBoundingClientRect());
  place();
  addEventListener('scroll', place, true);
  addEventListener('resize', place);
  return () => {
    removeEventListener('scroll', place, true);
    removeEventListener('resize', place);
  };
}

/**
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
