// Clients of Splunk, of Fluentd, of Graylog and of syslog.
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

export const others = {
  'splunk-logging': async (job) => {
    const { Logger } = require('splunk-logging')
    const logger = new Logger({ url: `http://${job.address}`, path: '/services/collector/event/1.0', token: 'ship:SECRET', maxRetries: 100, maxBatchCount: 0, batchInterval: 0 })
    for await (const batch of job.batches()) {
      await job.insist(async () => {
        for (const mark of batch) logger.send({ message: { mark, text: 'a record' }, severity: job.level(mark), metadata: { index: 'web', host: 'web1', source: 'shop', sourcetype: '_json' } })
        await new Promise((done, fail) => logger.flush((err, resp, body) => (err || body.code !== 0 ? fail(err ?? new Error(JSON.stringify(body))) : done())))
      })
    }
  },
  'fluent-org-logger': async (job) => {
    const { FluentClient } = require('@fluent-org/logger')
    const [host, port] = job.address.split(':')
    const logger = new FluentClient('shop', { ack: { ackTimeout: 20000 }, flushInterval: 200, socket: { host, port: Number(port), timeout: 30000 }, sendQueueIntervalFlushLimit: { size: 8192, length: 100 } })
    const sent = []
    for await (const mark of job.marks()) sent.push(job.insist(() => logger.emit('cart', { mark, level: job.level(mark), message: 'a record' })))
    await Promise.all(sent)
    await logger.disconnect()
  },
  'fluent-logger': async (job) => {
    const logger = require('fluent-logger').createFluentSender('shop', { host: job.address.split(':')[0], port: Number(job.address.split(':')[1]), timeout: 5, reconnectInterval: 300, requireAckResponse: true, ackResponseTimeout: 20000, eventMode: 'PackedForward', flushInterval: 100 })
    logger.on('error', (e) => console.error(`again: ${e.message}`))
    const sent = []
    for await (const mark of job.marks()) {
      sent.push(job.insist(() => new Promise((done, fail) => logger.emit('cart', { mark, level: job.level(mark), message: 'a record' }, (e) => (e ? fail(e) : done())))))
    }
    await Promise.all(sent)
    logger.end()
  },
  'gelf-pro': async (job) => {
    const log = require('gelf-pro')
    const [host, port] = job.address.split(':')
    log.setConfig({ adapterName: 'tcp', adapterOptions: { host, port: Number(port), timeout: 20000 }, fields: { app: 'shop' } })
    for await (const mark of job.marks()) {
      await job.insist(() => new Promise((done, fail) => log[job.level(mark)]('a record', { mark }, (e) => (e ? fail(e) : done()))))
    }
  },
  'winston-syslog': async (job) => {
    const winston = require('winston')
    const { Syslog } = require('winston-syslog')
    const [host, port] = job.address.split(':')
    const transport = new Syslog({ host, port: Number(port), protocol: 'tcp4', app_name: 'shop', format: winston.format.printf((i) => `mark=${i.mark} ${i.message}`), eol: '\n' })
    let written = Date.now()
    transport.on('logged', () => { written = Date.now() })
    const logger = winston.createLogger({ levels: winston.config.syslog.levels, transports: [transport] })
    for await (const mark of job.marks()) logger.log(job.level(mark), 'a record', { mark })
    while (Date.now() - written < 2000) await new Promise((done) => setTimeout(done, 50)) // it does not say when it is done
    process.exit() // it keeps its connection
  },
}
