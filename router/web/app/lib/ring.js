// The newest rows of a stream: at most so many, and so many characters.

/**
 * @template T
 * @typedef {{items: T[], sizes: number[], size: number, dropped: number}} Ring
 */

/**
 * @template T
 * @returns {Ring<T>}
 */
export function emptyRing() {
  return { items: [], sizes: [], size: 0, dropped: 0 };
}

/**
 * Adds items, and drops the oldest beyond the bounds. The ring is changed in place: it has ten thousand rows.
 * @template T
 * @param {Ring<T>} ring
 * @param {T[]} items
 * @param {number[]} sizes
 * @param {number} most items
 * @param {number} mostSize
 */
export function push(ring, items, sizes, most, mostSize) {
  ring.items.push(...items);
  ring.sizes.push(...sizes);
  ring.size += sizes.reduce((sum, size) => sum + size, 0);
  let drop = Math.max(0, ring.items.length - most);
  let size = ring.size;
  for (let i = 0; i < drop; i++) size -= ring.sizes[i];
  while (size > mostSize && drop < ring.items.length - 1) size -= ring.sizes[drop++];
  if (drop === 0) return;
  ring.items.splice(0, drop);
  ring.sizes.splice(0, drop);
  ring.size = size;
  ring.dropped += drop;
}
