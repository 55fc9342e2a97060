import assert from 'node:assert/strict';
import test from 'node:test';
import { completionAt } from '../app/lib/complete.js';
import { formatBytes, formatDuration, indentedJson, leafName, splitHidden, splitMatches, visible, withLines } from '../app/lib/format.js';
import { axisTicks, stackBars } from '../app/lib/geometry.js';
import { replaceBytes } from '../app/lib/edit.js';
import { createHeights, rowsInSight } from '../app/lib/heights.js';
import { createUndo } from '../app/lib/undo.js';
import { levelOf } from '../app/lib/levels.js';
import { copyLine, lineOf, valueOf } from '../app/lib/line.js';
import { readLines } from '../app/lib/ndjson.js';
import { addPage, dropFar, indexOf, noPages, refill, rowAt } from '../app/lib/pages.js';
import { emptyRing, push } from '../app/lib/ring.js';
import { withPaths } from '../app/lib/shape.js';
import { cellText, changesIn, statementAt } from '../app/lib/statements.js';
import { describeTime, hourBefore, isSwapped, offsetOf, parseEnd, parseSpan, parseTime, partsOfTime, rangeText } from '../app/lib/time.js';
import { keyName, keyRows } from '../app/lib/keynames.js';
import { formatPlace, parsePlace } from '../app/lib/url.js';

test('times keep their nine digits and are written in a zone', () => {
  const at = '2026-01-05T23:30:00.123456789Z';
  assert.deepEqual(partsOfTime(at, 'UTC'), { date: '2026-01-05', time: '23:30:00', fraction: '123456789' });
  assert.deepEqual(partsOfTime(at, 'Europe/Berlin'), { date: '2026-01-06', time: '00:30:00', fraction: '123456789' });
  assert.equal(partsOfTime('2026-01-05T00:00:00.28Z', 'UTC').fraction, '280');
  assert.equal(partsOfTime('2026-01-05T00:00:00.280000Z', 'UTC').fraction, '280');
});

test('ends of ranges', () => {
  const now = new Date('2026-07-01T12:00:00Z');
  for (const [text, zone, want] of [
    ['-90m', 'UTC', '-90m'],
    ['2h30m', 'UTC', '-150m'],
    ['now', 'UTC', ''],
    ['today', 'UTC', '2026-07-01T00:00:00.000Z'],
    ['yesterday', 'Europe/Berlin', '2026-06-29T22:00:00.000Z'],
    ['2026-01-05 10:00', 'UTC', '2026-01-05T10:00:00.000Z'],
    ['2026-01-05 10:00', 'Europe/Berlin', '2026-01-05T09:00:00.000Z'],
    ['2026-01-05T10:00:01.5+02:00', 'UTC', '2026-01-05T08:00:01.500Z'],
    ['1767607200', 'UTC', '2026-01-05T10:00:00.000Z'],
    ['1767607200000000000', 'UTC', '2026-01-05T10:00:00.000Z'],
    ['soon', 'UTC', null],
    ['2026-13-05', 'UTC', null],
  ]) {
    assert.equal(parseTime(text, zone, now), want, text);
  }
  assert.equal(parseSpan('10'), null);
  assert.equal(offsetOf(Date.parse('2026-07-01T00:00:00Z'), 'Europe/Berlin'), 7200000);
  assert.equal(rangeText('-1h', '', 'UTC'), 'Last hour');
  assert.equal(rangeText('-80m', '', 'UTC'), 'Last 80 minutes');
  assert.equal(rangeText('2026-01-05T10:00:00Z', '2026-01-05T11:00:00Z', 'UTC'), '2026-01-05 10:00:00 – 11:00:00');
});

test('levels', () => {
  for (const [value, scheme, want] of [
    ['ERR', 'text', 'error'],
    ['Warning', 'text', 'warn'],
    ['loud', 'text', 'other'],
    [null, 'text', ''],
    [17, 'otel', 'error'],
    [50, 'tens', 'error'],
    [3, 'syslog', 'error'],
    ['6', 'syslog', 'info'],
    [503, 'status', 'error'],
    [200, 'status', 'other'],
    ['x', null, ''],
  ]) {
    assert.equal(levelOf(value, scheme), want, `${value} ${scheme}`);
  }
});

test('hidden characters are made visible, and nothing else is changed', () => {
  assert.equal(visible('a\u202eb\0c\x1b[31m\td'), 'a\\u202eb␀c␛[31m→d');
  assert.equal(visible('a\r\nb'), 'a␍↵b');
  assert.equal(visible('<b>&amp; ü 漢'), '<b>&amp; ü 漢');
});

