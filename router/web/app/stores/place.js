// The address as a signal, and the only code that writes history.

import { computed, signal } from '../../vendor/core.js';
import { formatPlace, parsePlace } from '../lib/url.js';

/** @typedef {ReturnType<typeof createPlace>} PlaceStore */

/** @param {Pick<Window, 'location' | 'history' | 'addEventListener'>} browser */
export function createPlace(browser) {
  const here = signal(parsePlace(browser.location));
  browser.addEventListener('popstate', () => {
    here.value = parsePlace(browser.location);
  });

  /**
   * Goes to an address; replace: without an entry in the history.
   * @param {string} address
   * @param {{replace?: boolean}} [how]
   */
  function go(address, how = {}) {
    if (address === browser.location.pathname + browser.location.search) return;
    if (how.replace) browser.history.replaceState(null, '', address);
    else browser.history.pushState(null, '', address);
    here.value = parsePlace(browser.location);
  }

  return {
    here,
    go,
    page: computed(() => here.value.page || 'explore'),
    /**
     * @param {string} page
     * @param {Record<string, string | string[] | undefined>} values
     * @param {Record<string, string>} [defaults]
     * @param {{replace?: boolean}} [how]
     */
    set: (page, values, defaults, how) => go(formatPlace(page, values, defaults), how),
  };
}
