// Splits SQL into statements, and finds out which of them change something.

/**
 * Finds the statement at a place. Semicolons in texts, names and comments end none.
 * @param {string} text
 * @param {number} at
 */
export function statementAt(text, at) {
  let from = 0;
  for (const end of semicolons(text)) {
    if (at <= end) return text.slice(from, end).trim();
    from = end + 1;
  }
  return text.slice(from).trim() || text.slice(0, from).replace(/;\s*$/, '').trim();
}

const pieces = /e'(?:[^'\\]|\\[\s\S])*'?|'[^']*'?|"[^"]*"?|--[^\r\n]*|\/\*|\$(?:[a-z_\x80-\uffff][\w\x80-\uffff]*)?\$|[\w$\x80-\uffff]+|;/gi;

/** Where statements end, by the rules of the server's lexer. @param {string} text */
function semicolons(text) {
  const ends = [];
  pieces.lastIndex = 0;
  for (let match = pieces.exec(text); match; match = pieces.exec(text)) {
    const [piece] = match;
    if (piece === ';') ends.push(match.index);
    else if (piece === '/*') pieces.lastIndex = endOfComment(text, match.index);
    else if (piece.startsWith('$') && piece.endsWith('$')) {
      const end = text.indexOf(piece, pieces.lastIndex);
      pieces.lastIndex = end < 0 ? text.length : end + piece.length;
    }
  }
  return ends;
}

/** Where a comment ends, which may hold others. @param {string} text @param {number} from */
function endOfComment(text, from) {
  let depth = 0;
  for (const match of text.slice(from).matchAll(/\/\*|\*\//g)) {
    depth += match[0] === '/*' ? 1 : -1;
    if (depth === 0) return from + match.index + 2;
  }
  return text.length;
}

/** @param {string} text */
export function splitStatements(text) {
  const ends = [-1, ...semicolons(text), text.length];
  return ends.slice(1).map((end, i) => text.slice(ends[i] + 1, end).trim());
}

const changing = /^(create|drop|alter|truncate|insert|delete|kill|grant|revoke)\b/i;

/**
 * Finds the statements in a text that change something. A word that begins no statement, such as a typing error, changes
 * nothing: the server says that it does not know it.
 * @param {string} text
 * @returns {string[]}
 */
export function changesIn(text) {
  return splitStatements(text).filter((statement) => changing.test(withoutComment(statement)));
}

/** Reports whether a text is one statement that only reads rows. @param {string} text */
export function isQuery(text) {
  return splitStatements(text).filter(Boolean).length === 1 && /^(select|with|from)\b/i.test(withoutComment(text));
}

/**
 * What a statement does that cannot be undone.
 * @typedef {{verb: 'drop' | 'truncate' | 'delete', kind: string, db: string, name: string}} Loss db: of a column, its table
 */
const bare = '(?:"(?:[^"]|"")+"|[\\w$\\x80-\\uffff]+)';
const losing = new RegExp(
  `^(drop|truncate|delete)\\s+(?:(from)\\s+|(table|database|schema|pipeline|user|role|token|view)\\s+)?(?:if\\s+exists\\s+)?(${bare})(?:\\s*\\.\\s*(${bare}))?`,
  'i',
);
const droppedColumn = new RegExp(`^alter\\s+table\\s+(?:${bare}\\s*\\.\\s*)?(${bare})\\s+drop\\s+column\\s+(?:if\\s+exists\\s+)?(${bare})`, 'i');

/**
 * Says what a statement removes; null: nothing.
 * @param {string} statement
 * @returns {Loss | null}
 */
export function lossOf(statement) {
  const [, table, column] = droppedColumn.exec(withoutComment(statement)) ?? [];
  if (column !== undefined) return { verb: 'drop', kind: 'column', db: bareName(table), name: bareName(column) };
  const [, verb, , kind = 'table', first, second] = losing.exec(withoutComment(statement)) ?? [];
  if (!verb) return null;
  const [db, name] = second === undefined ? ['', bareName(first)] : [bareName(first), bareName(second)];
  return { verb: /** @type {Loss['verb']} */ (verb.toLowerCase()), kind: kind.toLowerCase(), db, name };
}

/** A name as the server keeps it. @param {string} written */
function bareName(written) {
  return written.startsWith('"') ? written.slice(1, -1).replaceAll('""', '"') : written.toLowerCase();
}

/** A statement without what stands before its first word. @param {string} statement */
function withoutComment(statement) {
  let at = 0;
  for (;;) {
    const [skipped] = /** @type {RegExpExecArray} */ (/^(?:[\s\ufeff(]|--[^\r\n]*)*/.exec(statement.slice(at)));
    at += skipped.length;
    if (!statement.startsWith('/*', at)) return statement.slice(at);
    at = endOfComment(statement, at);
  }
}

const digits = /** @type {Record<string, number>} */ ({
  TimestampSecond: 0,
  TimestampMillisecond: 3,
  TimestampMicrosecond: 6,
  TimestampNanosecond: 9,
});

/**
 * Writes a cell of an answer as text: times, which come as numbers in the unit of their column, by RFC 3339.
 * @param {unknown} value
 * @param {string} type
 */
export function cellText(value, type) {
  if (value === null) return 'NULL';
  if (typeof value === 'object') return JSON.stringify(value);
  const unit = digits[type];
  if (unit === undefined || !/^-?\d+$/.test(String(value))) return String(value);
  const size = 10n ** BigInt(unit);
  const n = BigInt(/** @type {string | number} */ (value));
  const rest = ((n % size) + size) % size;
  const seconds = new Date(Number((n - rest) / size) * 1000);
  if (Number.isNaN(seconds.getTime())) return String(value);
  const fraction = unit > 0 ? `.${String(rest).padStart(unit, '0')}` : '';
  return seconds.toISOString().replace(/\.000Z$/, `${fraction}Z`);
}
