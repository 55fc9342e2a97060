import assert from 'node:assert/strict';
import test from 'node:test';
import { createPlace } from '../app/stores/place.js';
import { createPrefs } from '../app/stores/prefs.js';
import { createTail } from '../app/stores/tail.js';

const settle = () => new Promise((resolve) => setImmediate(resolve));

/** A tail of a table, what it asked for, and a function that sends it rows. @param {string} address */
function following(address) {
  const storage = { getItem: () => null, setItem() {} };
  const browser = { location: new URL(`http://h${address}`), history: { state: null, pushState() {}, replaceState() {} }, addEventListener() {} };
  const asked = [];
  let controller;
  const api = {
    send: async ({ path }) => {
      asked.push(path);
      return new Response(new ReadableStream({ start: (c) => (controller = c) }));
    },
    json: async ({ body }) => {
      asked.push(body);
      return { fields: [], time: 'ts', levels: null };
    },
  };
  const prefs = createPrefs(storage);
  const tail = createTail({ api, place: createPlace(browser, async () => ''), prefs, clock: { now: () => 1000, wait: () => Promise.resolve() } });
  const encoder = new TextEncoder();
  return {
    tail,
    prefs,
    asked,
    send: async (...ids) => {
      controller.enqueue(encoder.encode(ids.map((id) => JSON.stringify({ id, time: '', table: 'app', v: {} }) + '\n').join('')));
      await settle();
      await settle();
    },
  };
}

test('a held list keeps its rows when the ring drops them', async (t) => {
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
  assert.equal(shown(), 'abc'); // there is room
  assert.equal(tail.drawn.value.still, false);
  await send('d', 'e');
  await send('f');
  assert.equal(shown(), 'abc');
  assert.deepEqual([tail.drawn.value.still, tail.drawn.value.dropped, tail.fresh()], [true, 0, 4]);
  tail.release();
  assert.equal(shown(), 'def');
  assert.deepEqual([tail.drawn.value.still, tail.drawn.value.dropped], [false, 3]);
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
