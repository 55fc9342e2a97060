// Finds names by some of their letters, in order.

/**
 * How well a name matches the typed text: higher is better; null: it does not match. Letters at the start of a word count more,
 * and so do letters that follow each other.
 * @param {string} name
 * @param {string} typed in lower case
 * @returns {number | null}
 */
export function fits(name, typed) {
  const low = name.toLowerCase();
  let score = 0;
  let at = -1;
  for (const letter of typed) {
    if (letter === ' ') continue;
    const next = low.indexOf(letter, at + 1);
    if (next < 0) return null;
    if (next === at + 1) score += 3;
    if (next === 0 || /[\s._:/-]/.test(low[next - 1])) score += 4;
    score -= Math.min(next - at, 10) * 0.1;
    at = next;
  }
  return score - low.length * 0.01;
}

/**
 * @template {{name: string}} T
 * @param {T[]} list
 * @param {string} typed
 * @param {number} most
 * @returns {T[]} those that fit, the best first
 */
export function best(list, typed, most) {
  const low = typed.trim().toLowerCase();
  if (low === '') return list.slice(0, most);
  /** @type {{item: T, score: number}[]} */
  const found = [];
  for (const item of list) {
    const score = fits(item.name, low);
    if (score !== null) found.push({ item, score });
  }
  return found
    .sort((a, b) => b.score - a.score)
    .slice(0, most)
    .map(({ item }) => item);
}
