import assert from 'node:assert/strict';
import test from 'node:test';
import { numbersOf } from '../app/lib/clusteracts.js';
import { operationWords } from '../app/lib/clusterwords.js';
import { best, fits } from '../app/lib/fuzzy.js';

test('names are found by letters in their order, begins of words first', () => {
  const list = ['public.app', 'public.shop_audit', 'Pipelines', 'public.access_GET'].map((name) => ({ name }));
  const names = (/** @type {string} */ typed) => best(list, typed, 10).map((e) => e.name);
  assert.equal(names('app')[0], 'public.app');
  assert.equal(names('pip')[0], 'Pipelines');
  assert.deepEqual(names('zz'), []);
  assert.equal(names('').length, 4);
  assert.equal(fits('abc', 'acb'), null);
});

test('ten thousand names are searched at once', () => {
  const list = Array.from({ length: 10000 }, (_, i) => ({ name: `public.table_${i}_of_some_tenant` }));
  const begin = performance.now();
  assert.equal(best(list, 't99', 12).length, 12);
  assert.ok(performance.now() - begin < 500, 'a generous bound for a busy machine; 16 ms on an idle one');
});

test('operations in words', () => {
  assert.equal(operationWords({ kind: 'shard-move', subject: 'shard 6', shard: 6, from: 'n4', to: 'n2' }), 'Move shard 6 from n4 to n2');
  assert.equal(operationWords({ kind: 'node-drain', subject: 'node n3' }), 'Drain n3');
  assert.deepEqual(numbersOf('2, 3 4'), [2, 3, 4]);
});
