import assert from 'node:assert/strict';
import test from 'node:test';
import { ApiError, createApi, curlOf } from '../app/lib/api.js';
import { shellWord } from '../app/lib/format.js';
import { readLines } from '../app/lib/ndjson.js';
import { createExplore } from '../app/stores/explore.js';
import { createLastRows } from '../app/stores/lastrows.js';
import { createLatest } from '../app/stores/latest.js';
import { createPlace } from '../app/stores/place.js';
import { createPrefs } from '../app/stores/prefs.js';
import { createReload } from '../app/stores/reload.js';
import { createRejects, replayWords, groupReasons } from '../app/stores/rejects.js';
import { createSql } from '../app/stores/sql.js';

const clock = { now: () => 1000, wait: () => Promise.resolve() };
const settle = () => new Promise((resolve) => setImmediate(resolve));

test('a late answer is dropped', async () => {
  const latest = createLatest(clock);
  let answerFirst;
  const first = latest.run(() => new Promise((resolve) => (answerFirst = resolve)));
  await latest.run(async () => 'second');
  answerFirst('first');
  assert.equal(await first, undefined); // who waits for it goes no further
  assert.equal(latest.value.value, 'second');
  assert.equal(latest.since.value, 0);
});

test('an error stays beside the old value, and busy servers are asked again, at most five times', async () => {
  const latest = createLatest(clock);
  await latest.run(async () => 'old');
  let calls = 0;
  await latest.run(async () => {
    calls++;
    throw new ApiError('busy', { status: 503, retryAfter: 1 });
  });
  assert.equal(calls, 6);
  assert.equal(latest.value.value, 'old');
  assert.equal(latest.error.value.status, 503);
  calls = 0;
  await latest.run(async () => {
    calls++;
    throw new ApiError('wrong', { status: 400 });
  });
  assert.equal(calls, 1);
  await latest.run(async () => 'new');
  assert.equal(latest.error.value, null);
});

test('an answer about something else does not stay while the new one is loading', async () => {
  const latest = createLatest(clock);
  assert.equal(await latest.run(async () => 'of a', 'a'), 'of a');
  /** @type {(answer: string) => void} */
  let answer;
  const asked = () => latest.run(() => new Promise((resolve) => (answer = resolve)), 'b');
  const first = asked();
  assert.equal(latest.value.value, null);
  answer('of b');
  assert.equal(await first, 'of b');
  const again = asked();
  assert.equal(latest.value.value, 'of b');
  answer('of b again');
  await again;
  await latest.run(async () => {
    throw new ApiError('wrong', { status: 400 });
  }, 'c');
  assert.deepEqual([latest.value.value, latest.error.value.status], [null, 400]);
});

test('a replay that another one replaced says nothing more', async () => {
  /** @type {((reason: unknown) => void)[]} */
  const refuse = [];
  const send = (/** @type {{signal: AbortSignal}} */ { signal }) =>
    new Promise((_, reject) => {
      refuse.push(reject);
      signal.addEventListener('abort', () => reject(signal.reason));
    });
  const rejects = createRejects(/** @type {any} */ ({ api: { send }, clock, counted: {} }));
  const of = { pipeline: 'p', table: '', kind: '', from: '', to: '', toPipeline: '', toTable: '' };
  const tried = rejects.send(of, true);
  const sent = rejects.send(of, false);
  await tried;
  assert.deepEqual([rejects.replay.value.dry, rejects.replay.value.error], [false, '']);
  refuse[1](new ApiError('busy', { status: 503 }));
  await sent;
  assert.equal(rejects.replay.value.error, 'busy');
});

test('errors of the API keep their parts', async () => {
  const body = { code: 4002, error: 'no field', at: { offset: 1, length: 2 }, nearest: ['level'] };
  const api = createApi({ fetch: async () => new Response(JSON.stringify(body), { status: 400, headers: { 'retry-after': '3' } }) });
  await assert.rejects(api.json({ path: '/x' }), (error) => {
    assert.deepEqual([error.code, error.at, error.nearest, error.retryAfter], [4002, body.at, ['level'], 3]);
    return true;
  });
  assert.equal(curlOf({ path: '/v1/sql', form: { sql: "it's" } }, 'http://h', ''), `curl 'http://h/v1/sql' --data-urlencode 'sql=it'\\''s'`);
  assert.equal(curlOf({ path: '/x', text: '@/etc/passwd' }, 'http://h', ''), `curl 'http://h/x' --data-raw '@/etc/passwd'`);
  assert.equal(curlOf({ path: '/x' }, 'http://h', "ann's"), `curl 'http://h/x' -u 'ann'\\''s':"$CORDWOOD_PASSWORD"`);
  assert.equal(shellWord('public'), 'public');
  assert.equal(shellWord("x;id'"), `'x;id'\\'''`);
});

