// Clicks edit the search text: pure functions from a text to a text. Spacing elsewhere stays as it was typed.

import { parseSearch } from './search.js';

/** @typedef {import('./search.js').Node} Node */

/**
 * Writes a condition that finds a value: the text as it is, by =, in double quotes if it needs them.
 * @param {string} field
 * @param {string | number | boolean} value
 * @param {':' | '='} [op]
 */
export function clauseFor(field, value, op = '=') {
  return fieldName(field) + op + quoted(String(value), op);
}

/** @param {string} name */
export function fieldName(name) {
  return /^[A-Za-z_][\w.\-/]*$/.test(name) ? name : `"${escape(name)}"`;
}

/**
 * @param {string} text
 * @param {':' | '='} op
 */
export function quoted(text, op) {
  const plain = /^[^\s\u00a0\u3000()"]+$/.test(text) && !/^[~<>]/.test(text);
  const loose = op === ':' && (text.includes('*') || text.includes('..'));
  return plain && !loose ? text : `"${escape(text)}"`;
}

/** @param {string} text */
function escape(text) {
  return text.replace(/[\\"]/g, '\\$&');
}

/**
 * Adds a clause; the same one again takes it away, its opposite is replaced.
 * @param {string} text
 * @param {string} clause as `host=a`
 */
export function toggleClause(text, clause) {
  return toggle(text, clause, false);
}

/**
 * Adds the opposite of a clause; the same again takes it away, the clause itself is replaced.
 * @param {string} text
 * @param {string} clause
 */
export function toggleExclusion(text, clause) {
  return toggle(text, clause, true);
}

/**
 * @param {string} text
 * @param {string} clause
 * @param {boolean} negate
 */
function toggle(text, clause, negate) {
  const wanted = negate ? `-${clause}` : clause;
  const parsed = parseSearch(text);
  if (parsed.fault) return text.trim() === '' ? wanted : text;
  const parts = conjuncts(parsed.root);
  for (const part of parts) {
    const positive = part.kind === 'not' ? part.of : part;
    if (text.slice(positive.from, positive.to) !== clause) continue;
    const same = (part.kind === 'not') === negate;
    return same ? removeSpan(text, part.from, part.to) : text.slice(0, part.from) + wanted + text.slice(part.to);
  }
  return append(text, parsed.root, wanted);
}

/**
 * Adds a value to those that a field may have, or takes it away: `level:(error OR fatal)`.
 * @param {string} text
 * @param {string} field
 * @param {string} value
 * @param {':' | '='} op of a condition that is new
 */
export function toggleAny(text, field, value, op) {
  const parsed = parseSearch(text);
  if (parsed.fault) return text.trim() === '' ? clauseFor(field, value, op) : text;
  const opposite = conjuncts(parsed.root).find((p) => p.kind === 'not' && isOnly(p.of, field, value));
  if (opposite) return toggleAny(removeSpan(text, opposite.from, opposite.to), field, value, op);
  const part = conjuncts(parsed.root).find((p) => p.kind === 'field' && p.name === field && p.values.every(isWord));
  if (part?.kind !== 'field') return append(text, parsed.root, clauseFor(field, value, op));
  const old = part.values.map((v) => v.text ?? '');
  const values = old.includes(value) ? old.filter((v) => v !== value) : [...old, value];
  if (values.length === 0) return removeSpan(text, part.from, part.to);
  const written = part.exact ? '=' : ':';
  const one = values.length === 1;
  const clause = one ? clauseFor(field, values[0], written) : `${fieldName(field)}${written}(${values.map((v) => quoted(v, written)).join(' OR ')})`;
  return text.slice(0, part.from) + clause + text.slice(part.to);
}

/** Reports whether a condition finds one value of a field. @param {Node} part @param {string} field @param {string} value */
function isOnly(part, field, value) {
  return part.kind === 'field' && part.name === field && part.values.length === 1 && isWord(part.values[0]) && part.values[0].text === value;
}

/** @param {import('./search.js').Value} value */
function isWord(value) {
  return value.text !== undefined && (value.form === 'plain' || value.form === 'quoted');
}

/**
 * Has the words of a text looked for in every field, and not only in the message.
 * @param {string} text
 */
export function searchEveryField(text) {
  const parsed = parseSearch(text);
  if (parsed.fault) return text;
  const words = conjuncts(parsed.root).filter((part) => part.kind === 'text');
  return words.reduceRight((changed, part) => `${changed.slice(0, part.from)}*:${changed.slice(part.from)}`, text);
}

/** The conditions that all rows fulfil. @param {Node} root */
export function conjuncts(root) {
  return root.kind === 'all' ? root.of : [root];
}

/**
 * @param {string} text
 * @param {Node} root
 * @param {string} clause
 */
export function append(text, root, clause) {
  const old = text.trim();
  if (old === '') return clause;
  const grouped = root.kind === 'any' && !(old[root.from] === '(' && root.to === old.length);
  return grouped ? `(${old}) ${clause}` : `${text.trimEnd()} ${clause}`;
}

/**
 * Takes a part out of a text, with the blank or the AND that joined it.
 * @param {string} text
 * @param {number} from
 * @param {number} to
 */
export function removeSpan(text, from, to) {
  const before = text.slice(0, from).replace(/\s*(\bAND\s+)?$/, '');
  const after = text.slice(to).replace(/^\s*(AND\s+)?/, '');
  return before && after ? `${before} ${after}` : before + after;
}

/**
 * Reports which of a field's values the text asks for (in) or leaves out (out) at its top level.
 * @param {string} text
 * @param {string} field
 * @returns {Map<string, 'in' | 'out'>}
 */
export function valuesOf(text, field) {
  /** @type {Map<string, 'in' | 'out'>} */
  const found = new Map();
  for (const part of conjuncts(parseSearch(text).root)) {
    const of = part.kind === 'not' ? part.of : part;
    if (of.kind !== 'field' || of.name !== field) continue;
    for (const value of of.values) {
      if (value.text !== undefined) found.set(value.text, part.kind === 'not' ? 'out' : 'in');
    }
  }
  return found;
}

/** Reports whether the text has a condition on a field at its top level. @param {string} text @param {string} field */
export function hasCondition(text, field) {
  return conjuncts(parseSearch(text).root).some((part) => {
    const of = part.kind === 'not' ? part.of : part;
    return of.kind === 'field' && of.name === field;
  });
}

/**
 * Returns an expression that matches what the words of a text look for, for marking it in rows.
 * @param {string} text
 * @returns {RegExp | null}
 */
export function wantedWords(text) {
  const { root, fault } = parseSearch(text);
  if (fault) return null;
  /** @type {string[]} */
  const found = [];
  collect(root, found);
  if (found.length === 0) return null;
  return new RegExp(found.sort((a, b) => b.length - a.length).join('|'), 'giu');
}

/**
 * @param {Node} node
 * @param {string[]} found
 */
function collect(node, found) {
  if (node.kind === 'all' || node.kind === 'any') node.of.forEach((child) => collect(child, found));
  const value = node.kind === 'text' ? node.value : null;
  if (!value?.text) return;
  if (value.form === 'plain' || value.form === 'quoted') found.push(literal(value.text));
  if (value.form === 'pattern') found.push(value.text.split('*').map(literal).join('[\\p{L}\\p{N}]*'));
}

/** @param {string} text */
function literal(text) {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
}

/**
 * Puts the word with a fault in double quotes, so that it is searched for as text; the whole text, if that is not enough.
 * @param {string} text
 * @param {{offset: number, length: number}} at in bytes
 */
export function quoteFault(text, at) {
  const bytes = new TextEncoder().encode(text);
  const before = new TextDecoder().decode(bytes.slice(0, at.offset));
  const [head] = /** @type {RegExpExecArray} */ (/[^\s()]*$/.exec(before));
  const [word] = /** @type {RegExpExecArray} */ (/^[^\s()]*/.exec(text.slice(before.length - head.length)));
  const begin = before.length - head.length + Number(/^-./.test(word));
  const end = before.length - head.length + word.length;
  const changed = `${text.slice(0, begin)}"${escape(text.slice(begin, end))}"${text.slice(end)}`;
  return begin < end && !parseSearch(changed).fault ? changed : `"${escape(text.trim())}"`;
}

/**
 * Returns a text with another in the place of some of its bytes in UTF-8.
 * @param {string} text
 * @param {{offset: number, length: number}} at in bytes
 * @param {string} by
 */
export function replaceBytes(text, at, by) {
  const bytes = new TextEncoder().encode(text);
  const decode = (/** @type {Uint8Array} */ part) => new TextDecoder().decode(part);
  return decode(bytes.slice(0, at.offset)) + by + decode(bytes.slice(at.offset + at.length));
}
