// Completion in SQL: columns and tables by their position, functions and keywords.

import { matching } from './choices.js';
import { sqlFunctions } from './sqlfunctions.js';
import { quoteName } from './sqlquote.js';
import { keywords } from './sqltext.js';

/** @typedef {import('./choices.js').Choice} Choice */

const quoted = /'(?:[^']|'')*('|$)|--[^\n]*(\n|$)|\/\*[\s\S]*?(\*\/|$)/g;

/**
 * @param {string} text
 * @param {number} caret
 * @param {object} names
 * @param {{db: string, name: string, rows: number}[]} names.tables
 * @param {{name: string, type: string, table: string}[]} names.columns of the tables that the statement names
 * @param {string} names.db whose tables need no name of a database
 * @returns {import('./choices.js').Completion | null}
 */
export function completeSql(text, caret, { tables, columns, db }) {
  const before = text.slice(0, caret);
  for (const match of before.matchAll(quoted)) {
    const open = (match[1] ?? match[2] ?? match[3]) === '';
    if (open) return null; // in a text or a comment
  }
  const typed = /[\p{L}_][\p{L}\p{N}_]*$/u.exec(before)?.[0] ?? '';
  const rest = before.slice(0, caret - typed.length);
  if (/[\p{N}"]$/u.test(rest)) return null;
  const dotted = /([\p{L}_][\p{L}\p{N}_]*|"(?:[^"]|"")+")\.$/u.exec(rest)?.[1];
  const list = dotted ? membersOf(dotted.replaceAll('"', ''), tables, columns, behindFrom(rest)) : behindFrom(rest) ? tablesFor(tables, db) : words(columns);
  return matching(list, typed, caret);
}

/** @param {string} text */
function behindFrom(text) {
  return /\b(?:from|join|into|table|describe|update)\s+(?:[\w".]+\s*,\s*)*(?:[\w"]+\.)?$/i.test(text);
}

/**
 * @param {string} name of a database, or of a table or its alias
 * @param {{db: string, name: string, rows: number}[]} tables
 * @param {{name: string, type: string, table: string}[]} columns
 * @param {boolean} wantsTable
 * @returns {Choice[]}
 */
function membersOf(name, tables, columns, wantsTable) {
  if (wantsTable) {
    return tables.filter((t) => t.db === name).map((t) => ({ insert: nameOf(t.name), text: t.name, note: 'table', help: '' }));
  }
  const own = columns.filter((c) => c.table === name);
  return (own.length > 0 ? own : columns).map(columnChoice);
}

/**
 * @param {{db: string, name: string, rows: number}[]} tables
 * @param {string} db
 * @returns {Choice[]}
 */
function tablesFor(tables, db) {
  const own = tables.filter((t) => t.db === db);
  const others = tables.filter((t) => t.db !== db);
  return [...own, ...others].map((t) => {
    const name = t.db === db ? nameOf(t.name) : `${nameOf(t.db)}.${nameOf(t.name)}`;
    return { insert: name, text: name.replaceAll('"', ''), note: 'table', help: '' };
  });
}

/**
 * @param {{name: string, type: string, table: string}[]} columns
 * @returns {Choice[]}
 */
function words(columns) {
  return [
    ...columns.map(columnChoice),
    ...sqlFunctions.map(([name, form, help]) => ({ insert: `${name}(`, text: name, note: 'function', help: `${form}\n${help}` })),
    ...[...keywords].map((word) => ({ insert: word.toUpperCase(), text: word.toUpperCase(), note: '', help: '' })),
  ];
}

/** @param {{name: string, type: string, table: string}} column */
function columnChoice({ name, type, table }) {
  return { insert: nameOf(name), text: name, note: type, help: `A column of ${table}.` };
}

/** @param {string} name */
function nameOf(name) {
  return /^[a-z_][a-z0-9_]*$/.test(name) && !keywords.has(name) ? name : quoteName(name);
}

/**
 * Finds the tables that a statement names.
 * @param {string} statement
 * @param {string} db that of names without one
 * @returns {{db: string, name: string}[]}
 */
export function tablesIn(statement, db) {
  const plain = statement.replace(quoted, ' ');
  const name = String.raw`(?:"(?:[^"]|"")+"|[\p{L}_][\p{L}\p{N}_]*)`;
  const found = plain.matchAll(new RegExp(String.raw`\b(?:from|join|into|table|describe|update)\s+(${name}(?:\.${name})?)`, 'giu'));
  return [...found].slice(0, 8).map((match) => {
    const parts = (match[1].match(new RegExp(name, 'gu')) ?? []).map((p) => p.replace(/^"|"$/g, '').replaceAll('""', '"'));
    return parts.length > 1 ? { db: parts[0], name: parts[1] } : { db, name: parts[0] };
  });
}
