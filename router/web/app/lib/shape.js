// The roles of a table's fields.

/** @typedef {{name: string, role: string | null, rank: number}} FieldInfo */

/**
 * @param {{fields: FieldInfo[], time: string, levels: string | null} | null} answer of /v1/explore/fields
 * @returns {import('./line.js').Shape}
 */
export function shapeOf(answer) {
  if (!answer) return { time: '', level: null, scheme: null, message: null, order: [] };
  const role = (/** @type {string} */ wanted) => answer.fields.find((f) => f.role === wanted)?.name ?? null;
  const message = role('message');
  const level = role('level');
  const skipped = new Set([answer.time, message, answer.levels === 'status' ? null : level]);
  const order = [...answer.fields].sort((a, b) => a.rank - b.rank).map((f) => f.name);
  return {
    time: answer.time,
    level,
    scheme: answer.levels,
    message,
    order: order.filter((name) => !skipped.has(name)),
  };
}
