import assert from 'node:assert/strict';
import test from 'node:test';
import { ApiError } from '../app/lib/api.js';
import { createPlace } from '../app/stores/place.js';
import { createPrefs } from '../app/stores/prefs.js';
import { createTail } from '../app/stores/tail.js';

const settle = () => new Promise((resolve) => setImmediate(resolve));

/**
 * A tail of a table, what it asked for, the times that it waited, and functions that send it rows and end its answer.
 * @param {string} address
 * @param {Pick<Storage, 'getItem' | 'setItem'>} [session]
 * @param {number} [missing] how often the server says that there is no such table
 */
function following(address, session, missing = 0) {
  const storage = { getItem: () => null, setItem() {} };
  const browser = { location: new URL(`http://h${address}`), history: { state: null, pushState() {}, replaceState() {} }, addEventListener() {} };
  const asked = [];
  const waited = [];
  const clock = { time: 1000 };
  let controller;
  let refusal = null;
  const api = {
    send: async ({ path }) => {
      asked.push(path);
      if (refusal) throw refusal;
      return new Response(new ReadableStream({ start: (c) => (controller = c) }));
    },
    json: async ({ body }) => {
      asked.push(body);
      if (missing-- > 0) throw new ApiError('no such table', { status: 400, body: { code: 4001 } });
      return { fields: [], time: 'ts', levels: null };
    },
  };
  const prefs = createPrefs(storage);
  const tail = createTail({
    api,
    place: createPlace(browser, async () => ''),
    prefs,
    clock: { now: () => clock.time, wait: async (ms) => void waited.push(ms) },
    session,
  });
  const encoder = new TextEncoder();
  return {
    tail,
    prefs,
    asked,
    waited,
    clock,
    refuse: (error) => void (refusal = error),
    end: async () => {
      controller.close();
      for (let i = 0; i < 4; i++) await settle();
    },
    send: async (...ids) => {
      controller.enqueue(encoder.encode(ids.map((id) => JSON.stringify({ id, time: '', table: 'app', v: {} }) + '\n').join('')));
      await settle();
      await settle();
    },
  };
}

test('a held list stands still, also when the ring drops its rows', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { tail, send } = following('/dashboard/tail?t=app');
  void tail.follow();
  await settle();
  await settle();
  tail.most.value = 3;
  const shown = () => {
    t.mock.timers.tick(200);
    return Array.from({ length: tail.drawn.value.count }, (_, i) => tail.at(i).id).join('');
  };
  await send('a', 'b');
  assert.equal(shown(), 'ab');
  tail.hold();
  await send('c');
  assert.equal(shown(), 'ab'); // although there is room
  assert.equal(tail.drawn.value.still, false);
  await send('d', 'e');
  await send('f');
  assert.equal(shown(), 'ab');
  assert.deepEqual([tail.drawn.value.still, tail.drawn.value.dropped, tail.fresh()], [true, 0, 4]);
  tail.release();
  assert.equal(shown(), 'def');
  assert.deepEqual([tail.drawn.value.still, tail.drawn.value.dropped], [false, 3]);
  tail.most.value = 10;
  tail.hold();
  await send('g');
  tail.mark(); // below all that has come
  assert.match(shown(), /^defgmark /);
  assert.equal(tail.fresh(), 0);
  await send('h');
  assert.match(shown(), /^defgmark [^h]*$/);
  assert.equal(tail.fresh(), 1);
});

test('a tail asks with the columns that were chosen, those of the address before those that are kept', async () => {
  const { tail, prefs, asked } = following('/dashboard/tail?t=app&q=x&level=grade');
  prefs.roles.set('public.app', { message: 'note', level: 'lvl' });
  void tail.follow();
  await settle();
  await settle();
  assert.deepEqual(asked[0], { db: 'public', tables: ['app'], message_column: 'note', level_column: 'grade' });
  assert.equal(asked[1], '/v1/tail?shape=row&db=public&table=app&search=x&message_column=note&level_column=grade');
});

test('a search that was typed and not run survives a connection that is made again, and a reload', async () => {
  const kept = new Map();
  const session = { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => void kept.set(key, value) };
  const { tail } = following('/dashboard/tail?t=app&q=old', session);
  void tail.follow();
  assert.equal(tail.draft.value, 'old');
  tail.draft.value = 'being typed';
  void tail.follow('30s'); // the tab was hidden for a while
  assert.equal(tail.draft.value, 'being typed');
  tail.stop();
  const again = following('/dashboard/tail?t=app&q=old', session).tail;
  void again.follow();
  assert.equal(again.draft.value, 'being typed');
  again.stop();
  const other = following('/dashboard/tail?t=app&q=other', session).tail;
  void other.follow();
  assert.equal(other.draft.value, 'other');
  other.stop();
});

test('each time a server ends a tail, the page asks again after a second', async () => {
  const { tail, waited, end } = following('/dashboard/tail?t=app');
  void tail.follow();
  await settle();
  await settle();
  for (let i = 0; i < 3; i++) await end();
  tail.stop();
  assert.deepEqual(waited, [1000, 1000, 1000]);
});

test('a table that is not there yet is waited for, and its first rows are asked for', async () => {
  const { tail, asked, waited } = following('/dashboard/tail?t=later', undefined, 2);
  void tail.follow();
  assert.equal(tail.isMissing(), false);
  for (let i = 0; i < 6; i++) await settle();
  assert.deepEqual(waited, [2000, 2000]);
  assert.equal(tail.isMissing(), false);
  assert.equal(asked[asked.length - 1], '/v1/tail?shape=row&db=public&table=later&since=4s');
  tail.stop();
});

test('the rate is 0 when no row has come for a while', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { tail, send, clock } = following('/dashboard/tail?t=app');
  void tail.follow();
  await settle();
  await settle();
  clock.time += 1000;
  await send('a', 'b');
  t.mock.timers.tick(200);
  assert.equal(tail.rate.value, 2);
  t.mock.timers.tick(3000);
  assert.equal(tail.rate.value, 0);
  tail.stop();
});

test('a search with an unknown field ends the tail, and names that it may mean can take its place', async () => {
  const { tail, asked, refuse } = following('/dashboard/tail?t=app&q=failed%20lvl:x');
  refuse(new ApiError('no field lvl', { status: 400, body: { code: 4002, at: { offset: 7, length: 3 }, nearest: ['level'] } }));
  void tail.follow();
  for (let i = 0; i < 4; i++) await settle();
  assert.deepEqual([tail.stopped(), tail.ended.value, tail.nearest.value], [true, 'no field lvl', ['level']]);
  assert.equal(tail.replaceFault('level'), 'failed level:x');
  assert.equal(asked.length, 2); // it is not asked again
  refuse(null);
  void tail.follow();
  for (let i = 0; i < 4; i++) await settle();
  assert.deepEqual([tail.stopped(), tail.nearest.value], [false, []]);
  tail.stop();
});
