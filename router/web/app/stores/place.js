// The address as a signal, and the only code that writes history.

import { computed, signal } from '../../vendor/core.js';
import { formatPlace, parsePlace } from '../lib/url.js';

/** @typedef {ReturnType<typeof createPlace>} PlaceStore */

/** The longest address, in characters, that stays in the address bar. Proxies refuse much longer ones. */
export const longestAddress = 6144;

/**
 * An address that is too long is kept on the server. The address bar then shows the short link to it, and the entry of
 * the history holds the long one, for going back and for a reload.
 * @param {Pick<Window, 'location' | 'history' | 'addEventListener'>} browser
 * @param {(address: string) => Promise<string>} shorten stores an address and returns the short link to it
 */
export function createPlace(browser, shorten) {
  const here = signal(read());
  browser.addEventListener('popstate', () => {
    here.value = read();
  });

  /** Returns the address of the page, also where the address bar shows a short link. @returns {string} */
  function address() {
    return browser.history.state?.address ?? browser.location.pathname + browser.location.search;
  }

  function read() {
    return parsePlace(new URL(address(), 'http://page'));
  }

  /**
   * Goes to an address; replace: without an entry in the history.
   * @param {string} to
   * @param {{replace?: boolean}} [how]
   */
  function go(to, how = {}) {
    if (to === address()) return;
    if (how.replace) browser.history.replaceState(null, '', to);
    else browser.history.pushState(null, '', to);
    here.value = read();
    if (to.length > longestAddress) void showShort(to);
  }

  /** Shows a short link in the place of a long address, unless the reader went on before it is there. @param {string} long */
  async function showShort(long) {
    try {
      const short = await shorten(long);
      if (address() === long) browser.history.replaceState({ address: long }, '', short);
    } catch {
      // The long address stays: this browser can use it.
    }
  }

  return {
    here,
    address,
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
