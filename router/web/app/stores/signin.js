// Who asks. Name and password are kept in the memory of this tab, and are gone with it.

import { computed, signal } from '../../vendor/core.js';

/** @typedef {ReturnType<typeof createSignIn>} SignIn */

export function createSignIn() {
  const user = signal('');
  const header = signal('');
  const waiting = signal(/** @type {(() => void)[]} */ ([]));
  const tries = signal(0);

  return {
    user,
    tries,
    open: computed(() => waiting.value.length > 0),
    header: () => header.value,
    /** Asks somebody to sign in; what was refused goes on when they did. */
    ask: () => {
      header.value = '';
      return /** @type {Promise<void>} */ (new Promise((resolve) => (waiting.value = [...waiting.value, resolve])));
    },
    /**
     * @param {string} name
     * @param {string} password
     */
    enter(name, password) {
      const bytes = new TextEncoder().encode(`${name}:${password}`);
      header.value = `Basic ${btoa(String.fromCharCode(...bytes))}`;
      user.value = name;
      tries.value++;
      const go = waiting.value;
      waiting.value = [];
      go.forEach((resume) => resume());
    },
  };
}