/** A browser with one address, and a server that records its requests. */
function fixture(search) {
  const entries = [];
  const location = { pathname: '/dashboard/explore', search };
  const write = (kind) => (_state, _title, address) => {
    entries.push([kind, address]);
    const url = new URL(address, 'http://h');
    Object.assign(location, { pathname: url.pathname, search: url.search });
  };
  const browser = { location, history: { pushState: write('push'), replaceState: write('replace') }, addEventListener() {} };
  const stored = new Map();
  const prefs = createPrefs({ getItem: (k) => stored.get(k) ?? null, setItem: (k, v) => stored.set(k, v) });
  prefs.zone.value = 'UTC';
  const asked = [];
  const range = { from: '2026-01-05T10:00:00Z', to: '2026-01-05T11:00:00Z' };
  const answers = {
    fields: { fields: [{ name: 'level', role: 'level', fill: 1, unique: 0.01, rank: 1 }], time: 'ts', levels: 'text' },
    compile: { sql: 'SELECT 1' },
    hits: { total: 3, series: [], times: [] },
    facets: { fields: [] },
  };
  const api = {
    json: async ({ path, body }) => {
      const name = path.replace('/v1/explore/', '');
      asked.push([name, body]);
      if (name !== 'rows') return { range, ...answers[name] };
      const n = body.cursor ? Number(body.cursor) : 0;
      const rows = Array.from({ length: 200 }, (_, i) => ({ id: `r${n + i}`, time: '', table: 't', v: {} }));
      return { range, rows, next: n < 400 ? String(n + 200) : null };
    },
  };
  const place = createPlace(browser, async () => '/dashboard/s/x');
  const session = new Map();
  const storage = { getItem: (k) => session.get(k) ?? null, setItem: (k, v) => session.set(k, v) };
  return { explore: createExplore({ api, place, prefs, clock, session: storage }), asked, entries, place };
}

test('a run asks for fields and rows at once, then for hits, then for the values of open fields, all of one range', async () => {
  const { explore, asked } = fixture('?t=app&q=failed');
  await explore.run();
  assert.deepEqual(
    asked.map(([name]) => name),
    ['fields', 'rows', 'compile', 'hits', 'facets'],
  );
  const facets = asked[4][1];
  assert.deepEqual([facets.from, facets.to, facets.query, facets.tables], ['2026-01-05T10:00:00Z', '2026-01-05T11:00:00Z', 'failed', ['app']]);
  assert.equal(explore.total.value, 3);
});

test('hits and the statement have the range of the rows, and what the address says without a meaning is ignored', async () => {
  const { explore, asked } = fixture('?t=app&order=bogus&from=bogus&to=2026-01-05&view=odd&by=nobody&cols=nothing,level&wrong=1');
  await explore.run();
  for (const name of ['hits', 'compile', 'facets']) {
    const body = asked.find(([asks]) => asks === name)[1];
    assert.deepEqual([name, body.from, body.to], [name, '2026-01-05T10:00:00Z', '2026-01-05T11:00:00Z']);
  }
  const [, rows] = asked.find(([asks]) => asks === 'rows');
  assert.deepEqual([rows.from, rows.to, rows.order], ['-1h', null, 'newest']);
  assert.equal(asked.find(([asks]) => asks === 'hits')[1].by, 'level');
  assert.equal(explore.state.value.view, 'rows');
  assert.deepEqual(explore.cols.value, ['level']);
  assert.deepEqual(explore.ignored.value, ['order=bogus', 'from=bogus', 'to=2026-01-05', 'view=odd', 'wrong']);
  assert.deepEqual(explore.missingFields.value, ['by=nobody', 'cols=nothing']);
});

