// The text of a pipeline by lines, coloured: YAML, with VRL in the blocks of `source: |`.

import { sentence } from './format.js';

const longestColoured = 5000; // a longer line would be thousands of elements

/** @typedef {{text: string, kind: string}} Piece kind: key, string, number, comment, word, function or the empty one */

/**
 * @param {string} text
 * @returns {Piece[][]} the pieces of each line
 */
export function colourPipeline(text) {
  let block = -1; // the indent of the key that begins a program; -1: outside of one
  return text.split('\n').map((line) => {
    const indent = line.length - line.trimStart().length;
    if (block >= 0 && line.trim() !== '' && indent <= block) block = -1;
    if (block >= 0) return colourVrl(line);
    const begins = /^(\s*(?:- )?)(?:source|if)\s*:\s*[|>][-+]?\s*$/.exec(line);
    if (begins) block = begins[1].length;
    return colourYaml(line);
  });
}

/** The lines of a program alone. @param {string} text */
export function colourProgram(text) {
  return text.split('\n').map(colourVrl);
}

// A key begins where no word goes on: else a long word would be tried as a key from each of its characters.
const yamlParts =
  /(?<comment>(?:^|(?<=\s))#.*$)|(?<key>"[^"]*"(?=\s*:(?:\s|$))|(?<![\w.-])[A-Za-z_][\w.-]*(?=\s*:(?:\s|$)))|(?<string>'(?:[^']|'')*'?|"(?:[^"\\]|\\.)*"?)|(?<number>\b\d+(?:\.\d+)?\b|\b(?:true|false|null)\b)/g;

const vrlParts =
  /(?<comment>(?:^|(?<=\s))#.*$)|(?<string>"(?:[^"\\]|\\.)*"?|[rst]'(?:[^'\\]|\\.)*'?)|(?<key>[.%][A-Za-z_@][\w.@]*)|(?<word>\b(?:if|else|for|abort|return|null|true|false)\b)|(?<function>\b[a-z_]\w*!?(?=\())|(?<number>\b\d+(?:\.\d+)?\b)/g;

/** @param {string} line */
function colourYaml(line) {
  return split(line, yamlParts);
}

/** @param {string} line */
function colourVrl(line) {
  return split(line, vrlParts);
}

/**
 * @param {string} line
 * @param {RegExp} parts
 * @returns {Piece[]}
 */
function split(line, parts) {
  if (line.length > longestColoured) return [{ text: line, kind: '' }];
  const pieces = [];
  let at = 0;
  for (const match of line.matchAll(parts)) {
    if (match.index > at) pieces.push({ text: line.slice(at, match.index), kind: '' });
    const kind = Object.entries(match.groups ?? {}).find(([, text]) => text !== undefined)?.[0] ?? '';
    pieces.push({ text: match[0], kind });
    at = match.index + match[0].length;
  }
  if (at < line.length) pieces.push({ text: line.slice(at), kind: '' });
  return pieces;
}

/**
 * Finds the processors of a pipeline: their names, and the lines on which they begin, the first line being 1.
 * @param {string} text
 * @returns {{name: string, line: number}[]}
 */
export function stepsOf(text) {
  const lines = text.split('\n');
  const begin = lines.findIndex((line) => /^processors\s*:/.test(line));
  if (begin < 0) return [];
  /** @type {{name: string, line: number}[]} */
  const found = [];
  let indent = -1;
  for (let i = begin + 1; i < lines.length; i++) {
    const line = lines[i];
    if (line.trim() === '' || line.trim().startsWith('#')) continue;
    if (/^[^\s-]/.test(line)) break;
    const item = /^(\s*)- +["']?([\w-]*)/.exec(line);
    if (!item) continue;
    if (indent < 0) indent = item[1].length;
    if (item[1].length === indent) found.push({ name: item[2], line: i + 1 });
  }
  return found;
}

/**
 * The place of a step in the list of processors; -1: it is not one of them.
 * @param {string} step as the server names it: processors[2] date
 */
export function placeOfStep(step) {
  return Number(/^processors\[(\d+)\]/.exec(step)?.[1] ?? -1);
}

/** The faults of each line, by its number. @param {Fault[]} faults */
export function byLine(faults) {
  /** @type {Map<number, Fault[]>} */
  const found = new Map();
  for (const fault of faults) found.set(fault.line, [...(found.get(fault.line) ?? []), fault]);
  return found;
}

/** @typedef {{line: number, message: string, column?: number, end_line?: number, end_column?: number, excerpt?: string}} Fault columns from 1 */

/**
 * Finds the faults that an error names: those of the answer, else the lines in its text.
 * @param {{message: string, faults?: Fault[]}} error
 * @returns {Fault[]}
 */
export function faultsOf(error) {
  if (error.faults && error.faults.length > 0) return error.faults;
  const found = [...error.message.matchAll(/(?:^|\n|: )line (\d+)(?:, column \d+)?: ([^\n]*(?:\n(?!line \d)[^\n]*)*)/g)];
  return found.map((match) => ({ line: Number(match[1]), message: match[2].trim() }));
}

/**
 * What a fault says where the text is underlined: without the number of the error, and without the lines around it.
 * @param {Fault} fault
 */
export function explained({ message, excerpt = '' }) {
  const said = [message.replace(/^Failed to compile VRL, error\[E\d+\]: /, '')];
  for (const line of excerpt.split('\n')) {
    const [, marked, note, more] = /^\s*(?:│[\s│]*[\^-]+\s*(\S.*)|=\s+(\S.*)|│\s+([^\s│].*))$/.exec(line) ?? [];
    if (marked || note) said.push(marked ?? note);
    else if (more && said.length > 1) said[said.length - 1] += ` ${more}`;
  }
  return said.map(sentence).join(' ');
}
