import assert from 'node:assert/strict';
import test from 'node:test';
import { accessActions, hidePasswords, missingTarget, revokeOf, targetPattern, tokenCommand } from '../app/lib/accessacts.js';

test('a grant is revoked by the statement with the same privileges and target', () => {
  /** @type {[string, string][]} */
  const cases = [
    ['GRANT devs TO ann', 'REVOKE devs FROM ann'],
    ['GRANT INSERT, CREATE ON app.logs_* TO ann WITH GRANT OPTION', 'REVOKE INSERT, CREATE ON app.logs_* FROM ann'],
    ['GRANT SELECT ON app.logs TO "a TO ""b"""', 'REVOKE SELECT ON app.logs FROM "a TO ""b"""'],
    ['something else', ''],
  ];
  for (const [grant, revoke] of cases) assert.equal(revokeOf(grant), revoke);
});

test('names and texts in statements are quoted', () => {
  assert.equal(accessActions.createUser.statement('', { name: 'a"b', password: "it's" }), `CREATE USER "a""b" PASSWORD 'it''s'`);
  assert.equal(
    accessActions.createToken.statement('', { name: 't', scope: 'ingest', on: 'app.*', expires: '90d', note: "o'b" }),
    `CREATE TOKEN "t" FOR INGEST INTO app.* EXPIRES IN '90d' NOTE 'o''b'`,
  );
  assert.equal(
    accessActions.createToken.statement('', { name: 't', scope: 'query', on: 'app.x', expires: 'NEVER', note: '' }),
    `CREATE TOKEN "t" FOR QUERY ON app.x EXPIRES NEVER`,
  );
});

test('a target is a name, and not a part of a statement', () => {
  const pattern = new RegExp(`^(?:${targetPattern.pattern})$`, 'v');
  for (const good of ['app.logs', 'app.*', '*.*', 'PIPELINE nginx*', 'CLUSTER', 'DATABASE app']) assert.match(good, pattern);
  for (const bad of ['', 'a; DROP TABLE b', "a'b", 'a TO x', 'a(b)', 'a\nb']) assert.doesNotMatch(bad, pattern);
});

test('passwords are hidden where a statement is shown', () => {
  const { createUser, ownPassword } = accessActions;
  assert.equal(createUser.statement('', hidePasswords(createUser, { name: 'ann', password: 'secret' })), `CREATE USER "ann" PASSWORD '…'`);
  const shown = ownPassword.statement('', hidePasswords(ownPassword, { old: 'secret 1', password: 'secret 2' }));
  assert.ok(!shown.includes('secret'), shown);
});

test('the command for a new token names a table that its target covers', () => {
  const ingest = (on) => /db=(.*)&table=(.*)&pipe/.exec(tokenCommand('http://h', { scope: 'ingest', on }, 'cw_x')).slice(1);
  assert.deepEqual(ingest('shop.logs'), ['shop', 'logs']);
  assert.deepEqual(ingest('TABLE shop.logs_*'), ['shop', 'logs_app']);
  assert.deepEqual(ingest('logs'), ['public', 'logs']);
  assert.deepEqual(ingest('*.*'), ['public', 'app']);
  assert.deepEqual(ingest('DATABASE shop'), ['shop', 'app']);
  assert.ok(tokenCommand('http://h', { scope: 'ingest', on: 'a.b' }, 'cw_x').includes("-H 'Authorization: Bearer cw_x'"));
  assert.ok(tokenCommand('http://h', { scope: 'query', on: 'a.b' }, 'cw_x').includes(`'sql=SELECT * FROM "b" LIMIT 10'`));
  assert.ok(tokenCommand('http://h', { scope: 'query', on: 'a.*' }, 'cw_x').includes("'sql=SHOW TABLES'"));
});

test('values that are missing are marked in the statement that is shown', () => {
  const { createToken, createUser } = accessActions;
  assert.equal(createUser.statement('', hidePasswords(createUser, { name: '', password: '' })), `CREATE USER "…" PASSWORD '…'`);
  const values = { name: 't', scope: 'ingest', on: '', expires: '90d', note: '' };
  assert.equal(createToken.statement('', hidePasswords(createToken, values)), `CREATE TOKEN "t" FOR INGEST INTO … EXPIRES IN '90d'`);
});

test('a target that there is not is told', () => {
  const known = { tables: [{ db: 'public', name: 'app' }], pipelines: ['nginx'] };
  for (const target of ['', 'app', 'public.app', 'public.*', '*.*', 'TABLE app', 'DATABASE public', 'PIPELINE nginx', 'PIPELINE ng*', 'CLUSTER']) {
    assert.equal(missingTarget(target, known), '', target);
  }
  assert.equal(missingTarget('appp', known), 'There is no table public.appp yet.');
  assert.equal(missingTarget('shop.app', known), 'There is no table shop.app yet.');
  assert.equal(missingTarget('PIPELINE nginy', known), 'There is no pipeline nginy yet.');
});
