// The completions that an editor offers after the typed text.

/** @typedef {{insert: string, text: string, note: string, help: string}} Choice */
/** @typedef {{from: number, to: number, list: Choice[]}} Completion what takes the place of a part of the text */

const most = 12;

/**
 * Returns the choices whose names contain the typed text. Names that start with it come first.
 * @param {Choice[]} list
 * @param {string} typed
 * @param {number} caret
 * @returns {Completion | null}
 */
export function matching(list, typed, caret) {
  const wanted = typed.toLowerCase();
  const names = new Set();
  const found = list
    .filter(({ text }) => text.toLowerCase().includes(wanted) && !names.has(text) && names.add(text))
    .sort((a, b) => Number(b.text.toLowerCase().startsWith(wanted)) - Number(a.text.toLowerCase().startsWith(wanted)));
  const done = found.length === 0 || (found.length === 1 && found[0].text === typed);
  return done ? null : { from: caret - typed.length, to: caret, list: found.slice(0, most) };
}
