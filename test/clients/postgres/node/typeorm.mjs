import assert from 'node:assert/strict'
import 'reflect-metadata'
import { DataSource, EntitySchema, In, MoreThan } from 'typeorm'
import { fails, many, target, text, walk } from './common.mjs'

const Entry = new EntitySchema({
  name: 'Entry',
  tableName: 'entries',
  columns: {
    ts: { type: 'timestamptz', primary: true },
    host: { type: 'text', primary: true },
    n: { type: 'bigint', nullable: true },
    f: { type: 'float8', nullable: true },
    b: { type: 'boolean', nullable: true },
    bin: { type: 'bytea', nullable: true },
    j: { type: 'json', nullable: true }
  }
})
const { user, ...rest } = target
const source = new DataSource({ type: 'postgres', ...rest, username: user, entities: [Entry] })
await source.initialize()
const entries = source.getRepository('Entry')

export const end = () => source.destroy()

export const checks = {
  async connect () {
    assert.deepEqual(await source.query('SELECT current_database() AS d'), [{ d: target.database }])
    await fails(new DataSource({ type: 'postgres', ...rest, username: user, password: 'wrong' }).initialize(), '28P01')
  },
  async schema () {
    const runner = source.createQueryRunner()
    const table = await runner.getTable('merged')
    assert.deepEqual(table.columns.map(c => [c.name, c.type, c.isNullable, c.isPrimary]),
      [['ts', 'timestamp with time zone', false, true], ['host', 'text', true, true],
        ['took', 'double precision', true, false]])
    assert.equal(table.comment, 'rows by host')
    await source.synchronize() // creates the table
    await source.synchronize() // finds it
    assert.equal(await runner.hasTable('entries'), true)
    await runner.release()
  },
  async parameters () {
    for (let i = 0; i < 3; i++) {
      assert.deepEqual(await source.query('SELECT $1::int8 AS n, $2::text AS t, $3::numeric(9, 2) AS d, $4::int[] AS l',
        ['9223372036854775807', text, '1.50', [1, 2]]), [{ n: '9223372036854775807', t: text, d: '1.50', l: [1, 2] }])
    }
  },
  async types () {
    const at = new Date('2026-01-05T10:00:00.123Z')
    const one = { ts: at, host: text, n: '-9223372036854775808', f: 1.5, b: false, bin: Buffer.from([0, 255]), j: { a: [1, null] } }
    await entries.save(one)
    await entries.insert([{ ts: at, host: 'b' }, { ts: at, host: 'c', n: null }])
    assert.deepEqual(await entries.find({ where: { ts: MoreThan(new Date(0)), host: In([text]) } }), [one])
    assert.deepEqual(await entries.findOneBy({ host: 'b' }), { ts: at, host: 'b', n: null, f: null, b: null, bin: null, j: null })
    const [, count] = await entries.findAndCount({ order: { host: 'DESC' }, take: 1, skip: 1 })
    assert.equal(count, 3)
    assert.equal((await entries.delete({ host: 'c' })).affected, 1)
    const runner = source.createQueryRunner()
    await runner.dropTable('entries')
    await runner.release()
  },
  async fetch () {
    const runner = source.createQueryRunner()
    let n = 0
    for await (const row of await runner.stream(walk)) {
      assert.deepEqual(row, { n: String(n), t: `row ${n}` })
      n++
    }
    await runner.release()
    assert.equal(n, many)
  },
  async errors () {
    await fails(source.query('SELECT missing FROM types'), '42703')
    await fails(source.transaction(m => m.query('SELECT id FROM missing')), '42P01')
    assert.equal((await source.query('SELECT 1 AS n'))[0].n, 1)
  }
}
