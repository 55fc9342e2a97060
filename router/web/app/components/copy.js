// Copies text. On plain HTTP from another machine browsers have no clipboard API.

import { toast } from '../stores/toast.js';

/** Answers whether the text was copied. @param {string} text */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    area.className = 'hidden';
    const focused = /** @type {HTMLElement | null} */ (document.activeElement);
    (document.querySelector('dialog[open]') ?? document.body).append(area); // what is below a dialog cannot be selected
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    focused?.focus();
    if (!done) {
      toast('The browser does not let the page copy.');
      return false;
    }
  }
  toast('Copied.');
  return true;
}
