// What the user may do. The page asks for nothing by itself that the server would refuse.

/** @typedef {[string, string]} Need a privilege, and what it is on, both as GRANT has them */

const fresh = 60_000; // milliseconds; rights can be granted and revoked

/**
 * @param {object} with_
 * @param {typeof globalThis.fetch} with_.fetch
 * @param {{now(): number}} with_.clock
 */
export function createRights({ fetch, clock }) {
  /** @type {Map<string, {at: number, answer: Promise<boolean>}>} */
  const known = new Map();
  /** @type {{need: Need, resolve: (may: boolean) => void}[]} */
  let asked = []; // those of one moment go in one request

  async function ask() {
    const questions = asked;
    asked = [];
    const body = JSON.stringify(questions.map(({ need: [privilege, object] }) => ({ privilege, object })));
    const headers = { 'content-type': 'application/json', 'x-svc-page': '1' };
    const response = await fetch('/v1/access/check', { method: 'POST', headers, body }).catch(() => null);
    const allowed = response?.ok ? (await response.json()).allowed : [];
    // Without an answer nothing is known: the server decides when it is asked.
    questions.forEach(({ resolve }, i) => resolve(allowed[i] !== false));
  }

  return {
    /** Reports whether the user has a privilege. @param {Need} need */
    may(need) {
      const key = need.join(' ');
      const before = known.get(key);
      if (before && clock.now() - before.at < fresh) return before.answer;
      const answer = /** @type {Promise<boolean>} */ (
        new Promise((resolve) => {
          asked.push({ need, resolve });
          if (asked.length === 1) queueMicrotask(ask);
        })
      );
      known.set(key, { at: clock.now(), answer });
      return answer;
    },
    /** Reports whether the user has a privilege on at least one pipeline, which may be one that is not stored yet. @param {string} privilege */
    async mayOnAnyPipeline(privilege) {
      const response = await fetch('/v1/access/whoami', { headers: { 'x-svc-page': '1' } }).catch(() => null);
      if (!response?.ok) return true;
      const grants = /** @type {string[]} */ ((await response.json()).grants);
      return grants.some((grant) => {
        const [privileges, on] = [grant.slice(0, grant.indexOf(' ON ')), grant.slice(grant.indexOf(' ON ') + 4)];
        return on.startsWith('PIPELINE ') && privileges.split(', ').some((held) => held === privilege || held === 'ALL');
      });
    },
    /** Forgets what is known, when another user has signed in. */
    forget: () => known.clear(),
  };
}
