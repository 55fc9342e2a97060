// The values of a row by the names of its fields, which come from logs. A field may have a name such as constructor, so
// these objects inherit nothing.

/**
 * Makes the values of rows (the member v) inherit nothing. It is an argument of JSON.parse.
 * @param {string} key
 * @param {any} value
 */
export function bareFields(key, value) {
  return key === 'v' && typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.setPrototypeOf(value, null) : value;
}
