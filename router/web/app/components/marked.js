// A text of a log as it is shown: with the words marked that the search looks for, and in the colours that it has for
// a terminal.

import { html } from '../../vendor/core.js';
import { splitColours } from '../lib/ansi.js';
import { splitMatches, visible, visibleLines } from '../lib/format.js';

/** @param {{text: string, marks: RegExp | null, lines?: boolean}} props lines: where there is room for them, they stay lines */
export function Marked({ text, marks, lines }) {
  const shown = lines ? visibleLines : visible;
  return splitColours(text).map(({ text: piece, look }) => {
    const parts = splitMatches(piece, marks).map((part) => (part.hit ? html`<mark>${shown(part.text)}</mark>` : shown(part.text)));
    return look ? html`<span class=${look}>${parts}</span>` : parts;
  });
}
