// The functions behind the pages Pipelines, Tables and Add data.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../app/lib/api.js';
import { batchesOf, typeOfLines } from '../app/lib/batches.js';
import { diffLines, nearChanges } from '../app/lib/diff.js';
import { templates } from '../app/lib/templates.js';
import { rangeOf, underlineRange } from '../app/components/code.js';
import { failuresOf } from '../app/components/pipelinefaults.js';
import { notReached } from '../app/components/trace.js';
import { explained, colourPipeline, faultsOf, placeOfStep, stepsOf } from '../app/lib/yamltext.js';
import { dataOf } from '../app/stores/dryrun.js';
import { createPipelineList } from '../app/stores/pipelinelist.js';
import { createPipelines } from '../app/stores/pipelines.js';
import { joinShards } from '../app/stores/tables.js';

/** A storage of texts, and what another tab is told when it changes. @param {Map<string, string>} kept @param {(key: string) => void} [onChange] */
const storageOf = (kept, onChange = () => {}) => ({
  getItem: (/** @type {string} */ key) => kept.get(key) ?? null,
  setItem: (/** @type {string} */ key, /** @type {string} */ value) => (kept.set(key, value), onChange(key)),
  removeItem: (/** @type {string} */ key) => (kept.delete(key), onChange(key)),
});

/** @param {object} with_ */
const create = (with_) => {
  const { api, clock } = /** @type {any} */ (with_);
  return createPipelines(/** @type {any} */ ({ session: storageOf(new Map()), ...with_, all: createPipelineList(api, clock) }));
};

test('lines that differ are removed and added, others stay', () => {
  const lines = diffLines('a\nb\nc\nd', 'a\nx\nc\nd\ne');
  assert.deepEqual(
    lines.map((l) => `${l.kind[0]}${l.text}`),
    ['sa', 'rb', 'ax', 'sc', 'sd', 'ae'],
  );
  assert.deepEqual([lines[2].before, lines[2].after], [0, 2]);
});

test('a difference gives both texts back, whatever they are', () => {
  let seed = 7;
  const random = (/** @type {number} */ n) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
  for (let i = 0; i < 200; i++) {
    const text = () => Array.from({ length: random(12) }, () => 'abc'[random(3)]).join('\n');
    const [before, after] = [text(), text()];
    const lines = diffLines(before, after);
    const side = (/** @type {string} */ gone) => lines.filter((l) => l.kind !== gone).map((l) => l.text);
    assert.equal(side('added').join('\n'), before);
    assert.equal(side('removed').join('\n'), after);
  }
});

test('texts too long to be compared are replaced as a whole', () => {
  const many = (/** @type {string} */ name) => Array.from({ length: 2500 }, (_, i) => `${name}${i}`).join('\n');
  const lines = diffLines(many('a'), many('b'));
  assert.equal(lines.filter((l) => l.kind === 'removed').length, 2500);
  assert.equal(lines.filter((l) => l.kind === 'added').length, 2500);
});

test('far from changes lines are left out', () => {
  const before = Array.from({ length: 20 }, (_, i) => `${i}`).join('\n');
  const kept = nearChanges(diffLines(before, before.replace('10', 'x')), 1);
  assert.deepEqual(
    kept.map((l) => l?.text ?? '…'),
    ['…', '9', '10', 'x', '11', '…'],
  );
});

test('colours lose no character', () => {
  for (const { text } of templates) {
    const again = colourPipeline(text).map((pieces) => pieces.map((p) => p.text).join(''));
    assert.equal(again.join('\n'), text);
  }
});

test('VRL is coloured in the block of source only', () => {
  const lines = colourPipeline('processors:\n  - vrl:\n      source: |\n        .a = upcase!(.b)\n  - date: {}\n');
  assert.deepEqual(
    lines[3].filter((p) => p.kind).map((p) => `${p.kind} ${p.text}`),
    ['key .a', 'function upcase!', 'key .b'],
  );
  assert.deepEqual(
    lines[4].filter((p) => p.kind).map((p) => p.kind),
    ['key'],
  );
});

