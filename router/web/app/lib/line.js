// The line of a row: the message, then the other fields as name=value, always in the same order.

import { valueText } from './format.js';
import { tableField } from './shape.js';

const mostCharacters = 400;

/** @typedef {{id: string, time: string, table: string, v: Record<string, unknown>, cut?: Record<string, number>, mark?: boolean}} Row, or a line that a reader drew between rows */
/**
 * @typedef {object} Shape what the fields of a table say about its rows
 * @property {string} time
 * @property {string | null} level
 * @property {string | null} scheme of levels
 * @property {string | null} message
 * @property {string[]} order the other fields
 * @property {Set<string>} [json] columns whose values are objects of JSON, with fields of their own
 * @property {Set<string>} [numbers] columns of numbers
 */

/**
 * The value of a field, which may be a path in a column of JSON; undefined: the row has none.
 * @param {Row} row
 * @param {string} name
 * @returns {unknown}
 */
export function valueOf(row, name) {
  if (name === tableField.name && row.v[name] === undefined) return row.table;
  if (row.v[name] !== undefined || !name.includes('.')) return row.v[name];
  for (let dot = name.indexOf('.'); dot > 0; dot = name.indexOf('.', dot + 1)) {
    const column = row.v[name.slice(0, dot)];
    const found = typeof column === 'string' && column.startsWith('{') ? inObject(parsed(column), name.slice(dot + 1)) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

/** @param {string} json */
function parsed(json) {
  try {
    return JSON.parse(json);
  } catch {
    return undefined; // it is cut, or only begins like JSON
  }
}

/**
 * The value at a path. Keys may have dots; those within others count first, as for the server.
 * @param {unknown} object
 * @param {string} path
 * @returns {unknown}
 */
function inObject(object, path) {
  if (typeof object !== 'object' || object === null) return undefined;
  const values = /** @type {Record<string, unknown>} */ (object);
  for (let dot = path.indexOf('.'); dot > 0; dot = path.indexOf('.', dot + 1)) {
    const key = path.slice(0, dot);
    const found = Object.hasOwn(values, key) ? inObject(values[key], path.slice(dot + 1)) : undefined;
    if (found !== undefined) return found;
  }
  return Object.hasOwn(values, path) ? values[path] : undefined;
}

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
    for (const field of shape.json?.has(name) ? leavesOf(name, value) : [{ name, value }]) {
      if (shown.has(field.name)) continue;
      const text = inLine(valueText(field.value), most);
      length += field.name.length + text.length + 2;
      rest.push({ name: field.name.slice(field.name.lastIndexOf('.') + 1), value: text });
    }
  }
  return { message, rest };
}

/**
 * What is in an object of JSON, each with its path; the field itself, if it is something else.
 * @param {string} name
 * @param {unknown} value
 * @returns {{name: string, value: unknown}[]}
 */
export function leavesOf(name, value) {
  const object = typeof value === 'string' && value.startsWith('{') ? parsed(value) : value;
  const entries = typeof object === 'object' && object !== null && !Array.isArray(object) ? Object.entries(object) : [];
  if (entries.length === 0) return [{ name, value }];
  return entries.flatMap(([key, inner]) => (inner === null ? [] : leavesOf(`${name}.${key}`, inner)));
}

/**
 * A value beside others in one line: the begin of a long one, and only the first line of a stack trace.
 * @param {string} text
 * @param {number} most characters; Infinity: the row is shown whole
 */
function inLine(text, most) {
  if (most === Infinity) return text;
  const end = text.search(/[\r\n]/);
  return end > 0 ? `${text.slice(0, Math.min(end, most))}…` : text.slice(0, most);
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
  return [row.time, level, ...columns.map((name) => valueText(valueOf(row, name))), line].join('\t');
}
