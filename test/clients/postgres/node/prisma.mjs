import assert from 'node:assert/strict'
import { PrismaPg } from '@prisma/adapter-pg'
import { PrismaClient } from '@prisma/client'
import { fails, target, text } from './common.mjs'

const open = password => new PrismaClient({ adapter: new PrismaPg({ ...target, password }, { schema: target.database }) })
const db = open(target.password)
// The error of PostgreSQL is in the details of Prisma's.
const cause = promise => promise.catch(e => {
  throw Object.assign(e, { code: e.meta?.driverAdapterError?.cause?.originalCode ?? e.code })
})

export const end = () => db.$disconnect()

export const checks = {
  async connect () {
    await db.$connect()
    const wrong = open('wrong')
    await assert.rejects(wrong.$queryRaw`SELECT 1`, /28P01|Authentication failed/)
    await wrong.$disconnect()
  },
  async parameters () {
    const at = new Date('2026-01-05T10:00:00.123Z')
    for (let i = 0; i < 3; i++) {
      assert.deepEqual(await db.$queryRaw`SELECT ${'9223372036854775807'}::int8 AS n, ${text}::text AS t, ${at}::timestamptz AS at,
        ${[1, 2]}::int[] AS l`, [{ n: 9223372036854775807n, t: text, at, l: [1, 2] }])
    }
  },
  async types () {
    await db.$executeRaw`CREATE TABLE entries (ts timestamptz(6) NOT NULL, host text NOT NULL, n bigint, f double precision,
      b boolean, bin bytea, j jsonb, PRIMARY KEY (host, ts))`
    await db.$executeRaw`CREATE TABLE lines (ts timestamptz(6) NOT NULL, text text) WITH (append_mode = 'true')`
    const ts = new Date('2026-01-05T10:00:00.123Z')
    const one = { ts, host: text, n: -9223372036854775808n, f: 1.5, b: false, bin: new Uint8Array([0, 255]), j: { a: [1, null] } }
    assert.deepEqual(await db.entry.create({ data: one }), one)
    assert.deepEqual(await db.entry.createMany({ data: [{ ts, host: 'b' }, { ts, host: 'c' }] }), { count: 2 })
    assert.deepEqual(await db.entry.createManyAndReturn({ data: [{ ts, host: 'd', n: 1n }, { ts, host: 'e' }], select: { host: true, n: true } }),
      [{ host: 'd', n: 1n }, { host: 'e', n: null }])
    assert.deepEqual(await db.entry.findMany({ where: { ts: { gte: ts }, host: { in: [text, 'x'] } }, orderBy: { ts: 'desc' }, take: 2 }), [one])
    assert.deepEqual(await db.entry.groupBy({ by: ['b'], _count: true, _max: { f: true }, where: { n: { not: 1n } } }),
      [{ b: false, _count: 1, _max: { f: 1.5 } }])
    assert.deepEqual(await db.entry.deleteMany({ where: { host: 'c' } }), { count: 1 })
    const [created, count] = await db.$transaction([db.entry.create({ data: { ts, host: 'z' } }), db.entry.count()])
    assert.deepEqual([created.host, count], ['z', 5])
    assert.deepEqual(await db.line.createMany({ data: [{ ts, text: 'a' }, { ts, text: 'b' }], skipDuplicates: true }), { count: 2 })
    assert.equal(await db.line.count({ where: { ts } }), 2)
    // What the table would not do exactly is refused.
    await fails(cause(db.entry.createMany({ data: [{ ts, host: 'b' }], skipDuplicates: true })), '0A000')
    await fails(cause(db.entry.updateMany({ where: { host: 'b' }, data: { f: 3 } })), '0A000')
    await fails(cause(db.entry.delete({ where: { host_ts: { ts, host: 'd' } } })), '0A000')
    await db.$executeRaw`DROP TABLE entries`
    await db.$executeRaw`DROP TABLE lines`
  },
  async errors () {
    await fails(cause(db.$queryRaw`SELECT missing FROM types`), '42703')
    await fails(cause(db.$transaction(tx => tx.$queryRaw`SELECT id FROM missing`)), '42P01')
    assert.deepEqual(await db.$queryRaw`SELECT 1 AS n`, [{ n: 1 }])
  }
}
