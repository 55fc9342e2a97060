// The rows of an answer to a statement: their order, and how they are exported.

import { quoteName } from './sqlquote.js';
import { cellText } from './statements.js';

/** @typedef {{name: string, type: string}} Column */

const numbers = /^(U?Int|Float|Decimal|Timestamp|Date)/;
const byWords = new Intl.Collator('en', { numeric: true });

/**
 * Returns the places of the rows in the order of a column. Nulls come last.
 * @param {{columns: Column[], rows: unknown[][]}} answer
 * @param {{by: number, down: boolean} | null} sort null: as the server answered
 * @returns {number[]}
 */
export function orderOf({ columns, rows }, sort) {
  const order = rows.map((_, i) => i);
  if (!sort || !columns[sort.by]) return order;
  const { by, down } = sort;
  const number = numbers.test(columns[by].type);
  const compare = (/** @type {unknown} */ a, /** @type {unknown} */ b) =>
    number ? compareNumbers(a, b) : byWords.compare(cellText(a, columns[by].type), cellText(b, columns[by].type));
  return order.sort((i, j) => {
    const [a, b] = [rows[i][by], rows[j][by]];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    return down ? compare(b, a) : compare(a, b);
  });
}

/**
 * Compares numbers. Numbers that JavaScript would round are texts.
 * @param {unknown} a
 * @param {unknown} b
 */
function compareNumbers(a, b) {
  const whole = /^-?\d+$/;
  if (whole.test(String(a)) && whole.test(String(b))) {
    const [x, y] = [BigInt(String(a)), BigInt(String(b))];
    return x < y ? -1 : x > y ? 1 : 0;
  }
  return Number(a) - Number(b);
}

/**
 * Writes rows as lines with tabs, as spreadsheets take them. Tabs and ends of lines within a cell become blanks.
 * @param {Column[]} columns
 * @param {unknown[][]} rows
 */
export function toTSV(columns, rows) {
  const cell = (/** @type {unknown} */ value, /** @type {number} */ i) => (value === null ? '' : cellText(value, columns[i].type).replace(/[\t\r\n]+/g, ' '));
  return rows.map((row) => row.map(cell).join('\t')).join('\n');
}

/**
 * Writes rows as CSV with the names of the columns (RFC 4180), as the server does: a null is empty, an empty text is "".
 * @param {Column[]} columns
 * @param {unknown[][]} rows
 */
export function toCSV(columns, rows) {
  const quoted = (/** @type {string} */ text) => (/^$|^ | $|[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const lines = rows.map((row) => row.map((value, i) => (value === null ? '' : quoted(cellText(value, columns[i].type)))));
  return [columns.map((c) => quoted(c.name)), ...lines].map((cells) => `${cells.join(',')}\r\n`).join('');
}

const notTexts = /^(U?Int\d|Float|Decimal|Boolean|Timestamp|Date|Time|Interval|Duration)/;
const formula = /^[=+\-@\t\r\n＝＋－＠]/; // some spreadsheets skip tabs and line ends, and read wide characters like narrow ones

/**
 * Returns rows of which spreadsheets run nothing: texts and names that look like formulas have an apostrophe in front.
 * @param {Column[]} columns
 * @param {unknown[][]} rows
 */
export function withoutFormulas(columns, rows) {
  const tame = (/** @type {string} */ text) => (formula.test(text) ? `'${text}` : text);
  const isText = columns.map((c) => !notTexts.test(c.type));
  return {
    columns: columns.map((c) => ({ ...c, name: tame(c.name) })),
    rows: rows.map((row) => row.map((value, i) => (isText[i] && typeof value === 'string' ? tame(value) : value))),
  };
}

/**
 * Writes rows as JSON: an object for each, times by RFC 3339.
 * @param {Column[]} columns
 * @param {unknown[][]} rows
 */
export function toJSON(columns, rows) {
  const value = (/** @type {unknown} */ cell, /** @type {number} */ i) =>
    columns[i].type.startsWith('Timestamp') && cell !== null ? cellText(cell, columns[i].type) : cell;
  return JSON.stringify(
    rows.map((row) => Object.fromEntries(row.map((cell, i) => [columns[i].name, value(cell, i)]))),
    null,
    2,
  );
}

/**
 * Finds the place of a statement that an error of the server names, in characters; null: it names none.
 * @param {string} statement
 * @param {string} message
 */
export function faultAt(statement, message) {
  const position = /\(position (\d+)\)/.exec(message);
  if (position) return new TextDecoder().decode(new TextEncoder().encode(statement).slice(0, Number(position[1]))).length;
  const place = /at line (\d+), column (\d+)/.exec(message);
  if (!place) return null;
  const before = statement.split('\n').slice(0, Number(place[1]) - 1);
  return before.reduce((sum, line) => sum + line.length + 1, 0) + Number(place[2]) - 1;
}

/**
 * The names that an error of the server proposes for a wrong one.
 * @param {string} message
 */
export function nearestIn(message) {
  const list = /the nearest names? (?:is|are) ((?:"[^"]+"(?:, )?)+)|did you mean ((?:"[^"]+"(?:, | or )?)+)\?/.exec(message);
  return [...(list?.[1] ?? list?.[2] ?? '').matchAll(/"([^"]+)"/g)].map(([, name]) => name);
}

/**
 * Writes another name in the place of the one that an error says is wrong; the statement stays the same if it is not there.
 * @param {string} statement
 * @param {string} message
 * @param {string} name
 */
export function withName(statement, message, name) {
  const wrong = /there is no column "(.+?)"|the function (\S+) does not exist|\btable (?:\S+\.)?(\S+) does not exist/.exec(message);
  const written = wrong?.[1] ?? wrong?.[2] ?? wrong?.[3];
  if (!written) return statement;
  const escaped = written.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const from = faultAt(statement, message) ?? 0;
  const found = new RegExp(`"${escaped}"|(?<![\\w"])${escaped}(?![\\w"])`, 'i').exec(statement.slice(from));
  if (!found) return statement;
  const at = from + found.index;
  return statement.slice(0, at) + (/^[a-z_]\w*$/.test(name) ? name : quoteName(name)) + statement.slice(at + found[0].length);
}

/**
 * How many segments a statement reads, by the answer to EXPLAIN; null: none has one, or EXPLAIN does not say it of all tables.
 * @param {unknown[][]} rows
 * @returns {{segments: number, of: number} | null}
 */
export function segmentsRead(rows) {
  const text = rows.filter(([key]) => key === 'segments' || key === 'split').join('\n');
  const counts = [...text.matchAll(/(\d+) of (\d+) segments/g)].map(([, segments, of]) => [Number(segments), Number(of)]);
  const sum = (/** @type {number} */ at) => counts.reduce((total, pair) => total + pair[at], 0);
  return sum(1) > 0 && !text.includes('nothing was fetched') ? { segments: sum(0), of: sum(1) } : null;
}
