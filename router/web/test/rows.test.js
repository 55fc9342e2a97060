// The actions on rows and values in Explore.

import assert from 'node:assert/strict';
import test from 'node:test';
import { toggleAny } from '../app/lib/edit.js';
import { levelNames, levelsOf, toggleLevel } from '../app/lib/leveledit.js';
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
    ['x -level:fatal', 'fatal', 'x level:fatal'],
  ]) {
    assert.equal(toggleAny(text, 'level', value, ':'), want, text);
  }
});

test('a search for a level chooses its values, however they are spelled', () => {
  const names = ['severity', 'level'];
  const chosen = (/** @type {string} */ text) => [...levelsOf(text, names)].map(([level, how]) => `${how} ${level}`).join(', ');
  assert.equal(chosen('level:err slow'), 'in error');
  assert.equal(chosen('severity:(WARNING OR fatal) -level:trace'), 'in warn, in fatal, out trace');
  assert.equal(chosen('level:>=warn'), 'in fatal, in error, in warn');
  assert.equal(chosen('level:<warn'), 'in info, in debug, in trace');
  assert.equal(chosen('level:info..error'), 'in error, in warn, in info');
  assert.equal(chosen('level=error'), '', '= compares the text');
  assert.equal(chosen('level:error OR x'), '', 'rows without the level are found too');
  assert.equal(chosen('level:odd host:error'), '');
});

test('a tick adds a level, and takes it away in whatever way it is asked for', () => {
  for (const [text, value, level, want] of [
    ['', 'ERROR', 'error', 'level:ERROR'],
    ['level:error', 'ERROR', 'error', ''],
    ['slow level:error', 'WARN', 'warn', 'slow level:(error OR WARN)'],
    ['level:(err OR warn) slow', 'ERROR', 'error', 'level:warn slow'],
    ['level:>=warn', 'ERROR', 'error', 'level:(fatal OR warn)'],
    ['level:>=warn', 'INFO', 'info', 'level:(>=warn OR INFO)'],
    ['-level:debug', 'DEBUG', 'debug', 'level:DEBUG'],
    ['-level:(debug OR trace)', 'DEBUG', 'debug', '-level:trace level:DEBUG'],
    ['level=ERROR', 'WARN', 'warn', 'level=(ERROR OR WARN)'],
    ['a OR b', 'ERROR', 'error', '(a OR b) level:ERROR'],
  ]) {
    assert.equal(toggleLevel(text, ['level'], value, level), want, text);
  }
});

test('the level is asked for by its own name, and as level if no other field has this name', () => {
  const shape = (/** @type {string} */ level, scheme = 'text') => ({ level, scheme });
  assert.deepEqual(levelNames(shape('severity'), [{ name: 'severity' }]), ['severity', 'level']);
  assert.deepEqual(levelNames(shape('severity'), [{ name: 'severity' }, { name: 'level' }]), ['severity']);
  assert.deepEqual(levelNames(shape('status', 'status'), [{ name: 'status' }]), []);
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
