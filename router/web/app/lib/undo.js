// The history of a text: what was typed, and what was changed by clicks. The history of the browser ends where a script
// sets the text.

/** @typedef {ReturnType<typeof createUndo>} Undo */

const most = 100; // texts
const together = 1000; // milliseconds between keys that are undone together

/** @param {string} first */
export function createUndo(first) {
  let texts = [first];
  let at = 0;
  let typed = -Infinity; // when the last key changed the text

  return {
    /**
     * Notes a text that differs from the last one.
     * @param {string} text
     * @param {number} [now] when a key made it, in milliseconds; without it, the text was set at once
     */
    note(text, now) {
      if (text === texts[at]) return;
      const same = now !== undefined && now - typed < together && at > 0;
      texts = [...texts.slice(0, same ? at : at + 1).slice(1 - most), text];
      at = texts.length - 1;
      typed = now ?? -Infinity;
    },
    /** Returns the text before the last change; null: there is none. */
    undo() {
      typed = -Infinity;
      return at > 0 ? texts[--at] : null;
    },
    /** Returns the text that was undone last; null: there is none. */
    redo() {
      typed = -Infinity;
      return at < texts.length - 1 ? texts[++at] : null;
    },
  };
}
