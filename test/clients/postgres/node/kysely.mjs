import assert from 'node:assert/strict'
import { Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import Cursor from 'pg-cursor'
import { fails, many, target, text } from './common.mjs'

const open = password => new Kysely({ dialect: new PostgresDialect({ pool: new pg.Pool({ ...target, password, max: 2 }), cursor: Cursor }) })
const db = open(target.password)

export const end = () => db.destroy()

export const checks = {
  async connect () {
    assert.deepEqual((await sql`SELECT current_database() AS d`.execute(db)).rows, [{ d: target.database }])
    const wrong = open('wrong')
    await fails(sql`SELECT 1`.execute(wrong), '28P01')
    await wrong.destroy()
  },
  async schema () {
    const tables = (await db.introspection.getTables()).filter(t => t.schema === target.database)
    assert.deepEqual(tables.map(t => t.name).sort(), ['merged', 'types'])
    assert.deepEqual(tables.find(t => t.name === 'merged').columns.map(c => [c.name, c.dataType, c.isNullable]),
      [['ts', 'timestamptz', false], ['host', 'text', true], ['took', 'float8', true]])
  },
  async parameters () {
    for (let i = 0; i < 3; i++) {
      assert.deepEqual((await sql`SELECT ${'9223372036854775807'}::int8 AS n, ${text}::text AS t`.execute(db)).rows,
        [{ n: '9223372036854775807', t: text }])
    }
    const rows = await db.selectFrom('public.many').select('n').where('n', 'in', [5, 7]).orderBy('n').execute()
    assert.deepEqual(rows, [{ n: '5' }, { n: '7' }])
  },
  async fetch () {
    let n = 0
    for await (const row of db.selectFrom('public.many').select(['n', 't']).orderBy('n').stream(30000)) {
      assert.deepEqual(row, { n: String(n), t: `row ${n}` })
      n++
    }
    assert.equal(n, many)
  },
  async errors () {
    await fails(db.selectFrom('types').select('missing').execute(), '42703')
    await fails(db.transaction().execute(t => t.selectFrom('missing').selectAll().execute()), '42P01')
  }
}
