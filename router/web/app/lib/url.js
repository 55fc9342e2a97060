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
