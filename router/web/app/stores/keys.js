// The keys of a page: single keys act only outside of inputs, and can be switched off.

import { signal } from '../../vendor/core.js';

/** @typedef {Record<string, [string, () => unknown]>} Bindings from a key to what it does, and the action */
/** @typedef {ReturnType<typeof createKeys>} Keys */

/**
 * @param {Pick<Window, 'addEventListener'>} browser
 * @param {{value: string}} single on or off
 */
export function createKeys(browser, single) {
  const layers = signal(/** @type {Bindings[]} */ ([]));

  let begun = { name: '', at: 0 }; // the first of two keys, as G E

  browser.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.isComposing) return;
    const name = nameOf(event);
    if (name === 'Escape' && isInDialog(event.target)) return; // the browser closes the dialog
    const alone = !name.startsWith('ctrl+') && event.key !== 'Escape';
    if (alone && (single.value === 'off' || inInput(event.target))) return;
    if ((name === 'Enter' || name === ' ') && isPressed(event.target)) return; // the key clicks it
    const both = event.timeStamp - begun.at < 1000 ? `${begun.name} ${name}` : '';
    begun = alone ? { name, at: event.timeStamp } : { name: '', at: 0 };
    const found = actionOf(both) ?? actionOf(name);
    if (!found) return;
    event.preventDefault();
    begun.name = '';
    found();
  });

  /** @param {string} name */
  function actionOf(name) {
    const layer = [...layers.value].reverse().find((bindings) => Object.hasOwn(bindings, name));
    return layer?.[name][1];
  }

  return {
    layers,
    /**
     * Adds keys; what it returns takes them away.
     * @param {Bindings} bindings
     */
    bind(bindings) {
      layers.value = [...layers.value, bindings];
      return () => {
        layers.value = layers.value.filter((layer) => layer !== bindings);
      };
    },
  };
}

/** @param {KeyboardEvent} event */
function nameOf(event) {
  if (event.altKey) return 'alt';
  if (event.ctrlKey || event.metaKey) return `ctrl+${event.key.length === 1 ? event.key.toLowerCase() : event.key}`;
  if (event.key === 'Enter' && event.shiftKey) return 'shift+Enter';
  return event.key; // capitals are keys of their own: Shift J
}

/** @param {EventTarget | null} target */
function inInput(target) {
  const input = 'input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable], [role=slider], .panel';
  return target instanceof Element && (target.closest(input) !== null || isInDialog(target));
}

/** Reports whether Enter and space act on what has the focus. @param {EventTarget | null} target */
function isPressed(target) {
  return target instanceof Element && target.closest('a[href], button, input, summary') !== null;
}

/** Reports whether a dialog is over the page, which has all keys. @param {EventTarget | null} target */
function isInDialog(target) {
  return target instanceof Element && target.ownerDocument.querySelector('dialog[open]') !== null;
}
