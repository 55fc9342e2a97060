// The lines in which two texts differ.

/** @typedef {{kind: 'same' | 'added' | 'removed', text: string, before: number, after: number}} DiffLine numbers from 1; 0: not there */

const mostCells = 4_000_000;

/**
 * @param {string} before
 * @param {string} after
 * @returns {DiffLine[]}
 */
export function diffLines(before, after) {
  const [a, b] = [before.split('\n'), after.split('\n')];
  let begin = 0;
  while (begin < a.length && begin < b.length && a[begin] === b[begin]) begin++;
  let end = 0;
  while (end < a.length - begin && end < b.length - begin && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  /** @type {DiffLine[]} */
  const lines = [];
  for (let i = 0; i < begin; i++) lines.push({ kind: 'same', text: a[i], before: i + 1, after: i + 1 });
  lines.push(...diffMiddle(a.slice(begin, a.length - end), b.slice(begin, b.length - end), begin));
  for (let i = end; i > 0; i--) {
    lines.push({ kind: 'same', text: a[a.length - i], before: a.length - i + 1, after: b.length - i + 1 });
  }
  return lines;
}

/**
 * Compares by the longest common subsequence. Texts that are too long for that are removed and added as a whole.
 * @param {string[]} a
 * @param {string[]} b
 * @param {number} skipped lines before both
 * @returns {DiffLine[]}
 */
function diffMiddle(a, b, skipped) {
  const width = b.length + 1;
  const longest = new Uint32Array(a.length * b.length <= mostCells ? (a.length + 1) * width : 0);
  if (longest.length > 0) {
    for (let i = a.length - 1; i >= 0; i--) {
      for (let j = b.length - 1; j >= 0; j--) {
        longest[i * width + j] = a[i] === b[j] ? longest[(i + 1) * width + j + 1] + 1 : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
      }
    }
  }
  /** @type {DiffLine[]} */
  const lines = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (longest.length > 0 && i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ kind: 'same', text: a[i], before: skipped + ++i, after: skipped + ++j });
    } else if (i < a.length && (j >= b.length || longest.length === 0 || longest[(i + 1) * width + j] >= longest[i * width + j + 1])) {
      lines.push({ kind: 'removed', text: a[i], before: skipped + ++i, after: 0 });
    } else {
      lines.push({ kind: 'added', text: b[j], before: 0, after: skipped + ++j });
    }
  }
  return lines;
}

/**
 * Leaves only changed lines with some around them; null stands for lines that were left out.
 * @param {DiffLine[]} lines
 * @param {number} around
 * @returns {(DiffLine | null)[]}
 */
export function nearChanges(lines, around) {
  const keep = new Set();
  lines.forEach((line, i) => {
    if (line.kind === 'same') return;
    for (let at = i - around; at <= i + around; at++) keep.add(at);
  });
  /** @type {(DiffLine | null)[]} */
  const kept = [];
  lines.forEach((line, i) => {
    if (keep.has(i)) kept.push(line);
    else if (kept[kept.length - 1] !== null) kept.push(null);
  });
  return kept;
}
