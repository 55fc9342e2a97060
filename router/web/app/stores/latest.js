// One request of a kind at a time: a new request cancels the previous one, whose answer is then ignored.
//
// Who goes on after an answer goes on with what run returns, so that a late answer never changes what is newer.

import { batch, signal } from '../../vendor/core.js';
import { ApiError, isAbort } from '../lib/api.js';

/**
 * @template T
 * @typedef {object} Latest
 * @property {import('../../vendor/core.js').Signal<T | null>} value the last answer; stays while a new one is loading
 * @property {import('../../vendor/core.js').Signal<ApiError | null>} error
 * @property {import('../../vendor/core.js').Signal<number>} since when the request began, in ms; 0: none is under way
 * @property {import('../../vendor/core.js').Signal<number>} retryAt when it is sent again by itself; 0: not
 * @property {import('../../vendor/core.js').Signal<boolean>} cancelled the last request was cancelled before its answer came
 * @property {boolean} once the request changes something, and is never sent twice by itself
 * @property {(ask: (signal: AbortSignal) => Promise<T>, of?: string) => Promise<T | undefined>} run returns the answer;
 *   undefined if it failed, was cancelled, or a newer request was sent meanwhile. of says what is asked about: an answer
 *   about something else does not stay while the new one is loading.
 * @property {() => void} cancel
 * @property {() => void} again
 */

const mostRetries = 5;

/**
 * @template T
 * @param {{now(): number, wait(ms: number, signal: AbortSignal): Promise<void>}} clock
 * @param {{once?: boolean}} [how] once: the request changes something, and is never sent twice by itself
 * @returns {Latest<T>}
 */
export function createLatest(clock, { once = false } = {}) {
  const value = signal(/** @type {T | null} */ (null));
  const error = signal(/** @type {ApiError | null} */ (null));
  const since = signal(0);
  const retryAt = signal(0);
  const cancelled = signal(false);
  /** @type {AbortController | null} */
  let current = null;
  /** @type {((signal: AbortSignal) => Promise<T>) | null} */
  let last = null;
  let about = '';

  /**
   * @param {(signal: AbortSignal) => Promise<T>} ask
   * @param {string} [of]
   */
  async function run(ask, of = about) {
    current?.abort();
    const own = new AbortController();
    current = own;
    last = ask;
    batch(() => {
      if (of !== about) value.value = error.value = null;
      since.value = clock.now();
      retryAt.value = 0;
      cancelled.value = false;
    });
    about = of;
    /** @type {T | undefined} */
    let answered;
    for (let tries = 0; ; tries++) {
      try {
        const answer = await ask(own.signal);
        if (current !== own) return undefined;
        value.value = answer;
        error.value = null;
        answered = answer;
        break;
      } catch (failure) {
        if (current !== own) return undefined;
        if (isAbort(failure)) break;
        const failed = failure instanceof ApiError ? failure : new ApiError(String(failure), {});
        error.value = failed;
        if (once || !comesBack(failed) || tries >= mostRetries) break;
        const pause = failed.retryAfter * 1000 || 1000 * 2 ** tries;
        retryAt.value = clock.now() + pause;
        const stopped = await clock.wait(pause, own.signal).then(
          () => false,
          () => true,
        );
        if (current !== own || stopped) return undefined;
        retryAt.value = 0;
      }
    }
    since.value = 0;
    current = null;
    return answered;
  }

  function cancel() {
    if (current) cancelled.value = true;
    current?.abort();
    current = null;
    since.value = 0;
    retryAt.value = 0;
  }

  return { value, error, since, retryAt, cancelled, once, run, cancel, again: () => void (last && run(last)) };
}

/**
 * Reports whether the same request may succeed soon: too many requests, or a server that is away for a while.
 * @param {ApiError} error
 */
function comesBack(error) {
  return error.status === 429 || error.status === 503 || error.status === 0;
}

/** The clock of the browser. */
export const clock = {
  now: () => Date.now(),
  /**
   * @param {number} ms
   * @param {AbortSignal} signal
   */
  wait(ms, signal) {
    return /** @type {Promise<void>} */ (
      new Promise((resolve, reject) => {
        const timer = setTimeout(resolve, ms);
        signal.addEventListener('abort', () => {
          clearTimeout(timer);
          reject(signal.reason);
        });
      })
    );
  },
};
