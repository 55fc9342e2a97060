// The dialog in which a reader signs in, over the page.

import { html } from '../../vendor/core.js';

/** @param {{signIn: import('../stores/signin.js').SignIn}} props */
export function SignInDialog({ signIn }) {
  if (!signIn.open.value) return null;
  const plain = location.protocol === 'http:' && !/^(localhost|127\.|\[::1\])/.test(location.host);

  /** @param {SubmitEvent} event */
  function submit(event) {
    event.preventDefault();
    const data = new FormData(/** @type {HTMLFormElement} */ (event.currentTarget));
    void signIn.enter(String(data.get('user')), String(data.get('password')));
  }

  return html`<dialog class="sheet signin" aria-label="Sign in" ref=${(/** @type {HTMLDialogElement | null} */ d) => d && !d.open && d.showModal()}
    onCancel=${(/** @type {Event} */ e) => e.preventDefault()}>
    <h2>Sign in to ${location.host}</h2>
    <form onSubmit=${submit}>
      ${signIn.wrong.value && html`<p class="wrong" role="alert">${signIn.wrong.value}</p>`}
      <label>Name<input name="user" data-ui="login-user" autocomplete="username" required /></label>
      <label>Password<input name="password" type="password" data-ui="login-password" autocomplete="current-password" /></label>
      ${plain && html`<p class="quiet">This connection is not encrypted.</p>`}
      <button class="button main" data-ui="login">Sign in</button>
    </form>
  </dialog>`;
}
