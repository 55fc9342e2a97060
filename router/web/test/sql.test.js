import assert from 'node:assert/strict';
import test from 'node:test';
import { guessAxes, roundTicks, seriesOf, stacked } from '../app/lib/plot.js';
import { nearestIn, segmentsRead, toCSV, toTSV, withName, withoutFormulas } from '../app/lib/results.js';
import { isQuery, lossOf } from '../app/lib/statements.js';
import { colourSql, sqlPieces } from '../app/lib/sqltext.js';

const columns = [
  { name: 'at', type: 'TimestampMillisecond' },
  { name: 'level', type: 'String' },
  { name: 'n', type: 'Int64' },
];

test('a time is drawn along, a number up, a text apart', () => {
  assert.deepEqual(guessAxes(columns), { x: 0, y: 2, series: 1 });
  assert.deepEqual(guessAxes(columns.slice(1)), { x: 0, y: 1, series: -1 });
  assert.equal(guessAxes(columns.slice(0, 2)), null);
});

test('series by name, in the order of time; what is null is left out', () => {
  const rows = [
    [2000, 'a', 3],
    [1000, 'a', 1],
    [1000, 'b', '2'],
    [3000, 'b', null],
  ];
  const { series, labels, left } = seriesOf({ columns, rows }, { x: 0, y: 2, series: 1 });
  assert.deepEqual(series[0], {
    name: 'a',
    points: [
      [1000, 1],
      [2000, 3],
    ],
  });
  assert.deepEqual([series[1].points.length, labels, left], [1, null, 0]);
  assert.deepEqual(stacked(series)[1].points, [[1000, 3]]);
});

test('texts along keep their order', () => {
  const answer = {
    columns: columns.slice(1),
    rows: [
      ['x', 5],
      ['y', 6],
    ],
  };
  assert.deepEqual(seriesOf(answer, { x: 0, y: 1, series: -1 }).labels, ['x', 'y']);
});

test('ticks are round and inside', () => {
  assert.deepEqual(roundTicks(0, 187, 6), [0, 50, 100, 150]);
  assert.deepEqual(roundTicks(-1, 1, 4), [-1, -0.5, 0, 0.5, 1]);
});

test('colours of SQL lose no character, over lines too', () => {
  for (const text of ["SELECT 'a\nb', count(*) -- x\nFROM t /* y\nz */;", '', 'a\n\n', `SELECT "from" FROM 'open`]) {
    const again = colourSql(text).map((pieces) => pieces.map((p) => p.text).join(''));
    assert.equal(again.join('\n'), text);
  }
  const kinds = colourSql('SELECT count(*) FROM t').flatMap((line) => line.filter((p) => p.kind).map((p) => `${p.kind} ${p.text}`));
  assert.deepEqual(kinds, ['key SELECT', 'function count', 'key FROM']);
});

test('keywords are not looked for in texts, and those of two words stand together', () => {
  const keys = (/** @type {string} */ text) =>
    sqlPieces(text)
      .filter((p) => p.kind === 'key')
      .map((p) => p.text);
  assert.deepEqual(keys(`SELECT * FROM t WHERE a = 'x AND y' AND "OR" = 1`), ['SELECT', 'FROM', 'WHERE', 'AND']);
  assert.deepEqual(keys('CREATE TABLE "NULL" (\n time TIMESTAMP NOT NULL,\n TIME INDEX (time), "key" STRING SKIPPING INDEX)'), [
    ...['CREATE', 'TABLE', 'NOT', 'NULL', 'TIME INDEX', 'SKIPPING INDEX'],
  ]);
});

test('what a statement reads, by EXPLAIN', () => {
  const one = ['segments', 'public.app: 9 of 38 segments; 0 of 0 rows in memory; 2 of 18 columns'];
  assert.deepEqual(segmentsRead([one, ['physical_plan', '3 of 3 segments']]), { segments: 9, of: 38 });
  const parts = ['split', 'node a: shards 2\n  reads 1 of 4 segments; 0 of 0 rows in memory\nnode b: shards 1\n  reads 2 of 3 segments'];
  assert.deepEqual(segmentsRead([parts]), { segments: 3, of: 7 });
  assert.equal(segmentsRead([['split', 'public.b: shards 2\nnothing was fetched: the segments are those of this node'], one]), null);
  assert.equal(segmentsRead([['segments', 'public.app: 0 of 0 segments; 4 of 4 rows in memory']]), null);
  const texts = ['SELECT 1;', '-- x\nWITH a AS (SELECT 1) SELECT * FROM a', 'SHOW TABLES', 'EXPLAIN SELECT 1', 'SELECT 1; SELECT 2', 'selected'];
  assert.deepEqual(texts.map(isQuery), [true, true, false, false, false, false]);
});