test('names, sizes and matches', () => {
  assert.equal(leafName('kubernetes.labels.app'), '…labels.app');
  assert.equal(leafName('http.route'), 'http.route');
  assert.equal(formatBytes(1536), '1.5 KiB');
  assert.equal(formatDuration(46), '46 ms');
  assert.equal(formatDuration(7200e3), '2 h');
  assert.deepEqual(
    [700, 364, 7664].map((days) => formatDuration(days * 86400e3)),
    ['1 year', '364 d', '20 years'],
  );
  const parts = splitMatches('a failed b', /failed/giu);
  assert.deepEqual(
    parts.map((p) => [p.text, p.hit]),
    [
      ['a ', false],
      ['failed', true],
      [' b', false],
    ],
  );
  assert.deepEqual(splitMatches('abc', /x*/giu), [{ text: 'abc', hit: false }]);
});

test('heights of rows: of one height, and of those that were measured', () => {
  const heights = createHeights(24);
  heights.resize(1000);
  assert.deepEqual(rowsInSight(heights, { top: 2400, height: 239 }, 1000), { from: 92, to: 118 });
  assert.deepEqual(rowsInSight(heights, { top: 0, height: 240 }, 3), { from: 0, to: 3 });
  assert.deepEqual(rowsInSight(heights, { top: 0, height: 240 }, 0), { from: 0, to: 0 });
  assert.equal(heights.set(10, 1024), true);
  assert.equal(heights.set(10, 1024), false);
  assert.equal(heights.total(), 25000);
  assert.deepEqual(rowsInSight(heights, { top: 600, height: 240 }, 1000, 0), { from: 10, to: 11 });
  assert.deepEqual(rowsInSight(heights, { top: 1264, height: 239 }, 1000, 0), { from: 11, to: 21 });
  // Against a plain sum, for heights as they come while a reader scrolls.
  const plain = new Array(500).fill(20);
  const tree = createHeights(20);
  tree.resize(plain.length);
  for (let i = 0; i < 2000; i++) {
    const at = (i * 7919) % plain.length;
    plain[at] = 20 + ((i * 31) % 100);
    tree.set(at, plain[at]);
  }
  let top = 0;
  plain.forEach((height, index) => {
    assert.equal(tree.topOf(index), top);
    assert.equal(tree.indexAt(top), index);
    assert.equal(tree.indexAt(top + height - 1), index);
    top += height;
  });
  assert.equal(tree.indexAt(1e9), 499);
});

test('geometry', () => {
  assert.deepEqual(
    stackBars(
      [
        [1, 0],
        [1, 4],
      ],
      72,
    ),
    [
      [18, 36],
      [0, 72],
    ],
  );
  assert.deepEqual(stackBars([[1], [100000]], 72), [[1, 72]]);
  const hour = axisTicks(Date.parse('2026-01-05T10:03:00Z'), Date.parse('2026-01-05T11:03:00Z'), 1000, () => 0);
  assert.equal(new Date(hour[0].at).toISOString(), '2026-01-05T10:10:00.000Z');
  assert.equal(hour.length, 6);
  const phone = axisTicks(Date.parse('2026-01-05T10:03:00Z'), Date.parse('2026-01-05T11:03:00Z'), 366, () => 0);
  assert.deepEqual(
    phone.map(({ at }) => new Date(at).toISOString().slice(14, 16)),
    ['15', '30', '45'],
  );
});

test('pages of rows are dropped far from the reader, and come back', () => {
  const rows = (from) => Array.from({ length: 200 }, (_, i) => ({ id: `r${from + i}` }));
  let list = noPages();
  for (let i = 0; i < 5; i++) list = addPage(list, { cursor: `c${i}`, rows: rows(i * 200), next: `c${i + 1}` });
  assert.equal(list.count, 1000);
  assert.equal(rowAt(list, 999).row.id, 'r999');
  list = dropFar(list, 950, 600);
  assert.equal(rowAt(list, 0).row, null);
  assert.equal(rowAt(list, 0).page.cursor, 'c0');
  assert.equal(rowAt(list, 999).row.id, 'r999');
  assert.equal(list.count, 1000);
  list = refill(list, 'c0', rows(0));
  assert.equal(indexOf(list, 'r7'), 7);
  assert.equal(indexOf(list, 'gone'), -1);
});

