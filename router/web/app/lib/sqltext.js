// The text of SQL in pieces: keywords, functions, texts and comments, for colours. Texts and comments may go over
// several lines.

/** @typedef {{text: string, kind: string}} Piece kind: comment, string, number, key, function, or empty */

// The words of a phrase are keywords only together: "time" alone is a usual name of a column.
const parts =
  /(?<comment>--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|(?<string>'(?:[^']|'')*'?)|(?<name>"(?:[^"]|"")*"?)|(?<number>\b\d+(?:\.\d+)?\b)|(?<key>\b(?:(?:time|skipping|fulltext|inverted)\s+index|primary\s+key|partition\s+on\s+columns)\b)|(?<word>\b[a-z_]\w*\b)/gi;

export const keywords = new Set(
  (
    'select from where and or not is null in between like ilike escape order by limit offset desc asc group having as cast true false union all ' +
    'distinct with recursive join left right full inner outer cross on using case when then else end interval exists any values insert into ' +
    'create table alter drop truncate delete set add column rename modify index show tables databases describe explain analyze filter over ' +
    'partition rows range preceding following unbounded current row nulls first last if replace kill default'
  ).split(' '),
);

/**
 * @param {string} text
 * @returns {Piece[]}
 */
export function sqlPieces(text) {
  /** @type {Piece[]} */
  const pieces = [];
  let at = 0;
  const add = (/** @type {string} */ piece, /** @type {string} */ kind) => piece && pieces.push({ text: piece, kind });
  for (const match of text.matchAll(parts)) {
    add(text.slice(at, match.index), '');
    const kind = Object.entries(match.groups ?? {}).find(([, found]) => found !== undefined)?.[0] ?? '';
    at = match.index + match[0].length;
    if (kind !== 'word') add(match[0], kind === 'name' ? '' : kind);
    else if (keywords.has(match[0].toLowerCase())) add(match[0], 'key');
    else add(match[0], /^\s*\(/.test(text.slice(at, at + 8)) ? 'function' : '');
  }
  add(text.slice(at), '');
  return pieces;
}

/**
 * @param {string} text
 * @returns {Piece[][]} the pieces of each line
 */
export function colourSql(text) {
  /** @type {Piece[][]} */
  const lines = [[]];
  for (const { text: piece, kind } of sqlPieces(text)) {
    piece.split('\n').forEach((part, i) => {
      if (i > 0) lines.push([]);
      if (part !== '') lines[lines.length - 1].push({ text: part, kind });
    });
  }
  return lines;
}
