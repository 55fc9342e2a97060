// The user. The server stores the session in a cookie that scripts cannot read.

import { computed, signal } from '../../vendor/core.js';
import { createRights } from './rights.js';

/** @typedef {ReturnType<typeof createSignIn>} SignIn */
/** @typedef {{user: string, can_read: boolean, can_write: boolean, can_manage: boolean, auth: string, server: {name: string, version: string}}} Session */

/** @typedef {{user: string, password: string} | {token: string}} Credentials */

/**
 * @param {object} with_
 * @param {typeof globalThis.fetch} with_.fetch
 * @param {{now(): number}} with_.clock
 * @param {{value: string}} with_.lastUser the name that signed in last in this browser
 */
export function createSignIn({ fetch, clock, lastUser }) {
  const rights = createRights({ fetch, clock });
  /** @type {Promise<void> | null} */
  let loading = null;
  const user = signal('');
  const wrong = signal('');
  const oidc = signal(false); // whether an OpenID Connect provider signs users in
  const session = signal(/** @type {Session | null} */ (null));
  let version = ''; // of the server from which the page came
  const otherVersion = signal(false);
  const waiting = signal(/** @type {(() => void)[]} */ ([]));
  let entries = 0; // how often somebody signed in

  /** Finds out who is signed in. */
  async function load() {
    const response = await fetch('/v1/session', { headers: { 'x-svc-page': '1' } }).catch(() => null);
    oidc.value = !!response?.headers.get('x-svc-oidc');
    const before = session.value?.user;
    session.value = response?.ok ? await response.json() : null;
    if (before !== session.value?.user) rights.forget();
    user.value = session.value && session.value.auth !== 'off' ? session.value.user : '';
    const now = session.value?.server?.version ?? '';
    otherVersion.value = version !== '' && now !== '' && now !== version;
    version ||= now;
  }

  /** Finds out who is signed in, once for all who ask meanwhile. */
  function loadOnce() {
    loading ??= load().finally(() => (loading = null));
    return loading;
  }

  return {
    user,
    lastUser,
    session,
    otherVersion,
    /** Whether the page offers what changes something; the server decides. */
    canManage: computed(() => session.value?.can_manage !== false),
    wrong,
    oidc,
    open: computed(() => waiting.value.length > 0),
    entries: () => entries,
    /**
     * Asks somebody to sign in; what was refused goes on when they did. If they did so after the request was sent, it goes
     * on at once: its refusal is only late.
     * @param {number} [before] entries when the request was sent
     */
    ask(before = entries) {
      if (before !== entries) return Promise.resolve();
      return /** @type {Promise<void>} */ (new Promise((resolve) => (waiting.value = [...waiting.value, resolve])));
    },
    load: loadOnce,
    /**
     * Reports whether the user may do something. Until somebody is signed in, the server decides.
     * @param {import('./rights.js').Need} need
     */
    async may(need) {
      if (!session.value) await loadOnce();
      return !session.value || session.value.auth === 'off' || rights.may(need);
    },
    /** Reports whether the user has a privilege on at least one pipeline. @param {string} privilege */
    async mayOnAnyPipeline(privilege) {
      if (!session.value) await loadOnce();
      return !session.value || session.value.auth === 'off' || rights.mayOnAnyPipeline(privilege);
    },
    /** Signs in, and repeats what was refused. @param {Credentials} credentials */
    async enter(credentials) {
      const headers = { 'content-type': 'application/json', 'x-svc-page': '1' };
      const body = JSON.stringify(credentials);
      const response = await fetch('/v1/session', {
        method: 'POST',
        headers,
        body,
      }).catch(() => null);
      if (!response?.ok) {
        const answer = await response?.json().catch(() => null);
        wrong.value = reasonOf(response?.status ?? 0, 'token' in credentials ? answer?.error : '');
        return;
      }
      wrong.value = '';
      entries++;
      await load();
      if ('user' in credentials) lastUser.value = credentials.user;
      const go = waiting.value;
      waiting.value = [];
      go.forEach((resume) => resume());
    },
    /** Signs out. The name is forgotten, too: somebody else may use this browser. */
    async leave() {
      lastUser.value = '';
      await fetch('/v1/session', {
        method: 'DELETE',
        headers: { 'x-svc-page': '1' },
      }).catch(() => null);
    },
  };
}

/**
 * Returns the credentials in a form. A token in the field for the password is a token, too.
 * @param {{get(name: string): unknown}} form
 * @returns {Credentials}
 */
export function credentialsOf(form) {
  const password = String(form.get('password') ?? '');
  const token = String(form.get('token') ?? '').trim() || (/^cw_[0-9A-Za-z]{10}_[0-9A-Za-z]{36}$/v.test(password.trim()) ? password.trim() : '');
  return token ? { token } : { user: String(form.get('user') ?? ''), password };
}

/**
 * @param {number} status
 * @param {string} [why] the server's reason for refusing a token
 */
function reasonOf(status, why) {
  if (status === 0) return 'The server does not answer.';
  if (status === 429) return 'Too many attempts: wait a minute.';
  return why || (status === 401 ? 'Wrong name or password.' : `The server answered ${status}.`);
}
