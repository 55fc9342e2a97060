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
  const load = () => list.run(async (signal) => (await api.json({ path: `/v1/saved?kind=${kind}`, signal })).saved);
  const pathOf = (/** @type {string} */ name) => `/v1/saved/${kind}/${encodeURIComponent(name)}`;

  /** The condition under which something is changed: that it is still what is on screen. @param {string} name */
  function condition(name) {
    const known = list.value.value?.find((s) => s.name === name);
    return /** @type {Record<string, string>} */ (known ? { 'If-Match': `"${known.version}"` } : { 'If-None-Match': '*' });
  }

  return {
    list,
    changing,
    load,
    /**
     * Keeps an address under a name; one of that name is replaced.
     * @param {string} name
     * @param {string} address
     * @param {boolean} shared others see it too
     */
    async save(name, address, shared) {
      const path = pathOf(name) + (shared ? '?shared=true' : '');
      await changing.run((signal) => api.json({ path, method: 'PUT', body: { address }, headers: condition(name), signal }));
      await load();
      return changing.error.value === null;
    },
    /** Removes what has a name. Answers whether it did. @param {string} name */
    async remove(name) {
      await changing.run((signal) => api.json({ path: pathOf(name), method: 'DELETE', headers: condition(name), signal }));
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
      if (!address.startsWith('/dashboard/')) throw new Error('The link is invalid.'); // anybody may store a value
      return address;
    },
  };
}
