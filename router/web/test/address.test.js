import assert from 'node:assert/strict';
import test from 'node:test';
import { joinNames, splitNames, unknownParts } from '../app/lib/url.js';
import { createRights } from '../app/stores/rights.js';

test('a list of names in an address keeps commas and quotes', () => {
  for (const names of [[], ['a'], ['a', 'b.c'], ['a,b', 'c'], ['say "x"', ',', '""', 'a b'], ['"'], ['a"b', 'a"b,c']]) {
    assert.deepEqual(splitNames(joinNames(names)), names);
  }
  assert.equal(joinNames(['a', 'b.c']), 'a,b.c');
  assert.deepEqual(splitNames('a,,b'), ['a', 'b']);
  assert.deepEqual(splitNames('"not closed,b'), ['"not closed', 'b']);
});

test('parameters and values that a page does not know are named', () => {
  const known = { t: null, view: (/** @type {string} */ text) => text === 'diff' };
  assert.deepEqual(unknownParts(new URLSearchParams('t=app&view=diff'), known), []);
  assert.deepEqual(unknownParts(new URLSearchParams('view=odd&x=1&x=2&constructor=1&view='), known), ['view=odd', 'x', 'constructor']);
});

test('rights are asked for together, once a minute, and anew for another user', async () => {
  let now = 0;
  /** @type {{privilege: string, object: string}[][]} */
  const asked = [];
  const fetch = /** @type {typeof globalThis.fetch} */ (
    async (_, how) => {
      asked.push(JSON.parse(String(how?.body)));
      return new Response(JSON.stringify({ allowed: asked[asked.length - 1].map(({ privilege }) => privilege === 'SELECT') }));
    }
  );
  const rights = createRights({ fetch, clock: { now: () => now } });
  assert.deepEqual(await Promise.all([rights.may(['SELECT', 'a']), rights.may(['MONITOR', 'CLUSTER']), rights.may(['SELECT', 'a'])]), [true, false, true]);
  assert.deepEqual(asked, [
    [
      { privilege: 'SELECT', object: 'a' },
      { privilege: 'MONITOR', object: 'CLUSTER' },
    ],
  ]);
  now = 59_999;
  await rights.may(['SELECT', 'a']);
  assert.equal(asked.length, 1);
  now = 60_000;
  await rights.may(['SELECT', 'a']);
  assert.equal(asked.length, 2);
  rights.forget();
  await rights.may(['SELECT', 'a']);
  assert.equal(asked.length, 3);
});

test('without an answer about rights the server decides', async () => {
  const fetch = /** @type {typeof globalThis.fetch} */ (async () => Promise.reject(new TypeError('no answer')));
  assert.equal(await createRights({ fetch, clock: { now: () => 0 } }).may(['SELECT', 'a']), true);
});
