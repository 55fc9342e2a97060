import assert from 'node:assert/strict'
import sequelize from 'sequelize'
import { fails, target, text } from './common.mjs'

const { DataTypes, Op, QueryTypes, Sequelize } = sequelize
const open = password => new Sequelize(target.database, target.user, password,
  { dialect: 'postgres', host: target.host, port: target.port, logging: false })
const s = open(target.password)

export const end = () => s.close()

export const checks = {
  async connect () {
    await s.authenticate()
    const wrong = open('wrong')
    await fails(wrong.authenticate().catch(e => { throw e.parent }), '28P01')
    await wrong.close()
  },
  async schema () {
    const q = s.getQueryInterface()
    assert.deepEqual(Object.entries(await q.describeTable('merged', target.database)).map(([n, c]) => [n, c.type, c.primaryKey]),
      [['ts', 'TIMESTAMP WITH TIME ZONE', true], ['host', 'TEXT', true], ['took', 'DOUBLE PRECISION', false]])
    assert.deepEqual(await q.getForeignKeyReferencesForTable('merged'), [])
    const [index] = await q.showIndex('merged') // of any schema
    assert.deepEqual([index.name, index.primary, index.fields.map(f => f.attribute)], ['merged_pkey', true, ['ts', 'host']])
  },
  async parameters () {
    for (let i = 0; i < 3; i++) {
      assert.deepEqual(await s.query('SELECT $1::int8 AS n, $2::text AS t', { bind: ['9223372036854775807', text], type: QueryTypes.SELECT }),
        [{ n: '9223372036854775807', t: text }])
    }
    assert.deepEqual(await s.query('SELECT n FROM public.many WHERE n IN (:l) ORDER BY n', { replacements: { l: [5, 7] }, type: QueryTypes.SELECT }),
      [{ n: '5' }, { n: '7' }])
  },
  async types () {
    const Entry = s.define('entry', {
      ts: { type: DataTypes.DATE(6), primaryKey: true },
      host: { type: DataTypes.TEXT, primaryKey: true },
      n: DataTypes.BIGINT,
      f: DataTypes.DOUBLE,
      b: DataTypes.BOOLEAN,
      bin: DataTypes.BLOB,
      j: DataTypes.JSON
    }, { tableName: 'entries', timestamps: false })
    await s.sync()
    await s.sync()
    const at = new Date('2026-01-05T10:00:00.123Z')
    const one = { ts: at, host: text, n: '-9223372036854775808', f: 1.5, b: false, bin: Buffer.from([0, 255]), j: { a: [1, null] } }
    assert.deepEqual((await Entry.create(one)).get(), one)
    const [b] = await Entry.bulkCreate([{ ts: at, host: 'b' }])
    assert.equal(b.host, 'b')
    const got = await Entry.findAll({ where: { ts: { [Op.gte]: at }, host: { [Op.in]: [text, 'x'] } }, raw: true })
    assert.deepEqual(got, [one])
    assert.deepEqual(await Entry.findOne({ where: { host: { [Op.iLike]: 'B%' }, n: null }, raw: true }),
      { ts: at, host: 'b', n: null, f: null, b: null, bin: null, j: null })
    assert.equal((await Entry.findAndCountAll({ limit: 1 })).count, 2)
    await s.getQueryInterface().dropTable('entries')
  },
  async errors () {
    await fails(s.query('SELECT missing FROM types').catch(e => { throw e.parent }), '42703')
    await fails(s.transaction(t => s.query('SELECT id FROM missing', { transaction: t })).catch(e => { throw e.parent }), '42P01')
    assert.deepEqual((await s.query('SELECT 1 AS n'))[0], [{ n: 1 }])
  }
}
