// What an answer has by the names of fields, which come from logs. A field may have a name such as constructor, so these
// objects inherit nothing.

/** The members of a row that have fields by their names: the values, and the lengths of those that were cut. */
const byField = ['v', 'cut'];

/**
 * Makes what rows have by the names of fields inherit nothing. It is an argument of JSON.parse.
 * @param {string} key
 * @param {any} value
 */
export function bareFields(key, value) {
  return byField.includes(key) && typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.setPrototypeOf(value, null) : value;
}