test('each processor has its name and its line', () => {
  const text = 'version: 2\nprocessors:\n  # first\n  - dissect:\n      patterns:\n        - x\n\n  - "date": {}\ntransform:\n  - a\n';
  assert.deepEqual(stepsOf(text), [
    { name: 'dissect', line: 4 },
    { name: 'date', line: 8 },
  ]);
  assert.deepEqual(
    stepsOf('processors:\n- date: {}\n- vrl:\n    source: |\n      - 1\n').map((s) => s.line),
    [2, 3],
  );
  assert.deepEqual(stepsOf('transform: []'), []);
  assert.equal(placeOfStep('processors[12] date'), 12);
  assert.equal(placeOfStep('transform'), -1);
});

const error = { pipeline: '', position: 1, field: 'at', value: '', reason: 'it has no zone', step: 'processors[1] date' };
const plan = [
  { name: 'dissect', line: 3 },
  { name: 'date', line: 8 },
  { name: 'vrl', line: 11 },
];

test('the steps behind a failure are not reached', () => {
  const record = { index: 0, rows: [], steps: [], outcome: 'failed', error };
  assert.deepEqual(notReached(record, plan), [plan[2]]);
  assert.deepEqual(notReached({ ...record, error: { ...error, step: 'transform' } }, plan), []);
  assert.deepEqual(notReached({ ...record, error: { ...error, pipeline: 'other' } }, plan), []); // it went on there
  const step = { pipeline: '', step: 'processors[0] dissect', added: [], changed: [], removed: [] };
  assert.deepEqual(notReached({ ...record, outcome: 'dropped', error: undefined, steps: [step] }, plan), plan.slice(1));
  assert.deepEqual(notReached({ ...record, outcome: 'stored', error: undefined, steps: [step] }, plan), []);
});

test('failures are counted by their line', () => {
  const failed = (/** @type {any} */ of) => ({ index: 0, rows: [], outcome: 'failed', error: { ...error, ...of } });
  const records = [failed({ line: 14, step: 'processors[2] vrl' }), failed({}), failed({}), failed({ pipeline: 'other' })];
  assert.deepEqual(
    failuresOf(records, plan).map(({ line, records: n }) => [line, n]),
    [
      [8, 2],
      [14, 1],
    ],
  );
});

test('faults have the lines that the error names', () => {
  const excerpt = '  ┌─ program:1:4\n  │\n1 │ if f(.a) { }\n  │    ^^^^^ this must be a boolean\n  │    but it is any\n  │\n  = compare it';
  const fault = { line: 7, message: 'Failed to compile VRL, error[E102]: non-boolean predicate', excerpt };
  assert.equal(explained(fault), 'Non-boolean predicate. This must be a boolean but it is any. Compare it.');
  assert.equal(explained({ line: 1, message: 'unknown key "typ"' }), 'Unknown key "typ".');
  const message = 'Failed to build pipeline: 2 errors:\nline 14: a: b\n  ┌─ program:2:9\nline 15: c';
  assert.deepEqual(faultsOf({ message }), [
    { line: 14, message: 'a: b\n  ┌─ program:2:9' },
    { line: 15, message: 'c' },
  ]);
  assert.deepEqual(faultsOf({ message: 'Failed to build pipeline: line 7: x' }), [{ line: 7, message: 'x' }]);
  assert.deepEqual(faultsOf({ message: 'no lines here' }), []);
});

test('batches are of whole lines, and lose nothing', async () => {
  const text = 'one\n' + 'ü'.repeat(40) + '\nthree\nfour';
  const parts = [];
  for await (const { text: part } of batchesOf(new Blob([text]), 16)) parts.push(part);
  assert.equal(parts.join(''), text);
  assert.ok(parts.slice(0, -1).every((part) => part.endsWith('\n')));
  assert.ok(parts.length > 2);
});

test('a file is objects if its first line is one', () => {
  assert.equal(typeOfLines('{"a":1}\nx'), 'application/x-ndjson');
  assert.equal(typeOfLines('[1]\n{}'), 'text/plain');
  assert.equal(typeOfLines('plain'), 'text/plain');
});

test('a table in several shards is one entry', () => {
  const rows = [
    ['public', 'a', 1, 10, 100, '', '', 0],
    ['public', 'a', 2, 5, 50, '', '', 0],
    ['public', 'b', 1, 1, 1, '7d', '', 0],
  ];
  const [a, b] = joinShards(rows);
  assert.deepEqual([a.shards, a.rows, a.bytes, b.ttl], [[1, 2], 15, 150, '7d']);
});

