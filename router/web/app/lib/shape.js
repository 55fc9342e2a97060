// The fields of a table: their roles, and those within columns of JSON.

/** @typedef {{name: string, type?: string, role: string | null, rank: number}} FieldInfo */

/**
 * The fields of a table, with the paths in its columns of JSON before each of these.
 * @template {{name: string, json_paths?: string[]}} F
 * @param {F[]} fields
 * @returns {(F & {of?: F})[]} of: the column of a path. How many rows have the path is not known: at most those with the column
 */
export function withPaths(fields) {
  const columns = new Set(fields.map((column) => column.name));
  return fields.flatMap((column) => {
    const paths = (column.json_paths ?? []).map((path) => ({ ...column, name: `${column.name}.${path}`, json_paths: [], of: column }));
    return [...paths.filter(({ name }) => !columns.has(name)), column];
  });
}

/** Reports whether the values of a type are numbers: large ones come as texts. @param {string} type */
export function isNumeric(type) {
  return /^(U?Int|Float|Decimal)/.test(type);
}

/** The field with the table of each row, which the server has for a search of several tables. */
export const tableField = { name: '_table', type: 'String', index: null, role: null, fill: 1, unique: 0, rank: 0, json_paths: /** @type {string[]} */ ([]) };

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
    json: new Set(answer.fields.filter((f) => f.type === 'Json').map((f) => f.name)),
    numbers: new Set(answer.fields.filter((f) => isNumeric(f.type ?? '')).map((f) => f.name)),
  };
}
