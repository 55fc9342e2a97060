// Reads an Iceberg table with icebird and prints a summary of it: node read.mjs TABLE-FOLDER METADATA-NAME. Icebird reads
// by fetch, which this program answers from files.
import { open, readFile, stat } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { icebergRead } from 'icebird'

globalThis.fetch = async (url, init) => {
  const path = fileURLToPath(String(url))
  const range = new Headers(init?.headers).get('range')
  if (init?.method === 'HEAD') {
    return new Response(null, { headers: { 'content-length': String((await stat(path)).size) } })
  }
  if (!range) return new Response(await readFile(path))
  const [from, to] = range.replace('bytes=', '').split('-').map(Number)
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(to + 1 - from), 0, to + 1 - from, from)
    return new Response(buffer.subarray(0, bytesRead), { status: 206 })
  } finally {
    await file.close()
  }
}

const [folder, name] = process.argv.slice(2)
const rows = await icebergRead({ tableUrl: folder, metadataFileName: name })
const columns = {}
for (const row of rows) {
  for (const [column, value] of Object.entries(row)) {
    const c = columns[column] ??= { values: 0, seen: new Set(), sum: 0, unit: '' }
    if (value === null || value === undefined) continue
    c.values++
    let v = value
    if (v instanceof Date) { // milliseconds: icebird's times have no more
      c.unit = 'ms'
      v = BigInt(v.getTime())
    } else if (v instanceof Uint8Array) {
      c.seen.add(Buffer.from(v).toString('hex'))
      c.sum += v.length
      continue
    }
    c.seen.add(v)
    if (typeof v === 'string') c.sum += [...v].length
    else if (typeof v === 'boolean') c.sum += Number(v)
    else if (typeof v === 'bigint') c.sum = BigInt(c.sum) + v
    else if (typeof c.sum === 'bigint') c.sum += BigInt(v)
    else c.sum += v
  }
}
for (const c of Object.values(columns)) {
  c.distinct = c.seen.size
  c.sum = String(c.sum)
  delete c.seen
}
console.log(JSON.stringify({ rows: rows.length, columns }))
