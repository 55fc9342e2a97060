// Clients of Loki.
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

export const loki = {
  'pino-loki': async (job) => {
    const pino = require('pino')
    const transport = pino.transport({ target: 'pino-loki', options: { host: `http://${job.address}`, batching: { interval: 1 }, labels: { app: 'shop' }, headers: { 'x-svc-log-table-name': 'pino' } } })
    await new Promise((done) => transport.on('ready', done))
    const logger = pino(transport)
    for await (const mark of job.marks()) logger[job.level(mark)]({ mark }, 'a record')
    const alive = setInterval(() => {}, 1000) // its thread does not keep the program
    await new Promise((done) => { transport.on('close', done); transport.end() })
    clearInterval(alive)
  },
  'winston-loki': winstonLoki(true),
  'winston-loki-protobuf': winstonLoki(false),
}

function winstonLoki (json) {
  return async (job) => {
    const winston = require('winston')
    const LokiTransport = require('winston-loki')
    const transport = new LokiTransport({ host: `http://${job.address}`, labels: { app: 'shop' }, json, interval: 1, replaceTimestamp: true, onConnectionError: (e) => console.error(`again: ${e}`) })
    const logger = winston.createLogger({ transports: [transport] })
    for await (const mark of job.marks()) logger.log(job.level(mark), 'a record', { mark })
    await job.insist(() => transport.flush())
    logger.close()
  }
}