test('a ring forgets the oldest', () => {
  const ring = emptyRing();
  push(ring, [1, 2, 3], [10, 10, 10], 2, 1000);
  assert.deepEqual([ring.items, ring.dropped, ring.size], [[2, 3], 1, 20]);
  push(ring, [4], [995], 10, 1000);
  assert.deepEqual([ring.items, ring.dropped, ring.size], [[4], 3, 995]);
});

test('lines of JSON, cut anywhere', async () => {
  const bytes = new TextEncoder().encode('{"a":"ü"}\n\n{"a":2}\n{"a":3}');
  for (let size = 1; size < 9; size++) {
    const chunks = [];
    for (let i = 0; i < bytes.length; i += size) chunks.push(bytes.slice(i, i + size));
    const got = [];
    for await (const { values } of readLines(new ReadableStream({ start: (c) => (chunks.forEach((x) => c.enqueue(x)), c.close()) }))) {
      got.push(...values);
    }
    assert.deepEqual(got, [{ a: 'ü' }, { a: 2 }, { a: 3 }]);
  }
});

test('the line of a row', () => {
  const shape = { time: 'ts', level: 'level', scheme: 'text', message: 'msg', order: ['k.pod', 'n', 'o'] };
  const row = { id: 'x', time: '2026-01-05T10:00:00Z', table: 't', v: { level: 'info', msg: 'hi', 'k.pod': 'p', n: 0, o: { a: 1 } } };
  assert.deepEqual(lineOf(row, shape, new Set(['k.pod'])).rest, [
    { name: 'n', value: '0' },
    { name: 'o', value: '{"a":1}' },
  ]);
  assert.equal(copyLine(row, shape, ['k.pod']), '2026-01-05T10:00:00Z\tinfo\tp\thi n=0 o={"a":1}');
  assert.ok(lineOf({ ...row, v: { msg: 'x'.repeat(5000) } }, shape, new Set()).message.length <= 800);
});

test('what is in JSON stands in the line, in a column and among the fields by its path', () => {
  const shape = { time: 'ts', level: null, scheme: null, message: null, order: ['k', 'stack', 'list'], json: new Set(['k']) };
  const k = '{"labels":{"app":"cart","v.w":null},"user.name":"ann","user":{"id":7}}';
  const row = { id: 'x', time: '', table: 't', v: { k, stack: 'a failed\n\tat b', list: '[1,2]', cut: '{"a":"unfinis' } };
  const line = (/** @type {Set<string>} */ shown, /** @type {number} */ most) => lineOf(row, shape, shown, most).rest.map((f) => `${f.name}=${f.value}`);
  assert.deepEqual(line(new Set(), 400), ['app=cart', 'name=ann', 'id=7', 'stack=a failed…', 'list=[1,2]']);
  assert.deepEqual(line(new Set(['k.labels.app', 'k.user.name']), Infinity), ['id=7', 'stack=a failed\n\tat b', 'list=[1,2]']);
  assert.deepEqual(lineOf(row, { ...shape, json: new Set() }, new Set()).rest[0], { name: 'k', value: k }, 'a text that looks like JSON has no fields');
  const values = ['k.labels.app', 'k.user.name', 'k.user.id', 'k.user', 'k.no.such', 'stack.a', 'cut.a', 'k'].map((name) => valueOf(row, name));
  assert.deepEqual(values, ['cart', 'ann', 7, { id: 7 }, undefined, undefined, undefined, k]);
  assert.equal(valueOf(row, '_table'), 't');
  const fields = [{ name: 'k', json_paths: ['a', 'b.c', 'own'] }, { name: 'n' }, { name: 'k.own' }];
  assert.deepEqual(
    withPaths(fields).map((f) => [f.name, f.of?.name]),
    [
      ['k.a', 'k'],
      ['k.b.c', 'k'],
      ['k', undefined],
      ['n', undefined],
      ['k.own', undefined],
    ],
  );
});

test('addresses', () => {
  const place = parsePlace({ pathname: '/dashboard/explore', search: '?t=a&t=b&q=x%3Ay' });
  assert.equal(place.page, 'explore');
  assert.deepEqual(place.params.getAll('t'), ['a', 'b']);
  assert.equal(formatPlace('explore', { t: ['a', 'b'], q: 'x:y', from: '-1h' }, { from: '-1h' }), '/dashboard/explore?t=a&t=b&q=x:y');
  assert.equal(parsePlace({ pathname: '/dashboard/s/%', search: '' }).rest, '%');
});

