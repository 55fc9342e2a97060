// Completion in the text of a pipeline: keys and values by its JSON Schema, and functions in programs.

import { matching } from './choices.js';

/** @typedef {import('./choices.js').Choice} Choice */
/**
 * @typedef {object} Schema
 * @property {Record<string, Schema>} [properties]
 * @property {Schema} [items]
 * @property {Schema[]} [anyOf]
 * @property {unknown[]} [enum]
 * @property {string | string[]} [type]
 * @property {string} [description]
 */
/** @typedef {{name: string, signature: string, help: string, fallible: boolean}} VrlFunction */

/**
 * @param {string} text
 * @param {number} caret
 * @param {{schema: Schema, functions: VrlFunction[], fields?: string[]}} helps fields: those of the samples
 * @returns {import('./choices.js').Completion | null}
 */
export function completePipeline(text, caret, { schema, functions, fields = [] }) {
  const before = text.slice(0, caret).split('\n');
  const line = before[before.length - 1];
  if (/(?:^|\s)#/.test(line)) return null;
  if (inProgram(before)) return completeProgram(line, caret, functions, fields);
  const place = placeIn(line);
  if (!place) return null;
  const outer = pathAbove(before.slice(0, -1), line);
  const at = [...outer, ...place.path].reduce((found, step) => found.flatMap((s) => childrenOf(s, step)), [schema]);
  const list = place.value ? valuesOf(at) : keysOf(at, place.flow);
  return matching(list, place.typed, caret);
}

/**
 * Reports whether the last line is within a block of `source: |`.
 * @param {string[]} lines
 */
function inProgram(lines) {
  let block = -1;
  lines.forEach((line, i) => {
    const indent = line.length - line.trimStart().length;
    const last = i === lines.length - 1;
    if (block >= 0 && (line.trim() !== '' || last) && indent <= block) block = -1;
    const begins = block < 0 && !last && /^(\s*(?:- )?)(?:source|if)\s*:\s*[|>][-+]?\s*$/.exec(line);
    if (begins) block = begins[1].length;
  });
  return block >= 0;
}

/**
 * Offers the fields of records behind a dot, else functions.
 * @param {string} line up to the caret
 * @param {number} caret
 * @param {VrlFunction[]} functions
 * @param {string[]} fields
 */
export function completeProgram(line, caret, functions, fields) {
  const field = /(?:^|[^\w.)\]"'])\.([A-Za-z_@]\w*)?$/.exec(line);
  if (field && !/^[^"]*("[^"]*"[^"]*)*"[^"]*$/.test(line)) return fieldsFor(field[1] ?? '', caret, fields);
  const typed = /(?:^|[^\w.%@"'])([a-z_]\w*)$/.exec(line)?.[1];
  if (!typed || (line.match(/"/g)?.length ?? 0) % 2 === 1) return null;
  const list = functions.map((f) => ({
    insert: `${f.name}${f.fallible ? '!' : ''}(`,
    text: f.name,
    note: f.fallible ? 'may fail' : '',
    help: `${f.signature}\n${f.help}`,
  }));
  return matching(list, typed, caret);
}

/**
 * @param {string} typed
 * @param {number} caret
 * @param {string[]} fields
 */
function fieldsFor(typed, caret, fields) {
  const written = (/** @type {string} */ name) => (/^[A-Za-z_@]\w*$/.test(name) ? name : `"${name.replace(/[\\"]/g, '\\$&')}"`);
  return matching(
    fields.map((name) => ({ insert: written(name), text: name, note: 'field', help: 'A field of the samples.' })),
    typed,
    caret,
  );
}

/**
 * Finds where in its line the caret is: in a key or a value, within which braces.
 * @param {string} line
 * @returns {{path: string[], typed: string, value: boolean, flow: boolean} | null}
 */
function placeIn(line) {
  const pieces = /"(?:[^"\\]|\\.)*("|$)|'(?:[^']|'')*('|$)|[{}[\],]|[A-Za-z_][\w-]*\s*:(?=\s|$)|[^\s{}[\],"']+/g;
  /** @type {{kind: string, key: string}[]} */
  const open = [];
  let key = '';
  let word = '';
  let end = 0;
  for (const match of line.matchAll(pieces)) {
    const piece = match[0];
    end = match.index + piece.length;
    word = '';
    if (/^["']/.test(piece)) {
      if (match[1] === '' || match[2] === '') return null; // a text that is not closed
    } else if (piece === '{' || piece === '[') {
      open.push({ kind: piece, key });
      key = '';
    } else if (piece === '}' || piece === ']') key = open.pop()?.key ?? '';
    else if (piece === ',') key = '';
    else if (piece.endsWith(':')) key = piece.slice(0, -1).trim();
    else word = piece;
  }
  if (end < line.length || /^[-:]+$/.test(word)) word = '';
  const flow = open.length > 0;
  const path = open.flatMap((o) => (o.kind === '{' ? [o.key] : [o.key, '-'])).filter((step) => step !== '');
  return { path: key ? [...path, key] : path, typed: word, value: key !== '' || open[open.length - 1]?.kind === '[', flow };
}

/**
 * Finds the keys and lists that a line is in, from the outside, by the indent of the lines above it.
 * @param {string[]} above
 * @param {string} line
 */
function pathAbove(above, line) {
  const own = /^(\s*)((?:- +)*)/.exec(line);
  const indent = own?.[1].length ?? 0;
  const dashes = own?.[2].split('-').length ?? 1;
  /** @type {string[]} */
  const path = Array.from({ length: dashes - 1 }, () => '-');
  let need = indent;
  let listed = dashes > 1; // what is looked for is the key of a list, which may stand as far right as its dashes
  for (let i = above.length - 1; i >= 0 && (need > 0 || listed); i--) {
    const parts = /^(\s*)((?:- +)*)(?:"?([\w.-]+)"?\s*:(?:\s|$))?/.exec(above[i]);
    if (!parts || above[i].trim() === '' || above[i].trim().startsWith('#')) continue;
    const column = parts[1].length;
    const keyColumn = column + parts[2].length;
    if (parts[3] && keyColumn < need + (listed && parts[2] === '' ? 1 : 0)) {
      path.unshift(parts[3]);
      need = keyColumn;
      listed = false;
    }
    if (parts[2] !== '' && column < need) {
      path.unshift('-');
      need = column;
      listed = true;
    }
  }
  return path;
}

/**
 * @param {Schema} schema
 * @param {string} step
 * @returns {Schema[]}
 */
function childrenOf(schema, step) {
  const here = step === '-' ? schema.items : schema.properties?.[step];
  return [...(here ? [here] : []), ...(schema.anyOf ?? []).flatMap((s) => childrenOf(s, step))];
}

/**
 * @param {Schema[]} schemas
 * @param {boolean} flow
 * @returns {Choice[]}
 */
function keysOf(schemas, flow) {
  return schemas.flatMap((schema) => [
    ...Object.entries(schema.properties ?? {}).map(([name, s]) => ({
      insert: `${name}:${!flow && s.properties ? '' : ' '}`,
      text: name,
      note: [s.type ?? ''].flat().join(', '),
      help: s.description ?? '',
    })),
    ...keysOf(schema.anyOf ?? [], flow),
  ]);
}

/**
 * @param {Schema[]} schemas
 * @returns {Choice[]}
 */
function valuesOf(schemas) {
  return schemas.flatMap((schema) => {
    const values = schema.enum ?? (schema.type === 'boolean' ? [true, false] : []);
    const help = schema.description ?? '';
    return [...values.map((v) => ({ insert: String(v), text: String(v), note: '', help })), ...valuesOf(schema.anyOf ?? [])];
  });
}