test('a version whose request was cancelled does not replace the text that was opened after it', async () => {
  /** @type {Record<string, (failed?: Error) => void>} the end of each request, by its version */
  const end = {};
  const api = {
    json: (/** @type {{path: string}} */ { path }) =>
      new Promise((resolve, reject) => {
        const version = new URL(path, 'http://x').searchParams.get('version') ?? 'newest';
        end[version] = (failed) => (failed ? reject(failed) : resolve({ pipelines: [{ version, pipeline: `text of ${version}` }] }));
      }),
  };
  const storage = { getItem: () => null, setItem: () => undefined, removeItem: () => undefined };
  const clock = { now: () => 0, wait: async () => undefined };
  const pipelines = create({ api, storage, clock });
  const first = pipelines.open('p', 'old');
  const second = pipelines.open('p', '');
  end.newest();
  await second;
  assert.equal(pipelines.draft.value, 'text of newest');
  pipelines.draft.value = 'restored';
  end.old(new DOMException('aborted', 'AbortError'));
  await first;
  assert.equal(pipelines.draft.value, 'restored');
});

test('the results of the samples stay when the same text is read again', async () => {
  const answer = { records: [{ index: 0, outcome: 'stored', rows: [] }], tables: [], execution_time_ms: 1 };
  const api = {
    json: async (/** @type {{path: string}} */ { path }) => (path.includes('_dryrun') ? answer : { pipelines: [{ version: 'v1', pipeline: 'a text' }] }),
  };
  const kept = new Map();
  const storage = { getItem: (/** @type {string} */ key) => kept.get(key) ?? null, setItem: () => undefined, removeItem: () => undefined };
  const pipelines = create({ api, storage, clock: { now: () => 1 } });
  await pipelines.open('p', '');
  pipelines.setSamples(['a line']);
  await pipelines.test('');
  await pipelines.open('p', ''); // as after it was saved
  assert.equal(pipelines.results.value[0]?.outcome, 'stored');
  await pipelines.open('q', '');
  assert.equal(pipelines.dry.value.value, null);
});

/** The pages before and after a reload: they share the storage of a browser and the server's newest text. */
function reloads() {
  const kept = new Map();
  const storage = {
    getItem: (/** @type {string} */ key) => kept.get(key) ?? null,
    setItem: (/** @type {string} */ key, /** @type {string} */ value) => void kept.set(key, value),
    removeItem: (/** @type {string} */ key) => void kept.delete(key),
  };
  const server = { version: 'v1', pipeline: 'stored' };
  const api = {
    json: async (/** @type {{path: string, method?: string, text?: string, headers?: Record<string, string>}} */ { path, method, text, headers }) => {
      if (method === 'POST' && headers?.['If-Match'] !== `"${server.version}"`) throw new ApiError('changed', { status: 412 });
      if (method === 'POST') Object.assign(server, { version: 'v3', pipeline: text });
      const old = path.includes('version=v1') && server.version !== 'v1';
      return { pipelines: [{ name: 'p', ...(old ? { version: 'v1', pipeline: 'stored' } : server), versions: [] }] };
    },
  };
  const clock = { now: () => 0, wait: async () => undefined };
  return { server, kept, load: () => create({ api, storage, session: storage, clock }) };
}

test('a text that was not saved survives a reload, until it is saved or discarded', async () => {
  const { server, kept, load } = reloads();
  const before = load();
  await before.open('p', '');
  before.write('mine');
  let after = load();
  await after.open('p', '');
  assert.deepEqual([after.draft.value, after.changed.value, after.draftOf.value], ['mine', true, '']);
  server.version = 'v2';
  after = load();
  await after.open('p', '');
  assert.deepEqual([after.draft.value, after.draftOf.value], ['mine', 'v1'], 'it says for which version it was written');
  await after.open('p', 'v1');
  assert.deepEqual([after.draft.value, after.draftOf.value], ['mine', '']);
  after.discard();
  assert.deepEqual([after.draft.value, after.changed.value, kept.has('cordwood.draft.p')], ['stored', false, false]);
  after.write('good');
  assert.ok(await after.save(''));
  assert.equal(kept.has('cordwood.draft.p'), false);
  await after.open('p', '');
  assert.deepEqual([after.draft.value, after.changed.value], ['good', false]);
});

test('a new pipeline survives a reload with its name and samples', () => {
  const { load } = reloads();
  load().begin('new', 'text', ['a line']);
  const after = load();
  after.resume('new');
  assert.deepEqual([after.name.value, after.draft.value, after.samples.value], ['new', 'text', ['a line']]);
});

