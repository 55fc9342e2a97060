// Which columns of a table have the message and the level.

import { html } from '../../vendor/core.js';

/** @typedef {{name: string, type: string, role: string | null}} Field */

const texts = /^String$/;
const textsAndIntegers = /^(String|U?Int\d+)$/;

/**
 * @param {object} props
 * @param {Field[]} props.fields
 * @param {import('../stores/columns.js').Roles} props.roles
 * @param {(role: 'message' | 'level', name: string) => void} props.onRole
 */
export function RoleChooser({ fields, roles, onRole }) {
  const choice = (/** @type {'message' | 'level'} */ role, /** @type {string} */ label, /** @type {RegExp} */ types) =>
    html`<label class="setting role"><span>${label}</span><select data-ui=${`role-${role}`} value=${roles[role]}
      onChange=${(/** @type {Event} */ e) => onRole(role, /** @type {HTMLSelectElement} */ (e.currentTarget).value)}>
      <option value="">${roles[role] ? 'found by its name' : `${fields.find((f) => f.role === role)?.name ?? 'none'}, found by its name`}</option>
      ${roles[role] && !fields.some((f) => f.name === roles[role]) && html`<option value=${roles[role]}>${roles[role]}, not in this table</option>`}
      ${fields.filter((f) => types.test(f.type)).map((f) => html`<option value=${f.name}>${f.name}</option>`)}</select></label>`;
  return html`${choice('message', 'Message', texts)}${choice('level', 'Level', textsAndIntegers)}`;
}
