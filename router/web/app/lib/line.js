// The line of a row: the message, then the other fields as name=value, always in the same order.

import { valueText } from './format.js';

const mostCharacters = 400;

/** @typedef {{id: string, time: string, table: string, v: Record<string, unknown>, cut?: Record<string, number>, mark?: boolean}} Row, or a line that a reader drew between rows */
/**
 * @typedef {object} Shape what the fields of a table say about its rows
 * @property {string} time
 * @property {string | null} level
 * @property {string | null} scheme of levels
 * @property {string | null} message
 * @property {string[]} order the other fields
 */

/**
 * @param {Row} row
 * @param {Shape} shape
 * @param {Set<string>} shown fields that have a column of their own
 * @param {number} [most] characters
 * @returns {{message: string, rest: {name: string, value: string}[]}}
 */
export function lineOf(row, shape, shown, most = mostCharacters) {
  const message = shape.message ? valueText(row.v[shape.message]).slice(0, 2 * most) : '';
  const rest = [];
  let length = message.length;
  for (const name of shape.order) {
    const value = row.v[name];
    if (value === undefined || value === null || shown.has(name)) continue;
    if (length > most) break;
    const text = valueText(value).slice(0, most);
    length += name.length + text.length + 2;
    rest.push({ name: name.slice(name.lastIndexOf('.') + 1), value: text });
  }
  return { message, rest };
}

/**
 * Finds the fields in which two rows differ, in the order of the table's fields.
 * @param {Row} a
 * @param {Row} b
 * @param {Shape} shape
 * @returns {{name: string, a: string | null, b: string | null}[]} null: the row lacks the field
 */
export function differences(a, b, shape) {
  const names = new Set([shape.message, ...shape.order, ...Object.keys(a.v), ...Object.keys(b.v)]);
  const text = (/** @type {unknown} */ value) => (value === undefined || value === null ? null : valueText(value));
  return [...names].flatMap((name) => {
    if (name === null || name === shape.time) return [];
    const both = { name, a: text(a.v[name]), b: text(b.v[name]) };
    return both.a === both.b ? [] : [both];
  });
}

/**
 * Writes a row as one line of text, as it is copied.
 * @param {Row} row
 * @param {Shape} shape
 * @param {string[]} columns
 */
export function copyLine(row, shape, columns) {
  const shown = new Set(columns);
  const { message, rest } = lineOf(row, shape, shown);
  const line = [message, ...rest.map((field) => `${field.name}=${field.value}`)].filter(Boolean).join(' ');
  const level = shape.level ? valueText(row.v[shape.level]) : '';
  return [row.time, level, ...columns.map((name) => valueText(row.v[name])), line].join('\t');
}