test('completion', () => {
  const fields = [
    { name: 'kubernetes.pod', type: 'String', fill: 1 },
    { name: 'pool', type: 'String', fill: 0.5 },
  ];
  const names = completionAt('x po', 4, fields);
  assert.deepEqual(
    names.list.map((c) => c.insert),
    ['pool:', 'kubernetes.pod:'],
  );
  const values = completionAt('pool:ab', 7, fields);
  assert.deepEqual([values.field, values.prefix, values.from, values.write('a b')], ['pool', 'ab', 5, '"a b"']);
  assert.equal(completionAt('nofield:ab', 10, fields), null);
});

test('a range that ends before it begins', () => {
  const now = new Date('2026-01-05T12:00:00Z');
  for (const [from, to, want] of /** @type {[string, string, boolean][]} */ ([
    ['-1h', '', false],
    ['', '-1h', true],
    ['-1h', '-1h', true],
    ['-90m', '-1h', false],
    ['2026-01-05T11:30:00Z', '-1h', true],
    ['2026-01-05T10:30:00Z', '-1h', false],
    ['2026-01-05T10:30:00Z', '2026-01-05T10:29:00Z', true],
  ])) {
    assert.equal(isSwapped(from, to, now), want, `${from} to ${to}`);
  }
});

test('the hour before the end of a range', () => {
  assert.equal(hourBefore('-1h'), '-2h');
  assert.equal(hourBefore('2026-01-05T10:00:00Z'), '2026-01-05T09:00:00.000Z');
});

test('ends of a range in an address', () => {
  for (const [text, want] of [
    ['now', ''],
    ['-1w', '-7d'],
    ['-90m', '-90m'],
    ['2026-01-05T10:00:00.123456789Z', '2026-01-05T10:00:00.123456789Z'],
    ['2026-01-05T10:00+02:00', '2026-01-05T08:00:00.000Z'],
    ['2026-01-05', null],
    ['2026-01-05T10:00:00', null],
    ['today', null],
    ['bogus', null],
  ]) {
    assert.equal(parseEnd(text), want, text);
  }
});

test('keys have the names that stand on a keyboard', () => {
  assert.deepEqual(['j', 'J', 'ctrl+Enter', 'shift+Enter', 'g e', ' ', '[', 'Escape', '+'].map(keyName), [
    'J',
    'Shift J',
    'Ctrl ↵',
    'Shift ↵',
    'G E',
    'space',
    '[',
    'Esc',
    '+',
  ]);
  const act = () => {};
  assert.deepEqual(keyRows([{ 'ctrl+k': ['go to', act] }, { j: ['next row', act], ArrowDown: ['next row', act] }]), [
    { keys: ['J', '↓'], what: 'next row' },
    { keys: ['Ctrl K'], what: 'go to' },
  ]);
});

test('statements', () => {
  const text = `SELECT ';' AS a; -- no; end\nDROP TABLE "x;y"; `;
  assert.equal(statementAt(text, 3), `SELECT ';' AS a`);
  assert.equal(statementAt(text, 30), '-- no; end\nDROP TABLE "x;y"');
  assert.equal(statementAt('SELECT 1;', 9), 'SELECT 1');
  assert.equal(statementAt(`SELECT e'a\\';b'; SELECT 2`, 3), `SELECT e'a\\';b'`);
  assert.equal(statementAt('SELECT $x$;$x$; SELECT 2', 3), 'SELECT $x$;$x$');
  assert.equal(statementAt('/* a /* b */ ; */ SELECT 1; SELECT 2', 3), '/* a /* b */ ; */ SELECT 1');
});

test('statements that change something', () => {
  for (const reads of [
    'SELECT 1',
    '-- x\n  (select 1)',
    'SELEC 1',
    `SELECT ';DROP TABLE x'`,
    '/* /* */ DROP */ SHOW TABLES',
    '',
    'dropped',
    'SELECT $$;DROP TABLE x$$',
  ]) {
    assert.deepEqual(changesIn(reads), [], reads);
  }
  for (const one of ['-- select\nDROP TABLE x', 'KILL 1', '/* a */ -- b\r INSERT INTO t VALUES (1)', 'Revoke SELECT ON t FROM ann']) {
    assert.deepEqual(changesIn(one), [one], one);
  }
  assert.deepEqual(changesIn(`SELECT 1; DROP TABLE a;\n DELETE FROM b`), ['DROP TABLE a', 'DELETE FROM b']);
  // Where this text ends is not where it ends without the backslash.
  assert.deepEqual(changesIn(`SELECT e'a\\'b'; DROP TABLE x; --'`), ['DROP TABLE x']);
});

