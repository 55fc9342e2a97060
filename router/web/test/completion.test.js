// The completions in the editors of pipelines and SQL.

import assert from 'node:assert/strict';
import test from 'node:test';
import { completePipeline } from '../app/lib/pipelinecomplete.js';
import { completeSql, tablesIn } from '../app/lib/sqlcomplete.js';

const field = { description: 'The field.', type: ['string', 'array'] };
const helps = {
  schema: {
    properties: {
      version: { enum: [1, 2] },
      processors: {
        items: {
          anyOf: [
            { properties: { dissect: { description: 'Split.', properties: { field, pattern: {}, ignore_missing: { type: 'boolean' } } } } },
            { properties: { epoch: { properties: { field, resolution: { enum: ['ms', 's'] } } } } },
          ],
        },
      },
      transform: { items: { properties: { field, index: { anyOf: [{ enum: ['timestamp', 'tag'] }, { type: 'object' }] } } } },
    },
  },
  functions: [
    { name: 'parse_json', signature: 'parse_json(value: string)', help: 'Reads JSON.', fallible: true },
    { name: 'now', signature: 'now()', help: 'The time.', fallible: false },
  ],
};

/** @param {string} text with | at the caret */
function offered(text) {
  const caret = text.indexOf('|');
  return completePipeline(text.replace('|', ''), caret, helps)?.list.map((c) => c.insert) ?? [];
}

test('keys and values of a pipeline by where the caret is', () => {
  for (const [text, want] of /** @type {[string, string[]][]} */ ([
    ['pro|', ['processors: ']],
    ['version: |', ['1', '2']],
    ['processors:\n  - dis|', ['dissect:']],
    ['processors:\n- dis|', ['dissect:']],
    ['processors:\n  - dissect:\n      pat|', ['pattern: ']],
    ['processors:\n  - dissect:\n      field: a\n      ign|', ['ignore_missing: ']],
    ['processors:\n  - dissect:\n      ignore_missing: t|', ['true']],
    ['processors:\n  - dissect: {field: message, pat|', ['pattern: ']],
    ['processors:\n  - dissect: {field: message}\n  - epo|', ['epoch:']],
    ['processors:\n  - epoch: {field: a, resolution: m|}', ['ms']],
    ["processors:\n  - dissect: {pattern: '%{fie|", []],
    ['processors:\n  - dissect:\n      field: x\ntransform:\n  - field: a\n    in|', ['index: ']],
    ['transform:\n- {field: at, index: time|', ['timestamp']],
    ['processors: # pro|', []],
  ])) {
    assert.deepEqual(offered(text), want, text);
  }
});

test('functions in programs, those that can fail with their mark', () => {
  const program = 'processors:\n  - vrl:\n      source: |\n        .a = ';
  const at = (/** @type {string} */ typed) => completePipeline(program + typed, program.length + typed.length, helps)?.list.map((c) => c.insert) ?? [];
  assert.deepEqual(at('parse_j'), ['parse_json!(']);
  assert.deepEqual(at('no'), ['now(']);
  assert.deepEqual(at('.no'), []);
  assert.deepEqual(at('"no'), []);
  assert.deepEqual(at('1\n  - epo'), ['epoch:']);
});

test('tables behind FROM, else columns, functions and keywords; none in texts', () => {
  const names = {
    tables: [
      { db: 'public', name: 'app', rows: 1 },
      { db: 'other', name: 'App 2', rows: 1 },
    ],
    columns: [
      { name: 'level', type: 'String', table: 'app' },
      { name: 'Le vel', type: 'String', table: 'app' },
    ],
    db: 'public',
  };
  const at = (/** @type {string} */ text) => completeSql(text, text.length, names)?.list.map((c) => c.insert) ?? [];
  assert.deepEqual(at('SELECT 1 FROM ap'), ['app', 'other."App 2"']);
  assert.deepEqual(at('SELECT 1 FROM other.A'), ['"App 2"']);
  assert.deepEqual(at('SELECT lev'), ['level']);
  assert.deepEqual(at('SELECT le').slice(0, 4), ['level', '"Le vel"', 'lead(', 'least(']);
  assert.deepEqual(at('SELECT a.'), ['level', '"Le vel"']);
  assert.deepEqual(at('SELECT date_t'), ['date_trunc(']);
  assert.deepEqual(at('sel'), ['SELECT']);
  assert.deepEqual(at("SELECT 'lev"), []);
  assert.deepEqual(at('SELECT 1 -- lev'), []);
});

test('the tables that a statement names', () => {
  assert.deepEqual(tablesIn('SELECT * FROM app a JOIN other."App 2" b ON 1 WHERE x = \'from nowhere\'', 'public'), [
    { db: 'public', name: 'app' },
    { db: 'other', name: 'App 2' },
  ]);
});
