import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import pg from 'pg'
import copy from 'pg-copy-streams'
import Cursor from 'pg-cursor'
import { columns, fails, many, mistakes, rows, slow, target, text, tls, walk } from './common.mjs'

pg.defaults.parseInputDatesAsUTC = true // local times of 1600 have seconds in their offsets, which it drops

async function open (options) {
  const c = new pg.Client({ ...target, ...options })
  await c.connect()
  return c
}

const c = await open()
const values = async (sql, parameters) => (await c.query({ text: sql, values: parameters, rowMode: 'array' })).rows

export const end = () => c.end()

export const checks = {
  async connect () {
    assert.deepEqual(await values('SELECT current_database(), current_user'), [[target.database, target.user]])
    await fails(open({ password: 'wrong' }), '28P01')
  },
  async tls () {
    const t = await open({ ssl: tls() })
    assert.equal(t.connection.stream.encrypted, true)
    assert.deepEqual((await t.query('SELECT 42 AS n')).rows, [{ n: 42 }])
    await t.end()
  },
  async schema () {
    const got = await c.query('SELECT * FROM types LIMIT 0')
    assert.deepEqual(got.fields.map(f => [f.name, f.dataTypeID]).slice(0, 8), [['ts', 1184], ['id', 23], ['s', 1184],
      ['ms', 1184], ['us', 1184], ['i8', 21], ['i16', 21], ['i64', 20]])
    assert.deepEqual(await values('SELECT table_name FROM information_schema.tables WHERE table_schema = $1 ORDER BY 1',
      [target.database]), [['merged'], ['types']])
  },
  async parameters () {
    for (const [sql, value, want] of [
      ['SELECT $1::bigint', '-9223372036854775808', '-9223372036854775808'], ['SELECT $1::int', -5, -5],
      ['SELECT $1::float8', 5e-324, 5e-324], ['SELECT $1::numeric(20,4)', '-1234567890123456.7891', '-1234567890123456.7891'],
      ['SELECT $1::boolean', true, true], ['SELECT $1::text', text, text], ['SELECT $1::bytea', Buffer.from([0, 255]),
        Buffer.from([0, 255])], ['SELECT $1::timestamptz', new Date(-1), new Date(-1)], ['SELECT $1::text', null, null],
      ['SELECT $1::json', { a: "it's" }, { a: "it's" }], ['SELECT $1::text[]', ['a,b', 'q"', null, ''], ['a,b', 'q"', null, '']],
      ['SELECT $1::int[]', [1, 2], [1, 2]], ['SELECT count(*) FROM public.many WHERE n = ANY($1)', [1, 2, 3], '3']
    ]) {
      for (const name of [undefined, sql, sql]) { // a statement with a name is prepared once
        const got = await c.query({ name, text: sql, values: [value], rowMode: 'array' })
        assert.deepEqual(got.rows, [[want]], sql)
      }
    }
  },
  async types () {
    const marks = columns.map((_, i) => '$' + (i + 1)).join(', ')
    for (const row of rows) {
      const sent = row.map((v, i) => columns[i] === 'j' && v !== null ? JSON.stringify(v) : v)
      await c.query(`INSERT INTO types (${columns}) VALUES (${marks})`, sent)
    }
    assert.deepEqual(await values(`SELECT ${columns} FROM types ORDER BY id`), rows)
    for (const name of ['ts', 's', 'ms', 'us', 'i64', 'u64', 't', 'b']) {
      for (const row of rows.slice(0, 2)) {
        assert.deepEqual(await values(`SELECT id FROM types WHERE ${name} = $1 AND id < 3`, [row[columns.indexOf(name)]]),
          [[row[1]]], name)
      }
    }
  },
  async fetch () {
    const cursor = c.query(new Cursor(walk))
    let n = 0
    for (;;) {
      const part = await cursor.read(1000)
      if (part.length === 0) break
      for (const row of part) {
        assert.deepEqual([row.n, row.t], [String(n), `row ${n}`])
        n++
      }
    }
    await cursor.close()
    assert.equal(n, many)
  },
  async cancel () {
    const t = await open()
    const running = fails(t.query(slow), '57014')
    setTimeout(() => c.query('SELECT pg_cancel_backend($1)', [t.processID]).catch(() => cancel(t)), 500)
    await running
    assert.deepEqual((await t.query('SELECT 1 AS n')).rows, [{ n: 1 }])
    await t.end()
  },
  async errors () {
    for (const [sql, code, position] of mistakes) {
      const error = await fails(c.query(sql), code)
      assert.equal(error.position, position, sql)
      assert.deepEqual(await values('SELECT 1'), [[1]])
    }
    await c.query('BEGIN')
    await fails(c.query('SELECT missing'), '42703')
    await fails(c.query('SELECT 1'), '25P02')
    await c.query('ROLLBACK')
  },
  async copy () {
    const into = c.query(copy.from('COPY types (ts, id, t) FROM STDIN'))
    await pipeline(Readable.from(['2026-02-01 00:00:00\t100\ta\\tb\n', '2026-02-01 00:00:01\t101\t\\N\n']), into)
    let out = ''
    const from = c.query(copy.to('COPY (SELECT id, t FROM types WHERE id >= 100 ORDER BY id) TO STDOUT'))
    from.on('data', part => { out += part })
    await once(from, 'end')
    assert.equal(out, '100\ta\\tb\n101\t\\N\n')
  }
}

// cancel sends the request to cancel that the protocol has: node-postgres does so on another connection.
function cancel (t) {
  const other = new pg.Client(target)
  other.cancel(t, t._getActiveQuery?.() ?? t.activeQuery)
}
