import test from 'node:test';
import assert from 'node:assert/strict';
import { createSaved } from '../app/stores/saved.js';

/** @param {string} owner @param {number} version @param {unknown} [value] */
const entry = (owner, version, value = { address: '/dashboard/explore' }) => ({
  kind: 'search',
  name: 'ord',
  version,
  owner,
  shared: owner === 'bob',
  updated: '',
  value,
});

/** @param {unknown[]} list */
async function savedOf(list) {
  /** @type {{path: string, method?: string, headers?: Record<string, string>}[]} */
  const sent = [];
  const api = {
    /** @param {any} request */
    async json(request) {
      if (!request.method) return { saved: list };
      sent.push(request);
      return {};
    },
  };
  const clock = { now: () => 0, wait: async () => {} };
  const saved = createSaved(/** @type {any} */ (api), clock);
  await saved.load();
  return { saved, sent };
}

test('values that are no addresses of the page are left out', async () => {
  const { saved } = await savedOf([entry('bob', 1, null), entry('bob', 2, { address: 7 }), entry('bob', 3, { address: 'https://evil.test' }), entry('bob', 4)]);
  assert.deepEqual(
    saved.list.value.value?.map((s) => s.version),
    [4],
  );
});

test('of a name that two users have, the own entry is changed', async () => {
  for (const list of [
    [entry('ann', 3), entry('bob', 4)],
    [entry('bob', 3), entry('ann', 4)],
  ]) {
    const { saved, sent } = await savedOf(list);
    const own = list.find((s) => s.owner === 'ann');
    assert.equal(saved.seen('ord', 'ann'), own);
    await saved.save('ord', '/dashboard/explore?t=app', false, 'ann');
    await saved.remove(/** @type {any} */ (own));
    assert.deepEqual(
      sent.map((s) => s.headers?.['If-Match']),
      [`"${own?.version}"`, `"${own?.version}"`],
    );
  }
});

test('without an own entry, that of another user is changed, and a new name is new', async () => {
  const { saved, sent } = await savedOf([entry('bob', 3)]);
  await saved.save('ord', '/dashboard/explore', true, 'ann');
  await saved.save('new', '/dashboard/explore', true, 'ann');
  assert.deepEqual(
    sent.map((s) => s.headers),
    [{ 'If-Match': '"3"' }, { 'If-None-Match': '*' }],
  );
});
