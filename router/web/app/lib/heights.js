// The heights of the rows of a list: all have one, but for those that were measured. A Fenwick tree adds up by how much
// the rows before a place are higher, so that a list of any length answers where a row is in few steps.

/** @typedef {ReturnType<typeof createHeights>} Heights */

/** @param {number} base the height of a row that was not measured */
export function createHeights(base) {
  let count = 0;
  /** @type {number[]} */
  let extra = []; // of each row
  /** @type {number[]} */
  let sums = [0]; // the tree, from 1

  /**
   * Adds to the height of a row.
   * @param {number} index
   * @param {number} more
   */
  function add(index, more) {
    for (let i = index + 1; i < sums.length; i += i & -i) sums[i] += more;
  }

  /** Returns where a row begins. @param {number} index */
  function topOf(index) {
    let top = index * base;
    for (let i = Math.min(index, extra.length); i > 0; i -= i & -i) top += sums[i];
    return top;
  }

  /** Returns the row at a distance from the top. @param {number} y */
  function indexAt(y) {
    let index = 0;
    let left = y;
    let step = 1;
    while (step * 2 < sums.length) step *= 2;
    for (; step >= 1; step /= 2) {
      if (index + step >= sums.length) continue;
      const height = sums[index + step] + step * base;
      if (height > left) continue;
      index += step;
      left -= height;
    }
    return Math.min(Math.max(0, count - 1), index === extra.length ? index + Math.floor(left / base) : index);
  }

  return {
    topOf,
    indexAt,
    total: () => topOf(count),
    /** Takes a list that is longer or shorter; what was measured stays. @param {number} rows */
    resize(rows) {
      count = rows;
    },
    /**
     * Takes rows away from the begin, and returns how high they were.
     * @param {number} rows
     */
    drop(rows) {
      const top = topOf(rows);
      extra.splice(0, rows);
      build();
      count = Math.max(0, count - rows);
      return top;
    },
    /**
     * Notes the height of a row, and reports whether it is another one than before.
     * @param {number} index
     * @param {number} height
     */
    set(index, height) {
      if (height - base === (extra[index] ?? 0)) return false;
      if (index >= extra.length) grow(index + 1);
      add(index, height - base - extra[index]);
      extra[index] = height - base;
      return true;
    },
  };

  /** Makes room for so many rows, and for as many again. @param {number} rows */
  function grow(rows) {
    extra = [...extra, ...new Array(rows * 2 - extra.length).fill(0)];
    build();
  }

  function build() {
    sums = new Array(extra.length + 1).fill(0);
    extra.forEach((more, index) => more !== 0 && add(index, more));
  }
}

/**
 * Returns which rows are drawn: those in sight, and some above and below.
 * @param {Heights} heights
 * @param {{top: number, height: number}} view
 * @param {number} count
 * @param {number} [around]
 */
export function rowsInSight(heights, view, count, around = 8) {
  if (count === 0) return { from: 0, to: 0 };
  const from = Math.max(0, heights.indexAt(view.top) - around);
  return { from, to: Math.min(count, heights.indexAt(view.top + view.height) + 1 + around) };
}
