// Marks invisible characters, and characters that reverse text, in the texts that users edit.

import { html } from '../../vendor/core.js';
import { splitHidden } from '../lib/format.js';

/**
 * Draws a text below its textarea. A mark takes no room, so that what follows stands where the textarea has it.
 * @param {string} text
 */
export function drawHidden(text) {
  return splitHidden(text).map((part) => (part.hidden ? html`<u class="unseen">${part.text}</u>` : part.text));
}

/**
 * Lists the invisible characters of a text, and offers to remove them.
 * @param {{text: string, onText: (text: string) => void}} props
 */
export function HiddenNotice({ text, onText }) {
  const parts = splitHidden(text);
  const marked = parts.filter((part) => part.hidden).length;
  if (marked === 0) return null;
  const without = () => onText(parts.flatMap((part) => (part.hidden ? [] : [part.text])).join(''));
  const reorders = parts.some((part) => part.hidden && part.text === '');
  const said = [
    marked === 1 ? 'This text has an invisible character, at the red mark.' : `This text has ${marked} invisible characters, at the red marks.`,
    reorders ? 'Such a character reverses text. Here, the text has the order in which it runs, but the cursor may stand elsewhere in that line.' : '',
  ];
  return html`<div class="banner" role="status" data-ui="unseen"><span>${said.join(' ')}</span>
    <button class="text go" onClick=${without}>${marked === 1 ? 'Remove it' : 'Remove them'}</button></div>`;
}
