// How long rows are kept.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTTL } from '../app/lib/ttl.js';

test('a ttl is read as the server writes and reads it', () => {
  const day = 86400e3;
  for (const [text, want] of /** @type {[string, number][]} */ ([
    ['', Infinity],
    ['0', Infinity],
    ['0d', Infinity],
    ['forever', Infinity],
    ['instant', 0],
    ['1s', 1000],
    ['7days', 7 * day],
    ['365days', 365 * day],
    ['1day 12h', 1.5 * day],
    ['1h30m', 5400e3],
    ['30m', 1800e3],
    ['3M', 3 * 2630016e3],
    ['2weeks', 14 * day],
    ['banana', NaN],
    ['7 bananas', NaN],
    ['7', NaN],
  ])) {
    assert.equal(parseTTL(text), want, text);
  }
});
