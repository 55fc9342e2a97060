// A short message at the foot of the page.

import { signal } from '../../vendor/core.js';

export const message = signal('');
let timer = /** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined);

/** @param {string} text */
export function toast(text) {
  clearTimeout(timer);
  message.value = text;
  timer = setTimeout(() => (message.value = ''), 4000);
}
