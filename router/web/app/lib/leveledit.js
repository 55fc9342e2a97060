// Clicks on levels: a search for a level finds it however it is spelled, so a value is chosen by the level that it means.

import { append, clauseFor, conjuncts, fieldName, quoted, removeSpan, toggleAny } from './edit.js';
import { levelsFound } from './levels.js';
import { parseSearch } from './search.js';

/** @typedef {import('./search.js').Value} Value */

/**
 * The names by which a search asks for levels; none if another field stands in for the level.
 * @param {Pick<import('./line.js').Shape, 'level' | 'scheme'>} shape
 * @param {{name: string}[]} fields
 */
export function levelNames({ level, scheme }, fields) {
  if (!level || scheme === 'status') return [];
  return level === 'level' || fields.some((f) => f.name === 'level') ? [level] : [level, 'level'];
}

/**
 * The conditions on the level at the top of a text. With = it is the text that is compared.
 * @param {string} text
 * @param {string[]} names of the level
 */
function conditions(text, names) {
  const found = [];
  for (const part of conjuncts(parseSearch(text).root)) {
    const of = part.kind === 'not' ? part.of : part;
    if (of.kind === 'field' && !of.exact && names.includes(of.name)) found.push({ part, of, without: part.kind === 'not' });
  }
  return found;
}

/**
 * Reports which levels the text asks for (in) or leaves out (out) at its top level.
 * @param {string} text
 * @param {string[]} names of the level
 * @returns {Map<string, 'in' | 'out'>}
 */
export function levelsOf(text, names) {
  /** @type {Map<string, 'in' | 'out'>} */
  const found = new Map();
  for (const { of, without } of conditions(text, names)) {
    for (const level of of.values.flatMap((value) => levelsFound(value) ?? [])) found.set(level, without ? 'out' : 'in');
  }
  return found;
}

/**
 * Adds a value to the levels that rows may have, or takes its level away: `level:(error OR fatal)`.
 * @param {string} text
 * @param {string[]} names of the level
 * @param {string} value
 * @param {string} level that the value means
 */
export function toggleLevel(text, names, value, level) {
  const exact = conjuncts(parseSearch(text).root).find((part) => part.kind === 'field' && part.exact && names.includes(part.name));
  if (exact?.kind === 'field') return toggleAny(text, exact.name, value, '=');
  const kept = without(text, names, level);
  const isOn = levelsOf(text, names).get(level) === 'in';
  if (isOn) return kept;
  const root = parseSearch(kept).root;
  const one = conditions(kept, names).find((c) => !c.without);
  if (!one) return append(kept, root, clauseFor(names[0], value, ':'));
  const written = [...one.of.values.map((v) => kept.slice(v.from, v.to)), quoted(value, ':')];
  return kept.slice(0, one.part.from) + condition(one.of.name, written) + kept.slice(one.part.to);
}

/**
 * Takes a level out of all conditions on the level.
 * @param {string} text
 * @param {string[]} names
 * @param {string} level
 */
function without(text, names, level) {
  let kept = text;
  for (const { part, of, without } of conditions(text, names).reverse()) {
    if (!of.values.some((value) => levelsFound(value)?.includes(level))) continue;
    const written = of.values.flatMap((value) => rest(text, value, level));
    if (written.length === 0) kept = removeSpan(kept, part.from, part.to);
    else kept = kept.slice(0, part.from) + (without ? '-' : '') + condition(of.name, written) + kept.slice(part.to);
  }
  return kept;
}

/**
 * What is left of a value without a level, as texts of a search.
 * @param {string} text
 * @param {Value} value
 * @param {string} level
 */
function rest(text, value, level) {
  const found = levelsFound(value);
  return found?.includes(level) ? found.filter((other) => other !== level) : [text.slice(value.from, value.to)];
}

/** @param {string} name @param {string[]} values */
function condition(name, values) {
  return `${fieldName(name)}:${values.length === 1 ? values[0] : `(${values.join(' OR ')})`}`;
}
