// Sends what node-postgres sends for each kind of statement, so that its messages can be recorded: record.mjs HOST PORT.
import pg from 'pg'
import Cursor from 'pg-cursor'

const [, , host, port] = process.argv
const c = new pg.Client({ host, port: Number(port), user: 'svc', database: 'public', application_name: 'record' })
await c.connect()
await c.query('CREATE TABLE messages (ts TIMESTAMPTZ NOT NULL, host TEXT, n BIGINT, f DOUBLE PRECISION, b BOOLEAN, bin BYTEA, ' +
  'j JSON, PRIMARY KEY (ts, host))')
const at = new Date(Date.UTC(2026, 0, 5, 10, 0, 0, 123))
await c.query('INSERT INTO messages VALUES ($1, $2, $3, $4, $5, $6, $7)',
  [at, "it's", '9223372036854775807', 1.5, true, Buffer.from([0, 255]), { a: 1 }])
await c.query('INSERT INTO messages (ts, host) VALUES ($1, $2), ($3, $4)', [new Date(0), null, new Date(1), 'b'])
await c.query('SELECT * FROM messages WHERE n = $1 AND host = ANY($2)', ['9223372036854775807', ["it's", 'a,b']])
for (const n of [1, 2]) {
  await c.query({ name: 'by host', text: 'SELECT n, f, b FROM messages WHERE host = $1', values: [n === 1 ? "it's" : 'x'] })
}
await c.query({ text: 'SELECT n, f, b, bin FROM messages WHERE host = $1', values: ["it's"], binary: true })
await c.query('SELECT 1; SELECT 2 AS two, NULL, ARRAY[1, NULL], 1.50::numeric(8, 2)')
for (const [text, values] of [['SELECT nope FROM messages'], ["SELECT $1::int, 'é', nope", [1]], ['SELECT $1::int', ['x']],
  ['SELEC 1']]) {
  await c.query(text, values).catch(() => {})
}
await c.query('BEGIN')
const cursor = c.query(new Cursor('SELECT x FROM generate_series(1, 5) x WHERE x > $1', [0]))
await cursor.read(2)
await cursor.read(2)
await cursor.read(2)
await cursor.close()
await c.query('ROLLBACK')
await c.query('-- nothing')
await c.query('DROP TABLE messages')
await c.end()