test('a range without a begin is the last hour, or the hour before its end', async () => {
  for (const [search, from, to] of [
    ['?t=app', '-1h', null],
    ['?t=app&to=-30m', '-1h', '-30m'],
    ['?t=app&to=-1h', '-2h', '-1h'],
    ['?t=app&from=now&to=-3h', '-4h', '-3h'],
    ['?t=app&from=-1h&to=-3h', '-1h', '-3h'], // as it is written: the server says what is wrong
    ['?t=app&to=2026-01-05T10:00:00Z', '2026-01-05T09:00:00.000Z', '2026-01-05T10:00:00Z'],
  ]) {
    const { explore, asked } = fixture(search);
    await explore.run();
    const [, rows] = asked.find(([asks]) => asks === 'rows');
    assert.deepEqual([rows.from, rows.to], [from, to], search);
  }
});

test('the next page is asked for once, with the cursor', async () => {
  const { explore, asked } = fixture('?t=app');
  await explore.run();
  explore.see(0, 40);
  assert.equal(asked.filter(([name]) => name === 'rows').length, 1);
  explore.see(160, 200);
  explore.see(161, 200);
  await settle();
  const rows = asked.filter(([name]) => name === 'rows');
  assert.deepEqual(
    rows.map(([, body]) => body.cursor),
    [undefined, '200'],
  );
  assert.equal(explore.list.value.count, 400);
});

test('what is typed stays until another search runs, and clicks edit it', async () => {
  const { explore, place } = fixture('?t=app&q=failed');
  await explore.run();
  explore.draft.value = 'failed level:error';
  explore.set({ from: '-3h' });
  await explore.run();
  assert.deepEqual([explore.state.value.q, explore.draft.value], ['failed', 'failed level:error']);
  explore.only('host=a');
  assert.equal(explore.state.value.q, 'failed level:error host=a');
  await explore.run();
  explore.draft.value = 'failed (';
  explore.only('host=b');
  assert.equal(explore.state.value.q, 'failed level:error host=a host=b', 'what is no search is not edited');
  await explore.run();
  assert.equal(explore.draft.value, 'failed level:error host=a host=b');

  place.go('/dashboard/tail?t=app&q=level:warn'); // another page changes the search, and this one comes back to it
  place.go('/dashboard/explore?t=app&q=level:warn');
  explore.comeBack();
  explore.comeBack();
  await explore.run();
  assert.equal(explore.draft.value, 'level:warn');
});

test('clicks edit the search text, and what changes the result is an entry in the history', async () => {
  const { explore, entries } = fixture('?t=app&q=failed');
  explore.only('host=a');
  explore.without('host=a');
  assert.deepEqual(
    entries.map(([kind, address]) => [kind, new URL(address, 'http://h').searchParams.get('q')]),
    [
      ['push', 'failed host=a'],
      ['push', 'failed -host=a'],
    ],
  );
  explore.set({ hide: 'hist' }, { replace: true });
  assert.equal(entries[2][0], 'replace');
});

test('the text of the address is open before anything is drawn, and each later one in a tab', () => {
  const location = { pathname: '/dashboard/sql', search: '?q=SELECT+1' };
  const go = (address) => Object.assign(location, { pathname: address.split('?')[0], search: address.slice(address.indexOf('?')) });
  const browser = { location, history: { pushState: (_, __, a) => go(a), replaceState: (_, __, a) => go(a) }, addEventListener() {} };
  const place = createPlace(browser, async () => '');
  const sql = createSql({
    api: createApi({ fetch: async () => new Response('{}') }),
    place,
    storage: { getItem: () => null, setItem() {} },
    clock,
    history: { value: [] },
  });
  const texts = () => sql.tabs.value.map((t) => t.text.value);
  assert.deepEqual([texts(), sql.tab.value.text.value], [['SELECT 1'], 'SELECT 1']);
  place.go('/dashboard/sql?q=SELECT+2');
  assert.deepEqual([texts(), sql.tab.value.text.value], [['SELECT 1', 'SELECT 2'], 'SELECT 2']);
  place.go('/dashboard/sql?q=SELECT+1');
  assert.deepEqual([texts().length, sql.at.value], [2, 0]);
  place.go('/dashboard/explore?q=level:error'); // the same parameter of another page
  assert.equal(texts().length, 2);
});

/** A browser whose history has one entry, with its state. */
function oneEntry(pathname, search = '') {
  const location = { pathname, search };
  const history = { state: null, pushState: write, replaceState: write };
  function write(state, _title, address) {
    const url = new URL(address, 'http://h');
    history.state = state;
    Object.assign(location, { pathname: url.pathname, search: url.search });
  }
  return { location, history, addEventListener() {} };
}

