// What stands in the line of a row: the message, then the other fields as name=value, always in the same order.

import { valueText } from './format.js';

const mostCharacters = 400;

/** @typedef {{id: string, time: string, table: string, v: Record<string, unknown>, cut?: Record<string, number>}} Row */
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
 * @returns {{message: string, rest: {name: string, value: string}[]}}
 */
export function lineOf(row, shape, shown) {
  const message = shape.message ? valueText(row.v[shape.message]).slice(0, 2 * mostCharacters) : '';
  const rest = [];
  let length = message.length;
  for (const name of shape.order) {
    const value = row.v[name];
    if (value === undefined || value === null || shown.has(name)) continue;
    if (length > mostCharacters) break;
    const text = valueText(value).slice(0, mostCharacters);
    length += name.length + text.length + 2;
    rest.push({ name: name.slice(name.lastIndexOf('.') + 1), value: text });
  }
  return { message, rest };
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
