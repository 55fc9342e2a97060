import assert from 'node:assert/strict';
import test from 'node:test';
import { createApi } from '../app/lib/api.js';
import { createRights } from '../app/stores/rights.js';
import { createSignIn, credentialsOf } from '../app/stores/signin.js';

const settle = () => new Promise((resolve) => setImmediate(resolve));
const token = `cw_0123456789_${'a'.repeat(36)}`;

test('a form has a name and a password, or a token in either field', () => {
  /** @type {[Record<string, string>, object][]} */
  const cases = [
    [
      { user: 'ann', password: ' x ' },
      { user: 'ann', password: ' x ' },
    ],
    [{ token: ` ${token}\n` }, { token }],
    [{ user: 'ann', password: token }, { token }],
    [
      { user: 'ann', password: 'cw_short' },
      { user: 'ann', password: 'cw_short' },
    ],
  ];
  for (const [fields, want] of cases) assert.deepEqual(credentialsOf(new Map(Object.entries(fields))), want);
});

test('a refused token is explained in the words of the server, a refused password without them', async () => {
  const answers = { error: 'Token cw_0123456789 is not valid' };
  const refuse = /** @type {typeof fetch} */ (async () => new Response(JSON.stringify(answers), { status: 401 }));
  const signIn = createSignIn({ fetch: refuse, clock: { now: () => 0 }, lastUser: { value: '' } });
  await signIn.enter({ token });
  assert.equal(signIn.wrong.value, answers.error);
  await signIn.enter({ user: 'ann', password: 'x' });
  assert.equal(signIn.wrong.value, 'Wrong name or password.');
});

test('a request that was refused before somebody signed in does not ask again when its refusal arrives', async () => {
  const session = { user: 'ann', auth: 'session' };
  const fetchSession = /** @type {any} */ (async () => new Response(JSON.stringify(session)));
  const signIn = createSignIn({ fetch: fetchSession, clock: { now: () => 0 }, lastUser: { value: '' } });
  /** @type {((answer: Response) => void)[]} */
  const answers = [];
  const fetch = /** @type {any} */ (() => new Promise((resolve) => answers.push(resolve)));
  const api = createApi({ fetch, signIn });
  const refused = () => new Response('{}', { status: 401 });
  const [early, late] = [api.json({ path: '/early' }), api.json({ path: '/late' })];
  answers[0](refused());
  await settle();
  assert.ok(signIn.open.value);
  await signIn.enter({ user: 'ann', password: 'x' });
  assert.ok(!signIn.open.value);
  answers[1](refused());
  await settle();
  assert.ok(!signIn.open.value);
  assert.equal(answers.length, 4); // both are sent again
  answers.slice(2).forEach((answer) => answer(new Response('{"is":"there"}')));
  assert.deepEqual([await early, await late], [{ is: 'there' }, { is: 'there' }]);
});

test('a server with an OpenID Connect provider says so to whom it refuses', async () => {
  for (const says of [true, false]) {
    const refuse = /** @type {typeof fetch} */ (async () => new Response('{}', { status: 401, headers: says ? { 'x-svc-oidc': '1' } : {} }));
    const signIn = createSignIn({ fetch: refuse, clock: { now: () => 0 }, lastUser: { value: '' } });
    await signIn.load();
    assert.equal(signIn.oidc.value, says);
  }
});

test('whether the user may store a pipeline is read from their grants', async () => {
  /** @param {string[]} grants */
  const may = (grants) => {
    const fetch = /** @type {any} */ (async () => ({ ok: true, json: async () => ({ grants }) }));
    return createRights({ fetch, clock: { now: () => 0 } }).mayOnAnyPipeline('WRITE');
  };
  assert.equal(await may(['ALL ON *.*', 'ALL ON PIPELINE *', 'ALL ON CLUSTER']), true);
  assert.equal(await may(['ALL ON *.*']), false);
  assert.equal(await may(['SELECT ON public.app', 'USE, WRITE ON PIPELINE nginx*']), true);
  assert.equal(await may(['MONITOR, OPERATE ON CLUSTER', 'READ ON PIPELINE *', 'SELECT ON "a WRITE ON PIPELINE b".c']), false);
});
