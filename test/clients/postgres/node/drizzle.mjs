import assert from 'node:assert/strict'
import { and, count, desc, eq, gte, inArray, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { drizzle as drizzleJS } from 'drizzle-orm/postgres-js'
import { bigint, boolean, customType, doublePrecision, json, pgTable, text as column, timestamp } from 'drizzle-orm/pg-core'
import pg from 'pg'
import postgres from 'postgres'
import { fails, target, text } from './common.mjs'

const bytea = customType({ dataType: () => 'bytea' })
const entries = pgTable('entries', {
  ts: timestamp('ts', { withTimezone: true, precision: 6 }).notNull(),
  host: column('host'),
  n: bigint('n', { mode: 'bigint' }),
  f: doublePrecision('f'),
  b: boolean('b'),
  bin: bytea('bin'),
  j: json('j')
})
const pool = new pg.Pool({ ...target, max: 3 })
const direct = postgres({ ...target, max: 3, onnotice: () => {} })
const drivers = [drizzle(pool), drizzleJS(direct)]
const cause = promise => promise.catch(e => { throw e.cause ?? e })

export const end = async () => { await pool.end(); await direct.end() }

export const checks = {
  async connect () {
    for (const db of drivers) {
      const rows = await db.execute(sql`SELECT current_database() AS d`)
      assert.equal((rows.rows ?? rows)[0].d, target.database)
    }
    await fails(new pg.Pool({ ...target, password: 'wrong' }).query('SELECT 1'), '28P01')
  },
  async parameters () {
    for (const db of drivers) {
      for (let i = 0; i < 3; i++) {
        const rows = await db.execute(sql`SELECT ${'9223372036854775807'}::int8 AS n, ${text}::text AS t`)
        assert.deepEqual({ ...(rows.rows ?? rows)[0] }, { n: '9223372036854775807', t: text })
      }
    }
  },
  async types () {
    const at = new Date('2026-01-05T10:00:00.123Z')
    const one = { ts: at, host: text, n: -9223372036854775808n, f: 1.5, b: false, bin: Buffer.from([0, 255]), j: { a: [1, null] } }
    for (const db of drivers) {
      await db.execute(sql`CREATE TABLE IF NOT EXISTS entries (ts timestamp(6) with time zone NOT NULL, host text, n bigint,
        f double precision, b boolean, bin bytea, j json)`)
      await db.insert(entries).values([one, { ts: at, host: 'b' }])
      assert.deepEqual(await db.select().from(entries).where(and(gte(entries.ts, at), inArray(entries.host, [text])))
        .orderBy(desc(entries.ts)).limit(2), [one])
      assert.deepEqual(await db.select({ host: entries.host, n: count() }).from(entries).where(eq(entries.host, 'b'))
        .groupBy(entries.host), [{ host: 'b', n: 1 }])
      const prepared = db.select({ f: entries.f }).from(entries).where(eq(entries.n, sql.placeholder('n'))).prepare('by n')
      assert.deepEqual(await prepared.execute({ n: one.n }), [{ f: 1.5 }])
      assert.equal(await db.$count(entries), 2)
      await db.transaction(tx => tx.insert(entries).values({ ts: at }))
      await db.execute(sql`DROP TABLE entries`)
    }
  },
  async errors () {
    for (const db of drivers) {
      await fails(cause(db.execute(sql`SELECT missing FROM types`)), '42703')
      await fails(cause(db.transaction(tx => tx.execute(sql`SELECT id FROM missing`))), '42P01')
    }
  }
}
