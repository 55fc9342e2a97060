// Completion of a search text: fields, then values of a field.

import { clauseFor } from './edit.js';
import { withPaths } from './shape.js';

/** @typedef {{insert: string, text: string, note: string}} Choice */
/**
 * @typedef {{from: number, to: number, list: Choice[], field?: undefined}
 *   | {from: number, to: number, field: string, prefix: string, write: (value: string) => string}} Completion
 */

/**
 * @param {string} text
 * @param {number} caret
 * @param {{name: string, type: string, fill: number, json_paths?: string[]}[]} columns
 * @returns {Completion | null}
 */
export function completionAt(text, caret, columns) {
  const fields = withPaths(columns);
  const before = text.slice(0, caret);
  const word = /(?:^|[\s(])-?([^\s():="]*)$/.exec(before);
  const inField = /(?:^|[\s(])-?([A-Za-z_][^\s():="]*):((?:[^\s()"<>=~][^\s()"]*)?)$/.exec(before);
  if (inField) {
    const [, name, prefix] = inField;
    const field = fields.find((f) => f.name.toLowerCase() === name.toLowerCase());
    if (!field) return null;
    const write = (/** @type {string} */ value) => clauseFor(name, value, ':').slice(name.length + 1);
    return { from: caret - prefix.length, to: wordEnd(text, caret), field: field.name, prefix, write };
  }
  if (!word || word[1].length < 1) return null;
  const typed = word[1].toLowerCase();
  const list = fields
    .filter((f) => f.name.toLowerCase().includes(typed))
    .sort((a, b) => rank(a.name, typed) - rank(b.name, typed))
    .slice(0, 8)
    .map((f) => ({
      insert: `${/^[A-Za-z_][\w.\-/]*$/.test(f.name) ? f.name : `"${f.name.replace(/[\\"]/g, '\\$&')}"`}:`,
      text: f.name,
      note: `${f.type} ${Math.round(f.fill * 100)} %`,
    }));
  return list.length > 0 ? { from: caret - word[1].length, to: wordEnd(text, caret), list } : null;
}

/**
 * @param {string} name
 * @param {string} typed
 */
function rank(name, typed) {
  const at = name.toLowerCase().indexOf(typed);
  return at === 0 ? 0 : name[at - 1] === '.' ? 1 : 2;
}

/**
 * @param {string} text
 * @param {number} from
 */
function wordEnd(text, from) {
  return from + (/^[^\s()":=]*/.exec(text.slice(from))?.[0].length ?? 0);
}
