// The completion list of an editor. The text keeps the focus: arrows choose, Tab or Enter takes, Escape closes.

import { html, useEffect, useRef, useState } from '../../vendor/core.js';

/** @typedef {import('../lib/choices.js').Completion} Completion */
/** @typedef {(text: string, caret: number) => Completion | null} Complete */
/** @typedef {{current: HTMLTextAreaElement | null}} Area */

const lineHeight = 21;
const mostHeight = 330; // the height of the list with its help

/**
 * @param {Area} area
 * @param {Complete | undefined} complete
 */
export function useCompletion(area, complete) {
  const [shown, setShown] = useState(/** @type {(Completion & {at: number}) | null} */ (null));
  const asked = useRef(false); // set by Ctrl Space: also offers choices where nothing was typed
  const typing = useRef(false); // names that arrive late are offered too
  const close = () => {
    setShown(null);
    asked.current = typing.current = false;
  };

  /** Offers completions of the typed text. */
  function offer() {
    const element = area.current;
    if (!complete || !element || element.readOnly || element.selectionStart !== element.selectionEnd) return close();
    typing.current = true;
    const caret = element.selectionStart;
    const found = complete(element.value, caret);
    const typed = found && (found.from < found.to || element.value[caret - 1] === '.');
    return setShown(found && (typed || asked.current) ? { ...found, at: -1 } : null);
  }

  useEffect(() => {
    if (typing.current) offer();
  }, [complete]);

  /** @param {number} at */
  function take(at) {
    const element = area.current;
    const choice = shown?.list[at];
    if (!element || !shown || !choice) return;
    close();
    element.focus();
    element.setSelectionRange(shown.from, shown.to);
    document.execCommand('insertText', false, choice.insert); // which can be undone
  }

  /** Handles the keys of the list. @param {KeyboardEvent} event */
  function key(event) {
    if (event.key === ' ' && event.ctrlKey && complete) {
      asked.current = true;
      offer();
      return true;
    }
    if (!shown) {
      if (event.key === 'Escape') close();
      return false;
    }
    const move = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    const n = shown.list.length;
    if (move !== 0) setShown({ ...shown, at: shown.at < 0 ? (move > 0 ? 0 : n - 1) : (shown.at + move + n) % n });
    else if (event.key === 'Tab' && !event.shiftKey) take(Math.max(0, shown.at));
    else if (event.key === 'Enter' && shown.at >= 0 && !event.ctrlKey) take(shown.at);
    else if (event.key === 'Escape') close();
    else {
      if (['ArrowLeft', 'ArrowRight', 'Home', 'End', 'Enter'].includes(event.key)) close();
      return false;
    }
    return true;
  }

  return { shown, offer, key, take, close };
}

/** @param {{area: Area, completion: ReturnType<typeof useCompletion>}} props */
export function Completions({ area, completion }) {
  const { shown, take } = completion;
  const list = useRef(/** @type {HTMLUListElement | null} */ (null));
  useEffect(() => list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' }), [shown?.at]);
  const element = area.current;
  if (!shown || !element) return null;
  const help = shown.list[Math.max(0, shown.at)].help;
  const [signature, ...rest] = help.includes('\n') ? help.split('\n') : ['', help];
  return html`<div class="completions" style=${placeBelow(element, shown.from)} data-ui="completions">
    <ul class="choices" id="completions" role="listbox" aria-label="Completions" ref=${list}>${shown.list.map(
      (choice, i) =>
        html`<li id=${`completion-${i}`} role="option" aria-selected=${i === shown.at} aria-describedby=${i === shown.at ? 'completion-help' : undefined}
          onMouseDown=${(/** @type {MouseEvent} */ e) => (e.preventDefault(), take(i))}><span>${choice.text}</span><small>${choice.note}</small></li>`,
    )}</ul>
    <div class="completion-help" id="completion-help">${signature && html`<code>${signature}</code>`}${rest.map((text) => html`<p>${text}</p>`)}
      <small><kbd>↓</kbd> choose, <kbd>Tab</kbd> take, <kbd>Esc</kbd> close</small></div>
  </div>`;
}

/**
 * Where the list stands: below the line of the text, or above it if there is no room.
 * @param {HTMLTextAreaElement} element
 * @param {number} at
 */
function placeBelow(element, at) {
  const before = element.value.slice(0, at).split('\n');
  const box = element.getBoundingClientRect();
  const top = box.top + before.length * lineHeight;
  const left = `clamp(8px, calc(${box.left + 2}px + ${before[before.length - 1].length}ch), calc(100vw - 348px))`;
  const below = top + mostHeight < document.documentElement.clientHeight || top < mostHeight;
  return below ? { left, top: `${top}px` } : { left, bottom: `${document.documentElement.clientHeight - top + lineHeight}px` };
}