test('a long word in the text takes no time, and a long line has no colours', () => {
  const began = performance.now();
  const [[piece]] = colourPipeline('a'.repeat(4000) + '.'.repeat(900));
  assert.ok(performance.now() - began < 50, 'each character was tried as the begin of a key');
  assert.equal(piece.text.length, 4900);
  assert.deepEqual(colourPipeline('a: b '.repeat(60000))[0].length, 1);
  assert.deepEqual(
    colourPipeline('a.b-c: x')[0].map((p) => `${p.kind} ${p.text}`),
    ['key a.b-c', ' : x'],
  );
});

test('a sample of several lines is one record', () => {
  assert.deepEqual(dataOf(['a b', 'c']), { data: 'a b\nc', data_type: 'text/plain' });
  assert.deepEqual(dataOf(['a\n  at b', 'c']), { data: '{"message":"a\\n  at b"}\n{"message":"c"}', data_type: 'application/x-ndjson' });
  assert.deepEqual(dataOf(['{"a":\n1}', '{}']), { data: '{"a": 1}\n{}', data_type: 'application/x-ndjson' });
});

test('somebody else’s version is not replaced, whatever the list says meanwhile, until the reader has seen it', async () => {
  const { server, load } = reloads();
  const page = load();
  await page.open('p', '');
  page.write('mine');
  server.version = 'v2';
  server.pipeline = 'theirs';
  await page.load();
  assert.equal(await page.save(''), false);
  assert.equal(page.saving.error.value?.status, 412);
  await page.rebase();
  assert.deepEqual([page.stored.value.value?.pipeline, page.draft.value, page.changed.value], ['theirs', 'mine', true]);
  assert.ok(await page.save(''));
});

test('the steps of a sample beyond the tenth are asked for, and an answer without values is understood', async () => {
  /** @type {string[]} */
  const asked = [];
  const api = {
    json: async (/** @type {{path: string}} */ { path }) => {
      asked.push(path);
      const step = { pipeline: '', step: 'processors[0] dissect', cut: true, added: ['a'], changed: [], removed: [] };
      return { tables: [], records: [{ index: 0, cut: true, outcome: 'stored', steps: [step], rows: [] }], execution_time_ms: 1 };
    },
  };
  const storage = { getItem: () => null, setItem: () => undefined, removeItem: () => undefined };
  const page = create({ api, storage, clock: { now: () => 0 } });
  page.begin('p', 'text', Array(12).fill('line'));
  await page.test('', 3);
  await page.test('', 11);
  assert.ok(!asked[0].includes('trace_records'));
  assert.ok(decodeURIComponent(asked[1]).endsWith('trace_records=0,1,2,3,4,5,6,7,8,11'));
  assert.deepEqual(page.knownFields.value, []);
});

test('a result belongs to the text of a sample, not to its place, until the new ones are there', async () => {
  /** @type {((answer: object) => void)[]} */
  const answers = [];
  const api = { json: () => new Promise((resolve) => answers.push(resolve)) };
  const storage = { getItem: () => null, setItem: () => undefined, removeItem: () => undefined };
  const page = create({ api, storage, clock: { now: () => 0 } });
  page.begin('p', 'version: 2', ['bad', 'good']);
  const record = (/** @type {number} */ index, /** @type {string} */ outcome) => ({ index, outcome, rows: [] });
  const tested = page.test('');
  answers[0]({ tables: [], records: [record(0, 'failed'), record(1, 'stored')] });
  await tested;
  const outcomes = () => page.results.value.map((r) => r?.outcome);
  assert.deepEqual(outcomes(), ['failed', 'stored']);
  page.setSamples(['new', 'bad']);
  assert.deepEqual(outcomes(), [undefined, 'failed']);
});

test('samples that are there after another pipeline was opened are not taken', async () => {
  /** @type {Record<string, (answer: any) => void>} */
  const answers = {};
  const api = {
    json: (/** @type {{path: string}} */ { path }) => new Promise((resolve) => (answers[path] = resolve)),
    sql: () => new Promise((resolve) => (answers.sql = resolve)),
  };
  const storage = { getItem: () => null, setItem: () => undefined, removeItem: () => undefined };
  const page = create({ api, storage, clock: { now: () => 0 } });
  page.begin('a', 'version: 2', ['mine']);
  const taken = page.samplesFromRejects(() => undefined);
  const opened = page.open('b', '');
  answers['/v1/pipelines/b']({ pipelines: [{ name: 'b', version: '1', pipeline: 'version: 2' }] });
  assert.equal(await opened, true);
  page.setSamples(['of b']);
  answers.sql({ rows: [['of a']] });
  assert.equal(await taken, '');
  assert.deepEqual(page.samples.value, ['of b']);
});