test('a long address is kept on the server; the address bar shows the short link, the page the search', async () => {
  const browser = oneEntry('/dashboard/explore');
  const kept = [];
  const shorten = async (address) => (kept.push(address), '/dashboard/s/abc');
  const place = createPlace(browser, shorten);
  const q = 'x'.repeat(7000);
  place.set('explore', { t: 'app', q });
  assert.equal(place.here.value.params.get('q'), q);
  await settle();
  assert.deepEqual(kept, [`/dashboard/explore?t=app&q=${q}`]);
  assert.deepEqual([browser.location.pathname, place.address()], ['/dashboard/s/abc', kept[0]]);
  const again = createPlace(browser, shorten); // a reload
  assert.deepEqual([again.page.value, again.here.value.params.get('q')], ['explore', q]);
  again.set('explore', { t: 'app', q: `${q}y` });
  again.set('explore', { t: 'app' }); // before the server has answered
  await settle();
  assert.equal(browser.location.search, '?t=app');
});

test('a long address stays if the server does not keep it', async () => {
  const browser = oneEntry('/dashboard/explore');
  const place = createPlace(browser, () => Promise.reject(new Error('no')));
  place.set('explore', { q: 'x'.repeat(7000) });
  await settle();
  assert.equal(browser.location.search.length, 7003);
});

test('what was typed, and the row at the top, are there after a reload of the same search, once', () => {
  const stored = new Map();
  const storage = { getItem: (k) => stored.get(k) ?? null, setItem: (k, v) => stored.set(k, v) };
  const first = createReload(storage, () => 'a');
  assert.equal(first.take('draft'), null);
  first.keep('draft', 'half');
  first.keep('top', 'r7');
  const second = createReload(storage, () => 'a');
  assert.deepEqual([second.take('draft'), second.take('draft'), second.take('top')], ['half', null, 'r7']);
  assert.equal(createReload(storage, () => 'b').take('top'), null);
});

test('newest rows are asked for of the tables in sight, three at a time, each once a minute', async () => {
  let [under, most] = [0, 0];
  const asked = [];
  const json = async ({ body }) => {
    most = Math.max(most, ++under);
    asked.push(body.tables[0]);
    await settle();
    under--;
    if (body.tables[0] === 't3') throw new ApiError('busy', { status: 503 });
    return { last_row: body.tables[0] === 't2' ? null : '2026-01-05T10:00:00Z' };
  };
  const tables = Array.from({ length: 8 }, (_, i) => ({ db: 'public', name: `t${i}` }));
  const last = createLastRows({ json }, clock);
  const scrolled = last.see(tables.slice(0, 2)); // gone before anything is asked
  await Promise.all([scrolled, last.see(tables.slice(2))]);
  assert.deepEqual([asked.sort(), most], [['t2', 't3', 't4', 't5', 't6', 't7'], 3]);
  assert.deepEqual([last.of(tables[2]), last.of(tables[3]), last.of(tables[4])], ['', undefined, '2026-01-05T10:00:00Z']);
  await last.see(tables.slice(2));
  assert.deepEqual(asked.slice(6), ['t3']);
});

test('a column may have the name of something that objects inherit', () => {
  const { explore } = fixture('?t=app');
  assert.deepEqual([explore.widths.value.constructor, explore.widths.value['__proto__']], [undefined, undefined]);
  explore.widen('constructor', 80);
  explore.widen('__proto__', 90);
  assert.deepEqual([explore.widths.value.constructor, explore.widths.value['__proto__'], explore.widths.value.toString], [80, 90, undefined]);
});

test('values of a row inherit nothing, whatever its fields are called', async () => {
  const text = '{"rows":[{"id":"1","v":{"a":1,"__proto__":"p"},"cut":{"a":9}},{"id":"2","v":{"constructor":"c"}}]}';
  const api = createApi({ fetch: async () => new Response(text) });
  const { rows } = await api.json({ path: '/v1/explore/rows', body: {} });
  assert.deepEqual([rows[0].v.constructor, rows[0].v['__proto__'], rows[0].v.toString, rows[0].v.a], [undefined, 'p', undefined, 1]);
  assert.deepEqual([rows[1].v.constructor, rows[1].v['__proto__']], ['c', undefined]);
  assert.deepEqual([rows[0].cut.constructor, rows[0].cut.a], [undefined, 9]);
  const { values } = (await readLines(new Blob(['{"id":"1","v":{"a":1}}\n']).stream()).next()).value;
  assert.deepEqual([values[0].v.toString, values[0].v.a], [undefined, 1]);
});

