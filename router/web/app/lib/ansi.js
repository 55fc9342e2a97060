// The colours that programs write for terminals: ESC [ 31 m and the like.

/** @typedef {{text: string, look: string}} Piece look: names of classes */

// eslint-disable-next-line no-control-regex
const sequence = /\u001b\[([\d;:]*)([A-Za-z])/g;
const colours = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];

/**
 * Splits a text at its colours, and removes the colour sequences. Other sequences, such as cursor movements, stay.
 * @param {string} text
 * @returns {Piece[]}
 */
export function splitColours(text) {
  if (!text.includes('\u001b[')) return [{ text, look: '' }];
  const pieces = [];
  let from = 0;
  let now = { colour: '', bold: false };
  for (const match of text.matchAll(sequence)) {
    if (match[2] !== 'm') continue;
    if (match.index > from) pieces.push({ text: text.slice(from, match.index), look: lookOf(now) });
    from = match.index + match[0].length;
    now = change(now, match[1]);
  }
  if (from < text.length) pieces.push({ text: text.slice(from), look: lookOf(now) });
  return pieces;
}

/**
 * @param {{colour: string, bold: boolean}} now
 * @param {string} codes
 */
function change(now, codes) {
  let { colour, bold } = now;
  for (const code of codes.split(/[;:]/).map(Number)) {
    if (code === 0) [colour, bold] = ['', false];
    else if (code === 1) bold = true;
    else if (code === 22) bold = false;
    else if (code === 39) colour = '';
    else if (code >= 30 && code <= 37) colour = colours[code - 30];
    else if (code >= 90 && code <= 97) colour = colours[code - 90];
    else if (code === 38 || code === 48) break; // one of 256 colours, or of all, which would not be read on every ground
  }
  return { colour, bold };
}

/** @param {{colour: string, bold: boolean}} of */
function lookOf({ colour, bold }) {
  return [colour && `ansi-${colour}`, bold && 'ansi-bold'].filter(Boolean).join(' ');
}
