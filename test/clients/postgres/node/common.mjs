// What is common to the checks of all clients.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { checkServerIdentity } from 'node:tls'

const [, host, port, database, authority] = process.argv.slice(2)

export const target = { host, port: Number(port), database, user: database, password: "pass wörd's" }
// Node.js checks an address by the name that it was given.
export const tls = () => ({ ca: readFileSync(authority), checkServerIdentity: (_, cert) => checkServerIdentity(host, cert) })
export const many = 100000
export const walk = 'SELECT n, t FROM public.many ORDER BY n'
export const slow = 'SELECT count(*) FROM generate_series(1, 100000) a(x), generate_series(1, 1000000) b(y) WHERE x % 7 = y % 13'
export const text = 'Ünïcode ☃ 🎉 \'single\' "double" back\\slash %s $1 ? ; -- \t\nnext'
export const columns = ['ts', 'id', 's', 'ms', 'us', 'i8', 'i16', 'i64', 'u8', 'u16', 'u32', 'u64', 'f32', 'f64', 'b', 't',
  'bin', 'j']

// Rows of the table types as they are read: integers of 64 bits and decimals are texts, and dates have milliseconds.
export const rows = [
  [new Date('2026-01-05T10:00:00.123Z'), 1, new Date('1969-12-31T23:59:59Z'), new Date('9999-12-31T23:59:59.999Z'),
    new Date('1600-02-29T00:00:00.001Z'), 127, 32767, '9223372036854775807', 255, 65535, '4294967295', '18446744073709551615',
    Infinity, Number.MAX_VALUE, true, text, Buffer.from([0, 255, 39, 92, 10]), { a: [1, 'x', null], b: 'é"\'' }],
  [new Date('1969-12-31T23:59:59.999Z'), 2, new Date('9999-12-31T23:59:59Z'), new Date('1000-01-02T00:00:00Z'), new Date(0),
    -128, -32768, '-9223372036854775808', 0, 0, '0', '0', -1.5, NaN, false, '', Buffer.alloc(0), []],
  [new Date('2026-01-05T10:00:01Z'), 3, ...Array(16).fill(null)]
]

// Statements, the SQLSTATE of their error, and its position if it has one.
export const mistakes = [
  ['SELECT missing FROM types', '42703', '8'], ['SELECT id FROM missing', '42P01', '16'],
  ["SELECT 'é', missing FROM types", '42703', '13'], ['SELEC 1', '42601', '1'], ['UPDATE types SET id = 1', '0A000', undefined]
]

export async function fails (promise, code) {
  try {
    await promise
  } catch (error) {
    assert.equal(error.code, code, String(error))
    return error
  }
  assert.fail(`it succeeded, and should fail with ${code}`)
}
