// What the user may do, for what a page offers.

import { useEffect, useState } from '../../vendor/core.js';

/**
 * Asks which privileges the user has. The answers are in the order of the needs; null: they are not there yet.
 * @param {import('../stores/signin.js').SignIn} signIn
 * @param {import('../stores/rights.js').Need[]} needs
 */
export function useMay(signIn, needs) {
  const [held, setHeld] = useState(/** @type {boolean[] | null} */ (null));
  useEffect(() => {
    let current = true;
    void Promise.all(needs.map((need) => signIn.may(need))).then((answers) => current && setHeld(answers));
    return () => {
      current = false;
    };
  }, [JSON.stringify(needs), signIn.user.value]);
  return held;
}
