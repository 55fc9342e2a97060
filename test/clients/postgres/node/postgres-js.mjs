import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import postgres from 'postgres'
import { columns, fails, many, mistakes, rows, slow, target, text, tls, walk } from './common.mjs'

const open = options => postgres({ ...target, max: 1, onnotice: () => {}, ...options })
const sql = open()
const values = (statement, parameters) => sql.unsafe(statement, parameters).values().then(list => list.map(row => [...row]))

export const end = () => sql.end()

export const checks = {
  async connect () {
    assert.deepEqual(await values('SELECT current_database(), current_user'), [[target.database, target.user]])
    const wrong = open({ password: 'wrong' })
    await fails(wrong`SELECT 1`, '28P01')
    await wrong.end()
  },
  async tls () {
    const t = open({ ssl: tls() })
    assert.deepEqual([...await t`SELECT 42 AS n`], [{ n: 42 }])
    await t.end()
  },
  async schema () {
    const got = await sql`SELECT * FROM types LIMIT 0`
    assert.deepEqual(got.columns.map(f => [f.name, f.type]).slice(0, 8), [['ts', 1184], ['id', 23], ['s', 1184],
      ['ms', 1184], ['us', 1184], ['i8', 21], ['i16', 21], ['i64', 20]])
    const tables = await sql`SELECT table_name FROM information_schema.tables WHERE table_schema = ${target.database}
      ORDER BY 1`
    assert.deepEqual(tables.map(t => t.table_name), ['merged', 'types'])
  },
  async parameters () {
    for (const [statement, value, want] of [
      ['SELECT $1::bigint', '-9223372036854775808', '-9223372036854775808'], ['SELECT $1::int', -5, -5],
      ['SELECT $1::float8', 5e-324, 5e-324], ['SELECT $1::numeric(20,4)', '-1234567890123456.7891', '-1234567890123456.7891'],
      ['SELECT $1::boolean', true, true], ['SELECT $1::text', text, text], ['SELECT $1::bytea', Buffer.from([0, 255]),
        Buffer.from([0, 255])], ['SELECT $1::timestamptz', new Date(-1), new Date(-1)], ['SELECT $1::text', null, null],
      ['SELECT $1::json', { a: "it's" }, { a: "it's" }]
    ]) {
      for (const prepare of [false, true, true]) {
        const got = await sql.unsafe(statement, [value], { prepare }).values()
        assert.deepEqual(got.map(row => [...row]), [[want]], statement)
      }
    }
    const n = [7, 5, 6]
    const got = await sql`SELECT n FROM public.many WHERE n = ANY(${n}) AND t <> ${'row 6'} ORDER BY n LIMIT ${2}`
    assert.deepEqual(got.map(row => row.n), ['5', '7'])
    const inside = await sql`SELECT n FROM public.many WHERE n IN ${sql(n)} ORDER BY n`
    assert.deepEqual(inside.map(row => row.n), ['5', '6', '7'])
  },
  async types () {
    for (const row of rows) {
      const record = Object.fromEntries(columns.map((name, i) => [name, row[i]]))
      await sql`INSERT INTO types ${sql(record, columns)}`
    }
    const got = await values(`SELECT ${columns} FROM types ORDER BY id`)
    assert.deepEqual(got, rows)
  },
  async fetch () {
    let n = 0
    await sql.unsafe(walk).cursor(1000, part => {
      for (const row of part) {
        assert.deepEqual([row.n, row.t], [String(n), `row ${n}`])
        n++
      }
    })
    assert.equal(n, many)
  },
  async cancel () {
    const running = sql.unsafe(slow)
    const failed = fails(running, '57014')
    setTimeout(() => running.cancel(), 500)
    await failed
    assert.deepEqual(await values('SELECT 1'), [[1]])
  },
  async errors () {
    for (const [statement, code, position] of mistakes) {
      const error = await fails(sql.unsafe(statement), code)
      assert.equal(error.position, position, statement)
      assert.deepEqual(await values('SELECT 1'), [[1]])
    }
    await fails(sql.begin(async t => { await t`SELECT missing` }), '42703')
    assert.deepEqual(await values('SELECT 1'), [[1]])
  },
  async copy () {
    const into = await sql`COPY types (ts, id, t) FROM STDIN`.writable()
    await pipeline(Readable.from(['2026-02-01 00:00:00\t100\ta\\tb\n', '2026-02-01 00:00:01\t101\t\\N\n']), into)
    let out = ''
    for await (const part of await sql`COPY (SELECT id, t FROM types WHERE id >= 100 ORDER BY id) TO STDOUT`.readable()) {
      out += part
    }
    assert.equal(out, '100\ta\\tb\n101\t\\N\n')
  }
}
