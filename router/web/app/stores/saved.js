// The values saved on the server: searches and statements by name, and the states behind short links.

import { createLatest } from './latest.js';

/** @typedef {{kind: string, name: string, version: number, owner: string, shared: boolean, updated: string, value: {address: string}}} Saved */

/**
 * @param {import('../lib/api.js').Api} api
 * @param {typeof import('./latest.js').clock} clock
 * @param {'search' | 'sql'} [kind]
 */
export function createSaved(api, clock, kind = 'search') {
  const list = /** @type {import('./latest.js').Latest<Saved[]>} */ (createLatest(clock));
  const changing = /** @type {import('./latest.js').Latest<unknown>} */ (createLatest(clock));
  // Anybody may store and share any value, so values that are no addresses of the page are left out.
  const load = () =>
    list.run(async (signal) =>
      (await api.json({ path: `/v1/saved?kind=${kind}`, signal })).saved.filter((/** @type {Saved} */ s) => isAddress(s.value?.address)),
    );
  const pathOf = (/** @type {string} */ name) => `/v1/saved/${kind}/${encodeURIComponent(name)}`;

  /** The condition under which something is changed: that it is still what is on screen. @param {Saved | undefined} known */
  const condition = (known) => /** @type {Record<string, string>} */ (known ? { 'If-Match': `"${known.version}"` } : { 'If-None-Match': '*' });

  /**
   * The entry that a user means by a name, as the server sees it: the own one or, without one, that of somebody else.
   * @param {string} name
   * @param {string} user who is signed in, or ''
   */
  function seen(name, user) {
    const same = list.value.value?.filter((s) => s.name === name) ?? [];
    return same.find((s) => s.owner === user) ?? same[0];
  }

  return {
    list,
    changing,
    load,
    seen,
    /**
     * Keeps an address under a name; one of that name is replaced.
     * @param {string} name
     * @param {string} address
     * @param {boolean} shared others see it too
     * @param {string} user who is signed in, or ''
     */
    async save(name, address, shared, user) {
      const path = pathOf(name) + (shared ? '?shared=true' : '');
      await changing.run((signal) => api.json({ path, method: 'PUT', body: { address }, headers: condition(seen(name, user)), signal }));
      await load();
      return changing.error.value === null;
    },
    /** Removes an entry of the list. Answers whether it did. @param {Saved} entry */
    async remove(entry) {
      await changing.run((signal) => api.json({ path: pathOf(entry.name), method: 'DELETE', headers: condition(entry), signal }));
      await load();
      return changing.error.value === null;
    },
    /** Keeps an address on the server, and returns a short one. @param {string} address */
    async shorten(address) {
      const { name } = await api.json({ path: '/v1/saved/link', body: { address } });
      return `/dashboard/s/${name}`;
    },
    /** Returns the address behind a short one. @param {string} name */
    async follow(name) {
      const { value } = await api.json({ path: `/v1/saved/link/${encodeURIComponent(name)}` });
      const address = String(value?.address ?? '');
      if (!isAddress(address)) throw new Error('The link is invalid.'); // anybody may store a value
      return address;
    },
  };
}

/** Reports whether a value is an address of the page. @param {unknown} value */
function isAddress(value) {
  return typeof value === 'string' && value.startsWith('/dashboard/');
}
