// Splits SQL into statements, and finds out which of them change something.

/**
 * Finds the statement at a place. Semicolons in texts, names and comments end none.
 * @param {string} text
 * @param {number} at
 */
export function statementAt(text, at) {
  const pieces = /'(?:[^']|'')*'?|"(?:[^"]|"")*"?|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|;/g;
  let from = 0;
  for (const match of text.matchAll(pieces)) {
    if (match[0] !== ';') continue;
    if (at <= match.index) return text.slice(from, match.index).trim();
    from = match.index + 1;
  }
  return text.slice(from).trim() || text.slice(0, from).replace(/;\s*$/, '').trim();
}

const reading = /^(select|with|explain|show|describe|desc|values|from)\b/i;

/**
 * Reports whether a statement changes something: all but those that are known to read.
 * @param {string} statement
 */
export function changes(statement) {
  return !reading.test(statement.replace(/^(\s|--[^\n]*\n|\/\*[\s\S]*?\*\/|\()+/, ''));
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
