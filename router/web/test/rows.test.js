// The actions on rows and values in Explore.

import assert from 'node:assert/strict';
import test from 'node:test';
import { toggleAny } from '../app/lib/edit.js';
import { differences } from '../app/lib/line.js';
import { createKeys } from '../app/stores/keys.js';

test('a value is added to those that a field may have, and taken away', () => {
  for (const [text, value, want] of [
    ['', 'error', 'level:error'],
    ['slow', 'error', 'slow level:error'],
    ['level:error slow', 'fatal', 'level:(error OR fatal) slow'],
    ['level:(error OR fatal)', 'too bad', 'level:(error OR fatal OR "too bad")'],
    ['level:(error OR fatal) x', 'error', 'level:fatal x'],
    ['x level:error', 'error', 'x'],
    ['level=error', 'fatal', 'level=(error OR fatal)'],
    ['level:>=warn', 'fatal', 'level:>=warn level:fatal'],
    ['-level:info', 'fatal', '-level:info level:fatal'],
    ['a OR b', 'fatal', '(a OR b) level:fatal'],
  ]) {
    assert.equal(toggleAny(text, 'level', value, ':'), want, text);
  }
});

test('fields that differ, also those that one row lacks', () => {
  const shape = { time: 'ts', level: 'level', scheme: 'text', message: 'msg', order: ['host', 'n'] };
  const row = (/** @type {Record<string, unknown>} */ v) => ({ id: '1', time: '', table: 't', v });
  assert.deepEqual(differences(row({ msg: 'a', host: 'x', n: 1, ts: 1 }), row({ msg: 'b', host: 'x', n: null, ts: 2 }), shape), [
    { name: 'msg', a: 'a', b: 'b' },
    { name: 'n', a: '1', b: null },
  ]);
});

test('two keys within a second; else the second one acts alone', () => {
  Object.assign(globalThis, { Element: class {} }); // which browsers have
  /** @type {(event: any) => void} */
  let press = () => {};
  const keys = createKeys({ addEventListener: (/** @type {string} */ _, /** @type {any} */ listen) => (press = listen) }, { value: 'on' });
  /** @type {string[]} */
  const done = [];
  keys.bind({ 'g e': ['explore', () => done.push('g e')], e: ['export', () => done.push('e')] });
  const at = (/** @type {string} */ key, /** @type {number} */ timeStamp) => press({ key, timeStamp, target: null, preventDefault() {} });
  at('g', 1000);
  at('e', 1500);
  at('e', 1600);
  at('g', 5000);
  at('e', 6100);
  assert.deepEqual(done, ['g e', 'e', 'e']);
});
