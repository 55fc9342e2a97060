// The dialog in which a reader signs in, over the page.

import { html, useRef, useState } from '../../vendor/core.js';
import { credentialsOf } from '../stores/signin.js';
import { useModal } from './dialog.js';

/** @param {{signIn: import('../stores/signin.js').SignIn}} props */
export function SignInDialog({ signIn }) {
  return signIn.open.value && html`<${Form} signIn=${signIn} />`;
}

/** @param {{signIn: import('../stores/signin.js').SignIn}} props */
function Form({ signIn }) {
  const box = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useModal(box);
  const [byToken, setByToken] = useState(false);
  const known = signIn.user.value || signIn.lastUser.value; // whose session ended, or who signed in last
  const plain = location.protocol === 'http:' && !/^(localhost|127\.|\[::1\])/.test(location.host);

  /** @param {SubmitEvent} event */
  function submit(event) {
    event.preventDefault();
    const form = /** @type {HTMLFormElement} */ (event.currentTarget);
    void signIn.enter(credentialsOf(new FormData(form))).then(() => {
      // What is typed next replaces the wrong password or token.
      if (signIn.wrong.value) /** @type {HTMLInputElement | null} */ (form.querySelector('input[type=password]'))?.select();
    });
  }

  function change() {
    signIn.wrong.value = '';
    setByToken(!byToken);
  }

  return html`<dialog
    class="sheet signin"
    aria-label="Sign in"
    ref=${box}
    onCancel=${(/** @type {Event} */ e) => e.preventDefault()}
  >
    <h2>Sign in to ${location.host}</h2>
    <form onSubmit=${submit}>
      ${signIn.wrong.value && html`<p class="wrong" role="alert">${signIn.wrong.value}</p>`}
      ${
        byToken
          ? html`<label
              >Token<input
                key="token"
                name="token"
                type="password"
                data-ui="login-token"
                autocomplete="off"
                spellcheck=${false}
                required
                autofocus
            /></label>`
          : html`<label
                >Name<input
                  key="user"
                  name="user"
                  data-ui="login-user"
                  autocomplete="username"
                  defaultValue=${known}
                  required
                  autofocus=${known === ''}
              /></label>
              <label
                >Password<input
                  key="password"
                  name="password"
                  type="password"
                  data-ui="login-password"
                  autocomplete="current-password"
                  required
                  autofocus=${known !== ''}
              /></label>`
      }
      ${plain && html`<p class="quiet">This connection is not encrypted.</p>`}
      <p class="acts">
        <button class="button main" data-ui="login">Sign in</button>
        <button
          type="button"
          class="text go"
          data-ui="login-way"
          onClick=${change}
        >
          ${byToken ? 'Use a name and a password' : 'Use a token'}
        </button>
        ${
          signIn.oidc.value &&
          html`<a
            class="text go"
            data-ui="login-oidc"
            href=${'/v1/session/oidc/login?to=' + encodeURIComponent(location.pathname + location.search)}
            >Use OIDC</a
          >`
        }
      </p>
    </form>
  </dialog>`;
}
