// Writes names and texts as SQL reads them.

/**
 * Writes a name as SQL reads it.
 * @param {string} name
 */
export function quoteName(name) {
  return `"${name.replaceAll('"', '""')}"`;
}

/**
 * Writes a text as SQL reads it.
 * @param {string} text
 */
export function quoteText(text) {
  return `'${text.replaceAll("'", "''")}'`;
}

/**
 * Writes a table as GRANT and /v1/access/check read it.
 * @param {string} db
 * @param {string} table
 */
export function tableTarget(db, table) {
  return `${quoteName(db)}.${quoteName(table)}`;
}

/**
 * Writes a pipeline as GRANT and /v1/access/check read it.
 * @param {string} name
 */
export function pipelineTarget(name) {
  return `PIPELINE ${quoteName(name)}`;
}