test('a cancelled statement leaves neither the answer nor the error of the one before', async () => {
  const places = [];
  const api = {
    sql: (statement, { signal }) => (statement === 'SELECT 42' ? Promise.resolve({ rows: [[42]] }) : waitFor(signal)),
  };
  const waitFor = (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(new DOMException('aborted', 'AbortError'))));
  const storage = { getItem: () => null, setItem: () => {} };
  const place = {
    here: { value: { params: new URLSearchParams() } },
    page: { value: 'sql' },
    set: (...args) => places.push(args),
  };
  const sql = createSql({ api, place, storage, clock, history: { value: [] } });
  await sql.run('SELECT 42');
  const { latest } = sql.tab.value;
  assert.deepEqual([latest.value.value.rows, latest.cancelled.value], [[[42]], false]);
  const long = sql.run('SELECT count(*) FROM a, b');
  assert.equal(latest.value.value, null);
  latest.cancel();
  await long;
  assert.deepEqual([latest.value.value, latest.error.value, latest.cancelled.value], [null, null, true]);
  await sql.run('SELECT 42');
  assert.equal(latest.cancelled.value, false);
});

test('statements that ran are kept, but not those with a password; the newest is first, and each is there once', async () => {
  const history = { value: [] };
  const texts = () => history.value.map((run) => run.text);
  const addresses = [];
  const place = { here: { value: { params: new URLSearchParams() } }, page: { value: 'sql' }, set: (_, { q }) => addresses.push(q) };
  const api = {
    sql: async (statement) => {
      if (statement === 'SELECT 2') throw new Error('no');
      if (statement === 'SELECT 3') throw new DOMException('', 'AbortError');
      return { rows: [] };
    },
  };
  const sql = createSql({ api, place, storage: { getItem: () => null, setItem() {} }, clock, history });
  for (const text of ['SELECT 1', 'SELECT 3', 'SELECT 2', "ALTER USER ann PASSWORD 'secret'", 'SELECT 1', 'x'.repeat(20000)]) {
    sql.write(text);
    await sql.run(text);
  }
  assert.deepEqual(texts(), ['SELECT 1', 'SELECT 2', 'SELECT 3']);
  assert.deepEqual(
    history.value.map((run) => [run.failed, run.cancelled]),
    [
      [false, false],
      [true, false],
      [false, true],
    ],
  );
  assert.ok(history.value.every((run) => run.at > 0 && run.ms >= 0));
  assert.ok(addresses.length > 0 && !addresses.some((q) => q.includes('secret')));
  sql.forget('SELECT 1');
  assert.deepEqual(texts(), ['SELECT 2', 'SELECT 3']);
  sql.forget();
  assert.deepEqual(history.value, []);
});

test('reasons that differ only in values are joined, with the most frequent first', () => {
  const reasons = [
    { reason: 'found a string: "line 1" (processors[0])', count: 1 },
    { reason: 'no field', count: 2 },
    { reason: 'found a string: "line 2" (processors[0])', count: 4 },
  ];
  assert.deepEqual(groupReasons(reasons), [
    { reason: 'found a string: … (processors[…])', count: 5 },
    { reason: 'no field', count: 2 },
  ]);
});

test('a replay says what it stored, and what it left out', () => {
  const replay = { done: 43, of: 43, stored: 0, failed: 0, before: 43, reasons: [], end: true, error: '', dry: true };
  assert.equal(replayWords(replay), '0 of 43 would be stored. 43 are stored already, by an earlier replay.');
  assert.equal(
    replayWords({ ...replay, dry: false, stored: 40, before: 1, failed: 2 }),
    '40 of 43 stored, 2 failed again. 1 is stored already, by an earlier replay.',
  );
  assert.match(replayWords({ ...replay, before: 0, forbidden: 2 }), /2 left out, because the senders may not store them: choose the kind permission/);
  assert.equal(replayWords({ ...replay, done: 0, error: 'busy' }), '');
});
