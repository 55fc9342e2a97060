// The pages of a list, in order. Of a long list the pages farthest from the reader are dropped, and asked for again by
// their cursors when they are scrolled to.

/** @typedef {import('./line.js').Row} Row */
/** @typedef {{cursor: string, count: number, rows: Row[] | null}} Page */
/** @typedef {{pages: Page[], next: string | null, count: number}} Pages */

/** @returns {Pages} */
export function noPages() {
  return { pages: [], next: null, count: 0 };
}

/**
 * @param {Pages} list
 * @param {{cursor: string, rows: Row[], next: string | null}} answer
 * @returns {Pages}
 */
export function addPage(list, { cursor, rows, next }) {
  return { pages: [...list.pages, { cursor, count: rows.length, rows }], next, count: list.count + rows.length };
}

/**
 * Finds the row at a place: the row itself, or the page that must be asked for.
 * @param {Pages} list
 * @param {number} index
 * @returns {{row: Row | null, page: Page | null}}
 */
export function rowAt(list, index) {
  for (const page of list.pages) {
    if (index < page.count) return { row: page.rows?.[index] ?? null, page };
    index -= page.count;
  }
  return { row: null, page: null };
}

/**
 * Keeps at most so many rows: those of the pages nearest to a place.
 * @param {Pages} list
 * @param {number} index
 * @param {number} most
 * @returns {Pages}
 */
export function dropFar(list, index, most) {
  let held = list.pages.reduce((n, page) => n + (page.rows?.length ?? 0), 0);
  if (held <= most) return list;
  let begin = 0;
  const far = list.pages.map((page, at) => {
    const distance = Math.max(begin - index, index - (begin + page.count), 0);
    begin += page.count;
    return { at, distance };
  });
  const pages = [...list.pages];
  for (const { at } of far.sort((a, b) => b.distance - a.distance)) {
    if (held <= most) break;
    held -= pages[at].rows?.length ?? 0;
    pages[at] = { ...pages[at], rows: null };
  }
  return { ...list, pages };
}

/**
 * Puts the rows of a page back that was dropped.
 * @param {Pages} list
 * @param {string} cursor
 * @param {Row[]} rows
 * @returns {Pages}
 */
export function refill(list, cursor, rows) {
  const pages = list.pages.map((page) => (page.cursor === cursor ? { ...page, rows: rows.slice(0, page.count) } : page));
  return { ...list, pages };
}

/**
 * Finds where a row is.
 * @param {Pages} list
 * @param {string} id
 */
export function indexOf(list, id) {
  let begin = 0;
  for (const page of list.pages) {
    const at = page.rows?.findIndex((row) => row.id === id) ?? -1;
    if (at >= 0) return begin + at;
    begin += page.count;
  }
  return -1;
}
