// A dialog over the page. Escape closes it; the browser returns the focus to what opened it.

import { html, useLayoutEffect, useRef, useState } from '../../vendor/core.js';

/** Shows a dialog while it is drawn. What had the focus has it again afterwards. @param {{current: HTMLDialogElement | null}} box */
export function useModal(box) {
  // Before the dialog is seen: a key that follows at once is its key.
  useLayoutEffect(() => {
    const opener = document.activeElement;
    const dialog = box.current;
    dialog?.showModal();
    return () => {
      dialog?.close(); // as long as it is open, nothing else can have the focus
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, []);
}

/**
 * @param {object} props
 * @param {string} props.title
 * @param {() => void} props.onClose
 * @param {string} [props.class]
 * @param {boolean} [props.stays] whether onClose may decide that it stays open
 * @param {unknown} [props.children]
 */
export function Dialog({ title, onClose, class: look = '', stays = false, children }) {
  const box = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useModal(box);
  return html`<dialog class=${`sheet ${look}`} ref=${box} aria-label=${title}
    onKeyDown=${(/** @type {KeyboardEvent} */ e) => {
      if (e.key !== 'Escape') return;
      e.stopPropagation(); // what is below stays open
      if (!stays) return;
      e.preventDefault(); // at the second Escape, the browser would close it without asking
      onClose();
    }}
    onCancel=${(/** @type {Event} */ e) => {
      if (e.target !== box.current) return; // a picker of files inside of it
      e.preventDefault();
      onClose();
    }}><h2>${title}</h2>${children}</dialog>`;
}

/**
 * Asks before an action that cannot be undone. It says what happens, and a word must be typed.
 * @param {object} props
 * @param {string} props.title
 * @param {string} props.word what has to be typed; empty: a click is enough
 * @param {string} props.action what stands on the button
 * @param {boolean} [props.busy] it was begun already: a second click does nothing
 * @param {() => unknown} props.onYes
 * @param {() => void} props.onClose
 * @param {unknown} [props.children]
 */
export function Confirm({ title, word, action, busy = false, onYes, onClose, children }) {
  const [typed, setTyped] = useState('');
  const ready = typed.trim() === word;
  const [wrong, setWrong] = useState(''); // the first value that is missing or has the wrong form

  /** @param {Event} event */
  function refuse(event) {
    event.preventDefault(); // the browser's own bubble covers the form
    const input = /** @type {HTMLInputElement} */ (event.target);
    const label = input.closest('label')?.firstChild?.textContent ?? '';
    if (input !== input.form?.querySelector(':invalid:not(fieldset)')) return;
    setWrong(
      input.validity.valueMissing
        ? `${label}: ${input.matches('select') ? 'choose one' : 'it is empty'}.`
        : `${label}: ${input.title || input.validationMessage}`,
    );
    input.focus();
  }

  /** @param {Event} event */
  function submit(event) {
    event.preventDefault();
    if (ready && !busy) void onYes();
  }

  return html`<${Dialog} title=${title} onClose=${onClose}><form class="asks" onSubmit=${submit} onInvalidCapture=${refuse} onInput=${() => setWrong('')}>
    ${children}
    ${
      word &&
      html`<label>Type ${word} to confirm<input data-ui="confirm-word" autocomplete="off" spellcheck=${false} value=${typed}
        onInput=${(/** @type {InputEvent} */ e) => setTyped(/** @type {HTMLInputElement} */ (e.currentTarget).value)} /></label>`
    }
    ${wrong && html`<p class="wrong" role="alert" data-ui="form-wrong">${wrong}</p>`}
    <p class="acts"><button class=${`button main ${word ? 'danger' : ''}`} data-ui="confirm" disabled=${!ready || busy}>${action}</button>
      <button type="button" class="button" data-ui="close-dialog" onClick=${onClose}>Cancel</button></p></form><//>`;
}
