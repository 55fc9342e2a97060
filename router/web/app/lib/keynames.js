// Keys as a reader knows them.

/** @typedef {Record<string, [string, unknown]>} Named from a key to what it does */

const names = /** @type {Record<string, string>} */ ({
  ArrowUp: '↑',
  ArrowDown: '↓',
  ArrowLeft: '←',
  ArrowRight: '→',
  Enter: '↵',
  Escape: 'Esc',
  ' ': 'space',
  '-': '−',
});

/**
 * Writes a key as it stands on a keyboard: j is J, and J is Shift J.
 * @param {string} key as the page names it: ctrl+Enter, J, or g e for two keys
 * @returns {string}
 */
export function keyName(key) {
  if (key.length > 1 && key.includes(' ')) return key.split(' ').map(keyName).join(' ');
  const [, modifier = '', last] = /** @type {RegExpExecArray} */ (/^(?:(ctrl|shift)\+(?=.))?(.*)$/s.exec(key));
  const shifted = !modifier && /^[A-Z]$/.test(last);
  const words = [modifier && modifier[0].toUpperCase() + modifier.slice(1), shifted && 'Shift', names[last] ?? (last.length === 1 ? last.toUpperCase() : last)];
  return words.filter(Boolean).join(' ');
}

/**
 * Lists what keys do, in the order in which a reader learns them: those of the page, then those of all pages. Keys that
 * do the same stand together.
 * @param {Named[]} layers those of the page last
 * @returns {{keys: string[], what: string}[]}
 */
export function keyRows(layers) {
  /** @type {Map<string, string[]>} */
  const rows = new Map();
  for (const layer of [...layers].reverse()) {
    for (const [key, [what]] of Object.entries(layer)) rows.set(what, [...(rows.get(what) ?? []), keyName(key)]);
  }
  return [...rows].map(([what, keys]) => ({ keys, what }));
}
