// Sends records with the marks FIRST to LAST-1 by a client: node send.mjs CLIENT FIRST LAST ADDRESS PAUSE, the address of its
// protocol's port and the milliseconds to wait after each 20 records. Every tenth record is an error.
import { datadog } from './datadog.mjs'
import { elasticsearch } from './elasticsearch.mjs'
import { loki } from './loki.mjs'
import { opentelemetry } from './opentelemetry.mjs'
import { more } from './more.mjs'
import { others } from './others.mjs'

const [client, first, last, address, pause] = [process.argv[2], ...process.argv.slice(3).map((a, i) => (i === 2 ? a : Number(a)))]

const sleep = (ms) => new Promise((done) => setTimeout(done, ms))

const job = {
  address,
  count: last - first,
  level: (mark) => (mark % 10 === 0 ? 'error' : 'info'),
  // The marks, as fast as the program makes records.
  async * marks () {
    for (let mark = first; mark < last; mark++) {
      yield mark
      if (pause > 0 && mark % 20 === 19) await sleep(pause)
    }
  },
  // The marks in lists of 100.
  async * batches () {
    let batch = []
    for await (const mark of this.marks()) {
      batch.push(mark)
      if (batch.length === 100) { yield batch; batch = [] }
    }
    if (batch.length > 0) yield batch
  },
  // What a program does that wants its records to arrive: it sends them again if the client says that it could not.
  async insist (send) {
    for (let left = 100; ; left--) {
      try { return await send() } catch (e) {
        if (left === 0) throw e
        console.error(`again: ${e.message}`)
        await sleep(300)
      }
    }
  },
}

await { ...datadog, ...elasticsearch, ...loki, ...opentelemetry, ...more, ...others }[client](job)