test('versions are deleted from the oldest on', async () => {
  /** @type {string[]} */
  const gone = [];
  const api = {
    json: async (/** @type {{path: string, method?: string}} */ { path, method }) => {
      if (method !== 'DELETE') return { pipelines: [] };
      if (gone.length === 2) throw new ApiError('no', { status: 503 });
      gone.push(path);
      return {};
    },
  };
  const page = create({ api, storage: {}, clock: { now: () => 0 } });
  assert.equal(await page.remove('p', ['v3', 'v2', 'v1']), false);
  assert.deepEqual(gone, ['/v1/pipelines/p?version=v1', '/v1/pipelines/p?version=v2']);
});

test('all faults of a line are underlined, and nothing behind them', () => {
  const line = [{ text: '{type: timestmp, index: x}', kind: 'key' }];
  const wrong = [
    { line: 1, column: 8, end_line: 1, end_column: 16, message: '' },
    { line: 1, column: 25, end_line: 1, end_column: 26, message: '' },
  ].reduce((pieces, fault) => underlineRange(pieces, ...rangeOf(fault)), line);
  assert.deepEqual(
    wrong.filter((p) => p.kind.includes('c-wrong')).map((p) => p.text),
    ['timestmp', 'x'],
  );
  assert.equal(wrong.map((p) => p.text).join(''), line[0].text);
  assert.deepEqual(rangeOf({ line: 1, column: 3, end_line: 2, end_column: 1, message: '' }), [2, Infinity]); // it goes on in the next line
  assert.deepEqual(rangeOf({ line: 1, column: 3, message: '' }), [2, 3]);
});

/** Tabs of one browser with a pipeline open. @param {number} count @param {boolean} [copies] a tab is a copy of the first one */
async function tabs(count, copies = false) {
  const kept = new Map();
  const sessions = Array.from({ length: count }, () => new Map(copies ? [['cordwood.tab', 'one']] : []));
  let time = 0;
  const clock = { now: () => ++time, wait: async () => undefined };
  const api = { json: async () => ({ pipelines: [{ name: 'p', version: 'v1', pipeline: 'stored', versions: [] }] }) };
  /** @type {ReturnType<typeof create>[]} */
  const list = [];
  const load = (/** @type {number} */ i) => {
    const storage = storageOf(kept, (key) => queueMicrotask(() => list.forEach((tab, k) => k !== i && tab.draftsChanged(key))));
    list[i] = create({ api, storage, session: storageOf(sessions[i]), clock });
    return list[i];
  };
  for (let i = 0; i < count; i++) await load(i).open('p', '');
  return { list, load, kept };
}

for (const copies of [false, true]) {
  test(`two tabs keep their own texts of a pipeline${copies ? ', one of them a copy of the other' : ''}`, async () => {
    const { list, load, kept } = await tabs(2, copies);
    const [first, second] = list;
    first.write('of the first');
    await Promise.resolve();
    assert.equal(second.draft.value, 'stored');
    assert.equal(second.otherDraft.value?.text, 'of the first', 'the second tab is told');
    second.write('of the second');
    await Promise.resolve();
    for (const [i, text] of ['of the first', 'of the second'].entries()) {
      const again = load(i); // as after a reload
      await again.open('p', '');
      assert.equal(again.draft.value, text);
      assert.notEqual(again.otherDraft.value?.text, text);
    }
    list[0].discard();
    list[1].discard();
    assert.equal(kept.has('cordwood.draft.p'), false);
  });
}

test('a tab goes on with the text of another, which was closed', async () => {
  const { list, load } = await tabs(2);
  list[0].write('left behind');
  list.splice(0, 1, list[1]);
  await Promise.resolve();
  list[1].takeOther();
  assert.equal(list[1].draft.value, 'left behind');
  list[1].dropOther();
  const again = load(1);
  await again.open('p', '');
  assert.deepEqual([again.draft.value, again.otherDraft.value], ['left behind', null]);
});
