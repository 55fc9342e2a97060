// Splits SQL into keywords and the rest, for colours.

const ofQueries = /\b(SELECT|FROM|WHERE|AND|OR|NOT|IS|NULL|IN|BETWEEN|LIKE|ESCAPE|ORDER|BY|LIMIT|DESC|ASC|GROUP|AS|CAST|TRUE|FALSE|UNION|ALL)\b/g;

/**
 * @param {string} sql
 * @param {RegExp} [keywords] in one group, with the flag g
 * @returns {{text: string, keyword: boolean}[]}
 */
export function sqlWords(sql, keywords = ofQueries) {
  const parts = [];
  // Texts and names in quotes have no keywords in them.
  for (const piece of sql.split(/('(?:[^']|'')*'|"(?:[^"]|"")*")/)) {
    if (piece === '') continue;
    if (/^['"]/.test(piece)) {
      parts.push({ text: piece, keyword: false });
      continue;
    }
    for (const text of piece.split(keywords)) {
      if (text !== '') parts.push({ text, keyword: new RegExp(`^${keywords.source}$`).test(text) });
    }
  }
  return parts;
}

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
