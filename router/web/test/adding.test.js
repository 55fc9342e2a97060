import assert from 'node:assert/strict';
import test from 'node:test';
import { ApiError } from '../app/lib/api.js';
import { createAdding } from '../app/stores/adding.js';

const settle = () => new Promise((resolve) => setImmediate(resolve));

/**
 * A page that waits for rows of a table.
 * @param {number} rows in the table; negative: there is no table
 */
function waiting(rows) {
  const table = { rows };
  const tails = [];
  const waits = [];
  const api = {
    sql: async () => {
      if (table.rows < 0) throw new ApiError('no such table', { status: 400, body: { code: 4001 } });
      return { rows: [[table.rows]] };
    },
    send: async () => {
      if (table.rows < 0) throw new ApiError('no such table', { status: 400, body: { code: 4001 } });
      return new Response(new ReadableStream({ start: (c) => tails.push(c) }));
    },
    json: async ({ body }) => ({ rows: Array.from({ length: Math.min(body.limit, table.rows) }, (_, i) => ({ id: `stored ${i}` })) }),
  };
  const clock = { now: () => 0, wait: () => new Promise((resolve) => waits.push(resolve)) };
  const adding = createAdding({ api, clock });
  void adding.follow('public', 'app');
  return {
    adding,
    /** More rows come, and the tail sends them. */
    arrive(n) {
      table.rows = Math.max(0, table.rows) + n;
      const lines = Array.from({ length: n }, (_, i) => `{"id":"${table.rows} ${i}"}\n`).join('');
      tails.at(-1)?.enqueue(new TextEncoder().encode(lines));
    },
    breakTail: () => tails.pop().error(new TypeError('broken')),
    /** Ends all pauses. */
    async later() {
      for (let i = 0; i < 5; i++) await settle();
      waits.splice(0).forEach((end) => end());
      for (let i = 0; i < 5; i++) await settle();
    },
  };
}

test('the rows that create the table count, before there is a tail', async () => {
  const page = waiting(-1);
  await page.later();
  assert.equal(page.adding.count.value, 0);
  page.arrive(3);
  await page.later();
  assert.equal(page.adding.count.value, 3);
  assert.deepEqual(
    page.adding.rows.value.map((row) => row.id),
    ['stored 2', 'stored 1', 'stored 0'],
  );
});

test('all rows of a table that was not there a moment ago count', async () => {
  const page = waiting(2);
  void page.adding.follow('public', 'app', { fresh: true });
  await page.later();
  assert.equal(page.adding.count.value, 2);
});

test('rows from before do not count, and none counts twice when the tail breaks', async () => {
  const page = waiting(5);
  await page.later();
  page.arrive(2);
  await page.later();
  assert.equal(page.adding.count.value, 2);
  assert.equal(page.adding.rows.value.length, 2);
  page.breakTail();
  page.arrive(4); // while there is no tail
  await page.later();
  assert.equal(page.adding.count.value, 6);
  page.arrive(1);
  await page.later();
  await page.later();
  assert.equal(page.adding.count.value, 7);
});