test('what a statement removes', () => {
  assert.deepEqual(lossOf('drop table app'), { verb: 'drop', kind: 'table', db: '', name: 'app' });
  assert.deepEqual(lossOf('-- x\n DROP TABLE IF EXISTS Shop . "My ""T"'), { verb: 'drop', kind: 'table', db: 'shop', name: 'My "T' });
  assert.deepEqual(lossOf('DROP DATABASE shop CASCADE'), { verb: 'drop', kind: 'database', db: '', name: 'shop' });
  assert.deepEqual(lossOf('TRUNCATE app'), { verb: 'truncate', kind: 'table', db: '', name: 'app' });
  assert.deepEqual(lossOf('delete from shop.app where x'), { verb: 'delete', kind: 'table', db: 'shop', name: 'app' });
  assert.deepEqual(lossOf('ALTER TABLE shop.app DROP COLUMN "a b"'), { verb: 'drop', kind: 'column', db: 'app', name: 'a b' });
  assert.equal(lossOf('ALTER TABLE app ADD COLUMN droppings STRING'), null);
  assert.equal(lossOf("INSERT INTO app VALUES ('drop table app')"), null);
});

test('CSV tells empty texts from nulls', () => {
  const columns = [
    { name: 'a,b', type: 'String' },
    { name: 'c', type: 'String' },
  ];
  assert.equal(
    toCSV(columns, [
      ['', null],
      ['say "x"', ' y'],
    ]),
    '"a,b",c\r\n"",\r\n"say ""x"""," y"\r\n',
  );
});

test('for spreadsheets, texts that look like formulas have an apostrophe in front, and numbers do not', () => {
  const columns = [
    { name: '=cmd', type: 'String' },
    { name: 'n', type: 'Int64' },
    { name: 'more', type: 'Struct<String>' },
  ];
  const rows = [
    ['=1+1', -5, { a: '=1' }],
    ['\t@x', '-9223372036854775808', null],
    ['＝2', 3, '+1'],
    ['plain', null, '-'],
  ];
  const tame = withoutFormulas(columns, rows);
  assert.deepEqual(
    tame.columns.map((c) => c.name),
    ["'=cmd", 'n', 'more'],
  );
  assert.deepEqual(tame.rows, [
    ["'=1+1", -5, { a: '=1' }],
    ["'\t@x", '-9223372036854775808', null],
    ["'＝2", 3, "'+1"],
    ['plain', null, "'-"],
  ]);
  assert.equal(toTSV(columns, tame.rows).split('\n')[0], `'=1+1\t-5\t{"a":"=1"}`);
});

test('names that an error proposes take the place of the wrong one', () => {
  for (const [statement, message, names, mended] of [
    ['SELECT statu FROM big', 'there is no column "statu"; the nearest names are "status", "ts" (position 7)', ['status', 'ts'], 'SELECT status FROM big'],
    ['SELECT x FROM bigg', 'table public.bigg does not exist; did you mean "big"?', ['big'], 'SELECT x FROM big'],
    ['SELECT cuont(*)', 'the function cuont does not exist; did you mean "count"? (position 7)', ['count'], 'SELECT count(*)'],
    ["SELECT 'hots', hots", 'there is no column "hots"; the nearest names are "Host" (position 15)', ['Host'], 'SELECT \'hots\', "Host"'],
    ['SELECT "a.b"', 'there is no column "a.b"; the nearest names are "ab" (position 7)', ['ab'], 'SELECT ab'],
    ['SELECT b.hosst FROM big b', '"b" has no column "hosst" (position 7)', [], ''],
  ]) {
    assert.deepEqual(nearestIn(message), names);
    if (mended) assert.equal(withName(statement, message, names[0]), mended);
  }
  assert.equal(withName('SELECT 1', 'the statement takes too long', 'x'), 'SELECT 1');
});
