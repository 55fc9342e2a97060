import assert from 'node:assert/strict';
import { test } from 'node:test';
import { roleOf } from '../app/components/clusterview.js';
import { addNode, settingsOf } from '../app/lib/addnode.js';
import { offersOf, offersOnce } from '../app/lib/clusteracts.js';
import { adviceWords, lookOf, operationProgress, shortNames, toleranceWords } from '../app/lib/clusterwords.js';

test('the number of nodes that may fail in words', () => {
  const words = (/** @type {string} */ health, /** @type {number} */ n, limit = 'shard 2') =>
    toleranceWords({ health, failure_tolerance: n, limited_by: limit });
  assert.equal(words('ok', 1), 'Any one node can fail: nothing stops, and no row is lost.');
  assert.equal(words('ok', 2), 'Any 2 nodes can fail: nothing stops, and no row is lost.');
  assert.equal(words('ok', 0), 'If one node fails, shard 2 stops.');
  assert.equal(words('degraded', 0, 'the metadata group'), 'If one more node fails, the metadata group stops.');
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

test('a node that does not report is never shown as leading', () => {
  const shard = { leader: 'a', replicas: ['a', 'b', 'c'], learners: ['d'], unready: ['b'] };
  const letter = (/** @type {string} */ name, state = 'up') => roleOf(shard, { name, state })[0];
  assert.equal(letter('a'), 'L');
  for (const state of ['silent', 'stopped', 'down']) assert.deepEqual([letter('a', state), letter('c', state)], ['!', '!']);
  assert.equal(letter('b'), 'c'); // it answers, and is not up to date
  assert.deepEqual([letter('c'), letter('d'), letter('e')], ['r', 'c', '·']);
});

const config = `auth = "on"
metrics-open = false
trusted-proxies = ["10.1.0.0/16", "10.2.0.1"]
user-file = ""

[oidc]
  issuer = 'https://id.example.com/"x"'
  max-age = "1h0m0s"

[rpc]
  tls-cert = ""

[tls]
  cert = "/etc/cordwood/a cert.pem"
  client-user = "off"
`;

test('settings are read with the names of their groups', () => {
  const all = settingsOf(config);
  assert.deepEqual([all['metrics-open'], all['trusted-proxies'], all['oidc-issuer']], [false, '10.1.0.0/16,10.2.0.1', 'https://id.example.com/"x"']);
});

test('a new node checks users as the other nodes do', () => {
  const nodes = [
    { rpc_addr: '127.0.0.1:4001', state: 'up' },
    { rpc_addr: '10.0.0.2:4001', state: 'up' },
  ];
  const { command, files, local } = addNode({ nodes, auth: true, config });
  const flags = command.split(/ \\\n +| (?=--)/);
  for (const flag of ['--auth=on', '--metrics-open=false', "--trusted-proxies '10.1.0.0/16,10.2.0.1'", "--tls-cert '/etc/cordwood/a cert.pem'"]) {
    assert.ok(flags.includes(flag), `${flag} is missing in ${command}`);
  }
  assert.ok(flags.includes('--seeds 10.0.0.2:4001')); // the one that other machines reach
  assert.ok(!/user-file|oidc-max-age|client-user/.test(command), command); // as by default
  assert.deepEqual([files, local], [['cluster-secret', '/etc/cordwood/a cert.pem'], '']);
  const alone = addNode({ nodes: nodes.slice(0, 1), auth: false, config: '' });
  assert.equal(alone.local, '127.0.0.1:4001');
  assert.ok(!alone.command.includes('--auth'));
  const byCertificates = addNode({ nodes, auth: false, config: '[rpc]\n  tls-cert = "c.pem"\n  tls-key = "k.pem"\n  tls-ca = "ca.pem"\n' });
  assert.match(byCertificates.command, /--rpc-tls-ca ca\.pem --rpc-tls-cert c\.pem --rpc-tls-key k\.pem/);
  assert.ok(!byCertificates.command.includes('secret'));
});

test('a button stands beside the first problem that it mends', () => {
  const add = { actions: [{ kind: 'node-add' }] };
  const both = { actions: [{ kind: 'node-add' }, { kind: 'node-decommission', node: 'n4' }] };
  assert.deepEqual(
    offersOnce([add, both, add, {}]).map(({ offers }) => offers.map(({ act }) => act)),
    [['add-node'], ['decommission'], [], []],
  );
});

test('the advice to do nothing is a sentence', () => {
  assert.equal(adviceWords('nothing: the replicas are replaced later'), 'Nothing needs to be done: the replicas are replaced later.');
  assert.equal(adviceWords('nothing, if it has just started'), 'Nothing needs to be done, if it has just started.');
  assert.equal(adviceWords('start it again'), 'Start it again.');
});

test('a node that is drained does not look as one that is down', () => {
  assert.deepEqual(['up', 'draining', 'moving', 'down', 'silent', 'no leader', 'of a newer server'].map(lookOf), [
    'ok',
    'changes',
    'changes',
    'bad',
    'bad',
    'bad',
    'bad',
  ]);
});

test('an operation that is done does not say twice what it did', () => {
  const began = { created: '2026-01-05T10:00:00Z', updated: '2026-01-05T10:00:03Z', requested_by: 'ann', done_bytes: 0, total_bytes: 0, step: 'end' };
  const move = { ...began, kind: 'shard-move', state: 'done', reason: 'shard 2 went from node a to node b' };
  const now = Date.parse(began.updated);
  assert.equal(operationProgress(move, now, 'UTC'), 'done just now · took 3.0 s · requested by ann');
  assert.match(operationProgress({ ...move, state: 'failed', reason: 'the disk is full' }, now, 'UTC'), /· the disk is full ·/);
});
