// Clients of Elasticsearch.
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

const documentOf = (job, mark) => ({ '@timestamp': new Date().toISOString(), level: job.level(mark), message: 'a record', mark })

// By the client's method for the bulk API. Each document has an id.
function byBulk (module) {
  return async (job) => {
    const { Client } = require(module)
    const client = new Client({ node: `http://${job.address}` })
    for await (const batch of job.batches()) {
      const operations = batch.flatMap((mark) => [{ create: { _index: 'shop', _id: `m${mark}` } }, documentOf(job, mark)])
      await job.insist(async () => {
        const answer = await client.bulk(module === 'elasticsearch7' ? { body: operations } : { operations })
        if ((answer.body ?? answer).errors) throw new Error(JSON.stringify(answer))
      })
    }
  }
}

// By the client's helper, which makes the requests itself. That of version 7 gives up at once while the server is away, and its
// program sends a part again.
function byHelper (module) {
  return async (job) => {
    const { Client } = require(module)
    const client = new Client({ node: `http://${job.address}`, maxRetries: 20 })
    const send = async (marks, count) => {
      const dropped = []
      const result = await client.helpers.bulk({
        datasource: (async function * () { for await (const mark of marks) yield documentOf(job, mark) })(),
        flushBytes: 10_000,
        retries: 20,
        wait: 500,
        onDocument: () => ({ index: { _index: 'shop' } }),
        onDrop: (doc) => dropped.push(doc),
      })
      if (dropped.length > 0 || result.successful !== count) throw new Error(JSON.stringify({ result, dropped: dropped[0] }))
    }
    if (module !== 'elasticsearch7') return send(job.marks(), job.count)
    for await (const batch of job.batches()) await job.insist(() => send(batch, batch.length))
  }
}

export const elasticsearch = {
  'elasticsearch-7-bulk': byBulk('elasticsearch7'),
  'elasticsearch-8-bulk': byBulk('elasticsearch8'),
  'elasticsearch-9-bulk': byBulk('@elastic/elasticsearch'),
  'elasticsearch-7-helper': byHelper('elasticsearch7'),
  'elasticsearch-8-helper': byHelper('elasticsearch8'),
  'elasticsearch-9-helper': byHelper('@elastic/elasticsearch'),
  'pino-elasticsearch': async (job) => {
    const pino = require('pino')
    const stream = require('pino-elasticsearch')({ node: `http://${job.address}`, index: 'shop', esVersion: 8, opType: 'create', flushBytes: 5000, flushInterval: 200 })
    const done = new Promise((resolve, fail) => { stream.on('insert', resolve); stream.on('error', fail); stream.on('insertError', fail) })
    const logger = pino(stream)
    for await (const mark of job.marks()) logger[job.level(mark)]({ mark }, 'a record')
    stream.end()
    await done
  },
  'winston-elasticsearch': async (job) => {
    const winston = require('winston')
    const { ElasticsearchTransport } = require('winston-elasticsearch')
    const transport = new ElasticsearchTransport({ index: 'shop', flushInterval: 200, clientOpts: { node: `http://${job.address}` } })
    transport.on('warning', (e) => console.error(`again: ${e.message}`))
    const logger = winston.createLogger({ transports: [transport] })
    for await (const mark of job.marks()) logger.log(job.level(mark), 'a record', { mark })
    logger.end()
    await new Promise((done) => transport.on('finish', done))
    await job.insist(async () => {
      await transport.flush()
      if (transport.bulkWriter.bulk.length > 0) throw new Error('not yet sent')
    })
    process.exit() // its look at the server's health goes on
  },
}
