// The address of the page: which page, and its state. Defaults are left out, so that links are short.

const root = '/dashboard/';

/** @typedef {{page: string, rest: string, params: URLSearchParams}} Place */

/**
 * Reads an address.
 * @param {{pathname: string, search: string}} at
 * @returns {Place}
 */
export function parsePlace(at) {
  const path = at.pathname.startsWith(root) ? at.pathname.slice(root.length) : '';
  const [page = '', ...rest] = path.split('/');
  return { page, rest: decode(rest.join('/')), params: new URLSearchParams(at.search) };
}

/**
 * The parameters that a page does not know, and values without a meaning with their names.
 * @param {URLSearchParams} params
 * @param {Record<string, ((text: string) => boolean) | null>} known the parameters, and which of their values have a meaning; null: all
 */
export function unknownParts(params, known) {
  const parts = [...params]
    .filter(([name, text]) => !Object.hasOwn(known, name) || (text !== '' && known[name]?.(text) === false))
    .map(([name, text]) => (Object.hasOwn(known, name) ? `${name}=${text.slice(0, 40)}` : name));
  return [...new Set(parts)];
}

/**
 * Reads a list of names from a parameter. A name with a comma or a quote is in double quotes, with its quotes doubled.
 * @param {string} text
 */
export function splitNames(text) {
  return [...text.matchAll(/"((?:[^"]|"")*)"(?=,|$)|[^,]+/g)].map(([whole, quoted]) => quoted?.replaceAll('""', '"') ?? whole).filter(Boolean);
}

/** Writes a list of names as one parameter. @param {string[]} names */
export function joinNames(names) {
  return names.map((name) => (/[",]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name)).join(',');
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a percent sign that begins no code
  }
}

/**
 * Writes an address. Values that are empty or the default are left out; a list becomes several parameters.
 * @param {string} page
 * @param {Record<string, string | string[] | undefined>} values
 * @param {Record<string, string>} [defaults]
 */
export function formatPlace(page, values, defaults = {}) {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== '' && one !== defaults[name]) params.append(name, one);
    }
  }
  const query = params.toString().replace(/%3A/g, ':').replace(/%2C/g, ',').replace(/%2F/g, '/');
  return root + page + (query ? `?${query}` : '');
}
