// Numbers, sizes and names as the page writes them.

const grouped = new Intl.NumberFormat('en-US', { maximumFractionDigits: 3 });

/** @param {number} n */
export function formatCount(n) {
  return grouped.format(n);
}

/** @param {number} n */
export function formatRows(n) {
  return `${formatCount(n)} ${n === 1 ? 'row' : 'rows'}`;
}

/** Writes a share of a whole in per cent. @param {number} share from 0 to 1 */
export function formatShare(share) {
  if (share > 0 && share < 0.001) return '< 0.1 %';
  return `${(share * 100).toFixed(share > 0.1 ? 0 : 1)} %`;
}

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** @param {number} n */
export function formatBytes(n) {
  let unit = 0;
  while (n >= 1024 && unit < units.length - 1) {
    n /= 1024;
    unit++;
  }
  return `${unit === 0 || n >= 100 ? Math.round(n) : n.toFixed(1)} ${units[unit]}`;
}

/**
 * Writes how long something took, or how long ago it was, in its largest unit.
 * @param {number} ms
 */
export function formatDuration(ms) {
  const steps = /** @type {[number, string][]} */ ([
    [365 * 86400e3, ms < 730 * 86400e3 ? 'year' : 'years'],
    [86400e3, 'd'],
    [3600e3, 'h'],
    [60e3, 'min'],
    [1e3, 's'],
  ]);
  for (const [size, unit] of steps) {
    if (ms >= size) return `${ms < 10 * size && unit === 's' ? (ms / size).toFixed(1) : Math.floor(ms / size)} ${unit}`;
  }
  return `${Math.round(ms)} ms`;
}

/**
 * Shortens a name with dots to its last part, of which the reader knows what it means.
 * @param {string} name
 */
export function leafName(name) {
  const parts = name.split('.');
  if (parts.length > 2) return `…${parts.slice(-2).join('.')}`;
  return parts.length === 2 && name.length > 18 ? `…${parts[1]}` : name;
}

// Control and bidirectional characters: they would hide or reorder text.
// eslint-disable-next-line no-control-regex
const hidden = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

/**
 * Makes characters visible that would not be seen, or would reorder what is seen.
 * @param {string} text
 */
export function visible(text) {
  return text.replace(hidden, (c, /** @type {number} */ at) => {
    const code = c.charCodeAt(0);
    if (code === 0x200d && joins(text, at)) return c;
    if (code === 0x0a) return '↵'; // more fonts have it than ␊
    if (code === 0x09) return '→';
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    return code === 0x7f ? '␡' : `\\u${code.toString(16).padStart(4, '0')}`;
  });
}

const reordering = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

/**
 * Splits a text at the characters that would not be seen. Ends of lines and tabs are seen.
 * @param {string} text
 * @returns {{text: string, hidden: boolean}[]} the text of a character that would reorder what is seen is empty
 */
export function splitHidden(text) {
  const parts = [];
  let from = 0;
  for (const { index, 0: c } of text.matchAll(hidden)) {
    if (/[\t\n\r]/.test(c) || (c === '\u200d' && joins(text, index))) continue;
    if (index > from) parts.push({ text: text.slice(from, index), hidden: false });
    parts.push({ text: reordering.test(c) ? '' : c, hidden: true });
    from = index + 1;
  }
  if (from < text.length || parts.length === 0) parts.push({ text: text.slice(from), hidden: false });
  return parts;
}

/** Reports whether a joiner makes one picture of two, as those of families. @param {string} text @param {number} at */
function joins(text, at) {
  return (
    /\p{Extended_Pictographic}(?:\ufe0f|\p{Emoji_Modifier})?$/u.test(text.slice(Math.max(0, at - 4), at)) &&
    /^\p{Extended_Pictographic}/u.test(text.slice(at + 1, at + 3))
  );
}

/**
 * As visible, but ends of lines and tabs stay what they are.
 * @param {string} text
 */
export function visibleLines(text) {
  return text
    .split(/(\r?\n|\t)/)
    .map((part, i) => (i % 2 === 1 ? part : visible(part)))
    .join('');
}

/**
 * Writes a value of any type as text, as it is copied.
 * @param {unknown} value
 */
export function valueText(value) {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

const mostIndented = 1 << 16; // characters
const deepest = 20; // levels: what is deeper is not moved further to the right

/**
 * Indents a text that is an object or an array of JSON; '' if it is something else. Numbers, repeated keys and escapes
 * stay as they are written.
 * @param {string} text
 */
export function indentedJson(text) {
  if (!/^\s*[[{]/.test(text) || text.length > mostIndented) return '';
  try {
    JSON.parse(text);
  } catch {
    return '';
  }
  let depth = 0;
  const line = () => `\n${'  '.repeat(Math.min(depth, deepest))}`;
  return text.trim().replace(/"(?:[^"\\]|\\.)*"|\s+|[[{]\s*[\]}]|[[\]{},:]/g, (part) => {
    if (part[0] === '"') return part;
    if (part.trim() === '') return '';
    if (part === ',') return `,${line()}`;
    if (part === ':') return ': ';
    if (part.length > 1) return part[0] + part[part.length - 1]; // an empty object or array
    if (part === '{' || part === '[') {
      depth++;
      return part + line();
    }
    depth--;
    return line() + part;
  });
}

/**
 * Shows the ends of lines and the tabs in the texts of JSON that is indented as such: a stack trace is read by lines.
 * @param {string} json
 */
export function withLines(json) {
  return json
    .split('\n')
    .map((line) => {
      const begin = /^\s*(?:"(?:[^"\\]|\\.)*": )?(?="(?:[^"\\]|\\.)*",?$)/.exec(line);
      if (!begin || !/\\[nt]/.test(line)) return line;
      const margin = `\n${' '.repeat(/** @type {RegExpExecArray} */ (/^ */.exec(line))[0].length + 2)}`;
      const value = line.slice(begin[0].length).replace(/\\r\\n|\\./g, (escape) => {
        if (escape.endsWith('n')) return margin;
        return escape === '\\t' ? '\t' : escape;
      });
      return begin[0] + value;
    })
    .join('\n');
}

/**
 * Splits a text at the words that a search looks for.
 * @param {string} text
 * @param {RegExp | null} wanted with the flag g
 * @returns {{text: string, hit: boolean}[]}
 */
export function splitMatches(text, wanted) {
  if (!wanted) return [{ text, hit: false }];
  const parts = [];
  let from = 0;
  for (const match of text.matchAll(wanted)) {
    if (match[0] === '') continue;
    if (match.index > from) parts.push({ text: text.slice(from, match.index), hit: false });
    parts.push({ text: match[0], hit: true });
    from = match.index + match[0].length;
  }
  if (from < text.length || parts.length === 0) parts.push({ text: text.slice(from), hit: false });
  return parts;
}

/** How long rows are kept, as the server writes it, with blanks: 7 days. @param {string} ttl empty: forever */
export function spacedTtl(ttl) {
  return ttl.replace(/(\d)([a-z])/g, '$1 $2') || 'forever';
}

/** Writes a text as one word of a shell, which the shell takes as it is. @param {string} text */
export function shellWord(text) {
  return /^[\w.:/@-]+$/.test(text) ? text : shellQuoted(text);
}

/** Writes a text in quotes of a shell. @param {string} text */
export function shellQuoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** A text of the server, which may begin with a small letter and have no full stop, as a sentence. @param {string} text */
export function sentence(text) {
  return text === '' ? '' : `${text[0].toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
}

/** What CSV for spreadsheets is. */
export const noFormulas = 'Texts that look like formulas have an apostrophe in front';
