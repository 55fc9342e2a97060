// Levels as they are read from text and numbers, worst first. The same rules as router/explore/roles.

export const levels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'other'];

/** @type {Record<string, string>} */
const words = {};
for (const [level, names] of /** @type {[string, string][]} */ ([
  ['fatal', 'fatal crit critical emerg emergency alert panic'],
  ['error', 'error err severe'],
  ['warn', 'warn warning'],
  ['info', 'info information informational notice'],
  ['debug', 'debug'],
  ['trace', 'trace verbose'],
])) {
  for (const name of names.split(' ')) words[name] = level;
}

/**
 * The levels that a value of a search finds, however they are spelled; null: the value names none.
 * @param {Pick<import('./searchreader.js').Value, 'form' | 'text' | 'op' | 'lower' | 'upper'>} value
 * @returns {string[] | null}
 */
export function levelsFound({ form, text = '', op, lower = '', upper = '' }) {
  if (form === 'plain' || form === 'quoted') return isLevelWord(text) ? [words[text.toLowerCase()] ?? 'other'] : null;
  const [a, b] = [lower, form === 'between' ? upper : lower].map((word) => levels.indexOf(words[word.toLowerCase()]));
  if (a < 0 || b < 0) return null;
  const ranked = levels.slice(0, -1); // other is neither better nor worse
  if (form === 'between') return ranked.slice(Math.min(a, b), Math.max(a, b) + 1);
  /** @type {Record<string, string[]>} */
  const by = { '>': ranked.slice(0, a), '>=': ranked.slice(0, a + 1), '<': ranked.slice(a + 1), '<=': ranked.slice(a) };
  return by[op ?? ''] ?? null;
}

/** Reports whether a search knows a word as a level. @param {string} word */
export function isLevelWord(word) {
  return Object.hasOwn(words, word.toLowerCase()) || word.toLowerCase() === 'other';
}

/**
 * Reads the level of a row.
 * @param {unknown} value
 * @param {string | null} scheme text, otel, tens, syslog or status; null: the table has no level
 * @returns {string} empty if there is none
 */
export function levelOf(value, scheme) {
  if (scheme === null || value === null || value === undefined || value === '') return '';
  if (scheme === 'text') return words[String(value).trim().toLowerCase()] ?? 'other';
  const n = Number(value);
  if (!Number.isFinite(n)) return 'other';
  return byNumber[scheme]?.(n) ?? 'other';
}

/** @type {Record<string, (n: number) => string | undefined>} */
const byNumber = {
  otel: (n) => (n >= 1 && n <= 24 ? ['trace', 'debug', 'info', 'warn', 'error', 'fatal'][Math.floor((n - 1) / 4)] : undefined),
  tens: (n) => (n >= 10 && n < 70 ? ['trace', 'debug', 'info', 'warn', 'error', 'fatal'][Math.floor(n / 10) - 1] : undefined),
  syslog: (n) => ['fatal', 'fatal', 'fatal', 'error', 'warn', 'info', 'info', 'debug'][n],
  status: (n) => (n >= 500 && n < 600 ? 'error' : n >= 400 && n < 500 ? 'warn' : undefined),
};

/**
 * Reports whether a level asks for attention.
 * @param {string} level
 */
export function isBad(level) {
  return level === 'fatal' || level === 'error' || level === 'warn';
}
