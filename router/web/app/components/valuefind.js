// Finds a value of a field that is not among its most frequent ones.

import { html, useEffect, useState } from '../../vendor/core.js';

/** @typedef {{value: unknown, count: number}} Value */

const pause = 150; // ms after the last key

/**
 * @param {object} props
 * @param {string} props.field
 * @param {string} props.distinct the number of its values, as shown
 * @param {(field: string, prefix: string) => Promise<Value[]>} props.onFind
 * @param {(values: Value[] | null) => void} props.onFound null: nothing is sought
 */
export function ValueFind({ field, distinct, onFind, onFound }) {
  const [prefix, setPrefix] = useState('');
  const [said, setSaid] = useState('');
  useEffect(() => {
    setSaid('');
    if (prefix === '') {
      onFound(null);
      return undefined;
    }
    let late = false;
    const timer = setTimeout(async () => {
      try {
        const values = await onFind(field, prefix);
        if (late) return;
        onFound(values);
        if (values.length === 0) setSaid('No value begins so.');
      } catch (error) {
        if (!late) setSaid(error instanceof Error ? error.message : String(error));
      }
    }, pause);
    return () => {
      late = true;
      clearTimeout(timer);
    };
  }, [field, prefix]);
  return html`<div class="valuefind"><input type="search" data-ui="value-find" aria-label=${`Find a value of ${field}`} placeholder=${`${distinct} values: begins with`}
      value=${prefix} onInput=${(/** @type {InputEvent} */ e) => setPrefix(/** @type {HTMLInputElement} */ (e.currentTarget).value)} />
    ${said && html`<p class="quiet" role="status">${said}</p>`}</div>`;
}