test('cells', () => {
  assert.equal(cellText('1795778710679013135', 'TimestampNanosecond'), '2026-11-27T11:25:10.679013135Z');
  assert.equal(cellText(-1, 'TimestampMillisecond'), '1969-12-31T23:59:59.999Z');
  assert.equal(cellText(null, 'String'), 'NULL');
  assert.equal(cellText({ a: 1 }, 'Json'), '{"a":1}');
});

test('rows that are dropped take their heights along', () => {
  const heights = createHeights(10);
  heights.resize(100);
  heights.set(0, 30);
  heights.set(5, 50);
  assert.equal(heights.drop(3), 50);
  assert.deepEqual([heights.topOf(2), heights.topOf(3), heights.total()], [20, 70, 1010]);
  assert.equal(heights.drop(50), 540);
  assert.equal(heights.total(), 470);
});

test('keys that follow one another are undone together, what was set at once by itself', () => {
  const undo = createUndo('');
  undo.note('l', 1000);
  undo.note('le', 1200);
  undo.note('le host:a'); // by a click
  undo.note('le host:a x', 5000);
  assert.deepEqual([undo.undo(), undo.undo(), undo.redo()], ['le host:a', 'le', 'le host:a']);
  undo.note('other', 9000); // what was undone cannot be done again
  assert.deepEqual([undo.redo(), undo.undo(), undo.undo(), undo.undo(), undo.undo()], [null, 'le host:a', 'le', '', null]);
  for (let i = 0; i < 1000; i++) undo.note(String(i));
  let steps = 0;
  while (undo.undo() !== null) steps++;
  assert.equal(steps, 99);
});

test('a part of a text is replaced by its place in bytes', () => {
  assert.equal(replaceBytes('ä lvel:x', { offset: 3, length: 4 }, 'level'), 'ä level:x');
});

test('JSON is indented as it is written, and nothing else is', () => {
  const text = '{"id": 12345678901234567890, "a":[1,{ }],"b":"x, {y}: \\"z","b":[]}';
  assert.equal(indentedJson(text), '{\n  "id": 12345678901234567890,\n  "a": [\n    1,\n    {}\n  ],\n  "b": "x, {y}: \\"z",\n  "b": []\n}');
  for (const other of ['', '12', '"{}"', '{broken', '[ERROR] failed', `["${'x'.repeat(70000)}"]`]) assert.equal(indentedJson(other), '');
  const deep = indentedJson('['.repeat(3000) + '1' + ']'.repeat(3000));
  assert.ok(deep.length < 6000 * 50);
});

test('invisible characters of a text that is edited', () => {
  const plain = (text) => ({ text, hidden: false });
  assert.deepEqual(splitHidden('a\tb\nc'), [plain('a\tb\nc')]);
  assert.deepEqual(splitHidden('a\u202eb\u200b'), [plain('a'), { text: '', hidden: true }, plain('b'), { text: '\u200b', hidden: true }]);
  assert.deepEqual(splitHidden(''), [plain('')]);
});

test('texts in JSON are shown by lines, and keep their other escapes', () => {
  const json = JSON.stringify({ kind: 'E', stack: 'boom\n1\r\n\tat "x" \\n y', list: ['a\nb'] }, null, 2);
  assert.equal(withLines(json), '{\n  "kind": "E",\n  "stack": "boom\n    1\n    \tat \\"x\\" \\\\n y",\n  "list": [\n    "a\n      b"\n  ]\n}');
  assert.equal(withLines('"plain"'), '"plain"');
  assert.equal(withLines(JSON.stringify({ 'a\nb': 1 }, null, 2)), '{\n  "a\\nb": 1\n}');
});

test('a time says how far it is from the row that is open', () => {
  const now = Date.parse('2026-01-05T10:00:00Z');
  const said = (/** @type {string} */ selected) => describeTime('2026-01-05T09:59:00.5Z', 'UTC', now, selected).split('\n').slice(1, -1);
  assert.deepEqual(said(''), ['59 s ago']);
  assert.deepEqual(said('2026-01-05T09:59:02.5Z'), ['59 s ago', '2.0 s before the open row']);
  assert.deepEqual(said('2026-01-05T09:58:55.5Z'), ['59 s ago', '5.0 s after the open row']);
  assert.deepEqual(said('2026-01-05T09:59:00.5Z'), ['59 s ago']);
});
