// What the user may do, for what a page offers.

import { useEffect, useState } from '../../vendor/core.js';
import { pipelineTarget } from '../lib/sqlquote.js';

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

/**
 * Asks whether the user may store a pipeline; null: the answer is not there yet.
 * @param {import('../stores/signin.js').SignIn} signIn
 * @param {string} name of the pipeline; empty: any of them, also one that is not stored yet
 */
export function useMayWrite(signIn, name) {
  const [may, setMay] = useState(/** @type {boolean | null} */ (null));
  useEffect(() => {
    let current = true;
    const asked = name ? signIn.may(['WRITE', pipelineTarget(name)]) : signIn.mayOnAnyPipeline('WRITE');
    void asked.then((answer) => current && setMay(answer));
    return () => {
      current = false;
    };
  }, [name, signIn.user.value]);
  return may;
}
