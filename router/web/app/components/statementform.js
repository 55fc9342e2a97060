// A form that asks for the values of a statement, shows the statement, and runs it.

import { html, useId, useState } from '../../vendor/core.js';
import { Confirm } from './dialog.js';
import { ErrorPanel } from './states.js';

/** @typedef {Record<string, string>} Values */

/**
 * @param {object} props
 * @param {string} props.name what the action is called; it may end with …
 * @param {string} props.says what happens
 * @param {[string, string, string][]} props.asks name, label and kind of each value: text, password, or a key of choices; text? need not be given
 * @param {Record<string, (string | [string, string])[]>} props.choices the values of each kind that is chosen from a list, some with what is shown
 * @param {Record<string, {pattern: string, title: string}>} [props.patterns] regular expressions for kinds of texts, and what they mean
 * @param {Record<string, string[]>} [props.proposals] values that a text may have
 * @param {(values: Values) => unknown} [props.remark] what to say about the values
 * @param {Values} [props.initial]
 * @param {string | ((values: Values) => string)} [props.word] what has to be typed; empty: a click is enough
 * @param {(values: Values) => string} props.statement the statement as it is shown
 * @param {import('../stores/latest.js').Latest<any>} props.latest runs the statement
 * @param {(values: Values) => unknown} props.onRun
 * @param {() => void} props.onClose
 * @param {unknown} [props.children]
 */
export function StatementForm({
  name,
  says,
  asks,
  choices,
  patterns = {},
  proposals = {},
  remark,
  initial = {},
  word = '',
  statement,
  latest,
  onRun,
  onClose,
  children,
}) {
  const [values, setValues] = useState(() => {
    const first = Object.fromEntries(asks.map(([key, , kind]) => [key, kind === 'column' ? '' : [choices[kind]?.[0] ?? ''].flat()[0]]));
    return /** @type {Values} */ ({ ...first, ...initial });
  });
  const title = name.replace('…', '');
  const said = remark?.(values);
  const typed = typeof word === 'string' ? word : word(values);
  const change = (/** @type {Values} */ changed) => {
    latest.error.value = null; // it is about other values
    setValues({ ...values, ...changed });
  };
  return html`<${Confirm} title=${title} word=${typed} action=${typed ? title : 'Run it'} busy=${latest.since.value > 0}
    onYes=${() => latest.since.value > 0 || onRun(values)}
    onClose=${() => {
      latest.error.value = null;
      onClose();
    }}>
    <p>${says}</p>
    ${children}
    ${asks.map(
      ([key, label, kind]) =>
        html`<label>${label}<${Input} name=${key} label=${label} kind=${kind} choices=${choices[kind]} pattern=${patterns[kind]}
          proposals=${proposals[kind]} value=${values[key]} onValue=${(/** @type {string} */ v) => change({ [key]: v })} /></label>`,
    )}
    ${said && html`<p class="quiet" role="status" data-ui="form-remark">${said}</p>`}
    <pre class="asked">${statement(values)}</pre>
    <${ErrorPanel} latest=${latest} what="The statement" inForm /><//>`;
}

/** @param {{name: string, label: string, kind: string, choices?: (string | [string, string])[], pattern?: {pattern: string, title: string}, proposals?: string[], value: string, onValue: (value: string) => void}} props */
function Input({ name, label, kind, choices, pattern, proposals, value, onValue }) {
  const [shown, setShown] = useState(false); // a password
  const list = useId();
  const take = (/** @type {Event} */ e) => onValue(/** @type {HTMLInputElement} */ (e.currentTarget).value);
  if (!choices) {
    const [type, complete] = kind === 'password' ? [shown ? 'text' : 'password', 'new-password'] : ['text', 'off'];
    const input = html`<input required=${kind !== 'text?'} type=${type} data-ui=${`ask-${name}`} aria-label=${kind === 'password' ? label : undefined}
      autocomplete=${complete} spellcheck=${false} pattern=${pattern?.pattern} title=${pattern?.title} list=${proposals ? list : undefined}
      value=${value} onInput=${take} />
      ${proposals && html`<datalist id=${list}>${proposals.map((text) => html`<option value=${text}></option>`)}</datalist>`}`;
    if (kind !== 'password') return input;
    return html`<span class="password">${input}<button type="button" class="text" data-ui=${`show-${name}`} aria-pressed=${shown}
      onClick=${() => setShown(!shown)}>${shown ? 'Hide' : 'Show'}</button></span>`;
  }
  return html`<select required data-ui=${`ask-${name}`} value=${value} onChange=${take}>${kind === 'column' && html`<option value="">Choose</option>`}
    ${choices.map((c) => [c].flat()).map(([id, name = id]) => html`<option value=${id}>${name}</option>`)}</select>`;
}
