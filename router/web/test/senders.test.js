// Tests of the configurations of Add data. They are those of docs/ingestion.md.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { openPort, senders, wrongName } from '../app/lib/senders.js';

/** The blocks of code of docs/ingestion.md. */
const blocks = readFileSync(new URL('../../../docs/ingestion.md', import.meta.url), 'utf8')
  .split('\n```')
  .filter((_, i) => i % 2 === 1)
  .map((part) => part.slice(part.indexOf('\n') + 1));

/** The tables of the page's configurations, where they are not app. */
const tables = { cordwood: 'app2', journald: 'journal', 'syslog-ng': 'syslog', rsyslog: 'syslog' };

/** Commands. What docs/ingestion.md says of users it says once, and not in each of them. */
const commands = ['curl', 'cordwood', 'journald'];

/** Leaves out comments behind settings. @param {string} text */
const settings = (text) => text.replace(/[ ]+(#|[/][/]) .*$/gm, '');

/** Leaves out lines that are comments. @param {string} text */
const withoutComments = (text) => settings(text.replace(/^[ ]*(#|[/][/]) .*\n/gm, ''));

/** Makes settings of lines that are comments. @param {string} text */
const withoutMarks = (text) => settings(text.replace(/^([ ]*)(#|[/][/]) /gm, '$1'));

/** Writes each reference to the password as the page does. @param {string} text */
const withPassword = (text) =>
  text
    .replace(/\$[{](env:)?CORDWOOD_PASSWORD[}]|#[{]ENV\['CORDWOOD_PASSWORD'\][}]|`CORDWOOD_PASSWORD`/g, 'SECRET')
    .replace('sys.env("CORDWOOD_PASSWORD")', '"SECRET"');

/** Leaves out the quotes around values with the password. @param {string} text */
const withoutQuotes = (text) => text.replace(/"((?:ship:)?SECRET)"/g, '$1');

test('configurations stand in docs/ingestion.md', () => {
  assert.ok(blocks.length > 60);
  for (const sender of senders) {
    const to = { origin: 'http://127.0.0.1:4000', db: 'public', table: tables[sender.id] ?? 'app', pipeline: 'svc_identity', user: '' };
    if (sender.id !== 'docker') {
      // Docker's driver needs a token, also where there are no users.
      const text = settings(sender.text(to));
      assert.ok(
        blocks.some((block) => withoutComments(block).includes(text)),
        `no block of docs/ingestion.md has the configuration of ${sender.name}:\n${text}`,
      );
    }
    if (commands.includes(sender.id)) continue;
    const text = withoutQuotes(settings(withPassword(sender.text({ ...to, user: 'ship' }))));
    assert.ok(
      blocks.some((block) => withoutQuotes(withoutMarks(block)).includes(text)),
      `no block of docs/ingestion.md has the configuration of ${sender.name} with a user:\n${text}`,
    );
  }
});

test('a sender of docs/ingestion.md that takes this address is on the page', () => {
  const missing = blocks
    .filter((block) => /^# [\w.-]+$|^[/][/] [\w.-]+$/m.test(block.split('\n')[0]) && block.includes('127.0.0.1:4000'))
    .map((block) => block.split('\n')[0].replace(/^(#|[/][/]) /, ''))
    .filter((file) => !senders.some((sender) => sender.file.split(' ').includes(file)) && file !== 'datadog.yaml');
  assert.deepEqual(missing, []);
});

test('configurations have the address of the server, and never a password', () => {
  const to = { origin: 'https://logs.example:4443', db: 'public', table: 'app', pipeline: 'p', user: 'ann' };
  for (const sender of senders) {
    const text = sender.text(to);
    assert.ok(text.includes('logs.example'), sender.id);
    assert.ok(!text.includes('SECRET'), sender.id);
  }
});

/** The configuration of a sender, and that of the port to which it sends. */
const allOf = (sender, to) => `${sender.text(to)} ${sender.port?.text(to) ?? ''}`;

test('ports of their own: what opens them, and whether they are open', () => {
  const to = { origin: 'http://h', db: 'shop', table: 'app', pipeline: 'p', user: '' };
  const syslog = senders.find((s) => s.id === 'syslog');
  assert.equal(syslog.port.text(to), 'udp://0.0.0.0:5514?table=app&db=shop&pipeline=p,tcp://0.0.0.0:5514?table=app&db=shop&pipeline=p');
  const flags = readFileSync(new URL('../../../docs/ingestion.md', import.meta.url), 'utf8');
  for (const { port } of senders) assert.ok(!port || flags.includes(`--${port.flag}`), port?.flag);
  assert.equal(openPort('data-dir = "/x"\nsyslog-addr = "tcp://0.0.0.0:5514"\n', 'syslog-addr'), 'tcp://0.0.0.0:5514');
  assert.equal(openPort('syslog-addr = ""\n', 'syslog-addr'), '');
  assert.equal(openPort('', 'syslog-addr'), '');
});

test('configurations send to the database of the page', () => {
  const to = { origin: 'https://logs.example:4443', db: 'shop', table: 'app', pipeline: 'p', user: '' };
  for (const sender of senders) {
    if (sender.lacks?.(to)) continue;
    assert.match(allOf(sender, to), /[?&]db=shop\b|--db shop |x-svc-db-name: shop|"x-svc-db-name" = "shop"/, sender.id);
  }
});

test('configurations send through the pipeline of the page', () => {
  const to = { origin: 'https://logs.example:4443', db: 'public', table: 'app', pipeline: 'p1', user: '' };
  for (const sender of senders) {
    if (sender.lacks?.(to)) continue;
    assert.match(allOf(sender, to), /&pipeline_name=p1|[?&]pipeline=p1|--pipeline p1|x-svc-pipeline-name: p1|"x-svc-pipeline-name" = "p1"/, sender.id);
    assert.ok(!sender.text(to).includes('custom_time_index'), sender.id);
  }
});

test('Docker has only options of the log driver splunk', () => {
  const docker = senders.find((s) => s.id === 'docker');
  const to = { origin: 'https://logs.example:4443', db: 'shop', table: 'app', pipeline: 'p', user: 'ann' };
  const text = docker.text(to);
  assert.deepEqual(
    [...text.matchAll(/^ +(splunk-[a-z-]+):/gm)].map((m) => m[1]),
    ['splunk-url', 'splunk-token', 'splunk-index', 'splunk-format'],
  );
  assert.match(text, /splunk-url: https:[/][/]logs.example:8088$/m); // the driver refuses an address with a path
  assert.equal(docker.port.text(to), '0.0.0.0:8088?db=shop&pipeline=p');
  assert.equal(docker.port.text({ ...to, db: 'public', pipeline: 'svc_identity' }), '0.0.0.0:8088');
});

test('Vector gets no % in an address', () => {
  const vector = senders.find((s) => s.id === 'vector');
  const names = { db: 'public', table: 'a:b.c@d', pipeline: 'x:y' };
  assert.equal(vector.lacks(names), '');
  assert.ok(!vector.text({ ...names, origin: 'http://h', user: '' }).includes('%'));
  assert.match(vector.lacks({ ...names, table: 'a#b' }), /cannot send to a table with #/);
});

test('the name of a user is a text for Fluentd', () => {
  const fluentd = senders.find((s) => s.id === 'fluentd');
  const to = { origin: 'http://h', db: 'public', table: 'app', pipeline: 'p' };
  for (const [user, want] of [
    ['ship@example.org', 'username ship@example.org'],
    ["a #{`id`}'b", "username 'a #{`id`}\\'b'"],
    ['1', "username '1'"],
  ]) {
    assert.ok(fluentd.text({ ...to, user }).includes(`${want}\n`), fluentd.text({ ...to, user }));
  }
});

test('names that YAML takes for something else stand in quotes', () => {
  const to = { origin: 'https://logs.example', db: 'public', pipeline: '1', user: '' };
  for (const [table, want] of [
    ['no', '"no"'],
    ['-', '"-"'],
    [':a', '":a"'],
    ['web.access', 'web.access'],
  ]) {
    const text = senders.find((s) => s.id === 'promtail').text({ ...to, table });
    assert.ok(text.includes(`headers: {x-svc-log-table-name: ${want}, x-svc-pipeline-name: "1"}`), text);
  }
});

test('a link cannot put commands into configurations', () => {
  const names = { db: 'public', table: 'app', pipeline: 'svc_identity' };
  assert.equal(wrongName(names), '');
  assert.equal(wrongName({ db: 'a-b.c', table: ':a-b.c@d#e', pipeline: 'a:b.c-d' }), '');
  for (const bad of ['', 'x;id', "x'$(id)'", 'x\nid', 'app\n', '$(id)', '`id`', 'a b', 'a"b', 'a|b', 'ä', '#a', 'a'.repeat(129)]) {
    for (const key of ['db', 'table', 'pipeline']) assert.notEqual(wrongName({ ...names, [key]: bad }), '', `${key} ${bad}`);
  }
});

test('the name of a user is no command', () => {
  const to = { origin: 'https://logs.example', db: 'public', table: 'app', pipeline: 'p', user: "a'$(id)" };
  for (const id of ['curl', 'cordwood', 'journald']) {
    const text = senders.find((s) => s.id === id).text(to);
    assert.ok(text.includes(`'a'\\''$(id)':"$CORDWOOD_PASSWORD"`), text);
  }
});
