// Places the panel of a menu by the window, so that nothing which scrolls around its button cuts it off.

const margin = 12; // to the edge of the window
const gap = 4; // to the button

/**
 * Keeps the panel of a menu below its button, or above it if there is more room. Returns what ends this.
 * @param {HTMLElement} menu
 */
export function floatPanel(menu) {
  const panel = /** @type {HTMLElement} */ (menu.querySelector('.panel'));
  const atRight = getComputedStyle(panel).right === '0px';
  const place = () => placeBeside(panel, menu.getBoundingClientRect(), atRight);
  const observer = new ResizeObserver(() => requestAnimationFrame(place)); // what the panel shows may come later
  place();
  observer.observe(panel);
  addEventListener('scroll', place, true);
  addEventListener('resize', place);
  return () => {
    observer.disconnect();
    removeEventListener('scroll', place, true);
    removeEventListener('resize', place);
  };
}

/**
 * @param {HTMLElement} panel
 * @param {DOMRect} button
 * @param {boolean} atRight the right edges are in line, else the left ones
 */
function placeBeside(panel, button, atRight) {
  Object.assign(panel.style, { position: 'fixed', inset: 'auto', maxHeight: '' });
  const { width, height } = panel.getBoundingClientRect();
  const { clientWidth, clientHeight } = document.documentElement;
  const [above, below] = [button.top, clientHeight - button.bottom].map((room) => room - gap - margin);
  const up = height > below && above > below;
  const high = Math.min(height, up ? above : below);
  const left = Math.max(margin, Math.min(atRight ? button.right - width : button.left, clientWidth - width - margin));
  Object.assign(panel.style, {
    top: `${up ? button.top - gap - high : button.bottom + gap}px`,
    left: `${left}px`,
    maxHeight: high < height ? `${high}px` : '',
  });
}
