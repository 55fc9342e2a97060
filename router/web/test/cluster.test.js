import assert from 'node:assert/strict';
import { test } from 'node:test';
import { offersOf } from '../app/lib/clusteracts.js';
import { operationProgress, shortNames, toleranceWords } from '../app/lib/clusterwords.js';

test('the number of nodes that may fail in words', () => {
  const words = (/** @type {string} */ health, /** @type {number} */ n, limit = 'shard 2') =>
    toleranceWords({ health, failure_tolerance: n, limited_by: limit });
  assert.equal(words('ok', 1), 'Any node may fail.');
  assert.equal(words('ok', 2), 'Any 2 nodes may fail.');
  assert.equal(words('ok', 0), 'No node may fail: shard 2 would stop.');
  assert.equal(words('degraded', 0, 'the metadata group'), 'No further node may fail: the metadata group would stop.');
  assert.equal(words('broken', -1), 'Too much has failed: shard 2 does not work.');
  assert.equal(words('starting', 0), 'The first shards are being created.');
});

test('the progress and the end of an operation in words', () => {
  const began = { created: '2026-01-05T10:00:00Z', updated: '2026-01-05T10:00:30Z', reason: '', requested_by: 'ann', done_bytes: 0, total_bytes: 0 };
  const now = Date.parse('2026-01-05T10:02:00Z');
  const copies = { ...began, state: 'running', step: 'copy', done_bytes: 1 << 20, total_bytes: 4 << 20, eta_seconds: 40 };
  assert.equal(operationProgress(copies, now, 'UTC'), 'step copy · 1.0 MiB of 4.0 MiB · 40 s left · requested by ann');
  const done = { ...began, state: 'done', step: 'end', ended: '2026-01-05T10:01:00Z', reason: 'made shard 3', requested_by: 'cluster' };
  assert.equal(operationProgress(done, now, 'UTC'), 'done 1 min ago · took 1 min · made shard 3 · requested by the cluster');
  assert.match(operationProgress(done, now + 2 * 86400e3, 'UTC'), /^done at 2026-01-05 10:01:00 \(UTC\) · took 1 min · /);
  assert.match(operationProgress({ ...done, ended: began.created }, Date.parse(began.created), 'UTC'), /^done just now · made/);
});

test('the buttons of a problem', () => {
  const of = (/** @type {any[]} */ ...actions) => offersOf({ actions });
  assert.deepEqual(offersOf({}), []);
  assert.deepEqual(of({ kind: 'something-new' }), []); // of a newer server
  assert.deepEqual(of({ kind: 'node-decommission', node: 'n4' }), [{ name: 'Decommission n4…', act: 'decommission', given: { node: 'n4' } }]);
  assert.deepEqual(
    of({ kind: 'node-add' }, { kind: 'shard-move', node: 'n3' }).map(({ act, given }) => [act, given]),
    [
      ['add-node', {}],
      ['shard-move', { from: 'n3', shard: '' }],
    ],
  );
  assert.deepEqual(of({ kind: 'cancel', operation: 7 })[0].given, { operation: '7' });
});

test('names without the parts that all of them begin with', () => {
  assert.deepEqual(shortNames(['logs-eu-0', 'logs-eu-1', 'logs-eu-10']), ['…0', '…1', '…10']);
  assert.deepEqual(shortNames(['logs-eu-a1', 'logs-eu-a2']), ['…a1', '…a2']);
  assert.deepEqual(shortNames(['n1', 'n2']), ['n1', 'n2']);
  assert.deepEqual(shortNames(['logs-eu-0']), ['logs-eu-0']);
  assert.deepEqual(shortNames(['logs-eu', 'logs-eu-1']), ['…eu', '…eu-1']);
});
