import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { parseSearch } from '../app/lib/search.js';
import { clauseFor, quoteFault, toggleClause, toggleExclusion, valuesOf, wantedWords } from '../app/lib/edit.js';

// The cases with which the Go parser and compiler are tested too.
const cases = JSON.parse(readFileSync(new URL('../../explore/search/cases.json', import.meta.url), 'utf8'));

test('the cases of the language', () => {
  let failed = 0;
  for (const c of cases) {
    const { tokens, fault } = parseSearch(c.text);
    if (c.error === undefined) {
      assert.equal(fault, null, c.text);
      if (c.tokens) {
        const got = tokens.map((t) => [t.kind, c.text.slice(t.from, t.to)]);
        assert.deepEqual(got, c.tokens, c.text);
      }
      continue;
    }
    if (!fault) continue; // it only shows when the columns of the table are known
    failed++;
    assert.ok(fault.message.includes(c.error), `${c.text}: ${fault.message}`);
    const bytes = (s) => Buffer.byteLength(s);
    const at = [bytes(c.text.slice(0, fault.from)), bytes(c.text.slice(fault.from, fault.to))];
    if (c.at) assert.deepEqual(at, c.at, c.text);
  }
  assert.ok(failed >= 15, `${failed} faults`);
});

test('clicks', () => {
  assert.equal(toggleClause('', 'host=a'), 'host=a');
  assert.equal(toggleClause('failed', 'host=a'), 'failed host=a');
  assert.equal(toggleClause('failed  host=a x', 'host=a'), 'failed x');
  assert.equal(toggleClause('failed -host=a', 'host=a'), 'failed host=a');
  assert.equal(toggleExclusion('host=a', 'host=a'), '-host=a');
  assert.equal(toggleExclusion('-host=a', 'host=a'), '');
  assert.equal(toggleExclusion('a OR b', '(msg:"x y" msg:~"^x")'), '(a OR b) -(msg:"x y" msg:~"^x")');
  assert.equal(toggleClause('a OR b', 'host=a'), '(a OR b) host=a');
  assert.equal(toggleClause('(a OR b)', 'host=a'), '(a OR b) host=a');
  assert.equal(toggleClause('x AND host=a', 'host=a'), 'x');
  assert.equal(toggleClause('"open', 'host=a'), '"open');
});

test('values in clauses are read back as they are', () => {
  for (const value of ['a', 'a b', 'say "hi"', 'c:\\x', '~x', '>5', 'a*', '1..2', '(x)', '', 'ü', 'OR']) {
    for (const op of [':', '=']) {
      const { root, fault } = parseSearch(clauseFor('my field', value, op));
      assert.equal(fault, null, value);
      assert.equal(root.name, 'my field');
      assert.equal(root.values[0].text, value);
    }
  }
});

test('values that a text asks for', () => {
  const text = 'x host:(a OR b) -host=c other:z';
  assert.deepEqual(
    [...valuesOf(text, 'host')],
    [
      ['a', 'in'],
      ['b', 'in'],
      ['c', 'out'],
    ],
  );
});

test('words that are marked', () => {
  const marks = (text, line) => [...line.matchAll(wantedWords(text))].map((m) => m[0]);
  assert.deepEqual(marks('failed "a.b" -x', 'Failed a.b axb x'), ['Failed', 'a.b']);
  assert.deepEqual(marks('time*', 'timeout of time'), ['timeout', 'time']);
  assert.equal(wantedWords('host:a'), null);
});

test('what was not understood becomes text', () => {
  for (const [text, offset, length, want] of [
    ['lvel:x', 0, 4, '"lvel:x"'],
    ['über lvel:x y', 6, 4, 'über "lvel:x" y'],
    ['-lvel:x', 1, 4, '-"lvel:x"'],
    ['(lvel:x OR b)', 1, 4, '("lvel:x" OR b)'],
    ['a say"what"', 2, 9, 'a "say\\"what\\""'],
    ['level:(error fatal)', 13, 5, '"level:(error fatal)"'],
    ['a AND', 5, 0, 'a "AND"'],
  ]) {
    assert.equal(quoteFault(String(text), { offset: Number(offset), length: Number(length) }), want, String(text));
  }
});
